#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/base/owned.hpp>
#include <halftone/base/view.hpp>
#include <halftone/exec/executable.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/graph/streams.hpp>
#include <halftone/ipu/arithmetic.hpp>
#include <halftone/session/data_flow.hpp>
#include <halftone/session/step_io.hpp>
#include <halftone/session/weights.hpp>
#include <halftone/transform/outline.hpp>

namespace halftone {

class PassObserver;

namespace ipu {
struct Target;
class Report;
enum class Placement : std::uint8_t;
enum class CallCopies : std::uint8_t;
}  // namespace ipu

/// What a session runs on: ipu_model computes the same results as cpu, unless it is asked for the
/// machine's arithmetic, and says what an IPU would do.
enum class Device : std::uint8_t { cpu, ipu_model };

/// The machine of ipu_model.
struct IpuModelOptions {
  const ipu::Target* target = nullptr;  ///< copied; null: one gc200
  ipu::Placement placement{};           ///< of nodes on several IPUs: as they say, or automatic
  std::vector<float> split_ratios{};    ///< of automatic placement: the IPUs' shares
  double available_memory_proportion = 0.6;
  bool half_partials = false;        ///< sum products of half in half
  bool allow_out_of_memory = false;  ///< run and report what does not fit
  bool profiling = true;             ///< off: no reports, and no error for what does not fit
  std::int64_t io_tiles = 0;         ///< of each IPU, exchange data with the host meanwhile
  /// Nodes share code in calls of outline() alone; none: equal nodes share it.
  std::optional<OutlineOptions> outline{};
  /// See ipu::ProfileOptions.
  ipu::CallCopies call_copies{};
  std::vector<std::vector<std::string>> merged_updates{};
  bool stable_norms = false;
  ipu::Arithmetic arithmetic{};  ///< compute as the machine does; slow
};

struct SessionOptions {
  std::vector<Anchor> outputs{};      ///< names or handles; empty: the outputs of the graph
  std::int64_t batches_per_step = 1;  ///< batches that a run takes and computes
  std::int64_t accumulation = 1;      ///< micro-batches in a batch: one step of the optimizer
  /// Slices of every stream in a run, which executes the graph once: what is given and returned has the
  /// shape [host_transfers, replicas, slice]. For graphs without inputs, and not together with
  /// batches_per_step and accumulation, which execute the graph several times.
  std::int64_t host_transfers = 1;
  Device device = Device::cpu;
  int threads = 1;         ///< 0: as many as the machine has cores; see EngineOptions
  std::uint64_t seed = 0;  ///< of random numbers and of variables that start with them
  /// Micro-batches that step IO is asked for ahead of time, of all inputs and of single ones. Pipelines
  /// ask for all that they run together at once.
  int prefetch = 0;
  std::vector<std::pair<std::string, int>> prefetch_of{};
  bool check_sizes = true;  ///< check the buffers of step IO before the first run
  /// A run ends with a NotANumberError at the first tensor that holds something that is no number,
  /// before weights are updated. Costs time.
  bool stop_at_nan = false;
  /// Says what a training step computes again instead of keeping it: see EngineOptions. With the
  /// machine's arithmetic results differ: what is computed again draws from its generators, too.
  Recomputation recompute = Recomputation::none;
  /// Runs a graph whose nodes have stages (OnStage, place()) as a pipeline. A graph that is trained runs
  /// the micro-batches of a batch together, others and continuous pipelines those of all batches: as many
  /// as there are stages, or more. Step IO is asked for all of them before they run.
  Schedule schedule = Schedule::none;
  Convolution convolution = Convolution::fast;  ///< forms that may be chosen: see EngineOptions
  /// The numbers that dense products of floats are computed in: see EngineOptions. For the device `cpu`; ipu_model
  /// refuses anything but float32, its types are those of the graph.
  Precision precision = Precision::float32;
  PassObserver* observer = nullptr;  ///< borrowed; told of the passes over the graph
  /// Borrowed; null: this process runs all replicas. Else what a run is given and returns has the
  /// dimension of the replicas that its rank runs: see EngineOptions.
  const Ranks* ranks = nullptr;
  IpuModelOptions ipu{};
};

/// An input of a run: {"image", array} or {stream, array}. Borrows the elements and the name.
struct Input {
  std::string_view name;
  AnyView value;

  Input(std::string_view input, const AnyView& elements) : name(input), value(elements) {}
  Input(std::string_view input, const AnyArray& elements)
      : name(input), value(static_cast<AnyView>(elements)) {}
  template <class T>
    requires element<std::remove_const_t<T>>
  Input(std::string_view input, View<T> elements) : name(input) {
    value.info = {element_type<std::remove_const_t<T>>, Dims(elements.shape())};
    value.data = elements.data;
  }
  template <class T, class S>
  Input(const HostToDevice<T, S>& stream, const Array<T>& elements)
      : name(stream.name.view()), value(static_cast<AnyView>(elements)) {}
  template <class T, class S>
  Input(const HostToDevice<T, S>& stream, const AnyView& elements)
      : name(stream.name.view()), value(elements) {}
  Input(const AnyHostToDevice& stream, const AnyView& elements)
      : name(stream.name.view()), value(elements) {}
};

/// What a run returned: a view into the session, valid until its next run.
class Result {
 public:
  std::size_t size() const;
  std::string_view name(std::size_t i) const;
  AnyView operator[](std::size_t i) const;
  /// Throws InputError, listing the names there are, if nothing of this name is returned.
  AnyView operator[](std::string_view name) const;
  template <tensor_handle X>
  AnyView operator[](const X& tensor) const {
    return of_tensor(tensor.id);
  }
  /// Throws InputError if no node stores to the stream.
  template <device_to_host S>
  AnyView operator[](const S& stream) const {
    return (*this)[stream.name.view()];
  }

