#include "onnx/importer.hpp"

#include <algorithm>

#include <halftone/graph/infer.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::onnx {

namespace {

using detail::quoted;

constexpr std::int64_t oldest_ir = 3, newest_ir = 10;
/// Graphs within graphs and functions within functions.
constexpr int deepest_nesting = 64;
constexpr std::uint64_t most_name_characters = std::uint64_t{1} << 31;
/// Names of inlined nodes repeat what the file says once: they are cut there.
constexpr std::size_t longest_inlined_name = 200;

/// "Conv 'conv1'"; nodes without a name are known by their output.
std::string describe(const NodeMessage& node) {
  std::string text = detail::escaped(node.op.substr(0, 80));
  if (!node.name.empty()) return text + " " + quoted(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return text + " of " + quoted(output);
  }
  return text;
}

/// The same without the operator.
std::string describe_name(const NodeMessage& node) {
  if (!node.name.empty()) return quoted(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return "the node of " + quoted(output);
  }
  return "a node without a name";
}

/// Inputs of floating-point type whose values decide shapes: as constants inference can see them.
bool decides_shape(const NodeMessage& node, std::size_t input) {
  if (node.domain != "ai.onnx") return false;
  return (node.op == "Resize" && (input == 1 || input == 2)) ||
         (node.op == "Upsample" && input == 1) || node.op == "Range";
}

std::string number_text(std::int64_t number) { return std::to_string(number); }

}  // namespace

