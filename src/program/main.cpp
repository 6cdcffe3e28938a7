#include <csignal>

#include "program/commands.hpp"

int main(int argc, char** argv) {
  // A reader that goes away is an error like any other when writing.
  std::signal(SIGPIPE, SIG_IGN);
  return halftone::program::run_program({argv + 1, argv + argc}, {});
}
