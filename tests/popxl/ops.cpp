// PopXL's operators by their names: element by element, reductions. Expected numbers come from the
// formulas that stand beside them.
#include <popxl/ops.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "error_of.hpp"
#include "popxl/evaluate.hpp"

using namespace halftone;
using test::check_near;
using test::evaluate;
using test::F;
namespace ops = popxl::ops;

namespace {

const std::vector<double> xs = {1, -2, 3, 0.5, 0.25, -1}, ys = {2, 3, -1, 0.5, 4, 2};
std::vector<float> floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}
struct Model {
  Graph g;
  F<2, 3> x = input<float, Shape<2, 3>>(g, "x"), y = input<float, Shape<2, 3>>(g, "y");

  std::vector<double> value(const AnyTensor& t) const { return values({t})[0]; }
  std::vector<std::vector<double>> values(std::vector<Anchor> outputs) const {
    const Array<float> a({2, 3}, floats(xs)), b({2, 3}, floats(ys));
    return evaluate(g, std::move(outputs), {{"x", a}, {"y", b}});
  }
};
std::vector<double> each(const std::function<double(double)>& f) {
  std::vector<double> all;
  for (const double x : xs) all.push_back(f(x));
  return all;
}
std::vector<double> pairs(const std::function<double(double, double)>& f) {
  std::vector<double> all;
  for (std::size_t i = 0; i < xs.size(); ++i) all.push_back(f(xs[i], ys[i]));
  return all;
}
double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_erf_of(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2))); }
double relu_of(double x) { return x > 0 ? x : 0; }
double swish_of(double x) { return x / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("popxl ops: abs ceil cos exp floor gelu geluerf negate relu sign sin swish tanh") {
  Model m;
  const auto x = m.x;
  static_assert(std::is_same_v<decltype(ops::gelu(x)), F<2, 3>>);
  const auto all = m.values({ops::abs(x), ops::ceil(x), ops::cos(x), ops::exp(x), ops::floor(x),
                             ops::gelu(x), ops::geluerf(x), ops::negate(x), ops::relu(x),
                             ops::sign(x), ops::sin(x), ops::swish(x), ops::tanh(x)});
  const std::function<double(double)> formulas[] = {[](double v) { return std::fabs(v); },
                                                    [](double v) { return std::ceil(v); },
                                                    [](double v) { return std::cos(v); },
                                                    [](double v) { return std::exp(v); },
                                                    [](double v) { return std::floor(v); },
                                                    gelu_of,
                                                    gelu_erf_of,
                                                    [](double v) { return -v; },
                                                    relu_of,
                                                    [](double v) { return v > 0 ? 1. : -1.; },
                                                    [](double v) { return std::sin(v); },
                                                    swish_of,
                                                    [](double v) { return std::tanh(v); }};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    check_near(all[i], each(formulas[i]));
  }
}

TEST_CASE("popxl ops: log log2 sqrt isfinite isinf isnan logical_not") {
  Graph g;
  const auto x = input<float, Shape<3>>(g, "x");
  const auto all =
      evaluate(g,
               {ops::log(x), ops::log2(x), ops::sqrt(x), ops::isfinite(x / 0.f),
                ops::isinf(x / 0.f), ops::isnan(x - 2.f), ops::logical_not(ops::greater(x, 2.f))},
               {{"x", Array<float>({3}, {1, 4, 0.5f})}});
  check_near(all[0], {0, std::log(4), std::log(0.5)});
  check_near(all[1], {0, 2, -1});
  check_near(all[2], {1, 2, std::sqrt(0.5)});
  check_near(all[3], {0, 0, 0});
  check_near(all[4], {1, 1, 1});
  check_near(all[5], {0, 0, 0});
  check_near(all[6], {1, 0, 1});
}

// After a change in place the tensor itself, too, has the new value; before it, the old one.
TEST_CASE("popxl ops: exp_ gelu_ geluerf_ relu_ swish_ add_ increment_mod_ change their tensor") {
  const auto check = [](auto change, const std::function<double(double)>& formula) {
    Model m;
    const auto t = m.x + 0.f;
    const auto before = t * 1.f;
    const auto changed = change(t);
    static_assert(std::is_same_v<decltype(changed), const F<2, 3>>);
    const auto after = t * 1.f;
    const auto all = m.values({before, changed, after});
    check_near(all[0], xs);
    check_near(all[1], each(formula));
    check_near(all[2], each(formula));
  };
  check([](auto t) { return ops::exp_(t); }, [](double v) { return std::exp(v); });
  check([](auto t) { return ops::gelu_(t); }, gelu_of);
  check([](auto t) { return ops::geluerf_(t); }, gelu_erf_of);
  check([](auto t) { return ops::relu_(t); }, relu_of);
  check([](auto t) { return ops::swish_(t); }, swish_of);
  check([](auto t) { return ops::add_(t, 2.f); }, [](double v) { return v + 2; });
  check([](auto t) { return ops::increment_mod_(t, 3.f, 2.f); },
        [](double v) { return std::fmod(v + 3, 2); });
}

