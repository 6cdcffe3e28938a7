#include <halftone/session/cache.hpp>

#include <filesystem>
#include <string>
#include <system_error>

#include <halftone/base/log.hpp>

#include "exec/kernel_table.hpp"
#include "program/archive.hpp"

namespace halftone {
namespace {

/// Of all that a compiled model follows from.
std::uint64_t key_of(const Graph& graph) {
  detail::ArchiveWriter writer;
  writer.text(HALFTONE_VERSION);
  writer.text(packing_instructions());
  detail::write(writer, graph);
  return writer.hash();
}

}  // namespace

Executable compile_cached(Graph graph, std::string_view folder, OperatorTable operators) {
  const std::filesystem::path path =
      std::filesystem::path(folder) / (std::to_string(key_of(graph)) + ".htx");
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    try {
      Executable executable = load_executable(path.string(), operators);
      executable.verify();
      return executable;
    } catch (const Error& e) {
      log_message(LogLevel::warn, "session",
                  std::string("a cached executable is made again: ") + e.what());
    }
  }
  Executable executable = compile(std::move(graph));
  std::filesystem::create_directories(folder, error);
  save_executable(executable, path.string());
  return executable;
}

}  // namespace halftone
