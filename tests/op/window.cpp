#include <halftone/op/window.hpp>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

constexpr double pi = 3.14159265358979323846;

Array<std::int32_t> number(std::int32_t n) { return Array<std::int32_t>({}, {n}); }

template <class Op>
Op of_type(ElementType type, std::int64_t periodic) {
  Op op;
  op.output_datatype = static_cast<std::int64_t>(type);
  op.periodic = periodic;
  return op;
}

}  // namespace

TEST_CASE_TEMPLATE("windows: the formulas", T, float, double, half, bfloat16) {
  for (const std::int32_t size : {1, 2, 9, 10}) {
    for (const std::int64_t periodic : {1, 0}) {
      std::vector<double> hann, hamming, blackman;
      for (int i = 0; i < size; ++i) {
        const int n = periodic != 0 ? size : size - 1;
        const double t = n == 0 ? pi : 2 * pi * i / n;
        // Hann's is a squared sine.
        hann.push_back(std::sin(t / 2) * std::sin(t / 2));
        hamming.push_back((25 - 21 * std::cos(t)) / 46);
        blackman.push_back(0.42 - 0.5 * std::cos(t) + 0.08 * std::cos(2 * t));
      }
      const ElementType type = element_type<T>;
      check_close<T>(run(of_type<op::HannWindow>(type, periodic), {number(size)}), hann, 2, 1e-15);
      check_close<T>(run(of_type<op::HammingWindow>(type, periodic), {number(size)}), hamming, 2,
                     1e-15);
      check_close<T>(run(of_type<op::BlackmanWindow>(type, periodic), {number(size)}), blackman, 2,
                     1e-15);
    }
  }
}

TEST_CASE("windows: the peak of integers is 1") {
  // At t = pi all windows are 1, as ONNX Runtime and ONNX's reference have it.
  const ElementType type = ElementType::int64;
  for (const std::int32_t size : {2, 6, 10}) {
    std::vector<double> expected(static_cast<std::size_t>(size));
    expected[static_cast<std::size_t>(size / 2)] = 1;
    const std::vector<AnyArray> in{number(size)};
    check_equal<std::int64_t>(run(of_type<op::HannWindow>(type, 1), in), {size}, expected);
    check_equal<std::int64_t>(run(of_type<op::HammingWindow>(type, 1), in), {size}, expected);
    check_equal<std::int64_t>(run(of_type<op::BlackmanWindow>(type, 1), in), {size}, expected);
  }
}

TEST_CASE("windows: nothing, and what does not fit") {
  check_equal<float>(run(op::HannWindow{}, {Array<std::int64_t>({}, {0})}), {0}, {});
  CHECK(reason(op::HannWindow{}, {number(-1)}) == "the size is negative");
  CHECK(reason(op::HannWindow{}, {Array<std::int32_t>({2}, {1, 2})}) == "the size is not a scalar");
  CHECK(reason(of_type<op::HannWindow>(ElementType::boolean, 1), {number(3)}) ==
        "element type is not offered");
  check_equal<std::int32_t>(run(of_type<op::HannWindow>(ElementType::int32, 1), {number(4)}), {4},
                            {0, 0, 1, 0});
}

TEST_CASE("mel weights: the example of the ONNX specification") {
  const std::vector<AnyArray> inputs{number(8), number(16), number(8192), Array<float>({}, {0}),
                                     Array<float>({}, {4096})};
  std::vector<double> expected(72);
  const int peaks[] = {0, 1, 10, 11, 20, 29, 38, 47};  // row * 8 + band
  for (const int i : peaks) expected[static_cast<std::size_t>(i)] = 1;
  check_equal<float>(run(op::MelWeightMatrix{}, inputs), {9, 8}, expected);
  check_equal<half>(run(op::MelWeightMatrix{.output_datatype = 10}, inputs), {9, 8}, expected);
}

TEST_CASE("mel weights: triangles, also where they leave the spectrum") {
  // The upper edges of the last band are beyond half the sample rate.
  const std::vector<AnyArray> inputs{number(3), number(512), number(16000),
                                     Array<double>({}, {300}), Array<double>({}, {20000})};
  const std::vector<double> y = doubles(run(op::MelWeightMatrix{}, inputs));
  REQUIRE(y.size() == 257 * 3);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(20000) - mel(300)) / 5;
  for (int band = 0; band < 3; ++band) {
    double edge[3];
    for (int i = 0; i < 3; ++i) {
      const double at = mel(300) + (band + i) * step;
      edge[i] = std::floor(513 * 700 * (std::pow(10, at / 2595) - 1) / 16000);
    }
    for (int row = 0; row < 257; ++row) {
      const double up = (row - edge[0]) / (edge[1] - edge[0]);
      const double down = (edge[2] - row) / (edge[2] - edge[1]);
      const double want = std::fmax(0, row <= edge[1] ? std::fmin(up, 1) : down);
      CHECK(std::fabs(y[static_cast<std::size_t>(row * 3 + band)] - want) < 1e-6);
    }
  }
  CHECK(reason(op::MelWeightMatrix{}, {number(0), inputs[1], inputs[2], inputs[3], inputs[4]}) ==
        "a number is not positive");
}
