#include <halftone/op/gemm.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class T>
Array<T> whole(const Dims& shape, std::uint64_t seed) {
  Array<T> x = scattered<T>(shape, std::is_unsigned_v<T> ? 0 : -3, 3, seed);
  std::vector<double> values = doubles(x);
  for (double& v : values) v = std::round(v);
  return array<T>(shape, values);
}

/// alpha a' b' + beta c by its definition, in double; whole numbers, so that all sums are exact.
template <class T>
void check_gemm(const op::Gemm& gemm, std::int64_t m, std::int64_t n, std::int64_t k,
                const AnyArray& c) {
  const Array<T> a = whole<T>(gemm.trans_a ? Dims{k, m} : Dims{m, k}, 1);
  const Array<T> b = whole<T>(gemm.trans_b ? Dims{n, k} : Dims{k, n}, 2);
  const std::vector<double> av = doubles(a), bv = doubles(b), cv = doubles(c);
  const Dims& shape = c.info().shape;
  std::vector<double> expected;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double y = 0;
      for (std::int64_t q = 0; q < k; ++q) {
        y += av[static_cast<std::size_t>(gemm.trans_a ? q * m + i : i * k + q)] *
             bv[static_cast<std::size_t>(gemm.trans_b ? j * k + q : q * n + j)];
      }
      y *= static_cast<double>(gemm.alpha);
      if (c.info().is_known()) {
        Dims at;
        if (shape.size() == 2) at.push_back(shape[0] == 1 ? 0 : i);
        if (!shape.empty()) at.push_back(shape.back() == 1 ? 0 : j);
        y += static_cast<double>(gemm.beta) * cv[position(shape, at)];
      }
      expected.push_back(y);
    }
  }
  for (const std::uint64_t constants : {0, 2, 6}) {
    std::vector<AnyArray> inputs{a, b};
    if (c.info().is_known()) inputs.push_back(c);
    check_equal<T>(run_all(gemm, inputs, 0, constants)[0], {m, n}, expected);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("gemm: transposes, factors and every form of the addend", T, float, double, half,
                   bfloat16, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t) {
  for (const Dims& sizes : {Dims{3, 4, 5}, Dims{1, 33, 40}, Dims{33, 1, 20}, Dims{17, 70, 19},
                            Dims{2, 3, 0}, Dims{0, 3, 2}}) {
    const std::int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    for (const bool trans_a : {false, true}) {
      for (const bool trans_b : {false, true}) {
        for (const Dims& c :
             {Dims{m, n}, Dims{1, n}, Dims{m, 1}, Dims{1, 1}, Dims{n}, Dims{1}, Dims{}}) {
          check_gemm<T>({.alpha = 2, .beta = 3, .trans_a = trans_a, .trans_b = trans_b}, m, n, k,
                        whole<T>(c, 3));
        }
        check_gemm<T>({.trans_a = trans_a, .trans_b = trans_b}, m, n, k, absent());
        check_gemm<T>({.trans_a = trans_a, .trans_b = trans_b}, m, n, k, whole<T>({n}, 4));
      }
    }
  }
}

TEST_CASE("gemm: factors that are no whole numbers") {
  check_gemm<float>({.alpha = 0.5f, .beta = 0.25f}, 5, 6, 7, whole<float>({5, 6}, 3));
  CHECK(
      reason(op::Gemm{.alpha = 0.5f}, {Array<std::int32_t>({1, 1}), Array<std::int32_t>({1, 1})}) ==
      "alpha and beta of integers are not whole numbers");
}

TEST_CASE("gemm: wrong shapes") {
  const op::Gemm gemm;
  const Array<float> a({2, 3}), b({3, 5});
  CHECK(reason(gemm, {a, a}) == "inner dimensions differ");
  CHECK(reason(op::Gemm{.trans_b = true}, {a, a}) == "");
  CHECK(reason(gemm, {Array<float>({2}), b}) == "a factor is not a matrix");
  CHECK(reason(gemm, {a, Array<float>({3, 5, 1})}) == "a factor is not a matrix");
  CHECK(reason(gemm, {a, b, Array<float>({2})}) == "the addend does not broadcast to the product");
  CHECK(reason(gemm, {a, b, Array<float>({3, 5})}) ==
        "the addend does not broadcast to the product");
  CHECK(reason(gemm, {a, b, Array<float>({1, 2, 5})}) == "the addend has too many dimensions");
}

TEST_CASE("gemm: version 6 says whether the addend broadcasts") {
  const Array<float> a({1, 2}, {1, 2}), b({2, 2}, {1, 2, 3, 4}), c({2}, {10, 20});
  check_equal<float>(run_expanded<op::Gemm>(op::Gemm_6{.broadcast = true}, {a, b, c}), {1, 2},
                     {17, 30});
}
