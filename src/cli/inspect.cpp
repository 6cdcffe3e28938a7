#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include <halftone/exec/engine.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/streams.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/loaded.hpp"
#include "cli/table.hpp"
#include "program/program_text.hpp"
#include "transform/graph_text.hpp"
#include "transform/pipeline.hpp"

namespace halftone::cli {
namespace {

using enum Table::Align;

using detail::name_of;

Json port_json(const Graph& graph, TensorId id) {
  Json port{{"name", graph.name(id)}};
  add_info(port, graph.info(id));
  for (const Symbol& symbol : graph.symbols) {
    if (symbol.tensor == id && graph.info(id).shape[symbol.axis] < 0) {
      port["symbols"][std::to_string(symbol.axis)] = graph.text(symbol.name);
    }
  }
  return port;
}

/// How many nodes each operator has, most first.
std::vector<std::pair<std::string, std::int64_t>> operator_counts(const Graph& graph) {
  std::map<std::string, std::int64_t> counts;
  for (const Node& node : graph.nodes) {
    std::string name(node.op->id.name);
    if (node.op->id.domain != "ai.onnx") name = fmt::format("{} {}", node.op->id.domain, name);
    ++counts[name];
  }
  std::vector<std::pair<std::string, std::int64_t>> list(counts.begin(), counts.end());
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return list;
}

Json to_json(const Versions& versions) {
  Json json = Json::object();
  for (const auto& [domain, version] : versions.opsets) json[domain] = version;
  return json;
}

template <class Stream>
Json stream_json(const Stream& stream) {
  Json json{{"name", stream.name.view()}};
  add_info(json, stream.slice);
  return json;
}

void print_json(const InspectOptions& options, const Versions& versions, const Graph& graph,
                const Console& console) {
  const ModelFacts facts = facts_of(graph);
  Json json{{"model", options.model.path}, {"ir", versions.ir}, {"opsets", to_json(versions)}};
  for (const char* key : {"inputs", "optional_inputs", "outputs"}) json[key] = Json::array();
  for (const TensorId id : graph.inputs) json["inputs"].push_back(port_json(graph, id));
  for (const auto& stream : used_h2d_streams(graph)) {
    json["inputs"].push_back(stream_json(stream));
  }
  for (const TensorId id : graph.optional_inputs) {
    json["optional_inputs"].push_back(port_json(graph, id));
  }
  for (const TensorId id : graph.outputs) json["outputs"].push_back(port_json(graph, id));
  for (const auto& stream : used_d2h_streams(graph)) {
    json["outputs"].push_back(stream_json(stream));
  }
  Json parameters{
      {"count", facts.parameters}, {"bytes", facts.parameter_bytes}, {"tensors", Json::array()}};
  for (const TensorId id : parameters_of(graph)) {
    parameters["tensors"].push_back(port_json(graph, id));
  }
  json["parameters"] = std::move(parameters);
  json["operators"] = Json::object();
  for (const auto& [name, number] : operator_counts(graph)) json["operators"][name] = number;
  if (options.nodes) {
    json["nodes"] = Json::array();
    for (const Node& node : graph.nodes) {
      Json row{
          {"name", graph.name(node)}, {"domain", node.op->id.domain}, {"op", node.op->id.name}};
      for (const auto& [key, ids] :
           {std::pair("inputs", &node.inputs), {"outputs", &node.outputs}}) {
        row[key] = Json::array();
        for (const TensorId id : *ids) {
          row[key].push_back(id == no_tensor ? Json() : Json(name_of(graph, id)));
        }
      }
      row["infos"] = Json::array();
      for (const TensorId id : node.outputs) {
        Json info = Json::object();
        if (id != no_tensor) add_info(info, graph.info(id));
        row["infos"].push_back(std::move(info));
      }
      json["nodes"].push_back(std::move(row));
    }
  }
  fmt::print(console.out, "{}", dump(json));
}

void print_text(const InspectOptions& options, const Graph& graph, const Console& console) {
  const ModelFacts facts = facts_of(graph);
  fmt::print(console.out, "model  {}  {}  {} nodes  {} parameters  {}\n",
             detail::escaped(options.model.path), versions_text(options.model.path), facts.nodes,
             count(static_cast<double>(facts.parameters)),
             detail::bytes_text(static_cast<std::uint64_t>(facts.parameter_bytes)));

  Table ports({{""}, {"name"}, {"info"}});
  for (const TensorId id : graph.inputs) {
    ports.add({"input", name_of(graph, id), info_text(graph, id)});
  }
  for (const TensorId id : graph.optional_inputs) {
    ports.add({"input", name_of(graph, id), info_text(graph, id) + "  (has a value)"});
  }
  for (const TensorId id : graph.outputs) {
    ports.add({"output", name_of(graph, id), info_text(graph, id)});
  }
  for (const auto& stream : used_h2d_streams(graph)) {
    ports.add({"input", detail::escaped(stream.name.view()),
               detail::to_text(stream.slice) + "  (stream)"});
  }
  for (const auto& stream : used_d2h_streams(graph)) {
    ports.add({"output", detail::escaped(stream.name.view()),
               detail::to_text(stream.slice) + "  (stream)"});
  }
  fmt::print(console.out, "\n");
  ports.print(console.out);

  const Vector<TensorId> ids = parameters_of(graph);
  if (!ids.empty()) {
    Table parameters({{"parameter"}, {"info"}, {"bytes", right}});
    for (const TensorId id : ids) {
      parameters.add(
          {name_of(graph, id), info_text(graph, id), fmt::format("{}", graph.info(id).bytes())});
    }
    fmt::print(console.out, "\n");
    parameters.print(console.out);
  }

  Table operators({{"operator"}, {"nodes", right}});
  for (const auto& [name, number] : operator_counts(graph)) {
    operators.add({name, fmt::format("{}", number)});
  }
  if (!operators.empty()) {
    fmt::print(console.out, "\n");
    operators.print(console.out);
  }
  if (!options.nodes) return;

  Table nodes({{"node"}, {"operator"}, {"inputs"}, {"outputs"}, {"info"}});
  const auto list = [&](const Vector<TensorId>& tensors, auto text_of) {
    std::string text;
    for (const TensorId id : tensors) text += (text.empty() ? "" : ", ") + text_of(graph, id);
    return text;
  };
  for (const Node& node : graph.nodes) {
    nodes.add({detail::escaped(graph.name(node)), std::string(node.op->id.name),
               list(node.inputs, name_of), list(node.outputs, name_of),
               list(node.outputs, [](const Graph& g, TensorId id) {
                 return id == no_tensor ? std::string("-") : info_text(g, id);
               })});
  }
  fmt::print(console.out, "\n");
  nodes.print(console.out);
}

/// Prints the graphs that a pass leaves behind.
class Printer final : public PassObserver {
 public:
  Printer(const InspectOptions& options, const Console& console)
      : options_(options), console_(console) {}
  bool has_printed = false;

