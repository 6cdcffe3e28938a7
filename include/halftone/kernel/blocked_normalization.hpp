#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/batch_normalization.hpp>
#include <halftone/kernel/conv_shape.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/kernel/tile.hpp>

/// Normalization of activations in blocks of channels in training. A vector has the channels of a block; sums
/// are of floats over some pixels, and of doubles over those. Work is shared by shape alone.
namespace halftone::kernel {
namespace detail {

/// The pixels of all images of a block, in parts where there are few blocks.
class BlockParts {
 public:
  constexpr explicit BlockParts(const BlockedExtents& e)
      : extents_(e), parts_(e.batch * e.pixels, pixels_of_part(e)) {}

  constexpr std::int64_t tasks() const { return extents_.blocks * parts(); }
  constexpr std::int64_t parts() const { return parts_.parts; }
  constexpr std::int64_t block(std::int64_t task) const { return task / parts(); }
  /// f(first vector, vectors) for at most `most` neighbouring vectors of a task, in their order.
  HALFTONE_INLINE void each_run(std::int64_t task, std::int64_t lanes, std::int64_t most,
                                auto&& f) const {
    const std::int64_t part = task % parts(), pixels = extents_.pixels;
    const std::int64_t end = parts_.begin(part + 1);
    for (std::int64_t at = parts_.begin(part); at < end;) {
      const std::int64_t image = at / pixels, pixel = at % pixels;
      std::int64_t count = pixels - pixel < end - at ? pixels - pixel : end - at;
      if (count > most) count = most;
      f(((image * extents_.blocks + block(task)) * pixels + pixel) * lanes, count);
      at += count;
    }
  }

 private:
  static constexpr std::int64_t pixels_of_part(const BlockedExtents& e) {
    constexpr std::int64_t wanted = 8, least = 2048;
    const std::int64_t all = e.batch * e.pixels;
    if (e.blocks >= wanted || all < 2 * least) return all > 0 ? all : 1;
    const std::int64_t some = (all * e.blocks + wanted - 1) / wanted;
    return some < least ? least : some;
  }

  BlockedExtents extents_;
  Parts parts_;
};

/// Pixels that floats are summed over.
inline constexpr std::int64_t pixels_of_sum = 128;

/// Mean and sum of squared deviations of the lanes of some pixels.
/// source: Chan, Golub and LeVeque 1979, Updating formulae and a pairwise algorithm for computing sample
/// variances.
template <int N>
struct LaneMoments {
  double mean[N] = {}, squares[N] = {};
  std::int64_t count = 0;

