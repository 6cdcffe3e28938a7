#include "onnx/writer.hpp"

#include <algorithm>
#include <cstring>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "base/packed.hpp"
#include "graph/subgraphs.hpp"
#include "onnx/operators.hpp"

namespace halftone::onnx {

namespace {

/// Data of a data file begin at multiples of this, so that they are aligned when it is mapped.
constexpr std::size_t data_alignment = 64;

/// The attributes of a node as AttributeProtos.
class AttributeWriter final : public AttributeVisitor {
 public:
  std::vector<::onnx::AttributeProto> attributes;
  std::vector<std::pair<std::size_t, std::int32_t>> graphs;  ///< attribute and its graph

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (present) add(name, ::onnx::AttributeProto::INT).set_i(value);
  }
  void real(std::string_view name, float& value, bool& present) override {
    if (present) add(name, ::onnx::AttributeProto::FLOAT).set_f(value);
  }
  void integers(std::string_view name, std::int64_t* values, std::uint8_t& count,
                std::size_t) override {
    if (count == 0) return;
    auto& attribute = add(name, ::onnx::AttributeProto::INTS);
    for (std::size_t i = 0; i < count; ++i) attribute.add_ints(values[i]);
  }
  void reals(std::string_view name, float* values, std::uint8_t& count, std::size_t) override {
    if (count == 0) return;
    auto& attribute = add(name, ::onnx::AttributeProto::FLOATS);
    for (std::size_t i = 0; i < count; ++i) attribute.add_floats(values[i]);
  }
  void text(std::string_view name, char* text, std::size_t) override {
    if (*text != '\0') add(name, ::onnx::AttributeProto::STRING).set_s(text);
  }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    const auto i = static_cast<std::size_t>(value);
    if (i < names.size()) {
      add(name, ::onnx::AttributeProto::STRING).set_s(std::string(names[i]));
    }
  }
  void choices(std::string_view name, std::int64_t* values, std::uint8_t& count, std::size_t,
               std::span<const std::string_view> names) override {
    if (count == 0) return;
    auto& attribute = add(name, ::onnx::AttributeProto::STRINGS);
    for (std::size_t i = 0; i < count; ++i) {
      attribute.add_strings(std::string(names[static_cast<std::size_t>(values[i])]));
    }
  }
  /// `value_type` and `value_bits` stand for a tensor `value` of one element.
  void join_tensors() {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      if (!attributes[i].name().ends_with("_bits")) continue;
      const std::string name = attributes[i].name().substr(0, attributes[i].name().size() - 5);
      const auto type = std::find_if(attributes.begin(), attributes.end(),
                                     [&](const auto& a) { return a.name() == name + "_type"; });
      if (type == attributes.end()) continue;
      const TensorInfo info{static_cast<ElementType>(type->i()), {1}};
      const std::int64_t bits = attributes[i].i();
      ::onnx::AttributeProto tensor;
      tensor.set_name(name);
      tensor.set_type(::onnx::AttributeProto::TENSOR);
      *tensor.mutable_t() = tensor_header(info, name);
      tensor.mutable_t()->set_raw_data(&bits, static_cast<std::size_t>(info.bytes()));
      attributes[i] = std::move(tensor);
      type->Clear();  // without a name it is left out
    }
  }
  void graph(std::string_view name, std::int32_t& index) override {
    if (index < 0) return;
    graphs.emplace_back(attributes.size(), index);
    add(name, ::onnx::AttributeProto::GRAPH);
  }

 private:
  ::onnx::AttributeProto& add(std::string_view name, ::onnx::AttributeProto::AttributeType type) {
    attributes.emplace_back();
    attributes.back().set_name(std::string(name));
    attributes.back().set_type(type);
    return attributes.back();
  }
};

/// The input of an operator that was an attribute up to version 17 of the operator set; -1: none.
int axes_input(const Node& node) {
  const OpId& id = node.op->id;
  const bool is_one = id.domain == "ai.onnx" && id.name.starts_with("Reduce") &&
                      id.versions.contains(18) && !id.versions.contains(13);
  return is_one ? 1 : -1;
}

