// Kernels that several operators have in common: compiled once for each instruction set, in
// shared_*.cpp, and not again in every part whose operators call them.
#pragma once

#include <halftone/kernels.hpp>

// A file that compiles some of them defines their macro as nothing.
#ifndef HALFTONE_PRODUCTS
#define HALFTONE_PRODUCTS extern
#endif
#ifndef HALFTONE_CONVOLUTIONS
#define HALFTONE_CONVOLUTIONS extern
#endif
#ifndef HALFTONE_MOVES
#define HALFTONE_MOVES extern
#endif

#ifndef HALFTONE_ONCE
#define HALFTONE_INSTANCE(...) template decltype(__VA_ARGS__) __VA_ARGS__

namespace halftone::kernel {

#define HALFTONE_SHARED(T)                                         \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::pack_strip<T>);      \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::finish<T>);          \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_block<T>);  \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_packed<T>); \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_vector<T>); \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(recurrent<T>);               \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(recurrent_pack<T>);          \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(conv<T>);                \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(conv_pack<T>);           \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(block_channels<T>);      \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(unblock_channels<T>);    \
  HALFTONE_MOVES HALFTONE_INSTANCE(softmax<T>);                    \
  HALFTONE_MOVES HALFTONE_INSTANCE(channel_moments<T, compute_t<T>>)
HALFTONE_SHARED(float);
HALFTONE_SHARED(double);
HALFTONE_SHARED(half);
HALFTONE_SHARED(bfloat16);
#undef HALFTONE_SHARED

// Products of floats in fewer bits.
#define HALFTONE_SHARED(W)                                               \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::pack_narrow<W>);           \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_block<float, W>); \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_packed<float, W>)
#if defined(__AVX2__)
HALFTONE_SHARED(half);
#endif
#if HALFTONE_AVX512
HALFTONE_SHARED(BfloatPair);
#endif
#undef HALFTONE_SHARED

// Of types that are computed in as they are.
#define HALFTONE_SHARED(T)                                         \
  HALFTONE_PRODUCTS HALFTONE_INSTANCE(detail::multiply_direct<T>); \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(detail::copy_plane<T>);  \
  HALFTONE_CONVOLUTIONS HALFTONE_INSTANCE(detail::pack_plane<T>)
HALFTONE_SHARED(float);
HALFTONE_SHARED(double);
#undef HALFTONE_SHARED

// What is only moved goes as bits.
#define HALFTONE_SHARED(T)                               \
  HALFTONE_MOVES HALFTONE_INSTANCE(detail::copy_box<T>); \
  HALFTONE_MOVES HALFTONE_INSTANCE(transpose_matrix<T>); \
  HALFTONE_MOVES HALFTONE_INSTANCE(copy<T>)
HALFTONE_SHARED(std::uint8_t);
HALFTONE_SHARED(std::uint16_t);
HALFTONE_SHARED(std::uint32_t);
HALFTONE_SHARED(std::uint64_t);
#undef HALFTONE_SHARED

#define HALFTONE_SHARED(T)                                        \
  HALFTONE_MOVES HALFTONE_INSTANCE(reduce<Accumulation::sum, T>); \
  HALFTONE_MOVES HALFTONE_INSTANCE(reduce<Accumulation::squares, T>)
HALFTONE_SHARED(float);
HALFTONE_SHARED(double);
HALFTONE_SHARED(half);
HALFTONE_SHARED(bfloat16);
HALFTONE_SHARED(std::int8_t);
HALFTONE_SHARED(std::uint8_t);
HALFTONE_SHARED(std::int32_t);
HALFTONE_SHARED(std::int64_t);
HALFTONE_SHARED(std::uint32_t);
HALFTONE_SHARED(std::uint64_t);
#undef HALFTONE_SHARED

}  // namespace halftone::kernel
#endif
