#include <halftone/train.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <halftone/exec/engine.hpp>
#include <halftone/onnx.hpp>
#include <halftone/program/spread.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/model.hpp"
#include "cli/new_files.hpp"
#include "cli/optimizer.hpp"
#include "cli/spreading.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "cli/tensor_file.hpp"
#include "exec/fold.hpp"
#include "exec/rank_link.hpp"
#include "graph/inputs.hpp"

namespace halftone::cli {
namespace {

/// CASE.json, with errors that name the file and the member.
class CaseFile {
 public:
  explicit CaseFile(const std::string& path) : path_(path) {
    json_ = Json::parse(read_file(path), nullptr, false);
    if (json_.is_discarded()) fail(ErrorKind::input, {.what = about_file("no valid JSON", path)});
    if (!json_.is_object()) fail(ErrorKind::input, {.what = about_file("no JSON object", path)});
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::input, {.what = about_file(what, path_)});
  }
  /// What `work` returns. What it says of wrong arguments is said of the file.
  auto blamed(auto&& work) const {
    try {
      return work();
    } catch (const UsageError& error) {
      fail(ErrorKind::input, {.what = about_file(std::string(error.reason()), path_),
                              .tensor = error.tensor(),
                              .expected = error.expected(),
                              .found = error.found(),
                              .hint = error.hint()});
    }
  }
  template <class T>
  T get(const Json& object, const char* key, std::optional<T> otherwise = {}) const {
    return member<T>(object, key, std::move(otherwise),
                     [&](const std::string& what) { refuse(what); });
  }
  /// A list or an object, empty if it is missing.
  const Json& part(const char* key) const {
    static const Json empty = Json::array();
    const auto at = json_.find(key);
    if (at == json_.end()) return empty;
    if (!at->is_array() && !at->is_object()) refuse(fmt::format("'{}' has the wrong type", key));
    return *at;
  }
  /// The path of a file that the case names, beside it.
  std::string beside(const std::string& file) const {
    return (std::filesystem::path(path_).parent_path() / file).string();
  }
  const Json& json() const { return json_; }

 private:
  std::string path_;
  Json json_;
};

struct Wanted {
  enum class Kind { loss, gradient, weight } kind = Kind::loss;
  std::string name, file;
  std::int64_t step = 0;
  std::size_t index = 0;  ///< gradient: which of the training's
  AnyArray value{};
  std::vector<double> sum{};
};

std::vector<Wanted> wanted_outputs(const CaseFile& c, std::int64_t steps) {
  std::vector<Wanted> all;
  for (const Json& output : c.part("outputs")) {
    Wanted w;
    const auto kind = c.get<std::string>(output, "kind");
    w.file = c.get<std::string>(output, "file");
    if (w.file.empty() || std::filesystem::path(w.file).filename() != w.file || w.file == "." ||
        w.file == "..") {
      c.refuse(fmt::format("'{}' is no file name", detail::escaped(w.file)));
    }
    if (kind == "grad" || kind == "weight") {
      w.kind = kind == "grad" ? Wanted::Kind::gradient : Wanted::Kind::weight;
      w.name = c.get<std::string>(output, "name");
      w.step = c.get<std::int64_t>(output, kind == "grad" ? "step" : "after");
      if (w.step < (kind == "grad" ? 1 : 0) || w.step > steps) {
        c.refuse(fmt::format("there is no step {}", w.step));
      }
    } else if (kind != "loss") {
      c.refuse(fmt::format("there are no outputs of kind '{}'", detail::escaped(kind)));
    }
    all.push_back(std::move(w));
  }
  return all;
}

/// The inputs' arrays, [steps, accumulation, shape], by their place in the graph's inputs; the
/// graph gets their shapes.
std::vector<AnyArray> bind_inputs(const CaseFile& c, Graph& graph, std::int64_t steps,
                                  std::int64_t accumulation) {
  std::vector<AnyArray> arrays(graph.inputs.size());
  for (const Json& input : c.part("inputs")) {
    const auto name = c.get<std::string>(input, "name");
    const TensorId id = graph.find(name);
    std::size_t at = 0;
    while (at < graph.inputs.size() && graph.inputs[at] != id) ++at;
    if (id == no_tensor || at == graph.inputs.size()) {
      c.refuse(fmt::format("the model has no input '{}'", detail::escaped(name)));
    }
    if (arrays[at].info().is_known()) {
      c.refuse(fmt::format("input '{}' is given twice", detail::escaped(name)));
    }
    AnyArray x = read_tensor(c.beside(c.get<std::string>(input, "file")));
    const TensorInfo& info = x.info();
    if (info.rank() < 2 || info.shape[0] != steps || info.shape[1] != accumulation) {
      fail(ErrorKind::input, {.what = "an input does not begin with [steps, accumulation]",
                              .tensor = name,
                              .expected = fmt::format("[{}, {}, ...]", steps, accumulation),
                              .found = detail::to_text(info)});
    }
    const TensorInfo given{info.type, Dims(info.shape.span().subspan(2))};
    detail::check_input(graph, id, given);
    graph.tensor(id).info = given;
    arrays[at] = std::move(x);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].info().is_known()) {
      fail(ErrorKind::input,
           {.what = "an input is missing", .tensor = graph.name(graph.inputs[i])});
    }
  }
  fold_shapes(graph);
  return arrays;
}

