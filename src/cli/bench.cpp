#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include <halftone/exec/engine.hpp>
#include <halftone/graph/model.hpp>

#include "base/describe.hpp"
#include "cli/activity.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"
#include "cli/json.hpp"
#include "cli/loaded.hpp"
#include "cli/made_up.hpp"
#include "cli/table.hpp"

namespace halftone::cli {
namespace {

/// An engine with its inputs.
struct Bench {
  Engine engine;
  std::vector<AnyArray> arrays;
  std::vector<AnyView> inputs;
  std::vector<AnyArray> streams{};
  double load = 0, plan = 0;

  static Bench make(const BenchOptions& options) {
    const auto start = Clock::now();
    LoadedModel model(options.model);
    const Graph& graph = model.graph();
    const double load = seconds_since(start);

    std::vector<AnyArray> arrays(graph.inputs.size());
    std::vector<std::pair<TensorId, AnyArray>> variables;
    Sizes sizes(graph, options.batch);
    for (const InputFile& input : options.inputs) {
      const TensorId id = graph.find(input.name);
      const auto place = std::find(graph.inputs.begin(), graph.inputs.end(), id);
      const bool is_optional = std::find(graph.optional_inputs.begin(), graph.optional_inputs.end(),
                                         id) != graph.optional_inputs.end();
      if (id == no_tensor || (place == graph.inputs.end() && !is_optional)) {
        fail(ErrorKind::input, {.what = "the model has no such input", .tensor = input.name});
      }
      AnyArray array = read_tensor(input.file);
      if (is_optional) {
        variables.emplace_back(id, std::move(array));
        continue;
      }
      AnyArray& slot = arrays[static_cast<std::size_t>(place - graph.inputs.begin())];
      if (slot.info().is_known()) {
        fail(ErrorKind::input, {.what = "the input is given twice", .tensor = input.name});
      }
      sizes.learn(id, array.info());
      slot = std::move(array);
    }
    MadeUp made_up;
    Vector<TensorInfo> infos;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (!arrays[i].info().is_known()) {
        const TensorId id = graph.inputs[i];
        infos.push_back(sizes.complete(id));
        arrays[i] = made_up.array(of_replicas(graph, infos.back()), graph.name(id));
      } else {
        infos.push_back(arrays[i].info());
      }
    }
    if (options.batch > 0 && !sizes.used_batch()) {
      fail(ErrorKind::input, {.what = "no input has an open first extent that --batch could set"});
    }

    const auto planning = Clock::now();
    Bench bench{std::move(model).engine({.threads = options.threads,
                                         .convolution = options.convolution,
                                         .precision = options.precision}),
                std::move(arrays),
                {},
                {},
                load};
    for (const auto& [id, array] : variables) bench.engine.set_variable(id, array);
    bench.engine.prepare(infos);
    bench.plan = seconds_since(planning);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      bench.inputs.push_back({infos[i], bench.arrays[i].data()});
    }
    bench.give_streams(made_up);
    return bench;
  }

  /// One slice of every stream, which loads and stores use again and again.
  void give_streams(MadeUp& made_up) {
    const auto array = [&](const Engine::Stream& stream) -> AnyArray& {
      const TensorInfo info = of_replicas(engine.graph(), stream.slice);
      return streams.emplace_back(made_up.array(info, stream.name.view()));
    };
    const std::vector<Engine::Stream> loads = engine.loads(), stores = engine.stores();
    for (std::size_t i = 0; i < loads.size(); ++i) engine.set_load(i, array(loads[i]).data(), 1);
    for (std::size_t i = 0; i < stores.size(); ++i) engine.set_store(i, array(stores[i]).data(), 1);
  }

  void run() { engine.run(inputs); }
  /// What a run counts as: the first extent of the first input that has extents.
  std::int64_t items() const {
    for (const AnyView& input : inputs) {
      if (input.info.rank() > 0) return input.info.shape[0];
    }
    return 1;
  }
};