/// Whether a reduction can be written with axes as an attribute.
bool has_constant_axes(const Graph& graph, const Node& node) {
  if (axes_input(node) < 0) return false;
  bool is_everything = true;
  if (has_input(node, 1)) {
    const TensorRecord& axes = graph.tensor(node.inputs[1]);
    if (axes.role != Role::constant || axes.info.type != ElementType::int64) return false;
    is_everything = axes.data.size() == 0;
  }
  if (!is_everything) return true;
  AttributeWriter written;
  Vector<Word> words = node.attributes;
  node.op->attributes(words, written);
  return std::none_of(written.attributes.begin(), written.attributes.end(), [](const auto& a) {
    return a.name() == "noop_with_empty_axes" && a.i() != 0;
  });
}

std::string text_of(const Note& note) {
  const auto bytes = note.text.span();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The inputs of a node but those that ONNX has as attributes.
Vector<TensorId> inputs_to_write(const Node& node) {
  Vector<TensorId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.op->signature.inputs() > 0 && node.op->signature.input_slot(i).is_attribute())
      continue;
    inputs.push_back(node.inputs[i]);
  }
  return inputs;
}

/// A constant input as the list of numbers or words, or the tensor, that ONNX has as an attribute.
void fill_attribute(const Descriptor& op, const Slot& slot, const TensorRecord& constant,
                    ::onnx::AttributeProto& attribute) {
  const std::span<const std::byte> bytes = constant.data.span();
  attribute.set_name(std::string(slot.name));
  const auto each = [&]<class T>(T, auto&& add) {
    for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      T value{};
      std::memcpy(&value, bytes.data() + i, sizeof value);
      add(value);
    }
  };
  if (slot.attribute == SlotAttribute::tensor) {
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = tensor_header(constant.info, slot.name);
    const auto raw = set_data(*attribute.mutable_t(), constant.info, bytes);
    if (raw.size() == bytes.size()) attribute.mutable_t()->set_raw_data(raw.data(), raw.size());
  } else if (constant.info.type == ElementType::string) {
    attribute.set_type(::onnx::AttributeProto::STRINGS);
    for (const String text : AnyView{constant.info, bytes.data()}.values<String>()) {
      attribute.add_strings(std::string(text.view()));
    }
  } else if (constant.info.type == ElementType::int64) {
    attribute.set_type(::onnx::AttributeProto::INTS);
    each(std::int64_t{}, [&](std::int64_t v) { attribute.add_ints(v); });
  } else if (constant.info.type == ElementType::float32) {
    attribute.set_type(::onnx::AttributeProto::FLOATS);
    each(float{}, [&](float v) { attribute.add_floats(v); });
  } else if (constant.info.type == ElementType::uint8 && op.choices != nullptr) {
    attribute.set_type(::onnx::AttributeProto::STRINGS);
    const auto choices = op.choices(slot.name);
    each(std::uint8_t{}, [&](std::uint8_t v) {
      attribute.add_strings(v < choices.size() ? std::string(choices[v]) : std::string());
    });
  } else {
    fail(ErrorKind::unsupported, {.what = "an attribute of this element type cannot be written",
                                  .tensor = slot.name,
                                  .found = halftone::name(constant.info.type)});
  }
}

std::string serialized(const google::protobuf::MessageLite& message) {
  return message.SerializePartialAsString();
}

/// Where the captured tensors that are not written begin among the inputs of a node with graphs.
std::size_t own_inputs(const Node& node) {
  const Slots& signature = node.op->signature;
  if (!signature.has_variadic_input()) return signature.inputs();
  if (captures_follow(signature)) return signature.inputs() - 1;
  return node.inputs.size();  // the graphs get them as inputs of their own
}

/// The type of a value that may be no tensor.
void set_type(ElementType type, ::onnx::TypeProto& proto) {
  if (is_sequence(type)) {
    set_type(item_of(type), *proto.mutable_sequence_type()->mutable_elem_type());
  } else if (is_optional(type)) {
    set_type(item_of(type), *proto.mutable_optional_type()->mutable_elem_type());
  } else if (is_map(type)) {
    const bool is_text = kind_of(type) == ValueKind::string_map;
    proto.mutable_map_type()->set_key_type(
        static_cast<int>(is_text ? ElementType::string : ElementType::int64));
    set_type(element_of(type), *proto.mutable_map_type()->mutable_value_type());
  } else {
    proto.mutable_tensor_type()->set_elem_type(static_cast<int>(type));
  }
}

}  // namespace

