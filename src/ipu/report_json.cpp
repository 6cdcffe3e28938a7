#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include <halftone/ipu/profile.hpp>

// Reports as JSON, and as events for viewers of Chrome traces.
namespace halftone::ipu {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json head(const Report& r, std::string_view schema) {
  Json json{{"schema", schema}, {"version", 1}, {"model", r.model}};
  const Target& t = r.target;
  json["target"] = {{"name", t.name.view()},
                    {"ipu_version", t.version.view()},
                    {"ipus", t.ipus},
                    {"tiles_per_ipu", t.tiles_per_ipu},
                    {"bytes_per_tile", t.bytes_per_tile},
                    {"worker_contexts", t.worker_contexts},
                    {"clock_hz", t.clock_hz}};
  json["options"] = {{"available_memory_proportion", r.options.available_memory_proportion},
                     {"partials", halftone::name(r.options.partials)},
                     {"prefetch", r.options.prefetch}};
  return json;
}

void add_graph(Json& json, const Report& r) {
  const std::int64_t fullest = r.fullest_tile();
  Json memory{{"capacity", r.target.bytes_per_tile},
              {"bytes", r.bytes()},
              {"fits", r.fits()},
              {"tiles_out_of_memory", r.tiles_out_of_memory()},
              {"fullest_tile", fullest},
              {"fullest_tile_bytes", r.tile_bytes(fullest)}};
  Json total = Json::array(), by_category = Json::object(), peaks = Json::array();
  for (std::int64_t tile = 0; tile < r.target.tiles(); ++tile) {
    total.push_back(r.tile_bytes(tile));
    peaks.push_back(r.peak_step[static_cast<std::size_t>(tile)]);
  }
  for (std::size_t c = 0; c < categories; ++c) {
    Json list = Json::array();
    for (const auto& tile : r.memory) list.push_back(tile[c]);
    by_category[std::string(name(static_cast<Category>(c)))] = std::move(list);
  }
  memory["by_tile"] = std::move(total);
  memory["by_tile_and_category"] = std::move(by_category);
  memory["peak_step_by_tile"] = std::move(peaks);
  memory["not_always_live_by_step"] = r.live_bytes;
  json["memory"] = std::move(memory);

  Json names = Json::array(), bytes = Json::array(), ipu = Json::array(), first = Json::array(),
       last = Json::array(), always = Json::array(), category = Json::array(),
       largest = Json::array(), first_tile = Json::array(), pieces = Json::array(),
       operation = Json::array();
  for (const Variable& v : r.variables) {
    names.push_back(v.name);
    bytes.push_back(v.bytes());
    ipu.push_back(v.ipu);
    first.push_back(v.first_step);
    last.push_back(v.last_step);
    always.push_back(v.is_always_live);
    category.push_back(name(v.category));
    largest.push_back(v.mapping.largest() * v.element_bytes);
    first_tile.push_back(v.mapping.first_tile);
    pieces.push_back(v.mapping.pieces);
    operation.push_back(v.operation);
  }
  json["variables"] = {{"name", std::move(names)},
                       {"bytes", std::move(bytes)},
                       {"ipu", std::move(ipu)},
                       {"first_step", std::move(first)},
                       {"last_step", std::move(last)},
                       {"always_live", std::move(always)},
                       {"category", std::move(category)},
                       {"largest_on_tile", std::move(largest)},
                       {"first_tile", std::move(first_tile)},
                       {"tiles", std::move(pieces)},
                       {"operation", std::move(operation)}};
  json["operations"] = Json::array();
  // Of the IPU that an operation runs on.
  const double peak = r.target.with_ipus(1).peak_flops(ElementType::float16, ElementType::float16) /
                      r.target.clock_hz;
  for (std::size_t i = 0; i < r.operations.size(); ++i) {
    const Operation& o = r.operations[i];
    const std::int64_t cycles = r.operation_cycles(i);
    json["operations"].push_back(
        {{"name", o.name},
         {"type", o.type},
         {"plan", o.plan},
         {"ipu", o.ipu},
         {"program", o.program},
         {"first_step", o.first_step},
         {"end_step", o.end_step},
         {"cycles", cycles},
         {"flops", o.flops},
         {"share_of_peak",
          cycles > 0 ? static_cast<double>(o.flops) / static_cast<double>(cycles) / peak : 0.0},
         {"output_bytes", o.output_bytes},
         {"inputs", o.inputs}});
  }
  json["programs"] = Json::array();
  for (const Program& p : r.programs) {
    json["programs"].push_back({{"name", p.name},
                                {"parent", p.parent},
                                {"repeats", p.repeats},
                                {"operation", p.operation}});
  }
}

void add_execution(Json& json, const Report& r) {
  const std::int64_t cycles = r.cycles();
  Json execution{{"cycles", cycles},
                 {"microseconds", r.seconds() * 1e6},
                 {"flops", r.flops()},
                 {"share_of_peak", r.share_of_peak()},
                 {"busy_compute_cycles", r.busy_cycles()}};
  for (int k = 0; k < step_kinds; ++k) {
    const auto kind = static_cast<StepKind>(k);
    execution["by_kind"][std::string(name(kind))] = r.cycles(kind);
  }
  json["execution"] = std::move(execution);
  json["vertices"] = r.vertices;
  Json kind = Json::array(), vertex = Json::array(), operation = Json::array(), ipu = Json::array(),
       program = Json::array(), repeats = Json::array(), each = Json::array(), mean = Json::array(),
       tiles = Json::array(), bytes = Json::array(), flops = Json::array();
  for (const Step& s : r.steps) {
    kind.push_back(name(s.kind));
    vertex.push_back(s.vertex);
    operation.push_back(s.operation);
    ipu.push_back(s.ipu);
    program.push_back(s.program);
    repeats.push_back(s.repeats);
    each.push_back(s.cycles);
    mean.push_back(static_cast<std::int64_t>(s.mean_cycles));
    tiles.push_back(s.tiles);
    bytes.push_back(s.bytes);
    flops.push_back(s.flops);
  }
  json["steps"] = {{"kind", std::move(kind)},           {"vertex", std::move(vertex)},
                   {"operation", std::move(operation)}, {"ipu", std::move(ipu)},
                   {"program", std::move(program)},     {"repeats", std::move(repeats)},
                   {"cycles", std::move(each)},         {"mean_cycles", std::move(mean)},
                   {"tiles", std::move(tiles)},         {"bytes", std::move(bytes)},
                   {"flops", std::move(flops)}};
  Json busy = Json::array();
  for (const double c : r.tile_cycles) busy.push_back(static_cast<std::int64_t>(c));
  json["compute_cycles_by_tile"] = std::move(busy);
}

}  // namespace

