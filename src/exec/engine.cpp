#include <halftone/exec/engine.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <thread>

#include <halftone/base/log.hpp>
#include <halftone/base/split_mix.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/program/spread.hpp>
#include <halftone/transform/complete_places.hpp>
#include <halftone/transform/seed_random.hpp>

#include "base/describe.hpp"
#include "fold.hpp"
#include "graph/inputs.hpp"
#include "graph/subgraphs.hpp"
#include "initial.hpp"
#include "kernel_table.hpp"
#include "machine.hpp"
#include "program/program_text.hpp"
#include "rank_link.hpp"
#include "ready.hpp"
#include "replicas.hpp"
#include "run.hpp"
#include "thread_pool.hpp"
#include "transform/pipeline.hpp"
#include "variables.hpp"

namespace halftone {
namespace {

int thread_count(int wanted) {
  if (wanted > 0) return std::min(wanted, 256);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
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

Bytes copied(const AnyView& value) {
  return Bytes::copy_of({static_cast<const std::byte*>(value.data), value.bytes()});
}

/// Throws unless groupings, buffers and collective operators are those of the graph's replicas.
void check_settings(const Graph& graph, TensorId id) {
  const VariableSettings& settings = *graph.settings(id);
  const auto refuse = [&](std::string_view what, std::string_view expected,
                          std::string_view found) {
    fail(ErrorKind::usage,
         {.what = what, .tensor = graph.name(id), .expected = expected, .found = found});
  };
  if (!settings.grouping.is_whole() && settings.grouping.replicas() != graph.replicas) {
    refuse("the grouping of a variable is of another number of replicas than the graph",
           std::to_string(graph.replicas), std::to_string(settings.grouping.replicas()));
  }
  const TensorInfo host = VariableLayout(graph, id).host();
  const std::size_t size = graph.tensor(id).data.size();
  if (size != 0 && static_cast<std::int64_t>(size) != host.bytes()) {
    refuse("the data of a variable are not those of all groups", detail::to_text(host),
           std::to_string(size) + " bytes");
  }
  if (settings.remote_buffer < 0) return;
  for (const RemoteBufferRecord& buffer : graph.remote_buffers) {
    if (buffer.id != settings.remote_buffer) continue;
    if (buffer.info == graph.info(id) && settings.remote_entry < buffer.entries) return;
    refuse("a variable is not like the entries of its remote buffer, or behind the last one",
           detail::to_text(buffer.info), detail::to_text(graph.info(id)));
  }
  refuse("a variable lies in a remote buffer that the graph does not have", "", "");
}

void check_collectives(const Graph& graph, std::int32_t replicas) {
  for (const Node& node : graph.nodes) {
    const OpId& id = node.op->id;
    const bool is_reduce = id == op::ReplicatedAllReduce::id;
    if (is_reduce || id == op::ReplicatedReduceScatter::id || id == op::ReplicatedAllGather::id) {
      // All of them have the same attributes.
      const op::Collective collective = unpack<op::ReplicatedAllReduce>(node.attributes).collective;
      const Dims& grouping = collective.grouping;
      const bool must_know = !is_reduce && replicas != 1;
      if (!collective.divides(replicas) || (must_know && !collective.knows_size())) {
        fail(ErrorKind::usage,
             {.what = "a collective operator is for another number of replicas than the graph has",
              .node = detail::node_text(*node.op, graph.name(node)),
              .expected = std::to_string(replicas),
              .found = grouping.empty() ? std::string("no number") : std::to_string(grouping[0]),
              .hint = "set Graph::replicas first; in a function give a ReplicaGrouping"});
      }
    }
    for_each_body(graph, node, [&](const Graph& body) { check_collectives(body, replicas); });
  }
}

Graph checked(Graph graph) {
  check_subgraphs(graph);
  constexpr std::int32_t most_replicas = 1024;
  if (graph.replicas < 1 || graph.replicas > most_replicas) {
    fail(ErrorKind::usage, {.what = "the number of replicas is out of range",
                            .expected = "1 to " + std::to_string(most_replicas),
                            .found = std::to_string(graph.replicas)});
  }
  check_collectives(graph, graph.replicas);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (is_variable(graph.tensor(id)) && graph.settings(id) != nullptr) check_settings(graph, id);
  }
  return graph;
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
          .fuse = may_fuse(options),
          .recompute = options.recompute,
          .observer = options.observer,
          .path = nesting.path};
}

}  // namespace

