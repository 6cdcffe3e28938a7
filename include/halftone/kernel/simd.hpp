#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include "halftone/base/config.hpp"

/// Vectors of numbers over the compilers' vector extension.
///
/// Vec<T, N> is N lanes of T; arithmetic scalars convert to it, so that one text (`x * x * 3`,
/// `select(x > 0, x, 0)`) serves scalars and vectors. No operation lets one lane influence another
/// unless its name says so (reduce_*, any, all). Float operations follow IEEE 754 in the rounding
/// mode to nearest. N is a power of two; the default fills one register of the instruction set
/// that the flags allow, and wider vectors work but are split by the compiler.
namespace halftone::kernel {

/// Hides halftone::select, an object: calls by name find the functions of Vec and Mask.
template <class... X>
  requires false
void select(X...);

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HALFTONE_AVX512 1
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
#define HALFTONE_AVX512 0
inline constexpr int register_bytes = 32;
#else
#define HALFTONE_AVX512 0
inline constexpr int register_bytes = 16;
#endif

// For functions that treat several vectors alike: g++ would leave the instructions of one behind
// those of the other, and the machine would wait for each.
#ifdef __clang__
#define HALFTONE_SIDE_BY_SIDE
#else
#define HALFTONE_SIDE_BY_SIDE __attribute__((optimize("schedule-insns", "sched-pressure")))
#endif

/// Whether fma() rounds once; without the instruction it is a multiplication and an addition.
#ifdef __FMA__
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

template <class T, int N = register_bytes / int(sizeof(T))>
struct Vec;

namespace detail {

template <int Bytes>
struct Integer;
template <>
struct Integer<1> {
  using type = std::int8_t;
};
template <>
struct Integer<2> {
  using type = std::int16_t;
};
template <>
struct Integer<4> {
  using type = std::int32_t;
};
template <>
struct Integer<8> {
  using type = std::int64_t;
};

/// The builtin vector of N lanes of T.
template <class T, int N>
struct Raw {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using raw_t = typename Raw<T, N>::type;

template <class T, int N>
struct Wrapping {
  using type = raw_t<T, N>;
};
template <class T, int N>
  requires std::is_integral_v<T>
struct Wrapping<T, N> {
  using type = raw_t<std::make_unsigned_t<T>, N>;
};

template <class T>
inline constexpr bool is_builtin_half = false;
#ifdef __FLT16_MANT_DIG__
template <>
inline constexpr bool is_builtin_half<_Float16> = true;
#endif

template <class T>
concept scalar = std::is_arithmetic_v<T> || is_builtin_half<T>;

/// A class that holds 16 bits, of which `one` mean 1.
template <class T, unsigned one>
concept coded_float = sizeof(T) == 2 && std::is_class_v<T> && requires(T t) {
  std::uint16_t(t.bits);
  requires float(T::from_bits(one)) == 1;
};

/// Bits of a vector of 8 to 128 bytes that are not all zero.
template <class R>
HALFTONE_INLINE bool any_bit(R r) {
#ifdef __AVX__
  if constexpr (sizeof(R) == 32) {
    const auto q = (raw_t<long long, 4>)r;
    return __builtin_ia32_ptestz256(q, q) == 0;
  }
#endif
#ifdef __SSE4_1__
  if constexpr (sizeof(R) == 16) {
    const auto q = (raw_t<long long, 2>)r;
    return __builtin_ia32_ptestz128(q, q) == 0;
  }
#endif
  if constexpr (sizeof(R) > 16) {
    raw_t<long long, int(sizeof(R) / 16)> half[2];
    __builtin_memcpy(half, &r, sizeof(r));
    return any_bit(half[0] | half[1]);
  } else {
    unsigned char bytes[sizeof(R)];
    __builtin_memcpy(bytes, &r, sizeof(r));
    unsigned set = 0;
    for (const unsigned char b : bytes) set |= b;
    return set != 0;
  }
}

/// Becomes whatever pointer a builtin asks for; the compilers differ in that.
struct AnyPointer {
  const void* p;
  template <class P>
  HALFTONE_INLINE operator P*() const {
    return (P*)p;
  }
};

#if HALFTONE_AVX512
/// Bit i is set for i < n; n in [0, N].
template <int N>
HALFTONE_INLINE std::uint64_t first_bits(int n) {
  if constexpr (N == 64) return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - n);
  return (std::uint64_t{1} << n) - 1;
}

/// The first n lanes from p, the others from `fill`; touches nothing behind p + n.
template <int Lane, class R>
HALFTONE_INLINE R masked_load(const void* p, R fill, int n) {
  const std::uint64_t bits = first_bits<sizeof(R) / Lane>(n);
#define HALFTONE_MASKED(bytes, lane, type, bit_type, builtin)  \
  if constexpr (sizeof(R) == bytes && Lane == lane) {          \
    using V = raw_t<type, bytes / lane>;                       \
    return (R)builtin(AnyPointer{p}, (V)fill, bit_type(bits)); \
  }
  HALFTONE_MASKED(64, 4, float, std::uint16_t, __builtin_ia32_loadups512_mask)
  HALFTONE_MASKED(64, 8, double, std::uint8_t, __builtin_ia32_loadupd512_mask)
  HALFTONE_MASKED(64, 1, char, std::uint64_t, __builtin_ia32_loaddquqi512_mask)
  HALFTONE_MASKED(64, 2, short, std::uint32_t, __builtin_ia32_loaddquhi512_mask)
  HALFTONE_MASKED(32, 4, float, std::uint8_t, __builtin_ia32_loadups256_mask)
  HALFTONE_MASKED(32, 8, double, std::uint8_t, __builtin_ia32_loadupd256_mask)
  HALFTONE_MASKED(32, 1, char, std::uint32_t, __builtin_ia32_loaddquqi256_mask)
  HALFTONE_MASKED(32, 2, short, std::uint16_t, __builtin_ia32_loaddquhi256_mask)
  HALFTONE_MASKED(16, 4, float, std::uint8_t, __builtin_ia32_loadups128_mask)
  HALFTONE_MASKED(16, 8, double, std::uint8_t, __builtin_ia32_loadupd128_mask)
  HALFTONE_MASKED(16, 1, char, std::uint16_t, __builtin_ia32_loaddquqi128_mask)
  HALFTONE_MASKED(16, 2, short, std::uint8_t, __builtin_ia32_loaddquhi128_mask)
#undef HALFTONE_MASKED
}

/// Stores the first n lanes; touches nothing behind p + n.
template <int Lane, class R>
HALFTONE_INLINE void masked_store(void* p, R v, int n) {
  const std::uint64_t bits = first_bits<sizeof(R) / Lane>(n);
#define HALFTONE_MASKED(bytes, lane, type, bit_type, builtin)             \
  if constexpr (sizeof(R) == bytes && Lane == lane) {                     \
    builtin(AnyPointer{p}, (raw_t<type, bytes / lane>)v, bit_type(bits)); \
  }
  HALFTONE_MASKED(64, 4, float, std::uint16_t, __builtin_ia32_storeups512_mask)
  HALFTONE_MASKED(64, 8, double, std::uint8_t, __builtin_ia32_storeupd512_mask)
  HALFTONE_MASKED(64, 1, char, std::uint64_t, __builtin_ia32_storedquqi512_mask)
  HALFTONE_MASKED(64, 2, short, std::uint32_t, __builtin_ia32_storedquhi512_mask)
  HALFTONE_MASKED(32, 4, float, std::uint8_t, __builtin_ia32_storeups256_mask)
  HALFTONE_MASKED(32, 8, double, std::uint8_t, __builtin_ia32_storeupd256_mask)
  HALFTONE_MASKED(32, 1, char, std::uint32_t, __builtin_ia32_storedquqi256_mask)
  HALFTONE_MASKED(32, 2, short, std::uint16_t, __builtin_ia32_storedquhi256_mask)
  HALFTONE_MASKED(16, 4, float, std::uint8_t, __builtin_ia32_storeups128_mask)
  HALFTONE_MASKED(16, 8, double, std::uint8_t, __builtin_ia32_storeupd128_mask)
  HALFTONE_MASKED(16, 1, char, std::uint16_t, __builtin_ia32_storedquqi128_mask)
  HALFTONE_MASKED(16, 2, short, std::uint8_t, __builtin_ia32_storedquhi128_mask)
#undef HALFTONE_MASKED
}
#elif defined(__AVX2__)
/// The first lanes, as `mask` says, from p, the others zero; touches nothing else.
template <int Lane, class R, class M>
HALFTONE_INLINE R masked_load(const void* p, M mask) {
  if constexpr (Lane == 4) {
    if constexpr (sizeof(R) == 32)
      return (R)__builtin_ia32_maskloadd256(AnyPointer{p}, (raw_t<int, 8>)mask);
    if constexpr (sizeof(R) == 16)
      return (R)__builtin_ia32_maskloadd(AnyPointer{p}, (raw_t<int, 4>)mask);
  } else {
    if constexpr (sizeof(R) == 32)
      return (R)__builtin_ia32_maskloadq256(AnyPointer{p}, (raw_t<long long, 4>)mask);
    if constexpr (sizeof(R) == 16)
      return (R)__builtin_ia32_maskloadq(AnyPointer{p}, (raw_t<long long, 2>)mask);
  }
}

template <int Lane, class R, class M>
HALFTONE_INLINE void masked_store(void* p, R v, M mask) {
  if constexpr (Lane == 4) {
    using V = raw_t<int, int(sizeof(R) / 4)>;
    if constexpr (sizeof(R) == 32) __builtin_ia32_maskstored256(AnyPointer{p}, (V)mask, (V)v);
    if constexpr (sizeof(R) == 16) __builtin_ia32_maskstored(AnyPointer{p}, (V)mask, (V)v);
  } else {
    using V = raw_t<long long, int(sizeof(R) / 8)>;
    if constexpr (sizeof(R) == 32) __builtin_ia32_maskstoreq256(AnyPointer{p}, (V)mask, (V)v);
    if constexpr (sizeof(R) == 16) __builtin_ia32_maskstoreq(AnyPointer{p}, (V)mask, (V)v);
  }
}
#endif

/// a < b ? a : b and a > b ? a : b, as the instructions have it: b if a lane is NaN. GCC does not
/// find the instructions by itself.
template <class T, class R>
HALFTONE_INLINE R lower(R a, R b) {
#if !defined(__clang__) && defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_minps(a, b);
#ifdef __AVX__
    if constexpr (sizeof(R) == 32) return __builtin_ia32_minps256(a, b);
#endif
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_minps512_mask(a, b, R{}, -1, 4);
#endif
  }
  if constexpr (std::is_same_v<T, double>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_minpd(a, b);
#ifdef __AVX__
    if constexpr (sizeof(R) == 32) return __builtin_ia32_minpd256(a, b);
#endif
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_minpd512_mask(a, b, R{}, -1, 4);
#endif
  }
#endif
  return a < b ? a : b;
}
template <class T, class R>
HALFTONE_INLINE R upper(R a, R b) {
#if !defined(__clang__) && defined(__SSE2__)
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_maxps(a, b);
#ifdef __AVX__
    if constexpr (sizeof(R) == 32) return __builtin_ia32_maxps256(a, b);
#endif
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_maxps512_mask(a, b, R{}, -1, 4);
#endif
  }
  if constexpr (std::is_same_v<T, double>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_maxpd(a, b);
#ifdef __AVX__
    if constexpr (sizeof(R) == 32) return __builtin_ia32_maxpd256(a, b);
#endif
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_maxpd512_mask(a, b, R{}, -1, 4);
#endif
  }
#endif
  return a > b ? a : b;
}