std::string Report::json() const {
  Json json = head(*this, "halftone.ipu.report");
  add_execution(json, *this);
  add_graph(json, *this);
  return dump(json);
}
std::string Report::graph_json() const {
  Json json = head(*this, "halftone.ipu.graph_report");
  add_graph(json, *this);
  return dump(json);
}
std::string Report::execution_json() const {
  Json json = head(*this, "halftone.ipu.execution_report");
  add_execution(json, *this);
  return dump(json);
}

std::string Report::trace() const {
  const double us = 1e6 / target.clock_hz;
  Json events = Json::array();
  for (std::int64_t ipu = 0; ipu < target.ipus; ++ipu) {
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", ipu},
                      {"args", {{"name", fmt::format("IPU {}", ipu)}}}});
    for (const auto& [thread, title] : {std::pair(0, "program"), std::pair(1, "BSP")}) {
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", ipu},
                        {"tid", thread},
                        {"args", {{"name", title}}}});
    }
  }
  double now = 0;
  std::vector<double> start(steps.size() + 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    start[i] = now;
    const double duration = static_cast<double>(s.total()) * us;
    if (s.total() > 0) {
      Json args{{"cycles", s.cycles}, {"repeats", s.repeats}, {"mean cycles", s.mean_cycles},
                {"tiles", s.tiles},   {"bytes", s.bytes},     {"flops", s.flops}};
      if (s.vertex >= 0) args["vertex"] = vertices[static_cast<std::size_t>(s.vertex)];
      events.push_back({{"ph", "X"},
                        {"name", name(s.kind)},
                        {"cat", "bsp"},
                        {"pid", s.ipu},
                        {"tid", 1},
                        {"ts", now},
                        {"dur", duration},
                        {"args", std::move(args)}});
    }
    const bool is_exchange = s.kind == StepKind::exchange || s.kind == StepKind::link;
    const std::tuple<std::string_view, std::string_view, std::int64_t> counters[] = {
        {"not always live bytes", "bytes", live_bytes[i]},
        {"active tiles", "tiles", s.kind == StepKind::compute ? s.tiles : 0},
        {"exchange bytes", "bytes", is_exchange ? s.bytes : 0}};
    for (const auto& [counter, unit, value] : counters) {
      events.push_back({{"ph", "C"},
                        {"name", counter},
                        {"pid", s.ipu},
                        {"ts", now},
                        {"args", {{std::string(unit), value}}}});
    }
    now += duration;
  }
  start[steps.size()] = now;
  for (const Operation& o : operations) {
    const double from = start[static_cast<std::size_t>(o.first_step)];
    const double to = start[static_cast<std::size_t>(o.end_step)];
    if (to <= from) continue;
    events.push_back({{"ph", "X"},
                      {"name", o.type + " " + o.name},
                      {"cat", "operation"},
                      {"pid", o.ipu},
                      {"tid", 0},
                      {"ts", from},
                      {"dur", to - from},
                      {"args", {{"flops", o.flops}, {"plan", o.plan}}}});
  }
  Json json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return dump(json);
}

}  // namespace halftone::ipu
