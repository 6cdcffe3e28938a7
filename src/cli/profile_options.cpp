#include "cli/profile_options.hpp"

#include <algorithm>
#include <utility>

#include <halftone/kernel/executor.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "exec/fold.hpp"

namespace halftone::cli {
namespace {

bool is_open(const TensorInfo& info) {
  return info.is_known() && info.rank() != 0 && info.shape[0] < 0;
}

}  // namespace

const ipu::Target& target_named(const std::string& name) {
  const ipu::Target* const target = ipu::find_target(name);
  if (target == nullptr) {
    fail(ErrorKind::usage,
         {.what = "there is no such machine", .found = name, .hint = "gc2, gc200, bow, c600"});
  }
  return *target;
}

ipu::ProfileOptions profile_options(double memory_proportion, const std::string& partials) {
  if (partials != "float" && partials != "half") {
    fail(ErrorKind::usage, {.what = "partial sums are float or half", .found = partials});
  }
  ipu::ProfileOptions options;
  options.available_memory_proportion = memory_proportion;
  options.partials = partials == "half" ? ElementType::float16 : ElementType::float32;
  return options;
}

bool has_open_batch(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](TensorId id) { return is_open(graph.info(id)); });
}

Graph with_batch(Graph graph, std::int64_t batch) {
  if (batch > 0 && !has_open_batch(graph)) {
    fail(ErrorKind::input, {.what = "no input has an open first extent that a batch could set"});
  }
  for (const TensorId id : graph.inputs) {
    TensorInfo& info = graph.tensor(id).info;
    if (is_open(info)) info.shape[0] = batch > 0 ? batch : 1;
  }
  return graph;
}

TensorInfo static_info(const Graph& graph, TensorId id) {
  Graph inferred = graph;
  kernel::Executor executor;
  infer(inferred, &evaluate_constant, &executor);
  TensorInfo info = inferred.info(id);
  if (!info.is_static()) {
    fail(ErrorKind::unsupported, {.what = "the shape of a tensor is not known before the run",
                                  .tensor = graph.name(id),
                                  .found = detail::to_text(info)});
  }
  return info;
}

}  // namespace halftone::cli
