// Writes the models that bench/versus measures: bench-zoo FOLDER [NAME...]. Without a folder it lists them.
#include "zoo.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>

using namespace halftone;

int main(int count, char** arguments) {
  const std::vector<zoo::Model> models = zoo::models();
  if (count < 2) {
    for (const zoo::Model& model : models) std::puts(model.name.c_str());
    return 0;
  }
  const std::span<char*> wanted(arguments + 2, arguments + count);
  for (const zoo::Model& model : models) {
    const bool is_wanted =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), model.name) != wanted.end();
    if (!is_wanted) continue;
    // The writer gives variables the values of their rules.
    onnx::save(Session(model.make()).graph(),
               std::string(arguments[1]) + "/" + model.name + ".onnx");
  }
}
