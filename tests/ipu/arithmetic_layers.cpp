#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <halftone/op/einsum.hpp>

#include "on_device.hpp"

using namespace halftone;
using namespace on_device_test;

namespace {

AnyTensor record_one(Graph& g, auto op, const std::vector<TensorId>& ids) {
  return {&g, detail::record(g, op, ids, 1)[0]};
}

}  // namespace

TEST_CASE("partial sums of recurrent layers and of Einsum are the machine's") {
  // As of MatMul: 512 elements of which 16 make 1024, and each other 16 make 0.25.
  const auto x = numbers<half>({1, 1, 512}, [](std::int64_t i) { return i < 16 ? 64.f : 0x1p-6f; });
  const auto w = numbers<half>({1, 1, 512}, [](std::int64_t) { return 1.f; });
  const Array<half> r({1, 1, 1}, {half(0)});
  Graph recurrent;
  const TensorId ids[] = {recurrent.add_input({f16, {1, 1, 512}}, "x"),
                          recurrent.add_input({f16, {1, 1, 512}}, "w"),
                          recurrent.add_input({f16, {1, 1, 1}}, "r")};
  const op::RNN rnn{
      .activations = {CellFunction::affine}, .activation_alpha = {1}, .activation_beta = {0}};
  output(recurrent, record_one(recurrent, rnn, {ids[0], ids[1], ids[2]}), "y");
  Graph einsum;
  op::Einsum product;
  product.equation.assign("bij,bkj->bik");
  const std::vector<TensorId> operands{einsum.add_input({f16, {1, 1, 512}}, "x"),
                                       einsum.add_input({f16, {1, 1, 512}}, "w")};
  const TensorId summed = detail::expand_thunk<op::Einsum>(einsum, pack(product), operands, 1)[0];
  output(einsum, AnyTensor{&einsum, summed}, "y");
  for (const bool has_half_sums : {true, false}) {
    const SessionOptions options = on_device({.half = true}, &one, has_half_sums);
    const float expected = has_half_sums ? 1024 : 1032;  // 1031.75, to nearest even
    Session a(recurrent, options), b(einsum, options);
    CHECK(floats(a.run({{"x", x}, {"w", w}, {"r", r}})["y"])[0] == expected);
    CHECK(floats(b.run({{"x", x}, {"w", w}})["y"])[0] == expected);
  }
  // Stochastic rounding follows from the state of the generators, and is right on average.
  const SessionOptions options = on_device({.stochastic_rounding = true}, &one, true);
  Session a(recurrent, options), b(recurrent, options);
  double sum = 0;
  for (int i = 0; i < 400; ++i) {
    const float y = floats(a.run({{"x", x}, {"w", w}, {"r", r}})["y"])[0];
    CHECK(y == floats(b.run({{"x", x}, {"w", w}, {"r", r}})["y"])[0]);
    sum += static_cast<double>(y);
  }
  CHECK(std::abs(sum / 400 - 1031.75) < 5 * std::sqrt(31 * 0.1875 / 400));
}

