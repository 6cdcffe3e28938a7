#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include <halftone/exec/executable.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/model.hpp"
#include "cli/table.hpp"
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

}  // namespace

void compile(const CompileOptions& options, const Console& console) {
  use_instructions(options.instructions);
  const std::string model = detail::escaped(options.model.path);
  const auto start = Clock::now();
  {
    const Activity activity(console, "compile " + model);
    save_executable(halftone::compile(load_model(options.model)), options.out);
  }
  fmt::print(console.out, "{}: {} for {}, compiled in {}\n", detail::escaped(options.out),
             detail::bytes_text(std::filesystem::file_size(options.out)), instruction_set(),
             duration(seconds_since(start)));
}

}  // namespace halftone::cli
