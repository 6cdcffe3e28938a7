#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/target.hpp>
#include <halftone/train.hpp>

#include "on_device.hpp"

using namespace halftone;
using namespace on_device_test;

TEST_CASE("the generator of a worker") {
  // The paper's formula by hand: s0 = 1, s1 = 2 gives 3 and the state 2^55 ^ 3 ^ 3 * 2^14, 3 *
  // 2^36.
  ipu::Generator g{1, 2};
  CHECK(g.next() == 3);
  CHECK(g.s0 == ((std::uint64_t{1} << 55) ^ 3 ^ (3 << 14)));
  CHECK(g.s1 == std::uint64_t{3} << 36);
  // The other half of the formula: both bits of a place turn those one and two above.
  ipu::Generator both{1, 1};
  CHECK(both.next() == (2 | 4));
  // A seed register's word v, ~v, v << 13 | ~v >> 19, ~v << 13 | v >> 19.
  const ipu::Generator w = ipu::Generator::of_word(0x8000'0001);
  CHECK(w.s0 == 0x7fff'fffe'8000'0001);
  CHECK(w.s1 == (std::uint64_t{0xffff'd000} << 32 | 0x2fff));
  // poplibs' setSeed: the seed, the tile, the worker and the modifier, and 15 draws.
  ipu::Generator seeded{0x1'0000'0002, std::uint64_t{0x5555'5555} << 32 | (0xaaaa'aaa0 ^ 48) | 5};
  for (int i = 0; i < 15; ++i) seeded.next();
  CHECK(seeded == ipu::Generator::of_seed(0x1'0000'0002, 3, 5));
  // Bits are set half of the time: 64 * 1000 of them, 5 standard deviations of 126.
  int bits = 0;
  for (int i = 0; i < 1000; ++i) bits += std::popcount(seeded.next());
  CHECK(std::abs(bits - 32'000) < 5 * 127);
}

TEST_CASE("narrowing to half") {
  const auto value = [](ipu::Narrowed n) {
    return static_cast<float>(std::bit_cast<half>(n.bits));
  };
  for (int code = 0; code < 0x10000; ++code) {
    const auto h = std::bit_cast<half>(static_cast<std::uint16_t>(code));
    const auto x = static_cast<float>(h);
    if (!std::isfinite(x)) continue;
    CHECK(ipu::narrow(x, false).bits == code);
    // Exact values never change, whatever is drawn.
    CHECK(ipu::narrow(x, false, 0).bits == code);
    CHECK(ipu::narrow(x, false, 0xffff).bits == code);
  }
  CHECK(value(ipu::narrow(1e6f, false)) == 65504);
  CHECK(value(ipu::narrow(-INFINITY, false)) == -65504);
  CHECK(std::isnan(value(ipu::narrow(1e6f, true))));
  CHECK(ipu::narrow(1e6f, true).has_overflowed);
  CHECK(std::isnan(value(ipu::narrow(NAN, false, 7))));
  // Up with the probability of what is cut off: of 65536 draws, that share exactly.
  struct Case {
    float x;
    int ups;
  };
  for (const Case c : {Case{1 + 0x1p-12f, 1 << 14}, Case{-3 - 0x1p-13f * 5, 5 << 12},
                       Case{0x1p-24f * 2.75f, 3 << 14}, Case{0x1p-26f, 1 << 14}}) {
    int ups = 0;
    for (int r = 0; r < 65'536; ++r) {
      const float y = value(ipu::narrow(c.x, false, static_cast<std::uint16_t>(r)));
      ups += std::abs(y) > std::abs(c.x) ? 1 : 0;
      CHECK(std::abs(y - c.x) <= 0x1p-9f);
    }
    CHECK(ups == c.ups);
  }
}

TEST_CASE("sums of the machine are exact where any sum is") {
  // Small integers have exact sums in half, so the machine's order must give cpu's numbers.
  struct Case {
    const char* name;
    std::function<Graph()> graph;
    Dims a, b, c;
  };
  const auto two = [](const Dims& a, const Dims& b, auto f) {
    return Case{"",
                [=] {
                  Graph g;
                  output(g, f(g.input<half>("a", a), g.input<half>("b", b)), "y");
                  return g;
                },
                a,
                b,
                {}};
  };
  std::vector<Case> cases;
  cases.push_back(two({3, 40}, {40, 5}, [](auto a, auto b) { return op::matmul(a, b); }));
  cases.push_back(two({2, 1, 3, 20}, {4, 20, 5}, [](auto a, auto b) { return op::matmul(a, b); }));
  cases.push_back(two({40}, {40, 5}, [](auto a, auto b) { return op::matmul(a, b); }));
  cases.push_back(two({40, 3}, {5, 40}, [](auto a, auto b) {
    return op::gemm(a, b, {.alpha = 2, .trans_a = 1, .trans_b = 1});
  }));
  cases.push_back(two({2, 6, 7, 5}, {4, 3, 3, 2}, [](auto a, auto b) {
    return op::conv(a, b,
                    {.strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 0, 2, 1}, .group = 2});
  }));
  cases.push_back(two({2, 4, 4, 5}, {4, 3, 3, 2}, [](auto a, auto b) {
    return op::conv_transpose(a, b, {.strides = {2, 1}, .pads = {1, 0, 0, 1}, .group = 2});
  }));
  for (const AutoPad pad : {AutoPad::same_upper, AutoPad::same_lower, AutoPad::valid}) {
    cases.push_back(two({1, 2, 5, 4}, {2, 3, 4, 3}, [=](auto a, auto b) {
      return op::conv_transpose(a, b, {.strides = {2, 3}, .auto_pad = pad});
    }));
  }
  cases.push_back(two({1, 2, 5, 4}, {2, 3, 4, 3}, [](auto a, auto b) {
    return op::conv_transpose(
        a, b, {.strides = {2, 2}, .output_padding = {1, 0}, .output_shape = {9, 12}});
  }));
  for (const Case& c : cases) {
    const Array<half> a = numbers<half>(c.a, small);
    const Array<half> b = numbers<half>(c.b, [](std::int64_t i) { return small(i * 3 + 1); });
    Session cpu(c.graph());
    Session device(c.graph(), on_device({.half = true}, &few, true));
    const auto expected = floats(cpu.run({{"a", a}, {"b", b}})["y"]);
    CHECK(floats(device.run({{"a", a}, {"b", b}})["y"]) == expected);
  }
}

TEST_CASE("partial sums in half lose what is below their last place") {
  // 512 elements of which 16 make 1024, and each other 16 make 0.25: half a place below half's at
  // 1024 and rounded away, unless sums are float.
  Graph g;
  const AnyTensor a = g.input<half>("a", {1, 512}), b = g.input<half>("b", {512, 1});
  output(g, op::matmul(a, b), "y");
  const auto x = numbers<half>({1, 512}, [](std::int64_t i) { return i < 16 ? 64.f : 0x1p-6f; });
  const auto units = numbers<half>({512, 1}, [](std::int64_t) { return 1.f; });
  Session in_half(g, on_device({.half = true}, &one, true));
  Session in_float(g, on_device({.half = true}, &one, false));
  CHECK(floats(in_half.run({{"a", x}, {"b", units}})["y"])[0] == 1024);
  CHECK(floats(in_float.run({{"a", x}, {"b", units}})["y"])[0] ==
        1032);  // 1031.75, to nearest even
  // Stochastic rounding is right on average: 31 draws of 1/4 each run, over 400 runs.
  Session random(g, on_device({.stochastic_rounding = true}, &one, true));
  double sum = 0;
  for (int i = 0; i < 400; ++i) {
    sum += static_cast<double>(floats(random.run({{"a", x}, {"b", units}})["y"])[0]);
  }
  CHECK(std::abs(sum / 400 - 1031.75) < 5 * std::sqrt(31 * 0.1875 / 400));
}

TEST_CASE("stochastic rounding follows from the state of the generators alone") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {1000});
  output(g, x * x + x, "y");
  const auto values =
      numbers<half>({1000}, [](std::int64_t i) { return 1 + static_cast<float>(i) / 1000; });
  SessionOptions options = on_device({.stochastic_rounding = true}, &few);
  options.seed = 3;
  Session a(g, options);
  options.threads = 2;
  Session b(g, options);
  // [2 sets][4 tiles][6 workers][4 words]
  const std::vector<std::uint32_t> state = a.rng_state();
  CHECK(state.size() == 2 * 4 * 6 * 4);
  const ipu::Generator first = ipu::Generator::of_seed(3, 0, 0);
  CHECK(state[0] == static_cast<std::uint32_t>(first.s0));
  CHECK(state[3] == static_cast<std::uint32_t>(first.s1 >> 32));
  const auto y = floats(a.run({{"x", values}})["y"]);
  CHECK(y == floats(b.run({{"x", values}})["y"]));
  CHECK(a.rng_state() == b.rng_state());
  CHECK(a.rng_state() != state);
  CHECK(floats(a.run({{"x", values}})["y"]) != y);
  a.set_rng_state(state);
  CHECK(floats(a.run({{"x", values}})["y"]) == y);
  a.set_random_seed(3);
  CHECK(a.rng_state() == state);
  // Each result is one of the two halves next to the exact one.
  for (std::size_t i = 0; i < 1000; ++i) {
    const float v = static_cast<float>(values.values()[i]);
    CHECK(std::abs(y[i] - (v * v + v)) < 2 * 0x1p-8f);
  }
  CHECK_THROWS_AS(a.set_rng_state(std::vector<std::uint32_t>(8)), UsageError);
  Session plain(g, {.device = Device::ipu_model});
  CHECK_THROWS_AS(plain.rng_state(), UsageError);
  CHECK_THROWS_AS(plain.set_rng_state(state), UsageError);
}

TEST_CASE("floating-point exceptions name what raised them") {
  struct Case {
    std::function<AnyTensor(AnyTensor)> f;
    float x;
    const char *exception, *op;
  };
  const Case cases[] = {
      {[](AnyTensor x) { return op::log(x); }, -1, "invalid operation", "Log"},
      {[](AnyTensor x) { return op::sqrt(x); }, -4, "invalid operation", "Sqrt"},
      {[](AnyTensor x) { return 1 / x; }, 0, "division by zero", "Div"},
      {[](AnyTensor x) { return x / x; }, 0, "invalid operation", "Div"},
      {[](AnyTensor x) { return op::exp(x); }, 1000, "overflow", "Exp"},
      {[](AnyTensor x) { return op::abs(x); }, NAN, "invalid operation", "Abs"},
  };
  for (const ElementType type : {f32, f16}) {
    for (const Case& c : cases) {
      Graph g;
      const AnyTensor x{&g, g.add_input({type, {2}}, "x")};
      output(g, op::neg(c.f(op::identity(x))), "y");
      const auto run = [&](const ipu::Arithmetic& arithmetic) {
        Session session(g, on_device(arithmetic, &few));
        const auto wide = numbers<float>({2}, [&](std::int64_t i) { return i == 1 ? c.x : 1; });
        const auto narrow = numbers<half>({2}, [&](std::int64_t i) { return i == 1 ? c.x : 1; });
        return floats(type == f32 ? session.run({{"x", wide}})["y"]
                                  : session.run({{"x", narrow}})["y"]);
      };
      bool thrown = false;
      try {
        run({.floating_point_checks = true});
      } catch (const ipu::FloatingPointError& e) {
        thrown = true;
        const std::string text = e.what();
        INFO(text);
        CHECK(e.exception() == c.exception);
        CHECK(std::string(e.node()).find(c.op) == 0);
        CHECK_FALSE(e.tensor().empty());
      }
      CHECK(thrown);
      CHECK(run({.half = true}).size() == 2);
    }
  }
}

TEST_CASE("operands of products that are no numbers are invalid, moved ones are not") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 2});
  output(g, op::transpose(x, {.perm = {1, 0}}), "moved");
  Graph product = g;
  output(product, op::matmul(AnyTensor{&product, x.id}, AnyTensor{&product, x.id}), "y");
  const Array<float> values({2, 2}, {1, NAN, 2, 3});
  Session moves(g, on_device({.floating_point_checks = true}, &few));
  CHECK(std::isnan(floats(moves.run({{"x", values}})["moved"])[2]));
  Session multiplies(product, on_device({.floating_point_checks = true}, &few));
  CHECK_THROWS_AS(multiplies.run({{"x", values}}), ipu::FloatingPointError);
}

TEST_CASE("what is too large for half is the largest half, or an exception") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {1});
  output(g, x + x, "y");
  const auto big = numbers<half>({1}, [](std::int64_t) { return 60'000.f; });
  Session cpu(g), unasked(g, on_device({}, &few)), device(g, on_device({.half = true}, &few));
  CHECK(std::isinf(floats(cpu.run({{"x", big}})["y"])[0]));
  CHECK(std::isinf(floats(unasked.run({{"x", big}})["y"])[0]));  // nothing asked for: as cpu
  CHECK(floats(device.run({{"x", big}})["y"])[0] == 65504);
  Session checked(g, on_device({.floating_point_checks = true}, &few));
  CHECK_THROWS_AS(checked.run({{"x", big}}), ipu::FloatingPointError);
  // -inf that only waits to be chosen raises nothing.
  Graph masked;
  const AnyTensor m{&masked, masked.add_input({ElementType::boolean, {1}}, "m")};
  const AnyTensor z = masked.input<float>("z", {1});
  output(masked, op::where(m, z, z * -INFINITY), "y");
  Session chooses(masked, on_device({.floating_point_checks = true}, &few));
  const Array<bool> yes({1}, {true});
  const Array<float> value({1}, {2});
  CHECK(floats(chooses.run({{"m", yes}, {"z", value}})["y"])[0] == 2);
}

TEST_CASE("the machine's results do not depend on the host's threads") {
  Graph g;
  const AnyTensor a = g.input<half>("a", {100, 300}), b = g.input<half>("b", {300, 70});
  const AnyTensor y = op::softmax(op::matmul(a, b), {.axis = 1});
  const bool training = true;
  const AnyTensor mode = constant(g, std::span(&training, 1), Dims{});
  output(g, AnyTensor{&g, detail::record(g, op::Dropout{}, {y.id, no_tensor, mode.id}, 1)[0]}, "y");
  const auto x = numbers<half>({100, 300}, [](std::int64_t i) { return small(i) / 16; });
  const auto w = numbers<half>({300, 70}, [](std::int64_t i) { return small(i + 1) / 16; });
  for (const bool is_stochastic : {false, true}) {
    for (const bool has_half_sums : {false, true}) {
      std::vector<std::vector<float>> found;
      for (const int threads : {1, 2, 5}) {
        SessionOptions options =
            on_device({.half = true, .stochastic_rounding = is_stochastic, .hardware_random = true},
                      &few, has_half_sums);
        options.threads = threads;
        options.seed = 5;
        Session session(g, options);
        found.push_back(floats(session.run({{"a", x}, {"b", w}})["y"]));
      }
      CHECK(found[0] == found[1]);
      CHECK(found[0] == found[2]);
    }
  }
}

TEST_CASE("floats of the machine are never subnormal") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  output(g, x * 0.5f, "y");
  const Array<float> tiny({2}, {-0x1p-126f, 0x1p-125f});
  Session device(g, on_device({.half = true}, &few));
  CHECK(floats(device.run({{"x", tiny}})["y"]) == std::vector<float>{-0.f, 0x1p-126f});
}

