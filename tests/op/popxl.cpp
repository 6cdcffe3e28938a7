#include <halftone/halftone.hpp>
#include <popxl/ops.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace halftone;

namespace {

std::vector<float> floats(const Result& result, const char* name) {
  const auto& y = result[name];
  REQUIRE(y.info.type == ElementType::float32);
  const auto* data = static_cast<const float*>(y.data);
  return {data, data + y.info.elements()};
}

AnyTensor state(Graph& g, const char* name, const Dims& shape, const std::vector<float>& data) {
  return {&g,
          g.add_variable({element_type<float>, shape}, detail::bytes_of(std::span(data)), name)};
}

void check_near(const std::vector<float>& y, const std::vector<double>& expected) {
  REQUIRE(y.size() == expected.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

}  // namespace

// All expected numbers follow from the formulas in composed.hpp and var_updates.hpp.

TEST_CASE("popxl: functions made of operators") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{2, 3});
  const auto t = input<float, Shape<2, 3>>(g, "t");
  static_assert(typed_handle<decltype(op::log2(t))> && typed_handle<decltype(op::isfinite(t))>);
  output(g, op::log2(t), "log2");
  output(g, op::isfinite(x), "finite");
  output(g, op::lamb_square(t), "square");
  output(g, popxl::ops::negate(popxl::ops::clamp(x, -1, 2)), "negate");
  output(g, op::ipu_copy(popxl::ops::io_tile_copy(x), 1), "copy");
  CHECK(g.nodes.back().place.ipu == 1);

  Session session(std::move(g), {.threads = 1});
  const Result y = session.run({{"x", Array<float>({2, 3}, {1, infinity, -3, NAN, -infinity, 0})},
                                {"t", Array<float>({2, 3}, {1, 2, 0.5f, 8, 3, 10})}});
  check_near(floats(y, "log2"), {0, 1, -1, 3, std::log2(3.), std::log2(10.)});
  const auto* finite = static_cast<const bool*>(y["finite"].data);
  CHECK(std::vector<bool>(finite, finite + 6) ==
        std::vector<bool>{true, false, true, false, false, true});
  CHECK(y["square"].info.rank() == 0);
  check_near(floats(y, "square"), {1 + 4 + 0.25 + 64 + 9 + 100});
  const std::vector<float> negated = floats(y, "negate");
  CHECK(negated[0] == -1);
  CHECK(negated[1] == -2);
  CHECK(negated[2] == 1);
  CHECK(floats(y, "copy")[2] == -3);
}

TEST_CASE("popxl: normalizations") {
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{1, 2, 2});
  const std::vector<float> two = {2, 3}, one = {1, -1}, mean = {0.5f, 1}, var = {4, 0.25f};
  const auto vector = [&](const std::vector<float>& v) {
    return constant(g, std::span<const float>(v), Dims{2});
  };
  output(g, op::layer_norm(x, vector(two), vector(one), 0), "layer");
  output(g, op::batch_norm_inference(x, vector(two), vector(one), vector(mean), vector(var), 0),
         "batch");
  const std::vector<float> factors = {1, 1, 2};
  output(g, op::interpolate(x, factors), "nearest");
  output(g, op::interpolate(x, factors, {.mode = kernel::ResizeMode::linear}), "linear");
  Session session(std::move(g), {.threads = 1});
  const Result y = session.run({{"x", Array<float>({1, 2, 2}, {1, 2, 3, 6})}});
  // All four numbers are one sample: their mean is 3, their variance 3.5.
  const double s = std::sqrt(3.5);
  check_near(floats(y, "layer"), {1 - 2 * 2 / s, 1 - 2 / s, -1, -1 + 3 * 3 / s});
  check_near(floats(y, "batch"), {1 + 2 * 0.25, 1 + 2 * 0.75, -1 + 3 * 4, -1 + 3 * 10});
  check_near(floats(y, "nearest"), {1, 1, 2, 2, 3, 3, 6, 6});
  // half_pixel: places -0.25, 0.25, 0.75 and 1.25 of each row
  check_near(floats(y, "linear"), {1, 1.25, 1.75, 2, 3, 3.75, 5.25, 6});
}

