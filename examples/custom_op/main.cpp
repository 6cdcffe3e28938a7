// An operator and an optimizer of one's own, in one file: the operator with its gradient and kernel
// in a typed model, which the optimizer trains, in an ONNX model that is read back, and in a program
// that the compiler makes of the model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <halftone/halftone.hpp>
#include <halftone/static.hpp>

using namespace halftone;

namespace mine {

/// y[i] = (1 - rate) * y[i - 1] + rate * x[i] along the last axis, or from its end.
///
/// x, y  [..., n], the same shape, floating point
/// grad  the same from the other end: the matrix behind it is transposed
struct Smooth {
  float rate = 0.5f;
  bool backwards = false;

  static constexpr OpId id{"mine", "Smooth", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("rate", rate);
    visit("backwards", backwards);
  }
  static constexpr Inferred infer(TensorInfo x) { return x; }
  template <class T>
  void kernel(View<const T> x, View<T> y) const {
    const std::int64_t n = x.extent(x.rank - 1);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t at = backwards ? x.size() - 1 - i : i;
      const T before = i % n == 0 ? T(0) : y[backwards ? at + 1 : at - 1];
      y[at] = static_cast<T>(before + T(rate) * (x[at] - before));
    }
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += OpFunction<Smooth>{}(g.dy(), {.rate = rate, .backwards = !backwards});
  }
};
inline constexpr OpFunction<Smooth> smooth;
using ops = builtin::with<Smooth>;

/// w -= learning_rate * sign(m), m = momentum * m + dw.
template <hyperparameter_kind Rate>
struct SignSgd {
  Rate learning_rate;
  float momentum = 0.9f;

  void update(auto w, auto dw) const {
    auto m = optimizer_state(w, "Momentum");  // Momentum___w, made by the first update
    m = op::copy_var_update(m, m * momentum + dw);
    op::copy_var_update(w, w - op::sign(m) * hyperparameter(w, "learning_rate", learning_rate));
  }
};
static_assert(optimizer<SignSgd<variable>>);

/// The last number of each row, once w is trained.
constexpr auto model(Graph& g) {
  auto x = input<float, Shape<32, 8>>(g, "x");
  auto y = op::matmul(smooth(x), parameter<float, Shape<8, 1>>(g, "w"));
  output(g, y, "y");
  return y;
}
struct Model {
  static constexpr void build(Graph& g) { model(g); }
};

}  // namespace mine

static Static<mine::Model, mine::ops> net;

int main() {
  Graph g;
  Tensor<float, Shape<32, 1>> y = mine::model(g);
  auto error = y - input<float, Shape<32, 1>>(g, "target");
  auto loss = op::mean(error * error);
  train(g, loss, mine::SignSgd{.learning_rate = variable{0.05f}});
  Session session(std::move(g), {.outputs = {loss, y}});

  // The target is the last number of each smoothed row, which w = (0, ..., 0, 1) gives.
  Array<float> xs({32, 8}), targets({32, 1});
  for (int row = 0; row < 32; ++row) {
    float smoothed = 0;
    for (int i = 0; i < 8; ++i) {
      const int at = row * 8 + i;
      xs[at] = std::sin(0.7f * static_cast<float>(at * at % 97));
      smoothed += 0.5f * (xs[at] - smoothed);
    }
    targets[row] = smoothed;
  }
  for (int step = 0; step <= 400; ++step) {
    if (step % 100 == 0) session.set("learning_rate", 0.05f * std::pow(0.3f, step / 100.f));
    const float now = session.run({{"x", xs}, {"target", targets}})[0].values<float>()[0];
    if (step % 100 == 0) std::printf("step %3d  loss %.6f\n", step, now);
  }

  onnx::save(session.graph(), "custom_op.onnx");
  Session again(onnx::load("custom_op.onnx", {.operators = mine::ops::table}));
  const auto result = again.run({{"x", xs}});

  std::ranges::copy(session.get("w").values<float>(), net.variable<"w">().begin());
  net.run(xs.values());
  std::printf("from ONNX %.4f, static %.4f, expected about %.4f\n", result["y"].values<float>()[0],
              net.output<"y">()[0], targets[0]);
}
