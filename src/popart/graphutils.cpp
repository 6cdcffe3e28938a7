#include <popart/graphutils.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <tuple>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/op/classes.gen.hpp>
#include <popart/tensorindex.hpp>

namespace popart::graphutils {

namespace {

/// How far the indices of an operator's tensors are ahead of those of the graphs that it calls.
struct Offsets {
  int in, out;
};

Offsets offsetsOf(const Op& op) {
  if (op.isConvertibleTo<IfOp>()) return {1, 0};     // the condition is not handed on
  if (op.isConvertibleTo<LoopOp>()) return {0, -1};  // the body says whether to go on
  return {0, 0};
}

class Walk {
 public:
  Walk(const std::function<bool(Op*, Tensor*, Tensor*)>& filter, TraverseCallSites callSites)
      : filter_(filter), leavesByAll_(callSites == TraverseCallSites::All) {}

  /// What can be reached in one step.
  std::vector<TensorAndCallStack> next(const TensorAndCallStack& from,
                                       const std::vector<bool>& directions) {
    found_.clear();
    for (const bool isForward : directions) {
      if (isForward) {
        forward(from);
      } else {
        backward(from);
      }
    }
    return found_;
  }

 private:
  void add(Op* through, Tensor* from, Tensor* to, const CallStack& stack) {
    if (filter_(through, from, to)) found_.emplace_back(to, stack);
  }

  CallStack entered(const CallStack& stack, Op* op) const {
    CallStack inner = stack;
    if (!leavesByAll_) inner.push_back(op);
    return inner;
  }

  void forward(const TensorAndCallStack& from) {
    const auto& [tensor, stack] = from;
    for (Op* reader : tensor->consumers.getOps()) {
      const int offset = offsetsOf(*reader).in;
      for (const Graph* body : reader->getCalledGraphs()) {
        for (const InIndex i : reader->input->indices(tensor)) {
          const InIndex inner = i - offset;
          if (inner < 0 || static_cast<std::size_t>(inner) >= body->getInputIds().size()) continue;
          add(reader, tensor, body->getInputTensor(inner), entered(stack, reader));
        }
      }
      for (Tensor* output : reader->output->tensors()) add(reader, tensor, output, stack);
    }
    if (!tensor->isGraphOutput()) return;
    leave(from, [&](Op* site, const CallStack& outer) {
      const OutIndex o = tensor->getGraphOutputIndex() + offsetsOf(*site).out;
      if (site->hasOutput(o)) add(site, tensor, site->outTensor(o), outer);
    });
  }

  void backward(const TensorAndCallStack& from) {
    const auto& [tensor, stack] = from;
    if (Op* producer = tensor->getProducerUnsafe(); producer != nullptr) {
      const int offset = offsetsOf(*producer).out;
      for (const Graph* body : producer->getCalledGraphs()) {
        for (const OutIndex o : producer->output->indices(tensor)) {
          const OutIndex inner = o - offset;
          if (static_cast<std::size_t>(inner) >= body->getOutputIds().size()) continue;
          add(producer, tensor, body->getOutputTensor(inner), entered(stack, producer));
        }
      }
      for (Tensor* input : producer->input->tensors()) add(producer, tensor, input, stack);
    }
    if (!tensor->isGraphInput()) return;
    leave(from, [&](Op* site, const CallStack& outer) {
      const InIndex i = tensor->getGraphInputIndex() + offsetsOf(*site).in;
      if (site->hasInput(i)) add(site, tensor, site->inTensor(i), outer);
    });
  }

  template <class Step>
  void leave(const TensorAndCallStack& from, Step step) const {
    const auto& [tensor, stack] = from;
    if (leavesByAll_ || stack.empty()) {
      for (Op* site : tensor->getGraph().getCallSiteOps()) step(site, stack);
    } else {
      step(stack.back(), CallStack(stack.begin(), stack.end() - 1));
    }
  }