Importer::Importer(Storage file, const std::string* folder, const LoadOptions& options)
    : options_(options),
      file_(std::move(file)),
      tensors_(file_, folder),
      operators_(options.operators.empty() ? builtin_operators() : options.operators),
      most_inlined_nodes_(100'000 + file_.size() / 8) {}

Graph Importer::run() {
  if (file_.size() == 0) fail(ErrorKind::model, {.what = "the model is empty"});
  const ModelMessage model = read_model({{file_.data(), file_.size()}, file_.data()});
  check_versions(model);
  read_functions(model);
  Graph graph = main_graph(model);
  infer_all(graph);
  report_.raise();
  check_options();
  return graph;
}

void Importer::check_versions(const ModelMessage& model) {
  if (model.ir_version == 0) {
    fail(ErrorKind::model,
         {.what = "the file is no ONNX model", .found = "it states no version of ONNX's format"});
  }
  if (model.ir_version < oldest_ir || model.ir_version > newest_ir) {
    fail(ErrorKind::unsupported,
         {.what = "this version of ONNX's format is not offered",
          .expected = "IR version " + number_text(oldest_ir) + " to " + number_text(newest_ir),
          .found = number_text(model.ir_version)});
  }
  if (model.graph.empty()) fail(ErrorKind::model, {.what = "the model has no graph"});
  for (const OpsetImport& opset : model.opsets) {
    const auto known = std::find_if(model_opsets_.begin(), model_opsets_.end(),
                                    [&](const OpsetImport& o) { return o.domain == opset.domain; });
    if (known == model_opsets_.end()) {
      model_opsets_.push_back(opset);
    } else if (known->version != opset.version) {
      defect({}, "the model imports two versions of an operator set", {}, {},
             quoted(opset.domain) + " " + number_text(known->version) + " and " +
                 number_text(opset.version));
    }
    if (opset.version < 1) {
      defect({}, "the version of an operator set is not positive", {}, {},
             quoted(opset.domain) + " " + number_text(opset.version));
    }
    if (opset.domain == "ai.onnx" && opset.version > newest_opset) {
      fail(ErrorKind::unsupported,
           {.what = "this version of the operator set ai.onnx is not offered",
            .expected = "1 to " + number_text(newest_opset),
            .found = number_text(opset.version)});
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

Graph Importer::main_graph(const ModelMessage& model) {
  const GraphMessage message = read_graph(model.graph);
  Target target;
  Scope scope{.target = target, .opsets = &model_opsets_};
  target.graph.graph_name = target.graph.store_name(message.name);
  read_graph_into(scope, message);
  if (message.outputs.empty()) defect({}, "the graph has no outputs");
  return std::move(target.graph);
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
  if (!message.sparse_initializers.empty()) {
    report_.add(ErrorKind::unsupported, {.what = "sparse initializers are not offered"});
  }

  for (const auto* list : {&message.value_infos, &message.outputs}) {
    for (const Message& m : *list) {
      try {
        const ValueMessage value = read_value(m);
        const TensorInfo info = info_of(value, nullptr, nullptr, no_tensor);
        TensorInfo& declared = scope.declared[value.name];
        std::int64_t expected = 0, found = 0;
        if (!detail::refine(declared, info, expected, found)) {
          defect({}, "the model states two shapes or types for one tensor", value.name,
                 detail::to_text(declared), detail::to_text(info));
        }
      } catch (const Error&) {
        report_.add_current();
      }
    }
  }

  std::vector<TensorMessage> tensors;
  std::unordered_map<std::string_view, const TensorMessage*> initializers;
  tensors.reserve(message.initializers.size());
  for (const Message& m : message.initializers) {
    tensors.push_back(read_tensor(m));
    const TensorMessage& tensor = tensors.back();
    scope.target.reserved.insert(tensor.name);
    if (tensor.name.empty()) {
      defect({}, "an initializer has no name");
    } else if (!initializers.emplace(tensor.name, &tensor).second) {
      defect({}, "two initializers have one name", tensor.name);
    }
  }
  read_inputs(scope, message, initializers);
  read_initializers(scope, tensors, nodes);
  for (NodeMessage& node : nodes) read_node_into(scope, std::move(node));
  read_outputs(scope, message);
}

TensorInfo Importer::info_of(const ValueMessage& value, std::vector<Symbol>* symbols, Graph* graph,
                             TensorId id) {
  if (value.kind == ValueMessage::Kind::none) return {};
  if (value.kind != ValueMessage::Kind::tensor) {
    fail(ErrorKind::unsupported, {.what = "values of this type are not offered",
                                  .tensor = value.name,
                                  .found = name(value.kind)});
  }
  TensorInfo info;
  // Exporters leave the type of an intermediate or output undefined when they do not know it.
  if (value.element_type == 0 && symbols == nullptr) return {};
  const ElementType type = element_type_of(value.element_type, value.name);
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
                              .found = number_text(extent)});
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
        if (!detail::refine(info, given.info, expected, found)) {
          fail(ErrorKind::input, {.what = "an input is given another shape than the model states",
                                  .tensor = value.name,
                                  .expected = detail::to_text(info),
                                  .found = detail::to_text(given.info)});
        }
      }
    }
    scope.target.reserved.insert(value.name);
    scope.ids.emplace(value.name, graph.add_input(info, value.name));
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
    }
    if (const auto declared = scope.declared.find(tensor.name);
        declared != scope.declared.end() && data.info.is_known()) {
      TensorInfo info = declared->second;
      std::int64_t expected = 0, found = 0;
      if (!detail::refine(info, data.info, expected, found)) {
        defect({}, "an initializer has another shape or type than the model states for it",
               tensor.name, detail::to_text(declared->second), detail::to_text(data.info));
      }
    }
    const bool is_variable = scope.target.is_main && is_floating_point(data.info.type) &&
                             !shape_values.contains(tensor.name);
    const TensorId id = is_variable
                            ? graph.add_variable(data.info, std::move(data.data), tensor.name)
                            : graph.add_constant(data.info, std::move(data.data), tensor.name);
    name_characters_ += tensor.name.size();
    scope.ids[tensor.name] = id;
    if (is_input) graph.optional_inputs.push_back(id);
  }
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

// --- nodes -------------------------------------------------------------------------------------

