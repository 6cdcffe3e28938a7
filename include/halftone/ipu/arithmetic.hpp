#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/base/half.hpp>

namespace halftone::ipu {

/// How the machine computes where cpu computes otherwise. Everything is off: as cpu.
///
/// With anything on, half is the machine's: products of half add up 16 elements at a time, the
/// sums between are kept in the chosen type of partial sums, every operator's result is narrowed
/// once, what is too large becomes +-65504, and floats are never subnormal. Results follow from
/// model, inputs, seed and machine, not from the host's threads.
struct Arithmetic {
  bool half = false;                 ///< just that
  bool stochastic_rounding = false;  ///< half is rounded up with the probability of what is cut off
  /// A run ends with a FloatingPointError at the first invalid operation, division by zero or
  /// overflow; half that is too large becomes NaN.
  bool floating_point_checks = false;
  /// Random operators draw as the hardware's vertices: numbers depend on the number of tiles.
  bool hardware_random = false;
  /// Exponents of scaled float8 casts outside [-32, 32) are an InputError, not the nearest.
  bool check_float8_scale = true;

  constexpr bool any() const {
    return half || stochastic_rounding || floating_point_checks || hardware_random;
  }
};

/// A run did what the machine traps.
class FloatingPointError : public InputError {
 public:
  FloatingPointError(const ErrorParts& parts, std::string_view exception)
      : InputError(parts), exception_(exception) {}
  /// "invalid operation", "division by zero" or "overflow".
  std::string_view exception() const noexcept { return exception_; }

 private:
  std::string_view exception_;  // a literal
};

/// The generator of a worker: xoroshiro128aox of Hanlon and Felix, arXiv:2203.04058.
struct Generator {
  std::uint64_t s0 = 0, s1 = 0;

  constexpr std::uint64_t next() {
    const std::uint64_t x = s0 ^ s1, both = s0 & s1;
    const std::uint64_t result = x ^ (std::rotl(both, 1) | std::rotl(both, 2));
    s0 = std::rotl(s0, 55) ^ x ^ (x << 14);
    s1 = std::rotl(x, 36);
    return result;
  }
  /// poplibs' setSeed: the state of a worker, of which 15 draws are dropped.
  static constexpr Generator of_seed(std::uint64_t seed, std::int64_t tile, std::int64_t worker,
                                     std::uint32_t modifier = 0) {
    const auto low = ((static_cast<std::uint32_t>(tile) * 16) ^ 0xaaaa'aaa0u) |
                     static_cast<std::uint32_t>(worker);
    Generator g{seed, std::uint64_t{modifier ^ 0x5555'5555u} << 32 | low};
    for (int i = 0; i < 15; ++i) g.next();
    return g;
  }
  /// What writing a word to a worker's seed register gives.
  static constexpr Generator of_word(std::uint32_t v) {
    const std::uint32_t w = ~v;
    return {std::uint64_t{w} << 32 | v,
            std::uint64_t{(w << 13) | (v >> 19)} << 32 | ((v << 13) | (w >> 19))};
  }
  friend constexpr bool operator==(const Generator&, const Generator&) = default;
};

/// The generators of a replica: of all workers of all tiles, and a second set that differs from
/// replica to replica.
class RandomState {
 public:
  RandomState(std::int64_t tiles, std::int64_t workers)
      : tiles_(tiles),
        workers_(workers),
        generators_(2 * static_cast<std::size_t>(tiles * workers)) {}

  std::int64_t tiles() const { return tiles_; }
  std::int64_t workers() const { return workers_; }
  void set_seed(std::uint64_t seed, std::uint64_t replica = 0) {
    for (std::size_t set = 0; set < 2; ++set) {
      for (std::int64_t tile = 0; tile < tiles_; ++tile) {
        for (std::int64_t worker = 0; worker < workers_; ++worker) {
          generators_[set * generators_.size() / 2 + index(tile, worker)] =
              Generator::of_seed(set == 0 ? seed : seed + replica, tile, worker);
        }
      }
    }
  }
  /// Of the set that is equal on all replicas.
  Generator& at(std::int64_t tile, std::int64_t worker) { return generators_[index(tile, worker)]; }

  /// PopART's layout: [2 (identical, differing)][tiles][workers][4], the low word of s0 first.
  std::vector<std::uint32_t> words() const {
    std::vector<std::uint32_t> list;
    list.reserve(generators_.size() * 4);
    for (const Generator& g : generators_) {
      for (const std::uint64_t s : {g.s0, g.s1}) {
        list.push_back(static_cast<std::uint32_t>(s));
        list.push_back(static_cast<std::uint32_t>(s >> 32));
      }
    }
    return list;
  }
  std::size_t word_count() const { return generators_.size() * 4; }
  /// As many as word_count().
  void set_words(std::span<const std::uint32_t> words) {
    const auto wide = [&](std::size_t i) { return std::uint64_t{words[i + 1]} << 32 | words[i]; };
    for (std::size_t i = 0; i < generators_.size(); ++i) {
      generators_[i] = {wide(4 * i), wide(4 * i + 2)};
    }
  }

 private:
  std::size_t index(std::int64_t tile, std::int64_t worker) const {
    return static_cast<std::size_t>(tile * workers_ + worker);
  }
  std::int64_t tiles_, workers_;
  std::vector<Generator> generators_;
};

/// What a float becomes as a half of the machine.
struct Narrowed {
  std::uint16_t bits = 0;
  bool has_overflowed = false;
};

namespace detail {

constexpr Narrowed narrowed(float x, std::uint32_t magnitude, bool nan_on_overflow) {
  const auto sign = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) >> 16) & 0x8000);
  if (magnitude <= 0x7bff) return {static_cast<std::uint16_t>(sign | magnitude), false};
  return {static_cast<std::uint16_t>(sign | (nan_on_overflow ? 0x7e00 : 0x7bff)), true};
}
constexpr bool is_nan(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7fff'ffff) > 0x7f80'0000;
}

}  // namespace detail

/// To nearest even. Too large: the largest half, or NaN; NaN stays NaN.
constexpr Narrowed narrow(float x, bool nan_on_overflow) {
  if (detail::is_nan(x)) return {0x7e00, false};
  return detail::narrowed(x, halftone::detail::float_to_half_bits(x) & 0x7fffu, nan_on_overflow);
}

/// Away from zero if 16 random bits are less than what would be cut off, towards zero otherwise:
/// right on average. What is a half stays what it is.
constexpr Narrowed narrow(float x, bool nan_on_overflow, std::uint16_t random) {
  if (detail::is_nan(x)) return {0x7e00, false};
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x) & 0x7fff'ffff;
  std::uint32_t magnitude = 0x7c00;
  if (u >= 0x3880'0000 && u < 0x4780'0000) {
    magnitude = (u >> 13) - (112u << 10) + (random < (u & 0x1fff) << 3 ? 1 : 0);
  } else if (u < 0x3880'0000) {
    // In units of the smallest half.
    const float units = std::bit_cast<float>(u) * 16'777'216.0f;
    magnitude = static_cast<std::uint32_t>(units);
    const float rest = units - static_cast<float>(magnitude);
    if (static_cast<float>(random) < rest * 65'536.0f) ++magnitude;
  }
  return detail::narrowed(x, magnitude, nan_on_overflow);
}

}  // namespace halftone::ipu
