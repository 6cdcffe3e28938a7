// What running costs beside the kernels: one tiny operator, a chain of a hundred, and a group of
// twenty over an array beyond the caches. One thread.
#include <cstdio>
#include <cstring>

#include <halftone/halftone.hpp>

#include "measure.hpp"

using namespace halftone;

namespace {

constexpr int rounds = 200;

/// Seconds of a run, the best of many.
double best(Session& session, const Array<float>& x) {
  std::int64_t calls = 1;
  double least = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double once = bench::time_once([&] { session.run({{"x", x}}); }, calls);
    least = once < least ? once : least;
  }
  return least;
}

AnyTensor chain(AnyTensor x, int length) {
  for (int i = 0; i < length; ++i) {
    switch (i % 4) {
      case 0:
        x = x * 1.0001f;
        break;
      case 1:
        x = x + 0.001f;
        break;
      case 2:
        x = op::relu(x);
        break;
      default:
        x = x - 0.001f;
        break;
    }
  }
  return x;
}

/// Tiny operators that cannot be fused, since each has another shape than the one before.
AnyTensor unfused_chain(Graph& g, AnyTensor x, int length) {
  for (int i = 0; i < length; ++i) {
    x = i % 2 == 0 ? op::concat(x, x, {.axis = 0})
                   : op::slice(x, constant(g, {0}), constant(g, {4}));
  }
  return x;
}

}  // namespace

int main() {
  {
    Graph g;
    const auto x = input<float, Shape<4>>(g, "x");
    output(g, x + parameter<float, Shape<4>>(g, "w"), "y");
    Session session(std::move(g));
    const Array<float> data({4}, {1, 2, 3, 4});
    std::printf("add of 4 elements        %8.3f us a run      limit 0.3\n",
                1e6 * best(session, data));
  }
  {
    Graph g;
    output(g, chain(g.input<float>("x", {4}), 100), "y");
    Session session(std::move(g));
    const Array<float> data({4}, {1, 2, 3, 4});
    std::printf("100 element-wise of 4    %8.3f us a run      limit 5\n",
                1e6 * best(session, data));
  }
  {
    Graph g;
    const AnyTensor x = g.input<float>("x", {4});
    output(g, unfused_chain(g, x, 100), "y");
    Session session(std::move(g));
    const Array<float> data({4}, {1, 2, 3, 4});
    std::printf("100 concat and slice     %8.3f us a run\n", 1e6 * best(session, data));
  }
  {
    constexpr std::int64_t n = 1 << 20;
    Graph g;
    output(g, chain(g.input<float>("x", {n}), 20), "y");
    Session session(std::move(g));
    Array<float> data({n});
    for (std::int64_t i = 0; i < n; ++i)
      data[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000) * 1e-3f;
    bench::Buffer<float> from(n), to(n);
    double copy = 1e9, group = 1e9;
    std::int64_t calls = 1, copies = 1;
    for (int i = 0; i < rounds; ++i) {  // in turns, as the machine's speed drifts
      const double c = bench::time_once(
          [&] {
            std::memcpy(to.data(), from.data(), n * sizeof(float));
            __asm__ volatile("" : : "r"(to.data()) : "memory");
          },
          copies);
      const double s = bench::time_once([&] { session.run({{"x", data}}); }, calls);
      copy = c < copy ? c : copy;
      group = s < group ? s : group;
    }
    std::printf(
        "20 element-wise of 2^20  %8.1f us a run      %.2f times a copy (%.1f us), limit 3\n",
        1e6 * group, group / copy, 1e6 * copy);
  }
}
