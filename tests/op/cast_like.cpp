#include <halftone/op/cast_like.hpp>

#include "expanded.hpp"
#include "movement.hpp"

using namespace run_op_test;

TEST_CASE("cast like: the type is that of the other tensor, whatever it holds") {
  const Array<float> x({3}, {1.6f, -2, 300});
  check_equal<std::int32_t>(run_expanded<op::Cast>(op::CastLike{}, {x, Array<std::int32_t>({0})}),
                            {3}, {1, -2, 300});
  check_equal<half>(run_expanded<op::Cast>(op::CastLike{}, {x, array<half>({2, 2}, {1, 2, 3, 4})}),
                    {3}, doubles(array<half>({3}, {1.6, -2, 300})));
  const Array<float> large({1}, {1e6f});
  const Array<float8_e5m2> like({1});
  CHECK(doubles(run_expanded<op::Cast>(op::CastLike{}, {large, like}))[0] == 57344);
  CHECK(std::isinf(
      doubles(run_expanded<op::Cast>(op::CastLike{.saturate = false}, {large, like}))[0]));
}

TEST_CASE("cast like: a type that only the run finds") {
  const Array<float> x({3}, {1.6f, -2, 300});
  const auto like = [&](const AnyView& other) {
    return op::CastLike{}.run(std::vector<AnyView>{x, other}, 1)[0];
  };
  check_equal<std::int16_t>(like(Array<std::int16_t>({0})), {3}, {1, -2, 300});
  check_equal<bool>(like(Array<bool>({2})), {3}, {1, 1, 1});
  CHECK(like(AnyArray(TensorInfo{ElementType::string, {}})).values<String>()[2].view() == "300.0");
}