// In the machine's own types the code of a negative zero is the only NaN: both zeros are one.
TEST_CASE("scaled float8 of the machine") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ElementType type : {f16, f32}) {
    for (const ElementType to : {ElementType::float8_e4m3fn, ElementType::float8_e5m2,
                                 ElementType::float8_e4m3fnuz, ElementType::float8_e5m2fnuz}) {
      const float largest = to == ElementType::float8_e4m3fn     ? 448
                            : to == ElementType::float8_e4m3fnuz ? 240
                                                                 : 57344;
      const bool is_own = to == ElementType::float8_e4m3fnuz || to == ElementType::float8_e5m2fnuz;
      Graph g;
      const AnyTensor x{&g, g.add_input({type, {6}}, "x")};
      const AnyTensor scale{&g, g.add_input({ElementType::int32, {}}, "scale")};
      const AnyTensor narrow = record_one(g, op::Pow2ScaleThenCast{.to = to}, {x.id, scale.id});
      g.add_output(narrow.id);
      const AnyTensor back =
          record_one(g, op::CastThenPow2Scale{.to = f32}, {narrow.id, op::neg(scale).id});
      output(g, back, "y");
      const auto run = [&](const std::vector<float>& values, std::int32_t exponent, bool checks) {
        const auto wide = numbers<float>({6}, [&](std::int64_t i) {
          return values[static_cast<std::size_t>(i) % values.size()];
        });
        const auto half_ones = numbers<half>({6}, [&](std::int64_t i) {
          return values[static_cast<std::size_t>(i) % values.size()];
        });
        Session session(g, on_device({.half = true, .floating_point_checks = checks}, &few));
        const Array<std::int32_t> e(Dims{}, {exponent});
        const Result r = type == f32 ? session.run({{"x", wide}, {"scale", e}})
                                     : session.run({{"x", half_ones}, {"scale", e}});
        std::vector<std::uint8_t> codes;
        for (int i = 0; i < 6; ++i) codes.push_back(static_cast<const std::uint8_t*>(r[0].data)[i]);
        return std::pair(codes, floats(r[1]));
      };
      // 2^-4 times the largest number is too large at an exponent of 5, and saturates.
      const std::vector<float> values{largest / 16, -largest / 16, -0.f, nan, 1, -1e-7f};
      const auto [codes, y] = run(values, 5, false);
      CHECK(y[0] == largest / 32);
      CHECK(y[1] == -largest / 32);
      CHECK(codes[2] == 0);
      CHECK((codes[3] == 0x80) == is_own);
      CHECK((codes[3] < 0x80) == !is_own);
      CHECK(std::isnan(y[3]));
      CHECK(y[4] == 1);
      CHECK(codes[5] == 0);
      CHECK(run({largest / 16, 1}, 4, true).second[0] == largest / 16);
      CHECK_THROWS_AS(run({largest / 16}, 5, true), ipu::FloatingPointError);
      CHECK_THROWS_AS(run({nan}, 5, true), ipu::FloatingPointError);
    }
  }
}

TEST_CASE("shaped Dropout draws a mask of its shape on the hardware") {
  constexpr std::int64_t rows = 3, columns = 6000;
  const bool training = true;
  for (const ElementType type : {f32, f16}) {
    Graph g;
    const AnyTensor x{&g, g.add_input({type, {rows, columns}}, "x")};
    const AnyTensor mode = constant(g, std::span(&training, 1), Dims{});
    const op::ShapedDropout dropout{.shape = {1, columns}, .ratio = 0.25f};
    output(g, record_one(g, dropout, {x.id, mode.id}), "y");
    Session session(g, on_device({.hardware_random = true}, &few));
    const auto three = [](std::int64_t) { return 3.f; };
    const auto wide = numbers<float>({rows, columns}, three);
    const auto narrow = numbers<half>({rows, columns}, three);
    const auto y =
        floats((type == f32 ? session.run({{"x", wide}}) : session.run({{"x", narrow}}))["y"]);
    // 1 / 0.75 in half is 1365 / 1024.
    const float kept_value = type == f32 ? 4 : 3 * 1365.f / 1024;
    const auto expected = static_cast<float>(static_cast<half>(kept_value));
    std::int64_t kept = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      kept += y[i] != 0 ? 1 : 0;
      CHECK((y[i] == 0 || y[i] == expected));
      CHECK(y[i] == y[columns + i]);
      CHECK(y[i] == y[2 * columns + i]);
    }
    CHECK(std::abs(static_cast<double>(kept) - 0.75 * columns) <
          5 * std::sqrt(0.1875 * double{columns}));
  }
}

TEST_CASE("what the hardware has no random vertex for is refused") {
  const auto text_of = [](const Graph& g, const std::vector<Input>& inputs) {
    Session session(g, on_device({.hardware_random = true}, &few));
    try {
      session.run(std::span<const Input>(inputs));
    } catch (const UnsupportedError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  output(g, record_one(g, op::Multinomial{}, {x.id}), "y");
  const Array<float> even({2, 3});
  const std::string text = text_of(g, {{"x", even}});
  CHECK(text.find("no random vertex") != std::string::npos);
  CHECK(text.find("Multinomial") != std::string::npos);
  CHECK(text.find("hardware_random = false") != std::string::npos);
  Graph doubles;
  op::RandomUniform uniform;
  uniform.dtype = ElementType::float64;
  uniform.shape = {2};
  output(doubles, record_one(doubles, uniform, {}), "y");
  CHECK(text_of(doubles, {}).find("RandomUniform") != std::string::npos);
}
