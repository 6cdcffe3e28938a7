#include <halftone/op/expand.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// numpy.broadcast_to of both shapes' broadcasting.
template <class T>
void check_expand(const Dims& shape, std::initializer_list<std::int64_t> wanted,
                  const Dims& expected, const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  check_moved(run(op::Expand{}, {x, indices(wanted)}, executor), expected, x,
              [&](const Dims& index) {
                Dims source(index.span().subspan(index.size() - shape.size()));
                for (std::size_t d = 0; d < shape.size(); ++d) {
                  if (shape[d] == 1) source[d] = 0;
                }
                return source;
              });
}

}  // namespace

TEST_CASE_TEMPLATE("expand: numpy's broadcasting both ways", T, bool, half, float, double) {
  check_expand<T>({3, 1}, {2, 1, 6}, {2, 3, 6});
  check_expand<T>({3, 1}, {3, 4}, {3, 4});
  check_expand<T>({3, 4}, {1}, {3, 4});
  check_expand<T>({1, 5, 1}, {4, 1, 3}, {4, 5, 3});
  check_expand<T>({1, 5, 1, 7}, {2, 1, 9, 1}, {2, 5, 9, 7});
  check_expand<T>({}, {2, 3}, {2, 3});
  check_expand<T>({}, {}, {});
  check_expand<T>({1}, {40}, {40});
  check_expand<T>({3, 1}, {3, 0}, {3, 0});
  check_expand<T>({0, 1}, {1, 2}, {0, 2});
}

TEST_CASE("expand: large ones are divided") {
  check_expand<float>({1, 100, 1}, {4, 1, 500}, {4, 100, 500}, backwards());
  check_expand<float>({100, 500}, {4, 1, 1}, {4, 100, 500}, backwards());
}

TEST_CASE("expand: wrong shapes, unknown ones") {
  const op::Expand expand;
  CHECK(reason(expand, {Array<float>({3}), indices({4})}) == "shapes do not broadcast together");
  CHECK(reason(expand, {Array<float>({3}), indices({-1})}) == "an extent is negative");
  const InputInfo in[]{{.info = {ElementType::float32, {3}}}, {.info = {ElementType::int64, {2}}}};
  CHECK(op::Expand::infer(Inputs(in, 1)).outputs[0].shape == Dims{dynamic, dynamic});
}
