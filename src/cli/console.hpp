#pragma once

#include <cstdio>
#include <memory>

namespace halftone::cli {

/// Where a command writes: results to `out`, progress and messages to `err`.
struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
};

/// Throws IoError if not all that was printed to `out` has arrived, unless nobody wants it any more:
/// a reader such as `head` may close a pipe.
void flush(const Console& console);

/// The console of one of several ranks: the first one says how it goes, what the others print is
/// discarded.
class RankConsole {
 public:
  /// `console` is borrowed.
  RankConsole(const Console& console, int rank);
  const Console& console() const { return console_; }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere_;
  Console console_;
};

}  // namespace halftone::cli
