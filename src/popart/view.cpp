#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include <halftone/graph/index.hpp>
#include <halftone/graph/subgraphs.hpp>
#include <halftone/op/list.hpp>
#include <halftone/train/state.hpp>
#include <popart/error.hpp>
#include <popart/op/classes.gen.hpp>
#include <popart/operators.hpp>
#include <popart/tensornames.hpp>
#include <popart/topocons.hpp>

#include "popart/convert.hpp"
#include "popart/ir_graph.hpp"
#include "popart/merged_updates.hpp"
#include "popart/operator_classes.hpp"
#include "popart/operator_names.hpp"
#include "popart/view_graph.hpp"

namespace popart::detail {

namespace {

constexpr char unnamed = '#';

/// Names of tensors that have none tell them apart.
TensorId idOf(const halftone::Graph& graph, halftone::TensorId id) {
  const std::string_view name = graph.name(id);
  if (!name.empty()) return TensorId(name);
  TensorId made = unnamed + std::to_string(id);
  while (graph.find(made) != halftone::no_tensor) made.insert(0, 1, unnamed);
  return made;
}

}  // namespace

/// Makes the graphs of an Ir.
class ViewBuilder {
 public:
  ViewBuilder(Ir& ir, const IrSource& source, IrPoint point)
      : ir_(ir), source_(source), point_(point) {
    for (const ModelNode& node : source.file().nodes) {
      if (!node.outputs.empty()) nodes_[node.outputs[0]] = &node;
    }
  }

  Graphs run() {
    const auto [native, first_outlined] = viewedGraph(source_, point_);
    firstOutlined_ = first_outlined;
    popart::Graph& main = add(GraphId::root());
    fill(main, native);
    for (popart::Graph* part : modelGraphs_) {
      join(*part);
      takeAttributes(*part);
      joinL1Gradients(*part);
      joinSoftmaxGradients(*part);
      // PopART decomposes sums behind the point Bwd0.
      if (!options().decomposeGradSum || point_ < IrPoint::PreAlias) joinGradientSums(*part);
    }
    placeUpdates(main);
    if (point_ != IrPoint::Fwd0 && point_ != IrPoint::Fwd1) {
      if (point_ >= IrPoint::PreAlias) mergeUpdates(main);
      copyBetweenIpus(main);
      if (point_ >= IrPoint::PreAlias) {
        joinLossGradients(main);
        stash(main);
        if (source_.options.useHostCopyOps) copyHost(main);
      }
    }
    for (auto& [id, graph] : graphs_) {
      removeUnused(*graph);
      *graph->topoCons = TopoCons(graph->schedule_);
    }
    findWays(main);
    return std::move(graphs_);
  }

 private:
  const SessionOptions& options() const { return source_.options; }
  bool isPipelined() const { return options().enablePipelining; }

  popart::Graph& add(const GraphId& id) {
    auto& graph = graphs_[id];
    graph = std::make_unique<popart::Graph>(ir_, id);
    return *graph;
  }
  GraphId freeId(const halftone::Graph& body, const std::string& node, std::size_t number) const {
    const std::string_view own = body.text(body.graph_name);
    std::string stem =
        own.empty() ? node + "_subgraph(" + std::to_string(number) + ")" : std::string(own);
    std::string id = stem;
    for (int k = 1; graphs_.count(id) != 0; ++k) id = stem + "_" + std::to_string(k);
    return id;
  }

  static OpFacts factsOf(const halftone::Node& node, const NodeAttributes& attributes) {
    OpFacts facts;
    facts.attributes = attributes.values;
    facts.has_effect = node.op->has_effect;
    halftone::for_each_modified(
        node, [&](std::size_t i) { facts.modified.push_back(static_cast<InIndex>(i)); });
    if (halftone::is_view(node)) return facts;
    halftone::for_each_view(node, [&](std::size_t o, std::size_t i) {
      facts.aliases.emplace_back(static_cast<int>(i), static_cast<int>(o));
    });
    return facts;
  }
  /// Whether a graph's tensors are the model's: it is the main one, or outlined from that.
  bool isOfModel(const popart::Graph& graph) const {
    return std::count(modelGraphs_.begin(), modelGraphs_.end(), &graph) != 0;
  }
  /// Null if the graph has no such tensor.
  static Tensor* find(const popart::Graph& graph, const TensorId& id) {
    const TensorId scoped = addScope(graph.getScope(), id);
    return graph.tensors_.contains(scoped) ? graph.tensors_.get(scoped) : nullptr;
  }
  static bool isSameGraph(const halftone::Graph& a, const halftone::Graph& b) {
    return a.text(a.graph_name) == b.text(b.graph_name) && a == b;
  }

  /// PopART counts the micro-batches of a step outside its graphs.
  static bool isShown(const halftone::Graph& native, halftone::TensorId id) {
    return id != halftone::no_tensor && (native.tensor(id).state != halftone::State::partial ||
                                         native.name(id) != halftone::detail::run_count.prefix);
  }

