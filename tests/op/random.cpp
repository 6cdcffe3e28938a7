#include <halftone/kernel/random.hpp>
#include <halftone/op/random.hpp>

#include <halftone/session/session.hpp>
#include <halftone/transform/seed_random.hpp>

#include <algorithm>
#include <set>

#include "movement.hpp"

using namespace run_op_test;

namespace {

Array<std::uint32_t> seed_of(std::uint32_t a, std::uint32_t b) { return {Dims{2}, {a, b}}; }

struct Moments {
  double mean = 0, deviation = 0, skew = 0, correlation = 0;
};
/// Of the numbers, and of each with the next one.
Moments moments(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  Moments m;
  for (const double v : x) m.mean += v / n;
  double square = 0, cube = 0, next = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - m.mean;
    square += d * d / n;
    cube += d * d * d / n;
    if (i > 0) next += d * (x[i - 1] - m.mean) / n;
  }
  m.deviation = std::sqrt(square);
  m.skew = cube / (square * m.deviation);
  m.correlation = next / square;
  return m;
}

std::vector<float> floats_of(const AnyView& x) {
  const auto values = x.values<float>();
  return {values.begin(), values.end()};
}

/// Two normal tensors and a uniform one in a graph without inputs.
Graph three() {
  Graph g;
  const auto add = [&](const Descriptor& op, std::vector<Word> words, const char* name) {
    const TensorInfo infos[]{{ElementType::float32, {100}}};
    const std::size_t n = g.add_node(op, std::move(words), {}, infos);
    g.rename(g.nodes[n].outputs[0], name);
    g.add_output(g.nodes[n].outputs[0]);
  };
  add(descriptor<op::RandomNormal>, pack(op::RandomNormal{.shape = {100}}), "a");
  add(descriptor<op::RandomNormal>, pack(op::RandomNormal{.shape = {100}}), "b");
  add(descriptor<op::RandomUniform>, pack(op::RandomUniform{.shape = {100}}), "c");
  add(descriptor<op::RandomNormal>, pack(op::RandomNormal{.seed = 7.5f, .shape = {100}}), "d");
  add(descriptor<op::RandomNormal>, pack(op::RandomNormal{.seed = 7.5f, .shape = {100}}), "e");
  add(descriptor<op::RandomNormal>, pack(op::RandomNormal{.seed = 8.f, .shape = {100}}), "f");
  return g;
}

std::vector<std::vector<float>> all_of(Session& session) {
  const Result result = session.run({});
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < result.size(); ++i) values.push_back(floats_of(result[i]));
  return values;
}

}  // namespace

TEST_CASE("random: Philox gives the numbers that its authors publish") {
  // kat_vectors of Random123, philox4x32 with 10 rounds.
  using Words = std::array<std::uint32_t, 4>;
  static_assert(halftone::kernel::philox({0, 0, 0, 0}, {0, 0}) ==
                Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t all_bits = 0xffffffff;
  static_assert(
      halftone::kernel::philox({all_bits, all_bits, all_bits, all_bits}, {all_bits, all_bits}) ==
      Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  static_assert(halftone::kernel::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                         {0xa4093822, 0x299f31d0}) ==
                Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE_TEMPLATE("random: moments", T, float, double, half, bfloat16) {
  constexpr std::int64_t n = 100'003;
  // Five standard errors of each moment; half and bfloat16 round.
  const double error = 5 / std::sqrt(static_cast<double>(n));
  const std::vector<double> normal =
      doubles(run(op::RandomNormal{.dtype = element_type<T>, .mean = -1, .scale = 2, .shape = {n}},
                  {seed_of(1, 2)}));
  const Moments a = moments(normal);
  CHECK(std::fabs(a.mean + 1) < 2 * error);
  CHECK(std::fabs(a.deviation - 2) < 2 * error);
  CHECK(std::fabs(a.skew) < 2.5 * error);
  CHECK(std::fabs(a.correlation) < error);
  const auto far = std::count_if(normal.begin(), normal.end(),
                                 [](double v) { return std::fabs(v + 1) > 2 * 1.959964; });
  CHECK(std::fabs(static_cast<double>(far) / n - 0.05) < 5 * std::sqrt(0.05 * 0.95 / n) + 1e-3);

  const std::vector<double> uniform =
      doubles(run(op::RandomUniform{.dtype = element_type<T>, .low = 2, .high = 6, .shape = {n}},
                  {seed_of(1, 2)}));
  const Moments b = moments(uniform);
  CHECK(std::fabs(b.mean - 4) < 4 / std::sqrt(12.0) * error + 8 * rounding<T>());
  CHECK(std::fabs(b.deviation - 4 / std::sqrt(12.0)) < error);
  CHECK(std::fabs(b.correlation) < error);
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= 2);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) <= 6);
}