namespace {

/// The pipeline of a graph that has been inferred.
/// The options with a precision that this machine has products in.
EngineOptions with_available_precision(EngineOptions options) {
  if (has_products_in(options.precision)) return options;
  log_message(LogLevel::warn, "engine",
              "products are computed in float32: this machine has none in " +
                  std::string(name(options.precision)) + " with the instruction set " +
                  std::string(instruction_set()));
  options.precision = Precision::float32;
  return options;
}

Spread spread_of(Graph graph, const EngineOptions& options) {
  if (!is_static(graph)) {
    fail(ErrorKind::unsupported,
         {.what = "a pipeline is for models whose shapes do not depend on values"});
  }
  graph = with_chosen_kernels(std::move(graph), options);
  complete_places(graph);
  return cut(graph, options.schedule);
}

}  // namespace

std::unique_ptr<Ready> make_ready(const Graph& model, std::span<const TensorInfo> inputs,
                                  std::span<const TensorId> outputs, const EngineOptions& options,
                                  const kernel::Executor& executor, const Reach& reach,
                                  const Nesting& nesting) {
  auto ready = std::make_unique<Ready>();
  ready->inputs.assign(inputs.begin(), inputs.end());
  Graph graph = model;
  graph.outputs.assign(outputs.begin(), outputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) graph.tensor(graph.inputs[i]).info = inputs[i];
  graph = run_passes(cpu_shape_passes, std::move(graph),
                     shape_pass_options(options, executor, nesting));
  ready->is_random = graph.inputs.size() > inputs.size();
  ready->precision = options.precision;
  if (options.schedule != Schedule::none && nesting.depth == 0 && has_stages(graph)) {
    ready->pipelines.push_back(
        std::make_unique<Pipeline>(spread_of(std::move(graph), options), options, executor, reach));
    return ready;
  }
  ready->program = program_for(std::move(graph), options, nesting);
  ready->bound = bind(ready->program, options, executor, reach, nesting);
  return ready;
}

struct Engine::State {
  /// What a replica has for itself.
  struct Replica {
    Machine machine;
    std::uint32_t steps = 0;
    std::uint32_t random_state[6] = {};  ///< of the run
    TensorMap<Bytes> variables;          ///< of the first one: the graph's

    Replica(const Graph& graph, Streams& streams, int number, int count)
        : machine(graph, streams, number, count), variables(graph) {}
  };

  Graph graph;
  EngineOptions options;
  int local,
      first_local;  ///< the replicas that this rank runs: how many, and the number of the first
  bool meets;       ///< replicas meet
  std::unique_ptr<RankLink> link;  ///< null: there are no other ranks
  ThreadPool pool;
  std::optional<MeasuredExecutor> measured;
  kernel::Executor executor;  ///< of the kernels: they point to it
  Streams streams;
  std::vector<std::unique_ptr<Replica>> replicas;
  std::unique_ptr<Replicas> team;
  std::vector<kernel::Communicator> singles;

  UnverifiedWeights weights;  ///< of an executable
  Variants variants;
  Ready* current = nullptr;
  std::uint64_t seed = 0, runs = 0;  ///< since the seed was set
  bool is_random = false;
  void (*task)(State& self, int replica) = nullptr;  ///< of the replicas
  // Of the last run of a pipeline: micro-batches, their inputs, and states of random numbers of each
  // replica's.
  std::int64_t together = 0;
  std::vector<AnyView> given_together;
  std::vector<std::array<std::uint32_t, 6>> states;
  Aliases aliases;  ///< variables that nodes modify are shared by plans and the graph
  std::map<TensorId, AnyArray> retrieved;  ///< values that were put together for the host

