#include <halftone/base/error_text.hpp>

#include <string>

#include <halftone/base/array.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/kernel/faults.hpp>

#include "base/describe.hpp"

namespace halftone {

template detail::ErrorTexts* detail::compose_error<>(ErrorKind, const ErrorParts&);
template void fail<>(ErrorKind, const ErrorParts&);

void throw_extent(std::string_view what, std::string_view tensor, std::int64_t axis,
                  std::int64_t expected, std::int64_t found) {
  std::string reason(what);
  if (axis >= 0) reason += "\naxis\t" + std::to_string(axis);
  throw ShapeError({.what = reason,
                    .tensor = tensor,
                    .expected = detail::extent_text(expected),
                    .found = detail::extent_text(found)},
                   axis, expected, found);
}

void throw_element_type(ElementType expected, ElementType found) {
  fail(ErrorKind::input, {.what = "values are asked for as another element type than they have",
                          .expected = name(expected),
                          .found = name(found)});
}

void throw_inference(const Graph& graph, const Descriptor& op, std::span<const TensorId> inputs,
                     const Inferred& inferred) {
  const detail::InferenceText text = detail::describe_inference(graph, op, inputs, inferred);
  const std::string what = text.reason + text.inputs;
  const ErrorParts parts{
      .what = what, .node = op.id.name, .expected = text.expected, .found = text.found};
  if (text.has_extents) throw ShapeError(parts, -1, inferred.expected, inferred.found);
  fail(text.kind, parts);
}

void throw_unknown_name(const Graph& graph, std::string_view name) {
  constexpr int most = 24;
  std::string names;
  int count = 0;
  // Inputs, outputs and variables are what users name; the rest only where there are none.
  auto add = [&](TensorId id) {
    if (graph.name(id).empty() || count > most) return;
    if (count++ == most) {
      names += ", ...";
      return;
    }
    names += (names.empty() ? "" : ", ") + detail::quoted(graph.name(id));
  };
  for (const TensorId id : graph.inputs) add(id);
  for (const TensorId id : graph.outputs) add(id);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (is_variable(graph.tensors[i])) add(static_cast<TensorId>(i));
  }
  for (std::size_t i = 0; count == 0 && i < graph.tensors.size(); ++i) {
    add(static_cast<TensorId>(i));
  }
  fail(ErrorKind::input,
       {.what = "the graph has no tensor of this name",
        .tensor = name,
        .hint = names.empty() ? "it has no tensor with a name" : "there are " + names});
}

}  // namespace halftone

// Beside fail(), which every program that links the core has: static programs have weak ones.

void halftone_index_error(std::int64_t index, std::int64_t extent) {
  const std::string range =
      extent == 0 ? std::string("none, the dimension is empty")
                  : "-" + std::to_string(extent) + " to " + std::to_string(extent - 1);
  halftone::fail(
      halftone::ErrorKind::input,
      {.what = "an index is out of range", .expected = range, .found = std::to_string(index)});
}

void halftone_category_error(std::int64_t number) {
  halftone::fail(halftone::ErrorKind::input,
                 {.what = "a number is none of the categories", .found = std::to_string(number)});
}

void halftone_abort() {
  halftone::fail(halftone::ErrorKind::input, {.what = "the model stops the program",
                                              .hint = "an Abort in it has met its condition"});
}

const halftone::kernel::Faults halftone_faults{&halftone_index_error, &halftone_category_error,
                                               &halftone_abort};
