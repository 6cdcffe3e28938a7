#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <halftone/train.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/shard.hpp>

#include "../../bench/networks.hpp"
#include "../folder.hpp"

// How a training is spread over time and machines changes no bit of it: each law compares all losses
// and variables with those of the plain training.

using namespace halftone;

namespace {

struct Network {
  std::string name;
  Graph (*make)(std::int64_t batch);
  std::int64_t classes;
  bool has_statistics = false;  ///< running ones, which replicas average
  /// Weights whose gradients are 0 but for rounding: an attention's softmax does not see what is added
  /// to all of its keys.
  std::vector<std::string> biases_of_keys{};
};

/// Three dense layers.
Graph mlp(std::int64_t batch) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, 24});
  x = op::relu(networks::dense(g, x, 24, 32));
  x = op::relu(networks::dense(g, x, 32, 32));
  output(g, networks::dense(g, x, 32, 10), "logits");
  return g;
}

/// Two convolutions with pooling and two dense layers, as LeNet (LeCun et al. 1998).
Graph lenet(std::int64_t batch) {
  Graph g;
  op::MaxPool pool;
  pool.kernel_shape = pool.strides = {2, 2};
  AnyTensor x = g.input<float>("x", {batch, 1, 16, 16});
  x = op::max_pool(op::relu(networks::conv(g, x, 1, 6, 5, 1, 2, true)), pool);
  x = op::max_pool(op::relu(networks::conv(g, x, 6, 16, 5, 1, 2, true)), pool);
  x = op::relu(networks::dense(g, op::flatten(x), 16 * 4 * 4, 32));
  output(g, networks::dense(g, x, 32, 10), "logits");
  return g;
}

/// Four residual blocks of convolutions and batch normalizations, as ResNet-18 (He et al. 2015) has
/// eight.
Graph resnet(std::int64_t batch) {
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, 3, 12, 12});
  x = op::relu(networks::batch_norm(g, networks::conv(g, x, 3, 16, 3, 1, 1, false), 16));
  std::int64_t channels = 16;
  for (const std::int64_t width : {16, 16, 32, 32}) {
    const std::int64_t stride = width / channels;
    AnyTensor y = networks::conv(g, x, channels, width, 3, stride, 1, false);
    y = op::relu(networks::batch_norm(g, y, width));
    y = networks::batch_norm(g, networks::conv(g, y, width, width, 3, 1, 1, false), width);
    if (stride != 1) {
      x = networks::conv(g, x, channels, width, 1, stride, 0, false);
      x = networks::batch_norm(g, x, width);
    }
    x = op::relu(y + x);
    channels = width;
  }
  output(g, networks::dense(g, op::flatten(op::global_average_pool(x)), 32, 10), "logits");
  return g;
}

/// Convolutions of few channels, which are read plain or in blocks, with residuals, gates and means of channels that
/// fill no blocks.
Graph narrow(std::int64_t batch) {
  Graph g;
  const auto limit = [&](float v) { return constant<float>(g, std::vector{v}, {}); };
  AnyTensor x = g.input<float>("x", {batch, 20, 7, 14});
  x = op::leaky_relu(x + networks::conv(g, x, 20, 20, 3, 1, 1, false), {.alpha = 0.1f});
  x = x * op::hard_sigmoid(networks::conv(g, op::global_average_pool(x), 20, 20, 1, 1, 0, true));
  x = op::concat(std::vector<AnyTensor>{x, networks::conv(g, x, 20, 3, 1, 1, 0, false)},
                 {.axis = 1});
  x = networks::conv(g, networks::conv(g, x, 23, 8, 3, 1, 1, false), 8, 8, 3, 2, 1, false);
  x = op::clip(x, limit(-0.5f), limit(1.f));
  x = networks::conv(g, x * op::sigmoid(x), 8, 3, 3, 1, 1, false);
  x = op::hard_swish(x + networks::conv(g, x, 3, 3, 3, 1, 1, false));
  x = networks::batch_norm(g, networks::conv(g, x, 3, 12, 3, 2, 1, false), 12);
  x = op::relu(x * op::sigmoid(x));
  output(g, networks::dense(g, op::flatten(op::global_average_pool(x)), 12, 10), "logits");
  return g;
}

