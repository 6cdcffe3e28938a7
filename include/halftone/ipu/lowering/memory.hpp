#pragma once

#include <algorithm>
#include <set>

#include <halftone/graph/describe.hpp>
#include <halftone/ipu/lowering/steps.hpp>

namespace halftone::ipu::detail {

/// Adds the variables of a report to its tiles' memory and follows what is live from step to step.
void lay_out_memory(Report& report);

/// Throws MemoryError with the fullest tile, its peak and its largest variables; `hint`: what to do,
/// if anybody knows better than this.
[[noreturn]] void throw_out_of_memory(const Report& report, std::string hint = {});

/// Calls f(number of the tile, bytes there) for each tile that holds a part of a variable.
inline void for_each_tile(const Report& report, const Variable& v, auto&& f) {
  const std::int64_t first = v.ipu * report.target.tiles_per_ipu;
  v.mapping.for_each_piece([&](std::int64_t tile, std::int64_t elements) {
    f(static_cast<std::size_t>(first + tile), divide_up(elements * v.element_bytes, 8) * 8);
  });
}

inline void lay_out_memory(Report& report) {
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

inline void throw_out_of_memory(const Report& report, std::string hint) {
  const auto text = [](std::int64_t bytes) {
    return halftone::detail::bytes_text(static_cast<std::uint64_t>(bytes));
  };
  const std::int64_t tile = report.fullest_tile();
  const std::int32_t at = report.peak_step[static_cast<std::size_t>(tile)];
  const std::int64_t need = report.tile_bytes(tile), there = report.target.bytes_per_tile;
  std::string what = joined({"out of tile memory: tile ", std::to_string(tile), " needs ",
                             text(need), " of ", text(there)});
  const std::int64_t always = report.always_live_bytes(tile);
  what += joined({"\nalways live\t", text(always), ", temporary ", text(need - always)});
  std::string step = std::to_string(at);
  std::string node;
  if (at < static_cast<std::int32_t>(report.steps.size())) {
    const Step& s = report.steps[static_cast<std::size_t>(at)];
    if (const Operation* o = report.operation_of(s)) {
      node = joined({o->type, " ", halftone::detail::quoted(o->name)});
      step += joined({", ", name(s.kind), " of ", node});
    }
  }
  what += "\npeak at step\t" + step;
  const std::vector<std::int32_t> variables = report.live_variables(tile, at);
  for (std::size_t i = 0; i < variables.size() && i < 10; ++i) {
    const Variable& v = report.variables[static_cast<std::size_t>(variables[i])];
    what += joined({"\n", i == 0 ? "largest" : "", "\t",
                    text(v.on_tile(tile % report.target.tiles_per_ipu)), " ",
                    halftone::detail::quoted(v.name), ", "});
    what += v.is_always_live ? "always live"
                             : joined({"live in steps ", std::to_string(v.first_step), "..",
                                       std::to_string(v.last_step)});
  }
  what += joined({"\nother tiles\t", std::to_string(report.tiles_out_of_memory() - 1), " of ",
                  std::to_string(report.target.tiles()), " are too full as well"});
  const std::int64_t all = report.bytes();
  if (hint.empty()) {
    hint = all > report.target.tiles() * there
               ? "the whole model is larger than all tiles: more IPUs, a smaller batch or half "
                 "instead of float"
               : "a smaller batch, half instead of float, a smaller available_memory_proportion, "
                 "or more IPUs";
    hint += "; allow_out_of_memory reports it all the same";
  }
  fail(ErrorKind::memory, {.what = what,
                           .node = node,
                           .expected = std::to_string(there) + " bytes",
                           .found = std::to_string(need) + " bytes",
                           .hint = hint});
}

}  // namespace halftone::ipu::detail
