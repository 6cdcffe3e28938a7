// An operator of the program's own: one struct.
#include "programs.hpp"

using namespace popxl;

namespace {
using halftone::select;

/// y = x, or alpha x where x is negative.
struct LeakyRelu {
  float alpha = 0.01f;

  static constexpr halftone::OpId id{"custom.ops", "LeakyRelu", 1};
  static constexpr halftone::Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr auto forward(auto x) const { return select(x > 0, x, x * alpha); }
  constexpr auto backward(auto dy, auto x) const { return select(x > 0, dy, dy * alpha); }
};
constexpr halftone::OpFunction<LeakyRelu> leaky;
}  // namespace

void programs::leaky_relu() {
  Ir ir;
  Main in(ir);
  auto x = variable<float, Shape<4>>("x", Array<float>({4}, {-2, -1, 0, 3}));
  auto y = d2h_stream<float, Shape<4>>("y");
  host_store(y, leaky(x, {.alpha = 0.5f}));
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show("x or x / 2", session.run()[y]);
}
