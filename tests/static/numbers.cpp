// Prints a hash of the bits of each output and variable of a model after some runs: of MODEL by the
// compiler's program or, with SESSION ("MODEL(one) MODEL(other)"), by the library of the model that
// the first argument names; it writes the model to the file that the second names first.
#include <cstdio>
#include <cstring>
#include <string>

#include "models.hpp"

#ifdef SESSION
#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>
#endif

namespace {

#ifndef RUNS
#define RUNS 20
#endif
constexpr int runs = RUNS;
static_assert(runs > 0);

void print(std::string_view kind, std::string_view name, const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  }
  std::printf("%.*s %.*s %016llx\n", static_cast<int>(kind.size()), kind.data(),
              static_cast<int>(name.size()), name.data(), static_cast<unsigned long long>(hash));
}

/// Halves and quarters between -2 and 2, other ones for each run; labels from 0 to 9.
struct Data {
  float x[1024];
  std::int32_t label[8];

  explicit Data(int run) {
    std::uint32_t state = 12345u + static_cast<std::uint32_t>(run);
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
    for (float& v : x) v = static_cast<float>(next() % 1001) / 250.f - 2;
    for (std::int32_t& v : label) v = static_cast<std::int32_t>(next() % 10);
  }
};

}  // namespace

#ifdef SESSION

namespace {

template <class Model>
int run(const char* save) {
  Graph graph;
  Model::build(graph);
  if (save) onnx::save(graph, save);
  Session session(std::move(graph));
  for (int run = 0; run < runs; ++run) {
    const Data data(run);
    std::vector<Input> inputs;
    for (const Port& port : session.inputs()) {
      const void* const from = port.name == "x" ? static_cast<const void*>(data.x) : data.label;
      inputs.emplace_back(port.name, AnyView{port.info, const_cast<void*>(from)});
    }
    const Result result = session.run(inputs);
    if (run + 1 < runs) continue;
    for (std::size_t i = 0; i < result.size(); ++i) {
      print("output", result.name(i), result[i].data,
            static_cast<std::size_t>(result[i].info.bytes()));
    }
  }
  for (const Port& port : session.variables()) {
    const AnyView value = session.get(port.name);
    print("variable", port.name, value.data, static_cast<std::size_t>(value.info.bytes()));
  }
  return 0;
}

}  // namespace

int main(int, char** arguments) {
#define MODEL(name) \
  if (std::strcmp(arguments[1], #name) == 0) return run<name>(arguments[2]);
  SESSION
  return 2;
}

#else

namespace {

Static<MODEL> program;

void run(const Data& data) {
  const auto size = [](std::size_t input) {
    return static_cast<std::size_t>(program.input_info(input).elements());
  };
  const std::span<const float> x(data.x, size(0));
  if constexpr (program.inputs == 1) {
    program.run(x);
  } else {
    program.run(x, std::span<const std::int32_t>(data.label, size(1)));
  }
}

}  // namespace

int main() {
  for (int i = 0; i < runs; ++i) run(Data(i));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (print("output", program.output_name(I), program.output<I>().data(),
           program.output<I>().size_bytes()),
     ...);
  }(std::make_index_sequence<program.outputs>{});
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (print("variable", program.variable_name(I), program.variable<I>().data(),
           program.variable<I>().size_bytes()),
     ...);
  }(std::make_index_sequence<program.variables>{});
}

#endif
