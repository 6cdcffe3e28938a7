#include "onnx/importer.hpp"

#include <algorithm>
#include <climits>

#include <halftone/base/log.hpp>
#include <halftone/graph/infer.hpp>
#include <halftone/streams.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::onnx {

using detail::quoted;

namespace {

constexpr std::uint64_t most_name_characters = std::uint64_t{1} << 31;

/// Inputs of floating-point type whose values decide shapes: as constants inference can see them.
bool decides_shape(const NodeMessage& node, std::size_t input) {
  if (node.domain != "ai.onnx") return false;
  return (node.op == "Resize" && (input == 1 || input == 2)) ||
         (node.op == "Upsample" && input == 1) || node.op == "Range";
}

}  // namespace

Importer::Importer(Storage file, const std::string* folder, const LoadOptions& options,
                   Report& report)
    : options_(options),
      file_(std::move(file)),
      tensors_(file_, folder),
      operators_(options.operators.empty() ? builtin_operators() : options.operators),
      report_(report),
      most_inlined_nodes_(100'000 + file_.size() / 8) {}

Graph Importer::run() {
  struct Warnings {  // whatever happens
    const Report& report;
    ~Warnings() { report.log_warnings(); }
  } const warnings{report_};
  if (file_.size() == 0) fail(ErrorKind::model, {.what = "the model is empty"});
  const ModelMessage model = read_model({{file_.data(), file_.size()}, file_.data()});
  check_versions(model);
  read_functions(model);
  Target target;
  read_main_graph(model, target);
  infer_all(target);
  check_late_types(target);
  Graph& graph = target.graph;
  read_notes(model, graph);
  report_.raise();
  check_options();
  return std::move(graph);
}

void Importer::check_versions(const ModelMessage& model) {
  if (model.ir_version == 0) {
    fail(ErrorKind::model,
         {.what = "the file is no ONNX model", .found = "it states no version of ONNX's format"});
  }
  if (model.ir_version < oldest_ir || model.ir_version > newest_ir) {
    report_.add_version(
        {.what = "this version of ONNX's format is not offered",
         .expected = "IR version " + std::to_string(oldest_ir) + " to " + std::to_string(newest_ir),
         .found = std::to_string(model.ir_version)});
  }
  if (model.graph.empty()) fail(ErrorKind::model, {.what = "the model has no graph"});
  for (const OpsetImport& opset : model.opsets) {
    const auto known = std::find_if(model_opsets_.begin(), model_opsets_.end(),
                                    [&](const OpsetImport& o) { return o.domain == opset.domain; });
    if (known == model_opsets_.end()) {
      model_opsets_.push_back(opset);
    } else if (known->version != opset.version) {
      defect({}, "the model imports two versions of an operator set", {}, {},
             quoted(opset.domain) + " " + std::to_string(known->version) + " and " +
                 std::to_string(opset.version));
    }
    if (opset.version < 1) {
      defect({}, "the version of an operator set is not positive", {}, {},
             quoted(opset.domain) + " " + std::to_string(opset.version));
    }
    const int newest = opset.domain == "ai.onnx"      ? newest_opset
                       : opset.domain == "ai.onnx.ml" ? newest_ml_opset
                                                      : INT_MAX;
    if (opset.version > newest) {
      const std::string domain(opset.domain);
      report_.add_version({.what = "this version of the operator set " + domain + " is not offered",
                           .expected = "1 to " + std::to_string(newest),
                           .found = std::to_string(opset.version)});
    }
  }
  if (model_opsets_.empty()) defect({}, "the model imports no operator set");
}

void Importer::read_functions(const ModelMessage& model) {
  for (const Message& message : model.functions) {
    FunctionMessage function = read_function(message);
    const FunctionKey key{function.domain, function.name, function.overload};
    if (!functions_.emplace(key, std::move(function)).second) {
      defect({}, "the model has two functions of one name", key.name);
    }
  }
}

void Importer::read_main_graph(const ModelMessage& model, Target& target) {
  const GraphMessage message = read_graph(model.graph);
  Scope scope{.target = target, .opsets = &model_opsets_};
  target.graph.graph_name = target.graph.store_name(message.name);
  read_graph_into(scope, message);
  if (!options_.allow_no_outputs && message.outputs.empty() && target.graph.outputs.empty() &&
      used_d2h_streams(target.graph).empty()) {
    defect({}, "the graph has no outputs");
  }
  check_buffers(target.graph);
}

/// Remembers what save() writes again, though no result depends on it.
void Importer::read_notes(const ModelMessage& model, Graph& graph) {
  std::unordered_set<std::string_view> keys;
  for (const auto& [key, value] : model.metadata) {
    if (!keys.insert(key).second) {
      report_.warn({.what = "the model's metadata have a key twice", .found = quoted(key)});
      continue;
    }
    name_characters_ += key.size();
    if (name_characters_ > most_name_characters) break;
    const std::span text(reinterpret_cast<const std::byte*>(value.data()), value.size());
    graph.notes.push_back(
        {Note::Kind::metadata, graph.store_name(key), Bytes(file_, text.data(), text.size())});
  }
  for (const Message& m : model.devices) {
    graph.notes.push_back({Note::Kind::devices, {}, Bytes(file_, m.bytes.data(), m.bytes.size())});
  }
  if (graph.text(graph.graph_name).empty()) report_.warn({.what = "the graph has no name"});
}

void Importer::check_options() {
  for (const Size& size : options_.sizes) {
    if (size.extent < 0) {
      fail(ErrorKind::usage, {.what = "a size is negative", .tensor = size.symbol});
    }
    if (!known_symbols_.contains(size.symbol)) {
      fail(ErrorKind::usage,
           {.what = "no extent in the model has the symbol that a size is given for",
            .tensor = size.symbol});
    }
  }
  for (const InputShape& shape : options_.inputs) {
    if (!known_inputs_.contains(shape.input)) {
      fail(ErrorKind::usage,
           {.what = "the model has no input that a shape is given for", .tensor = shape.input});
    }
  }
  for (const InputValue& value : options_.values) {
    if (!known_optional_inputs_.contains(value.input)) {
      fail(ErrorKind::usage, {.what = "the model has no input with an initializer of this name",
                              .tensor = value.input});
    }
  }
}

bool Importer::is_output(const Target& target, std::string_view tensor) const {
  // Converters of models of ai.onnx.ml state outputs of one column where there are several, and
  // ONNX Runtime does not mind.
  const auto is_ml = [](const OpsetImport& o) { return o.domain == "ai.onnx.ml"; };
  return target.is_main && output_names_.contains(tensor) &&
         std::none_of(model_opsets_.begin(), model_opsets_.end(), is_ml);
}

void Importer::contradiction(bool is_output, const std::string& node, std::string_view tensor,
                             const TensorInfo& stated, const TensorInfo& given) {
  const std::string expected = detail::to_text(stated), found = detail::to_text(given);
  const ErrorParts parts{.what = "the model states another shape or type than the node gives",
                         .node = node,
                         .tensor = tensor,
                         .expected = expected,
                         .found = found};
  if (!is_output) return report_.warn(parts);
  std::int64_t wanted = static_cast<std::int64_t>(stated.rank());
  std::int64_t there = static_cast<std::int64_t>(given.rank());
  TensorInfo both = stated;
  if (stated.rank() == given.rank()) detail::refine(both, given, wanted, there);
  report_.add_shape(parts, wanted, there);
}

bool Importer::is_ignored(std::string_view attribute, const std::string& node) const {
  if (attribute.starts_with("__")) return true;
  if (!options_.allow_unknown_attributes) return false;
  if (log_enabled(LogLevel::debug)) {
    log_message(LogLevel::debug, "onnx",
                "the attribute " + quoted(attribute) + " is left out: " + node + " has none");
  }
  return true;
}

void Importer::defect(const std::string& node, std::string_view what, std::string_view tensor,
                      std::string_view expected, std::string_view found) {
  report_.add(ErrorKind::model,
              {.what = what, .node = node, .tensor = tensor, .expected = expected, .found = found});
}

// --- graphs ------------------------------------------------------------------------------------

void Importer::read_graph_into(Scope& scope, const GraphMessage& message) {
  std::vector<NodeMessage> nodes;
  nodes.reserve(message.nodes.size());
  for (const Message& m : message.nodes) {
    nodes.push_back(read_node(m));
    const NodeMessage& node = nodes.back();
    for (const std::string_view output : node.outputs) {
      if (output.empty()) continue;
      scope.producers.emplace(output, nodes.size() - 1);
      scope.target.reserved.insert(output);
    }
    for (const auto* list : {&node.outputs, &node.inputs}) {
      for (const std::string_view name : *list) name_characters_ += name.size();
    }
  }
  if (name_characters_ > most_name_characters) {
    fail(ErrorKind::unsupported, {.what = "the names in the model are too long"});
  }
  for (const auto* list : {&message.outputs, &message.value_infos}) {
    for (const Message& m : *list) {
      try {
        const ValueMessage value = read_value(m);
        if (scope.target.is_main && list == &message.outputs) output_names_.insert(value.name);
        const TensorInfo info = info_of(value, nullptr, nullptr, no_tensor);
        TensorInfo& declared = scope.declared[value.name];
        TensorInfo both = declared;
        std::int64_t expected = 0, found = 0;
        if (detail::refine(both, info, expected, found)) {
          declared = both;
        } else {
          const std::string first = detail::to_text(declared), second = detail::to_text(info);
          report_.warn({.what = "the model states two shapes or types for one tensor",
                        .tensor = value.name,
                        .expected = first,
                        .found = second});
        }
      } catch (const Error& error) {
        // Of an intermediate tensor nobody needs it.
        if (list == &message.outputs) {
          report_.add_current();
        } else {
          report_.warn({.what = error.reason(),
                        .tensor = error.tensor(),
                        .expected = error.expected(),
                        .found = error.found()});
        }
      }
    }
  }

  std::vector<TensorMessage> tensors;
  std::unordered_map<std::string_view, const TensorMessage*> initializers;
  tensors.reserve(message.initializers.size() + message.sparse_initializers.size());
  const std::size_t dense = message.initializers.size();
  for (std::size_t i = 0; i < dense + message.sparse_initializers.size(); ++i) {
    tensors.push_back(i < dense ? read_tensor(message.initializers[i])
                                : read_sparse_tensor(message.sparse_initializers[i - dense]));
    const TensorMessage& tensor = tensors.back();
    scope.target.reserved.insert(tensor.name);
    if (tensor.name.empty()) {
      report_.warn({.what = "an initializer has no name, so nothing can use it"});
    } else if (!initializers.emplace(tensor.name, &tensor).second) {
      defect({}, "two initializers have one name", tensor.name);
    }
  }
  read_inputs(scope, message, initializers);
  read_initializers(scope, tensors, nodes);
  for (NodeMessage& node : nodes) read_node_into(scope, std::move(node));
  read_outputs(scope, message);
}

TensorInfo Importer::info_of(const ValueMessage& value, Vector<Symbol>* symbols, Graph* graph,
                             TensorId id) {
  if (value.kind == ValueMessage::Kind::none) return {};
  if (value.type != ElementType::undefined) return {value.type, {}};
  if (value.kind != ValueMessage::Kind::tensor) {
    fail(ErrorKind::unsupported, {.what = "values of this type are not offered",
                                  .tensor = value.name,
                                  .found = name(value.kind)});
  }
  TensorInfo info;
  // Exporters leave the type of an intermediate or output undefined when they do not know it.
  if (value.element_type == 0 && symbols == nullptr) return {};
  const ElementType type = element_type_of(value.element_type, value.name);
  if (type == ElementType::complex64 || type == ElementType::complex128) {
    fail(ErrorKind::unsupported, {.what = "tensors of this element type are not offered",
                                  .tensor = value.name,
                                  .found = name(type)});
  }
  if (!value.has_shape) return {};
  info.type = type;
  if (value.shape.size() > max_rank) {
    fail(ErrorKind::unsupported, {.what = "a tensor has too many dimensions",
                                  .tensor = value.name,
                                  .expected = "at most " + std::to_string(max_rank),
                                  .found = std::to_string(value.shape.size())});
  }
  for (const Dimension& d : value.shape) {
    std::int64_t extent = d.extent;
    if (extent < -1) {
      fail(ErrorKind::model, {.what = "a tensor has a negative extent",
                              .tensor = value.name,
                              .found = std::to_string(extent)});
    }
    if (!d.symbol.empty()) {
      known_symbols_.insert(d.symbol);
      const auto given = std::find_if(options_.sizes.begin(), options_.sizes.end(),
                                      [&](const Size& s) { return s.symbol == d.symbol; });
      if (given != options_.sizes.end() && given->extent >= 0) {
        extent = given->extent;
      } else if (symbols != nullptr) {
        symbols->push_back(
            {id, static_cast<std::uint8_t>(info.shape.size()), graph->store_name(d.symbol)});
      }
    }
    info.shape.push_back(extent);
  }
  return info;
}

void Importer::read_inputs(
    Scope& scope, const GraphMessage& message,
    std::unordered_map<std::string_view, const TensorMessage*>& initializers) {
  Graph& graph = scope.target.graph;
  for (const Message& m : message.inputs) {
    const ValueMessage value = read_value(m);
    name_characters_ += value.name.size();
    if (value.name.empty()) {
      defect({}, "a graph input has no name");
      continue;
    }
    if (scope.ids.contains(value.name)) {
      defect({}, "two graph inputs have one name", value.name);
      continue;
    }
    const auto id = static_cast<TensorId>(graph.tensors.size());
    TensorInfo info;
    try {
      const bool is_input = scope.target.is_main && !initializers.contains(value.name);
      info = info_of(value, is_input ? &graph.symbols : nullptr, &graph, id);
    } catch (const Error&) {
      report_.add_current();
    }
    if (scope.target.is_main && initializers.contains(value.name)) {
      // Its data say what it is; here they are compared.
      scope.declared[value.name] = info;
      scope.ids.emplace(value.name, no_tensor);
      continue;
    }
    if (scope.target.is_main) {
      known_inputs_.insert(value.name);
      for (const InputShape& given : options_.inputs) {
        if (given.input != value.name) continue;
        std::int64_t expected = 0, found = 0;
        const bool has_type = value.element_type == 0 || !given.info.is_known() ||
                              value.element_type == static_cast<std::int64_t>(given.info.type);
        if (!has_type || !detail::refine(info, given.info, expected, found)) {
          fail(ErrorKind::input, {.what = "an input is given another shape than the model states",
                                  .tensor = value.name,
                                  .expected = detail::to_text(info),
                                  .found = detail::to_text(given.info)});
        }
      }
    }
    scope.target.reserved.insert(value.name);
    graph.add_input(info, value.name);
    if (!info.is_known())
      graph.tensor(id).stated_type = static_cast<ElementType>(value.element_type);
    scope.ids.emplace(value.name, id);
  }
}

void Importer::read_initializers(Scope& scope, const std::vector<TensorMessage>& tensors,
                                 const std::vector<NodeMessage>& nodes) {
  Graph& graph = scope.target.graph;
  std::unordered_set<std::string_view> shape_values;
  for (const NodeMessage& node : nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (decides_shape(node, i)) shape_values.insert(node.inputs[i]);
    }
  }
  for (const TensorMessage& tensor : tensors) {
    if (tensor.name.empty()) continue;
    const auto known = scope.ids.find(tensor.name);
    const bool is_input = known != scope.ids.end() && known->second == no_tensor;
    if (known != scope.ids.end() && !is_input) {
      if (!scope.target.is_main) {
        report_.add(ErrorKind::unsupported,
                    {.what = "inputs of subgraphs with initializers are not offered",
                     .tensor = tensor.name});
      }
      continue;  // a second initializer of that name, which is reported already
    }
    TensorData data;
    try {
      data = tensors_.read(tensor);
    } catch (const Error&) {
      report_.add_current();
      scope.ids[tensor.name] = graph.add_tensor({}, {});  // a constant without data would mislead
      continue;
    }
    if (const auto declared = scope.declared.find(tensor.name); declared != scope.declared.end()) {
      TensorInfo info = declared->second;
      std::int64_t expected = 0, found = 0;
      if (!detail::refine(info, data.info, expected, found)) {
        const std::string stated = detail::to_text(declared->second);
        const std::string given = detail::to_text(data.info);
        const ErrorParts parts{
            .what = "an initializer has another shape or type than the model states for it",
            .tensor = tensor.name,
            .expected = stated,
            .found = given};
        // What callers may replace, or get, is as the model says.
        if (is_input || is_output(scope.target, tensor.name)) {
          report_.add(ErrorKind::model, parts);
        } else {
          report_.warn(parts);
        }
      }
    }
    const bool is_replaced = replace_value(scope, tensor, is_input, data);
    const bool is_variable = scope.target.is_main && is_floating_point(data.info.type) &&
                             !is_replaced && !shape_values.contains(tensor.name);
    const TensorId id = is_variable
                            ? graph.add_variable(data.info, std::move(data.data), tensor.name)
                            : graph.add_constant(data.info, std::move(data.data), tensor.name);
    name_characters_ += tensor.name.size();
    scope.ids[tensor.name] = id;
    if (is_input && !is_replaced) graph.optional_inputs.push_back(id);
  }
}

