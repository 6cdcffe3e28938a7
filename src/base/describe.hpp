#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/graph/graph.hpp>

// Texts for errors and reports, made from what a model says: safe to print.
namespace halftone::detail {

inline std::string_view text_of(const std::vector<char>& characters) {
  return {characters.data(), characters.size()};
}
/// The bytes of the UTF-8 sequence that starts at text[at]; 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at = 0);
/// The text as one line of valid UTF-8: control characters, line separators and bytes that are no
/// UTF-8 become \n, \t, \xNN.
std::string escaped(std::string_view text);
/// 'text', escaped and shortened to what a person can read.
std::string quoted(std::string_view text);
/// "'a', 'b'"; not more names than a person reads.
std::string list_of(std::span<const std::string_view> names);
/// "[1, ?, 8]"; unknown extents are question marks.
std::string to_text(const Dims& shape);
/// "float", "seq(tensor(float))", "map(string,tensor(int64))", as ONNX spells types.
std::string to_text(ElementType type);
/// "[1, ?, 8] float", "seq(tensor(float))", "unknown".
std::string to_text(const TensorInfo& info);
/// A number of bytes as people read it: "712 KiB".
std::string bytes_text(std::uint64_t bytes);
/// A tensor's name, or "#12" for one without; "-": there is none.
std::string name_of(const Graph& graph, TensorId id);
/// "Conv 'conv1'", or the operator's name alone.
std::string node_text(const Descriptor& op, std::string_view node_name);

/// What inference says against a node, in words.
struct InferenceText {
  ErrorKind kind = ErrorKind::model;
  std::string reason;
  std::string inputs;  ///< a line "\nslot<tab>info 'name'" for each input, for ErrorParts::what
  std::string expected, found;
  bool has_extents = false;  ///< expected and found are extents or counts
};
InferenceText describe_inference(const Graph& graph, const Descriptor& op,
                                 std::span<const TensorId> inputs, const Inferred& inferred);

}  // namespace halftone::detail