struct Times {
  std::int64_t runs = 0;
  std::int64_t runs_per_sample = 1;
  double total = 0;
  std::vector<double> samples;  // seconds a run, in order of size

  double percentile(double share) const {
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return samples[rank == 0 ? 0 : rank - 1];
  }
};

Times measure(Bench& bench, double seconds, Activity& activity) {
  // The first run touches memory for the first time.
  bench.run();
  auto start = Clock::now();
  bench.run();
  // Reading the clock takes some 25 ns: that has to vanish.
  constexpr double least = 20e-6;
  Times times;
  times.runs_per_sample = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(least / std::max(seconds_since(start), 1e-9))));
  if (times.runs_per_sample > 1000) times.runs_per_sample = 1000;
  start = Clock::now();
  do {
    const auto sample = Clock::now();
    for (std::int64_t i = 0; i < times.runs_per_sample; ++i) bench.run();
    times.samples.push_back(seconds_since(sample) / static_cast<double>(times.runs_per_sample));
    times.runs += times.runs_per_sample;
    times.total = seconds_since(start);
    activity.done(std::min(1.0, times.total / std::max(seconds, 1e-9)));
  } while (times.total < seconds);
  std::sort(times.samples.begin(), times.samples.end());
  return times;
}

struct OperatorTime {
  std::string op, name;
  double seconds = 0, idle = 0;  // of one run
  std::int64_t flops = 0, bytes = 0;
};

/// Runs once more with a clock around each operator; slowest first.
std::vector<OperatorTime> operator_times(Bench& bench, double seconds) {
  constexpr int most = 1000;
  bench.engine.measure(true);
  bench.run();
  bench.engine.reset_times();
  const auto start = Clock::now();
  int runs = 0;
  do {
    bench.run();
  } while (++runs < most && seconds_since(start) < seconds);
  std::vector<OperatorTime> times;
  for (const NodeTime& node : bench.engine.times()) {
    times.push_back({std::string(node.op), std::string(node.name), node.seconds / runs,
                     node.idle / runs, node.flops, node.bytes});
  }
  bench.engine.measure(false);
  std::sort(times.begin(), times.end(),
            [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return times;
}

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::string per_second(double amount, double seconds, std::string_view unit) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f} {}", amount / seconds / 1e9, unit) : "";
}

}  // namespace

