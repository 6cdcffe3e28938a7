#include <halftone/op/gather_elements.hpp>

#include <halftone/base/error.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// Numbers in [-n, n).
template <class I>
Array<I> any_indices(const Dims& shape, std::int64_t n) {
  Array<I> which(shape);
  for (std::size_t i = 0; i < which.size(); ++i) {
    which[i] = static_cast<I>(static_cast<std::int64_t>(i * 7919 % 100003) % (2 * n) - n);
  }
  return which;
}

template <class T, class I>
void check_elements(const Dims& shape, const Dims& picked, std::int64_t axis,
                    const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  const std::size_t at = normalized_axis(axis, shape.size());
  const Array<I> which = any_indices<I>(picked, shape[at]);
  check_moved(run(op::GatherElements{.axis = axis}, {x, which}, executor), picked, x,
              [&](const Dims& index) {
                Dims source = index;
                const I i = which[position(picked, index)];
                source[at] = i < 0 ? i + shape[at] : i;
                return source;
              });
}

template <class T>
void check_tuples(const Dims& shape, const Dims& tuples, std::size_t width, std::size_t batch) {
  const Array<T> x = counted<T>(shape);
  Dims all = tuples;
  all.push_back(static_cast<std::int64_t>(width));
  Array<std::int64_t> which(all);
  for_each_index(all, [&](const Dims& index, std::size_t i) {
    const std::int64_t n = shape[batch + static_cast<std::size_t>(index.back())];
    which[i] = static_cast<std::int64_t>(i * 7919 % 1009) % (2 * n) - n;
  });
  Dims expected = tuples;
  for (std::size_t i = batch + width; i < shape.size(); ++i) expected.push_back(shape[i]);
  check_moved(run(op::GatherND{.batch_dims = static_cast<std::int64_t>(batch)}, {x, which}),
              expected, x, [&](const Dims& index) {
                Dims tuple(index.span().first(tuples.size())), source;
                for (std::size_t i = 0; i < batch; ++i) source.push_back(index[i]);
                tuple.push_back(0);
                for (std::size_t k = 0; k < width; ++k) {
                  tuple.back() = static_cast<std::int64_t>(k);
                  const std::int64_t i = which[position(all, tuple)];
                  source.push_back(i < 0 ? i + shape[batch + k] : i);
                }
                for (std::size_t i = tuples.size(); i < index.size(); ++i) {
                  source.push_back(index[i]);
                }
                return source;
              });
}

}  // namespace

TEST_CASE_TEMPLATE("gather_elements: the definition", T, std::uint8_t, half, float, double) {
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    check_elements<T, std::int64_t>({3, 4, 5}, {3, 4, 5}, axis);
    check_elements<T, std::int32_t>({3, 4, 5}, {2, 3, 4}, axis);
    check_elements<T, std::int32_t>({3, 4, 5}, {2, 1, 0}, axis);
  }
  check_elements<T, std::int64_t>({3, 2}, {9, 2}, 0);
  check_elements<T, std::int64_t>({1}, {1}, 0);
}

TEST_CASE("gather_elements: large ones are divided") {
  check_elements<float, std::int32_t>({50, 300}, {500, 300}, 0, backwards());
  check_elements<float, std::int64_t>({300, 50}, {299, 700}, 1, backwards());
}

TEST_CASE_TEMPLATE("gather_nd: the definition", T, std::uint8_t, half, float, double) {
  check_tuples<T>({3, 4, 5}, {2, 3}, 1, 0);
  check_tuples<T>({3, 4, 5}, {7}, 2, 0);
  check_tuples<T>({3, 4, 5}, {}, 3, 0);
  check_tuples<T>({2, 3, 4, 5}, {2, 6}, 1, 1);
  check_tuples<T>({2, 3, 4, 5}, {2, 3, 2}, 2, 2);
  check_tuples<T>({2, 3}, {0}, 2, 0);
  check_tuples<T>({2, 3, 0}, {4}, 2, 0);
}

TEST_CASE("gather_elements, gather_nd: indices out of range, wrong shapes") {
  const Array<float> x({3, 2});
  CHECK_THROWS_AS(run(op::GatherElements{}, {x, Array<std::int64_t>({1, 2}, {0, 3})}), InputError);
  CHECK_THROWS_AS(run(op::GatherND{}, {x, Array<std::int64_t>({1, 2}, {2, -3})}), InputError);
  CHECK_THROWS_AS(run(op::GatherND{}, {x, Array<std::int64_t>({1, 1}, {INT64_MIN})}), InputError);
  CHECK(reason(op::GatherElements{.axis = 2}, {x, x}) == "element type is not offered");
  const Array<std::int64_t> wide({1, 3}), flat({1});
  CHECK(reason(op::GatherElements{.axis = 2}, {x, wide}) == "axis is out of range");
  CHECK(reason(op::GatherElements{}, {x, flat}) == "indices have another rank than the data");
  CHECK(reason(op::GatherElements{}, {x, wide}) ==
        "indices are longer than the data along another dimension");
  CHECK(reason(op::GatherND{}, {x, wide}) == "tuples of indices do not fit the data's rank");
  CHECK(reason(op::GatherND{.batch_dims = 1}, {x, flat}) == "batch_dims is out of range");
  CHECK(reason(op::GatherND{.batch_dims = 1}, {x, Array<std::int64_t>({2, 1})}) ==
        "batch dimensions differ");
}
