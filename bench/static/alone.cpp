// MODEL as a program of its own; prints its first result.
#include <cstdio>

#include "models.hpp"

static Static<MODEL> program;

int main() {
  static float x[1 << 16];
  for (int i = 0; i < 1 << 16; ++i) x[i] = static_cast<float>(i % 17) / 16;
  const auto of = [](std::size_t input) {
    return std::span<const float>(x,
                                  static_cast<std::size_t>(program.input_info(input).elements()));
  };
  if constexpr (program.inputs == 1) {
    program.run(of(0));
  } else {
    program.run(of(0), of(1));
  }
  std::printf("%g\n", static_cast<double>(program.output<0>()[0]));
}
