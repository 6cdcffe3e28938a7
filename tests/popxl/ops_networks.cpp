// PopXL's operators by their names: layers, losses, random numbers, float8, updates of variables.
#include <popxl/ops.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "error_of.hpp"
#include "popxl/evaluate.hpp"

using namespace halftone;
using test::check_near;
using test::contains;
using test::error_of;
using test::evaluate;
using test::F;
namespace ops = popxl::ops;

namespace {

template <std::size_t N>
std::array<float, N> counted(float first = 0) {
  std::array<float, N> values;
  for (std::size_t i = 0; i < N; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

}  // namespace

// [0 1; 2 3] [0 1; 2 3] = [2 3; 6 11]
TEST_CASE("popxl ops: matmul in another type, with what the planner is told") {
  Graph g;
  const auto a = constant<float, Shape<2, 2>>(g, counted<4>());
  const auto wide = ops::matmul(a, a, {.available_memory_proportion = 0.3f});
  CHECK(g.nodes.back().planning.available_memory_proportion == 0.3f);
  static_assert(std::is_same_v<decltype(ops::matmul<half>(a, a)), Tensor<half, Shape<2, 2>>>);
  const AnyTensor any = a;
  for (const auto& found :
       evaluate(g, {wide, ops::matmul<half>(a, a), ops::matmul(any, any, ElementType::float64)})) {
    check_near(found, {2, 3, 6, 11});
  }
}

// A kernel of ones sums windows of 0..8 in rows of 3.
TEST_CASE("popxl ops: conv conv_transpose average_pool max_pool") {
  Graph g;
  const auto x = constant<float, Shape<1, 1, 3, 3>>(g, counted<9>());
  const auto w = constant<float, Shape<1, 1, 2, 2>>(g, std::array{1.f, 1.f, 1.f, 1.f});
  constexpr ops::Window two{.stride = {2, 2}, .padding = {0, 0, 1, 1}};
  static_assert(std::is_same_v<decltype(ops::conv(x, w)), F<1, 1, 2, 2>>);
  static_assert(std::is_same_v<decltype(ops::conv<two>(x, w)), F<1, 1, 2, 2>>);
  static_assert(std::is_same_v<decltype(ops::conv_transpose(x, w)), F<1, 1, 4, 4>>);
  static_assert(std::is_same_v<decltype(ops::max_pool<Integers<2, 2>>(x)), F<1, 1, 2, 2>>);
  const auto all =
      evaluate(g, {ops::conv(x, w), ops::conv<two>(x, w), ops::conv(x, w, two),
                   ops::conv_transpose(x, w), ops::conv_transpose(x, w, ops::Window{}),
                   ops::average_pool<Integers<2, 2>>(x), ops::average_pool(x, {2, 2}),
                   ops::max_pool<Integers<2, 2>, two>(x), ops::max_pool(x, {2, 2}, two)});
  check_near(all[0], {8, 12, 20, 24});
  for (const std::size_t i : {1, 2}) check_near(all[i], {8, 7, 13, 8});
  for (const std::size_t i : {3, 4}) {
    check_near(all[i], {0, 1, 3, 2, 3, 8, 12, 7, 9, 20, 24, 13, 6, 13, 15, 8});
  }
  for (const std::size_t i : {5, 6}) check_near(all[i], {2, 3, 5, 6});
  for (const std::size_t i : {7, 8}) check_near(all[i], {4, 5, 7, 8});
}

// (x - mean) / sqrt(variance + eps) * weight + bias, of two channels of 0 1 and 2 3.
TEST_CASE("popxl ops: batch_norm_inference group_norm layer_norm softmax") {
  Graph g;
  const auto x = constant<float, Shape<1, 2, 2>>(g, counted<4>());
  const auto two = constant<float, Shape<2>>(g, std::array{2.f, 2.f});
  const auto one = constant<float, Shape<2>>(g, std::array{1.f, 1.f});
  static_assert(std::is_same_v<decltype(ops::group_norm(x, two, one, 2)), F<1, 2, 2>>);
  const auto all = evaluate(
      g, {ops::batch_norm_inference(x, two, one, one, two, 0), ops::group_norm(x, two, one, 2, 0.f),
          ops::layer_norm(x, two, one, 0.f), ops::softmax(x, -1), ops::softmax(x, 1)});
  const double root = std::sqrt(2), e = std::exp(1), wide = std::sqrt(1.25);
  check_near(all[0], {1 - root, 1, 1 + root, 1 + 2 * root});
  check_near(all[1], {-1, 3, -1, 3});
  check_near(all[2], {1 - 3 / wide, 1 - 1 / wide, 1 + 1 / wide, 1 + 3 / wide});
  check_near(all[3], {1 / (1 + e), e / (1 + e), 1 / (1 + e), e / (1 + e)});
  const double sum = 1 + e + e * e + e * e * e;  // of both dimensions
  check_near(all[4], {1 / sum, e / sum, e * e / sum, e * e * e / sum});
}

// The loss is -log p; its gradient by the logits is p - 1 at the label, p elsewhere.
TEST_CASE("popxl ops: nll_loss nll_loss_with_softmax_grad") {
  Graph g;
  const auto p = constant<float, Shape<2, 2>>(g, std::array{0.25f, 0.75f, 0.5f, 0.5f});
  const auto label = constant<std::int32_t, Shape<2>>(g, std::array{1, 0});
  constexpr op::Nll sum{.reduction = LossReduction::sum};
  constexpr op::Nll each{.reduction = LossReduction::no_reduction};
  static_assert(std::is_same_v<decltype(ops::nll_loss<each>(p, label)), F<2>>);
  const auto [loss, dx] = ops::nll_loss_with_softmax_grad<sum>(p, label, 2.f);
  const auto all = evaluate(
      g, {ops::nll_loss(p, label), ops::nll_loss<each>(p, label), ops::nll_loss(p, label, sum),
          ops::nll_loss(p, label, {.ignore_index = 1}), loss, dx});
  const double first = -std::log(0.75), second = -std::log(0.5);
  check_near(all[0], {(first + second) / 2});
  check_near(all[1], {first, second});
  check_near(all[2], {first + second});
  check_near(all[3], {second});
  check_near(all[4], {first + second});
  check_near(all[5], {0.5, -0.5, -1, 1});
}

TEST_CASE("popxl ops: interpolate roi_align") {
  Graph g;
  const auto x = constant<float, Shape<1, 1, 2, 2>>(g, counted<4>());
  const auto rois = constant<float, Shape<1, 4>>(g, std::array{0.f, 0.f, 2.f, 2.f});
  const auto batch = constant<std::int64_t, Shape<1>>(g, std::array{std::int64_t{0}});
  const auto pooled = ops::roi_align<1, 1>(x, rois, batch, 1.f, 1);
  static_assert(std::is_same_v<decltype(pooled), const F<1, 1, 1, 1>>);
  const auto all = evaluate(g, {ops::interpolate(x, Integers<1, 1, 1, 2>{}), pooled});
  check_near(all[0], {0, 0, 1, 1, 2, 2, 3, 3});
  check_near(all[1], {3});  // the one sample is at (1, 1)
}

// Laws: one seed gives the same numbers, others give others; bounds and moments hold.
TEST_CASE("popxl ops: dropout shaped_dropout random_uniform random_normal split_random_seed") {
  Graph g;
  const auto seed = constant<std::uint32_t, Shape<2>>(g, std::array{1u, 2u});
  const auto all_ones = constant<float, Shape<100, 10>>(g, std::array<float, 1000>{}) + 1.f;
  const std::vector<op::Seed> seeds = ops::split_random_seed(seed, 2);
  const auto uniform = ops::random_uniform<float, Shape<1000>>(seeds[0], -1.f, 3.f);
  static_assert(std::is_same_v<decltype(uniform), const F<1000>>);
  const auto all = evaluate(
      g, {uniform, ops::random_uniform(seeds[0], {1000}, -1.f, 3.f),
          ops::random_uniform(seeds[1], {1000}, -1.f, 3.f),
          ops::random_normal<float, Shape<1000>>(seed, 5.f, 2.f),
          ops::random_normal(seed, {1000}, 5.f, 2.f), ops::dropout(all_ones, seed),
          ops::dropout(all_ones, seed, 0.1f), ops::shaped_dropout(all_ones, seed, {100, 1}, 0.5f)});
  CHECK(all[0] == all[1]);
  CHECK(all[0] != all[2]);
  CHECK(all[3] == all[4]);
  CHECK(all[5] == all[6]);
  double mean = 0, square = 0, kept = 0;
  for (const double v : all[0]) CHECK((v >= -1 && v <= 3));
  for (const double v : all[3]) mean += v / 1000;
  for (const double v : all[3]) square += (v - mean) * (v - mean) / 1000;
  CHECK(std::fabs(mean - 5) < 0.3);  // four standard errors
  CHECK(std::fabs(std::sqrt(square) - 2) < 0.2);
  for (const double v : all[5]) {
    CHECK((v == 0 || v == doctest::Approx(1 / 0.9)));
    kept += v != 0;
  }
  CHECK(std::fabs(kept - 900) < 40);
  for (std::size_t i = 0; i < 1000; ++i) {
    CHECK((all[7][i] == 0 || all[7][i] == 2));
    CHECK(all[7][i] == all[7][i / 10 * 10]);  // rows as a whole
  }
}

TEST_CASE("popxl ops: seeds have two words, and are split into some") {
  Graph g;
  const auto seed = constant<std::uint32_t, Shape<2>>(g, std::array{1u, 2u});
  const AnyTensor three = constant<std::uint32_t, Shape<3>>(g, std::array{1u, 2u, 3u});
  const AnyTensor x = constant<float, Shape<4>>(g, counted<4>());
  for (const auto& record :
       {+[](const AnyTensor&, const AnyTensor& s) { return ops::random_uniform(s, {4}, 0.f, 1.f); },
        +[](const AnyTensor&, const AnyTensor& s) { return ops::random_normal(s, {4}, 0.f, 1.f); },
        +[](const AnyTensor& t, const AnyTensor& s) { return ops::dropout(t, s, 0.5f); },
        +[](const AnyTensor& t, const AnyTensor& s) {
          return ops::shaped_dropout(t, s, {4}, 0.5f);
        }}) {
    CHECK(error_of([&] { record(x, seed); }) == "no error");
    CHECK(contains(error_of([&] { record(x, three); }), "a seed has two words"));
  }
  for (const std::int64_t n : {0, -3}) {
    CHECK_THROWS_AS(ops::split_random_seed(seed, n), UsageError);
  }
}

// Powers of two: exact in float8.
TEST_CASE("popxl ops: pow2scale_cast_to_fp8 pow2scale_cast_from_fp8 and products of float8") {
  Graph g;
  const auto x =
      constant<half, Shape<2, 2>>(g, std::array{half(1.f), half(2.f), half(4.f), half(0.5f)});
  const auto scale = constant<std::int32_t, Shape<>>(g, std::array{1});
  const auto back = constant<std::int32_t, Shape<>>(g, std::array{-1});
  const auto small = ops::pow2scale_cast_to_fp8<float8_e4m3fnuz>(x, scale);
  static_assert(std::is_same_v<decltype(small), const Tensor<float8_e4m3fnuz, Shape<2, 2>>>);
  const auto wide = ops::pow2scale_cast_from_fp8(small, back);
  static_assert(std::is_same_v<decltype(wide), const Tensor<half, Shape<2, 2>>>);
  const auto image = ops::reshape<1, 1, 2, 2>(small);
  const auto all = evaluate(
      g, {small, wide, ops::matmul_pow2scaled(small, small, back),
          ops::conv_pow2scaled(image, ops::slice<0, 1, 1, 3>(ops::slice<0, 1, 1, 2>(image)), back),
          ops::conv_transpose_pow2scaled(
              image, ops::slice<0, 1, 1, 3>(ops::slice<0, 1, 1, 2>(image)), back)});
  check_near(all[0], {2, 4, 8, 1});
  check_near(all[1], {1, 2, 4, 0.5});
  check_near(all[2], {(4. + 32) / 2, (8. + 4) / 2, (16. + 8) / 2, (32. + 1) / 2});
  check_near(all[3], {2, 4, 8, 1});  // times 2, halved
  check_near(all[4], {2, 4, 8, 1});
}

TEST_CASE("popxl ops: log2_scale is an int32 scalar") {
  Graph g;
  const auto x = constant<half, Shape<2>>(g, std::array{half(1.f), half(2.f)});
  const auto list = constant<std::int32_t, Shape<1>>(g, std::array{1});
  const auto real = constant<std::int64_t, Shape<>>(g, std::array{std::int64_t{1}});
  CHECK_THROWS_AS(ops::pow2scale_cast_to_fp8<float8_e5m2fnuz>(x, list), popxl::ValueError);
  CHECK(contains(error_of([&] { ops::check_log2_scale(real); }), "not int32"));
  CHECK_THROWS_AS(ops::check_log2_scale(real), popxl::TypeError);
}
