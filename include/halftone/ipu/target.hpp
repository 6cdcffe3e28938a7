#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/element_type.hpp>
#include <halftone/base/error.hpp>
#include <halftone/base/text.hpp>

/// The machine that is emulated: what it is made of, what things cost, how work is planned on it.
/// Usable without sessions and models. Cycles are tile clock cycles.
namespace halftone::ipu {

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// An IPU, or several of one kind. Plain numbers: copy one of those below and change it.
struct Target {
  Text name{};
  Text version{"ipu2"};  ///< Poplar's: ipu1, ipu2, ipu21
  std::int64_t ipus = 1;
  std::int64_t tiles_per_ipu = 1472;
  std::int64_t worker_contexts = 6;
  std::int64_t bytes_per_tile = 638'976;
  std::int64_t interleaved_bytes = 425'984;  ///< of them in region 1, which loads 16 B a cycle
  double clock_hz = 1.325e9;
  std::int64_t tiles_per_super_tile = 2;  ///< neighbours that share an exchange bus

  // Convolution units of a tile, by element types of inputs and partial sums.
  std::int64_t half_half_units = 16, half_float_units = 8, float_float_units = 16,
               float8_half_units = 0;
  std::int64_t half_elements_per_unit = 4, float_elements_per_unit = 2,
               float8_elements_per_unit = 0;
  std::int64_t convolution_pipeline_depth = 4;
  std::int64_t coefficient_bytes_per_cycle = 8;  ///< 16 with weights in region 1

  std::int64_t exchange_bytes_per_cycle = 4;
  std::int64_t copy_bytes_per_cycle = 8;
  std::int64_t instruction_bytes = 4;
  std::int64_t exchange_setup_cycles = 200;  ///< of a phase, before the first byte
  std::int64_t launch_cycles = 37;           ///< of a compute set on a tile
  std::int64_t sync_cycles = 126;            ///< on one IPU
  std::int64_t global_sync_cycles = 600;     ///< between IPUs, at least

  double link_bytes_per_second = 14.6e9;  ///< each way, each link
  std::int64_t parallel_links = 4;
  double link_latency_seconds = 15e-9;  ///< each way and hop
  double host_bytes_per_second = 7e9;
  std::int64_t host_latency_cycles = 50'000;
  double streaming_bytes_per_second = 20e9;
  double streaming_latency_seconds = 1.5e-6;

  constexpr std::int64_t tiles() const { return ipus * tiles_per_ipu; }
  constexpr std::int64_t bytes_per_ipu() const { return tiles_per_ipu * bytes_per_tile; }
  /// Elements of that type that an instruction works on.
  constexpr std::int64_t vector_width(ElementType type) const {
    const int bytes = size_in_bytes(type);
    if (!is_floating_point(type)) return 1;
    return bytes == 4 ? 2 : bytes == 2 ? 4 : bytes == 1 ? 8 : 1;
  }
  constexpr std::int64_t units(ElementType input, ElementType partials) const {
    const int bytes = size_in_bytes(input);
    if (bytes == 1) return float8_half_units;
    if (bytes == 4) return float_float_units;
    return size_in_bytes(partials) == 2 ? half_half_units : half_float_units;
  }
  /// Multiply-accumulates of a tile's matrix units in a cycle.
  constexpr std::int64_t macs_per_cycle(ElementType input, ElementType partials) const {
    const int bytes = size_in_bytes(input);
    // The units' float loop sustains one element a cycle, not the two that it is fed.
    const std::int64_t elements = bytes == 1   ? float8_elements_per_unit
                                  : bytes == 2 ? half_elements_per_unit
                                               : float_elements_per_unit / 2;
    return units(input, partials) * elements;
  }
  /// Floating-point operations a second of all tiles' matrix units, an accumulate counted as two.
  constexpr double peak_flops(ElementType input, ElementType partials) const {
    return 2.0 * static_cast<double>(tiles() * macs_per_cycle(input, partials)) * clock_hz;
  }
  constexpr double seconds(std::int64_t cycles) const {
    return static_cast<double>(cycles) / clock_hz;
  }
  constexpr Target with_ipus(std::int64_t count) const {
    Target t = *this;
    t.ipus = count;
    return t;
  }
  constexpr Target with_tiles(std::int64_t count) const {
    Target t = *this;
    t.tiles_per_ipu = count;
    return t;
  }

  /// Throws UsageError unless numbers of IPUs and tiles and all rates make sense: 1 to 64 IPUs,
  /// 1 to 65536 tiles.
  void check() const {
    const auto refuse = [&](std::string_view what, std::string_view expected) {
      fail(ErrorKind::usage, {.what = what, .tensor = name.view(), .expected = expected});
    };
    if (ipus < 1 || ipus > 64) {
      refuse("the number of IPUs is out of range", "1 to 64");
    }
    if (tiles_per_ipu < 1 || tiles_per_ipu > 65'536) {
      refuse("the number of tiles per IPU is out of range", "1 to 65536");
    }
    if (bytes_per_tile < 4096 || bytes_per_tile > (std::int64_t{1} << 32) || worker_contexts < 1 ||
        worker_contexts > 64 || !(clock_hz >= 1) || exchange_bytes_per_cycle < 1 ||
        copy_bytes_per_cycle < 1 || coefficient_bytes_per_cycle < 1 ||
        !(link_bytes_per_second > 0) || parallel_links < 1 || !(host_bytes_per_second > 0) ||
        !(streaming_bytes_per_second > 0) || float_float_units < 1 || half_half_units < 1 ||
        half_float_units < 1 || half_elements_per_unit < 1 || float_elements_per_unit < 2) {
      fail(ErrorKind::usage, {.what = "a number of the machine is out of range",
                              .tensor = name.view(),
                              .hint = "start from one of the known machines"});
    }
  }
};

// Sources: poplibs' registered vertices and estimators; Graphcore's data sheets; arXiv 1912.03413.
inline constexpr Target gc200{.name = "gc200"};
inline constexpr Target bow = [] {
  Target t = gc200;
  t.name = "bow";
  t.clock_hz = 1.85e9;
  return t;
}();
inline constexpr Target c600 = [] {
  Target t = gc200;
  t.name = "c600";
  t.version = "ipu21";
  t.clock_hz = 1.5e9;  // weak: one secondary mention
  t.float8_half_units = 16;
  t.float8_elements_per_unit = 8;
  return t;
}();
inline constexpr Target gc2 = [] {
  Target t = gc200;
  t.name = "gc2";
  t.version = "ipu1";
  t.tiles_per_ipu = 1216;
  t.bytes_per_tile = 262'144;
  t.interleaved_bytes = 131'072;
  t.clock_hz = 1.6e9;
  t.half_half_units = t.half_float_units = t.float_float_units = 8;
  t.sync_cycles = 166;
  t.global_sync_cycles = 500;
  return t;
}();

/// The machine of that name, in lower case; null if there is none.
constexpr const Target* find_target(std::string_view name) {
  for (const Target* t : {&gc2, &gc200, &bow, &c600}) {
    if (t->name == name) return t;
  }
  return nullptr;
}

}  // namespace halftone::ipu