void bench(const BenchOptions& options, const Console& console) {
  const std::string model = detail::escaped(options.model.path);
  Times times;
  std::vector<OperatorTime> operators;
  auto bench = [&] {
    const Activity activity(console, "compile " + model);
    return Bench::make(options);
  }();
  {
    Activity activity(console, "run " + model);
    times = measure(bench, options.seconds, activity);
    operators = operator_times(bench, options.seconds / 4);
  }
  const ModelFacts facts = facts_of(bench.engine.graph());
  const int threads = options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto items = static_cast<double>(bench.items() * times.runs) / times.total;
  const auto planned = static_cast<std::int64_t>(bench.engine.planned_bytes());
  const std::int64_t peak = peak_bytes();
  double all = 0, idle = 0;
  for (const OperatorTime& op : operators) {
    all += op.seconds;
    idle += op.idle;
  }
  const auto idle_share = [&](double waited, double seconds) {
    return seconds > 0 ? waited / (threads * seconds) : 0;
  };
  if (operators.size() > static_cast<std::size_t>(options.slowest)) {
    operators.resize(static_cast<std::size_t>(options.slowest));
  }

  if (options.json != "-") {
    fmt::print(console.out, "model    {}  {}  {} nodes  {} parameters\n", model,
               versions_text(options.model.path), facts.nodes,
               count(static_cast<double>(facts.parameters)));
    for (std::size_t i = 0; i < bench.inputs.size(); ++i) {
      const Graph& graph = bench.engine.graph();
      fmt::print(console.out, "{} {}  {}\n", i == 0 ? "inputs  " : "        ",
                 detail::escaped(graph.name(graph.inputs[i])),
                 detail::to_text(bench.inputs[i].info));
    }
    fmt::print(console.out, "compile  {}   (load {}, plan {})\n", duration(bench.load + bench.plan),
               duration(bench.load), duration(bench.plan));
    fmt::print(console.out, "run      {} iterations  p50 {}  p90 {}  p99 {}  {} items/s  {} {}\n",
               times.runs, duration(times.percentile(.5)), duration(times.percentile(.9)),
               duration(times.percentile(.99)), count(items), threads,
               threads == 1 ? "thread" : "threads");
    if (times.runs_per_sample > 1) {
      fmt::print(console.out, "         (percentiles of the means of {} runs each)\n",
                 times.runs_per_sample);
    }
    if (threads > 1) {
      fmt::print(console.out, "idle     {:.1f} % of the threads' time\n",
                 100 * idle_share(idle, all));
    }
    if (options.precision != Precision::float32) {
      const bool is_available = bench.engine.precision() == options.precision;
      fmt::print(console.out, "products {}{}\n", name(bench.engine.precision()),
                 is_available
                     ? ""
                     : fmt::format("  (the processor has none in {})", name(options.precision)));
    }
    fmt::print(console.out, "memory   planned {}, peak of the process {}\n",
               detail::bytes_text(static_cast<std::uint64_t>(planned)),
               detail::bytes_text(static_cast<std::uint64_t>(peak)));
    if (!operators.empty()) {
      using enum Table::Align;
      std::vector<Table::Column> columns{{"slowest"},      {"node"},    {"time", right},
                                         {"share", right}, {"", right}, {"", right}};
      if (threads > 1) columns.push_back({"idle", right});
      Table table(columns);
      for (const OperatorTime& op : operators) {
        std::vector<std::string> row{
            detail::escaped(op.op),
            detail::escaped(op.name),
            duration(op.seconds),
            fmt::format("{:.1f} %", all > 0 ? 100 * op.seconds / all : 0),
            per_second(static_cast<double>(op.flops), op.seconds, "GFLOP/s"),
            per_second(static_cast<double>(op.bytes), op.seconds, "GB/s")};
        if (threads > 1) {
          row.push_back(fmt::format("{:.0f} %", 100 * idle_share(op.idle, op.seconds)));
        }
        table.add(std::move(row));
      }
      fmt::print(console.out, "\n");
      table.print(console.out);
    }
  }
  if (options.json.empty()) return;

  Json json{{"model", options.model.path},
            {"nodes", facts.nodes},
            {"parameters", facts.parameters},
            {"threads", threads},
            {"precision", name(bench.engine.precision())},
            {"wanted_precision", name(options.precision)},
            {"load_seconds", bench.load},
            {"plan_seconds", bench.plan},
            {"iterations", times.runs},
            {"p50_seconds", times.percentile(.5)},
            {"p90_seconds", times.percentile(.9)},
            {"p99_seconds", times.percentile(.99)},
            {"runs_per_sample", times.runs_per_sample},
            {"items_per_second", items},
            {"planned_bytes", planned},
            {"peak_bytes", peak},
            {"idle", idle_share(idle, all)},
            {"inputs", Json::array()},
            {"slowest", Json::array()}};
  for (std::size_t i = 0; i < bench.inputs.size(); ++i) {
    const Graph& graph = bench.engine.graph();
    Json input{{"name", graph.name(graph.inputs[i])}};
    add_info(input, bench.inputs[i].info);
    json["inputs"].push_back(std::move(input));
  }
  for (const OperatorTime& op : operators) {
    json["slowest"].push_back({{"op", op.op},
                               {"node", op.name},
                               {"seconds", op.seconds},
                               {"idle", idle_share(op.idle, op.seconds)},
                               {"flops", op.flops},
                               {"bytes", op.bytes}});
  }
  if (options.json == "-") {
    fmt::print(console.out, "{}", dump(json));
  } else {
    write_file(options.json, dump(json));
  }
}

}  // namespace halftone::cli
