// The training step of a network as a constant. The limits that the compilers have without flags are
// enough: clang 19 needs fewer than half of its 1,048,576 steps, g++ 12 an eighth of its operations.
#include <doctest/doctest.h>

#include <halftone/program/program.hpp>
#include <halftone/train/recorder.hpp>

#include "fingerprint.hpp"
#include "networks.hpp"

using namespace halftone;
using test::fingerprint;

namespace {

/// The step, with the gradients of operators in a list, or of those that the core knows.
template <class Optimizer>
constexpr Graph trained(const Optimizer& optimizer, bool by_list) {
  Graph g = test::perceptron();
  const AnyTensor loss{&g, g.outputs[0]};
  if (by_list) {
    train<op::MatMul, op::Add, op::Relu, op::Softmax, op::Nll>(g, loss, optimizer);
  } else {
    train(g, loss, optimizer);
  }
  return g;
}

constexpr Sgd sgd{.learning_rate = variable{0.5f}, .momentum = 0.75f};
constexpr Adam adam{.weight_decay = 0.125f, .loss_scaling = 8.f};
constexpr Adaptive adaptive{.kind = AdaptiveKind::centered_rmsprop};

// One update for each weight. Beside each step of the forward pass and its gradient stand numbers
// of the optimizer.
static_assert([] {
  const Program program = make_program(trained(adam, true));
  int updates = 0;
  for (const Program::Step& step : program.steps) {
    updates += program.graph.nodes[static_cast<std::size_t>(step.node)].op->id == op::Update::id;
  }
  return updates == 4;
}());

template <auto optimizer>
void check_same() {
  constexpr std::uint64_t program = fingerprint(make_program(trained(optimizer, true)));
  const Graph core = trained(optimizer, false);
  CHECK(trained(optimizer, true) == core);
  CHECK(fingerprint(make_program(core)) == program);
}

}  // namespace

// The law: constant evaluation and the run evaluate one function.
TEST_CASE("program: a training step made by the compiler is the one made at run time") {
  check_same<sgd>();
  check_same<adam>();
  check_same<adaptive>();
  CHECK(fingerprint(make_program(trained(sgd, false))) !=
        fingerprint(make_program(trained(adam, false))));
}
