// PopXL's operators by their names: shapes and indices. Expected numbers are counted by hand from
// x = 0, 1, 2, ... in the order of its elements.
#include <popxl/ops.hpp>

#include <doctest/doctest.h>

#include <array>

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

template <std::int64_t... D>
using I = Tensor<std::int32_t, Shape<D...>>;

struct Model {
  Graph g;
  F<2, 3> x = input<float, Shape<2, 3>>(g, "x");  // 0 1 2, 3 4 5
  AnyTensor any = x;

  std::vector<std::vector<double>> values(std::vector<Anchor> outputs) const {
    const Array<float> a({2, 3}, {0, 1, 2, 3, 4, 5});
    return evaluate(g, std::move(outputs), {{"x", a}});
  }
};

}  // namespace

TEST_CASE("popxl ops: reshape reshape_ flatten flatten_ transpose transpose_ squeeze") {
  Model m;
  const auto x = m.x;
  static_assert(std::is_same_v<decltype(ops::reshape<3, -1>(x)), F<3, 2>>);
  static_assert(std::is_same_v<decltype(ops::flatten(x)), F<6>>);
  static_assert(std::is_same_v<decltype(ops::transpose<1, 0>(x)), F<3, 2>>);
  static_assert(std::is_same_v<decltype(ops::transpose(x)), F<3, 2>>);
  const auto tall = ops::reshape<1, 6, 1>(x);
  static_assert(std::is_same_v<decltype(ops::squeeze(tall)), F<6>>);
  static_assert(std::is_same_v<decltype(ops::squeeze<0>(tall)), F<6, 1>>);
  const std::vector<double> order = {0, 1, 2, 3, 4, 5}, turned = {0, 3, 1, 4, 2, 5};
  const auto all = m.values(
      {ops::reshape<3, 2>(x), ops::reshape(m.any, {3, -1}), ops::reshape_<3, 2>(x),
       ops::reshape_(m.any, Dims{3, 2}), ops::flatten(x), ops::flatten_(x), ops::squeeze(tall),
       ops::squeeze(tall, {0, -1}), ops::transpose<1, 0>(x), ops::transpose(m.any, {1, 0}),
       ops::transpose_<1, 0>(x), ops::transpose_(m.any, Dims{1, 0}), ops::transpose(x)});
  for (std::size_t i = 0; i < all.size(); ++i) check_near(all[i], i < 8 ? order : turned);
}

TEST_CASE("popxl ops: reshape and squeeze say what is wrong") {
  Model m;
  CHECK_THROWS_AS(ops::reshape(m.any, {0, 6}), popxl::ValueError);
  CHECK_THROWS_AS(ops::reshape(m.any, {-2, 6}), popxl::ValueError);
  CHECK_THROWS_AS(ops::reshape(m.any, {-1, -1}), Error);
  CHECK_THROWS_AS(ops::reshape(m.any, {4, 2}), ShapeError);
  const AnyTensor tall = ops::reshape<1, 6, 1>(m.x);
  const std::size_t nodes = m.g.nodes.size();
  CHECK_THROWS_AS(ops::squeeze(tall, {0, 0}), popxl::ValueError);
  CHECK_THROWS_AS(ops::squeeze(tall, {3}), popxl::ValueError);
  CHECK(contains(error_of([&] { ops::squeeze(tall, {1}); }), "more than one element"));
  CHECK(m.g.nodes.size() == nodes);
}

