#include <popart/builder.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include <halftone/graph/planning.hpp>
#include <halftone/onnx.hpp>
#include <halftone/transform/infer.hpp>

#include "base/file.hpp"
#include "exec/fold.hpp"
#include "popart/builder_impl.hpp"
#include "popart/builder_methods.hpp"
#include "popart/convert.hpp"
#include "popart/external.hpp"
#include "popart/model.hpp"
#include "popart/settings.hpp"

namespace popart {

namespace {

using detail::translated;
using ::onnx::AttributeProto;

constexpr const char* defaultDomain = "ai.onnx";
/// The version that a model has which uses no operator of the default domain.
constexpr int defaultOpset = 10;
/// The version of an operator that all versions have alike, which leaves the model's version open.
constexpr int anyOpset = 0;
/// Constants of so many bytes are known when shapes are inferred.
constexpr std::size_t mostKnownBytes = 4096;
/// Data of a file begin at multiples of this, so that they are aligned when it is mapped.

/// The default domain's name in a file is empty.
std::string domainInFile(const std::string& domain) {
  return domain == defaultDomain ? std::string() : domain;
}

std::string joined(const std::set<TensorId>& ids) {
  std::string text;
  for (const TensorId& id : ids) text += (text.empty() ? "" : " ,") + id;
  return text;
}

::onnx::ValueInfoProto valueInfo(const std::string& name, const halftone::TensorInfo& info) {
  ::onnx::ValueInfoProto value;
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(info.type));
  auto& shape = *tensor.mutable_shape();
  for (const std::int64_t extent : info.shape) {
    auto& dimension = *shape.add_dim();
    if (extent >= 0) dimension.set_dim_value(extent);
  }
  return value;
}

::onnx::TensorProto tensorOf(const std::string& name, const halftone::TensorInfo& info,
                             const void* data) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(static_cast<int>(info.type));
  for (const std::int64_t extent : info.shape) tensor.add_dims(extent);
  tensor.set_raw_data(data, data == nullptr ? 0 : static_cast<std::size_t>(info.bytes()));
  return tensor;
}

::onnx::TensorProto tensorOf(const std::string& name, const ConstVoidData& data) {
  const halftone::TensorInfo info = detail::toNative(data.info);
  if (!info.is_static() || halftone::size_in_bytes(info.type) == 0 || info.bytes() == INT64_MAX) {
    throw error("A tensor cannot be initialised with the info {}", data.info);
  }
  if (data.data == nullptr && info.bytes() != 0) {
    throw error("A tensor is to be initialised without data");
  }
  return tensorOf(name, info, data.data);
}

::onnx::ValueInfoProto infoOf(const ::onnx::TensorProto& tensor) {
  ::onnx::ValueInfoProto value;
  value.set_name(tensor.name());
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  auto& shape = *type.mutable_shape();
  for (const std::int64_t extent : tensor.dims()) shape.add_dim()->set_dim_value(extent);
  return value;
}

/// Names that the graphs of a node use and don't define.
void collectFreeNames(const ::onnx::NodeProto& node, std::set<std::string> defined,
                      std::set<std::string>& free, bool isOutermost) {
  if (!isOutermost) {
    for (const std::string& name : node.input()) {
      if (!name.empty() && !defined.contains(name)) free.insert(name);
    }
  }
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.type() != AttributeProto::GRAPH) continue;
    std::set<std::string> inside = defined;
    for (const auto& value : attribute.g().input()) inside.insert(value.name());
    for (const auto& tensor : attribute.g().initializer()) inside.insert(tensor.name());
    for (const auto& inner : attribute.g().node()) {
      inside.insert(inner.output().begin(), inner.output().end());
    }
    for (const auto& inner : attribute.g().node()) collectFreeNames(inner, inside, free, false);
  }
}

void collectNames(const ::onnx::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& value : graph.input()) names.insert(value.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.type() == AttributeProto::GRAPH) collectNames(attribute.g(), names);
    }
  }
}

const BuilderMethod& methodOf(const std::string& domain, const std::string& op, int opset) {
  const BuilderMethod* best = nullptr;
  const auto methods = builderMethods();
  const std::pair<std::string_view, std::string_view> key(domain, op);
  auto at = std::lower_bound(
      methods.begin(), methods.end(), key,
      [](const BuilderMethod& m, const auto& k) { return std::pair(m.domain, m.op) < k; });
  for (; at != methods.end() && at->domain == domain && at->op == op; ++at) {
    if (at->version <= opset) best = &*at;
  }
  if (best == nullptr) throw internal_error("No method for {}.{} of opset {}", domain, op, opset);
  return *best;
}

/// One of a method's attributes.
struct AttributeSpec {
  std::string name;
  bool required = false;
  std::string_view otherwise;  ///< the default
  bool hasDefault = false;

  explicit AttributeSpec(std::string_view text) {
    const std::size_t colon = text.find(':');
    name = text.substr(0, colon);
    const std::string_view end = text.substr(colon + 2);  // behind the kind
    required = end.starts_with('!');
    hasDefault = end.starts_with('=');
    if (hasDefault) otherwise = end.substr(1);
  }

  bool isDefault(const BuilderArgument& value) const {
    if (!hasDefault) return false;
    const auto is = [&]<class T>(T given) {
      T number{};
      std::from_chars(otherwise.data(), otherwise.data() + otherwise.size(), number);
      return number == given;
    };
    if (value.kind() == 'i') return is(value.integer());
    if (value.kind() == 'f') return is(value.real());
    return value.kind() == 's' && value.as<std::string>() == otherwise;
  }

  bool isWritten(const BuilderArgument& value) const {
    if (value.kind() == 0 || isDefault(value)) return false;
    if (required || value.certain()) return true;
    // An empty list that may be left out is not given.
    if (value.kind() == 'I') return !value.as<std::vector<int64_t>>().empty();
    if (value.kind() == 'F') return !value.as<std::vector<float>>().empty();
    if (value.kind() == 'S') return !value.as<std::vector<std::string>>().empty();
    return true;
  }
};

void setInteger(AttributeProto& attribute, int64_t value) {
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}
void setReal(AttributeProto& attribute, float value) {
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(value);
}
void setText(AttributeProto& attribute, const std::string& value) {
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}
void setList(AttributeProto& attribute, const std::vector<int64_t>& values) {
  attribute.set_type(AttributeProto::INTS);
  attribute.mutable_ints()->Add(values.begin(), values.end());
}
void setList(AttributeProto& attribute, const std::vector<float>& values) {
  attribute.set_type(AttributeProto::FLOATS);
  attribute.mutable_floats()->Add(values.begin(), values.end());
}
void setList(AttributeProto& attribute, const std::vector<std::string>& values) {
  attribute.set_type(AttributeProto::STRINGS);
  attribute.mutable_strings()->Add(values.begin(), values.end());
}
void setTensor(AttributeProto& attribute, const ConstVoidData& value) {
  attribute.set_type(AttributeProto::TENSOR);
  *attribute.mutable_t() = tensorOf(attribute.name(), value);
}
void setGraph(AttributeProto& attribute, const Builder& value) {
  attribute.set_type(AttributeProto::GRAPH);
  *attribute.mutable_g() = BuilderImpl::of(value).graph();
}

