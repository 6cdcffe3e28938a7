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

/// Constants of a file may lie anywhere; kernels read elements.
void align_constants(Graph& graph) {
  for (TensorRecord& tensor : graph.tensors) {
    if (tensor.role == Role::constant && tensor.data.size() != 0) aligned_data(tensor);
  }
  for (Graph& body : graph.graphs) align_constants(body);
}

/// Shapes follow from integers; floats are computed by whoever runs the nodes.
bool evaluate_integers(void* executor, Graph& graph, std::size_t n) {
  for (const TensorId id : graph.nodes[n].outputs) {
    if (id != no_tensor && is_floating_point(graph.info(id).type)) return false;
  }
  return evaluate_constant(executor, graph, n);
}

/// Whether what the subgraphs of a node give is sure to be what its outputs are taken for.
bool has_sure_outputs(const Graph& graph, const Node& node) {
  const std::vector<std::int32_t> indices = subgraphs_of(node);
  op::Repeat repeat;
  if (describe_repeat(graph, node, repeat)) {
    bool has_stack = false;
    for (std::size_t o = repeat.states; o < node.outputs.size(); ++o) {
      has_stack = has_stack || node.outputs[o] != no_tensor;
    }
    return !has_stack || pass_count(graph, node, repeat) != dynamic;
  }
  for (const std::int32_t index : indices) {
    const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    for (std::size_t o = 0; o < node.outputs.size() && o < body.outputs.size(); ++o) {
      if (node.outputs[o] == no_tensor) continue;
      if (body.info(body.outputs[o]) != graph.info(node.outputs[o])) return false;
    }
  }
  return true;
}

/// Whether a plan can have room for a tensor: texts and values that are no tensors own memory
/// elsewhere.
bool is_plannable(const TensorInfo& info) { return info.is_static() && !has_objects(info.type); }

bool is_static(const Graph& graph);

/// Whether a plan can hold the outputs of a node, and whatever its subgraphs compute.
bool is_static(const Graph& graph, const Node& node) {
  if (node.op->run != nullptr && node.op->kernel == nullptr) return false;
  if (!has_sure_outputs(graph, node)) return false;
  for (const TensorId id : node.outputs) {
    if (id != no_tensor && !is_plannable(graph.info(id))) return false;
  }
  for (const std::int32_t index : subgraphs_of(node)) {
    const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    for (const TensorId id : body.inputs) {
      if (!is_plannable(body.info(id))) return false;
    }
    if (!is_static(body)) return false;
  }
  return true;
}

bool is_static(const Graph& graph) {
  for (const TensorRecord& t : graph.tensors) {
    if (has_objects(t.info.type)) return false;
  }
  return std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return is_static(graph, node); });
}

/// Takes the nodes that can be planned, since nothing before them depends on values, out of a graph
/// that is interpreted. The graph returned has them, and as outputs what the other one reads of
/// them, which becomes its last inputs there. Without nodes: there is nothing worth a plan.
Graph take_plannable(Graph& graph) {
  if (Aliases(graph).any_modified()) return {};
  TensorMap<bool> is_ready(graph, false);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    is_ready[static_cast<TensorId>(i)] = t.role != Role::value && is_plannable(t.info);
  }
  auto ready = [&](TensorId id) { return id == no_tensor || is_ready[id]; };
  std::vector<Node> planned, rest;
  bool is_worth_it = false;
  for (const Node& node : graph.nodes) {
    if (node.op->has_effect) return {};  // its order is that of the whole
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), ready) || !is_static(graph, node)) {
      rest.push_back(node);
      continue;
    }
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) is_ready[id] = true;
    }
    is_worth_it = is_worth_it || !is_view(node);
    planned.push_back(node);
  }
  if (!is_worth_it) return {};
  Graph part = graph;
  part.nodes = std::move(planned);
  part.outputs.clear();
  TensorMap<bool> is_computed(graph, false);
  for (const Node& node : part.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) is_computed[id] = true;
    }
  }
  graph.nodes = std::move(rest);
  auto cut = [&](TensorId id) {
    if (id == no_tensor || !is_computed[id]) return;
    is_computed[id] = false;
    part.outputs.push_back(id);
  };
  for (const Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), cut);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), cut);
  graph.inputs.insert(graph.inputs.end(), part.outputs.begin(), part.outputs.end());
  for (const TensorId id : part.outputs) graph.tensor(id).role = Role::input;
  return part;
}

}  // namespace

struct Engine::State {
  Graph graph;
  EngineOptions options;
  ThreadPool pool;
  kernel::Executor executor;

  UnverifiedWeights weights;  ///< of an executable
  std::vector<std::unique_ptr<Ready>> ready;
  Ready* current = nullptr;
  std::vector<AnyArray> interpreted;
  bool measure = false;
  std::uint64_t seed = 0, runs = 0;    ///< since the seed was set
  std::uint32_t random_state[6] = {};  ///< of the run
  bool is_random = false;
  Aliases aliases;  ///< variables that nodes modify are shared by plans and the graph