/// A layer of LSTM cells over 6 steps.
Graph lstm(std::int64_t batch) {
  constexpr std::int64_t steps = 6, in = 8, hidden = 16;
  Graph g;
  const AnyTensor x = g.input<float>("x", {steps, batch, in});
  const auto w = networks::weight(g, {1, 4 * hidden, in});
  const auto r = networks::weight(g, {1, 4 * hidden, hidden});
  const auto [y, y_h, y_c] = op::lstm(x, w, r, {.hidden_size = hidden});
  output(g, networks::dense(g, networks::reshaped(g, y_h, {batch, hidden}), hidden, 10), "logits");
  return g;
}

/// Two layers of a transformer's encoder with dropout (Vaswani et al. 2017), 6 tokens of 16 numbers.
Graph encoder(std::int64_t batch) {
  constexpr std::int64_t tokens = 6, width = 16;
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, tokens, width});
  const auto dropped = [&](const AnyTensor& y) { return AnyTensor(op::dropout(y)); };
  for (int layer = 0; layer < 2; ++layer) {
    const AnyTensor attended = networks::attention(g, x, width, 2);
    x = networks::layer_norm(g, x + dropped(attended), width);
    const AnyTensor hidden = op::gelu(networks::linear(g, x, width, 2 * width));
    x = networks::layer_norm(g, x + dropped(networks::linear(g, hidden, 2 * width, width)), width);
  }
  output(g, networks::dense(g, op::flatten(x), tokens * width, 4), "logits");
  return g;
}

/// A layer of a decoder, 5 tokens that see those before them, in which two heads of queries share one of
/// keys (Ainslie et al. 2023, arXiv:2305.13245).
Graph decoder(std::int64_t batch) {
  constexpr std::int64_t tokens = 5, width = 16;
  Graph g;
  const AnyTensor x = g.input<float>("x", {batch, tokens, width});
  const AnyTensor q = networks::linear(g, x, width, width),
                  k = networks::linear(g, x, width, width / 2),
                  v = networks::linear(g, x, width, width / 2);
  const AnyTensor seen =
      op::attention(q, k, v, op::Attention{.is_causal = 1, .q_num_heads = 4, .kv_num_heads = 2});
  const AnyTensor y = networks::layer_norm(g, x + seen, width);
  output(g, networks::dense(g, op::flatten(y), tokens * width, 4), "logits");
  return g;
}

const Network all[]{
    {"mlp", &mlp, 10},
    {"lenet", &lenet, 10},
    {"resnet", &resnet, 10, true},
    {"lstm", &lstm, 10},
    {"encoder", &encoder, 4, false, {"b_1", "b_7"}},
    {"decoder", &decoder, 4, false, {"b_1"}},
};

enum class Kind { sgd, adam, lamb };

/// How a network is trained.
struct How {
  Kind optimizer = Kind::sgd;
  std::int64_t batch = 4, accumulation = 1;
  std::int32_t replicas = 1;
  AccumulationReduction reduction = AccumulationReduction::sum;
  Recomputation recompute = Recomputation::none;
  int threads = 1;
  std::int32_t stages = 0;  ///< of a pipeline
  std::int32_t ipus = 0;    ///< of place(); 0: the stages have equal numbers of nodes
  Schedule schedule = Schedule::none;
  std::int32_t phases = 0;
  Sharding shard{};
  TensorKinds off_chip{};
  std::int64_t serialize = 1;  ///< parts of the batch
  BatchMethod method = BatchMethod::unroll_static;
  bool through_file = false;  ///< made ready, written to a file and read again
  float clip_norm = 0;        ///< 0: no norm is clipped
};

struct Outcome {
  std::vector<std::byte> losses;
  std::vector<std::pair<std::string, std::vector<std::byte>>> variables;
  std::size_t arena = 0;
};

std::vector<std::byte> bytes_of(const AnyView& view) {
  const auto* data = static_cast<const std::byte*>(view.data);
  return {data, data + view.bytes()};
}

