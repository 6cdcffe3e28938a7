#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/base/view.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>

/// Discrete Fourier transforms of any length, in double: by halves for powers of two, as a
/// convolution of such a length for others (Bluestein 1970, IEEE Trans. AU-18).
namespace halftone::kernel {

struct Complex {
  double re = 0, im = 0;
  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  constexpr Complex conjugate() const { return {re, -im}; }
};

/// X[k] = sum over j of x[j] e^(-2 pi i j k / n), for lines of n numbers.
class Fourier {
 public:
  /// Threads share out this many groups of lines.
  static constexpr std::int64_t most_tasks = 16;

  constexpr explicit Fourier(std::int64_t n) : n_(n) {
    while (m_ < n) m_ *= 2;
    if (m_ != n) {
      while (m_ < 2 * n - 1) m_ *= 2;
    }
  }
  /// Numbers of a line while it is transformed.
  constexpr std::int64_t room() const { return m_; }
  /// Numbers of the tables that lines share.
  constexpr std::int64_t table_size() const { return m_ / 2 + (m_ == n_ ? 0 : n_ + m_); }

  void prepare(Complex* table) const {
    constexpr double pi = 3.14159265358979323846;
    for (std::int64_t k = 0; k < m_ / 2; ++k) {
      table[k] = turn(-2 * pi * static_cast<double>(k) / static_cast<double>(m_));
    }
    if (m_ == n_) return;
    Complex *const chirp = table + m_ / 2, *const spectrum = chirp + n_;
    for (std::int64_t k = 0; k < n_; ++k) {
      // k^2 modulo 2 n: the angle stays small.
      const auto square =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(k) %
                                    static_cast<std::uint64_t>(2 * n_));
      chirp[k] = turn(-pi * static_cast<double>(square) / static_cast<double>(n_));
    }
    for (std::int64_t k = 0; k < m_; ++k) spectrum[k] = {};
    for (std::int64_t k = 0; k < n_; ++k) {
      spectrum[k] = spectrum[k == 0 ? 0 : m_ - k] = chirp[k].conjugate();
    }
    by_halves(table, spectrum);
  }

  /// The first n numbers of `line`, in place.
  void transform(const Complex* table, Complex* line) const {
    if (m_ == n_) return by_halves(table, line);
    const Complex *const chirp = table + m_ / 2, *const spectrum = chirp + n_;
    for (std::int64_t k = 0; k < n_; ++k) line[k] = line[k] * chirp[k];
    for (std::int64_t k = n_; k < m_; ++k) line[k] = {};
    by_halves(table, line);
    // Back by conjugates: the inverse transform is the transform between two of them.
    for (std::int64_t k = 0; k < m_; ++k) line[k] = (line[k] * spectrum[k]).conjugate();
    by_halves(table, line);
    const double scale = 1 / static_cast<double>(m_);
    for (std::int64_t k = 0; k < n_; ++k) {
      line[k] = line[k].conjugate() * chirp[k] * Complex{scale, 0};
    }
  }

 private:
  static Complex turn(double angle) { return {math::cos(angle), math::sin(angle)}; }

  /// m numbers; table[k] = e^(-2 pi i k / m).
  void by_halves(const Complex* table, Complex* line) const {
    for (std::int64_t i = 1, j = 0; i < m_; ++i) {
      std::int64_t bit = m_ / 2;
      for (; (j & bit) != 0; bit /= 2) j ^= bit;
      j |= bit;
      if (i < j) {
        const Complex other = line[i];
        line[i] = line[j];
        line[j] = other;
      }
    }
    for (std::int64_t half = 1; half < m_; half *= 2) {
      const std::int64_t step = m_ / 2 / half;
      for (std::int64_t first = 0; first < m_; first += 2 * half) {
        for (std::int64_t k = 0; k < half; ++k) {
          Complex &low = line[first + k], &high = line[first + k + half];
          const Complex turned = high * table[k * step];
          high = low - turned;
          low = low + turned;
        }
      }
    }
  }

  std::int64_t n_, m_ = 1;
};

/// Transforms `lines` lines: load(line, numbers) fills n of them, store(line, numbers) takes them.
template <class Load, class Store>
void transform_lines(const KernelCall& call, const Fourier& fourier, std::int64_t lines, Load load,
                     Store store) {
  auto* const table = static_cast<Complex*>(call.workspace);
  fourier.prepare(table);
  const std::int64_t tasks = lines < Fourier::most_tasks ? lines : Fourier::most_tasks;
  parallel_for(*call.executor, tasks, [&](std::int64_t task) {
    Complex* const numbers = table + fourier.table_size() + task * fourier.room();
    const std::int64_t end = lines * (task + 1) / tasks;
    for (std::int64_t line = lines * task / tasks; line < end; ++line) {
      load(line, numbers);
      fourier.transform(table, numbers);
      store(line, numbers);
    }
  });
}

