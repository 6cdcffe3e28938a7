#include <halftone/op/pad.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// numpy.pad on a line, one element at a time: what stands outside moves inwards until it is
/// inside.
std::int64_t inside(std::int64_t i, std::int64_t extent, PadMode mode) {
  while (i < 0 || i >= extent) {
    if (mode == PadMode::constant) return -1;
    if (mode == PadMode::edge) {
      i = i < 0 ? 0 : extent - 1;
    } else if (mode == PadMode::wrap) {
      i += i < 0 ? extent : -extent;
    } else if (extent == 1) {
      i = 0;
    } else {
      i = i < 0 ? -i : 2 * (extent - 1) - i;
    }
  }
  return i;
}

template <class T>
void check_pad(PadMode mode, const Dims& shape, const std::vector<std::int64_t>& pads, double value,
               const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  Array<std::int64_t> amounts({static_cast<std::int64_t>(pads.size())});
  for (std::size_t i = 0; i < pads.size(); ++i) amounts[i] = pads[i];
  const std::size_t rank = shape.size();
  Dims expected = shape;
  for (std::size_t d = 0; d < rank; ++d) expected[d] += pads[d] + pads[rank + d];
  const AnyArray y = run(op::Pad{.mode = mode}, {x, amounts, array<T>({}, {value})}, executor);
  REQUIRE(y.info() == TensorInfo{element_type<T>, expected});
  const std::vector<double> have = doubles(x), found = doubles(y);
  bool same = true;
  for_each_index(expected, [&](const Dims& index, std::size_t at) {
    Dims source = index;
    bool outside = false;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t begin = pads[d], end = pads[rank + d];
      const std::int64_t crop = begin < 0 ? -begin : 0;
      const std::int64_t extent = shape[d] - crop - (end < 0 ? -end : 0);
      const std::int64_t i = inside(index[d] - (begin > 0 ? begin : 0), extent, mode);
      outside = outside || i < 0;
      source[d] = crop + i;
    }
    same = same && found[at] == (outside ? value : have[position(shape, source)]);
  });
  CHECK(same);
}

}  // namespace

TEST_CASE_TEMPLATE("pad: modes, begins and ends, cropping", T, std::uint8_t, half, float, double) {
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    check_pad<T>(mode, {5}, {2, 3}, 7);
    check_pad<T>(mode, {5}, {11, 13}, 7);
    check_pad<T>(mode, {1}, {2, 2}, 7);
    check_pad<T>(mode, {3, 4}, {1, 2, 0, 3}, 7);
    check_pad<T>(mode, {3, 4}, {1, 0, 2, 0}, 7);
    check_pad<T>(mode, {3, 4}, {0, 0, 0, 0}, 7);
    check_pad<T>(mode, {3, 4, 5}, {-1, 2, -2, 1, -1, 3}, 7);
    check_pad<T>(mode, {3, 4, 5}, {0, 0, 0, -1, -2, 0}, 7);
    check_pad<T>(mode, {2, 3, 4, 5}, {0, 0, 1, 1, 0, 0, 1, 1}, 7);
    check_pad<T>(mode, {2, 3, 4, 5}, {0, 1, 0, 0, 1, 0, 0, 0}, 7);
  }
  check_pad<T>(PadMode::constant, {0, 2}, {1, 1, 1, 1}, 7);
  check_pad<T>(PadMode::constant, {2, 2}, {-1, 3, -1, 0}, 7);
}

TEST_CASE("pad: large ones are divided") {
  check_pad<float>(PadMode::reflect, {3, 300, 400}, {0, 1, 2, 1, 0, 3}, 7, backwards());
}

TEST_CASE("pad: axes, and 0 unless a value is given") {
  const Array<float> x({1, 2}, {1, 2});
  check_equal<float>(run(op::Pad{}, {x, indices({1, 2}), absent(), indices({-1})}), {1, 5},
                     {0, 1, 2, 0, 0});
  check_equal<float>(run(op::Pad{}, {x, indices({1, 0, 0, 1}), Array<float>({1}, {9}),
                                     Array<std::int32_t>({2}, {1, 0})}),
                     {2, 3}, {9, 1, 2, 9, 9, 9});
}

TEST_CASE("pad: wrong attributes") {
  const Array<float> x({3, 4}), empty({0, 4});
  CHECK(reason(op::Pad{}, {x, indices({1, 1})}) == "pads need two numbers per dimension");
  CHECK(reason(op::Pad{}, {x, indices({-2, 0, -2, 0})}) == "pads remove more than there is");
  CHECK(reason(op::Pad{}, {x, indices({-4, 0, 4, 0})}) == "pads remove more than there is");
  CHECK(reason(op::Pad{}, {x, indices({INT64_MAX, 0, 0, 0})}) == "pads are out of range");
  CHECK(reason(op::Pad{.mode = PadMode::edge}, {empty, indices({1, 0, 0, 0})}) ==
        "there is no element to repeat");
  CHECK(reason(op::Pad{}, {x, indices({1, 1}), absent(), indices({2})}) == "axis is out of range");
  CHECK(reason(op::Pad{}, {x, indices({1, 1, 1, 1}), absent(), indices({0, 0})}) ==
        "a dimension is named twice");
  CHECK(reason(op::Pad{}, {x, indices({1, 1, 1, 1}), Array<float>({2})}) ==
        "the value is not a scalar");
}

TEST_CASE("pad: version 2 has attributes") {
  const Array<float> x({1, 2}, {1, 2});
  check_equal<float>(run_expanded<op::Pad>(op::Pad_2{.pads = {0, 1, 1, 0}, .value = 3}, {x}),
                     {2, 3}, {3, 1, 2, 3, 3, 3});
  check_equal<float>(
      run_expanded<op::Pad>(op::Pad_2{.mode = PadMode::edge, .pads = {0, 1, 0, 1}}, {x}), {1, 4},
      {1, 1, 2, 2});
}