  const std::function<bool(Op*, Tensor*, Tensor*)>& filter_;
  bool leavesByAll_;
  std::vector<TensorAndCallStack> found_;
};

bool throughAll(Op*, Tensor*, Tensor*) { return true; }

bool reads(const Op& op, const Edge& edge, const Op& producer) {
  for (const auto& [o, output] : producer.output->tensorMap()) {
    if (edge.getOut() != -1 && edge.getOut() != o) continue;
    if (edge.getIn() == -1 && op.input->contains(output)) return true;
    if (op.hasInput(edge.getIn()) && op.inTensor(edge.getIn()) == output) return true;
  }
  return false;
}

}  // namespace

void traverse(std::vector<TensorAndCallStack> tensors, std::function<bool(Tensor*)> visitor,
              std::function<bool(Op*, Tensor*, Tensor*)> filter, TraversalType order,
              VisitType visit, TraversalDirection direction, TraverseCallSites callSites) {
  const bool isDepthFirst = order == TraversalType::DepthFirst;
  std::vector<bool> directions;  // true: along the data
  if (direction != TraversalDirection::Backward) directions.push_back(true);
  if (direction != TraversalDirection::Forward) directions.push_back(false);
  // What is found last comes first in a walk that is depth first.
  if ((direction == TraversalDirection::BackwardForward) != isDepthFirst) {
    std::reverse(directions.begin(), directions.end());
  }
  std::deque<TensorAndCallStack> waiting;
  std::map<Tensor*, std::set<CallStack>> known;
  const auto enqueue = [&](const TensorAndCallStack& entry) {
    std::set<CallStack>& stacks = known[entry.first];
    // A visit without a call stack stands for all calls.
    if (stacks.count({}) == 0 && stacks.insert(entry.second).second) waiting.push_back(entry);
  };
  for (const TensorAndCallStack& start : tensors) enqueue(start);
  Walk walk(filter, callSites);
  while (!waiting.empty()) {
    const TensorAndCallStack entry = isDepthFirst ? waiting.back() : waiting.front();
    if (isDepthFirst) {
      waiting.pop_back();
    } else {
      waiting.pop_front();
    }
    bool goesOn = visit == VisitType::Pre && visitor(entry.first);
    const std::vector<TensorAndCallStack> found = walk.next(entry, directions);
    if (visit == VisitType::Post) goesOn = visitor(entry.first);
    if (!goesOn) continue;
    for (const TensorAndCallStack& next : found) enqueue(next);
  }
}

void traverse(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor,
              std::function<bool(Op*, Tensor*, Tensor*)> filter, TraversalType order,
              VisitType visit, TraversalDirection direction, TraverseCallSites callSites) {
  std::vector<TensorAndCallStack> starts;
  for (Tensor* tensor : tensors) starts.emplace_back(tensor, CallStack());
  traverse(std::move(starts), std::move(visitor), std::move(filter), order, visit, direction,
           callSites);
}

void traverseBreadthFirst(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor) {
  traverse(std::move(tensors), std::move(visitor), throughAll, TraversalType::BreadthFirst,
           VisitType::Pre, TraversalDirection::ForwardBackward);
}

void traverseDepthFirst(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor) {
  traverse(std::move(tensors), std::move(visitor), throughAll, TraversalType::DepthFirst,
           VisitType::Pre, TraversalDirection::ForwardBackward);
}

std::vector<Tensor*> rootTensors(Tensor* tensor) {
  std::vector<Tensor*> roots;
  const auto visitor = [&](Tensor* t) {
    const bool isMade = t->hasProducer() && !t->getProducer()->isConvertibleTo<InitOp>();
    if (!isMade && !t->isGraphInput()) roots.push_back(t);
    return true;
  };
  traverse(std::vector<Tensor*>{tensor}, visitor, throughAll, TraversalType::DepthFirst,
           VisitType::Pre, TraversalDirection::Backward);
  return roots;
}

std::map<Op*, std::set<Op*, POpCmp>, POpCmp> getOpsWithBefores(const std::set<Op*, POpCmp>& ops) {
  std::map<Op*, std::set<Op*, POpCmp>, POpCmp> befores;
  for (Op* op : ops) {
    std::set<Op*, POpCmp>& before = befores[op];
    std::vector<Op*> waiting{op};
    std::set<Op*, POpCmp> known{op};
    const auto enqueue = [&](Op* other) {
      if (other == nullptr || !known.insert(other).second) return;
      waiting.push_back(other);
      if (ops.count(other) != 0) before.insert(other);
    };
    while (!waiting.empty()) {
      Op* later = waiting.back();
      waiting.pop_back();
      for (Tensor* input : later->input->tensors()) {
        enqueue(input->getProducerUnsafe());
        if (!later->modifiesTensor(input)) continue;
        // Ids are in the order of the schedule.
        for (Op* reader : input->consumers.getOps()) {
          if (reader->id < later->id) enqueue(reader);
        }
      }
    }
  }
  return befores;
}

std::map<Op*, std::set<Op*, POpCmp>, POpCmp> getOpsWithBefores(const std::vector<Op*>& ops) {
  return getOpsWithBefores(std::set<Op*, POpCmp>(ops.begin(), ops.end()));
}

bool operator<(const Edge& a, const Edge& b) {
  return std::tuple(a.getFrom(), a.getTo(), a.getOut(), a.getIn()) <
         std::tuple(b.getFrom(), b.getTo(), b.getOut(), b.getIn());
}

std::vector<std::vector<Op*>> findMatchingOps(Graph& graph, OpPreds preds, Edges edges) {
  const int count = static_cast<int>(preds.size());
  for (const Edge& edge : edges) {
    if (std::min(edge.getFrom(), edge.getTo()) >= 0 &&
        std::max(edge.getFrom(), edge.getTo()) < count) {
      continue;
    }
    throw error("An edge leads from predicate {} to {}, but there are {}", edge.getFrom(),
                edge.getTo(), count);
  }
  std::vector<std::vector<Op*>> matches{{}};
  for (int p = 0; p < count; ++p) {
    std::vector<std::vector<Op*>> longer;
    for (const auto& [id, op] : graph.getOps()) {
      if (!preds[static_cast<std::size_t>(p)](op.get())) continue;
      for (const std::vector<Op*>& match : matches) {
        const auto at = [&](int i) -> const Op& {
          return i == p ? *op : *match[static_cast<std::size_t>(i)];
        };
        // Each edge is looked at when the later one of its ends is chosen.
        const bool isJoined = std::all_of(edges.begin(), edges.end(), [&](const Edge& edge) {
          if (std::max(edge.getFrom(), edge.getTo()) != p) return true;
          return reads(at(edge.getTo()), edge, at(edge.getFrom()));
        });
        if (!isJoined) continue;
        longer.push_back(match);
        longer.back().push_back(op.get());
      }
    }
    matches = std::move(longer);
  }
  if (preds.empty()) return {};
  std::sort(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), POpCmp());
  });
  return matches;
}

}  // namespace popart::graphutils
