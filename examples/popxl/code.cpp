// Code that is kept beside the machine until it is needed, and products of float8 numbers.
#include "programs.hpp"

using namespace popxl;

void programs::code_loading() {
  Ir ir;
  auto increment = ir.create_graph([](Number x) { return x + 1.f; });
  auto twice = ir.create_graph([](Number x) { return x * 2.f; });
  Main in(ir);
  auto y = d2h_stream<float, Shape<>>("y");
  auto x = variable<float, Shape<>>("x", ones);
  {
    const popxl::in_sequence seq;
    ops::remote_code_load(increment);
    auto more = ops::call(increment, x);
    ops::remote_code_load(twice);
    host_store(y, ops::call(twice, more));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show("2 (1 + 1)", session.run()[y]);
}

void programs::code_loading_nested() {
  Ir ir;
  auto increment = ir.create_graph([](Number x) { return x + 1.f; });
  auto outer = ir.create_graph([&](Number x) {
    const popxl::in_sequence seq;
    ops::remote_code_load(increment);  // by the graph that calls it
    return ops::call(increment, x) * 2.f;
  });
  Main in(ir);
  auto y = d2h_stream<float, Shape<>>("y");
  auto x = variable<float, Shape<>>("x", ones);
  {
    const popxl::in_sequence seq;
    ops::remote_code_load(outer);
    host_store(y, ops::call(outer, x));
  }
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show("2 (1 + 1)", session.run()[y]);
}

void programs::float8_inference() {
  Ir ir;
  Main in(ir);
  auto x = h2d_stream<halftone::half, Shape<1, 1, 3, 3>>("x");
  auto y = d2h_stream<halftone::half, Shape<1, 1, 2, 2>>("y");
  // The weight becomes float8 on the host, times 2^1; the image on the device, as it is.
  const Array<float> ones_and_halves({1, 1, 2, 2}, {1, 0.5f, 0.5f, 1});
  auto w = variable(
      halftone::host_pow2scale_cast_to_fp8(ones_and_halves, ElementType::float8_e4m3fnuz, 1), "w");
  auto image = ops::pow2scale_cast_to_fp8<halftone::float8_e4m3fnuz>(host_load(x), constant(0));
  host_store(y, ops::conv_pow2scaled(image, w, constant(-1)));  // takes the 2^1 out again
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  Array<halftone::half> counted({1, 1, 3, 3});
  for (std::size_t i = 0; i < counted.size(); ++i) {
    counted[i] = halftone::half(static_cast<float>(i));
  }
  show("a + b / 2 + c / 2 + d", session.run({{x, counted}})[y]);
}