::onnx::TensorProto tensor_header(const TensorInfo& info, std::string_view name) {
  if (size_in_bytes(info.type) == 0) {
    fail(ErrorKind::unsupported, {.what = "tensors of this element type cannot be written",
                                  .tensor = name,
                                  .found = halftone::name(info.type)});
  }
  ::onnx::TensorProto tensor;
  tensor.set_data_type(static_cast<int>(info.type));
  for (const std::int64_t extent : info.shape) tensor.add_dims(extent);
  tensor.set_name(std::string(name));
  return tensor;
}

std::span<const std::byte> set_data(::onnx::TensorProto& tensor, const TensorInfo& info,
                                    std::span<const std::byte> bytes) {
  const auto elements = static_cast<std::uint64_t>(info.elements());
  if (info.type == ElementType::string) {
    for (const String text : AnyView{info, bytes.data()}.values<String>()) {
      tensor.add_string_data(std::string(text.view()));
    }
    return {};
  }
  if (detail::is_packed(info.type)) {
    std::string packed(detail::packed_bytes(info.type, elements), '\0');
    detail::pack_elements(info.type, bytes.data(), reinterpret_cast<std::byte*>(packed.data()),
                          elements);
    tensor.set_raw_data(std::move(packed));
    return {};
  }
  return bytes;
}

Writer::Writer(const Graph& graph, const SaveOptions& options) : graph_(graph), options_(options) {
  check_subgraphs(graph);
  choose_versions();
  const Names names = names_of(graph, nullptr, {});
  ::onnx::GraphProto proto;
  const std::string_view graph_name = graph.text(graph.graph_name);
  proto.set_name(graph_name.empty() ? "graph" : std::string(graph_name));
  for (const auto* list : {&graph.inputs, &graph.optional_inputs}) {
    for (const TensorId id : *list) write_value(graph, id, names[id], *proto.add_input());
  }
  for (const TensorId id : graph.outputs) write_value(graph, id, names[id], *proto.add_output());
  write_nodes(names, proto);

  const std::vector<bool> used = used_tensors(graph);
  Pieces initializers;
  for (const ::onnx::TensorProto& tensor : more_initializers_) {
    const std::string bytes = serialized(tensor);
    initializers.add(field_header(::onnx::GraphProto::kInitializerFieldNumber, bytes.size()) +
                     bytes);
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& record = graph.tensors[i];
    const bool wanted = used[i] || !record.name.empty();
    if (is_variable(record) || (record.role == Role::constant && wanted)) {
      initializers.add(initializer(record, names.of[i]));
    }
  }
  ::onnx::ModelProto model;
  model.set_ir_version(ir_version_);
  model.set_producer_name("halftone");
  model.set_producer_version(HALFTONE_VERSION);
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(opset_);
  for (const auto& [domain, version] : other_opsets_) {
    auto& other = *model.add_opset_import();
    other.set_domain(domain);
    other.set_version(version);
  }
  for (const Note& note : graph.notes) {
    const std::string text = text_of(note);
    if (note.kind == Note::Kind::metadata) {
      auto& entry = *model.add_metadata_props();
      entry.set_key(std::string(graph.text(note.key)));
      entry.set_value(text);
    } else if (note.kind == Note::Kind::devices) {
      model.MergeFromString(field_header(model_devices, text.size()) + text);
    }
  }
  std::string header = serialized(model);
  std::string body = serialized(proto);
  header += field_header(::onnx::ModelProto::kGraphFieldNumber, body.size() + initializers.size());
  model_.add(std::move(header));
  model_.add(std::move(body));
  model_.add(std::move(initializers));
}

/// Constants that expansion left behind, or that are written as attributes, are not worth a place
/// in the file.
std::vector<bool> Writer::used_tensors(const Graph& graph) const {
  std::vector<bool> used(graph.tensors.size(), false);
  const auto use = [&](const Vector<TensorId>& ids, int except) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == no_tensor || static_cast<int>(i) == except) continue;
      used[static_cast<std::size_t>(ids[i])] = true;
    }
  };
  for (const Node& node : graph.nodes) {
    use(inputs_to_write(node), opset_ < 18 ? axes_input(node) : -1);
  }
  use(graph.outputs, -1);
  use(graph.optional_inputs, -1);
  return used;
}

// --- versions ----------------------------------------------------------------------------------

