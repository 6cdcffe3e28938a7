#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <halftone/base/error.hpp>
#include <halftone/exec/ranks.hpp>

namespace halftone {
namespace {

constexpr const char* library_name = "libhalftone-mpi.so";

std::atomic<const Ranks*> launched{nullptr};

/// Beside this library, else where the system looks.
void* open_library() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<void*>(&launched_ranks), &own) != 0 && own.dli_fname != nullptr) {
    const auto folder = std::filesystem::path(own.dli_fname).parent_path();
    // Open MPI's own plug-ins look for its names among the global ones.
    void* const library = ::dlopen((folder / library_name).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library != nullptr) return library;
  }
  return ::dlopen(library_name, RTLD_NOW | RTLD_GLOBAL);
}

[[noreturn]] void refuse_library(const char* what, const std::string& found) {
  fail(ErrorKind::unsupported,
       {.what = what,
        .expected = library_name,
        .found = found,
        .hint = "install libopenmpi-dev and openmpi-bin, and build Halftone again with them"});
}

const Ranks* connect_launched() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr || std::atoi(size) <= 1) return nullptr;
  void* const library = open_library();
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    refuse_library(
        "mpirun has started several ranks, and the library that connects them is missing",
        reason != nullptr ? reason : "");
  }
  using World = const Ranks* (*)(const char* version);
  const auto world = reinterpret_cast<World>(::dlsym(library, "halftone_mpi_world"));
  const Ranks* const ranks = world != nullptr ? world(HALFTONE_VERSION) : nullptr;
  if (ranks == nullptr) refuse_library("the library that connects ranks is another version's", "");
  launched = ranks;
  return ranks;
}

}  // namespace

const Ranks* launched_ranks() {
  static const Ranks* const ranks = connect_launched();
  return ranks;
}

void abort_launched_ranks(int status) {
  const Ranks* const ranks = launched;
  if (ranks != nullptr && ranks->ranks > 1) ranks->abort(ranks->self, status);
}

}  // namespace halftone