/// Computes a node of constants unless much comes out.
bool evaluateSmall(void* executor, halftone::Graph& graph, std::size_t node) {
  for (const halftone::TensorId id : graph.nodes[node].outputs) {
    if (id == halftone::no_tensor) continue;
    const std::int64_t bytes = graph.info(id).bytes();
    if (bytes < 0 || static_cast<std::size_t>(bytes) > mostKnownBytes) return false;
  }
  return halftone::evaluate_constant(executor, graph, node);
}

}  // namespace

// --- attributes --------------------------------------------------------------------------------

AttributeProto namedAttribute(const std::string& name) {
  AttributeProto attribute;
  attribute.set_name(name);
  return attribute;
}

void setValue(AttributeProto& attribute, const BuilderArgument& value) {
  switch (value.kind()) {
    case 'i':
      return setInteger(attribute, value.integer());
    case 'f':
      return setReal(attribute, value.real());
    case 's':
      return setText(attribute, value.as<std::string>());
    case 'I':
      return setList(attribute, value.as<std::vector<int64_t>>());
    case 'F':
      return setList(attribute, value.as<std::vector<float>>());
    case 'S':
      return setList(attribute, value.as<std::vector<std::string>>());
    case 't':
      return setTensor(attribute, value.as<ConstVoidData>());
    default:
      return setGraph(attribute, value.as<Builder>());
  }
}

void setValue(AttributeProto& attribute, const popart::any& value) {
  if (const auto* i = std::any_cast<int64_t>(&value)) return setInteger(attribute, *i);
  if (const auto* j = std::any_cast<int>(&value)) return setInteger(attribute, *j);
  if (const auto* u = std::any_cast<unsigned>(&value)) return setInteger(attribute, *u);
  if (const auto* w = std::any_cast<uint64_t>(&value)) {
    return setInteger(attribute, static_cast<int64_t>(*w));
  }
  if (const auto* b = std::any_cast<bool>(&value)) return setInteger(attribute, *b ? 1 : 0);
  if (const auto* f = std::any_cast<float>(&value)) return setReal(attribute, *f);
  if (const auto* d = std::any_cast<double>(&value)) {
    return setReal(attribute, static_cast<float>(*d));
  }
  if (const auto* s = std::any_cast<std::string>(&value)) return setText(attribute, *s);
  if (const auto* c = std::any_cast<const char*>(&value)) return setText(attribute, *c);
  if (const auto* m = std::any_cast<char*>(&value)) return setText(attribute, *m);
  if (const auto* l = std::any_cast<std::vector<int64_t>>(&value)) return setList(attribute, *l);
  if (const auto* r = std::any_cast<std::vector<float>>(&value)) return setList(attribute, *r);
  if (const auto* t = std::any_cast<std::vector<std::string>>(&value)) {
    return setList(attribute, *t);
  }
  if (const auto* v = std::any_cast<ConstVoidData>(&value)) return setTensor(attribute, *v);
  if (const auto* g = std::any_cast<const Builder*>(&value)) return setGraph(attribute, **g);
  if (const auto* h = std::any_cast<Builder*>(&value)) return setGraph(attribute, **h);
  throw error("Unsupported attribute value type {}", value.type().name());
}

int64_t elementTypeNumber(const std::string& name) {
  return getONNXDataTypeAsInt(dataTypeFromString(name));
}

void refuseSparse(bool isSparse) {
  if (isSparse) throw error("Sparse constants are not supported");
}

// --- names -------------------------------------------------------------------------------------

BuilderImpl::BuilderImpl(Builder* parentBuilder) : parent(parentBuilder) {
  model_.set_producer_name("halftone");
  model_.set_producer_version(HALFTONE_VERSION);
  graph().set_name("BuilderGraph");
}

std::string BuilderImpl::scoped(const std::string& name) const {
  std::string whole;
  for (const std::string& scope : scopes_) whole += scope + sNameDelimiter;
  return whole + name;
}

bool BuilderImpl::isTakenHereOrInside(const std::string& name) const {
  if (names_.contains(name)) return true;
  return std::any_of(children.begin(), children.end(),
                     [&](const auto& child) { return of(*child).isTakenHereOrInside(name); });
}

bool BuilderImpl::isTaken(const std::string& name) const {
  for (const BuilderImpl* around = outer(); around != nullptr; around = around->outer()) {
    if (around->names_.contains(name)) return true;
  }
  return isTakenHereOrInside(name);
}

std::string BuilderImpl::unique(const std::string& name) const {
  if (!isTaken(name)) return name;
  for (int number = 1;; ++number) {
    const std::string numbered = name + sNameDelimiter + std::to_string(number);
    if (!isTaken(numbered)) return numbered;
  }
}

const BuilderImpl& BuilderImpl::root() const {
  const BuilderImpl* outermost = this;
  while (outermost->outer() != nullptr) outermost = outermost->outer();
  return *outermost;
}

bool BuilderImpl::isKnown(const TensorId& id) const {
  if (names_.contains(id)) return true;
  return outer() != nullptr && outer()->isKnown(id);
}

void BuilderImpl::checkKnown(const TensorId& id) const {
  if (!isKnown(id)) throw error("Unknown tensor '{}'", id);
}

const ::onnx::ValueInfoProto* BuilderImpl::info(const TensorId& id) const {
  const auto found = infos_.find(id);
  if (found != infos_.end()) return &found->second;
  return outer() == nullptr ? nullptr : outer()->info(id);
}

const ::onnx::ValueInfoProto& BuilderImpl::knownInfo(const TensorId& id) const {
  checkKnown(id);
  const auto* found = info(id);
  if (found == nullptr) throw error("Tensor {} has no known type and shape", id);
  return *found;
}

// --- tensors -----------------------------------------------------------------------------------

TensorId BuilderImpl::addInput(const TensorInfo& info, const DebugContext& context) {
  const std::string path = context.getPathName();
  const std::string name = unique(scoped(path.empty() ? "input" : path));
  const auto value = valueInfo(name, detail::toNative(info));
  *graph().add_input() = value;
  infos_[name] = value;
  names_.insert(name);
  return name;
}