TEST_CASE("random operators draw as the hardware") {
  constexpr std::int64_t n = 20'000;
  for (const ElementType type : {f32, f16}) {
    Graph g;
    const auto add = [&](auto op, std::string_view name) {
      op.dtype = type;
      op.shape = {n};
      output(g, AnyTensor{&g, detail::record(g, op, {}, 1)[0]}, name);
    };
    add(op::RandomUniform{.low = -1, .high = 3}, "u");
    add(op::RandomNormal{.mean = 2, .scale = 3}, "z");
    SessionOptions options = on_device({.hardware_random = true}, &few);
    options.seed = 17;
    Session a(g, options), b(g, options);
    options.ipu.target = &one;
    Session other(g, options);
    auto r = a.run({});
    const auto u = floats(r["u"]), z = floats(r["z"]);
    CHECK(u == floats(b.run({})["u"]));
    CHECK(u != floats(other.run({})["u"]));  // numbers follow the tiles
    double mean = 0, square = 0;
    for (const float v : u) {
      CHECK(v >= -1);
      CHECK(v <= 3);
      mean += static_cast<double>(v) / n;
    }
    CHECK(std::abs(mean - 1) < 5 * (4 / std::sqrt(12.0)) / std::sqrt(double{n}));
    mean = 0;
    for (const float v : z) {
      mean += static_cast<double>(v) / n;
      square += static_cast<double>(v - 2) * static_cast<double>(v - 2) / n;
    }
    CHECK(std::abs(mean - 2) < 5 * 3 / std::sqrt(double{n}));
    CHECK(std::abs(square - 9) < 5 * 9 * std::sqrt(2.0 / n));
    CHECK(std::set<float>(z.begin(), z.end()).size() > 200);
  }
}

