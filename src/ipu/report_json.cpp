#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

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

/// Lists that stand side by side: element i of each says something of element i of `list`.
template <class T>
Json columns(const std::vector<T>& list,
             std::initializer_list<std::pair<const char*, Json (*)(const T&)>> values) {
  Json json;
  for (const auto& [title, value] : values) {
    Json& column = json[title] = Json::array();
    for (const T& element : list) column.push_back(value(element));
  }
  return json;
}

Json memory_of(const Report& r) {
  const std::int64_t fullest = r.fullest_tile();
  Json memory{{"capacity", r.target.bytes_per_tile},
              {"bytes", r.bytes()},
              {"fits", r.fits()},
              {"tiles_out_of_memory", r.tiles_out_of_memory()},
              {"fullest_tile", fullest},
              {"fullest_tile_bytes", r.tile_bytes(fullest)}};
  Json& total = memory["by_tile"] = Json::array();
  for (std::int64_t tile = 0; tile < r.target.tiles(); ++tile) total.push_back(r.tile_bytes(tile));
  for (std::size_t c = 0; c < categories; ++c) {
    Json list = Json::array();
    for (const auto& tile : r.memory) list.push_back(tile[c]);
    memory["by_tile_and_category"][std::string(name(static_cast<Category>(c)))] = std::move(list);
  }
  memory["peak_step_by_tile"] = r.peak_step;
  memory["not_always_live_by_step"] = r.live_bytes;
  return memory;
}

Json operations_of(const Report& r) {
  Json list = Json::array();
  // Of the IPU that an operation runs on.
  const double peak = r.target.with_ipus(1).peak_flops(ElementType::float16, ElementType::float16) /
                      r.target.clock_hz;
  for (std::size_t i = 0; i < r.operations.size(); ++i) {
    const Operation& o = r.operations[i];
    const std::int64_t cycles = r.operation_cycles(i);
    list.push_back(
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
  return list;
}

void add_graph(Json& json, const Report& r) {
  json["memory"] = memory_of(r);
  json["variables"] = columns<Variable>(
      r.variables,
      {{"name", [](auto& v) -> Json { return v.name; }},
       {"bytes", [](auto& v) -> Json { return v.bytes(); }},
       {"ipu", [](auto& v) -> Json { return v.ipu; }},
       {"first_step", [](auto& v) -> Json { return v.first_step; }},
       {"last_step", [](auto& v) -> Json { return v.last_step; }},
       {"always_live", [](auto& v) -> Json { return v.is_always_live; }},
       {"category", [](auto& v) -> Json { return name(v.category); }},
       {"largest_on_tile", [](auto& v) -> Json { return v.mapping.largest() * v.element_bytes; }},
       {"first_tile", [](auto& v) -> Json { return v.mapping.first_tile; }},
       {"tiles", [](auto& v) -> Json { return v.mapping.pieces; }},
       {"operation", [](auto& v) -> Json { return v.operation; }}});
  json["operations"] = operations_of(r);
  json["programs"] = Json::array();
  for (const Program& p : r.programs) {
    json["programs"].push_back({{"name", p.name},
                                {"parent", p.parent},
                                {"repeats", p.repeats},
                                {"operation", p.operation},
                                {"callee", p.callee}});
  }
}

void add_execution(Json& json, const Report& r) {
  const std::int64_t cycles = r.cycles();
  Json execution{{"cycles", cycles},
                 {"microseconds", r.seconds() * 1e6},
                 {"step_cycles", r.step_cycles()},
                 {"replicas", r.replicas},
                 {"accumulation", r.accumulation},
                 {"batch", r.batch},
                 {"samples_per_second", r.samples_per_second()},
                 {"flops", r.flops()},
                 {"share_of_peak", r.share_of_peak()},
                 {"busy_compute_cycles", r.busy_cycles()}};
  for (int k = 0; k < step_kinds; ++k) {
    const auto kind = static_cast<StepKind>(k);
    execution["by_kind"][std::string(name(kind))] = r.cycles(kind);
  }
  execution["by_ipu"] = Json::array();
  for (std::int64_t ipu = 0; ipu < r.target.ipus; ++ipu) {
    execution["by_ipu"].push_back({{"busy", r.ipu_cycles(ipu)},
                                   {"waiting", r.waiting_cycles(ipu)},
                                   {"idle", r.idle_cycles(ipu)}});
  }
  json["execution"] = std::move(execution);
  json["vertices"] = r.vertices;
  json["steps"] = columns<Step>(
      r.steps,
      {{"kind", [](auto& s) -> Json { return name(s.kind); }},
       {"vertex", [](auto& s) -> Json { return s.vertex; }},
       {"operation", [](auto& s) -> Json { return s.operation; }},
       {"ipu", [](auto& s) -> Json { return s.ipu; }},
       {"program", [](auto& s) -> Json { return s.program; }},
       {"repeats", [](auto& s) -> Json { return s.repeats; }},
       {"cycles", [](auto& s) -> Json { return s.cycles; }},
       {"mean_cycles", [](auto& s) -> Json { return static_cast<std::int64_t>(s.mean_cycles); }},
       {"tiles", [](auto& s) -> Json { return s.tiles; }},
       {"bytes", [](auto& s) -> Json { return s.bytes; }},
       {"flops", [](auto& s) -> Json { return s.flops; }},
       {"start", [](auto& s) -> Json { return s.start; }},
       {"peer", [](auto& s) -> Json { return s.peer; }}});
  json["compute_cycles_by_tile"] =
      std::vector<std::int64_t>(r.tile_cycles.begin(), r.tile_cycles.end());
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
  const auto add_span = [&](std::string_view title, std::string_view category, std::int64_t ipu,
                            int thread, double from, double duration, Json args) {
    events.push_back({{"ph", "X"},
                      {"name", title},
                      {"cat", category},
                      {"pid", ipu},
                      {"tid", thread},
                      {"ts", from},
                      {"dur", duration},
                      {"args", std::move(args)}});
  };
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
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    const double now = static_cast<double>(s.start) * us;
    const double duration = static_cast<double>(s.total()) * us;
    if (s.total() > 0) {
      Json args{{"cycles", s.cycles}, {"repeats", s.repeats}, {"mean cycles", s.mean_cycles},
                {"tiles", s.tiles},   {"bytes", s.bytes},     {"flops", s.flops}};
      if (s.vertex >= 0) args["vertex"] = vertices[static_cast<std::size_t>(s.vertex)];
      add_span(name(s.kind), "bsp", s.ipu, 1, now, duration, std::move(args));
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
  }
  for (const Operation& o : operations) {
    if (o.end_step <= o.first_step) continue;
    const double from =
        static_cast<double>(steps[static_cast<std::size_t>(o.first_step)].start) * us;
    const double to =
        static_cast<double>(steps[static_cast<std::size_t>(o.end_step) - 1].end()) * us;
    if (to <= from) continue;
    add_span(o.type + " " + o.name, "operation", o.ipu, 0, from, to - from,
             {{"flops", o.flops}, {"plan", o.plan}});
  }
  return dump({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}});
}

}  // namespace halftone::ipu
