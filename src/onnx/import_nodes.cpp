#include "onnx/importer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::onnx {

namespace {

/// More about an operator of the standard that is left out on purpose.
std::string_view why_not_offered(const NodeMessage& node) {
  if (node.domain == "ai.onnx" && node.op == "ImageDecoder") {
    return " (files of images are not decoded here: feed their pixels)";
  }
  return {};
}

template <class List>
Bytes data_of(const List& list) {
  const auto bytes = std::as_bytes(std::span(list));
  return Bytes({bytes.begin(), bytes.end()});
}

/// A vector as a constant.
template <class T>
TensorData vector_data(const std::vector<T>& list) {
  return {{element_type<T>, {static_cast<std::int64_t>(list.size())}}, data_of(list)};
}

/// Texts as a constant.
TensorData data_of_texts(const Dims& shape, std::span<const std::string_view> list) {
  const AnyArray array(shape, list);
  return {array.info(), Bytes(array.storage(), array.data(), array.bytes())};
}

}  // namespace

using detail::quoted;

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
  Vector<TensorId> inputs = resolve_inputs(scope, node);
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
  const Descriptor* op = operators_.find(node.domain, node.op, opset);
  if (op != nullptr && op->id == op::Constant::id) {
    read_constant(scope, node);
    return;
  }
  // What passes make for the executor is no part of the language.
  if (op == nullptr || op->id.domain == "halftone") {
    const int since = node.domain == "ai.onnx" ? since_version(node.op, opset) : 0;
    const std::int64_t version = since != 0 ? since : opset;
    report_.add_operator(detail::escaped(node.domain.substr(0, 80)) + " " +
                             detail::escaped(node.op.substr(0, 80)) + " " +
                             std::to_string(version) + std::string(why_not_offered(node)),
                         describe_name(node));
    leave_undefined(scope, node);
    return;
  }
  if (!node.devices.empty()) {
    std::string_view key = node.name;
    for (const std::string_view output : node.outputs) {
      if (key.empty()) key = output;
    }
    Graph& graph = scope.target.graph;
    const auto text = std::as_bytes(std::span(node.devices));
    name_characters_ += key.size();
    graph.notes.push_back(
        {Note::Kind::node_devices, graph.store_name(key), Bytes({text.begin(), text.end()})});
  }
  if (node.domain == "ai.onnx" && !inputs.empty() && inputs[0] != no_tensor &&
      last_extension(node.op) > opset) {
    const std::string_view output = node.outputs.empty() ? std::string_view() : node.outputs[0];
    scope.target.late_types.push_back({inputs[0], opset, node.op, node.name, output});
  }
  if (const Descriptor* scaled = scaled_product(scope, node, inputs)) op = scaled;
  const std::size_t first = scope.target.graph.nodes.size();
  read_operator(scope, node, *op, std::move(inputs));
  read_placement(node, std::span(scope.target.graph.nodes).subspan(first));
}

void Importer::check_late_types(const Target& target) {
  for (const Target::LateType& late : target.late_types) {
    const ElementType type = target.graph.info(late.input).type;
    const int first = first_opset_of(late.op, type);
    if (first <= late.opset) continue;
    NodeMessage node;
    node.op = late.op;
    node.name = late.node;
    if (!late.output.empty()) node.outputs.push_back(late.output);
    defect(describe(node), "the operator takes this element type in newer operator sets only", {},
           "opset " + std::to_string(first) + " or newer",
           std::string(name(type)) + " in opset " + std::to_string(late.opset));
  }
}

const Descriptor* Importer::scaled_product(Scope& scope, const NodeMessage& node,
                                           std::span<const TensorId> inputs) {
  if (node.domain != "ai.onnx" || inputs.size() != 3 || inputs[0] == no_tensor) return nullptr;
  const Descriptor* scaled =
      operators_.find("halftone", std::string(node.op) + "Pow2Scaled", newest_opset);
  if (scaled == nullptr) return nullptr;
  infer_pending(scope.target);
  const ElementType type = scope.target.graph.info(inputs[0]).type;
  return has_type(Float8Types{}, type) ? scaled : nullptr;
}

