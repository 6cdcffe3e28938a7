#include <halftone/views.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <halftone/graph/index.hpp>

#include "base/describe.hpp"

namespace halftone {

namespace {

/// Elements start, start + step, ... of an axis: `count` of them.
struct Range {
  std::size_t axis = 0;
  std::int64_t start = 0, count = 0, step = 1;
};

AnyTensor numbers(Graph& graph, std::int64_t number) { return constant(graph, Dims{number}); }

AnyTensor part(AnyTensor x, std::size_t axis, std::int64_t begin, std::int64_t end) {
  return op::slice(x, numbers(*x.graph, begin), numbers(*x.graph, end),
                   numbers(*x.graph, static_cast<std::int64_t>(axis)));
}
AnyTensor reversed(AnyTensor x, std::size_t axis) {
  return op::slice(x, numbers(*x.graph, -1), numbers(*x.graph, INT64_MIN),
                   numbers(*x.graph, static_cast<std::int64_t>(axis)), numbers(*x.graph, -1));
}

std::vector<std::int64_t> numbers_of(const Graph& graph, const Node& node, std::size_t input) {
  std::vector<std::int64_t> all;
  if (input >= node.inputs.size() || node.inputs[input] == no_tensor) return all;
  const TensorRecord& t = graph.tensor(node.inputs[input]);
  const std::span<const std::byte> bytes = t.data.span();
  const AnyView view{t.info, bytes.data()};
  if (t.info.type == ElementType::int32) {
    for (const std::int32_t number : view.values<std::int32_t>()) all.push_back(number);
  } else {
    for (const std::int64_t number : view.values<std::int64_t>()) all.push_back(number);
  }
  return all;
}

/// What a Slice node takes along each of its axes.
std::vector<Range> ranges_of(const Graph& graph, const Node& node) {
  const Dims shape = graph.info(node.inputs[0]).shape, result = graph.info(node.outputs[0]).shape;
  const std::vector<std::int64_t> starts = numbers_of(graph, node, 1),
                                  axes = numbers_of(graph, node, 3),
                                  steps = numbers_of(graph, node, 4);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Range range{.axis = axes.empty() ? i : normalized_axis(axes[i], shape.size()),
                .step = steps.empty() ? 1 : steps[i]};
    const std::int64_t extent = shape[range.axis];
    range.start = starts[i] < 0 ? starts[i] + extent : starts[i];
    range.start = std::clamp<std::int64_t>(range.start, 0, range.step < 0 ? extent - 1 : extent);
    range.count = result[range.axis];
    ranges.push_back(range);
  }
  return ranges;
}

/// x with `y` at these ranges.
AnyTensor replaced(AnyTensor x, AnyTensor y, std::span<const Range> ranges) {
  if (ranges.empty()) return y;
  const Range range = ranges[0];
  const std::int64_t extent = x.info().shape[range.axis];
  const std::int64_t begin = range.step < 0 ? range.start - range.count + 1 : range.start;
  const std::int64_t end = begin + range.count;
  if (range.step < 0) y = reversed(y, range.axis);
  std::vector<AnyTensor> parts;
  if (begin > 0) parts.push_back(part(x, range.axis, 0, begin));
  parts.push_back(replaced(part(x, range.axis, begin, end), y, ranges.subspan(1)));
  if (end < extent) parts.push_back(part(x, range.axis, end, extent));
  if (parts.size() == 1) return parts[0];
  return op::concat(parts, {.axis = static_cast<std::int64_t>(range.axis)});
}

/// The values of a view's inputs that belong to its value y; absent ones do not change.
std::vector<AnyTensor> values_behind(Graph& graph, const Node& node, AnyTensor y) {
  const AnyTensor x{&graph, node.inputs[0]};
  if (node.op->id == op::Transpose::id) {
    const Dims order = unpack<op::Transpose>(node.attributes).perm;
    if (order.empty()) return {op::transpose(y)};
    Dims back = order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return {op::transpose(y, {.perm = back})};
  }
  if (node.op->id == op::Slice::id) return {replaced(x, y, ranges_of(graph, node))};
  const std::size_t axis =
      normalized_axis(unpack<op::Concat>(node.attributes).axis, y.info().rank());
  std::vector<AnyTensor> values;
  std::int64_t begin = 0;
  for (const TensorId id : node.inputs) {
    const std::int64_t end = begin + graph.info(id).shape[axis];
    values.push_back(part(y, axis, begin, end));
    begin = end;
  }
  return values;
}

void assign(Graph& graph, TensorId x, TensorId y) {
  op::copy_var_update(AnyTensor{&graph, x}, AnyTensor{&graph, y});
}

}  // namespace

