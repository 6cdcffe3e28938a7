#include <halftone/op/top_k.hpp>

#include <algorithm>
#include <numeric>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// The definition: a stable sort of each line.
template <class T>
void check_top(const Dims& shape, std::int64_t axis, std::int64_t k, bool largest,
               const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = array<T>(shape, doubles(scattered<std::int8_t>(shape, 0, 90)));
  const std::vector<double> all = doubles(x);
  const std::size_t at = normalized_axis(axis, shape.size());
  Dims lines = shape, picked = shape;
  lines[at] = 1;
  picked[at] = k;
  std::vector<double> values(static_cast<std::size_t>(product(picked))), places = values;
  for_each_index(lines, [&](const Dims& line, std::size_t) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(shape[at]));
    std::iota(order.begin(), order.end(), 0);
    Dims i = line;
    const auto value = [&](std::int64_t index) {
      i[at] = index;
      return all[position(shape, i)];
    };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return largest ? value(a) > value(b) : value(a) < value(b);
    });
    for (i[at] = 0; i[at] < k;) {
      Dims to = line;
      const std::size_t rank = static_cast<std::size_t>(to[at] = i[at]);
      values[position(picked, to)] = value(order[rank]);
      places[position(picked, to)] = static_cast<double>(order[rank]);
      i[at] = to[at] + 1;
    }
  });
  const auto y = run_all(op::TopK{.axis = axis, .largest = largest ? 1 : 0}, {x, indices({k})}, 0,
                         0, executor);
  check_equal<T>(y[0], picked, values);
  check_equal<std::int64_t>(y[1], picked, places);
}

}  // namespace

TEST_CASE_TEMPLATE("topk: a stable sort's first elements", T, float, half, bfloat16, std::int8_t,
                   std::uint64_t) {
  for (const bool largest : {true, false}) {
    for (std::int64_t axis = -3; axis < 3; ++axis) {
      for (const std::int64_t k : {0, 1, 3, 4}) check_top<T>({5, 4, 6}, axis, k, largest);
    }
    check_top<T>({300}, 0, 17, largest);
    check_top<T>({300}, 0, 300, largest);
    check_top<T>({0, 3}, 1, 2, largest);
    check_top<T>({1}, 0, 1, largest);
  }
}

TEST_CASE("topk: many lines are divided") {
  check_top<float>({70, 900}, 1, 5, true, backwards());
  check_top<float>({90, 700}, 0, 5, false, backwards());
}

TEST_CASE("topk: special numbers, wrong k, its oldest form") {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const Array<float> x = array<float>({6}, {0.0, -infinity, nan, -0.0, infinity, 1});
  const auto y = run_all(op::TopK{}, {x, indices({6})});
  CHECK(doubles(y[1]) == std::vector<double>{2, 4, 5, 0, 3, 1});
  CHECK(doubles(run_all(op::TopK{.largest = 0}, {x, indices({6})})[1]) ==
        std::vector<double>{1, 0, 3, 5, 4, 2});
  CHECK(reason(op::TopK{}, {x, indices({7})}) == "k is larger than the extent");
  CHECK(reason(op::TopK{}, {x, indices({-1})}) == "k is negative");
  CHECK(reason(op::TopK{}, {x, indices({1, 2})}) == "k is not one number");
  CHECK(reason(op::TopK{.axis = 1}, {x, indices({1})}) == "axis is out of range");
  const InputInfo unknown[] = {{{ElementType::float32, {2, 9}}}, {{ElementType::int64, {1}}}};
  CHECK(op::TopK{}.infer(Inputs(unknown, 2)).outputs[1].shape == Dims{2, dynamic});
  Graph graph;
  const Array<float> line = array<float>({3}, {1, 3, 2});
  const std::vector<TensorId> given{graph.add_input(line.info(), {})};
  const std::vector<TensorId> out =
      halftone::detail::expand_thunk<op::TopK_1>(graph, pack(op::TopK_1{.k = 2}), given, 2);
  const std::vector<AnyArray> all = run_graph<op::TopK>(graph, {line});
  check_equal<float>(all[static_cast<std::size_t>(out.at(0))], {2}, {3, 2});
  check_equal<std::int64_t>(all[static_cast<std::size_t>(out.at(1))], {2}, {1, 2});
}
