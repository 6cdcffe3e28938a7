#include <halftone/op/reshape.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

Dims reshaped(const Dims& x, const Dims& shape, bool allowzero = false) {
  const Bytes data = halftone::detail::bytes_of(shape.span());
  const InputInfo in[]{{.info = {ElementType::float32, x}},
                       {.info = {ElementType::int64, {static_cast<std::int64_t>(shape.size())}},
                        .data = data.span(),
                        .is_constant = true}};
  const Inferred y =
      halftone::detail::infer_checked(op::Reshape{.allowzero = allowzero}, Inputs(in, 1));
  REQUIRE_MESSAGE(y.ok(), std::string(y.reason));
  return y.outputs[0].shape;
}

std::string refused(const Dims& x, const Dims& wanted, bool allowzero = false) {
  Array<std::int64_t> list({static_cast<std::int64_t>(wanted.size())});
  for (std::size_t i = 0; i < wanted.size(); ++i) list[i] = wanted[i];
  return reason(op::Reshape{.allowzero = allowzero}, {Array<float>(x), list});
}

}  // namespace

TEST_CASE("reshape: examples of the ONNX specification") {
  const Dims x{2, 3, 4};
  CHECK(reshaped(x, {4, 2, 3}) == Dims{4, 2, 3});
  CHECK(reshaped(x, {2, 12}) == Dims{2, 12});
  CHECK(reshaped(x, {2, 3, 2, 2}) == Dims{2, 3, 2, 2});
  CHECK(reshaped(x, {24}) == Dims{24});
  CHECK(reshaped(x, {2, -1, 2}) == Dims{2, 6, 2});
  CHECK(reshaped(x, {-1, 2, 3, 4}) == Dims{1, 2, 3, 4});
  CHECK(reshaped(x, {2, 0, 4, 1}) == Dims{2, 3, 4, 1});
  CHECK(reshaped(x, {2, 0, 1, -1}) == Dims{2, 3, 1, 4});
  CHECK(reshaped({0, 3, 4}, {3, 4, 0}, true) == Dims{3, 4, 0});
}

TEST_CASE("reshape: scalars and empty tensors") {
  CHECK(reshaped({}, {1, 1}) == Dims{1, 1});
  CHECK(reshaped({1}, {}) == Dims{});
  CHECK(reshaped({}, {-1}) == Dims{1});
  CHECK(reshaped({0, 3}, {0, -1}) == Dims{0, 3});
  CHECK(reshaped({0, 3}, {-1}) == Dims{0});
  CHECK(reshaped({2, 0}, {0, 5, 0}, true) == Dims{0, 5, 0});
  // Where an extent of zero is copied both have no elements, whatever the other extents are.
  CHECK(reshaped({0, 8}, {0, 4}) == Dims{0, 4});
  CHECK(reshaped({2, 0, 3}, {0, 0}) == Dims{2, 0});
  CHECK(refused({0, 8}, {4}) == "the number of elements differs");
}

TEST_CASE("reshape: unknown extents") {
  CHECK(reshaped({dynamic, 16, 5, 5}, {0, -1}) == Dims{dynamic, 400});
  CHECK(reshaped({dynamic, 784}, {-1, 28, 28}) == Dims{dynamic, 28, 28});
  CHECK(reshaped({dynamic, 784}, {10, 784}) == Dims{10, 784});
  const InputInfo in[]{{.info = {ElementType::float32, {6}}}, {.info = {ElementType::int64, {2}}}};
  CHECK(op::Reshape{}.infer(Inputs(in, 1)).outputs[0].shape == Dims{dynamic, dynamic});
  const InputInfo none[]{{.info = {ElementType::float32, {6}}},
                         {.info = {ElementType::int64, {0}}}};
  CHECK(op::Reshape{}.infer(Inputs(none, 1)).reason == "the number of elements differs");
}

TEST_CASE("reshape: wrong shapes") {
  CHECK(refused({2, 3}, {5}) == "the number of elements differs");
  CHECK(refused({2, 3}, {4, -1}) == "the extents do not divide the number of elements");
  CHECK(refused({2, 3}, {-1, -1}) == "two extents are -1");
  CHECK(refused({2, 3}, {-2, 3}) == "an extent is negative");
  CHECK(refused({2, 3}, {2, 3, 0}) == "an extent is copied that the input does not have");
  CHECK(refused({2, 3}, {0, -1}, true) == "extents 0 and -1 with allowzero");
  CHECK(refused({2, 3}, {INT64_MAX, INT64_MAX}) == "the number of elements differs");
  CHECK(reason(op::Reshape{}, {Array<float>({1}), indices({1, 1, 1, 1, 1, 1, 1, 1, 1})}) ==
        "too many dimensions");
  CHECK(reason(op::Reshape{}, {Array<float>({1}), Array<std::int64_t>({1, 1})}) ==
        "the shape is not a vector");
}

TEST_CASE("reshape: a Shape as argument") {
  Graph graph;
  const auto x = input<float, halftone::Shape<2, 16>>(graph, "x");
  const auto y = op::reshape(x, halftone::Shape<4, 8>{});
  static_assert(std::is_same_v<decltype(y), const Tensor<float, halftone::Shape<4, 8>>>);
  CHECK(graph.info(y.id).shape == Dims{4, 8});
}

namespace {
using X = Tensor<float, halftone::Shape<2, 3>>;
static_assert(std::is_same_v<result<op::Reshape{}, X, halftone::Shape<0, -1, 1>>,
                             Tensor<float, halftone::Shape<2, 3, 1>>>);
static_assert(why_not<op::Reshape{}, X, halftone::Shape<7>> ==
              "Reshape: the number of elements differs");
}  // namespace