TEST_CASE("popxl ops: clip clamp identity rename detach detach_ cast increment_mod print_tensor") {
  Model m;
  const auto x = m.x;
  const auto named = ops::rename(x, "other");
  CHECK(named.name() == "other");
  const auto half_x = ops::cast<half>(x);
  static_assert(std::is_same_v<decltype(half_x), const Tensor<half, Shape<2, 3>>>);
  CHECK(ops::cast(AnyTensor(x), ElementType::int32).info().type == ElementType::int32);
  const auto all = m.values(
      {ops::clip(x, -1.f, 2.f), ops::clamp(x, -1.f, 2.f), ops::identity(x), named, ops::detach(x),
       ops::detach_(x), half_x, ops::increment_mod(x, 3.f, 2.f), ops::print_tensor(x, "x", false),
       ops::cast<std::int32_t>(x), ops::io_tile_copy(x), ops::ipu_copy(x, 1)});
  check_near(all[0], each([](double v) { return std::clamp(v, -1., 2.); }));
  check_near(all[1], all[0]);
  for (const std::size_t i : {2, 3, 4, 5, 6, 8, 10, 11}) check_near(all[i], xs);
  check_near(all[7], each([](double v) { return std::fmod(v + 3, 2); }));
  check_near(all[9], each([](double v) { return std::trunc(v); }));
  CHECK(m.g.nodes.back().place.ipu == 1);
  // The gradient of what is detached does not go on.
  const auto y = ops::sum(ops::detach(x) * 2.f);
  const TensorId outputs[]{y.id}, wanted[]{x.id};
  const TensorId d_outputs[]{op::identity(constant<float, Shape<>>(m.g, std::array{1.f})).id};
  CHECK(differentiate(m.g, outputs, d_outputs, wanted)[0] == no_tensor);
}

TEST_CASE("popxl ops: cast refuses float8, whose scale it does not know") {
  Model m;
  CHECK_THROWS_AS(ops::cast(AnyTensor(m.x), ElementType::float8_e4m3fnuz), popxl::TypeError);
  CHECK(test::contains(test::error_of([&] { ops::cast(m.x, ElementType::float8_e5m2fnuz); }),
                       "pow2scale_cast_to_fp8"));
}

TEST_CASE(
    "popxl ops: add sub mul div pow fmod equal greater logical_and logical_or where maximum") {
  Model m;
  const auto x = m.x, y = m.y;
  const auto more = ops::greater(x, y), positive = ops::greater(x, 0.f);
  const auto all = m.values(
      {ops::add(x, y), ops::sub(x, y), ops::mul(x, y), ops::div(x, y), ops::pow(ops::abs(x), y),
       ops::fmod(x, y), ops::equal(x, y), more, ops::logical_and(more, positive),
       ops::logical_or(more, positive), ops::where(more, x, y), ops::maximum(x, y, 1.5f),
       ops::where(ops::relu(x), 1.f, y), ops::where(AnyTensor(ops::relu(x)), x, y)});
  const std::function<double(double, double)> formulas[] = {
      [](double a, double b) { return a + b; },
      [](double a, double b) { return a - b; },
      [](double a, double b) { return a * b; },
      [](double a, double b) { return a / b; },
      [](double a, double b) { return std::pow(std::fabs(a), b); },
      [](double a, double b) { return std::fmod(a, b); },
      [](double a, double b) { return a == b; },
      [](double a, double b) { return a > b; },
      [](double a, double b) { return a > b && a > 0; },
      [](double a, double b) { return a > b || a > 0; },
      [](double a, double b) { return a > b ? a : b; },
      [](double a, double b) { return std::max({a, b, 1.5}); },
      [](double a, double b) { return a > 0 ? 1 : b; },
      [](double a, double b) { return a > 0 ? a : b; }};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    check_near(all[i], pairs(formulas[i]));
  }
}

TEST_CASE("popxl ops: scaled_add scaled_add_ take terms of two types and scales of both kinds") {
  Model m;
  const auto y = ops::cast<half>(m.y);
  const auto scale = constant<float, Shape<>>(m.g, std::array{0.5f});
  const auto t = m.x + 0.f;
  const auto sum = ops::scaled_add(m.x, y, 2.f, scale);
  static_assert(std::is_same_v<decltype(sum), const F<2, 3>>);
  const auto changed = ops::scaled_add_(t, y, 2.f, 0.5f);
  const auto plain = ops::scaled_add(m.x, y);
  const auto all = m.values({sum, changed, t, plain});
  const auto expected = pairs([](double a, double b) { return 2 * a + b / 2; });
  for (const std::size_t i : {0, 1, 2}) check_near(all[i], expected);
  check_near(all[3], pairs([](double a, double b) { return a + b; }));
  CHECK_THROWS_AS(
      ops::scaled_add(m.x, constant<float, Shape<1, 3>>(m.g, std::array{1.f, 2.f, 3.f})),
      Error);  // nothing is broadcast
}