TEST_CASE("popxl: gather of what is not there") {
  for (const std::int64_t axis : {0, 1, -1}) {
    CAPTURE(axis);
    Graph g;
    const AnyTensor x = g.input<float>("x", Dims{3, 2});
    const AnyTensor indices = g.input<std::int32_t>("i", Dims{2, 2});
    output(g, op::gather_or_zero(x, indices, axis), "y");
    CHECK_THROWS_AS(op::gather_or_zero(x, indices, 2), ModelError);
    Session session(std::move(g), {.threads = 1});
    const Result y = session.run({{"x", Array<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                                  {"i", Array<std::int32_t>({2, 2}, {1, -1, 7, 0})}});
    if (axis == 0) {
      CHECK(floats(y, "y") == std::vector<float>{3, 4, 0, 0, 0, 0, 1, 2});
    } else {
      CHECK(floats(y, "y") == std::vector<float>{2, 0, 0, 1, 4, 0, 0, 3, 6, 0, 0, 5});
    }
  }
  Graph empty;
  CHECK_THROWS_AS(
      op::gather_or_zero(empty.input<float>("x", Dims{0}), empty.input<std::int32_t>("i", Dims{1})),
      ModelError);
}

TEST_CASE("popxl: gather of what is not there, typed") {
  Graph g;
  const auto x = input<float, Shape<3, 2>>(g, "x");
  const auto indices = input<std::int32_t, Shape<2>>(g, "i");
  const Tensor<float, Shape<2, 2>> rows = op::gather_or_zero(x, indices);
  const Tensor<float, Shape<3, 2>> columns = op::gather_or_zero<1>(x, indices);
  output(g, rows, "rows");
  output(g, columns, "columns");
  Session session(std::move(g), {.threads = 1});
  const Result y = session.run(
      {{"x", Array<float>({3, 2}, {1, 2, 3, 4, 5, 6})}, {"i", Array<std::int32_t>({2}, {1, 2})}});
  CHECK(floats(y, "rows") == std::vector<float>{3, 4, 5, 6});
  CHECK(floats(y, "columns") == std::vector<float>{2, 0, 4, 0, 6, 0});
}

TEST_CASE("popxl: seeds made of a seed") {
  Graph g;
  const AnyTensor seed = g.input<std::uint32_t>("seed", Dims{2});
  const std::vector<AnyTensor> seeds = op::split_random_seed(seed, 3);
  REQUIRE(seeds.size() == 3);
  const char* const names[] = {"a", "b", "c", "again"};
  for (std::size_t i = 0; i < 4; ++i) {
    output(g, op::random_uniform(seeds[i % 3], {.shape = {64}}), names[i]);
  }
  Session session(std::move(g), {.threads = 1, .seed = 5});
  const Array<std::uint32_t> first({2}, {1, 2}), second({2}, {2, 2});
  const Result y = session.run({{"seed", first}});
  const std::vector<float> a = floats(y, "a");
  CHECK(a == floats(y, "again"));
  CHECK(a != floats(y, "b"));
  CHECK(floats(y, "b") != floats(y, "c"));
  // Numbers follow from the seed that is given, not from the session's nor from the run.
  CHECK(floats(session.run({{"seed", first}}), "a") == a);
  CHECK(floats(session.run({{"seed", second}}), "a") != a);
}

TEST_CASE("popxl: a loss with the gradient of the softmax before it") {
  const std::vector<float> p = {0.5f, 0.25f, 0.25f, 0.125f, 0.75f, 0.125f};
  for (const LossReduction reduction : {LossReduction::mean, LossReduction::no_reduction}) {
    Graph g;
    const AnyTensor x = g.input<float>("p", Dims{2, 3});
    const AnyTensor label = g.input<std::int32_t>("label", Dims{2});
    const auto [loss, gradient] =
        op::nll_loss_with_softmax_grad(x, label, 8, {.reduction = reduction});
    output(g, loss, "loss");
    output(g, gradient, "gradient");
    Session session(std::move(g), {.threads = 1});
    const Result y =
        session.run({{"p", Array<float>({2, 3}, p)}, {"label", Array<std::int32_t>({2}, {0, 2})}});
    const bool is_mean = reduction == LossReduction::mean;
    const double first = std::log(2.), second = std::log(8.);
    check_near(floats(y, "loss"), is_mean ? std::vector<double>{(first + second) / 2}
                                          : std::vector<double>{first, second});
    const double f = is_mean ? 4 : 8;
    check_near(floats(y, "gradient"),
               {-0.5 * f, 0.25 * f, 0.25 * f, 0.125 * f, 0.75 * f, -0.875 * f});
  }
}

TEST_CASE("popxl: an update of a graph's input is refused when a session is made") {
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{2});
  output(g, var_updates::accumulate_(x, x), "sum");
  CHECK_THROWS_AS(Session(std::move(g)), ModelError);
}

