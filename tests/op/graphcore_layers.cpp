#include <halftone/kernel/print.hpp>
#include <halftone/op/graphcore_conv.hpp>
#include <halftone/op/graphcore_ctc.hpp>
#include <halftone/op/graphcore_float8.hpp>
#include <halftone/op/graphcore_image.hpp>
#include <halftone/op/graphcore_print.hpp>
#include <halftone/op/graphcore_spline.hpp>

#include <halftone/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "expanded.hpp"

using namespace run_op_test;

namespace {

/// Every path through the classes: its labels and its probability.
using Paths = std::map<std::vector<std::uint32_t>, double>;
Paths all_paths(const AnyArray& log_probabilities, std::size_t sample, std::size_t steps,
                std::uint32_t blank) {
  const std::vector<double> p = doubles(log_probabilities);
  const auto batch = static_cast<std::size_t>(log_probabilities.info().shape[1]);
  const auto classes = static_cast<std::size_t>(log_probabilities.info().shape[2]);
  Paths paths;
  std::vector<std::size_t> path(steps);
  for (bool is_done = false; !is_done;) {
    double probability = 1;
    std::vector<std::uint32_t> labels;
    for (std::size_t t = 0; t < steps; ++t) {
      probability *= std::exp(p[(t * batch + sample) * classes + path[t]]);
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) {
        labels.push_back(static_cast<std::uint32_t>(path[t]));
      }
    }
    paths[labels] += probability;
    is_done = true;
    for (std::size_t t = 0; t < steps && is_done; ++t) {
      is_done = ++path[t] == classes;
      if (is_done) path[t] = 0;
    }
  }
  return paths;
}

std::string printed(const op::PrintTensor& op, const AnyArray& x) {
  std::string text;
  halftone::kernel::PrintFormat format{op.title.view(),
                                       op.threshold,
                                       op.edge_items,
                                       op.line_width,
                                       op.digits,
                                       op.numbers,
                                       static_cast<char>(op.separator),
                                       static_cast<char>(op.open),
                                       static_cast<char>(op.close)};
  visit_type<AllTypes>(x.info().type, [&]<class T>() {
    const View<const T> view{x.values<T>().data(), x.info().shape.begin(), x.info().rank()};
    halftone::kernel::detail::print_to<T>(
        [](void* to, const char* piece, std::size_t size) {
          static_cast<std::string*>(to)->append(piece, size);
        },
        &text, format, view);
  });
  return text;
}

}  // namespace

TEST_CASE("ctc: the sum over all paths, and its derivative") {
  const Array<float> p = scattered<float>({4, 2, 3}, -2, -0.5);
  const Array<std::int32_t> labels({2, 2}, {1, 1, 2, 0}), steps({2}, {4, 3}), lengths({2}, {2, 1});
  const double a = -std::log(all_paths(p, 0, 4, 0)[{1, 1}]);
  const double b = -std::log(all_paths(p, 1, 3, 0)[{2}]);
  using R = LossReduction;
  const auto y = run_all(op::Ctc{.reduction = R::no_reduction}, {p, labels, steps, lengths}, 2);
  check_close<float>(y[0], {a, b}, 8);
  check_close<float>(run(op::Ctc{.reduction = R::sum}, {p, labels, steps, lengths}), {a + b}, 8);
  check_close<float>(run(op::Ctc{}, {p, labels, steps, lengths}), {(a / 2 + b) / 2}, 8);
  // The share of the paths at a class is minus the derivative of the loss.
  const std::vector<double> g = doubles(y[1]);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::size_t sample = i / 3 % 2, t = i / 6;
    const double h = 1e-3;
    const auto loss = [&](double by) {
      std::vector<double> values = doubles(p);
      values[i] += by;
      const Array<float> moved = array<float>({4, 2, 3}, values);
      return sample == 0 ? -std::log(all_paths(moved, 0, 4, 0)[{1, 1}])
                         : -std::log(all_paths(moved, 1, 3, 0)[{2}]);
    };
    const double slope = sample == 1 && t == 3 ? 0 : (loss(h) - loss(-h)) / (2 * h);
    CHECK(g[i] == doctest::Approx(std::exp(static_cast<double>(p[i])) + slope).epsilon(2e-3));
  }
}

