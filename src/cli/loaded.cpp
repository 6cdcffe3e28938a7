#include "cli/loaded.hpp"

#include <iterator>
#include <utility>

#include <halftone/base/error.hpp>

#include "base/describe.hpp"

namespace halftone::cli {
namespace {

std::variant<Graph, Executable> load(const ModelFile& model) {
  if (!is_executable(model.path)) return load_model(model);
  if (!model.sizes.empty()) {
    fail(ErrorKind::usage, {.what = "the sizes of an executable are those that it was compiled for",
                            .hint = "halftone compile MODEL.onnx --size NAME=N --out MODEL.htx"});
  }
  return load_executable(model.path);
}

}  // namespace

bool is_executable(std::string_view path) { return path.ends_with(".htx"); }

std::string versions_text(const std::string& path) {
  return is_executable(path) ? "executable" : text_of(versions_of(path));
}

LoadedModel::LoadedModel(const ModelFile& model) : model_(load(model)) {}
LoadedModel::LoadedModel(const ModelFile& model, std::vector<onnx::InputShape> inputs)
    : model_(load_model(model, std::move(inputs))) {}

const Graph& LoadedModel::graph() const {
  const Graph* graph = std::get_if<Graph>(&model_);
  return graph != nullptr ? *graph : std::get<Executable>(model_).graph();
}

Session LoadedModel::session(const SessionOptions& options) && {
  return std::visit([&](auto& model) { return Session(std::move(model), options); }, model_);
}

Engine LoadedModel::engine(const EngineOptions& options) && {
  return std::visit([&](auto& model) { return Engine(std::move(model), options); }, model_);
}

Convolution parse_convolution(std::string_view name) {
  constexpr std::string_view names[] = {"exact", "fast", "fastest"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Convolution>(i);
  }
  fail(ErrorKind::usage, {.what = "there are no forms of convolutions of that name",
                          .expected = "exact, fast or fastest",
                          .found = detail::quoted(name)});
}

Precision parse_precision(std::string_view text) {
  for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::float16}) {
    if (text == name(precision)) return precision;
  }
  fail(ErrorKind::usage, {.what = "there is no precision of that name",
                          .expected = "float32, bfloat16 or float16",
                          .found = detail::quoted(text)});
}

}  // namespace halftone::cli