Outcome trained(const Network& network, const How& how) {
  constexpr std::int64_t steps = 3;
  Graph g = network.make(how.batch);
  g.replicas = how.replicas;
  if (how.ipus > 0) place(g, {.ipus = how.ipus, .stages = how.stages});
  if (how.phases > 0) place(g, {.ipus = 2, .phases = how.phases});
  // Equal numbers of nodes: places where little data flows are not asked for.
  for (std::size_t n = 0; n < g.nodes.size() && how.stages > 0 && how.ipus == 0; ++n) {
    g.nodes[n].place.stage =
        static_cast<std::int16_t>(n * static_cast<std::size_t>(how.stages) / g.nodes.size());
  }
  const AnyTensor label = g.input<std::int32_t>("label", {how.batch});
  const AnyTensor loss = op::nll_loss(op::softmax(g["logits"]), label);
  if (how.serialize > 1) g = serialize_batch(std::move(g), how.serialize, how.method);
  TrainOptions options{.accumulation = how.accumulation, .reduction = how.reduction};
  if (how.clip_norm != 0) options.clip_norm = {{.max_norm = how.clip_norm}};
  if (how.optimizer == Kind::sgd) {
    train(g, loss, Sgd{.learning_rate = 1e-2f, .momentum = 0.9f}, options);
  } else {
    train(g, loss, Adam{.learning_rate = 1e-3f, .lamb = how.optimizer == Kind::lamb}, options);
  }
  const SessionOptions session_options{.outputs = {Anchor(loss)},
                                       .batches_per_step = steps,
                                       .accumulation = how.accumulation,
                                       .threads = how.threads,
                                       .seed = 5,
                                       .recompute = how.recompute,
                                       .schedule = how.schedule};
  Session session(off_chip(shard(std::move(g), how.shard), how.off_chip), session_options);
  if (how.through_file) {
    const test::Folder folder;
    save_executable(session.executable(), folder / "ready.htx");
    session = Session(load_executable(folder / "ready.htx"), session_options);
  }
  // The same samples in the same order, however they are shared.
  AnyArray x(TensorInfo{ElementType::float32, session.given_shape(0)});
  const auto values = x.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 255) / 128 - 1;
  }
  AnyArray labels(TensorInfo{ElementType::int32, session.given_shape(1)});
  const auto classes = labels.values<std::int32_t>();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % network.classes);
  }
  const Result result = session.run({{"x", x}, {"label", labels}});
  Outcome outcome{.losses = bytes_of(result[0]), .variables = {}, .arena = 0};
  for (const Port& port : session.variables()) {
    outcome.variables.emplace_back(port.name, bytes_of(session.get(port.name)));
  }
  return outcome;
}

void check_same(const Outcome& found, const Outcome& expected) {
  CHECK(found.losses == expected.losses);
  std::size_t compared = 0;
  for (const auto& [name, bytes] : found.variables) {
    for (const auto& [other, expected_bytes] : expected.variables) {
      if (other != name) continue;
      INFO(name);
      const bool same = bytes == expected_bytes;
      CHECK(same);
      ++compared;
    }
  }
  // Sums of micro-batches are there only where there are several.
  CHECK(compared == std::min(found.variables.size(), expected.variables.size()));
}

}  // namespace

TEST_CASE("law: recomputation changes no bit of a training") {
  for (const Network& network : all) {
    for (const Kind optimizer : {Kind::sgd, Kind::adam, Kind::lamb}) {
      const Outcome plain = trained(network, {.optimizer = optimizer});
      for (const Recomputation mode :
           {Recomputation::standard, Recomputation::norm_only, Recomputation::all}) {
        CAPTURE(std::string(network.name));
        CAPTURE(static_cast<int>(optimizer));
        CAPTURE(static_cast<int>(mode));
        check_same(trained(network, {.optimizer = optimizer, .recompute = mode}), plain);
      }
    }
  }
}

TEST_CASE("law: replicas are as many micro-batches of a step, with any number of threads") {
  for (const Network& network : all) {
    if (network.has_statistics) continue;
    for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean}) {
      const How plain{.optimizer = Kind::adam, .accumulation = 3, .reduction = reduction};
      const Outcome expected = trained(network, plain);
      for (const int threads : {1, 2, 4}) {
        CAPTURE(std::string(network.name));
        CAPTURE(threads);
        How spread = plain;
        spread.accumulation = 1;
        spread.replicas = 3;
        spread.threads = threads;
        check_same(trained(network, spread), expected);
      }
    }
  }
}

TEST_CASE("law: replicas that recompute, and accumulate, are as those that do not") {
  for (const Network& network : all) {
    const How plain{.accumulation = 2, .replicas = 2};
    How spread = plain;
    spread.recompute = Recomputation::standard;
    spread.threads = 2;
    CAPTURE(std::string(network.name));
    check_same(trained(network, spread), trained(network, plain));
  }
}

