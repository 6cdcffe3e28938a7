#pragma once

#include <cmath>
#include <vector>

#include "expanded.hpp"

/// Small pieces that the tests of com.microsoft's operators compute their numbers with, in double.
namespace microsoft_test {

using namespace run_op_test;
using Numbers = std::vector<double>;

inline double phi(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// y[m, n] = a[m, k] b[k, n].
inline Numbers product(const Numbers& a, const Numbers& b, std::size_t m, std::size_t k,
                       std::size_t n) {
  Numbers y(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t q = 0; q < k; ++q) y[i * n + j] += a[i * k + q] * b[q * n + j];
    }
  }
  return y;
}

/// Adds a row to each row.
inline Numbers with_row(Numbers x, const Numbers& row) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += row[i % row.size()];
  return x;
}

/// Each row of `columns` numbers less its mean, by its deviation; without `centered` by the root of
/// its mean square.
inline Numbers normalized(const Numbers& x, std::size_t columns, double epsilon, bool centered) {
  Numbers y(x.size());
  const auto count = static_cast<double>(columns);
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < columns; ++i) mean += x[first + i] / count;
    if (!centered) mean = 0;
    for (std::size_t i = 0; i < columns; ++i) squares += std::pow(x[first + i] - mean, 2) / count;
    for (std::size_t i = 0; i < columns; ++i) {
      y[first + i] = (x[first + i] - mean) / std::sqrt(squares + epsilon);
    }
  }
  return y;
}

inline Numbers scaled(Numbers x, const Numbers& factors) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factors[i % factors.size()];
  return x;
}

/// Attention of one head: queries [m, size], keys [n, size], values [n, width]; `score` may change
/// the score of a pair before the softmax.
template <class F>
Numbers one_head(const Numbers& q, const Numbers& k, const Numbers& v, std::size_t m, std::size_t n,
                 std::size_t size, std::size_t width, double scale, const F& score) {
  Numbers y(m * width);
  for (std::size_t i = 0; i < m; ++i) {
    Numbers weights(n);
    double largest = -1e300, total = 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t d = 0; d < size; ++d)
        weights[j] += q[i * size + d] * k[j * size + d] * scale;
      weights[j] = score(i, j, weights[j]);
      largest = std::fmax(largest, weights[j]);
    }
    for (double& w : weights) total += w = std::exp(w - largest);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t d = 0; d < width; ++d)
        y[i * width + d] += weights[j] / total * v[j * width + d];
    }
  }
  return y;
}

/// Head h of batch b of x [batch, length, heads * size].
inline Numbers head(const Numbers& x, std::size_t b, std::size_t h, std::size_t length,
                    std::size_t heads, std::size_t size) {
  Numbers y;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t d = 0; d < size; ++d) {
      y.push_back(x[((b * length + i) * heads + h) * size + d]);
    }
  }
  return y;
}

inline void put_head(Numbers& x, const Numbers& y, std::size_t b, std::size_t h, std::size_t length,
                     std::size_t heads, std::size_t size) {
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t d = 0; d < size; ++d) {
      x[((b * length + i) * heads + h) * size + d] = y[i * size + d];
    }
  }
}

}  // namespace microsoft_test