  kernel::Executor kernel_executor() { return local > 1 ? kernel::Executor{} : pool.executor(); }

  State(Graph g, const EngineOptions& o)
      : graph(checked(std::move(g))),
        options(with_available_precision(o)),
        local(replicas_of_rank(graph, o.ranks)),
        first_local(o.ranks != nullptr ? o.ranks->rank * local : 0),
        meets(graph.replicas > 1 && has_meetings(graph)),
        pool(thread_count(o.threads)),
        executor(kernel_executor()),
        streams(graph),
        aliases(graph) {
    if (graph.replicas > 1 && options.runner != nullptr) {
      fail(ErrorKind::unsupported,
           {.what = "the machine's arithmetic is not offered for graphs with replicas",
            .expected = "1 replica",
            .found = std::to_string(graph.replicas)});
    }
    check_modified(graph, aliases);
    initialize_variables(graph, options.seed);
    if (options.ranks != nullptr && options.ranks->ranks > 1 && !options.only_plan) {
      compare_ranks(*options.ranks, graph, options.seed);
      compare_ranks(*options.ranks, "precision", static_cast<std::uint64_t>(options.precision));
      link = std::make_unique<RankLink>(*options.ranks);
    }
    if (meets) team = std::make_unique<Replicas>(local, pool.executor(), link.get());
    for (int k = 0; k < local; ++k) {
      replicas.push_back(std::make_unique<Replica>(graph, streams, k, local));
    }
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) own(static_cast<TensorId>(i));
    seed = options.seed;
    is_random = detail::RandomSeeds::needs_seed(graph);
  }

  /// Whether each replica has memory of its own for a variable.
  bool is_own(TensorId id) const {
    const VariableSettings* settings = graph.settings(id);
    if (settings != nullptr && settings->remote_buffer >= 0) return true;
    return aliases.is_modified(id) || !VariableLayout(graph, id).is_plain();
  }
  /// Variables that nodes modify get memory of their own: theirs may be a file's, or another graph's.
  void own(TensorId id) {
    TensorRecord& t = graph.tensor(id);
    if (!is_variable(t) || t.data.size() == 0 || !is_own(id)) return;
    const VariableLayout layout(graph, id);
    const Bytes host = t.data;
    const auto size = static_cast<std::size_t>(t.info.bytes());
    for (int k = 0; k < local; ++k) {
      Replica& replica = *replicas[static_cast<std::size_t>(k)];
      Bytes& memory = replica.variables[id];
      const VariableSettings* settings = layout.settings();
      if (settings != nullptr && settings->remote_buffer >= 0) {
        const Storage& buffer = *replica.machine.buffer(settings->remote_buffer);
        memory = Bytes(buffer, buffer.data() + settings->remote_entry * t.info.bytes(), size);
      } else {
        Storage storage = Storage::allocate(size);
        const std::byte* data = storage.data();
        memory = Bytes(std::move(storage), data, size);
      }
      layout.give(host.span().data(), first_local + k, writable(memory));
    }
    t.data = replicas[0]->variables[id];
  }
  static std::byte* writable(const Bytes& memory) {
    return const_cast<std::byte*>(memory.span().data());
  }

  /// A variable's value in the form of the host; `all`: as it is retrieved.
  AnyView value(TensorId id, bool all) {
    const TensorRecord& t = graph.tensor(id);
    const VariableLayout layout(graph, id);
    const bool returns_all = all && layout.returns_all();
    if (layout.is_plain() && !returns_all) return {t.info, t.data.span().data()};
    AnyArray array(returns_all ? layout.retrieved() : layout.host());
    const auto size = static_cast<std::size_t>(t.info.bytes());
    std::vector<std::byte> given;  // with ranks: of the own replicas, one behind the other
    for (int k = 0; k < local && t.data.size() != 0; ++k) {
      const Bytes& own = replicas[static_cast<std::size_t>(k)]->variables[id];
      const Bytes& from = own.size() != 0 ? own : t.data;
      if (link != nullptr) {
        given.insert(given.end(), from.span().data(), from.span().data() + size);
      } else {
        layout.take(from.span().data(), k, array.data(), returns_all);
      }
    }
    if (link != nullptr && t.data.size() != 0) {
      link->agree(RankLink::Step::variable, static_cast<std::uint64_t>(id), t.info.bytes());
      const std::byte* const from = link->gather(given.data(), given.size());
      for (int k = 0; k < graph.replicas; ++k) {
        layout.take(from + static_cast<std::size_t>(k) * size, k, array.data(), returns_all);
      }
    }
    return retrieved[id] = std::move(array);
  }

  Reach reach(int k) {
    Replica& r = *replicas[static_cast<std::size_t>(k)];
    r.steps = 0;
    return {meets ? &team->communicator(k) : &single(k), &r.machine.host(), &r.steps};
  }
  /// For replicas that do not meet: who they are is all that their kernels may ask.
  const kernel::Communicator& single(int k) {
    if (singles.empty()) {
      for (int i = 0; i < local; ++i) {
        singles.push_back({.replica = first_local + i, .replicas = graph.replicas});
      }
    }
    return singles[static_cast<std::size_t>(k)];
  }

  /// Gives the other replicas programs like the first one's.
  void add_copies(Ready& ready) {
    std::multimap<const std::byte*, TensorId> variables;
    for (std::size_t i = 0; local > 1 && i < graph.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const Bytes& first = replicas[0]->variables[id];
      if (first.size() != 0) variables.emplace(first.span().data(), id);
    }
    for (int k = 1; k < local; ++k) {
      const auto give_variables = [&](Graph& own) {
        for (TensorRecord& t : own.tensors) {
          if (t.data.size() == 0) continue;
          const auto place = variables.find(t.data.span().data());
          if (place == variables.end()) continue;
          t.data = replicas[static_cast<std::size_t>(k)]->variables[place->second];
        }
      };
      if (!ready.pipelines.empty()) {
        ready.pipelines.push_back(
            std::make_unique<Pipeline>(*ready.pipelines[0], reach(k), give_variables));
        continue;
      }
      auto copy = std::make_unique<Ready::Copy>();
      copy->program = ready.program;
      give_variables(copy->program.graph);
      copy->bound = halftone::bind(copy->program, options, executor, reach(k));
      ready.copies.push_back(std::move(copy));
    }
  }

  /// For this run; the next one has another seed. Replicas draw like so many runs.
  void draw_random_state(std::uint32_t* state) {
    state[0] = static_cast<std::uint32_t>(seed);
    state[1] = static_cast<std::uint32_t>(seed >> 32);
    state[2] = static_cast<std::uint32_t>(runs);
    state[3] = static_cast<std::uint32_t>(runs >> 32);
    pass_random_states(1);
  }
  /// Leaves out the states of other ranks' replicas.
  void pass_random_states(int count) {
    for (int k = 0; k < count; ++k) seed = detail::mixed(seed);
    runs += static_cast<std::uint64_t>(count);
  }

  void run(std::span<const AnyView> inputs) {
    Ready& now = *current;
    if (now.is_random) pass_random_states(first_local);
    for (int k = 0; k < local; ++k) {
      Bound& bound = now.of(k);
      Replica& replica = *replicas[static_cast<std::size_t>(k)];
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto* const data = static_cast<const std::byte*>(inputs[i].data);
        if (data == nullptr) continue;
        bound.set_input(i, k == 0 ? data : data + k * inputs[i].info.bytes());
      }
      if (now.is_random) {
        draw_random_state(replica.random_state);
        bound.set_input(inputs.size(), replica.random_state);
      }
      replica.machine.rewind();
    }
    if (now.is_random) pass_random_states(graph.replicas - first_local - local);
    run_replicas([](State& self, int k) { halftone::run(self.current->of(k)); });
  }
  /// f(state, replica) for each of them.
  void run_replicas(void (*f)(State& self, int k)) {
    if (local == 1 && !meets) {
      f(*this, 0);
    } else if (meets) {
      task = f;
      const auto run_one = [](void* context, int k) {
        State& self = *static_cast<State*>(context);
        self.task(self, k);
      };
      team->run(run_one, this);
    } else {
      kernel::parallel_for(pool.executor(), local,
                           [&](std::int64_t k) { f(*this, static_cast<int>(k)); });
    }
  }

  /// The same for micro-batches that a pipeline runs together.
  void run_pipeline(std::int64_t micro_batches, std::span<const AnyView> inputs) {
    together = micro_batches;
    given_together.assign(inputs.begin(), inputs.end());
    states.clear();
    for (std::int64_t m = 0; current->is_random && m < micro_batches; ++m) {
      pass_random_states(first_local);
      for (int k = 0; k < local; ++k) draw_random_state(states.emplace_back().data());
      pass_random_states(graph.replicas - first_local - local);
    }
    run_replicas([](State& self, int k) {
      self.current->pipelines[static_cast<std::size_t>(k)]->run(
          self.together, [&self, k](std::size_t i, std::int64_t m) -> const void* {
            const std::size_t count = self.graph.inputs.size();
            if (i == count) {
              return self.states[static_cast<std::size_t>(m * self.local + k)].data();
            }
            const AnyView& x = self.given_together[static_cast<std::size_t>(m) * count + i];
            return static_cast<const std::byte*>(x.data) + k * x.info.bytes();
          });
    });
  }

  void prepare_run(std::span<const AnyView> inputs) {
    if (options.only_plan) fail(ErrorKind::usage, {.what = "an engine that only plans cannot run"});
    weights.verify();
    bool same = current != nullptr && current->inputs.size() == inputs.size();
    for (std::size_t i = 0; same && i < inputs.size(); ++i) {
      same = current->inputs[i] == inputs[i].info;
    }
    if (same) return;
    Vector<TensorInfo> infos;
    for (const AnyView& x : inputs) infos.push_back(x.info);
    prepare(infos);
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

    current = variants.add(make_ready(graph, inputs, graph.outputs, options, executor, reach(0)));
    if (!options.only_plan) add_copies(*current);
    const Program& program = current->program;
    if (current->pipelines.empty()) {
      dump_program("cpu", [&] { return program_text(program); });
    }
  }

  /// Other models are planned when the shapes of their inputs are given.
  void prepare_if_static() {
    Vector<TensorInfo> infos;
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
    next->bound = halftone::bind(next->program, options, executor, reach(0));
    current = variants.add(std::move(next));
    add_copies(*current);
  }

  std::vector<NodeTime*> times() const {
    std::vector<NodeTime*> all;
    if (Pipeline* const first = pipeline(); first != nullptr) {
      first->add_times(all);
    } else if (current != nullptr) {
      current->bound->add_times(all);
    }
    return all;
  }

  /// That of the first replica; null: there is none.
  Pipeline* pipeline() const {
    if (current == nullptr || current->pipelines.empty()) return nullptr;
    return current->pipelines[0].get();
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
      !options.fuse || options.convolution == Convolution::exact ||
      given.ready->precision != s.options.precision || options.recompute != Recomputation::none ||
      (options.schedule != Schedule::none && has_stages(given.graph))) {
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
                            .hint = "give open extents a value: --size batch=1 by their symbol, "
                                    "or --batch 1 to the first ones of the inputs"});
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
  state->graph = graph_with_values();
  state->model_outputs = s.graph.outputs;
  state->weights = s.weights;
  if (s.pipeline() == nullptr) state->ready = static_cast<const Prepared&>(*s.current);
  // The program's variables are the graph's, also where these were put together.
  for (std::size_t k = 0; state->ready && k < state->ready->program.graph.tensors.size(); ++k) {
    TensorRecord& t = state->ready->program.graph.tensors[k];
    if (t.settings < 0 || t.data.size() == 0) continue;
    for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
      if (s.graph.tensors[i].data.span().data() != t.data.span().data()) continue;
      t.data = state->graph.tensors[i].data;
      break;
    }
  }
  for (std::size_t i = 0; i < s.current->inputs.size(); ++i) {
    state->graph.tensor(state->graph.inputs[i]).info = s.current->inputs[i];
  }
  return executable;
}

Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

