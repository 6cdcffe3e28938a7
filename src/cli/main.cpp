#include <fcntl.h>

#include <csignal>

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  // A standard stream that is closed would lend its number to the next file that is opened, which
  // then got the messages. What stands in for it refuses them, as a closed one does.
  for (const int stream : {0, 1, 2}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
  // A reader that goes away is told by what printing returns; files are finished all the same.
  std::signal(SIGPIPE, SIG_IGN);
  return halftone::cli::run_program({argv + 1, argv + argc}, {});
}