bool Writer::suits(const Graph& graph, std::int64_t opset) const {
  for (const Node& node : graph.nodes) {
    const OpId& id = node.op->id;
    if (id.domain != "ai.onnx") continue;
    const int since = since_version(id.name, opset);
    if (since == 0 ? *std::min_element(id.versions.begin(), id.versions.end()) > opset
                   : !id.versions.contains(static_cast<std::int16_t>(since))) {
      if (since >= 11 && since < 18 && has_constant_axes(graph, node)) continue;
      return false;
    }
  }
  return std::all_of(graph.graphs.begin(), graph.graphs.end(),
                     [&](const Graph& body) { return suits(body, opset); });
}

void Writer::collect_versions(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const OpId& id = node.op->id;
    if (id.domain == "ai.onnx") continue;
    const std::int64_t version = *std::max_element(id.versions.begin(), id.versions.end());
    const auto known = std::find_if(other_opsets_.begin(), other_opsets_.end(),
                                    [&](const auto& o) { return o.first == id.domain; });
    if (known == other_opsets_.end()) {
      other_opsets_.emplace_back(id.domain, version);
    } else {
      known->second = std::max(known->second, version);
    }
  }
  for (const Graph& body : graph.graphs) collect_versions(body);
}

std::int64_t Writer::version_of_types(const Graph& graph) const {
  std::int64_t version = 8;
  for (const TensorRecord& t : graph.tensors) {
    const ElementType type = element_of(t.info.type);
    const std::int64_t since = type >= ElementType::float6_e2m3     ? 14
                               : type >= ElementType::uint2         ? 13
                               : type >= ElementType::float8_e8m0   ? 12
                               : type >= ElementType::float4_e2m1   ? 11
                               : type >= ElementType::uint4         ? 10
                               : type >= ElementType::float8_e4m3fn ? 9
                                                                    : 8;
    version = std::max(version, since);
  }
  for (const Graph& body : graph.graphs) version = std::max(version, version_of_types(body));
  return version;
}

bool Writer::has_devices(const Graph& graph) {
  return std::any_of(graph.notes.begin(), graph.notes.end(),
                     [](const Note& n) { return n.kind != Note::Kind::metadata; }) ||
         std::any_of(graph.graphs.begin(), graph.graphs.end(), has_devices);
}

void Writer::choose_versions() {
  // Version 17 is what most programs read; a newer one if an operator asks for it, else an older.
  constexpr std::int64_t usual = 17;
  opset_ = 0;
  for (std::int64_t v = usual; v <= newest_opset && opset_ == 0; ++v) {
    if (suits(graph_, v)) opset_ = v;
  }
  for (std::int64_t v = usual - 1; v >= 1 && opset_ == 0; --v) {
    if (suits(graph_, v)) opset_ = v;
  }
  if (opset_ == 0) {
    fail(ErrorKind::unsupported,
         {.what = "no version of the operator set ai.onnx has all operators of the graph with the "
                  "meaning that they have in it"});
  }
  collect_versions(graph_);
  // The first version of the format that came with each operator set, see versions.hpp.
  ir_version_ = std::max(ir_of_opset(opset_), version_of_types(graph_));
  constexpr std::int64_t several_devices = 11;  // the version that brought them
  if (has_devices(graph_)) ir_version_ = std::max(ir_version_, several_devices);
}

// --- names and values --------------------------------------------------------------------------

std::string Writer::unique(std::string name) {
  while (!used_.insert(name).second) name += '_';
  return name;
}

const std::string* Writer::known_around(const Names& names, const Graph& graph,
                                        const TensorRecord& record) {
  for (const Names* around = names.outer; around != nullptr; around = around->outer) {
    const TensorId id = around->graph->find(graph.text(record.name));
    if (id == no_tensor) continue;
    const TensorRecord& other = around->graph->tensor(id);
    const auto a = record.data.span(), b = other.data.span();
    const bool same = other.role == Role::constant && other.info == record.info &&
                      a.size() == b.size() &&
                      (a.data() == b.data() || std::equal(a.begin(), a.end(), b.begin()));
    if (same) return &(*around)[id];
  }
  return nullptr;
}

