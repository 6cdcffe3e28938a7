#include <popart/ir.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <popart/error.hpp>

#include "base/describe.hpp"
#include "popart/convert.hpp"
#include "popart/ir_graph.hpp"

namespace popart {

namespace {

using Json = nlohmann::ordered_json;

class AttributeValues final : public halftone::AttributeVisitor {
 public:
  Json values = Json::object();

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (present) add(name, value);
  }
  void real(std::string_view name, float& value, bool& present) override {
    if (present) add(name, value);
  }
  void integers(std::string_view name, std::int64_t* list, std::uint8_t& count,
                std::size_t) override {
    add(name, std::vector<std::int64_t>(list, list + count));
  }
  void reals(std::string_view name, float* list, std::uint8_t& count, std::size_t) override {
    add(name, std::vector<float>(list, list + count));
  }
  void text(std::string_view name, char* text, std::size_t) override {
    add(name, halftone::detail::escaped(text));
  }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    add(name, names[static_cast<std::size_t>(value)]);
  }
  void choices(std::string_view name, std::int64_t* list, std::uint8_t& count, std::size_t,
               std::span<const std::string_view> names) override {
    std::vector<std::string_view> chosen;
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back(names[static_cast<std::size_t>(list[i])]);
    }
    add(name, chosen);
  }
  void graph(std::string_view name, std::int32_t& index) override {
    add(name, index);
    graphs.push_back(index);
  }
  std::vector<std::int32_t> graphs;

 private:
  void add(std::string_view name, Json value) { values[std::string(name)] = std::move(value); }
};

/// Tensors without a name have one that tells them apart.
TensorId nameOf(const halftone::Graph& graph, halftone::TensorId id) {
  const std::string_view name = graph.name(id);
  return name.empty() ? TensorId("#" + std::to_string(id)) : TensorId(name);
}

Json tensors(const halftone::Graph& graph, const std::vector<halftone::TensorId>& ids) {
  Json list = Json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == halftone::no_tensor) continue;
    const halftone::TensorInfo& info = graph.info(ids[i]);
    Json tensor{{"index", i}, {"name", halftone::detail::escaped(nameOf(graph, ids[i]))}};
    if (info.is_static()) {
      const TensorInfo known = detail::fromNative(info);
      tensor["type"] = known.data_type();
      tensor["shape"] = known.shape();
    }
    list.push_back(std::move(tensor));
  }
  return list;
}

/// Adds the operators of a graph, and behind them those of its subgraphs, under names of their own.
void serialize(const halftone::Graph& graph, const std::string& name, Json& to) {
  Json ops = Json::array();
  std::vector<std::pair<std::string, const halftone::Graph*>> bodies;
  for (const halftone::Node& node : graph.nodes) {
    AttributeValues attributes;
    halftone::Vector<halftone::Word> words = node.attributes;
    node.op->attributes(words, attributes);
    ops.push_back({{"type", node.op->id.name},
                   {"domain", node.op->id.domain},
                   {"version", node.op->id.versions.back()},
                   {"name", halftone::detail::escaped(graph.name(node))},
                   {"inputs", tensors(graph, node.inputs)},
                   {"outputs", tensors(graph, node.outputs)},
                   {"attributes", std::move(attributes.values)}});
    for (const std::int32_t index : attributes.graphs) {
      bodies.emplace_back(name + "/" + std::to_string(index),
                          &graph.graphs[static_cast<std::size_t>(index)]);
    }
  }
  to[name] = std::move(ops);
  for (const auto& [inner, body] : bodies) serialize(*body, inner, to);
}

}  // namespace

std::string detail::serialized(const halftone::Graph& graph) {
  Json json = Json::object();
  serialize(graph, "maingraph", json);
  return json.dump();
}

std::unique_ptr<Ir> detail::describe(const halftone::Graph& graph, const DataFlow& dataFlow,
                                     const SessionOptions& options, const Optimizer* optimizer) {
  std::vector<TensorId> inputs;
  for (const halftone::TensorId id : graph.inputs) inputs.emplace_back(graph.name(id));
  std::set<TensorId> tensors;
  for (const halftone::TensorRecord& t : graph.tensors) {
    if (!t.name.empty()) tensors.emplace(graph.text(t.name));
  }
  std::vector<Ir::Operator> operators;
  const auto named = [&](const std::vector<halftone::TensorId>& ids) {
    std::vector<TensorId> names;
    for (const halftone::TensorId id : ids) {
      names.push_back(id == halftone::no_tensor ? TensorId() : nameOf(graph, id));
    }
    return names;
  };
  for (const halftone::Node& node : graph.nodes) {
    operators.push_back({std::string(node.op->id.domain), std::string(node.op->id.name),
                         std::string(graph.name(node)), named(node.inputs), named(node.outputs)});
  }
  return std::make_unique<Ir>(dataFlow, options, optimizer, std::move(inputs), std::move(tensors),
                              std::move(operators));
}

Ir::Ir(const DataFlow& dataFlow, const SessionOptions& options, const Optimizer* optimizer,
       std::vector<TensorId> inputs, std::set<TensorId> tensors, std::vector<Operator> operators)
    : dataFlow_(dataFlow),
      options_(options),
      optimizer_(optimizer == nullptr ? nullptr : optimizer->clone()),
      inputs_(std::move(inputs)),
      tensors_(std::move(tensors)),
      operators_(std::move(operators)) {}
const Optimizer& Ir::getOptimizer() const {
  if (optimizer_ == nullptr) throw error("An Ir of inference has no optimizer");
  return *optimizer_;
}
bool Ir::isAnchored(const TensorId& id) const {
  const std::vector<TensorId>& anchors = dataFlow_.anchors();
  return std::find(anchors.begin(), anchors.end(), id) != anchors.end();
}

}  // namespace popart
