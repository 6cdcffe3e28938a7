#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/target.hpp>

namespace halftone::ipu {

/// Elements in equal pieces on consecutive tiles, which go round at the last one: how a tensor lies
/// on an IPU. Piece i owns grains [i * grains / pieces, (i + 1) * grains / pieces).
struct Mapping {
  std::int64_t elements = 0, grain = 1, pieces = 0;
  std::int64_t first_tile = 0, tiles = 1;

  constexpr std::int64_t grains() const { return divide_up(elements, grain); }
  /// The first element of a piece; of piece number `pieces`: the number of elements.
  constexpr std::int64_t begin(std::int64_t piece) const {
    if (pieces == 0) return 0;
    return std::min(piece * grains() / pieces * grain, elements);
  }
  constexpr std::int64_t on_piece(std::int64_t piece) const {
    return begin(piece + 1) - begin(piece);
  }
  constexpr std::int64_t on_tile(std::int64_t tile) const {
    const std::int64_t piece = (tile - first_tile + tiles) % tiles;
    return piece < pieces ? on_piece(piece) : 0;
  }
  /// Calls f(tile, elements there) for each piece.
  constexpr void for_each_piece(auto&& f) const {
    const std::int64_t all = grains();
    std::int64_t tile = first_tile, first = 0;
    for (std::int64_t piece = 1; piece <= pieces; ++piece) {
      const std::int64_t end = std::min(piece * all / pieces * grain, elements);
      f(tile, end - first);
      first = end;
      tile = tile + 1 == tiles ? 0 : tile + 1;
    }
  }
  constexpr std::int64_t largest() const {
    return pieces == 0 ? 0 : std::min(divide_up(grains(), pieces) * grain, elements);
  }
  constexpr std::int64_t end_tile() const { return (first_tile + pieces) % tiles; }
  friend constexpr bool operator==(const Mapping&, const Mapping&) = default;
};

/// poplibs' default: at least 128 bytes a tile, whole vectors, as many tiles as that gives work.
constexpr Mapping linear_mapping(const Target& t, std::int64_t elements, ElementType type,
                                 std::int64_t first_tile = 0) {
  const std::int64_t bytes = std::max(size_in_bytes(type), 1);
  Mapping m{.elements = elements,
            .grain = t.vector_width(type),
            .pieces = 0,
            .first_tile = first_tile % t.tiles_per_ipu,
            .tiles = t.tiles_per_ipu};
  if (elements == 0) return m;
  const std::int64_t grains = m.grains();
  const std::int64_t least = divide_up(divide_up(128, bytes), m.grain);
  const std::int64_t most = std::max(divide_up(grains, t.tiles_per_ipu),
                                     divide_up(grains, std::max<std::int64_t>(1, grains / least)));
  m.pieces = divide_up(grains, most);
  return m;
}

/// The same elements over a given number of tiles.
constexpr Mapping spread_mapping(const Target& t, std::int64_t elements, std::int64_t over,
                                 std::int64_t first_tile = 0) {
  const std::int64_t pieces =
      std::max<std::int64_t>(std::min({over, t.tiles_per_ipu, elements}), elements > 0 ? 1 : 0);
  return {.elements = elements,
          .grain = 1,
          .pieces = pieces,
          .first_tile = first_tile % t.tiles_per_ipu,
          .tiles = t.tiles_per_ipu};
}

}  // namespace halftone::ipu