void Importer::read_placement(const NodeMessage& node, std::span<Node> made) {
  const auto read = [&](const char* name, std::int64_t most, std::string_view what, auto&& set) {
    const AttributeMessage* attribute = node.find(name);
    if (attribute == nullptr) return;
    const bool is_integer = attribute->type == AttributeType::integer;
    if (!is_integer || attribute->integer < 0 || attribute->integer >= most) {
      return defect(describe(node), what, {}, "0 to " + std::to_string(most - 1),
                    is_integer ? std::to_string(attribute->integer) : "no integer");
    }
    for (Node& n : made) set(n.place, attribute->integer);
  };
  read(placement_attribute, most_ipus, "the number of a node's IPU is out of range",
       [](Place& p, std::int64_t value) { p.ipu = static_cast<std::int16_t>(value); });
  read(stage_attribute, most_places, "the number of a node's stage is out of range",
       [](Place& p, std::int64_t value) { p.stage = static_cast<std::int16_t>(value); });
  read(phase_attribute, most_places, "the number of a node's phase is out of range",
       [](Place& p, std::int64_t value) { p.phase = static_cast<std::int16_t>(value); });
  read(recompute_attribute, 3, "what is to be computed again is out of range",
       [](Place& p, std::int64_t value) { p.recompute = static_cast<Recompute>(value); });
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
      data = vector_data(value.reals());
    } else if (value.name == "value_ints" && value.type == AttributeType::integers) {
      data = vector_data(value.integers());
    } else if (value.name == "sparse_value" && value.type == AttributeType::sparse_tensor) {
      TensorMessage tensor = read_sparse_tensor(value.content);
      if (tensor.name.empty()) tensor.name = node.outputs[0];
      data = tensors_.read(tensor);
    } else if (value.name == "value_string" && value.type == AttributeType::text) {
      data = data_of_texts({}, {&value.text, 1});
    } else if (value.name == "value_strings" && value.type == AttributeType::texts) {
      const std::vector<std::string_view> list = value.texts();
      data = data_of_texts({static_cast<std::int64_t>(list.size())}, list);
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
      contradiction(is_output(scope.target, whole), describe(node), whole, declared->second, info);
    }
  }
}

bool Importer::check_inputs(const std::string& described, const Descriptor& op,
                            std::span<const TensorId> inputs) {
  const Slots& signature = op.signature;
  bool ok = true;
  auto wrong = [&](std::string_view what, std::string_view expected, std::string_view found) {
    defect(described, what, {}, expected, found);
    ok = false;
  };
  if (op.expand != nullptr && !op.only_expands) {
    // An operator of two tensors that is recorded several times for any number of them.
    if (inputs.empty()) wrong("too few inputs", "1", "0");
    if (std::find(inputs.begin(), inputs.end(), no_tensor) != inputs.end()) {
      wrong("a required input is missing", {}, {});
    }
    return ok;
  }
  // The session gives the seed, the importer what subgraphs capture: a model cannot.
  const bool has_captures = captures_follow(signature);
  const std::size_t most =
      signature.inputs() - signature.attributes() - (signature.has_seed() || has_captures ? 1 : 0);
  if (inputs.size() > most && (has_captures || !signature.has_variadic_input())) {
    wrong("too many inputs", std::to_string(most), std::to_string(inputs.size()));
  }
  for (std::size_t i = 0, next = 0; i < signature.inputs(); ++i) {
    const Slot& slot = signature.input(i);
    if (slot.is_attribute()) continue;
    const bool given = next < inputs.size() && inputs[next] != no_tensor;
    ++next;
    if (given || slot.optional || slot.variadic || slot.name == "seed") continue;
    wrong("a required input is missing", slot.name, {});
  }
  return ok;
}