TEST_CASE("ctc: labels without a path, wrong ones") {
  const Array<half> p = scattered<half>({2, 1, 3}, -2, -0.5);
  const Array<std::int32_t> labels({1, 2}, {1, 1}), steps({1}, {2}), lengths({1}, {2});
  const op::Ctc op{.reduction = LossReduction::sum, .out_data_type = ElementType::float32};
  check_equal<float>(run(op, {p, labels, steps, lengths}), {}, {65504});
  op::Ctc finite = op;
  finite.zero_infinity = 1;
  const auto y = run_all(finite, {p, labels, steps, lengths}, 2);
  check_equal<float>(y[0], {}, {0});
  check_equal<float>(y[1], {2, 1, 3}, {0, 0, 0, 0, 0, 0});
  const Array<std::int32_t> three({1}, {3});
  CHECK_THROWS_AS(run(op, {p, labels, three, lengths}), InputError);
  CHECK_THROWS_AS(run(op, {p, labels, steps, three}), InputError);
  CHECK_THROWS_AS(run(op, {p, Array<std::int32_t>({1, 2}, {1, 3}), steps, lengths}), InputError);
  CHECK(reason(op::Ctc{.blank = 3}, {p, labels, steps, lengths}) == "the blank is no class");
  CHECK(reason(op, {p, Array<std::int32_t>({2, 2}), steps, lengths}) ==
        "the labels have another batch");
  CHECK(reason(op, {p, labels, steps, Array<std::int32_t>({3})}) ==
        "the lengths have another batch");
}

TEST_CASE("ctc beam search: with a wide beam the best of all sequences") {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Array<float> p = scattered<float>({5, 2, 3}, -3, -0.2, seed);
    const Array<std::uint32_t> lengths({2}, {5, 2});
    const auto y = run_all(op::CtcBeamSearchDecoder{.blank = 1, .top_paths = 4}, {p, lengths}, 3);
    const auto labels = y[2].values<std::uint32_t>();
    for (std::size_t n = 0; n < 2; ++n) {
      const Paths paths = all_paths(p, n, n == 0 ? 5 : 2, 1);
      std::vector<double> best;
      for (const auto& [sequence, probability] : paths) best.push_back(std::log(probability));
      std::sort(best.rbegin(), best.rend());
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(doubles(y[0])[n * 4 + i] == doctest::Approx(best[i]));
        const auto* const first = labels.data() + (n * 4 + i) * 5;
        const std::vector<std::uint32_t> found(
            first, first + static_cast<std::size_t>(doubles(y[1])[n * 4 + i]));
        CHECK(std::log(paths.at(found)) == doctest::Approx(best[i]));
      }
    }
  }
  const Array<float> p({1, 1, 2}, {-1, -2});
  const Array<std::uint32_t> one({1}, {1});
  const auto y = run_all(op::CtcBeamSearchDecoder{.beam_width = 3, .top_paths = 3}, {p, one}, 3);
  check_equal<float>(y[0], {1, 3}, {-1, -2, -65504});
  check_equal<std::uint32_t>(y[1], {1, 3}, {0, 1, 0});
  check_equal<std::uint32_t>(y[2], {1, 3, 1}, {0, 1, 0});
  CHECK_THROWS_AS(run(op::CtcBeamSearchDecoder{}, {p, Array<std::uint32_t>({1}, {2})}), InputError);
  CHECK(reason(op::CtcBeamSearchDecoder{.beam_width = 2, .top_paths = 3}, {p, one}) ==
        "top_paths is out of range");
}

