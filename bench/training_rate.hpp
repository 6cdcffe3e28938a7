#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/plan.hpp>
#include <halftone/ipu/profile.hpp>

#include "networks.hpp"

/// Rates of training that the emulated IPU says, to hold against published ones.
namespace training_rates {

using namespace halftone;
using namespace halftone::ipu;

/// Cycles of the optimizer's updates, which a step of many micro-batches makes once.
inline std::int64_t update_cycles(const Report& r) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < r.operations.size(); ++i) {
    if (r.operations[i].type == "Update") sum += r.operation_cycles(i);
  }
  return sum;
}

inline const ProfileOptions half_sums{.partials = ElementType::float16,
                                      .allow_out_of_memory = true};
inline const ProfileOptions float_sums{.partials = ElementType::float32,
                                       .allow_out_of_memory = true};

/// Items a second of `replicas` that compute `items` in each micro-batch, the updates left out.
/// `recomputes`: the forward part runs twice, as it does where activations are not kept.
inline double training_rate(const Graph& forward, const Target& t, double items, double replicas,
                            bool recomputes, const ProfileOptions& options) {
  const Report r = profile(networks::training(forward), t, options);
  std::int64_t cycles = r.cycles() - update_cycles(r);
  if (recomputes) cycles += profile(forward, t, options).cycles();
  return replicas * items / t.seconds(cycles);
}

/// Sequences a second of BERT-Large on 16 IPUs: four pipelines of four IPUs with six layers each.
/// Embeddings, the loss's head, filling pipelines and the replicas' sum are not counted.
inline double bert_rate(const Target& t, std::int64_t batch, std::int64_t tokens,
                        const ProfileOptions& options) {
  return training_rate(networks::in_half(networks::encoder(batch, tokens, 6, 1024)), t,
                       static_cast<double>(batch), 4, true, options);
}

/// Sequences a second of BERT-Large with all that bert_rate leaves out: the fastest that fits of four
/// stages, grouped, in steps of 65,536 sequences; 0: nothing fits.
inline double planned_bert_rate(const Target& t, std::int64_t ipus, std::int64_t tokens) {
  PlanOptions options{.ipus = ipus, .batch = 65'536};
  options.micro_batches = {1, 2, 4, 8};
  options.stages = {4};
  options.schedules = {Schedule::grouped};
  options.profile = half_sums;
  options.train = [](Graph& g) {
    const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
    train(g, loss, Adam{}, {.accumulation = 2});
    g.outputs = {loss.id};
  };
  const Plan found = plan(
      [&](std::int64_t items) { return networks::in_half(networks::bert_large(items, tokens)); }, t,
      options);
  return found.best() != nullptr ? found.best()->items_per_second : 0;
}

/// Images a second of ResNet-50 in steps of `batch` images, a replica on each IPU with 16 images in
/// each micro-batch and all of its state. It may not fit.
inline double planned_image_rate(const Target& t, std::int64_t ipus, std::int64_t batch) {
  PlanOptions options{.ipus = ipus, .batch = batch};
  options.micro_batches = {16};
  options.stages = {1};
  options.recompute = {Recomputation::none};
  options.state = {StatePlace::on_chip};
  options.profile = half_sums;
  options.half = true;
  options.train = [](Graph& g) {
    const AnyTensor loss = op::mean(AnyTensor{&g, g.outputs[0]}, {.keepdims = 0});
    train(g, loss, Sgd{.momentum = 0.9f}, {.accumulation = 2});
    g.outputs = {loss.id};
  };
  const Plan found = plan([](std::int64_t items) { return networks::resnet50(items); }, t, options);
  return found.points.at(0).items_per_second;
}

/// Bytes of the largest tensor whose last extents are those, of a graph.
inline double tensor_bytes(const Graph& g, std::int64_t rows, std::int64_t columns) {
  std::int64_t bytes = 0;
  for (const TensorRecord& t : g.tensors) {
    if (t.role != Role::value || t.info.rank() < 2) continue;
    const Dims& shape = t.info.shape;
    if (shape[shape.size() - 2] == rows && shape.back() == columns) {
      bytes = std::max(bytes, t.info.bytes());
    }
  }
  return static_cast<double>(bytes);
}

}  // namespace training_rates