TEST_CASE("popxl: updates of variables") {
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{2}), f = g.input<float>("f", Dims{});
  const AnyTensor half_x = op::cast(x, {.to = ElementType::float16});
  const auto fresh = [&](const char* name) { return state(g, name, {2}, {1, 2}); };
  namespace update = var_updates;
  output(g, update::accumulate_(fresh("a"), half_x), "sum");
  output(g, update::accumulate_(fresh("b"), x, 0.5f), "scaled");
  output(g, update::accumulate_square_(fresh("c"), x, f), "square");
  output(g, update::accumulate_mean_(fresh("d"), x, f), "mean");
  output(g, update::accumulate_moving_average_(fresh("e"), x, 0.75f), "average");
  output(g, update::accumulate_moving_average_square_(fresh("h"), x, f), "average_square");
  output(g, update::accumulator_scale_(fresh("i"), f), "scale");
  output(g, update::accumulator_zero_(fresh("j")), "zero");
  output(g, update::copy_var_update_(fresh("k"), x), "copy");
  const AnyTensor table = state(g, "l", {3, 2}, {1, 2, 3, 4, 5, 6});
  const AnyTensor rows = op::concat(op::reshape(x, Shape<1, 2>{}), op::reshape(x, Shape<1, 2>{}),
                                    op::reshape(x, Shape<1, 2>{}), {.axis = 0});
  output(g, update::sparse_accumulate_(table, rows, constant(g, Dims{2, 0, 2}), 0, 2.f), "sparse");

  const AnyTensor fixed = constant<float, Shape<2>>(g, std::array{1.f, 2.f});
  CHECK_THROWS_AS(update::accumulate_(fixed, x), UsageError);
  CHECK_THROWS_AS(update::accumulator_zero_(fixed), UsageError);
  CHECK_THROWS_AS(update::accumulate_(table, x), ModelError);
  CHECK_THROWS_AS(update::accumulator_scale_(table, x), ModelError);
  CHECK_THROWS_AS(update::sparse_accumulate_(table, rows, constant(g, Dims{0, 0, 0}), 2),
                  ModelError);

  Session session(std::move(g), {.threads = 1});
  std::vector<double> a = {1, 2}, b = a, c = a, d = a, e = a, h = a, i = a;
  std::vector<double> l = {1, 2, 3, 4, 5, 6};
  for (int run = 0; run < 2; ++run) {
    const double factor = run == 0 ? 0.5 : 3, in[2] = {run + 1.5, -2};
    const auto number = static_cast<float>(factor);
    const Result y = session.run({{"x", Array<float>({2}, {float(in[0]), float(in[1])})},
                                  {"f", Array<float>({}, {number})}});
    for (std::size_t k = 0; k < 2; ++k) {
      const double v = in[k];
      a[k] += v;
      b[k] += v / 2;
      c[k] += factor * v * v;
      d[k] = factor / (factor + 1) * d[k] + v / (factor + 1);
      e[k] = 0.75 * e[k] + 0.25 * v;
      h[k] = factor * h[k] + (1 - factor) * v * v;
      i[k] *= factor;
      l[k] += 2 * v;
      l[4 + k] += 4 * v;
    }
    check_near(floats(y, "sum"), a);
    check_near(floats(y, "scaled"), b);
    check_near(floats(y, "square"), c);
    check_near(floats(y, "mean"), d);
    check_near(floats(y, "average"), e);
    check_near(floats(y, "average_square"), h);
    check_near(floats(y, "scale"), i);
    check_near(floats(y, "zero"), {0, 0});
    check_near(floats(y, "copy"), {in[0], in[1]});
    check_near(floats(y, "sparse"), l);
  }
}

