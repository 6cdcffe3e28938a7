#include <halftone/ipu/pipeline.hpp>
#include <halftone/ipu/profile.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/model.hpp"
#include "cli/new_files.hpp"
#include "cli/profile_options.hpp"
#include "cli/spreading.hpp"
#include "cli/table.hpp"

namespace halftone::cli {
namespace {

[[noreturn]] void fail_setting(std::string_view what, std::string_view found,
                               std::string_view hint = {}) {
  fail(ErrorKind::usage, {.what = what, .found = found, .hint = hint});
}

/// One way to run the model: what a sweep varies.
struct SweepPoint {
  std::string target;
  std::int64_t batch = 0, ipus = 0, tiles = 0;
  double proportion = 0.6;
  std::string partials;
};

std::int64_t number_of(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 1) {
    fail_setting("a value of a sweep is no positive number", key + "=" + text);
  }
  return value;
}

void set(SweepPoint& c, const std::string& key, const std::string& value) {
  if (key == "batch") {
    c.batch = number_of(key, value);
  } else if (key == "target") {
    c.target = value;
  } else if (key == "ipus") {
    c.ipus = number_of(key, value);
  } else if (key == "tiles") {
    c.tiles = number_of(key, value);
  } else if (key == "partials") {
    c.partials = value;
  } else if (key == "memory-proportion") {
    char* end = nullptr;
    c.proportion = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') fail_setting("a proportion is no number", value);
  } else {
    fail_setting("there is nothing of this name to vary", key,
                 "batch, target, ipus, tiles, partials, memory-proportion");
  }
}

struct Sweep {
  std::string key;
  std::vector<std::string> values;
};

Sweep parse_sweep(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == text.npos || sign == 0) fail_setting("a sweep is given as KEY=VALUE,VALUE...", text);
  Sweep sweep{text.substr(0, sign), {}};
  for (std::size_t at = sign + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    sweep.values.push_back(text.substr(at, comma - at));
    if (sweep.values.back().empty()) fail_setting("a value of a sweep is missing", text);
    at = comma + 1;
  }
  return sweep;
}

ipu::ProfileOptions options_of(const SweepPoint& c, const ProfileCommand& options) {
  ipu::ProfileOptions chosen = profile_options(c.proportion, c.partials);
  chosen.ipus = c.ipus;
  chosen.tiles_per_ipu = c.tiles;
  chosen.allow_out_of_memory = options.allow_out_of_memory;
  return chosen;
}

ipu::Report profile_case(const Graph& graph, const SweepPoint& c, const ProfileCommand& options) {
  ipu::Report report =
      ipu::profile(with_batch(graph, c.batch), target_named(c.target), options_of(c, options));
  report.model = std::filesystem::path(options.model.path).filename().string();
  return report;
}

/// The JSON of a report of this version.
std::string read_report(const std::string& path) {
  std::string text = read_file(path);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != "halftone.ipu.report" ||
      json.value("version", Json()) != 1) {
    fail(ErrorKind::input, {.what = "the file to compare with is no report of this version",
                            .found = path,
                            .hint = "the report.json that profile --out writes"});
  }
  return text;
}

/// What a case of a sweep gives.
struct Point {
  std::string label;
  double cycles = 0, fullest_percent = 0, rate = 0;
  bool fits = true;
};

/// A bar for each case in three panels; what does not fit is red, and the line is a full tile.
std::string plot(const std::vector<Point>& points) {
  struct Panel {
    std::string_view title, color, format;
    double Point::* value;
  };
  constexpr Panel panels[] = {
      {"cycles of a run", "#d6336c", "{:.0f}", &Point::cycles},
      {"fullest tile, % of its memory", "#2f6fb0", "{:.1f}", &Point::fullest_percent},
      {"items a second (batch x runs)", "#3a9d5d", "{:.0f}", &Point::rate}};
  constexpr int row = 24, width = 330;
  std::size_t longest = 0;
  for (const Point& p : points) longest = std::max(longest, p.label.size());
  const int left = 30 + 7 * static_cast<int>(longest);
  const int height = 60 + row * static_cast<int>(points.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      left + 3 * width, height);
  for (std::size_t i = 0; i < points.size(); ++i) {
    svg += fmt::format("<text x=\"12\" y=\"{}\">{}</text>\n", 55 + row * static_cast<int>(i),
                       points[i].label);
  }
  for (int p = 0; p < 3; ++p) {
    const Panel& panel = panels[p];
    const bool is_memory = panel.value == &Point::fullest_percent;
    const int x = left + p * width;
    double most = is_memory ? 100 : 1e-9;
    for (const Point& point : points) most = std::max(most, point.*panel.value);
    const double unit = (width - 110) / most;
    svg += fmt::format("<text x=\"{}\" y=\"26\" font-weight=\"bold\">{}</text>\n", x, panel.title);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double value = points[i].*panel.value, bar = value * unit;
      const int y = 42 + row * static_cast<int>(i);
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" rx=\"2\"/>"
          "<text x=\"{:.1f}\" y=\"{}\">{}</text>\n",
          x, y, bar, row - 8, points[i].fits ? panel.color : "#e03131", x + bar + 6, y + 13,
          fmt::format(fmt::runtime(panel.format), value));
    }
    if (!is_memory) continue;
    const double full = x + 100 * unit;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"34\" x2=\"{0:.1f}\" y2=\"{1}\" stroke=\"#e03131\" "
        "stroke-dasharray=\"6 4\"/>\n",
        full, height - 12);
  }
  return svg + "</svg>\n";
}

