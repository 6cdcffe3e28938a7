#pragma once

#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/gemm_pack.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/tile.hpp>

namespace halftone::kernel {

namespace detail {

/// The attention of one head and its gradient have this in common.
template <class T>
class AttentionHead {
 protected:
  using V = Vec<T>;
  static constexpr std::int64_t N = V::size;

  constexpr explicit AttentionHead(const AttentionShape& shape) : shape_(shape) {}

  /// y (rows by columns) = x w over `steps`, in tiles; t has the strides.
  static void multiply(Tile<T> t, const T* x, const T* w, T* y, std::int64_t rows,
                       std::int64_t columns, std::int64_t steps) {
    const Segment segment{0, steps};
    t.segments = &segment;
    t.segment_count = 1;
    const Parts tiles(rows, direct_rows), panels(columns / N, direct_vectors);
    for (std::int64_t p = 0; p < panels.parts; ++p) {
      const std::int64_t column = panels.begin(p) * N;
      t.w = w + column;
      for (std::int64_t i = 0; i < tiles.parts; ++i) {
        const std::int64_t row = tiles.begin(i);
        t.x = x + row * t.x_row;
        t.y = y + row * t.y_row + column;
        tile_kernel<T, Source::rows>(tiles.begin(i + 1) - row,
                                     panels.begin(p + 1) - panels.begin(p))(t);
      }
    }
  }

  /// The score of some neighbouring keys, masked.
  HALFTONE_INLINE V masked(V score, std::int64_t row, std::int64_t key, std::int64_t lanes) const {
    score = score * V(shape_.scale);
    const auto with_bias = [&](V s) {
      if (bias_.data == nullptr) return s;
      const T* const p = bias_.data + row * bias_.row + key * bias_.column;
      if (bias_.column == 0) return s + V(*p);
      return s + (lanes == N ? V::load(p) : V::load_partial(p, lanes));
    };
    if (shape_.bias_first) score = with_bias(score);
    if (chosen_.data != nullptr) score = chosen(row, key, lanes, score, V(shape_.fill));
    return shape_.bias_first ? score : with_bias(score);
  }
  /// The score of some neighbouring keys, or the other number where the mask has one in its place.
  HALFTONE_INLINE V chosen(std::int64_t row, std::int64_t key, std::int64_t lanes, V score,
                           V fill) const {
    using Mask = typename V::mask;
    const bool* const p = chosen_.data + row * chosen_.row + key * chosen_.column;
    const Mask is_chosen = chosen_.column == 0 ? Mask(*p)
                           : lanes == N        ? Mask::load(p)
                                               : Mask::load_partial(p, lanes);
    return shape_.fills_chosen ? select(is_chosen, fill, score) : select(is_chosen, score, fill);
  }

  /// Masks the scores of a query's keys [first, first + count), and gives the largest one.
  T mask(std::int64_t row, T* scores, std::int64_t first, std::int64_t count) const {
    const T lowest = -static_cast<T>(__builtin_inf());
    V most(lowest);
    for (std::int64_t j = 0; j < count; j += N) {
      const std::int64_t lanes = count - j < N ? count - j : N;
      const V s = masked(V::load(scores + j), row, first + j, lanes);
      const V counted = lanes == N ? s : select(V::mask::first(lanes), s, V(lowest));
      counted.store(scores + j);
      most = max(counted, most);
    }
    return reduce_max(most);
  }
  /// All powers are zero where nothing is seen: no -infinity is subtracted from another.
  static V shift_of(T largest) {
    return V(largest == -static_cast<T>(__builtin_inf()) ? T(0) : largest);
  }
  /// The scores become powers, whose sum it gives.
  static T powers_of(T* scores, std::int64_t count, V shift) {
    V sum(0);
    for (std::int64_t j = 0; j < count; j += N) {
      const V e = exp(V::load(scores + j) - shift);
      e.store(scores + j);
      sum += e;
    }
    return reduce_add(sum);
  }
  /// Packs rows into whole vectors, which zeros fill up.
  static void pack_rows(const Heads<const T>& from, std::int64_t rows, std::int64_t columns, T* to,
                        std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const x = from.data + r * from.row;
      T* const y = to + r * width;
      for (std::int64_t c = 0; c < width; c += N) {
        const std::int64_t lanes = columns - c < N ? columns - c : N;
        if (from.column == 1) {
          (lanes == N ? V::load(x + c) : V::load_partial(x + c, lanes)).store(y + c);
          continue;
        }
        for (std::int64_t l = 0; l < N; ++l) y[c + l] = l < lanes ? x[(c + l) * from.column] : T(0);
      }
    }
  }

