#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

using namespace halftone;

// The law: gradients of micro-batches that are joined are those of one large batch, as a sum or as
// a mean, up to the rounding of another order of sums.
namespace {

constexpr std::int64_t samples = 12, inputs = 5, outputs = 3;

/// Logistic regression; the loss of a batch is the sum or the mean of its samples'.
std::vector<float> trained(const auto& optimizer, std::int64_t micro_batches, bool is_mean,
                           const TrainOptions& options) {
  const std::int64_t batch = samples / micro_batches;
  Graph g;
  const AnyTensor x = g.input<float>("x", {batch, inputs});
  const AnyTensor t = g.input<std::int32_t>("t", {batch});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {inputs, outputs}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  const AnyTensor b{&g, g.add_variable({ElementType::float32, {outputs}},
                                       Initial{Initial::Rule::fill, 0, 0}, "b")};
  const AnyTensor loss =
      op::nll_loss(op::softmax(op::matmul(x, w) + b, {.axis = -1}), t,
                   {.reduction = is_mean ? LossReduction::mean : LossReduction::sum});
  train(g, loss, optimizer, options);
  Session session(std::move(g), {.outputs = {loss}, .accumulation = micro_batches, .seed = 5});
  Array<float> data({samples, inputs});
  Array<std::int32_t> labels({samples});
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = std::sin(static_cast<float>(i * 3 + static_cast<std::size_t>(step) * 100));
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::int32_t>((i * i + static_cast<std::size_t>(step)) % outputs);
    }
    const std::int64_t shape[] = {micro_batches, batch, inputs};
    const Array<float>& all = data;
    AnyView view = all;
    view.info.shape = micro_batches == 1 ? Dims{batch, inputs} : Dims(std::span(shape));
    AnyView target = labels;
    target.info.shape = micro_batches == 1 ? Dims{batch} : Dims{micro_batches, batch};
    session.run({{"x", view}, {"t", target}});
  }
  std::vector<float> weights;
  for (const char* name : {"w", "b"}) {
    const auto values = session.get(name).values<float>();
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

void check_same(const auto& optimizer, const TrainOptions& options = {}) {
  for (const bool is_mean : {false, true}) {
    const std::vector<float> large = trained(optimizer, 1, is_mean, options);
    for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean,
                                 AccumulationReduction::running_mean}) {
      if ((reduction == AccumulationReduction::sum) == is_mean) continue;
      for (const std::int64_t micro_batches : {2, 3, 12}) {
        CAPTURE(micro_batches);
        TrainOptions how = options;
        how.reduction = reduction;
        const std::vector<float> small = trained(optimizer, micro_batches, is_mean, how);
        REQUIRE(small.size() == large.size());
        for (std::size_t i = 0; i < large.size(); ++i) {
          CHECK(small[i] == doctest::Approx(large[i]).epsilon(1e-4));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("accumulation: micro-batches are one large batch") {
  check_same(Sgd{.learning_rate = 0.1f});
  check_same(Sgd{.learning_rate = 0.1f,
                 .momentum = 0.9f,
                 .dampening = 0.5f,
                 .weight_decay = 0.1f,
                 .loss_scaling = 16.f});
  check_same(Sgd{.learning_rate = 0.1f, .momentum = 0.9f, .nesterov = true, .combined = true});
  check_same(Adam{.learning_rate = 0.1f, .weight_decay = 0.1f, .loss_scaling = variable{8}});
  check_same(Adam{.learning_rate = 0.1f, .lamb = true});
  check_same(Adaptive{.learning_rate = 0.1f, .momentum = 0.5f});
}

TEST_CASE("accumulation: norms are those of the joined gradients") {
  check_same(Sgd{.learning_rate = 0.5f}, {.clip_norm = {{.max_norm = 0.25f}}});
  check_same(Sgd{.learning_rate = 0.5f},
             {.clip_norm = {{.max_norm = 0.25f, .weights = {"w"}}, {1e-3f, {"b"}}}});
}
