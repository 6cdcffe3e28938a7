#pragma once

#include "run_op.hpp"

/// What tests of operators that move elements share.
namespace run_op_test {

/// 0, 1, 2, ... as elements of T; small types wrap around at 101, so that neighbours differ.
template <class T>
Array<T> counted(const Dims& shape) {
  std::vector<double> values(static_cast<std::size_t>(product(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(sizeof(T) < 4 ? i % 101 : i);
  }
  return array<T>(shape, values);
}

inline Array<std::int64_t> indices(std::initializer_list<std::int64_t> values) {
  return Array<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// f(index, position) for every position of a shape in row-major order.
template <class F>
void for_each_index(const Dims& shape, F f) {
  Dims index = Dims::filled(shape.size(), 0);
  const std::int64_t n = product(shape);
  for (std::int64_t i = 0; i < n; ++i) {
    f(index, static_cast<std::size_t>(i));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

inline std::size_t position(const Dims& shape, const Dims& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return static_cast<std::size_t>(at);
}

/// y of that shape with y[index] = x[source(index)].
template <class T, class F>
void check_moved(const AnyArray& y, const Dims& shape, const Array<T>& x, F source) {
  REQUIRE(y.info() == TensorInfo{element_type<T>, shape});
  const auto values = y.values<T>();
  bool same = true;
  for_each_index(shape, [&](const Dims& index, std::size_t at) {
    same = same && values[at] == x[position(x.info().shape, source(index))];
  });
  CHECK(same);
}

/// Says that it has threads, and runs the tasks last to first.
inline halftone::kernel::Executor backwards() {
  return {.threads = 2,
          .run =
              [](void*, std::int64_t count, halftone::kernel::Executor::Task task, void* context) {
                while (count-- > 0) task(context, count);
              },
          .self = nullptr};
}

}  // namespace run_op_test
