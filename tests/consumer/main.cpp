// A program of somebody else's, linked with the installed library.
#include <halftone/halftone.hpp>
#include <string_view>

int main() {
  try {
    halftone::fail(halftone::ErrorKind::model, {.what = "thrown in the library"});
  } catch (const halftone::ModelError& error) {  // the class is one on both sides
    return error.reason() == std::string_view("thrown in the library") ? 0 : 1;
  }
}
