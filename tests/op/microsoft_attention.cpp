#include <halftone/op/microsoft_attention.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

namespace {

constexpr std::size_t batch = 2, length = 3, heads = 2, size = 4, width = heads * size;

/// Attention of all heads; score(b, h, i, j, s) changes a score.
template <class F>
Numbers all_heads(const Numbers& q, const Numbers& k, const Numbers& v, std::size_t keys,
                  double scale, const F& score) {
  Numbers y(batch * length * width);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      const Numbers one =
          one_head(head(q, b, h, length, heads, size), head(k, b, h, keys, heads, size),
                   head(v, b, h, keys, heads, size), length, keys, size, size, scale,
                   [&](std::size_t i, std::size_t j, double s) { return score(b, h, i, j, s); });
      put_head(y, one, b, h, length, heads, size);
    }
  }
  return y;
}

const auto plain = [](std::size_t, std::size_t, std::size_t, std::size_t, double s) { return s; };

/// [batch, keys, heads * size] as [batch, heads, keys, size].
AnyArray heads_first(const Numbers& x, std::size_t keys, std::size_t first, std::size_t count) {
  Numbers y;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      const Numbers one = head(x, b, h, keys, heads, size);
      y.insert(y.end(), one.begin() + long(first * size),
               one.begin() + long((first + count) * size));
    }
  }
  return array<float>({2, 2, std::int64_t(count), 4}, y);
}

void check(const AnyArray& y, const Numbers& expected) {
  check_close<float>(y, expected, 32, 2e-6);
}

}  // namespace

TEST_CASE("com.microsoft Attention projects, masks and remembers") {
  const Array<float> x = scattered<float>({2, 3, 8}, -1, 1),
                     w = scattered<float>({8, 24}, -1, 1, 2),
                     bias = scattered<float>({24}, -1, 1, 3);
  const Numbers all = with_row(product(doubles(x), doubles(w), 6, 8, 24), doubles(bias));
  Numbers part[3];
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t i = 0; i < 24; ++i) part[i / 8].push_back(all[row * 24 + i]);
  }
  const Numbers &q = part[0], &k = part[1], &v = part[2];
  op::MicrosoftAttention op{};
  op.self.num_heads = 2;
  check(run_session(op, {x, w, bias})[0], all_heads(q, k, v, 3, 0.5, plain));
  // A mask of words, where words end, and where they end and begin.
  const double seen[2][3] = {{1, 1, 0}, {0, 1, 1}};
  const auto masked = [&](std::size_t b, std::size_t, std::size_t, std::size_t j, double s) {
    return seen[b][j] != 0 ? s : s - 10000;
  };
  const Array<std::int32_t> mask({2, 3}, {1, 1, 0, 0, 1, 1}), ends({4}, {2, 3, 0, 1});
  check(run_session(op, {x, w, bias, mask})[0], all_heads(q, k, v, 3, 0.5, masked));
  check(run_session(op, {x, w, bias, ends})[0], all_heads(q, k, v, 3, 0.5, masked));
  check(run_session(op, {x, w, bias, ends}, 1, 0b110, true)[0], all_heads(q, k, v, 3, 0.5, masked));
  const auto until = [&](std::size_t b, std::size_t, std::size_t, std::size_t j, double s) {
    return j < 2 + b ? s : s - 10000;
  };
  for (const bool has_open_batch : {false, true}) {
    check(run_session(op, {x, w, bias, Array<std::int32_t>({2}, {2, 3})}, 1, 0b110,
                      has_open_batch)[0],
          all_heads(q, k, v, 3, 0.5, until));
  }
  op.self.unidirectional = 1;
  op.self.scale = 0.25f;
  const auto causal = [](std::size_t, std::size_t, std::size_t i, std::size_t j, double s) {
    return j <= i ? s : -1e30;
  };
  check(run_session(op, {x, w, bias})[0], all_heads(q, k, v, 3, 0.25, causal));

  // The last word with the first two as its past gives the last row, and the same keys and values.
  const auto present = run_session(op, {x, w, bias}, 2)[1];
  CHECK(present.info().shape == Dims{2, 2, 2, 3, 4});
  Numbers past, last;
  for (const Numbers* source : {&k, &v}) {
    const Numbers some = doubles(heads_first(*source, 3, 0, 2));
    past.insert(past.end(), some.begin(), some.end());
  }
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < 8; ++i) last.push_back(doubles(x)[(b * 3 + 2) * 8 + i]);
  }
  const auto step = run_session(
      op, {array<float>({2, 1, 8}, last), w, bias, absent(), array<float>({2, 2, 2, 2, 4}, past)},
      2);
  const Numbers expected = all_heads(q, k, v, 3, 0.25, causal);
  Numbers rows;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < 8; ++i) rows.push_back(expected[(b * 3 + 2) * 8 + i]);
  }
  check(step[0], rows);
  check(step[1], doubles(present));
}

