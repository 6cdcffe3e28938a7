#include "graph/inputs.hpp"

#include <algorithm>
#include <vector>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

std::string extent_text(const Graph& graph, TensorId input, std::size_t axis) {
  const std::int64_t extent = graph.info(input).shape[axis];
  if (extent >= 0) return std::to_string(extent);
  for (const Symbol& symbol : graph.symbols) {
    if (symbol.tensor == input && symbol.axis == axis) return escaped(graph.text(symbol.name));
  }
  return "?";
}

/// "[batch, 3] float", behind the leading extents.
std::string expected_text(const Graph& graph, TensorId input, LeadingExtents lead) {
  const TensorInfo& info = graph.info(input);
  if (!info.is_known()) return "a tensor";
  std::string text = "[";
  const auto add = [&](const std::string& extent) {
    text += (text.size() > 1 ? ", " : "") + extent;
  };
  for (const std::int64_t extent : lead) {
    if (extent != 1) add(std::to_string(extent));
  }
  for (std::size_t axis = 0; axis < info.rank(); ++axis) add(extent_text(graph, input, axis));
  return text + "] " + std::string(name(info.type));
}

std::string names_of(const Graph& graph, const Vector<TensorId>& ids) {
  std::vector<std::string_view> names;
  for (const TensorId id : ids) names.push_back(graph.name(id));
  return list_of(names);
}

/// How many dimensions of what is given are leading ones; throws if it cannot be the input.
std::size_t leading_rank(const Graph& graph, TensorId input, const TensorInfo& given,
                         LeadingExtents lead) {
  const TensorInfo& info = graph.info(input);
  const auto refuse = [&](std::string_view what) {
    throw_input(graph, input, what, to_text(given), lead);
  };
  if (!given.is_static()) {
    refuse("an input needs a type and a shape in which every extent is known");
  }
  if (!info.is_known()) {
    const auto rank = static_cast<std::size_t>(
        std::count_if(lead.begin(), lead.end(), [](std::int64_t extent) { return extent != 1; }));
    if (given.rank() < rank) refuse("input has no dimension for the micro-batches of a run");
    return rank;
  }
  if (given.type != info.type) refuse("input has another element type");
  if (given.rank() < info.rank()) refuse("input has too few dimensions");
  return given.rank() - info.rank();
}

}  // namespace

std::string input_names(const Graph& graph) {
  if (graph.inputs.empty()) return "the model has no inputs";
  std::string text = "inputs are " + names_of(graph, graph.inputs);
  if (!graph.optional_inputs.empty()) {
    text += "; may be given: " + names_of(graph, graph.optional_inputs);
  }
  return text;
}

void throw_input(const Graph& graph, TensorId input, std::string_view what, std::string_view found,
                 LeadingExtents lead) {
  fail(ErrorKind::input, {.what = what,
                          .tensor = graph.name(input),
                          .expected = expected_text(graph, input, lead),
                          .found = found,
                          .hint = input_names(graph)});
}

TensorInfo check_input(const Graph& graph, TensorId input, const TensorInfo& given,
                       LeadingExtents lead) {
  const std::size_t leading = leading_rank(graph, input, given, lead);
  const TensorInfo& info = graph.info(input);
  TensorInfo own{given.type, {}};
  for (std::size_t axis = leading; axis < given.rank(); ++axis) {
    if (info.is_known() && contradict(info.shape[axis - leading], given.shape[axis])) {
      throw_input(graph, input, "input has another shape", to_text(given), lead);
    }
    own.shape.push_back(given.shape[axis]);
  }
  std::int64_t wanted = 1, found = 1;
  for (const std::int64_t extent : lead) wanted *= extent;
  for (std::size_t axis = 0; axis < leading; ++axis) found *= given.shape[axis];
  if (wanted == 1 && leading > 0) {
    throw_input(graph, input, "input has too many dimensions", to_text(given), lead);
  }
  if (found != wanted) {
    throw_input(graph, input, "input holds another number of micro-batches than a run computes",
                to_text(given), lead);
  }
  return own;
}

bool is_same_but_for_ones(const Dims& a, const Dims& b) {
  const auto rest = [](const Dims& shape) {
    Dims all;
    for (const std::int64_t extent : shape) {
      if (extent != 1) all.push_back(extent);
    }
    return all;
  };
  return rest(a) == rest(b);
}

void check_symbols(const Graph& graph, std::span<const TensorInfo> infos) {
  struct Value {
    std::string_view symbol;
    std::size_t input;
    std::int64_t extent;
  };
  std::vector<Value> values;
  for (const Symbol& symbol : graph.symbols) {
    const auto place = std::find(graph.inputs.begin(), graph.inputs.end(), symbol.tensor);
    const auto i = static_cast<std::size_t>(place - graph.inputs.begin());
    if (i == graph.inputs.size() || symbol.axis >= infos[i].rank()) continue;
    const std::string_view name = graph.text(symbol.name);
    const std::int64_t extent = infos[i].shape[symbol.axis];
    const auto known = std::find_if(values.begin(), values.end(),
                                    [&](const Value& value) { return value.symbol == name; });
    if (known == values.end()) {
      values.push_back({name, i, extent});
    } else if (known->extent != extent) {
      const std::string is = ", " + escaped(name) + " = ";
      const std::string expected = expected_text(graph, symbol.tensor, {}) + is +
                                   std::to_string(known->extent) + " as in " +
                                   quoted(graph.name(graph.inputs[known->input]));
      const std::string found = to_text(infos[i]) + is + std::to_string(extent);
      fail(ErrorKind::input, {.what = "extents of one name differ in a run",
                              .tensor = graph.name(symbol.tensor),
                              .expected = expected,
                              .found = found});
    }
  }
}

}  // namespace halftone::detail
