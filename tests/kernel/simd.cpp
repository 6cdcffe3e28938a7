#include "halftone/kernel/simd.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "halftone/base/bfloat16.hpp"
#include "halftone/base/half.hpp"

// Expected numbers are those of the same operation on scalars, lane by lane.

using namespace halftone::kernel;
using halftone::bfloat16;
using halftone::half;

namespace {

#define ELEMENT_TYPES                                                                  \
  float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, \
      std::uint32_t, std::int64_t, std::uint64_t

/// N numbers from -12 to 12 (0 to 24 if unsigned) in no order, none of them 0 if asked.
template <class T, int N>
struct Numbers {
  T x[N];
  explicit Numbers(int seed, bool without_zero = false) {
    for (int i = 0; i < N; ++i) {
      const int k = (i * 37 + seed * 11) % 25 - (std::is_unsigned_v<T> ? 0 : 12);
      x[i] = T(k == 0 && without_zero ? 5 : k);
    }
  }
};

/// True if f holds for every lane.
template <int N, class F>
bool every(F f) {
  for (int i = 0; i < N; ++i) {
    if (!f(i)) return false;
  }
  return true;
}

/// For thousands of checks: doctest's own are long code each.
void check(bool holds, const char* what, int line) {
  CHECK_MESSAGE(holds, what, " in line ", line);
}

/// That an expression of i holds for every lane i.
#define CHECK_EVERY(N, ...) \
  check(every<N>([&](int i) { return __VA_ARGS__; }), #__VA_ARGS__, __LINE__)

template <class T, int N>
void check_operators() {
  using V = Vec<T, N>;
  const Numbers<T, N> p(1), q(2, true);
  const V x = V::load(p.x), y = V::load(q.x);
  const auto& a = p.x;
  const auto& b = q.x;
  CHECK_EVERY(N, (x + y)[i] == T(a[i] + b[i]));
  CHECK_EVERY(N, (x - y)[i] == T(a[i] - b[i]));
  CHECK_EVERY(N, (x * y)[i] == T(a[i] * b[i]));
  CHECK_EVERY(N, (x / y)[i] == T(a[i] / b[i]));
  CHECK_EVERY(N, (-x)[i] == T(-a[i]));
  CHECK_EVERY(N, fma(x, y, x)[i] == T(a[i] * b[i] + a[i]));
  CHECK_EVERY(N, min(x, y)[i] == (a[i] < b[i] ? a[i] : b[i]));
  CHECK_EVERY(N, max(x, y)[i] == (a[i] > b[i] ? a[i] : b[i]));
  CHECK_EVERY(N, abs(x)[i] == T(a[i] < T(0) ? -a[i] : a[i]));
  CHECK_EVERY(N, (x < y)[i] == (a[i] < b[i]));
  CHECK_EVERY(N, (x <= y)[i] == (a[i] <= b[i]));
  CHECK_EVERY(N, (x > y)[i] == (a[i] > b[i]));
  CHECK_EVERY(N, (x >= y)[i] == (a[i] >= b[i]));
  CHECK_EVERY(N, (x == y)[i] == (a[i] == b[i]));
  CHECK_EVERY(N, (x != y)[i] == (a[i] != b[i]));
  V z = x;
  z += y;
  z -= x;
  z *= x;
  z /= y;
  CHECK_EVERY(N, z[i] == T(T(b[i] * a[i]) / b[i]));

  // Scalars of any type stand for vectors on both sides.
  CHECK_EVERY(N, (x * x * 3)[i] == T(a[i] * a[i] * 3));
  CHECK_EVERY(N, (1 + x)[i] == T(1 + a[i]));
  CHECK_EVERY(N, (24.f / y)[i] == T(T(24) / b[i]));
  CHECK_EVERY(N, select(x > 2, x, 0)[i] == (a[i] > 2 ? a[i] : T(0)));
  CHECK_EVERY(N, select(x > 2, 1, x)[i] == (a[i] > 2 ? T(1) : a[i]));
  CHECK_EVERY(N, select(x > 2, 7, 9)[i] == (a[i] > 2 ? T(7) : T(9)));
  static_assert(std::is_same_v<decltype(select(x > 2, 7, 9)), V>);

  if constexpr (std::is_integral_v<T>) {
    CHECK_EVERY(N, (x % y)[i] == T(a[i] % b[i]));
    CHECK_EVERY(N, (x & y)[i] == T(a[i] & b[i]));
    CHECK_EVERY(N, (x | y)[i] == T(a[i] | b[i]));
    CHECK_EVERY(N, (x ^ 5)[i] == T(a[i] ^ 5));
    CHECK_EVERY(N, (~x)[i] == T(~a[i]));
    CHECK_EVERY(N, (x << 2)[i] == T(a[i] << 2));
    CHECK_EVERY(N, (x >> 1)[i] == T(a[i] >> 1));
    CHECK_EVERY(N, (x << (V::iota() & 3))[i] == T(a[i] << (i & 3)));
  }
}

template <class T, int N>
void check_masks() {
  using V = Vec<T, N>;
  using M = Mask<T, N>;
  const Numbers<T, N> p(3), q(4);
  const V x = V::load(p.x), y = V::load(q.x);
  const M m = x > 4, n = y < 9;
  CHECK_EVERY(N, (m & n)[i] == (m[i] && n[i]));
  CHECK_EVERY(N, (m | n)[i] == (m[i] || n[i]));
  CHECK_EVERY(N, (m ^ n)[i] == (m[i] != n[i]));
  CHECK_EVERY(N, (!m)[i] == !m[i] && (~m)[i] == !m[i]);
  CHECK_EVERY(N, (m & true)[i] == m[i] && !(m & false)[i]);
  for (int k = 0; k <= N + 1; ++k) {
    const M first = M::first(k);
    CHECK_EVERY(N, first[i] == (i < k));
    CHECK(any(first) == (k > 0));
    CHECK(all(first) == (k >= N));
    if (k < N) CHECK(any(V::iota() == T(k)));
  }
  bool memory[N + 1];
  memory[N] = true;
  m.store(memory);
  CHECK_EVERY(N, memory[i] == m[i]);
  CHECK(all(!(M::load(memory) ^ m)));
  for (int k = 0; k <= N; ++k) {
    bool part[N + 1];
    std::memset(part, 1, sizeof(part));
    (!m).store_partial(part, k);
    CHECK_EVERY(N + 1, part[i] == (i < k ? !m[i] : true));
    const M loaded = M::load_partial(memory, k);
    CHECK_EVERY(N, loaded[i] == (i < k && m[i]));
  }

  // Masks of lanes of one width go together, those of others are converted.
  using Other = std::conditional_t<std::is_floating_point_v<T>, typename M::lane,
                                   std::make_unsigned_t<typename M::lane>>;
  const Mask<Other, N> other = Vec<Other, N>::iota() < Other(2);
  CHECK_EVERY(N, (m & other)[i] == (m[i] && i < 2));
  CHECK_EVERY(N, select(other, x, y)[i] == (i < 2 ? x : y)[i]);
  if constexpr (N * sizeof(double) <= register_bytes) {
    const Mask<double, N> wide = convert<double>(m);
    CHECK_EVERY(N, wide[i] == m[i]);
  }
}

/// Two pages, the second of which must not be touched.
struct GuardedPage {
  std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  GuardedPage() { REQUIRE(mprotect(memory + size, size, PROT_NONE) == 0); }
  ~GuardedPage() { munmap(memory, 2 * size); }
  /// The last n elements before the forbidden page.
  template <class T>
  T* last(std::size_t n) const {
    return reinterpret_cast<T*>(memory + size) - n;
  }
};

template <class T, int N>
void check_partial() {
  using V = Vec<T, N>;
  const GuardedPage page;
  const Numbers<T, N> p(5);
  for (int n = 0; n <= N; ++n) {
    T* tail = page.last<T>(std::size_t(n));
    T* before = tail - 1;
    *before = T(77);
    V::load(p.x).store_partial(tail, n);
    CHECK_EVERY(N, i >= n || tail[i] == p.x[i]);
    CHECK(*before == T(77));
    const V x = V::load_partial(tail, n), filled = V::load_partial(tail, n, 3);
    CHECK_EVERY(N, x[i] == (i < n ? p.x[i] : T(0)));
    CHECK_EVERY(N, filled[i] == (i < n ? p.x[i] : T(3)));
    // Elements behind the tail keep what they were.
    T kept[N + 1];
    for (T& k : kept) k = T(99);
    V::load(p.x).store_partial(kept, n);
    CHECK_EVERY(N + 1, kept[i] == (i < n ? p.x[i] : T(99)));
  }
}

/// The order that the reductions promise.
template <class T, class F>
T reduced(std::vector<T> x, F f) {
  while (x.size() > 1) {
    const std::size_t half = x.size() / 2;
    for (std::size_t i = 0; i < half; ++i) x[i] = f(x[i], x[i + half]);
    x.resize(half);
  }
  return x[0];
}

template <class T, int N>
void check_lanes() {
  using V = Vec<T, N>;
  const Numbers<T, N> p(6);
  const V x = V::load(p.x);
  std::vector<T> lanes(p.x, p.x + N);
  if constexpr (std::is_floating_point_v<T>) {
    for (int i = 0; i < N; ++i) lanes[std::size_t(i)] = T(1) / T(3 * i + 1);
  }
  const V y = V::load(lanes.data());
  CHECK(reduce_add(y) == reduced(lanes, [](T a, T b) { return T(a + b); }));
  CHECK(reduce_mul(y) == reduced(lanes, [](T a, T b) { return T(a * b); }));
  CHECK(reduce_min(y) == reduced(lanes, [](T a, T b) { return a < b ? a : b; }));
  CHECK(reduce_max(y) == reduced(lanes, [](T a, T b) { return a > b ? a : b; }));

  CHECK_EVERY(N, V::iota()[i] == T(i));
  if constexpr (N > 1) {
    CHECK_EVERY(N / 2, low(x)[i] == x[i] && high(x)[i] == x[i + N / 2]);
    CHECK_EVERY(N, concat(low(x), high(x))[i] == x[i]);
  }
  using Signed = typename Mask<T, N>::lane;
  const Vec<Signed, N> backwards = Signed(N - 1) - Vec<Signed, N>::iota();
  CHECK_EVERY(N, V::gather(p.x, backwards)[i] == p.x[N - 1 - i]);

  using Bits = std::make_unsigned_t<Signed>;
  CHECK_EVERY(N, bit_cast<Bits>(x)[i] == std::bit_cast<Bits>(x[i]));
  CHECK_EVERY(N, bit_cast<T>(bit_cast<Bits>(x))[i] == x[i]);
  CHECK_EVERY(N, convert<Signed>(x)[i] == Signed(x[i]));
  CHECK_EVERY(N, convert<T>(convert<Signed>(x))[i] == x[i]);
  if constexpr (sizeof(T) == 4) {
    CHECK_EVERY(N, convert<std::int8_t>(x)[i] == std::int8_t(x[i]));
    CHECK_EVERY(N, convert<std::int16_t>(x)[i] == std::int16_t(x[i]));
    const Vec<double, N / 2> wide = convert<double>(low(x));
    CHECK_EVERY(N / 2, wide[i] == double(x[i]));
  }
}

template <class T>
constexpr int full = Vec<T>::size;

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Every code of the 16-bit type S through load_compute, and floats of all kinds back.
template <class S>
void check_storage() {
  static_assert(std::is_same_v<compute_t<S>, float>);
  constexpr int N = Vec<float>::size;
  std::size_t wrong = 0;
  for (std::uint32_t code = 0; code < 65536; code += N) {
    S stored[N], back[N];
    for (int i = 0; i < N; ++i) {
      const auto bits = static_cast<std::uint16_t>(code + std::uint32_t(i));
      std::memcpy(static_cast<void*>(&stored[i]), &bits, 2);
    }
    const Vec<float> x = load_compute(stored);
    store_compute(back, x);
    for (int i = 0; i < N; ++i) {
      const float expected = static_cast<float>(stored[i]);
      if (std::isnan(expected)) {
        wrong += !std::isnan(x[i]) || !std::isnan(static_cast<float>(back[i]));
      } else {
        wrong += !same_bits(x[i], expected) || !same_bits(back[i], stored[i]);
      }
    }
  }
  CHECK(wrong == 0);

  // An odd step visits every pattern of the upper 16 bits, ties between codes come on purpose.
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 1021 * N) {
    float x[N];
    S stored[N];
    for (int i = 0; i < N; ++i) {
      auto bits = static_cast<std::uint32_t>(u) + 1021u * std::uint32_t(i);
      if (u % 3 == 0) bits = (bits & 0xffffe000u) | 0x1000u;
      if (u % 3 == 1) bits = (bits & 0xffff0000u) | 0x8000u;
      x[i] = std::bit_cast<float>(bits);
    }
    store_compute(stored, Vec<float>::load(x));
    for (int i = 0; i < N; ++i) {
      const S expected = static_cast<S>(x[i]);
      wrong += std::isnan(x[i]) ? !std::isnan(static_cast<float>(stored[i]))
                                : !same_bits(stored[i], expected);
    }
  }
  CHECK(wrong == 0);

  const GuardedPage page;
  for (int n = 0; n <= N; ++n) {
    S* tail = page.last<S>(std::size_t(n));
    store_compute_partial(tail, Vec<float>::iota() - 2, n);
    const Vec<float> x = load_compute_partial(tail, n);
    CHECK_EVERY(N, x[i] == (i < n ? float(i - 2) : 0.f));
    CHECK_EVERY(N, i >= n || static_cast<float>(tail[i]) == float(i - 2));
  }
  S four[4] = {S(1.f), S(-2.f), S(0.5f), S(3.f)};
  CHECK(reduce_add(load_compute<4>(four)) == 2.5f);
}

}  // namespace