TEST_CASE("popxl: updaters of adam, lamb and adamax") {
  constexpr double beta1 = 0.9, beta2 = 0.99, decay = 0.25, epsilon = 1e-3, rate = 0.5;
  Graph g;
  const AnyTensor w = state(g, "w", {2}, {3, -4}), m = state(g, "m", {2}, {0.5f, -1}),
                  v = state(g, "v", {2}, {4, 0.25f});
  const AnyTensor first = state(g, "first", {}, {0}), second = state(g, "second", {}, {4});
  using var_updates::Updater;
  output(g, var_updates::adam_updater(m, v, {.epsilon = float(epsilon)}), "plain");
  const Updater full{.weight = w,
                     .time_step = first,
                     .weight_decay = float(decay),
                     .beta1 = float(beta1),
                     .beta2 = float(beta2),
                     .epsilon = float(epsilon)};
  const AnyTensor x = var_updates::lamb_updater(m, v, full);
  output(g, x, "adam");
  output(g, var_updates::adamax_updater(m, v, {.time_step = second, .epsilon = float(epsilon)}),
         "max");
  CHECK_THROWS_AS(var_updates::adam_updater(m, v, {.time_step = first}), UsageError);
  CHECK_THROWS_AS(var_updates::adam_updater(m, v, {.weight_decay = 0.1f}), UsageError);
  const AnyTensor longer = state(g, "longer", {3}, {1, 2, 3});
  CHECK_THROWS_AS(var_updates::adam_updater(m, longer), ModelError);
  CHECK_THROWS_AS(var_updates::adamax_updater(m, longer, {.time_step = first}), ModelError);
  CHECK_THROWS_AS(var_updates::adamax_updater(m, v, {}), UsageError);
  const AnyTensor r1 = op::lamb_square(w), r2 = op::lamb_square(x);
  const AnyTensor limited = state(g, "limited", {2}, {3, -4}),
                  free = state(g, "free", {2}, {3, -4});
  output(g, var_updates::adam_var_update(limited, x, r1, r2, float(rate), 2.f), "limited_next");
  output(g, var_updates::adam_var_update(free, x, r1, r2, float(rate)), "free_next");

  Session session(std::move(g), {.threads = 1});
  for (int run = 1; run <= 2; ++run) {
    const Result y = session.run({});
    std::vector<double> plain, adam, max, lamb;
    const double ms[] = {0.5, -1}, vs[] = {4, 0.25}, ws[] = {3, -4};
    for (int k = 0; k < 2; ++k) {
      plain.push_back(ms[k] / (std::sqrt(vs[k]) + epsilon));
      const double mc = ms[k] / (1 - std::pow(beta1, run)), vc = vs[k] / (1 - std::pow(beta2, run));
      adam.push_back(mc / (std::sqrt(vc) + epsilon) + decay * ws[k]);
      max.push_back(ms[k] / (1 - std::pow(0.9, run + 4)) / (vs[k] + epsilon));
    }
    check_near(floats(y, "plain"), plain);
    check_near(floats(y, "adam"), adam);
    check_near(floats(y, "max"), max);
    if (run > 1) continue;
    // |w| is 5, more than the largest norm.
    const double length = std::hypot(adam[0], adam[1]);
    for (int k = 0; k < 2; ++k) lamb.push_back(ws[k] - rate * 2 / length * adam[k]);
    check_near(floats(y, "limited_next"), lamb);
    check_near(floats(y, "free_next"), {ws[0] - rate * adam[0], ws[1] - rate * adam[1]});
  }
}
