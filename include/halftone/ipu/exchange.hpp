#pragma once

#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of data on their way: between tiles, IPUs, the host and streaming memory.
namespace halftone::ipu {

namespace detail {
constexpr std::int64_t ceil_cycles(double cycles) {
  const auto whole = static_cast<std::int64_t>(cycles);
  return whole + (static_cast<double>(whole) < cycles ? 1 : 0);
}
}  // namespace detail

/// A tile's bytes over the exchange; twice as fast where both tiles of a pair get the same ones.
constexpr std::int64_t exchange_cycles(const Target& t, std::int64_t bytes,
                                       bool is_shared = false) {
  const std::int64_t rate = t.exchange_bytes_per_cycle * (is_shared ? t.tiles_per_super_tile : 1);
  return divide_up(bytes, rate);
}

/// How far apart IPUs are at most: ladder routing over pairs.
constexpr std::int64_t link_hops(std::int64_t ipus) { return 1 + ipus / 2 / 2; }

/// All IPUs wait for each other. source: poplibs' test tools.
constexpr std::int64_t global_sync_cycles(const Target& t) {
  const double latency = 2 * t.link_latency_seconds * static_cast<double>(link_hops(t.ipus));
  const std::int64_t cycles = detail::ceil_cycles(latency * t.clock_hz);
  return t.global_sync_cycles > cycles ? t.global_sync_cycles : cycles;
}

/// Bytes from one IPU to another, without the sync.
constexpr std::int64_t link_cycles(const Target& t, std::int64_t bytes) {
  const double rate = t.link_bytes_per_second * static_cast<double>(t.parallel_links);
  const double latency = 2 * t.link_latency_seconds * static_cast<double>(link_hops(t.ipus));
  return detail::ceil_cycles((latency + static_cast<double>(bytes) / rate) * t.clock_hz);
}

/// Bytes between host and device, of which the fullest tile has so many; without latency.
constexpr std::int64_t host_cycles(const Target& t, std::int64_t bytes, std::int64_t on_tile) {
  const std::int64_t link =
      detail::ceil_cycles(static_cast<double>(bytes) / t.host_bytes_per_second * t.clock_hz);
  const std::int64_t tile = exchange_cycles(t, on_tile);
  return link > tile ? link : tile;
}

/// The shares of the host's cycles that a run waits for.
struct HostShares {
  double inputs = 1, outputs = 1;
};

/// The part of the transfers between host and tiles that a run waits for: `inputs` and `outputs` cycles, beside
/// `rest` cycles of other work. With prefetch, inputs are ready on the host since the run before; with
/// tiles for the host (`has_io_tiles`) outputs go beside the work as well, both ways at once. Either
/// hides what takes no longer than the rest.
constexpr HostShares host_shares(double inputs, double outputs, double rest, bool prefetch,
                                 bool has_io_tiles) {
  if (!prefetch && !has_io_tiles) return {};
  const bool is_in = !has_io_tiles || inputs >= outputs;
  const double host = is_in ? inputs : outputs;
  const double beside = has_io_tiles ? rest : rest + outputs;
  const double share = host > beside ? (host - beside) / host : 0;
  return {.inputs = is_in ? share : 0, .outputs = !has_io_tiles ? 1 : is_in ? 0 : share};
}

/// Bytes between one IPU and its streaming memory.
constexpr std::int64_t streaming_cycles(const Target& t, std::int64_t bytes) {
  return detail::ceil_cycles(
      (t.streaming_latency_seconds + static_cast<double>(bytes) / t.streaming_bytes_per_second) *
      t.clock_hz);
}

/// Parts of B bytes go round the ring of `replicas`, one part in each of its steps.
constexpr std::int64_t ring_steps(std::int64_t replicas, std::int64_t rounds) {
  return replicas < 2 ? 0 : rounds * (replicas - 1);
}

/// All of `replicas` add up B bytes each: a ring of reduce-scatter and all-gather.
constexpr std::int64_t all_reduce_cycles(const Target& t, std::int64_t bytes,
                                         std::int64_t replicas) {
  if (replicas < 2) return 0;
  return ring_steps(replicas, 2) *
         (link_cycles(t, divide_up(bytes, replicas)) + global_sync_cycles(t));
}

}  // namespace halftone::ipu
