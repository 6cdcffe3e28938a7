// This measures what replicas and loops in the program cost: eight replicas of a small network that
// join their gradients against one, and a hundred training steps in one run against a hundred runs.
#include <cstdio>
#include <cstring>
#include <tuple>
#include <vector>

#include <halftone/autodiff.hpp>
#include <halftone/collectives.hpp>
#include <halftone/function.hpp>
#include <halftone/halftone.hpp>
#include <halftone/streams.hpp>

#include "measure.hpp"

using namespace halftone;

namespace {

constexpr int batch = 32, rounds = 60;

template <std::int64_t... D>
using F = Tensor<float, Shape<D...>>;

struct Weights {
  F<64, 128> w0;
  F<128> b0;
  F<128, 10> w1;
  F<10> b1;
  constexpr void tensors(auto&& visit) {
    visit("w0", w0);
    visit("b0", b0);
    visit("w1", w1);
    visit("b1", b1);
  }
};

F<> loss_of(F<batch, 64> x, F<batch, 10> t, Weights w) {
  const auto hidden = op::relu(op::matmul(x, w.w0) + w.b0);
  const auto e = op::matmul(hidden, w.w1) + w.b1 - t;
  return op::mean(e * e, {.keepdims = 0}).as<F<>>();
}

/// Records one step of gradient descent; gradients are the mean over replicas.
void step(Graph& g, F<batch, 64> x, F<batch, 10> t, Weights w, bool is_joined) {
  static const auto loss = function(&loss_of);
  static const auto gradient = autodiff(loss);
  const auto site = call_with_info(loss, x, t, w);
  const std::vector<float> one{1};
  const auto [dx, dt, dw] = call(gradient, site, constant<float, Shape<>>(g, one));
  for_pairs(w, dw, [&](auto v, auto dv) {
    const auto d =
        is_joined ? collectives::replicated_all_reduce(dv, CollectiveOperator::mean) : dv;
    op::copy_var_update(v, v - op::mul(d, 0.01f));
  });
}

Array<float> filled_array(const Dims& shape) {
  Array<float> x(shape);
  for (std::int64_t i = 0; i < x.info().elements(); ++i) x[i] = static_cast<float>(i % 17) / 17;
  return x;
}

/// Seconds of a call, the best of many.
template <class Call>
double best(Call&& call) {
  std::int64_t calls = 1;
  double least = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double once = bench::time_once(call, calls);
    least = once < least ? once : least;
  }
  return least;
}

double run_replicas(std::int32_t replicas, int threads) {
  Graph g;
  g.replicas = replicas;
  const auto x = input<float, Shape<batch, 64>>(g, "x");
  const auto t = input<float, Shape<batch, 10>>(g, "t");
  step(g, x, t, parameters<Weights>(g), true);
  Session session(std::move(g), {.threads = threads});
  const auto array = [&](std::int64_t columns) {
    return filled_array(replicas > 1 ? Dims{replicas, batch, columns} : Dims{batch, columns});
  };
  const Array<float> xs = array(64), ts = array(10);
  return best([&] { session.run({{"x", xs}, {"t", ts}}); });
}

constexpr int steps = 100;

double run_loop() {
  Graph g;
  const auto xs = h2d_stream<float, Shape<batch, 64>>(g, "x");
  const auto ts = h2d_stream<float, Shape<batch, 10>>(g, "t");
  const Weights w = parameters<Weights>(g);
  const auto body = function([&](Graph& inner, by_ref<F<64, 128>> w0, by_ref<F<128>> b0,
                                 by_ref<F<128, 10>> w1, by_ref<F<10>> b1) {
    step(inner, host_load(inner, xs), host_load(inner, ts), {*w0, *b0, *w1, *b1}, false);
    return std::tuple<>{};
  });
  repeat(body, steps, w.w0, w.b0, w.w1, w.b1);
  Session session(std::move(g), {.host_transfers = steps});
  const Array<float> x = filled_array({steps, batch, 64}), t = filled_array({steps, batch, 10});
  return best([&] { session.run({{xs, x}, {ts, t}}); });
}

double run_many() {
  Graph g;
  const auto x = input<float, Shape<batch, 64>>(g, "x");
  const auto t = input<float, Shape<batch, 10>>(g, "t");
  step(g, x, t, parameters<Weights>(g), false);
  Session session(std::move(g));
  const Array<float> xs = filled_array({steps, batch, 64}), ts = filled_array({steps, batch, 10});
  return best([&] {
    for (int i = 0; i < steps; ++i) {
      AnyView one_x = xs, one_t = ts;
      one_x.info.shape = {batch, 64};
      one_t.info.shape = {batch, 10};
      one_x.data = static_cast<const float*>(one_x.data) + i * batch * 64;
      one_t.data = static_cast<const float*>(one_t.data) + i * batch * 10;
      session.run({{"x", one_x}, {"t", one_t}});
    }
  });
}

}  // namespace

int main() {
  const double one = run_replicas(1, 1);
  std::printf("1 replica               %8.1f us a step\n", 1e6 * one);
  for (const int threads : {1, 2, 4}) {
    const double eight = run_replicas(8, threads);
    std::printf("8 replicas, %d thread%s   %8.1f us a step  %.2f times one\n", threads,
                threads == 1 ? " " : "s", 1e6 * eight, eight / one);
  }
  const double many = run_many(), loop = run_loop();
  std::printf("100 runs                %8.1f us\n", 1e6 * many);
  std::printf("1 run of 100 steps      %8.1f us  %.3f times that\n", 1e6 * loop, loop / many);
}
