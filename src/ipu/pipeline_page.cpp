#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <halftone/ipu/pipeline.hpp>

namespace halftone::ipu {
namespace {

constexpr std::string_view style = R"(
:root{--ink:#1c2430;--soft:#647084;--line:#dfe4ec;--paper:#fff;--ground:#f3f5f9;--idle:#eceff4;
--f:#3b82c4;--b:#d6336c;--w:#f2a516;--u:#3a9d5d}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf1;--soft:#98a3b5;--line:#333c4b;--paper:#1d2430;
--ground:#141922;--idle:#262f3d}}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.5 system-ui,"DejaVu Sans",sans-serif}
main{max-width:1320px;margin:0 auto;padding:20px 28px}
section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:18px 22px;margin:0 0 18px}
h1{font-size:19px;margin:0 0 6px}h2{font-size:16px;margin:0 0 8px}
dl{display:flex;flex-wrap:wrap;gap:8px 34px;margin:0}dt{color:var(--soft);font-size:12px}dd{margin:0;font-size:17px}
svg{display:block;width:100%;height:auto}text{font:11px system-ui,"DejaVu Sans",sans-serif;fill:var(--ink)}
.n{fill:#fff;font-size:10px;text-anchor:middle;pointer-events:none}.idle{fill:var(--idle)}.s{fill:var(--soft)}
.f{fill:var(--f)}.b{fill:var(--b)}.w{fill:var(--w)}.u{fill:var(--u)}.odd{opacity:.72}
.key span{display:inline-block;width:12px;height:12px;border-radius:3px;margin:0 6px 0 18px;vertical-align:-1px}
table{border-collapse:collapse;width:100%}td,th{padding:4px 12px 4px 0;text-align:right;border-bottom:1px solid var(--line)}
td:first-child,th:first-child{text-align:left}th{color:var(--soft);font-weight:500;font-size:12px}
)";

std::string_view name_of(char kind) {
  switch (kind) {
    case 'f':
      return "forward";
    case 'b':
      return "backward";
    case 'w':
      return "gradients of weights";
    default:
      return "updates";
  }
}

/// One lane for each IPU: what it does when, with the numbers of micro-batches.
std::string lanes(const PipelineProfile& p) {
  constexpr double width = 1240, left = 56, row = 34, bar = 26;
  const double unit = p.timeline.end > 0 ? (width - left) / p.timeline.end : 0;
  const double height = row * p.spread.ipus + 26;
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", width, height);
  auto to = std::back_inserter(svg);
  for (std::int32_t ipu = 0; ipu < p.spread.ipus; ++ipu) {
    fmt::format_to(to, "<text x=\"0\" y=\"{:.1f}\">IPU {}</text>", row * ipu + 17, ipu);
    fmt::format_to(to, "<rect class=\"idle\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>\n",
                   left, row * ipu, width - left, bar);
  }
  for (std::size_t i = 0; i < p.timetable.size(); ++i) {
    const TimetableEntry& entry = p.timetable[i];
    const auto f = static_cast<std::size_t>(entry.fragment);
    const Fragment& fragment = p.spread.fragments[f];
    const char kind = p.kind(fragment);
    const double x = left + p.timeline.start[i] * unit, y = row * fragment.ipu;
    const double wide = std::max(static_cast<double>(p.fragment_cycles[f]) * unit, 0.5);
    fmt::format_to(to,
                   "<rect class=\"{}{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
                   "<title>stage {}, {}, micro-batch {}: {} cycles from {:.0f}</title></rect>",
                   kind, entry.micro_batch % 2 == 1 ? " odd" : "", x, y, wide, bar, fragment.stage,
                   name_of(kind), entry.micro_batch, p.fragment_cycles[f], p.timeline.start[i]);
    if (wide > 12 && !fragment.is_of_step) {
      fmt::format_to(to, "<text class=\"n\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", x + wide / 2,
                     y + 17, entry.micro_batch);
    }
    svg += '\n';
  }
  for (int tick = 0; tick <= 8; ++tick) {
    fmt::format_to(
        to, "<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{:.1f} us</text>",
        left + (width - left) * tick / 8, height - 6, tick == 8 ? "end" : "start",
        p.seconds() * 1e6 * tick / 8);
  }
  return svg + "</svg>\n";
}

std::string table(const PipelineProfile& p) {
  std::string text =
      "<table><tr><th>IPU</th><th>busy cycles</th><th>busy</th><th>bytes that wait</th></tr>\n";
  for (std::int32_t ipu = 0; ipu < p.spread.ipus; ++ipu) {
    const std::int64_t busy = p.busy_cycles(ipu);
    const double share =
        p.cycles() > 0 ? 100 * static_cast<double>(busy) / static_cast<double>(p.cycles()) : 0;
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.1f} %</td><td>{}</td></tr>\n", ipu, busy,
                        share, p.waiting_bytes(ipu));
  }
  return text + "</table>\n";
}

}  // namespace

std::string PipelineProfile::html() const {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>IPU pipeline</title>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>";
  text += style;
  text += "</style></head><body><main>\n<section><h1>Pipeline</h1><dl>\n";
  const auto number = [&](std::string_view label, const std::string& value) {
    text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, value);
  };
  number("target", std::string(target.name.view()));
  number("stages", fmt::format("{} on {} IPUs", spread.stages, spread.ipus));
  number("schedule", std::string(name(spread.schedule)));
  number("micro-batches", std::to_string(micro_batches));
  number("cycles", std::to_string(cycles()));
  number("time", fmt::format("{:.1f} us", seconds() * 1e6));
  number("a micro-batch", fmt::format("{:.1f} us", seconds() * 1e6 / micro_batches));
  number("idle", fmt::format("{:.1f} %", 100 * idle_share()));
  text += "</dl></section>\n<section><h2>What each IPU does when</h2>\n<p class=\"key\">";
  for (const char kind : {'f', 'b', 'w', 'u'}) {
    text += fmt::format("<span style=\"background:var(--{})\"></span>{}", kind, name_of(kind));
  }
  text += "; the last stage's gradients are in its forward part</p>\n" + lanes(*this);
  return text + "</section>\n<section><h2>Each IPU</h2>\n" + table(*this) +
         "</section></main></body></html>\n";
}

std::string PipelineProfile::trace() const {
  const double unit = cycles() > 0 ? seconds() * 1e6 / static_cast<double>(cycles()) : 0;
  nlohmann::json events = nlohmann::json::array();
  for (std::int32_t ipu = 0; ipu < spread.ipus; ++ipu) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", 0},
                      {"tid", ipu},
                      {"args", {{"name", fmt::format("IPU {}", ipu)}}}});
  }
  for (std::size_t i = 0; i < timetable.size(); ++i) {
    const auto f = static_cast<std::size_t>(timetable[i].fragment);
    const Fragment& fragment = spread.fragments[f];
    const char of = kind(fragment);
    events.push_back(
        {{"ph", "X"},
         {"name", fmt::format("{} {}", name_of(of), timetable[i].micro_batch)},
         {"cat", name_of(of)},
         {"pid", 0},
         {"tid", fragment.ipu},
         {"ts", timeline.start[i] * unit},
         {"dur", static_cast<double>(fragment_cycles[f]) * unit},
         {"args", {{"stage", fragment.stage}, {"micro_batch", timetable[i].micro_batch}}}});
  }
  return nlohmann::json{{"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace halftone::ipu
