#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <halftone/exec/ranks.hpp>
#include <halftone/graph/place.hpp>
#include <halftone/kernel/precision.hpp>
#include <halftone/transform/convolution.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/tensor_kind.hpp>

#include "cli/console.hpp"
#include "cli/tensor_file.hpp"

namespace halftone::cli {

/// NAME=FILE
struct InputFile {
  std::string name, file;
};

/// NAME=N: the value of a symbolic extent.
struct Size {
  std::string name;
  std::int64_t value = 0;
};

/// A model as the command line names it.
struct ModelFile {
  std::string path{};
  std::vector<Size> sizes{};
  bool strict = false;  ///< refuse what would be read with a warning
};

struct RunOptions {
  ModelFile model;
  std::string output_dir;
  std::vector<InputFile> inputs;
  TensorFormat format = TensorFormat::pb;
  int threads = 0;
  Convolution convolution = Convolution::fast;
  Precision precision = Precision::float32;
  bool json = false;
};
/// Runs a model once and writes its outputs, all or none. With neither inputs nor a folder it runs on
/// made-up inputs, and nothing is written.
void run(const RunOptions& options, const Console& console);

/// How a training is spread over time and machines. It changes no result but for rounding.
struct Spreading {
  Recomputation recompute = Recomputation::none;
  std::int32_t replicas = 1;     ///< of each rank
  const Ranks* ranks = nullptr;  ///< that mpirun has started; null: this process is alone
  std::int32_t ipus = 0, stages = 0, phases = 0;  ///< see PlaceOptions
  Schedule schedule = Schedule::none;             ///< none: one_f_one_b, if there are stages
  TensorKinds shard{};                            ///< what the replicas hold in parts
  TensorKinds off_chip{};                         ///< what lies beside the machine
  std::int64_t batch_parts = 1;  ///< in which a micro-batch is computed, one after the other
  BatchMethod batch_method = BatchMethod::unroll_static;

  int rank() const { return ranks != nullptr ? ranks->rank : 0; }
  int rank_count() const { return ranks != nullptr ? ranks->ranks : 1; }
  /// The replicas of all ranks.
  std::int32_t all_replicas() const { return replicas * rank_count(); }
};

struct TrainCase {
  ModelFile model;
  std::string case_file, output_dir;
  Spreading spreading;
  int threads = 0;
  Precision precision = Precision::float32;
};
/// Trains a model as a case file says, and writes what it wants, all or nothing.
void train(const TrainCase& options, const Console& console);

/// NAME=FACTOR
struct Factor {
  std::string name;
  double value = 1;
};

struct FitOptions {
  ModelFile model;
  std::vector<InputFile> data, validation;  ///< without a name: a table
  double held_back = 0;                     ///< samples to validate with: a share, or how many
  std::vector<Factor> factors;              ///< without a name: of the only input
  std::int64_t epochs = 10, batch = 0;      ///< batch 0: the model's, or 32
  std::int64_t accumulation = 1;            ///< micro-batches that a batch is divided into
  std::string optimizer = "adam:lr=1e-3";
  std::string loss, output;  ///< empty: what fits the data; the first output
  std::string save, resume;  ///< model files with the optimizer's state
  std::string plot, log;     ///< an SVG file; a table or JSON lines
  std::uint64_t seed = 0;
  Spreading spreading;
  int threads = 0;
  Precision precision = Precision::float32;
  bool stop_at_nan = false;  ///< name the first tensor that is not a number
};
/// Trains a model on data, and writes it after every epoch.
void train(const FitOptions& options, const Console& console);

struct OpsOptions {
  bool json = false, markdown = false;
  bool popart = false;  ///< what PopART's settings do, instead
};
/// Lists the operators.
void ops(const OpsOptions& options, const Console& console);

struct CheckOptions {
  ModelFile model;
  bool json = false;
};
/// Says whether a model can run, and everything that is against it; throws what running it would
/// throw.
void check(const CheckOptions& options, const Console& console);

struct InspectOptions {
  ModelFile model;
  std::string after;           ///< a pass, whose graph is shown instead of the model; empty: none
  std::string target = "cpu";  ///< that the pass is for
  bool dot = false;            ///< show it as DOT
  bool program = false;        ///< show what runs: its steps and their memory
  bool nodes = false, json = false;
};
/// Shows what a model is made of.
void inspect(const InspectOptions& options, const Console& console);

struct CompileOptions {
  ModelFile model;
  std::string out;           ///< the executable
  std::int64_t batch = 0;    ///< 0: not given
  std::string instructions;  ///< v2, v3 or v4; empty: the newest of this machine
  bool header = false;       ///< C++ for halftone/static.hpp instead of an executable
};
/// Makes a model ready to run and writes it to a file; or writes it as C++.
void compile(const CompileOptions& options, const Console& console);

struct BenchOptions {
  ModelFile model;
  std::vector<InputFile> inputs;
  std::int64_t batch = 0;  ///< 0: not given
  int threads = 0;
  Convolution convolution = Convolution::fast;
  Precision precision = Precision::float32;
  double seconds = 5;
  int slowest = 10;  ///< rows of the table of operators
  std::string json;  ///< a file, "-" for standard output, empty: none
};
/// Measures how fast a model runs.
void bench(const BenchOptions& options, const Console& console);

struct ProfileCommand {
  ModelFile model;
  std::string target = "gc200", output_dir;
  std::int64_t batch = 0, ipus = 1, tiles = 0;  ///< 0: not given
  double memory_proportion = 0.6;
  std::string partials = "float";
  bool allow_out_of_memory = false, json = false;
  std::vector<std::string> sweeps;  ///< KEY=VALUE,VALUE...
  std::string compare;              ///< the JSON of another report, for the page
  std::string train;                ///< LOSS:OPTIMIZER; empty: the model as it is
  bool half = false;                ///< half in place of float
  std::int64_t accumulation = 1;    ///< micro-batches in a step of the optimizer
  std::int64_t io_tiles = 0;        ///< of each IPU, for the host
  Spreading spreading;              ///< with stages: a pipeline
  std::int32_t micro_batches = 0;   ///< of a pipeline that is not trained; 0: four for each stage
};
/// Says what a model would do on an IPU.
void profile(const ProfileCommand& options, const Console& console);

struct PlanCommand {
  ModelFile model;
  std::string target = "bow";
  std::int64_t ipus = 16, batch = 0;          ///< of the system; items of a step, 0: what suits
  std::vector<std::int64_t> micro_batches{};  ///< that are tried; empty: powers of two
  std::vector<std::int32_t> stages{};         ///< that are tried; empty: all
  std::string optimizer{}, loss{};            ///< empty: inference; what the output looks like
  double memory_proportion = 0.6;
  std::string partials = "float";
  bool half = false;          ///< half in place of float
  std::int64_t io_tiles = 0;  ///< of each IPU, for the host
  bool no_host = false;       ///< leave out the host's streams
  std::string save{};         ///< a file for the model with the stages of the best way
  std::string output_dir{};
  bool json = false;
};
/// Searches the best way to spread a model over several IPUs.
void plan(const PlanCommand& options, const Console& console);

/// The program: arguments without its own name; returns its exit code.
int run_program(std::vector<std::string> arguments, const Console& console);

}  // namespace halftone::cli
