#include <halftone/op/transpose.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// y[i] = x[j] with j[perm[d]] = i[d], from the specification.
template <class T>
void check_transpose(const Dims& shape, const Dims& perm,
                     const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = counted<T>(shape);
  Dims full = perm, expected;
  if (perm.empty()) {
    for (std::size_t i = shape.size(); i-- > 0;) full.push_back(static_cast<std::int64_t>(i));
  }
  for (const std::int64_t from : full) expected.push_back(shape[static_cast<std::size_t>(from)]);
  check_moved(run(op::Transpose{.perm = perm}, {x}, executor), expected, x, [&](const Dims& index) {
    Dims source = index;
    for (std::size_t d = 0; d < index.size(); ++d) {
      source[static_cast<std::size_t>(full[d])] = index[d];
    }
    return source;
  });
}

}  // namespace

TEST_CASE_TEMPLATE("transpose: every permutation up to rank 4", T, std::uint8_t, half, float,
                   std::int64_t) {
  const Dims extents{3, 17, 5, 35};
  for (std::size_t rank = 0; rank <= 4; ++rank) {
    const Dims shape(extents.span().first(rank));
    check_transpose<T>(shape, {});
    Dims perm;
    const auto each = [&](const auto& self) -> void {
      if (perm.size() == rank) {
        if (rank > 0) check_transpose<T>(shape, perm);
        return;
      }
      for (std::size_t d = 0; d < rank; ++d) {
        if (perm.contains(static_cast<std::int64_t>(d))) continue;
        perm.push_back(static_cast<std::int64_t>(d));
        self(self);
        perm.pop_back();
      }
    };
    each(each);
  }
}

TEST_CASE_TEMPLATE("transpose: matrices around the tiles' and blocks' sizes", T, std::int8_t,
                   bfloat16, std::int32_t, double) {
  for (const std::int64_t m : {1, 2, 3, 4, 15, 16, 17, 31, 33, 130}) {
    for (const std::int64_t n : {1, 2, 5, 8, 16, 18, 64, 129}) check_transpose<T>({m, n}, {1, 0});
  }
}

TEST_CASE("transpose: large ones are divided") {
  check_transpose<float>({517, 613}, {1, 0}, backwards());
  check_transpose<float>({3, 200, 1, 300}, {0, 3, 2, 1}, backwards());
  check_transpose<std::uint8_t>({500, 600, 3}, {2, 0, 1}, backwards());
  check_transpose<std::uint8_t>({3, 500, 600}, {1, 2, 0}, backwards());
  check_transpose<half>({4, 12, 64, 96}, {0, 2, 1, 3}, backwards());
}

TEST_CASE("transpose: empty tensors and rank 8") {
  check_transpose<float>({4, 0, 3}, {2, 0, 1});
  check_transpose<float>({2, 1, 3, 2, 1, 2, 3, 2}, {});
  check_transpose<float>({2, 1, 3, 2, 1, 2, 3, 2}, {1, 0, 3, 2, 5, 4, 7, 6});
}

TEST_CASE("transpose: wrong permutations") {
  const Array<float> x({2, 3});
  CHECK(reason(op::Transpose{.perm = {0}}, {x}) == "perm has another number of dimensions");
  CHECK(reason(op::Transpose{.perm = {0, 2}}, {x}) == "perm is out of range");
  CHECK(reason(op::Transpose{.perm = {0, -1}}, {x}) == "perm is out of range");
  CHECK(reason(op::Transpose{.perm = {1, 1}}, {x}) == "a dimension is named twice");
}