namespace {

/// The largest difference of the numbers of floating point in two outcomes, relative to the largest
/// number of each tensor.
double relative_difference(const Network& network, const Outcome& found, const Outcome& expected) {
  double largest = 0;
  const auto compare = [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    REQUIRE(a.size() == b.size());
    double size = 0, difference = 0;
    for (std::size_t at = 0; at + sizeof(float) <= a.size(); at += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      size = std::max(size, static_cast<double>(std::abs(y)));
      difference = std::max(difference, static_cast<double>(std::abs(x - y)));
    }
    if (difference > 0) largest = std::max(largest, difference / size);
  };
  compare(found.losses, expected.losses);
  for (const auto& [name, bytes] : found.variables) {
    if (name.starts_with("Accum") || name.starts_with("Kept")) continue;  // not of whole steps
    const auto& noise = network.biases_of_keys;
    if (std::any_of(noise.begin(), noise.end(), [&](const std::string& bias) {
          return name == bias || name.ends_with("__" + bias);
        })) {
      continue;
    }
    for (const auto& [other, expected_bytes] : expected.variables) {
      if (other == name) compare(bytes, expected_bytes);
    }
  }
  return largest;
}

}  // namespace

TEST_CASE(
    "law: replicas that accumulate are one that accumulates as much, up to the order of sums") {
  for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean,
                               AccumulationReduction::running_mean}) {
    const How plain{.optimizer = Kind::sgd, .accumulation = 6, .reduction = reduction};
    How spread = plain;
    spread.accumulation = 3;
    spread.replicas = 2;
    CAPTURE(static_cast<int>(reduction));
    CHECK(relative_difference(all[0], trained(all[0], spread), trained(all[0], plain)) < 1e-5);
  }
}

TEST_CASE("law: 12 samples are a step, as one batch, micro-batches or replicas") {
  // Where samples do not meet, in statistics or in random masks, and are behind each other in memory.
  for (const Network& network : {all[0], all[1]}) {
    for (const Kind optimizer : {Kind::sgd, Kind::lamb}) {
      const auto variables = [&](std::int64_t batch, std::int64_t accumulation, int replicas) {
        Outcome outcome = trained(network, {.optimizer = optimizer,
                                            .batch = batch,
                                            .accumulation = accumulation,
                                            .replicas = replicas,
                                            .reduction = AccumulationReduction::mean});
        outcome.losses.clear();  // one for each micro-batch
        return outcome;
      };
      const Outcome whole = variables(12, 1, 1);
      for (const std::int64_t batch : {2, 3, 4, 6}) {
        for (const std::int64_t accumulation : {1, 2, 3}) {
          if (12 % (batch * accumulation) != 0) continue;
          const auto replicas = static_cast<int>(12 / batch / accumulation);
          CAPTURE(network.name);
          CAPTURE(static_cast<int>(optimizer));
          CAPTURE(batch);
          CAPTURE(accumulation);
          CHECK(relative_difference(network, variables(batch, accumulation, replicas), whole) <
                1e-5);
        }
      }
    }
  }
}

TEST_CASE("replicas that accumulate join the gradient of a weight once in a step") {
  Graph g = mlp(4);
  g.replicas = 2;
  const AnyTensor loss =
      op::nll_loss(op::softmax(g["logits"]), g.input<std::int32_t>("label", {4}));
  const Training training = train(g, loss, Sgd{.learning_rate = 1e-2f}, {.accumulation = 3});
  std::size_t joins = 0;
  for (const Node& node : g.nodes) {
    // In every micro-batch:
    CHECK(node.op->id != op::ReplicatedAllReduce::id);
    // In the last one of a step, where `apply` is true:
    joins += node.op->id == detail::training::JoinTotal::id && node.inputs[1] != no_tensor;
  }
  CHECK(joins == training.weights.size());
}

namespace {

constexpr TensorKind on{.is_on = true};
const struct {
  const char* name;
  Sharding sharding;
} shardings[]{
    {"state", {.state = on}},
    {"weights", {.weights = on}},
    {"accumulators", {.accumulators = on}},
    {"all", {.state = on, .accumulators = on, .weights = on}},
};

}  // namespace