TensorId Importer::find(Scope& scope, std::string_view name, bool& found) {
  if (const auto known = scope.ids.find(name); known != scope.ids.end()) {
    found = true;
    return known->second;
  }
  if (scope.outer == nullptr) {
    found = false;
    return no_tensor;
  }
  const TensorId outer = find(*scope.outer, name, found);
  if (!found || outer == no_tensor) return no_tensor;
  const TensorRecord& record = scope.outer->target.graph.tensor(outer);
  Graph& graph = scope.target.graph;
  TensorId inner = no_tensor;
  if (record.role == Role::constant) {
    // Inference sees the values, and the node has one input less.
    inner = graph.add_constant(record.info, record.data, name);
  } else if (const auto known = scope.captured.find(outer); known != scope.captured.end()) {
    inner = known->second;
  } else {
    inner = graph.add_tensor({.info = record.info, .role = Role::input}, name);
    scope.captured.emplace(outer, inner);
    if (std::find(scope.captures->begin(), scope.captures->end(), outer) == scope.captures->end()) {
      scope.captures->push_back(outer);
    }
  }
  name_characters_ += name.size();
  scope.ids.emplace(name, inner);
  return inner;
}

std::vector<TensorId> Importer::resolve_inputs(Scope& scope, const NodeMessage& node) {
  std::vector<TensorId> ids;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      ids.push_back(no_tensor);
      continue;
    }
    bool found = false;
    TensorId id = find(scope, name, found);
    if (!found) {
      // Known as undefined from now on: one complaint is enough.
      id = scope.target.graph.add_tensor({}, {});
      if (scope.complained.insert(name).second) {
        const bool later = scope.producers.contains(name);
        defect(describe(node),
               later ? "an input is computed by a later node: the nodes are not in topological "
                       "order, or in a cycle"
                     : "an input is not defined",
               name);
      }
      if (!scope.producers.contains(name)) scope.ids.emplace(name, id);
    }
    ids.push_back(id);
  }
  while (!ids.empty() && ids.back() == no_tensor) ids.pop_back();
  return ids;
}

std::string Importer::public_name(const Scope& scope, std::string_view name) {
  if (const auto known = scope.public_names.find(name); known != scope.public_names.end()) {
    return known->second;
  }
  if (scope.bindings == nullptr || scope.outer != nullptr) return std::string(name);
  std::string whole = scope.prefix + std::string(name);
  if (whole.size() > longest_inlined_name) whole.resize(longest_inlined_name);
  while (scope.target.reserved.contains(whole)) whole += '_';
  return whole;
}

void Importer::bind(Scope& scope, const NodeMessage& node, std::string_view name, TensorId id) {
  Graph& graph = scope.target.graph;
  const std::string whole = public_name(scope, name);
  const TensorRecord& record = graph.tensor(id);
  if (graph.name(id) != whole) {
    if (record.role != Role::value || !graph.name(id).empty()) {
      // The tensor has a name of its own: this one needs another tensor.
      if (const Descriptor* identity = operators_.newest("Identity")) {
        const TensorInfo infos[] = {record.info};
        const std::size_t n =
            graph.add_node(*identity, identity->defaults(), {id}, infos, node.name);
        id = graph.nodes[n].outputs[0];
        graph.rename(id, whole);
      }
    } else {
      graph.rename(id, whole);
    }
  }
  if (const auto declared = scope.declared.find(name); declared != scope.declared.end()) {
    TensorInfo& info = graph.tensor(id).info;
    TensorInfo both = declared->second;
    std::int64_t expected = 0, found = 0;
    // What contradicts is left for the inference of the whole graph to report.
    info = detail::refine(both, info, expected, found) ? both : declared->second;
  }
  if (!scope.ids.emplace(name, id).second && !scope.complained.contains(name)) {
    defect(describe(node), "a tensor is defined twice", name);
  }
}

void Importer::leave_undefined(Scope& scope, const NodeMessage& node) {
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) bind(scope, node, output, scope.target.graph.add_tensor({}, {}));
  }
}

std::int64_t Importer::opset_of(const Scope& scope, std::string_view domain) const {
  for (const auto* list : {scope.opsets, &model_opsets_}) {
    for (const OpsetImport& opset : *list) {
      if (opset.domain == domain) return opset.version;
    }
  }
  return 0;
}