void detail::tie(AnyTensor y) {
  Graph& graph = *y.graph;
  const Uses uses(graph);
  const int maker = uses.producer[y.id];
  if (maker == no_node) return;  // an operator that had nothing to do gave its input
  Node& node = graph.nodes[static_cast<std::size_t>(maker)];
  const OpId& id = node.op->id;
  bool can_be = is_view(node) || id == op::Transpose::id || id == op::Concat::id;
  if (id == op::Slice::id) {
    can_be = graph.info(node.inputs[0]).is_static() && graph.info(y.id).is_static();
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_tensor) continue;
      can_be = can_be && graph.tensor(node.inputs[i]).role == Role::constant;
    }
    for (const std::int64_t step :
         can_be ? numbers_of(graph, node, 4) : std::vector<std::int64_t>()) {
      can_be = can_be && (step == 1 || step == -1);
    }
  }
  if (!can_be) {
    fail(ErrorKind::usage,
         {.what = "what an operator makes is no view of its inputs",
          .node = node_text(*node.op, graph.name(node)),
          .hint = "Transpose, Concat, and Slice with constant numbers and steps of 1 or -1, are"});
  }
  node.is_tied = true;
}

AnyTensor change(AnyTensor x, AnyTensor y) {
  if (x.graph->tensor(x.id).role == Role::constant) {
    fail(ErrorKind::usage, {.what = "a constant is changed",
                            .tensor = x.name(),
                            .hint = "make it a variable, or change a copy of it"});
  }
  const AnyTensor changed = op::copy_var_update(x, y);
  follow_change(changed);
  return changed;
}

void follow_change(AnyTensor x) {
  Graph& graph = *x.graph;
  std::vector<std::size_t> views;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    // Views that share memory follow a change by themselves.
    if (graph.nodes[n].is_tied && !is_view(graph.nodes[n])) views.push_back(n);
  }
  if (views.empty()) return;
  // Nodes that are recorded here change no memory of other tensors than they say: these stay.
  const Aliases aliases(graph);
  std::vector<TensorId> changed{aliases.root(x.id)};
  const auto is_changed = [&](TensorId id) {
    return std::find(changed.begin(), changed.end(), aliases.root(id)) != changed.end();
  };
  // Every view passes a change on once, away from where it comes from.
  for (bool any = true; any;) {
    any = false;
    for (std::size_t& n : views) {
      const Node node = graph.nodes[n];
      const TensorId y = node.outputs[0];
      const bool from_view = is_changed(y);
      const std::size_t count = node.op->id == op::Concat::id ? node.inputs.size() : 1;
      bool from_input = false;
      for (std::size_t i = 0; i < count; ++i) from_input = from_input || is_changed(node.inputs[i]);
      if (!from_view && !from_input) continue;
      n = SIZE_MAX;
      any = true;
      if (from_view) {
        const std::vector<AnyTensor> values = values_behind(graph, node, {&graph, y});
        for (std::size_t i = 0; i < values.size(); ++i) {
          assign(graph, node.inputs[i], values[i].id);
          changed.push_back(aliases.root(node.inputs[i]));
        }
      } else {
        assign(graph, y, detail::record(graph, *node.op, node.attributes, node.inputs, 1)[0]);
        changed.push_back(aliases.root(y));
      }
    }
    std::erase(views, SIZE_MAX);
  }
}

}  // namespace halftone
