#include <halftone/op/depth_to_space.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("depth to space: where each element comes from", T, std::uint8_t, half, float,
                   std::int64_t) {
  for (const std::int64_t b : {1, 2, 3}) {
    const Dims shape{2, 5 * b * b, 3, 4}, moved{2, 5, 3 * b, 4 * b};
    const Array<T> x = counted<T>(shape);
    const AnyArray dcr = run(op::DepthToSpace{.blocksize = b}, {x}, backwards());
    check_moved(dcr, moved, x, [&](const Dims& i) {
      return Dims{i[0], (i[2] % b * b + i[3] % b) * 5 + i[1], i[2] / b, i[3] / b};
    });
    const AnyArray crd = run(op::DepthToSpace{.blocksize = b, .mode = op::DepthOrder::crd}, {x});
    check_moved(crd, moved, x, [&](const Dims& i) {
      return Dims{i[0], i[1] * b * b + i[2] % b * b + i[3] % b, i[2] / b, i[3] / b};
    });
    // Space to depth is the way back.
    const auto same = [](const Dims& i) { return i; };
    check_moved(run(op::SpaceToDepth{.blocksize = b}, {dcr}), shape, x, same);
    check_moved(run(op::SpaceToDepth{.blocksize = b, .mode = op::DepthOrder::crd}, {crd}), shape, x,
                same);
  }
}

TEST_CASE("depth to space: empty tensors, and what does not fit") {
  const Array<float> x({1, 4, 3, 4});
  CHECK(run(op::DepthToSpace{.blocksize = 2}, {Array<float>({0, 4, 3, 4})}).info().shape ==
        Dims{0, 1, 6, 8});
  CHECK(run(op::SpaceToDepth{.blocksize = 2}, {Array<float>({1, 2, 0, 4})}).info().shape ==
        Dims{1, 8, 0, 2});
  CHECK(reason(op::DepthToSpace{.blocksize = 3}, {x}) ==
        "the square of blocksize does not divide the channels");
  CHECK(reason(op::SpaceToDepth{.blocksize = 2}, {x}) ==
        "blocksize does not divide height and width");
  CHECK(reason(op::SpaceToDepth{.blocksize = 0}, {x}) == "blocksize is out of range");
  CHECK(reason(op::SpaceToDepth{.blocksize = 2}, {Array<float>({4, 4})}) ==
        "the input is not [batch, channels, height, width]");
}
