#include "initial.hpp"

#include <cmath>
#include <numbers>

#include <halftone/base/element_type.hpp>
#include <halftone/base/error.hpp>

namespace halftone {
namespace {

/// SplitMix64 (Steele, Lea and Flood 2014): a good hash of a counter.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// In (0, 1).
double unit(std::uint64_t seed, std::uint64_t counter) {
  return (static_cast<double>(mixed(seed ^ mixed(counter)) >> 11) + 0.5) * 0x1p-53;
}

/// Numbers of inputs and outputs of one unit, as for a dense layer [in, out] or a convolution
/// [out, in, spatial...].
std::pair<double, double> fans(const Dims& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double window = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) window *= static_cast<double>(shape[i]);
  const auto a = static_cast<double>(shape[0]), b = static_cast<double>(shape[1]);
  return {window * b, window * a};
}

double value(const Initial& initial, const Dims& shape, std::uint64_t seed, std::uint64_t i) {
  switch (initial.rule) {
    case Initial::Rule::data:
    case Initial::Rule::fill:
      return initial.a;
    case Initial::Rule::normal: {
      // Box and Muller 1958, one of the pair.
      const double radius = std::sqrt(-2 * std::log(unit(seed, 2 * i)));
      return initial.a +
             initial.b * radius * std::cos(2 * std::numbers::pi * unit(seed, 2 * i + 1));
    }
    case Initial::Rule::uniform:
      return initial.a + (static_cast<double>(initial.b) - initial.a) * unit(seed, i);
    case Initial::Rule::glorot: {
      const auto [in, out] = fans(shape);
      return std::sqrt(6 / (in + out)) * (2 * unit(seed, i) - 1);
    }
  }
  return 0;
}

}  // namespace

void initialize_variables(Graph& graph, std::uint64_t seed) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    TensorRecord& t = graph.tensors[id];
    if (!is_variable(t) || t.data.size() != 0 || t.info.bytes() == 0) continue;
    if (!t.info.is_static()) {
      fail(ErrorKind::model, {.what = "a variable's shape is not known",
                              .tensor = graph.name(static_cast<TensorId>(id))});
    }
    std::uint64_t own = seed;
    for (const char c : graph.name(static_cast<TensorId>(id))) {
      own = mixed(own ^ static_cast<unsigned char>(c));
    }
    const auto bytes = static_cast<std::size_t>(t.info.bytes());
    Storage storage = Storage::allocate(bytes);
    visit_type<NumericTypes>(t.info.type, [&]<class T>() {
      auto* data = reinterpret_cast<T*>(storage.data());
      for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
        data[i] = static_cast<T>(value(t.initial, t.info.shape, own, i));
      }
    });
    const std::byte* data = storage.data();
    t.data = Bytes(std::move(storage), data, bytes);
  }
}

}  // namespace halftone
