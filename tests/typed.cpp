#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

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

// Element types, missing attributes and numbers that do not fit have names in messages.
template <class T, std::int64_t... D>
using X = Tensor<T, Shape<D...>>;
static_assert(why_not<op::Concat{}, F<2>, F<3>> == "Concat: attribute 'axis' is missing");
static_assert(why_not<op::Add{}, X<std::int32_t, 2>, double> ==
              "Add: the element type cannot hold the number");
static_assert(why_not<op::Add{}, X<bool, 2>, float> ==
              "Add: the element type cannot hold the number");
static_assert(why_not<op::Add{}, X<std::int32_t, 2>, int> == "Add: ");
static_assert(why_not<op::Add{}, X<half, 2>, double> == "Add: ");
template <class Y>
constexpr std::string_view type_of_mismatch = "another class";
template <auto What, auto Expected, auto Found>
constexpr std::string_view type_of_mismatch<shape_mismatch<What, Expected, Found>> =
    Expected == "float" && Found == "double" ? "float, double" : "other types";
static_assert(type_of_mismatch<result<op::Add{}, F<2>, X<double, 2>>> == "float, double");
static_assert(std::is_same_v<decltype(why_not<op::Add{}, F<4, 3>, F<4>>), const Message<29, 8>>);

// Operators and parts of handles
constexpr Graph handles() {
  Graph g;
  const auto x = input<float, Shape<4, 8>>(g, "x");
  const auto i = input<std::int32_t, Shape<3>>(g, "i");
  const auto b = input<bool, Shape<4, 8>>(g, "b");
  const auto c = input<float, Shape<dynamic, 8>>(g, "c");
  const AnyTensor any = x, any_i = i;
  static_assert(std::is_same_v<decltype(x % 2), F<4, 8>>);
  static_assert(std::is_same_v<decltype(7 % i), X<std::int32_t, 3>>);
  static_assert(std::is_same_v<decltype(i & 2), X<std::int32_t, 3>>);
  static_assert(std::is_same_v<decltype(b & (b | ~b)), X<bool, 4, 8>>);
  static_assert(std::is_same_v<decltype(any_i | i), AnyTensor>);
  static_assert(std::is_same_v<decltype(x.transposed()), F<8, 4>>);
  static_assert(std::is_same_v<decltype(any.transposed()), AnyTensor>);
  static_assert(std::is_same_v<decltype(x[-1]), F<8>>);
  static_assert(std::is_same_v<decltype(x[1][2]), F<>>);
  static_assert(std::is_same_v<decltype(x[slice<1, 3>]), F<2, 8>>);
  static_assert(std::is_same_v<decltype(x[slice<-3>]), F<3, 8>>);
  static_assert(std::is_same_v<decltype(x[slice<0, 4, 2>]), F<2, 8>>);
  static_assert(std::is_same_v<decltype(c[slice<-3>]), F<dynamic, 8>>);
  static_assert(std::is_same_v<decltype(x[Section{1, 3}]), AnyTensor>);
  static_assert(std::is_same_v<decltype(x[i]), F<3, 8>>);
  static_assert(std::is_same_v<decltype(x[b]), F<4, 8>>);
  static_assert(std::is_same_v<decltype(any[b]), AnyTensor>);
  static_assert(std::is_same_v<decltype(x[any_i]), AnyTensor>);
  output(g, x[i][slice<1, 3>][-1] % 2, "y");
  return g;
}
static_assert(handles().nodes.size() == 4);

// Composed functions
static_assert(std::is_same_v<decltype(op::layer_norm(F<2, 3>{}, F<3>{}, F<3>{})), F<2, 3>>);
static_assert(
    std::is_same_v<decltype(op::layer_norm(AnyTensor{}, F<3>{}, F<3>{}, 0.f)), AnyTensor>);
static_assert(
    std::is_same_v<decltype(op::batch_norm_inference(F<2, 3, 5>{}, F<3>{}, F<3>{}, F<3>{}, F<3>{})),
                   F<2, 3, 5>>);
static_assert(std::is_same_v<decltype(op::interpolate(F<2, 3>{}, std::span<const float>{})),
                             F<dynamic, dynamic>>);
static_assert(std::is_same_v<decltype(op::interpolate(F<1, dynamic, 3>{}, Integers<1, 2, 2>{})),
                             F<1, dynamic, 6>>);
static_assert(std::is_same_v<decltype(op::split_random_seed(op::Seed{}, 3)),
                             std::vector<X<std::uint32_t, 2>>>);