bool Importer::resolve_attributes(const Scope& scope, NodeMessage& node) {
  bool ok = true;
  std::vector<AttributeMessage> resolved;
  std::unordered_set<std::string_view> names;
  for (AttributeMessage& attribute : node.attributes) {
    if (!names.insert(attribute.name).second) {
      defect(describe(node), "a node has an attribute twice", {}, {}, quoted(attribute.name));
      ok = false;
      continue;
    }
    if (attribute.reference.empty()) {
      resolved.push_back(attribute);
      continue;
    }
    if (scope.bindings == nullptr) {
      defect(describe(node), "an attribute refers to one of a function, but is in none", {}, {},
             quoted(attribute.name));
      ok = false;
      continue;
    }
    for (const AttributeMessage& bound : *scope.bindings) {
      if (bound.name != attribute.reference) continue;
      resolved.push_back(bound);
      resolved.back().name = attribute.name;
      if (bound.type == AttributeType::graph || bound.type == AttributeType::graphs) {
        report_.add(
            ErrorKind::unsupported,
            {.what = "graphs as attributes of a function are not offered", .node = describe(node)});
        ok = false;
      }
    }
  }
  node.attributes = std::move(resolved);
  return ok;
}

void Importer::read_node_into(Scope& scope, NodeMessage node) {
  while (!node.outputs.empty() && node.outputs.back().empty()) node.outputs.pop_back();
  if (node.op.empty()) {
    defect(describe(node), "a node has no operator");
    leave_undefined(scope, node);
    return;
  }
  std::vector<TensorId> inputs = resolve_inputs(scope, node);
  if (!resolve_attributes(scope, node)) {
    leave_undefined(scope, node);
    return;
  }
  const auto function = functions_.find({node.domain, node.op, node.overload});
  if (function != functions_.end()) {
    call_function(scope, node, function->second, inputs);
    return;
  }
  const std::int64_t opset = opset_of(scope, node.domain);
  if (opset == 0) {
    if (domains_without_opset_.emplace(node.domain).second) {
      defect(describe(node), "the model does not import the operator set of a node", {}, {},
             quoted(node.domain));
    }
    leave_undefined(scope, node);
    return;
  }
  if (node.domain == "ai.onnx" && node.op == "Constant" && opset >= 1) {
    read_constant(scope, node);
    return;
  }
  const Descriptor* op = operators_.find(node.domain, node.op, opset);
  // What passes make for the executor is no part of the language.
  if (op == nullptr || op->id.domain == "halftone") {
    const int since = node.domain == "ai.onnx" ? since_version(node.op, opset) : 0;
    const std::int64_t version = since != 0 ? since : opset;
    report_.add_operator(detail::escaped(node.domain.substr(0, 80)) + " " +
                             detail::escaped(node.op.substr(0, 80)) + " " + number_text(version),
                         describe_name(node));
    leave_undefined(scope, node);
    return;
  }
  read_operator(scope, node, *op, std::move(inputs));
}

