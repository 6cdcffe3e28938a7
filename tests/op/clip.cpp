#include <halftone/op/clip.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("clip: min(max(x, lower), upper), either left out", T, float, double, half,
                   bfloat16, std::int8_t, std::int32_t, std::int64_t) {
  const Array<T> x = array<T>({7}, {-100, -3, -2, 0, 2, 3, 100});
  const Array<T> lower = array<T>({}, {-2}), upper = array<T>({1}, {2});
  check_equal<T>(run(op::Clip{}, {x, lower, upper}), {7}, {-2, -2, -2, 0, 2, 2, 2});
  check_equal<T>(run(op::Clip{}, {x, lower}), {7}, {-2, -2, -2, 0, 2, 3, 100});
  check_equal<T>(run(op::Clip{}, {x, absent(), upper}), {7}, {-100, -3, -2, 0, 2, 2, 2});
  check_equal<T>(run(op::Clip{}, {x}), {7}, doubles(x));
  check_equal<T>(run(op::Clip{}, {x, upper, lower}), {7}, {-2, -2, -2, -2, -2, -2, -2});
  check_equal<T>(run(op::Clip{}, {array<T>({}, {5}), lower, upper}), {}, {2});
  check_equal<T>(run(op::Clip{}, {Array<T>({0}), lower, upper}), {0}, {});
  CHECK(reason(op::Clip{}, {x, x}) == "a limit is one element");
}

TEST_CASE_TEMPLATE("clip: no limits keep the largest numbers", T, std::int8_t, std::uint8_t,
                   std::int64_t, std::uint64_t) {
  const Array<T> x({2}, {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
  const AnyArray y = run(op::Clip{}, {x});
  CHECK(y.values<T>()[0] == x[0]);
  CHECK(y.values<T>()[1] == x[1]);
}

TEST_CASE("clip: NaN stays, infinities are held") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Array<float> x = array<float>({3}, {std::nan(""), infinity, -infinity});
  check_close<float>(run(op::Clip{}, {x, Array<float>({}, {-1}), Array<float>({}, {1})}),
                     {std::nan(""), 1, -1});
  check_close<float>(run(op::Clip{}, {x}), {std::nan(""), infinity, -infinity});
}

TEST_CASE("clip: limits as attributes") {
  const Array<double> x({3}, {-5, 0.25, 5});
  check_equal<double>(run_expanded<op::Clip>(op::Clip_1{.max = 2, .min = -1}, {x}), {3},
                      {-1, 0.25, 2});
  check_equal<double>(run_expanded<op::Clip>(op::Clip_1{.max = 2}, {x}), {3}, {-5, 0.25, 2});
  check_equal<double>(run_expanded<op::Clip>(op::Clip_1{.min = 0}, {x}), {3}, {0, 0.25, 5});
  check_equal<double>(run_expanded<op::Clip>(op::Clip_1{}, {x}), {3}, {-5, 0.25, 5});
  // ONNX Clip-6: the default limits are the largest floats.
  const double infinity = std::numeric_limits<double>::infinity(), largest = op::Clip_1::largest;
  check_equal<float>(
      run_expanded<op::Clip>(op::Clip_1{}, {array<float>({3}, {infinity, -infinity, 1})}), {3},
      {largest, -largest, 1});
}

TEST_CASE("clip: the gradient passes strictly inside") {
  const auto dx = [](double x) {
    return op::ClipGradient::forward(3.0, op::Clip::forward(x, -1.0, 2.0), -1.0, 2.0);
  };
  CHECK(dx(0.5) == 3);
  CHECK(dx(-1) == 0);
  CHECK(dx(2) == 0);
  CHECK(dx(-4) == 0);
  CHECK(dx(4) == 0);
}

TEST_CASE("clip: the gradient refuses other shapes, and limits of several elements") {
  const Array<float> y({2, 3}, {-1, 0, 1, 2, 3, 4}), dy({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array<float> lower = array<float>({}, {0}), upper = array<float>({1}, {3});
  check_equal<float>(run(op::ClipGradient{}, {dy, y, lower, upper}), {2, 3}, {0, 0, 3, 4, 0, 0});
  check_equal<float>(run(op::ClipGradient{}, {dy, y, absent(), upper}), {2, 3}, {1, 2, 3, 4, 0, 0});
  const Array<float> row({3}), short_rows({2, 2});
  CHECK(reason(op::ClipGradient{}, {dy, row}) == "the gradient has another rank than the output");
  CHECK(reason(op::ClipGradient{}, {dy, short_rows}) ==
        "the gradient has another extent than the output");
  CHECK(reason(op::ClipGradient{}, {dy, y, row}) == "a limit is one element");
}
