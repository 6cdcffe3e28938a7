#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <popart/names.hpp>
#include <popart/op.hpp>
#include <popart/tensor.hpp>
#include <popart/tensors.hpp>

namespace popart {

class Graph;

/// Walks over the graphs of an Ir, and searches them.
namespace graphutils {

/// The operators through which a walk went into graphs that it has not left yet, outermost first.
using CallStack = std::vector<Op*>;
using TensorAndCallStack = std::pair<Tensor*, CallStack>;

/// Which of the tensors that a walk has found is next: the newest, or the oldest.
enum class TraversalType { DepthFirst = 0, BreadthFirst };

/// Whether a tensor is visited before its neighbours are looked up, or behind that.
enum class VisitType { Pre = 0, Post };

/// Whether a walk goes along the data, against it, or both ways. The first of both is found first.
enum class TraversalDirection { ForwardBackward = 0, BackwardForward, Forward, Backward };

/// Whether a walk leaves a graph by the operator that it came in by, or by every one that calls it.
enum class TraverseCallSites { Current = 0, All };

/// Visits the tensors that can be reached from some; each once for each call stack.
///
/// visitor   says whether to walk on from the tensor
/// filter    says whether to walk through the operator, from the second argument to the third
///
/// An operator leads from each of its inputs to each of its outputs. A Call, If or Loop also leads from
/// an input to the input of the graph that it becomes, and from the graph's outputs to its own.
void traverse(std::vector<TensorAndCallStack> tensors, std::function<bool(Tensor*)> visitor,
              std::function<bool(Op*, Tensor*, Tensor*)> filter, TraversalType order,
              VisitType visit, TraversalDirection direction, TraverseCallSites callSites);
void traverse(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor,
              std::function<bool(Op*, Tensor*, Tensor*)> filter, TraversalType order,
              VisitType visit, TraversalDirection direction,
              TraverseCallSites callSites = TraverseCallSites::Current);

/// Both ways through all operators.
void traverseBreadthFirst(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor);
void traverseDepthFirst(std::vector<Tensor*> tensors, std::function<bool(Tensor*)> visitor);

/// What a tensor is computed from: tensors that no operator computes, except Init, and that are not
/// inputs of a graph.
std::vector<Tensor*> rootTensors(Tensor* tensor);

/// Each operator with those of the others that have to run before it, because it reads what they
/// compute or overwrites what they read.
std::map<Op*, std::set<Op*, POpCmp>, POpCmp> getOpsWithBefores(const std::set<Op*, POpCmp>& ops);
std::map<Op*, std::set<Op*, POpCmp>, POpCmp> getOpsWithBefores(const std::vector<Op*>& ops);

/// Says that an operator of a match reads what another one computes. Both are given by the positions
/// of their predicates; output and input are indices, or -1 for any.
class Edge {
 public:
  Edge() = default;
  Edge(int from, int to, OutIndex out = -1, InIndex in = -1)
      : from_(from), to_(to), out_(out), in_(in) {}

  int getFrom() const { return from_; }
  int getTo() const { return to_; }
  OutIndex getOut() const { return out_; }
  InIndex getIn() const { return in_; }

 private:
  int from_ = -1, to_ = -1;
  OutIndex out_ = -1;
  InIndex in_ = -1;
};

bool operator<(const Edge& a, const Edge& b);

using OpPred = std::function<bool(const Op* op)>;
using OpPreds = std::vector<OpPred>;
using Edges = std::set<Edge>;

/// All choices of one operator for each predicate that satisfy it and are joined by the edges; in
/// the order of ids. One operator may stand at several positions. Throws popart::error if an edge
/// names a predicate that is not there.
std::vector<std::vector<Op*>> findMatchingOps(Graph& graph, OpPreds preds, Edges edges);

}  // namespace graphutils
}  // namespace popart
