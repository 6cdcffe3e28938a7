#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include <halftone/ipu/profile.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"

// Reports as text: the summary, tables, and files that other programs show.
namespace halftone::ipu {
namespace {

constexpr auto temporaries = static_cast<std::size_t>(Category::temporaries);

std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string bytes_text(std::int64_t bytes) {
  return halftone::detail::bytes_text(static_cast<std::uint64_t>(bytes));
}
double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}
/// Inside quotation marks of DOT.
std::string quoted_label(std::string_view text) {
  std::string label;
  for (const char c : halftone::detail::escaped(text)) {
    if (c == '"' || c == '\\') label += '\\';
    label += c;
  }
  return label;
}
std::string csv_field(std::string_view text) {
  std::string field = "\"";
  for (const char c : halftone::detail::escaped(text)) {
    if (c == '"') field += c;
    field += c;
  }
  return field + "\"";
}
/// The positions of a list, those of the largest values first.
std::vector<std::size_t> descending(const auto& list, auto&& value) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return value(list[a]) > value(list[b]); });
  return order;
}
std::vector<std::size_t> by_cycles(const Report& r) {
  std::vector<std::int64_t> cycles;
  for (std::size_t i = 0; i < r.operations.size(); ++i) cycles.push_back(r.operation_cycles(i));
  return descending(cycles, std::identity());
}

/// The parts of a summary, one after the other.
struct Summary {
  const Report& r;
  const std::int64_t all = r.cycles(), fullest = r.fullest_tile();
  std::string text{};

  void line(int indent, std::string_view label, const std::string& value) {
    text += fmt::format("{:{}}{:<{}}{}\n", "", indent, label, 38 - indent, value);
  }

  void add_machine() {
    text += "Target:\n";
    line(2, "Name", std::string(r.target.name.view()));
    line(2, "Number of IPUs", grouped(r.target.ipus));
    line(2, "Tiles per IPU", grouped(r.target.tiles_per_ipu));
    line(2, "Total tiles", grouped(r.target.tiles()));
    line(2, "Memory per tile", bytes_text(r.target.bytes_per_tile));
    line(2, "Total memory", bytes_text(r.target.tiles() * r.target.bytes_per_tile));
    line(2, "Clock (approx.)", fmt::format("{:.0f} MHz", r.target.clock_hz * 1e-6));
  }

  void add_graph() {
    std::int64_t compute_sets = 0;
    for (const Step& s : r.steps) compute_sets += s.kind == StepKind::compute ? 1 : 0;
    text += "\nGraph:\n";
    line(2, "Operations", grouped(static_cast<std::int64_t>(r.operations.size())));
    line(2, "Number of variables", grouped(static_cast<std::int64_t>(r.variables.size())));
    line(2, "Number of compute sets", grouped(compute_sets));
    line(2, "Vertex types", grouped(static_cast<std::int64_t>(r.vertices.size())));
    line(2, "Products planned / reused",
         fmt::format("{} / {}", r.products_planned, r.products_reused));
  }

