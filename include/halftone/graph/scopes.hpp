#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <halftone/graph/planning.hpp>

/// Objects that change what is recorded in a graph while they live. They restore what was before,
/// also when an exception leaves their block.
namespace halftone {

/// Names of what is recorded get `name/` in front:
///
///   const NameScope layer(graph, "layer");  // a parameter "w" is called "layer/w"
class NameScope {
 public:
  constexpr NameScope(Graph& graph, std::string_view name) : graph_(graph) {
    graph.push_scope(name);
  }
  NameScope(const NameScope&) = delete;
  constexpr ~NameScope() { graph_.pop_scope(); }

 private:
  Graph& graph_;
};

/// Nodes that are recorded run in an order:
///
///   const InSequence all(graph);                       // one after the other
///   const InSequence some(graph, Ordering::together);  // in any order, but behind what was recorded
///                                                      // in order before, and before what follows
///   const InSequence none(graph, Ordering::free);      // without any order; what is recorded behind
///                                                      // this block has none against what was
///                                                      // before it
///
/// Nodes with effects (loads, stores, collective operators, prints) always run as they are recorded,
/// and so do nodes that touch a variable that is changed. A body has an order of its own.
///
/// source  popxl.in_sequence with True, False and "pass"
class InSequence {
 public:
  constexpr explicit InSequence(Graph& graph, Ordering ordering = Ordering::in_order)
      : graph_(graph), before_(graph.set_ordering(ordering)) {}
  InSequence(const InSequence&) = delete;
  constexpr ~InSequence() { graph_.set_ordering(before_); }

 private:
  Graph& graph_;
  Ordering before_;
};

/// Nodes that are recorded get a place; see the scopes below, which change one thing of it. Inner
/// ones win.
class PlaceScope {
 public:
  constexpr PlaceScope(Graph& graph, const Place& place) : graph_(graph), before_(graph.place()) {
    graph.set_place(place);
  }
  PlaceScope(const PlaceScope&) = delete;
  constexpr ~PlaceScope() { graph_.set_place(before_); }

 protected:
  template <class T, class V>
  static constexpr Place changed(const Graph& graph, T Place::* member, V value) {
    Place place = graph.place();
    place.*member = value;
    return place;
  }

 private:
  Graph& graph_;
  Place before_;
};

/// The IPU that nodes are meant for, 0 being the first; -1: any.
///
///   const OnIpu second(graph, 1);
///
/// errors  UsageError: a number below -1 or above 63
/// source  popxl.ipu
class OnIpu : PlaceScope {
 public:
  OnIpu(Graph& graph, std::int32_t ipu)
      : PlaceScope(graph, changed(graph, &Place::ipu,
                                  detail::checked_place("the number of an IPU is out of range", ipu,
                                                        most_ipus))) {}
};

/// The stage of a pipeline. The gradient of a node of stage s has the stage 2 L - s, L being that of
/// the loss.
///
/// SessionOptions::schedule says when stages run, and place() finds stages. A node without one gets the
/// stage of what it reads.
///
/// errors  UsageError: a number below -1 or above 32766
/// source  popart::Builder::pipelineStage
class OnStage : PlaceScope {
 public:
  OnStage(Graph& graph, std::int32_t stage)
      : PlaceScope(graph, changed(graph, &Place::stage,
                                  detail::checked_place("the number of a stage is out of range",
                                                        stage, most_places))) {}
};

/// The phase of execution. Gradients have phases as they have stages.
///
/// Variables that lie off the chip (off_chip()) are loaded for each phase that uses them.
///
/// errors  UsageError: a number below -1 or above 32766
/// source  popart::Builder::executionPhase
class OnPhase : PlaceScope {
 public:
  OnPhase(Graph& graph, std::int32_t phase)
      : PlaceScope(graph, changed(graph, &Place::phase,
                                  detail::checked_place("the number of a phase is out of range",
                                                        phase, most_places))) {}
};

/// Whether what nodes compute is kept for the backward part of a training step, or computed again.
///
///   const Recomputed cheap(graph, Recompute::recompute);
///
/// source  popart::Builder::recomputeOutputInBackwardPass
class Recomputed : PlaceScope {
 public:
  constexpr explicit Recomputed(Graph& graph, Recompute recompute = Recompute::recompute)
      : PlaceScope(graph, changed(graph, &Place::recompute, recompute)) {}
};

/// The part of a training step.
class InPart : PlaceScope {
 public:
  constexpr InPart(Graph& graph, Part part)
      : PlaceScope(graph, changed(graph, &Place::part, part)) {}
};

/// Nodes that are recorded are meant for the tiles that exchange data with the host.
///
/// limits  the emulated machine has no such tiles: its reports stay as they are
/// source  popxl.io_tiles
class OnIoTiles {
 public:
  constexpr explicit OnIoTiles(Graph& graph) : graph_(graph), first_(graph.nodes.size()) {}
  OnIoTiles(const OnIoTiles&) = delete;
  constexpr ~OnIoTiles() {
    for (std::size_t n = first_; n < graph_.nodes.size(); ++n) {
      graph_.nodes[n].planning.on_io_tiles = true;
    }
  }

 private:
  Graph& graph_;
  std::size_t first_;
};

/// Loads from the host or from remote buffers and stores to them that are recorded become exchanges
/// of several at once, as far as they do not depend on each other: Planning::exchange says which.
///
/// limits  the emulated machine prices each load and store by itself
/// source  popxl.transforms.merge_exchange
class MergedExchange {
 public:
  explicit MergedExchange(Graph& graph) : graph_(graph), first_(graph.nodes.size()) {}
  MergedExchange(const MergedExchange&) = delete;
  ~MergedExchange();

 private:
  Graph& graph_;
  std::size_t first_;
};

/// Whether a node is a load or store of a stream or remote buffer, or a load of code.
bool is_exchange(const Node& node);

namespace detail {
/// Throws a UsageError if the nodes from number `first` on are more than one exchange.
void check_one_exchange(const Graph& graph, std::size_t first);
}  // namespace detail

/// Calls what records loads and stores that become one exchange on the tiles for that, in any order:
///
///   io_tile_exchange(g, [&] { x = host_load(g, x_stream); host_store(y_stream, y); });
///
/// errors  UsageError: another node than a load or store (zeros to load into are none), or loads and
///         stores that depend on each other, unless `verify` is false
/// source  popxl.transforms.io_tile_exchange
template <class F>
void io_tile_exchange(Graph& graph, F&& record, bool verify = true) {
  const std::size_t first = graph.nodes.size();
  {
    const OnIoTiles tiles(graph);
    const MergedExchange merged(graph);
    const InSequence together(graph, Ordering::together);
    record();
  }
  if (verify) detail::check_one_exchange(graph, first);
}

}  // namespace halftone
