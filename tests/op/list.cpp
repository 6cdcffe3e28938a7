#include <halftone/op/list.hpp>

#include <doctest/doctest.h>

#include <string>
#include <tuple>

using namespace halftone;

namespace {

struct Recorded {
  Graph graph;
  AnyTensor x = graph.input<float>("x", {2, 3}), y = graph.input<float>("y", {3}),
            dy = graph.input<float>("dy", {2, 3}), c = graph.input<bool>("c", {2, 3});

  template <class Gradient>
  void check(const Gradient& gradient) {
    if constexpr (tensor_handle<Gradient>) {
      CHECK(gradient.info() == x.info());
    } else if constexpr (!std::is_same_v<Gradient, None>) {
      std::apply([&](const auto&... each) { (check(each), ...); }, gradient);
    }
  }
};

template <class Op>
void check_backward() {
  CAPTURE(std::string(Op::id.name));
  const Op op{};
  Recorded r;
  if constexpr (std::is_same_v<Op, op::Where>) {
    r.check(op.backward(r.dy, r.c, r.x, r.x));
  } else if constexpr (slots_of<Op>.inputs() == 1) {
    r.check(op.backward(r.dy, r.x));
  } else if constexpr (slots_of<Op>.inputs() == 2) {
    r.check(op.backward(r.dy, r.x, r.y));
  } else {
    r.check(op.backward(r.dy, r.x, r.y, r.y));
  }
}

template <class Op>
concept has_backward = !requires { &detail::Both<Op, detail::BackwardName>::backward; };

template <class... Op>
int check_all(Registry<Op...>) {
  int count = 0;
  // In an array: clang nests a fold expression at most 256 deep.
  [[maybe_unused]] const int checked[]{[&] {
    if constexpr (detail::elementwise_op<Op> && has_backward<Op>) {
      check_backward<Op>();
      ++count;
    }
    return 0;
  }()...};
  return count;
}

}  // namespace

TEST_CASE("list: the text of an element-wise gradient records operators when given tensors") {
  CHECK(check_all(builtin{}) > 40);
}

TEST_CASE("list: a number takes the type that the signature gives its place") {
  Graph g;
  const auto c = input<bool, Shape<2>>(g, "c");
  const auto x = input<double, Shape<2>>(g, "x");
  static_assert(std::is_same_v<decltype(op::where(c, x, 0)), Tensor<double, Shape<2>>>);
  static_assert(std::is_same_v<decltype(op::pow(x, 2)), Tensor<double, Shape<2>>>);
  CHECK(op::where(c, 0, x).info().type == ElementType::float64);
  CHECK(op::where(AnyTensor(c), 0, AnyTensor(x)).info().type == ElementType::float64);
}
