#include <halftone/op/quantize_linear.hpp>

#include <halftone/base/error.hpp>

#include "expanded.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::DequantizeLinear;
using op::QuantizeLinear;

TEST_CASE("quantize linear: blocks, examples of ONNX") {
  const Array<float> x({3, 4}, {6, 12, 50, 5, 1, 8, 4, 5, 0, 20, 10, 4});
  const Array<float> scale({3, 2}, {1.5f, 2.5f, 3, 4.9f, 5.1f, 6.9f});
  const Array<std::uint8_t> zero({3, 2}, {0, 1, 1, 0, 2, 3});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{.block_size = 2}, {x, scale, zero})[0],
                            {3, 4}, {4, 8, 21, 3, 1, 4, 1, 1, 2, 6, 4, 4});

  const Array<std::uint8_t> y({1, 4, 3, 2}, {3, 89, 34, 200, 74, 59, 5,   24, 24, 87,  32,  13,
                                             5, 12, 12, 33,  65, 42, 245, 99, 4,  142, 121, 102});
  const Array<float> scales({1, 2, 3, 2}, {3, 2, 4, 1, 2, 2, 5, 2, 4, 3, 5, 2});
  const Array<std::uint8_t> zeros({1, 2, 3, 2}, {1, 0, 0, 1, 2, 20, 3, 2, 4, 3, 15, 2});
  check_equal<float>(run_session(DequantizeLinear{.block_size = 2}, {y, scales, zeros})[0],
                     {1, 4, 3, 2}, {6,  178, 136, 199, 144, 78, 12,   48,  96, 86,  60,  -14,
                                    10, 20,  32,  90,  250, 80, 1210, 194, 0,  417, 530, 200});
}

TEST_CASE("quantize linear: the last block may be short, and there may be one alone") {
  const Array<float> x({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const Array<float> scales({2, 3}, {1, 2, 5, 2, 4, 10}), one({2, 1}, {1, 2});
  check_equal<std::uint8_t>(
      run_session(QuantizeLinear{.axis = -1, .block_size = 2}, {x, scales})[0], {2, 5},
      {1, 2, 2, 2, 1, 3, 4, 2, 2, 1});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{.block_size = 5}, {x, one})[0], {2, 5},
                            {1, 2, 3, 4, 5, 3, 4, 4, 4, 5});
  check_equal<float>(
      run_session(DequantizeLinear{.axis = 0, .block_size = 2},
                  {Array<std::int8_t>({3}, {1, 2, 3}), Array<float>({2}, {10, 100})})[0],
      {3}, {10, 20, 300});
}

TEST_CASE("quantize linear: element types of results and of the division") {
  const Array<float> x({4}, {-1.5f, 0.5f, 300, 70000}), one({}, {1});
  check_equal<std::int16_t>(
      run_session(QuantizeLinear{.output_dtype = ElementType::int16}, {x, one})[0], {4},
      {-2, 0, 300, 32767});
  check_equal<std::uint16_t>(
      run_session(QuantizeLinear{}, {x, one, Array<std::uint16_t>({}, {32767})})[0], {4},
      {32765, 32767, 33067, 65535});
  // 2047 / 818.5 is 2.50092, in half 2.5, which becomes 2; 1.25046 becomes 1 in both.
  const Array<half> h = array<half>({2}, {2047, 1023.5}), scale = array<half>({}, {818.5});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{}, {h, scale})[0], {2}, {2, 1});
  check_equal<std::uint8_t>(
      run_session(QuantizeLinear{.precision = ElementType::float32}, {h, scale})[0], {2}, {3, 1});
  check_equal<half>(
      run_session(DequantizeLinear{.output_dtype = ElementType::float16},
                  {Array<std::uint16_t>({2}, {65535, 1}), Array<float>({}, {0.5f})})[0],
      {2}, {32768, 0.5});
}

TEST_CASE("quantize linear: the result has the shape of x") {
  // ONNX: y = round(x / scale) + zero_point and y = (x - zero_point) * scale have x's shape.
  const Array<float> x({}, {5}), scale({1}, {2});
  const Array<std::uint8_t> q({}, {9}), zero({1}, {3});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{}, {x, scale})[0], {}, {2});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{}, {x, scale, zero})[0], {}, {5});
  check_equal<std::uint8_t>(run_session(QuantizeLinear{.axis = 0}, {x, scale, zero})[0], {}, {5});
  check_equal<float>(run_session(DequantizeLinear{}, {q, scale})[0], {}, {18});
  check_equal<float>(run_session(DequantizeLinear{}, {q, scale, zero})[0], {}, {12});
  check_equal<float>(run_session(DequantizeLinear{}, {q, scale, Array<std::uint8_t>({}, {3})})[0],
                     {}, {12});
}

TEST_CASE("quantize linear: numbers of less than a byte") {
  const Array<float> x({3, 4}, {0, 2.5f, 4.8f, 8.6f, -30, -20, 6, 9, 12, 15, 16, 40});
  const Array<float> scales({3}, {2, 3, 4}), one({}, {1});
  const auto there_and_back = [&](ElementType type, const std::vector<double>& expected) {
    const AnyArray y = run_session(QuantizeLinear{.axis = 0, .output_dtype = type}, {x, scales})[0];
    CHECK(y.info() == TensorInfo{type, {3, 4}});
    check_equal<float>(run_session(DequantizeLinear{}, {y, one})[0], {3, 4}, expected);
  };
  there_and_back(ElementType::int4, {0, 1, 2, 4, -8, -7, 2, 3, 3, 4, 4, 7});
  there_and_back(ElementType::uint4, {0, 1, 2, 4, 0, 0, 2, 3, 3, 4, 4, 10});
  there_and_back(ElementType::int2, {0, 1, 1, 1, -2, -2, 1, 1, 1, 1, 1, 1});
  there_and_back(ElementType::uint2, {0, 1, 2, 3, 0, 0, 2, 3, 3, 3, 3, 3});
  // To the nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6, ties to even.
  there_and_back(ElementType::float4_e2m1, {0, 1, 2, 4, -6, -6, 2, 3, 3, 4, 4, 6});
}

TEST_CASE("quantize linear: what does not fit") {
  const Array<float> x({2, 4}), one({}, {1}), scales({2, 2}, {1, 1, 1, 1});
  CHECK_THROWS_AS(
      run_session(QuantizeLinear{.block_size = 3}, {x, scales, Array<std::uint8_t>({2})}),
      ModelError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.block_size = 1}, {x, scales}), ModelError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.block_size = -1}, {x, scales}), ModelError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.axis = 2, .block_size = 2}, {x, scales}), ModelError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.output_dtype = ElementType::int8},
                              {x, one, Array<std::uint8_t>({}, {0})}),
                  ModelError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.output_dtype = ElementType::float32}, {x, one}),
                  UnsupportedError);
  CHECK_THROWS_AS(run_session(QuantizeLinear{.precision = ElementType::int8}, {x, one}),
                  UnsupportedError);
  CHECK_THROWS_AS(run_session(DequantizeLinear{.output_dtype = ElementType::int8},
                              {Array<std::int8_t>({1}), one}),
                  UnsupportedError);
}
