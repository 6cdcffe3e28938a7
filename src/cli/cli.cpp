#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>

#include <halftone/base/error.hpp>
#include <halftone/base/log.hpp>

#include "base/describe.hpp"
#include "cli/commands.hpp"
#include "cli/loaded.hpp"
#include "cli/spreading.hpp"

namespace halftone::cli {
namespace {

[[noreturn]] void fail_usage(std::string_view what, std::string_view option = {},
                             std::string_view hint = {}) {
  std::string reason(what);
  if (!option.empty()) reason += fmt::format("\nargument\t{}", detail::quoted(option));
  fail(ErrorKind::usage, {.what = reason, .hint = hint});
}

InputFile parse_input(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == text.npos || sign == 0 || sign + 1 == text.size()) {
    fail_usage("an input is given as NAME=FILE", text);
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

Size parse_size(const std::string& text) {
  const std::size_t sign = text.find('=');
  std::int64_t value = -1;
  if (sign != text.npos && sign != 0) {
    const char *begin = text.data() + sign + 1, *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end) value = -1;
  }
  if (value < 0) fail_usage("a size is given as NAME=N with N from 0", text);
  return {text.substr(0, sign), value};
}

TensorFormat parse_format(const std::string& text) {
  for (const TensorFormat format : {TensorFormat::pb, TensorFormat::npy, TensorFormat::text}) {
    if (text == extension(format)) return format;
  }
  fail_usage("a format is pb, npy or txt", text);
}

/// Of training: a table has no name.
InputFile parse_data(const std::string& text) {
  return text.find('=') == text.npos ? InputFile{{}, text} : parse_input(text);
}

template <class N>
std::optional<N> parse_number(std::string_view text) {
  N value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return {};
  return value;
}

/// "0.5", "1/16", "image=1/255"
Factor parse_factor(const std::string& text) {
  const std::size_t sign = text.find('=');
  Factor factor{sign == text.npos ? std::string() : text.substr(0, sign), 1};
  const std::string_view value = std::string_view(text).substr(sign == text.npos ? 0 : sign + 1);
  const std::size_t slash = value.find('/');
  const auto above = parse_number<double>(value.substr(0, slash));
  const auto below =
      slash == value.npos ? std::optional(1.0) : parse_number<double>(value.substr(slash + 1));
  if (!above || !below || *below == 0) {
    fail_usage("a factor is given as NAME=0.5 or NAME=1/16, without a name for the only input",
               text);
  }
  factor.value = *above / *below;
  return factor;
}

/// The texts of options that are more than a number or a word, as given.
struct Texts {
  std::vector<std::string> inputs, sizes, data, validation, factors;
  std::string format = "pb", emit, recompute, schedule, shard, off_chip, batch_parts,
              convolution = "fast", precision = "float32";
};

template <class Item>
std::vector<Item> parse_all(const std::vector<std::string>& texts,
                            Item (*parse)(const std::string&)) {
  std::vector<Item> items;
  for (const std::string& text : texts) items.push_back(parse(text));
  return items;
}

CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<std::string>& to,
                      const std::string& value, const std::string& help) {
  // One value each time; without this, those that follow would be taken as well.
  return command.add_option(name, to, help)->allow_extra_args(false)->type_name(value);
}

constexpr const char* onnx_or_executable = "an ONNX file, or .htx (see compile)";

void add_model(CLI::App& command, ModelFile& model, const char* what = "an ONNX file") {
  command.add_option("MODEL", model.path, what)->required()->type_name("");
  command.add_flag("--strict", model.strict, "refuse what would be read with a warning");
}

void add_inputs(CLI::App& command, Texts& texts) {
  add_list(command, "--input", texts.inputs, "NAME=FILE",
           "an input's tensor: .npy, .txt, else an ONNX tensor file; once for each input");
}

void add_batch(CLI::App& command, std::int64_t& batch) {
  command.add_option("--batch", batch, "value of the inputs' open first extent")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->type_name("N");
}
void add_sizes(CLI::App& command, Texts& texts) {
  add_list(command, "--size", texts.sizes, "NAME=N", "the value of a symbolic extent");
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N")
      ->capture_default_str();
}

void add_convolution(CLI::App& command, Texts& texts) {
  command
      .add_option("--convolution", texts.convolution,
                  "forms of convolutions that may be chosen: exact, fast (default) or fastest")
      ->type_name("FORMS");
}

void add_precision(CLI::App& command, Texts& texts) {
  command
      .add_option("--precision", texts.precision,
                  "what dense products of floats are computed in: float32 (default), bfloat16, or "
                  "float16, which holds constant weights in half")
      ->type_name("TYPE");
}

void add_stages(CLI::App& command, Spreading& spreading, Texts& texts) {
  command
      .add_option(
          "--stages", spreading.stages,
          "parts of the model that work on different micro-batches at a time, each on an IPU "
          "unless --ipus says otherwise")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  command
      .add_option("--schedule", texts.schedule,
                  "when stages run: grouped, continuous, one_f_one_b (default) or zero_bubble")
      ->type_name("ORDER");
}

/// How a training is spread, but for the IPUs of a replica.
void add_spreading(CLI::App& command, Spreading& spreading, Texts& texts) {
  command
      .add_option("--recompute", texts.recompute,
                  "what is computed again for gradients instead of being kept: none, standard, "
                  "norm_only, all, pipeline")
      ->type_name("HOW");
  command.add_option("--replicas", spreading.replicas, "machines that share the batch of a step")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N")
      ->capture_default_str();
  add_stages(command, spreading, texts);
  command
      .add_option("--phases", spreading.phases,
                  "parts of the model that run one after the other, each with its weights alone")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
  command
      .add_option("--shard", texts.shard,
                  "what each replica holds a part of: state, accumulators, weights, all")
      ->type_name("KINDS");
  command
      .add_option("--off-chip", texts.off_chip,
                  "what lies beside the machine and is loaded for its use: state, accumulators, "
                  "weights, all of these, activations")
      ->type_name("KINDS");
  command
      .add_option("--serialize-batch", texts.batch_parts,
                  "parts of the batch that are computed one after the other: unrolled (static, the "
                  "default, or dynamic slices), or in a loop")
      ->type_name("N[:METHOD]");
}

void read_spreading(Spreading& spreading, const Texts& texts) {
  if (!texts.recompute.empty()) spreading.recompute = parse_recomputation(texts.recompute);
  if (!texts.schedule.empty()) spreading.schedule = parse_schedule(texts.schedule);
  if (!texts.shard.empty()) spreading.shard = parse_kinds(texts.shard);
  if (!texts.off_chip.empty()) spreading.off_chip = parse_kinds(texts.off_chip);
  if (!texts.batch_parts.empty()) parse_batch_parts(texts.batch_parts, spreading);
}

void add_accumulation(CLI::App& command, std::int64_t& accumulation) {
  command
      .add_option("--accumulation,--accumulate", accumulation,
                  "micro-batches that a batch is divided into, one after the other")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20).description(""))
      ->type_name("N")
      ->capture_default_str();
}

