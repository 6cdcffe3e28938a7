#include <halftone/op/reduce.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

struct Formula {
  double start = 0;
  double (*join)(double sum, double x);
  double (*finish)(double sum, double count) = [](double sum, double) { return sum; };
};

double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

const double infinity = std::numeric_limits<double>::infinity();

/// The reduction in double, one element after the other, by the definition.
std::vector<double> by_definition(const AnyArray& x, std::uint32_t mask, Formula f) {
  const Dims& shape = x.info().shape;
  std::int64_t outputs = 1, count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) (mask >> i & 1 ? count : outputs) *= shape[i];
  std::vector<double> y(static_cast<std::size_t>(outputs), f.start);
  const std::vector<double> values = doubles(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t output = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if ((mask >> d & 1) == 0) {
        output += rest % shape[d] * stride;
        stride *= shape[d];
      }
      rest /= shape[d];
    }
    double& sum = y[static_cast<std::size_t>(output)];
    sum = f.join(sum, values[i]);
  }
  for (double& v : y) v = f.finish(v, static_cast<double>(count));
  return y;
}

template <class T, class Op>
void check(const Op& like, const AnyArray& x, std::uint32_t mask, Formula f, double units,
           double absolute = 0) {
  Dims axes, kept, kept_as_one;
  for (std::size_t i = 0; i < x.info().rank(); ++i) {
    const bool is_reduced = (mask >> i & 1) != 0;
    // Every other axis from the end.
    const auto axis = static_cast<std::int64_t>(i);
    if (is_reduced)
      axes.push_back(i % 2 == 0 ? axis : axis - static_cast<std::int64_t>(x.info().rank()));
    if (!is_reduced) kept.push_back(x.info().shape[i]);
    kept_as_one.push_back(is_reduced ? 1 : x.info().shape[i]);
  }
  if (axes.empty()) return;
  const Array<std::int64_t> list({static_cast<std::int64_t>(axes.size())}, axes.span());
  const std::vector<double> expected = by_definition(x, mask, f);
  // The definition, too, rounds at every step.
  units *= std::is_same_v<T, double> ? 32 : 2;
  Op op = like;
  const AnyArray y = run(op, {x, list});
  CHECK(y.info().shape == kept_as_one);
  check_close<T>(y, expected, units, absolute);
  op.keepdims = 0;
  const AnyArray z = run(op, {x, list});
  CHECK(z.info().shape == kept);
  CHECK(doubles(z) == doubles(y));
}

/// Shapes for rows, columns, both nested, extents of 1 and sizes around the kernels' steps.
template <class T, class Op>
void check_shapes(const Op& op, double low, double high, Formula f, double units,
                  double absolute = 0) {
  const Dims shapes[] = {{1},     {7},       {16},         {100},           {5, 3},
                         {3, 33}, {2, 3, 4}, {4, 1, 5, 1}, {2, 3, 4, 5, 6}, {3, 130, 19}};
  for (const Dims& shape : shapes) {
    const Array<T> x = scattered<T>(shape, low, high, shape.size());
    for (std::uint32_t mask = 1; mask < 1u << shape.size(); ++mask) {
      check<T>(op, x, mask, f, units, absolute);
    }
  }
}

constexpr auto add = [](double a, double b) { return a + b; };

/// Threads for the kernels: tasks run from the last to the first.
const kernel::Executor backwards{
    .threads = 4,
    .run =
        [](void*, std::int64_t count, kernel::Executor::Task task, void* context) {
          for (std::int64_t i = count; i-- > 0;) task(context, i);
        },
    .self = nullptr};

}  // namespace

TEST_CASE_TEMPLATE("reduce: definitions over every choice of dimensions", T, float, double, half,
                   bfloat16) {
  check_shapes<T>(op::ReduceSum{}, -1, 2, {0, add}, 4, 1e-6);
  check_shapes<T>(op::ReduceMean{}, -1, 2,
                  {0, add, [](double sum, double count) { return sum / count; }}, 4, 1e-6);
  check_shapes<T>(op::ReduceMax{}, -9, 9, {-infinity, larger}, 0);
  check_shapes<T>(op::ReduceMin{}, -9, 9, {infinity, smaller}, 0);
  check_shapes<T>(op::ReduceL1{}, -1, 2, {0, [](double a, double b) { return a + std::fabs(b); }},
                  16);
  check_shapes<T>(op::ReduceSumSquare{}, -1, 2, {0, [](double a, double b) { return a + b * b; }},
                  16);
  check_shapes<T>(op::ReduceL2{}, -1, 2,
                  {0, [](double a, double b) { return a + b * b; },
                   [](double sum, double) { return std::sqrt(sum); }},
                  16);
  check_shapes<T>(op::ReduceLogSum{}, 0.1, 2,
                  {0, add, [](double sum, double) { return std::log(sum); }}, 16, 1e-6);
  check_shapes<T>(op::ReduceLogSumExp{}, -3, 9,
                  {0, [](double a, double b) { return a + std::exp(b); },
                   [](double sum, double) { return std::log(sum); }},
                  8, 1e-6);
}

