#include <halftone/op/microsoft_bits.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

namespace {

/// b [K, N] of MatMulNBits by its formula. `zeros`: one for each block of each column, or none.
Numbers widened(const op::MatMulNBits& op, const Numbers& bytes, const Numbers& scales,
                const Numbers& zeros) {
  const std::int64_t blocks = (op.K + op.block_size - 1) / op.block_size;
  Numbers b(std::size_t(op.K * op.N));
  for (std::int64_t n = 0; n < op.N; ++n) {
    for (std::int64_t k = 0; k < op.K; ++k) {
      const std::int64_t bit = (n * blocks * op.block_size + k) * op.bits;
      const int number = int(bytes[std::size_t(bit / 8)]) >> (bit % 8) & ((1 << op.bits) - 1);
      const auto at = std::size_t(n * blocks + k / op.block_size);
      const double zero = zeros.empty() ? double(1 << (op.bits - 1)) : zeros[at];
      b[std::size_t(k * op.N + n)] = (number - zero) * scales[at];
    }
  }
  return b;
}

template <class T>
void check_product(std::int64_t bits, std::int64_t k, std::int64_t n, std::int64_t block,
                   int zero_kind, std::int64_t rows) {
  CAPTURE(bits);
  CAPTURE(k);
  CAPTURE(zero_kind);
  const op::MatMulNBits op{.K = k, .N = n, .bits = bits, .block_size = block};
  const std::int64_t blocks = (k + block - 1) / block;
  const Array<T> a = scattered<T>({rows, k}, -1, 1);
  const auto b = scattered<std::uint8_t>({n, blocks, block * bits / 8}, 0, 256, 2);
  const Array<T> scales = scattered<T>({n, blocks}, 0.01, 0.1, 3),
                 bias = scattered<T>({n}, -1, 1, 4);
  std::vector<AnyArray> inputs{a, b, scales};
  Numbers zeros;
  if (zero_kind == 1) {  // packed, each column from a new byte on
    const std::int64_t bytes = (blocks * bits + 7) / 8;
    const auto packed = scattered<std::uint8_t>({n, bytes}, 0, 256, 5);
    for (std::int64_t c = 0; c < n; ++c) {
      for (std::int64_t j = 0; j < blocks; ++j) {
        const int byte = int(doubles(packed)[std::size_t(c * bytes + j * bits / 8)]);
        zeros.push_back(byte >> (j * bits % 8) & ((1 << bits) - 1));
      }
    }
    inputs.push_back(packed);
  } else if (zero_kind == 2) {
    const Array<T> real = scattered<T>({n, blocks}, 0, 9, 5);
    zeros = doubles(real);
    inputs.push_back(real);
  } else {
    inputs.push_back(absent());
  }
  inputs.push_back(absent());
  inputs.push_back(bias);
  const Numbers expected =
      with_row(product(doubles(a), widened(op, doubles(b), doubles(scales), zeros),
                       std::size_t(rows), std::size_t(k), std::size_t(n)),
               doubles(bias));
  const AnyArray y = run(op, inputs);
  CHECK(y.info().shape == Dims{rows, n});
  double largest = 0;
  for (const double v : expected) largest = std::fmax(largest, std::fabs(v));
  check_close<T>(y, expected, 16, largest * rounding<T>() * 16);
}

}  // namespace

TEST_CASE_TEMPLATE("com.microsoft MatMulNBits against its formula", T, float, half, bfloat16) {
  for (const std::int64_t bits : {2, 4, 8}) {
    for (const int zeros : {0, 1, 2}) {
      check_product<T>(bits, 64, 40, 32, zeros, 3);
      check_product<T>(bits, 50, 7, 16, zeros, 1);  // the last block is not full
    }
    check_product<T>(bits, 128, 70, 128, 1, 40);
  }
}

TEST_CASE("com.microsoft MatMulNBits refuses what does not fit together") {
  const op::MatMulNBits op{.K = 64, .N = 8, .bits = 4, .block_size = 32};
  const Array<float> a({2, 64}), scales({8, 2});
  const Array<std::uint8_t> b({8, 2, 16});
  CHECK(reason(op, {a, b, scales}).empty());
  CHECK(reason(op, {Array<float>({2, 63}), b, scales}) == "the last dimension of a is not K");
  CHECK(reason(op, {a, Array<std::uint8_t>({8, 2, 15}), scales}) ==
        "b has not as many bytes as K, N, bits and block_size say");
  CHECK(reason(op, {a, b, Array<float>({8})}) == "there is not one scale for each block");
  CHECK(reason(op, {a, b, scales, Array<std::uint8_t>({8, 2})}) ==
        "there is not one zero point for each block");
  CHECK(reason(op, {a, b, scales, absent(), Array<std::int32_t>({64})}) ==
        "the input g_idx is not offered");
  const op::MatMulNBits three{.K = 64, .N = 8, .bits = 3, .block_size = 32};
  CHECK(reason(three, {a, b, scales}) == "numbers of other than 2, 4 or 8 bits are not offered");
  const op::MatMulNBits odd{.K = 64, .N = 8, .bits = 4, .block_size = 33};
  CHECK(reason(odd, {a, b, scales}) == "block_size is not a power of two from 16 on");
}

TEST_CASE("com.microsoft GatherBlockQuantized widens the rows it gathers") {
  // Rows of two blocks of 16; a byte 16 * i + j holds j, then i.
  Numbers bytes, expected;
  for (int i = 0; i < 48; ++i) bytes.push_back(i * 5 % 256);
  const Numbers scales{0.5, 1, 2, 0.25, 1, 3}, zeros{1 + 16 * 2, 3 + 16 * 4, 5 + 16 * 6};
  for (const std::size_t row : {2, 0}) {
    for (std::size_t k = 0; k < 32; ++k) {
      const int byte = int(bytes[row * 16 + k / 2]), zero = int(zeros[row]);
      const int number = k % 2 == 0 ? byte & 15 : byte >> 4;
      expected.push_back((number - (k < 16 ? zero & 15 : zero >> 4)) * scales[row * 2 + k / 16]);
    }
  }
  const AnyArray y =
      run_session(op::GatherBlockQuantized{.block_size = 16},
                  {array<std::uint8_t>({3, 16}, bytes), Array<std::int64_t>({2}, {2, 0}),
                   array<float>({3, 2}, scales), array<std::uint8_t>({3, 1}, zeros)})[0];
  check_equal<float>(y, {2, 32}, expected);
}
