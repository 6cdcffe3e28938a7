#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/chart.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/fit_task.hpp"
#include "cli/json.hpp"
#include "cli/model.hpp"
#include "cli/optimizer.hpp"
#include "cli/spreading.hpp"
#include "cli/table.hpp"
#include "exec/rank_link.hpp"

namespace halftone::cli {
namespace {

/// What a saved file has beside the weights and the optimizer's state.
constexpr std::string_view epochs_name = "halftone.epochs", seed_name = "halftone.random_seed";

/// The numbers of one epoch; not a number: there is none.
struct Epoch {
  std::int64_t number = 0, steps = 0, samples = 0;
  double seconds = 0, loss = 0, accuracy = std::nan(""), validation_loss = std::nan(""),
         validation_accuracy = std::nan("");
};

class Fit : FitTask {
 public:
  Fit(const FitOptions& options, const Console& console) : FitTask(options), console_(console) {}

  void run() {
    if (ranks() > 1) compare_with_others();
    make_sessions();
    if (!options_.resume.empty()) resume();
    announce();
    train_epochs();
  }

 private:
  // --- other ranks ----------------------------------------------------------------------------

  /// Throws if they are to do something else; the model is compared when its session is made.
  void compare_with_others() const {
    const Ranks& others = *options_.spreading.ranks;
    compare_ranks(others, "version", hash_of(HALFTONE_VERSION));
    std::string text =
        fmt::format("{} {} {} {} {} {} {} {} {} {}", options_.epochs, options_.batch,
                    options_.held_back, options_.optimizer, options_.loss, options_.output,
                    options_.spreading.replicas, static_cast<int>(options_.spreading.recompute),
                    options_.stop_at_nan, options_.resume.empty());
    text +=
        fmt::format(" {} {}", options_.accumulation, static_cast<int>(options_.spreading.schedule));
    for (const Factor& factor : options_.factors) {
      text += fmt::format(" {}={}", factor.name, factor.value);
    }
    compare_ranks(others, "options", hash_of(text));
    compare_ranks(others, "seed", options_.seed);
    std::uint64_t hash = static_cast<std::uint64_t>(known_);
    for (const Feature& feature : data_.features) {
      hash = hash_with(hash, feature.values);
    }
    compare_ranks(others, "data", hash);
  }

  // --- the graphs -----------------------------------------------------------------------------

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
    graph.replicas = static_cast<std::int32_t>(replicas());
    place(graph, options_.spreading);
    const AnyTensor loss = record_loss(graph, false);
    const std::string loss_name(loss.name());
    graph = in_parts(std::move(graph), options_.spreading);
    optimizer_ = parse_optimizer(options_.optimizer);
    float loss_scaling = 1;
    // A continuous pipeline takes a step after each micro-batch.
    const bool is_continuous = options_.spreading.schedule == Schedule::continuous;
    const std::int64_t accumulation = is_continuous ? 1 : options_.accumulation;
    record_training(optimizer_, graph, loss,
                    {.accumulation = accumulation, .reduction = AccumulationReduction::mean},
                    loss_scaling, [&](const std::string& what) {
                      fail(ErrorKind::usage, {.what = what, .tensor = "--optimizer"});
                    });
    graph.outputs = {loss.id, graph.find(output_)};
    graph = spread(std::move(graph), options_.spreading);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      if (graph.tensors[i].state != State::partial) continue;
      sums_.insert(std::string(graph.name(static_cast<TensorId>(i))));
    }
    trained_ = Session(std::move(graph), {.batches_per_step = options_.accumulation / accumulation,
                                          .accumulation = accumulation,
                                          .threads = options_.threads,
                                          .seed = options_.seed,
                                          .stop_at_nan = options_.stop_at_nan,
                                          .recompute = options_.spreading.recompute,
                                          .schedule = schedule_of(options_.spreading),
                                          .precision = options_.precision,
                                          .ranks = options_.spreading.ranks});
    // The first rank validates for all: they have the same weights.
    if (!is_validated() || rank() != 0) return;
    graph = model_;
    const AnyTensor losses = record_loss(graph, true);
    graph.outputs = {losses.id, graph.find(output_)};
    tested_ =
        Session(std::move(graph), {.threads = options_.threads, .precision = options_.precision});
  }

  // --- saved state ----------------------------------------------------------------------------

  bool is_validated() const { return !options_.validation.empty() || options_.held_back > 0; }