/// a * b + c with one rounding where the instruction exists.
template <class T, int N, class R>
HALFTONE_INLINE R fused(R a, R b, R c) {
#ifdef __FMA__
#ifdef __clang__
  return __builtin_elementwise_fma(a, b, c);
#else
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_vfmaddps(a, b, c);
    if constexpr (sizeof(R) == 32) return __builtin_ia32_vfmaddps256(a, b, c);
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#endif
  }
  if constexpr (std::is_same_v<T, double>) {
    if constexpr (sizeof(R) == 16) return __builtin_ia32_vfmaddpd(a, b, c);
    if constexpr (sizeof(R) == 32) return __builtin_ia32_vfmaddpd256(a, b, c);
#if HALFTONE_AVX512
    if constexpr (sizeof(R) == 64) return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4);
#endif
  }
  R r = c;
  for (int i = 0; i < N; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    } else {
      r[i] = __builtin_fma(a[i], b[i], c[i]);
    }
  }
  return r;
#endif
#else
  return a * b + c;
#endif
}

}  // namespace detail

/// One truth value per lane, as comparisons of Vec<T, N> give. Masks of element types of the same
/// width convert into each other.
template <class T, int N = register_bytes / int(sizeof(T))>
struct Mask {
  using lane = typename detail::Integer<sizeof(T)>::type;
  using raw = detail::raw_t<lane, N>;
  static constexpr int size = N;

