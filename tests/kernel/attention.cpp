#include <halftone/kernel/attention.hpp>
#include <halftone/kernel/attention_gradient.hpp>
#include <halftone/kernel/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
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

/// Memory for a kernel, from the beginning of a cache line on.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : memory_(bytes + 64) {}
  void* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64;
  }

 private:
  std::vector<char> memory_;
};

struct Case {
  AttentionShape shape;
  bool has_choice = false, has_bias = false;
  std::vector<float> q = numbers(shape.batch * shape.heads * shape.queries * shape.size, 1),
                     k = numbers(shape.batch * shape.key_heads * shape.keys * shape.size, 2),
                     v = numbers(shape.batch * shape.key_heads * shape.keys * shape.values, 3),
                     bias = numbers(shape.keys, 4);
  std::shared_ptr<bool[]> chosen{new bool[std::size_t(shape.queries * shape.keys)]};
  std::uint32_t seed[2]{7, 11};
  /// What Dropout makes of ones, by which the weights are multiplied.
  std::vector<float> kept =
      std::vector<float>(std::size_t(shape.batch * shape.heads * shape.queries * shape.keys), 1.f);

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
    if (s.drop_ratio == 0) return;
    kernel::dropout<float>(kernel::Executor{}, seed, double{s.drop_ratio}, kept.data(), kept.data(),
                           nullptr, std::int64_t(kept.size()));
  }
  double kept_at(std::int64_t row, std::int64_t key) const {
    return double(kept[std::size_t(row * shape.keys + key)]);
  }
  std::vector<float> run(const kernel::Executor& executor, Precision precision = {}) const {
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
    if (s.drop_ratio > 0) t.seed = seed;
    Workspace memory(kernel::attention_workspace<float>(s));
    KernelCall call;
    call.executor = &executor;
    call.workspace = memory.data();
    call.precision = precision;
    kernel::attention<float>(call, s, t);
    return y;
  }
  double keep_scale() const { return 1 / (1 - double(shape.drop_ratio)); }
  double score(std::int64_t q_head, std::int64_t k_head, std::int64_t i, std::int64_t j) const {
    double s = 0;
    for (std::int64_t c = 0; c < shape.size; ++c) {
      s += double(q[std::size_t((q_head * shape.queries + i) * shape.size + c)]) *
           double(k[std::size_t((k_head * shape.keys + j) * shape.size + c)]);
    }
    s *= double(shape.scale);
    if (has_choice && chosen[std::size_t(i * shape.keys + j)] == shape.fills_chosen) {
      s = double(shape.fill);
    }
    return has_bias ? s + double(bias[std::size_t(j)]) : s;
  }
  /// Against the definition in double: |v| <= 1, so that y's error is that of the weights, which
  /// have that of the scores (size + 2 roundings of at most size * scale + 1) and their own.
  void check() const {
    check(Precision::float32);
    if (!kernel::detail::multiplies_pairs()) return;
    // Operands that are bfloat16 already keep their numbers; weights are rounded, by up to 2^-9.
    Case rounded = *this;
    for (std::vector<float>* x : {&rounded.q, &rounded.k, &rounded.v}) {
      for (float& number : *x) {
        number = std::bit_cast<float>((std::bit_cast<std::uint32_t>(number) + 0x7fff) & 0xffff0000);
      }
    }
    rounded.check(Precision::bfloat16);
  }
  void check(Precision precision) const {
    const AttentionShape& s = shape;
    const kernel::Executor one;
    const std::vector<float> y = run(one, precision);
    const double largest = double(s.size) * double(s.scale) + 1;
    const double bound = 0x1p-24 / (1 - double(s.drop_ratio)) *
                             (2 * double(s.size + 2) * largest + 2 * double(s.keys) + 16) +
                         (precision == Precision::bfloat16 ? 0x1p-9 * keep_scale() : 0);
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
            expected += e[std::size_t(j)] / sum * kept_at(h * s.queries + i, j) *
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
    const std::vector<float> same = run(reversed(), precision);
    CHECK(std::memcmp(same.data(), y.data(), y.size() * sizeof(float)) == 0);
  }
};

/// Strides of a tensor [batch, heads, rows, columns], or with rows in front of heads.
template <class T>
kernel::Heads<T> heads_of(std::vector<std::remove_const_t<T>>& x, std::int64_t heads,
                          std::int64_t rows, std::int64_t columns, bool rows_first) {
  if (rows_first) return {x.data(), heads * rows * columns, columns, heads * columns, 1};
  return {x.data(), heads * rows * columns, rows * columns, columns, 1};
}

