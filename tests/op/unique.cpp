#include <halftone/op/unique.hpp>

#include <algorithm>
#include <map>

#include <halftone/op/non_max_suppression.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// By a map, which sorts; slices as lists of numbers.
template <class T>
void check_unique(const Dims& shape, Optional<std::int64_t> axis, bool sorted, double high) {
  const Array<T> x = array<T>(shape, doubles(scattered<std::int8_t>(shape, 0, high)));
  const std::vector<double> values = doubles(x);
  const bool flat = !axis;
  const Dims whole = flat ? Dims{product(shape)} : shape;
  const std::size_t at = flat ? 0 : normalized_axis(*axis, shape.size());
  std::map<std::vector<double>, std::vector<double>> kinds;  // slice: where it is
  std::vector<std::vector<double>> slices(static_cast<std::size_t>(whole[at]));
  for_each_index(whole, [&](const Dims& index, std::size_t i) {
    slices[static_cast<std::size_t>(index[at])].push_back(values[i]);
  });
  for (std::size_t j = 0; j < slices.size(); ++j) {
    kinds[slices[j]].push_back(static_cast<double>(j));
  }
  std::vector<std::vector<double>> order;
  for (const auto& [slice, places] : kinds) order.push_back(slice);
  if (!sorted) {
    std::sort(order.begin(), order.end(),
              [&](const auto& a, const auto& b) { return kinds[a][0] < kinds[b][0]; });
  }
  std::vector<double> firsts, counts, inverse(slices.size());
  for (std::size_t u = 0; u < order.size(); ++u) {
    firsts.push_back(kinds[order[u]][0]);
    counts.push_back(static_cast<double>(kinds[order[u]].size()));
    for (const double j : kinds[order[u]]) {
      inverse[static_cast<std::size_t>(j)] = static_cast<double>(u);
    }
  }
  const auto count = static_cast<std::int64_t>(order.size());
  Dims expected = whole;
  expected[at] = count;
  const auto y = run_all(op::Unique{.axis = axis, .sorted = sorted ? 1 : 0}, {x}, 4);
  check_moved(y[0], expected, x, [&](const Dims& index) {
    Dims source = index;
    source[at] = static_cast<std::int64_t>(firsts[static_cast<std::size_t>(index[at])]);
    if (!flat) return source;
    Dims place = Dims::filled(shape.size(), 0);
    for (std::size_t d = shape.size(); d-- > 0;) {
      place[d] = source[0] % shape[d];
      source[0] /= shape[d];
    }
    return place;
  });
  check_equal<std::int64_t>(y[1], {count}, firsts);
  check_equal<std::int64_t>(y[2], {whole[at]}, inverse);
  check_equal<std::int64_t>(y[3], {count}, counts);
}

}  // namespace

TEST_CASE_TEMPLATE("unique: elements and slices", T, float, half, std::int8_t, std::uint64_t) {
  for (const bool sorted : {true, false}) {
    check_unique<T>({200}, {}, sorted, 40);
    check_unique<T>({3, 5, 4}, {}, sorted, 9);
    check_unique<T>({60, 2}, 0, sorted, 4);
    check_unique<T>({2, 50, 2}, 1, sorted, 2);
    check_unique<T>({2, 50}, -1, sorted, 3);
    check_unique<T>({1}, {}, sorted, 3);
    check_unique<T>({0, 3}, 0, sorted, 3);
    check_unique<T>({0}, {}, sorted, 3);
  }
}

TEST_CASE("unique: order of special numbers, wrong axes") {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const auto y = run_all(op::Unique{},
                         {array<float>({8}, {nan, 0.0, -infinity, -0.0, 2, nan, -1, infinity})}, 4);
  CHECK(doubles(y[1]) == std::vector<double>{2, 6, 1, 4, 7, 0});
  CHECK(doubles(y[3]) == std::vector<double>{1, 1, 2, 1, 1, 2});
  check_equal<std::int64_t>(
      run(op::Unique{}, {Array<std::int64_t>({3}, {INT64_MAX, INT64_MIN, 0})}), {3},
      {-0x1p63, 0, 0x1p63});
  check_equal<bool>(run(op::Unique{}, {array<bool>({3}, {1, 0, 1})}), {2}, {0, 1});
  CHECK(reason(op::Unique{.axis = 1}, {Array<float>({3})}) == "axis is out of range");
  const InputInfo unknown{{ElementType::float32, {2, 3}}};
  const auto infos = op::Unique{.axis = 1}.infer(Inputs({&unknown, 1}, 4)).outputs;
  CHECK(infos[0].shape == Dims{2, dynamic});
  CHECK(infos[2].shape == Dims{3});
}

namespace {

constexpr double corners[] = {0, 0,    1, 1,   0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                              0, 10.0, 1, 11., 0, 10.1, 1, 11.1, 0, 100,  1, 101};

Array<float> boxes() { return array<float>({1, 6, 4}, {std::begin(corners), std::end(corners)}); }
Array<float> one(double value) { return array<float>({1}, {value}); }

}  // namespace