  raw v;  ///< a lane is 0 or -1

  Mask() = default;
  HALFTONE_INLINE Mask(raw r) : v(r) {}
  HALFTONE_INLINE Mask(bool b) : v(lane(-int(b)) - raw{}) {}
  template <class U>
    requires(sizeof(U) == sizeof(T) && !std::is_same_v<U, T>)
  HALFTONE_INLINE Mask(Mask<U, N> m) : v((raw)m.v) {}

  /// True in the lanes i < n; n of any size.
  static HALFTONE_INLINE Mask first(std::ptrdiff_t n) {
    raw index;
    for (int i = 0; i < N; ++i) index[i] = lane(i);
    return (raw)(index < lane(n < N ? n : N) - raw{});
  }

  /// One byte per lane, 0 or not.
  static HALFTONE_INLINE Mask load(const bool* p) {
    detail::raw_t<std::int8_t, N> bytes;
    __builtin_memcpy(&bytes, p, N);
    return (raw)(__builtin_convertvector(bytes, raw) != 0);
  }
  HALFTONE_INLINE void store(bool* p) const {
    const auto bytes = __builtin_convertvector(v & 1, detail::raw_t<std::int8_t, N>);
    __builtin_memcpy(p, &bytes, N);
  }
  static HALFTONE_INLINE Mask load_partial(const bool* p, std::ptrdiff_t n) {
    bool lanes[N] = {};
    for (std::ptrdiff_t i = 0; i < n; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  HALFTONE_INLINE void store_partial(bool* p, std::ptrdiff_t n) const {
    bool lanes[N];
    store(lanes);
    for (std::ptrdiff_t i = 0; i < n; ++i) p[i] = lanes[i];
  }

  HALFTONE_INLINE bool operator[](int i) const { return v[i] != 0; }

  friend HALFTONE_INLINE Mask operator&(Mask a, Mask b) { return a.v & b.v; }
  template <class U>
    requires(sizeof(U) == sizeof(T) && !std::is_same_v<U, T>)
  friend HALFTONE_INLINE Mask operator&(Mask a, Mask<U, N> b) {
    return a & Mask(b);
  }
  friend HALFTONE_INLINE Mask operator|(Mask a, Mask b) { return a.v | b.v; }
  template <class U>
    requires(sizeof(U) == sizeof(T) && !std::is_same_v<U, T>)
  friend HALFTONE_INLINE Mask operator|(Mask a, Mask<U, N> b) {
    return a | Mask(b);
  }
  friend HALFTONE_INLINE Mask operator^(Mask a, Mask b) { return a.v ^ b.v; }
  template <class U>
    requires(sizeof(U) == sizeof(T) && !std::is_same_v<U, T>)
  friend HALFTONE_INLINE Mask operator^(Mask a, Mask<U, N> b) {
    return a ^ Mask(b);
  }
  friend HALFTONE_INLINE Mask operator~(Mask a) { return ~a.v; }
  friend HALFTONE_INLINE Mask operator!(Mask a) { return ~a.v; }

  friend HALFTONE_INLINE bool any(Mask a) { return detail::any_bit(a.v); }
  friend HALFTONE_INLINE bool all(Mask a) { return !detail::any_bit(~a.v); }

  /// Lane by lane: a where the mask is true, else b.
  friend HALFTONE_INLINE Vec<T, N> select(Mask m, Vec<T, N> a, Vec<T, N> b) {
    return m.v ? a.v : b.v;
  }
};

template <class T, int N>
struct Vec {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "a vector's lanes are float, double or integers");
  static_assert((N & (N - 1)) == 0, "a vector has a power of two of lanes");

  using value_type = T;
  using raw = detail::raw_t<T, N>;
  using mask = Mask<T, N>;
  /// What sums and products are formed in: integers wrap around.
  using wrapping = typename detail::Wrapping<T, N>::type;
  static constexpr int size = N;
  static constexpr bool is_float = std::is_floating_point_v<T>;

  raw v;

  Vec() = default;
  HALFTONE_INLINE Vec(raw r) : v(r) {}
  // s - zero, not zero + s: -0 + 0 is not the identity, so the sum would survive optimisation and
  // cost an addition for each broadcast.
  template <detail::scalar S>
  HALFTONE_INLINE Vec(S s) : v(T(s) - raw{}) {}

  /// Lanes from memory of any alignment.
  static HALFTONE_INLINE Vec load(const T* p) {
    Vec r;
    __builtin_memcpy(&r.v, p, sizeof(raw));
    return r;
  }
  HALFTONE_INLINE void store(T* p) const { __builtin_memcpy(p, &v, sizeof(raw)); }
  /// Stores a register past the caches; p is aligned to its size. Other threads see that after
  /// stream_end().
  HALFTONE_INLINE void stream(T* p) const {
#ifdef __clang__
    __builtin_nontemporal_store(v, reinterpret_cast<raw*>(p));
#elif HALFTONE_AVX512
    if constexpr (sizeof(raw) == 64) {
      __builtin_ia32_movntps512(detail::AnyPointer{p}, (detail::raw_t<float, 16>)v);
    } else {
      store(p);
    }
#else
    store(p);
#endif
  }

  /// The first n lanes, 0 <= n <= N, touching nothing behind p + n; the others get `fill` (integer
  /// divisors want 1).
  static HALFTONE_INLINE Vec load_partial(const T* p, std::ptrdiff_t n, T fill = 0) {
#if HALFTONE_AVX512
    if constexpr (sizeof(raw) >= 16 && sizeof(raw) <= 64) {
      return detail::masked_load<sizeof(T)>(p, Vec(fill).v, int(n));
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) >= 4 && sizeof(raw) >= 16 && sizeof(raw) <= 32) {
      const mask inside = mask::first(n);
      return select(inside, detail::masked_load<sizeof(T), raw>(p, inside.v), fill);
    }
#endif
    Vec r(fill);
    T lanes[N];
    r.store(lanes);
    for (std::ptrdiff_t i = 0; i < n; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  HALFTONE_INLINE void store_partial(T* p, std::ptrdiff_t n) const {
#if HALFTONE_AVX512
    if constexpr (sizeof(raw) >= 16 && sizeof(raw) <= 64) {
      detail::masked_store<sizeof(T)>(p, v, int(n));
      return;
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) >= 4 && sizeof(raw) >= 16 && sizeof(raw) <= 32) {
      detail::masked_store<sizeof(T)>(p, v, mask::first(n).v);
      return;
    }
#endif
    T lanes[N];
    store(lanes);
    for (std::ptrdiff_t i = 0; i < n; ++i) p[i] = lanes[i];
  }

  /// Lane i is p[index[i]].
  template <class I>
    requires std::is_integral_v<I>
  static HALFTONE_INLINE Vec gather(const T* p, Vec<I, N> index) {
    Vec r;
    for (int i = 0; i < N; ++i) r.v[i] = p[index.v[i]];
    return r;
  }

  /// Lane i is i.
  static HALFTONE_INLINE Vec iota() {
    Vec r;
    for (int i = 0; i < N; ++i) r.v[i] = T(i);
    return r;
  }

  HALFTONE_INLINE T operator[](int i) const { return v[i]; }

  HALFTONE_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
  HALFTONE_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
  HALFTONE_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
  HALFTONE_INLINE Vec& operator/=(Vec b) { return v /= b.v, *this; }

  friend HALFTONE_INLINE Vec operator+(Vec a) { return a; }
  friend HALFTONE_INLINE Vec operator-(Vec a) { return (raw)(-(wrapping)a.v); }
  friend HALFTONE_INLINE Vec operator+(Vec a, Vec b) {
    return (raw)((wrapping)a.v + (wrapping)b.v);
  }
  friend HALFTONE_INLINE Vec operator-(Vec a, Vec b) {
    return (raw)((wrapping)a.v - (wrapping)b.v);
  }
  friend HALFTONE_INLINE Vec operator*(Vec a, Vec b) {
    return (raw)((wrapping)a.v * (wrapping)b.v);
  }
  friend HALFTONE_INLINE Vec operator/(Vec a, Vec b) { return a.v / b.v; }

  friend HALFTONE_INLINE mask operator==(Vec a, Vec b) { return (typename mask::raw)(a.v == b.v); }
  friend HALFTONE_INLINE mask operator!=(Vec a, Vec b) { return (typename mask::raw)(a.v != b.v); }
  friend HALFTONE_INLINE mask operator<(Vec a, Vec b) { return (typename mask::raw)(a.v < b.v); }
  friend HALFTONE_INLINE mask operator<=(Vec a, Vec b) { return (typename mask::raw)(a.v <= b.v); }
  friend HALFTONE_INLINE mask operator>(Vec a, Vec b) { return (typename mask::raw)(a.v > b.v); }
  friend HALFTONE_INLINE mask operator>=(Vec a, Vec b) { return (typename mask::raw)(a.v >= b.v); }

  friend HALFTONE_INLINE Vec operator%(Vec a, Vec b)
    requires(!is_float)
  {
    return a.v % b.v;
  }
  friend HALFTONE_INLINE Vec operator&(Vec a, Vec b)
    requires(!is_float)
  {
    return a.v & b.v;
  }
  friend HALFTONE_INLINE Vec operator|(Vec a, Vec b)
    requires(!is_float)
  {
    return a.v | b.v;
  }
  friend HALFTONE_INLINE Vec operator^(Vec a, Vec b)
    requires(!is_float)
  {
    return a.v ^ b.v;
  }
  friend HALFTONE_INLINE Vec operator~(Vec a)
    requires(!is_float)
  {
    return ~a.v;
  }
  friend HALFTONE_INLINE Vec operator<<(Vec a, Vec b)
    requires(!is_float)
  {
    return (raw)((wrapping)a.v << (wrapping)b.v);
  }
  friend HALFTONE_INLINE Vec operator>>(Vec a, Vec b)
    requires(!is_float)
  {
    return a.v >> b.v;
  }

  /// a * b + c; rounds once if has_fma.
  friend HALFTONE_INLINE Vec fma(Vec a, Vec b, Vec c) {
    if constexpr (is_float) {
      return detail::fused<T, N>(a.v, b.v, c.v);
    } else {
      return a * b + c;
    }
  }

  /// NaN if an operand is NaN, as ONNX and numpy have it; of zeros of both signs, the second.
  friend HALFTONE_INLINE Vec min(Vec a, Vec b) {
    const Vec r = detail::lower<T>(a.v, b.v);
    if constexpr (!is_float) return r;
    return a.v == a.v ? r.v : a.v;
  }
  /// NaN if an operand is NaN, as ONNX and numpy have it; of zeros of both signs, the second.
  friend HALFTONE_INLINE Vec max(Vec a, Vec b) {
    const Vec r = detail::upper<T>(a.v, b.v);
    if constexpr (!is_float) return r;
    return a.v == a.v ? r.v : a.v;
  }

  /// min(max(a, low), high) for limits that are numbers; NaN stays NaN.
  friend HALFTONE_INLINE Vec clamp(Vec a, Vec low, Vec high) {
    const Vec r = detail::lower<T>(detail::upper<T>(a.v, low.v), high.v);
    if constexpr (!is_float) return r;
    return a.v == a.v ? r.v : a.v;
  }

  /// Clears the sign, of NaN too. The lowest integer stays as it is.
  friend HALFTONE_INLINE Vec abs(Vec a) {
    if constexpr (is_float) {
      using I = typename mask::lane;
      const auto bits = (typename mask::raw)a.v;
      return (raw)(bits & I(~(std::uint64_t{1} << (8 * sizeof(T) - 1))));
    } else if constexpr (std::is_unsigned_v<T>) {
      return a;
    } else {
      const raw sign = a.v >> int(8 * sizeof(T) - 1);
      return (raw)((wrapping)(a.v ^ sign) - (wrapping)sign);
    }
  }

  template <class U>
    requires(sizeof(U) == sizeof(T) && !std::is_same_v<U, T>)
  friend HALFTONE_INLINE Vec select(Mask<U, N> m, Vec a, Vec b) {
    return (typename mask::raw)m.v ? a.v : b.v;
  }
};

/// Whether stream() writes lines of the cache as a whole.
inline constexpr bool has_stream = HALFTONE_AVX512;

HALFTONE_INLINE void stream_end() {
#if HALFTONE_AVX512
  __builtin_ia32_sfence();
#endif
}

namespace detail {

/// Bytes that no cache keeps.
inline constexpr std::int64_t beyond_caches = std::int64_t{32} << 20;

/// Whether rows from `to` on, so many bytes apart, are lines of the cache.
HALFTONE_INLINE bool is_in_lines(const void* to, std::int64_t row_bytes) {
  return (reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(row_bytes)) % 64 == 0;
}

}  // namespace detail

/// The same bits as lanes of U.
template <class U, class T, int N>
HALFTONE_INLINE Vec<U, N* int(sizeof(T)) / int(sizeof(U))> bit_cast(Vec<T, N> a) {
  return (typename Vec<U, N* int(sizeof(T)) / int(sizeof(U))>::raw) a.v;
}

/// Each lane as by static_cast; floats out of an integer's range give no particular number.
template <class U, class T, int N>
HALFTONE_INLINE Vec<U, N> convert(Vec<T, N> a) {
  if constexpr (std::is_same_v<U, T>) {
    return a;
  } else {
    Vec<U, N> r;
    r.v = __builtin_convertvector(a.v, typename Vec<U, N>::raw);
    return r;
  }
}

/// A value as it is between two nodes: product and sum of different ones stay two roundings.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> apart(Vec<T, N> value) {
#if defined(__FMA__)
  asm("" : "+v"(value.v));
#endif
  return value;
}

