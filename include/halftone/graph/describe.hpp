#pragma once

#include <span>
#include <string>
#include <string_view>

#include <halftone/base/describe.hpp>
#include <halftone/base/error.hpp>
#include <halftone/graph/graph.hpp>

// Texts of nodes and of what is wrong with them; see base/describe.hpp.
namespace halftone::detail {

/// "Conv 'conv1'", or the operator's name alone.
inline std::string node_text(const Descriptor& op, std::string_view node_name) {
  std::string text(op.id.name);
  if (!node_name.empty()) text += " " + quoted(node_name);
  return text;
}

inline std::string extent_text(std::int64_t extent) {
  return extent == dynamic ? "unknown" : std::to_string(extent);
}

/// What inference says against a node, in words.
struct InferenceText {
  ErrorKind kind = ErrorKind::model;
  std::string reason;
  std::string inputs;  ///< a line "\nslot<tab>info 'name'" for each input, for ErrorParts::what
  std::string expected, found;
  bool has_extents = false;  ///< expected and found are extents or counts
};
inline InferenceText describe_inference(const Graph& graph, const Descriptor& op,
                                        std::span<const TensorId> inputs,
                                        const Inferred& inferred) {
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

}  // namespace halftone::detail