  AttentionShape shape_;
  Heads<const T> bias_{};
  Heads<const bool> chosen_{};
};

/// The shares that `count` tasks of so many multiply-adds in all are divided into: by the size alone.
constexpr std::int64_t attention_shares(std::int64_t count, double multiply_adds) {
  constexpr std::int64_t most = 16;
  const double wanted = multiply_adds / double(1 << 17);  // those are worth a share
  const std::int64_t shares = wanted < 1 ? 1 : wanted < double(most) ? std::int64_t(wanted) : most;
  return shares < count ? shares : count;
}

/// Softmax(scale q k' + mask) v for the queries of one head, by blocks of keys: the sums of a block
/// are scaled down when a later one has a larger score (Milakov and Gimelshein 2018,
/// arXiv:1805.02867). The scores of a block of queries and keys stay in the first two caches.
template <class T>
class HeadAttention : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::N, Head::mask, Head::multiply, Head::pack_rows, Head::powers_of, Head::shift_of;
  using Head::shape_, Head::bias_, Head::chosen_;
  using typename Head::V;
  static constexpr std::int64_t key_block = 128;
  static constexpr std::int64_t query_block = 4 * direct_rows;
  /// Up to these, the keys are read where they are: packing would cost more than the products.
  static constexpr std::int64_t few_queries = 2;

 public:
  /// Queries of a task: each task packs the keys for itself.
  static constexpr std::int64_t queries_at_once = 4 * query_block;

  constexpr explicit HeadAttention(const AttentionShape& shape)
      : Head(shape), width_(round_up(shape.values, N)) {}

  constexpr std::int64_t workspace_bytes() const {
    const std::int64_t elements = shape_.size * key_block + key_block * width_ +
                                  query_block * key_block + queries_at_once * (width_ + 2);
    return round_up(elements * std::int64_t{sizeof(T)}, 64);
  }

  /// Queries [begin, end) of one head.
  void compute(const AttentionTensors<T>& all, std::int64_t batch, std::int64_t head,
               std::int64_t begin, std::int64_t end, void* workspace) {
    const std::int64_t key_head = head / (shape_.heads / shape_.key_heads);
    q_ = all.query.at(batch, head, begin);
    k_ = all.key.at(batch, key_head, 0);
    v_ = all.value.at(batch, key_head, 0);
    y_ = all.output.at(batch, head, begin);
    if (all.bias.data != nullptr) bias_ = all.bias.at(batch, head, begin);
    if (all.chosen.data != nullptr) chosen_ = all.chosen.at(batch, head, begin);
    packed_keys_ = static_cast<T*>(workspace);
    packed_values_ = packed_keys_ + shape_.size * key_block;
    scores_ = packed_values_ + key_block * width_;
    sums_ = scores_ + query_block * key_block;
    largest_ = sums_ + queries_at_once * width_;
    total_ = largest_ + queries_at_once;

    const bool reads_keys = end - begin <= few_queries && q_.column == 1 && k_.column == 1;
    const Parts keys(shape_.keys, key_block);
    for (std::int64_t part = 0; part < keys.parts; ++part) {
      const std::int64_t first = keys.begin(part), count = keys.begin(part + 1) - first;
      if (!reads_keys) pack_keys(first, count);
      if (has_packed_values()) pack_values(first, count);
      for (std::int64_t row = 0; row < end - begin; row += query_block) {
        const std::int64_t rows = end - begin - row < query_block ? end - begin - row : query_block;
        if (reads_keys) {
          multiply_few(rows, first, count);
        } else {
          multiply_keys(row, rows, count);
        }
        for (std::int64_t r = 0; r < rows; ++r)
          powers(row + r, scores_ + r * key_block, first, count);
        multiply_values(row, rows, first, count);
      }
    }
    for (std::int64_t row = 0; row < end - begin; ++row) store(row);
  }

 private:
  bool has_packed_values() const { return v_.column != 1 || width_ != shape_.values; }

  /// Keys [first, first + count) as columns.
  void pack_keys(std::int64_t first, std::int64_t count) {
    pack_strip(k_.data + first * k_.row, k_.row, k_.column, count, shape_.size, packed_keys_,
               round_up(count, N));
  }
  /// Values [first, first + count) in rows of whole vectors.
  void pack_values(std::int64_t first, std::int64_t count) {
    Heads<const T> rows = v_;
    rows.data += first * v_.row;
    pack_rows(rows, count, shape_.values, packed_values_, width_);
  }

