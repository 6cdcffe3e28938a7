#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/graph/planning.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/ipu/slice.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

#include "../exec/random_node.hpp"
#include "cycles_of.hpp"
#include "error_of.hpp"

using namespace halftone;
using namespace halftone::ipu;

namespace {

/// What says nothing of its cost, so that its inputs come to linear layout and its outputs are
/// written, and why that is right.
constexpr OpId without_cost[] = {
    // Constants: what follows from constants or extents is folded before a profile.
    op::Constant::id, op::Shape::id, op::Size::id, op::ConstantOfShape::id, op::Range::id,
    op::HannWindow::id, op::HammingWindow::id, op::BlackmanWindow::id, op::MelWeightMatrix::id,
    // Their extents follow from values: without constants they have no profile.
    op::NonZero::id, op::Compress::id, op::Unique::id, op::NonMaxSuppression::id,
    // Their bodies cost.
    op::If::id, op::Loop::id, op::Scan::id, op::Call::id,
    // One number or a few words.
    op::EveryN::id, op::DeriveSeed::id, op::AdvanceRandom::id, op::Abort::id,
    op::RemoteCodeLoad::id,
    // They only move their input.
    op::ReverseSequence::id, op::PrintTensor::id};

bool is_view(const Descriptor& op) {
  if (op.signature.outputs() != 1 || op.signature.output(0).shares < 0) return false;
  return !op.signature.input(static_cast<std::size_t>(op.signature.output(0).shares)).modified;
}

Report profiled(const Graph& g) {
  return profile(g, gc200, {.allow_out_of_memory = true, .has_launch = false});
}
using ipu_test::cycles_of;
std::int64_t cycles_of(const Graph& g, std::string_view type) {
  return cycles_of(profiled(g), type);
}
/// The same of its steps of one kind.
std::int64_t cycles_of(const Graph& g, std::string_view type, StepKind kind) {
  const Report r = profiled(g);
  std::int64_t sum = 0;
  for (const Step& s : r.steps) {
    const bool is_its =
        s.operation >= 0 && r.operations[static_cast<std::size_t>(s.operation)].type == type;
    sum += is_its && s.kind == kind ? s.total() : 0;
  }
  return sum;
}

AnyTensor input(Graph& g, const char* name, const Dims& shape,
                ElementType type = ElementType::float32) {
  return {&g, g.add_input({type, shape}, name)};
}
/// A graph of one operator: f(graph) is its output.
Graph graph_of(auto&& f) {
  Graph g;
  output(g, f(g), "y");
  return g;
}

}  // namespace

TEST_CASE("operators say what they cost, or are known to need no saying") {
  for (const Descriptor* d : builtin::table) {
    CAPTURE(std::string(d->id.name));
    const bool is_listed = std::any_of(std::begin(without_cost), std::end(without_cost),
                                       [&](const OpId& id) { return id == d->id; });
    // Texts, sequences and maps stay on the host.
    const bool is_value = d->run != nullptr && d->kernel == nullptr;
    const bool is_said = d->cost != nullptr || d->elementwise || d->only_expands || d->for_host ||
                         is_view(*d) || is_value || d->id == op::SequenceMap::id;
    CHECK(is_said != is_listed);
  }
}

TEST_CASE("what was made for the host has no profile") {
  const Graph g = fuse_convolutions(graph_of([](Graph& graph) {
    return op::conv(graph.input<float>("x", {1, 4, 6, 6}), graph.input<float>("w", {4, 4, 3, 3}));
  }));
  CHECK(test::contains(test::error_of([&] { profiled(g); }),
                       "an operator that was made for the host"));
}

