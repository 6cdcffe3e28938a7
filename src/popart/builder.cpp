#include <popart/builder.hpp>

#include <algorithm>
#include <cstring>

#include <halftone/graph/call.hpp>
#include <halftone/onnx.hpp>
#include <halftone/transform/infer.hpp>

#include "onnx/operators.hpp"
#include "popart/builder_impl.hpp"
#include "popart/convert.hpp"
#include "popart/model.hpp"

namespace popart {

namespace {

using detail::translated;
using halftone::no_tensor;

/// Sets the attributes of an operator to what the program gave, and remembers which there were.
class Setter final : public halftone::AttributeVisitor {
 public:
  Setter(const std::string& type, const std::vector<BuilderAttribute>& given,
         const std::map<std::string, std::int32_t>& graphs)
      : type_(type), given_(given), graphs_(graphs), used_(given.size()) {}

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (const auto* given = take<std::int64_t>(name)) value = *given, present = true;
  }
  void real(std::string_view name, float& value, bool& present) override {
    if (const auto* given = take<float>(name)) value = *given, present = true;
  }
  void integers(std::string_view name, std::int64_t* values, std::uint8_t& count,
                std::size_t capacity) override {
    copy(name, take<std::vector<std::int64_t>>(name), values, count, capacity);
  }
  void reals(std::string_view name, float* values, std::uint8_t& count,
             std::size_t capacity) override {
    copy(name, take<std::vector<float>>(name), values, count, capacity);
  }
  void text(std::string_view name, char* text, std::size_t capacity) override {
    const auto* given = take<std::string>(name);
    if (given == nullptr) return;
    if (given->size() > capacity) fail(name, "is too long");
    std::fill(text, text + capacity + 1, '\0');
    std::copy(given->begin(), given->end(), text);
  }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    const auto* given = take<std::string>(name);
    if (given == nullptr) return;
    const auto found = std::find(names.begin(), names.end(), *given);
    if (found == names.end()) fail(name, "cannot be '" + *given + "'");
    value = found - names.begin();
  }
  void graph(std::string_view name, std::int32_t& index) override {
    if (take<const Builder*>(name) != nullptr) index = graphs_.at(std::string(name));
  }

  /// Throws for an attribute that the operator has not, unless it was left as it is.
  void checkAllUsed() const {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const bool said = given_[i].value.index() != 0 && !given_[i].isDefault;
      if (said && !used_[i]) fail(given_[i].name, "is not supported");
    }
  }

 private:
  template <class T>
  const T* take(std::string_view name) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].name != name || given_[i].value.index() == 0) continue;
      used_[i] = true;
      if (const T* value = std::get_if<T>(&given_[i].value)) return value;
      fail(name, "has another type");
    }
    return nullptr;
  }
  template <class T>
  void copy(std::string_view name, const std::vector<T>* given, T* values, std::uint8_t& count,
            std::size_t capacity) {
    if (given == nullptr) return;
    if (given->size() > capacity) fail(name, "has too many values");
    std::copy(given->begin(), given->end(), values);
    count = static_cast<std::uint8_t>(given->size());
  }
  [[noreturn]] void fail(std::string_view name, const std::string& what) const {
    throw error("Attribute '{}' of operator {} {}", name, type_, what);
  }

  const std::string& type_;
  const std::vector<BuilderAttribute>& given_;
  const std::map<std::string, std::int32_t>& graphs_;
  std::vector<bool> used_;
};

halftone::Bytes bytesOf(const ConstVoidData& data, std::size_t size) {
  if (size == 0) return {};
  if (data.data == nullptr) throw error("A tensor is to be initialised without data");
  // A few bytes are the graph's own; large weights are shared with its copies.
  const auto* first = static_cast<const std::byte*>(data.data);
  if (size <= 256) return halftone::Bytes(std::vector<std::byte>(first, first + size));
  const halftone::Storage storage = halftone::Storage::allocate(size);
  std::memcpy(storage.data(), first, size);
  return halftone::Bytes(storage, storage.data(), size);
}

}  // namespace

// --- names
// -----------------------------------------------------------------------------------------

std::string BuilderImpl::scoped(const std::string& name) const {
  std::string whole;
  for (const std::string& scope : scopes_) whole += scope + "/";
  return whole + name;
}