TEST_CASE("com.microsoft MultiHeadAttention takes queries, keys and values in every layout") {
  const Array<float> q = scattered<float>({2, 3, 8}, -1, 1),
                     k = scattered<float>({2, 5, 8}, -1, 1, 2),
                     v = scattered<float>({2, 5, 8}, -1, 1, 3);
  const op::MultiHeadAttention op{.num_heads = 2};
  const Numbers expected = all_heads(doubles(q), doubles(k), doubles(v), 5, 0.5, plain);
  check(run_session(op, {q, k, v})[0], expected);
  check(run_session(op, {q, heads_first(doubles(k), 5, 0, 5), heads_first(doubles(v), 5, 0, 5)})[0],
        expected);
  // Keys and values together: [batch, keys, heads, 2, size].
  Numbers both;
  for (std::size_t row = 0; row < 20; ++row) {
    for (const auto* source : {&k, &v}) {
      for (std::size_t d = 0; d < 4; ++d) both.push_back(doubles(*source)[row * 4 + d]);
    }
  }
  check(run_session(op, {q, array<float>({2, 5, 2, 2, 4}, both)})[0], expected);
  const Array<float> bias = scattered<float>({24}, -1, 1, 4);
  const auto row = [&](std::size_t i) {
    const Numbers n = doubles(bias);
    return Numbers(n.begin() + long(8 * i), n.begin() + long(8 * i + 8));
  };
  check(run_session(op, {q, k, v, bias})[0],
        all_heads(with_row(doubles(q), row(0)), with_row(doubles(k), row(1)),
                  with_row(doubles(v), row(2)), 5, 0.5, plain));
  const Array<float> added = scattered<float>({1, 2, 3, 5}, -1, 1, 5);
  check(run_session(op, {q, k, v, absent(), absent(), added})[0],
        all_heads(doubles(q), doubles(k), doubles(v), 5, 0.5,
                  [&](std::size_t, std::size_t h, std::size_t i, std::size_t j, double s) {
                    return s + doubles(added)[(h * 3 + i) * 5 + j];
                  }));
  // The first two keys as the past of the other three.
  Numbers later[2];
  for (std::size_t i = 0; i < 80; ++i) {
    if (i / 8 % 5 < 2) continue;
    later[0].push_back(doubles(k)[i]);
    later[1].push_back(doubles(v)[i]);
  }
  const auto cached = run_session(
      op,
      {q, array<float>({2, 3, 8}, later[0]), array<float>({2, 3, 8}, later[1]), absent(), absent(),
       absent(), heads_first(doubles(k), 5, 0, 2), heads_first(doubles(v), 5, 0, 2)},
      3);
  check(cached[0], expected);
  check(cached[1], doubles(heads_first(doubles(k), 5, 0, 5)));
  CHECK_THROWS_AS(run_session(op, {q, k, v}, 4), UnsupportedError);
  // A number has no last extent that says how wide queries are.
  CHECK_THROWS_AS(run_session(op, {Array<float>(Dims{}), k, v, bias}), Error);
}