TEST_CASE("splines: the parts add up to 1, and weigh kernels") {
  const Array<float> x = scattered<float>({7, 2}, 0, 1);
  const Array<std::int32_t> size({2}, {4, 5});
  const Array<std::uint8_t> is_open({2}, {1, 0});
  for (const std::int64_t degree : {1, 2, 3}) {
    const auto y = run_all(op::SplineBasis{.degree = degree}, {x, size, is_open}, 2);
    const std::int64_t p = (degree + 1) * (degree + 1);
    CHECK(y[0].info().shape == Dims{7, p});
    for (std::size_t e = 0; e < 7; ++e) {
      double sum = 0;
      for (std::int64_t s = 0; s < p; ++s)
        sum += doubles(y[0])[e * static_cast<std::size_t>(p) + static_cast<std::size_t>(s)];
      CHECK(sum == doctest::Approx(1));
    }
  }
  // One dimension by hand: v = 0.3 * (4 - 1) = 0.9, and 0.75 * 4 = 3 of a spline that goes round.
  const Array<float> point({1, 1}, {0.3f}), round({1, 1}, {0.75f});
  const Array<std::int32_t> four({1}, {4});
  auto y = run_all(op::SplineBasis{.degree = 1}, {point, four, Array<std::uint8_t>({1}, {1})}, 2);
  CHECK(doubles(y[0])[0] == doctest::Approx(0.1));
  CHECK(doubles(y[0])[1] == doctest::Approx(0.9));
  check_equal<std::int32_t>(y[1], {1, 2}, {0, 1});
  y = run_all(op::SplineBasis{.degree = 1}, {round, four, Array<std::uint8_t>({1}, {0})}, 2);
  check_equal<float>(y[0], {1, 2}, {1, 0});
  check_equal<std::int32_t>(y[1], {1, 2}, {3, 0});
  CHECK(reason(op::SplineBasis{}, {x, size, is_open}) == "degree is not 1, 2 or 3");
  CHECK(reason(op::SplineBasis{.degree = 1}, {x, four, is_open}) ==
        "a parameter has not one element per dimension");

  const Array<half> in = array<half>({2, 2}, {1, 2, 3, 4});
  const Array<half> w = array<half>({2, 2, 1}, {1, 10, 2, 20}),
                    basis = array<half>({2, 2}, {1, 0.5, 0, 2});
  const Array<std::int32_t> index({2, 2}, {0, 1, 0, 1});
  check_equal<half>(run(op::SplineWeighting{}, {in, w, basis, index}), {2, 1},
                    {1 * 21 + 0.5 * 42, 2 * 86});
  CHECK_THROWS_AS(
      run(op::SplineWeighting{}, {in, w, basis, Array<std::int32_t>({2, 2}, {0, 1, 2, 0})}),
      InputError);
  CHECK(reason(op::SplineWeighting{}, {in, Array<half>({2, 3, 1}), basis, index}) ==
        "channels differ from those of the weights");
}

TEST_CASE("normalized image: the formula") {
  const Array<std::uint8_t> bytes({2, 3}, {10, 20, 30, 0, 255, 1});
  const Array<half> offset = array<half>({3}, {1, 2, 3}), scale = array<half>({3}, {1, 0.5, 2});
  check_equal<half>(run(op::NormalizeImage{.scale = 0.5f}, {bytes, offset, scale}), {2, 4},
                    {4, 4, 24, 0, -1, 62.75, -5, 0});
  const Array<float> x({1, 3}, {1, 2, 3}), units({3}, {1, 1, 1});
  check_equal<float>(run(op::NormalizeImage{}, {x, units, units}), {1, 4}, {0, 1, 2, 0});
  CHECK(reason(op::NormalizeImage{.scale = 0}, {x, units, units}) == "scale is 0");
  CHECK(reason(op::NormalizeImage{}, {bytes, units, units}) ==
        "the parameters have another type than the output");
  CHECK(reason(op::NormalizeImage{}, {Array<float>({1, 4}), units, units}) ==
        "the image has not 3 channels");
}

TEST_CASE("float8 with a power of two") {
  const Array<float> x({4}, {1, -3, 0.5f, 1e6f});
  const Array<std::int32_t> two({}, {2}), back({}, {-2});
  const AnyArray y = run(op::Pow2ScaleThenCast{.to = ElementType::float8_e4m3fn}, {x, two});
  check_equal<float8_e4m3fn>(y, {4}, {4, -12, 2, 448});
  check_equal<half>(run(op::CastThenPow2Scale{}, {y, back}), {4}, {1, -3, 0.5, 112});
  check_equal<float>(run(op::CastThenPow2Scale{.to = ElementType::float32}, {y, two}), {4},
                     {16, -48, 8, 1792});
  // PopART's own type: the largest value is 240.
  const AnyArray own = run(op::Pow2ScaleThenCast{.to = parse_element_type("FLOAT8_143")}, {x, two});
  check_equal<float8_e4m3fnuz>(own, {4}, {4, -12, 2, 240});
  check_equal<half>(run(op::CastThenPow2Scale{}, {own, back}), {4}, {1, -3, 0.5, 60});
  CHECK(reason(op::Pow2ScaleThenCast{}, {x, two}) == "'to' is no float8 type");
  CHECK(reason(op::CastThenPow2Scale{}, {y, Array<std::int32_t>({2})}) ==
        "the exponent is not a scalar");
}