bool BuilderImpl::isTakenHereOrInside(const std::string& name) const {
  if (graph_.find(name) != no_tensor) return true;
  return std::any_of(children.begin(), children.end(),
                     [&](const auto& child) { return of(*child).isTakenHereOrInside(name); });
}

bool BuilderImpl::isTaken(const std::string& name) const {
  for (const BuilderImpl* outer = parent_; outer != nullptr; outer = outer->parent_) {
    if (outer->graph_.find(name) != no_tensor) return true;
  }
  return isTakenHereOrInside(name);
}

std::string BuilderImpl::unique(const std::string& name) const {
  if (!isTaken(name)) return name;
  for (int number = 1;; ++number) {
    const std::string numbered = name + "/" + std::to_string(number);
    if (!isTaken(numbered)) return numbered;
  }
}

halftone::TensorId BuilderImpl::find(const TensorId& id) const {
  const halftone::TensorId found = graph_.find(id);
  if (found == no_tensor) throw error("Unknown tensor '{}'", id);
  return found;
}

halftone::TensorId BuilderImpl::capture(const TensorId& id) {
  if (const halftone::TensorId here = graph_.find(id); here != no_tensor) return here;
  if (parent_ == nullptr) throw error("Unknown tensor '{}'", id);
  const halftone::TensorId outer = parent_->resolve(id);
  captured_.push_back(id);
  return graph_.add_input(parent_->graph_.info(outer), id);
}

halftone::TensorId BuilderImpl::resolve(const TensorId& id) {
  return id.empty() ? no_tensor : capture(id);
}

// --- tensors
// ---------------------------------------------------------------------------------------

TensorId BuilderImpl::addInput(const halftone::TensorInfo& info, const DebugContext& context) {
  const std::string path = context.getPathName();
  const std::string name = unique(scoped(path.empty() ? "input" : path));
  graph_.add_input(info, name);
  return name;
}

TensorId BuilderImpl::addUntypedInput(const DebugContext& context) {
  if (parent_ == nullptr) {
    throw error("Only subgraphs may have inputs without type: Builder::addUntypedInputTensor");
  }
  return addInput({}, context);
}

TensorId BuilderImpl::addInitialized(const ConstVoidData& data, halftone::Role role,
                                     const char* otherwise, const DebugContext& context) {
  const halftone::TensorInfo info = detail::toNative(data.info);
  if (!info.is_static() || halftone::size_in_bytes(info.type) == 0 || info.bytes() == INT64_MAX) {
    throw error("A tensor cannot be initialised with the info {}", data.info);
  }
  const std::string path = context.getPathName();
  const std::string name = unique(scoped(path.empty() ? otherwise : path));
  graph_.add_tensor(
      {.info = info, .role = role, .data = bytesOf(data, static_cast<std::size_t>(info.bytes()))},
      name);
  return name;
}

void BuilderImpl::addOutput(const TensorId& id) { graph_.add_output(find(id)); }

// --- nodes
// -----------------------------------------------------------------------------------------

void BuilderImpl::useOpset(int opset) {
  BuilderImpl* outermost = this;
  while (outermost->parent_ != nullptr) outermost = outermost->parent_;
  int& used = outermost->opset_;
  if (used != 0 && used != opset) {
    throw error(
        "Invalid opset {} used to add an operation. Opset for domain ai.onnx already defined as {}",
        opset, used);
  }
  used = opset;
}

