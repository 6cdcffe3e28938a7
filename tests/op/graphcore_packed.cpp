#include <halftone/op/graphcore_packed.hpp>

#include <doctest/doctest.h>
#include <halftone/ipu/profile.hpp>
#include <halftone/session/session.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

using Numbers = std::vector<std::int32_t>;
using Floats = std::vector<float>;

/// y[b, j] = 10 (a[b, j] + sum over k of c[b, k]) + w: of two inputs of 3 and 2 rows at most, so
/// that zeros of the padding count; rows of 2 numbers.
Message callback() {
  return graph(
      {.nodes = {node("ReduceSum", {"c", "axis"}, {"sum"}), node("Add", {"a", "sum"}, {"s"}),
                 node("Mul", {"s", "ten"}, {"t"}), node("Add", {"t", "w"}, {"r"})},
       .initializers = {floats("ten", {}, {10}), tensor<std::int64_t>("axis", int64, {1}, {1})},
       .inputs = {shapeless("a", float32), shapeless("c", float32)},
       .outputs = {shapeless("r", float32)}});
}

struct Packed {
  Extent sequences = 4;
  std::int64_t batch = 2, result = 9;
  std::vector<std::int64_t> lengths = {3, 2};
  Message body = callback();
  bool has_all_inputs = true;
};

std::string packed_model(const Packed& p = {}) {
  Message lengths = attribute("maxSequenceLengths", 7);
  for (const std::int64_t length : p.lengths) lengths.integer(8, length);
  NodeParts parts{
      .domain = "ai.graphcore",
      .attributes = {lengths, integer("resultSize", p.result),
                     integer("callbackBatchSize", p.batch), graph_attribute("callback", p.body)}};
  const Message packed =
      p.has_all_inputs
          ? node("PackedDataBlock", {"a", "ao", "al", "c", "co", "cl", "ro", "rl"}, {"y"}, parts)
          : node("PackedDataBlock", {"a", "ao", "al", "c", "co", "cl", "ro"}, {"y"}, parts);
  GraphParts g{.nodes = {packed},
               .initializers = {floats("w", {2}, {0.5f, -0.5f})},
               .inputs = {value("a", float32, {7, 2}), value("c", float32, {5, 2})},
               .outputs = {shapeless("y", float32)}};
  for (const char* list : {"ao", "al", "co", "cl", "ro", "rl"}) {
    g.inputs.push_back(value(list, int32, {p.sequences}));
  }
  return model(g, {.opsets = {opset(1, "ai.graphcore")}});
}

struct Lists {
  Numbers ao, al, co, cl, ro, rl;
};

/// The definition, sequence by sequence.
Floats expected(const Lists& s, const Floats& a, const Floats& c, std::size_t rows) {
  Floats y(rows * 2, 0.f);
  const float w[] = {0.5f, -0.5f};
  for (std::size_t i = 0; i < s.ao.size(); ++i) {
    for (std::int32_t j = 0; j < std::min(s.rl[i], 3); ++j) {
      for (std::int32_t k = 0; k < 2; ++k) {
        const auto at = [&](std::int32_t row) { return static_cast<std::size_t>(row * 2 + k); };
        float sum = j < s.al[i] ? a[at(s.ao[i] + j)] : 0;
        for (std::int32_t m = 0; m < std::min(s.cl[i], 2); ++m) sum += c[at(s.co[i] + m)];
        y[at(s.ro[i] + j)] = 10 * sum + w[k];
      }
    }
  }
  return y;
}

Array<std::int32_t> list(const Numbers& numbers) {
  Array<std::int32_t> x({static_cast<std::int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), x.values().begin());
  return x;
}
Array<float> matrix(const Floats& numbers) {
  Array<float> x({static_cast<std::int64_t>(numbers.size() / 2), 2});
  std::copy(numbers.begin(), numbers.end(), x.values().begin());
  return x;
}
Floats run(Session& net, const Lists& s, const Floats& a, const Floats& c) {
  const Result result = net.run({{"a", matrix(a)},
                                 {"c", matrix(c)},
                                 {"ao", list(s.ao)},
                                 {"al", list(s.al)},
                                 {"co", list(s.co)},
                                 {"cl", list(s.cl)},
                                 {"ro", list(s.ro)},
                                 {"rl", list(s.rl)}});
  const auto y = result["y"].values<float>();
  return {y.begin(), y.end()};
}

const Floats a = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
             c = {-1, 1, -2, 2, -3, 3, -4, 4, -5, 5};
/// The second sequence of `a` and the third of `c` are empty, the fourth of `c` is too long; the
/// results have a gap at row 2 and are in another order.
const Lists sequences{.ao = {0, 2, 2, 5},
                      .al = {2, 0, 3, 2},
                      .co = {0, 2, 3, 2},
                      .cl = {2, 1, 0, 3},
                      .ro = {0, 8, 3, 6},
                      .rl = {2, 1, 3, 2}};

}  // namespace

TEST_CASE("packed data: sequences go through the callback in padded batches") {
  for (const Extent& n : {Extent(4), Extent("n")}) {
    for (const std::int64_t batch : {1, 2, 4}) {
      CAPTURE(batch);
      const Graph graph = loaded(packed_model({.sequences = n, .batch = batch}));
      for (const Graph& g : {graph, onnx::load(onnx::to_bytes(graph))}) {
        for (const bool fuse : {true, false}) {
          if (!fuse && n.value == -1) continue;
          Session net(g, {.device = fuse ? Device::cpu : Device::ipu_model});
          CHECK(run(net, sequences, a, c) == expected(sequences, a, c, 9));
          if (fuse) continue;
          CHECK(net.report().html().size() > 1000);
          CHECK(net.report().json().size() > 1000);
        }
      }
    }
  }
}

TEST_CASE("packed data: rows out of range, and what does not fit") {
  Session net(loaded(packed_model()));
  for (const auto member : {&Lists::ao, &Lists::co, &Lists::ro}) {
    for (const std::int32_t wrong : {9, -1}) {
      Lists s = sequences;
      (s.*member)[0] = wrong;
      CHECK_THROWS_AS(run(net, s, a, c), InputError);
    }
  }
  const auto refusal = [](const Packed& packed) {
    const Error error = error_of(packed_model(packed));
    CHECK(error.kind() == ErrorKind::model);
    return std::string(error.what());
  };
  CHECK(contains(refusal({.batch = 3}), "does not divide the number of sequences"));
  CHECK(contains(refusal({.batch = 0}), "callbackBatchSize is less than 1"));
  CHECK(contains(refusal({.result = -1}), "resultSize is negative"));
  CHECK(contains(refusal({.lengths = {3, 0}}), "a maximal length is less than 1"));
  CHECK(contains(refusal({.lengths = {}}), "three inputs for each"));
  CHECK(contains(refusal({.lengths = {3}}), "three inputs for each"));
  CHECK(contains(refusal({.has_all_inputs = false}), "three inputs for each"));
  // As many sequences as are given: 3 are no whole batches.
  Session open(loaded(packed_model({.sequences = "n"})));
  Lists three = sequences;
  for (const auto member :
       {&Lists::ao, &Lists::al, &Lists::co, &Lists::cl, &Lists::ro, &Lists::rl}) {
    (three.*member).pop_back();
  }
  CHECK_THROWS_AS(run(open, three, a, c), Error);
}

}  // namespace test
