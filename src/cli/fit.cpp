#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/onnx.hpp>
#include <halftone/op/list.hpp>
#include <halftone/session/session.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/chart.hpp"
#include "cli/commands.hpp"
#include "cli/dataset.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/model.hpp"
#include "cli/optimizer.hpp"
#include "cli/table.hpp"
#include "exec/fold.hpp"

namespace halftone::cli {
namespace {

constexpr std::string_view label_name = "label";
/// What a saved file has beside the weights and the optimizer's state.
constexpr std::string_view epochs_name = "halftone.epochs", seed_name = "halftone.random_seed";

/// What is made small. `own`: a scalar of the model.
enum class Loss { own, cross_entropy, squared, absolute };

std::optional<Loss> loss_named(std::string_view name) {
  if (name == "cross_entropy") return Loss::cross_entropy;
  if (name == "mse") return Loss::squared;
  if (name == "l1") return Loss::absolute;
  return {};
}

/// The numbers of one epoch; not a number: there is none.
struct Epoch {
  std::int64_t number = 0, steps = 0, samples = 0;
  double seconds = 0, loss = 0, accuracy = std::nan(""), validation_loss = std::nan(""),
         validation_accuracy = std::nan("");
};

/// The state of an earlier training that a model file has, by name.
struct State {
  std::vector<std::pair<std::string, TensorRecord>> tensors;