std::map<std::string, std::int32_t> BuilderImpl::addGraphs(
    const std::vector<BuilderAttribute>& attributes, std::vector<halftone::TensorId>& inputs) {
  std::map<std::string, std::int32_t> indices;
  std::vector<const BuilderAttribute*> bodies;
  std::vector<std::string> captured;
  for (const BuilderAttribute& attribute : attributes) {
    const auto* builder = std::get_if<const Builder*>(&attribute.value);
    if (builder == nullptr) continue;
    bodies.push_back(&attribute);
    for (const std::string& name : of(**builder).captured_) {
      if (std::find(captured.begin(), captured.end(), name) == captured.end()) {
        captured.push_back(name);
      }
    }
  }
  for (const std::string& name : captured) inputs.push_back(resolve(name));
  for (const BuilderAttribute* attribute : bodies) {
    halftone::Graph body = of(**std::get_if<const Builder*>(&attribute->value)).graph_;
    // Every body has all captured tensors as its last inputs, in one order.
    std::erase_if(body.inputs, [&](halftone::TensorId id) {
      const std::string name(body.name(id));
      return std::find(captured.begin(), captured.end(), name) != captured.end();
    });
    for (const std::string& name : captured) {
      const halftone::TensorId there = body.find(name);
      if (there != no_tensor) {
        body.inputs.push_back(there);
      } else {
        body.add_input(graph_.info(graph_.find(name)), name);
      }
    }
    indices[attribute->name] = static_cast<std::int32_t>(graph_.graphs.size());
    graph_.graphs.push_back(std::move(body));
  }
  return indices;
}

std::vector<halftone::TensorInfo> BuilderImpl::infer(const halftone::Descriptor& op,
                                                     const std::vector<halftone::Word>& words,
                                                     const std::vector<halftone::TensorId>& inputs,
                                                     std::size_t outputs) {
  // A graph of this node alone: an older meaning records newer operators in it.
  halftone::Graph alone;
  std::vector<halftone::TensorId> ids;
  for (const halftone::TensorId id : inputs) {
    if (id == no_tensor) {
      ids.push_back(no_tensor);
      continue;
    }
    halftone::TensorRecord record = graph_.tensor(id);
    const bool known = record.data.size() > 0;
    record.role = known ? halftone::Role::constant : halftone::Role::input;
    ids.push_back(alone.add_tensor(std::move(record), graph_.name(id)));
  }
  return translated<error>([&] {
    std::vector<halftone::TensorInfo> infos;
    if (op.expand != nullptr) {
      for (const halftone::TensorId id : op.expand(alone, words, ids, outputs)) {
        infos.push_back(id == no_tensor ? halftone::TensorInfo{} : alone.info(id));
      }
    } else {
      alone.add_node(op, words, ids, std::vector<halftone::TensorInfo>(outputs));
      if (!halftone::subgraphs_of(alone.nodes.front()).empty()) alone.graphs = graph_.graphs;
      for (const halftone::Defect& defect : halftone::infer(alone)) {
        const halftone::Graph& where =
            defect.graph < 0 ? alone : alone.graphs[static_cast<std::size_t>(defect.graph)];
        const halftone::Node& node = where.nodes[defect.node];
        halftone::throw_inference(where, *node.op, node.inputs, defect.inferred);
      }
      for (const halftone::TensorId id : alone.nodes.front().outputs) {
        infos.push_back(alone.info(id));
      }
    }
    infos.resize(outputs);
    return infos;
  });
}

std::vector<TensorId> BuilderImpl::addNode(const std::string& type, int opset,
                                           const std::vector<TensorId>& inputs, unsigned outputs,
                                           const std::vector<BuilderAttribute>& attributes,
                                           const DebugContext& context) {
  useOpset(opset);
  if (type == "Constant") {
    const auto* value = std::get_if<const ConstVoidData*>(&attributes.front().value);
    if (attributes.size() > 1 && !attributes[1].isDefault) {
      throw error("Sparse constants are not supported");
    }
    return {addInitialized(**value, halftone::Role::constant, "Constant:0", context)};
  }
  const halftone::onnx::Operators operators(halftone::onnx::builtin_operators());
  const halftone::Descriptor* op = operators.find("ai.onnx", type, opset);
  if (op == nullptr) {
    throw error("Operator ai.onnx.{} of opset {} is not supported", type, opset);
  }
  if (inputs.size() < op->signature.required_inputs() ||
      (inputs.size() > op->signature.inputs() && !op->signature.has_variadic_input())) {
    throw error("{} has invalid number of inputs: {} inputs, signature \"{}\"", type, inputs.size(),
                op->signature.text());
  }
  if (outputs < op->signature.required_outputs() ||
      (outputs > op->signature.outputs() && !op->signature.has_variadic_output())) {
    throw error("{} has invalid number of outputs: {} outputs, signature \"{}\"", type, outputs,
                op->signature.text());
  }
  std::vector<halftone::TensorId> ids;
  for (const TensorId& id : inputs) ids.push_back(resolve(id));
  const std::map<std::string, std::int32_t> graphs = addGraphs(attributes, ids);

  std::vector<halftone::Word> words = op->defaults();
  Setter setter(type, attributes, graphs);
  op->attributes(words, setter);
  setter.checkAllUsed();

  const std::vector<halftone::TensorInfo> infos = infer(*op, words, ids, outputs);
  const std::string path = context.getPathName();
  const std::size_t node =
      graph_.add_node(*op, std::move(words), std::move(ids), infos, scoped(path));
  std::vector<TensorId> names;
  for (unsigned i = 0; i < outputs; ++i) {
    std::string name = path.empty() ? type : path;
    if (path.empty() || outputs > 1) name += ":" + std::to_string(i);
    names.push_back(unique(scoped(name)));
    graph_.rename(graph_.nodes[node].outputs[i], names.back());
  }
  return names;
}

