#include <halftone/exec/engine.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <thread>

#include <halftone/graph/index.hpp>
#include <halftone/transform/seed_random.hpp>

#include "base/describe.hpp"
#include "fold.hpp"
#include "graph/inputs.hpp"
#include "graph/subgraphs.hpp"
#include "initial.hpp"
#include "program/program_text.hpp"
#include "ready.hpp"
#include "run.hpp"
#include "thread_pool.hpp"
#include "transform/pipeline.hpp"

namespace halftone {
namespace {

/// Plans that are kept for input shapes that may come again.
constexpr std::size_t kept_plans = 4;

/// Takes each number to another one, and no two to the same (the last steps of SplitMix64: Steele,
/// Lea and Flood 2014).
std::uint64_t next_seed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

int thread_count(int wanted) {
  if (wanted > 0) return std::min(wanted, 256);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

Graph checked(Graph graph) {
  check_subgraphs(graph);
  return graph;
}

/// What nodes change are variables: other memory is the caller's, or a file's.
void check_modified(const Graph& graph, const Aliases& aliases) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const Role role = graph.tensor(id).role;
    if (!aliases.is_modified(id) || (role != Role::input && role != Role::constant)) continue;
    fail(ErrorKind::model, {.what = "a node changes a tensor that is no variable",
                            .tensor = graph.name(id),
                            .hint = "make it a variable: parameter<T, S>(graph, name)"});
  }
}

/// Variables that nodes modify get memory of their own: theirs may be a file's, or another graph's.
void own_variables(Graph& graph, const Aliases& aliases) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    TensorRecord& t = graph.tensors[i];
    const bool is_modified = aliases.is_modified(static_cast<TensorId>(i));
    if (!is_variable(t) || !is_modified || t.data.size() == 0) continue;
    const std::size_t size = t.data.size();
    Storage storage = Storage::allocate(size);
    std::memcpy(storage.data(), t.data.span().data(), size);
    const std::byte* data = storage.data();
    t.data = Bytes(std::move(storage), data, size);
  }
}

/// Shapes follow from integers; floats are computed by whoever runs the nodes.
bool evaluate_integers(void* executor, Graph& graph, std::size_t n) {
  for (const TensorId id : graph.nodes[n].outputs) {
    if (id != no_tensor && is_floating_point(graph.info(id).type)) return false;
  }
  return evaluate_constant(executor, graph, n);
}

PassOptions shape_pass_options(const EngineOptions& options, const kernel::Executor& executor,
                               const Nesting& nesting) {
  // A plan has room for what is sure to come out.
  const Evaluate evaluate = options.only_plan           ? &evaluate_small
                            : options.runner == nullptr ? &evaluate_constant
                                                        : &evaluate_integers;
  return {.evaluate = evaluate,
          .evaluate_context = const_cast<kernel::Executor*>(&executor),
          .observer = options.observer,
          .path = nesting.path};
}

}  // namespace