TEST_CASE("non_max_suppression: the boxes that the definition leaves") {
  // The neighbours 0, 1, 2 overlap by 0.9 / 1.1 = 0.82, 1 and 2 by 0.8 / 1.2 = 0.67; 3 and 4 by
  // 0.82.
  const Array<float> scores = array<float>({1, 1, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3});
  const op::NonMaxSuppression op{};
  const auto picked = [&](const std::vector<AnyArray>& in) {
    const AnyArray y = run(op, in);
    std::vector<double> boxes_of;
    for (std::size_t i = 2; i < doubles(y).size(); i += 3) boxes_of.push_back(doubles(y)[i]);
    return boxes_of;
  };
  using V = std::vector<double>;
  CHECK(picked({boxes(), scores, indices({9}), one(0.5)}) == V{3, 0, 5});
  CHECK(picked({boxes(), scores, indices({9}), one(0.7)}) == V{3, 0, 5});
  CHECK(picked({boxes(), scores, indices({9}), one(0.83)}) == V{3, 0, 1, 2, 4, 5});
  CHECK(picked({boxes(), scores, indices({2}), one(0.5)}) == V{3, 0});
  CHECK(picked({boxes(), scores, indices({9}), one(0.5), one(0.4)}) == V{3, 0});
  CHECK(picked({boxes(), scores, indices({9}), one(0.5), one(0.99)}).empty());
  CHECK(picked({boxes(), scores}).empty());
  CHECK(picked({boxes(), scores, indices({9}), absent(), one(0.4)}) == V{3, 0});
  // Equal scores: the lower index is first.
  const Array<float> equal = array<float>({1, 1, 6}, V(6, 0.5));
  CHECK(picked({boxes(), equal, indices({9}), one(0.83)}) == V{0, 1, 2, 3, 4, 5});
}

TEST_CASE("non_max_suppression: batches, classes, forms of boxes") {
  const Array<float> twice = array<float>({2, 2, 4}, {0, 0, 1, 1, 1, 1, 0, 0.1,  //
                                                      0, 0, 1, 1, 5, 5, 6, 6});
  const Array<float> scores = array<float>({2, 2, 2}, {1, 2, 2, 1, 1, 2, 2, 1});
  check_equal<std::int64_t>(run(op::NonMaxSuppression{}, {twice, scores, indices({2}), one(0.5)}),
                            {6, 3}, {0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1});
  // Centres 0.5 apart: 0.5 of 1.5 in common.
  const Array<float> centred = array<float>({1, 2, 4}, {0, 0, 1, 1, 0.5, 0, 1, 1});
  const Array<float> both = array<float>({1, 1, 2}, {2, 1});
  const op::NonMaxSuppression op{.center_point_box = 1};
  CHECK(run(op, {centred, both, indices({2}), one(0.3)}).info().shape == Dims{1, 3});
  CHECK(run(op, {centred, both, indices({2}), one(0.34)}).info().shape == Dims{2, 3});
  CHECK(run(op, {Array<float>({0, 2, 4}), Array<float>({0, 1, 2})}).info().shape == Dims{0, 3});
  CHECK(run(op, {Array<float>({1, 0, 4}), Array<float>({1, 1, 0}), indices({2})}).info().shape ==
        Dims{0, 3});
  CHECK(reason(op, {Array<float>({2, 4}), both}) == "boxes are not [batch, n, 4]");
  CHECK(reason(op, {centred, one(1)}) == "scores are not [batch, classes, n]");
  CHECK(reason(op, {centred, Array<float>({1, 1, 3})}) == "there is not one score for each box");
  CHECK(reason(op, {centred, Array<float>({2, 1, 2})}) ==
        "boxes and scores have different batches");
  CHECK(reason(op, {centred, both, indices({1, 2})}) == "a limit is not one number");
}

TEST_CASE_TEMPLATE("unique: many elements, of which many or few are different", T, float, double,
                   half, std::int8_t, std::int64_t) {
  for (const bool sorted : {false, true}) {
    for (const double high : {1.0, 7.0, 90.0}) check_unique<T>({40, 35}, {}, sorted, high);
    for (const std::int64_t n : {1, 2, 3, 127, 255, 256, 257}) {
      check_unique<T>({n}, {}, sorted, 90);
    }
  }
}

TEST_CASE("unique: elements that all lead to one place of the table") {
  // The inverse of what the search multiplies by, modulo 2^64; the sign is turned for the order.
  const std::uint64_t step = 0xf1de'83e1'9937'733d;
  constexpr std::size_t n = 500;
  Array<std::int64_t> x({static_cast<std::int64_t>(2 * n)});
  for (std::size_t i = 0; i < 2 * n; ++i) {
    x[i] = static_cast<std::int64_t>(i % n * step ^ std::uint64_t{1} << 63);
  }
  const std::vector<AnyArray> y = run_all(op::Unique{}, {x}, 4);
  std::vector<std::int64_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int64_t>(i);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return x[static_cast<std::size_t>(a)] < x[static_cast<std::size_t>(b)];
  });
  CHECK(doubles(y[1]) == std::vector<double>(order.begin(), order.end()));
  CHECK(doubles(y[3]) == std::vector<double>(n, 2));
}