TEST_CASE_TEMPLATE("reduce: products", T, float, double) {
  for (const Dims& shape : {Dims{6}, Dims{3, 5}, Dims{2, 3, 4}, Dims{90, 2}}) {
    for (std::uint32_t mask = 1; mask < 1u << shape.size(); ++mask) {
      check<T>(op::ReduceProd{}, scattered<T>(shape, 0.9, 1.2), mask,
               {1, [](double a, double b) { return a * b; }}, 200);
    }
  }
}

TEST_CASE_TEMPLATE("reduce: integers", T, std::int8_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint32_t) {
  const double low = std::is_signed_v<T> ? -5 : 0;
  for (const Dims& shape : {Dims{6}, Dims{3, 5}, Dims{2, 3, 4}, Dims{3, 20}}) {
    const Array<T> x = scattered<T>(shape, low, 4), row = scattered<T>(shape, 1, 2.5);
    for (std::uint32_t mask = 1; mask < 1u << shape.size(); ++mask) {
      check<T>(op::ReduceSum{}, row, mask, {0, add}, 0);
      check<T>(op::ReduceMean{}, x, mask,
               {0, add, [](double sum, double count) { return std::trunc(sum / count); }}, 0);
      check<T>(op::ReduceMax{}, x, mask, {-infinity, larger}, 0);
      check<T>(op::ReduceMin{}, x, mask, {infinity, smaller}, 0);
      check<T>(op::ReduceL2{}, row, mask,
               {0, [](double a, double b) { return a + b * b; },
                [](double sum, double) { return std::trunc(std::sqrt(sum)); }},
               0);
      check<T>(op::ReduceLogSumExp{}, row, mask,
               {0, [](double a, double b) { return a + std::exp(b); },
                [](double sum, double) { return std::trunc(std::log(sum)); }},
               0);
    }
  }
}

TEST_CASE("reduce: all dimensions, none, and scalars") {
  const Array<float> x({2, 2}, {1, 2, 3, 4});
  const Array<std::int64_t> nothing({0});
  check_equal<float>(run(op::ReduceSum{}, {x}), {1, 1}, {10});
  check_equal<float>(run(op::ReduceSum{}, {x, nothing}), {1, 1}, {10});
  check_equal<float>(run(op::ReduceSum{.keepdims = 0}, {x}), {}, {10});
  check_equal<float>(run(op::ReduceSum{.noop_with_empty_axes = 1}, {x, nothing}), {2, 2},
                     {1, 2, 3, 4});
  // Each element is reduced alone, as ONNX says since 1.18.
  const Array<float> y({3}, {-2, 0, 3});
  check_equal<float>(run(op::ReduceL1{.noop_with_empty_axes = 1}, {y}), {3}, {2, 0, 3});
  check_equal<float>(run(op::ReduceL2{.noop_with_empty_axes = 1}, {y, nothing}), {3}, {2, 0, 3});
  check_equal<float>(run(op::ReduceSumSquare{.noop_with_empty_axes = 1}, {y}), {3}, {4, 0, 9});
  check_close<float>(run(op::ReduceLogSum{.noop_with_empty_axes = 1}, {x}),
                     {0, std::log(2.), std::log(3.), std::log(4.)});
  check_equal<float>(run(op::ReduceLogSumExp{.noop_with_empty_axes = 1}, {y}), {3}, {-2, 0, 3});
  check_equal<float>(run(op::ReduceMax{.noop_with_empty_axes = 1}, {y}), {3}, {-2, 0, 3});
  check_equal<float>(run(op::ReduceProd{.noop_with_empty_axes = 1}, {y}), {3}, {-2, 0, 3});
  check_equal<std::int32_t>(
      run(op::ReduceL1{.noop_with_empty_axes = 1}, {Array<std::int32_t>({2}, {-5, 4})}), {2},
      {5, 4});
  check_equal<float>(run(op::ReduceMean{}, {Array<float>({}, {3})}), {}, {3});
  check_equal<float>(run(op::ReduceL1{}, {Array<float>({}, {-3})}), {}, {3});
}

TEST_CASE("reduce: no elements give what joins without effect") {
  const Array<std::int64_t> last({1}, {-1}), first({1}, {0});
  check_equal<float>(run(op::ReduceSum{}, {Array<float>({2, 0}), last}), {2, 1}, {0, 0});
  check_equal<float>(run(op::ReduceProd{}, {Array<float>({0, 2}), first}), {1, 2}, {1, 1});
  check_equal<float>(run(op::ReduceMax{}, {Array<float>({2, 0}), last}), {2, 1},
                     {-infinity, -infinity});
  check_equal<std::int8_t>(run(op::ReduceMin{}, {Array<std::int8_t>({0, 1}), first}), {1, 1},
                           {127});
  check_equal<float>(run(op::ReduceLogSumExp{}, {Array<float>({0})}), {1}, {-infinity});
  check_equal<std::int32_t>(run(op::ReduceMean{}, {Array<std::int32_t>({0})}), {1}, {0});
  check_close<float>(run(op::ReduceMean{}, {Array<float>({0})}), {std::nan("")});
  // And no outputs.
  check_equal<float>(run(op::ReduceSum{}, {Array<float>({0, 3}), last}), {0, 1}, {});
  check_equal<float>(run(op::ReduceSum{}, {Array<float>({2, 3, 0}), Array<std::int64_t>({1}, {2})}),
                     {2, 3, 1}, {0, 0, 0, 0, 0, 0});
  check_equal<float>(run(op::ReduceSum{}, {Array<float>({2, 3, 0}), Array<std::int64_t>({1}, {1})}),
                     {2, 1, 0}, {});
}