/// What an output is, in which values of inputs may have a say.
AnyView checked_output(const Engine& engine, std::size_t i, int replica, std::int64_t m,
                       const TensorInfo& planned) {
  const AnyView y = engine.output(i, replica, m);
  if (y.info == planned) return y;
  const Graph& graph = engine.graph();
  fail(ErrorKind::input, {.what = "the inputs' values give a tensor another shape than the model",
                          .tensor = graph.name(graph.outputs[i]),
                          .expected = detail::to_text(planned),
                          .found = detail::to_text(y.info)});
}

void add_values(std::vector<double>& sum, AnyView x) {
  sum.resize(static_cast<std::size_t>(x.info.elements()));
  visit_type<AllTypes>(x.info.type, [&]<class T>() {
    const auto values = x.values<T>();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(values[i]);
  });
}

AnyArray scaled(const std::vector<double>& sum, const TensorInfo& info, double factor) {
  AnyArray y(info);
  visit_type<AllTypes>(info.type, [&]<class T>() {
    auto values = y.values<T>();
    for (std::size_t i = 0; i < sum.size(); ++i) values[i] = static_cast<T>(sum[i] * factor);
  });
  return y;
}

/// A case: what is trained, for how long, and what is wanted of it.
struct Case {
  Case(const TrainCase& options, const Spreading& spread_as);

  void keep_weights(const Engine& engine, std::int64_t after);
  /// The runs that a pipeline takes at a time.
  std::int64_t runs_together(const Engine& engine) const;
  /// Takes what the engine has computed in a run: of as many micro-batches as there are replicas.
  /// The run was number m of those that ran together.
  void collect(const Engine& engine, std::int64_t run, std::int64_t m);
  /// Throws on all ranks unless they are to train the same; the engine compares their models.
  void compare_ranks() const;

  CaseFile file;
  std::int64_t steps = 0;
  Spreading spreading;
  TrainOptions how;
  std::vector<Wanted> outputs;
  Graph graph;
  std::vector<AnyArray> data;
  std::string loss_name;
  AnyTensor loss;
  float loss_scaling = 1;
  Vector<TensorInfo> planned;  ///< of the loss and the gradients, which the graph returns
  AnyArray losses;

 private:
  /// Output number i of the replicas of all ranks, one behind the other; good until the next call.
  std::vector<AnyView> of_all_replicas(const Engine& engine, std::size_t i, std::int64_t m);
  void read_options();
  void want_gradients();
  void record();

  std::vector<std::byte> own_outputs_, all_outputs_;
};

