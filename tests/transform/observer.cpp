#include <halftone/transform/observer.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

using namespace halftone;

// An observer is told of passes when something is made ready, and never of a run.
TEST_CASE("observer: passes run once for each combination of shapes") {
  class Counter final : public PassObserver {
   public:
    int count = 0;
    std::vector<std::size_t> nodes;
    void passed(const PassEvent& event) override {
      CHECK(event.target == "cpu");
      CHECK(event.path.empty());
      CHECK_FALSE(event.pass.empty());
      nodes.push_back(event.graph.nodes.size());
      ++count;
    }
  } counter;
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic});
  op::exp(x);
  output(g, op::relu(x), "y");
  Session session(std::move(g), {.observer = &counter});
  const auto passes_of_run = [&](std::int64_t size) {
    const int before = counter.count;
    session.run({{"x", Array<float>({size})}});
    return counter.count - before;
  };
  const int first = passes_of_run(2);
  CHECK(first > 0);
  CHECK(passes_of_run(2) == 0);
  CHECK(passes_of_run(3) == first);
  CHECK(passes_of_run(2) == 0);
  CHECK(counter.nodes.front() == 2);
  CHECK(counter.nodes.back() == 1);  // the dead one is gone
}
