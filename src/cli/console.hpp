#pragma once

#include <cstdio>

namespace halftone::cli {

/// Where a command writes: results to `out`, progress and messages to `err`.
struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
};

/// Throws IoError if not all that was printed to `out` has arrived, unless nobody wants it any more:
/// a reader such as `head` may close a pipe.
void flush(const Console& console);

}  // namespace halftone::cli
