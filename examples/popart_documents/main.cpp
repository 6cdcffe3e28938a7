// popart_documents [PART...]: runs the examples of PopART's documents; all parts, or those that are named.
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "documents.hpp"

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> parts{
      {"executing", executing}, {"importing", importing}, {"operators", operators}};
  for (int i = 1; i < argc; ++i) {
    if (parts.count(argv[i]) != 0) continue;
    std::fprintf(stderr,
                 "popart_documents: no part '%s'; there are executing, importing, operators\n",
                 argv[i]);
    return 2;
  }
  for (const char* name : {"importing", "executing", "operators"}) {
    bool isWanted = argc == 1;
    for (int i = 1; i < argc; ++i) isWanted = isWanted || std::string(argv[i]) == name;
    if (!isWanted) continue;
    std::printf("%s\n", name);
    parts.at(name)();
  }
}
