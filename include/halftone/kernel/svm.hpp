#pragma once

#include <cmath>
#include <cstdint>

#include <halftone/kernel/post_transform.hpp>
#include <halftone/kernel/svm_shape.hpp>

namespace halftone::kernel {
namespace detail {

/// Support vectors and rows that are looked at together.
inline constexpr std::int64_t svm_tile = 64, svm_rows = 4;

inline std::int64_t svm_width(const SvmShape& svm) {
  return (svm.vectors + svm_tile - 1) / svm_tile * svm_tile;
}

/// Products of rows and support vectors, or squares of their distances: in ascending order of the
/// features.
template <bool Distance, class T>
void svm_sums(const SvmShape& svm, const float* transposed, const T* x, std::int64_t rows,
              float* values) {
  const std::int64_t width = svm_width(svm);
  for (std::int64_t first = 0; first < svm.vectors; first += svm_tile) {
    float sums[svm_rows][svm_tile] = {};
    for (std::int64_t f = 0; f < svm.features; ++f) {
      const float* const v = transposed + f * width + first;
      for (std::int64_t r = 0; r < rows; ++r) {
        const float t = static_cast<float>(x[r * svm.features + f]);
        float* const sum = sums[r];
        for (std::int64_t k = 0; k < svm_tile; ++k) {
          if constexpr (Distance) {
            const float d = t - v[k];
            sum[k] += d * d;
          } else {
            sum[k] += t * v[k];
          }
        }
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < svm_tile; ++k) values[r * width + first + k] = sums[r][k];
    }
  }
}

/// The kernel's value of each of at most `svm_rows` rows with each support vector: [rows, width].
template <class T>
void svm_values(const SvmShape& svm, const float* transposed, const T* x, std::int64_t rows,
                float* values) {
  if (svm.kernel == SvmKernel::rbf) {
    svm_sums<true>(svm, transposed, x, rows, values);
  } else {
    svm_sums<false>(svm, transposed, x, rows, values);
  }
  const std::int64_t width = svm_width(svm);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const v = values + r * width;
    for (std::int64_t k = 0; k < svm.vectors; ++k) {
      switch (svm.kernel) {
        case SvmKernel::linear:
          break;
        case SvmKernel::poly: {
          const float t = svm.gamma * v[k] + svm.coef0;
          v[k] = svm.degree == 2 ? t * t : svm.degree == 3 ? t * t * t : std::pow(t, svm.degree);
          break;
        }
        case SvmKernel::rbf:
          v[k] = std::exp(-svm.gamma * v[k]);
          break;
        case SvmKernel::sigmoid:
          v[k] = std::tanh(svm.gamma * v[k] + svm.coef0);
          break;
      }
    }
  }
}

/// Probabilities of classes from those of pairs, r[i, j] that of i against j: method 2 of Wu, Lin
/// and Weng, "Probability estimates for multi-class classification by pairwise coupling", 2004, as
/// libsvm has it. q has room for n * n numbers, qp for n.
inline void couple_pairs(std::int64_t n, const float* r, float* p, float* q, float* qp) {
  for (std::int64_t i = 0; i < n; ++i) {
    p[i] = 1 / static_cast<float>(n);
    float& own = q[i * n + i];
    own = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      own += r[j * n + i] * r[j * n + i];
      q[i * n + j] = j < i ? q[j * n + i] : -r[j * n + i] * r[i * n + j];
    }
  }
  const float enough = 0.005f / static_cast<float>(n);
  for (int round = 0; round < 100; ++round) {
    float whole = 0, error = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      qp[i] = 0;
      for (std::int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
      whole += p[i] * qp[i];
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const float e = std::fabs(qp[i] - whole);
      error = e > error ? e : error;
    }
    if (error < enough) return;
    for (std::int64_t i = 0; i < n; ++i) {
      const float own = q[i * n + i], step = (whole - qp[i]) / own;
      p[i] += step;
      whole = (whole + step * (step * own + 2 * qp[i])) / (1 + step) / (1 + step);
      for (std::int64_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

/// The memory of one task.
struct SvmScratch {
  float *values, *scores, *pairs, *coupling, *coupled;
  std::int64_t* votes;
  std::int64_t bytes;

  SvmScratch(char* memory, const SvmShape& svm) {
    char* at = memory;
    const auto take = [&](std::int64_t count, std::int64_t size) {
      char* const first = at;
      at += (count * size + 63) / 64 * 64;
      return first;
    };
    const std::int64_t c = svm.classes, squares = svm.has_probabilities ? c * c : 0;
    values = reinterpret_cast<float*>(take(svm_rows * svm_width(svm), sizeof(float)));
    scores = reinterpret_cast<float*>(take(svm.pairs() > c ? svm.pairs() : c, sizeof(float)));
    pairs = reinterpret_cast<float*>(take(squares, sizeof(float)));
    coupling = reinterpret_cast<float*>(take(squares, sizeof(float)));
    coupled = reinterpret_cast<float*>(take(c, sizeof(float)));
    votes = reinterpret_cast<std::int64_t*>(take(c, sizeof(std::int64_t)));
    bytes = at - memory;
  }
};

inline std::int64_t svm_tasks(std::int64_t rows) {
  const std::int64_t groups = (rows + svm_rows - 1) / svm_rows;
  return groups < 16 ? groups : 16;
}

inline std::int64_t svm_transposed_bytes(const SvmShape& svm) {
  return svm.features * svm_width(svm) * std::int64_t{sizeof(float)};
}

/// Scores of pairs of classes, and how many pairs each class wins.
inline void vote(const SvmShape& svm, const float* values, float* scores, std::int64_t* votes) {
  for (std::int64_t i = 0; i < svm.classes; ++i) votes[i] = 0;
  const auto sum = [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    const float* const c = svm.coefficients + row * svm.vectors + first;
    double total = 0;
    for (std::int64_t k = 0; k < count; ++k) total += c[k] * values[first + k];
    return total;
  };
  std::int64_t pair = 0, first_i = 0;
  for (std::int64_t i = 0; i + 1 < svm.classes; ++i) {
    const std::int64_t count_i = svm.vectors_per_class[i];
    for (std::int64_t j = i + 1, first_j = first_i + count_i; j < svm.classes; ++j, ++pair) {
      const std::int64_t count_j = svm.vectors_per_class[j];
      const double total = sum(j - 1, first_i, count_i) + sum(i, first_j, count_j) + svm.rho[pair];
      scores[pair] = static_cast<float>(total);
      ++votes[total > 0 ? i : j];
      first_j += count_j;
    }
    first_i += count_i;
  }
}

inline void probabilities(const SvmShape& svm, const SvmScratch& scratch) {
  const std::int64_t c = svm.classes;
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i + 1 < c; ++i) {
    for (std::int64_t j = i + 1; j < c; ++j, ++pair) {
      const float p = 1 - logistic(scratch.scores[pair] * svm.prob_a[pair] + svm.prob_b[pair]);
      constexpr float least = 1.0e-7f;
      const float bounded = p < least ? least : p > 1 - least ? 1 - least : p;
      scratch.pairs[i * c + j] = bounded;
      scratch.pairs[j * c + i] = 1 - bounded;
    }
  }
  couple_pairs(c, scratch.pairs, scratch.scores, scratch.coupling, scratch.coupled);
}

template <class N>
std::int64_t place_of_largest(const N* values, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

/// The label's position and the scores of one row, by the rules of ONNX Runtime.
inline std::int64_t classify(const SvmShape& svm, PostTransform transform,
                             const SvmScratch& scratch, const float* values, float* z) {
  const std::int64_t c = svm.classes;
  std::int64_t best = 0, count = c;
  if (svm.is_linear) {
    for (std::int64_t i = 0; i < c; ++i) scratch.scores[i] = values[i] + svm.rho[0];
    best = place_of_largest(scratch.scores, c);
    const float weight = scratch.scores[best];
    const bool is_sure = svm.all_positive ? weight >= 0.5f : weight > 0;
    if (c == 2 && !svm.has_probabilities && is_sure) best = 1;
  } else {
    vote(svm, values, scratch.scores, scratch.votes);
    best = place_of_largest(scratch.votes, c);
    if (svm.has_probabilities) {
      probabilities(svm, scratch);
    } else {
      count = svm.pairs();
    }
  }
  for (std::int64_t i = 0; i < count; ++i) z[i] = scratch.scores[i];
  if (count > 1) {
    post_transform(transform, z, count);
  } else if (transform == PostTransform::probit) {
    z[0] = probit(z[0]);
  } else if (svm.columns() == 2) {
    const float s = z[0];
    const bool is_logistic = transform == PostTransform::logistic;
    z[0] = is_logistic ? logistic(-s) : transform == PostTransform::as_is ? -s : 1 - s;
    z[1] = is_logistic ? logistic(s) : s;
  }
  return best;
}

}  // namespace detail

template <class T>
std::size_t svm_packed_bytes(const SvmShape& svm) {
  return static_cast<std::size_t>(detail::svm_transposed_bytes(svm));
}

/// Support vectors [vectors, features] as [features, vectors], with zeros behind the last one.
template <class T>
void svm_pack(const SvmShape& svm, const float* vectors, float* transposed) {
  const std::int64_t width = detail::svm_width(svm);
  for (std::int64_t f = 0; f < svm.features; ++f) {
    for (std::int64_t v = 0; v < width; ++v) {
      transposed[f * width + v] = v < svm.vectors ? vectors[v * svm.features + f] : 0.0f;
    }
  }
}

/// The bytes include room for the transposed support vectors, unless they are packed.
template <class T>
std::size_t svm_workspace(const SvmShape& svm, std::int64_t rows, bool is_packed) {
  const detail::SvmScratch scratch(nullptr, svm);
  return static_cast<std::size_t>(detail::svm_tasks(rows) * scratch.bytes +
                                  (is_packed ? 0 : detail::svm_transposed_bytes(svm)));
}

/// f(row, values, scratch) for every row, with the kernel's values of all support vectors.
template <class T, class F>
void svm_rows(const SvmShape& svm, const float* vectors, const void* packed, void* workspace,
              const T* x, std::int64_t rows, const Executor& executor, const F& f) {
  const std::int64_t tasks = detail::svm_tasks(rows);
  const std::int64_t bytes = detail::SvmScratch(nullptr, svm).bytes;
  char* const memory = static_cast<char*>(workspace);
  const float* transposed = static_cast<const float*>(packed);
  if (transposed == nullptr) {
    float* const own = reinterpret_cast<float*>(memory + tasks * bytes);
    svm_pack<T>(svm, vectors, own);
    transposed = own;
  }
  const std::int64_t width = detail::svm_width(svm);
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const detail::SvmScratch scratch(memory + task * bytes, svm);
    const std::int64_t last = rows * (task + 1) / tasks;
    for (std::int64_t row = rows * task / tasks; row < last; row += detail::svm_rows) {
      const std::int64_t count = last - row < detail::svm_rows ? last - row : detail::svm_rows;
      detail::svm_values(svm, transposed, x + row * svm.features, count, scratch.values);
      for (std::int64_t r = 0; r < count; ++r) f(row + r, scratch.values + r * width, scratch);
    }
  });
}

template <class T>
void svm_classify(const SvmShape& svm, PostTransform transform, const float* vectors,
                  const void* packed, void* workspace, const T* x, std::int64_t rows,
                  const std::int64_t* labels, std::int64_t* y, float* z, const Executor& executor) {
  const std::int64_t columns = svm.columns();
  svm_rows(svm, vectors, packed, workspace, x, rows, executor,
           [&](std::int64_t row, const float* values, const detail::SvmScratch& scratch) {
             float* const scores = z + row * columns;
             for (std::int64_t i = 0; i < columns; ++i) scores[i] = 0;
             y[row] = labels[detail::classify(svm, transform, scratch, values, scores)];
           });
}

template <class T>
void svm_regress(const SvmShape& svm, bool one_class, const float* vectors, const void* packed,
                 void* workspace, const T* x, std::int64_t rows, float* y,
                 const Executor& executor) {
  svm_rows(svm, vectors, packed, workspace, x, rows, executor,
           [&](std::int64_t row, const float* values, const detail::SvmScratch&) {
             double sum = svm.rho[0];
             for (std::int64_t k = 0; k < svm.vectors; ++k) {
               sum += (svm.is_linear ? 1.0f : svm.coefficients[k]) * values[k];
             }
             const auto s = static_cast<float>(sum);
             y[row] = !one_class ? s : s > 0 ? 1.0f : -1.0f;
           });
}

}  // namespace halftone::kernel
