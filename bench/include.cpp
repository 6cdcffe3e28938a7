// Compile time: seconds of processor time of the compiler for a file that only includes a header, which
// every user of it pays, and for typed models. Arguments: the folder of the headers (include).
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

double compile(const std::string& compiler, const std::string& folder, const std::string& text) {
  const std::string source = "/tmp/halftone-include-bench.cpp";
  std::ofstream(source) << text;
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

constexpr const char* model_begin =
    "#include <halftone/halftone.hpp>\n"
    "using namespace halftone;\n"
    "void model(Graph& g) {\n"
    "  auto x0 = input<float, Shape<4, 8>>(g, \"x\");\n"
    "  auto w = parameter<float, Shape<8, 8>>(g, \"w\");\n";

/// A straight line of operators on few shapes.
std::string repeated_shapes(int operators) {
  std::string text = model_begin;
  const std::string forms[] = {"op::matmul(#, w)", "op::relu(#)", "# + #", "op::softmax(#)"};
  for (int i = 0; i < operators; ++i) {
    text += "  auto x" + std::to_string(i + 1) + " = ";
    for (const char c : forms[i % 4]) {
      text += c == '#' ? "x" + std::to_string(i) : std::string(1, c);
    }
    text += ";\n";
  }
  return text + "}\n";
}

/// The same, each layer of another width.
std::string distinct_shapes(int operators) {
  std::string text = model_begin;
  for (int i = 0; i < operators; ++i) {
    const std::string x = "x" + std::to_string(i), width = std::to_string(8 + i / 2);
    const std::string next = std::to_string(9 + i / 2);
    text += "  auto x" + std::to_string(i + 1) + " = ";
    text += i % 2 != 0 ? "op::relu(" + x + ");\n"
                       : "op::matmul(" + x + ", parameter<float, Shape<" + width + ", " + next +
                             ">>(g, \"w\"));\n";
  }
  return text + "}\n";
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : "include";
  const char* named = std::getenv("CXX");
  const std::string compiler = named != nullptr ? named : "g++";
  const auto show = [&](const std::string& name, const std::string& text) {
    std::printf("%-34s %.2f s\n", name.c_str(), compile(compiler, folder, text));
  };
  for (const std::string header : {"vector", "string", "halftone/halftone.hpp"}) {
    const std::string line = "#include <" + header + ">";
    show(line, line + "\n");
  }
  show("1,000 typed operators", repeated_shapes(1000));
  show("100 typed operators, 50 widths", distinct_shapes(100));
}