void Importer::read_constant(Scope& scope, const NodeMessage& node) {
  auto leave = [&](std::string_view what, std::string_view found) {
    defect(describe(node), what, {}, {}, found);
    leave_undefined(scope, node);
  };
  if (node.outputs.size() != 1 || !node.inputs.empty()) {
    return leave("a constant has one output and no input", {});
  }
  std::vector<const AttributeMessage*> values;
  for (const AttributeMessage& a : node.attributes) {
    if (!a.name.starts_with("__")) values.push_back(&a);
  }
  if (values.size() != 1) {
    return leave("a constant has one value", std::to_string(values.size()) + " attributes");
  }
  const AttributeMessage& value = *values[0];
  auto data_of = [](const auto& list) {
    const auto bytes = std::as_bytes(std::span(list));
    return Bytes({bytes.begin(), bytes.end()});
  };
  TensorData data;
  try {
    if (value.name == "value" && value.type == AttributeType::tensor) {
      TensorMessage tensor = read_tensor(value.content);
      if (tensor.name.empty()) tensor.name = node.outputs[0];
      data = tensors_.read(tensor);
    } else if (value.name == "value_float" && value.type == AttributeType::real) {
      data = {{ElementType::float32, {}}, data_of(std::vector<float>{value.real})};
    } else if (value.name == "value_int" && value.type == AttributeType::integer) {
      data = {{ElementType::int64, {}}, data_of(std::vector<std::int64_t>{value.integer})};
    } else if (value.name == "value_floats" && value.type == AttributeType::reals) {
      const std::vector<float> list = value.reals();
      data = {{ElementType::float32, {static_cast<std::int64_t>(list.size())}}, data_of(list)};
    } else if (value.name == "value_ints" && value.type == AttributeType::integers) {
      const std::vector<std::int64_t> list = value.integers();
      data = {{ElementType::int64, {static_cast<std::int64_t>(list.size())}}, data_of(list)};
    } else if (value.name == "sparse_value" || value.name.starts_with("value_string")) {
      fail(ErrorKind::unsupported, {.what = "constants of this kind are not offered",
                                    .node = describe(node),
                                    .found = value.name});
    } else {
      return leave("a constant has an unknown attribute, or one of another type",
                   quoted(value.name) + " " + std::string(name(value.type)));
    }
  } catch (const Error&) {
    report_.add_current();
    leave_undefined(scope, node);
    return;
  }
  const std::string whole = public_name(scope, node.outputs[0]);
  const TensorInfo info = data.info;
  const TensorId id = scope.target.graph.add_constant(info, std::move(data.data), whole);
  if (!scope.ids.emplace(node.outputs[0], id).second) {
    defect(describe(node), "a tensor is defined twice", node.outputs[0]);
  }
  if (const auto declared = scope.declared.find(node.outputs[0]);
      declared != scope.declared.end()) {
    TensorInfo known = declared->second;
    std::int64_t expected = 0, found = 0;
    if (!detail::refine(known, info, expected, found)) {
      defect(describe(node), "the model states another shape or type", node.outputs[0],
             detail::to_text(declared->second), detail::to_text(info));
    }
  }
}