TensorId BuilderImpl::addUntypedInput(const DebugContext& context) {
  if (parent == nullptr) {
    throw error("Only subgraphs may have inputs without type: Builder::addUntypedInputTensor");
  }
  const std::string path = context.getPathName();
  const std::string name = unique(scoped(path.empty() ? "input" : path));
  graph().add_input()->set_name(name);
  names_.insert(name);
  return name;
}

TensorId BuilderImpl::addInitialized(const ConstVoidData& data, const Shape& shape,
                                     const DebugContext& context) {
  const std::string path = context.getPathName();
  const std::string name = unique(scoped(path.empty() ? "init_input" : path));
  ::onnx::TensorProto tensor = tensorOf(name, data);
  infos_[name] = valueInfo(name, detail::toNative(TensorInfo(data.info.dataType(), shape)));
  // The inputs of a subgraph are what its node gives it.
  if (parent == nullptr) *graph().add_input() = infos_[name];
  initializers_[name] = graph().initializer_size();
  *graph().add_initializer() = std::move(tensor);
  names_.insert(name);
  return name;
}

void BuilderImpl::addOutput(const TensorId& id) {
  checkKnown(id);
  TensorId own = id;
  // A tensor of a graph around is no output of this one.
  if (!names_.contains(id)) {
    own = addNode(defaultDomain, "Identity", anyOpset, {id}, {""}, {}, {}).front();
  }
  auto& output = *graph().add_output();
  if (const auto* known = info(own)) output = *known;
  output.set_name(own);
}

// --- nodes -------------------------------------------------------------------------------------

int BuilderImpl::opset(const std::string& domain) const {
  const auto& used = root().opsets_;
  const auto found = used.find(domain);
  return found == used.end() ? 0 : found->second;
}

void BuilderImpl::useOpset(const std::string& domain, int opset) {
  if (opset == anyOpset) return;
  BuilderImpl* outermost = this;
  while (outermost->parent != nullptr) outermost = outermost->parent->impl_.get();
  const auto [used, isNew] = outermost->opsets_.emplace(domain, opset);
  if (isNew) {
    auto& import = *outermost->model_.add_opset_import();
    import.set_domain(domainInFile(domain));
    import.set_version(opset);
  } else if (used->second != opset) {
    throw error(
        "Invalid opset {} used to add an operation. Opset for domain {} already defined as {}",
        opset, domain, used->second);
  }
}

std::vector<TensorId> BuilderImpl::addOperator(const char* domain, const char* op, int opset,
                                               const std::vector<TensorId>& inputs,
                                               unsigned outputs,
                                               std::initializer_list<BuilderArgument> values,
                                               const DebugContext& context) {
  const BuilderMethod& method = methodOf(domain, op, opset);
  const auto count = static_cast<int>(inputs.size());
  if (count < method.min_inputs || (method.max_inputs >= 0 && count > method.max_inputs)) {
    throw error("{} has invalid number of inputs {}. Must be between {}..{}", op, count,
                method.min_inputs,
                method.max_inputs < 0 ? "inf" : std::to_string(method.max_inputs));
  }
  for (int i = 0; i < method.min_inputs; ++i) {
    // The biases of several convolutions are optional, each.
    if (inputs[static_cast<std::size_t>(i)].empty()) throw error("Unknown tensor '' of {}", op);
  }
  std::vector<AttributeProto> written;
  std::string_view rest = method.attributes;
  for (const BuilderArgument& value : values) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end == 0) throw internal_error("{} of opset {} has too many arguments", op, opset);
    const AttributeSpec spec(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!spec.isWritten(value)) continue;
    written.push_back(namedAttribute(spec.name));
    setValue(written.back(), value);
  }
  return addNode(domain, op, opset, inputs, std::vector<TensorId>(outputs), std::move(written),
                 context);
}

std::vector<TensorId> BuilderImpl::addNode(const std::string& domain, const std::string& op,
                                           int opset, const std::vector<TensorId>& inputs,
                                           std::vector<TensorId> outputs,
                                           std::vector<AttributeProto> given,
                                           const DebugContext& context) {
  for (const TensorId& id : inputs) {
    if (!id.empty()) checkKnown(id);
  }
  for (const auto& [name, value] : attributes) {
    const bool has = std::any_of(given.begin(), given.end(),
                                 [&](const AttributeProto& a) { return a.name() == name; });
    if (has) throw error("Node already has attribute {}.", name);
    given.push_back(namedAttribute(name));
    setValue(given.back(), value);
  }
  useOpset(domain, opset);

  ::onnx::NodeProto node;
  node.set_op_type(op);
  node.set_domain(domainInFile(domain));
  const std::string path = context.getPathName();
  if (!path.empty() || !scopes_.empty()) node.set_name(scoped(path.empty() ? op : path));
  for (const TensorId& id : inputs) node.add_input(id);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) {
      std::string name = path.empty() ? op : path;
      if (path.empty() || outputs.size() > 1) name += ":" + std::to_string(i);
      outputs[i] = unique(scoped(name));
    } else if (isTaken(outputs[i])) {
      throw error("Tensor '{}' exists already", outputs[i]);
    }
    node.add_output(outputs[i]);
  }
  for (AttributeProto& attribute : given) *node.add_attribute() = std::move(attribute);

  if (logging::shouldLog(logging::Module::builder, logging::Level::Debug)) {
    detail::say(logging::Module::builder, logging::Level::Debug,
                logging::format("Adding {}.{} of opset {}, which computes {}", domain, op, opset,
                                logging::join(outputs.begin(), outputs.end(), ", ")));
  }
  infer(node);
  for (const TensorId& id : outputs) {
    producers_[id] = graph().node_size();
    names_.insert(id);
  }
  *graph().add_node() = std::move(node);
  return outputs;
}

void BuilderImpl::keepInfo(const ::onnx::ValueInfoProto& value) {
  *graph().add_value_info() = value;
  infos_[value.name()] = value;
}

bool BuilderImpl::addForInference(const TensorId& id, ::onnx::GraphProto& alone) const {
  for (const BuilderImpl* at = this; at != nullptr; at = at->outer()) {
    if (const auto value = at->values_.find(id); value != at->values_.end()) {
      auto& node = *alone.add_node();
      node.set_op_type("Constant");
      node.add_output(id);
      auto& attribute = *node.add_attribute();
      attribute.set_name("value");
      attribute.set_type(AttributeProto::TENSOR);
      *attribute.mutable_t() = value->second;
      return true;
    }
    const auto known = at->infos_.find(id);
    if (known == at->infos_.end()) continue;
    const auto initializer = at->initializers_.find(id);
    if (initializer != at->initializers_.end()) {
      const auto& tensor = at->graph().initializer(initializer->second);
      // Its shape differs if replicas have parts of it.
      const bool whole = infoOf(tensor).SerializeAsString() == known->second.SerializeAsString();
      if (whole && tensor.data_location() != ::onnx::TensorProto::EXTERNAL &&
          tensor.ByteSizeLong() <= mostKnownBytes) {
        *alone.add_initializer() = tensor;
        return true;
      }
    }
    *alone.add_input() = known->second;
    return true;
  }
  return false;
}