 private:
  friend class Session;
  explicit Result(const detail::SessionState& state) : state_(&state) {}
  AnyView of_tensor(TensorId id) const;
  const detail::SessionState* state_;
};

/// A tensor that users see: its name (a view into the session) and info. Extents that follow from
/// the inputs of a run are `dynamic`.
struct Port {
  std::string_view name;
  TensorInfo info;
};

/// Runs a graph: Session net(onnx::load("x.onnx")); auto result = net.run({{"image", image}});
///
/// Owns the graph, its weights and what a run needs; nothing in a run allocates once the shapes
/// were seen. Not to be used by several threads at once.
class Session {
 public:
  /// Throws InputError if an output names no tensor, and the errors of planning.
  explicit Session(Graph graph, const SessionOptions& options = {});
  /// Runs a model that is ready to run, without planning it, unless the options ask for other
  /// outputs than the model's, accumulation, recomputation, stop_at_nan or the machine's arithmetic.
  explicit Session(Executable executable, const SessionOptions& options = {});
  /// The model as it is ready for the shapes of the last run, with its present weights, to be stored:
  /// save_executable(session.executable(), path).
  /// Throws UsageError if the shapes of the inputs are not known yet.
  Executable executable() const;
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs the graph on these inputs, in any order. Variables that the model lists as inputs may be
  /// given, too, and then have that value for this run.
  ///
  /// Inputs have the shape that the model says or, if a run takes several micro-batches, that shape
  /// behind one or more leading dimensions with as many in all.
  /// Throws InputError for an input that is unknown, missing, given twice, or of another type or
  /// shape. One symbol among the extents has one value in a run.
  Result run(std::span<const Input> inputs);
  Result run(std::initializer_list<Input> inputs) {
    return run(std::span<const Input>(inputs.begin(), inputs.size()));
  }
  /// The same with memory for results, one buffer for each, which is written at the end of the run.
  /// Throws InputError, before the run, for a buffer that is missing, unknown, or of another type or
  /// shape than returned_shape() says.
  struct Output {
    std::string_view name;
    AnyBuffer buffer;
  };
  void run(std::span<const Input> inputs, std::span<const Output> outputs);
  /// Runs the graph with inputs and memory for results from `io`.
  void run(StepIo& io);

  /// A copy of the graph with the weights of today.
  Graph graph() const;
  /// The value of a variable; valid until the next run or `set`. Throws InputError.
  AnyView get(std::string_view variable) const;
  /// Gives a variable another value from the next run on; same type and shape. Throws InputError.
  void set(std::string_view variable, const AnyView& value);
  /// Sets a variable of one element; the number is converted to its type.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  void set(std::string_view variable, T value) {
    set_number(variable, static_cast<double>(value));
  }

  /// The variables with their values; see Weights.
  Weights weights() const;
  /// Gives weights, and what an optimizer keeps between steps, the values that variables of the same
  /// name have in another session; others stay as they are. Throws InputError, before any of them
  /// is changed, if a type or shape differs.
  void set_weights(const Weights& weights);

  /// Whether runs draw random numbers.
  bool is_random() const;
  /// The seed of the next run (of its first micro-batch). It changes with each: setting the one
  /// that was read before repeats the runs since.
  std::uint64_t random_seed() const;
  void set_random_seed(std::uint64_t seed);

  /// The state of the machine's random generators: [2 (identical, differing)][tiles][workers][4],
  /// of all IPUs. Stochastic rounding draws from it; set_random_seed sets it, too. Throws
  /// UsageError unless the device is ipu_model with the machine's arithmetic.
  std::vector<std::uint32_t> rng_state() const;
  /// Throws UsageError for another number of words.
  void set_rng_state(std::span<const std::uint32_t> words);

  /// What runs are given, streams included, with the shape of one slice or micro-batch.
  std::vector<Port> inputs() const;
  /// Variables that a run may be given.
  std::vector<Port> optional_inputs() const;
  /// What runs return, streams included, with the shape of one slice or micro-batch.
  std::vector<Port> outputs() const;
  std::vector<Port> variables() const;
  /// All tensors that have a name.
  std::vector<Port> tensors() const;
  /// Whether there is a tensor of that name, or a stream that is used.
  bool has(std::string_view tensor) const;
  /// Its info, or that of a slice. Throws InputError, listing names, if there is none.
  TensorInfo info(std::string_view tensor) const;

  /// What the IPU would do in a micro-batch, for the shapes of the last run. Throws UsageError if
  /// the device is not ipu_model, profiling is off, or the shapes are not known yet.
  const ipu::Report& report() const;
  /// Cycles of one run. Throws as report().
  std::int64_t cycle_count() const;
  /// Cycles of a run in which one IPU works: it does steps of its own, or copies, and waits for no other.
  ///
  /// errors  UsageError: the machine has no such IPU; those of report()
  std::int64_t cycle_count(std::int64_t ipu) const;

  const DataFlow& data_flow() const;
  /// The shape of what a run is given of input number i: dimensions of one for micro-batches, slices or
  /// replicas are left out.
  Dims given_shape(std::size_t i) const;
  /// What runs return of output number i, and the shape of that.
  Anchor anchor(std::size_t i) const;
  Dims returned_shape(std::size_t i) const;
  /// Throws InputError if a buffer of step IO has another number of elements than runs need, or
  /// names no input or returned tensor.
  void check_input(std::string_view name, std::int64_t elements) const;
  void check_output(std::string_view name, std::int64_t elements) const;

 private:
  Session(Graph graph, const SessionOptions& options, Executable* executable);
  void set_number(std::string_view variable, double value);
  Owned<detail::SessionState> state_;
};

}  // namespace halftone