Writer::Names Writer::names_of(const Graph& graph, const Names* outer,
                               std::span<const std::string> captured) {
  Names names{.graph = &graph, .outer = outer, .of = {}};
  for (const Note& note : graph.notes) {
    if (note.kind == Note::Kind::node_devices) names.devices.emplace(graph.text(note.key), &note);
  }
  names.of.resize(graph.tensors.size());
  const std::size_t formals = graph.inputs.size() - captured.size();
  for (std::size_t i = 0; i < captured.size(); ++i) {
    names.of[static_cast<std::size_t>(graph.inputs[formals + i])] = captured[i];
  }
  // Names that people gave go first: no name that is made up here may take one away.
  for (const bool given : {true, false}) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorRecord& record = graph.tensors[i];
      if (!names.of[i].empty() || record.name.empty() == given) continue;
      if (record.role == Role::constant && given) {
        if (const std::string* known = known_around(names, graph, record)) {
          names.of[i] = *known;
          names.shared.insert(static_cast<TensorId>(i));
          continue;
        }
      }
      names.of[i] = unique(given ? std::string(graph.text(record.name)) : "t" + std::to_string(i));
    }
  }
  return names;
}

void Writer::write_value(const Graph& graph, TensorId id, const std::string& name,
                         ::onnx::ValueInfoProto& value) const {
  value.set_name(name);
  const TensorInfo& info = graph.info(id);
  const ElementType stated = graph.tensor(id).stated_type;
  if (!info.is_known() && stated == ElementType::undefined) return;
  if (!is_tensor(info.type)) return set_type(info.type, *value.mutable_type());
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  if (!info.is_known()) {
    tensor.set_elem_type(static_cast<int>(stated));
    return;
  }
  tensor.set_elem_type(static_cast<int>(info.type));
  auto& shape = *tensor.mutable_shape();
  for (std::size_t axis = 0; axis < info.rank(); ++axis) {
    auto& dimension = *shape.add_dim();
    if (info.shape[axis] >= 0) {
      dimension.set_dim_value(info.shape[axis]);
      continue;
    }
    for (const Symbol& symbol : graph.symbols) {
      if (symbol.tensor == id && symbol.axis == axis) {
        dimension.set_dim_param(std::string(graph.text(symbol.name)));
      }
    }
  }
}

Pieces Writer::initializer(const TensorRecord& record, const std::string& name) {
  constexpr int initializer_field = ::onnx::GraphProto::kInitializerFieldNumber;
  const std::span<const std::byte> bytes = record.data.span();
  if (static_cast<std::int64_t>(bytes.size()) != record.info.bytes()) {
    fail(ErrorKind::internal, {.what = "a tensor to be written has data of another size",
                               .tensor = name,
                               .expected = std::to_string(record.info.bytes()),
                               .found = std::to_string(bytes.size())});
  }
  ::onnx::TensorProto tensor = tensor_header(record.info, name);
  Pieces pieces;
  const std::span<const std::byte> raw = set_data(tensor, record.info, bytes);
  if (raw.size() != bytes.size()) {
    const std::string whole = serialized(tensor);
    pieces.add(field_header(initializer_field, whole.size()) + whole);
    return pieces;
  }
  if (!options_.data_file.empty() &&
      bytes.size() >= std::max<std::size_t>(options_.data_file_from, 1)) {
    const std::size_t rest = data_.size() % data_alignment;
    if (rest != 0) data_.add(std::string(data_alignment - rest, '\0'));
    auto entry = [&](const char* key, const std::string& value) {
      auto& e = *tensor.add_external_data();
      e.set_key(key);
      e.set_value(value);
    };
    entry("location", std::string(options_.data_file));
    entry("offset", std::to_string(data_.size()));
    entry("length", std::to_string(bytes.size()));
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    data_.add(bytes);
    std::string header = serialized(tensor);
    pieces.add(field_header(initializer_field, header.size()) + header);
    return pieces;
  }
  std::string header = serialized(tensor);
  header += field_header(::onnx::TensorProto::kRawDataFieldNumber, bytes.size());
  pieces.add(field_header(initializer_field, header.size() + bytes.size()) + header);
  if (!bytes.empty()) pieces.add(bytes);
  return pieces;
}

// --- nodes -------------------------------------------------------------------------------------

void Writer::write_nodes(const Names& names, ::onnx::GraphProto& proto) {
  for (const Node& node : names.graph->nodes) write_node(names, node, *proto.add_node());
}