// Numbers whose products and sums are exact in half: the operator of floats, times the power.
TEST_CASE("products of float8 numbers with a power of two") {
  const auto exact = [](const AnyArray& y) {
    std::vector<double> all = doubles(y);
    for (double& v : all) v /= 8;
    return all;
  };
  const auto numbers = [](const Dims& shape, int step) {
    Array<float> x(shape);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(int(i) * step % 7 - 3) / 2;
    return x;
  };
  const auto as = [](ElementType type, const AnyArray& x) {
    return run(op::Pow2ScaleThenCast{.to = type}, {x, Array<std::int32_t>({}, {0})});
  };
  const Array<std::int32_t> s({}, {-3});
  const auto first = ElementType::float8_e4m3fnuz, second = ElementType::float8_e5m2fnuz;
  const Array<float> a = numbers({2, 3, 4}, 3), b = numbers({4, 5}, 5);
  const Array<float> x = numbers({1, 4, 5, 6}, 3), w = numbers({6, 2, 3, 2}, 5),
                     v = numbers({4, 3, 2, 3}, 2);
  const op::Conv conv{.strides = {2, 1}, .pads = {1, 0, 0, 1}, .group = 2};
  const op::ConvTranspose transpose{.strides = {1, 2}, .group = 2};
  for (const auto& [one, other] : {std::pair(first, first), {first, second}, {second, first}}) {
    const auto run_scaled = [&](const auto& op, const AnyArray& l, const AnyArray& r) {
      const AnyArray y = run_session(op, {as(one, l), as(other, r), s})[0];
      CHECK(y.info().type == ElementType::float16);
      return y;
    };
    CHECK(doubles(run_scaled(op::MatMulPow2Scaled(), a, b)) == exact(run(op::MatMul(), {a, b})));
    CHECK(doubles(run_scaled(op::ConvPow2Scaled{{conv}}, x, w)) == exact(run(conv, {x, w})));
    CHECK(doubles(run_scaled(op::ConvTransposePow2Scaled{{transpose}}, x, v)) ==
          exact(run(transpose, {x, v})));
  }
  const AnyArray a8 = as(first, a), b8 = as(second, b);
  CHECK_THROWS_AS(run_session(op::MatMulPow2Scaled(), {a, b8, s}), Error);
  CHECK_THROWS_AS(run_session(op::MatMulPow2Scaled(), {a8, b, s}), Error);
  CHECK_THROWS_AS(run_session(op::MatMulPow2Scaled(), {a8, b8, Array<std::int32_t>({2})}),
                  ShapeError);
  // 240^2 is beyond what half holds apart from 2^-8, and denormal there times 2^-32.
  const AnyArray large = as(first, Array<float>({1, 1}, {240}));
  const auto scaled = [&](std::int32_t n) {
    return doubles(
        run_session(op::MatMulPow2Scaled(), {large, large, Array<std::int32_t>({}, {n})})[0])[0];
  };
  CHECK(scaled(-8) == 225);
  CHECK(scaled(15) == std::numeric_limits<double>::infinity());
  CHECK(scaled(-32) == 225.0 / (1 << 24));

  Graph g;
  const AnyTensor l = g.input<float8_e4m3fnuz>("l", Dims{1, 1}),
                  r = g.input<float8_e4m3fnuz>("r", Dims{1, 1}),
                  n = g.input<std::int32_t>("n", Dims{});
  output(g, op::matmul_pow2scaled(l, r, n), "y");
  Session session(std::move(g), {.threads = 1});
  const Result y = session.run({{"l", large}, {"r", large}, {"n", Array<std::int32_t>({}, {-8})}});
  CHECK(static_cast<float>(*static_cast<const half*>(y["y"].data)) == 225);
}

