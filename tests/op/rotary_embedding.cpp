#include <halftone/op/rotary_embedding.hpp>

#include "gradient_check.hpp"
#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// The definition in double, of x [batch, steps, heads, size]; row(b, s) is the row of cos and sin.
std::vector<double> turned(const std::vector<double>& x, const Dims& shape, bool is_interleaved,
                           const std::vector<double>& cos, const std::vector<double>& sin,
                           std::size_t pairs, auto row) {
  std::vector<double> y = x;
  const auto n = static_cast<std::size_t>(shape[3]);
  for (std::size_t i = 0; i < x.size(); i += n) {
    const std::size_t token = i / n / static_cast<std::size_t>(shape[2]);
    const auto steps = static_cast<std::size_t>(shape[1]);
    const std::size_t r = row(token / steps, token % steps) * pairs;
    for (std::size_t p = 0; p < pairs; ++p) {
      const std::size_t a = i + (is_interleaved ? 2 * p : p);
      const std::size_t b = i + (is_interleaved ? 2 * p + 1 : pairs + p);
      y[a] = cos[r + p] * x[a] - sin[r + p] * x[b];
      y[b] = sin[r + p] * x[a] + cos[r + p] * x[b];
    }
  }
  return y;
}

/// [b, s, h, d] from [b, h, s, d], and back.
std::vector<double> swapped(const std::vector<double>& x, const Dims& shape) {
  std::vector<double> y(x.size());
  const auto h = static_cast<std::size_t>(shape[1]), s = static_cast<std::size_t>(shape[2]),
             d = static_cast<std::size_t>(shape[3]);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at[] = {i / (h * s * d), i / (s * d) % h, i / d % s, i % d};
    y[((at[0] * s + at[2]) * h + at[1]) * d + at[3]] = x[i];
  }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("rotary embedding: the definition", T, float, double, half, bfloat16) {
  for (const std::int64_t interleaved : {0, 1}) {
    for (const std::int64_t pairs : {1, 4, 9, 20}) {
      const std::int64_t size = 40;
      const op::RotaryEmbedding op{.interleaved = interleaved,
                                   .rotary_embedding_dim = pairs == 20 ? 0 : 2 * pairs,
                                   .num_heads = 3};
      const auto n = static_cast<std::size_t>(pairs);
      const Array<T> flat = scattered<T>({2, 5, 3 * size}, -2, 2),
                     cos = scattered<T>({2, 5, pairs}, -1, 1, 3),
                     sin = scattered<T>({2, 5, pairs}, -1, 1, 4);
      const auto own = [](std::size_t b, std::size_t s) { return b * 5 + s; };
      const auto expected = turned(doubles(flat), {2, 5, 3, size}, interleaved != 0, doubles(cos),
                                   doubles(sin), n, own);
      check_close<T>(run(op, {flat, cos, sin}), expected, 4, 4 * rounding<T>());

      // The same by head, and with rows chosen by positions.
      const Array<T> by_head = scattered<T>({2, 3, 5, size}, -2, 2);
      const std::vector<double> steps_first = swapped(doubles(by_head), {2, 3, 5, size});
      const Array<T> table_cos = scattered<T>({7, pairs}, -1, 1, 5),
                     table_sin = scattered<T>({7, pairs}, -1, 1, 6);
      const Array<std::int64_t> ids({2, 5}, {6, 0, 1, 2, 3, 4, 4, 5, 1, 0});
      const auto y = run(op, {by_head, table_cos, table_sin, ids});
      const auto e = turned(
          steps_first, {2, 5, 3, size}, interleaved != 0, doubles(table_cos), doubles(table_sin), n,
          [&](std::size_t b, std::size_t s) { return static_cast<std::size_t>(ids[b * 5 + s]); });
      check_close<T>(y, swapped(e, {2, 5, 3, size}), 4, 4 * rounding<T>());
    }
  }
}

TEST_CASE("rotary embedding: one table for all samples, wrong shapes, wrong positions") {
  const Array<float> x = scattered<float>({2, 3, 4}, -1, 1),
                     cos = scattered<float>({1, 3, 2}, -1, 1);
  const op::RotaryEmbedding op{.num_heads = 1};
  check_close<float>(run(op, {x, cos, cos}),
                     turned(doubles(x), {2, 3, 1, 4}, false, doubles(cos), doubles(cos), 2,
                            [](std::size_t, std::size_t s) { return s; }),
                     4, 1e-7);
  CHECK(reason(op::RotaryEmbedding{}, {x, cos, cos}) ==
        "an input of three dimensions needs num_heads");
  CHECK(reason(op::RotaryEmbedding{.num_heads = 3}, {x, cos, cos}) ==
        "the heads do not divide the last dimension evenly");
  CHECK(reason(op::RotaryEmbedding{.rotary_embedding_dim = 3, .num_heads = 1}, {x, cos, cos}) ==
        "the number of elements to turn is not even");
  CHECK(reason(op::RotaryEmbedding{.rotary_embedding_dim = 6, .num_heads = 1}, {x, cos, cos}) ==
        "more elements are to be turned than a head has");
  CHECK(reason(op, {x, Array<float>({2, 3, 3}), cos}) ==
        "cos or sin has not one number for each pair");
  CHECK(reason(op, {x, Array<float>({2, 2, 2}), Array<float>({2, 2, 2})}) ==
        "cos or sin does not fit the input");
  CHECK(reason(op, {x, cos, cos, Array<std::int64_t>({2, 3})}) ==
        "cos or sin has not the right number of dimensions");
  const Array<float> table({3, 2});
  CHECK(reason(op, {x, table, table, Array<std::int64_t>({2, 2})}) ==
        "position_ids do not fit the input");
  const Array<std::int64_t> wrong({2, 3}, {0, 1, 2, 3, 0, 0});
  CHECK_THROWS_AS(run(op, {x, table, table, wrong}), InputError);
  check_equal<float>(
      run(op, {Array<float>({0, 3, 4}), Array<float>({0, 3, 2}), Array<float>({0, 3, 2})}),
      {0, 3, 4}, {});
}

TEST_CASE("gradient of rotary embedding") {
  using gradient_test::check_gradients;
  using gradient_test::scattered;
  for (const std::int64_t interleaved : {0, 1}) {
    const op::RotaryEmbedding op{
        .interleaved = interleaved, .rotary_embedding_dim = 4, .num_heads = 2};
    const auto record = [&](Graph&, auto& in) {
      return op::rotary_embedding(in[0], in[1], in[2], op);
    };
    check_gradients(
        {scattered({2, 3, 12}), scattered({2, 3, 2}, -1, 1, 2), scattered({2, 3, 2}, -1, 1, 3)},
        record);
    check_gradients(
        {scattered({2, 3, 12}), scattered({1, 3, 2}, -1, 1, 2), scattered({1, 3, 2}, -1, 1, 3)},
        record);
    const Array<std::int64_t> ids({2, 3}, {0, 3, 1, 1, 2, 0});
    check_gradients(
        {scattered({2, 2, 3, 6}), scattered({4, 2}, -1, 1, 2), scattered({4, 2}, -1, 1, 3), ids},
        [&](Graph&, auto& in) { return op::rotary_embedding(in[0], in[1], in[2], in[3], op); });
  }
}
