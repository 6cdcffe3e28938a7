#include <halftone/op/attention.hpp>

#include <functional>
#include <limits>

#include "expanded.hpp"
#include "gradient_check.hpp"

using namespace run_op_test;

namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

/// An attention with heads in front of steps, in double and by its definition.
struct Definition {
  std::size_t batch = 2, heads = 4, key_heads = 4, queries = 3, keys = 5, size = 8, values = 6;
  double scale = 1 / std::sqrt(8.0), softcap = 0;
  std::vector<double> q, k, v;
  /// What is added to the score of a query and a key; -infinity hides the key.
  std::function<double(std::size_t b, std::size_t h, std::size_t i, std::size_t j)> bias =
      [](auto...) { return 0.0; };
  std::vector<double> y{}, scores[4]{};

  void compute() {
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t from = b * key_heads + h / (heads / key_heads);
        for (std::size_t i = 0; i < queries; ++i) {
          std::vector<double> e(keys);
          double largest = hidden, sum = 0;
          for (std::size_t j = 0; j < keys; ++j) {
            double s = 0;
            for (std::size_t d = 0; d < size; ++d) {
              s += q[((b * heads + h) * queries + i) * size + d] * k[(from * keys + j) * size + d];
            }
            scores[0].push_back(s *= scale);
            if (softcap > 0) s = softcap * std::tanh(s / softcap);
            scores[1].push_back(s);
            scores[2].push_back(e[j] = s + bias(b, h, i, j));
            largest = std::max(largest, e[j]);
          }
          for (double& x : e) sum += x = largest == hidden ? 0 : std::exp(x - largest);
          for (double& x : e) scores[3].push_back(x = sum == 0 ? 0 : x / sum);
          for (std::size_t m = 0; m < values; ++m) {
            double total = 0;
            for (std::size_t j = 0; j < keys; ++j) {
              total += e[j] * v[(from * keys + j) * values + m];
            }
            y.push_back(total);
          }
        }
      }
    }
  }
};

/// [b, s, h * d] from [b, h, s, d].
template <class T>
Array<T> flat(const Array<T>& x) {
  const Dims& e = x.info().shape;
  Array<T> y({e[0], e[2], e[1] * e[3]});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto h = static_cast<std::size_t>(e[1]), s = static_cast<std::size_t>(e[2]),
               d = static_cast<std::size_t>(e[3]);
    y[((i / (h * s * d) * s + i / d % s) * h + i / (s * d) % h) * d + i % d] = x[i];
  }
  return y;
}

template <class T>
struct Case {
  Array<T> q = scattered<T>({2, 4, 3, 8}, -1, 1), k = scattered<T>({2, 4, 5, 8}, -1, 1, 2),
           v = scattered<T>({2, 4, 5, 6}, -1, 1, 3);
  Definition definition() const { return {.q = doubles(q), .k = doubles(k), .v = doubles(v)}; }
};

}  // namespace

TEST_CASE_TEMPLATE("attention: by heads and flat, all kinds of scores", T, float, double, half,
                   bfloat16) {
  const Case<T> c;
  Definition d = c.definition();
  d.softcap = 0.75;
  d.bias = [](std::size_t, std::size_t, std::size_t i, std::size_t j) {
    return i == 1 ? hidden : i == j ? 0.5 : 0;
  };
  d.compute();
  Array<T> mask({3, 5});
  for (std::size_t i = 0; i < 15; ++i) {
    mask[i] = static_cast<T>(i / 5 == 1       ? -std::numeric_limits<float>::infinity()
                             : i / 5 == i % 5 ? 0.5f
                                              : 0.f);
  }
  const double unit = rounding<T>();
  for (std::int64_t mode = 0; mode < 4; ++mode) {
    const op::Attention by_heads{.qk_matmul_output_mode = mode, .softcap = 0.75f};
    const auto out = run_session(by_heads, {c.q, c.k, c.v, mask}, 4);
    check_close<T>(out[0], d.y, 8, 8 * unit);
    check_close<T>(out[1], doubles(c.k), 0);
    check_close<T>(out[2], doubles(c.v), 0);
    check_close<T>(out[3], d.scores[mode], 8, 8 * unit);
    op::Attention steps_first = by_heads;
    steps_first.q_num_heads = steps_first.kv_num_heads = 4;
    const auto same = run_session(steps_first, {flat(c.q), flat(c.k), flat(c.v), mask}, 4);
    CHECK(same[0].info() == TensorInfo{element_type<T>, {2, 3, 24}});
    Array<T> y({2, 4, 3, 6});
    fill(y, d.y);
    check_close<T>(same[0], doubles(flat(y)), 8, 8 * unit);
    check_close<T>(same[1], doubles(c.k), 0);
    check_close<T>(same[2], doubles(c.v), 0);
    check_close<T>(same[3], d.scores[mode], 8, 8 * unit);
  }
}