  void multiply_keys(std::int64_t row, std::int64_t rows, std::int64_t count) {
    Tile<T> t;
    t.x_row = q_.row;
    t.x_step = q_.column;
    t.w_step = round_up(count, N);
    t.y_row = key_block;
    multiply(t, q_.data + row * q_.row, packed_keys_, scores_, rows, t.w_step, shape_.size);
  }
  /// Scores of few queries: a vector of partial sums for each of N keys, then added up side by side.
  void multiply_few(std::int64_t rows, std::int64_t first, std::int64_t count) {
    for (std::int64_t j = 0; j < count; j += N) {
      const std::int64_t lanes = count - j < N ? count - j : N;
      for (std::int64_t r = 0; r < rows; ++r) {
        const T* const q = q_.data + r * q_.row;
        V sums[N];
        for (std::int64_t l = 0; l < N; ++l) {
          sums[l] = V(T(0));
          if (l >= lanes) continue;
          const T* const k = k_.data + (first + j + l) * k_.row;
          std::int64_t c = 0;
          for (; c + N <= shape_.size; c += N)
            sums[l] = fma(V::load(q + c), V::load(k + c), sums[l]);
          if (const std::int64_t rest = shape_.size - c; rest > 0) {
            sums[l] = fma(V::load_partial(q + c, rest), V::load_partial(k + c, rest), sums[l]);
          }
        }
        transpose(sums);
        for (std::int64_t half = N / 2; half > 0; half /= 2) {
          for (std::int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
        }
        sums[0].store(scores_ + r * key_block + j);
      }
    }
  }
  void multiply_values(std::int64_t row, std::int64_t rows, std::int64_t first,
                       std::int64_t count) {
    Tile<T> t;
    t.x_row = key_block;
    t.x_step = 1;
    t.y_row = width_;
    t.accumulate = first > 0;
    const bool is_packed = has_packed_values();
    t.w_step = is_packed ? width_ : v_.row;
    multiply(t, scores_, is_packed ? packed_values_ : v_.data + first * v_.row,
             sums_ + row * width_, rows, width_, count);
  }

  /// The scores of one query become powers; what its sums hold becomes a share of the new largest.
  void powers(std::int64_t row, T* scores, std::int64_t first, std::int64_t count) {
    T largest = mask(row, scores, first, count);
    if (first > 0 && !(largest > largest_[row])) largest = largest_[row];
    const V shift = shift_of(largest);
    const T sum = powers_of(scores, count, shift);
    if (first == 0) {
      total_[row] = sum;
    } else if (largest == largest_[row]) {
      total_[row] += sum;
    } else {
      const V factor = exp(V(largest_[row]) - shift);
      total_[row] = total_[row] * factor[0] + sum;
      T* const sums = sums_ + row * width_;
      for (std::int64_t c = 0; c < width_; c += N) (V::load(sums + c) * factor).store(sums + c);
    }
    largest_[row] = largest;
  }

  void store(std::int64_t row) const {
    const V factor(1 / total_[row]);
    const T* const sums = sums_ + row * width_;
    T* const y = y_.data + row * y_.row;
    for (std::int64_t c = 0; c < shape_.values; c += N) {
      const V v = V::load(sums + c) * factor;
      const std::int64_t lanes = shape_.values - c < N ? shape_.values - c : N;
      if (lanes == N) {
        v.store(y + c);
      } else {
        v.store_partial(y + c, lanes);
      }
    }
  }

  std::int64_t width_;  ///< of a row of sums, whole vectors
  Heads<const T> q_{}, k_{}, v_{};
  Heads<T> y_{};
  T *packed_keys_ = nullptr, *packed_values_ = nullptr, *scores_ = nullptr;
  T *sums_ = nullptr, *largest_ = nullptr, *total_ = nullptr;
};

/// Blocks of queries of all heads, and the shares that they are divided into.
template <class T>
struct AttentionTasks {
  Parts blocks;
  std::int64_t count, shares;

  constexpr explicit AttentionTasks(const AttentionShape& s)
      : blocks(s.queries, HeadAttention<T>::queries_at_once),
        count(s.batch * s.heads * blocks.parts),
        shares(attention_shares(count, double(s.batch * s.heads) * double(s.queries) *
                                           double(s.keys) * double(s.size + s.values))) {}
};

}  // namespace detail

/// op::FusedAttention. At least one key, unless there are no outputs.
template <class T>
constexpr std::size_t attention_workspace(const AttentionShape& shape) {
  const detail::AttentionTasks<T> tasks(shape);
  return std::size_t(tasks.shares * detail::HeadAttention<T>(shape).workspace_bytes());
}

template <class T>
void attention(const KernelCall& call, const AttentionShape& shape,
               const AttentionTensors<T>& tensors) {
  const detail::AttentionTasks<T> tasks(shape);
  parallel_for(*call.executor, tasks.shares, [&](std::int64_t share) {
    detail::HeadAttention<T> head(shape);
    void* const workspace = static_cast<char*>(call.workspace) + share * head.workspace_bytes();
    const std::int64_t end = (share + 1) * tasks.count / tasks.shares;
    for (std::int64_t i = share * tasks.count / tasks.shares; i < end; ++i) {
      const std::int64_t block = i % tasks.blocks.parts, number = i / tasks.blocks.parts;
      head.compute(tensors, number / shape.heads, number % shape.heads, tasks.blocks.begin(block),
                   tasks.blocks.begin(block + 1), workspace);
    }
  });
}

}  // namespace halftone::kernel