/// The same numbers with rows and heads exchanged.
std::vector<float> exchanged(const std::vector<float>& x, std::int64_t batch, std::int64_t heads,
                             std::int64_t rows, std::int64_t columns) {
  std::vector<float> y(x.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          y[std::size_t(((b * rows + r) * heads + h) * columns + c)] =
              x[std::size_t(((b * heads + h) * rows + r) * columns + c)];
        }
      }
    }
  }
  return y;
}

struct Gradients {
  std::vector<float> q, k, v;
  friend bool operator==(const Gradients&, const Gradients&) = default;
};

struct GradientCase : Case {
  std::vector<float> dy = numbers(shape.batch * shape.heads * shape.queries * shape.values, 5);

  GradientCase(AttentionShape s, bool choice, bool with_bias) : Case(s, choice, with_bias) {
    // Every query sees a key.
    if (s.queries > 0 && s.keys > 0) chosen[std::size_t(s.queries * s.keys - 1)] = true;
  }
  Gradients run(const kernel::Executor& executor, bool rows_first = false) const {
    const AttentionShape& s = shape;
    const auto laid = [&](const std::vector<float>& x, std::int64_t heads, std::int64_t rows,
                          std::int64_t columns) {
      return rows_first ? exchanged(x, s.batch, heads, rows, columns) : x;
    };
    std::vector<float> q_in = laid(q, s.heads, s.queries, s.size),
                       k_in = laid(k, s.key_heads, s.keys, s.size),
                       v_in = laid(v, s.key_heads, s.keys, s.values),
                       dy_in = laid(dy, s.heads, s.queries, s.values), some_bias = bias;
    Gradients d{std::vector<float>(q.size(), -7.f), std::vector<float>(k.size(), -7.f),
                std::vector<float>(v.size(), -7.f)};
    kernel::AttentionGradientTensors<float> t;
    t.query = heads_of<const float>(q_in, s.heads, s.queries, s.size, rows_first);
    t.key = heads_of<const float>(k_in, s.key_heads, s.keys, s.size, rows_first);
    t.value = heads_of<const float>(v_in, s.key_heads, s.keys, s.values, rows_first);
    t.output = heads_of<const float>(dy_in, s.heads, s.queries, s.values, rows_first);
    t.query_gradient = heads_of<float>(d.q, s.heads, s.queries, s.size, rows_first);
    t.key_gradient = heads_of<float>(d.k, s.key_heads, s.keys, s.size, rows_first);
    t.value_gradient = heads_of<float>(d.v, s.key_heads, s.keys, s.values, rows_first);
    if (has_bias) t.bias = {some_bias.data(), 0, 0, 0, 1};
    if (has_choice) t.chosen = {chosen.get(), 0, 0, s.keys, 1};
    if (s.drop_ratio > 0) t.seed = seed;
    Workspace memory(kernel::attention_gradient_workspace<float>(s));
    KernelCall call;
    call.executor = &executor;
    call.workspace = memory.data();
    kernel::attention_gradient<float>(call, s, t);
    // What is not wanted changes nothing of the rest.
    Gradients part{d.q, d.k, std::vector<float>(v.size(), -7.f)};
    t.query_gradient.data = t.key_gradient.data = nullptr;
    t.value_gradient.data = part.v.data();
    kernel::attention_gradient<float>(call, s, t);
    CHECK(part == d);
    return d;
  }