// Numbers of a profile are int64: what is larger than machines has to be refused before it is
// multiplied. (The sanitizers see what is not.)
TEST_CASE("whatever the extents, an operator has a profile or is refused") {
  constexpr Target few_tiles = gc200.with_tiles(4);
  int number = 0, profiles = 0, refused = 0;
  for (const Descriptor* d : builtin::table) {
    ++number;
    if (d->only_expands || d->id.domain == "halftone") continue;
    CAPTURE(std::string(d->id.name));
    for (int i = 0; i < 100; ++i) {
      CAPTURE(i);
      test::Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      Vector<Word> words = d->defaults();
      test::RandomAttributes attributes(dice);
      d->attributes(words, attributes);
      if (attributes.has_graph) continue;
      Dims base;
      for (std::int64_t rank = dice.between(1, 5); rank > 0; --rank) {
        base.push_back(dice.one_in(2) ? dice.between(1, 4)
                                      : std::int64_t{1} << dice.between(5, 40));
      }
      Graph g;
      std::vector<TensorId> ids;
      std::vector<InputInfo> infos;
      for (std::size_t k = 0; k < d->signature.inputs(); ++k) {
        const Slot& slot = d->signature.input_slot(k);
        const bool given = !slot.optional || dice.one_in(2);
        const TensorInfo info{test::random_type(*d, slot.type_variable, dice),
                              test::random_shape(base, dice)};
        ids.push_back(given ? g.add_input(info, {}) : no_tensor);
        infos.push_back({given ? info : TensorInfo{}, {}, given && info.elements() == 0});
      }
      try {
        const Inferred inferred = d->infer(words, Inputs(infos, d->signature.required_outputs()));
        if (!inferred.ok()) continue;
        const std::size_t n = g.add_node(*d, words, ids, inferred.outputs);
        g.outputs = g.nodes[n].outputs;
        const Report r = profile(g, few_tiles, {.allow_out_of_memory = true});
        ++profiles;
        for (const Step& s : r.steps) REQUIRE((s.cycles >= 0 && s.repeats > 0 && s.flops >= 0));
      } catch (const Error& error) {
        ++refused;
      }
    }
  }
  CHECK(profiles > 1000);
  CHECK(refused > 1000);
}

