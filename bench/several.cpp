// This measures what it costs to spread a training: the memory and time of a step that computes values of the
// forward part again, beside one that keeps them, a batch that replicas share on two threads, beside a
// session on one (and ranks, where mpirun starts it), and a pipeline of two stages on two threads, beside gradient accumulation on one and
// on two. Times are of alternating runs, the best of each.
#include <halftone/train.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/exec/ranks.hpp>

#include "measure.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

constexpr int rounds = 40;

/// A session of a network that is trained, and its data.
class Step {
 public:
  Step(Graph g, std::int32_t replicas, int threads, Recomputation recompute,
       const Ranks* ranks = nullptr) {
    g.replicas = replicas;
    const AnyTensor logits = g["logits"];
    const AnyTensor label = g.input<std::int32_t>("label", {logits.info().shape[0]});
    const AnyTensor loss = op::nll_loss(op::softmax(logits), label);
    train(g, loss, Sgd{.learning_rate = 1e-3f, .momentum = 0.9f},
          {.reduction = AccumulationReduction::mean});
    graph_ = g;
    graph_.outputs = {loss.id};
    recompute_ = recompute;
    session_ =
        Session(std::move(g),
                {.outputs = {loss}, .threads = threads, .recompute = recompute, .ranks = ranks});
    x_ = AnyArray({ElementType::float32, session_->given_shape(0)});
    for (float& x : x_.values<float>()) x = 0.5f;
    label_ = AnyArray({ElementType::int32, session_->given_shape(1)});
    std::fill(label_.values<std::int32_t>().begin(), label_.values<std::int32_t>().end(), 1);
  }
  void run() { session_->run({{"x", x_}, {"label", label_}}); }
  double megabytes() const {
    Engine engine(graph_, {.recompute = recompute_, .only_plan = true});
    return static_cast<double>(engine.arena_bytes()) / 1e6;
  }

 private:
  std::optional<Session> session_;
  Graph graph_;
  Recomputation recompute_{};
  AnyArray x_, label_;
};

/// A session that trains in micro-batches, in stages or one after the other.
class Pipeline {
 public:
  static constexpr std::int64_t micro_batches = 16;

  Pipeline(Graph g, int threads, std::int32_t stages, Schedule schedule) {
    place(g, {.stages = stages});
    const AnyTensor logits = g["logits"];
    const AnyTensor label = g.input<std::int32_t>("label", {logits.info().shape[0]});
    const AnyTensor loss = op::nll_loss(op::softmax(logits), label);
    train(g, loss, Sgd{.learning_rate = 1e-3f, .momentum = 0.9f},
          {.accumulation = micro_batches, .reduction = AccumulationReduction::mean});
    session_ = Session(std::move(g), {.outputs = {loss},
                                      .accumulation = micro_batches,
                                      .threads = threads,
                                      .schedule = schedule});
    x_ = AnyArray({ElementType::float32, session_->given_shape(0)});
    for (float& x : x_.values<float>()) x = 0.5f;
    label_ = AnyArray({ElementType::int32, session_->given_shape(1)});
    std::fill(label_.values<std::int32_t>().begin(), label_.values<std::int32_t>().end(), 1);
  }
  void run() { session_->run({{"x", x_}, {"label", label_}}); }

 private:
  std::optional<Session> session_;
  AnyArray x_, label_;
};

/// Seconds of a run of each, in turns.
template <class Step>
std::vector<double> best_of(std::vector<Step*> steps) {
  std::vector<double> best(steps.size(), 1e9);
  for (int i = 0; i < rounds; ++i) {
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const double start = bench::now();
      steps[s]->run();
      if (i > 1) best[s] = std::min(best[s], bench::now() - start);
    }
  }
  return best;
}

/// A layered encoder whose first token gives 2 classes, 256 wide.
Graph encoder(int layers) {
  Graph g = networks::encoder(1, 128, layers, 256);
  const AnyTensor first = op::slice(g["y"], constant(g, {0}), constant(g, {1}), constant(g, {1}));
  g.outputs.clear();
  output(g, networks::linear(g, networks::reshaped(g, first, {1, 256}), 256, 2), "logits");
  return g;
}

void compare_recomputation(const char* name, const Graph& g) {
  Step kept(g, 1, 1, Recomputation::none);
  std::printf("%-12s %-10s %8.1f MB %9.2f ms\n", name, "none", kept.megabytes(),
              best_of<Step>({&kept})[0] * 1e3);
  constexpr const char* names[] = {"none", "standard", "norm_only", "all"};
  for (const auto mode : {Recomputation::standard, Recomputation::norm_only, Recomputation::all}) {
    Step again(g, 1, 1, mode);
    const std::vector<double> seconds = best_of<Step>({&kept, &again});
    std::printf("%-12s %-10s %8.1f MB %9.2f ms   %.2f of the memory, %.2f times the time\n", name,
                names[static_cast<int>(mode)], again.megabytes(), seconds[1] * 1e3,
                again.megabytes() / kept.megabytes(), seconds[1] / seconds[0]);
  }
}

void compare_pipelines(const char* name, const Graph& g) {
  Pipeline one(g, 1, 0, Schedule::none), two(g, 2, 0, Schedule::none);
  Pipeline grouped(g, 2, 2, Schedule::grouped), list(g, 2, 2, Schedule::one_f_one_b),
      bubble(g, 2, 2, Schedule::zero_bubble);
  const std::vector<double> seconds = best_of<Pipeline>({&one, &two, &grouped, &list, &bubble});
  constexpr const char* names[] = {"one thread", "two threads", "grouped", "1F1B", "zero bubble"};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    std::printf("%-12s %lld micro-batches, %-12s %9.2f ms   %.2f\n", name,
                static_cast<long long>(Pipeline::micro_batches), names[i], seconds[i] * 1e3,
                seconds[i] / seconds[0]);
  }
}

}  // namespace

int main() {
  if (const Ranks* const ranks = launched_ranks()) {
    Step step(networks::lenet(32), ranks->ranks, 1, Recomputation::none, ranks);
    const double seconds = best_of<Step>({&step})[0];
    if (ranks->rank == 0) {
      std::printf("lenet        as %d ranks of 32 %.2f ms\n", ranks->ranks, seconds * 1e3);
    }
    return 0;
  }
  compare_pipelines("lenet 8", networks::lenet(8));
  compare_pipelines("encoder-4", encoder(4));
  compare_recomputation("encoder-12", encoder(12));
  compare_recomputation("resnet18", networks::resnet18(8, 32));
  Step one(networks::lenet(64), 1, 1, Recomputation::none);
  Step two(networks::lenet(32), 2, 2, Recomputation::none);
  const std::vector<double> seconds = best_of<Step>({&one, &two});
  std::printf(
      "lenet        batch 64 on one thread %.2f ms, as two replicas of 32 on two %.2f ms: "
      "%.2f\n",
      seconds[0] * 1e3, seconds[1] * 1e3, seconds[1] / seconds[0]);
}
