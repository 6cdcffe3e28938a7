#include "popart/operator_names.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include <halftone/op/list.hpp>
#include <halftone/train/state.hpp>
#include <popart/operators.hpp>

#include "base/describe.hpp"
#include "op/builtin.hpp"
#include "popart/operator_versions.hpp"

namespace popart {

namespace {

using detail::IrSource;
using detail::ModelNode;
using detail::NodeAttributes;
using detail::OperatorVersions;

/// Collects a node's attributes.
class JsonAttributes final : public halftone::AttributeVisitor {
 public:
  explicit JsonAttributes(const halftone::Node& node) {
    halftone::Vector<halftone::Word> words = node.attributes;
    node.op->attributes(words, *this);
  }
  detail::NodeAttributes result;

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
    result.graphs.push_back(index);
  }

 private:
  void add(std::string_view name, const nlohmann::json& value) {
    result.values.emplace_back(name, value.dump());
  }
};

/// A gradient or an update as PopART calls it; empty if it has no such operator.
std::string graphcoreType(const halftone::Node& node, const NodeAttributes& attributes) {
  constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"Accumulate", "Accumulate"},
      {"AdjustLossScaling", "LossScaleUpdate"},
      {"AdvanceRandom", "GetRandomSeed"},
      {"AveragePoolGradient", "AveragePoolGrad"},
      {"BatchNormalizationGradient", "BatchNormalizationGrad"},
      {"ClipGradient", "ClipGrad"},
      {"ConvWeightGradient", "ConvWeightsGrad"},
      {"DeriveSeed", "ModifyRandomSeed"},
      {"GatherGradient", "GatherGrad"},
      {"LambPart", "AdamVarUpdate"},
      {"MaxPoolGradient", "MaxPoolGrad"},
      {"NegativeLogLikelihoodLossGradient", "NllGrad"},
      {"NllGradient", "NllGrad"},
      {"PadGradient", "PadGrad"},
      {"ReluGradient", "ReluGrad"},
      {"ResizeGradient", "ResizeGrad"},
      {"SliceGradient", "SliceGrad"},
      {"SoftmaxNllGradient", "SoftmaxGradDirect"},
  };
  const std::string_view name = node.op->id.name;
  for (const auto& [here, there] : types) {
    if (name == here) return std::string(there);
  }
  if (name == "RecurrentGradient") {
    const std::string cell = attributes["cell"];  // a text of JSON's
    return cell.substr(1, cell.size() - 2) + "Grad";
  }
  return {};
}

/// The whole step of an optimizer for one weight has the type of the part that changes the weight.
std::string updateType(const halftone::Graph& graph, const halftone::Node& node,
                       const NodeAttributes& attributes) {
  const std::string kind = attributes["kind"];
  if (kind == "\"sgd\"") {
    const halftone::TensorId velocity = node.inputs[2];
    if (velocity == halftone::no_tensor) return "SGD0VarUpdate";
    const bool isCombined =
        graph.name(velocity).starts_with(halftone::detail::velocity_state.prefix);
    return isCombined ? "SGD1VarUpdate" : "SGD2VarUpdate";
  }
  const bool isAdam = kind == "\"adam\"" || kind == "\"adamax\"" || kind == "\"lamb\"";
  return isAdam ? "AdamVarUpdate" : "ScaledVarUpdate";
}

/// The version that introduced an operator's meaning in the model's operator set; 0: ONNX up to version 17
/// does not have it.
unsigned versionOf(const std::string& domain, const std::string& type, const IrSource& source) {
  if (domain != Domain::ai_onnx) return 0;
  const std::span<const OperatorVersions> versions = detail::operatorVersions();
  const auto row =
      std::lower_bound(versions.begin(), versions.end(), std::string_view(type),
                       [](const auto& a, std::string_view name) { return a.name < name; });
  if (row == versions.end() || row->name != type) return 0;
  const auto opset = source.file().opsets.find(domain);
  const auto asked = static_cast<unsigned>(opset == source.file().opsets.end() ? defaultAiOnnxOpset
                                                                               : opset->second);
  unsigned version = row->versions[0];
  for (const unsigned since : row->versions) {
    if (since != 0 && since <= asked) version = since;
  }
  return version;
}

}  // namespace