/// The same truth values beside lanes of another width.
template <class U, class T, int N>
HALFTONE_INLINE Mask<U, N> convert(Mask<T, N> m) {
  return __builtin_convertvector(m.v, typename Mask<U, N>::raw);
}

namespace detail {

/// Lanes (i + first) % N of a, for i < n.
template <int First, class T, int N, int... I>
HALFTONE_INLINE auto lanes(Vec<T, N> a, std::integer_sequence<int, I...>) {
  Vec<T, int(sizeof...(I))> r;
  if constexpr (N == 1) {
    r.v = a.v;
  } else if constexpr (sizeof...(I) == 1) {
    r.v = typename decltype(r)::raw{a.v[First]};
  } else {
    r.v = __builtin_shufflevector(a.v, a.v, (I + First) % N...);
  }
  return r;
}

/// Joins lane i with lane i + distance, then halves the distance; the result is in lane 0.
template <int Distance, class T, int N, class F>
HALFTONE_INLINE Vec<T, N> reduce_within(Vec<T, N> a, F f) {
  if constexpr (Distance == 0) {
    return a;
  } else {
    const Vec<T, N> moved = lanes<Distance>(a, std::make_integer_sequence<int, N>());
    return reduce_within<Distance / 2>(f(a, moved), f);
  }
}

}  // namespace detail