void BuilderImpl::infer(const ::onnx::NodeProto& node) {
  if (node.output_size() == 0) return;
  if (node.op_type() == "Constant" && node.domain().empty() && node.attribute_size() != 0 &&
      node.attribute(0).name() == "value") {
    ::onnx::TensorProto tensor = node.attribute(0).t();
    tensor.set_name(node.output(0));
    keepInfo(infoOf(tensor));
    if (tensor.ByteSizeLong() <= mostKnownBytes) values_[node.output(0)] = std::move(tensor);
    return;
  }
  // A model of this node alone; nothing follows from inputs of unknown type.
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  auto& alone = *model.mutable_graph();
  alone.set_name("graph");
  std::set<std::string> used;
  for (const std::string& name : node.input()) {
    if (!name.empty()) used.insert(name);
  }
  std::set<std::string> free;
  collectFreeNames(node, {}, free, true);
  for (const std::string& name : free) {
    if (isKnown(name)) used.insert(name);
  }
  for (const std::string& name : used) {
    if (!addForInference(name, alone)) return;
  }
  *alone.add_node() = node;
  for (const std::string& name : node.output()) alone.add_output()->set_name(name);
  bool hasDefaultDomain = false;
  for (const auto& [domain, version] : root().opsets_) {
    auto& import = *model.add_opset_import();
    import.set_domain(domainInFile(domain));
    import.set_version(version);
    hasDefaultDomain = hasDefaultDomain || domain == defaultDomain;
  }
  if (!hasDefaultDomain) model.add_opset_import()->set_version(defaultOpset);

  const std::string bytes = model.SerializeAsString();
  halftone::onnx::LoadResult result =
      halftone::onnx::try_load(std::as_bytes(std::span(bytes)), {.operators = detail::operators()});
  if (!result) {
    // What the library does not offer can be built: a session will refuse it.
    const halftone::Error& e = result.error();
    const bool isUnknown = e.kind() == halftone::ErrorKind::unsupported ||
                           std::string_view(e.what()).find("is not offered") != std::string::npos;
    if (isUnknown) return;
    translated<error>([&] { throw e; });
  }
  // Shapes may be computed in the graph.
  halftone::Graph& found = result.graph();
  halftone::kernel::Executor executor;
  translated<error>([&] { halftone::infer(found, &evaluateSmall, &executor); });
  for (std::size_t i = 0; i < found.outputs.size() && static_cast<int>(i) < node.output_size();
       ++i) {
    const halftone::TensorRecord& record = found.tensor(found.outputs[i]);
    if (!record.info.is_known()) continue;
    const std::string& name = node.output(static_cast<int>(i));
    keepInfo(valueInfo(name, record.info));
    const auto bytesOf = record.data.span();
    const bool isValue = record.role == halftone::Role::constant && record.info.is_static() &&
                         static_cast<std::int64_t>(bytesOf.size()) == record.info.bytes();
    if (isValue && bytesOf.size() <= mostKnownBytes) {
      values_[name] = tensorOf(name, record.info, bytesOf.data());
    }
  }
}

::onnx::NodeProto& BuilderImpl::node(const std::set<TensorId>& outputs) {
  for (const TensorId& id : outputs) {
    const auto found = producers_.find(id);
    if (found == producers_.end()) break;
    auto& candidate = *graph().mutable_node(found->second);
    if (std::set<TensorId>(candidate.output().begin(), candidate.output().end()) == outputs) {
      return candidate;
    }
    break;
  }
  throw error("Could not find a node with outputs {}. Must specify all outputs of a node",
              joined(outputs));
}

AttributeProto& BuilderImpl::newAttribute(const std::string& name,
                                          const std::set<TensorId>& outputs) {
  // They stay in the model: other readers may have a use for them.
  const detail::SettingRow* const row = detail::findSetting(detail::attributeTable(), name);
  if (row != nullptr && row->status == detail::OptionStatus::nothing) {
    detail::say(logging::Module::builder, logging::Level::Warn,
                "The attribute " + name + " has no effect: " + row->text);
  }
  auto& found = node(outputs);
  for (const AttributeProto& attribute : found.attribute()) {
    if (attribute.name() == name) throw error("Node already has attribute {}.", name);
  }
  auto& added = *found.add_attribute();
  added.set_name(name);
  return added;
}

const AttributeProto& BuilderImpl::attribute(const std::string& name,
                                             const std::set<TensorId>& outputs,
                                             AttributeProto::AttributeType type,
                                             const char* otherwise) {
  for (const AttributeProto& attribute : node(outputs).attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() != type) throw error("Attribute {} is not {}.", name, otherwise);
    return attribute;
  }
  throw error("Node does not have an attribute {}.", name);
}

void BuilderImpl::removeAttribute(const std::string& name, const std::set<TensorId>& outputs) {
  auto& all = *node(outputs).mutable_attribute();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const AttributeProto& a) { return a.name() == name; });
  if (found == all.end()) {
    throw error("Cannot remove attribute {} as it does not exist.", name);
  }
  all.erase(found);
}

// --- models ------------------------------------------------------------------------------------

namespace {

/// The version of the format that came with an operator set.
int formatOf(int opset) { return opset <= 11 ? 6 : opset <= 14 ? 7 : 8; }

std::string readFile(const std::string& path) {
  const halftone::Storage file = halftone::detail::map_file(path);
  return std::string(reinterpret_cast<const char*>(file.data()), file.size());
}

bool isFile(const std::string& model) {
  struct stat status{};
  return model.size() < 4096 && model.find('\0') == model.npos &&
         ::stat(model.c_str(), &status) == 0;
}

}  // namespace

