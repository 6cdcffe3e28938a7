#include <halftone/kernel/abort.hpp>

#include <halftone/base/error.hpp>

void halftone_abort() {
  halftone::fail(halftone::ErrorKind::input, {.what = "the model stops the program",
                                              .hint = "an Abort in it has met its condition"});
}
