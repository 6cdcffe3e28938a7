// A program of somebody else's, linked with the installed library: adds two vectors and catches an
// error thrown in the library.
#include <iomanip>  // first: its quoted() must not get in the way of the library's

#include <halftone/halftone.hpp>
#include <utility>

int main() {
  halftone::Graph graph;
  const auto a = halftone::input<float, halftone::Shape<3>>(graph, "a");
  const auto b = halftone::input<float, halftone::Shape<3>>(graph, "b");
  halftone::output(graph, a + b, "sum");
  halftone::Session session(std::move(graph));
  const halftone::Array<float> x({3}, {1, 2, 3}), y({3}, {10, 20, 30});
  const auto result = session.run({{"a", x}, {"b", y}});
  for (int i = 0; const float sum : result["sum"].values<float>()) {
    if (sum != static_cast<float>(11 * ++i)) return 1;
  }
  try {
    session.run({{"a", x}});
  } catch (const halftone::InputError& error) {  // the class is one on both sides
    return error.tensor().empty() ? 2 : 0;
  }
  return 3;
}