std::vector<TensorId> DomainOpSet::outputs(const char* type, const Ids& args, unsigned count,
                                           const std::vector<BuilderAttribute>& attributes,
                                           const DebugContext& context) {
  return impl_->addNode(type, getOpsetVersion(), args, count, attributes, context);
}

int64_t DomainOpSet::elementType(const std::string& name) {
  return getONNXDataTypeAsInt(dataTypeFromString(name));
}

// --- builder
// ---------------------------------------------------------------------------------------

Builder::Builder() = default;
Builder::~Builder() = default;

std::unique_ptr<Builder> Builder::create() {
  std::unique_ptr<Builder> builder(new Builder);
  builder->impl_ = std::make_unique<BuilderImpl>(nullptr);
  return builder;
}

std::unique_ptr<Builder> Builder::createFromOnnxModel(const std::string& modelProtoOrFilename) {
  std::unique_ptr<Builder> builder = create();
  builder->impl_->graph() =
      translated<error>([&] { return detail::readModel(modelProtoOrFilename); });
  return builder;
}

Builder& Builder::createSubgraphBuilder() {
  std::unique_ptr<Builder> child(new Builder);
  child->impl_ = std::make_unique<BuilderImpl>(impl_.get());
  impl_->children.push_back(std::move(child));
  return *impl_->children.back();
}

void Builder::setGraphName(const std::string& name) {
  impl_->graph().graph_name = impl_->graph().store_name(name);
}

TensorId Builder::addInputTensor(const TensorInfo& tensorInfo, const DebugContext& debugContext) {
  return impl_->addInput(detail::toNative(tensorInfo), debugContext);
}
TensorId Builder::addInputTensor(const std::string& dataType, const Shape& shape,
                                 const DebugContext& debugContext) {
  return addInputTensor(TensorInfo(dataType, shape), debugContext);
}
TensorId Builder::addInputTensor(const TensorInfo& tensorInfo, const InputSettings& settings,
                                 const DebugContext& debugContext) {
  const InputSettings usual;
  if (settings.tileSet() != usual.tileSet() ||
      settings.exchangeStrategy() != usual.exchangeStrategy() ||
      settings.replicatedStreamMode() != usual.replicatedStreamMode()) {
    detail::say(logging::Module::builder, logging::Level::Warn,
                "InputSettings have no effect on the cpu device");
  }
  return addInputTensor(tensorInfo, debugContext);
}
TensorId Builder::addInputTensor(const std::string& dataType, const Shape& shape,
                                 const InputSettings& settings, const DebugContext& debugContext) {
  return addInputTensor(TensorInfo(dataType, shape), settings, debugContext);
}
TensorId Builder::addUntypedInputTensor(const DebugContext& debugContext) {
  return impl_->addUntypedInput(debugContext);
}
void Builder::addInputTensorFromParentGraph(const TensorId& tensorId) { impl_->capture(tensorId); }
TensorId Builder::addInitializedInputTensor(const ConstVoidData& initData,
                                            const DebugContext& debugContext) {
  return impl_->addInitialized(initData, halftone::Role::variable, "init_input", debugContext);
}
void Builder::addOutputTensor(const TensorId& tensorId) { impl_->addOutput(tensorId); }

