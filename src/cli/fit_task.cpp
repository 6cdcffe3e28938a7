#include "cli/fit_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <halftone/graph/index.hpp>
#include <halftone/onnx.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "cli/model.hpp"
#include "exec/fold.hpp"

namespace halftone::cli {

SavedState take_state(Graph& graph) {
  const Uses uses(graph);
  SavedState state;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    TensorRecord& t = graph.tensor(id);
    const std::string name(graph.name(id));
    const bool is_kept = t.role == Role::constant || is_variable(t);
    const bool is_state = t.role == Role::state || name.starts_with("halftone.");
    if (uses.count[id] != 0 || !is_kept || !is_state) continue;
    state.tensors.emplace_back(name, t);
    t = {.info = t.info};
  }
  graph.index_names();
  return state;
}

FitTask::FitTask(const FitOptions& options) : options_(options) {
  original_ = load_model({.path = options_.model.path, .strict = options_.model.strict});
  take_state(original_);
  declared_ = load_model(options_.model);
  take_state(declared_);
  choose_output();
  read_data();
  choose_batch();
}

void FitTask::choose_output() {
  const std::optional<Loss> named = loss_named(options_.loss);
  if (named) loss_ = named;
  if (!named && !options_.loss.empty()) {
    if (declared_.find(options_.loss) == no_tensor) {
      fail(ErrorKind::usage,
           {.what = "there is no such loss",
            .found = options_.loss,
            .hint = "cross_entropy, mse, l1, or the name of a scalar of the model"});
    }
    loss_ = Loss::own;
    output_ = options_.loss;
  }
  if (!options_.output.empty()) {
    if (declared_.find(options_.output) == no_tensor)
      throw_unknown_name(declared_, options_.output);
    output_ = options_.output;
  }
  if (output_.empty() && declared_.outputs.empty()) {
    fail(ErrorKind::model, {.what = "the model has no output"});
  }
  if (output_.empty()) output_ = std::string(declared_.name(declared_.outputs[0]));
}

void FitTask::read_data() {
  std::vector<WantedFeature> wanted;
  for (const TensorId id : declared_.inputs) {
    const TensorInfo& info = declared_.info(id);
    std::int64_t numbers = 1;
    for (std::size_t axis = 1; axis < info.rank(); ++axis) {
      numbers = info.shape[axis] < 0 || numbers < 0 ? -1 : numbers * info.shape[axis];
    }
    if (info.is_known() && info.rank() == 0) {
      fail(ErrorKind::model, {.what = "an input has no dimension for the samples of a batch",
                              .tensor = declared_.name(id)});
    }
    wanted.push_back({std::string(declared_.name(id)), info.is_known() ? numbers : -1});
  }
  if (has_labels()) {
    if (declared_.find(label_name) != no_tensor) {
      fail(ErrorKind::usage,
           {.what = "the model has a tensor 'label' itself, so that none can be added",
            .hint = "--loss NAME: a loss that the model computes"});
    }
    wanted.push_back({std::string(label_name), -1});
  }
  data_ = read_dataset(options_.data, wanted);
  if (!options_.validation.empty()) validation_ = read_dataset(options_.validation, wanted);
  apply_factors(data_);
  apply_factors(validation_);
  known_ = data_.samples();
  if (options_.held_back > 0) {
    const double share = options_.held_back;
    const double count = share < 1 ? share * static_cast<double>(known_) : share;
    known_ -= static_cast<std::int64_t>(std::llround(count));
    if (known_ < 1 || known_ == data_.samples()) {
      fail(ErrorKind::input, {.what = "no sample is left to train or to validate with",
                              .found = fmt::format("{} samples", data_.samples())});
    }
  }
}