void Importer::read_operator(Scope& scope, const NodeMessage& node, const Descriptor& op,
                             Vector<TensorId> inputs) {
  Graph& graph = scope.target.graph;
  const Slots& signature = op.signature;
  const std::string described = describe(node);
  bool ok = check_inputs(described, op, inputs);
  if (node.outputs.size() > signature.outputs() && !signature.has_variadic_output()) {
    defect(described, "too many outputs", {}, std::to_string(signature.outputs()),
           std::to_string(node.outputs.size()));
    ok = false;
  }

  std::vector<AttributeMessage> attributes = node.attributes;
  std::deque<std::string> made_names;
  ok = take_attribute_inputs(described, op, attributes, graph, inputs) && ok;
  ok = split_tensors(described, attributes, made_names) && ok;
  Subgraphs subgraphs;
  const GraphReader reader = [&](const AttributeMessage& attribute) {
    return read_subgraph(scope, attribute, subgraphs);
  };
  std::vector<bool> taken;
  std::vector<AttributeDefect> defects;
  Vector<Word> words = read_attributes(op, attributes, reader, taken, defects);
  for (const AttributeDefect& d : defects) defect(described, d.what, {}, d.expected, d.found);
  ok = ok && defects.empty();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const AttributeMessage& attribute = attributes[i];
    if (taken[i] || is_ignored(attribute.name, described)) continue;
    if (attribute.type == AttributeType::undefined) continue;  // reported by split_tensors()
    defect(described, "a node has an unknown attribute", {}, {}, quoted(attribute.name));
    ok = false;
  }
  if (!ok) {
    leave_undefined(scope, node);
    return;
  }

  std::vector<std::string_view> outputs = node.outputs;
  if (!subgraphs.bodies.empty() &&
      !add_captures(described, op, words, subgraphs, graph, inputs, outputs)) {
    leave_undefined(scope, node);
    return;
  }

  if (!give_buffer(scope, node, op, words, inputs) ||
      !check_changed(described, op, words, subgraphs, scope.target, inputs)) {
    leave_undefined(scope, node);
    return;
  }

  const std::string node_name = public_node_name(scope, node.name);
  if (!check_scales(described, op, graph, inputs)) return leave_undefined(scope, node);
  if (op.expand != nullptr || is_integer_product(scope.target, op, words, inputs) ||
      moves_bytes(scope.target, op, inputs, node.outputs.size())) {
    expand(scope, node, op, words, std::move(inputs), node_name);
    return;
  }
  const TensorId class_names = take_class_names(op, graph, inputs);
  Node added{.op = &op, .attributes = std::move(words), .inputs = std::move(inputs)};
  if (!node_name.empty()) added.name = graph.store_name(node_name);
  if (outputs.size() < signature.required_outputs()) outputs.resize(signature.required_outputs());
  std::vector<std::pair<std::string_view, TensorId>> wanted;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string_view name = outputs[i];
    if (name.empty() && i >= signature.required_outputs()) {
      added.outputs.push_back(no_tensor);
      continue;
    }
    added.outputs.push_back(graph.add_tensor({}, {}));
    if (!name.empty()) wanted.emplace_back(name, added.outputs.back());
  }
  graph.nodes.push_back(std::move(added));
  plan(described, node, std::span(graph.nodes).last(1));
  if (op.id == op::Transpose::id) note_transposed(scope.target, graph.nodes.back());
  if (class_names != no_tensor && !outputs[0].empty()) {
    Node pick = make_node(op::Gather{});
    pick.inputs = {class_names, wanted[0].second};
    pick.outputs = {graph.add_tensor({}, {})};
    wanted[0].second = pick.outputs[0];
    graph.nodes.push_back(std::move(pick));
  }
  for (const auto& [name, id] : wanted) bind(scope, node, name, id);
}

TensorId Importer::take_class_names(const Descriptor& op, Graph& graph, Vector<TensorId>& inputs) {
  if (op.kernel == nullptr) return no_tensor;
  for (std::size_t i = 1; i < inputs.size() && i < op.signature.inputs(); ++i) {
    if (op.signature.input(i).name != "classlabels_strings" || inputs[i] == no_tensor) continue;
    TensorId& numbers = inputs[i - 1];
    if (numbers != no_tensor || !op.signature.input(i - 1).is_attribute()) return no_tensor;
    std::vector<std::int64_t> places(static_cast<std::size_t>(graph.info(inputs[i]).elements()));
    std::iota(places.begin(), places.end(), std::int64_t{0});
    TensorData data = vector_data(places);
    numbers = graph.add_constant(data.info, std::move(data.data));
    return std::exchange(inputs[i], no_tensor);
  }
  return no_tensor;
}