/// A command that does not exist gets a better message than the option parser's.
void check_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const auto first = std::find_if(arguments.begin(), arguments.end(),
                                  [](const std::string& a) { return !a.starts_with('-'); });
  std::string known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known += (known.empty() ? "commands: " : ", ") + command->get_name();
    if (first != arguments.end() && *first == command->get_name()) return;
  }
  if (first == arguments.end()) {
    if (arguments.empty()) fail_usage("a command is missing", {}, known);
    return;  // options alone: --help, --version
  }
  fail_usage("there is no such command", *first, known);
}

void execute(std::vector<std::string> arguments, const Console& console) {
  CLI::App app("Runs, trains and profiles ONNX models.", "halftone");
  app.set_version_flag("--version", "halftone " HALFTONE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.footer(
      "On failure the last line of standard error is 'error: KIND: MESSAGE', and the exit "
      "code is\n1 internal, 2 usage, 3 model, 4 unsupported, 5 input, 6 memory, 7 io.");
  Texts texts;

  RunOptions run_options;
  CLI::App& run_command = *app.add_subcommand(
      "run", "run a model once and write its outputs, or try it on made-up inputs");
  run_command.footer(
      "Without --input and --output-dir the inputs are made up (as for bench) and nothing is "
      "written:\nfrom 0 to 1, integers 0 or 1, extents that the model leaves open 1 or what "
      "--size says.");
  add_model(run_command, run_options.model, onnx_or_executable);
  add_inputs(run_command, texts);
  CLI::Option* const output_dir =
      run_command.add_option("--output-dir", run_options.output_dir, "folder for output_0.pb, ...")
          ->type_name("DIR");
  add_sizes(run_command, texts);
  run_command.add_option("--format", texts.format, "of the outputs: pb, npy or txt")
      ->type_name("FORMAT")
      ->capture_default_str();
  add_threads(run_command, run_options.threads);
  add_convolution(run_command, texts);
  add_precision(run_command, texts);
  run_command.add_flag("--json", run_options.json, "print the summary as JSON");
  run_command.callback([&] {
    run_options.inputs = parse_all(texts.inputs, parse_input);
    run_options.model.sizes = parse_all(texts.sizes, parse_size);
    run_options.format = parse_format(texts.format);
    run_options.convolution = parse_convolution(texts.convolution);
    run_options.precision = parse_precision(texts.precision);
    if (run_options.output_dir.empty() && output_dir->count() > 0) {
      fail_usage("--output-dir names no folder");
    }
    if (run_options.output_dir.empty() && !run_options.inputs.empty()) {
      fail_usage("with --input, --output-dir has to say where the outputs go");
    }
    run(run_options, console);
  });

  TrainCase train_case;
  FitOptions fit;
  CLI::App& train_command =
      *app.add_subcommand("train", "train a model on data, or as a case says");
  add_model(train_command, fit.model);
  add_list(
      train_command, "--data", texts.data, "[NAME=]FILE",
      "an input's samples or 'label': .npy, .txt, IDX (-ubyte), else an ONNX tensor file; once "
      "for each; or a table of numbers (CSV) for all, labels last");
  add_list(train_command, "--validate", texts.validation, "N|[NAME=]FILE",
           "samples to validate with: the last N (below 1: that share), or data like --data");
  add_list(train_command, "--scale", texts.factors, "[NAME=]X",
           "multiply an input's samples: 0.5, image=1/255");
  add_sizes(train_command, texts);
  train_command.add_option("--epochs", fit.epochs, "passes over the samples")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->type_name("N")
      ->capture_default_str();
  train_command.add_option("--batch", fit.batch, "samples in a batch; else the model's, or 32")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->type_name("N");
  add_accumulation(train_command, fit.accumulation);
  train_command
      .add_option("--optimizer", fit.optimizer,
                  "sgd, adam, lamb, rmsprop, ... with NAME=VALUE as in adam:lr=1e-3,beta1=0.9")
      ->type_name("KIND:...")
      ->capture_default_str();
  train_command
      .add_option(
          "--loss", fit.loss,
          "cross_entropy (over the last dimension), mse, l1, or a scalar of the model; else "
          "what fits the labels")
      ->type_name("LOSS");
  train_command.add_option("--output", fit.output, "the output to train; else the first")
      ->type_name("NAME");
  train_command.add_option("--save", fit.save, "write model and state there after every epoch")
      ->type_name("FILE.onnx");
  train_command.add_option("--resume", fit.resume, "go on from what --save wrote")
      ->type_name("FILE.onnx");
  train_command.add_option("--plot", fit.plot, "draw the loss")->type_name("FILE.svg");
  train_command.add_option("--log", fit.log, "write a line for each epoch: .csv or .jsonl")
      ->type_name("FILE");
  train_command.add_flag("--stop-at-nan", fit.stop_at_nan,
                         "name the first tensor that holds something else than numbers; slower");
  train_command.add_option("--seed", fit.seed, "of the order of samples and random numbers")
      ->type_name("N")
      ->capture_default_str();
  train_command
      .add_option("--case", train_case.case_file,
                  "instead of all this: steps, optimizer, data and outputs as JSON")
      ->type_name("CASE.json");
  train_command.add_option("--output-dir", train_case.output_dir, "folder for a case's outputs")
      ->type_name("DIR");
  add_spreading(train_command, fit.spreading, texts);
  train_command.add_option("--ipus", fit.spreading.ipus, "IPUs that share the model, a part each")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N");
  add_threads(train_command, fit.threads);
  add_precision(train_command, texts);
  train_command.callback([&] {
    read_spreading(fit.spreading, texts);
    fit.precision = train_case.precision = parse_precision(texts.precision);
    if (fit.precision == Precision::float16) {
      fail(ErrorKind::usage, {.what = "float16 holds constant weights, and training has none",
                              .expected = "--precision float32 or bfloat16",
                              .found = "float16"});
    }
    if (!train_case.case_file.empty()) {
      for (const CLI::Option* option : train_command.get_options()) {
        const std::string name = option->get_name();
        if (option->count() == 0 || name == "MODEL" || name == "--case" || name == "--output-dir" ||
            name == "--threads" || name == "--precision" || name == "--recompute" ||
            name == "--replicas" || name == "--ipus" || name == "--stages" ||
            name == "--schedule" || name == "--phases" || name == "--shard" ||
            name == "--off-chip" || name == "--serialize-batch") {
          continue;
        }
        fail_usage("the case says that already", name);
      }
      if (train_case.output_dir.empty()) fail_usage("--output-dir names no folder");
      train_case.model = fit.model;
      train_case.spreading = fit.spreading;
      train_case.threads = fit.threads;
      return train(train_case, console);
    }
    if (!train_case.output_dir.empty()) fail_usage("--output-dir is for --case");
    if (texts.data.empty()) fail_usage("train wants --data or --case", {}, "halftone train --help");
    fit.data = parse_all(texts.data, parse_data);
    fit.factors = parse_all(texts.factors, parse_factor);
    fit.model.sizes = parse_all(texts.sizes, parse_size);
    const bool is_number =
        texts.validation.size() == 1 && parse_number<double>(texts.validation[0]).has_value();
    if (is_number) {
      fit.held_back = *parse_number<double>(texts.validation[0]);
      if (!(fit.held_back > 0)) fail_usage("--validate wants more than 0", texts.validation[0]);
    } else {
      fit.validation = parse_all(texts.validation, parse_data);
    }
    train(fit, console);
  });

  OpsOptions ops_options;
  CLI::App& ops_command = *app.add_subcommand("ops", "list the operators: DOMAIN NAME VERSION");
  CLI::Option* as_json = ops_command.add_flag("--json", ops_options.json,
                                              "with inputs, outputs, element types and attributes");
  ops_command
      .add_flag("--markdown", ops_options.markdown, "as the table in include/halftone/op/README.md")
      ->excludes(as_json);
  ops_command
      .add_flag("--popart", ops_options.popart,
                "instead, what PopART's settings do: the tables in include/popart/README.md")
      ->excludes(as_json);
  ops_command.callback([&] { ops(ops_options, console); });

  CheckOptions check_options;
  CLI::App& check_command_ =
      *app.add_subcommand("check", "say whether a model can run, and all that is against it");
  add_model(check_command_, check_options.model, onnx_or_executable);
  add_sizes(check_command_, texts);
  check_command_.add_flag("--json", check_options.json, "print the result as JSON");
  check_command_.callback([&] {
    check_options.model.sizes = parse_all(texts.sizes, parse_size);
    check(check_options, console);
  });

  InspectOptions inspect_options;
  CLI::App& inspect_command = *app.add_subcommand("inspect", "show what a model is made of");
  add_model(inspect_command, inspect_options.model, onnx_or_executable);
  add_sizes(inspect_command, texts);
  inspect_command.add_flag("--nodes", inspect_options.nodes, "list the nodes, too");
  CLI::Option* inspect_json =
      inspect_command.add_flag("--json", inspect_options.json, "print JSON");
  CLI::Option* after =
      inspect_command
          .add_option("--after", inspect_options.after,
                      "print the graph after a pass that makes it ready to run: infer, schedule...")
          ->type_name("PASS")
          ->excludes(inspect_json);
  inspect_command
      .add_option("--target", inspect_options.target, "with --after and --program: cpu or ipu")
      ->check(CLI::IsMember({"cpu", "ipu"}).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  inspect_command.add_flag("--dot", inspect_options.dot, "with --after: print DOT, for Graphviz")
      ->needs(after);
  inspect_command
      .add_flag("--program", inspect_options.program,
                "print what runs: steps, where their arguments lie, how much is live")
      ->excludes(after)
      ->excludes(inspect_json);
  inspect_command.callback([&] {
    inspect_options.model.sizes = parse_all(texts.sizes, parse_size);
    inspect(inspect_options, console);
  });

  CompileOptions compile_options;
  CLI::App& compile_command =
      *app.add_subcommand("compile", "make a model ready to run, in a file that loads at once");
  add_model(compile_command, compile_options.model);
  add_sizes(compile_command, texts);
  add_batch(compile_command, compile_options.batch);
  compile_command.add_option("--out", compile_options.out, "what run, bench and check take then")
      ->required()
      ->type_name("FILE.htx");
  compile_command
      .add_option("--emit", texts.emit,
                  "header: write C++ for halftone/static.hpp instead, to a FILE.hpp")
      ->check(CLI::IsMember({"header"}).description(""))
      ->type_name("WHAT");
  compile_command
      .add_option("--for", compile_options.instructions,
                  "instructions of the processor that will run it: v2, v3, v4; else this one's")
      ->check(CLI::IsMember({"v2", "v3", "v4"}).description(""))
      ->type_name("LEVEL");
  compile_command.callback([&] {
    compile_options.model.sizes = parse_all(texts.sizes, parse_size);
    compile_options.header = !texts.emit.empty();
    if (compile_options.header != compile_options.out.ends_with(".hpp")) {
      fail_usage("--emit header and a name that ends in .hpp belong together", compile_options.out);
    }
    if (!compile_options.header && !is_executable(compile_options.out)) {
      fail_usage("the name of an executable ends in .htx", compile_options.out);
    }
    compile(compile_options, console);
  });

  BenchOptions bench_options;
  CLI::App& bench_command = *app.add_subcommand("bench", "measure how fast a model runs");
  add_model(bench_command, bench_options.model, onnx_or_executable);
  add_inputs(bench_command, texts);
  add_sizes(bench_command, texts);
  add_batch(bench_command, bench_options.batch);
  add_threads(bench_command, bench_options.threads);
  add_convolution(bench_command, texts);
  add_precision(bench_command, texts);
  bench_command.add_option("--seconds", bench_options.seconds, "how long to measure")
      ->check(CLI::Range(0.0, 86400.0).description(""))
      ->type_name("S")
      ->capture_default_str();
  bench_command.add_option("--slowest", bench_options.slowest, "operators in the table")
      ->check(CLI::Range(0, 1000000).description(""))
      ->type_name("N")
      ->capture_default_str();
  bench_command.add_option("--json", bench_options.json, "write the results there, -: print them")
      ->type_name("FILE");
  bench_command.callback([&] {
    bench_options.inputs = parse_all(texts.inputs, parse_input);
    bench_options.model.sizes = parse_all(texts.sizes, parse_size);
    bench_options.convolution = parse_convolution(texts.convolution);
    bench_options.precision = parse_precision(texts.precision);
    bench(bench_options, console);
  });

  ProfileCommand profile_options;
  CLI::App& profile_command =
      *app.add_subcommand("profile", "say what a model would do on an emulated IPU");
  add_model(profile_command, profile_options.model);
  profile_command.add_option("--target", profile_options.target, "gc2, gc200, bow or c600")
      ->type_name("NAME")
      ->capture_default_str();
  profile_command
      .add_option("--ipus", profile_options.ipus,
                  "IPUs that share the model; nodes are where it says (__ipu_number), or parts "
                  "take about the same time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{64}).description(""))
      ->type_name("N")
      ->capture_default_str();
  profile_command.add_option("--tiles", profile_options.tiles, "tiles of each IPU")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}).description(""))
      ->type_name("N");
  add_sizes(profile_command, texts);
  add_batch(profile_command, profile_options.batch);
  profile_command
      .add_option("--memory-proportion", profile_options.memory_proportion,
                  "of a tile's memory, for what a product needs for a while")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("P")
      ->capture_default_str();
  profile_command
      .add_option("--partials", profile_options.partials,
                  "type of partial sums of half products: float or half")
      ->type_name("TYPE")
      ->capture_default_str();
  profile_command.add_flag("--allow-out-of-memory", profile_options.allow_out_of_memory,
                           "report a model that does not fit, too");
  profile_command
      .add_option("--out", profile_options.output_dir,
                  "folder for report.html, report.json, trace.json, ...")
      ->type_name("DIR");
  add_list(profile_command, "--sweep", profile_options.sweeps, "KEY=A,B...",
           "compare cases: batch, target, ipus, tiles, stages, schedule, replicas, recompute, "
           "accumulate, partials, memory-proportion");
  profile_command
      .add_option("--compare", profile_options.compare,
                  "another report's report.json, which report.html shows beside this one")
      ->type_name("FILE");
  profile_command
      .add_option("--train", profile_options.train,
                  "a step of training: cross_entropy, mse, l1 or a scalar of the model, and an "
                  "optimizer as in cross_entropy:adam:lr=1e-3")
      ->type_name("LOSS:OPTIMIZER");
  profile_command.add_flag("--half", profile_options.half, "half in place of float");
  add_accumulation(profile_command, profile_options.accumulation);
  add_spreading(profile_command, profile_options.spreading, texts);
  profile_command
      .add_option("--io-tiles", profile_options.io_tiles,
                  "tiles of each IPU that exchange data with the host while the others compute")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{65535}).description(""))
      ->type_name("N")
      ->capture_default_str();
  profile_command
      .add_option("--micro-batches", profile_options.micro_batches,
                  "that go through the stages of a model that is not trained; else four for each")
      ->check(CLI::Range(1, 1 << 20).description(""))
      ->type_name("N");
  profile_command.add_flag("--json", profile_options.json,
                           "print the report, or a sweep's table, as JSON");
  profile_command.callback([&] {
    profile_options.model.sizes = parse_all(texts.sizes, parse_size);
    read_spreading(profile_options.spreading, texts);
    profile(profile_options, console);
  });

  PlanCommand plan_options;
  CLI::App& plan_command =
      *app.add_subcommand("plan", "search the best way to spread a model over several IPUs");
  add_model(plan_command, plan_options.model);
  add_sizes(plan_command, texts);
  plan_command.add_option("--target", plan_options.target, "gc2, gc200, bow or c600")
      ->type_name("NAME")
      ->capture_default_str();
  plan_command.add_option("--ipus", plan_options.ipus, "IPUs of the whole system")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{64}).description(""))
      ->type_name("N")
      ->capture_default_str();
  plan_command
      .add_option("--batch", plan_options.batch,
                  "items of a step of the optimizer, or of a run; else what suits each choice")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->type_name("N");
  plan_command
      .add_option(
          "--micro-batch", plan_options.micro_batches,
          "sizes that are tried: a value of the inputs' open first extent; else powers of two")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""))
      ->type_name("N,N...");
  plan_command
      .add_option("--stages", plan_options.stages, "numbers of stages that are tried; else all")
      ->delimiter(',')
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N,N...");
  plan_command
      .add_option("--optimizer", plan_options.optimizer,
                  "plan the training with it, as train takes it; else inference")
      ->type_name("TYPE[:K=V,...]");
  plan_command
      .add_option(
          "--loss", plan_options.loss,
          "cross_entropy, mse, l1, or a scalar of the model; else what the output looks like")
      ->type_name("LOSS");
  plan_command
      .add_option("--memory-proportion", plan_options.memory_proportion,
                  "of a tile's memory, for what a product needs for a while")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("P")
      ->capture_default_str();
  plan_command
      .add_option("--partials", plan_options.partials,
                  "type of partial sums of half products: float or half")
      ->type_name("TYPE")
      ->capture_default_str();
  plan_command.add_flag("--half", plan_options.half, "half in place of float");
  plan_command
      .add_option("--io-tiles", plan_options.io_tiles,
                  "tiles of each IPU that exchange data with the host while the others compute")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{65535}).description(""))
      ->type_name("N")
      ->capture_default_str();
  plan_command.add_flag("--no-host", plan_options.no_host,
                        "leave out the streams of inputs and outputs");
  plan_command
      .add_option("--save", plan_options.save,
                  "write the model with the stages of the best way, which train and profile obey")
      ->type_name("FILE");
  plan_command
      .add_option(
          "--out", plan_options.output_dir,
          "folder for plan.txt, plan.json, and lanes of the best way: pipeline.html, trace.json")
      ->type_name("DIR");
  plan_command.add_flag("--json", plan_options.json, "print all that was tried as JSON");
  plan_command.callback([&] {
    plan_options.model.sizes = parse_all(texts.sizes, parse_size);
    plan(plan_options, console);
  });

  check_command(app, arguments);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    fmt::print(console.out, "{}", app.help());  // of the command, if there is one
  } catch (const CLI::CallForVersion& version) {
    fmt::print(console.out, "{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    fail_usage(
        error.what(), {},
        fmt::format("see halftone {}--help", chosen.empty() ? "" : chosen[0]->get_name() + " "));
  }
}

