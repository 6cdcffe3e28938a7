#include <fmt/format.h>

#include <halftone/exec/engine.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/loaded.hpp"
#include "cli/made_up.hpp"

namespace halftone::cli {
namespace {

Json to_json(const Error& error) {
  return {{"reason", error.reason()},     {"node", error.node()},   {"tensor", error.tensor()},
          {"expected", error.expected()}, {"found", error.found()}, {"hint", error.hint()},
          {"text", error.what()}};
}

Json to_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(to_json(error));
  return list;
}

/// All that was found, one by one.
Json to_json(const onnx::Report& report) {
  Json operators = Json::array();
  for (const onnx::MissingOperator& op : report.operators()) {
    operators.push_back({{"operator", op.name}, {"count", op.count}, {"nodes", op.nodes}});
  }
  return {{"operators", std::move(operators)},
          {"unsupported", to_json(report.unsupported())},
          {"defects", to_json(report.defects())},
          {"warnings", to_json(report.warnings())}};
}

/// Plans a run. Extents that the model leaves open are taken for 1, as `run` does; if they must not
/// be that, nothing is said against the model.
void plan(Graph graph) {
  Sizes sizes(graph, 0);
  Vector<TensorInfo> inputs;
  bool is_static = true;
  for (const TensorId id : graph.inputs) {
    if (!graph.info(id).is_known()) return;
    is_static = is_static && graph.info(id).is_static();
    inputs.push_back(sizes.complete(id));
  }
  Engine engine(std::move(graph), {.only_plan = true});
  try {
    if (!is_static) engine.prepare(inputs);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) throw;
  }
}

/// An executable can run if nothing of it is damaged.
void check_executable(const CheckOptions& options, const Console& console) {
  Executable executable = load_executable(options.model.path);
  executable.verify();
  const auto nodes = executable.graph().nodes.size();
  if (options.json) {
    fmt::print(console.out, "{}", dump(Json{{"ok", true}, {"nodes", nodes}}));
  } else {
    fmt::print(console.out, "{}: can run, {} nodes\n", detail::escaped(options.model.path), nodes);
  }
}

}  // namespace

void check(const CheckOptions& options, const Console& console) {
  const std::string model = detail::escaped(options.model.path);
  onnx::Report report(options.model.strict);
  try {
    const Activity activity(console, "check " + model);
    if (is_executable(options.model.path)) return check_executable(options, console);
    Graph graph = load_model(options.model, report);
    const ModelFacts facts = facts_of(graph);
    plan(std::move(graph));
    if (options.json) {
      Json json{{"ok", true}, {"nodes", facts.nodes}};
      json.update(to_json(report));
      fmt::print(console.out, "{}", dump(json));
    } else {
      fmt::print(console.out, "{}: can run, {} nodes\n", model, facts.nodes);
    }
  } catch (const Error& error) {
    if (options.json) {
      Json json{{"ok", false}, {"kind", name(error.kind())}};
      json.update(to_json(error));
      json.update(to_json(report));
      fmt::print(console.out, "{}", dump(json));
    }
    throw;
  }
}

}  // namespace halftone::cli
