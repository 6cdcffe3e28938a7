#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <span>

#include <halftone/exec/executable.hpp>
#include <halftone/transform/dead_code.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/header.hpp"
#include "cli/model.hpp"
#include "cli/profile_options.hpp"
#include "cli/table.hpp"
#include "exec/fold.hpp"
#include "exec/kernel_table.hpp"

namespace halftone::cli {
namespace {

/// Has the library use the kernels for other instructions than the newest; before it chooses.
void use_instructions(const std::string& wanted) {
  if (wanted.empty()) return;
  ::setenv("HALFTONE_ISA", wanted.c_str(), 1);
  if (instruction_set() == wanted) return;
  fail(ErrorKind::unsupported,
       {.what = "this machine or this build of the library has no such instructions",
        .expected = instruction_set(),
        .found = wanted});
}

/// A file's name without folder and ending, as C++ can call a namespace.
std::string namespace_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "_" + name;
  return name;
}

Graph model_of(const CompileOptions& options) {
  Graph graph = load_model(options.model);
  return options.batch > 0 ? with_batch(std::move(graph), options.batch) : graph;
}

void emit_header(const CompileOptions& options, const Console& console) {
  Graph graph = model_of(options);
  fold_shapes(graph);
  const std::string text =
      static_header(without_dead_code(std::move(graph)), namespace_of(options.out));
  detail::OutputFile file(options.out);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
  fmt::print(console.out, "{}: {} of weights and a model for halftone/static.hpp\n",
             detail::escaped(options.out), detail::bytes_text(text.size()));
}

}  // namespace

void compile(const CompileOptions& options, const Console& console) {
  if (options.header) return emit_header(options, console);
  use_instructions(options.instructions);
  const std::string model = detail::escaped(options.model.path);
  const auto start = Clock::now();
  {
    const Activity activity(console, "compile " + model);
    save_executable(halftone::compile(model_of(options)), options.out);
  }
  fmt::print(console.out, "{}: {} for {}, compiled in {}\n", detail::escaped(options.out),
             detail::bytes_text(std::filesystem::file_size(options.out)), instruction_set(),
             duration(seconds_since(start)));
}

}  // namespace halftone::cli