  /// n pixels with sums of their distances from `center`, and of those squared.
  void add(const auto& center, const auto& distances, const auto& distances2, std::int64_t n) {
    double means[N], deviations[N];
    for (int l = 0; l < N; ++l) {
      const double sum = static_cast<double>(distances[l]), share = sum / static_cast<double>(n);
      means[l] = static_cast<double>(center[l]) + share;
      deviations[l] = static_cast<double>(distances2[l]) - share * sum;
    }
    join(means, deviations, n);
  }
  void join(const double* means, const double* deviations, std::int64_t n) {
    if (n == 0) return;
    const auto all = static_cast<double>(count + n), own = static_cast<double>(n);
    const double share = own / all, weight = static_cast<double>(count) * share;
    for (int l = 0; l < N; ++l) {
      const double step = means[l] - mean[l];
      mean[l] += step * share;
      squares[l] += deviations[l] + step * step * weight;
    }
    count += n;
  }
};

/// Sums over pixels, lane by lane.
template <int N>
struct GradientSums {
  double of_dy[N] = {}, products[N] = {};
};

}  // namespace detail

template <class T>
constexpr std::size_t blocked_moments_workspace(const BlockedExtents& e) {
  return static_cast<std::size_t>(detail::BlockParts(e).tasks()) *
         sizeof(detail::LaneMoments<channel_block<T>>);
}

template <class T>
void blocked_moments(const Executor& executor, const BlockedExtents& e, const T* x, T* mean,
                     T* variance, void* workspace) {
  using V = Vec<T>;
  constexpr int N = V::size;
  using Moments = detail::LaneMoments<N>;
  const detail::BlockParts parts(e);
  auto* const moments = static_cast<Moments*>(workspace);
  parallel_for(executor, parts.tasks(), [&](std::int64_t task) {
    Moments own;
    parts.each_run(task, N, detail::pixels_of_sum, [&](std::int64_t at, std::int64_t count) {
      const T* const from = x + at;
      constexpr int chains = 4;
      // Each chain takes every fourth pixel.
      const auto each = [&](auto&& add) {
        std::int64_t i = 0;
        for (; i + chains <= count; i += chains) {
#pragma GCC unroll 4
          for (int c = 0; c < chains; ++c) add(c, V::load(from + (i + c) * N));
        }
        for (; i < count; ++i) add(0, V::load(from + i * N));
      };
      const auto joined = [](const V* chain) {
        return (chain[0] + chain[1]) + (chain[2] + chain[3]);
      };
      const V zero(T(0));
      V sums[chains] = {zero, zero, zero, zero};
      each([&](int c, V v) { sums[c] += v; });
      const V center = joined(sums) * V(T(1) / static_cast<T>(count));
      // What the rounded mean leaves corrects it.
      V left[chains] = {zero, zero, zero, zero}, squares[chains] = {zero, zero, zero, zero};
      each([&](int c, V v) {
        v -= center;
        left[c] += v;
        squares[c] += v * v;
      });
      own.add(center, joined(left), joined(squares), count);
    });
    moments[task] = own;
  });
  for (std::int64_t b = 0; b < e.blocks; ++b) {
    Moments all;
    for (std::int64_t p = 0; p < parts.parts(); ++p) {
      const Moments& part = moments[b * parts.parts() + p];
      all.join(part.mean, part.squares, part.count);
    }
    const double count = all.count == 0 ? 1 : static_cast<double>(all.count);
    for (int l = 0; l < N; ++l) {
      mean[b * N + l] = static_cast<T>(all.mean[l]);
      variance[b * N + l] = static_cast<T>(all.squares[l] / count);
    }
  }
}

template <class T>
void normalize_in_blocks(const Executor& executor, const BlockedExtents& e, const T* x,
                         const T* means, const T* factors, const T* addends, const T* limits,
                         T* y) {
  using V = Vec<T>;
  constexpr int N = V::size;
  const detail::BlockParts parts(e);
  parallel_for(executor, parts.tasks(), [&](std::int64_t task) {
    const std::int64_t c = parts.block(task) * N;
    const V mean = V::load(means + c), factor = V::load(factors + c), addend = V::load(addends + c);
    const bool clamps = limits != nullptr;
    const V lower(clamps ? limits[0] : T(0)), upper(clamps ? limits[1] : T(0));
    parts.each_run(task, N, e.pixels, [&](std::int64_t at, std::int64_t count) {
      for (std::int64_t i = at; i < at + count * N; i += N) {
        V v = (V::load(x + i) - mean) * factor + addend;
        if (clamps) v = clamp(v, lower, upper);
        v.store(y + i);
      }
    });
  });
}

template <class T>
constexpr std::size_t blocked_normalization_gradient_workspace(const BlockedExtents& e) {
  return static_cast<std::size_t>(detail::BlockParts(e).tasks()) *
         sizeof(detail::GradientSums<channel_block<T>>);
}

template <class T>
void blocked_normalization_gradient(const Executor& executor, const BlockedExtents& e,
                                    double epsilon, const T* x, const T* scale, const T* dy,
                                    const T* means, const T* variances, T* dx, T* dscale, T* dbias,
                                    void* workspace) {
  using V = Vec<T>;
  constexpr int N = V::size;
  using Sums = detail::GradientSums<N>;
  const detail::BlockParts parts(e);
  auto* const sums = static_cast<Sums*>(workspace);
  const auto add_up = [&](std::int64_t task) {
    Sums own;
    const V mean = V::load(means + parts.block(task) * N);
    parts.each_run(task, N, detail::pixels_of_sum, [&](std::int64_t at, std::int64_t count) {
      V of_dy[2] = {V(T(0)), V(T(0))}, products[2] = {V(T(0)), V(T(0))};
      std::int64_t i = 0;
      const auto add = [&](int chain, std::int64_t pixel) {
        const V d = V::load(dy + at + pixel * N), v = V::load(x + at + pixel * N) - mean;
        of_dy[chain] += d;
        products[chain] = fma(d, v, products[chain]);
      };
      for (; i + 2 <= count; i += 2) add(0, i), add(1, i + 1);
      if (i < count) add(0, i);
      for (int l = 0; l < N; ++l) {
        own.of_dy[l] += static_cast<double>(of_dy[0][l] + of_dy[1][l]);
        own.products[l] += static_cast<double>(products[0][l] + products[1][l]);
      }
    });
    sums[task] = own;
  };
  const double pixels = static_cast<double>(e.batch * e.pixels);
  const auto finish = [&](std::int64_t task) {
    const std::int64_t block = parts.block(task), c = block * N;
    const std::int64_t lanes = e.channels - c < N ? e.channels - c : N;
    Sums all;
    for (std::int64_t p = 0; p < parts.parts(); ++p) {
      const Sums& part = sums[block * parts.parts() + p];
      for (int l = 0; l < N; ++l) {
        all.of_dy[l] += part.of_dy[l];
        all.products[l] += part.products[l];
      }
    }
    T factors[N] = {}, shares[N] = {}, slopes[N] = {};
    for (std::int64_t l = 0; l < lanes; ++l) {
      const double inverse = 1 / math::sqrt(static_cast<double>(variances[c + l]) + epsilon);
      factors[l] = static_cast<T>(static_cast<double>(scale[c + l]) * inverse);
      shares[l] = static_cast<T>(all.of_dy[l] / pixels);
      slopes[l] = static_cast<T>(all.products[l] / pixels * inverse * inverse);
      if (task % parts.parts() != 0) continue;
      if (dscale != nullptr) dscale[c + l] = static_cast<T>(all.products[l] * inverse);
      if (dbias != nullptr) dbias[c + l] = static_cast<T>(all.of_dy[l]);
    }
    const V mean = V::load(means + c), factor = V::load(factors), share = V::load(shares),
            slope = V::load(slopes);
    parts.each_run(task, N, e.pixels, [&](std::int64_t at, std::int64_t count) {
      for (std::int64_t i = at; i < at + count * N; i += N) {
        const V v = V::load(x + i) - mean, d = V::load(dy + i) - share;
        ((d - v * slope) * factor).store(dx + i);
      }
    });
  };
  if (parts.parts() == 1) {
    parallel_for(executor, parts.tasks(), [&](std::int64_t task) {
      add_up(task);
      finish(task);
    });
    return;
  }
  parallel_for(executor, parts.tasks(), add_up);
  parallel_for(executor, parts.tasks(), finish);
}

}  // namespace halftone::kernel
