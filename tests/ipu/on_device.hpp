#pragma once

#include <functional>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/target.hpp>

#include "types.hpp"

/// Sessions with the machine's arithmetic, on machines of few tiles.
namespace on_device_test {

using namespace halftone;

using ipu_test::f16;
using ipu_test::f32;

template <class T>
Array<T> numbers(const Dims& shape, const std::function<float(std::int64_t)>& f) {
  Array<T> x(shape);
  for (std::size_t i = 0; i < x.values().size(); ++i) {
    x.values()[i] = static_cast<T>(f(static_cast<std::int64_t>(i)));
  }
  return x;
}
/// Small integers: any order of summation gives their exact sums.
inline float small(std::int64_t i) { return static_cast<float>((i * 7 + i / 5) % 5 - 2); }

inline SessionOptions on_device(const ipu::Arithmetic& arithmetic,
                                const ipu::Target* target = nullptr, bool half_partials = false) {
  SessionOptions options;
  options.device = Device::ipu_model;
  options.ipu.target = target;
  options.ipu.half_partials = half_partials;
  options.ipu.arithmetic = arithmetic;
  options.ipu.profiling = false;
  return options;
}

inline std::vector<float> floats(const AnyView& view) {
  std::vector<float> list;
  visit_type<FloatTypes>(view.info.type, [&]<class T>() {
    for (const T v : view.values<T>()) list.push_back(static_cast<float>(v));
  });
  return list;
}

inline const ipu::Target few = ipu::gc200.with_tiles(4), one = ipu::gc200.with_tiles(1);

}  // namespace on_device_test