bool Importer::replace_value(Scope& scope, const TensorMessage& tensor, bool is_input,
                             TensorData& data) {
  if (!is_input) return false;
  known_optional_inputs_.insert(tensor.name);
  for (const InputValue& given : options_.values) {
    if (given.input != tensor.name) continue;
    // Extents that the model leaves open may differ from the initializer's.
    TensorInfo stated = scope.declared[tensor.name];
    if (!stated.is_known()) stated = data.info;
    const std::string expected = detail::to_text(stated);
    std::int64_t here = 0, there = 0;
    if (!given.value.info.is_static() || !detail::refine(stated, given.value.info, here, there) ||
        (given.value.data == nullptr && given.value.info.elements() != 0)) {
      fail(ErrorKind::input, {.what = "an input does not fit the initializer that it replaces",
                              .tensor = tensor.name,
                              .expected = expected,
                              .found = detail::to_text(given.value.info)});
    }
    data.info = given.value.info;
    const auto* first = static_cast<const std::byte*>(given.value.data);
    data.data = Bytes(std::vector<std::byte>(first, first + given.value.bytes()));
    return true;
  }
  return false;
}

void Importer::read_outputs(Scope& scope, const GraphMessage& message) {
  Graph& graph = scope.target.graph;
  for (const Message& m : message.outputs) {
    const ValueMessage value = read_value(m);
    if (value.name.empty()) {
      defect({}, "a graph output has no name");
      continue;
    }
    bool found = false;
    const TensorId id = find(scope, value.name, found);
    if (!found) {
      if (!scope.complained.contains(value.name)) {
        defect({}, "nothing computes a graph output", value.name);
      }
      continue;
    }
    graph.add_output(id);
  }
}

}  // namespace halftone::onnx