void FitTask::apply_factors(Dataset& data) {
  for (const Factor& factor : options_.factors) {
    if (factor.name.empty() && declared_.inputs.size() != 1) {
      fail(ErrorKind::usage,
           {.what = "the model has several inputs", .hint = "--scale NAME=FACTOR"});
    }
    const std::string name =
        factor.name.empty() ? std::string(declared_.name(declared_.inputs[0])) : factor.name;
    bool is_known = data.features.empty();
    for (Feature& feature : data.features) {
      if (feature.name != name) continue;
      feature.scale = factor.value;
      is_known = true;
    }
    if (!is_known) {
      fail(ErrorKind::usage, {.what = "--scale names no input", .found = name});
    }
  }
}

void FitTask::choose_batch() {
  if (options_.batch % parts() != 0) {
    const bool is_accumulated = options_.accumulation > 1;
    fail(ErrorKind::usage,
         {.what = is_accumulated ? "the samples of a batch cannot be divided into micro-batches"
                                 : "the samples of a batch cannot be shared by the replicas",
          .expected = fmt::format("a multiple of {}", parts()),
          .found = fmt::format("--batch {}", options_.batch)});
  }
  batch_ = options_.batch / parts();
  std::int64_t fixed = dynamic;
  for (const TensorId id : declared_.inputs) {
    const TensorInfo& info = declared_.info(id);
    if (info.is_known() && info.shape[0] != dynamic) fixed = info.shape[0];
  }
  if (fixed != dynamic && batch_ != 0 && batch_ != fixed) {
    fail(ErrorKind::usage, {.what = "the model has a batch of its own",
                            .expected = fmt::format("{}", fixed * parts()),
                            .found = fmt::format("--batch {}", batch_)});
  }
  if (batch_ == 0) {
    const std::int64_t most = std::max<std::int64_t>(1, known_ / parts());
    batch_ = fixed != dynamic ? fixed : std::min(std::max<std::int64_t>(1, 32 / parts()), most);
  }
  if (batch_ < 1 || step_batch() > known_) {
    fail(ErrorKind::input, {.what = "there are fewer samples than a batch has",
                            .expected = fmt::format("{} or more", step_batch()),
                            .found = fmt::format("{} samples", known_)});
  }
  std::vector<onnx::InputShape> shapes;
  for (const TensorId id : declared_.inputs) {
    const Feature& feature = *data_.find(declared_.name(id));
    shapes.push_back({declared_.name(id), batch_info(id, feature)});
    if (const Feature* const other = validation_.find(feature.name)) batch_info(id, *other);
  }
  onnx::LoadOptions load{.inputs = shapes, .strict = options_.model.strict};
  for (const Size& size : options_.model.sizes) load.sizes.push_back({size.name, size.value});
  model_ = onnx::load(options_.model.path, load);
  take_state(model_);
  hold_numbers(model_);
  fold_shapes(model_);
}

TensorInfo FitTask::batch_info(TensorId id, const Feature& feature) const {
  const TensorInfo& declared = declared_.info(id);
  const TensorInfo& given = feature.values.info();
  TensorInfo info{declared.is_known() ? declared.type : given.type, given.shape};
  info.shape[0] = batch_;
  const bool same_rank = declared.is_known() && declared.rank() == given.rank();
  bool fits = !declared.is_known() || same_rank;
  for (std::size_t axis = 1; fits && same_rank && axis < given.rank(); ++axis) {
    fits = !contradict(declared.shape[axis], given.shape[axis]);
  }
  if (!fits && declared.is_known()) {
    // Samples may have the same elements in another shape: pixels of a table, say.
    info.shape = declared.shape;
    info.shape[0] = batch_;
    fits = info.is_static() && info.elements() / batch_ == sample_size(feature);
  }
  if (!fits) {
    fail(ErrorKind::input, {.what = "the samples do not fit the model's input",
                            .tensor = feature.name,
                            .expected = detail::to_text(declared),
                            .found = detail::to_text(given)});
  }
  check_elements(feature, info.type);
  return info;
}

std::int64_t FitTask::sample_size(const Feature& feature) {
  const TensorInfo& info = feature.values.info();
  return product(Dims(info.shape.span().subspan(1)));
}

