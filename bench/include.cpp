// Compile time of the umbrella header, which every user pays: seconds of processor time of the
// compiler for a file that only includes it. Arguments: the folder of the headers (include).
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

double used_by_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double compile(const std::string& compiler, const std::string& folder, const char* header) {
  const std::string source = "/tmp/halftone-include-bench.cpp";
  std::ofstream(source) << "#include <" << header << ">\n";
  const std::string command =
      compiler + " -std=c++20 -O2 -I" + folder + " -c " + source + " -o /dev/null";
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = used_by_children();
    if (std::system(command.c_str()) != 0) return -1;
    const double seconds = used_by_children() - begin;
    least = seconds < least ? seconds : least;
  }
  std::remove(source.c_str());
  return least;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : "include";
  const char* named = std::getenv("CXX");
  const std::string compiler = named != nullptr ? named : "g++";
  for (const char* header : {"vector", "string", "halftone/halftone.hpp"}) {
    std::printf("#include <%s>%*s %.2f s\n", header,
                static_cast<int>(24 - std::string(header).size()), "",
                compile(compiler, folder, header));
  }
}
