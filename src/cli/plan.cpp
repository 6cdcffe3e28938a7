#include <halftone/ipu/plan.hpp>

#include <fmt/format.h>

#include <optional>
#include <string>

#include <halftone/ipu/pipeline.hpp>
#include <halftone/onnx.hpp>
#include <halftone/transform/in_half.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/shard.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/loss.hpp"
#include "cli/model.hpp"
#include "cli/new_files.hpp"
#include "cli/optimizer.hpp"
#include "cli/profile_options.hpp"

namespace halftone::cli {
namespace {

/// What `--loss` says, or else what the output looks like: classes, or numbers.
Loss loss_of(const std::string& named, const TensorInfo& y) {
  if (const std::optional<Loss> loss = loss_named(named)) return *loss;
  if (!named.empty() || y.rank() == 0) return Loss::own;
  return y.rank() > 1 && y.shape[y.rank() - 1] > 1 ? Loss::cross_entropy : Loss::squared;
}

/// Records training as `halftone train` does; values of labels do not matter here.
void record(const PlanCommand& options, Graph& graph) {
  const bool is_name = !options.loss.empty() && !loss_named(options.loss);
  if (is_name && graph.find(options.loss) == no_tensor) throw_unknown_name(graph, options.loss);
  if (!is_name && graph.outputs.empty()) {
    fail(ErrorKind::model, {.what = "the model has no output"});
  }
  const AnyTensor y{&graph, is_name ? graph.find(options.loss) : graph.outputs[0]};
  const TensorInfo info = static_info(graph, y.id);
  const Loss kind = loss_of(options.loss, info);
  const AnyTensor loss =
      record_loss(graph, y, kind, label_info_for(kind, info, graph.name(y.id)), false);
  float loss_scaling = 1;
  graph.outputs = {loss.id};
  Json optimizer = parse_optimizer(options.optimizer);
  if (!optimizer.contains("lr")) optimizer["lr"] = 1e-3;  // no time depends on it
  record_training(optimizer, graph, loss,
                  {.accumulation = 2, .reduction = AccumulationReduction::mean}, loss_scaling,
                  [](const std::string& what) {
                    fail(ErrorKind::usage, {.what = what, .tensor = "--optimizer"});
                  });
}

/// What the best one does in time: as many micro-batches as lanes can show.
ipu::PipelineProfile lanes(const Graph& model, const ipu::PlanPoint& point,
                           const ipu::Target& target, const ipu::PlanOptions& options) {
  Graph graph = point.half ? in_half(model) : model;
  point.place(graph);
  graph.replicas = static_cast<std::int32_t>(point.replicas);
  if (options.train) {
    options.train(graph);
    const TensorKinds state{.state = {.is_on = true}};
    if (point.state == ipu::StatePlace::sharded) graph = shard(std::move(graph), state);
    if (point.state == ipu::StatePlace::off_chip) graph = off_chip(std::move(graph), state);
  }
  ipu::ProfileOptions profile = options.profile;
  profile.ipus = point.stages;
  profile.recompute = point.recompute;
  // What fits is in the table.
  profile.allow_out_of_memory = true;
  const auto shown = static_cast<std::int32_t>(
      std::min<std::int64_t>(point.micro_batches, 3 * std::int64_t{point.stages}));
  return ipu::profile_pipeline(graph, target, point.schedule, shown, profile);
}

}  // namespace

void plan(const PlanCommand& command, const Console& console) {
  const Activity activity(console, "plan " + detail::escaped(command.model.path));
  const Graph model = load_model(command.model);
  const ipu::Target& target = target_named(command.target);
  ipu::PlanOptions options{.ipus = command.ipus, .batch = command.batch};
  options.micro_batches = command.micro_batches;
  options.stages = command.stages;
  options.profile = profile_options(command.memory_proportion, command.partials);
  options.profile.io_tiles = command.io_tiles;
  options.half = command.half;
  options.host = !command.no_host;
  if (!command.optimizer.empty()) {
    options.train = [&](Graph& graph) { record(command, graph); };
  } else if (!command.loss.empty()) {
    fail(ErrorKind::usage, {.what = "a loss is for training", .hint = "--optimizer adam"});
  }
  const bool has_batch = has_open_batch(model);
  if (!has_batch) options.micro_batches = {1};
  const auto of_batch = [&](std::int64_t items) {
    return has_batch ? with_batch(model, items) : model;
  };
  const ipu::Plan found = ipu::plan(of_batch, target, options);
  const ipu::PlanPoint* const best = found.best();
  if (!command.save.empty()) {
    if (best == nullptr) {
      fail(ErrorKind::memory, {.what = "no way to spread the model fits: there is none to save"});
    }
    Graph tagged = model;
    if (best->stages > 1) best->place(tagged);
    onnx::save(tagged, command.save);
  }
  std::optional<ipu::PipelineProfile> pipeline;
  if (best != nullptr && best->stages > 1) {
    pipeline = lanes(of_batch(best->micro_batch), *best, target, options);
  }
  std::string text = found.summary();
  if (pipeline) text += "\n" + pipeline->summary() + "  lanes leave out the host's streams\n";
  if (!command.output_dir.empty()) {
    NewFiles files(command.output_dir);
    write_file(files.add("plan.txt"), text);
    write_file(files.add("plan.json"), found.json());
    if (pipeline) {
      write_file(files.add("pipeline.html"), pipeline->html());
      write_file(files.add("trace.json"), pipeline->trace());
    }
    files.commit();
  }
  fmt::print(console.out, "{}", command.json ? found.json() : text);
}

}  // namespace halftone::cli