Case::Case(const TrainCase& options, const Spreading& spread_as)
    : file(options.case_file), spreading(spread_as) {
  read_options();
  outputs = wanted_outputs(file, steps);
  graph = load_model(options.model);
  graph.replicas = spreading.all_replicas();
  place(graph, spreading);
  data = bind_inputs(file, graph, steps, how.accumulation);
  loss_name = file.get<std::string>(file.json(), "loss");
  loss = {&graph, graph.find(loss_name)};
  if (loss.is_absent()) {
    file.refuse(fmt::format("the model has no tensor '{}'", detail::escaped(loss_name)));
  }
  for (const Json& name : file.part("train")) {
    if (!name.is_string()) file.refuse("'train' holds something else than names");
    how.weights.push_back(name.get<std::string>());
  }
  want_gradients();
  record();
  for (const Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::weight) continue;
    const TensorId id = graph.find(w.name);
    if (id == no_tensor || !is_variable(graph.tensor(id))) {
      file.refuse(fmt::format("the model has no weight '{}'", detail::escaped(w.name)));
    }
  }
  for (const TensorId id : graph.outputs) planned.push_back(graph.info(id));
  losses = AnyArray({loss.info().type, {steps, how.accumulation}});
}

void Case::read_options() {
  if (file.get<std::int64_t>(file.json(), "format", 1) != 1) file.refuse("the format is not 1");
  steps = file.get<std::int64_t>(file.json(), "steps");
  how.accumulation = file.get<std::int64_t>(file.json(), "accumulation", 1);
  if (steps < 1 || how.accumulation < 1) file.refuse("steps and accumulation are not at least 1");
  const auto reduction = file.get<std::string>(file.json(), "reduction", "sum");
  if (reduction != "sum" && reduction != "mean") {
    file.refuse("the reduction is neither sum nor mean");
  }
  how.reduction = reduction == "sum" ? AccumulationReduction::sum : AccumulationReduction::mean;
  const auto small_number = [&](const char* name, std::int64_t least, std::int64_t most) {
    const auto number = file.get<std::int64_t>(file.part("options"), name);
    if (number < least || number > most) {
      file.refuse(fmt::format("'{}' is not {} to {}", name, least, most));
    }
    return static_cast<std::int32_t>(number);
  };
  for (const auto& [name, value] : file.part("options").items()) {
    if (name == "recompute" && value.is_boolean()) {
      spreading.recompute = value.get<bool>() ? Recomputation::standard : Recomputation::none;
    } else if (name == "recompute" && value.is_string()) {
      spreading.recompute =
          file.blamed([&] { return parse_recomputation(value.get<std::string>()); });
    } else if (name == "replicas") {
      spreading.replicas = small_number("replicas", 1, 1024);
    } else if (name == "ipus") {
      spreading.ipus = small_number("ipus", 1, 64);
    } else if (name == "stages") {
      spreading.stages = small_number("stages", 1, 1024);
    } else if (name == "phases") {
      spreading.phases = small_number("phases", 1, 1024);
    } else if (name == "schedule") {
      const auto text = file.get<std::string>(file.part("options"), "schedule");
      spreading.schedule = file.blamed([&] { return parse_schedule(text); });
    } else if (name == "serialize_batch") {
      if (value.is_string()) {
        file.blamed([&] { parse_batch_parts(value.get<std::string>(), spreading); });
      } else {
        spreading.batch_parts = small_number("serialize_batch", 1, 1 << 20);
      }
    } else if (name == "shard" || name == "off_chip") {
      TensorKinds& kinds = name == "shard" ? spreading.shard : spreading.off_chip;
      const auto names = file.get<std::string>(file.part("options"), name.c_str());
      kinds = file.blamed([&] { return parse_kinds(names); });
    } else if (name == "recompute") {
      file.refuse("'recompute' is neither a truth value nor a name");
    } else {
      fail(ErrorKind::unsupported, {.what = "there is no such option", .found = name});
    }
  }
  if (how.accumulation % spreading.all_replicas() != 0) {
    file.blamed([&] {
      fail(ErrorKind::usage,
           {.what = "the micro-batches of a step cannot be shared by the replicas",
            .expected = fmt::format("a divisor of {}", how.accumulation),
            .found = fmt::format("{} replicas", spreading.all_replicas())});
    });
  }
}

