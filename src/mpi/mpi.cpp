#include <halftone/mpi.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>

namespace halftone::mpi {
namespace {

void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int size = 0;
  MPI_Error_string(status, text, &size);
  fail(ErrorKind::io, {.what = "the other ranks cannot be reached",
                       .found = std::string_view(text, static_cast<std::size_t>(size))});
}

void all_gather(void* /*self*/, const void* block, std::size_t bytes, void* all) {
  // MPI counts with int.
  constexpr std::size_t most = std::size_t{1} << 30;
  if (bytes <= most) {
    const int count = static_cast<int>(bytes);
    check(MPI_Allgather(block, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD));
    return;
  }
  int ranks = 1;
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  std::vector<std::byte> pieces;
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t size = std::min(most, bytes - at);
    pieces.resize(size * static_cast<std::size_t>(ranks));
    all_gather(nullptr, static_cast<const std::byte*>(block) + at, size, pieces.data());
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
      std::memcpy(static_cast<std::byte*>(all) + r * bytes + at, pieces.data() + r * size, size);
    }
  }
}

void abort(void* /*self*/, int status) { MPI_Abort(MPI_COMM_WORLD, status); }

void finish() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over == 0) MPI_Finalize();
}

Ranks start() {
  int is_started = 0, provided = 0;
  check(MPI_Initialized(&is_started));
  if (is_started == 0) {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    std::atexit(&finish);
  } else {
    check(MPI_Query_thread(&provided));
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    fail(ErrorKind::unsupported,
         {.what = "MPI does not let several threads of a process call it",
          .expected = "MPI_THREAD_SERIALIZED",
          .hint = "start it with MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...)"});
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Ranks ranks{.all_gather = &all_gather, .abort = &abort};
  check(MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks.ranks));
  return ranks;
}

}  // namespace

const Ranks& world() {
  static const Ranks ranks = start();
  return ranks;
}

}  // namespace halftone::mpi

/// What launched_ranks() calls; null: the library and its caller are not of one version.
extern "C" [[gnu::visibility("default")]] const halftone::Ranks* halftone_mpi_world(
    const char* version) {
  return std::strcmp(version, HALFTONE_VERSION) == 0 ? &halftone::mpi::world() : nullptr;
}