void FitTask::check_elements(const Feature& feature, ElementType type) {
  const ElementType from = feature.values.info().type;
  const bool is_exact = from == type && feature.scale == 1;
  if (is_exact || is_floating_point(type)) return;
  visit_type<AllTypes>(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      // A float has these integers exactly.
      const double most = std::min(16777216.0, double(std::numeric_limits<T>::max()));
      check_integers(feature, std::is_signed_v<T> ? -most : 0, most);
    }
  });
}

void FitTask::choose_loss(const TensorInfo& y) {
  const Feature& label = *data_.find(label_name);
  const TensorInfo& given = label.values.info();
  if (!loss_) {
    const bool has_classes = y.rank() > 1 && y.shape[y.rank() - 1] > 1;
    bool is_integer = !is_floating_point(given.type);
    if (!is_integer && sample_size(label) == 1 && y.rank() == 2) {
      const auto values = label.values.values<float>();
      is_integer = given.type == ElementType::float32 &&
                   std::all_of(values.begin(), values.end(),
                               [](float x) { return x >= 0 && x == std::trunc(x); });
    }
    loss_ = has_classes && is_integer ? Loss::cross_entropy : Loss::squared;
  }
  label_info_ = label_info_for(*loss_, y, output_);
  if (loss_ == Loss::cross_entropy) classes_ = y.shape[y.rank() - 1];
  for (const Dataset* const data : {&data_, &validation_}) {
    const Feature* const labels = data->find(label_name);
    if (labels == nullptr) continue;
    if (sample_size(*labels) * batch_ != label_info_.elements()) {
      fail(ErrorKind::input,
           {.what = "the labels do not fit the model's output",
            .tensor = output_,
            .expected = fmt::format("{} numbers for a sample", label_info_.elements() / batch_),
            .found = fmt::format("{} numbers", sample_size(*labels))});
    }
    if (loss_ == Loss::cross_entropy) {
      check_integers(*labels, 0, static_cast<double>(classes_ - 1));
    }
  }
}

AnyTensor FitTask::record_loss(Graph& graph, bool of_each) const {
  return cli::record_loss(graph, graph[output_], *loss_, label_info_, of_each);
}

FitTask::Batch FitTask::make_batch(std::int64_t micro_batches, std::int64_t replicas) const {
  Batch batch;
  const auto add = [&](TensorInfo info) {
    for (const std::int64_t count : {replicas, micro_batches}) {
      if (count > 1) info.shape.insert(0, count);
    }
    batch.arrays.emplace_back(info);
  };
  for (const TensorId id : model_.inputs) add(model_.info(id));
  if (has_labels()) add(label_info_);
  for (std::size_t i = 0; i < batch.arrays.size(); ++i) {
    batch.inputs.emplace_back(i < model_.inputs.size() ? model_.name(model_.inputs[i]) : label_name,
                              batch.arrays[i]);
  }
  return batch;
}

void FitTask::fill(Batch& batch, const Dataset& data, std::span<const std::int64_t> which) const {
  for (std::size_t i = 0; i < batch.arrays.size(); ++i) {
    gather(*data.find(batch.inputs[i].name), which, batch.arrays[i]);
  }
}

std::int64_t FitTask::count_right(const AnyView& y, const AnyArray& label,
                                  std::int64_t samples) const {
  if (y.info.type != ElementType::float32) return 0;
  const auto scores = y.values<float>();
  const auto labels = label.values<std::int32_t>();
  const std::int64_t all = label_info_.elements() / batch_ * samples;
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    const auto own =
        scores.subspan(static_cast<std::size_t>(i * classes_), static_cast<std::size_t>(classes_));
    const auto best = std::max_element(own.begin(), own.end()) - own.begin();
    right += best == labels[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return right;
}

double FitTask::sum_of(const AnyView& x, std::int64_t elements) {
  double sum = 0;
  visit_type<FloatTypes>(x.info.type, [&]<class T>() {
    const auto values = x.values<T>();
    for (std::int64_t i = 0; i < elements; ++i) {
      sum += static_cast<double>(values[static_cast<std::size_t>(i)]);
    }
  });
  return sum;
}

}  // namespace halftone::cli