void sweep(const Graph& graph, const SweepPoint& base, const ProfileCommand& options,
           const Console& console) {
  std::vector<SweepPoint> cases{base};
  std::vector<std::string> labels{""};
  for (const std::string& text : options.sweeps) {
    const Sweep s = parse_sweep(text);
    std::vector<SweepPoint> more;
    std::vector<std::string> more_labels;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const std::string& value : s.values) {
        more.push_back(cases[i]);
        set(more.back(), s.key, value);
        more_labels.push_back(labels[i] + (labels[i].empty() ? "" : " ") + s.key + "=" + value);
      }
    }
    if (more.size() > 1000) fail_setting("a sweep has more than 1000 cases", text);
    cases = std::move(more);
    labels = std::move(more_labels);
  }
  using enum Table::Align;
  Table table({{"case"},
               {"cycles", right},
               {"us", right},
               {"items/s", right},
               {"memory", right},
               {"fullest tile", right},
               {"fits"}});
  std::vector<Point> points;
  Json json = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ProfileCommand all = options;
    all.allow_out_of_memory = true;
    const ipu::Report r = profile_case(graph, cases[i], all);
    const double rate =
        static_cast<double>(std::max<std::int64_t>(cases[i].batch, 1)) / r.seconds();
    const double full = 100 * static_cast<double>(r.tile_bytes(r.fullest_tile())) /
                        static_cast<double>(r.target.bytes_per_tile);
    table.add({detail::escaped(labels[i]), fmt::format("{}", r.cycles()),
               fmt::format("{:.1f}", r.seconds() * 1e6), fmt::format("{:.0f}", rate),
               detail::bytes_text(static_cast<std::uint64_t>(r.bytes())),
               fmt::format("{:.1f} %", full), r.fits() ? "yes" : "no"});
    points.push_back({labels[i], static_cast<double>(r.cycles()), full, rate, r.fits()});
    json.push_back({{"case", labels[i]},
                    {"cycles", r.cycles()},
                    {"microseconds", r.seconds() * 1e6},
                    {"items_per_second", rate},
                    {"bytes", r.bytes()},
                    {"fullest_tile_percent", full},
                    {"fits", r.fits()}});
  }
  if (!options.output_dir.empty()) {
    NewFiles files(options.output_dir);
    write_file(files.add("sweep.json"), dump(json));
    write_file(files.add("sweep.svg"), plot(points));
    files.commit();
  }
  if (options.json) {
    fmt::print(console.out, "{}", dump(json));
  } else {
    table.print(console.out);
  }
}

/// A pipeline's clocks instead of a report.
void profile_stages(const Graph& model, const SweepPoint& base, const ProfileCommand& options,
                    const Console& console) {
  if (!options.compare.empty() || !options.sweeps.empty()) {
    fail_setting("stages are profiled by themselves",
                 options.compare.empty() ? "--sweep" : "--compare");
  }
  if (options.allow_out_of_memory) {
    fail_setting("the memory of stages is not looked at", "--allow-out-of-memory");
  }
  Graph graph = with_batch(model, base.batch);
  Spreading spreading = options.spreading;
  if (base.ipus > 1 && spreading.stages > 0) {
    spreading.ipus = static_cast<std::int32_t>(base.ipus);
  }
  place(graph, spreading);
  ipu::ProfileOptions chosen = options_of(base, options);
  const std::int32_t stages = stages_of(graph);
  chosen.ipus = std::max<std::int64_t>(base.ipus, stages);
  const ipu::PipelineProfile profile =
      ipu::profile_pipeline(graph, target_named(base.target), schedule_of(spreading),
                            options.micro_batches > 0 ? options.micro_batches : 4 * stages, chosen);
  if (!options.output_dir.empty()) {
    NewFiles files(options.output_dir);
    write_file(files.add("pipeline.txt"), profile.summary());
    write_file(files.add("pipeline.json"), profile.json());
    write_file(files.add("pipeline.html"), profile.html());
    write_file(files.add("trace.json"), profile.trace());
    files.commit();
  }
  fmt::print(console.out, "{}", options.json ? profile.json() : profile.summary());
}

}  // namespace

void profile(const ProfileCommand& options, const Console& console) {
  SweepPoint base;
  base.target = options.target;
  base.batch = options.batch;
  base.ipus = options.ipus;
  base.tiles = options.tiles;
  base.proportion = options.memory_proportion;
  base.partials = options.partials;
  const Activity activity(console, "profile " + detail::escaped(options.model.path));
  const Graph graph = load_model(options.model);
  const bool has_schedule = options.spreading.schedule != Schedule::none;
  if (options.spreading.stages > 0 || (has_schedule && has_stages(graph))) {
    return profile_stages(graph, base, options, console);
  }
  if (has_schedule || options.micro_batches > 0) {
    fail_setting("a schedule and micro-batches are those of stages", "no --stages");
  }
  if (!options.compare.empty() && (options.output_dir.empty() || !options.sweeps.empty())) {
    fail_setting("a report is compared in the page that --out asks for", options.compare);
  }
  const std::string other = options.compare.empty() ? std::string() : read_report(options.compare);
  if (!options.sweeps.empty()) {
    sweep(graph, base, options, console);
    return;
  }
  const ipu::Report report = profile_case(graph, base, options);
  if (!options.output_dir.empty()) {
    NewFiles files(options.output_dir);
    write_file(files.add("summary.txt"), report.summary());
    write_file(files.add("report.json"), report.json());
    write_file(files.add("report.html"), report.html(other));
    write_file(files.add("trace.json"), report.trace());
    write_file(files.add("program.dot"), report.dot());
    write_file(files.add("stacks.txt"), report.stacks());
    write_file(files.add("tiles.csv"), report.tiles_csv());
    write_file(files.add("steps.csv"), report.steps_csv());
    files.commit();
  }
  fmt::print(console.out, "{}", options.json ? report.json() : report.summary());
}

}  // namespace halftone::cli