const Graph& Engine::graph() const { return state_->graph; }

Graph Engine::graph_with_values() const {
  State& s = *state_;
  Graph copy = s.graph;
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (!is_variable(copy.tensor(id)) || copy.settings(id) == nullptr) continue;
    const AnyView value = s.value(id, false);
    copy.tensor(id).data = copied(value);
  }
  return copy;
}

void Engine::prepare(std::span<const TensorInfo> inputs) { state_->prepare(inputs); }

void Engine::run(std::span<const AnyView> inputs) {
  State& s = *state_;
  s.prepare_run(inputs);
  if (s.pipeline() != nullptr) {
    s.run_pipeline(1, inputs);
  } else {
    s.run(inputs);
  }
}

void Engine::run_together(std::int64_t micro_batches, std::span<const AnyView> inputs) {
  State& s = *state_;
  const std::size_t count = s.graph.inputs.size();
  if (micro_batches < 1 || inputs.size() != static_cast<std::size_t>(micro_batches) * count) {
    fail(ErrorKind::input,
         {.what = "the number of inputs is not that of all micro-batches",
          .expected = std::to_string(micro_batches) + " x " + std::to_string(count),
          .found = std::to_string(inputs.size())});
  }
  for (std::size_t i = count; i < inputs.size(); ++i) {
    if (inputs[i].info == inputs[i % count].info) continue;
    fail(ErrorKind::input, {.what = "micro-batches that run together have inputs of other shapes",
                            .tensor = s.graph.name(s.graph.inputs[i % count]),
                            .expected = detail::to_text(inputs[i % count].info),
                            .found = detail::to_text(inputs[i].info)});
  }
  s.prepare_run(inputs.first(count));
  if (s.pipeline() == nullptr) {
    fail(ErrorKind::usage,
         {.what = "micro-batches run together in a pipeline alone",
          .hint = "give nodes stages (OnStage, place()), and EngineOptions::schedule"});
  }
  s.run_pipeline(micro_batches, inputs);
}