TEST_CASE("popxl ops: slice slice_ subsample split concat concat_") {
  Model m;
  const auto x = m.x;
  static_assert(std::is_same_v<decltype(ops::slice<0, 1>(x)), F<1, 3>>);
  static_assert(std::is_same_v<decltype(ops::slice<1, 3, 1, 1>(x)), F<2, 2>>);
  static_assert(std::is_same_v<decltype(ops::subsample<1, 2>(x)), F<2, 2>>);
  static_assert(std::is_same_v<decltype(ops::concat<1>(x, x)), F<2, 6>>);
  const auto [left, middle, right] = ops::split<3, 1>(x);
  static_assert(std::is_same_v<decltype(left), const F<2, 1>>);
  const std::vector<AnyTensor> halves = ops::split(m.any, 2), parts = ops::split(m.any, {1, 2}, 1);
  REQUIRE(halves.size() == 2);
  REQUIRE(parts.size() == 2);
  const std::vector<AnyTensor> both = {x, x};
  const auto all = m.values(
      {ops::slice<1, 3, 1, 1>(x), ops::slice(m.any, {1}, {3}, {}, {1}), ops::slice_<1, 3, 1, 1>(x),
       ops::slice_(m.any, Dims{1}, Dims{3}, Dims{1}, Dims{1}), ops::slice<-1, INT64_MIN, -1, 0>(x),
       ops::subsample<1, 2>(x), ops::subsample(m.any, {1, 2}), middle, right, halves[1], parts[0],
       parts[1], ops::concat<0>(x, x), ops::concat(both), ops::concat_<0>(x, x), ops::concat_(both),
       ops::concat(both, 1)});
  for (const std::size_t i : {0, 1, 2, 3}) check_near(all[i], {1, 2, 4, 5});
  check_near(all[4], {3, 4, 5, 0, 1, 2});
  for (const std::size_t i : {5, 6}) check_near(all[i], {0, 2, 3, 5});
  check_near(all[7], {1, 4});
  check_near(all[8], {2, 5});
  check_near(all[9], {3, 4, 5});
  check_near(all[10], {0, 3});
  check_near(all[11], {1, 2, 4, 5});
  for (const std::size_t i : {12, 13, 14, 15})
    check_near(all[i], {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  check_near(all[16], {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
}

TEST_CASE("popxl ops: slice, split and concat say what is wrong") {
  Model m;
  CHECK(contains(error_of([&] { ops::slice(m.any, {0}, {2}, {2}); }), "subsample"));
  CHECK_THROWS_AS(ops::slice(m.any, {0}, {2}, {2}), popxl::ValueError);
  CHECK_THROWS_AS(ops::slice(m.any, {0, 1}, {2}), popxl::ValueError);
  CHECK(contains(error_of([&] { ops::split(m.any, 2, 1); }), "a divisor of 3"));
  CHECK_THROWS_AS(ops::split(m.any, 2, 1), popxl::ValueError);
  CHECK_THROWS_AS(ops::split(m.any, 2, 2), popxl::ValueError);
  CHECK_THROWS_AS(ops::split(m.any, {1, 1}, 1), popxl::ValueError);
  CHECK(contains(error_of([&] { ops::split(m.any, {-1, 4}, 1); }), "negative"));
  const std::vector<AnyTensor> mixed = {m.any, ops::cast<std::int32_t>(m.x)};
  CHECK_THROWS_AS(ops::concat(mixed), popxl::TypeError);
}

TEST_CASE("popxl ops: dynamic_slice dynamic_update dynamic_update_") {
  Model m;
  const auto at = constant<std::uint32_t, Shape<1>>(m.g, std::array{1u});
  const auto new_column = constant<float, Shape<2, 1>>(m.g, std::array{7.f, 8.f});
  const auto part = ops::dynamic_slice<Integers<1>, Integers<1>>(m.x, at);
  static_assert(std::is_same_v<decltype(part), const F<2, 1>>);
  const auto t = m.x * 1.f;
  const auto updated = ops::dynamic_update(m.x, at, new_column, {1}, {1}, true);
  static_assert(std::is_same_v<decltype(updated), const F<2, 3>>);
  const auto changed = ops::dynamic_update_(t, at, new_column, {1}, {1}, true);
  const auto all =
      m.values({part, ops::dynamic_slice(m.any, at, {1}, {1}, true), updated, changed, t, m.x});
  check_near(all[0], {1, 4});
  check_near(all[1], {1, 4});
  for (const std::size_t i : {2, 3, 4}) check_near(all[i], {0, 7, 2, 3, 8, 5});
  check_near(all[5], {0, 1, 2, 3, 4, 5});
}

TEST_CASE("popxl ops: gather tied_gather groupedgather scatter scatter_reduce onehot") {
  Model m;
  const auto x = m.x;
  const auto rows = constant<std::int32_t, Shape<3>>(m.g, std::array{1, 0, 1});
  const auto outside = constant<std::int32_t, Shape<2>>(m.g, std::array{-1, 2});
  static_assert(std::is_same_v<decltype(ops::gather(x, rows)), F<3, 3>>);
  static_assert(std::is_same_v<decltype(ops::gather<1>(x, outside)), F<2, 2>>);
  const auto grouped = ops::reshape<2, 3, 1>(x);
  const auto places = constant<std::int32_t, Shape<2, 1>>(m.g, std::array{2, 0});
  static_assert(std::is_same_v<decltype(ops::groupedgather<1, 2>(grouped, places)), F<2, 1, 1>>);
  const auto empty = constant<float, Shape<2, 3>>(m.g, std::array{0.f, 0.f, 0.f, 0.f, 0.f, 0.f});
  const auto to = constant<std::int32_t, Shape<2, 3>>(m.g, std::array{0, 1, 0, 1, 0, 1});
  constexpr op::ScatterReduce sums{.axis = 0, .axis_size = 2};
  const auto reduced = ops::scatter_reduce<sums>(x, to);
  const auto values = constant<float, Shape<2>>(m.g, std::array{-1.f, 1.f});
  const auto hot = ops::onehot<3>(rows, values);
  static_assert(std::is_same_v<decltype(hot), const F<3, 3>>);
  const auto all = m.values(
      {ops::gather(x, rows), ops::gather(m.any, rows, 0), ops::gather(m.any, outside, 0, true),
       ops::tied_gather(x, rows), ops::tied_gather(m.any, outside, 1, true),
       ops::groupedgather<1, 2>(grouped, places), ops::groupedgather(grouped, places, 1, 2),
       ops::scatter(empty, to, x), reduced, ops::scatter_reduce(m.any, to, sums),
       ops::scatter_reduce(m.any, to, {.axis = 0, .axis_size = 2}, x), hot,
       ops::onehot(rows, 3, values)});
  for (const std::size_t i : {0, 1, 3}) check_near(all[i], {3, 4, 5, 0, 1, 2, 3, 4, 5});
  check_near(all[2], {0, 0, 0, 0, 0, 0});
  check_near(all[4], {0, 2, 0, 5});
  for (const std::size_t i : {5, 6}) check_near(all[i], {2, 3});
  for (const std::size_t i : {7, 8, 9}) check_near(all[i], {0, 4, 2, 3, 1, 5});
  check_near(all[10], {0, 5, 4, 6, 5, 10});
  for (const std::size_t i : {11, 12}) check_near(all[i], {-1, 1, -1, 1, -1, -1, -1, 1, -1});
}