// poplibs' estimate for slices whose places are known at run time; every tile has its share of
// them.
TEST_CASE("a dynamic slice costs what is taken, not what it is taken from") {
  const auto sliced = [](std::int64_t rows, std::int64_t taken) {
    return graph_of([&](Graph& g) {
      return op::dynamic_slice(input(g, "x", {rows, 4096}),
                               input(g, "at", {1}, ElementType::uint32),
                               {.axes = {0}, .sizes = {taken}});
    });
  };
  // 4096 floats are 32 on each of 128 tiles.
  CHECK(cycles_of(sliced(1000, 1), "DynamicSlice") ==
        dynamic_slice_cycles(gc200, 32, 1, ElementType::float32));
  CHECK(cycles_of(sliced(1000, 1), "DynamicSlice") ==
        cycles_of(sliced(100'000, 1), "DynamicSlice"));
  CHECK(100 * cycles_of(sliced(1000, 1), "DynamicSlice") <
        cycles_of(sliced(1000, 1000), "DynamicSlice"));
}

TEST_CASE("what is changed is copied where it has to stay, 8 bytes a cycle") {
  // What was computed for the operator alone is overwritten.
  const auto changed = [](bool stays, auto&& change) {
    return graph_of([&](Graph& g) {
      const AnyTensor x = op::relu(input(g, "x", {1472, 4096}));
      if (stays) output(g, x, "kept");
      return change(g, x);
    });
  };
  const auto check = [&](const char* type, auto&& change) {
    CAPTURE(type);
    const std::int64_t more =
        cycles_of(changed(true, change), type) - cycles_of(changed(false, change), type);
    CHECK(more == copy_cycles(gc200, 4096 * 4));
    CHECK(cycles_of(changed(false, change), type) < more);
  };
  const auto at = [](Graph& g) { return input(g, "at", {1}, ElementType::uint32); };
  const auto indices = [](Graph& g, Dims shape) {
    return input(g, "indices", shape, ElementType::int64);
  };
  check("DynamicUpdate", [&](Graph& g, AnyTensor x) {
    return op::dynamic_update(x, at(g), input(g, "part", {1, 4096}), {.axes = {0}, .sizes = {1}});
  });
  check("DynamicZero", [&](Graph& g, AnyTensor x) {
    return op::dynamic_zero(x, at(g), {.axes = {0}, .sizes = {1}});
  });
  check("ScatterND", [&](Graph& g, AnyTensor x) {
    return op::scatter_nd(x, indices(g, {2, 1}), input(g, "updates", {2, 4096}));
  });
  check("ScatterElements", [&](Graph& g, AnyTensor x) {
    return op::scatter_elements(x, indices(g, {1472, 3}), input(g, "updates", {1472, 3}),
                                {.axis = 1});
  });
}

TEST_CASE("gathers cost what is gathered, not the table") {
  const auto tuples = [](std::int64_t table, std::int64_t count) {
    return cycles_of(graph_of([&](Graph& g) {
                       return op::gather_nd(input(g, "x", {table, 1024}),
                                            input(g, "indices", {count, 1}, ElementType::int64));
                     }),
                     "GatherND");
  };
  CHECK(tuples(1000, 500) == tuples(100'000, 500));
  CHECK(tuples(1000, 1000) > 1.7 * static_cast<double>(tuples(1000, 500)));
  CHECK(tuples(1000, 1000) < 2 * tuples(1000, 500));

  const auto elements = [](std::int64_t extent, std::int64_t count) {
    return cycles_of(graph_of([&](Graph& g) {
                       return op::gather_elements(
                           input(g, "x", {64, extent}),
                           input(g, "indices", {64, count}, ElementType::int64), {.axis = 1});
                     }),
                     "GatherElements");
  };
  CHECK(elements(1000, 500) == elements(100'000, 500));
  CHECK(elements(1000, 500) < elements(1000, 1000));

  // Groups lie side by side on tiles of their own; once each has one tile, they take turns.
  const auto groups = [](std::int64_t count) {
    return cycles_of(graph_of([&](Graph& g) {
                       return op::grouped_gather(
                           input(g, "x", {count, 200, 2}),
                           input(g, "indices", {count, 600}, ElementType::int32),
                           {.axis = 1, .group_size = count});
                     }),
                     "GroupedGather", StepKind::compute);
  };
  CHECK(groups(1472) == gather_cycles(gc200, {100, 100}, 2, ElementType::float32));
  CHECK(groups(2 * 1472) == gather_cycles(gc200, {200, 200}, 2, ElementType::float32));
}

TEST_CASE("scatters cost their updates, sums more than copies") {
  const auto updates = [](std::int64_t table, std::int64_t count, ScatterMode mode) {
    return cycles_of(graph_of([&](Graph& g) {
                       return op::scatter_nd(op::relu(input(g, "x", {table, 1024})),
                                             input(g, "indices", {count, 1}, ElementType::int64),
                                             input(g, "updates", {count, 1024}),
                                             {.reduction = mode});
                     }),
                     "ScatterND");
  };
  for (const ScatterMode mode : {ScatterMode::replace, ScatterMode::add}) {
    CHECK(updates(1000, 500, mode) == updates(100'000, 500, mode));
    CHECK(updates(1000, 1000, mode) > 1.7 * static_cast<double>(updates(1000, 500, mode)));
    CHECK(updates(1000, 1000, mode) < 2 * updates(1000, 500, mode));
  }
  CHECK(updates(1000, 500, ScatterMode::add) > updates(1000, 500, ScatterMode::replace));

  // Zeros first, one worker's share of a tile's 4096 floats each; or what is there before.
  const auto reduced = [](bool has_initial) {
    return cycles_of(graph_of([&](Graph& g) {
                       const AnyTensor x = input(g, "x", {10, 4096});
                       const AnyTensor indices = input(g, "indices", {10}, ElementType::int32);
                       const op::ScatterReduce op{.axis = 0, .axis_size = 1472};
                       if (!has_initial) return op::scatter_reduce(x, indices, op);
                       return op::scatter_reduce(x, indices, input(g, "y0", {1472, 4096}), op);
                     }),
                     "ScatterReduce", StepKind::compute);
  };
  CHECK(reduced(false) - reduced(true) == 6 * fill_worker_cycles(683, ElementType::float32));
}

TEST_CASE("scaled casts to float8 and back cost what casts do") {
  constexpr ElementType f8 = ElementType::float8_e5m2, f16 = ElementType::float16;
  const auto cycles = [](ElementType from, const char* type, auto&& f) {
    return cycles_of(graph_of([&](Graph& g) { return f(g, input(g, "x", {1472, 1200}, from)); }),
                     type);
  };
  const auto scale = [](Graph& g) { return input(g, "scale", {}, ElementType::int32); };
  const std::int64_t narrow = cycles(f16, "Pow2ScaleThenCast", [&](Graph& g, AnyTensor x) {
    return op::pow2scale_cast_to_fp8(x, scale(g), {.to = f8});
  });
  const std::int64_t wide = cycles(f8, "CastThenPow2Scale", [&](Graph& g, AnyTensor x) {
    return op::pow2scale_cast_from_fp8(x, scale(g), {.to = f16});
  });
  CHECK(narrow == cast_cycles(gc200, 1200, f16, f8));
  CHECK(wide == cast_cycles(gc200, 1200, f8, f16));
}

TEST_CASE("parts of a tensor, and what stands beside them, are views") {
  const auto cycles = [](const char* type, auto&& f) {
    return cycles_of(graph_of([&](Graph& g) { return f(g, input(g, "x", {4, 16, 8, 8})); }), type);
  };
  CHECK(cycles("Pad", [](Graph& g, AnyTensor x) {
          return op::pad(x, constant(g, {0, 0, 1, 1, 0, 0, 1, 1}));
        }) == 0);
  CHECK(cycles("DepthToSpace",
               [](Graph&, AnyTensor x) { return op::depth_to_space(x, {.blocksize = 2}); }) == 0);
  CHECK(cycles("Tile",
               [](Graph& g, AnyTensor x) { return op::tile(x, constant(g, {1, 2, 1, 1})); }) == 0);
}

// Nine cycles an element are poplibs' estimate of a cross-entropy.
TEST_CASE("losses pass over their probabilities, sorts are the top n") {
  const Graph loss = graph_of([](Graph& g) {
    return op::nll_loss(input(g, "p", {1472, 600}), input(g, "label", {1472}, ElementType::int32),
                        {.reduction = LossReduction::no_reduction});
  });
  CHECK(cycles_of(loss, "Nll") ==
        elementwise_cycles(gc200, "CrossEntropy", 600, ElementType::float32));
  const Graph sorted =
      graph_of([](Graph& g) { return op::sort(input(g, "x", {64, 1024}), {.axis = 1}); });
  const Graph top = graph_of([](Graph& g) {
    return op::topk(input(g, "x", {64, 1024}), constant(g, {1024}), {.axis = 1})[0];
  });
  CHECK(cycles_of(sorted, "Sort") == cycles_of(top, "TopK"));
}

// Each pass over weights costs; the gradient comes to its weight once.
TEST_CASE("optimizers cost their passes") {
  const auto update = [](auto optimizer) {
    Graph g;
    const AnyTensor x = input(g, "x", {16, 1024});
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {1024, 1024}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    const AnyTensor loss = op::mean(op::matmul(x, w), {.keepdims = 0});
    train(g, loss, optimizer);
    output(g, loss, "loss");
    return g;
  };
  const auto cycles = [&](auto optimizer, StepKind kind) {
    return cycles_of(update(optimizer), "Update", kind);
  };
  constexpr StepKind compute = StepKind::compute, exchange = StepKind::exchange;
  CHECK(cycles(Sgd{}, compute) < cycles(Sgd{.momentum = 0.9f}, compute));
  CHECK(cycles(Sgd{.momentum = 0.9f}, compute) < cycles(Adam{}, compute));
  CHECK(cycles(Sgd{}, exchange) == cycles(Adam{}, exchange));
}

TEST_CASE("a session's report is about its operators, not the groups that the host makes of them") {
  Graph g;
  const AnyTensor x = input(g, "x", {4, 16, 16, 16});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {16, 16, 3, 3}},
                                       Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
  output(g, op::sigmoid(op::relu(op::conv(x, w)) + 1), "y");
  const Session session(std::move(g), {.device = Device::ipu_model});
  std::vector<std::string> types;
  for (const Operation& o : session.report().operations) types.push_back(o.type);
  CHECK(types == std::vector<std::string>{"Conv", "Relu", "Add", "Sigmoid"});
}