bool Engine::is_pipelined() const {
  return state_->options.schedule != Schedule::none && has_stages(state_->graph);
}
bool Engine::is_of_step(std::size_t i) const {
  const Pipeline* const pipeline = state_->pipeline();
  return pipeline != nullptr && pipeline->is_of_step(i);
}

std::vector<Engine::Stream> Engine::loads() const {
  std::vector<Stream> streams;
  for (const StreamMemory& m : state_->streams.loads) streams.push_back({m.name, m.slice});
  return streams;
}
std::vector<Engine::Stream> Engine::stores() const {
  std::vector<Stream> streams;
  for (const StreamMemory& m : state_->streams.stores) streams.push_back({m.name, m.slice});
  return streams;
}
void Engine::set_load(std::size_t i, const void* data, std::int64_t slices) {
  StreamMemory& stream = state_->streams.loads.at(i);
  // Only read from: loads and stores share the structure, not the right to write.
  stream.data = static_cast<std::byte*>(const_cast<void*>(data));
  stream.slices = slices;
}
void Engine::set_store(std::size_t i, void* data, std::int64_t slices) {
  StreamMemory& stream = state_->streams.stores.at(i);
  stream.data = static_cast<std::byte*>(data);
  stream.slices = slices;
}

bool Engine::is_random() const { return state_->is_random; }
std::uint64_t Engine::seed() const { return state_->seed; }
void Engine::set_seed(std::uint64_t seed) {
  state_->seed = seed;
  state_->runs = 0;
}