  /// Against the definition in double. An element of a gradient is a sum whose terms have few roundings
  /// each but for those of the weights, which have the error of the scores (size + 2 roundings of at most
  /// size * scale + 1): it is compared with the sum of its terms' absolute values.
  void check() const {
    const AttentionShape& s = shape;
    const std::int64_t shared = s.heads / s.key_heads;
    std::vector<double> expected[3], absolute[3];
    const std::vector<float>* operands[3]{&q, &k, &v};
    for (int i = 0; i < 3; ++i) {
      expected[i].assign(operands[i]->size(), 0);
      absolute[i].assign(operands[i]->size(), 0);
    }
    const auto add = [&](int which, std::int64_t at, double term, double size) {
      expected[which][std::size_t(at)] += term;
      absolute[which][std::size_t(at)] += size;
    };
    std::vector<double> p(std::size_t(s.keys)), dp(std::size_t(s.keys)), sizes(std::size_t(s.keys));
    for (std::int64_t h = 0; h < s.batch * s.heads; ++h) {
      const std::int64_t from = h / s.heads * s.key_heads + h % s.heads / shared;
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t row = h * s.queries + i;
        double most = -infinity, sum = 0, mean = 0, mean_size = 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
          most = std::max(most, p[std::size_t(j)] = score(h, from, i, j));
        }
        for (double& x : p) sum += x = std::exp(x - most);
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const auto at = std::size_t(j);
          p[at] /= sum;
          dp[at] = sizes[at] = 0;
          for (std::int64_t c = 0; c < s.values; ++c) {
            const double g = kept_at(row, j) * double(dy[std::size_t(row * s.values + c)]);
            const std::int64_t value = (from * s.keys + j) * s.values + c;
            dp[at] += g * double(v[std::size_t(value)]);
            sizes[at] += std::abs(g * double(v[std::size_t(value)]));
            add(2, value, p[at] * g, p[at] * std::abs(g));
          }
          mean += p[at] * dp[at];
          mean_size += p[at] * sizes[at];
        }
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const auto at = std::size_t(j);
          if (has_choice && chosen[std::size_t(i * s.keys + j)] == s.fills_chosen) continue;
          const double ds = double(s.scale) * p[at] * (dp[at] - mean);
          const double ds_size = double(s.scale) * p[at] * (sizes[at] + mean_size);
          for (std::int64_t c = 0; c < s.size; ++c) {
            const std::int64_t query = row * s.size + c, key = (from * s.keys + j) * s.size + c;
            const double a = double(q[std::size_t(query)]), b = double(k[std::size_t(key)]);
            add(0, query, ds * b, ds_size * std::abs(b));
            add(1, key, ds * a, ds_size * std::abs(a));
          }
        }
      }
    }
    const kernel::Executor one;
    const Gradients found = run(one);
    const double largest = double(s.size) * double(s.scale) + 1;
    const double roundings =
        2 * double(s.size + 2) * largest + 2 * double(s.keys + s.values + s.queries * shared) + 16;
    const std::vector<float>* all[3]{&found.q, &found.k, &found.v};
    for (int which = 0; which < 3; ++which) {
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < all[which]->size(); ++i) {
        const double error = std::abs(double((*all[which])[i]) - expected[which][i]);
        if (!(error <= 0x1p-24 * roundings * absolute[which][i])) ++wrong;
      }
      CAPTURE(which);
      CHECK(wrong == 0);
    }
    CHECK(run(reversed()) == found);
    const Gradients turned = run(one, true);
    CHECK(turned.q == exchanged(found.q, s.batch, s.heads, s.queries, s.size));
    CHECK(turned.k == exchanged(found.k, s.batch, s.key_heads, s.keys, s.size));
    CHECK(turned.v == exchanged(found.v, s.batch, s.key_heads, s.keys, s.values));
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

TEST_CASE("attention kernel: weights are dropped as Dropout does, for rows that begin anywhere") {
  for (const std::int64_t keys : {1, 5, 128, 131, 300}) {
    CAPTURE(keys);
    AttentionShape s = shape(30, keys, 8, 9);
    s.drop_ratio = 0.25f;
    Case(s, false, false).check();
    GradientCase(s, false, true).check();
    s.heads = 4;
    s.queries = keys;
    Case(s, true, false).check();
    GradientCase(s, true, false).check();
  }
}

TEST_CASE("attention kernel: keys that masks hide from all queries of a block") {
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float fill : {-infinite, -3e38f}) {
    for (const bool fills_chosen : {false, true}) {
      AttentionShape s = shape(300, 300, 8, 9);
      s.fill = fill;
      s.fills_chosen = fills_chosen;
      GradientCase windows(s, true, false);
      for (std::int64_t i = 0; i < s.queries; ++i) {
        for (std::int64_t j = 0; j < s.keys; ++j) {
          // The 40th to 60th query see nothing where that gives numbers.
          const bool sees = std::abs(i - j) < 20 && (fill == -infinite || i < 40 || i >= 60);
          windows.chosen[std::size_t(i * s.keys + j)] = sees != fills_chosen;
        }
      }
      windows.check();
      static_cast<const Case&>(windows).check();
    }
    // The first and the last keys are hidden by what is added.
    GradientCase padded(shape(130, 300, 8, 9), false, true);
    for (std::size_t j = 0; j < 300; ++j) {
      if (j < 150 || j > 260) padded.bias[j] = fill;
    }
    padded.check();
    static_cast<const Case&>(padded).check();
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

TEST_CASE("attention kernel: the definition's gradients, for lengths from one to several blocks") {
  for (const std::int64_t length : {1, 2, 7, 17, 97, 128, 300}) {
    CAPTURE(length);
    GradientCase(shape(length, length, 8, 8), false, false).check();
    GradientCase(shape(3, length, 5, 17), false, true).check();
    GradientCase(shape(length, 6, 33, 3), true, true).check();
  }
  // Several blocks of queries, and of keys.
  GradientCase(shape(61, 2500, 4, 3), true, false).check();
}

TEST_CASE("attention kernel: gradients with fills, and of heads that share keys") {
  for (const float fill : {-std::numeric_limits<float>::infinity(), -2.f}) {
    AttentionShape s = shape(40, 40, 8, 16);
    s.fill = fill;
    GradientCase(s, true, false).check();
    s.heads = 6;
    GradientCase(s, true, false).check();
    GradientCase(s, true, true).check();
  }
}