void Importer::read_operator(Scope& scope, const NodeMessage& node, const Descriptor& op,
                             std::vector<TensorId> inputs) {
  Graph& graph = scope.target.graph;
  const Signature& signature = op.signature;
  const std::string described = describe(node);
  bool ok = true;

  const std::size_t most_inputs = signature.inputs() - (signature.has_seed() ? 1 : 0);
  if (inputs.size() > most_inputs && !signature.has_variadic_input()) {
    defect(described, "too many inputs", {}, std::to_string(most_inputs),
           std::to_string(inputs.size()));
    ok = false;
  }
  for (std::size_t i = 0; i < signature.inputs(); ++i) {
    const Slot& slot = signature.input(i);
    const bool given = i < inputs.size() && inputs[i] != no_tensor;
    if (given || slot.optional || slot.variadic || slot.name == "seed") continue;
    defect(described, "a required input is missing", {}, slot.name);
    ok = false;
  }
  if (node.outputs.size() > signature.outputs() && !signature.has_variadic_output()) {
    defect(described, "too many outputs", {}, std::to_string(signature.outputs()),
           std::to_string(node.outputs.size()));
    ok = false;
  }

  Subgraphs subgraphs;
  const GraphReader reader = [&](const AttributeMessage& attribute) {
    return read_subgraph(scope, attribute, subgraphs);
  };
  std::vector<bool> taken;
  std::vector<AttributeDefect> defects;
  std::vector<Word> words = read_attributes(op, node.attributes, reader, taken, defects);
  for (const AttributeDefect& d : defects) defect(described, d.what, {}, d.expected, d.found);
  ok = ok && defects.empty();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const AttributeMessage& attribute = node.attributes[i];
    if (taken[i] || attribute.name.starts_with("__")) continue;
    // A tensor as attribute is an input of that name in the operator's struct.
    std::size_t slot = 0;
    while (slot < signature.inputs() && signature.input(slot).name != attribute.name) ++slot;
    if (slot == signature.inputs() || attribute.type != AttributeType::tensor ||
        slot < inputs.size()) {
      defect(described, "a node has an unknown attribute", {}, {}, quoted(attribute.name));
      ok = false;
      continue;
    }
    try {
      TensorData data = tensors_.read(read_tensor(attribute.content));
      inputs.resize(slot, no_tensor);
      inputs.push_back(graph.add_constant(data.info, std::move(data.data)));
    } catch (const Error&) {
      report_.add_current();
      ok = false;
    }
  }
  if (!ok) {
    leave_undefined(scope, node);
    return;
  }

  // Every subgraph of the node has an input for every captured tensor.
  for (const Subgraphs::Body& body : subgraphs.bodies) {
    Graph& inner = graph.graphs[static_cast<std::size_t>(body.index)];
    inner.inputs = body.formals;
    for (const TensorId outer : subgraphs.captures) {
      const auto known = body.captured.find(outer);
      inner.inputs.push_back(
          known != body.captured.end()
              ? known->second
              : inner.add_tensor({.info = graph.info(outer), .role = Role::input},
                                 graph.name(outer)));
    }
  }
  if (!subgraphs.captures.empty()) {
    const std::size_t fixed = signature.inputs() - (signature.has_variadic_input() ? 1 : 0);
    if (inputs.size() < fixed) inputs.resize(fixed, no_tensor);
    inputs.insert(inputs.end(), subgraphs.captures.begin(), subgraphs.captures.end());
  }

  const std::string node_name = public_node_name(scope, node.name);
  if (op.expand != nullptr) {
    expand(scope, node, op, words, inputs, node_name);
    return;
  }
  Node added{.op = &op, .attributes = std::move(words), .inputs = std::move(inputs)};
  if (!node_name.empty()) added.name = graph.store_name(node_name);
  const std::size_t outputs = std::max(node.outputs.size(), signature.required_outputs());
  std::vector<std::pair<std::string_view, TensorId>> wanted;
  for (std::size_t i = 0; i < outputs; ++i) {
    const std::string_view name = i < node.outputs.size() ? node.outputs[i] : std::string_view();
    if (name.empty() && i >= signature.required_outputs()) {
      added.outputs.push_back(no_tensor);
      continue;
    }
    added.outputs.push_back(graph.add_tensor({}, {}));
    if (!name.empty()) wanted.emplace_back(name, added.outputs.back());
  }
  graph.nodes.push_back(std::move(added));
  for (const auto& [name, id] : wanted) bind(scope, node, name, id);
}

void Importer::expand(Scope& scope, const NodeMessage& node, const Descriptor& op,
                      std::span<const Word> words, std::span<const TensorId> inputs,
                      std::string_view node_name) {
  Graph& graph = scope.target.graph;
  infer_pending(scope.target);  // older meanings may ask for ranks and types
  const std::size_t before = graph.nodes.size();
  std::vector<TensorId> ids;
  try {
    ids = op.expand(graph, words, inputs, std::max<std::size_t>(node.outputs.size(), 1));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model && error.kind() != ErrorKind::unsupported) throw;
    const std::string what = std::string(error.reason()) + "\nin newer operators\t" +
                             std::string(error.line());
    report_.add(error.kind(), {.what = what, .node = describe(node)});
    leave_undefined(scope, node);
    return;
  }
  for (std::size_t n = before; n < graph.nodes.size() && !node_name.empty(); ++n) {
    if (graph.nodes[n].name.empty()) graph.rename(graph.nodes[n], node_name);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i < ids.size() && ids[i] != no_tensor) {
      bind(scope, node, node.outputs[i], ids[i]);
      continue;
    }
    report_.add(ErrorKind::unsupported, {.what = "this output of the operator is not offered",
                                         .node = describe(node),
                                         .tensor = node.outputs[i]});
    bind(scope, node, node.outputs[i], graph.add_tensor({}, {}));
  }
}