AnyView Engine::output(std::size_t i, int replica, std::int64_t m) const {
  const Ready& now = *state_->current;
  if (now.pipelines.empty()) return now.of(replica).output(i);
  return now.pipelines[static_cast<std::size_t>(replica)]->output(i, m);
}

AnyView Engine::variable(TensorId id) const {
  state_->weights.verify();
  return state_->value(id, true);
}
TensorInfo Engine::variable_info(TensorId id) const {
  return VariableLayout(state_->graph, id).host();
}

void Engine::set_variable(TensorId id, AnyView value) {
  State& s = *state_;
  TensorRecord& t = s.graph.tensor(id);
  const VariableLayout layout(s.graph, id);
  const TensorInfo& info = layout.host();
  if (value.info.type != info.type || value.info.shape != info.shape) {
    fail(ErrorKind::input, {.what = "a variable gets a value of another type or shape",
                            .tensor = s.graph.name(id),
                            .expected = detail::to_text(info),
                            .found = detail::to_text(value.info)});
  }
  if (layout.returns_all()) {
    fail(ErrorKind::unsupported,
         {.what = "a variable of which the host gets the values of all replicas cannot be set",
          .tensor = s.graph.name(id),
          .hint = "Retrieval::one_per_group"});
  }
  if (s.is_own(id)) {
    // Its memory is the engine's own, and no plan has taken its values for constants.
    for (const auto& replica : s.replicas) {
      const Bytes& memory = replica->variables[id];
      if (memory.size() == 0) continue;
      const auto k = static_cast<int>(&replica - s.replicas.data());
      layout.give(static_cast<const std::byte*>(value.data), s.first_local + k,
                  State::writable(memory));
    }
    return;
  }
  // A new block: the old bytes may be a file's, or shared with a copy of the graph.
  t.data = copied(value);
  s.forget_plans();
}

