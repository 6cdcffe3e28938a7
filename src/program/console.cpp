#include "program/console.hpp"

#include <halftone/base/error.hpp>

namespace halftone::program {

void flush(const Console& console) {
  if (std::fflush(console.out) != 0 || std::ferror(console.out) != 0) {
    fail(ErrorKind::io, {.what = "standard output cannot be written"});
  }
}

}  // namespace halftone::program