  void add_memory() {
    const std::int64_t tiles = r.target.tiles();
    std::int64_t always = 0, total = 0;
    std::array<std::int64_t, categories> sums{};
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      total += r.tile_bytes(tile);
      always += r.always_live_bytes(tile);
      for (std::size_t c = 0; c < categories; ++c) {
        sums[c] += r.memory[static_cast<std::size_t>(tile)][c];
      }
    }
    const auto of_all = [&](std::int64_t bytes) {
      return fmt::format("{:>14} B  ({:.1f} % of all tiles)", grouped(bytes),
                         percent(bytes, tiles * r.target.bytes_per_tile));
    };
    text += "\nMemory Usage:\n";
    line(2, "Total for all tiles", of_all(total));
    line(4, "Always live", of_all(always));
    line(4, "Not always live, at its largest", of_all(total - always));
    line(2, "Fullest tile",
         fmt::format("{:>14} B  (tile {}, {:.1f} % full)", grouped(r.tile_bytes(fullest)), fullest,
                     percent(r.tile_bytes(fullest), r.target.bytes_per_tile)));
    line(2, "Tiles out of memory", fmt::format("{:>14}", grouped(r.tiles_out_of_memory())));
    text += "\n  By category:                    all tiles, bytes      fullest tile\n";
    for (std::size_t c = 0; c < categories; ++c) {
      text +=
          fmt::format("    {:<28}{:>19}{:>18}\n", name(static_cast<Category>(c)), grouped(sums[c]),
                      grouped(r.memory[static_cast<std::size_t>(fullest)][c]));
    }
  }

  void add_tiles() {
    text += "\n  Tiles by memory used:\n";
    const std::int64_t width = std::max<std::int64_t>(r.target.bytes_per_tile / 8, 1);
    std::vector<std::int64_t> histogram(10);
    for (std::int64_t tile = 0; tile < r.target.tiles(); ++tile) {
      ++histogram[static_cast<std::size_t>(std::min<std::int64_t>(r.tile_bytes(tile) / width, 9))];
    }
    for (std::size_t i = 0; i < histogram.size(); ++i) {
      if (histogram[i] == 0) continue;
      const auto low = static_cast<std::int64_t>(i) * width;
      text += fmt::format("    {:>10} - {:<10}{:>8} tiles\n", bytes_text(low),
                          i == 9 ? std::string("more") : bytes_text(low + width),
                          grouped(histogram[i]));
    }
  }

  void add_variables() {
    text += "\n  Largest variables on the fullest tile:\n";
    const std::int32_t peak = r.peak_step[static_cast<std::size_t>(fullest)];
    const std::vector<std::int32_t> live = r.live_variables(fullest, peak);
    for (std::size_t i = 0; i < live.size() && i < 10; ++i) {
      const Variable& v = r.variables[static_cast<std::size_t>(live[i])];
      text +=
          fmt::format("    {:>12} B  {}{}\n", grouped(v.on_tile(fullest % r.target.tiles_per_ipu)),
                      halftone::detail::escaped(v.name), v.is_always_live ? "  (always live)" : "");
    }
  }

  void add_ipus() {
    if (r.target.ipus == 1) return;
    text += "\nBy IPU:\n";
    for (std::int64_t ipu = 0; ipu < r.target.ipus; ++ipu) {
      const std::int64_t own = r.ipu_cycles(ipu);
      line(2, fmt::format("IPU {}", ipu),
           fmt::format(
               "{:>16} cycles  ({:.1f} %), waits {:.1f} %, idle {:.1f} %, {:>16} B  ({:.1f} % "
               "of its tiles)",
               grouped(own), percent(own, all), percent(r.waiting_cycles(ipu), all),
               percent(r.idle_cycles(ipu), all), grouped(r.ipu_bytes(ipu)),
               percent(r.ipu_bytes(ipu), r.target.bytes_per_ipu())));
    }
  }

  void add_time() {
    text += "\nExecution:\n";
    line(2, "Total cycles",
         fmt::format("{:>14}  ({:.1f} us, approx. {:.0f} runs/s)", grouped(all), r.seconds() * 1e6,
                     all > 0 ? 1 / r.seconds() : 0.0));
    if (r.replicas > 1 || r.accumulation > 1 || r.batch > 0) {
      line(2, "A step's cycles",
           fmt::format("{:>14}  ({} replicas x {} micro-batches)", grouped(r.step_cycles()),
                       r.replicas, r.accumulation));
    }
    if (r.batch > 0) {
      line(2, "Samples a second",
           fmt::format("{:>14.1f}  ({} a micro-batch)", r.samples_per_second(), r.batch));
    }
    const auto of_cycles = [&](std::int64_t part) {
      // Of what all IPUs do in that time.
      return fmt::format("{:>14}  ({:.1f} %)", grouped(part), percent(part, all * r.target.ipus));
    };
    const std::int64_t compute = r.cycles(StepKind::compute);
    line(2, "Tile average compute cycles",
         fmt::format("{:>14.0f}  ({:.1f} % of compute)", r.busy_cycles(),
                     compute > 0 ? 100 * r.busy_cycles() * static_cast<double>(r.target.ipus) /
                                       static_cast<double>(compute)
                                 : 0.0));
    line(2, "Compute cycles", of_cycles(compute));
    line(2, "On-tile copies", of_cycles(r.cycles(StepKind::copy)));
    line(2, "On-chip exchange cycles", of_cycles(r.cycles(StepKind::exchange)));
    line(2, "Global exchange cycles", of_cycles(r.cycles(StepKind::link)));
    line(2, "Host exchange cycles", of_cycles(r.cycles(StepKind::host)));
    line(2, "Streaming memory cycles", of_cycles(r.cycles(StepKind::streaming)));
    line(2, "Sync cycles", of_cycles(r.cycles(StepKind::sync)));
    line(2, "Control cycles", of_cycles(r.cycles(StepKind::control)));
    line(2, "Floating-point operations",
         fmt::format("{:>14}  ({:.2f} TFLOP/s, {:.1f} % of the half peak)", grouped(r.flops()),
                     all > 0 ? static_cast<double>(r.flops()) / r.seconds() * 1e-12 : 0.0,
                     100 * r.share_of_peak()));
  }

  void add_vertices() {
    std::vector<std::pair<std::int64_t, std::int64_t>> types(r.vertices.size());
    for (const Step& s : r.steps) {
      if (s.vertex < 0) continue;
      types[static_cast<std::size_t>(s.vertex)].first += s.total();
      types[static_cast<std::size_t>(s.vertex)].second += s.repeats;
    }
    const std::vector<std::size_t> order =
        descending(types, [](const auto& type) { return type.first; });
    text += "\n  Cycles by vertex type:\n";
    for (std::size_t i = 0; i < order.size() && i < 15; ++i) {
      text += fmt::format("    {:<44}{:>8} x{:>14}  ({:.1f} %)\n", r.vertices[order[i]],
                          grouped(types[order[i]].second), grouped(types[order[i]].first),
                          percent(types[order[i]].first, all));
    }
  }

  void add_operations() {
    text += "\n  Operations that take longest:\n";
    const std::vector<std::size_t> longest = by_cycles(r);
    for (std::size_t i = 0; i < longest.size() && i < 15; ++i) {
      const Operation& o = r.operations[longest[i]];
      const std::int64_t own = r.operation_cycles(longest[i]);
      text += fmt::format("    {:<20}{:<32}{:>14}  ({:.1f} %)\n", o.type,
                          halftone::detail::escaped(o.name).substr(0, 31), grouped(own),
                          percent(own, all));
    }
  }
};

}  // namespace