TEST_CASE("attention: grouped queries, a given scale, values of another type") {
  const Array<float> q = scattered<float>({2, 6, 3, 8}, -1, 1),
                     k = scattered<float>({2, 2, 5, 8}, -1, 1, 2);
  const Array<half> v = scattered<half>({2, 2, 5, 6}, -1, 1, 3);
  Definition d{
      .heads = 6, .key_heads = 2, .scale = 0.3f, .q = doubles(q), .k = doubles(k), .v = doubles(v)};
  d.compute();
  const auto out =
      run_session(op::Attention{.qk_matmul_output_mode = 3, .scale = 0.3f}, {q, k, v}, 4);
  check_close<float>(out[0], d.y, 8, 1e-6);
  check_close<half>(out[2], doubles(v), 0);
  CHECK(out[3].info() == TensorInfo{ElementType::float32, {2, 6, 3, 5}});
  check_close<float>(out[3], d.scores[3], 8, 1e-6);
  const op::Attention by_steps{.q_num_heads = 6, .kv_num_heads = 2, .scale = 0.3f};
  Array<float> y({2, 6, 3, 6});
  fill(y, d.y);
  check_close<float>(run_session(by_steps, {flat(q), flat(k), flat(v)})[0], doubles(flat(y)), 8,
                     1e-6);
}

TEST_CASE("attention: what queries see of a past, of lengths and of windows") {
  const Case<float> c;
  const auto check = [&](const op::Attention& op, const std::vector<AnyArray>& inputs,
                         auto&& sees) {
    Definition d = c.definition();
    d.bias = [&](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
      return sees(b, h, static_cast<int>(i), static_cast<int>(j)) ? 0 : hidden;
    };
    d.compute();
    op::Attention with_scores = op;
    with_scores.qk_matmul_output_mode = 3;
    const auto out = run_session(with_scores, inputs, 4);
    check_close<float>(out[0], d.y, 8, 1e-6);
    check_close<float>(out[3], d.scores[3], 8, 1e-6);
  };
  check({.is_causal = 1}, {c.q, c.k, c.v},
        [](std::size_t, std::size_t, int i, int j) { return j <= i; });
  check({.left_window_size = 1, .right_window_size = 2}, {c.q, c.k, c.v},
        [](std::size_t, std::size_t, int i, int j) { return i - 1 <= j && j <= i + 2; });
  check({.is_causal = 1, .left_window_size = 1}, {c.q, c.k, c.v},
        [](std::size_t, std::size_t, int i, int j) { return i - 1 <= j && j <= i; });

  // Lengths: 5 of 5 keys, and 2 of them, which hides all from the first query if it is causal.
  const Array<std::int64_t> lengths({2}, {5, 2});
  const std::vector<AnyArray> with_lengths{c.q, c.k, c.v, absent(), absent(), absent(), lengths};
  const auto length = [&](std::size_t b) { return static_cast<int>(lengths[b]); };
  check({}, with_lengths, [&](std::size_t b, std::size_t, int, int j) { return j < length(b); });
  check({.is_causal = 1}, with_lengths, [&](std::size_t b, std::size_t, int i, int j) {
    return j < length(b) && j <= i + length(b) - 3;
  });
  check({.left_window_size = 0}, with_lengths, [&](std::size_t b, std::size_t, int i, int j) {
    return j < length(b) && j >= i + length(b) - 3;
  });

  // Masks of bool: of each head, of each sample, too short, with a query that sees nothing.
  Array<bool> mask({2, 1, 3, 4});
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 != 0 && i / 4 != 2;
  const auto masked = [&](std::size_t b, std::size_t, int i, int j) {
    return j < 4 && mask[(b * 3 + static_cast<std::size_t>(i)) * 4 + static_cast<std::size_t>(j)];
  };
  check({}, {c.q, c.k, c.v, mask}, masked);
  check({.is_causal = 1}, {c.q, c.k, c.v, mask},
        [&](std::size_t b, std::size_t h, int i, int j) { return j <= i && masked(b, h, i, j); });
  Array<bool> row({5}, {true, false, true, true, false});
  check({.is_causal = 1}, {c.q, c.k, c.v, row}, [&](std::size_t, std::size_t, int i, int j) {
    return j <= i && row[static_cast<std::size_t>(j)];
  });
}

