#include <doctest/doctest.h>

#include <tuple>

#include <halftone/halftone.hpp>

// What the compiler checks: shapes and types of results, and the reasons why a call does not
// compile, with both numbers. Expected shapes are those of ONNX's definitions.
using namespace halftone;

namespace {

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;

template <auto O, class Y, class... X>
constexpr bool gives = std::is_same_v<result<O, X...>, Y>;

template <auto O, class... X>
constexpr bool has_numbers(std::int64_t expected, std::int64_t found) {
  using Call = detail::StaticCall<O, X...>;
  return !Call::ok && Call::expected == expected && Call::found == found;
}

// MatMul
static_assert(gives<op::MatMul{}, F<4, 16>, F<4, 8>, F<8, 16>>);
static_assert(gives<op::MatMul{}, F<dynamic, 16>, F<dynamic, 8>, F<8, 16>>);
static_assert(gives<op::MatMul{}, F<5, 2, 4, 16>, F<5, 1, 4, 8>, F<2, 8, 16>>);
static_assert(gives<op::MatMul{}, F<4>, F<4, 8>, F<8>>);
static_assert(why_not<op::MatMul{}, F<4, 8>, F<9, 16>> == "MatMul: inner dimensions differ");
static_assert(has_numbers<op::MatMul{}, F<4, 8>, F<9, 16>>(8, 9));
static_assert(why_not<op::MatMul{}, F<4, 8>, Tensor<double, Shape<8, 2>>> ==
              "MatMul: element types of the inputs differ");

// Conv
static_assert(gives<op::Conv{}, F<1, 8, 26, 26>, F<1, 3, 28, 28>, F<8, 3, 3, 3>>);
static_assert(gives<op::Conv{.strides = {2, 2}, .pads = {1, 1, 1, 1}}, F<1, 8, 14, 14>,
                    F<1, 3, 28, 28>, F<8, 3, 3, 3>>);
static_assert(why_not<op::Conv{}, F<1, 128, 56, 56>, F<64, 64, 3, 3>> ==
              "Conv: input channels do not match the weight");
static_assert(has_numbers<op::Conv{}, F<1, 128, 56, 56>, F<64, 64, 3, 3>>(128, 64));

// Broadcasting
static_assert(gives<op::Add{}, F<4, 3, 5>, F<4, 1, 5>, F<3, 1>>);
static_assert(gives<op::Add{}, F<dynamic, 5>, F<dynamic, 5>, F<5>>);
static_assert(gives<op::Greater{}, Tensor<bool, Shape<2, 3>>, F<2, 3>, F<3>>);
static_assert(why_not<op::Add{}, F<4, 3>, F<4>> == "Add: shapes do not broadcast together");
static_assert(has_numbers<op::Add{}, F<4, 3>, F<4>>(3, 4));

// Concat
static_assert(gives<op::Concat{.axis = 1}, F<2, 8>, F<2, 3>, F<2, 5>>);
static_assert(gives<op::Concat{.axis = -1}, F<2, 8>, F<2, 3>, F<2, 5>>);
static_assert(!detail::StaticCall<op::Concat{.axis = 1}, F<2, 3>, F<4, 5>>::ok);
static_assert(has_numbers<op::Concat{.axis = 1}, F<2, 3>, F<4, 5>>(2, 4));

// Reshape
static_assert(gives<op::Reshape{}, F<4, 8>, F<2, 16>, Shape<4, 8>>);
static_assert(gives<op::Reshape{}, F<2, 4, 4>, F<2, 16>, Shape<0, 4, -1>>);
static_assert(!detail::StaticCall<op::Reshape{}, F<2, 16>, Shape<3, 8>>::ok);

// Calls
constexpr Graph calls() {
  Graph g;
  const auto x = input<float, Shape<2, 6>>(g, "x");
  static_assert(std::is_same_v<decltype(op::reshape(x, Shape<3, 4>{})), F<3, 4>>);
  static_assert(std::is_same_v<decltype(op::softmax(x, {.axis = 0})), F<2, 6>>);
  static_assert(std::is_same_v<decltype(apply<op::Transpose{.perm = {1, 0}}>(x)), F<6, 2>>);
  static_assert(std::is_same_v<decltype(op::transpose(x, {.perm = {1, 0}})), AnyTensor>);
  static_assert(std::is_same_v<decltype(x * 2 + 1), F<2, 6>>);
  const auto y = op::transpose(x, {.perm = {1, 0}}).as<F<6, 2>>();
  output(g, op::matmul(x, y), "y");
  return g;
}
static_assert(calls().nodes.size() == 2);

}  // namespace

TEST_CASE("a typed handle of an untyped tensor is checked once") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, dynamic});
  CHECK((x.as<F<2, 3>>().id == x.id));  // what the graph does not know yet passes
  CHECK_THROWS_AS((x.as<F<3, 3>>()), ShapeError);
  CHECK_THROWS_AS((x.as<F<2>>()), ShapeError);
  CHECK_THROWS_AS((x.as<Tensor<double, Shape<2, 3>>>()), ModelError);
}

TEST_CASE("what is known of a tensor stays while more operators are recorded") {
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{2, 3});
  const TensorInfo& known = x.info();
  const Dims& shape = x.info().shape;
  AnyTensor y = x;
  for (int i = 0; i < 100; ++i) y = op::relu(y);
  CHECK(known.type == ElementType::float32);
  CHECK(shape == Dims{2, 3});
}

TEST_CASE("a typed graph and the same graph untyped are equal") {
  Graph typed = calls(), untyped;
  const AnyTensor x = untyped.input<float>("x", {2, 6});
  output(untyped, op::matmul(x, op::transpose(x, {.perm = {1, 0}})), "y");
  CHECK((typed == untyped));
}