std::string detail::NodeAttributes::operator[](std::string_view name) const {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return {};
}
detail::NodeAttributes detail::attributesOf(const halftone::Node& node) {
  return JsonAttributes(node).result;
}

OperatorIdentifier detail::identifierOf(const halftone::Graph& graph, const halftone::Node& node,
                                        const NodeAttributes& attributes, const IrSource& source) {
  const halftone::OpId& id = node.op->id;
  const std::string type(id.name), domain(id.domain);
  const bool isBackward = node.place.part == halftone::Part::backward;
  if (node.op->id == halftone::op::Update::id) {
    return AiGraphcoreOpIdV1(updateType(graph, node, attributes));
  }
  if (domain == "halftone") {
    const std::string known = graphcoreType(node, attributes);
    if (!known.empty()) return AiGraphcoreOpIdV1(known);
  }
  if (isBackward && id == halftone::op::Gemm::id && node.inputs.size() == 2) {
    if (attributes["transA"] == "1") return AiGraphcoreOpIdV1("MatMulRhsGrad");
    return AiGraphcoreOpIdV1("MatMulLhsGrad");
  }
  if (isBackward && id == halftone::op::ConvTranspose::id) {
    return AiGraphcoreOpIdV1("ConvDataGrad");
  }
  unsigned version = versionOf(domain, type, source);
  if (version == 0) version = static_cast<unsigned>(id.versions.back());
  return {domain, type, version};
}

OperatorIdentifier detail::identifierOf(const ModelNode& node, const IrSource& source) {
  if (node.domain == Domain::ai_graphcore) return AiGraphcoreOpIdV1(node.type);
  return {node.domain, node.type, std::max(1u, versionOf(node.domain, node.type, source))};
}

bool detail::isReadAsOthers(const ModelNode& node) {
  const halftone::OperatorTable all = halftone::builtin_operators();
  return std::any_of(all.begin(), all.end(), [&](const halftone::Descriptor* op) {
    return op->expand != nullptr && op->id.name == node.type && op->id.domain == node.domain;
  });
}

InIndex detail::inputIndex(const std::string& type, std::size_t input) {
  // The indices of PopART's gradient operators, for the library's inputs in their order.
  constexpr std::pair<std::string_view, std::array<InIndex, 3>> moved[] = {
      {"AveragePoolGrad", {2, 0, 1}},   {"ConvDataGrad", {1, 0, 2}}, {"ConvWeightsGrad", {1, 0, 2}},
      {"MatMulRhsGrad", {1, 0, 2}},     {"MaxPoolGrad", {0, 2, 1}},  {"NllGrad", {2, 0, 1}},
      {"SoftmaxGradDirect", {0, 2, 1}},
  };
  for (const auto& [name, indices] : moved) {
    if (name == type && input < indices.size()) return indices[input];
  }
  return static_cast<InIndex>(input);
}

std::string detail::inPlaceType(const std::string& type, InIndex over, std::size_t inputs) {
  const std::span<const std::string_view> known = detail::inPlaceOperators();
  const auto has = [&](const std::string& name) {
    return std::binary_search(known.begin(), known.end(), std::string_view(name));
  };
  // Softplus and Softsign have another spelling in place.
  std::string stem = type;
  if (stem == "Softplus") stem = "SoftPlus";
  if (stem == "Softsign") stem = "SoftSign";
  if (inputs == 2 && over <= 1 && has(stem + (over == 0 ? "LhsInplace" : "RhsInplace"))) {
    return stem + (over == 0 ? "LhsInplace" : "RhsInplace");
  }
  return over == 0 && has(stem + "Inplace") ? stem + "Inplace" : std::string();
}

}  // namespace popart
