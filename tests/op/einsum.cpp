#include <halftone/op/einsum.hpp>

#include <halftone/base/error.hpp>
#include <halftone/op/det.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

AnyArray einsum(const char* equation, const std::vector<AnyArray>& inputs) {
  op::Einsum op;
  op.equation.assign(equation);
  return run_expanded<op::Transpose, op::Reshape, op::MatMul, op::Mul, op::ReduceSum, op::Slice,
                      op::Unsqueeze, op::Identity, op::Add>(op, inputs);
}

/// The definition, one term after the other. `labels` are the operands' and the output's letters.
template <class T>
void check_einsum(const char* equation, const std::vector<std::string>& labels,
                  const std::vector<Dims>& shapes) {
  std::vector<AnyArray> inputs;
  std::vector<std::vector<double>> values;
  std::string letters;
  Dims extents, output;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(array<T>(shapes[i], doubles(scattered<std::int8_t>(shapes[i], -3, 4, i + 1))));
    values.push_back(doubles(inputs.back()));
    for (std::size_t d = 0; d < labels[i].size(); ++d) {
      const std::size_t at = letters.find(labels[i][d]);
      if (at == letters.npos) {
        letters += labels[i][d];
        extents.push_back(shapes[i][d]);
      } else if (extents[at] == 1) {
        extents[at] = shapes[i][d];
      }
    }
  }
  for (const char c : labels.back()) output.push_back(extents[letters.find(c)]);
  std::vector<double> expected(static_cast<std::size_t>(product(output)));
  for_each_index(extents, [&](const Dims& index, std::size_t) {
    const auto at = [&](const std::string& names, const Dims& shape) {
      Dims place;
      for (std::size_t d = 0; d < names.size(); ++d) {
        place.push_back(shape[d] == 1 ? 0 : index[letters.find(names[d])]);
      }
      return position(shape, place);
    };
    double term = 1;
    for (std::size_t i = 0; i < values.size(); ++i) term *= values[i][at(labels[i], shapes[i])];
    expected[at(labels.back(), output)] += term;
  });
  check_equal<T>(einsum(equation, inputs), output, expected);
}

}  // namespace

TEST_CASE_TEMPLATE("einsum: the definition", T, float, double, std::int32_t) {
  check_einsum<T>("ij->ji", {"ij", "ji"}, {{3, 4}});
  check_einsum<T>("ij", {"ij", "ij"}, {{3, 4}});
  check_einsum<T>("ba", {"ba", "ab"}, {{3, 4}});
  check_einsum<T>("ij->", {"ij", ""}, {{3, 4}});
  check_einsum<T>("ij -> i", {"ij", "i"}, {{3, 4}});
  check_einsum<T>("ii->i", {"ii", "i"}, {{4, 4}});
  check_einsum<T>("ii", {"ii", ""}, {{4, 4}});
  check_einsum<T>("aibiaj->bji", {"aibiaj", "bji"}, {{2, 3, 2, 3, 2, 4}});
  check_einsum<T>("iii->i", {"iii", "i"}, {{3, 3, 3}});
  check_einsum<T>("ij,jk", {"ij", "jk", "ik"}, {{3, 4}, {4, 5}});
  check_einsum<T>("i,i", {"i", "i", ""}, {{5}, {5}});
  check_einsum<T>("i,j", {"i", "j", "ij"}, {{3}, {4}});
  check_einsum<T>("ij,ij->ij", {"ij", "ij", "ij"}, {{3, 4}, {3, 4}});
  check_einsum<T>("bij,bjk->bik", {"bij", "bjk", "bik"}, {{2, 3, 4}, {2, 4, 5}});
  check_einsum<T>("bhid,bhjd->bhij", {"bhid", "bhjd", "bhij"}, {{2, 3, 4, 5}, {2, 3, 2, 5}});
  check_einsum<T>("bshd,hde->bse", {"bshd", "hde", "bse"}, {{2, 3, 2, 4}, {2, 4, 5}});
  check_einsum<T>("abc,cde->aebd", {"abc", "cde", "aebd"}, {{2, 3, 4}, {4, 3, 2}});
  check_einsum<T>("ijk,lj->il", {"ijk", "lj", "il"}, {{2, 3, 4}, {5, 3}});
  check_einsum<T>("ij,jk,kl->il", {"ij", "jk", "kl", "il"}, {{2, 3}, {3, 4}, {4, 2}});
  check_einsum<T>("i,ij,j->", {"i", "ij", "j", ""}, {{2}, {2, 3}, {3}});
  check_einsum<T>("...ij,...jk", {"xij", "xjk", "xik"}, {{2, 3, 4}, {1, 4, 5}});
  check_einsum<T>("...ij,...jk->...ik", {"xyij", "yjk", "xyik"}, {{2, 3, 2, 4}, {3, 4, 5}});
  check_einsum<T>("i...,...->...i", {"ixy", "y", "xyi"}, {{4, 2, 3}, {3}});
  check_einsum<T>("ij,jk->ik", {"ij", "jk", "ik"}, {{3, 0}, {0, 5}});
}

