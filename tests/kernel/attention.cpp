#include <halftone/kernel/attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

using namespace halftone;
using kernel::AttentionShape;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Numbers in [-1, 1] of a linear congruential generator.
std::vector<float> numbers(std::int64_t n, std::uint32_t seed) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& value : x) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) * 0x1p-23f - 1;
  }
  return x;
}

/// An executor of some threads that runs the tasks in reverse order.
kernel::Executor reversed() {
  return {.threads = 2,
          .run = [](void*, std::int64_t n, kernel::Executor::Task task, void* context) {
            while (n-- > 0) task(context, n);
          }};
}

struct Case {
  AttentionShape shape;
  bool has_choice = false, has_bias = false;
  std::vector<float> q = numbers(shape.batch * shape.heads * shape.queries * shape.size, 1),
                     k = numbers(shape.batch * shape.key_heads * shape.keys * shape.size, 2),
                     v = numbers(shape.batch * shape.key_heads * shape.keys * shape.values, 3),
                     bias = numbers(shape.keys, 4);
  std::unique_ptr<bool[]> chosen{new bool[std::size_t(shape.queries * shape.keys)]};

  Case(AttentionShape s, bool choice, bool with_bias)
      : shape(s), has_choice(choice), has_bias(with_bias) {
    // A query sees no key behind it, some only the last one (blocks of hidden keys come first), and
    // the last one none at all.
    for (std::int64_t i = 0; i < s.queries; ++i) {
      for (std::int64_t j = 0; j < s.keys; ++j) {
        chosen[std::size_t(i * s.keys + j)] =
            i % 3 == 2 ? j + 1 == s.keys : j <= i && (i + 1 < s.queries || i == 0);
      }
    }
  }
  std::vector<float> run(const kernel::Executor& executor) const {
    const AttentionShape& s = shape;
    std::vector<float> y(std::size_t(s.batch * s.heads * s.queries * s.values), -7.f);
    kernel::AttentionTensors<float> t;
    const std::int64_t q_head = s.queries * s.size, k_head = s.keys * s.size;
    const std::int64_t v_head = s.keys * s.values, y_head = s.queries * s.values;
    t.query = {q.data(), s.heads * q_head, q_head, s.size, 1};
    t.key = {k.data(), s.key_heads * k_head, k_head, s.size, 1};
    t.value = {v.data(), s.key_heads * v_head, v_head, s.values, 1};
    t.output = {y.data(), s.heads * y_head, y_head, s.values, 1};
    if (has_bias) t.bias = {bias.data(), 0, 0, 0, 1};
    if (has_choice) t.chosen = {chosen.get(), 0, 0, s.keys, 1};
    std::vector<char> memory(kernel::attention_workspace<float>(s) + 64);
    KernelCall call;
    call.executor = &executor;
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    call.workspace = memory.data() + (64 - address % 64) % 64;
    kernel::attention<float>(call, s, t);
    return y;
  }
  double score(std::int64_t q_head, std::int64_t k_head, std::int64_t i, std::int64_t j) const {
    double s = 0;
    for (std::int64_t c = 0; c < shape.size; ++c) {
      s += double(q[std::size_t((q_head * shape.queries + i) * shape.size + c)]) *
           double(k[std::size_t((k_head * shape.keys + j) * shape.size + c)]);
    }
    s *= double(shape.scale);
    if (has_choice && !chosen[std::size_t(i * shape.keys + j)]) s = double(shape.fill);
    return has_bias ? s + double(bias[std::size_t(j)]) : s;
  }
  /// Against the definition in double: |v| <= 1, so that y's error is that of the weights, which
  /// have that of the scores (size + 2 roundings of at most size * scale + 1) and their own.
  void check() const {
    const AttentionShape& s = shape;
    const kernel::Executor one;
    const std::vector<float> y = run(one);
    const double largest = double(s.size) * double(s.scale) + 1;
    const double bound = 0x1p-24 * (2 * double(s.size + 2) * largest + 2 * double(s.keys) + 16);
    std::vector<double> e(std::size_t(s.keys), 0.0);
    double worst = 0;
    std::int64_t wrong = 0;
    for (std::int64_t h = 0; h < s.batch * s.heads; ++h) {
      const std::int64_t group = s.heads / s.key_heads;
      const std::int64_t from = h / s.heads * s.key_heads + h % s.heads / group;
      for (std::int64_t i = 0; i < s.queries; ++i) {
        double most = -infinity, sum = 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
          most = std::max(most, e[std::size_t(j)] = score(h, from, i, j));
        }
        for (double& x : e) sum += x = std::exp(x - most);
        for (std::int64_t c = 0; c < s.values; ++c) {
          double expected = 0;
          for (std::int64_t j = 0; j < s.keys; ++j) {
            expected += e[std::size_t(j)] / sum *
                        double(v[std::size_t((from * s.keys + j) * s.values + c)]);
          }
          const double found = double(y[std::size_t((h * s.queries + i) * s.values + c)]);
          if (std::isnan(expected) != std::isnan(found)) ++wrong;
          if (!std::isnan(expected)) worst = std::max(worst, std::abs(expected - found));
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(worst <= bound);
    const std::vector<float> same = run(reversed());
    CHECK(std::memcmp(same.data(), y.data(), y.size() * sizeof(float)) == 0);
  }
};

AttentionShape shape(std::int64_t queries, std::int64_t keys, std::int64_t size,
                     std::int64_t values) {
  return {.batch = 2,
          .heads = 2,
          .key_heads = 2,
          .queries = queries,
          .keys = keys,
          .size = size,
          .values = values,
          .scale = 0.5f};
}

}  // namespace

TEST_CASE("attention kernel: the definition, for lengths from one to several blocks") {
  for (const std::int64_t length : {1, 2, 7, 24, 25, 97, 128, 129, 300}) {
    CAPTURE(length);
    Case(shape(length, length, 8, 8), false, false).check();
    Case(shape(3, length, 5, 17), false, true).check();
    Case(shape(length, 6, 33, 3), true, true).check();
  }
  for (const std::int64_t size : {16, 37, 64}) {
    Case(shape(1, 300, size, 64), true, true).check();
    Case(shape(2, 131, size, 9), false, false).check();
  }
}

TEST_CASE("attention kernel: fills, queries that see nothing, heads that share keys") {
  for (const float fill : {-std::numeric_limits<float>::infinity(), -10000.f}) {
    AttentionShape s = shape(140, 140, 8, 16);
    s.fill = fill;
    s.heads = 6;
    Case(s, true, false).check();
    s.fills_chosen = false;
    s.bias_first = true;
    // The bias is behind the choice only where the fill is finite: -infinity stays what it is.
    if (std::isinf(fill)) Case(s, true, true).check();
  }
}