std::unique_ptr<Ready> make_ready(const Graph& model, std::span<const TensorInfo> inputs,
                                  std::span<const TensorId> outputs, const EngineOptions& options,
                                  const kernel::Executor& executor, const Nesting& nesting) {
  auto ready = std::make_unique<Ready>();
  ready->inputs.assign(inputs.begin(), inputs.end());
  Graph graph = model;
  graph.outputs.assign(outputs.begin(), outputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.tensor(graph.inputs[i]).info = inputs[i];
  graph = run_passes(cpu_shape_passes, std::move(graph),
                     shape_pass_options(options, executor, nesting));
  ready->is_random = graph.inputs.size() > inputs.size();
  ready->program = program_for(std::move(graph), options, nesting);
  ready->bound = bind(ready->program, options, executor, nesting);
  return ready;
}

struct Engine::State {
  Graph graph;
  EngineOptions options;
  ThreadPool pool;
  kernel::Executor executor;

  UnverifiedWeights weights;  ///< of an executable
  Variants variants;
  Ready* current = nullptr;
  std::uint64_t seed = 0, runs = 0;    ///< since the seed was set
  std::uint32_t random_state[6] = {};  ///< of the run
  bool is_random = false;
  Aliases aliases;  ///< variables that nodes modify are shared by plans and the graph

  State(Graph g, const EngineOptions& o)
      : graph(checked(std::move(g))),
        options(o),
        pool(thread_count(o.threads)),
        executor(pool.executor()),
        aliases(graph) {
    check_modified(graph, aliases);
    initialize_variables(graph, options.seed);
    own_variables(graph, aliases);
    seed = options.seed;
    is_random = detail::RandomSeeds::needs_seed(graph);
  }

  /// For this run; the next one has another seed.
  void draw_random_state() {
    random_state[0] = static_cast<std::uint32_t>(seed);
    random_state[1] = static_cast<std::uint32_t>(seed >> 32);
    random_state[2] = static_cast<std::uint32_t>(runs);
    random_state[3] = static_cast<std::uint32_t>(runs >> 32);
    seed = next_seed(seed);
    ++runs;
  }

  void prepare(std::span<const TensorInfo> inputs) {
    const auto info = [&](std::size_t i) -> const TensorInfo& { return inputs[i]; };
    if (Ready* known = variants.find(inputs.size(), info); known != nullptr) {
      current = known;
      return;
    }
    if (inputs.size() != graph.inputs.size()) {
      fail(ErrorKind::input, {.what = "the number of inputs differs from the graph's",
                              .expected = std::to_string(graph.inputs.size()),
                              .found = std::to_string(inputs.size())});
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      detail::check_input(graph, graph.inputs[i], inputs[i]);
    }
    detail::check_symbols(graph, inputs);

    current = variants.add(make_ready(graph, inputs, graph.outputs, options, executor));
    const Program& program = current->program;
    dump_program("cpu", [&] { return program_text(program); });
  }

  /// Other models are planned when the shapes of their inputs are given.
  void prepare_if_static() {
    std::vector<TensorInfo> infos;
    for (const TensorId id : graph.inputs) {
      infos.push_back(graph.info(id));
      if (!infos.back().is_static()) return;
    }
    prepare(infos);
  }

  /// Takes what an executable has ready.
  void adopt(Prepared prepared) {
    auto next = std::make_unique<Ready>();
    static_cast<Prepared&>(*next) = std::move(prepared);
    next->bound = halftone::bind(next->program, options, executor);
    current = variants.add(std::move(next));
  }

  std::vector<NodeTime*> times() const {
    std::vector<NodeTime*> all;
    if (current != nullptr) current->bound->add_times(all);
    return all;
  }

  Bound* bound() const { return current != nullptr ? current->bound.get() : nullptr; }

  void forget_plans() {
    variants.clear();
    current = nullptr;
  }
};

Engine::Engine(Graph graph, const EngineOptions& options)
    : state_(new State(std::move(graph), options)) {
  state_->prepare_if_static();
}

Engine::Engine(Executable executable, const EngineOptions& options) {
  Executable::State& given = *executable.state_;
  // Variables that nodes modify get memory of the engine's, which the program has to know.
  std::multimap<const std::byte*, TensorId> variables;
  for (std::size_t i = 0; i < given.graph.tensors.size(); ++i) {
    const TensorRecord& t = given.graph.tensors[i];
    if (t.role == Role::constant || t.data.size() == 0) continue;
    variables.emplace(t.data.span().data(), static_cast<TensorId>(i));
  }
  state_ = Owned<State>(new State(std::move(given.graph), options));
  State& s = *state_;
  s.weights = std::move(given.weights);
  if (!given.ready.has_value() || options.runner != nullptr || options.stop_at_nan ||
      !options.fuse) {
    s.prepare_if_static();
    return;
  }
  Graph& graph = given.ready->program.graph;
  for (TensorRecord& t : graph.tensors) {
    if (t.data.size() == 0) continue;
    // Variables with the same bytes may share them in a file; their names differ.
    const auto [begin, end] = variables.equal_range(t.data.span().data());
    for (auto place = begin; place != end; ++place) {
      const TensorRecord& own = s.graph.tensor(place->second);
      if (std::next(begin) != end && s.graph.text(own.name) != graph.text(t.name)) continue;
      t.data = own.data;
      break;
    }
  }
  s.adopt(std::move(*given.ready));
}

Executable compile(Graph graph, const EngineOptions& options) {
  for (const TensorId id : graph.inputs) {
    if (graph.info(id).is_static()) continue;
    fail(ErrorKind::usage, {.what = "a model is compiled for inputs whose shapes are known",
                            .tensor = graph.name(id),
                            .found = detail::to_text(graph.info(id)),
                            .hint = "give symbolic extents a value: --size batch=1"});
  }
  return Engine(std::move(graph), options).executable();
}

Executable Engine::executable() const {
  const State& s = *state_;
  if (s.current == nullptr) {
    fail(ErrorKind::usage, {.what = "nothing is ready: the shapes of the inputs are not known"});
  }
  auto* state = new Executable::State;
  Executable executable(state);
  state->graph = s.graph;
  state->model_outputs = s.graph.outputs;
  state->weights = s.weights;
  state->ready = static_cast<const Prepared&>(*s.current);
  for (std::size_t i = 0; i < s.current->inputs.size(); ++i) {
    state->graph.tensor(state->graph.inputs[i]).info = s.current->inputs[i];
  }
  return executable;
}

Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const Graph& Engine::graph() const { return state_->graph; }

void Engine::prepare(std::span<const TensorInfo> inputs) { state_->prepare(inputs); }

void Engine::run(std::span<const AnyView> inputs) {
  State& s = *state_;
  if (s.options.only_plan) fail(ErrorKind::usage, {.what = "an engine that only plans cannot run"});
  s.weights.verify();
  bool same = s.current != nullptr && s.current->inputs.size() == inputs.size();
  for (std::size_t i = 0; same && i < inputs.size(); ++i) {
    same = s.current->inputs[i] == inputs[i].info;
  }
  if (!same) {
    std::vector<TensorInfo> infos;
    for (const AnyView& x : inputs) infos.push_back(x.info);
    s.prepare(infos);
  }
  Ready& now = *s.current;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data != nullptr) now.bound->set_input(i, inputs[i].data);
  }
  if (now.is_random) {
    s.draw_random_state();
    now.bound->set_input(inputs.size(), s.random_state);
  }
  halftone::run(*now.bound);
}

