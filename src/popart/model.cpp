#include "popart/model.hpp"

#include <cstdlib>
#include <span>

#include "popart/external.hpp"

namespace popart {

halftone::Graph detail::readModel(const std::string& model, halftone::onnx::LoadOptions options) {
  options.allow_no_outputs = true;          // anchors are what a session returns
  options.allow_unknown_attributes = true;  // Builder::addNodeAttribute takes any name
  options.operators = operators();
  if (isPath(model)) return halftone::onnx::load(std::string_view(model), options);
  // Data that Builder::saveInitializersExternally moved out are looked up in the working directory.
  return halftone::onnx::load(std::as_bytes(std::span(model.data(), model.size())), options, ".");
}

int detail::settingOf(const halftone::Graph& graph, const char* key, std::string_view tensor,
                      int otherwise) {
  const std::string wanted = std::string(key) + "/" + std::string(tensor);
  for (const halftone::Note& note : graph.notes) {
    if (note.kind != halftone::Note::Kind::metadata || graph.text(note.key) != wanted) continue;
    const std::span<const std::byte> bytes = note.text.span();
    return std::atoi(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()).c_str());
  }
  return otherwise;
}

}  // namespace popart