TEST_CASE("attention: keys and values of a past come first") {
  const Case<float> c;
  // The last three of the five keys are new.
  const auto part = [](const Array<float>& x, std::int64_t first, std::int64_t count) {
    const Dims& e = x.info().shape;
    Array<float> y({e[0], e[1], count, e[3]});
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto run = static_cast<std::size_t>(count * e[3]);
      y[i] = x[i / run * static_cast<std::size_t>(5 * e[3]) +
               static_cast<std::size_t>(first * e[3]) + i % run];
    }
    return y;
  };
  Definition d = c.definition();
  d.bias = [](std::size_t, std::size_t, std::size_t i, std::size_t j) {
    return j <= i + 2 ? 0 : hidden;
  };
  d.compute();
  const auto new_keys = part(c.k, 2, 3), new_values = part(c.v, 2, 3);
  const auto out =
      run_session(op::Attention{.is_causal = 1},
                  {c.q, new_keys, new_values, absent(), part(c.k, 0, 2), part(c.v, 0, 2)}, 3);
  check_close<float>(out[0], d.y, 8, 1e-6);
  check_close<float>(out[1], doubles(c.k), 0);
  check_close<float>(out[2], doubles(c.v), 0);
  const op::Attention by_steps{.is_causal = 1, .q_num_heads = 4, .kv_num_heads = 4};
  const auto same = run_session(
      by_steps,
      {flat(c.q), flat(new_keys), flat(new_values), absent(), part(c.k, 0, 2), part(c.v, 0, 2)}, 3);
  check_close<float>(same[1], doubles(c.k), 0);
  Array<float> y({2, 4, 3, 6});
  fill(y, d.y);
  check_close<float>(same[0], doubles(flat(y)), 8, 1e-6);
}

TEST_CASE("attention: the precision of the softmax") {
  const Case<float> c;
  Definition d = c.definition();
  d.compute();
  for (const ElementType type : {ElementType::float64, ElementType::float32}) {
    check_close<float>(run_session(op::Attention{.softmax_precision = type}, {c.q, c.k, c.v})[0],
                       d.y, 8, 1e-6);
  }
  check_close<float>(
      run_session(op::Attention{.softmax_precision = ElementType::float16}, {c.q, c.k, c.v})[0],
      d.y, 8, 1e-3);
}

