#include "cli/console.hpp"

#include <poll.h>

#include <halftone/base/error.hpp>

namespace halftone::cli {
namespace {

/// Whether the file is a pipe that nobody reads any more.
bool is_broken_pipe(std::FILE* file) {
  pollfd state{.fd = fileno(file), .events = POLLOUT, .revents = 0};
  return poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

}  // namespace

void flush(const Console& console) {
  const bool is_written = std::fflush(console.out) == 0 && std::ferror(console.out) == 0;
  if (!is_written && !is_broken_pipe(console.out)) {
    fail(ErrorKind::io, {.what = "standard output cannot be written"});
  }
}

RankConsole::RankConsole(const Console& console, int rank)
    : nowhere_(rank == 0 ? nullptr : std::fopen("/dev/null", "w"), &std::fclose),
      console_(console) {
  if (rank == 0) return;
  if (nowhere_ == nullptr) fail(ErrorKind::io, {.what = "/dev/null cannot be opened"});
  console_ = {nowhere_.get(), nowhere_.get()};
}

}  // namespace halftone::cli