void Writer::write_node(const Names& names, const Node& node, ::onnx::NodeProto& proto) {
  const Graph& graph = *names.graph;
  const OpId& id = node.op->id;
  proto.set_op_type(std::string(id.name));
  if (id.domain != "ai.onnx") proto.set_domain(std::string(id.domain));
  proto.set_name(std::string(graph.name(node)));

  AttributeWriter written, defaults;
  Vector<Word> words = node.attributes;
  node.op->attributes(words, written);
  words = node.op->defaults();
  node.op->attributes(words, defaults);
  written.join_tensors();
  defaults.join_tensors();

  std::size_t inputs = node.inputs.size();
  std::vector<std::string> captured;
  if (!written.graphs.empty()) {
    inputs = std::min(inputs, own_inputs(node));
    for (std::size_t i = inputs; i < node.inputs.size(); ++i) {
      captured.push_back(names[node.inputs[i]]);
    }
  }
  if (opset_ < 18 && axes_input(node) >= 0) {
    if (inputs > 1 && node.inputs[1] != no_tensor) write_axes(graph.tensor(node.inputs[1]), proto);
    inputs = 1;
  }
  Vector<TensorId> own = inputs_to_write(node);
  own.resize(std::min(inputs, own.size()));
  while (!own.empty() && own.back() == no_tensor) own.pop_back();
  for (const TensorId input : own) {
    proto.add_input(input == no_tensor ? std::string() : names[input]);
  }
  for (std::size_t i = 0; i < node.inputs.size() && node.op->signature.inputs() > 0; ++i) {
    const Slot& slot = node.op->signature.input_slot(i);
    if (!slot.is_attribute() || node.inputs[i] == no_tensor) continue;
    const TensorRecord& constant = graph.tensor(node.inputs[i]);
    if (constant.role != Role::constant) {
      fail(ErrorKind::unsupported, {.what = "an attribute of the node is no constant",
                                    .node = graph.name(node),
                                    .tensor = slot.name});
    }
    fill_attribute(*node.op, slot, constant, *proto.add_attribute());
  }
  for (const TensorId output : node.outputs) {
    proto.add_output(output == no_tensor ? std::string() : names[output]);
  }
  // ONNX has no nodes without inputs and outputs: an absent input is one.
  if (proto.input_size() == 0 && proto.output_size() == 0) proto.add_input(std::string());
  if (id.domain == "ai.onnx" && id.name == "BatchNormalization")
    drop_statistics(graph, node, proto);

  for (std::size_t i = 0; i < written.attributes.size(); ++i) {
    ::onnx::AttributeProto& attribute = written.attributes[i];
    const bool is_default =
        std::any_of(defaults.attributes.begin(), defaults.attributes.end(), [&](const auto& other) {
          return other.name() == attribute.name() && serialized(other) == serialized(attribute);
        });
    const auto body = std::find_if(written.graphs.begin(), written.graphs.end(),
                                   [&](const auto& g) { return g.first == i; });
    if (body != written.graphs.end()) {
      write_subgraph(graph.graphs[static_cast<std::size_t>(body->second)], names, captured,
                     *attribute.mutable_g());
    } else if (is_default || attribute.name().empty() ||
               (opset_ < 18 && axes_input(node) >= 0 &&
                attribute.name() == "noop_with_empty_axes")) {
      continue;
    } else if (id.domain == "ai.onnx" && id.name == "Dropout" && attribute.name() == "ratio" &&
               opset_ >= 12) {
      // An attribute up to version 10, an input since.
      if (proto.input_size() > 1 && !proto.input(1).empty()) continue;
      if (proto.input_size() < 2) proto.add_input();
      proto.set_input(1, add_scalar(graph.name(node), attribute.f()));
      continue;
    }
    if (id == op::MakeOptional::id && attribute.name() == "type") {
      const auto type = static_cast<ElementType>(attribute.i());
      attribute.clear_i();
      attribute.set_type(::onnx::AttributeProto::TYPE_PROTO);
      set_type(type, *attribute.mutable_tp());
    }
    *proto.add_attribute() = std::move(attribute);
  }
  write_planning(node, proto);
  std::string_view key = graph.name(node);
  for (const TensorId output : node.outputs) {
    if (key.empty() && output != no_tensor) key = graph.name(output);
  }
  if (const auto note = names.devices.find(key); note != names.devices.end()) {
    proto.MergeFromString(text_of(*note->second));
  }
}

