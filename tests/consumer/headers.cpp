// A program of somebody else's that links nothing and is built without exceptions.
#include <halftone/base/bfloat16.hpp>
#include <halftone/base/half.hpp>

int main() {
  const halftone::half h{1.5F};
  const halftone::bfloat16 b{1.5F};
  return static_cast<float>(h) == static_cast<float>(b) ? 0 : 1;
}