void BuilderImpl::read(const std::string& modelProtoOrFilename) {
  halftone::Graph known;
  bool isLoaded = true;
  translated<error>([&] {
    try {
      known = detail::readModel(modelProtoOrFilename);
    } catch (const halftone::Error& e) {
      if (e.kind() != halftone::ErrorKind::unsupported) throw;
      isLoaded = false;
    }
    const bool parsed = isFile(modelProtoOrFilename)
                            ? model_.ParseFromString(readFile(modelProtoOrFilename))
                            : model_.ParseFromString(modelProtoOrFilename);
    if (!parsed) throw error("The model is larger than a protobuf message may be");
  });
  for (const auto& import : model_.opset_import()) {
    opsets_[import.domain().empty() ? defaultDomain : import.domain()] =
        static_cast<int>(import.version());
  }
  collectNames(graph(), names_);
  for (int i = 0; i < graph().initializer_size(); ++i) {
    auto& tensor = *graph().mutable_initializer(i);
    initializers_[tensor.name()] = i;
    infos_[tensor.name()] = infoOf(tensor);
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL || !isLoaded) continue;
    // The model has no folder from now on.
    const halftone::TensorId id = known.find(tensor.name());
    if (id == halftone::no_tensor) continue;
    const auto bytes = known.tensor(id).data.span();
    tensor.set_raw_data(bytes.data(), bytes.size());
    tensor.clear_external_data();
    tensor.clear_data_location();
  }
  const auto keep = [&](const ::onnx::ValueInfoProto& value) {
    if (value.has_type()) infos_[value.name()] = value;
  };
  for (const auto& value : graph().value_info()) keep(value);
  for (const auto& value : graph().output()) keep(value);
  for (const auto& value : graph().input()) keep(value);
  for (int i = 0; i < graph().node_size(); ++i) {
    for (const std::string& name : graph().node(i).output()) {
      if (name.empty()) continue;
      producers_[name] = i;
      const halftone::TensorId id = known.find(name);
      if (id == halftone::no_tensor) continue;
      if (!infos_.contains(name) && known.info(id).is_known()) {
        keepInfo(valueInfo(name, known.info(id)));
      }
    }
  }
}

std::string BuilderImpl::serialized(const std::string& folder) {
  for (const auto& [id, file] : files_) {
    auto& tensor = *graph().mutable_initializer(initializers_.at(id));
    tensor.mutable_external_data(0)->set_value(detail::locationOf(file, folder));
  }
  // Fields that appear twice add up, or the last one counts.
  ::onnx::ModelProto rest;
  int version = opset(defaultDomain);
  if (parent != nullptr) {
    for (const auto& [domain, number] : root().opsets_) {
      auto& import = *rest.add_opset_import();
      import.set_domain(domainInFile(domain));
      import.set_version(number);
    }
  }
  if (version == 0) {
    version = defaultOpset;
    rest.add_opset_import()->set_version(version);
  }
  rest.set_ir_version(std::max<std::int64_t>(model_.ir_version(), formatOf(version)));
  std::string bytes;
  if (!model_.SerializeToString(&bytes)) {
    throw error(
        "The model is larger than a protobuf message may be: move elements to a file with "
        "Builder::saveInitializersExternally");
  }
  bytes += rest.SerializeAsString();
  return bytes;
}

std::string BuilderImpl::text() {
  ::onnx::ModelProto whole;
  whole.ParseFromString(serialized());
  return whole.DebugString();
}

void BuilderImpl::moveOut(const std::vector<TensorId>& ids, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw error("The folder {} of the file for initializers does not exist", folder.string());
  }
  std::vector<detail::TensorData> tensors;
  for (const TensorId& id : ids) {
    const auto found = initializers_.find(id);
    if (found == initializers_.end()) throw error("Tensor '{}' is not an initializer", id);
    auto& tensor = *graph().mutable_initializer(found->second);
    if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
      throw error("The data of tensor '{}' are in a file already", id);
    }
    if (!tensor.has_raw_data()) throw error("Tensor '{}' has no data", id);
    tensors.emplace_back(&tensor, std::as_bytes(std::span(tensor.raw_data())));
  }
  translated<error>([&] { detail::writeData(tensors, file, file); });
  const auto whole = std::filesystem::absolute(file).lexically_normal();
  for (const auto& [tensor, bytes] : tensors) {
    files_[tensor->name()] = whole.string();
    tensor->clear_raw_data();
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  }
}