bool Importer::add_captures(const std::string& described, const Descriptor& op, Vector<Word>& words,
                            const Subgraphs& subgraphs, Graph& graph, Vector<TensorId>& inputs,
                            std::vector<std::string_view>& outputs) {
  const std::size_t captured = subgraphs.captures.size();
  const bool is_loop = op.id == op::Loop::id, is_batch_scan = op.id == op::Scan_8::id;
  const bool repeats = is_loop || is_batch_scan || op.id == op::Scan::id;
  std::int64_t scanned = 0;
  if (is_batch_scan) {
    auto scan = unpack<op::Scan_8>(words);
    scanned = scan.num_scan_inputs;
    scan.captured = static_cast<std::int64_t>(captured);
    words = pack(scan);
  } else if (repeats && !is_loop) {
    scanned = unpack<op::Scan>(words).num_scan_inputs;
  }
  // Where the states are among the inputs of the node, of its body and among the body's outputs.
  const std::size_t first = is_loop ? 2 : is_batch_scan ? 1 : 0;
  const std::size_t first_inside = is_loop ? 2 : 0, first_result = is_loop ? 1 : 0;
  std::size_t states = 0;
  if (repeats) {
    const Subgraphs::Body& body = subgraphs.bodies[0];
    const std::size_t formals = body.formals.size();
    if (inputs.size() < first) inputs.resize(first, no_tensor);
    if (formals + first != inputs.size() + first_inside || scanned < 0 ||
        formals < first_inside + static_cast<std::size_t>(scanned)) {
      defect(described, "the body has another number of inputs than the node gives it", {},
             std::to_string(inputs.size() - first + first_inside), std::to_string(formals));
      return false;
    }
    states = formals - first_inside - static_cast<std::size_t>(scanned);
    const std::size_t results = graph.graphs[static_cast<std::size_t>(body.index)].outputs.size();
    if (results < first_result + states) {
      defect(described, "the body has fewer outputs than states", {},
             "at least " + std::to_string(first_result + states), std::to_string(results));
      return false;
    }
  }

  for (const Subgraphs::Body& body : subgraphs.bodies) {
    Graph& inner = graph.graphs[static_cast<std::size_t>(body.index)];
    Vector<TensorId> own;
    for (const TensorId outer : subgraphs.captures) {
      const auto known = body.captured.find(outer);
      own.push_back(known != body.captured.end()
                        ? known->second
                        : inner.add_tensor({.info = graph.info(outer), .role = Role::input},
                                           graph.name(outer)));
    }
    inner.inputs = body.formals;
    const std::size_t place = repeats ? first_inside + states : inner.inputs.size();
    inner.inputs.insert(inner.inputs.begin() + static_cast<std::ptrdiff_t>(place), own.begin(),
                        own.end());
    if (!repeats) continue;
    // A state that the body returns as it is.
    inner.outputs.insert(inner.outputs.begin() + static_cast<std::ptrdiff_t>(first_result + states),
                         own.begin(), own.end());
  }
  if (captured == 0) return true;
  const std::size_t own_slots = op.signature.inputs() - (op.signature.has_variadic_input() ? 1 : 0);
  if (inputs.size() < own_slots) inputs.resize(own_slots, no_tensor);
  const std::size_t place = repeats ? first + states : inputs.size();
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(place), subgraphs.captures.begin(),
                subgraphs.captures.end());
  if (repeats && !is_batch_scan && outputs.size() > states) {
    outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(states), captured,
                   std::string_view());
  }
  return true;
}

TensorData Importer::attribute_data(const Descriptor& op, const Slot& slot,
                                    const AttributeMessage& attribute,
                                    const std::string& described) {
  const std::string label = "attribute '" + std::string(slot.name) + "' ";
  const auto wrong_type = [&] {
    fail(ErrorKind::model,
         {.what = label + "has another type", .node = described, .found = name(attribute.type)});
  };
  if ((slot.attribute == SlotAttribute::tensor) != (attribute.type == AttributeType::tensor)) {
    wrong_type();
  }
  TensorData data;
  const auto choices =
      op.choices == nullptr ? std::span<const std::string_view>{} : op.choices(slot.name);
  switch (attribute.type) {
    case AttributeType::tensor:
      data = tensors_.read(read_tensor(attribute.content));
      break;
    case AttributeType::integers:
      data = vector_data(attribute.integers());
      break;
    case AttributeType::reals:
      data = vector_data(attribute.reals());
      break;
    case AttributeType::texts: {
      if (choices.empty()) {
        const std::vector<std::string_view> texts = attribute.texts();
        data = data_of_texts({static_cast<std::int64_t>(texts.size())}, texts);
        break;
      }
      std::vector<std::uint8_t> numbers;
      for (const std::string_view text : attribute.texts()) {
        const auto found = std::find(choices.begin(), choices.end(), text);
        if (found == choices.end()) {
          std::string known;
          for (const std::string_view n : choices)
            known += (known.empty() ? "" : ", ") + std::string(n);
          fail(ErrorKind::model, {.what = label + "has an unknown value",
                                  .node = described,
                                  .expected = known,
                                  .found = quoted(text)});
        }
        numbers.push_back(static_cast<std::uint8_t>(found - choices.begin()));
      }
      data = vector_data(numbers);
      break;
    }
    default:
      wrong_type();
  }
  if (!op.allows(slot.type_variable, data.info.type)) {
    fail(ErrorKind::model, {.what = label + "has another type",
                            .node = described,
                            .found = halftone::name(data.info.type)});
  }
  return data;
}