/// Lanes 0 to N / 2 - 1.
template <class T, int N>
HALFTONE_INLINE Vec<T, N / 2> low(Vec<T, N> a) {
  return detail::lanes<0>(a, std::make_integer_sequence<int, N / 2>());
}

/// Lanes N / 2 to N - 1.
template <class T, int N>
HALFTONE_INLINE Vec<T, N / 2> high(Vec<T, N> a) {
  return detail::lanes<N / 2>(a, std::make_integer_sequence<int, N / 2>());
}

namespace detail {

template <class T, int N, int... I>
HALFTONE_INLINE Vec<T, 2 * N> joined(Vec<T, N> a, Vec<T, N> b, std::integer_sequence<int, I...>) {
  Vec<T, 2 * N> r;
  r.v = __builtin_shufflevector(a.v, b.v, I...);
  return r;
}

template <class T, int N, class F>
HALFTONE_INLINE T reduce(Vec<T, N> a, F f) {
  if constexpr (N * sizeof(T) > 16) {
    return reduce(f(low(a), high(a)), f);
  } else {
    return reduce_within<N / 2>(a, f).v[0];
  }
}

}  // namespace detail

/// The lanes of a, then those of b.
template <class T, int N>
HALFTONE_INLINE Vec<T, 2 * N> concat(Vec<T, N> a, Vec<T, N> b) {
  return detail::joined(a, b, std::make_integer_sequence<int, 2 * N>());
}