void BuilderImpl::setMetadata(const std::string& key, const std::string& value) {
  for (auto& entry : *model_.mutable_metadata_props()) {
    if (entry.key() == key) return entry.set_value(value);
  }
  auto& entry = *model_.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

int BuilderImpl::replicationFactor() const {
  for (const auto& entry : model_.metadata_props()) {
    if (entry.key() == sReplicationFactor) return std::stoi(entry.value());
  }
  return 1;
}

// --- builder -----------------------------------------------------------------------------------

std::vector<TensorId> DomainOpSet::outputs(const char* op, const Ids& args, unsigned count,
                                           std::initializer_list<BuilderArgument> attributes,
                                           const DebugContext& context) {
  return impl_->addOperator(getDomain(), op, getOpsetVersion(), args, count, attributes, context);
}
TensorId DomainOpSet::output(const char* op, const Ids& args,
                             std::initializer_list<BuilderArgument> attributes,
                             const DebugContext& context) {
  return outputs(op, args, 1, attributes, context).front();
}

Builder::Builder() = default;
Builder::~Builder() = default;

std::unique_ptr<Builder> Builder::create() {
  std::unique_ptr<Builder> builder(new Builder);
  builder->impl_ = std::make_unique<BuilderImpl>(nullptr);
  return builder;
}

std::unique_ptr<Builder> Builder::createFromOnnxModel(const std::string& modelProtoOrFilename) {
  std::unique_ptr<Builder> builder = create();
  builder->impl_->read(modelProtoOrFilename);
  return builder;
}

Builder& Builder::createSubgraphBuilder() {
  std::unique_ptr<Builder> child(new Builder);
  child->impl_ = std::make_unique<BuilderImpl>(this);
  child->setGraphName(impl_->graph().name() + "_subgraph(" +
                      std::to_string(impl_->children.size()) + ")");
  impl_->children.push_back(std::move(child));
  return *impl_->children.back();
}

void Builder::setGraphName(const std::string& name) { impl_->graph().set_name(name); }
void Builder::setParent(Builder* parent) { impl_->parent = parent; }
Builder* Builder::getParent() const { return impl_->parent; }

TensorId Builder::addInputTensor(const TensorInfo& tensorInfo, const DebugContext& debugContext) {
  return impl_->addInput(tensorInfo, debugContext);
}
TensorId Builder::addInputTensor(const std::string& dataType, const Shape& shape,
                                 const DebugContext& debugContext) {
  return addInputTensor(TensorInfo(dataType, shape), debugContext);
}
TensorId Builder::addInputTensor(const TensorInfo& tensorInfo, const InputSettings& settings,
                                 const DebugContext& debugContext) {
  const InputSettings usual;
  if (settings.tileSet() != usual.tileSet() ||
      settings.exchangeStrategy() != usual.exchangeStrategy()) {
    detail::say(logging::Module::builder, logging::Level::Warn,
                "The tile set and the exchange strategy of InputSettings have no effect here");
  }
  const TensorId id = addInputTensor(tensorInfo, debugContext);
  const auto set = [&](const char* key, auto value) {
    impl_->setMetadata(std::string(key) + "/" + id, std::to_string(static_cast<int>(value)));
  };
  set(sTileSetAttribute, settings.tileSet());
  set(sExchangeStrategyAttribute, settings.exchangeStrategy());
  set(sReplicatedStreamMode, settings.replicatedStreamMode());
  return id;
}
TensorId Builder::addInputTensor(const std::string& dataType, const Shape& shape,
                                 const InputSettings& settings, const DebugContext& debugContext) {
  return addInputTensor(TensorInfo(dataType, shape), settings, debugContext);
}
TensorId Builder::addUntypedInputTensor(const DebugContext& debugContext) {
  return impl_->addUntypedInput(debugContext);
}
void Builder::addInputTensorFromParentGraph(const TensorId& tensorId) {
  impl_->checkKnown(tensorId);
}
TensorId Builder::addInitializedInputTensor(const ConstVoidData& initData,
                                            const DebugContext& debugContext) {
  return impl_->addInitialized(initData, initData.info.shape(), debugContext);
}
TensorId Builder::addInitializedInputTensor(const ConstVoidData& initData,
                                            const VariableSettings& variableSettings,
                                            const DebugContext& debugContext) {
  const auto replicas = static_cast<unsigned>(impl_->replicationFactor());
  const TensorId id = impl_->addInitialized(
      initData,
      variableSettings.shapeOnReplica(initData.info.shape(), replicas, debugContext.getPathName()),
      debugContext);
  const auto set = [&](const char* key, auto value) {
    impl_->setMetadata(std::string(key) + "/" + id, std::to_string(static_cast<int>(value)));
  };
  set(sVariableSettings, variableSettings.getRetrievalMode());
  if (variableSettings.isUsingCommGroup()) {
    set(sCommGroupType, variableSettings.getSharedVariableDomain().type);
    set(sCommGroupSize, variableSettings.getSharedVariableDomain().replicaGroupSize);
  } else {
    set(detail::variableStride, variableSettings.getStride(replicas));
    set(sCommGroupSize, variableSettings.getRealGroupSize(replicas));
  }
  return id;
}
void Builder::addOutputTensor(const TensorId& tensorId) { impl_->addOutput(tensorId); }

namespace {

std::vector<AttributeProto> attributesOf(const std::map<std::string, popart::any>& values) {
  std::vector<AttributeProto> attributes;
  for (const auto& [name, value] : values) {
    attributes.push_back(namedAttribute(name));
    setValue(attributes.back(), value);
  }
  return attributes;
}

void checkInputs(const OperatorIdentifier& op, std::size_t inputs) {
  const auto count = static_cast<int>(inputs);
  if (count < op.numInputs.min || (op.numInputs.max > 0 && count > op.numInputs.max)) {
    throw error("{} has invalid number of inputs {}. Must be between {}..{}", op.type, count,
                op.numInputs.min, op.numInputs.max > 0 ? std::to_string(op.numInputs.max) : "inf");
  }
}

}  // namespace

std::vector<TensorId> Builder::customOp(const OperatorIdentifier& opid, int opsetVersion,
                                        const std::vector<TensorId>& inputs,
                                        const unsigned numOutputs,
                                        const std::map<std::string, popart::any>& attributes,
                                        const DebugContext& debugContext) {
  checkInputs(opid, inputs.size());
  return impl_->addNode(opid.domain, opid.type, opsetVersion, inputs,
                        std::vector<TensorId>(numOutputs), attributesOf(attributes), debugContext);
}
void Builder::customOp(const OperatorIdentifier& opid, int opsetVersion,
                       const std::vector<TensorId>& inputs, const std::vector<TensorId>& outputs,
                       const std::map<std::string, popart::any>& attributes,
                       const DebugContext& debugContext) {
  checkInputs(opid, inputs.size());
  impl_->addNode(opid.domain, opid.type, opsetVersion, inputs, outputs, attributesOf(attributes),
                 debugContext);
}

// --- where and how nodes run ---------------------------------------------------------------------

void Builder::virtualGraph(const TensorId& nodeOutputName, int64_t value) {
  virtualGraph(std::set<TensorId>{nodeOutputName}, value);
}
void Builder::virtualGraph(const std::set<TensorId>& nodeOutputNames, int64_t value) {
  addNodeAttribute(sVirtualGraphAttribute, value, nodeOutputNames);
}
int64_t Builder::getVirtualGraph(const TensorId& nodeOutputName) {
  return getVirtualGraph(std::set<TensorId>{nodeOutputName});
}
int64_t Builder::getVirtualGraph(const std::set<TensorId>& nodeOutputNames) {
  return getInt64NodeAttribute(sVirtualGraphAttribute, nodeOutputNames);
}
void Builder::executionPhase(const TensorId& nodeOutputName, int64_t value) {
  executionPhase(std::set<TensorId>{nodeOutputName}, value);
}
void Builder::executionPhase(const std::set<TensorId>& nodeOutputNames, int64_t value) {
  addNodeAttribute(sExecutionPhaseAttribute, value, nodeOutputNames);
}
int64_t Builder::getExecutionPhase(const TensorId& nodeOutputName) {
  return getExecutionPhase(std::set<TensorId>{nodeOutputName});
}
int64_t Builder::getExecutionPhase(const std::set<TensorId>& nodeOutputNames) {
  return getInt64NodeAttribute(sExecutionPhaseAttribute, nodeOutputNames);
}
void Builder::pipelineStage(const TensorId& nodeOutputName, int64_t value) {
  pipelineStage(std::set<TensorId>{nodeOutputName}, value);
}
void Builder::pipelineStage(const std::set<TensorId>& nodeOutputNames, int64_t value) {
  addNodeAttribute(sPipelineStageAttribute, value, nodeOutputNames);
}
void Builder::outputTensorLocation(const TensorId& nodeOutputName, TensorLocation value) {
  const std::vector<int64_t> numbers{static_cast<int64_t>(value.storage),
                                     static_cast<int64_t>(value.loadTileSet),
                                     static_cast<int64_t>(value.storageTileSet),
                                     static_cast<int64_t>(value.replicatedTensorSharding),
                                     static_cast<int64_t>(value.shardingDomain.type),
                                     static_cast<int64_t>(value.shardingDomain.replicaGroupSize)};
  addNodeAttribute(sOutputTensorLocationAttribute, numbers, {nodeOutputName});
}
void Builder::recomputeOutput(const TensorId& nodeOutputName, RecomputeType value) {
  recomputeOutputInBackwardPass(nodeOutputName, value);
}
void Builder::recomputeOutputInBackwardPass(const TensorId& nodeOutputName, RecomputeType value) {
  recomputeOutputInBackwardPass(std::set<TensorId>{nodeOutputName}, value);
}
void Builder::recomputeOutputInBackwardPass(const std::set<TensorId>& nodeOutputNames,
                                            RecomputeType value) {
  addNodeAttribute(sRecomputeOutputAttribute, static_cast<int64_t>(value), nodeOutputNames);
}
bool Builder::getRecomputeOutputInBackwardPass(const TensorId& nodeOutputName) {
  return getRecomputeOutputInBackwardPass(std::set<TensorId>{nodeOutputName});
}
bool Builder::getRecomputeOutputInBackwardPass(const std::set<TensorId>& nodeOutputNames) {
  return getBoolNodeAttribute(sRecomputeOutputAttribute, nodeOutputNames);
}
std::vector<TensorId> Builder::checkpointOutput(const std::vector<TensorId>& nodeOutputNames) {
  std::vector<TensorId> kept;
  for (const TensorId& id : nodeOutputNames) {
    kept.push_back(
        impl_->addNode(defaultDomain, "Identity", anyOpset, {id}, {""}, {}, "Checkpoint").front());
    recomputeOutputInBackwardPass(kept.back(), RecomputeType::Checkpoint);
    excludePatterns(kept.back(), {"PreUniRepl", "PostNRepl"});
  }
  return kept;
}
void Builder::excludePatterns(const TensorId& nodeOutputName,
                              const std::vector<std::string>& patternNames) {
  excludePatterns(std::set<TensorId>{nodeOutputName}, patternNames);
}
void Builder::excludePatterns(const std::set<TensorId>& nodeOutputNames,
                              const std::vector<std::string>& patternNames) {
  addNodeAttribute(sExcludePatternsAttribute, patternNames, nodeOutputNames);
}
void Builder::setSerializeMatMul(const std::set<TensorId>& nodeOutputNames, std::string mode,
                                 int64_t factor, bool keep_precision) {
  if (mode == sSerializeMatMulMode_None) return;
  if (mode != sSerializeMatMulMode_InputChannels && mode != sSerializeMatMulMode_ReducingDim &&
      mode != sSerializeMatMulMode_OutputChannels) {
    throw error(
        "Unsupported mat mul serialization mode '{}'. Supported modes are '{}', '{}', '{}' or '{}'",
        mode, sSerializeMatMulMode_InputChannels, sSerializeMatMulMode_ReducingDim,
        sSerializeMatMulMode_OutputChannels, sSerializeMatMulMode_None);
  }
  addNodeAttribute(sSerializeMatMulModeAttribute, mode, nodeOutputNames);
  addNodeAttribute(sSerializeMatMulFactorAttribute, factor, nodeOutputNames);
  addNodeAttribute(sSerializeMatMulPrecisionAttribute, int64_t{keep_precision}, nodeOutputNames);
}
void Builder::setPartialsType(const TensorId& nodeOutputName, const std::string partialsType) {
  constexpr std::string_view known[] = {"FLOAT", "HALF", "float", "half"};
  if (std::find(std::begin(known), std::end(known), partialsType) == std::end(known)) {
    throw error("Unknown partials type '{}', expected FLOAT or HALF", partialsType);
  }
  const std::string& op = impl_->node({nodeOutputName}).op_type();
  if (!halftone::is_planned(op)) {
    throw error("Node {} has no partial sums: only products have", op);
  }
  addNodeAttribute(sPartialsTypeAttribute, partialsType, {nodeOutputName});
}
std::string Builder::getPartialsType(const TensorId& nodeOutputName) {
  if (!nodeHasAttribute(sPartialsTypeAttribute, {nodeOutputName})) return "FLOAT";
  return getStringNodeAttribute(sPartialsTypeAttribute, {nodeOutputName});
}
void Builder::setEnableConvDithering(const TensorId& nodeOutputName, int64_t value) {
  addNodeAttribute(sEnableConvDitheringAttribute, value, {nodeOutputName});
}
void Builder::setInplacePreferences(const TensorId& nodeOutputName,
                                    const std::map<OpType, float>& prefs) {
  std::vector<std::string> names;
  std::vector<float> priorities;
  for (const auto& [name, priority] : prefs) {
    names.push_back(name);
    priorities.push_back(priority);
  }
  addNodeAttribute(sInplaceOpNames, names, {nodeOutputName});
  addNodeAttribute(sInplaceOpPriorities, priorities, {nodeOutputName});
}
void Builder::setAvailableMemoryProportion(const TensorId& nodeOutputName,
                                           const float availableMemoryProportion) {
  setAvailableMemoryProportion(std::set<TensorId>{nodeOutputName}, availableMemoryProportion);
}
void Builder::setAvailableMemoryProportion(const std::set<TensorId>& nodeOutputNames,
                                           const float availableMemoryProportion) {
  if (!(availableMemoryProportion > 0 && availableMemoryProportion <= 1)) {
    throw error("availableMemoryProportion must be in (0,1], it is {}", availableMemoryProportion);
  }
  const std::string& op = impl_->node(nodeOutputNames).op_type();
  if (!halftone::is_planned(op)) {
    // PopART has plans for these; the emulated IPU has none that could use less memory.
    constexpr std::string_view slices[] = {"Gather", "GroupedGather", "ScatterReduce",
                                           "GroupedScatterReduce"};
    if (std::find(std::begin(slices), std::end(slices), op) == std::end(slices)) {
      throw error("Node {} cannot have an availableMemoryProportion: it is not planned", op);
    }
    detail::say(logging::Module::builder, logging::Level::Warn,
                "availableMemoryProportion has no effect on nodes " + op);
  }
  addNodeAttribute(sAvailMemAttribute, availableMemoryProportion, nodeOutputNames);
}

// --- attributes of nodes -------------------------------------------------------------------------

void Builder::setAttribute(const std::string& attribute, popart::any value) {
  AttributeProto checked;  // throws now, not with the next node
  setValue(checked, value);
  impl_->attributes.insert_or_assign(attribute, std::move(value));
}
popart::any Builder::getAttribute(const std::string& attribute) const {
  const auto found = impl_->attributes.find(attribute);
  if (found == impl_->attributes.end()) throw error("Attribute {} not found", attribute);
  return found->second;
}
bool Builder::hasAttribute(const std::string& attribute) const {
  return impl_->attributes.contains(attribute);
}
void Builder::clearAttribute(const std::string& attribute) { impl_->attributes.erase(attribute); }

namespace {

int64_t integerOf(const Builder& builder, const char* attribute) {
  AttributeProto value;
  setValue(value, builder.getAttribute(attribute));
  if (value.type() != AttributeProto::INT) {
    throw error("Attribute {} is not an integer.", attribute);
  }
  return value.i();
}

template <class List>
auto vectorOf(const List& list) {
  return std::vector<typename List::value_type>(list.begin(), list.end());
}

}  // namespace

int64_t Builder::getVirtualGraph() const { return integerOf(*this, sVirtualGraphAttribute); }
int64_t Builder::getExecutionPhase() const { return integerOf(*this, sExecutionPhaseAttribute); }
int64_t Builder::getPipelineStage() const { return integerOf(*this, sPipelineStageAttribute); }

void Builder::addNodeAttribute(const std::string& attributeName, const int64_t& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setInteger(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName,
                               const std::vector<int64_t>& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setList(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName, const float& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setReal(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName,
                               const std::vector<float>& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setList(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName, const std::string& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setText(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName, const char* attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setText(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName,
                               const std::vector<std::string>& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setList(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue);
}
void Builder::addNodeAttribute(const std::string& attributeName, const bool attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  setInteger(impl_->newAttribute(attributeName, nodeOutputNames), attributeValue ? 1 : 0);
}
void Builder::addNodeAttribute(const std::string& attributeName,
                               const ConstVoidData& attributeValue,
                               const std::set<TensorId>& nodeOutputNames) {
  const auto tensor = tensorOf(attributeName, attributeValue);
  auto& attribute = impl_->newAttribute(attributeName, nodeOutputNames);
  attribute.set_type(AttributeProto::TENSOR);
  *attribute.mutable_t() = tensor;
}
bool Builder::nodeHasAttribute(const std::string& attributeName,
                               const std::set<TensorId>& nodeOutputNames) {
  const auto& all = impl_->node(nodeOutputNames).attribute();
  return std::any_of(all.begin(), all.end(),
                     [&](const AttributeProto& a) { return a.name() == attributeName; });
}
int64_t Builder::getInt64NodeAttribute(const std::string& attributeName,
                                       const std::set<TensorId>& nodeOutputNames) {
  return impl_->attribute(attributeName, nodeOutputNames, AttributeProto::INT, "an integer").i();
}
std::vector<int64_t> Builder::getInt64VectorNodeAttribute(
    const std::string& attributeName, const std::set<TensorId>& nodeOutputNames) {
  return vectorOf(
      impl_->attribute(attributeName, nodeOutputNames, AttributeProto::INTS, "an integer vector")
          .ints());
}
float Builder::getFloatNodeAttribute(const std::string& attributeName,
                                     const std::set<TensorId>& nodeOutputNames) {
  return impl_->attribute(attributeName, nodeOutputNames, AttributeProto::FLOAT, "a float").f();
}
std::vector<float> Builder::getFloatVectorNodeAttribute(const std::string& attributeName,
                                                        const std::set<TensorId>& nodeOutputNames) {
  return vectorOf(
      impl_->attribute(attributeName, nodeOutputNames, AttributeProto::FLOATS, "a float vector")
          .floats());
}
std::string Builder::getStringNodeAttribute(const std::string& attributeName,
                                            const std::set<TensorId>& nodeOutputNames) {
  return impl_->attribute(attributeName, nodeOutputNames, AttributeProto::STRING, "a string").s();
}
std::vector<std::string> Builder::getStringVectorNodeAttribute(
    const std::string& attributeName, const std::set<TensorId>& nodeOutputNames) {
  return vectorOf(
      impl_->attribute(attributeName, nodeOutputNames, AttributeProto::STRINGS, "a string vector")
          .strings());
}
bool Builder::getBoolNodeAttribute(const std::string& attributeName,
                                   const std::set<TensorId>& nodeOutputNames) {
  return impl_->attribute(attributeName, nodeOutputNames, AttributeProto::INT, "a int").i() != 0;
}
void Builder::removeNodeAttribute(const std::string& attributeName,
                                  const std::set<TensorId>& nodeOutputNames) {
  impl_->removeAttribute(attributeName, nodeOutputNames);
}
std::vector<std::string> Builder::getAllNodeAttributeNames(
    const std::set<TensorId>& nodeOutputNames) {
  std::vector<std::string> names;
  for (const AttributeProto& a : impl_->node(nodeOutputNames).attribute()) {
    names.push_back(a.name());
  }
  return names;
}

// --- the model -----------------------------------------------------------------------------------

std::string Builder::getModelProto(bool humanReadable) const {
  return humanReadable ? impl_->text() : impl_->serialized();
}
void Builder::saveModelProto(const std::string& fn) {
  const std::string bytes = impl_->serialized(std::filesystem::path(fn).parent_path().string());
  translated<error>([&] {
    halftone::detail::OutputFile file(fn);
    file.write(std::as_bytes(std::span(bytes)));
    file.commit();
  });
}
void Builder::saveInitializersExternally(const std::vector<TensorId>& ids, const std::string& fn) {
  impl_->moveOut(ids, fn);
}
void Builder::embedReplicationFactor(int replicationFactor) {
  if (replicationFactor < 1) {
    throw error("The replication factor must be at least 1, it is {}", replicationFactor);
  }
  impl_->setMetadata(sReplicationFactor, std::to_string(replicationFactor));
}

namespace {

template <class List>
std::vector<TensorId> namesOf(const List& list) {
  std::vector<TensorId> names;
  for (const auto& item : list) names.push_back(item.name());
  return names;
}

}  // namespace

std::vector<TensorId> Builder::getInputTensorIds() const { return namesOf(impl_->graph().input()); }
std::vector<TensorId> Builder::getOutputTensorIds() const {
  return namesOf(impl_->graph().output());
}
std::vector<TensorId> Builder::getValueTensorIds() const {
  return namesOf(impl_->graph().value_info());
}
std::vector<TensorId> Builder::getTrainableTensorIds() const {
  return namesOf(impl_->graph().initializer());
}
bool Builder::hasValueInfo(const TensorId& id) const { return impl_->info(id) != nullptr; }
std::vector<int64_t> Builder::getTensorShape(const TensorId id) {
  const auto& type = impl_->knownInfo(id).type().tensor_type();
  if (!type.has_shape()) throw error("Tensor {} has no known shape", id);
  std::vector<int64_t> shape;
  // An extent that is not known reads as 0.
  for (const auto& dimension : type.shape().dim()) shape.push_back(dimension.dim_value());
  return shape;
}
bool Builder::isInitializer(const TensorId id) const { return impl_->isInitializer(id); }
DataType Builder::getTensorDataType(const TensorId id) {
  return detail::fromNative(
      static_cast<halftone::ElementType>(impl_->knownInfo(id).type().tensor_type().elem_type()));
}
std::string Builder::getTensorDtypeString(const TensorId id) {
  return getDataTypeInfoMap().at(getTensorDataType(id)).lcasename();
}

void Builder::pushNameScope(const std::string& name) { impl_->pushScope(name); }
void Builder::popNameScope() { impl_->popScope(); }
std::string Builder::getNameScope(const std::string& name) const { return impl_->scoped(name); }

}  // namespace popart