TEST_CASE("attention: what is refused") {
  const Case<float> c;
  const auto refused = [](const op::Attention& op, const std::vector<AnyArray>& in) {
    try {
      run_session(op, in);
    } catch (const ModelError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto says = [](const std::string& text, std::string_view part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  says(refused({}, {flat(c.q), flat(c.k), flat(c.v)}), "need q_num_heads and kv_num_heads");
  says(refused({.q_num_heads = 5, .kv_num_heads = 4}, {flat(c.q), flat(c.k), flat(c.v)}),
       "do not divide the last dimension");
  says(refused({.q_num_heads = 2}, {c.q, c.k, c.v}), "is not that of the input");
  says(refused({}, {c.q, Array<float>({2, 3, 5, 8}), Array<float>({2, 3, 5, 6})}),
       "the heads of k do not divide those of q");
  says(refused({}, {Array<float>({2, 0, 3, 8}), c.k, c.v}),
       "the heads of k do not divide those of q");
  says(refused({}, {c.q, c.k, flat(c.v)}), "different ranks");
  says(refused({}, {c.q, c.k, Array<float>({2, 4, 4, 6})}), "not as many values as keys");
  says(refused({}, {c.q, c.k, c.v, absent(), c.k}), "past_key and past_value come together");
  says(refused({}, {c.q, c.k, c.v, absent(), c.k, c.v, Array<std::int64_t>({2})}),
       "exclude each other");
  says(refused({.left_window_size = -2}, {c.q, c.k, c.v}), "window size");
  says(refused({.qk_matmul_output_mode = 4}, {c.q, c.k, c.v}), "qk_matmul_output_mode");
  says(refused({.softmax_precision = ElementType::int32}, {c.q, c.k, c.v}), "softmax_precision");
  says(refused({}, {c.q, c.k, c.v, Array<bool>({2, 5})}), "does not broadcast to the scores");
  says(refused({}, {c.q, c.k, c.v, Array<bool>({3, 6})}), "more keys than there are");
  says(refused({}, {c.q, c.k, c.v, Array<bool>({1, 1, 1, 3, 5})}), "more than four dimensions");
  says(refused({}, {c.q, Array<float>({2, 4, 5, 7}), c.v}), "inner dimensions differ");
}

TEST_CASE("gradient of attention") {
  using gradient_test::check_gradients;
  using gradient_test::scattered;
  const auto record = [](const op::Attention& op, std::size_t outputs = 1) {
    return [=](Graph& graph, auto& in) {
      std::vector<AnyTensor> all;
      for (std::size_t i = 0; i < in.size(); ++i) {
        // Lengths are the only integers.
        if (in[i].info().type == ElementType::int64) {
          while (all.size() < 6) all.push_back({&graph, no_tensor});
        }
        all.push_back(in[i]);
      }
      return op.expand(graph, all, outputs);
    };
  };
  const auto q = scattered({2, 4, 3, 2}), k = scattered({2, 2, 4, 2}, -1, 1, 2),
             v = scattered({2, 2, 4, 3}, -1, 1, 3);
  check_gradients({q, k, v}, record({}));
  check_gradients({q, k, v}, record({.is_causal = 1, .softcap = 0.8f}));
  check_gradients({q, k, v, scattered({3, 4}, -1, 1, 4)}, record({}));
  for (const std::int64_t mode : {0, 1, 3}) {
    check_gradients({q, k, v},
                    record({.is_causal = 1, .qk_matmul_output_mode = mode, .softcap = 0.8f}, 4));
  }
  // A query that sees nothing has gradients of zero, no NaN.
  Array<bool> mask({3, 4},
                   {true, true, false, true, false, false, false, false, true, true, true, true});
  check_gradients({q, k, v, mask}, record({}));
  check_gradients({q, k, v, Array<std::int64_t>({2}, {4, 1})}, record({.is_causal = 1}));
  const auto flat_q = scattered({2, 3, 8}), flat_k = scattered({2, 4, 4}, -1, 1, 2),
             flat_v = scattered({2, 4, 6}, -1, 1, 3);
  check_gradients({flat_q, flat_k, flat_v}, record({.q_num_heads = 4, .kv_num_heads = 2}));
}