using Labels = X<std::int32_t, 2>;
static_assert(std::is_same_v<decltype(op::nll_loss_with_softmax_grad(F<2, 8>{}, Labels{}, 2)),
                             std::pair<F<>, F<2, 8>>>);
constexpr op::Nll each{.reduction = LossReduction::no_reduction};
static_assert(std::is_same_v<decltype(op::nll_loss_with_softmax_grad<each>(F<2, 8>{}, Labels{})),
                             std::pair<F<2>, F<2, 8>>>);
static_assert(std::is_same_v<decltype(op::ipu_copy(F<2>{}, 1)), F<2>>);
static_assert(std::is_same_v<decltype(op::gather_or_zero(F<4, 8>{}, Labels{})), F<2, 8>>);
static_assert(std::is_same_v<decltype(op::gather_or_zero<1>(F<4, 8>{}, Labels{})), F<4, 2>>);
namespace update = var_updates;
static_assert(std::is_same_v<decltype(update::accumulate_(F<2>{}, X<half, 2>{})), F<2>>);
static_assert(std::is_same_v<decltype(update::accumulate_(F<2>{}, F<2>{}, AnyTensor{})), F<2>>);
static_assert(std::is_same_v<decltype(update::accumulate_square_(F<2>{}, F<2>{}, 2.f)), F<2>>);
static_assert(std::is_same_v<decltype(update::accumulate_mean_(F<2>{}, F<2>{}, F<>{})), F<2>>);
static_assert(
    std::is_same_v<decltype(update::accumulate_moving_average_(F<2>{}, F<2>{}, 0.5f)), F<2>>);
static_assert(std::is_same_v<
              decltype(update::accumulate_moving_average_square_(F<2>{}, F<2>{}, 0.5f)), F<2>>);
static_assert(
    std::is_same_v<decltype(update::sparse_accumulate_(F<4, 2>{}, F<3, 2>{}, X<std::int32_t, 3>{})),
                   F<4, 2>>);
static_assert(std::is_same_v<decltype(update::accumulator_scale_(F<2>{}, 0.5f)), F<2>>);
static_assert(std::is_same_v<decltype(update::accumulator_zero_(F<2>{})), F<2>>);
static_assert(std::is_same_v<decltype(update::copy_var_update_(F<2>{}, F<2>{})), F<2>>);
static_assert(std::is_same_v<decltype(update::adam_updater(F<2>{}, F<2>{})), F<2>>);
static_assert(std::is_same_v<decltype(update::lamb_updater(F<2>{}, F<2>{}, {.epsilon = 1})), F<2>>);
static_assert(std::is_same_v<decltype(update::adamax_updater(F<2>{}, F<2>{}, {})), F<2>>);
static_assert(
    std::is_same_v<decltype(update::adam_var_update(F<2>{}, F<2>{}, F<>{}, F<>{}, 0.1f)), F<2>>);
static_assert(std::is_same_v<decltype(update::copy_var_update_(AnyTensor{}, F<2>{})), AnyTensor>);

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

TEST_CASE("a number that the element type cannot hold is an error") {
  Graph g;
  const AnyTensor i = g.input<std::int32_t>("i", Dims{2}), u = g.input<std::uint8_t>("u", Dims{2});
  const AnyTensor b = g.input<bool>("b", Dims{2});
  CHECK_THROWS_AS(i + 1.5, UsageError);
  CHECK_THROWS_AS(i + 2147483648.0, UsageError);
  CHECK_THROWS_AS(i + NAN, UsageError);
  CHECK_THROWS_AS(u + 256, UsageError);
  CHECK_THROWS_AS(u + -1, UsageError);
  CHECK_THROWS_AS(op::logical_and(b, 2), UsageError);
  i + 2.0;
  i + -2147483648LL;
  u + 255u;
  op::logical_and(b, 1);
}