const Program* Engine::program() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? &bound->program : nullptr;
}

const Spread* Engine::spread() const {
  const Pipeline* const pipeline = state_->pipeline();
  return pipeline != nullptr ? &pipeline->spread() : nullptr;
}

Precision Engine::precision() const { return state_->options.precision; }

std::size_t Engine::planned_bytes() const {
  if (const Pipeline* const pipeline = state_->pipeline()) return pipeline->bytes();
  const Bound* bound = state_->bound();
  return bound != nullptr ? bound->bytes() : 0;
}

std::size_t Engine::arena_bytes() const {
  if (const Pipeline* const pipeline = state_->pipeline()) return pipeline->arena_bytes();
  const Bound* bound = state_->bound();
  return bound != nullptr ? static_cast<std::size_t>(bound->program.arena_bytes) : 0;
}
std::size_t Engine::live_bytes() const {
  const Bound* bound = state_->bound();
  return bound != nullptr ? static_cast<std::size_t>(bound->program.live_bytes) : 0;
}

void Engine::measure(bool on) {
  State& state = *state_;
  Pipeline* const pipeline = state.pipeline();
  Bound* const bound = state.bound();
  MeasuredExecutor* measured = nullptr;
  state.executor = state.kernel_executor();
  if (on) {
    // Pieces of a pipeline have executors of their own.
    const kernel::Executor inner = pipeline != nullptr ? kernel::Executor{} : state.executor;
    measured = &state.measured.emplace(inner);
    if (pipeline == nullptr) state.executor = measured->executor();
  }
  if (pipeline != nullptr) pipeline->measure(measured);
  if (bound != nullptr) bound->measure(measured);
}

void Engine::reset_times() {
  for (NodeTime* time : state_->times()) time->seconds = time->idle = 0;
}

std::vector<NodeTime> Engine::times() const {
  std::vector<NodeTime> times;
  for (const NodeTime* time : state_->times()) times.push_back(*time);
  return times;
}

}  // namespace halftone