TEST_CASE("dropout on the hardware keeps the share that it should") {
  constexpr std::int64_t n = 20'000;
  Graph g;
  const AnyTensor x = g.input<half>("x", {n});
  const float ratio = 0.25f;
  const bool training = true;
  const AnyTensor share = constant(g, std::span(&ratio, 1), Dims{});
  const AnyTensor mode = constant(g, std::span(&training, 1), Dims{});
  const std::vector<TensorId> parts =
      detail::record(g, op::Dropout{}, {x.id, share.id, mode.id}, 2);
  output(g, AnyTensor{&g, parts[0]}, "y");
  output(g, AnyTensor{&g, parts[1]}, "mask");
  Session session(g, on_device({.hardware_random = true}, &few));
  const auto threes = numbers<half>({n}, [](std::int64_t) { return 3.f; });
  auto r = session.run({{"x", threes}});
  const auto y = floats(r["y"]);
  const auto mask = r["mask"].values<bool>();
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    CHECK(y[i] == (mask[i] ? 4 : 0));
    kept += mask[i] ? 1 : 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 0.75 * n) < 5 * std::sqrt(0.1875 * n));
}

TEST_CASE("exponents of scaled float8 casts") {
  Graph g;
  const AnyTensor x = g.input<half>("x", {4});
  const AnyTensor scale{&g, g.add_input({ElementType::int32, {}}, "scale")};
  const auto cast = [&](auto op, AnyTensor v, AnyTensor exponent) {
    return AnyTensor{&g, detail::record(g, op, {v.id, exponent.id}, 1)[0]};
  };
  const AnyTensor narrow = cast(op::Pow2ScaleThenCast{.to = ElementType::float8_e5m2}, x, scale);
  output(g, cast(op::CastThenPow2Scale{}, narrow, op::neg(scale)), "y");
  const Array<half> values({4}, {half(1), half(-2), half(0.25f), half(3)});
  const auto with = [](std::int32_t e) { return Array<std::int32_t>(Dims{}, {e}); };
  Session device(g, on_device({.half = true}, &few));
  CHECK(floats(device.run({{"x", values}, {"scale", with(3)}})["y"]) ==
        std::vector<float>{1, -2, 0.25f, 3});
  CHECK_THROWS_AS(device.run({{"x", values}, {"scale", with(33)}}), InputError);
  Session unchecked(g, on_device({.half = true, .check_float8_scale = false}, &few));
  CHECK_NOTHROW(unchecked.run({{"x", values}, {"scale", with(33)}}));
}

