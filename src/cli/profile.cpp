#include <halftone/ipu/lowering/memory.hpp>
#include <halftone/ipu/pipeline.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/in_half.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/loss.hpp"
#include "cli/model.hpp"
#include "cli/new_files.hpp"
#include "cli/optimizer.hpp"
#include "cli/profile_options.hpp"
#include "cli/spreading.hpp"
#include "cli/table.hpp"
#include "exec/fold.hpp"

namespace halftone::cli {
namespace {

[[noreturn]] void fail_setting(std::string_view what, std::string_view found,
                               std::string_view hint = {}) {
  fail(ErrorKind::usage, {.what = what, .found = found, .hint = hint});
}

/// A number of 1 or more, at most what T holds.
template <class T>
T number_of(const std::string& key, const std::string& text) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 1) {
    fail_setting("a value of a sweep is no positive number, or too large", key + "=" + text);
  }
  return value;
}

/// Changes what one value of a sweep says.
void set(ProfileCommand& c, const std::string& key, const std::string& value) {
  Spreading& spreading = c.spreading;
  if (key == "batch") {
    c.batch = number_of<std::int64_t>(key, value);
  } else if (key == "target") {
    c.target = value;
  } else if (key == "ipus") {
    c.ipus = number_of<std::int64_t>(key, value);
  } else if (key == "stages") {
    // A Place has no numbers for more.
    spreading.stages = number_of<std::int16_t>(key, value);
  } else if (key == "schedule") {
    spreading.schedule = parse_schedule(value);
  } else if (key == "replicas") {
    spreading.replicas = number_of<std::int16_t>(key, value);
  } else if (key == "recompute") {
    spreading.recompute = parse_recomputation(value);
  } else if (key == "accumulate" || key == "accumulation") {
    c.accumulation = number_of<std::int32_t>(key, value);
  } else if (key == "tiles") {
    c.tiles = number_of<std::int64_t>(key, value);
  } else if (key == "partials") {
    c.partials = value;
  } else if (key == "memory-proportion") {
    char* end = nullptr;
    c.memory_proportion = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0') fail_setting("a proportion is no number", value);
  } else {
    fail_setting("there is nothing of this name to vary", key,
                 "batch, target, ipus, tiles, stages, schedule, replicas, recompute, accumulate, "
                 "partials, memory-proportion");
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

ipu::ProfileOptions options_of(const ProfileCommand& options) {
  ipu::ProfileOptions chosen = profile_options(options.memory_proportion, options.partials);
  chosen.ipus = options.ipus;
  chosen.tiles_per_ipu = options.tiles;
  chosen.allow_out_of_memory = options.allow_out_of_memory;
  chosen.recompute = options.spreading.recompute;
  chosen.io_tiles = options.io_tiles;
  return chosen;
}

/// "LOSS:OPTIMIZER"
std::pair<std::string, std::string> parse_training(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) {
    fail_setting("training is given as LOSS:OPTIMIZER", text,
                 "cross_entropy:adam:lr=1e-3; mse, l1, or a scalar of the model as the loss");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void refuse_without_training(const ProfileCommand& options) {
  const auto refuse = [](std::string_view option) {
    fail_setting("an option is about training", option, "--train LOSS:OPTIMIZER");
  };
  if (options.spreading.recompute != Recomputation::none) refuse("--recompute");
  if (options.accumulation > 1) refuse("--accumulation");
  if (options.spreading.shard.any()) refuse("--shard");
  if (options.spreading.off_chip.any()) refuse("--off-chip");
}

Graph trained(Graph graph, const ProfileCommand& options) {
  const auto [loss_name, optimizer] = parse_training(options.train);
  const std::optional<Loss> named = loss_named(loss_name);
  const TensorId own = named ? no_tensor : graph.find(loss_name);
  if (!named && own == no_tensor) {
    fail_setting("there is no such loss", loss_name,
                 "cross_entropy, mse, l1, or the name of a scalar of the model");
  }
  if (named && graph.outputs.empty()) {
    fail(ErrorKind::model, {.what = "the model has no output"});
  }
  const AnyTensor y{&graph, named ? graph.outputs[0] : own};
  const Loss kind = named.value_or(Loss::own);
  const AnyTensor loss =
      record_loss(graph, y, kind,
                  named ? label_info_for(kind, y.info(), graph.name(y.id)) : TensorInfo{}, false);
  graph = in_parts(std::move(graph), options.spreading);
  float loss_scaling = 1;
  // A continuous pipeline takes a step after each micro-batch.
  const bool is_continuous = options.spreading.schedule == Schedule::continuous;
  record_training(parse_optimizer(optimizer), graph, {&graph, loss.id},
                  {.accumulation = is_continuous ? 1 : options.accumulation}, loss_scaling,
                  [](const std::string& what) { fail_setting(what, "--train"); });
  graph.outputs = {loss.id};
  return graph;
}

/// The model as it is profiled: with a batch, in half, trained, spread.
Graph prepared(Graph graph, const ProfileCommand& options) {
  graph = with_batch(std::move(graph), options.batch);
  if (options.half) graph = in_half(std::move(graph));
  if (!options.train.empty()) hold_numbers(graph);
  fold_shapes(graph);
  graph.replicas = options.spreading.replicas;
  Spreading spreading = options.spreading;
  if (options.ipus > 1) spreading.ipus = static_cast<std::int32_t>(options.ipus);
  // IPUs without stages and phases get their parts when the report is made.
  if (spreading.stages > 0 || spreading.phases > 0) place(graph, spreading);
  if (options.train.empty()) {
    refuse_without_training(options);
    return in_parts(std::move(graph), spreading);
  }
  return spread(trained(std::move(graph), options), spreading);
}

/// Samples that a run of the model takes: the first extent of its first input that has one.
std::int64_t batch_of(const Graph& graph) {
  for (const TensorId id : graph.inputs) {
    const TensorInfo& info = graph.info(id);
    if (info.is_static() && info.rank() > 0) return info.shape[0];
  }
  return 0;
}

ipu::Report profile_case(const Graph& model, const ProfileCommand& options) {
  const Graph graph = prepared(model, options);
  ipu::Report report = ipu::profile(graph, target_named(options.target), options_of(options));
  report.model = std::filesystem::path(options.model.path).filename().string();
  report.batch = batch_of(graph);
  return report;
}

/// Whether options or the model itself say the stages of a pipeline. Throws UsageError if neither does
/// and the options are about some.
bool is_pipeline(const Graph& model, const ProfileCommand& options) {
  const bool has_schedule = options.spreading.schedule != Schedule::none;
  if (options.spreading.stages > 0 || (has_schedule && has_stages(model))) return true;
  if (has_schedule || options.micro_batches > 0) {
    fail_setting("a schedule and micro-batches are those of stages", "no --stages");
  }
  return false;
}

ipu::PipelineProfile profile_stages(const Graph& model, const ProfileCommand& options) {
  const Graph graph = prepared(model, options);
  const std::int32_t stages =
      options.spreading.stages > 0 ? options.spreading.stages : stages_of(model);
  ipu::ProfileOptions chosen = options_of(options);
  chosen.ipus = options.ipus > 1 ? options.ipus : stages;
  std::int64_t together = options.accumulation;
  if (options.train.empty()) {
    together = options.micro_batches > 0 ? options.micro_batches : 4 * stages;
  } else if (options.micro_batches > 0) {
    fail_setting("the micro-batches of a trained pipeline are those of a step", "--micro-batches",
                 "--accumulation N");
  }
  ipu::PipelineProfile profile =
      ipu::profile_pipeline(graph, target_named(options.target), schedule_of(options.spreading),
                            static_cast<std::int32_t>(together), chosen);
  profile.report.model = std::filesystem::path(options.model.path).filename().string();
  profile.report.batch = batch_of(graph);
  return profile;
}

/// The report of a case, however it is spread; it may not fit.
ipu::Report any_report(const Graph& model, ProfileCommand options) {
  options.allow_out_of_memory = true;
  if (is_pipeline(model, options)) return profile_stages(model, options).report;
  return profile_case(model, options);
}

/// A change of the command with which the model fits, after trying it.
std::string tried_hint(const Graph& model, const ProfileCommand& options) {
  struct Change {
    std::string text;
    ProfileCommand options;
  };
  std::vector<Change> changes;
  const auto add = [&](std::string text, auto&& change) {
    changes.push_back({std::move(text), options});
    change(changes.back().options);
  };
  if (options.memory_proportion > 0.2) {
    add("--memory-proportion 0.2", [](ProfileCommand& c) { c.memory_proportion = 0.2; });
  }
  if (!options.train.empty() && options.spreading.recompute == Recomputation::none) {
    add("--recompute standard",
        [](ProfileCommand& c) { c.spreading.recompute = Recomputation::standard; });
  }
  if (!options.half) {
    add("--half --partials half", [](ProfileCommand& c) {
      c.half = true;
      c.partials = "half";
    });
  }
  if (!options.train.empty() && !options.spreading.off_chip.any()) {
    add("--off-chip state", [](ProfileCommand& c) { c.spreading.off_chip.state.is_on = true; });
  }
  for (std::int64_t ipus = 2; !is_pipeline(model, options) && ipus <= 16; ipus *= 2) {
    if (ipus <= options.ipus) continue;
    add("--ipus " + std::to_string(ipus), [&](ProfileCommand& c) { c.ipus = ipus; });
  }
  std::string tried;
  for (const Change& c : changes) {
    try {
      const ipu::Report r = any_report(model, c.options);
      if (r.fits()) {
        return fmt::format("{} fits: the fullest tile is {:.1f} % full", c.text,
                           100 * static_cast<double>(r.tile_bytes(r.fullest_tile())) /
                               static_cast<double>(r.target.bytes_per_tile));
      }
    } catch (const Error&) {
      continue;  // the model cannot be spread so
    }
    tried += (tried.empty() ? "" : ", ") + c.text;
  }
  return "a smaller batch or another machine; these do not suffice, each by itself: " + tried;
}

void write_reports(NewFiles& files, const ipu::Report& report, const std::string& other,
                   const ipu::PipelineProfile* pipeline) {
  write_file(files.add("summary.txt"), report.summary());
  write_file(files.add("report.json"), report.json());
  write_file(files.add("report.html"), report.html(other));
  write_file(files.add("trace.json"), pipeline != nullptr ? pipeline->trace() : report.trace());
  write_file(files.add("program.dot"), report.dot());
  write_file(files.add("stacks.txt"), report.stacks());
  write_file(files.add("tiles.csv"), report.tiles_csv());
  write_file(files.add("steps.csv"), report.steps_csv());
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

void sweep(const Graph& graph, const ProfileCommand& options, const Console& console) {
  std::vector<ProfileCommand> cases{options};
  std::vector<std::string> labels{""};
  for (const std::string& text : options.sweeps) {
    const Sweep s = parse_sweep(text);
    std::vector<ProfileCommand> more;
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
    const ipu::Report r = any_report(graph, cases[i]);
    const double rate = r.samples_per_second();
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

}  // namespace

void profile(const ProfileCommand& options, const Console& console) {
  const Activity activity(console, "profile " + detail::escaped(options.model.path));
  const Graph graph = load_model(options.model);
  if (!options.compare.empty() && (options.output_dir.empty() || !options.sweeps.empty())) {
    fail_setting("a report is compared in the page that --out asks for", options.compare);
  }
  const std::string other = options.compare.empty() ? std::string() : read_report(options.compare);
  if (!options.sweeps.empty()) {
    sweep(graph, options, console);
    return;
  }
  // What does not fit is reported all the same, before it is refused.
  ProfileCommand all = options;
  all.allow_out_of_memory = true;
  std::optional<ipu::PipelineProfile> pipeline;
  if (is_pipeline(graph, options)) pipeline = profile_stages(graph, all);
  const ipu::Report report = pipeline ? pipeline->report : profile_case(graph, all);
  if (!options.output_dir.empty()) {
    NewFiles files(options.output_dir);
    write_reports(files, report, other, pipeline ? &*pipeline : nullptr);
    if (pipeline) {
      write_file(files.add("pipeline.txt"), pipeline->summary());
      write_file(files.add("pipeline.json"), pipeline->json());
      write_file(files.add("pipeline.html"), pipeline->html());
    }
    files.commit();
  }
  if (!options.allow_out_of_memory && !report.fits()) {
    ipu::detail::throw_out_of_memory(report, tried_hint(graph, options));
  }
  if (pipeline) {
    fmt::print(console.out, "{}", options.json ? pipeline->json() : pipeline->summary());
    return;
  }
  fmt::print(console.out, "{}", options.json ? report.json() : report.summary());
}

}  // namespace halftone::cli
