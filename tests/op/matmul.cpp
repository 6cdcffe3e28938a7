#include <halftone/op/matmul.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// Small whole numbers: every sum is exact in every type, so results are equal whatever the order.
template <class T>
Array<T> whole(const Dims& shape, std::uint64_t seed) {
  Array<T> x = scattered<T>(shape, std::is_unsigned_v<T> ? 0 : -3, 3, seed);
  std::vector<double> values = doubles(x);
  for (double& v : values) v = std::round(v);
  return array<T>(shape, values);
}

/// numpy.matmul by its definition, in double.
std::vector<double> reference(const AnyArray& a, const AnyArray& b, const Dims& y) {
  const std::vector<double> av = doubles(a), bv = doubles(b);
  Dims as = a.info().shape, bs = b.info().shape;
  const bool row = as.size() == 1, column = bs.size() == 1;
  if (row) as.insert(0, 1);
  if (column) bs.push_back(1);
  const std::int64_t k = as.back();
  Dims full = y;
  if (row) full.insert(full.size() - (column ? 0 : 1), 1);
  if (column) full.push_back(1);
  std::vector<double> values;
  for_each_index(full, [&](const Dims& index, std::size_t) {
    const auto at = [&](const Dims& shape, std::int64_t i, std::int64_t j) {
      Dims own;
      const std::size_t batch = shape.size() - 2, skipped = index.size() - shape.size();
      for (std::size_t d = 0; d < batch; ++d) {
        own.push_back(shape[d] == 1 ? 0 : index[skipped + d]);
      }
      own.push_back(i);
      own.push_back(j);
      return position(shape, own);
    };
    double sum = 0;
    for (std::int64_t q = 0; q < k; ++q) {
      sum += av[at(as, index[index.size() - 2], q)] * bv[at(bs, q, index.back())];
    }
    values.push_back(sum);
  });
  return values;
}