TEST_CASE("random: no order of tasks and no rounding changes the numbers") {
  const op::RandomNormal normal{.shape = {40'001}};
  const AnyArray a = run(normal, {seed_of(3, 4)}), b = run(normal, {seed_of(3, 4)}, backwards());
  CHECK(doubles(a) == doubles(b));
  CHECK(doubles(a) != doubles(run(normal, {seed_of(3, 5)})));
  op::RandomNormal narrow = normal;
  narrow.dtype = ElementType::float16;
  check_equal<half>(run(narrow, {seed_of(3, 4)}), {40'001},
                    doubles(array<half>({40'001}, doubles(a))));
  // A longer tensor begins with the same numbers.
  op::RandomNormal longer = normal;
  longer.shape = {50'000};
  const std::vector<double> more = doubles(run(longer, {seed_of(3, 4)}));
  CHECK(std::equal(more.begin(), more.begin() + 40'001, doubles(a).begin()));
}

TEST_CASE("random: like another tensor; types that are not offered") {
  const Array<std::int32_t> x({2, 3});
  const AnyArray y = run(op::RandomNormalLike{.dtype = ElementType::float64}, {x, seed_of(1, 1)});
  CHECK(y.info() == TensorInfo{ElementType::float64, {2, 3}});
  CHECK(doubles(run(op::RandomUniformLike{}, {Array<half>({5}), seed_of(1, 1)})) ==
        doubles(
            run(op::RandomUniform{.dtype = ElementType::float16, .shape = {5}}, {seed_of(1, 1)})));
  CHECK(reason(op::RandomNormalLike{}, {x}) == "element type is not offered");
  CHECK(reason(op::RandomUniformLike{.dtype = ElementType::int32}, {x}) ==
        "element type is not offered");
  CHECK(reason(op::RandomNormal{.dtype = ElementType::int8}, {}) == "element type is not offered");
  CHECK(reason(op::RandomUniform{.shape = {2, -1}}, {}) == "an extent is negative");
  CHECK(run(op::RandomUniform{.shape = {0, 4}}, {seed_of(1, 1)}).info().elements() == 0);
}

TEST_CASE_TEMPLATE("random: Bernoulli", T, float, double, half, bfloat16) {
  constexpr std::int64_t n = 40'000;
  std::vector<double> p(n);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : 0.25;
  const Array<T> x = array<T>({n}, p);
  for (const ElementType type : {ElementType::undefined, ElementType::boolean, ElementType::int64,
                                 ElementType::float16, ElementType::float64}) {
    const AnyArray y = run(op::Bernoulli{.dtype = type}, {x, seed_of(8, 9)});
    CHECK(y.info().type == (type == ElementType::undefined ? element_type<T> : type));
    const std::vector<double> values = doubles(y);
    double sum = 0;
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      right = right && (values[i] == 0 || values[i] == 1);
      if (i % 4 < 2) {
        right = right && values[i] == static_cast<double>(i % 4);
      } else {
        sum += values[i];
      }
    }
    CHECK(right);
    CHECK(std::fabs(sum / (n / 2) - 0.25) < 5 * std::sqrt(0.25 * 0.75 / (n / 2)));
  }
}

TEST_CASE_TEMPLATE("random: Multinomial", T, float, double, half) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Array<T> x =
      array<T>({3, 4}, {0, 1, -infinity, 2, 5, 5, 5, 5, -infinity, 500, -infinity, -infinity});
  constexpr std::int64_t n = 30'000;
  for (const ElementType type : {ElementType::int32, ElementType::int64}) {
    const op::Multinomial draw{.dtype = type, .sample_size = n};
    const AnyArray y = run(draw, {x, seed_of(5, 6)});
    CHECK(y.info() == TensorInfo{type, {3, n}});
    const std::vector<double> drawn = doubles(y);
    CHECK(drawn == doubles(run(draw, {x, seed_of(5, 6)}, backwards())));
    double counts[3][4] = {};
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      ++counts[i / n][static_cast<std::size_t>(drawn[i])];
    }
    const double total = 1 + std::exp(1.0) + std::exp(2.0);
    const double p[3][4] = {{1 / total, std::exp(1.0) / total, 0, std::exp(2.0) / total},
                            {0.25, 0.25, 0.25, 0.25},
                            {0, 1, 0, 0}};
    for (int row = 0; row < 3; ++row) {
      for (int c = 0; c < 4; ++c) {
        const double q = p[row][c];
        CHECK(std::fabs(counts[row][c] / n - q) <= 5 * std::sqrt(q * (1 - q) / n));
      }
    }
  }
  CHECK(reason(op::Multinomial{}, {Array<T>({3})}) == "the input is no matrix");
  CHECK(reason(op::Multinomial{}, {Array<T>({3, 0})}) == "there are no classes");
  CHECK(reason(op::Multinomial{.dtype = ElementType::float32}, {x}) ==
        "element type is not offered");
  CHECK(reason(op::Multinomial{.sample_size = -1}, {x}) == "sample_size is negative");
}

TEST_CASE("random: a session's seed, runs and nodes") {
  Session first(three(), {.seed = 11}), second(three(), {.threads = 2, .seed = 11}),
      other(three(), {.seed = 12});
  CHECK(first.is_random());
  CHECK(first.random_seed() == 11);
  const auto one = all_of(first), two = all_of(first);
  CHECK(all_of(second) == one);
  CHECK(all_of(second) == two);
  // Nodes and runs have their own numbers; those with a seed of their own follow from that alone.
  std::set<std::vector<float>> different;
  for (const auto* run : {&one, &two}) {
    for (const std::size_t i : {0, 1, 2, 3, 5}) different.insert((*run)[i]);
    CHECK((*run)[3] == (*run)[4]);
  }
  const auto third = all_of(other);
  for (const std::size_t i : {0, 1, 2}) different.insert(third[i]);
  CHECK(different.size() == 13);
  CHECK(third[3] == one[3]);

  const std::uint64_t now = first.random_seed();
  const auto three_runs = all_of(first);
  first.set_random_seed(now);
  const auto again = all_of(first);
  CHECK(again[0] == three_runs[0]);
  first.set_random_seed(11);
  CHECK(all_of(first) == one);
  CHECK(all_of(first) == two);
}

TEST_CASE("random: other numbers in each pass of loops, also of loops in loops") {
  // Loop(3) of Loop(4) of RandomNormal [2], stacked.
  const auto numbers = [](Graph& g) {
    const TensorInfo infos[]{{}};
    const std::size_t n =
        g.add_node(descriptor<op::RandomNormal>, pack(op::RandomNormal{.shape = {2}}), {}, infos);
    return g.nodes[n].outputs[0];
  };
  const auto new_body = [] {
    Graph body;
    body.add_input({ElementType::int64, {}}, "i");
    body.add_output(body.add_input({ElementType::boolean, {}}, "go"));
    return body;
  };
  const auto add_loop = [](Graph& g, Graph body, std::int64_t passes) {
    const std::int64_t count[]{passes};
    const AnyTensor most = constant(g, std::span<const std::int64_t>(count), {});
    g.graphs.push_back(std::move(body));
    const TensorInfo infos[]{{}};
    const std::size_t n = g.add_node(descriptor<op::Loop>, pack(op::Loop{{0}}), {most.id}, infos);
    return g.nodes[n].outputs[0];
  };
  Graph inner = new_body();
  inner.add_output(numbers(inner));
  Graph outer = new_body();
  outer.add_output(add_loop(outer, std::move(inner), 4));
  Graph g;
  const TensorId y = add_loop(g, std::move(outer), 3);
  g.rename(y, "y");
  g.add_output(y);
  Session session(std::move(g), {.seed = 1});
  const auto result = session.run({});
  CHECK(result["y"].info.shape == Dims{3, 4, 2});
  const std::vector<float> all = floats_of(result["y"]);
  CHECK(std::set<float>(all.begin(), all.end()).size() == 24);
  session.set_random_seed(1);
  CHECK(floats_of(session.run({})["y"]) == all);
}
