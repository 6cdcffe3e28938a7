#include "exec/node_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

TEST_CASE("node_kernel: one type for each type variable, and the kernel of these types") {
  const Descriptor& where = descriptor<op::Where>;
  const TensorInfo flag{ElementType::boolean, {2}}, x{ElementType::float16, {2}};
  const TensorInfo in[]{flag, x, x}, out[]{x};
  const std::vector<ElementType> types = type_variables(where, in, out);
  CHECK(std::count(types.begin(), types.end(), ElementType::float16) == 1);
  CHECK(std::count(types.begin(), types.end(), ElementType::undefined) == 0);

  Graph g;
  const AnyTensor t = g.input<float>("x", {2});
  op::relu(t);
  const TensorInfo text[]{{ElementType::string, {2}}};
  const std::string error = error_of([&] { NodeKernel(g, g.nodes[0], text, text); });
  CHECK_MESSAGE(contains(error, "unsupported: "), error);
  CHECK_MESSAGE(contains(error, "string"), error);
}
