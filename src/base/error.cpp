#include <halftone/base/error.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/kernel/abort.hpp>
#include <halftone/kernel/fault.hpp>

#include "base/describe.hpp"

namespace halftone {

using detail::escaped;
using detail::quoted;

/// Texts of an error. The reason's first line says what is wrong; further ones are details, each
/// "label<tab>text" or a text alone.
struct Error::Content {
  std::atomic<long> uses{1};
  ErrorKind kind;
  std::string reason, node, tensor, expected, found, hint;
  std::string text, line;

  Content(ErrorKind kind_, const ErrorParts& parts)
      : kind(kind_),
        node(parts.node),
        tensor(parts.tensor),
        expected(parts.expected),
        found(parts.found),
        hint(parts.hint) {
    std::vector<std::string_view> lines = split(parts.what);
    reason = escaped(lines[0]);
    if (reason.empty()) reason = "failed without a reason";

    std::vector<std::pair<std::string, std::string>> details;  // label, text
    auto add = [&](std::string_view label, std::string_view part) {
      if (part.empty()) return;
      for (const std::string_view row : split(part)) {
        details.emplace_back(label, escaped(row));
        label = {};
      }
    };
    if (!tensor.empty()) details.emplace_back("tensor", quoted(tensor));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t tab = lines[i].find('\t');
      if (tab == lines[i].npos) {
        details.emplace_back("\n", escaped(lines[i]));
      } else {
        details.emplace_back(escaped(lines[i].substr(0, tab)), escaped(lines[i].substr(tab + 1)));
      }
    }
    add("expected", expected);
    add("found", found);
    add("hint", hint);

    text = line = node.empty() ? reason : escaped(node) + ": " + reason;
    std::size_t width = 0;
    for (const auto& [label, part] : details) width = std::max(width, label.size());
    const char* separator = " (";
    for (const auto& [label, part] : details) {
      const bool alone = label == "\n";
      text += "\n  ";
      if (!alone) text += label + std::string(width + 2 - label.size(), ' ');
      text += part;
      line += separator;
      if (!alone && !label.empty()) line += label + " ";
      line += part;
      separator = "; ";
    }
    if (!details.empty()) line += ")";
  }

  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      lines.push_back(text.substr(0, end));
    }
    lines.push_back(text);
    return lines;
  }
};

Error::Error(ErrorKind kind, const ErrorParts& parts) : content_(new Content(kind, parts)) {}
Error::Error(const Error& other) noexcept : std::exception(other), content_(other.content_) {
  content_->uses.fetch_add(1, std::memory_order_relaxed);
}
Error& Error::operator=(const Error& other) noexcept {
  Error copy(other);
  std::swap(content_, copy.content_);
  return *this;
}
Error::~Error() {
  if (content_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete content_;
}

const char* Error::what() const noexcept { return content_->text.c_str(); }
ErrorKind Error::kind() const noexcept { return content_->kind; }
std::string_view Error::reason() const noexcept { return content_->reason; }
std::string_view Error::node() const noexcept { return content_->node; }
std::string_view Error::tensor() const noexcept { return content_->tensor; }
std::string_view Error::expected() const noexcept { return content_->expected; }
std::string_view Error::found() const noexcept { return content_->found; }
std::string_view Error::hint() const noexcept { return content_->hint; }
std::string_view Error::line() const noexcept { return content_->line; }

void fail(ErrorKind kind, const ErrorParts& parts) {
  switch (kind) {
    case ErrorKind::usage:
      throw UsageError(parts);
    case ErrorKind::model:
      throw ModelError(parts);
    case ErrorKind::unsupported:
      throw UnsupportedError(parts);
    case ErrorKind::input:
      throw InputError(parts);
    case ErrorKind::memory:
      throw MemoryError(parts);
    case ErrorKind::io:
      throw IoError(parts);
    case ErrorKind::internal:
      break;
  }
  throw InternalError(parts);
}

namespace {

std::string extent_text(std::int64_t extent) {
  return extent == dynamic ? "unknown" : std::to_string(extent);
}

}  // namespace

void throw_extent(std::string_view what, std::string_view tensor, std::int64_t axis,
                  std::int64_t expected, std::int64_t found) {
  std::string reason(what);
  if (axis >= 0) reason += "\naxis\t" + std::to_string(axis);
  throw ShapeError({.what = reason,
                    .tensor = tensor,
                    .expected = extent_text(expected),
                    .found = extent_text(found)},
                   axis, expected, found);
}

void throw_element_type(ElementType expected, ElementType found) {
  fail(ErrorKind::input, {.what = "values are asked for as another element type than they have",
                          .expected = name(expected),
                          .found = name(found)});
}

namespace detail {

std::string node_text(const Descriptor& op, std::string_view node_name) {
  std::string text(op.id.name);
  if (!node_name.empty()) text += " " + quoted(node_name);
  return text;
}

InferenceText describe_inference(const Graph& graph, const Descriptor& op,
                                 std::span<const TensorId> inputs, const Inferred& inferred) {
  InferenceText text;
  text.reason = inferred.attribute.empty()
                    ? std::string(inferred.reason)
                    : "attribute '" + std::string(inferred.attribute) + "' is missing";
  if (inferred.reason.ends_with("not offered")) text.kind = ErrorKind::unsupported;
  if (inferred.are_types) {
    const auto expected = static_cast<ElementType>(inferred.expected);
    if (expected != ElementType::undefined) text.expected = name(expected);
    text.found = name(static_cast<ElementType>(inferred.found));
  } else if (inferred.expected != 0 || inferred.found != 0) {
    text.has_extents = true;
    text.expected = extent_text(inferred.expected);
    text.found = extent_text(inferred.found);
  }
  constexpr std::size_t most = 16;
  for (std::size_t i = 0; i < inputs.size() && i < most; ++i) {
    if (inputs[i] == no_tensor) continue;
    const bool extra = i >= op.signature.inputs() && !op.signature.has_variadic_input();
    text.inputs += "\n";
    text.inputs += extra || op.signature.inputs() == 0 ? "input" : op.signature.input_slot(i).name;
    text.inputs += "\t" + to_text(graph.info(inputs[i]));
    if (!graph.name(inputs[i]).empty()) text.inputs += "  " + quoted(graph.name(inputs[i]));
  }
  if (inputs.size() > most) {
    text.inputs += "\n...\t" + std::to_string(inputs.size() - most) + " more";
  }
  return text;
}

}  // namespace detail

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
    names += (names.empty() ? "" : ", ") + quoted(graph.name(id));
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
