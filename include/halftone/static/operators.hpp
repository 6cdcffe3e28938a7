#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/op/list.hpp>
#include <halftone/static/fold.hpp>
#include <halftone/train/recorder.hpp>

// Which operators a static program has: structs, found by the ids of its graph's nodes.
namespace halftone {

/// Stands for `builtin` where names have to stay short.
struct Builtin {};

}  // namespace halftone

namespace halftone::detail {

template <std::size_t I, class Op>
struct NumberedOperator {
  using type = Op;
};
template <class Numbers, class... Op>
struct NumberedOperators;
template <std::size_t... I, class... Op>
struct NumberedOperators<std::index_sequence<I...>, Op...> : NumberedOperator<I, Op>... {};

template <std::size_t I, class Op>
NumberedOperator<I, Op> operator_at(NumberedOperator<I, Op>*);

/// An operator whose results on numbers and in short loops are worth constant extents.
template <class Op>
concept short_op = requires { requires Op::is_short; };

/// The operators of a list by number.
template <class List>
struct OperatorList;
template <class... Op>
struct OperatorList<Registry<Op...>> {
  static constexpr std::size_t count = sizeof...(Op);
  using Numbered = NumberedOperators<std::make_index_sequence<count>, Op...>;
  template <std::size_t I>
  using at = typename decltype(operator_at<I>(static_cast<Numbered*>(nullptr)))::type;

  static constexpr std::array<const OpId*, count> ids{&Op::id...};
  static constexpr std::array<bool, count> is_short{short_op<Op>...};
  /// The number of an operator, -1 if it is not in the list.
  static constexpr int find(const OpId& id) {
    for (std::size_t i = 0; i < count; ++i) {
      if (ids[i]->name == id.name && *ids[i] == id) return static_cast<int>(i);
    }
    return -1;
  }
};

/// With what train() records beside the operators of the library, and the passes.
template <class List>
struct WithTraining;
template <class... Op>
struct WithTraining<Registry<Op...>> {
  using type = Registry<Op..., training::Setting, training::TrainingStep, training::StepGradient,
                        training::LossScalingRatio, training::RescaleState, FoldedNormalization>;
};

/// The operators that a static program may have, by the type that stands for them.
template <class Ops>
struct ListOf;
template <class... Op>
struct ListOf<Registry<Op...>> {
  using type = OperatorList<typename WithTraining<Registry<Op...>>::type>;
};
/// Of the library: a class with a short name, since the name of every function has it.
struct LibraryList : OperatorList<WithTraining<builtin>::type> {};
template <>
struct ListOf<Builtin> {
  using type = LibraryList;
};

/// Marks the numbers of the operators of a graph and its bodies; false if the list lacks one.
template <class List>
constexpr bool mark_operators(const Graph& graph, std::array<bool, List::count>& used) {
  bool has_all = true;
  Vector<const Descriptor*> seen;
  for (const Node& node : graph.nodes) {
    bool is_new = true;
    for (const Descriptor* op : seen) is_new = is_new && op != node.op;
    if (!is_new) continue;
    seen.push_back(node.op);
    const int number = List::find(node.op->id);
    has_all = has_all && number >= 0;
    if (number >= 0) used[static_cast<std::size_t>(number)] = true;
  }
  for (const Graph& body : graph.graphs) has_all = mark_operators<List>(body, used) && has_all;
  return has_all;
}

/// train() while nothing but the model's operators is looked for: the gradients of the weights are
/// the weights.
constexpr Training record_nothing(Graph& graph, TensorId, const Rule&, OwnUpdate*,
                                  const TrainOptions&) {
  graph.model.emplace_back();
  Training training;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role != Role::variable) continue;
    training.weights.push_back(static_cast<TensorId>(i));
    training.gradients.push_back(static_cast<TensorId>(i));
  }
  return training;
}

/// train() with the gradients of these operators.
template <class... Op>
constexpr Training record_static_training(Graph& graph, TensorId loss, const Rule& rule,
                                          OwnUpdate* own, const TrainOptions& options) {
  return Recorder(graph, {&graph, loss}, rule, own, options, &gradient_in_list<Op...>).run();
}

/// The graph that a model builds. Descriptors know no gradients in constant evaluation, so that a
/// first build finds the operators whose gradients the second one needs.
template <class Model, class List>
struct StaticBuild {
  struct Found {
    std::array<bool, List::count> used{};
    bool trains = false, has_all = true;
    std::size_t nodes = 0, variables = 0;
  };
  static constexpr Found found = [] {
    Found result;
    Graph graph;
    graph.record_training = &record_nothing;
    Model::build(graph);
    result.trains = !graph.model.empty();
    result.has_all = mark_operators<List>(graph, result.used);
    result.nodes = graph.nodes.size();
    for (const TensorRecord& t : graph.tensors) result.variables += is_variable(t);
    return result;
  }();
  static constexpr std::size_t count = [] {
    std::size_t n = 0;
    for (const bool used : found.used) n += used;
    return n;
  }();
  static constexpr std::array<std::size_t, count> numbers = [] {
    std::array<std::size_t, count> list{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < found.used.size(); ++i) {
      if (found.used[i]) list[n++] = i;
    }
    return list;
  }();

  static constexpr RecordTraining trainer() {
    if constexpr (found.trains) {
      return []<std::size_t... I>(std::index_sequence<I...>) {
        return &record_static_training<typename List::template at<numbers[I]>...>;
      }(std::make_index_sequence<count>{});
    } else {
      return nullptr;
    }
  }
  static constexpr Graph graph() {
    Graph built;
    built.record_training = trainer();
    Model::build(built);
    built.record_training = nullptr;
    return built;
  }
};

}  // namespace halftone::detail

namespace halftone {

/// Appends a node with packed attributes, as headers do that `halftone compile --emit header`
/// writes; returns its number.
template <class Op>
constexpr std::size_t record_static(Graph& graph, Vector<Word> attributes, Vector<TensorId> inputs,
                                    const Vector<TensorInfo>& infos) {
  return graph.add_node(descriptor<Op>, std::move(attributes), std::move(inputs), infos);
}

}  // namespace halftone