bool Importer::take_attribute_inputs(const std::string& described, const Descriptor& op,
                                     std::vector<AttributeMessage>& attributes, Graph& graph,
                                     Vector<TensorId>& inputs) {
  const Slots& signature = op.signature;
  if (signature.attributes() == 0) return true;
  bool ok = true;
  Vector<TensorId> all;
  auto next = inputs.begin();
  for (std::size_t i = 0; i < signature.inputs(); ++i) {
    const Slot& slot = signature.input(i);
    if (!slot.is_attribute()) {
      const auto last = slot.variadic || next == inputs.end() ? inputs.end() : next + 1;
      all.insert(all.end(), next, last);
      if (next == last && !slot.variadic) all.push_back(no_tensor);
      next = last;
      continue;
    }
    all.push_back(no_tensor);
    const auto given = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const AttributeMessage& a) { return a.name == slot.name; });
    if (given == attributes.end()) {
      if (!slot.optional) {
        defect(described, "attribute '" + std::string(slot.name) + "' is missing");
        ok = false;
      }
      continue;
    }
    try {
      TensorData data = attribute_data(op, slot, *given, described);
      // Exporters write lists that they have nothing for.
      if (data.info.elements() != 0 || !slot.optional) {
        all.back() = graph.add_constant(data.info, std::move(data.data));
      }
    } catch (const Error&) {
      report_.add_current();
      ok = false;
    }
    attributes.erase(given);
  }
  while (!all.empty() && all.back() == no_tensor) all.pop_back();
  inputs = std::move(all);
  return ok;
}

bool Importer::split_tensors(const std::string& described,
                             std::vector<AttributeMessage>& attributes,
                             std::deque<std::string>& names) {
  bool ok = true;
  for (std::size_t i = 0, given = attributes.size(); i < given; ++i) {
    if (attributes[i].type != AttributeType::tensor) continue;
    const std::string name(attributes[i].name);
    const Message content = attributes[i].content;
    try {
      const TensorData data = tensors_.read(read_tensor(content));
      const bool is_number = !has_objects(data.info.type);
      if (!is_number || data.info.elements() != 1 || data.data.size() > sizeof(std::int64_t)) {
        fail(ErrorKind::model, {.what = "a tensor as attribute has one element, a number",
                                .node = described,
                                .found = detail::to_text(data.info)});
      }
      std::int64_t bits = 0;
      std::memcpy(&bits, data.data.span().data(), data.data.size());
      attributes[i] = {.name = names.emplace_back(name + "_type"),
                       .type = AttributeType::integer,
                       .integer = static_cast<std::int64_t>(data.info.type)};
      attributes.push_back({.name = names.emplace_back(name + "_bits"),
                            .type = AttributeType::integer,
                            .integer = bits});
    } catch (const Error&) {
      report_.add_current();
      attributes[i].type = AttributeType::undefined;
      ok = false;
    }
  }
  return ok;
}