TEST_CASE("law: replicas that share weights and state are as those that have all of them") {
  // 3 and 5 divide none of the layers' 32 numbers.
  for (const std::int32_t replicas : {2, 3, 5}) {
    for (const Network& network : all) {
      for (const Kind optimizer : {Kind::sgd, Kind::adam, Kind::lamb}) {
        for (const std::int64_t accumulation : {1, 2}) {
          if (accumulation == 2 && (replicas != 3 || network.make != &mlp)) continue;
          How plain{.optimizer = optimizer, .batch = 2};
          plain.accumulation = accumulation;
          plain.replicas = replicas;
          const Outcome expected = trained(network, plain);
          for (const auto& [name, sharding] : shardings) {
            CAPTURE(std::string(network.name));
            CAPTURE(replicas);
            CAPTURE(std::string(name));
            CAPTURE(static_cast<int>(optimizer));
            How spread = plain;
            spread.shard = sharding;
            // Norms, and totals that micro-batches add to in parts, have another order of sums.
            const bool has_other_sums = accumulation > 1 && sharding.accumulators.is_on;
            if (optimizer == Kind::lamb || has_other_sums) {
              CHECK(relative_difference(network, trained(network, spread), expected) < 1e-5);
            } else {
              check_same(trained(network, spread), expected);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("law: replicas that share weights clip the norm of whole gradients") {
  for (const std::int64_t accumulation : {1, 2}) {
    for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::running_mean}) {
      How plain{.optimizer = Kind::sgd, .batch = 2, .accumulation = accumulation, .replicas = 3};
      plain.reduction = reduction;
      plain.clip_norm = 0.05f;
      const Outcome expected = trained(all[0], plain);
      How unclipped = plain;
      unclipped.clip_norm = 0;
      CHECK(relative_difference(all[0], trained(all[0], unclipped), expected) > 1e-4);
      for (const auto& [name, sharding] : shardings) {
        CAPTURE(name);
        CAPTURE(accumulation);
        How spread = plain;
        spread.shard = sharding;
        CHECK(relative_difference(all[0], trained(all[0], spread), expected) < 1e-5);
      }
    }
  }
}

TEST_CASE("a replica holds its part of a weight and of its state") {
  Graph g = mlp(2);
  g.replicas = 3;
  const AnyTensor loss =
      op::nll_loss(op::softmax(g["logits"]), g.input<std::int32_t>("label", {2}));
  train(g, loss, Sgd{.learning_rate = 1e-2f, .momentum = 0.9f});
  g.outputs = {loss.id};
  const Graph whole = g;
  Sharding sharding;
  sharding.state = sharding.weights = on;
  sharding.weights.least_elements = 100;  // more than a bias has
  const Graph shared = shard(g, sharding);
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const TensorRecord& t = whole.tensor(id);
    if (!is_variable(t) || t.info.rank() == 0) continue;
    const std::int64_t n = t.info.elements();
    const bool is_part = t.state == State::moment || (t.role == Role::variable && n >= 100);
    CAPTURE(whole.name(id));
    if (t.state == State::moment || t.role == Role::variable) {
      CHECK(shared.info(id).elements() == (is_part ? (n + 2) / 3 : n));
    }
  }
  // Whole tensors are what the host gets and sets, and what a file has.
  Session session(Graph(shared), {.seed = 1}), plain(Graph(whole), {.seed = 1});
  for (const Port& port : plain.variables()) {
    CAPTURE(port.name);
    CHECK(bytes_of(session.get(port.name)) == bytes_of(plain.get(port.name)));
    session.set(port.name, plain.get(port.name));
    CHECK(session.get(port.name).info == port.info);
  }
  const Graph model = model_of(session.graph()), expected = model_of(plain.graph());
  REQUIRE(model.tensors.size() == expected.tensors.size());
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const TensorRecord &found = model.tensors[i], &wanted = expected.tensors[i];
    CHECK(found.info == wanted.info);
    CHECK(found.settings == wanted.settings);
    const auto x = found.data.span(), y = wanted.data.span();
    CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
  }
}

TEST_CASE("law: what lies in remote buffers changes no bit of a training") {
  const struct {
    const char* name;
    TensorKinds kinds;
  } places[]{{"state", {.state = on}},
             {"weights", {.weights = on}},
             {"accumulators", {.accumulators = on}},
             {"activations", {.activations = on}},
             {"all", {.state = on, .accumulators = on, .weights = on, .activations = on}}};
  const How hows[]{
      {.optimizer = Kind::sgd, .accumulation = 2, .clip_norm = 0.05f},
      {.optimizer = Kind::adam, .recompute = Recomputation::standard},
      {.optimizer = Kind::lamb, .accumulation = 2, .replicas = 2},
      {.optimizer = Kind::adam, .replicas = 3, .shard = {.state = on, .weights = on}},
      {.optimizer = Kind::sgd,
       .accumulation = 2,
       .replicas = 2,
       .reduction = AccumulationReduction::running_mean,
       .shard = {.state = on, .accumulators = on}},
  };
  for (const Network& network : all) {
    for (const How& plain : hows) {
      const Outcome expected = trained(network, plain);
      for (const auto& [name, kinds] : places) {
        CAPTURE(std::string(network.name));
        CAPTURE(std::string(name));
        CAPTURE(plain.replicas);
        How spread = plain;
        spread.off_chip = kinds;
        check_same(trained(network, spread), expected);
      }
    }
  }
}

TEST_CASE("law: where activations of few channels come from changes no bit of a training") {
  const Network network{"narrow", &narrow, 10};
  const Outcome expected = trained(network, {});
  for (const Recomputation mode : {Recomputation::standard, Recomputation::all}) {
    check_same(trained(network, {.recompute = mode}), expected);
  }
  check_same(trained(network, {.off_chip = {.activations = on}}), expected);
}

TEST_CASE(
    "variables in remote buffers are loaded before they are read, and stored when they changed") {
  Graph g = mlp(2);
  const AnyTensor probabilities = op::softmax(g["logits"]);
  g.rename(probabilities.id, "probabilities");
  const AnyTensor loss = op::nll_loss(probabilities, g.input<std::int32_t>("label", {2}));
  train(g, loss, Sgd{.learning_rate = 1e-2f, .momentum = 0.9f});
  TensorKinds kinds;
  kinds.weights = {.is_on = true, .least_elements = 100};
  kinds.named = {{"Accl1___w", true}, {"w", false}};
  const Graph moved = off_chip(g, kinds);
  // The two weights of more than 100 elements that are not named, and the state that is. A weight is
  // read in all parts of a step, but the first one, behind an input, forward and in its update.
  CHECK(moved.remote_buffers.size() == 3);
  std::size_t loads = 0, stores = 0;
  for (const Node& node : moved.nodes) {
    loads += node.op->id == op::RemoteLoad::id;
    stores += node.op->id == op::RemoteStore::id;
  }
  CHECK(loads == 2 * 3 + 1);
  CHECK(stores == 3);
  kinds.named = {{"nobody", true}};
  CHECK_THROWS_AS(off_chip(g, kinds), ModelError);
  kinds.named = {{"x", true}};
  CHECK_THROWS_AS(off_chip(g, kinds), ModelError);
  // An activation by its name, and no variable.
  const Graph waiting = off_chip(g, {.named = {{"probabilities", true}}});
  CHECK(waiting.remote_buffers.size() == 1);
  CHECK_THROWS_AS(shard(g, {.named = {{"logits", true}}}), ModelError);
}

TEST_CASE("law: shared and remote variables are in the file of what was made ready") {
  const How hows[]{
      {.optimizer = Kind::adam, .replicas = 3, .shard = {.state = on, .weights = on}},
      {.optimizer = Kind::lamb, .accumulation = 2, .replicas = 2, .shard = {.state = on}},
      {.optimizer = Kind::adam, .off_chip = {.state = on, .weights = on}},
  };
  for (const How& plain : hows) {
    How spread = plain;
    spread.through_file = true;
    CAPTURE(plain.replicas);
    check_same(trained(all[0], spread), trained(all[0], plain));
  }
}

constexpr BatchMethod methods[] = {BatchMethod::unroll_static, BatchMethod::unroll_dynamic,
                                   BatchMethod::loop};

TEST_CASE("law: a batch in parts gives the same losses, and gradients that differ by rounding") {
  for (const Network& network : all) {
    for (const std::int64_t parts : {2, 3}) {
      for (const Recomputation recompute : {Recomputation::none, Recomputation::standard}) {
        const How plain{.optimizer = Kind::sgd, .batch = 6, .recompute = recompute};
        const Outcome expected = trained(network, plain);
        for (const BatchMethod method : methods) {
          How spread = plain;
          spread.serialize = parts;
          spread.method = method;
          CAPTURE(std::string(network.name));
          CAPTURE(parts);
          CAPTURE(static_cast<int>(method));
          const Outcome found = trained(network, spread);
          // The first loss is that of a forward pass; the next ones follow from gradients. Nodes in
          // a body are fused in another way.
          CHECK((method == BatchMethod::loop ||
                 std::equal(found.losses.begin(), found.losses.begin() + sizeof(float),
                            expected.losses.begin())));
          CHECK(relative_difference(network, found, expected) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("rows are computed in parts as far as they are apart") {
  const auto count = [](const Graph& g, const OpId& id) {
    return std::count_if(g.nodes.begin(), g.nodes.end(),
                         [&](const Node& node) { return node.op->id == id; });
  };
  for (const Network& network : all) {
    CAPTURE(std::string(network.name));
    const Graph whole = network.make(6), parts = serialize_batch(network.make(6), 3);
    CHECK(count(parts, op::Conv::id) == 3 * count(whole, op::Conv::id));
    CHECK(count(parts, op::BatchNormalization::id) == count(whole, op::BatchNormalization::id));
    // The LSTM has the batch in another dimension than the first.
    const bool is_apart = network.make != &lstm;
    CHECK(count(parts, op::MatMul::id) == (is_apart ? 3 : 1) * count(whole, op::MatMul::id));
    CHECK(serialize_batch(whole, 1) == whole);
    CHECK_THROWS_AS(serialize_batch(whole, 0), UsageError);
    CHECK_THROWS_AS(serialize_batch(whole, 4), UsageError);  // does not divide 6
    CHECK_THROWS_AS(serialize_batch(whole, 7), UsageError);
  }
  Graph trained = mlp(6);
  const AnyTensor label = trained.input<std::int32_t>("label", {6});
  train(trained, op::nll_loss(op::softmax(trained["logits"]), label), Sgd{.learning_rate = 1e-2f});
  CHECK_THROWS_AS(serialize_batch(trained, 2), UsageError);
}

TEST_CASE("dynamic parts are cut by one operator, and a loop has their nodes once") {
  const auto count = [](const Graph& g, const OpId& id) {
    return std::count_if(g.nodes.begin(), g.nodes.end(),
                         [&](const Node& node) { return node.op->id == id; });
  };
  for (const Network& network : all) {
    if (network.make == &lstm) continue;  // its batch is in another dimension than the first
    CAPTURE(std::string(network.name));
    const Graph whole = network.make(6);
    const Graph parts = serialize_batch(whole, 3, BatchMethod::unroll_dynamic);
    CHECK(count(parts, op::MatMul::id) == 3 * count(whole, op::MatMul::id));
    CHECK(count(parts, op::Slice::id) == count(whole, op::Slice::id));
    CHECK(count(parts, op::DynamicSlice::id) > 0);
    const Graph loop = serialize_batch(whole, 3, BatchMethod::loop);
    CHECK(count(loop, op::MatMul::id) == 0);
    std::ptrdiff_t products = 0;
    for (const Graph& body : loop.graphs) products += count(body, op::MatMul::id);
    CHECK(products == count(whole, op::MatMul::id));
    // Rows come together in batch normalizations and in dropout alone.
    const std::ptrdiff_t meetings =
        count(whole, op::BatchNormalization::id) + count(whole, op::Dropout::id);
    CHECK(count(loop, op::Scan::id) <= meetings + 1);
    CHECK(count(loop, op::Scan::id) >= 1);
  }
}

TEST_CASE("law: an inference of a batch in parts gives the same, on two IPUs as well") {
  for (const Network& network : all) {
    const auto results = [&](std::int64_t parts, BatchMethod method, std::int32_t stages) {
      Graph g = network.make(6);
      if (stages > 0) place(g, {.ipus = stages});
      Session session(serialize_batch(std::move(g), parts, method),
                      {.outputs = {Anchor("logits")}, .seed = 5});
      AnyArray x(TensorInfo{ElementType::float32, session.given_shape(0)});
      const auto values = x.values<float>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i * 7919 % 255) / 128 - 1;
      }
      return Outcome{.losses = bytes_of(session.run({{"x", x}})[0]), .variables = {}, .arena = 0};
    };
    const Outcome expected = results(1, BatchMethod::unroll_static, 0);
    for (const BatchMethod method : methods) {
      CAPTURE(std::string(network.name));
      CAPTURE(static_cast<int>(method));
      CHECK(relative_difference(network, results(3, method, 0), expected) < 1e-5);
      CHECK(relative_difference(network, results(2, method, 2), expected) < 1e-5);
    }
  }
}

TEST_CASE("what cannot be shared is refused") {
  Graph g = mlp(2);
  g.replicas = 2;
  const AnyTensor loss =
      op::nll_loss(op::softmax(g["logits"]), g.input<std::int32_t>("label", {2}));
  CHECK_THROWS_AS(shard(g, {.state = on}), UsageError);
  train(g, loss, Sgd{.learning_rate = 1e-2f});
  Graph shared = shard(g, {.state = on});
  CHECK_THROWS_AS(shard(shared, {.state = on}), UsageError);
  CHECK_THROWS_AS(accumulate_gradients(shared, 2), UsageError);
  CHECK(shard(g, {}) == g);
}

TEST_CASE("law: a pipeline is gradient accumulation, with any number of stages and threads") {
  for (const Network& network : all) {
    const How plain{.optimizer = Kind::adam, .batch = 2, .accumulation = 4};
    const Outcome expected = trained(network, plain);
    for (const std::int32_t stages : {1, 2, 3, 4}) {
      for (const Schedule schedule :
           {Schedule::grouped, Schedule::one_f_one_b, Schedule::zero_bubble}) {
        for (const int threads : {1, 4}) {
          CAPTURE(network.name);
          CAPTURE(stages);
          CAPTURE(static_cast<int>(schedule));
          CAPTURE(threads);
          How spread = plain;
          spread.stages = stages;
          spread.schedule = schedule;
          spread.threads = threads;
          check_same(trained(network, spread), expected);
        }
      }
    }
  }
}

TEST_CASE("law: pipelines that recompute, and their replicas, are as those that do not") {
  for (const Network& network : all) {
    const How plain{.batch = 2, .accumulation = 3, .replicas = 2};
    const Outcome expected = trained(network, plain);
    for (const Recomputation mode : {Recomputation::standard, Recomputation::pipeline}) {
      CAPTURE(network.name);
      CAPTURE(static_cast<int>(mode));
      How spread = plain;
      spread.stages = 3;
      spread.schedule = Schedule::one_f_one_b;
      spread.recompute = mode;
      spread.threads = 2;
      check_same(trained(network, spread), expected);
    }
  }
}

TEST_CASE("law: stages that place() finds, several of them on an IPU, change no bit") {
  for (const Network& network : all) {
    const auto nodes = static_cast<std::int32_t>(network.make(2).nodes.size());
    const How plain{.optimizer = Kind::lamb, .batch = 2, .accumulation = 4};
    const Outcome expected = trained(network, plain);
    for (const std::int32_t ipus : {1, 2}) {
      CAPTURE(network.name);
      CAPTURE(ipus);
      How spread = plain;
      spread.stages = std::min(4, nodes);
      spread.ipus = ipus;
      spread.schedule = Schedule::zero_bubble;
      spread.threads = 2;
      check_same(trained(network, spread), expected);
    }
  }
}

TEST_CASE("activations of a pipeline stay on the machine, and no replica has a part of one") {
  How how{.optimizer = Kind::sgd, .batch = 2, .accumulation = 2, .replicas = 2};
  how.shard.activations = on;
  CHECK_THROWS_AS(trained(all[0], how), UsageError);
  how.shard.activations = {};
  how.off_chip.activations = on;
  how.stages = 2;
  how.schedule = Schedule::grouped;
  CHECK_THROWS_AS(trained(all[0], how), UnsupportedError);
}

TEST_CASE("law: pipelines clip the norm of the gradients of all stages") {
  How plain{.optimizer = Kind::adam, .batch = 2, .accumulation = 4};
  plain.clip_norm = 0.05f;
  for (const Network& network : all) {
    const Outcome expected = trained(network, plain);
    for (const Schedule schedule : {Schedule::grouped, Schedule::zero_bubble}) {
      CAPTURE(network.name);
      How spread = plain;
      spread.stages = 3;
      spread.schedule = schedule;
      spread.threads = 2;
      check_same(trained(network, spread), expected);
    }
  }
}

TEST_CASE("law: pipelines of replicas that share variables in parts, or keep them off the chip") {
  for (const Network& network : all) {
    const How plain{.optimizer = Kind::adam, .batch = 2, .accumulation = 3, .replicas = 2};
    const Outcome expected = trained(network, plain);
    for (const bool is_off_chip : {false, true}) {
      CAPTURE(network.name);
      CAPTURE(is_off_chip);
      How spread = plain;
      spread.stages = 2;
      spread.schedule = Schedule::grouped;
      if (is_off_chip) spread.off_chip.state.is_on = true;
      if (!is_off_chip) spread.shard.state.is_on = true;
      spread.threads = 2;
      check_same(trained(network, spread), expected);
    }
  }
}

TEST_CASE("law: phases of execution, which load their weights, change no bit") {
  for (const Network& network : all) {
    const auto nodes = static_cast<std::int32_t>(network.make(2).nodes.size());
    const How plain{.optimizer = Kind::adam, .accumulation = 2};
    const Outcome expected = trained(network, plain);
    for (const std::int32_t phases : {2, 4}) {
      CAPTURE(network.name);
      CAPTURE(phases);
      How spread = plain;
      spread.phases = std::min(phases, nodes);
      spread.off_chip.weights.is_on = true;
      check_same(trained(network, spread), expected);
    }
  }
}
