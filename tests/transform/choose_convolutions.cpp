#include <halftone/transform/choose_convolutions.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <halftone/exec/executable.hpp>
#include <halftone/halftone.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/block_channels.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

#include "floats.hpp"
#include "folder.hpp"

using namespace halftone;
using test::Floats;

namespace {

/// x is [batch, 32, 14, 14]; two convolutions that Winograd's forms pay for.
Graph two_convolutions(std::int64_t batch = 1) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {batch, 32, 14, 14});
  const auto weight = [&](std::string_view name) {
    return AnyTensor{&g, g.add_variable({ElementType::float32, {32, 32, 3, 3}},
                                        Initial{Initial::Rule::normal, 0, 0.1f}, name)};
  };
  const AnyTensor v = weight("v"), w = weight("w");
  const op::Conv same{.pads = {1, 1, 1, 1}};
  output(g, op::conv(op::relu(op::conv(x, v, same)), w, same) + x, "y");
  return g;
}

AnyArray image(std::int64_t batch, float phase = 0) {
  AnyArray x(TensorInfo{ElementType::float32, {batch, 32, 14, 14}});
  for (std::size_t i = 0; i < x.values<float>().size(); ++i) {
    x.values<float>()[i] = std::sin(static_cast<float>(i) * 0.37f + phase);
  }
  return x;
}

Floats run(Session& session, const AnyArray& x) {
  return test::floats_of(session.run({{"x", static_cast<AnyView>(x)}})[0]);
}
Floats run(Graph graph, const AnyArray& x, const SessionOptions& options = {}) {
  Session session(std::move(graph), options);
  return run(session, x);
}

/// The edges that are chosen, convolution by convolution.
std::vector<std::int64_t> chosen(Graph graph, Convolution allowed) {
  const Graph ready =
      choose_convolutions(block_channels(fuse_convolutions(std::move(graph)), 16), allowed);
  std::vector<std::int64_t> edges;
  for (const Node& node : ready.nodes) {
    if (node.op->id != op::FusedConv::id) continue;
    edges.push_back(unpack<op::FusedConv>(node.attributes).winograd);
  }
  return edges;
}

Graph one_convolution(const Dims& x, const Dims& w, const op::Conv& conv, Role role) {
  Graph g;
  const AnyTensor input = g.input<float>("x", x);
  const AnyTensor weight{&g, g.add_variable({ElementType::float32, w}, Initial{}, "w")};
  g.tensor(weight.id).role = role;
  output(g, op::conv(input, weight, conv), "y");
  return g;
}

}  // namespace

TEST_CASE("choose convolutions: by shape and weights, whatever the batch") {
  const auto edge = [](const Dims& x, const Dims& w, op::Conv conv = {.pads = {1, 1, 1, 1}},
                       Role role = Role::constant, Convolution allowed = Convolution::fast) {
    return chosen(one_convolution(x, w, conv, role), allowed).at(0);
  };
  // The layers of ResNet-18 save multiplications enough, those with few pixels fetch more weights.
  for (const std::int64_t batch : {1, 8}) {
    CAPTURE(batch);
    CHECK(edge({batch, 64, 56, 56}, {64, 64, 3, 3}) == 2);
    CHECK(edge({batch, 512, 7, 7}, {512, 512, 3, 3}) == 2);
    CHECK(edge({batch, 64, 56, 56}, {64, 64, 3, 3}, {.pads = {1, 1, 1, 1}}, Role::constant,
               Convolution::fastest) == 4);
    CHECK(edge({batch, 512, 2, 2}, {512, 512, 3, 3}) == 0);
  }
  // LeNet's and AlexNet's second layers.
  const op::Conv wide{.pads = {2, 2, 2, 2}};
  for (const Convolution allowed : {Convolution::fast, Convolution::fastest}) {
    CHECK(edge({1, 32, 14, 14}, {64, 32, 5, 5}, wide, Role::constant, allowed) == 2);
    CHECK(edge({1, 64, 27, 27}, {192, 64, 5, 5}, wide, Role::constant, allowed) == 2);
  }
  CHECK(edge({1, 64, 2, 2}, {192, 64, 5, 5}, wide) == 0);
  CHECK(edge({1, 3, 224, 224}, {64, 3, 3, 3}) == 0);
  CHECK(edge({1, 64, 56, 56}, {64, 64, 1, 1}, {}) == 0);
  CHECK(edge({1, 64, 56, 56}, {64, 64, 3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}) == 0);
  CHECK(edge({1, 64, 56, 56}, {64, 64, 3, 3}, {.dilations = {2, 2}, .pads = {2, 2, 2, 2}}) == 0);
  CHECK(edge({1, 64, 56, 56}, {64, 1, 3, 3}, {.pads = {1, 1, 1, 1}, .group = 64}) == 0);
  // Weights that a step changes are transformed in every step, which pays for more pixels.
  const op::Conv same{.pads = {1, 1, 1, 1}};
  CHECK(edge({1, 256, 14, 14}, {256, 256, 3, 3}, same, Role::variable) == 2);
  CHECK(edge({1, 512, 7, 7}, {512, 512, 3, 3}, same, Role::variable) == 0);
}

