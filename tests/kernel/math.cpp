#include "halftone/kernel/math.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

// Expected numbers are those of the C library in long double (64 bits of fraction), rounded here.

using halftone::kernel::Mask;
using halftone::kernel::Vec;

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Units in the last place of T between got and the exact want; huge if they differ in kind.
template <class T>
double error_in_ulp(T got, long double want) {
  constexpr double wrong = 1e30;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  const T nearest = static_cast<T>(want);
  if (std::isinf(want) || std::isinf(got)) {
    if (got == nearest) return 0;
    // One of them is finite and at the edge of the range.
    constexpr T greatest = std::numeric_limits<T>::max();
    return std::abs(nearest) >= greatest && std::abs(got) >= greatest &&
                   std::signbit(got) == std::signbit(nearest)
               ? 1
               : wrong;
  }
  if (got == 0 && std::signbit(got) != std::signbit(want)) return wrong;
  if (want == 0) return got == 0 ? 0 : wrong;
  int exponent = std::ilogb(want);
  if (exponent < std::numeric_limits<T>::min_exponent - 1) {
    exponent = std::numeric_limits<T>::min_exponent - 1;
  }
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

/// 2^20 floats with every exponent; for double as many with all exponents, half of them in
/// [2^-32, 2^32]. Then the special numbers.
template <class T>
std::vector<T> make_samples() {
  std::vector<T> x;
  std::uint64_t state = 1;
  for (std::uint32_t i = 0; i < (1u << 20); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t random = state >> 20;
    if constexpr (sizeof(T) == 4) {
      x.push_back(std::bit_cast<float>((i << 12) | static_cast<std::uint32_t>(random & 0xfff)));
    } else {
      std::uint64_t bits = (std::uint64_t{i} << 44) | random;
      if (i % 2) bits = (bits & 0x800fffffffffffff) | (std::uint64_t{991 + (i >> 1) % 64} << 52);
      x.push_back(std::bit_cast<double>(bits));
    }
  }
  using Limits = std::numeric_limits<T>;
  for (const T magnitude : {T(0),
                            T(1),
                            T(2),
                            T(0.5),
                            T(3),
                            T(4),
                            T(1.5),
                            T(2.5),
                            T(10),
                            T(20),
                            T(90),
                            T(-0.625),
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::denorm_min(),
                            Limits::min(),
                            Limits::max(),
                            Limits::epsilon(),
                            T(1) - Limits::epsilon() / 2,
                            T(1) + Limits::epsilon(),
                            T(3.14159265358979324L),
                            T(1.57079632679489662L),
                            T(0x1p15),
                            T(0x1p20),
                            T(0.693147180559945309L),
                            T(88.7228394),
                            T(-87.3365479),
                            T(-103.972084),
                            T(709.78271289338397),
                            T(-745.1332191019411)}) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  while (x.size() % 64 != 0) x.push_back(T(0.1) * T(x.size() % 64));
  return x;
}
/// Not made by a lambda, which the compiler would first try to run itself, for many seconds.
template <class T>
const std::vector<T>& samples() {
  static const std::vector<T> all = make_samples<T>();
  return all;
}

struct Worst {
  double error = 0;
  long double x = 0, y = 0;
};

/// Largest error of f over the samples, N lanes at a time.
template <class T, int N, class F, class R>
Worst worst(F f, R reference) {
  Worst w;
  const auto& x = samples<T>();
  for (std::size_t i = 0; i < x.size(); i += N) {
    T y[N];
    f(Vec<T, N>::load(&x[i])).store(y);
    for (int j = 0; j < N; ++j) {
      const double e = error_in_ulp(y[j], reference(static_cast<long double>(x[i + j])));
      if (e > w.error) w = {e, x[i + j], 0};
    }
  }
  return w;
}

/// For functions of two: pairs of samples, of neighbours in size, and of special numbers.
template <class T, int N, class F, class R>
Worst worst2(F f, R reference, T spread) {
  Worst w;
  const auto& all = samples<T>();
  std::vector<T> x, y;
  const std::size_t specials = 124, step = 7919;
  for (std::size_t i = all.size() - specials; i < all.size(); ++i) {
    for (std::size_t j = all.size() - specials; j < all.size(); ++j) {
      x.push_back(all[i]);
      y.push_back(all[j]);
    }
  }
  for (std::size_t i = 0; i < all.size(); i += 3) {
    const T other = all[(i * step) % all.size()];
    x.push_back(all[i]);
    y.push_back(other);
    // Of the same order, so that results are ordinary numbers.
    const T fraction = std::isfinite(other) ? std::fmod(other, spread) : other;
    x.push_back(std::fmod(all[i], spread));
    y.push_back(fraction);
    x.push_back(T(1) + T(i % 4096) / 1024);
    y.push_back(T((i * step) % 65536) / 256 - 128);
  }
  while (x.size() % 64 != 0) x.push_back(1), y.push_back(2);
  for (std::size_t i = 0; i < x.size(); i += N) {
    T z[N];
    f(Vec<T, N>::load(&x[i]), Vec<T, N>::load(&y[i])).store(z);
    for (int j = 0; j < N; ++j) {
      const double e = error_in_ulp(
          z[j], reference(static_cast<long double>(x[i + j]), static_cast<long double>(y[i + j])));
      if (e > w.error) w = {e, x[i + j], y[i + j]};
    }
  }
  return w;
}

/// The same bits wherever an element stands, whatever its neighbours are, and for every N.
template <class T, class F>
void check_lanes(F f) {
  constexpr int N = Vec<T>::size;
  const auto& x = samples<T>();
  const auto bits = [](T v) { return std::isnan(v) ? Bits<T>(-1) : std::bit_cast<Bits<T>>(v); };
  std::size_t differing = 0;
  for (std::size_t i = 0; i < x.size(); i += i < 4096 * 254 ? 4096 : 1) {
    const T expected = f(Vec<T>(x[i]))[0];
    T lanes[N];
    for (int j = 0; j < N; ++j) lanes[j] = x[(i * 31 + std::size_t(j) * 65537) % x.size()];
    const int position = int(i % N);
    lanes[position] = x[i];
    differing += bits(f(Vec<T>::load(lanes))[position]) != bits(expected);
    differing += bits(f(Vec<T>::load_partial(lanes, position + 1))[position]) != bits(expected);
    if constexpr (N >= 4) differing += bits(f(Vec<T, N / 2>(x[i]))[1]) != bits(expected);
  }
  CHECK(differing == 0);
}

template <class T, class F, class R>
void check(const char* name, double limit, F f, R reference) {
  CAPTURE(name);
  CAPTURE(sizeof(T));
  const Worst w = worst<T, Vec<T>::size>(f, reference);
  CAPTURE(w.x);
  CHECK(w.error < limit);
  check_lanes<T>(f);
}

template <class T, class F, class R>
void check2(const char* name, double limit, F f, R reference, T spread = 8) {
  CAPTURE(name);
  CAPTURE(sizeof(T));
  const Worst w = worst2<T, Vec<T>::size>(f, reference, spread);
  CAPTURE(w.x);
  CAPTURE(w.y);
  CHECK(w.error < limit);
  check_lanes<T>([&](auto x) { return f(x, x * T(0.7) + 1); });
}

using L = long double;

}  // namespace