/// Sum of the lanes; lane i joins lane i + n / 2, then n is halved, down to one.
template <class T, int N>
HALFTONE_INLINE T reduce_add(Vec<T, N> a) {
  return detail::reduce(a, [](auto x, auto y) __attribute__((always_inline)) { return x + y; });
}

/// Product of the lanes, in the order of reduce_add.
template <class T, int N>
HALFTONE_INLINE T reduce_mul(Vec<T, N> a) {
  return detail::reduce(a, [](auto x, auto y) __attribute__((always_inline)) { return x * y; });
}

/// Smallest lane, NaN if one is.
template <class T, int N>
HALFTONE_INLINE T reduce_min(Vec<T, N> a) {
  return detail::reduce(a, [](auto x, auto y) __attribute__((always_inline)) { return min(x, y); });
}

/// Largest lane, NaN if one is.
template <class T, int N>
HALFTONE_INLINE T reduce_max(Vec<T, N> a) {
  return detail::reduce(a, [](auto x, auto y) __attribute__((always_inline)) { return max(x, y); });
}

/// bfloat16's bits as floats; exact.
template <int N>
HALFTONE_INLINE Vec<float, N> float_from_bfloat16(Vec<std::uint16_t, N> bits) {
  return bit_cast<float>(convert<std::uint32_t>(bits) << 16);
}