/// Asks for gradients that are wanted of tensors that are not trained.
void Case::want_gradients() {
  const auto has = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::gradient || has(how.gradients_of, w.name)) continue;
    if (!has(how.weights, w.name)) how.gradients_of.push_back(w.name);
  }
}

void Case::record() {
  const Json* optimizer = file.json().contains("optimizer") ? &file.json()["optimizer"] : nullptr;
  TrainOptions of_replica = how;
  of_replica.accumulation /= spreading.all_replicas();
  const Training training = file.blamed([&] {
    graph = in_parts(std::move(graph), spreading);
    if (optimizer == nullptr || optimizer->is_null()) {
      return differentiate_weights(graph, loss, of_replica);
    }
    return record_training(*optimizer, graph, loss, of_replica, loss_scaling,
                           [&](const std::string& what) { file.refuse(what); });
  });
  for (Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::gradient) continue;
    while (graph.name(training.weights[w.index]) != w.name) ++w.index;
  }
  graph.outputs = {loss.id};
  graph.outputs.insert(graph.outputs.end(), training.gradients.begin(), training.gradients.end());
  graph = file.blamed([&] { return spread(graph, spreading); });
}

std::int64_t Case::runs_together(const Engine& engine) const {
  const bool is_continuous = spreading.schedule == Schedule::continuous;
  const std::int64_t of_step = how.accumulation / spreading.all_replicas();
  check_depth(engine.graph(), is_continuous ? steps * of_step : of_step, !is_continuous);
  if (!is_continuous) return of_step;
  if (of_step > 1) file.refuse("a continuous pipeline has no accumulation");
  for (const Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::weight || w.step == 0 || w.step == steps) continue;
    file.refuse("a continuous pipeline has weights of the beginning and the end alone");
  }
  return steps;
}

void Case::keep_weights(const Engine& engine, std::int64_t after) {
  for (Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::weight || w.step != after) continue;
    w.value = AnyArray::copy_of(engine.variable(engine.graph().find(w.name)));
  }
}

void Case::collect(const Engine& engine, std::int64_t run, std::int64_t m) {
  const std::int64_t replicas = spreading.all_replicas(), first = run * replicas,
                     step = first / how.accumulation + 1;
  std::byte* loss_data =
      losses.data() + first * static_cast<std::int64_t>(size_in_bytes(losses.info().type));
  for (const AnyView& y : of_all_replicas(engine, 0, m)) {
    loss_data = std::copy_n(static_cast<const std::byte*>(y.data), y.bytes(), loss_data);
  }
  for (Wanted& w : outputs) {
    if (w.kind != Wanted::Kind::gradient || w.step != step) continue;
    for (const AnyView& y : of_all_replicas(engine, 1 + w.index, m)) add_values(w.sum, y);
  }
  if ((first + replicas) % how.accumulation == 0) keep_weights(engine, step);
}

std::vector<AnyView> Case::of_all_replicas(const Engine& engine, std::size_t i, std::int64_t m) {
  std::vector<AnyView> all;
  for (int k = 0; k < spreading.replicas; ++k) {
    all.push_back(checked_output(engine, i, k, m, planned[i]));
  }
  if (spreading.rank_count() == 1) return all;
  own_outputs_.clear();
  for (const AnyView& y : all) {
    const auto* const values = static_cast<const std::byte*>(y.data);
    own_outputs_.insert(own_outputs_.end(), values, values + y.bytes());
  }
  all_outputs_.resize(own_outputs_.size() * static_cast<std::size_t>(spreading.rank_count()));
  const Ranks& ranks = *spreading.ranks;
  ranks.all_gather(ranks.self, own_outputs_.data(), own_outputs_.size(), all_outputs_.data());
  all.clear();
  for (std::size_t at = 0; at < all_outputs_.size(); at += planned[i].bytes()) {
    all.push_back({planned[i], all_outputs_.data() + at});
  }
  return all;
}

