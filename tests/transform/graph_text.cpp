#include "transform/graph_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <halftone/halftone.hpp>

#include "contains.hpp"
#include "networks.hpp"

using namespace halftone;
using test::contains;
using test::looped;

TEST_CASE("graph text: a graph as text and as DOT") {
  const Graph g = looped();
  CHECK(graph_text(g) == R"(graph '': 1 node
  input     x  [2] float
  constant  #1  [] int64 = 3
     0  Loop 'loop' (#1, -, x)  body=graph 0
        -> #2  [2] float
        graph 0:
          input     pass  [] int64
          input     next  [] bool
          input     state  [2] float
             0  Exp (state)
                -> #3  [2] float
             1  Add (state, state)
                -> twice  [2] float
          output    next  [] bool
          output    twice  [2] float
  output    #2  [2] float
)");
  const std::string dot = graph_dot(g);
  CHECK(dot.starts_with("digraph model {\n"));
  CHECK(dot.ends_with("}\n"));
  CHECK(contains(dot, "subgraph \"cluster_n0.g0.\""));
  CHECK(contains(dot, "\"t0\" -> \"n0\" [label=\"x  [2] float\"]"));
  CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
}

TEST_CASE("graph text: names that would break DOT are quoted, and attributes are listed") {
  Graph g;
  const AnyTensor x = g.input<float>("a \"b\\", {2, 3});
  output(g, op::softmax(x, {.axis = 0}), "y\n");
  const std::string text = graph_text(g), dot = graph_dot(g);
  CHECK_MESSAGE(contains(text, "Softmax"), text);
  CHECK_MESSAGE(contains(text, "axis=0"), text);
  CHECK_MESSAGE(!contains(text, "y\n  ["), text);
  // Outside of what a backslash escapes, quotation marks come in pairs, on every line.
  bool is_open = false;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (dot[i] == '\\') {
      ++i;
    } else if (dot[i] == '"') {
      is_open = !is_open;
    } else if (dot[i] == '\n') {
      CHECK_FALSE(is_open);
    }
  }
  CHECK_FALSE(is_open);
  // An attribute that is the default is left out.
  CHECK_FALSE(contains(graph_text([] {
                         Graph plain;
                         output(plain, op::softmax(plain.input<float>("x", {2, 3})), "y");
                         return plain;
                       }()),
                       "axis"));
}