TEST_CASE("einsum: extents that are known later") {
  Graph graph;
  const std::vector<TensorId> ids{
      graph.add_input({ElementType::float32, {dynamic, dynamic, 3}}, {}),
      graph.add_input({ElementType::float32, {dynamic, 3, dynamic}}, {})};
  op::Einsum op;
  op.equation.assign("abc,bcd->ad");
  const auto out = halftone::detail::expand_thunk<op::Einsum>(graph, pack(op), ids, 1);
  const Array<float> a = array<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Array<float> b = array<float>({2, 3, 1}, {1, 0, 2, 0, 1, 1});
  const auto values =
      run_graph<op::Transpose, op::Reshape, op::MatMul, op::Shape, op::ReduceProd, op::Concat>(
          graph, {a, b});
  check_equal<float>(values[static_cast<std::size_t>(out[0])], {2, 1},
                     {1 + 6 + 5 + 6, 7 + 18 + 11 + 12});
}

TEST_CASE("einsum: a product of vectors of which nothing is known") {
  for (const char* equation : {"i,i", "i,i->", "ij,ij->"}) {
    CAPTURE(equation);
    Graph graph;
    const std::vector<TensorId> ids{graph.add_input({}, {}), graph.add_input({}, {})};
    op::Einsum op;
    op.equation.assign(equation);
    const auto out = halftone::detail::expand_thunk<op::Einsum>(graph, pack(op), ids, 1);
    const Dims shape = std::string_view(equation).starts_with("ij") ? Dims{1, 3} : Dims{3};
    const auto values =
        run_graph<op::Transpose, op::Reshape, op::MatMul, op::Shape, op::ReduceProd, op::Concat>(
            graph, {array<float>(shape, {1, 2, 3}), array<float>(shape, {4, 5, 6})});
    check_equal<float>(values[static_cast<std::size_t>(out[0])], {}, {4 + 10 + 18});
  }
}

TEST_CASE("einsum: wrong equations") {
  const Array<float> x({2, 3}), y({3, 2});
  for (const char* wrong : {"ij", "ij,jk,kl", "ij,jk->iz", "ij,jk->ii", "ijk,jk", "i1,jk", "",
                            "i..j,jk", "ij,jk->i->k"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(einsum(wrong, {x, y}), ModelError);
  }
  CHECK_THROWS_AS(einsum("ij,jk", {x, x}), ModelError);
  CHECK_THROWS_AS(einsum("...i->i", {x}), ModelError);
}

TEST_CASE("einsum: a sum of nothing is 0, and an empty batch stays empty") {
  const auto empty = [](const Dims& shape) { return AnyArray(Array<float>(shape)); };
  check_equal<float>(einsum("bnd,de->bne", {empty({0, 5, 4}), empty({4, 3})}), {0, 5, 3}, {});
  check_equal<float>(einsum("bnd,ed->bne", {empty({2, 0, 4}), empty({3, 4})}), {2, 0, 3}, {});
  const AnyArray factor = empty({2, 3, 0, 6});
  check_equal<float>(einsum("abcd,abcd->ab", {factor, factor}), {2, 3}, {0, 0, 0, 0, 0, 0});
  check_equal<float>(einsum("bii->bi", {empty({2, 0, 0})}), {2, 0}, {});
}

TEST_CASE_TEMPLATE("det: matrices with known determinants", T, float, double, half) {
  check_close<T>(run(op::Det{}, {array<T>({2, 2}, {0, 1, 2, 3})}), {-2});
  check_close<T>(run(op::Det{}, {array<T>({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 1, 1, 3, 3, 1})}),
                 {-2, -3, -8});
  check_close<T>(run(op::Det{}, {array<T>({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4})}), {18});
  check_close<T>(run(op::Det{}, {array<T>({1, 2, 2}, {1, 2, 2, 4})}), {0});
  check_equal<T>(run(op::Det{}, {array<T>({2, 0, 0}, {})}), {2}, {1, 1});
  check_equal<T>(run(op::Det{}, {array<T>({0, 2, 2}, {})}), {0}, {});
  CHECK(reason(op::Det{}, {Array<T>({2, 3})}) == "the matrices are not square");
  CHECK(reason(op::Det{}, {Array<T>({2})}) == "the input has no matrices");
}

TEST_CASE("det: Vandermonde's product, and many matrices on several threads") {
  // det of x_i^j is the product of x_j - x_i for i < j.
  const std::int64_t n = 6;
  Array<double> x({40, n, n});
  std::vector<double> expected;
  for (std::int64_t m = 0; m < 40; ++m) {
    std::vector<double> nodes;
    for (std::int64_t i = 0; i < n; ++i) nodes.push_back(std::sin(double(m * n + i)) * 2);
    double product = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>((m * n + i) * n + j);
        x[at] = std::pow(nodes[static_cast<std::size_t>(i)], double(j));
        if (j > i) {
          product *= nodes[static_cast<std::size_t>(j)] - nodes[static_cast<std::size_t>(i)];
        }
      }
    }
    expected.push_back(product);
  }
  check_close<double>(run(op::Det{}, {x}, backwards()), expected, 1e5, 1e-12);
}
