#include "session/ipu_model.hpp"

#include <algorithm>

#include <halftone/ipu/pipeline.hpp>
#include <halftone/train.hpp>

namespace halftone::detail {
namespace {

const ipu::Target& target_of(const SessionOptions& options) {
  return options.ipu.target != nullptr ? *options.ipu.target : ipu::gc200;
}

}  // namespace

std::unique_ptr<ipu::ArithmeticRunner> device_arithmetic(const SessionOptions& options) {
  if (options.device == Device::ipu_model && options.precision != Precision::float32) {
    fail(ErrorKind::usage, {.what = "precision is that of products on the device cpu",
                            .expected = "float32",
                            .found = name(options.precision),
                            .hint = "a graph in half, or ipu.half_partials"});
  }
  const ipu::Arithmetic& arithmetic = options.ipu.arithmetic;
  if (!arithmetic.any()) return nullptr;
  if (options.device != Device::ipu_model) {
    fail(ErrorKind::usage, {.what = "the machine's arithmetic is that of ipu_model",
                            .hint = "device = Device::ipu_model"});
  }
  if (options.stop_at_nan) {
    fail(ErrorKind::usage,
         {.what = "stop_at_nan does not go with the machine's arithmetic",
          .hint = "ipu.arithmetic.floating_point_checks stops at exceptions, too"});
  }
  target_of(options).check();
  auto runner = std::make_unique<ipu::ArithmeticRunner>(
      arithmetic, target_of(options),
      ipu::ProductOptions{
          .available_memory_proportion = options.ipu.available_memory_proportion,
          .partials = options.ipu.half_partials ? ElementType::float16 : ElementType::float32});
  runner->random().set_seed(options.seed);
  return runner;
}

IpuModel::IpuModel(const SessionOptions& options)
    : target_(target_of(options)),
      schedule_(options.schedule),
      batches_(options.batches_per_step),
      accumulation_(options.accumulation) {
  options_.available_memory_proportion = options.ipu.available_memory_proportion;
  if (options.ipu.half_partials) options_.partials = ElementType::float16;
  options_.placement = options.ipu.placement;
  options_.recompute = options.recompute;
  options_.observer = options.observer;
  options_.split_ratios = options.ipu.split_ratios;
  options_.allow_out_of_memory = options.ipu.allow_out_of_memory;
  options_.io_tiles = options.ipu.io_tiles;
  options_.outline = options.ipu.outline;
  options_.call_copies = options.ipu.call_copies;
  options_.merged_updates = options.ipu.merged_updates;
  options_.stable_norms = options.ipu.stable_norms;
  target_.check();
}

void IpuModel::follow(const Graph& graph, std::span<const AnyView> inputs) {
  if (report_ != nullptr &&
      std::equal(inputs.begin(), inputs.end(), profiled_.begin(), profiled_.end(),
                 [](const AnyView& view, const TensorInfo& info) { return view.info == info; })) {
    return;
  }
  Graph shaped = graph;
  Vector<TensorInfo> infos;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shaped.tensor(shaped.inputs[i]).info = inputs[i].info;
    infos.push_back(inputs[i].info);
  }
  report_ = std::make_unique<ipu::Report>(made_report(shaped));
  profiled_ = std::move(infos);
}

ipu::Report IpuModel::made_report(const Graph& graph) const {
  if (schedule_ == Schedule::none || !has_stages(graph)) {
    return ipu::profile(graph, target_, options_);
  }
  // The micro-batches that go through the stages together: those of a step, or of a run.
  const bool is_step = accumulation_of(graph) != 0 && schedule_ != Schedule::continuous;
  const std::int64_t together = is_step ? accumulation_ : batches_ * accumulation_;
  return ipu::profile_pipeline(graph, target_, schedule_, static_cast<std::int32_t>(together),
                               options_)
      .report;
}

}  // namespace halftone::detail