bool Engine::is_random() const { return state_->is_random; }
std::uint64_t Engine::seed() const { return state_->seed; }
void Engine::set_seed(std::uint64_t seed) {
  state_->seed = seed;
  state_->runs = 0;
}

AnyView Engine::output(std::size_t i) const { return state_->current->bound->output(i); }

AnyView Engine::variable(TensorId id) const {
  state_->weights.verify();
  const TensorRecord& t = state_->graph.tensor(id);
  return {t.info, t.data.span().data()};
}

void Engine::set_variable(TensorId id, AnyView value) {
  State& s = *state_;
  TensorRecord& t = s.graph.tensor(id);
  if (value.info.type != t.info.type || value.info.shape != t.info.shape) {
    fail(ErrorKind::input, {.what = "a variable gets a value of another type or shape",
                            .tensor = s.graph.name(id),
                            .expected = detail::to_text(t.info),
                            .found = detail::to_text(value.info)});
  }
  if (s.aliases.is_modified(id)) {
    // Its memory is the engine's own, and no plan has taken its values for constants.
    if (value.bytes() != 0) {
      std::memcpy(const_cast<std::byte*>(t.data.span().data()), value.data, value.bytes());
    }
    return;
  }
  // A new block: the old bytes may be a file's, or shared with a copy of the graph.
  Storage storage = Storage::allocate(value.bytes());
  if (value.bytes() != 0) std::memcpy(storage.data(), value.data, value.bytes());
  const std::byte* data = storage.data();
  t.data = Bytes(std::move(storage), data, value.bytes());
  s.forget_plans();
}

const Program* Engine::program() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? &bound->program : nullptr;
}

std::size_t Engine::planned_bytes() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? bound->bytes() : 0;
}

std::size_t Engine::arena_bytes() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? static_cast<std::size_t>(bound->program.arena_bytes) : 0;
}
std::size_t Engine::live_bytes() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? static_cast<std::size_t>(bound->program.live_bytes) : 0;
}

void Engine::measure(bool on) {
  if (Bound* bound = state_->bound(); bound != nullptr) bound->measure(on);
}

void Engine::reset_times() {
  for (NodeTime* time : state_->times()) time->seconds = 0;
}

std::vector<NodeTime> Engine::times() const {
  std::vector<NodeTime> times;
  for (const NodeTime* time : state_->times()) times.push_back(*time);
  return times;
}

}  // namespace halftone