void Importer::expand(Scope& scope, const NodeMessage& node, const Descriptor& op,
                      std::span<const Word> words, Vector<TensorId> inputs,
                      std::string_view node_name) {
  if (op.only_expands && inputs.size() < op.signature.inputs() &&
      !op.signature.has_variadic_input()) {
    inputs.resize(op.signature.inputs(), no_tensor);  // none for each that is absent
  }
  Graph& graph = scope.target.graph;
  infer_pending(scope.target);  // older meanings may ask for ranks and types
  const std::size_t before = graph.nodes.size();
  Vector<TensorId> ids;
  try {
    if (gives_bytes_back(scope.target, op, words, inputs)) {
      const AnyTensor bytes{&graph, scope.target.dequantized.at(inputs[0]).x};
      ids = {op::identity(bytes).id};
    } else if (op.expand != nullptr) {
      ids = op.expand(graph, words, inputs, std::max<std::size_t>(node.outputs.size(), 1));
    } else if (op.id == op::MaxPool::id) {
      ids = moved_bytes(scope.target, op, words, inputs);
    } else {
      ids = integer_product(scope.target, op, words, inputs);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model && error.kind() != ErrorKind::unsupported) throw;
    // What an operator cannot do without knowing its input is the fault of what went before it.
    const bool follows = !report_.empty() && std::ranges::any_of(inputs, [&](TensorId id) {
      return id != no_tensor && !graph.info(id).is_known();
    });
    if (follows) return leave_undefined(scope, node);
    const std::string what =
        std::string(error.reason()) + "\nin newer operators\t" + std::string(error.line());
    report_.add(error.kind(), {.what = what, .node = describe(node)});
    leave_undefined(scope, node);
    return;
  }
  for (std::size_t n = before; n < graph.nodes.size() && !node_name.empty(); ++n) {
    if (graph.nodes[n].name.empty()) graph.rename(graph.nodes[n], node_name);
  }
  plan(describe(node), node, std::span(graph.nodes).subspan(before));
  if (!ids.empty()) note_dequantized(scope.target, op, words, inputs, ids[0]);
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

void Importer::plan(const std::string& described, const NodeMessage& node, std::span<Node> made) {
  const AttributeMessage* memory = node.find(memory_proportion_attribute);
  const AttributeMessage* partials = node.find(partials_attribute);
  const auto is_product = [](const Node& n) { return is_planned(n.op->id.name); };
  if ((memory == nullptr && partials == nullptr) || std::ranges::none_of(made, is_product)) return;
  using Type = AttributeType;
  if ((memory != nullptr && memory->type != Type::real && memory->type != Type::reals) ||
      (partials != nullptr && partials->type != Type::text && partials->type != Type::texts)) {
    return defect(described, "an attribute for the planner has another type");
  }
  const auto proportions = memory == nullptr            ? std::vector<float>{}
                           : memory->type == Type::real ? std::vector<float>{memory->real}
                                                        : memory->reals();
  const auto types = partials == nullptr            ? std::vector<std::string_view>{}
                     : partials->type == Type::text ? std::vector<std::string_view>{partials->text}
                                                    : partials->texts();
  std::size_t products = 0;
  for (Node& product : made) {
    if (!is_product(product)) continue;
    Planning planning = product.planning;
    if (!proportions.empty()) {
      const float p = proportions[std::min(products, proportions.size() - 1)];
      if (!(p > 0 && p <= 1)) {
        return defect(described, "the available memory proportion is out of range", {},
                      "above 0, up to 1", std::to_string(p));
      }
      planning.available_memory_proportion = p;
    }
    if (!types.empty()) {
      const std::string_view type = types[std::min(products, types.size() - 1)];
      const bool is_half = type == "HALF" || type == "half";
      if (!is_half && type != "FLOAT" && type != "float") {
        return defect(described, "the type of partial sums is unknown", {}, "FLOAT or HALF",
                      quoted(type));
      }
      planning.partials = is_half ? ElementType::float16 : ElementType::float32;
    }
    set_planning(product, planning);
    ++products;
  }
}

std::int32_t Importer::read_subgraph(Scope& scope, const AttributeMessage& attribute,
                                     Subgraphs& subgraphs) {
  if (depth_ >= deepest_nesting) {
    fail(ErrorKind::unsupported, {.what = "graphs and functions are nested too deeply",
                                  .expected = "at most " + std::to_string(deepest_nesting)});
  }
  ++depth_;
  infer_pending(scope.target);  // the subgraph may ask for ranks and types of what it captures
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
  if (!target.late_types.empty()) {
    infer_pending(target);
    check_late_types(target);
  }
  auto& graphs = scope.target.graph.graphs;
  const auto index = static_cast<std::int32_t>(graphs.size());
  subgraphs.bodies.push_back({index, target.graph.inputs, std::move(inner.captured)});
  graphs.push_back(std::move(target.graph));
  return index;
}

}  // namespace halftone::onnx
