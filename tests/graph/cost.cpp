#include <doctest/doctest.h>

#include <array>

#include <halftone/halftone.hpp>

using namespace halftone;

namespace {

constexpr TensorInfo matrix(std::int64_t rows, std::int64_t columns) {
  return {ElementType::float32, {rows, columns}};
}
/// A [4, 8], b [8, 2], and c of one element an output if it is there.
constexpr std::vector<Work> work_of_gemm(float alpha, bool has_c) {
  const std::array<TensorInfo, 3> in{matrix(4, 8), matrix(8, 2),
                                     has_c ? matrix(4, 2) : TensorInfo{}};
  const std::array<TensorInfo, 1> out{matrix(4, 2)};
  return descriptor<op::Gemm>.cost(pack(op::Gemm{.alpha = alpha}), in, out);
}

}  // namespace

// y = alpha a b + c: a product, and a pass over y for each of the others that there is.
TEST_CASE("the work of an operator is a value, in constant evaluation too") {
  static_assert(work_of_gemm(1, false).size() == 1);
  static_assert(work_of_gemm(2, true).size() == 3);
  static_assert(work_of_gemm(2, true) == work_of_gemm(2, true));
  static_assert(work_of_gemm(2, false) != work_of_gemm(1, true));
  const std::vector<Work> work = work_of_gemm(2, true);
  CHECK(work[0].kind == Work::Kind::product);
  CHECK(work[0].product == ProductExtents{.rows = 4, .inner = 8, .columns = 2});
  CHECK(work[1].kind == Work::Kind::pass);
  CHECK(work[1].op == "Mul");
  CHECK(work[1].x == matrix(4, 2));
  CHECK(work[2].op == "Add");
}

TEST_CASE("each piece of work knows how often it is done, at least once") {
  WorkList list;
  list.fill(matrix(1, 2));
  list.repeat(5);
  list.pass("Mul", matrix(3, 4));
  list.pass("Add", matrix(3, 4));
  list.repeat(0);
  list.view();
  const std::vector<Work> work = std::move(list).work();
  REQUIRE(work.size() == 4);
  CHECK(work[0].times == 1);
  CHECK(work[1].times == 5);
  CHECK(work[2].times == 5);
  CHECK(work[3].times == 1);
  CHECK(work[3].kind == Work::Kind::view);
}