TEST_CASE("com.microsoft GroupQueryAttention: prompt, cache, window, softcap and sinks") {
  // Two heads of queries share one of keys: the same as all heads with equal keys and values.
  const Array<float> q = scattered<float>({2, 3, 8}, -1, 1),
                     k = scattered<float>({2, 3, 4}, -1, 1, 2),
                     v = scattered<float>({2, 3, 4}, -1, 1, 3);
  const auto twice = [](const AnyArray& x) {
    Numbers y;
    for (std::size_t row = 0; row < 6; ++row) {
      for (std::size_t i = 0; i < 8; ++i) y.push_back(doubles(x)[row * 4 + i % 4]);
    }
    return y;
  };
  const Array<std::int32_t> last({2}, {2, 2}), total({}, {3});
  op::GroupQueryAttention op{.num_heads = 2, .kv_num_heads = 1};
  const auto expected = [&](auto score) {
    return all_heads(doubles(q), twice(k), twice(v), 3, 0.5,
                     [&](std::size_t, std::size_t h, std::size_t i, std::size_t j, double s) {
                       return j > i ? -1e30 : score(h, i, j, s);
                     });
  };
  const auto same = [](std::size_t, std::size_t, std::size_t, double s) { return s; };
  const auto first = run_session(op, {q, k, v, absent(), absent(), last, total}, 3);
  check(first[0], expected(same));
  check(first[1], doubles(k));
  op.local_window_size = 2;
  check(run_session(op, {q, k, v, absent(), absent(), last, total})[0],
        expected([](std::size_t, std::size_t i, std::size_t j, double s) {
          return j + 2 > i ? s : -1e30;
        }));
  op.local_window_size = -1;
  op.softcap = 0.5f;
  check(run_session(op, {q, k, v, absent(), absent(), last, total})[0],
        expected([](std::size_t, std::size_t, std::size_t, double s) {
          return 0.5 * std::tanh(s / 0.5);
        }));
  op.softcap = 0;

  // One word with two before it, in a cache with room for four; the second sequence is shorter.
  const auto part = [](const AnyArray& x, std::size_t row, std::size_t columns) {
    Numbers y;
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < columns; ++i) {
        y.push_back(doubles(x)[(b * 3 + (b == 0 ? row : row - 1)) * columns + i]);
      }
    }
    return array<float>({2, 1, std::int64_t(columns)}, y);
  };
  const auto cache = [](const AnyArray& x) {
    Numbers y(2 * 4 * 4, 7);  // what is not used yet
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < (b == 0 ? 8 : 4); ++i) y[b * 16 + i] = doubles(x)[b * 12 + i];
    }
    return array<float>({2, 1, 4, 4}, y);
  };
  const auto next = run_session(op,
                                {part(q, 2, 8), part(k, 2, 4), part(v, 2, 4), cache(k), cache(v),
                                 Array<std::int32_t>({2}, {2, 1}), total},
                                3);
  const Numbers all = expected(same);
  Numbers rows(all.begin() + 16, all.begin() + 24);
  rows.insert(rows.end(), all.begin() + 32, all.begin() + 40);
  check(next[0], rows);
  Numbers kept = doubles(next[1]);
  CHECK(next[1].info().shape == Dims{2, 1, 4, 4});
  for (std::size_t i = 0; i < 12; ++i) CHECK(kept[i] == doubles(k)[i]);
  for (std::size_t i = 0; i < 8; ++i) CHECK(kept[16 + i] == doubles(k)[12 + i]);

  // A sink is one score more, whose weight goes nowhere.
  const Array<float> sink({2}, {0.5f, -1});
  Numbers with_sink = all;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < length; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double s = 0;
          for (std::size_t d = 0; d < 4; ++d) {
            s += doubles(q)[(b * 3 + i) * 8 + h * 4 + d] * doubles(k)[(b * 3 + j) * 4 + d] / 2;
          }
          sum += std::exp(s);
        }
        for (std::size_t d = 0; d < 4; ++d) {
          with_sink[(b * 3 + i) * 8 + h * 4 + d] *= sum / (sum + std::exp(doubles(sink)[h]));
        }
      }
    }
  }
  check(run_session(op, {q, k, v, absent(), absent(), last, total, absent(), absent(), absent(),
                         absent(), sink})[0],
        with_sink);
  op.qk_output = 1;
  CHECK_THROWS_AS(run_session(op, {q, k, v, absent(), absent(), last, total}), UnsupportedError);
}