TEST_CASE_TEMPLATE("simd: operators act lane by lane", T, ELEMENT_TYPES) {
  check_operators<T, full<T>>();
  check_operators<T, full<T> / 2>();
}

TEST_CASE_TEMPLATE("simd: masks", T, ELEMENT_TYPES) { check_masks<T, full<T>>(); }

TEST_CASE_TEMPLATE("simd: partial loads and stores touch nothing else", T, ELEMENT_TYPES) {
  check_partial<T, full<T>>();
  if constexpr (full<T> >= 4) check_partial<T, full<T> / 4>();
}

TEST_CASE_TEMPLATE("simd: reductions, halves, conversions", T, ELEMENT_TYPES) {
  check_lanes<T, full<T>>();
  if constexpr (full<T> >= 4) check_lanes<T, full<T> / 2>();
}

TEST_CASE_TEMPLATE("simd: NaN and signs of zero", T, float, double) {
  using V = Vec<T>;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(std::isnan(min(V(nan), 1)[0]));
  CHECK(std::isnan(min(V(1), nan)[0]));
  CHECK(std::isnan(max(V(nan), 1)[0]));
  CHECK(std::isnan(max(V(1), nan)[0]));
  V x = V::iota();
  x.v[V::size - 1] = nan;
  CHECK(std::isnan(reduce_min(x)));
  CHECK(std::isnan(reduce_max(x)));
  CHECK(!any(V(nan) == nan));
  CHECK(all(V(nan) != nan));
  CHECK(std::signbit(V(T(-0.0))[0]));
  CHECK(std::signbit((-V(0))[0]));
  CHECK(!std::signbit(abs(V(T(-0.0)))[0]));
  CHECK(!std::signbit(abs(V(-nan))[0]));
  CHECK(same_bits(min(V(0), T(-0.0))[0], T(-0.0)));
  CHECK(same_bits(max(V(T(-0.0)), 0)[0], T(0)));
}

TEST_CASE_TEMPLATE("simd: fma rounds once if the instruction exists", T, float, double) {
  // (1 + e)^2 - (1 + 2 e) is e^2, which a rounded product has lost.
  const T e = std::numeric_limits<T>::epsilon();
  volatile T one = 1;
  const Vec<T> x = one + e;
  CHECK(fma(x, x, -(1 + 2 * e))[0] == (has_fma ? e * e : T(0)));
}

TEST_CASE("simd: half and bfloat16 are computed with as float") {
  check_storage<half>();
  check_storage<halftone::detail::SoftwareHalf>();
  check_storage<bfloat16>();
  static_assert(std::is_same_v<compute_t<double>, double>);
  static_assert(std::is_same_v<compute_t<std::int8_t>, std::int8_t>);
  double numbers[Vec<double>::size];
  store_compute(numbers, Vec<double>::iota());
  CHECK(all(load_compute(numbers) == Vec<double>::iota()));
}