#define FUNCTION(name) [](auto x) { return name(x); }
#define REFERENCE(name) [](L x) { return std::name(x); }
#define CHECK_FUNCTION(name, limit) check<T>(#name, limit, FUNCTION(name), REFERENCE(name))

TEST_CASE_TEMPLATE("math: exact functions", T, float, double) {
  CHECK_FUNCTION(sqrt, 0.5001);
  CHECK_FUNCTION(floor, 1e-9);
  CHECK_FUNCTION(ceil, 1e-9);
  CHECK_FUNCTION(trunc, 1e-9);
  check<T>("round_even", 1e-9, FUNCTION(round_even), REFERENCE(nearbyint));
  check<T>("abs", 1e-9, FUNCTION(abs), REFERENCE(fabs));
  check<T>("sign", 1e-9, FUNCTION(sign),
           [](L x) { return std::isnan(x) ? x : L((x > 0) - (x < 0)); });
  const auto one_if = [](auto mask) { return select(mask, 1, 0); };
  check<T>(
      "isnan", 1e-9, [&](auto x) { return one_if(isnan(x)); },
      [](L x) { return L(std::isnan(x)); });
  check<T>(
      "isinf", 1e-9, [&](auto x) { return one_if(isinf(x)); },
      [](L x) { return L(std::isinf(x)); });
  check<T>(
      "isfinite", 1e-9, [&](auto x) { return one_if(isfinite(x)); },
      [](L x) { return L(std::isfinite(x)); });
  check2<T>(
      "copysign", 1e-9, [](auto x, auto y) { return copysign(x, y); },
      [](L x, L y) { return std::copysign(x, y); });
  check2<T>(
      "fmod", 1e-9, [](auto x, auto y) { return fmod(x, y); },
      [](L x, L y) { return std::fmod(x, y); });
}

