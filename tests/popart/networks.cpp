#include "../../bench/networks.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "../../examples/popart_networks/networks.hpp"

using namespace halftone;

namespace {

/// The variables of a graph, in its order.
std::vector<TensorId> variables(const Graph& graph) {
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role == Role::variable) ids.push_back(static_cast<TensorId>(i));
  }
  return ids;
}

/// The only output of a graph, for an input of numbers from 0 to 1.
std::vector<float> result(const Graph& graph) {
  Session session(graph);
  AnyArray x(session.inputs()[0].info);
  std::size_t i = 0;
  for (float& value : x.values<float>()) value = static_cast<float>(i++ % 251) / 251;
  const Result outputs = session.run({{session.inputs()[0].name, x}});
  const auto values = outputs[0].values<float>();
  return {values.begin(), values.end()};
}

/// Two ways to make one network: with the same weights they have the same results, bit for bit.
void check_equal(Graph typed, const NetworkBuilder& built) {
  const std::string model = built.model();
  const Graph read = halftone::onnx::load(std::as_bytes(std::span(model)));
  const std::vector<TensorId> ours = variables(typed), theirs = variables(read);
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    TensorRecord& variable = typed.tensor(ours[i]);
    REQUIRE(variable.info == read.info(theirs[i]));
    variable.data = read.tensor(theirs[i]).data;
    variable.initial = {};
  }
  const std::vector<float> a = result(typed), b = result(read);
  REQUIRE(a.size() == b.size());
  CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  CHECK(std::isfinite(a[0]));
  CHECK(a[0] != a[1]);
}

}  // namespace

TEST_CASE("networks: PopART's builder and the typed functions make the same ones") {
  NetworkBuilder alexnet, encoder;
  alexnet.alexnet(1, 64);
  check_equal(networks::alexnet(1, 64), alexnet);
  encoder.encoder(2, 8, 1);
  check_equal(networks::encoder(2, 8, 1), encoder);
}
