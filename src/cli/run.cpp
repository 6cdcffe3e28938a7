#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <halftone/session/session.hpp>
#include <halftone/streams.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/loaded.hpp"
#include "cli/made_up.hpp"
#include "cli/new_files.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"

namespace halftone::cli {
namespace {

/// A tensor in words: its values if they are few, else what they are like.
std::string values_text(AnyView value) {
  constexpr std::int64_t few = 10;
  const Statistics s = statistics_of(value);
  if (s.elements <= few) return first_values(value, few);
  std::string text = fmt::format("min {:.4g}  mean {:.4g}  max {:.4g}", s.min, s.mean, s.max);
  if (s.not_a_number > 0) text += fmt::format("  {} nan", s.not_a_number);
  return text;
}

Json tensor_json(std::string_view tensor, AnyView value) {
  const Statistics s = statistics_of(value);
  Json json{{"name", tensor}};
  add_info(json, value.info);
  json.update({{"min", s.min}, {"mean", s.mean}, {"max", s.max}, {"nan", s.not_a_number}});
  return json;
}

/// `made_up`: the inputs, if nobody gave any; `files`: of the outputs, if they are written.
void print_summary(const Result& result, const std::vector<Input>& made_up,
                   const std::vector<std::string>& files, double seconds, bool as_json,
                   const Console& console) {
  if (as_json) {
    Json json{{"seconds", seconds}};
    for (const Input& input : made_up) {
      json["made_up_inputs"].push_back(tensor_json(input.name, input.value));
    }
    json["outputs"] = Json::array();
    for (std::size_t i = 0; i < result.size(); ++i) {
      json["outputs"].push_back(tensor_json(result.name(i), result[i]));
      if (!files.empty()) json["outputs"].back()["file"] = files[i];
    }
    fmt::print(console.out, "{}", dump(json));
    return;
  }
  const auto cells = [](std::string_view tensor, AnyView value) {
    return std::vector{detail::escaped(tensor), std::string(name(value.info.type)),
                       detail::to_text(value.info.shape), values_text(value)};
  };
  if (!made_up.empty()) {
    Table inputs({{"made-up input"}, {"type"}, {"shape"}, {"values"}});
    for (const Input& input : made_up) inputs.add(cells(input.name, input.value));
    inputs.print(console.out);
    fmt::print(console.out, "\n");
  }
  std::vector<Table::Column> columns{{"output"}, {"type"}, {"shape"}, {"values"}};
  if (!files.empty()) columns.push_back({"file"});
  Table outputs(columns);
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<std::string> row = cells(result.name(i), result[i]);
    if (!files.empty()) row.push_back(files[i]);
    outputs.add(std::move(row));
  }
  outputs.print(console.out);
  fmt::print(console.out, "run in {}\n", duration(seconds));
}

ElementType type_of_input(const Graph& graph, std::string_view input) {
  if (const TensorId id = graph.find(input); id != no_tensor) return graph.info(id).type;
  for (const auto& stream : used_h2d_streams(graph)) {
    if (stream.name.view() == input) return stream.slice.type;
  }
  return ElementType::undefined;
}

/// Reads the model, for the inputs at hand if it states less of them than its operators have to know.
LoadedModel load_for_inputs(const RunOptions& options) {
  if (options.inputs.empty() || is_executable(options.model.path)) {
    return LoadedModel(options.model);
  }
  std::optional<LoadedModel> model;
  std::exception_ptr refusal;
  try {
    const Graph& graph = model.emplace(options.model).graph();
    const auto is_stated = [&](TensorId id) { return graph.info(id).is_known(); };
    if (std::all_of(graph.inputs.begin(), graph.inputs.end(), is_stated)) return std::move(*model);
  } catch (const Error&) {
    refusal = std::current_exception();
  }
  try {
    std::vector<onnx::InputShape> inputs;
    for (const InputFile& input : options.inputs) {
      inputs.push_back({input.name, read_tensor(input.file, ElementType::undefined).info()});
    }
    return LoadedModel(options.model, std::move(inputs));
  } catch (const Error&) {
    // The inputs did not help: the first reading says what is wrong.
    if (refusal != nullptr) std::rethrow_exception(refusal);
    return std::move(*model);
  }
}

}  // namespace

void run(const RunOptions& options, const Console& console) {
  const bool is_trial = options.inputs.empty() && options.output_dir.empty();
  Activity activity(console, "run " + detail::escaped(options.model.path));
  LoadedModel model = load_for_inputs(options);
  const Graph& graph = model.graph();
  std::vector<std::string> names;
  std::vector<AnyArray> arrays;
  if (is_trial) {
    MadeUp made_up;
    Sizes sizes(graph, 0);
    for (const TensorId id : graph.inputs) {
      names.emplace_back(graph.name(id));
      arrays.push_back(made_up.array(of_replicas(graph, sizes.complete(id)), names.back()));
    }
    for (const auto& stream : used_h2d_streams(graph)) {
      names.emplace_back(stream.name.view());
      arrays.push_back(made_up.array(of_replicas(graph, stream.slice), names.back()));
    }
  } else {
    for (const InputFile& input : options.inputs) {
      names.push_back(input.name);
      arrays.push_back(read_tensor(input.file, type_of_input(graph, input.name)));
    }
  }
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) inputs.emplace_back(names[i], arrays[i]);
  Session session = std::move(model).session({.threads = options.threads,
                                              .convolution = options.convolution,
                                              .precision = options.precision});
  const auto start = Clock::now();
  const Result result = session.run(inputs);
  const double seconds = seconds_since(start);
  if (is_trial) return print_summary(result, inputs, {}, seconds, options.json, console);

  NewFiles files(options.output_dir);
  std::vector<std::string> written;
  for (std::size_t i = 0; i < result.size(); ++i) {
    written.push_back(fmt::format("output_{}.{}", i, extension(options.format)));
    write_tensor(files.add(written.back()), options.format, result.name(i), result[i]);
  }
  print_summary(result, {}, written, seconds, options.json, console);
  flush(console);  // a run that fails leaves no file, whatever the reason
  files.commit();
}

}  // namespace halftone::cli
