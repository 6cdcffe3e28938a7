#include <halftone/op/bit_cast.hpp>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE("bit cast: the bits stay, whatever they mean") {
  const Array<float> x({2, 2}, {1, -2, 0, 0.1f});
  const auto y = run(op::BitCast{ElementType::int32}, {x});
  check_equal<std::int32_t>(y, {2, 2}, {0x3f800000, double(int(0xc0000000u)), 0, 0x3dcccccd});
  CHECK(doubles(run(op::BitCast{ElementType::float32}, {y})) == doubles(x));
  const Array<std::uint16_t> h({2}, {0x3c00, 0xc000});
  check_equal<half>(run(op::BitCast{ElementType::float16}, {h}), {2}, {1, -2});
  check_equal<bfloat16>(run(op::BitCast{ElementType::bfloat16}, {h}), {2}, {0.0078125, -2});
  const Array<std::int8_t> small({3}, {0, 1, -2});
  check_equal<bool>(run(op::BitCast{ElementType::boolean}, {small}), {3}, {0, 1, 1});
  check_equal<std::uint8_t>(run(op::BitCast{ElementType::uint8}, {small}), {3}, {0, 1, 254});
}

TEST_CASE("bit cast: widths that differ are refused") {
  const Array<float> x({2});
  CHECK(reason(op::BitCast{ElementType::int64}, {x}) ==
        "element types have different widths, in bytes");
  CHECK(reason(op::BitCast{}, {x}) == "attribute 'to' is missing");
}