TEST_CASE("popxl ops: sum mean max min prod l1 l2 logsum logsumexp sumsquare lamb_square") {
  Model m;
  const auto p = ops::abs(m.x) + 1.f;  // logarithms want positive sums
  const std::vector<double> v = {2, 3, 4, 1.5, 1.25, 2};
  static_assert(std::is_same_v<decltype(ops::sum(p)), F<>>);
  static_assert(std::is_same_v<decltype(ops::sum<0>(p)), F<3>>);
  static_assert(std::is_same_v<decltype(ops::sum<-1>(p, ops::keepdims)), F<2, 1>>);
  const auto check = [&](auto all, auto first, auto last, const AnyTensor& untyped,
                         const std::function<double(double, double)>& add, double start,
                         const std::function<double(double, double)>& finish) {
    const auto fold = [&](std::vector<double> terms) {
      double total = start;
      for (const double term : terms) total = add(total, term);
      return finish(total, static_cast<double>(terms.size()));
    };
    const auto values = m.values({all, first, last, untyped});
    check_near(values[0], {fold(v)});
    check_near(values[1], {fold({v[0], v[3]}), fold({v[1], v[4]}), fold({v[2], v[5]})});
    check_near(values[2], {fold({v[0], v[1], v[2]}), fold({v[3], v[4], v[5]})});
    check_near(values[3], values[2]);
    CHECK(untyped.info().shape == Dims{2, 1});
  };
  const auto as_is = [](double total, double) { return total; };
  const auto plus = [](double a, double b) { return a + b; };
  const AnyTensor any = p;
#define CHECK_REDUCTION(name, add, start, finish)                                               \
  check(ops::name(p), ops::name<0>(p), ops::name<-1>(p), ops::name(any, {1}, true), add, start, \
        finish)
  CHECK_REDUCTION(sum, plus, 0, as_is);
  CHECK_REDUCTION(mean, plus, 0, [](double total, double n) { return total / n; });
  CHECK_REDUCTION(max, [](double a, double b) { return std::max(a, b); }, 0, as_is);
  CHECK_REDUCTION(min, [](double a, double b) { return std::min(a, b); }, 99, as_is);
  CHECK_REDUCTION(prod, [](double a, double b) { return a * b; }, 1, as_is);
  CHECK_REDUCTION(l1, plus, 0, as_is);
  const auto squares = [](double a, double b) { return a + b * b; };
  CHECK_REDUCTION(l2, squares, 0, [](double total, double) { return std::sqrt(total); });
  const auto logarithm = [](double total, double) { return std::log(total); };
  CHECK_REDUCTION(logsum, plus, 0, logarithm);
  CHECK_REDUCTION(logsumexp, [](double a, double b) { return a + std::exp(b); }, 0, logarithm);
  CHECK_REDUCTION(sumsquare, squares, 0, as_is);
#undef CHECK_REDUCTION
  check_near(m.value(ops::lamb_square(p)), {4 + 9 + 16 + 2.25 + 1.5625 + 4});
}

TEST_CASE("popxl ops: median argmax argmin cumsum topk histogram") {
  Model m;
  const auto x = m.x;
  static_assert(std::is_same_v<decltype(ops::argmax(x)), Tensor<std::int32_t, Shape<3>>>);
  static_assert(std::is_same_v<decltype(ops::median<1>(x)), F<2>>);
  const AnyTensor any = x;
  const auto all = m.values(
      {ops::median<1>(x), ops::median<1>(x, ops::keepdims), ops::median(any, {1}, true),
       ops::argmax(x), ops::argmax<1>(x, ops::keepdims), ops::argmax(any, 1), ops::argmin(x),
       ops::argmin<1>(x, ops::keepdims), ops::argmin(any, 1), ops::cumsum(x), ops::cumsum(x, 1),
       ops::histogram(x, {-1.f, 0.f, 1.f}), ops::histogram(x, {1.f}, true)});
  for (const std::size_t i : {0, 1, 2}) check_near(all[i], {1, 0.25});
  check_near(all[3], {0, 1, 0});
  check_near(all[4], {2, 0});
  check_near(all[5], {2, 0});
  check_near(all[6], {1, 0, 1});
  check_near(all[7], {1, 2});
  check_near(all[8], {1, 2});
  check_near(all[9], {1, -2, 3, 1.5, -1.75, 2});
  check_near(all[10], {1, -1, 2, 0.5, 0.75, -0.25});
  check_near(all[11], {1, 1, 2, 2});  // below -1, below 0, below 1, from 1 on
  check_near(all[12], {2, 4});        // of magnitudes
  const auto [values, places] = ops::topk<2>(x);
  static_assert(std::is_same_v<decltype(values), const F<2, 2>>);
  const auto [small, where] = ops::topk(any, 1, 0, false, true);
  const auto best = m.values({values, places, small, where});
  check_near(best[0], {3, 1, 0.5, 0.25});
  check_near(best[1], {2, 0, 0, 1});
  check_near(best[2], {0.5, -2, -1});
  check_near(best[3], {1, 0, 1});
}