  /// The variables that a stored training goes on with: it begins with a whole step.
  std::vector<Port> kept_variables() const {
    std::vector<Port> kept;
    for (const Port& port : trained_->variables()) {
      if (!sums_.contains(port.name)) kept.push_back(port);
    }
    return kept;
  }

  /// What variables hold now; good until the next step. Ranks ask for it together, since each may hold
  /// a part alone.
  using Values = std::vector<std::pair<std::string_view, AnyView>>;
  Values values() {
    Values list;
    if (!is_validated() && options_.save.empty()) return list;
    for (const Port& port : kept_variables()) {
      list.emplace_back(port.name, trained_->get(port.name));
    }
    return list;
  }

  /// Weights and what the optimizer keeps, with the model as it was given.
  void save(const Values& values, std::int64_t epochs) {
    Graph graph = original_;
    const auto add = [&](std::string_view name, auto number) {
      using T = decltype(number);
      graph.add_constant({element_type<T>, {}},
                         Bytes::copy_of(std::as_bytes(std::span(&number, 1))), name);
    };
    for (const auto& [name, value] : values) {
      Bytes bytes = Bytes::copy_of({static_cast<const std::byte*>(value.data), value.bytes()});
      const TensorId id = graph.find(name);
      if (id == no_tensor) {
        graph.add_variable(value.info, std::move(bytes), name);
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
    const SavedState state = take_state(graph);
    const std::vector<Port> kept = kept_variables();
    for (const Port& port : kept) {
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
    for (const Port& port : kept) {
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
    text += fmt::format("\ntrain  {}  batches of {}, {} an epoch", options_.optimizer, step_batch(),
                        known_ / step_batch());
    if (replicas() > 1) text += fmt::format(" on {} replicas", replicas());
    if (ranks() > 1) text += fmt::format(" of {} ranks", ranks());
    if (options_.accumulation > 1) {
      text += fmt::format(" in {} micro-batches", options_.accumulation);
    }
    if (options_.spreading.stages > 0) {
      text += fmt::format(", {} stages", options_.spreading.stages);
    } else if (options_.spreading.phases > 0) {
      text += fmt::format(", {} phases", options_.spreading.phases);
    } else if (options_.spreading.ipus > 0) {
      text += fmt::format(" on {} IPUs", options_.spreading.ipus);
    }
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

  void train_epochs() {
    Activity activity(console_, "train");
    Batch batch = make_batch(options_.accumulation, options_.spreading.replicas);
    std::vector<std::int64_t> order(static_cast<std::size_t>(known_));
    const std::int64_t steps = known_ / step_batch(),
                       per_sample = label_info_.is_known() ? label_info_.elements() / batch_ : 1;
    const Clock::time_point start = Clock::now();
    double training_seconds = 0;
    for (std::int64_t epoch = done_ + 1; epoch <= options_.epochs; ++epoch) {
      // Each epoch has an order of its own, so that one that is resumed finds the same.
      std::iota(order.begin(), order.end(), 0);
      std::mt19937_64 random(options_.seed * 0x9e3779b97f4a7c15u +
                             static_cast<std::uint64_t>(epoch));
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);

      Epoch now{.number = epoch, .steps = steps, .samples = steps * step_batch()};
      std::int64_t right = 0;
      const Clock::time_point begin = Clock::now();
      for (std::int64_t step = 0; step < steps; ++step) {
        const std::vector<std::int64_t> which = own_samples(order, step);
        fill(batch, data_, which);
        const Result result = trained_->run(batch.inputs);
        const StepFigures figures = figures_of(result, batch);
        const double loss = figures.loss;
        if (!std::isfinite(loss)) refuse_loss(loss, epoch, step, which, batch);
        now.loss += loss / static_cast<double>(steps);
        right += figures.right;
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
      const Values now_held = values();
      if (tested_) validate(now, now_held);
      epochs_.push_back(now);
      write_files(epoch, now_held);
      activity.print(console_.out, line_of(now) + "\n");
    }
    std::string text =
        fmt::format("\n{} epochs in {}", options_.epochs - done_, duration(seconds_since(start)));
    for (const std::string* const file : {&options_.save, &options_.plot, &options_.log}) {
      if (!file->empty()) text += fmt::format("\n{} written", detail::escaped(*file));
    }
    activity.print(console_.out, text + "\n");
  }

  /// The samples of this rank's replicas in a step: of each micro-batch those that are theirs.
  std::vector<std::int64_t> own_samples(std::span<const std::int64_t> order,
                                        std::int64_t step) const {
    std::vector<std::int64_t> which;
    const std::int64_t local = options_.spreading.replicas;
    for (std::int64_t a = 0; a < options_.accumulation; ++a) {
      const std::int64_t first = step * step_batch() + (a * replicas() + rank() * local) * batch_;
      const auto own =
          order.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(local * batch_));
      which.insert(which.end(), own.begin(), own.end());
    }
    return which;
  }

  /// The mean loss of a step and the labels that it has right, of all ranks.
  struct StepFigures {
    double loss = 0;
    std::int64_t right = 0;
  };
  StepFigures figures_of(const Result& result, const Batch& batch) const {
    StepFigures figures;
    if (loss_ == Loss::cross_entropy) {
      figures.right = count_right(result[1], batch.arrays.back(), own_batch());
    }
    if (ranks() == 1) {
      figures.loss = sum_of(result[0], parts()) / static_cast<double>(parts());
      return figures;
    }
    // Each micro-batch's loss, so that they are added in the order that one rank would have.
    const auto own = static_cast<std::size_t>(own_parts());
    std::vector<double> block, all((own + 1) * static_cast<std::size_t>(ranks()));
    for (std::size_t k = 0; k < own; ++k) {
      const auto bytes = static_cast<std::size_t>(size_in_bytes(result[0].info.type));
      const AnyView one{{result[0].info.type, {}},
                        static_cast<const std::byte*>(result[0].data) + k * bytes};
      block.push_back(sum_of(one, 1));
    }
    block.push_back(static_cast<double>(figures.right));
    const Ranks& others = *options_.spreading.ranks;
    others.all_gather(others.self, block.data(), block.size() * sizeof(double), all.data());
    figures.right = 0;
    const auto local = static_cast<std::size_t>(options_.spreading.replicas);
    for (std::size_t first = 0; first < own; first += local) {
      for (std::size_t r = 0; r < all.size(); r += own + 1) {
        for (std::size_t k = 0; k < local; ++k) figures.loss += all[r + first + k];
      }
    }
    for (std::size_t r = own; r < all.size(); r += own + 1) {
      figures.right += static_cast<std::int64_t>(all[r]);
    }
    figures.loss /= static_cast<double>(parts());
    return figures;
  }

  void show_progress(Activity& activity, std::int64_t epoch, std::int64_t step, std::int64_t steps,
                     double loss, double right, double seconds) const {
    const auto done = static_cast<double>((epoch - 1 - done_) * steps + step);
    const auto all = static_cast<double>((options_.epochs - done_) * steps);
    const double rate = done * static_cast<double>(step_batch()) / seconds;
    std::string words = fmt::format("epoch {}/{}  loss {:.4f}", epoch, options_.epochs, loss);
    if (loss_ == Loss::cross_entropy) {
      words += fmt::format("  accuracy {:.1f} %",
                           100 * right / static_cast<double>(step * step_batch()));
    }
    words += fmt::format("  {} samples/s  {} left", count(rate),
                         duration(seconds * (all - done) / done));
    activity.done(done / all, std::move(words));
  }

  /// Weights as they are now, on the samples that are not trained with.
  void validate(Epoch& now, const Values& values) {
    for (const Port& port : tested_->variables()) {
      for (const auto& [name, value] : values) {
        if (name == port.name) tested_->set(name, value);
      }
    }
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
      const auto samples = static_cast<std::int64_t>(which.size());
      const std::int64_t size = array.info().elements() / samples;
      for (std::int64_t s = 0; s < samples; ++s) {
        const AnyView sample{{array.info().type, {size}},
                             array.data() + s * static_cast<std::int64_t>(array.bytes()) / samples};
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

  void write_files(std::int64_t epoch, const Values& values) {
    if (rank() != 0) return;
    if (!options_.save.empty()) save(values, epoch);
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

  const Console& console_;
  std::int64_t done_ = 0;
  Json optimizer_;
  std::optional<Session> trained_, tested_;
  std::set<std::string, std::less<>>
      sums_;  ///< names of what a step adds up before it changes the weights
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
  FitOptions spread = options;
  spread.spreading.ranks = launched_ranks();
  const RankConsole of_rank(console, spread.spreading.rank());
  Fit(spread, of_rank.console()).run();
  flush(of_rank.console());
}

}  // namespace halftone::cli
