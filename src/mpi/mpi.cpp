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

void all_to_all(void* /*self*/, const Ranks::Block* sent, const Ranks::Block* received) {
  constexpr std::size_t most = std::size_t{1} << 30;
  int rank = 0, ranks = 1;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  std::vector<MPI_Request> requests;
  const auto each_piece = [&](const Ranks::Block& block, auto&& post) {
    for (std::size_t at = 0; at < block.bytes; at += most) {
      requests.emplace_back();
      check(post(static_cast<std::byte*>(block.data) + at,
                 static_cast<int>(std::min(most, block.bytes - at)), &requests.back()));
    }
  };
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) continue;
    each_piece(received[r], [&](void* to, int bytes, MPI_Request* request) {
      return MPI_Irecv(to, bytes, MPI_BYTE, r, 0, MPI_COMM_WORLD, request);
    });
  }
  // Each begins with the rank behind it, so that they do not all send to one.
  for (int i = 1; i < ranks; ++i) {
    const int r = (rank + i) % ranks;
    each_piece(sent[r], [&](void* from, int bytes, MPI_Request* request) {
      return MPI_Isend(from, bytes, MPI_BYTE, r, 0, MPI_COMM_WORLD, request);
    });
  }
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
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
  Ranks ranks{.all_gather = &all_gather, .all_to_all = &all_to_all, .abort = &abort};
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