  /// Adds the operators and tensors of one of the library's graphs, and then those of its bodies.
  void fill(popart::Graph& graph, const halftone::Graph& native) {
    const Scope scope = graph.getScope();
    const bool isMain = scope.empty();
    if (isMain) modelGraphs_.push_back(&graph);
    const auto tensor = [&](halftone::TensorId id) -> Tensor& {
      const TensorId name = addScope(scope, idOf(native, id));
      auto& known = graph.tensors_.tensors_[name];
      if (known == nullptr) known = makeTensor(graph, native, id, name);
      return *known;
    };
    for (const halftone::TensorId id : native.inputs) graph.inputs_.push_back(tensor(id).id);
    if (isMain) graph.inputs_.clear();  // the main graph has streams instead
    const bool isFinal = point_ == IrPoint::Final && source_.patterns.getInplaceEnabled();
    const InPlace inPlace(isFinal ? native : halftone::Graph());
    std::vector<const halftone::Graph*> bodies;
    std::vector<popart::Graph*> called;
    std::map<std::int32_t, popart::Graph*> known;  // calls of one body share its graph
    for (std::size_t n = 0; n < native.nodes.size(); ++n) {
      const halftone::Node& node = native.nodes[n];
      const NodeAttributes attributes = attributesOf(node);
      OperatorIdentifier opid = identifierOf(native, node, attributes, source_);
      OpFacts facts = factsOf(node, attributes);
      if (isFinal && inPlace[n].first >= 0) {
        const auto [over, out] = inPlace[n];
        const std::string type = inPlaceType(opid.type, over, node.inputs.size());
        const bool isAllowed =
            !isOfModel(graph) || allowsInPlace(idOf(native, node.outputs[0]), type);
        if (!type.empty() && isAllowed) {
          opid = AiGraphcoreOpIdV1(type);
          facts.aliases.emplace_back(over, out);
          if (!halftone::is_view(node)) facts.modified.push_back(over);
        }
      }
      if (opid.type == "Loop") facts.explicit_inputs = static_cast<int>(node.inputs.size()) - 2;
      std::unique_ptr<Op> op = makeOp(opid, settingsOf(graph, native, node));
      op->id = nextId_++;
      for (std::size_t k = 0; k < attributes.graphs.size(); ++k) {
        const std::int32_t index = attributes.graphs[k];
        popart::Graph*& body = known[index];
        const halftone::Graph& inner = native.graphs[static_cast<std::size_t>(index)];
        const bool isOutlined = isMain && static_cast<std::size_t>(index) >= firstOutlined_;
        for (std::size_t b = 0;
             b < bodies.size() && body == nullptr && opid.type == "Call" && !isOutlined; ++b) {
          // Each node of a file has its own graph; PopART's calls share it.
          if (isSameGraph(inner, *bodies[b])) body = called[b];
        }
        if (body == nullptr) {
          const std::string stem = isOutlined || !op->name().empty() ? op->name() : opid.type;
          const std::size_t number =
              isOutlined ? static_cast<std::size_t>(index) - firstOutlined_ : k;
          body = &add(freeId(inner, stem, number));
          if (isOutlined) modelGraphs_.push_back(body);
          bodies.push_back(&inner);
          called.push_back(body);
        }
        facts.called.push_back(body);
      }
      *op->facts_ = std::move(facts);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (isShown(native, node.inputs[i])) {
          connectIn(*op, inputIndex(opid.type, i), tensor(node.inputs[i]));
        }
      }
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (isShown(native, node.outputs[o])) {
          connectOut(*op, static_cast<int>(o), tensor(node.outputs[o]));
        }
      }
      findUpdates(*op, node);
      if (node.place.part == halftone::Part::backward) backward_.insert(op.get());
      graph.schedule_.push_back(op.get());
      graph.ops_[op->id] = std::move(op);
    }
    // Nodes exchange entries of remote buffers, and do not read what lies there.
    for (std::size_t i = 0; i < native.tensors.size(); ++i) {
      const auto id = static_cast<halftone::TensorId>(i);
      const halftone::VariableSettings* settings = native.settings(id);
      if (settings != nullptr && settings->remote_buffer >= 0) tensor(id);
    }
    for (const halftone::TensorId id : native.outputs) {
      Tensor& output = tensor(id);
      if (!isMain) graph.outputs_.push_back(output.id);
    }
    if (isMain) {
      graph.loss_ = source_.loss;
      // The loss is not there if nothing reads it: its gradient may not.
      if (const auto loss = graph.tensors_.tensors_.find(source_.loss);
          loss != graph.tensors_.tensors_.end()) {
        loss->second->isLoss_ = true;
      }
    }
    for (std::size_t i = 0; i < bodies.size(); ++i) fill(*called[i], *bodies[i]);
  }

  std::unique_ptr<Tensor> makeTensor(popart::Graph& graph, const halftone::Graph& native,
                                     halftone::TensorId id, const TensorId& name) {
    const halftone::TensorRecord& record = native.tensor(id);
    const bool isMain = graph.id == GraphId::root();
    const bool isHyperparameter = record.state == halftone::State::hyperparameter;
    TensorType type = TensorType::ActGrad;
    if (record.role == halftone::Role::input && isMain) type = TensorType::Stream;
    if (record.role == halftone::Role::constant) type = TensorType::Const;
    if (halftone::is_variable(record)) {
      type = isHyperparameter ? TensorType::Stream : TensorType::Variable;
    }
    auto tensor = std::make_unique<Tensor>(name, type, graph);
    if (record.info.is_static()) tensor->info = fromNative(record.info);
    tensor->isHyperparameter_ = isHyperparameter;
    tensor->isAccumulator_ = record.state == halftone::State::partial;
    tensor->isState_ = record.state != halftone::State::none && !isHyperparameter;
    if (record.data.size() != 0) {
      auto owner = std::make_shared<halftone::Bytes>(record.data);
      const std::span<const std::byte> bytes = owner->span();
      tensor->data_ = std::make_unique<popart::TensorData>(owner, bytes.data(), bytes.size());
    }
    if (const halftone::VariableSettings* settings = native.settings(id)) {
      tensor->tensorLocationInfo.setSharded(settings->shard_over > 1);
      tensor->tensorLocationInfo.setRemote(settings->remote_buffer >= 0);
      if (settings->remote_buffer >= 0) {
        tensor->tensorLocationInfo.setRemoteBufferInfo(settings->remote_buffer,
                                                       settings->remote_entry);
      }
    }
    if (type == TensorType::Const) graph.tensors_.constants_.insert(name);
    return tensor;
  }

  Op::Settings settingsOf(popart::Graph& graph, const halftone::Graph& native,
                          const halftone::Node& node) const {
    Op::Settings settings(graph, std::string(native.name(node)), graph.getScope());
    const halftone::Place& place = node.place;
    if (options().virtualGraphMode != VirtualGraphMode::Off && place.ipu >= 0) {
      settings.vgraphId = place.ipu;
    }
    if (isPipelined() && place.stage >= 0) settings.pipelineStage = place.stage;
    if (options().executionPhaseSettings.phases > 1 && place.phase >= 0) {
      settings.executionPhase = place.phase;
    }
    settings.recomputeType = recomputeTypeOf(node);
    settings.optimizerOp = place.part == halftone::Part::update;
    settings.tileSet = node.planning.on_io_tiles ? TileSet::IO : TileSet::Compute;
    if (!graph.getScope().empty()) {
      settings.executionContext = ExecutionContext::Subgraph;
    } else if (settings.optimizerOp && options().enableGradientAccumulation) {
      settings.executionContext = ExecutionContext::AccumulateOuterFragment;
    }
    return settings;
  }
  RecomputeType recomputeTypeOf(const halftone::Node& node) const {
    if (halftone::is_recomputed(node.place)) return RecomputeType::Recomputed;
    if (node.place.recompute == halftone::Recompute::recompute) return RecomputeType::Recompute;
    const bool isKept = node.place.recompute == halftone::Recompute::checkpoint ||
                        options().autoRecomputationEnabled();
    return isKept ? RecomputeType::Checkpoint : RecomputeType::Undefined;
  }

  static void connectIn(Op& op, int index, Tensor& tensor) {
    op.input->insert(index, &tensor);
    ++tensor.consumers.counts_[&op];
  }
  static void connectOut(Op& op, int index, Tensor& tensor) {
    op.output->insert(index, &tensor);
    tensor.producer_ = &op;
  }
  static void findUpdates(const Op& op, const halftone::Node& node) {
    for (const InIndex index : op.facts_->modified) {
      if (!op.input->hasIndex(index)) continue;
      Tensor& changed = *op.input->tensor(index);
      if (changed.type_ != TensorType::Variable) continue;
      const bool isCopy = node.op->id == halftone::op::CopyVarUpdate::id ||
                          node.op->id == halftone::op::BatchNormalization::id;
      changed.updateType_ = isCopy ? VariableUpdateType::Copy : VariableUpdateType::Gradient;
    }
  }

  // --- operators that the library has no node for -----------------------------------------------------

  /// Operators of the model that the library has others for are one again, unless a gradient reads what is
  /// between.
  void join(popart::Graph& graph) {
    for (const ModelNode& node : source_.file().nodes) {
      if (node.outputs.empty() || find(graph, node.outputs[0]) == nullptr) continue;
      if (!isReadAsOthers(node) || !hasInputs(graph, node)) continue;
      const std::vector<Op*> makers = makersOf(graph, node);
      if (makers.empty() || isForm(makers.back()->opid.type, node.type)) continue;
      Op* const last = makers.back();
      std::set<Op*> parts(makers.begin(), makers.end());
      for (const Op* maker : makers) collect(*maker, parts);
      // What is one other operator is what PopART's patterns make of ONNX's, such as Add of Sum.
      if (parts.size() == 1 && node.domain != Domain::ai_graphcore) continue;
      if (areWhole(parts) && areOnlyReadBy(parts) && areReadBehind(graph, *last, parts))
        joinParts(graph, *last, node, parts);
    }
  }
  /// Whether other readers come after the last of the operators, whose place the joined one takes.
  static bool areReadBehind(const popart::Graph& graph, const Op& last,
                            const std::set<Op*>& parts) {
    const auto end = std::find(graph.schedule_.begin(), graph.schedule_.end(), &last);
    return std::none_of(graph.schedule_.begin(), end, [&](Op* op) {
      const auto& inputs = op->input->tensorMap();
      return parts.count(op) == 0 && std::any_of(inputs.begin(), inputs.end(), [&](const auto& t) {
               return parts.count(t.second->getProducerUnsafe()) != 0;
             });
    });
  }
  /// Outlining may have put some of the operators into a graph of their own.
  bool areWhole(const std::set<Op*>& parts) const {
    return std::none_of(parts.begin(), parts.end(),
                        [&](const Op* part) { return isOutlinedCall(*part); });
  }
  bool isOutlinedCall(const Op& op) const {
    const auto* call = dynamic_cast<const CallOp*>(&op);
    return call != nullptr && isOfModel(call->getCalledGraph());
  }
  /// The operators that make a node's outputs, in their order; none if some are in other graphs.
  std::vector<Op*> makersOf(const popart::Graph& graph, const ModelNode& node) const {
    std::vector<Op*> makers;
    for (const TensorId& id : node.outputs) {
      if (const Tensor* const output = find(graph, id)) {
        if (!output->hasProducer()) return {};
        makers.push_back(output->getProducerUnsafe());
      } else if (find(*modelGraphs_[0], id) != nullptr) {
        return {};
      }
    }
    const auto position = [&](const Op* op) {
      return std::find(graph.schedule_.begin(), graph.schedule_.end(), op);
    };
    std::sort(makers.begin(), makers.end(),
              [&](const Op* a, const Op* b) { return position(a) < position(b); });
    return makers;
  }
  /// A pattern may have given the output to another operator, and have removed what the node read.
  static bool hasInputs(const popart::Graph& graph, const ModelNode& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const TensorId& id) {
      return id.empty() || find(graph, id) != nullptr;
    });
  }
  /// Whether a type is that of an operator, perhaps in place.
  static bool isForm(const std::string& type, const std::string& of) {
    const auto isSame = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    };
    return type.size() >= of.size() && std::equal(of.begin(), of.end(), type.begin(), isSame);
  }
  static bool isUnnamed(const Tensor& tensor) {
    return tensor.getGraph().removeScope(tensor.id)[0] == unnamed;
  }
  /// Adds the operators between a node's named inputs and one of its parts.
  static void collect(const Op& part, std::set<Op*>& parts) {
    for (const auto& [index, tensor] : part.input->tensorMap()) {
      Op* const maker = tensor->getProducerUnsafe();
      if (maker == nullptr || !isUnnamed(*tensor)) continue;
      if (parts.insert(maker).second) collect(*maker, parts);
    }
  }
  static bool areOnlyReadBy(const std::set<Op*>& parts) {
    for (const Op* op : parts) {
      for (const auto& [index, tensor] : op->output->tensorMap()) {
        if (!isUnnamed(*tensor)) continue;
        if (op->getGraph().hasOutputId(tensor->id)) return false;
        for (Op* reader : tensor->consumers.getOps()) {
          if (parts.count(reader) == 0) return false;
        }
      }
    }
    return true;
  }
  void joinParts(popart::Graph& graph, Op& last, const ModelNode& node,
                 const std::set<Op*>& parts) {
    Op::Settings settings = last.settings;
    if (settings.name.empty()) settings.name = node.name;
    Op& joined = insert(graph, identifierOf(node, source_), settings, &last);
    joined.id = last.id;
    joined.facts_->attributes = node.attributes;
    std::vector<std::pair<int, Tensor*>> inputs, outputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Tensor* const input = node.inputs[i].empty() ? nullptr : find(graph, node.inputs[i]);
      if (input != nullptr) inputs.emplace_back(static_cast<int>(i), input);
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      Tensor* const output = node.outputs[o].empty() ? nullptr : find(graph, node.outputs[o]);
      if (output != nullptr) outputs.emplace_back(static_cast<int>(o), output);
    }
    std::unique_ptr<Op> own = std::move(graph.ops_[nextId_ - 1]);
    graph.ops_.erase(nextId_ - 1);
    for (Op* part : parts) remove(graph, *part);
    graph.ops_[joined.id] = std::move(own);
    for (const auto& [index, tensor] : inputs) connectIn(joined, index, *tensor);
    for (const auto& [index, tensor] : outputs) connectOut(joined, index, *tensor);
  }
  /// Makes one operator of several, in the place of `last`. The caller connects it.
  Op& replace(popart::Graph& graph, const OperatorIdentifier& opid, Op& last,
              const std::vector<Op*>& others) {
    Op& joined = insert(graph, opid, last.settings, &last);
    if (backward_.count(&last) != 0) backward_.insert(&joined);
    std::vector<Op*> parts = others;
    parts.push_back(&last);
    for (Op* part : parts) {
      backward_.erase(part);
      remove(graph, *part);
    }
    return joined;
  }
  struct L1Loss {
    std::vector<std::pair<std::string, std::string>> attributes;
    int64_t elements = 1;
  };
  /// The L1 loss of a tensor. If nothing reads the loss, only the model still has it.
  std::optional<L1Loss> lossOf(const Tensor& x) const {
    for (const Op* reader : x.consumers.getOps()) {
      if (!reader->isConvertibleTo<L1Op>()) continue;
      return L1Loss{reader->facts_->attributes, reader->outInfo(L1Op::getOutIndex()).nelms()};
    }
    const TensorId id = x.getGraph().removeScope(x.id);
    for (const auto& [output, node] : nodes_) {
      if (node->type != "L1" || node->domain != Domain::ai_graphcore || node->inputs.empty() ||
          node->inputs[0] != id) {
        continue;
      }
      const bool isEach = attributeOf(*node, "reduction") == "None";
      return L1Loss{node->attributes, isEach ? x.info.nelms() : 1};
    }
    return {};
  }
  /// The gradient of an L1 loss is a Sign and a Mul here.
  void joinL1Gradients(popart::Graph& graph) {
    const std::vector<Op*> before = graph.schedule_;
    for (Op* sign : before) {
      if (backward_.count(sign) == 0 || !isForm(sign->opid.type, "Sign")) continue;
      Tensor& x = *sign->input->tensor(0);
      Tensor& signs = *sign->output->tensor(0);
      const std::optional<L1Loss> loss = lossOf(x);
      if (!loss || onlyMakerOf(signs, "Sign", 1) == nullptr) continue;
      Op& product = *signs.consumers.getOps()[0];
      if (!isForm(product.opid.type, "Mul") || product.inTensorCount() != 2) continue;
      Tensor& gradient = *product.input->tensor(product.inTensor(0) == &signs ? 1 : 0);
      // The gradient of an Abs that reads the same tensor is not meant. A folded gradient has x's shape.
      const bool isOfLoss =
          gradient.tensorType() == TensorType::Const || gradient.info.nelms() == loss->elements;
      if (!isOfLoss) continue;
      Tensor& made = *product.output->tensor(0);
      Op& joined = replace(graph, AiGraphcoreOpIdV1("L1Grad"), product, {sign});
      joined.facts_->attributes = loss->attributes;
      connectIn(joined, L1GradOp::getFwdActInIndex(), x);
      connectIn(joined, L1GradOp::getGradInIndex(), gradient);
      connectOut(joined, L1GradOp::getOutIndex(), made);
    }
  }
  /// The operator that makes a tensor without a name for these readers alone; null if it has another
  /// type.
  static Op* onlyMakerOf(const Tensor& tensor, const char* type, std::size_t readers) {
    Op* const maker = tensor.getProducerUnsafe();
    const bool isInside = isUnnamed(tensor) && !tensor.getGraph().hasOutputId(tensor.id) &&
                          tensor.consumers.getOps().size() == readers;
    return isInside && maker != nullptr && isForm(maker->opid.type, type) ? maker : nullptr;
  }
  /// The gradient of a Softmax is dy y - y sum(dy y) here.
  void joinSoftmaxGradients(popart::Graph& graph) {
    const std::vector<Op*> before = graph.schedule_;
    for (Op* difference : before) {
      if (backward_.count(difference) == 0 || !isForm(difference->opid.type, "Sub")) continue;
      Tensor& product = *difference->input->tensor(0);
      Op* const first = onlyMakerOf(product, "Mul", 2);
      Op* const second = onlyMakerOf(*difference->input->tensor(1), "Mul", 1);
      if (first == nullptr || second == nullptr) continue;
      Tensor& y = *first->input->tensor(1);
      Op* const sum = onlyMakerOf(*second->input->tensor(1), "ReduceSum", 1);
      if (sum == nullptr || sum->inTensor(0) != &product || second->inTensor(0) != &y) continue;
      const Op* const softmax = y.getProducerUnsafe();
      if (softmax == nullptr || (!softmax->isConvertibleTo<SoftmaxOp>() &&
                                 !softmax->isConvertibleTo<SoftmaxInplaceOp>())) {
        continue;
      }
      Tensor& dy = *first->input->tensor(0);
      Tensor& made = *difference->output->tensor(0);
      Op& joined =
          replace(graph, AiGraphcoreOpIdV1("SoftmaxGrad"), *difference, {first, sum, second});
      joined.facts_->attributes = softmax->facts_->attributes;
      connectIn(joined, SoftmaxGradOp::getGradProbsInIndex(), dy);
      connectIn(joined, SoftmaxGradOp::getProbsInIndex(), y);
      connectOut(joined, SoftmaxGradOp::getOutIndex(), made);
    }
  }
  /// The sum of three gradients or more is a chain of Adds here.
  void joinGradientSums(popart::Graph& graph) {
    const std::vector<Op*> before = graph.schedule_;
    std::set<const Op*> joinedParts;
    for (auto at = before.rbegin(); at != before.rend(); ++at) {
      Op* const last = *at;
      if (joinedParts.count(last) != 0 || !addsGradients(*last)) continue;
      std::vector<Op*> others;
      std::vector<Tensor*> summands;
      collectSummands(*last, others, summands);
      if (summands.size() < 3) continue;
      joinedParts.insert(others.begin(), others.end());
      Tensor& sum = *last->output->tensor(0);
      const std::string name = isUnnamed(sum) ? last->settings.name : "GradSum_" + sum.id;
      Op& joined = replace(graph, Onnx::Operators::Sum_8, *last, others);
      joined.settings.name = name;
      for (std::size_t i = 0; i < summands.size(); ++i) {
        connectIn(joined, static_cast<int>(i), *summands[i]);
      }
      connectOut(joined, SumOp::getOutIndex(), sum);
    }
  }
  bool addsGradients(const Op& op) const {
    return backward_.count(&op) != 0 && isForm(op.opid.type, "Add") && op.inTensorCount() == 2 &&
           op.inInfo(0) == op.outInfo(0) && op.inInfo(1) == op.outInfo(0);
  }
  void collectSummands(Op& op, std::vector<Op*>& others, std::vector<Tensor*>& summands) const {
    for (const InIndex index : {0, 1}) {
      Tensor* const summand = op.inTensor(index);
      Op* const maker = onlyMakerOf(*summand, "Add", 1);
      if (maker == nullptr || !addsGradients(*maker)) {
        summands.push_back(summand);
        continue;
      }
      others.push_back(maker);
      collectSummands(*maker, others, summands);
    }
  }
  /// With the pattern NlllWithSoftmaxGradDirect a loss and its gradient are one operator, if nothing reads the
  /// loss before the gradient is there.
  void joinLossGradients(popart::Graph& graph) {
    constexpr const char* pattern = "NlllWithSoftmaxGradDirect";
    if (!source_.patterns.isPatternEnabled(pattern)) return;
    const std::vector<Op*> before = graph.schedule_;
    const auto position = [&](const Op* op) { return std::find(before.begin(), before.end(), op); };
    for (Op* gradient : before) {
      if (!gradient->isConvertibleTo<SoftmaxGradDirectOp>()) continue;
      using Joined = NlllWithSoftmaxGradDirectOp;
      const std::map<int, Tensor*> inputs = gradient->input->tensorMap();
      Tensor& label = *inputs.at(SoftmaxGradDirectOp::getLabelInIndex());
      for (Op* loss : inputs.at(SoftmaxGradDirectOp::getProbsInIndex())->consumers.getOps()) {
        if (!loss->isConvertibleTo<NllOp>() || loss->inTensor(NllOp::getLabelInIndex()) != &label ||
            loss->settings.excludePatterns.count(pattern) != 0 ||
            loss->settings.pipelineStage != gradient->settings.pipelineStage ||
            loss->settings.vgraphId != gradient->settings.vgraphId) {
          continue;
        }
        Tensor& value = *loss->output->tensor(NllOp::getOutIndex());
        const std::vector<Op*> readers = value.consumers.getOps();
        if (std::any_of(readers.begin(), readers.end(),
                        [&](const Op* reader) { return position(reader) < position(gradient); })) {
          continue;
        }
        Tensor& made = *gradient->output->tensor(SoftmaxGradDirectOp::getOutIndex());
        const auto attributes = loss->facts_->attributes;
        Op& joined = replace(graph, AiGraphcoreOpIdV1(pattern), *gradient, {loss});
        joined.facts_->attributes = attributes;
        for (const auto& [index, tensor] : inputs) connectIn(joined, index, *tensor);
        connectOut(joined, Joined::getLossOutIndex(), value);
        connectOut(joined, Joined::getGradOutIndex(), made);
        break;
      }
    }
  }
  static void remove(popart::Graph& graph, Op& op) {
    for (Tensor* tensor : op.input->tensors()) tensor->consumers.counts_.erase(&op);
    for (Tensor* tensor : op.output->tensors()) tensor->producer_ = nullptr;
    std::erase(graph.schedule_, &op);
    graph.ops_.erase(op.id);
  }

  /// What nodes of the model say about how they are to be run.
  void takeAttributes(popart::Graph& graph) {
    for (const auto& [id, node] : nodes_) {
      const Tensor* const output = find(graph, id);
      Op* const op = output == nullptr ? nullptr : output->getProducerUnsafe();
      if (op == nullptr || isOutlinedCall(*op)) continue;
      if (op->isConvertibleTo<MatMulBaseOp>()) takeSerialization(*op, *node);
      op->settings.inplacePriorityVeto = inPlacePriorities(*node);
      for (const std::string& pattern : excludedPatterns(*node)) {
        op->settings.excludePatterns.insert(pattern);
      }
      if (const nlohmann::json value = attributeOf(*node, sSchedulePriority); value.is_number()) {
        op->settings.schedulePriority = value.get<double>();
      }
    }
  }
  static void takeSerialization(Op& op, const ModelNode& node) {
    for (const auto& attribute : node.attributes) {
      const std::string& key = attribute.first;
      if (key == sSerializeMatMulModeAttribute || key == sSerializeMatMulFactorAttribute ||
          key == sSerializeMatMulPrecisionAttribute) {
        op.facts_->attributes.push_back(attribute);
      }
    }
  }
  static nlohmann::json attributeOf(const ModelNode& node, std::string_view name) {
    for (const auto& [key, text] : node.attributes) {
      if (key == name) return nlohmann::json::parse(text);
    }
    return {};
  }
  static std::vector<std::string> excludedPatterns(const ModelNode& node) {
    const nlohmann::json names = attributeOf(node, sExcludePatternsAttribute);
    return names.is_array() ? names.get<std::vector<std::string>>() : std::vector<std::string>();
  }
  static std::vector<std::tuple<std::string, float>> inPlacePriorities(const ModelNode& node) {
    const nlohmann::json names = attributeOf(node, sInplaceOpNames),
                         priorities = attributeOf(node, sInplaceOpPriorities);
    std::vector<std::tuple<std::string, float>> result;
    for (std::size_t i = 0; i < names.size() && i < priorities.size(); ++i) {
      result.emplace_back(names[i].get<std::string>(), priorities[i].get<float>());
    }
    return result;
  }
  /// A negative priority, and a pattern that is excluded, forbid an in-place form.
  bool allowsInPlace(const TensorId& output, const std::string& type) const {
    const auto found = nodes_.find(output);
    if (found == nodes_.end()) return true;
    const std::vector<std::string> excluded = excludedPatterns(*found->second);
    if (std::count(excluded.begin(), excluded.end(), "InPlace") != 0) return false;
    const auto priorities = inPlacePriorities(*found->second);
    return std::none_of(priorities.begin(), priorities.end(), [&](const auto& p) {
      return std::get<0>(p) == type && std::get<1>(p) < 0;
    });
  }

  /// Updates run where their variable lies, sums of gradients where the gradient is computed.
  void placeUpdates(popart::Graph& graph) {
    for (Op* op : graph.schedule_) {
      if (!op->isConvertibleTo<VarUpdateOp>()) continue;
      if (op->isConvertibleTo<AccumulateBaseOp>()) {
        op->settings.executionContext = ExecutionContext::Normal;
        const Op* const maker = op->inTensor(1)->getProducerUnsafe();
        if (maker == nullptr || op->hasVirtualGraphId()) continue;
        op->settings.vgraphId = maker->getOptionalVGraphId();
        op->settings.pipelineStage = maker->getOptionalPipelineStage();
      } else if (!op->hasVirtualGraphId()) {
        const VGraphId ipu = op->inTensor(0)->getVirtualGraphIdUnsafe();
        if (ipu >= 0) op->settings.vgraphId = ipu;
      }
    }
  }

  /// One update changes the flat variables of a group, side by side.
  void mergeUpdates(popart::Graph& graph) {
    for (const std::vector<std::string>& weights : mergedUpdates(source_.graph, options())) {
      std::vector<Op*> updates;
      for (Op* op : graph.schedule_) {
        const bool isUpdate = op->isConvertibleTo<VarUpdateOp>() &&
                              !op->isConvertibleTo<AccumulateBaseOp>() &&
                              !op->isConvertibleTo<CopyVarUpdateOp>() &&
                              std::count(weights.begin(), weights.end(), op->inId(0)) != 0;
        if (isUpdate) updates.push_back(op);
      }
      if (updates.size() > 1) mergeGroup(graph, updates);
    }
  }
  void mergeGroup(popart::Graph& graph, const std::vector<Op*>& updates) {
    Op* const last = updates.back();
    std::vector<std::pair<int, Tensor*>> inputs;
    for (const auto& [index, tensor] : last->input->tensorMap()) {
      std::vector<Tensor*> parts;
      for (Op* update : updates) parts.push_back(update->input->tensor(index));
      const bool isElementwise =
          index == 0 || (tensor != parts[0] && tensor->info.shape() == last->inShape(0));
      inputs.emplace_back(index, isElementwise ? &concatenated(graph, parts, *last) : parts[0]);
    }
    Op& merged = insert(graph, last->opid, last->settings, last);
    *merged.facts_ = *last->facts_;
    std::vector<TensorId> updated;
    for (Op* update : updates) {
      updated.push_back(update->outId(0));
      remove(graph, *update);
    }
    for (const TensorId& id : updated) graph.tensors_.tensors_.erase(id);
    for (const auto& [index, tensor] : inputs) connectIn(merged, index, *tensor);
    connectOut(merged, 0,
               newTensor(graph, getUpdatedVarId(inputs[0].second->id), inputs[0].second->info));
  }
  /// A view of tensors as one, [1, elements], for an operator behind.
  Tensor& concatenated(popart::Graph& graph, const std::vector<Tensor*>& parts, const Op& behind) {
    std::vector<Tensor*> flat;
    int64_t elements = 0;
    for (Tensor* part : parts) {
      Op& flatten = insert(graph, Onnx::CustomOperators::FlattenInplace, behind.settings, &behind);
      flatten.facts_->attributes = {{"axis", "0"}};
      flatten.facts_->aliases = {{0, 0}};
      const TensorInfo info(part->info.data_type(), Shape{1, part->info.nelms()});
      connectIn(flatten, FlattenBaseOp::getInIndex(), *part);
      flat.push_back(&newTensor(graph, part->id + "_flat", info));
      connectOut(flatten, FlattenBaseOp::getOutIndex(), *flat.back());
      elements += part->info.nelms();
    }
    Op& concat = insert(graph, Onnx::CustomOperators::ConcatInplace, behind.settings, &behind);
    concat.facts_->attributes = {{"axis", "1"}};
    for (std::size_t i = 0; i < flat.size(); ++i) {
      connectIn(concat, static_cast<int>(i), *flat[i]);
      concat.facts_->aliases.emplace_back(static_cast<int>(i), 0);
    }
    const TensorInfo info(parts[0]->info.data_type(), Shape{1, elements});
    Tensor& all = newTensor(graph, parts[0]->id + "_merged", info);
    connectOut(concat, ConcatOp::getOutIndex(), all);
    return all;
  }

  // --- copies between virtual graphs, pipelines, the host ---------------------------------------------

  Tensor& newTensor(popart::Graph& graph, const TensorId& id, const TensorInfo& info) {
    auto& tensor = graph.tensors_.tensors_[id];
    tensor = std::make_unique<Tensor>(id, TensorType::ActGrad, graph);
    tensor->info = info;
    return *tensor;
  }
  /// Has readers take another tensor.
  static void rewire(Tensor& from, Tensor& to, const std::vector<Op*>& readers) {
    for (Op* reader : readers) {
      TensorIndexMap inputs;
      for (const auto& [index, tensor] : reader->input->tensorMap()) {
        inputs.insert(index, tensor == &from ? &to : tensor);
      }
      *reader->input = std::move(inputs);
      to.consumers.counts_[reader] += from.consumers.counts_[reader];
      from.consumers.counts_.erase(reader);
    }
  }
  /// Puts a new operator before the first of these in the order, or behind its input's producer.
  Op& insert(popart::Graph& graph, const OperatorIdentifier& opid, const Op::Settings& settings,
             const Op* before) {
    std::unique_ptr<Op> op = makeOp(opid, settings);
    op->id = nextId_++;
    Op& added = *op;
    graph.schedule_.insert(std::find(graph.schedule_.begin(), graph.schedule_.end(), before),
                           &added);
    graph.ops_[added.id] = std::move(op);
    return added;
  }
  static Op* behind(const popart::Graph& graph, const Op* op) {
    const auto at = std::find(graph.schedule_.begin(), graph.schedule_.end(), op);
    return at == graph.schedule_.end() || at + 1 == graph.schedule_.end() ? nullptr : *(at + 1);
  }

  /// One IpuCopy for each tensor and virtual graph that reads it; in a pipeline from stage to stage.
  void copyBetweenIpus(popart::Graph& graph) {
    std::vector<TensorId> ids = graph.tensors_.getAllTensorIds();
    for (const TensorId& id : ids) {
      Tensor& tensor = *graph.tensors_.get(id);
      if (tensor.type_ == TensorType::Const) continue;
      const VGraphId home = tensor.getVirtualGraphIdUnsafe();
      if (home < 0) continue;
      std::map<std::pair<PipelineStage, VGraphId>, std::vector<Op*>> readers;
      for (Op* op : tensor.consumers.getOps()) {
        if (!op->hasVirtualGraphId() || op->getVirtualGraphId() == home) continue;
        readers[{op->hasPipelineStage() ? op->getPipelineStage() : -1, op->getVirtualGraphId()}]
            .push_back(op);
      }
      copyTensor(graph, tensor, home, readers);
    }
  }
  void copyTensor(popart::Graph& graph, Tensor& tensor, VGraphId home,
                  const std::map<std::pair<PipelineStage, VGraphId>, std::vector<Op*>>& readers) {
    std::map<VGraphId, Tensor*> there{{home, &tensor}};
    const OptionalPipelineStage from = stageOf(tensor);
    for (const auto& [place, ops] : readers) {
      const auto [stage, ipu] = place;
      Tensor* last = &tensor;
      VGraphId at = home;
      // A value passes through the virtual graphs of the stages between.
      std::vector<VGraphId> way;
      if (from && stage >= 0) {
        for (PipelineStage s = *from + 1; s < stage; ++s) {
          const auto between = virtualGraphs_.find(s);
          if (between == virtualGraphs_.end()) continue;
          way.push_back(between->second);
          if (between->second == ipu) break;  // it is there from that stage on
        }
      }
      way.push_back(ipu);
      for (const VGraphId next : way) {
        if (const auto known = there.find(next); known != there.end()) {
          last = known->second;
          at = next;
          continue;
        }
        last = &copyTo(graph, *last, tensor.id, at, next, ops);
        there[next] = last;
        at = next;
      }
      rewire(tensor, *last, ops);
    }
  }
  OptionalPipelineStage stageOf(const Tensor& tensor) {
    if (!isPipelined()) return {};
    if (virtualGraphs_.empty()) {
      for (const Op* op : tensor.getGraph().schedule_) {
        if (op->hasPipelineStage() && op->hasVirtualGraphId()) {
          virtualGraphs_[op->getPipelineStage()] = op->getVirtualGraphId();
        }
      }
    }
    if (tensor.hasProducer()) return tensor.getProducerUnsafe()->getOptionalPipelineStage();
    return tensor.consumers.findLowestPipelineStage();
  }
  Tensor& copyTo(popart::Graph& graph, Tensor& source, const TensorId& original, VGraphId from,
                 VGraphId to, const std::vector<Op*>& readers) {
    Op::Settings settings(graph, "", graph.getScope());
    const Op* const maker = source.getProducerUnsafe();
    if (maker != nullptr) {
      settings.pipelineStage = maker->getOptionalPipelineStage();
      settings.executionContext = maker->settings.executionContext;
      if (const auto* copy = dynamic_cast<const IpuCopyOp*>(maker)) {
        if (copy->getDestPipelineStage() >= 0)
          settings.pipelineStage = copy->getDestPipelineStage();
      }
    } else {
      settings.pipelineStage = source.consumers.findLowestPipelineStage();
    }
    const Op* before = maker != nullptr ? behind(graph, maker) : first(graph, readers);
    Op& copy = insert(graph, Onnx::CustomOperators::IpuCopy, settings, before);
    copy.facts_->sources[source.id] = from;
    copy.facts_->destination = to;
    if (settings.pipelineStage) {
      for (const auto& [stage, ipu] : virtualGraphs_) {
        if (stage > *settings.pipelineStage && ipu == to) {
          copy.facts_->destination_stage = stage;
          break;
        }
      }
    }
    connectIn(copy, 0, source);
    Tensor& made = newTensor(graph, original + "_c" + std::to_string(to), source.info);
    connectOut(copy, 0, made);
    return made;
  }
  static const Op* first(const popart::Graph& graph, const std::vector<Op*>& ops) {
    for (const Op* op : graph.schedule_) {
      if (std::count(ops.begin(), ops.end(), op) != 0) return op;
    }
    return nullptr;
  }

  /// In a pipeline a later stage of the same virtual graph gets values from a stash.
  void stash(popart::Graph& graph) {
    if (!options().implicitPipeliningEnabled()) return;
    if (!source_.isTraining() && !options().stashAllTensorsInferencePipeline) return;
    for (const TensorId& id : graph.tensors_.getAllTensorIds()) {
      Tensor& tensor = *graph.tensors_.get(id);
      if (tensor.type_ == TensorType::Const || tensor.type_ == TensorType::Variable ||
          tensor.isOptimizerTensor() || tensor.isRandomSeedTensor()) {
        continue;
      }
      const OptionalPipelineStage made = madeIn(tensor);
      if (!made) continue;
      std::map<PipelineStage, std::vector<Op*>> later;
      for (Op* op : tensor.consumers.getOps()) {
        if (!op->hasPipelineStage() || op->isIpuCopyOp() || op->isOptimizerOp()) continue;
        if (op->getPipelineStage() > *made) later[op->getPipelineStage()].push_back(op);
      }
      if (!later.empty()) stashTensor(graph, tensor, *made, later);
    }
  }
  static OptionalPipelineStage madeIn(const Tensor& tensor) {
    const Op* const maker = tensor.getProducerUnsafe();
    if (maker == nullptr) return tensor.consumers.findLowestPipelineStage();
    if (const auto* copy = dynamic_cast<const IpuCopyOp*>(maker)) {
      if (copy->getDestPipelineStage() >= 0) return copy->getDestPipelineStage();
    }
    return maker->getOptionalPipelineStage();
  }
  void stashTensor(popart::Graph& graph, Tensor& tensor, PipelineStage made,
                   const std::map<PipelineStage, std::vector<Op*>>& later) {
    const int64_t size = later.rbegin()->first - made + 1;
    Op::Settings settings(graph, "", graph.getScope());
    settings.vgraphId = later.begin()->second.front()->getOptionalVGraphId();
    settings.pipelineStage = made;
    const Op* const maker = tensor.getProducerUnsafe();
    const Op* const before =
        maker != nullptr ? behind(graph, maker) : first(graph, tensor.consumers.getOps());
    Op& stash = insert(graph, Onnx::CustomOperators::Stash, settings, before);
    stash.facts_->stash_size = size;
    connectIn(stash, StashOp::getInIndex(), tensor);
    TensorInfo kept = tensor.info;
    if (kept.isSet()) {
      Shape shape{size};
      shape.insert(shape.end(), kept.shape().begin(), kept.shape().end());
      kept.set(kept.dataType(), shape);
    }
    Tensor& stashed = newTensor(graph, reservedStashedPrefix() + tensor.id, kept);
    connectOut(stash, StashOp::getOutIndex(), stashed);
    for (const auto& [stage, readers] : later) {
      settings.pipelineStage = stage;
      Op& restore =
          insert(graph, Onnx::CustomOperators::RestoreInplace, settings, first(graph, readers));
      restore.facts_->stash_size = size;
      restore.facts_->modified = {RestoreOp::getActToRestoreInIndex()};
      restore.facts_->aliases = {
          {RestoreOp::getActToRestoreInIndex(), RestoreOp::getRestoredActOutIndex()}};
      connectIn(restore, RestoreOp::getActToRestoreInIndex(), tensor);
      connectIn(restore, RestoreOp::getStashInIndex(), stashed);
      TensorId name = reservedRestoredPrefix() + tensor.id;
      if (graph.tensors_.contains(name)) name += "_" + std::to_string(stage);
      Tensor& restored = newTensor(graph, name, tensor.info);
      connectOut(restore, RestoreOp::getRestoredActOutIndex(), restored);
      rewire(tensor, restored, readers);
    }
  }

  /// Inputs are loaded and anchors stored by operators.
  void copyHost(popart::Graph& graph) {
    for (const TensorId& id : source_.inputs) {
      if (!graph.tensors_.contains(id)) continue;
      Tensor& stream = *graph.tensors_.get(id);
      const std::vector<Op*> readers = stream.consumers.getOps();
      if (readers.empty()) continue;
      Op::Settings settings = readers.front()->settings;
      settings.name.clear();
      settings.recomputeType = RecomputeType::Undefined;
      const Op* const before = first(graph, readers);
      Op& init = insert(graph, Onnx::CustomOperators::Init_1, settings, before);
      Tensor& space = newTensor(graph, reservedInitPrefix() + id, stream.info);
      connectOut(init, InitOp::getOutIndex(), space);
      Op& load = insert(graph, Onnx::CustomOperators::HostLoad, settings, before);
      load.facts_->stream = id;
      load.facts_->has_effect = true;
      connectIn(load, HostLoadOp::getLocalTensorInIndex(), space);
      // The stream has its name; what is loaded has another one.
      Tensor& loaded = newTensor(graph, id + "__t0", stream.info);
      connectOut(load, HostLoadOp::getLocalTensorOutIndex(), loaded);
      rewire(stream, loaded, readers);
    }
    for (const TensorId& id : source_.dataFlow.anchors()) {
      if (!graph.tensors_.contains(id)) continue;
      Tensor& anchor = *graph.tensors_.get(id);
      Op::Settings settings(graph, "", graph.getScope());
      if (const Op* maker = anchor.getProducerUnsafe()) {
        settings.vgraphId = maker->getOptionalVGraphId();
        settings.pipelineStage = maker->getOptionalPipelineStage();
      }
      Op& store = insert(graph, Onnx::CustomOperators::HostStore, settings, nullptr);
      store.facts_->stream = id;
      store.facts_->has_effect = true;
      connectIn(store, HostStoreOp::getLocalTensorInIndex(), anchor);
    }
  }

  /// Tensors without a name that no operator has any more.
  static void removeUnused(popart::Graph& graph) {
    std::erase_if(graph.tensors_.tensors_, [](const auto& entry) {
      const Tensor& tensor = *entry.second;
      return isUnnamed(tensor) && tensor.producer_ == nullptr && tensor.consumers.getTotal() == 0;
    });
  }

  /// Which operators and tensors the loss depends on, and what depends on it.
  void findWays(popart::Graph& graph) {
    if (source_.loss.empty() || !graph.tensors_.contains(source_.loss)) return;
    std::set<const Vertex*> to, from;
    Tensor* const loss = graph.tensors_.get(source_.loss);
    to.insert(loss);
    for (auto op = graph.schedule_.rbegin(); op != graph.schedule_.rend(); ++op) {
      const auto& outputs = (*op)->output->tensorMap();
      if (std::none_of(outputs.begin(), outputs.end(),
                       [&](const auto& t) { return to.count(t.second) != 0; })) {
        continue;
      }
      to.insert(*op);
      for (const auto& [index, tensor] : (*op)->input->tensorMap()) to.insert(tensor);
    }
    from.insert(loss);
    bool isBefore = true;
    for (Op* op : graph.schedule_) {
      const auto& inputs = op->input->tensorMap();
      // Gradients start with a constant.
      const bool follows = backward_.count(op) != 0 ||
                           std::any_of(inputs.begin(), inputs.end(),
                                       [&](const auto& t) { return from.count(t.second) != 0; });
      if (follows) from.insert(op);
      for (const auto& [index, tensor] : op->output->tensorMap()) {
        if (follows) from.insert(tensor);
      }
      op->scheduledPreLoss =
          isBefore && !op->isOptimizerOp() ? ScheduledPreLoss::Yes : ScheduledPreLoss::No;
      if (loss->getProducerUnsafe() == op) isBefore = false;
    }
    const auto mark = [&](Vertex& vertex) {
      vertex.toLoss = to.count(&vertex) != 0 ? PathToLoss::Yes : PathToLoss::No;
      vertex.fromLoss = from.count(&vertex) != 0 ? PathFromLoss::Yes : PathFromLoss::No;
    };
    for (Op* op : graph.schedule_) mark(*op);
    for (auto& [id, tensor] : graph.tensors_.tensors_) {
      mark(*tensor);
      const Op* const maker = tensor->producer_;
      tensor->scheduledPreLoss = maker == nullptr ? ScheduledPreLoss::Yes : maker->scheduledPreLoss;
    }
  }

  Ir& ir_;
  const IrSource& source_;
  IrPoint point_;
  Graphs graphs_;
  OpId nextId_ = 100;                           // PopART's first
  std::map<TensorId, const ModelNode*> nodes_;  // by their first output
  std::size_t firstOutlined_ = 0;               // of the bodies
  std::vector<popart::Graph*> modelGraphs_;     // the main one and those outlined from it
  std::set<const Op*> backward_;
  std::map<PipelineStage, VGraphId> virtualGraphs_;  // of stages
};

Graphs viewOf(Ir& ir, const IrSource& source, IrPoint point) {
  return translated<error>([&] { return ViewBuilder(ir, source, point).run(); });
}

}  // namespace popart::detail
