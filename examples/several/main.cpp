// One training, spread in several ways, ends in the same weights to the last bit:
//
//   several [FOLDER]                 as it is, as stages of a pipeline, and as replicas
//   mpirun -n 4 several [FOLDER]     as it is, and as replicas in several processes
//
// FOLDER holds digits.csv and cnn_untrained.onnx.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <halftone/exec/ranks.hpp>
#include <halftone/halftone.hpp>
#include <halftone/onnx.hpp>
#include <halftone/train.hpp>

#include "../digits/images.hpp"

using namespace halftone;

namespace {

constexpr int micro_batch = 8, parts = 4;  // a step takes 32 images
constexpr int epochs = 4;

/// How a training is spread.
struct Spreading {
  const char* name;
  std::int32_t stages = 0, replicas = 1;
  const Ranks* ranks = nullptr;  ///< the processes that share the replicas
};

/// Whether this process is alone, or the one of several that prints.
bool is_first() { return launched_ranks() == nullptr || launched_ranks()->rank == 0; }

/// A number that weights of other bits do not have (FNV-1a).
std::uint64_t checksum(const Session& session, const std::vector<std::string>& weights) {
  std::uint64_t sum = 14695981039346656037u;
  for (const std::string& name : weights) {
    const AnyView value = session.get(name);
    const auto* bytes = static_cast<const unsigned char*>(value.data);
    for (std::size_t i = 0; i < value.bytes(); ++i) sum = (sum ^ bytes[i]) * 1099511628211u;
  }
  return sum;
}

std::uint64_t train_network(const std::string& folder, const Spreading& how) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<digits::Image> images = digits::read_images(folder);
  Graph graph = onnx::load(folder + "/cnn_untrained.onnx", {.sizes = {{"batch", micro_batch}}});
  graph.replicas = how.replicas;
  place(graph, {.stages = how.stages});
  const AnyTensor label = graph.input<std::int32_t>("label", {micro_batch});
  const AnyTensor loss = op::nll_loss(op::softmax(graph["logits"]), label);
  const std::int64_t accumulation = parts / how.replicas;
  const Training training =
      train(graph, loss, Adam{.learning_rate = 2e-3f}, {.accumulation = accumulation});
  // Not the running statistics of normalizations: replicas average theirs.
  std::vector<std::string> weights;
  for (const TensorId id : training.weights) weights.emplace_back(graph.name(id));
  Session session(std::move(graph),
                  {.outputs = {loss},
                   .accumulation = accumulation,
                   .threads = how.ranks != nullptr ? 1 : 0,
                   .schedule = how.stages > 0 ? Schedule::one_f_one_b : Schedule::none,
                   .ranks = how.ranks});

  // A process gives the images of its own replicas.
  const int rank = how.ranks != nullptr ? how.ranks->rank : 0;
  const int ranks = how.ranks != nullptr ? how.ranks->ranks : 1;
  constexpr std::size_t step = micro_batch * parts;
  const std::size_t own = step / static_cast<std::size_t>(ranks);
  Dims shape{micro_batch, 1, 8, 8}, label_shape{micro_batch};
  if (ranks < parts) {
    shape.insert(0, parts / ranks);
    label_shape.insert(0, parts / ranks);
  }
  Array<float> batch(shape);
  Array<std::int32_t> labels(label_shape);
  const std::size_t steps = (images.size() - digits::test_images) / step;
  double total = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    total = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      const auto chosen =
          std::span(images).subspan(s * step + static_cast<std::size_t>(rank) * own, own);
      batch.assign(digits::batch_of(chosen).values());
      for (std::size_t i = 0; i < own; ++i) labels[i] = chosen[i].label;
      const auto result = session.run({{"image", batch}, {"label", labels}});
      for (const float l : result[0].values<float>()) total += static_cast<double>(l) / parts;
    }
  }
  const std::uint64_t sum = checksum(session, weights);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (is_first()) {
    // The loss is that of the own images: another process has others.
    std::printf("%-12s loss %.6f   weights %016llx   %.2f s\n", how.name,
                total * ranks / static_cast<double>(steps), static_cast<unsigned long long>(sum),
                time.count());
    std::fflush(stdout);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "examples/digits";
  try {
    const std::uint64_t plain = train_network(folder, {"plain"});
    bool same = true;
    if (const Ranks* const ranks = launched_ranks(); ranks != nullptr) {
      same = train_network(folder, {"processes", 0, parts, ranks}) == plain;
    } else {
      for (const Spreading& how : {Spreading{"3 stages", 3}, Spreading{"4 replicas", 0, parts}}) {
        same = train_network(folder, how) == plain && same;
      }
    }
    if (is_first()) std::puts(same ? "they have the same weights" : "they have other weights");
    return same ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    abort_launched_ranks(static_cast<int>(error.kind()));
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
