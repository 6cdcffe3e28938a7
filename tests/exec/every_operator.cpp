// Every operator of the library with inputs and attributes drawn at random: whatever inference
// accepts must run and give what inference said, and have a profile; all else is a reason or a
// typed error. (Run under the sanitizers, this finds kernels that leave their arrays.)
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

#include "exec/fold.hpp"
#include "exec/run_node.hpp"
#include "random_node.hpp"

using namespace halftone;
using namespace test;

namespace {

constexpr ipu::Target few_tiles = ipu::gc200.with_tiles(4);

struct Counts {
  int accepted = 0, ran = 0;
};

/// A node of constants is computed when it is inferred, and what was is inferred again.
void check_beforehand(Graph graph, const std::vector<TensorId>& ids,
                      const std::vector<AnyArray>& arrays) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == no_tensor) continue;
    TensorRecord& t = graph.tensor(ids[i]);
    t.role = Role::constant;
    t.data = Bytes(arrays[i].storage(), arrays[i].data(), arrays[i].bytes());
  }
  graph.inputs.clear();
  kernel::Executor one;
  REQUIRE(infer(graph, &evaluate_constant, &one).empty());
  const Graph once = graph;
  REQUIRE(infer(graph, &evaluate_constant, &one).empty());
  REQUIRE(graph == once);
}

/// Whatever a model states of the outputs, an engine gives what the inputs' values lead to.
void check_statements(Graph graph, const std::vector<AnyView>& views, const Inferred& inferred,
                      Dice& dice) {
  const Node& node = graph.nodes[0];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.op->signature.input_slot(i).modified) return;
  }
  for (const TensorId id : node.outputs) {
    TensorInfo& info = graph.tensor(id).info;
    info.shape = random_shape(info.shape, dice);
  }
  std::vector<AnyView> given;
  for (const AnyView& view : views) {
    if (view.info.is_known()) given.push_back(view);
  }
  Engine engine(graph);
  engine.run(given);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    REQUIRE(engine.output(i).info == inferred.outputs[i]);
  }
}

/// One random node of an operator.
void try_once(const Descriptor& op, Dice& dice, Counts& counts) {
  Vector<Word> words = op.defaults();
  RandomAttributes attributes(dice);
  op.attributes(words, attributes);
  if (attributes.has_graph) return;

  ElementType types[Slots::max_slots]{};
  Dims base;
  const std::int64_t rank = dice.one_in(8) ? dice.between(5, 8) : dice.between(0, 4);
  for (std::int64_t i = 0; i < rank; ++i) {
    base.push_back(dice.one_in(10) ? 0 : dice.between(1, rank > 5 ? 2 : 5));
  }
  std::size_t count = op.signature.inputs();
  if (op.signature.has_variadic_input()) count += static_cast<std::size_t>(dice.below(4)) - 1;

  std::vector<AnyArray> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = op.signature.input_slot(i);
    if (slot.optional && dice.one_in(2)) {
      arrays.emplace_back();
      continue;
    }
    ElementType& type = types[slot.type_variable];
    if (type == ElementType::undefined || slot.mixed) {
      type = random_type(op, slot.type_variable, dice);
    }
    arrays.push_back(random_array(type, random_shape(base, dice), dice));
  }

  auto [graph, ids, infos, views] = node_inputs(arrays);
  std::size_t outputs = op.signature.required_outputs();
  if (op.signature.outputs() > outputs && dice.one_in(2)) outputs = op.signature.outputs();
  if (op.signature.has_variadic_output()) outputs = static_cast<std::size_t>(dice.between(1, 3));

  try {
    if (op.only_expands) {
      op.expand(graph, words, ids, outputs);
      return;
    }
    if (op.run != nullptr && op.kernel == nullptr)
      return;  // values: tests/op/sequence.cpp, text.cpp
    const Inferred inferred = op.infer(words, Inputs(infos, outputs));
    if (!inferred.ok()) {
      CHECK(inferred.reason.size() > 4);
      return;
    }
    ++counts.accepted;
    for (const TensorInfo& info : inferred.outputs) {
      REQUIRE(info.is_static());
      if (info.elements() > 1 << 20) return;
    }
    const std::size_t n = graph.add_node(op, words, ids, inferred.outputs);
    const std::vector<AnyArray> y = run_node(graph, graph.nodes[n], views, {});
    ++counts.ran;
    for (std::size_t i = 0; i < y.size() && i < inferred.outputs.size(); ++i) {
      REQUIRE(y[i].info() == inferred.outputs[i]);
    }
    graph.outputs = graph.nodes[n].outputs;
    check_beforehand(graph, ids, arrays);
    check_statements(graph, views, inferred, dice);
    const ipu::Report report = ipu::profile(graph, few_tiles, {.allow_out_of_memory = true});
    for (const ipu::Step& step : report.steps) {
      REQUIRE((step.cycles >= 0 && step.repeats > 0 && step.flops >= 0));
    }
  } catch (const Error& error) {
    CHECK(std::string(error.what()).size() > 4);
  }
}

}  // namespace

TEST_CASE("every operator runs what its inference accepts") {
  constexpr int tries = 300;
  int number = 0;
  for (const Descriptor* op : builtin::table) {
    ++number;
    if (op->id.domain == "halftone") continue;  // what passes make, for shapes of their own
    CAPTURE(std::string(op->id.name));
    Counts counts;
    for (int i = 0; i < tries; ++i) {
      CAPTURE(i);
      Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      try_once(*op, dice, counts);
    }
  }
}
