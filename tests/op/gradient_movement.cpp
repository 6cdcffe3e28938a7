#include "gradient_check.hpp"

using namespace gradient_test;

TEST_CASE("gradient of Pad") {
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    for (const std::vector<std::int64_t>& pads : {std::vector<std::int64_t>{0, 0, 1, 2, 0, 0, 3, 1},
                                                  {1, 0, 0, 2, 2, 1, 0, 0},
                                                  {0, 0, -1, 3, 0, -1, 2, -2}}) {
      check_gradients({scattered({2, 3, 5, 4}), integers(pads)},
                      [&](Graph&, auto& in) { return op::pad(in[0], in[1], {.mode = mode}); });
    }
  }
  check_gradients({scattered({2, 3}), integers({1, 2}), scattered({}), integers({1})},
                  [](Graph&, auto& in) { return op::pad(in[0], in[1], in[2], in[3]); });
}

TEST_CASE("gradient of Resize") {
  const auto check = [](const Dims& x, const std::vector<std::int64_t>& sizes,
                        const op::Resize& resize) {
    check_gradients({scattered(x), integers(sizes)},
                    [&](Graph&, auto& in) { return op::resize(in[0], none, none, in[1], resize); });
  };
  for (const auto mode : {op::ResizeMode::nearest, op::ResizeMode::linear, op::ResizeMode::cubic}) {
    check({2, 3, 4, 5}, {2, 3, 8, 10}, {.mode = mode});
    check({2, 3, 4, 5}, {2, 3, 3, 7}, {.mode = mode});
    check({2, 3, 4, 5}, {2, 3, 3, 7},
          {.mode = mode, .coordinate_transformation_mode = op::Coordinates::align_corners});
    check({1, 2, 7, 6}, {1, 2, 3, 4}, {.mode = mode, .exclude_outside = 1, .antialias = 1});
    check({2, 3, 4}, {2, 3, 4}, {.mode = mode});
    for (const auto coordinates :
         {op::Coordinates::pytorch_half_pixel, op::Coordinates::asymmetric,
          op::Coordinates::half_pixel_symmetric, op::Coordinates::tf_half_pixel_for_nn}) {
      check({2, 4, 5}, {3, 7},
            {.mode = mode, .coordinate_transformation_mode = coordinates, .axes = {-1, 1}});
      check({2, 4, 5}, {3, 7},
            {.mode = mode,
             .coordinate_transformation_mode = coordinates,
             .keep_aspect_ratio_policy = op::AspectRatio::not_smaller,
             .axes = {1, 2}});
    }
  }
  check({3, 4, 5}, {5, 7, 2}, {.mode = op::ResizeMode::linear});
  const Array<float> scales({4}, {1, 1, 2, 3});
  check_gradients({scattered({1, 2, 3, 2}), scales},
                  [](Graph&, auto& in) { return op::Upsample{}.expand(in[0], in[1]); });
  const Array<float> roi({4}, {0.1f, -0.2f, 1.3f, 0.7f});
  check_gradients({scattered({4, 5}), roi, integers({6, 7})}, [](Graph&, auto& in) {
    return op::resize(in[0], in[1], none, in[2],
                      {.mode = op::ResizeMode::linear,
                       .coordinate_transformation_mode = op::Coordinates::tf_crop_and_resize});
  });
}

TEST_CASE("gradient of DepthToSpace and SpaceToDepth") {
  for (const op::DepthOrder order : {op::DepthOrder::dcr, op::DepthOrder::crd}) {
    check_gradients({scattered({2, 8, 3, 2})}, [&](Graph&, auto& in) {
      return op::depth_to_space(in[0], {.blocksize = 2, .mode = order});
    });
  }
  for (const op::DepthOrder order : {op::DepthOrder::dcr, op::DepthOrder::crd}) {
    check_gradients({scattered({2, 2, 6, 4})}, [&](Graph&, auto& in) {
      return op::space_to_depth(in[0], {.blocksize = 2, .mode = order});
    });
  }
}