TEST_CASE("several convolutions: each as Conv alone") {
  const Array<float> x = scattered<float>({1, 2, 5, 6}, -1, 1),
                     w = scattered<float>({4, 1, 3, 2}, -1, 1, 2),
                     b = scattered<float>({4}, -1, 1, 3), v = scattered<float>({1, 3, 7}, -1, 1, 4),
                     u = scattered<float>({2, 3, 3}, -1, 1, 5);
  const op::MultiConv op{
      .convolutions = 2, .strides = {2, 1, 1}, .pads = {1, 0, 0, 1, 1, 1}, .dilations = {1, 2, 2}};
  const auto y = run_session(op, {x, w, b, v, u, absent()}, 2);
  const op::Conv first{.strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 0, 0, 1}, .group = 2};
  const op::Conv second{.strides = {1}, .dilations = {2}, .pads = {1, 1}};
  CHECK(doubles(y[0]) == doubles(run(first, {x, w, b})));
  CHECK(doubles(y[1]) == doubles(run(second, {v, u})));
  CHECK(doubles(run_session(op::MultiConv{}, {v, u})[0]) == doubles(run(op::Conv{}, {v, u})));
  CHECK_THROWS_AS(run_session(op::MultiConv{.convolutions = 2}, {v, u}), ModelError);
  CHECK_THROWS_AS(run_session(op::MultiConv{.strides = {1, 1}}, {v, u}), ModelError);
}

TEST_CASE("print tensor: text, and the tensor itself") {
  const Array<std::int32_t> x({2, 3}, {1, -2, 3, 40, 5, 6});
  CHECK(printed({.title = "x"}, x) == "x:\n[[1 -2 3]\n [40 5 6]]\n");
  CHECK(printed({.separator = ',', .open = '{', .close = '}'}, x) == "{{1,-2,3},\n {40,5,6}}\n");
  const Array<float> y({2}, {0.5f, 1e-6f}), z({}, {2}), empty({0, 2});
  CHECK(printed({.digits = 2}, y) == "[5.00e-01 1.00e-06]\n");
  CHECK(printed({.digits = 2, .numbers = halftone::kernel::FloatFormat::fixed}, y) ==
        "[0.50 0.00]\n");
  CHECK(printed({.digits = 2, .numbers = halftone::kernel::FloatFormat::general}, y) ==
        "[0.5 1e-06]\n");
  CHECK(printed({.title = "z", .digits = 1}, z) == "z: 2.0\n");
  CHECK(printed({}, empty) == "[]\n");
  std::vector<double> numbers(12);
  for (std::size_t i = 0; i < 12; ++i) numbers[i] = static_cast<double>(i);
  const Array<std::uint64_t> many = array<std::uint64_t>({12}, numbers);
  CHECK(printed({.threshold = 11, .edge_items = 2}, many) == "[0 1 ... 10 11]\n");
  CHECK(printed({.threshold = 11, .edge_items = 6}, many) == "[0 1 2 3 4 5 6 7 8 9 10 11]\n");
  CHECK(printed({.threshold = 11, .edge_items = 0}, many) == "[...]\n");
  CHECK(printed({.line_width = 10}, many) == "[0 1 2 3 \n 4 5 6 7 \n 8 9 10 \n 11]\n");
  CHECK(doubles(run(op::PrintTensor{.title = "printed by a test"}, {y})) == doubles(y));
  CHECK(reason(op::PrintTensor{.digits = -1}, {y}) == "digits is out of range");
  CHECK(reason(op::PrintTensor{.separator = 0}, {y}) == "a character is out of range");
  CHECK(reason(op::PrintTensor{.edge_items = -1}, {y}) == "edgeItems is negative");
}

TEST_CASE("abort: if the condition is not 0") {
  run_all(op::Abort{}, {Array<bool>({}, {false})});
  run_all(op::Abort{}, {Array<float>({1}, {-0.f})});
  CHECK_THROWS_AS(run_all(op::Abort{}, {Array<std::int32_t>({1}, {2})}), InputError);
  CHECK(reason(op::Abort{}, {Array<bool>({2})}) == "the condition has several elements");
}
