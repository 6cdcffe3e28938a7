#include <popxl/streams.hpp>

#include <memory>
#include <string>
#include <vector>

#include "popxl/state.hpp"

namespace popxl {

namespace {

using detail::Place;
using halftone::Ordering;

/// A context, and what makes graphs obey it: those that are entered while it lives.
struct Live {
  Place place{};          ///< that it says
  bool is_debug = false;  ///< whether its text is the operators' name
  std::int64_t number = 0;
  std::string text;
  std::shared_ptr<void> (*apply)(halftone::Graph& graph, const Live& context) = nullptr;
  std::vector<std::pair<halftone::Graph*, std::shared_ptr<void>>> applied{};

  bool obeyed_by(const halftone::Graph& graph) const {
    for (const auto& [other, scope] : applied) {
      if (other == &graph) return true;
    }
    return false;
  }
};
struct Entered {
  Graph graph;
  std::vector<std::size_t> contexts;  ///< that it obeys since it was entered
};
thread_local std::vector<Live> live;
thread_local std::vector<Entered> entered;

void obey(Live& context, halftone::Graph& graph) {
  context.applied.emplace_back(&graph, context.apply(graph, context));
}

template <class Scope, class... A>
std::shared_ptr<void> scope(halftone::Graph& graph, const A&... arguments) {
  return std::make_shared<Scope>(graph, arguments...);
}

}  // namespace

In::In(const Graph& graph) {
  if (!entered.empty() && !(entered.back().graph.ir() == graph.ir())) {
    throw RuntimeError({.what = "a graph of another Ir is current",
                        .hint = "leave it before a graph of this Ir is entered"});
  }
  graph.ir().state().must_be_open("a graph is entered to be changed too late");
  entered.push_back({graph, {}});
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i].obeyed_by(graph.native())) continue;
    obey(live[i], graph.native());
    entered.back().contexts.push_back(i);
  }
}
In::~In() {
  const std::vector<std::size_t>& contexts = entered.back().contexts;
  for (auto i = contexts.rbegin(); i != contexts.rend(); ++i) live[*i].applied.pop_back();
  entered.pop_back();
}

Graph get_current_graph() {
  if (!entered.empty()) return entered.back().graph;
  throw RuntimeError(
      {.what = "no graph is entered", .hint = "popxl::Main in(ir) makes the main graph current"});
}
Graph get_main_graph() { return get_current_graph().main_graph(); }
Ir get_ir() { return get_current_graph().ir(); }

Place detail::current_place() {
  Place place{.is_known = true};
  for (const Live& context : live) {
    if (context.place.ipu >= 0) place.ipu = context.place.ipu;
    place.on_io_tiles = place.on_io_tiles || context.place.on_io_tiles;
  }
  return place;
}

std::string_view detail::current_debug_name() {
  for (auto context = live.rbegin(); context != live.rend(); ++context) {
    if (context->is_debug) return context->text;
  }
  return {};
}

detail::GraphState* detail::state_of(const AnyTensor& tensor) {
  if (entered.empty()) return nullptr;
  for (const auto& graph : entered.back().graph.ir().state().graphs) {
    if (&graph->graph == tensor.graph) return graph.get();
  }
  return nullptr;
}

Context::Context(Kind kind, std::int64_t number, std::string_view text) {
  Live context{.number = number, .text = std::string(text)};
  switch (kind) {
    case Kind::ipu:
      if (number < 0 || number >= halftone::most_ipus) {
        throw ValueError({.what = "there is no IPU of this number",
                          .expected = "from 0 to " + std::to_string(halftone::most_ipus - 1),
                          .found = std::to_string(number)});
      }
      context.place.ipu = static_cast<int>(number);
      context.apply = [](halftone::Graph& graph, const Live& c) {
        return scope<halftone::OnIpu>(graph, static_cast<std::int32_t>(c.number));
      };
      break;
    case Kind::io_tiles:
      context.place.on_io_tiles = true;
      context.apply = [](halftone::Graph& graph, const Live&) {
        return scope<halftone::OnIoTiles>(graph);
      };
      break;
    case Kind::name_scope:
      context.apply = [](halftone::Graph& graph, const Live& c) {
        return scope<halftone::NameScope>(graph, std::string_view(c.text));
      };
      break;
    case Kind::debug:
      context.is_debug = true;
      context.apply = [](halftone::Graph&, const Live&) { return std::shared_ptr<void>(); };
      break;
    case Kind::in_sequence:
      context.apply = [](halftone::Graph& graph, const Live& c) {
        constexpr Ordering orders[] = {Ordering::free, Ordering::in_order, Ordering::together};
        return scope<halftone::InSequence>(graph, orders[c.number]);
      };
      break;
  }
  live.push_back(std::move(context));
  if (!entered.empty()) obey(live.back(), entered.back().graph.native());
}
Context::~Context() { live.pop_back(); }

}  // namespace popxl
