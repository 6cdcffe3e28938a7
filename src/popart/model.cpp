#include "popart/model.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <popart/error.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/variablesettings.hpp>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "onnx/proto.hpp"
#include "onnx/versions.hpp"
#include "popart/convert.hpp"
#include "popart/external.hpp"

namespace popart {

namespace {

/// For how many replicas a model with VariableSettings was made; 1: it has none.
int groupedReplicas(const halftone::onnx::ModelMessage& model) {
  int replicas = 1;
  bool hasSettings = false;
  for (const auto& [key, value] : model.metadata) {
    hasSettings = hasSettings || key.starts_with(sVariableSettings);
    if (key == sReplicationFactor) replicas = std::atoi(std::string(value).c_str());
  }
  return hasSettings ? replicas : 1;
}

/// The newest version of an operator set whose operators are known; 0: all are.
int newestOf(std::string_view domain) {
  domain = halftone::onnx::domain_of(domain);
  if (domain == Domain::ai_onnx) return halftone::onnx::newest_opset;
  return domain == Domain::ai_onnx_ml ? halftone::onnx::newest_ml_opset : 0;
}
bool isNewer(std::string_view domain, std::int64_t version) {
  const int newest = newestOf(domain);
  return newest != 0 && version > newest;
}
bool isNewer(const halftone::onnx::ModelMessage& model) {
  return std::any_of(model.opsets.begin(), model.opsets.end(),
                     [](const auto& set) { return isNewer(set.domain, set.version); });
}
void useNewest(::onnx::ModelProto& model) {
  for (auto& set : *model.mutable_opset_import()) {
    if (!isNewer(set.domain(), set.version())) continue;
    detail::say(
        logging::Module::ir, logging::Level::Warn,
        logging::format("Operator set {} {} is read as version {}, the newest that there is",
                        halftone::onnx::domain_of(set.domain()), set.version(),
                        newestOf(set.domain())));
    set.set_version(newestOf(set.domain()));
  }
}

/// The value of all groups of a variable, of which the model that is read has the first one's.
struct Grouped {
  std::string name;
  std::string data;
};

halftone::Retrieval retrievalOf(VariableRetrievalMode mode) {
  if (mode == VariableRetrievalMode::AllReduceReplicas) {
    throw error("VariableRetrievalMode::AllReduceReplicas is not supported");
  }
  return mode == VariableRetrievalMode::AllReplicas ? halftone::Retrieval::all_replicas
                                                    : halftone::Retrieval::one_per_group;
}

/// Gives initializers that have a value for each group of replicas the first group's alone, as the
/// nodes of one replica read it.
std::vector<Grouped> takeGroups(::onnx::ModelProto& model) {
  std::map<std::string, int> ranks;
  for (const auto& input : model.graph().input()) {
    ranks[input.name()] = input.type().tensor_type().shape().dim_size();
  }
  std::vector<Grouped> taken;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const auto rank = ranks.find(tensor.name());
    if (rank == ranks.end() || tensor.dims_size() != rank->second + 1 || tensor.dims(0) < 1)
      continue;
    const auto groups = static_cast<std::size_t>(tensor.dims(0));
    taken.push_back({tensor.name(), tensor.raw_data()});
    tensor.mutable_dims()->erase(tensor.dims().begin());
    tensor.mutable_raw_data()->resize(tensor.raw_data().size() / groups);
  }
  return taken;
}

/// Says of the variables of a model with VariableSettings which replicas share them.
void setGroups(halftone::Graph& graph, const std::vector<Grouped>& groups, int replicas) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<halftone::TensorId>(i);
    if (!halftone::is_variable(graph.tensor(id))) continue;
    const std::string_view name = graph.name(id);
    const auto setting = [&](const char* key, int otherwise) {
      return detail::settingOf(graph, key, name, otherwise);
    };
    const auto mode = static_cast<VariableRetrievalMode>(setting(sVariableSettings, -1));
    if (static_cast<int>(mode) < 0) continue;
    const auto size = static_cast<unsigned>(setting(sCommGroupSize, 0));
    const auto stride = static_cast<unsigned>(setting(detail::variableStride, 0));
    const auto type = static_cast<CommGroupType>(setting(sCommGroupType, 0));
    const VariableSettings own = stride > 0 ? VariableSettings(stride, size, mode)
                                            : VariableSettings(CommGroup(type, size), mode);
    const ReplicaGrouping grouping = own.getReplicaGrouping(static_cast<unsigned>(replicas));
    graph.set_variable(id,
                       {.grouping = detail::toNative(grouping), .retrieval = retrievalOf(mode)});
    for (const Grouped& group : groups) {
      if (group.name != name) continue;
      graph.tensor(id).data = halftone::Bytes::copy_of(std::as_bytes(std::span(group.data)));
    }
  }
}

}  // namespace

halftone::Graph detail::readModel(const std::string& model, halftone::onnx::LoadOptions options,
                                  bool isStrict) {
  options.allow_no_outputs = true;          // anchors are what a session returns
  options.allow_unknown_attributes = true;  // Builder::addNodeAttribute takes any name
  options.operators = operators();
  const bool isFile = isPath(model);
  const halftone::Storage file = isFile ? halftone::detail::map_file(model) : halftone::Storage();
  const auto bytes = isFile ? std::span<const std::byte>(file.data(), file.size())
                            : std::as_bytes(std::span(model));
  const halftone::onnx::ModelMessage message = halftone::onnx::read_model({bytes, bytes.data()});
  const int replicas = groupedReplicas(message);
  const bool isChanged = !isStrict && isNewer(message);
  if (replicas > 1 || isChanged) {
    const GivenModel given(model);
    ::onnx::ModelProto proto = parsed(given);
    if (isChanged) useNewest(proto);
    const std::vector<Grouped> groups = replicas > 1 ? takeGroups(proto) : std::vector<Grouped>();
    const std::string first = proto.SerializeAsString();
    halftone::Graph graph =
        halftone::onnx::load(std::as_bytes(std::span(first)), options, given.folder());
    if (replicas > 1) setGroups(graph, groups, replicas);
    return graph;
  }
  if (isFile) return halftone::onnx::load(std::string_view(model), options);
  // Data that Builder::saveInitializersExternally moved out are looked up in the working directory.
  return halftone::onnx::load(bytes, options, ".");
}

int detail::settingOf(const halftone::Graph& graph, const char* key, std::string_view tensor,
                      int otherwise) {
  const std::string wanted = std::string(key) + "/" + std::string(tensor);
  for (const halftone::Note& note : graph.notes) {
    if (note.kind != halftone::Note::Kind::metadata || graph.text(note.key) != wanted) continue;
    const std::span<const std::byte> bytes = note.text.span();
    return std::atoi(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).c_str());
  }
  return otherwise;
}

}  // namespace popart