  State(Graph g, const EngineOptions& o)
      : graph(std::move(g)),
        options(o),
        pool(thread_count(o.threads)),
        executor(pool.executor()),
        aliases(graph) {
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
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (!std::equal(inputs.begin(), inputs.end(), ready[i]->inputs.begin(),
                      ready[i]->inputs.end())) {
        continue;
      }
      std::rotate(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(i),
                  ready.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      current = ready[0].get();
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

    auto next = std::make_unique<Ready>();
    next->inputs.assign(inputs.begin(), inputs.end());
    next->graph = graph;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      next->graph.tensor(graph.inputs[i]).info = inputs[i];
    }
    next->graph = run_passes(cpu_shape_passes, std::move(next->graph), pass_options());
    next->is_random = next->graph.inputs.size() > graph.inputs.size();
    if (is_static(next->graph)) {
      bind(*next, std::exchange(next->graph, {}));
    } else if (options.stop_at_nan) {
      fail(ErrorKind::unsupported,
           {.what = "stop_at_nan is for models whose shapes do not depend on values"});
    } else {
      next->is_interpreted = true;
      Graph part = options.runner == nullptr ? take_plannable(next->graph) : Graph();
      if (!part.nodes.empty()) bind(*next, std::move(part));
      recall_statements(next->graph, graph);  // for loops that give stacks of no slices
      if (!options.only_plan) align_constants(next->graph);
    }
    current = next.get();
    ready.insert(ready.begin(), std::move(next));
    if (ready.size() > kept_plans) ready.pop_back();
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

  void bind(Ready& next, Graph planned) {
    next.program = program_for(std::move(planned), options);
    next.has_program = true;
    next.bound = halftone::bind(next.program, options, executor);
    dump_program("cpu", [&] { return program_text(next.program); });
  }

  /// Takes what an executable has ready.
  void adopt(Prepared prepared) {
    auto next = std::make_unique<Ready>();
    static_cast<Prepared&>(*next) = std::move(prepared);
    if (next->has_program) next->bound = halftone::bind(next->program, options, executor);
    current = next.get();
    ready.push_back(std::move(next));
  }

  PassOptions pass_options() {
    // A plan has room for what is sure to come out.
    const Evaluate evaluate = options.only_plan           ? &evaluate_small
                              : options.runner == nullptr ? &evaluate_constant
                                                          : &evaluate_integers;
    return {.evaluate = evaluate, .evaluate_context = &executor, .observer = options.observer};
  }

  Bound* bound() const { return current != nullptr ? current->bound.get() : nullptr; }

  void forget_plans() {
    ready.clear();
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
  for (Graph* graph : {&given.ready->program.graph, &given.ready->graph}) {
    for (TensorRecord& t : graph->tensors) {
      if (t.data.size() == 0) continue;
      // Variables with the same bytes may share them in a file; their names differ.
      const auto [begin, end] = variables.equal_range(t.data.span().data());
      for (auto place = begin; place != end; ++place) {
        const TensorRecord& own = s.graph.tensor(place->second);
        if (std::next(begin) != end && s.graph.text(own.name) != graph->text(t.name)) continue;
        t.data = own.data;
        break;
      }
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
  if (now.is_random) s.draw_random_state();
  if (Bound* bound = now.bound.get(); bound != nullptr) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].data != nullptr) bound->set_input(i, inputs[i].data);
    }
    if (now.is_random) bound->set_input(inputs.size(), s.random_state);
    halftone::run(*bound, s.measure);
  }
  if (!now.is_interpreted) return;
  std::vector<AnyView> all(inputs.begin(), inputs.end());
  if (now.is_random) all.push_back({detail::RandomSeeds::state_info, s.random_state});
  for (std::size_t i = 0; all.size() < now.graph.inputs.size(); ++i) {
    all.push_back(now.bound->output(i));
  }
  s.interpreted = interpret(now.graph, all, {s.executor, s.options.runner, &now.kept});
}

bool Engine::is_random() const { return state_->is_random; }
std::uint64_t Engine::seed() const { return state_->seed; }
void Engine::set_seed(std::uint64_t seed) {
  state_->seed = seed;
  state_->runs = 0;
}

AnyView Engine::output(std::size_t i) const {
  const State& s = *state_;
  return s.current->is_interpreted ? AnyView(s.interpreted[i]) : s.current->bound->output(i);
}

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

void Engine::measure(bool on) { state_->measure = on; }

void Engine::reset_times() {
  if (Bound* bound = state_->bound(); bound != nullptr) {
    for (NodeTime& time : bound->times) time.seconds = 0;
  }
}

std::span<const NodeTime> Engine::times() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? std::span<const NodeTime>(bound->times) : std::span<const NodeTime>{};
}

}  // namespace halftone