  const TensorRecord* find(std::string_view name) const {
    const auto at = std::find_if(tensors.begin(), tensors.end(),
                                 [&](const auto& tensor) { return tensor.first == name; });
    return at == tensors.end() ? nullptr : &at->second;
  }
  template <class T>
  T number(std::string_view name, T otherwise) const {
    const TensorRecord* const t = find(name);
    if (t == nullptr || t->info != TensorInfo{element_type<T>, {}}) return otherwise;
    T value{};
    std::memcpy(&value, t->data.span().data(), sizeof value);
    return value;
  }
};

/// Takes what no node uses, and only a saved training has, out of a model.
State take_state(Graph& graph) {
  const Uses uses(graph);
  State state;
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

/// Makes constants of scalars that are numbers of formulas, not weights: exponents, limits, what a
/// mask puts in, and the numbers that torch.export calls val_0, val_1, ...
void hold_numbers(Graph& graph) {
  const auto hold = [&](TensorId id) {
    if (id == no_tensor) return;
    TensorRecord& t = graph.tensor(id);
    if (t.role == Role::variable && t.info.rank() == 0) t.role = Role::constant;
  };
  for (const Node& node : graph.nodes) {
    const bool has_numbers = node.op->id == op::Pow::id || node.op->id == op::Clip::id ||
                             node.op->id == op::Where::id || node.op->id == op::Max::id ||
                             node.op->id == op::Min::id;
    if (!has_numbers) continue;
    const std::size_t first = node.op->id == op::Pow::id || node.op->id == op::Clip::id ? 1 : 0;
    for (std::size_t i = first; i < node.inputs.size(); ++i) hold(node.inputs[i]);
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const std::string_view name = graph.name(static_cast<TensorId>(i));
    if (name.starts_with("val_") && name.find_first_not_of("0123456789", 4) == name.npos) {
      hold(static_cast<TensorId>(i));
    }
  }
}

/// The node that computes a tensor, null if it is no node's.
const Node* producer(const Graph& graph, TensorId id) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

class Fit {
 public:
  Fit(const FitOptions& options, const Console& console) : options_(options), console_(console) {}

  void run() {
    original_ = load_model({.path = options_.model.path, .strict = options_.model.strict});
    take_state(original_);
    declared_ = load_model(options_.model);
    take_state(declared_);
    choose_output();
    read_data();
    choose_batch();
    make_sessions();
    if (!options_.resume.empty()) resume();
    announce();
    train_epochs();
  }

 private:
  // --- what is trained, on what ---------------------------------------------------------------

  void choose_output() {
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

  bool has_labels() const { return loss_ != Loss::own; }

  void read_data() {
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

  void apply_factors(Dataset& data) {
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

  /// The model with the extents that data and batch give it.
  void choose_batch() {
    batch_ = options_.batch;
    std::int64_t fixed = dynamic;
    for (const TensorId id : declared_.inputs) {
      const TensorInfo& info = declared_.info(id);
      if (info.is_known() && info.shape[0] != dynamic) fixed = info.shape[0];
    }
    if (fixed != dynamic && batch_ != 0 && batch_ != fixed) {
      fail(ErrorKind::usage, {.what = "the model has a batch of its own",
                              .expected = fmt::format("{}", fixed),
                              .found = fmt::format("--batch {}", batch_)});
    }
    if (batch_ == 0) batch_ = fixed != dynamic ? fixed : std::min<std::int64_t>(32, known_);
    if (batch_ < 1 || batch_ > known_) {
      fail(ErrorKind::input, {.what = "there are fewer samples than a batch has",
                              .expected = fmt::format("{} or more", batch_),
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

  /// What an input is in a batch; throws if the samples do not fit.
  TensorInfo batch_info(TensorId id, const Feature& feature) const {
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

  static std::int64_t sample_size(const Feature& feature) {
    const TensorInfo& info = feature.values.info();
    return product(Dims(info.shape.span().subspan(1)));
  }

  /// Whether a feature's numbers can become elements of that type.
  static void check_elements(const Feature& feature, ElementType type) {
    const ElementType from = feature.values.info().type;
    const bool is_exact = from == type && feature.scale == 1;
    if (is_exact || is_floating_point(type)) return;
    visit_type<AllTypes>(type, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        // What floats have exactly.
        const double most = std::min(16777216.0, double(std::numeric_limits<T>::max()));
        check_integers(feature, std::is_signed_v<T> ? -most : 0, most);
      }
    });
  }

  // --- the graphs -----------------------------------------------------------------------------

  void choose_loss(const TensorInfo& y) {
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
    if (loss_ == Loss::cross_entropy && y.rank() < 2) {
      fail(ErrorKind::model, {.what = "the output has no dimension for classes",
                              .tensor = output_,
                              .expected = "[batch, ..., classes]",
                              .found = detail::to_text(y)});
    }
    label_info_ = {ElementType::int32, y.shape};
    if (loss_ == Loss::cross_entropy) {
      classes_ = y.shape[y.rank() - 1];
      label_info_.shape.pop_back();
    } else {
      label_info_.type = y.type;
    }
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

  /// The loss of each sample's numbers, or of all together.
  AnyTensor record_loss(Graph& graph, bool of_each) {
    AnyTensor y = graph[output_];
    if (loss_ == Loss::own) return y;
    const AnyTensor label{&graph, graph.add_input(label_info_, label_name)};
    if (loss_ == Loss::cross_entropy) {
      op::Nll nll;
      if (of_each) nll.reduction = LossReduction::no_reduction;
      const Node* const last = producer(graph, y.id);
      const bool is_probability = last != nullptr && last->op->id == op::Softmax::id;
      if (!is_probability) {
        nll.input_is_log_probability = 1;
        if (last == nullptr || !(last->op->id == op::LogSoftmax::id)) {
          y = op::log_softmax(y, {.axis = -1});
        }
      }
      return op::nll_loss(y, label, nll);
    }
    const AnyTensor difference = y - label;
    const AnyTensor size =
        loss_ == Loss::squared ? AnyTensor(difference * difference) : op::abs(difference);
    return of_each ? size : op::mean(size, {.keepdims = 0});
  }

  void make_sessions() {
    {
      // What the output is follows from the inputs.
      const Session plain(model_, {.outputs = {Anchor(output_)}});
      const TensorInfo y = plain.info(output_);
      if (!y.is_static() || y.rank() == 0 || y.shape[0] != batch_) {
        if (loss_ != Loss::own) {
          fail(ErrorKind::model, {.what = "the output does not begin with the batch",
                                  .tensor = output_,
                                  .expected = fmt::format("[{}, ...]", batch_),
                                  .found = detail::to_text(y)});
        }
      }
      if (has_labels()) choose_loss(y);
    }
    Graph graph = model_;
    const AnyTensor loss = record_loss(graph, false);
    const std::string loss_name(loss.name());
    optimizer_ = parse_optimizer(options_.optimizer);
    float loss_scaling = 1;
    record_training(optimizer_, graph, loss, {}, loss_scaling, [&](const std::string& what) {
      fail(ErrorKind::usage, {.what = what, .tensor = "--optimizer"});
    });
    graph.outputs = {loss.id, graph.find(output_)};
    trained_ = Session(
        std::move(graph),
        {.threads = options_.threads, .seed = options_.seed, .stop_at_nan = options_.stop_at_nan});
    if (options_.validation.empty() && options_.held_back == 0) return;
    graph = model_;
    const AnyTensor losses = record_loss(graph, true);
    graph.outputs = {losses.id, graph.find(output_)};
    tested_ = Session(std::move(graph), {.threads = options_.threads});
  }

  // --- saved state ----------------------------------------------------------------------------

  /// Weights and what the optimizer keeps, with the model as it was given.
  void save(std::int64_t epochs) {
    Graph graph = original_;
    const auto add = [&](std::string_view name, auto number) {
      using T = decltype(number);
      Storage storage = Storage::allocate(sizeof number);
      std::memcpy(storage.data(), &number, sizeof number);
      const std::byte* const data = storage.data();
      graph.add_constant({element_type<T>, {}}, Bytes(std::move(storage), data, sizeof number),
                         name);
    };
    for (const Port& port : trained_->variables()) {
      const AnyView value = trained_->get(port.name);
      Storage storage = Storage::allocate(value.bytes());
      if (value.bytes() != 0) std::memcpy(storage.data(), value.data, value.bytes());
      const std::byte* const data = storage.data();
      Bytes bytes(std::move(storage), data, value.bytes());
      const TensorId id = graph.find(port.name);
      if (id == no_tensor) {
        graph.add_variable(port.info, std::move(bytes), port.name);
      } else {
        graph.tensor(id).data = std::move(bytes);
      }
    }
    add(epochs_name, epochs);
    add(seed_name, static_cast<std::int64_t>(trained_->random_seed()));
    onnx::save(graph, options_.save);
  }

  void resume() {
    Graph graph = onnx::load(options_.resume);
    const State state = take_state(graph);
    for (const Port& port : trained_->variables()) {
      const TensorId id = graph.find(port.name);
      const TensorRecord* const from = id != no_tensor && is_variable(graph.tensor(id))
                                           ? &graph.tensor(id)
                                           : state.find(port.name);
      if (from == nullptr || from->info != port.info) {
        fail(ErrorKind::input,
             {.what = about_file("the file does not fit the training", options_.resume),
              .tensor = port.name,
              .expected = detail::to_text(port.info),
              .found = from == nullptr ? "nothing of that name" : detail::to_text(from->info),
              .hint = "it takes a file of --save, of the same model and kind of optimizer"});
      }
    }
    for (const Port& port : trained_->variables()) {
      const TensorId id = graph.find(port.name);
      const TensorRecord& from = id != no_tensor ? graph.tensor(id) : *state.find(port.name);
      trained_->set(port.name, AnyView{from.info, from.data.span().data()});
    }
    done_ = state.number<std::int64_t>(epochs_name, 0);
    trained_->set_random_seed(static_cast<std::uint64_t>(state.number<std::int64_t>(seed_name, 0)));
    if (done_ >= options_.epochs) {
      fail(ErrorKind::usage, {.what = "the training that is to go on is over",
                              .expected = fmt::format("--epochs greater than {}", done_),
                              .found = fmt::format("--epochs {}", options_.epochs)});
    }
  }

  // --- training -------------------------------------------------------------------------------

  void announce() const {
    const ModelFacts facts = facts_of(original_);
    std::string text =
        fmt::format("model  {}  {} nodes  {} parameters\n", detail::escaped(options_.model.path),
                    facts.nodes, count(static_cast<double>(facts.parameters)));
    text += fmt::format("data   {} samples of {}", known_, detail::escaped(data_.source));
    if (options_.held_back > 0) {
      text += fmt::format("; the last {} to validate", data_.samples() - known_);
    } else if (validation_.samples() > 0) {
      text += fmt::format("; {} of {} to validate", validation_.samples(),
                          detail::escaped(validation_.source));
    }
    const std::string y = detail::escaped(output_);
    text += "\nloss   ";
    if (loss_ == Loss::own) text += fmt::format("'{}'", y);
    if (loss_ == Loss::cross_entropy)
      text += fmt::format("cross entropy of '{}', {} classes", y, classes_);
    if (loss_ == Loss::squared) text += fmt::format("mean squared error of '{}'", y);
    if (loss_ == Loss::absolute) text += fmt::format("mean absolute error of '{}'", y);
    text += fmt::format("\ntrain  {}  batches of {}, {} an epoch", options_.optimizer, batch_,
                        known_ / batch_);
    if (done_ > 0) text += fmt::format("  going on after epoch {}", done_);
    fmt::print(console_.out, "{}\n\n", text);
    fmt::print(console_.out, "{}\n",
               row("epoch", "loss", "accuracy", "validation", "accuracy", "samples/s", "time"));
    flush(console_);
  }

  std::string row(std::string_view epoch, std::string_view loss, std::string_view accuracy,
                  std::string_view validation_loss, std::string_view validation_accuracy,
                  std::string_view rate, std::string_view time) const {
    std::string text = fmt::format("{:>5} {:>10}", epoch, loss);
    if (loss_ == Loss::cross_entropy) text += fmt::format("  {:>8}", accuracy);
    if (tested_) {
      text += fmt::format("  {:>10}", validation_loss);
      if (loss_ == Loss::cross_entropy) text += fmt::format("  {:>8}", validation_accuracy);
    }
    return text + fmt::format("  {:>9}  {:>8}", rate, time);
  }

  /// The inputs of one batch.
  struct Batch {
    std::vector<AnyArray> arrays;
    std::vector<Input> inputs;
  };
  Batch make_batch() const {
    Batch batch;
    for (const TensorId id : model_.inputs) batch.arrays.emplace_back(model_.info(id));
    if (has_labels()) batch.arrays.emplace_back(label_info_);
    for (std::size_t i = 0; i < batch.arrays.size(); ++i) {
      batch.inputs.emplace_back(
          i < model_.inputs.size() ? model_.name(model_.inputs[i]) : label_name, batch.arrays[i]);
    }
    return batch;
  }
  void fill(Batch& batch, const Dataset& data, std::span<const std::int64_t> which) const {
    for (std::size_t i = 0; i < batch.arrays.size(); ++i) {
      gather(*data.find(batch.inputs[i].name), which, batch.arrays[i]);
    }
  }

  /// How many of the first `samples` of a batch have their label as the greatest output.
  std::int64_t count_right(const AnyView& y, const AnyArray& label, std::int64_t samples) const {
    if (y.info.type != ElementType::float32) return 0;
    const auto scores = y.values<float>();
    const auto labels = label.values<std::int32_t>();
    const std::int64_t all = label.info().elements() / batch_ * samples;
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < all; ++i) {
      const auto own = scores.subspan(static_cast<std::size_t>(i * classes_),
                                      static_cast<std::size_t>(classes_));
      const auto best = std::max_element(own.begin(), own.end()) - own.begin();
      right += best == labels[static_cast<std::size_t>(i)] ? 1 : 0;
    }
    return right;
  }

  static double sum_of(const AnyView& x, std::int64_t elements) {
    double sum = 0;
    visit_type<FloatTypes>(x.info.type, [&]<class T>() {
      const auto values = x.values<T>();
      for (std::int64_t i = 0; i < elements; ++i) {
        sum += static_cast<double>(values[static_cast<std::size_t>(i)]);
      }
    });
    return sum;
  }

  void train_epochs() {
    Activity activity(console_, "train");
    Batch batch = make_batch();
    std::vector<std::int64_t> order(static_cast<std::size_t>(known_));
    const std::int64_t steps = known_ / batch_,
                       per_sample = label_info_.is_known() ? label_info_.elements() / batch_ : 1;
    const Clock::time_point start = Clock::now();
    double training_seconds = 0;
    for (std::int64_t epoch = done_ + 1; epoch <= options_.epochs; ++epoch) {
      // Each epoch has an order of its own, so that one that is resumed finds the same.
      std::iota(order.begin(), order.end(), 0);
      std::mt19937_64 random(options_.seed * 0x9e3779b97f4a7c15u +
                             static_cast<std::uint64_t>(epoch));
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);

      Epoch now{.number = epoch, .steps = steps, .samples = steps * batch_};
      std::int64_t right = 0;
      const Clock::time_point begin = Clock::now();
      for (std::int64_t step = 0; step < steps; ++step) {
        const auto which = std::span(order).subspan(static_cast<std::size_t>(step * batch_),
                                                    static_cast<std::size_t>(batch_));
        fill(batch, data_, which);
        const Result result = trained_->run(batch.inputs);
        const double loss = sum_of(result[0], 1);
        if (!std::isfinite(loss)) refuse_loss(loss, epoch, step, which, batch);
        now.loss += loss / static_cast<double>(steps);
        if (loss_ == Loss::cross_entropy)
          right += count_right(result[1], batch.arrays.back(), batch_);
        steps_.x.push_back(static_cast<double>(epoch - 1) +
                           static_cast<double>(step + 1) / static_cast<double>(steps));
        steps_.y.push_back(loss);
        show_progress(activity, epoch, step + 1, steps, loss, right * 1.0 / per_sample,
                      training_seconds + seconds_since(begin));
      }
      now.seconds = seconds_since(begin);
      training_seconds += now.seconds;
      if (loss_ == Loss::cross_entropy) {
        now.accuracy = static_cast<double>(right) / static_cast<double>(now.samples * per_sample);
      }
      if (tested_) validate(now);
      epochs_.push_back(now);
      write_files(epoch);
      activity.print(console_.out, line_of(now) + "\n");
    }
    std::string text =
        fmt::format("\n{} epochs in {}", options_.epochs - done_, duration(seconds_since(start)));
    for (const std::string* const file : {&options_.save, &options_.plot, &options_.log}) {
      if (!file->empty()) text += fmt::format("\n{} written", detail::escaped(*file));
    }
    activity.print(console_.out, text + "\n");
  }

  void show_progress(Activity& activity, std::int64_t epoch, std::int64_t step, std::int64_t steps,
                     double loss, double right, double seconds) const {
    const auto done = static_cast<double>((epoch - 1 - done_) * steps + step);
    const auto all = static_cast<double>((options_.epochs - done_) * steps);
    const double rate = done * static_cast<double>(batch_) / seconds;
    std::string words = fmt::format("epoch {}/{}  loss {:.4f}", epoch, options_.epochs, loss);
    if (loss_ == Loss::cross_entropy) {
      words += fmt::format("  accuracy {:.1f} %", 100 * right / static_cast<double>(step * batch_));
    }
    words += fmt::format("  {} samples/s  {} left", count(rate),
                         duration(seconds * (all - done) / done));
    activity.done(done / all, std::move(words));
  }

  /// Weights as they are now, on the samples that are not trained with.
  void validate(Epoch& now) {
    for (const Port& port : tested_->variables()) tested_->set(port.name, trained_->get(port.name));
    const bool is_held_back = options_.held_back > 0;
    const Dataset& data = is_held_back ? data_ : validation_;
    const std::int64_t first = is_held_back ? known_ : 0, samples = data.samples() - first;
    Batch batch = make_batch();
    std::vector<std::int64_t> which(static_cast<std::size_t>(batch_));
    std::int64_t numbers = 0, labels = 0, right = 0;
    double sum = 0;
    for (std::int64_t at = 0; at < samples; at += batch_) {
      const std::int64_t real = std::min(batch_, samples - at);
      // The loss of a model's own is for whole batches.
      if (loss_ == Loss::own && real < batch_ && at > 0) break;
      for (std::int64_t i = 0; i < batch_; ++i) {
        which[static_cast<std::size_t>(i)] = first + at + i % real;
      }
      fill(batch, data, which);
      const Result result = tested_->run(batch.inputs);
      const std::int64_t elements = result[0].info.elements();
      const std::int64_t counted = loss_ == Loss::own ? elements : elements / batch_ * real;
      sum += sum_of(result[0], counted);
      numbers += counted;
      if (loss_ != Loss::cross_entropy) continue;
      right += count_right(result[1], batch.arrays.back(), real);
      labels += label_info_.elements() / batch_ * real;
    }
    now.validation_loss = sum / static_cast<double>(numbers);
    if (labels > 0)
      now.validation_accuracy = static_cast<double>(right) / static_cast<double>(labels);
  }

  [[noreturn]] void refuse_loss(double loss, std::int64_t epoch, std::int64_t step,
                                std::span<const std::int64_t> which, const Batch& batch) const {
    const std::string found = fmt::format("{} in step {} of epoch {}", loss, step + 1, epoch);
    for (const AnyArray& array : batch.arrays) {
      const auto i = static_cast<std::size_t>(&array - batch.arrays.data());
      const std::int64_t size = array.info().elements() / batch_;
      for (std::int64_t s = 0; s < batch_; ++s) {
        const AnyView sample{{array.info().type, {size}},
                             array.data() + s * static_cast<std::int64_t>(array.bytes()) / batch_};
        if (std::isfinite(sum_of(sample, is_floating_point(sample.info.type) ? size : 0))) continue;
        const std::string what =
            fmt::format("the loss is no number: sample {} has something else than numbers",
                        which[static_cast<std::size_t>(s)]);
        fail(ErrorKind::input, {.what = what, .tensor = batch.inputs[i].name, .found = found});
      }
    }
    const std::string hint =
        options_.save.empty() || epoch == done_ + 1
            ? "a smaller learning rate"
            : fmt::format("a smaller learning rate; '{}' is as it was after epoch {}",
                          detail::escaped(options_.save), epoch - 1);
    fail(ErrorKind::input, {.what = "the loss is no number: the training has diverged",
                            .tensor = output_,
                            .found = found,
                            .hint = hint});
  }

  // --- what is told and written ----------------------------------------------------------------

  std::string line_of(const Epoch& e) const {
    const auto number = [](double x) { return fmt::format("{:.5g}", x); };
    const auto percent = [](double x) { return fmt::format("{:.2f} %", 100 * x); };
    return row(fmt::format("{}", e.number), number(e.loss), percent(e.accuracy),
               number(e.validation_loss), percent(e.validation_accuracy),
               count(static_cast<double>(e.samples) / e.seconds), duration(e.seconds));
  }

  void write_files(std::int64_t epoch) {
    if (!options_.save.empty()) save(epoch);
    if (!options_.log.empty()) write_file(options_.log, log_text());
    if (options_.plot.empty()) return;
    std::vector<Curve> curves{steps_};
    curves[0].name = "training";
    if (tested_) {
      curves.push_back({"validation", {}, {}});
      for (const Epoch& e : epochs_) {
        curves[1].x.push_back(static_cast<double>(e.number));
        curves[1].y.push_back(e.validation_loss);
      }
    }
    write_file(options_.plot, draw_chart(curves, options_.model.path, "epoch", "loss"));
  }

  std::string log_text() const {
    const bool is_json = !options_.log.ends_with(".csv");
    std::string text;
    for (const Epoch& e : epochs_) {
      Json line{{"epoch", e.number},
                {"steps", e.steps},
                {"samples", e.samples},
                {"seconds", e.seconds},
                {"loss", e.loss}};
      const auto add = [&](const char* name, double value) {
        if (!std::isnan(value)) line[name] = value;
      };
      add("accuracy", e.accuracy);
      add("validation_loss", e.validation_loss);
      add("validation_accuracy", e.validation_accuracy);
      if (is_json) {
        text += line.dump() + "\n";
        continue;
      }
      std::string names, values;
      for (const auto& [name, value] : line.items()) {
        names += (names.empty() ? "" : ",") + name;
        values += (values.empty() ? "" : ",") + value.dump();
      }
      if (text.empty()) text = names + "\n";
      text += values + "\n";
    }
    return text;
  }

  const FitOptions& options_;
  const Console& console_;
  /// As it was given; with the sizes that options say; with the extents of a batch.
  Graph original_, declared_, model_;
  std::string output_;
  Dataset data_, validation_;
  std::int64_t known_ = 0, batch_ = 0, classes_ = 0, done_ = 0;
  TensorInfo label_info_;
  std::optional<Loss> loss_;
  Json optimizer_;
  std::optional<Session> trained_, tested_;
  Curve steps_;
  std::vector<Epoch> epochs_;
};

/// Says what is wrong with the files that are to be written before the work, not after it.
void check_folder(const std::string& file) {
  if (file.empty()) return;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    fail(ErrorKind::io, {.what = about_file("the folder of the file does not exist", file)});
  }
}

}  // namespace

void train(const FitOptions& options, const Console& console) {
  for (const std::string* const file : {&options.save, &options.plot, &options.log}) {
    check_folder(*file);
  }
  if (!options.log.empty() && !options.log.ends_with(".csv") && !options.log.ends_with(".jsonl")) {
    fail(ErrorKind::usage, {.what = "a log ends in .csv or .jsonl", .found = options.log});
  }
  Fit(options, console).run();
  flush(console);
}

}  // namespace halftone::cli