template <class T>
void check_matmul(const Dims& a_shape, const Dims& b_shape, const Dims& y_shape,
                  const halftone::kernel::Executor& executor = {}) {
  const Array<T> a = whole<T>(a_shape, 1), b = whole<T>(b_shape, 2);
  const std::vector<double> expected = reference(a, b, y_shape);
  for (const std::uint64_t constants : {0, 2, 3}) {
    check_equal<T>(run_all(op::MatMul{}, {a, b}, 0, constants, executor)[0], y_shape, expected);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("matmul: numpy's shapes", T, float, double, half, bfloat16, std::int32_t,
                   std::int64_t, std::uint32_t, std::uint64_t) {
  check_matmul<T>({3, 4}, {4, 5}, {3, 5});
  check_matmul<T>({4}, {4, 5}, {5});
  check_matmul<T>({3, 4}, {4}, {3});
  check_matmul<T>({4}, {4}, {});
  check_matmul<T>({1, 40}, {40, 33}, {1, 33});
  check_matmul<T>({33, 40}, {40, 1}, {33, 1});
  check_matmul<T>({2, 3, 4}, {4, 5}, {2, 3, 5});
  check_matmul<T>({2, 3, 4}, {2, 4, 5}, {2, 3, 5});
  check_matmul<T>({3, 4}, {2, 4, 5}, {2, 3, 5});
  check_matmul<T>({2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2});
  check_matmul<T>({1, 5, 3, 4}, {2, 1, 4, 2}, {2, 5, 3, 2});
  check_matmul<T>({4}, {2, 3, 4, 5}, {2, 3, 5});
  check_matmul<T>({2, 3, 5, 4}, {4}, {2, 3, 5});
  check_matmul<T>({2, 3, 5, 4}, {1, 1, 4, 6}, {2, 3, 5, 6});
  check_matmul<T>({17, 65}, {65, 70}, {17, 70});
}

TEST_CASE_TEMPLATE("matmul: empty tensors; a sum of nothing is 0", T, float, half, std::int32_t) {
  check_matmul<T>({0, 4}, {4, 5}, {0, 5});
  check_matmul<T>({3, 4}, {4, 0}, {3, 0});
  check_matmul<T>({3, 0}, {0, 5}, {3, 5});
  check_matmul<T>({0, 3, 4}, {4, 5}, {0, 3, 5});
  check_matmul<T>({0, 3, 4}, {0, 4, 5}, {0, 3, 5});
  check_matmul<T>({0}, {0}, {});
}

TEST_CASE("matmul: products are shared out, or divided") {
  check_matmul<float>({24, 20, 30}, {24, 30, 40}, {24, 20, 40}, backwards());
  check_matmul<float>({2, 210, 200}, {2, 200, 220}, {2, 210, 220}, backwards());
  check_matmul<half>({5, 3, 20, 30}, {3, 30, 40}, {5, 3, 20, 40}, backwards());
}

TEST_CASE("matmul: integers wrap around") {
  const Array<std::int32_t> a({1, 2}, {1 << 30, 1 << 30}), b({2, 1}, {2, 3});
  check_equal<std::int32_t>(run(op::MatMul{}, {a, b}), {1, 1}, {1 << 30});
}

TEST_CASE("matmul: halves sum in float") {
  // 4096 times 1 in half would stop at 2048.
  const Array<half> a = array<half>({1, 4096}, std::vector<double>(4096, 1.0));
  const Array<half> b = array<half>({4096, 1}, std::vector<double>(4096, 1.0));
  check_equal<half>(run(op::MatMul{}, {a, b}), {1, 1}, {4096});
}

TEST_CASE("matmul: wrong shapes") {
  const op::MatMul matmul;
  CHECK(reason(matmul, {Array<float>({2, 3}), Array<float>({4, 5})}) == "inner dimensions differ");
  CHECK(infer(matmul, {Array<float>({2, 3}), Array<float>({4, 5})}).expected == 3);
  CHECK(infer(matmul, {Array<float>({2, 3}), Array<float>({4, 5})}).found == 4);
  CHECK(reason(matmul, {Array<float>({3}), Array<float>({4})}) == "inner dimensions differ");
  CHECK(reason(matmul, {Array<float>(Dims{}), Array<float>({4})}) == "a factor is a scalar");
  CHECK(reason(matmul, {Array<float>({2, 3, 4}), Array<float>({3, 4, 5})}) ==
        "batch dimensions do not broadcast together");
  CHECK(reason(matmul, {Array<float>({2, 2}), Array<half>({2, 2})}) ==
        "element types of the inputs differ");
  CHECK(reason(matmul, {Array<std::int8_t>({2, 2}), Array<std::int8_t>({2, 2})}) ==
        "element type is not offered");
}

namespace {
using A = Tensor<float, halftone::Shape<4, 8>>;
using B = Tensor<float, halftone::Shape<9, 16>>;
using C = Tensor<float, halftone::Shape<8, 16>>;
using Rows = Tensor<float, halftone::Shape<dynamic, 8>>;
using Call = halftone::detail::StaticCall<op::MatMul{}, A, B>;
static_assert(why_not<op::MatMul{}, A, B> == "MatMul: inner dimensions differ");
static_assert(Call::expected == 8 && Call::found == 9);
static_assert(std::is_same_v<result<op::MatMul{}, A, C>, Tensor<float, halftone::Shape<4, 16>>>);
static_assert(
    std::is_same_v<result<op::MatMul{}, Rows, C>, Tensor<float, halftone::Shape<dynamic, 16>>>);
static_assert(std::is_same_v<result<op::MatMul{}, Tensor<half, halftone::Shape<2, 5, 4, 8>>,
                                    Tensor<half, halftone::Shape<5, 8, 3>>>,
                             Tensor<half, halftone::Shape<2, 5, 4, 3>>>);
}  // namespace