void Writer::write_planning(const Node& node, ::onnx::NodeProto& proto) {
  const Planning& planning = node.planning;
  const auto attribute =
      [&](const char* name, ::onnx::AttributeProto::AttributeType type) -> ::onnx::AttributeProto& {
    ::onnx::AttributeProto& added = *proto.add_attribute();
    added.set_name(name);
    added.set_type(type);
    return added;
  };
  if (planning.available_memory_proportion > 0) {
    attribute(memory_proportion_attribute, ::onnx::AttributeProto::FLOAT)
        .set_f(planning.available_memory_proportion);
  }
  if (planning.partials != ElementType::undefined) {
    attribute(partials_attribute, ::onnx::AttributeProto::STRING)
        .set_s(planning.partials == ElementType::float16 ? "HALF" : "FLOAT");
  }
  const auto number = [&](const char* name, std::int64_t value, bool is_given) {
    if (is_given) attribute(name, ::onnx::AttributeProto::INT).set_i(value);
  };
  const Place& place = node.place;
  number(placement_attribute, place.ipu, place.ipu >= 0);
  number(stage_attribute, place.stage, place.stage >= 0);
  number(phase_attribute, place.phase, place.phase >= 0);
  number(recompute_attribute, static_cast<std::int64_t>(place.recompute),
         place.recompute != Recompute::undefined);
}

void Writer::write_axes(const TensorRecord& axes, ::onnx::NodeProto& proto) {
  const std::span<const std::byte> bytes = axes.data.span();
  if (bytes.empty()) return;  // all: the attribute is absent
  ::onnx::AttributeProto& attribute = *proto.add_attribute();
  attribute.set_name("axes");
  attribute.set_type(::onnx::AttributeProto::INTS);
  for (std::size_t i = 0; i + sizeof(std::int64_t) <= bytes.size(); i += sizeof(std::int64_t)) {
    std::int64_t axis = 0;
    std::memcpy(&axis, bytes.data() + i, sizeof axis);
    attribute.add_ints(axis);
  }
}

/// The operator has no outputs `saved_mean` and `saved_var` since version 14.
void Writer::drop_statistics(const Graph& graph, const Node& node, ::onnx::NodeProto& proto) const {
  constexpr int kept = 3;
  if (opset_ < 14 || proto.output_size() <= kept) return;
  for (std::size_t i = kept; i < node.outputs.size(); ++i) {
    const TensorId id = node.outputs[i];
    const auto uses = [&](const Vector<TensorId>& ids) {
      return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    const bool is_used =
        id != no_tensor &&
        (uses(graph.outputs) || std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                            [&](const Node& n) { return uses(n.inputs); }));
    if (is_used) {
      fail(ErrorKind::unsupported,
           {.what = "saved statistics of a batch normalization cannot be written",
            .node = graph.name(node),
            .tensor = graph.name(id)});
    }
  }
  proto.mutable_output()->DeleteSubrange(kept, proto.output_size() - kept);
}

std::string Writer::add_scalar(std::string_view node, float value) {
  const std::string name = unique(node.empty() ? "ratio" : std::string(node) + "_ratio");
  ::onnx::TensorProto& tensor =
      more_initializers_.emplace_back(tensor_header({ElementType::float32, {}}, name));
  tensor.set_raw_data(&value, sizeof value);
  return name;
}

void Writer::write_subgraph(const Graph& body, const Names& outer,
                            std::span<const std::string> captured, ::onnx::GraphProto& proto) {
  const Names names = names_of(body, &outer, captured);
  const std::string_view name = body.text(body.graph_name);
  proto.set_name(name.empty() ? "body" : std::string(name));
  for (std::size_t i = 0; i + captured.size() < body.inputs.size(); ++i) {
    write_value(body, body.inputs[i], names[body.inputs[i]], *proto.add_input());
  }
  write_nodes(names, proto);
  const std::vector<bool> used = used_tensors(body);
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    const TensorRecord& record = body.tensors[i];
    const bool wanted = used[i] || !record.name.empty();
    if (!is_variable(record) && (record.role != Role::constant || !wanted)) continue;
    if (names.shared.contains(static_cast<TensorId>(i))) continue;  // the graph around has it
    ::onnx::TensorProto& tensor = *proto.add_initializer();
    tensor = tensor_header(record.info, names.of[i]);
    const std::span<const std::byte> bytes = record.data.span();
    const std::span<const std::byte> raw = set_data(tensor, record.info, bytes);
    if (raw.size() == bytes.size()) tensor.set_raw_data(raw.data(), raw.size());
  }
  for (const TensorId id : body.outputs) {
    write_value(body, id, names[id], *proto.add_output());
  }
}

}  // namespace halftone::onnx
