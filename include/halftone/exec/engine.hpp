#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/base/owned.hpp>
#include <halftone/exec/ranks.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/streams.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/precision.hpp>
#include <halftone/transform/convolution.hpp>
#include <halftone/transform/observer.hpp>

namespace halftone {

/// A tensor of a run holds something that is not a number: see EngineOptions::stop_at_nan.
class NotANumberError : public InputError {
 public:
  using InputError::InputError;
};

/// Computes single nodes of a graph in another way than the library's kernels.
class NodeRunner {
 public:
  /// The outputs of a node from complete inputs; what it modifies, it writes in place.
  virtual std::vector<AnyArray> run(const Graph& graph, const Node& node,
                                    std::span<const AnyView> inputs,
                                    const kernel::Executor& executor) = 0;

 protected:
  ~NodeRunner() = default;
};

class Executable;
struct Program;
struct Spread;

struct EngineOptions {
  /// 0: as many as the machine has cores. They run the replicas of a graph, each on one; a graph
  /// without replicas has its kernels run on them.
  int threads = 1;
  bool fuse = true;
  std::uint64_t seed = 0;  ///< of random numbers and of variables that start with them
  /// Throw NotANumberError at the first tensor that holds something that is not a number; nothing
  /// is fused then, and nodes keep their order: an optimizer's updates are the last ones. For
  /// graphs whose shapes do not depend on values; an UnsupportedError with others.
  bool stop_at_nan = false;
  /// Says what a training step computes again instead of keeping it.
  Recomputation recompute = Recomputation::none;
  /// Runs a graph whose nodes have stages as a pipeline: see run_together.
  Schedule schedule = Schedule::none;
  /// The forms of convolutions that may be chosen. A model that is ready to run keeps those that it was
  /// made ready with, but for `exact`.
  Convolution convolution = Convolution::fast;
  /// The numbers that dense products of floats are computed in. A model that was made ready with another precision
  /// is made ready again.
  Precision precision = Precision::float32;
  NodeRunner* runner = nullptr;  ///< borrowed; runs every node, one after the other, unfused
  /// Plan as for a run, which tells whether there could be one, but leave large weights where they
  /// are: not read, copied or packed. run() throws.
  bool only_plan = false;
  PassObserver* observer = nullptr;  ///< borrowed; told of the passes over the graph
  /// Borrowed; null: this process runs all replicas. Else it runs those of its rank: inputs, outputs
  /// and streams are theirs alone, while variables are given as those of all replicas are.
  const Ranks* ranks = nullptr;
};

/// What a node did in the runs since its time was reset.
struct NodeTime {
  std::string_view op, name;  ///< views into the engine
  double seconds = 0;
  double idle = 0;  ///< seconds of all threads in which they waited for others; 0: not measured
  std::int64_t flops = 0, bytes = 0;  ///< of one run
};

/// Runs a graph. Plans once for each combination of input shapes and keeps the last few plans;
/// a planned run allocates nothing. Of graphs whose shapes depend on values, the nodes that they
/// follow from find them as they run; what comes before is planned, and so is what comes behind if
/// that pays, for the shapes that have come.
///
/// The engine owns the variables, one set for each replica of the graph. Not to be used by several
/// threads at once.
class Engine {
 public:
  /// Takes the graph; throws the errors of its inference when the input shapes are known.
  explicit Engine(Graph graph, const EngineOptions& options = {});
  /// Takes a model that is ready to run. Options that kernels depend on (`runner`, `stop_at_nan`,
  /// `fuse`, `recompute`, `precision`, exact convolutions) have it planned again. Throws ModelError at the first use of damaged weights.
  explicit Engine(Executable executable, const EngineOptions& options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// The graph as it was given (not as it was transformed for running). Variables that differ from
  /// replica to replica have the values of the first one.
  const Graph& graph() const;
  /// A copy whose variables have data as the host gives them.
  Graph graph_with_values() const;

  /// Plans for these infos of the graph's inputs (in its order), or finds the plan.
  void prepare(std::span<const TensorInfo> inputs);
  /// Runs the graph on these inputs (in its order), which are borrowed until it returns. Sizes are
  /// checked against the graph's; throws InputError. Of replicas the data are [replicas, shape], and
  /// the infos those of one.
  void run(std::span<const AnyView> inputs);
  /// Runs several micro-batches, with the inputs of the first one, then those of the second one, and so
  /// on, borrowed until the next run. Stages of a pipeline run side by side, those of different IPUs on
  /// threads. For a graph that is trained they are a step of the optimizer (any number of steps in a
  /// continuous pipeline, or without one).
  void run_together(std::int64_t micro_batches, std::span<const AnyView> inputs);
  /// Output number i of a replica in the last run; good until the next one. Of several micro-batches
  /// that ran together that of number m.
  AnyView output(std::size_t i, int replica = 0, std::int64_t m = 0) const;
  /// Whether the graph has stages and runs as a pipeline.
  bool is_pipelined() const;
  /// Whether the stages have computed output number i once for all micro-batches that run together.
  bool is_of_step(std::size_t i) const;

  /// A stream that the graph loads from or stores to.
  struct Stream {
    StreamName name;
    TensorInfo slice;
  };
  std::vector<Stream> loads() const;
  std::vector<Stream> stores() const;
  /// The host's memory for a stream in the runs to come: [slices, replicas, slice], borrowed. Every
  /// run begins with the first slice.
  void set_load(std::size_t i, const void* data, std::int64_t slices);
  void set_store(std::size_t i, void* data, std::int64_t slices);

  /// Whether a run draws random numbers.
  bool is_random() const;
  /// What the random numbers of the next run follow from. Each run leaves another seed behind, so
  /// that setting the one that was read before repeats the runs since. Numbers of nodes with an
  /// attribute `seed` follow from that and the number of runs since the seed was set.
  std::uint64_t seed() const;
  void set_seed(std::uint64_t seed);

  /// The value of a variable as the host has it, see VariableSettings: good until the next call or
  /// run.
  AnyView variable(TensorId id) const;
  /// The info of a value for set_variable: [groups, shape].
  TensorInfo variable_info(TensorId id) const;
  /// Throws InputError for another type or shape; UnsupportedError for a variable of which the host
  /// gets the values of all replicas, if its groups have several members.
  void set_variable(TensorId id, AnyView value);

  /// The model as it is ready for the current shapes, with the variables' present values. Throws
  /// UsageError before shapes were prepared.
  Executable executable() const;
  /// The program that the current plan runs; null before shapes were prepared, and of a pipeline.
  const Program* program() const;
  /// The fragments that a pipeline runs; null if the graph runs as a whole.
  const Spread* spread() const;
  /// The numbers that dense products are computed in: the precision asked for, or float32 where this machine has no
  /// instructions for it.
  Precision precision() const;
  /// Bytes of the arena, packed weights and other memory of the current plan.
  std::size_t planned_bytes() const;
  /// Bytes of the arena that the current plan keeps values and scratch memory in, without those of
  /// subgraphs, and the largest sum that is live at one of its steps: no arena can be smaller.
  std::size_t arena_bytes() const;
  std::size_t live_bytes() const;
  /// Measures each node of the current plan from the next run on, if `on`; how long threads waited,
  /// too, unless they run replicas or IPUs side by side.
  void measure(bool on);
  void reset_times();
  /// The times of the nodes, those in bodies of Call included.
  std::vector<NodeTime> times() const;

 private:
  struct State;
  Owned<State> state_;
};

}  // namespace halftone