/// The nearest bfloat16, ties to even; NaN stays NaN and becomes quiet.
template <int N>
HALFTONE_INLINE Vec<std::uint16_t, N> bfloat16_from_float(Vec<float, N> x) {
  const auto bits = bit_cast<std::uint32_t>(x);
  const auto rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return convert<std::uint16_t>(select(x == x, rounded, bits | 0x400000) >> 16);
}

/// IEEE half's bits as floats; exact, signalling NaN becomes quiet.
template <int N>
HALFTONE_INLINE Vec<float, N> float_from_half(Vec<std::uint16_t, N> bits) {
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    return __builtin_ia32_vcvtph2ps512_mask((detail::raw_t<short, 16>)bits.v,
                                            detail::raw_t<float, 16>{}, -1, 4);
  }
#endif
#ifdef __F16C__
  if constexpr (N == 8) return __builtin_ia32_vcvtph2ps256((detail::raw_t<short, 8>)bits.v);
#endif
  if constexpr (N > 8) {
    return concat(float_from_half(low(bits)), float_from_half(high(bits)));
  } else {
    using U = Vec<std::uint32_t, N>;
    const U wide = convert<std::uint32_t>(bits);
    const U magnitude = (wide & 0x7fff) << 13;
    // As a float the shifted bits are too small by 2^112, also for denormals: one exact product.
    const Vec<float, N> scaled = bit_cast<float>(magnitude) * 0x1p112f;
    const U special = magnitude | 0x7f800000 | (select(magnitude > 0x0f800000, U(0x400000), U(0)));
    const U finite = bit_cast<std::uint32_t>(scaled);
    return bit_cast<float>(select(magnitude >= 0x0f800000, special, finite) |
                           ((wide & 0x8000) << 16));
  }
}

/// The nearest IEEE half, ties to even, too large becomes infinite; NaN stays NaN.
template <int N>
HALFTONE_INLINE Vec<std::uint16_t, N> half_from_float(Vec<float, N> x) {
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    return (detail::raw_t<std::uint16_t, 16>)__builtin_ia32_vcvtps2ph512_mask(
        x.v, 0, detail::raw_t<short, 16>{}, -1);
  }