void Case::compare_ranks() const {
  if (spreading.rank_count() == 1) return;
  const Ranks& ranks = *spreading.ranks;
  halftone::compare_ranks(ranks, "case",
                          hash_of(fmt::format("{} {} {} {}", file.json().dump(), spreading.replicas,
                                              static_cast<int>(spreading.recompute),
                                              static_cast<int>(spreading.schedule))));
  std::uint64_t hash = 0;
  for (const AnyArray& x : data) hash = hash_with(hash, x);
  halftone::compare_ranks(ranks, "data", hash);
}

/// Writes what is wanted, and a table of losses.
void write_results(Case& c, const TrainCase& options, const Console& console) {
  NewFiles files(options.output_dir);
  const bool is_mean = c.how.reduction == AccumulationReduction::mean;
  const double mean = is_mean ? 1 / static_cast<double>(c.how.accumulation) : 1;
  for (Wanted& w : c.outputs) {
    std::string name = w.name;
    if (w.kind == Wanted::Kind::loss) {
      w.value = c.losses;
      name = c.loss_name;
    } else if (w.kind == Wanted::Kind::gradient) {
      w.value = scaled(w.sum, c.planned[1 + w.index], mean / c.loss_scaling);
    }
    write_tensor(files.add(w.file), TensorFormat::pb, name, w.value);
  }
  Table table({{"step"}, {"loss"}});
  const std::size_t bytes = c.losses.bytes() / static_cast<std::size_t>(c.steps);
  for (std::int64_t s = 0; s < c.steps; ++s) {
    const AnyView part{{c.losses.info().type, {c.how.accumulation}},
                       c.losses.data() + static_cast<std::size_t>(s) * bytes};
    table.add({std::to_string(s + 1), fmt::format("{:.6g}", statistics_of(part).mean)});
  }
  table.print(console.out);
  flush(console);
  files.commit();
}

}  // namespace

void train(const TrainCase& options, const Console& console) {
  Spreading spreading = options.spreading;
  spreading.ranks = launched_ranks();
  const RankConsole of_rank(console, spreading.rank());
  Activity activity(of_rank.console(), "train " + detail::escaped(options.model.path));
  Case c(options, spreading);
  c.compare_ranks();
  Engine engine(std::move(c.graph), {.threads = options.threads,
                                     .recompute = c.spreading.recompute,
                                     .schedule = schedule_of(c.spreading),
                                     .precision = options.precision,
                                     .ranks = c.spreading.ranks});
  c.keep_weights(engine, 0);
  const std::int64_t replicas = c.spreading.all_replicas(),
                     own = c.spreading.rank() * c.spreading.replicas;
  const std::int64_t runs = c.steps * c.how.accumulation / replicas;
  const std::int64_t together = engine.is_pipelined() ? c.runs_together(engine) : 1;
  for (std::int64_t first = 0; first < runs; first += together) {
    std::vector<AnyView> inputs;
    for (std::int64_t run = first; run < first + together; ++run) {
      for (const AnyArray& x : c.data) {
        const TensorInfo info{x.info().type, Dims(x.info().shape.span().subspan(2))};
        inputs.push_back(
            {info, x.data() + static_cast<std::size_t>((run * replicas + own) * info.bytes())});
      }
    }
    if (engine.is_pipelined()) {
      engine.run_together(together, inputs);
    } else {
      engine.run(inputs);
    }
    for (std::int64_t m = 0; m < together; ++m) c.collect(engine, first + m, m);
    activity.done(static_cast<double>(first + together) / static_cast<double>(runs));
  }
  if (c.spreading.rank() == 0) write_results(c, options, console);
}

}  // namespace halftone::cli
