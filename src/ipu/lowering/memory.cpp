#include "ipu/lowering/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/describe.hpp"

namespace halftone::ipu {

namespace {

/// Calls f(number of the tile, bytes there) for each tile that holds a part of a variable.
void for_each_tile(const Report& report, const Variable& v, auto&& f) {
  const std::int64_t first = v.ipu * report.target.tiles_per_ipu;
  v.mapping.for_each_piece([&](std::int64_t tile, std::int64_t elements) {
    f(static_cast<std::size_t>(first + tile), divide_up(elements * v.element_bytes, 8) * 8);
  });
}

}  // namespace

void lay_out_memory(Report& report) {
  const Target& t = report.target;
  const auto tiles = static_cast<std::size_t>(t.tiles());
  const std::size_t steps = std::max<std::size_t>(report.steps.size(), 1);
  std::vector<std::vector<const Variable*>> begins(steps), ends(steps);
  for (const Variable& v : report.variables) {
    if (v.is_always_live) {
      for_each_tile(report, v, [&](std::size_t tile, std::int64_t bytes) {
        report.memory[tile][static_cast<std::size_t>(v.category)] += bytes;
      });
      continue;
    }
    begins[static_cast<std::size_t>(v.first_step)].push_back(&v);
    ends[static_cast<std::size_t>(v.last_step)].push_back(&v);
  }
  std::vector<std::int64_t> live(tiles);
  report.peak_step.assign(tiles, 0);
  report.live_bytes.assign(steps, 0);
  std::int64_t total = 0;
  const auto add = [&](const Variable& v, std::int64_t sign) {
    for_each_tile(report, v, [&](std::size_t tile, std::int64_t bytes) {
      live[tile] += sign * bytes;
      total += sign * bytes;
    });
  };
  constexpr auto temporaries = static_cast<std::size_t>(Category::temporaries);
  for (std::size_t s = 0; s < steps; ++s) {
    std::set<std::int32_t> grown;
    for (const Variable* v : begins[s]) {
      add(*v, 1);
      grown.insert(v->ipu);
    }
    for (const std::int32_t ipu : grown) {
      const auto first = static_cast<std::size_t>(ipu * t.tiles_per_ipu);
      for (std::size_t i = first; i < first + static_cast<std::size_t>(t.tiles_per_ipu); ++i) {
        if (live[i] <= report.memory[i][temporaries]) continue;
        report.memory[i][temporaries] = live[i];
        report.peak_step[i] = static_cast<std::int32_t>(s);
      }
    }
    report.live_bytes[s] = total;
    for (const Variable* v : ends[s]) add(*v, -1);
  }
}

void throw_out_of_memory(const Report& report) {
  const auto text = [](std::int64_t bytes) {
    return halftone::detail::bytes_text(static_cast<std::uint64_t>(bytes));
  };
  const std::int64_t tile = report.fullest_tile();
  const std::int32_t at = report.peak_step[static_cast<std::size_t>(tile)];
  const std::int64_t need = report.tile_bytes(tile), there = report.target.bytes_per_tile;
  std::string what =
      fmt::format("out of tile memory: tile {} needs {} of {}", tile, text(need), text(there));
  what += fmt::format("\nalways live\t{}, temporary {}", text(report.always_live_bytes(tile)),
                      text(need - report.always_live_bytes(tile)));
  std::string step = fmt::format("{}", at);
  std::string node;
  if (at < static_cast<std::int32_t>(report.steps.size())) {
    const Step& s = report.steps[static_cast<std::size_t>(at)];
    if (const Operation* o = report.operation_of(s)) {
      node = fmt::format("{} {}", o->type, halftone::detail::quoted(o->name));
      step += fmt::format(", {} of {}", name(s.kind), node);
    }
  }
  what += "\npeak at step\t" + step;
  const std::vector<std::int32_t> variables = report.live_variables(tile, at);
  for (std::size_t i = 0; i < variables.size() && i < 10; ++i) {
    const Variable& v = report.variables[static_cast<std::size_t>(variables[i])];
    what += fmt::format(
        "\n{}\t{} {}, {}", i == 0 ? "largest" : "",
        text(v.on_tile(tile % report.target.tiles_per_ipu)), halftone::detail::quoted(v.name),
        v.is_always_live ? std::string("always live")
                         : fmt::format("live in steps {}..{}", v.first_step, v.last_step));
  }
  what += fmt::format("\nother tiles\t{} of {} are too full as well",
                      report.tiles_out_of_memory() - 1, report.target.tiles());
  const std::int64_t all = report.bytes();
  std::string hint = all > report.target.tiles() * there
                         ? "the whole model is larger than all tiles: more IPUs, a smaller batch "
                           "or half instead of float"
                         : "a smaller batch, half instead of float, a smaller "
                           "available_memory_proportion, or more IPUs";
  hint += "; allow_out_of_memory reports it all the same";
  fail(ErrorKind::memory, {.what = what,
                           .node = node,
                           .expected = fmt::format("{} bytes", there),
                           .found = fmt::format("{} bytes", need),
                           .hint = hint});
}

}  // namespace halftone::ipu