TEST_CASE("training with the machine's arithmetic") {
  // The loss is sum(w * x): the gradient of w is x, and w becomes w - 0.5 x. Halves of these values
  // are exact.
  Graph g;
  const AnyTensor x = g.input<half>("x", {2});
  const half start[] = {half(1), half(2)};
  const std::byte* bytes = reinterpret_cast<const std::byte*>(start);
  const AnyTensor w{
      &g, g.add_variable({f16, {2}}, Bytes(std::vector<std::byte>(bytes, bytes + 4)), "w")};
  const AnyTensor loss = op::sum(w * x, {.keepdims = 0});
  g.rename(loss.id, "loss");
  train(g, loss, Sgd{.learning_rate = 0.5f});
  SessionOptions options = on_device({.half = true}, &few, true);
  options.outputs = {"loss"};
  Session session(std::move(g), options);
  const Array<half> given({2}, {half(2), half(4)});
  CHECK(floats(session.run({{"x", given}})["loss"])[0] == 10);
  CHECK(floats(session.get("w")) == std::vector<float>{0, 0});
  session.run({{"x", given}});
  const std::vector<float> after = floats(session.get("w"));
  CHECK(after[0] == -1);
  CHECK(after[1] == -2);
}

TEST_CASE("an interpreted update gives the new weight as its output, too") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const TensorId w = g.add_variable({f32, {2}}, Initial{Initial::Rule::fill, 4, 0}, "w");
  const AnyTensor loss = op::sum(AnyTensor{&g, w} * x, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 0.5f});
  SessionOptions options = on_device({.half = true}, &few);
  options.outputs = {"UpdatedVar___w"};
  Session session(std::move(g), options);
  const Array<float> given({2}, {2, 4});
  CHECK(floats(session.run({{"x", given}})[0]) == std::vector<float>{3, 2});
  CHECK(floats(session.run({{"x", given}})[0]) == std::vector<float>{2, 0});
}

TEST_CASE("arithmetic that has no machine") {
  Graph g;
  output(g, op::neg(g.input<float>("x", {1})), "y");
  SessionOptions options;
  options.ipu.arithmetic.half = true;
  CHECK_THROWS_AS(Session(g, options), UsageError);
  options.device = Device::ipu_model;
  options.stop_at_nan = true;
  CHECK_THROWS_AS(Session(g, options), UsageError);
}