/// Bytes of workspace for lines of n numbers.
template <class T>
constexpr std::size_t fourier_workspace(std::int64_t n, std::int64_t lines) {
  const Fourier fourier(n);
  const std::int64_t tasks = lines < Fourier::most_tasks ? lines : Fourier::most_tasks;
  return static_cast<std::size_t>(fourier.table_size() + tasks * fourier.room()) * sizeof(Complex);
}

/// Dimension `axis` of x [..., 1 or 2] becomes y's [..., 2]; n numbers, zeros where x has no more. To
/// real y [..., 1] x is the first half of a spectrum whose second half is its conjugate, mirrored.
template <class T>
void dft(const KernelCall& call, std::size_t axis, std::int64_t n, bool inverse, View<const T> x,
         View<T> y) {
  using S = halftone::detail::Compute<T>;
  const std::int64_t parts = x.extent(x.rank - 1), inner = x.size(axis + 1, x.rank - 1);
  const bool is_to_real = y.extent(y.rank - 1) == 1;
  const std::int64_t extent = x.extent(axis), numbered = is_to_real ? n / 2 + 1 : n;
  const std::int64_t given = extent < numbered ? extent : numbered, wanted = y.extent(axis);
  const double sign = inverse ? -1 : 1, scale = inverse ? 1 / static_cast<double>(n) : 1;
  transform_lines(
      call, Fourier(n), x.size(0, axis) * inner,
      [&](std::int64_t line, Complex* numbers) {
        const T* from = x.data + (line / inner * extent * inner + line % inner) * parts;
        for (std::int64_t i = 0; i < given; ++i, from += inner * parts) {
          numbers[i] = {static_cast<double>(static_cast<S>(from[0])),
                        parts == 2 ? sign * static_cast<double>(static_cast<S>(from[1])) : 0};
        }
        for (std::int64_t i = given; i < n; ++i) numbers[i] = {};
        if (is_to_real) {
          for (std::int64_t i = numbered; i < n; ++i) numbers[i] = numbers[n - i].conjugate();
        }
      },
      [&](std::int64_t line, const Complex* numbers) {
        const std::int64_t made = is_to_real ? 1 : 2;
        T* to = y.data + (line / inner * wanted * inner + line % inner) * made;
        for (std::int64_t i = 0; i < wanted; ++i, to += inner * made) {
          to[0] = static_cast<T>(static_cast<S>(numbers[i].re * scale));
          if (is_to_real) continue;
          to[1] = static_cast<T>(static_cast<S>(numbers[i].im * scale * sign));
        }
      });
}

/// Frames of n numbers, `step` apart, of each signal [batch, length, 1 or 2], times the window
/// (null: 1), become y's [batch, frames, bins, 2].
template <class T>
void stft(const KernelCall& call, std::int64_t n, std::int64_t step, View<const T> signal,
          View<const T> window, View<T> y) {
  using S = halftone::detail::Compute<T>;
  const std::int64_t parts = signal.rank == 3 ? signal.extent(2) : 1, length = signal.extent(1);
  const std::int64_t frames = y.extent(1), bins = y.extent(2);
  transform_lines(
      call, Fourier(n), y.extent(0) * frames,
      [&](std::int64_t line, Complex* numbers) {
        const T* from = signal.data + (line / frames * length + line % frames * step) * parts;
        for (std::int64_t i = 0; i < n; ++i, from += parts) {
          const double factor = window ? static_cast<double>(static_cast<S>(window[i])) : 1;
          numbers[i] = {factor * static_cast<double>(static_cast<S>(from[0])),
                        parts == 2 ? factor * static_cast<double>(static_cast<S>(from[1])) : 0};
        }
      },
      [&](std::int64_t line, const Complex* numbers) {
        T* to = y.data + line * bins * 2;
        for (std::int64_t i = 0; i < bins; ++i, to += 2) {
          to[0] = static_cast<T>(static_cast<S>(numbers[i].re));
          to[1] = static_cast<T>(static_cast<S>(numbers[i].im));
        }
      });
}

}  // namespace halftone::kernel