std::string Report::summary() const {
  Summary summary{*this};
  summary.add_machine();
  summary.add_graph();
  summary.add_memory();
  summary.add_tiles();
  summary.add_variables();
  summary.add_ipus();
  summary.add_time();
  summary.add_vertices();
  summary.add_operations();
  return std::move(summary.text);
}

std::string Report::tiles_csv() const {
  std::string text = "tile,ipu,total,always_live,temporary,peak_step,compute_cycles";
  for (std::size_t c = 0; c + 1 < categories; ++c) {
    std::string title(name(static_cast<Category>(c)));
    std::replace(title.begin(), title.end(), ' ', '_');
    text += "," + title;
  }
  text += "\n";
  for (std::int64_t tile = 0; tile < target.tiles(); ++tile) {
    const auto t = static_cast<std::size_t>(tile);
    text +=
        fmt::format("{},{},{},{},{},{},{:.0f}", tile, tile / target.tiles_per_ipu, tile_bytes(tile),
                    always_live_bytes(tile), memory[t][temporaries], peak_step[t], tile_cycles[t]);
    for (std::size_t c = 0; c + 1 < categories; ++c) text += fmt::format(",{}", memory[t][c]);
    text += "\n";
  }
  return text;
}

std::string Report::steps_csv() const {
  std::string text =
      "step,kind,ipu,operation,type,vertex,repeats,start,cycles,total_cycles,mean_cycles,tiles,"
      "bytes,flops,live_bytes\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    const Operation* o = operation_of(s);
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{:.1f},{},{},{},{}\n", i, name(s.kind), s.ipu,
        csv_field(o != nullptr ? o->name : ""), o != nullptr ? o->type : "",
        csv_field(s.vertex >= 0 ? vertices[static_cast<std::size_t>(s.vertex)] : ""), s.repeats,
        s.start, s.cycles, s.total(), s.mean_cycles, s.tiles, s.bytes, s.flops, live_bytes[i]);
  }
  return text;
}

std::string Report::stacks() const {
  const auto frame = [](std::string_view text) {
    std::string own = halftone::detail::escaped(text);
    std::replace(own.begin(), own.end(), ';', ',');
    std::replace(own.begin(), own.end(), ' ', '_');
    return own.empty() ? std::string("-") : own;
  };
  std::string text;
  for (const Step& s : steps) {
    if (s.total() == 0) continue;
    // A copy over links is counted once, for the IPU whose operation it belongs to.
    if (const Operation* o = operation_of(s); o != nullptr && o->ipu != s.ipu) continue;
    // From the outermost program inwards; names of operations have folders of their own.
    std::vector<std::string> frames;
    for (std::int32_t p = s.program; p > 0; p = programs[static_cast<std::size_t>(p)].parent) {
      frames.push_back(frame(programs[static_cast<std::size_t>(p)].name));
    }
    std::string stack = "main";
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) stack += ";" + *f;
    if (const Operation* o = operation_of(s)) stack += ";" + frame(o->type) + ";" + frame(o->name);
    stack += ";" + frame(s.vertex >= 0 ? vertices[static_cast<std::size_t>(s.vertex)]
                                       : std::string(name(s.kind)));
    text += fmt::format("{} {}\n", stack, s.total());
  }
  return text;
}

std::string Report::dot() const {
  std::string text =
      "digraph program {\n  rankdir=TB;\n  node [shape=box, style=filled, "
      "fontname=\"Helvetica\"];\n";
  const std::int64_t all = std::max<std::int64_t>(cycles(), 1);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    const std::int64_t own = operation_cycles(i);
    const double heat = std::min(1.0, 8.0 * static_cast<double>(own) / static_cast<double>(all));
    text += fmt::format("  op{} [label=\"{}\\n{}\\n{} cycles\", fillcolor=\"0.08 {:.2f} 1.0\"];\n",
                        i, quoted_label(o.type), quoted_label(o.name), grouped(own), heat);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const std::int32_t from : operations[i].inputs) {
      const bool is_link = operations[i].ipu != operations[static_cast<std::size_t>(from)].ipu;
      text += fmt::format("  op{} -> op{}{};\n", from, i, is_link ? " [color=red]" : "");
    }
  }
  return text + "}\n";
}

void Report::write_html(const std::string& path) const {
  const std::string text = html();
  halftone::detail::OutputFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace halftone::ipu
