#include "exec/kernel_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <halftone/halftone.hpp>

using namespace halftone;

TEST_CASE("kernel table: the instruction set tells how many floats a vector has") {
  // 128, 256 and 512 bits of 32 each; a build for its own machine alone counts on the first.
  const std::string set(instruction_set());
  const std::array<std::pair<const char*, std::int64_t>, 4> all{
      {{"v2", 4}, {"v3", 8}, {"v4", 16}, {"native", 4}}};
  const auto found = std::find_if(all.begin(), all.end(), [&](auto& e) { return set == e.first; });
  REQUIRE(found != all.end());
  CHECK(float_lanes() == found->second);
}

TEST_CASE("kernel table: an operator has kernels for the types that it allows, and for no other") {
  const auto has = [](const Descriptor& op, ElementType type) {
    const ElementType types[]{type};
    const Kernel kernel = find_kernel(op, types);
    return kernel.run != nullptr || kernel.block != nullptr;
  };
  for (const Descriptor* op : {&descriptor<op::Relu>, &descriptor<op::Tanh>, &descriptor<op::Add>,
                               &descriptor<op::MatMul>, &descriptor<op::BitwiseNot>}) {
    CAPTURE(op->id.name);
    for (int t = 1; t < detail::element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      CAPTURE(name(type));
      CHECK(has(*op, type) == op->allows(0, type));
    }
    CHECK_FALSE(has(*op, ElementType::undefined));
  }
}

TEST_CASE("kernel table: element-wise operators run block by block, others at once") {
  const ElementType types[]{ElementType::float32};
  CHECK(bool{find_kernel(descriptor<op::Relu>, types).block != nullptr});
  const Kernel product = find_kernel(descriptor<op::MatMul>, types);
  CHECK(bool{product.block == nullptr});
  CHECK(bool{product.run != nullptr});
  CHECK(bool{product.packed_bytes != nullptr});  // its weights may be constants
}