TEST_CASE_TEMPLATE("math: exponential", T, float, double) {
  CHECK_FUNCTION(exp, 2);
  CHECK_FUNCTION(exp2, 2);
  CHECK_FUNCTION(expm1, 2);
  check<T>("sigmoid", 2, FUNCTION(sigmoid),
           [](L x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); });
  check<T>("softplus", 2, FUNCTION(softplus), [](L x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : x <= 0 ? std::log1p(std::exp(x)) : x;
  });
  check<T>("mish", 2, FUNCTION(mish), [](L x) {
    const L e = std::exp(std::min(x, L(50)));
    return x == std::numeric_limits<L>::infinity() ? x : x * (e * (e + 2) / (e * (e + 2) + 2));
  });
  check<T>("swish", 2, FUNCTION(swish), [](L x) {
    return x == -std::numeric_limits<L>::infinity() ? L(-0.0) : x / (1 + std::exp(-x));
  });
  check<T>("gelu", 2, FUNCTION(gelu), [](L x) {
    const L u = x * (1 + 0.044715L * x * x) * 0.797884560802865355879892L;
    return x < -100 ? L(-0.0) : x > 100 ? x : x / (1 + std::exp(-2 * u));
  });
  CHECK_FUNCTION(sinh, 2);
  CHECK_FUNCTION(cosh, 2);
  CHECK_FUNCTION(tanh, 2);
}

TEST_CASE_TEMPLATE("math: logarithm and power", T, float, double) {
  CHECK_FUNCTION(log, 2);
  CHECK_FUNCTION(log2, 2);
  CHECK_FUNCTION(log1p, 2);
  check2<T>(
      "pow", 2, [](auto x, auto y) { return pow(x, y); }, [](L x, L y) { return std::pow(x, y); });
}

TEST_CASE_TEMPLATE("math: trigonometric", T, float, double) {
  CHECK_FUNCTION(sin, 2);
  CHECK_FUNCTION(cos, 2);
  CHECK_FUNCTION(tan, 4);
}

TEST_CASE_TEMPLATE("math: a group has the bits that its vectors have alone", T, float) {
  using V = Vec<T>;  // dependent: what follows exists only where there are groups
  if constexpr (halftone::kernel::detail::has_groups<V>) {
    const auto& all = samples<float>();
    const auto check_groups = [&](const char* name, auto f) {
      CAPTURE(name);
      std::size_t differing = 0;
      for (std::size_t i = 0; i + 4 * V::size <= all.size(); i += 61 * V::size) {
        // Every other group has only lanes that the tables hold, as they do in most arrays.
        const auto at = [&](int k) {
          V v = V::load(&all[i + std::size_t(k) * V::size]);
          if (i / V::size % 2 == 0) v = select(abs(v) < 11, v, 0.5f);
          return v;
        };
        const auto group = f(halftone::kernel::Quad<V>{at(0), at(1), at(2), at(3)});
        const V made[] = {group.a, group.b, group.c, group.d};
        for (int k = 0; k < 4; ++k) {
          const V alone = f(at(k));
          for (int j = 0; j < V::size; ++j) {
            const float a = alone[j], b = made[k][j];
            differing += std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b) &&
                         !(std::isnan(a) && std::isnan(b));
          }
        }
      }
      CHECK(differing == 0);
    };
    check_groups("sin", FUNCTION(sin));
    check_groups("cos", FUNCTION(cos));
    check_groups("tan", FUNCTION(tan));
  }
}

TEST_CASE_TEMPLATE("math: inverse", T, float, double) {
  CHECK_FUNCTION(asin, 2);
  CHECK_FUNCTION(acos, 2);
  CHECK_FUNCTION(atan, 2);
  check2<T>(
      "atan2", 2, [](auto y, auto x) { return atan2(y, x); },
      [](L y, L x) { return std::atan2(y, x); });
  CHECK_FUNCTION(asinh, 2);
  CHECK_FUNCTION(acosh, 2);
  CHECK_FUNCTION(atanh, 2);
}

TEST_CASE_TEMPLATE("math: error function", T, float, double) {
  CHECK_FUNCTION(erf, 2);
  CHECK_FUNCTION(erfc, 2);
}