TEST_CASE("operators and parts of handles compute") {
  Graph g;
  const auto x = input<float, Shape<3, 2>>(g, "x");
  const AnyTensor any = x;
  const auto i = input<std::int32_t, Shape<3>>(g, "i");
  const auto b = input<bool, Shape<2>>(g, "b");
  output(g, i % 4, "remainder");
  output(g, i & 6, "bits");
  output(g, op::cast((b & ~b) | b, {.to = ElementType::int32}), "logical");
  output(g, ~AnyTensor(i), "all_bits");
  output(g, x.transposed(), "transposed");
  output(g, x[-1], "last");
  output(g, any[slice<0, 3, 2>], "even");
  output(g, x[Section{.start = -2}], "behind");
  output(g, x[i & 1], "rows");
  output(g, x[b], "masked");
  output(g, any[AnyTensor(b)], "masked_too");
  CHECK_THROWS_AS(x[3], ShapeError);
  CHECK_THROWS_AS(any[-4], ShapeError);
  Session session(std::move(g), {.threads = 1});
  const Result y = session.run({{"x", Array<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                                {"i", Array<std::int32_t>({3}, {-7, 6, 5})},
                                {"b", Array<bool>({2}, {true, false})}});
  const auto is = [&](const char* name, const auto& expected) {
    using T = typename std::remove_cvref_t<decltype(expected)>::value_type;
    const std::span<const T> found = y[name].template values<T>();
    CAPTURE(name);
    CHECK(std::vector<T>(found.begin(), found.end()) == expected);
  };
  // C++'s own operators give the expected numbers.
  is("remainder", std::vector<std::int32_t>{-7 % 4, 6 % 4, 5 % 4});
  is("bits", std::vector<std::int32_t>{-7 & 6, 6 & 6, 5 & 6});
  is("logical", std::vector<std::int32_t>{1, 0});
  is("all_bits", std::vector<std::int32_t>{~-7, ~6, ~5});
  is("transposed", std::vector<float>{1, 3, 5, 2, 4, 6});
  is("last", std::vector<float>{5, 6});
  is("even", std::vector<float>{1, 2, 5, 6});
  is("behind", std::vector<float>{3, 4, 5, 6});
  is("rows", std::vector<float>{3, 4, 1, 2, 3, 4});
  is("masked", std::vector<float>{1, 0, 3, 0, 5, 0});
  is("masked_too", std::vector<float>{1, 0, 3, 0, 5, 0});
}

TEST_CASE("typed functions of several operators record what untyped ones do") {
  Graph typed, untyped;
  const auto record = [](Graph& g, auto handle) {
    const auto x = handle(input<float, Shape<2, 3, 4>>(g, "x"));
    const auto c = handle(parameter<float, Shape<3>>(g, "c", ones));
    const auto p = handle(input<float, Shape<2, 8>>(g, "p"));
    const auto label = handle(input<std::int32_t, Shape<2>>(g, "label"));
    output(g, op::layer_norm(x, c, c, 0.5f));
    output(g, op::batch_norm_inference(x, c, c, c, c, 0.5f));
    output(g, op::interpolate(x, std::array{1.f, 1.f, 2.f}));
    const auto [loss, dp] = op::nll_loss_with_softmax_grad(p, label, 8);
    output(g, loss);
    output(g, dp);
    output(g, op::split_random_seed(handle(input<std::uint32_t, Shape<2>>(g, "seed")))[1]);
    output(g, update::accumulate_(c, c, 0.5f));
    output(g, update::adam_updater(c, c, {.epsilon = 0.5f}));
  };
  record(typed, [](auto x) { return x; });
  record(untyped, [](auto x) { return AnyTensor(x); });
  CHECK((typed == untyped));
}

TEST_CASE("a typed graph and the same graph untyped are equal") {
  Graph typed = calls(), untyped;
  const AnyTensor x = untyped.input<float>("x", {2, 6});
  output(untyped, op::matmul(x, op::transpose(x, {.perm = {1, 0}})), "y");
  CHECK((typed == untyped));
}

TEST_CASE("operators of up to nine inputs take attributes") {
  Graph g;
  const auto x = g.input<float>("x", {5, 2, 3}), p = g.input<float>("p", {1, 12});
  const auto w = g.input<float>("w", {1, 16, 3}), r = g.input<float>("r", {1, 16, 4});
  const auto c = g.input<float>("c", {1, 2, 4});
  const AnyTensor none;
  const auto seven = op::lstm(x, w, r, none, none, none, c, {.hidden_size = 4});
  const auto eight = op::lstm(x, w, r, none, none, none, c, p, {.hidden_size = 4});
  CHECK(seven[0].info().shape == Dims{5, 1, 2, 4});
  CHECK(eight[2].info().shape == Dims{1, 2, 4});
  const auto image = g.input<std::uint8_t>("image", {1, 2, 4, 4});
  const auto weight = g.input<std::int8_t>("weight", {3, 2, 3, 3});
  const auto scale = g.input<float>("scale", {}), bias = g.input<std::int32_t>("bias", {3});
  const auto zero = g.input<std::uint8_t>("zero", {}), middle = g.input<std::int8_t>("middle", {});
  const AnyTensor y = op::qlinear_conv(image, scale, zero, weight, scale, middle, scale, zero, bias,
                                       {.conv = {.pads = {1, 1, 1, 1}}});
  CHECK(y.info().shape == Dims{1, 3, 4, 4});
}