std::int32_t Importer::read_subgraph(Scope& scope, const AttributeMessage& attribute,
                                     Subgraphs& subgraphs) {
  if (depth_ >= deepest_nesting) {
    fail(ErrorKind::unsupported, {.what = "graphs and functions are nested too deeply",
                                  .expected = "at most " + std::to_string(deepest_nesting)});
  }
  ++depth_;
  Target target;
  target.is_main = false;
  Scope inner{.target = target,
              .outer = &scope,
              .captures = &subgraphs.captures,
              .opsets = scope.opsets,
              .bindings = scope.bindings};
  const GraphMessage message = read_graph(std::span(&attribute.content, 1));
  target.graph.graph_name = target.graph.store_name(message.name);
  read_graph_into(inner, message);
  --depth_;
  auto& graphs = scope.target.graph.graphs;
  const auto index = static_cast<std::int32_t>(graphs.size());
  subgraphs.bodies.push_back({index, target.graph.inputs, std::move(inner.captured)});
  graphs.push_back(std::move(target.graph));
  return index;
}

// --- functions ---------------------------------------------------------------------------------

std::string Importer::public_node_name(const Scope& scope, std::string_view name) const {
  std::string whole = scope.prefix + std::string(name);
  if (!scope.prefix.empty() && whole.size() > longest_inlined_name) {
    whole.resize(longest_inlined_name);
  }
  return name.empty() ? std::string() : whole;
}

void Importer::call_function(Scope& scope, const NodeMessage& node, const FunctionMessage& function,
                             const std::vector<TensorId>& inputs) {
  const std::string described = describe(node);
  auto leave = [&](std::string_view what, std::string_view expected, std::string_view found) {
    defect(described, what, {}, expected, found);
    leave_undefined(scope, node);
  };
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
    return leave("a function calls itself", {}, {});
  }
  if (inputs.size() > function.inputs.size()) {
    return leave("too many inputs", std::to_string(function.inputs.size()),
                 std::to_string(inputs.size()));
  }
  if (node.outputs.size() > function.outputs.size()) {
    return leave("too many outputs", std::to_string(function.outputs.size()),
                 std::to_string(node.outputs.size()));
  }
  if (depth_ >= deepest_nesting) {
    fail(ErrorKind::unsupported, {.what = "graphs and functions are nested too deeply",
                                  .expected = "at most " + std::to_string(deepest_nesting)});
  }
  inlined_nodes_ += function.nodes.size() + 1;
  if (inlined_nodes_ > most_inlined_nodes_) {
    fail(ErrorKind::unsupported, {.what = "the model's functions become too many nodes",
                                  .node = described,
                                  .expected = "at most " + std::to_string(most_inlined_nodes_)});
  }

  Bindings bindings;
  for (const AttributeMessage& a : node.attributes) {
    const bool has_default =
        std::any_of(function.attribute_defaults.begin(), function.attribute_defaults.end(),
                    [&](const AttributeMessage& d) { return d.name == a.name; });
    const bool is_named = std::find(function.attributes.begin(), function.attributes.end(),
                                    a.name) != function.attributes.end();
    if (has_default || is_named) {
      bindings.push_back(a);
    } else if (!a.name.starts_with("__")) {
      defect(described, "a node has an unknown attribute", {}, {}, quoted(a.name));
    }
  }
  for (const AttributeMessage& d : function.attribute_defaults) {
    if (node.find(d.name) == nullptr) bindings.push_back(d);
  }

  Scope body{.target = scope.target, .opsets = &function.opsets, .bindings = &bindings};
  body.prefix = scope.prefix + std::string(node.name.empty() ? function.name : node.name) + "/";
  if (body.prefix.size() > longest_inlined_name / 2) body.prefix = scope.prefix;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (!body.ids.emplace(function.inputs[i], i < inputs.size() ? inputs[i] : no_tensor).second) {
      defect(described, "two inputs of a function have one name", function.inputs[i]);
    }
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    body.public_names.emplace(function.outputs[i], public_name(scope, node.outputs[i]));
  }

  calls_.push_back(&function);
  ++depth_;
  for (const Message& m : function.nodes) read_node_into(body, read_node(m));
  --depth_;
  calls_.pop_back();

  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const auto known = body.ids.find(function.outputs[i]);
    TensorId id = known == body.ids.end() ? no_tensor : known->second;
    if (id == no_tensor) {
      defect(described, "nothing computes an output of a function", function.outputs[i]);
      id = scope.target.graph.add_tensor({}, {});
    }
    bind(scope, node, node.outputs[i], id);
  }
}

