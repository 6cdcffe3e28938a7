#include <cstring>
#include <filesystem>

#include <halftone/onnx.hpp>

#include "base/file.hpp"
#include "onnx/importer.hpp"

namespace halftone::onnx {

Graph load(std::string_view path, const LoadOptions& options) {
  const std::string name(path);
  const std::string folder = std::filesystem::path(name).parent_path().string();
  return Importer(detail::map_file(name), &folder, options).run();
}

Graph load(std::span<const std::byte> bytes, const LoadOptions& options, std::string_view folder) {
  const Storage copy = Storage::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  const std::string name(folder);
  return Importer(copy, folder.empty() ? nullptr : &name, options).run();
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
