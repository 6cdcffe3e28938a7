#include <halftone/op/identity.hpp>

#include "movement.hpp"

using namespace run_op_test;

static_assert(slots_of<op::Identity>.output(0).shares == 0);
static_assert(std::is_same_v<result<op::Identity{}, Tensor<bool, halftone::Shape<2, dynamic>>>,
                             Tensor<bool, halftone::Shape<2, dynamic>>>);

TEST_CASE("identity: any element type") {
  for (const ElementType type : {ElementType::boolean, ElementType::float16, ElementType::int64,
                                 ElementType::float8_e5m2, ElementType::float64}) {
    CHECK(infer(op::Identity{}, {AnyArray({type, {2, 0}})}).outputs[0] == TensorInfo{type, {2, 0}});
  }
}