// --- inference ---------------------------------------------------------------------------------

namespace {

Inferred infer_node(const Graph& graph, const Node& node) {
  std::vector<InputInfo> infos;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor) {
      infos.push_back({});
      continue;
    }
    const TensorRecord& t = graph.tensor(id);
    const bool known = t.role == Role::constant;
    infos.push_back({t.info, known ? t.data.span() : std::span<const std::byte>{}, known});
  }
  return node.op->infer(node.attributes, Inputs(infos, node.outputs.size()));
}

}  // namespace

void Importer::infer_pending(Target& target) {
  Graph& graph = target.graph;
  for (; target.inferred_nodes < graph.nodes.size(); ++target.inferred_nodes) {
    const Node& node = graph.nodes[target.inferred_nodes];
    if (node.op->infer == nullptr) continue;
    const Inferred inferred = infer_node(graph, node);
    if (!inferred.ok()) continue;
    for (std::size_t i = 0; i < node.outputs.size() && i < inferred.outputs.size(); ++i) {
      if (node.outputs[i] == no_tensor) continue;
      std::int64_t expected = 0, found = 0;
      TensorInfo& known = graph.tensor(node.outputs[i]).info;
      TensorInfo both = known;
      if (detail::refine(both, inferred.outputs[i], expected, found)) known = both;
    }
  }
}

void Importer::infer_all(Graph& graph) {
  for (const Defect& defect : halftone::infer(graph)) {
    const auto index = static_cast<std::size_t>(defect.graph);
    const Graph& holder =
        defect.graph >= 0 && index < graph.graphs.size() ? graph.graphs[index] : graph;
    if (defect.node >= holder.nodes.size()) {
      report_.add(ErrorKind::model, {.what = defect.inferred.reason});
      continue;
    }
    const Node& node = holder.nodes[defect.node];
    std::string described = detail::node_text(*node.op, holder.name(node));
    if (node.name.empty()) {
      for (const TensorId id : node.outputs) {
        if (id == no_tensor || holder.name(id).empty()) continue;
        described += " of " + quoted(holder.name(id));
        break;
      }
    }
    if (defect.tensor != no_tensor) {
      const Inferred again = infer_node(holder, node);
      std::string found;
      for (std::size_t i = 0; i < node.outputs.size() && i < again.outputs.size(); ++i) {
        if (node.outputs[i] == defect.tensor) found = detail::to_text(again.outputs[i]);
      }
      report_.add_shape({.what = "the model states another shape or type than the node gives",
                         .node = described,
                         .tensor = holder.name(defect.tensor),
                         .expected = detail::to_text(holder.info(defect.tensor)),
                         .found = found},
                        defect.inferred.expected, defect.inferred.found);
      continue;
    }
    const detail::InferenceText text =
        detail::describe_inference(holder, *node.op, node.inputs, defect.inferred);
    const std::string what = text.reason + text.inputs;
    const ErrorParts parts{
        .what = what, .node = described, .expected = text.expected, .found = text.found};
    if (text.has_extents) {
      report_.add_shape(parts, defect.inferred.expected, defect.inferred.found);
    } else {
      report_.add(text.kind, parts);
    }
  }
}

}  // namespace halftone::onnx