TEST_CASE("choose convolutions: gradients of weights by shape, whatever the batch") {
  const auto edge = [](const Dims& x, const Dims& w, op::Conv conv, Convolution allowed) {
    Graph g = one_convolution(x, w, conv, Role::variable);
    const AnyTensor loss = op::mean(op::square(g["y"]));
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 1});
    for (const Node& node : choose_convolutions(std::move(g), allowed).nodes) {
      if (node.op->id != op::ConvWeightGradient::id) continue;
      return unpack<op::ConvWeightGradient>(node.attributes).winograd;
    }
    return std::int64_t{-1};
  };
  const op::Conv same{.pads = {1, 1, 1, 1}};
  for (const std::int64_t batch : {1, 8}) {
    CAPTURE(batch);
    CHECK(edge({batch, 64, 56, 56}, {64, 64, 3, 3}, same, Convolution::fast) == 2);
    CHECK(edge({batch, 64, 56, 56}, {64, 64, 3, 3}, same, Convolution::fastest) == 4);
    CHECK(edge({batch, 64, 56, 56}, {64, 64, 3, 3}, same, Convolution::exact) == 0);
    CHECK(edge({batch, 256, 4, 4}, {256, 256, 3, 3}, same, Convolution::fast) == 2);
    CHECK(edge({batch, 32, 14, 14}, {64, 32, 5, 5}, {.pads = {2, 2, 2, 2}}, Convolution::fast) ==
          2);
  }
  const op::Conv strided{.strides = {2, 2}, .pads = {1, 1, 1, 1}};
  CHECK(edge({1, 64, 56, 56}, {64, 64, 3, 3}, strided, Convolution::fast) == 0);
  CHECK(edge({1, 3, 56, 56}, {64, 3, 3, 3}, same, Convolution::fast) == 0);
  CHECK(edge({1, 64, 56, 56}, {64, 64, 1, 1}, {}, Convolution::fast) == 0);
  CHECK(edge({1, 64, 56}, {64, 64, 3}, {.pads = {1, 1}}, Convolution::fast) == 0);
}

TEST_CASE("convolutions are exact or fast as the options say") {
  const AnyArray x = image(1);
  const Floats exact = run(two_convolutions(), x, {.convolution = Convolution::exact});
  const Floats fast = run(two_convolutions(), x);
  const Floats fastest = run(two_convolutions(), x, {.convolution = Convolution::fastest});
  CHECK(exact != fast);
  CHECK(fast != fastest);
  // Sums of 288 products of numbers below 1 with ones of deviation 0.1, twice: below 16 units in the
  // last place of 32 for each, which the second one carries on.
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(std::abs(exact[i] - fast[i]) <= 1e-4f);
    CHECK(std::abs(exact[i] - fastest[i]) <= 1e-4f);
  }
}

TEST_CASE("fast convolutions have the same bits with any number of threads and in any batch") {
  for (const Convolution convolution : {Convolution::fast, Convolution::fastest}) {
    constexpr std::int64_t batch = 3;
    const AnyArray x = image(batch);
    const SessionOptions options{.convolution = convolution};
    const Floats together = run(two_convolutions(batch), x, options);
    for (const int threads : {2, 4}) {
      CHECK(run(two_convolutions(batch), x, {.threads = threads, .convolution = convolution}) ==
            together);
    }
    Session alone(two_convolutions(), options);
    const std::size_t size = together.size() / batch;
    for (std::size_t i = 0; i < batch; ++i) {
      AnyArray one(TensorInfo{ElementType::float32, {1, 32, 14, 14}});
      for (std::size_t k = 0; k < size; ++k) {
        one.values<float>()[k] = x.values<float>()[i * size + k];
      }
      const auto begin = together.begin() + static_cast<std::ptrdiff_t>(i * size);
      CHECK(run(alone, one) == Floats(begin, begin + static_cast<std::ptrdiff_t>(size)));
    }
  }
}

TEST_CASE("a model that is ready to run keeps its convolutions, unless exact ones are asked for") {
  const AnyArray x = image(1);
  const test::Folder folder;
  const std::string path = folder / "model.htx";
  save_executable(compile(two_convolutions()), path);
  Session kept(load_executable(path));
  CHECK(run(kept, x) == run(two_convolutions(), x));
  const SessionOptions options{.convolution = Convolution::exact};
  Session exact(load_executable(path), options);
  CHECK(run(exact, x) == run(two_convolutions(), x, options));
}

TEST_CASE("training has the same forms of convolutions, and for gradients") {
  const AnyArray x = image(3);
  const auto trained = [&](Convolution convolution) {
    Graph g = two_convolutions(3);
    const AnyTensor loss = op::mean(op::square(g["y"]));
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 1});
    Session session(std::move(g), {.outputs = {"y", "UpdatedVar___v", "UpdatedVar___w"},
                                   .convolution = convolution});
    const auto results = session.run({{"x", static_cast<AnyView>(x)}});
    std::vector<Floats> found;
    for (const char* const name : {"y", "UpdatedVar___v", "UpdatedVar___w"}) {
      found.push_back(test::floats_of(results[name]));
    }
    return found;
  };
  const std::vector<Floats> fast = trained(Convolution::fast), exact = trained(Convolution::exact);
  // The first step returns what the weights that it starts with give.
  CHECK(fast[0] == run(two_convolutions(3), x));
  CHECK(exact[0] == run(two_convolutions(3), x, {.convolution = Convolution::exact}));
  // The new weights are near 0.1; their gradients are means over the elements of y of sums of some
  // hundred products, with errors as those of y.
  for (const std::size_t i : {1, 2}) {
    CHECK(fast[i] != exact[i]);
    for (std::size_t k = 0; k < fast[i].size(); ++k) {
      CHECK(std::abs(fast[i][k] - exact[i][k]) <= 1e-6f);
    }
  }
}
