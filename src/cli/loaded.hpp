#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <halftone/exec/executable.hpp>
#include <halftone/session/session.hpp>

#include "cli/model.hpp"

namespace halftone::cli {

/// A model from its file, or one that is ready to run (`halftone compile`).
class LoadedModel {
 public:
  /// Reads either. Throws what reading it throws, and UsageError for sizes of what is compiled.
  explicit LoadedModel(const ModelFile& model);
  /// Reads a model whose inputs are these.
  LoadedModel(const ModelFile& model, std::vector<onnx::InputShape> inputs);

  const Graph& graph() const;
  Session session(const SessionOptions& options) &&;
  Engine engine(const EngineOptions& options) &&;

 private:
  std::variant<Graph, Executable> model_;
};

/// Throws UsageError for another name.
Convolution parse_convolution(std::string_view name);
Precision parse_precision(std::string_view text);

/// Whether a file's name is that of a model that is ready to run.
bool is_executable(std::string_view path);

/// Of the language that a model is written in; "executable".
std::string versions_text(const std::string& path);

}  // namespace halftone::cli