#endif
#ifdef __F16C__
  if constexpr (N == 8) {
    return (detail::raw_t<std::uint16_t, 8>)__builtin_ia32_vcvtps2ph256(x.v, 0);
  }
#endif
  if constexpr (N > 8) {
    return concat(half_from_float(low(x)), half_from_float(high(x)));
  } else {
    using U = Vec<std::uint32_t, N>;
    const U bits = bit_cast<std::uint32_t>(x);
    const U sign = (bits >> 16) & 0x8000;
    const U magnitude = bits & 0x7fffffff;
    // Normal halves: rebias, round at bit 13; the carry may reach infinity, as it should.
    const U normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // Below 2^-14 the sum with 0.5 leaves the denormal's digits, rounded, in the lowest bits.
    const U tiny = bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    const U quiet = ((magnitude >> 13) & 0x3ff) | 0x7e00;
    U r = select(magnitude < (113u << 23), tiny, normal);
    r = select(magnitude >= 0x47800000, U(0x7c00), r);
    r = select(magnitude > 0x7f800000, quiet, r);
    return convert<std::uint16_t>(r | sign);
  }
}

/// How a tensor's element type is computed with: `compute` is the lanes' type, `bits` what memory
/// is read as, and widen and narrow go between vectors of the two. Other element types may add a
/// specialisation.
template <class T>
struct Storage {
  using compute = T;
  using bits = T;
  template <int N>
  static HALFTONE_INLINE Vec<T, N> widen(Vec<T, N> v) {
    return v;
  }
  template <int N>
  static HALFTONE_INLINE Vec<T, N> narrow(Vec<T, N> v) {
    return v;
  }
};

/// half: the builtin type or the class that stands in for it.
template <class T>
  requires(detail::is_builtin_half<T> || detail::coded_float<T, 0x3c00>)
struct Storage<T> {
  using compute = float;
  using bits = std::uint16_t;
  template <int N>
  static HALFTONE_INLINE Vec<float, N> widen(Vec<std::uint16_t, N> v) {
    return float_from_half(v);
  }
  template <int N>
  static HALFTONE_INLINE Vec<std::uint16_t, N> narrow(Vec<float, N> v) {
    return half_from_float(v);
  }
};

/// bfloat16.
template <class T>
  requires detail::coded_float<T, 0x3f80>
struct Storage<T> {
  using compute = float;
  using bits = std::uint16_t;
  template <int N>
  static HALFTONE_INLINE Vec<float, N> widen(Vec<std::uint16_t, N> v) {
    return float_from_bfloat16(v);
  }
  template <int N>
  static HALFTONE_INLINE Vec<std::uint16_t, N> narrow(Vec<float, N> v) {
    return bfloat16_from_float(v);
  }
};

/// float for half and bfloat16, else T.
template <class T>
using compute_t = typename Storage<std::remove_cv_t<T>>::compute;

/// N elements of any type as vectors to compute with; load_compute<N>(p).
template <int Lanes = 0, class T, int N = Lanes ? Lanes : Vec<compute_t<T>>::size>
HALFTONE_INLINE Vec<compute_t<T>, N> load_compute(const T* p) {
  using B = typename Storage<T>::bits;
  Vec<B, N> v;
  __builtin_memcpy(&v.v, static_cast<const void*>(p), sizeof(v.v));
  return Storage<T>::widen(v);
}

/// Rounds to the element type (to nearest, ties to even) and stores N elements.
template <class T, int N>
HALFTONE_INLINE void store_compute(T* p, Vec<compute_t<T>, N> x) {
  const auto v = Storage<T>::narrow(x);
  __builtin_memcpy(static_cast<void*>(p), &v.v, sizeof(v.v));
}

/// As load_compute for the first n lanes, the others are zero; touches nothing behind p + n.
template <int Lanes = 0, class T, int N = Lanes ? Lanes : Vec<compute_t<T>>::size>
HALFTONE_INLINE Vec<compute_t<T>, N> load_compute_partial(const T* p, std::ptrdiff_t n) {
  using B = typename Storage<T>::bits;
  typedef B alias __attribute__((may_alias));
  return Storage<T>::widen(Vec<B, N>::load_partial(reinterpret_cast<const alias*>(p), n));
}

template <class T, int N>
HALFTONE_INLINE void store_compute_partial(T* p, Vec<compute_t<T>, N> x, std::ptrdiff_t n) {
  using B = typename Storage<T>::bits;
  typedef B alias __attribute__((may_alias));
  Storage<T>::narrow(x).store_partial(reinterpret_cast<alias*>(p), n);
}

}  // namespace halftone::kernel
