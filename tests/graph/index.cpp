// Tables of a graph: who makes and reads tensors, and who shares memory.
#include <doctest/doctest.h>

#include <halftone/graph/index.hpp>
#include <halftone/halftone.hpp>

using namespace halftone;

namespace {

/// y = relu(x) + relu(x), and a view of the variable w, which a node then modifies.
struct Example {
  Graph g;
  TensorId x, relu, y, w, view, changed;

  constexpr Example() {
    const AnyTensor in = g.input<float>("x", {4});
    const AnyTensor variable{
        &g, g.add_variable({ElementType::float32, {4}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
    const AnyTensor r = op::relu(in);
    const AnyTensor sum = op::add(r, r);
    const AnyTensor other = op::identity(variable);
    const AnyTensor next = op::copy_var_update(variable, sum);
    g.add_output(sum.id);
    x = in.id, relu = r.id, y = sum.id, w = variable.id, view = other.id, changed = next.id;
  }
};

constexpr bool counts_uses() {
  const Example e;
  const Uses uses(e.g);
  return uses.producer[e.x] == no_node && uses.producer[e.relu] == 0 && uses.producer[e.y] == 1 &&
         uses.count[e.x] == 1 && uses.count[e.relu] == 2 && uses.count[e.y] == 2 &&
         uses.last_read[e.relu] == 1 && uses.last_read[e.y] == 4 &&
         uses.last_read[e.view] == no_node && uses.only_reader(e.x) == 0 &&
         uses.only_reader(e.relu) == no_node && uses.only_reader(e.y) == no_node;
}
static_assert(counts_uses());

constexpr bool follows_memory() {
  const Example e;
  const Aliases aliases(e.g);
  return aliases.root(e.view) == e.w && aliases.root(e.changed) == e.w &&
         aliases.root(e.y) == e.y && aliases.is_modified(e.w) && aliases.is_modified(e.view) &&
         !aliases.is_modified(e.y) && aliases.any_modified();
}
static_assert(follows_memory());

constexpr bool maps_follow_a_graph() {
  Example e;
  TensorMap<bool> seen(e.g, false);
  seen[e.y] = true;
  const TensorId more = e.g.add_tensor({}, {});
  if (seen.has(more)) return false;
  seen.follow(e.g, true);
  return seen.has(more) && seen[more] && seen[e.y] && !seen[e.x] &&
         NodeMap<int>(e.g, 7)[e.g.nodes.size() - 1] == 7;
}
static_assert(maps_follow_a_graph());

}  // namespace

TEST_CASE("index: a variable that is modified through a view is no constant") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float32, {2}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  op::copy_var_update(op::identity(w), x);
  g.add_output(op::neg(w).id);
  Session session(std::move(g), {});
  const Array<float> five({2}, {5, 6});
  session.run({{"x", five}});
  CHECK(session.get("w").values<float>()[0] == 5);
}