TEST_CASE("com.microsoft RotaryEmbedding turns pairs by the angle of their position") {
  const Array<float> x = scattered<float>({1, 2, 8}, -1, 1);
  Array<float> cos({6, 2}), sin({6, 2});
  for (std::size_t i = 0; i < 12; ++i) {
    const double angle = double(i / 2) * (i % 2 == 0 ? 1 : 0.1);
    cos[i] = float(std::cos(angle));
    sin[i] = float(std::sin(angle));
  }
  for (const bool interleaved : {false, true}) {
    Numbers expected = doubles(x);
    const std::size_t places[2] = {5, 3};
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t p = 0; p < 2; ++p) {
          const double angle = double(places[i]) * (p == 0 ? 1 : 0.1);
          const std::size_t first = i * 8 + h * 4 + (interleaved ? 2 * p : p);
          const std::size_t second = first + (interleaved ? 1 : 2);
          const double a = doubles(x)[first], b = doubles(x)[second];
          expected[first] = a * std::cos(angle) - b * std::sin(angle);
          expected[second] = a * std::sin(angle) + b * std::cos(angle);
        }
      }
    }
    const op::MicrosoftRotaryEmbedding op{.interleaved = interleaved};
    check(run_session(op, {x, Array<std::int64_t>({1, 2}, {5, 3}), cos, sin})[0], expected);
    const AnyArray apart =
        run(op::Transpose{.perm = {0, 2, 1, 3}}, {array<float>({1, 2, 2, 4}, doubles(x))});
    const AnyArray turned =
        run_session(op, {apart, Array<std::int64_t>({1, 2}, {5, 3}), cos, sin})[0];
    check(run(op::Transpose{.perm = {0, 2, 1, 3}}, {turned}), expected);
  }
  // One position stands for the first word's.
  const auto at = [&](std::vector<std::int64_t> places, const Dims& shape) {
    Array<std::int64_t> positions(shape);
    for (std::size_t i = 0; i < places.size(); ++i) positions[i] = places[i];
    return doubles(run_session(op::MicrosoftRotaryEmbedding{}, {x, positions, cos, sin})[0]);
  };
  CHECK(at({3}, {1}) == at({3, 4}, {1, 2}));
}

TEST_CASE("com.microsoft RelativePositionBias: buckets of distances") {
  // Four buckets: distances 0 and 1, 2 to 3, from 4 on; max_distance 8.
  const Array<float> table({4, 1}, {10, 20, 30, 40});
  const Array<std::int64_t> count({}, {7});
  const AnyArray y =
      run_session(op::RelativePositionBias{.max_distance = 8}, {table, count, count})[0];
  CHECK(y.info().shape == Dims{1, 1, 7, 7});
  const double by_distance[] = {10, 20, 30, 30, 40, 40, 40};
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      CHECK(doubles(y)[i * 7 + j] == (j > i ? 10 : by_distance[i - j]));
    }
  }
}

TEST_CASE("com.microsoft QAttention is Attention of what its integers stand for") {
  const auto x = scattered<std::uint8_t>({2, 3, 8}, 0, 256);
  const auto w = scattered<std::int8_t>({8, 24}, -128, 128, 2);
  const Array<float> bias = scattered<float>({24}, -1, 1, 3), x_scale({}, {0.01f}),
                     w_scale({}, {0.02f});
  Numbers real_x = doubles(x), real_w = doubles(w);
  for (double& v : real_x) v = (v - 100) * double(0.01f);
  for (double& v : real_w) v = (v - 3) * double(0.02f);
  op::MicrosoftAttention plain_op{};
  plain_op.self.num_heads = 2;
  const AnyArray expected = run_session(
      plain_op, {array<float>({2, 3, 8}, real_x), array<float>({8, 24}, real_w), bias})[0];
  op::QAttention op{};
  op.self.num_heads = 2;
  check_close<float>(
      run_session(op, {x, w, bias, x_scale, w_scale, absent(), Array<std::uint8_t>({}, {100}),
                       Array<std::int8_t>({}, {3})})[0],
      doubles(expected), 64, 1e-5);
}
