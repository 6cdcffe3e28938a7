// The best way to train a large encoder on 16 IPUs, found without one.
#include <cstdio>

#include <halftone/halftone.hpp>
#include <halftone/ipu/pipeline.hpp>
#include <halftone/ipu/plan.hpp>
#include <halftone/train.hpp>

using namespace halftone;

namespace {

constexpr std::int64_t tokens = 128, width = 1024, heads = 16, words = 30'522;

AnyTensor weight(Graph& g, const Dims& shape) {
  return {&g, g.add_variable({ElementType::float16, shape},
                             Initial{Initial::Rule::normal, 0, 0.02f}, "w")};
}

AnyTensor linear(Graph& g, AnyTensor x, std::int64_t in, std::int64_t out) {
  const AnyTensor y = op::matmul(x, weight(g, {in, out}));
  return y + weight(g, {out});
}

AnyTensor normalized(Graph& g, AnyTensor x) {
  const AnyTensor scale = weight(g, {width});
  return op::layer_normalization(x, scale, weight(g, {width}));
}

AnyTensor attention(Graph& g, AnyTensor x) {
  constexpr std::int64_t size = width / heads;
  const auto split = [&](AnyTensor t) {
    return op::transpose(op::reshape(t, constant(g, {0, 0, heads, size})), {.perm = {0, 2, 1, 3}});
  };
  const AnyTensor query = split(linear(g, x, width, width));
  const AnyTensor key = split(linear(g, x, width, width));
  const AnyTensor value = split(linear(g, x, width, width));
  const AnyTensor scores = op::matmul(query, op::transpose(key, {.perm = {0, 1, 3, 2}})) * 0.125f;
  const AnyTensor mixed = op::matmul(op::softmax(scores, {.axis = -1}), value);
  const AnyTensor joined =
      op::reshape(op::transpose(mixed, {.perm = {0, 2, 1, 3}}), constant(g, {0, 0, width}));
  return linear(g, joined, width, width);
}

/// BERT-Large (Devlin et al. 2018) in half: 24 layers, and words for 15 % of the tokens.
Graph encoder(std::int64_t batch) {
  Graph g;
  const AnyTensor token = g.input<std::int64_t>("token", {batch, tokens});
  AnyTensor x = op::gather(weight(g, {words, width}), token) + weight(g, {tokens, width});
  x = normalized(g, x);
  for (int i = 0; i < 24; ++i) {
    g.push_scope("layer" + std::to_string(i));
    x = normalized(g, x + attention(g, x));
    const AnyTensor wide = op::gelu(linear(g, x, width, 4 * width));
    x = normalized(g, x + linear(g, wide, 4 * width, width));
    g.pop_scope();
  }
  const AnyTensor masked =
      op::slice(x, constant(g, {0}), constant(g, {tokens * 15 / 100}), constant(g, {1}));
  output(g, linear(g, masked, width, words), "logits");
  return g;
}

void trained(Graph& g) {
  const AnyTensor loss = op::mean(g["logits"], {.keepdims = 0});
  train(g, loss, Adam{}, {.accumulation = 2});
  g.outputs = {loss.id};
}

}  // namespace

int main() {
  ipu::PlanOptions options{.ipus = 16, .batch = 65'536};
  options.micro_batches = {1, 2, 4, 8};
  options.profile.partials = ElementType::float16;
  options.train = trained;
  const ipu::Plan plan = ipu::plan(encoder, ipu::bow, options);
  std::printf("%s\n", plan.summary().c_str());

  const ipu::PlanPoint* const best = plan.best();
  if (best == nullptr || best->stages == 1) return 1;
  Graph g = encoder(best->micro_batch);
  best->place(g);
  trained(g);
  options.profile.ipus = best->stages;
  options.profile.recompute = best->recompute;
  options.profile.allow_out_of_memory = true;  // one replica, with its state on the chip
  std::printf("%s",
              ipu::profile_pipeline(g, ipu::bow, best->schedule, 3 * best->stages, options.profile)
                  .summary()
                  .c_str());
}
