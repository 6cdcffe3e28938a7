#include <cstring>
#include <filesystem>
#include <new>

#include <halftone/onnx.hpp>
#include <halftone/train/state.hpp>

#include "base/file.hpp"
#include "onnx/importer.hpp"

namespace halftone::onnx {

namespace {

Graph import(const Storage& file, const std::string* folder, const LoadOptions& options,
             Report& report) {
  try {
    Graph graph = Importer(file, folder, options, report).run();
    detail::find_saved_state(graph);
    return graph;
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::memory, {.what = "not enough memory for the model"});
  }
}

}  // namespace

Graph load(std::string_view path, const LoadOptions& options) {
  Report report(options.strict);
  return load(path, options, report);
}

Graph load(std::string_view path, const LoadOptions& options, Report& report) {
  const std::string name(path);
  const std::string folder = std::filesystem::path(name).parent_path().string();
  return import(detail::map_file(name), &folder, options, report);
}

Graph load(std::span<const std::byte> bytes, const LoadOptions& options, std::string_view folder) {
  const Storage copy = Storage::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  const std::string name(folder);
  Report report(options.strict);
  return import(copy, folder.empty() ? nullptr : &name, options, report);
}

LoadResult try_load(std::string_view path, const LoadOptions& options) {
  try {
    return load(path, options);
  } catch (const Error& error) {
    return error;
  }
}

LoadResult try_load(std::span<const std::byte> bytes, const LoadOptions& options,
                    std::string_view folder) {
  try {
    return load(bytes, options, folder);
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace halftone::onnx