TEST_CASE("reduce: false is less than true") {
  const Array<bool> x({3, 2}, {true, true, true, false, false, false});
  const Array<std::int64_t> last({1}, {-1}), first({1}, {0});
  check_equal<bool>(run(op::ReduceMax{.keepdims = 0}, {x, last}), {3}, {1, 1, 0});
  check_equal<bool>(run(op::ReduceMin{.keepdims = 0}, {x, last}), {3}, {1, 0, 0});
  check_equal<bool>(run(op::ReduceMax{}, {Array<bool>({0, 2}), first}), {1, 2}, {0, 0});
  check_equal<bool>(run(op::ReduceMin{}, {Array<bool>({0, 2}), first}), {1, 2}, {1, 1});
  check_equal<bool>(run(op::ReduceMin{.noop_with_empty_axes = 1}, {x}), {3, 2}, doubles(x));
}

TEST_CASE("reduce: infinities and NaN") {
  const double nan = std::nan("");
  const Array<float> x = array<float>({4, 2}, {1, infinity, -infinity, -infinity, nan, 1, 1, nan});
  const Array<std::int64_t> last({1}, {1});
  check_close<float>(run(op::ReduceMax{}, {x, last}), {infinity, -infinity, nan, nan});
  check_close<float>(run(op::ReduceMin{}, {x, last}), {1, -infinity, nan, nan});
  check_close<float>(run(op::ReduceSum{}, {x, last}), {infinity, -infinity, nan, nan});
  check_close<float>(run(op::ReduceLogSumExp{}, {x, last}), {infinity, -infinity, nan, nan});
  // Powers that do not fit a float.
  check_close<float>(run(op::ReduceLogSumExp{}, {Array<float>({2}, {1000, 1000})}),
                     {1000 + std::log(2.0)});
}

TEST_CASE("reduce: large sums are as exact as small ones, and the same on any number of threads") {
  for (const Dims& shape :
       {Dims{1 << 20}, Dims{1 << 17, 8}, Dims{8, 1 << 17}, Dims{2, 1 << 18, 2}}) {
    Array<float> x(shape);
    for (float& v : x.values()) v = 0.1f;
    const AnyArray y = run(op::ReduceSum{}, {x});
    CHECK(doubles(y)[0] == doctest::Approx(0.1f * static_cast<double>(x.size()) /
                                           static_cast<double>(y.info().elements()))
                               .epsilon(4e-6));
    const Array<float> z = scattered<float>(shape, -1, 1);
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      const Array<std::int64_t> axes({1}, {axis});
      const AnyArray a = run(op::ReduceSum{}, {z, axes});
      CHECK(doubles(a) == doubles(run(op::ReduceSum{}, {z, axes}, backwards)));
      check_close<float>(a, by_definition(z, 1u << axis, {0, add}), 4, 2e-4);
      CHECK(doubles(run(op::ReduceLogSumExp{}, {z, axes})) ==
            doubles(run(op::ReduceLogSumExp{}, {z, axes}, backwards)));
    }
  }
}

TEST_CASE("reduce: axes as an attribute") {
  const Array<float> x({3, 2, 2}, {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2});
  // Examples of the ONNX specification.
  check_equal<float>(
      run_expanded<op::ReduceMean>(op::ReduceMean_1{{.axes = {1}, .keepdims = 0}}, {x}), {3, 2},
      {12.5, 1.5, 35, 1.5, 57.5, 1.5});
  check_equal<float>(run_expanded<op::ReduceMax>(op::ReduceMax_1{{.axes = {-2}}}, {x}), {3, 1, 2},
                     {20, 2, 40, 2, 60, 2});
  check_equal<float>(run_expanded<op::ReduceSum>(op::ReduceSum_1{}, {x}), {1, 1, 1}, {219});
}

TEST_CASE("reduce: wrong axes have a reason") {
  const Array<float> x({2, 3});
  CHECK(reason(op::ReduceSum{}, {x, Array<std::int64_t>({1}, {2})}) == "axis is out of range");
  CHECK(reason(op::ReduceSum{}, {x, Array<std::int64_t>({1}, {-3})}) == "axis is out of range");
  CHECK(reason(op::ReduceSum{}, {x, Array<std::int64_t>({2}, {0, -2})}) ==
        "a dimension is named twice");
  CHECK(reason(op::ReduceSum{}, {x, Array<std::int64_t>({}, {0})}) == "axes are not a vector");
  CHECK(reason(op::ReduceSum{}, {Array<bool>({2})}) == "element type is not offered");
}