AiOnnxOpset6 Builder::aiOnnxOpset6() { return AiOnnxOpset6(*impl_); }
AiOnnxOpset7 Builder::aiOnnxOpset7() { return AiOnnxOpset7(*impl_); }
AiOnnxOpset8 Builder::aiOnnxOpset8() { return AiOnnxOpset8(*impl_); }
AiOnnxOpset9 Builder::aiOnnxOpset9() { return AiOnnxOpset9(*impl_); }
AiOnnxOpset10 Builder::aiOnnxOpset10() { return AiOnnxOpset10(*impl_); }
AiOnnxOpset11 Builder::aiOnnxOpset11() { return AiOnnxOpset11(*impl_); }

std::string Builder::getModelProto(bool humanReadable) const {
  if (humanReadable) throw error("Models are not written as text: Builder::getModelProto(true)");
  return translated<error>([&] {
    const std::vector<std::byte> bytes = halftone::onnx::to_bytes(impl_->graph());
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}
void Builder::saveModelProto(const std::string& fn) {
  translated<error>([&] { halftone::onnx::save(impl_->graph(), fn); });
}

namespace {

std::vector<TensorId> namesOf(const halftone::Graph& graph,
                              const std::vector<halftone::TensorId>& ids) {
  std::vector<TensorId> names;
  for (const halftone::TensorId id : ids) names.emplace_back(graph.name(id));
  return names;
}

}  // namespace

std::vector<TensorId> Builder::getInputTensorIds() const {
  return namesOf(impl_->graph(), impl_->graph().inputs);
}
std::vector<TensorId> Builder::getOutputTensorIds() const {
  return namesOf(impl_->graph(), impl_->graph().outputs);
}
std::vector<TensorId> Builder::getValueTensorIds() const {
  std::vector<TensorId> names;
  for (const halftone::TensorRecord& t : impl_->graph().tensors) {
    if (t.role == halftone::Role::value && !t.name.empty()) {
      names.emplace_back(impl_->graph().text(t.name));
    }
  }
  return names;
}
std::vector<TensorId> Builder::getTrainableTensorIds() const {
  std::vector<TensorId> names;
  for (const halftone::TensorRecord& t : impl_->graph().tensors) {
    if (t.role == halftone::Role::variable && !t.name.empty()) {
      names.emplace_back(impl_->graph().text(t.name));
    }
  }
  return names;
}
bool Builder::hasValueInfo(const TensorId& id) const {
  const halftone::TensorId found = impl_->graph().find(id);
  return found != no_tensor && impl_->graph().info(found).is_static();
}
std::vector<int64_t> Builder::getTensorShape(const TensorId id) {
  const halftone::TensorInfo& info = impl_->graph().info(impl_->find(id));
  if (!info.is_known()) throw error("Tensor {} has no known shape", id);
  return {info.shape.begin(), info.shape.end()};
}
bool Builder::isInitializer(const TensorId id) const {
  const halftone::Role role = impl_->graph().tensor(impl_->find(id)).role;
  return role == halftone::Role::variable || role == halftone::Role::constant;
}
DataType Builder::getTensorDataType(const TensorId id) {
  const halftone::TensorInfo& info = impl_->graph().info(impl_->find(id));
  if (!info.is_known()) throw error("Tensor {} has no known type", id);
  return detail::fromNative(info.type);
}
std::string Builder::getTensorDtypeString(const TensorId id) {
  return getDataTypeInfoMap().at(getTensorDataType(id)).lcasename();
}

TensorId Builder::reshape_const(AiOnnxOpset6& opset, const std::vector<TensorId>& args,
                                const std::vector<int64_t>& shape, const std::string& name) {
  const TensorInfo info(DataType::INT64, {static_cast<int64_t>(shape.size())});
  const std::string shape_name = name.empty() ? "" : name + "_const";
  const TensorId constant = opset.constant(ConstVoidData(shape.data(), info), shape_name);
  return opset.reshape({args.at(0), constant}, name);
}

void Builder::pushNameScope(const std::string& name) { impl_->pushScope(name); }
void Builder::popNameScope() { impl_->popScope(); }
std::string Builder::getNameScope(const std::string& name) const { return impl_->scoped(name); }

}  // namespace popart