/// The last line of standard error. Errors have so much of it at most, the details in front have all.
constexpr std::size_t longest_line = 1000;

int report(const Console& console, ErrorKind kind, std::string_view line,
           std::string_view details = {}) noexcept {
  // No formatting: memory may be what is missing.
  const auto put = [&](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), console.err);
  };
  if (details.find('\n') != details.npos) {
    put(details);
    put("\n");
  }
  put("error: ");
  put(name(kind));
  put(": ");
  std::size_t end = line.size();
  if (end > longest_line) {
    end = longest_line;
    while ((static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // within a character
  }
  put(line.empty() ? "failed without a reason" : line.substr(0, end));
  put(end < line.size() ? " ...\n" : "\n");
  std::fflush(console.err);
  return static_cast<int>(kind);
}

/// Prints the library's warnings while it lives, each once; HALFTONE_LOG asks for more or fewer.
class Messages {
 public:
  explicit Messages(const Console& console) : console_(console), level_(log_level()) {
    if (std::getenv("HALFTONE_LOG") == nullptr) set_log_level(LogLevel::warn);
    set_log_sink(&print, this);
  }
  ~Messages() {
    set_log_sink(nullptr, nullptr);
    set_log_level(level_);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

 private:
  static void print(void* self, LogLevel level, std::string_view module, std::string_view text) {
    auto& messages = *static_cast<Messages*>(self);
    constexpr std::string_view names[] = {"trace", "debug", "info", "warning", "error", "critical"};
    const std::string_view kind = names[static_cast<std::size_t>(level)];
    // A warning is about the model: which part of the library noticed is of no interest.
    const std::string line = level == LogLevel::warn
                                 ? fmt::format("{}: {}\n", kind, text)
                                 : fmt::format("{}: {}: {}\n", kind, module, text);
    if (level >= LogLevel::warn && !messages.said_.insert(line).second) return;
    std::fputs(line.c_str(), messages.console_.err);
  }

  const Console& console_;
  LogLevel level_;
  std::set<std::string> said_;
};

}  // namespace

namespace {

int run_alone(std::vector<std::string> arguments, const Console& console) {
  const Messages messages(console);
  try {
    execute(std::move(arguments), console);
    flush(console);
    return 0;
  } catch (const Error& error) {
    std::fflush(console.out);
    // A usage error is about one line; the others have names and numbers that are easier to read in
    // several.
    const bool is_short = error.kind() == ErrorKind::usage;
    return report(console, error.kind(), error.line(), is_short ? "" : error.what());
  } catch (const std::bad_alloc&) {
    return report(console, ErrorKind::memory, "out of memory");
  } catch (const std::length_error&) {
    return report(console, ErrorKind::memory, "a list grows beyond all memory");
  } catch (const std::system_error& error) {
    // Whoever reads the results has seen enough.
    if (error.code() == std::errc::broken_pipe) return 0;
    const bool is_memory = error.code() == std::errc::not_enough_memory ||
                           error.code() == std::errc::resource_unavailable_try_again;
    return report(console, is_memory ? ErrorKind::memory : ErrorKind::io,
                  detail::escaped(error.what()));
  } catch (const std::exception& error) {
    return report(console, ErrorKind::internal, detail::escaped(error.what()));
  } catch (...) {
    return report(console, ErrorKind::internal, "something was thrown that is no exception");
  }
}

}  // namespace

int run_program(std::vector<std::string> arguments, const Console& console) {
  const int status = run_alone(std::move(arguments), console);
  // Other ranks would wait for this one.
  if (status != 0) abort_launched_ranks(status);
  return status;
}

}  // namespace halftone::cli
