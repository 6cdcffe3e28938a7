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

TEST_CASE_TEMPLATE("topk: few or many of short and long lines", T, float, double, half, std::int8_t,
                   std::uint32_t, std::int64_t) {
  for (const bool largest : {true, false}) {
    for (const std::int64_t n : {47, 48, 49, 127, 128, 129, 2000}) {
      for (const std::int64_t k : {1, 2, 15, 16, 17, 40, 1000, 2000}) {
        if (k <= n) check_top<T>({2, n}, 1, k, largest);
      }
    }
    // Lines that are read together, of which some are left.
    for (const std::int64_t k : {5, 16, 17, 150, 300}) check_top<T>({2, 300, 37}, 1, k, largest);
  }
}

TEST_CASE("topk: lines in order, and turned in the middle") {
  for (const std::int64_t k : {3, 50, 700}) {
    for (int order = 0; order < 3; ++order) {
      constexpr std::int64_t n = 3000;
      Array<float> x({n});
      std::vector<std::int64_t> places(n);
      std::iota(places.begin(), places.end(), 0);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t v = order == 0 ? i : order == 1 ? -i : i < n / 2 ? i : n - i;
        x[static_cast<std::size_t>(i)] = static_cast<float>(v);
      }
      std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
      });
      const std::vector<double> best(places.begin(), places.begin() + k);
      CHECK(doubles(run_all(op::TopK{}, {x, indices({k})})[1]) == best);
    }
  }
}

TEST_CASE("topk: NaN among long lines") {
  Array<float> x({1000});
  for (std::size_t i = 0; i < 1000; ++i) x[i] = static_cast<float>(i % 10);
  for (const std::size_t at : {100, 150, 999}) x[at] = std::nanf("");
  CHECK(doubles(run_all(op::TopK{}, {x, indices({5})})[1]) ==
        std::vector<double>{100, 150, 999, 9, 19});
  CHECK(doubles(run_all(op::TopK{}, {x, indices({2})})[1]) == std::vector<double>{100, 150});
  const std::vector<double> all = doubles(run_all(op::TopK{.largest = 0}, {x, indices({1000})})[1]);
  CHECK(std::vector<double>(all.end() - 4, all.end()) == std::vector<double>{989, 100, 150, 999});
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