  void passed(const PassEvent& event) override {
    if (event.target != options_.target || event.pass != options_.after) return;
    has_printed = true;
    if (options_.dot) {
      fmt::print(console_.out, "{}", graph_dot(event.graph));
      return;
    }
    if (!event.path.empty()) {
      fmt::print(console_.out, "\nbody {}\n", detail::escaped(event.path));
    }
    fmt::print(console_.out, "{}", graph_text(event.graph));
  }

 private:
  const InspectOptions& options_;
  const Console& console_;
};

/// Throws UsageError if an input's shape is not known.
void check_inputs(const Graph& graph) {
  for (const TensorId id : graph.inputs) {
    if (graph.info(id).is_static()) continue;
    const std::string found = info_text(graph, id);
    fail(ErrorKind::usage, {.what = "a model is made ready when the shapes of its inputs are known",
                            .tensor = graph.name(id),
                            .found = found,
                            .hint = "give symbolic extents a value: --size batch=1"});
  }
}

void print_program(const InspectOptions& options, LoadedModel model, const Console& console) {
  check_inputs(model.graph());
  if (options.target == "ipu") {
    fmt::print(console.out, "{}", program_text(ipu::program_for(model.graph())));
    return;
  }
  const Engine engine = std::move(model).engine({});
  fmt::print(console.out, "{}", program_text(*engine.program()));
}

/// Makes the graph ready to run, or profiles it, and prints it after the pass that was asked for.
void print_after(const InspectOptions& options, Graph graph, const Console& console) {
  const std::span<const std::string_view> names = pass_names(options.target);
  if (std::find(names.begin(), names.end(), options.after) == names.end()) {
    const std::string expected = fmt::format("{}", fmt::join(names, ", "));
    fail(ErrorKind::usage, {.what = "--after names no pass of this target",
                            .expected = expected,
                            .found = detail::quoted(options.after)});
  }
  check_inputs(graph);
  Printer printer(options, console);
  if (options.target == "ipu") {
    ipu::profile(graph, ipu::gc200, {.allow_out_of_memory = true, .observer = &printer});
  } else {
    const Engine engine(std::move(graph), {.observer = &printer});
  }
  if (printer.has_printed) return;
  fail(ErrorKind::unsupported, {.what = "the pass did not run: the model gives it nothing to do",
                                .hint = "the passes before it: --after infer"});
}

}  // namespace

void inspect(const InspectOptions& options, const Console& console) {
  LoadedModel model = [&] {
    const Activity activity(console, "load " + detail::escaped(options.model.path));
    return LoadedModel(options.model);
  }();
  if (options.program) return print_program(options, std::move(model), console);
  const Graph& graph = model.graph();
  if (!options.after.empty()) return print_after(options, graph, console);
  if (!options.json) return print_text(options, graph, console);
  const Versions versions =
      is_executable(options.model.path) ? Versions{} : versions_of(options.model.path);
  print_json(options, versions, graph, console);
}

}  // namespace halftone::cli
