#include <halftone/op/resize.hpp>

#include "movement.hpp"

using namespace run_op_test;
using op::AspectRatio;
using op::Coordinates;
using op::NearestMode;
using op::Resize;
using op::ResizeMode;

namespace {

const AnyArray none_given = absent();

Array<float> floats(const std::vector<float>& values) {
  return Array<float>({static_cast<std::int64_t>(values.size())}, values);
}

/// A vector of numbers, resized.
std::vector<double> line(const Resize& op, const std::vector<double>& x, float scale) {
  const Array<double> v = array<double>({static_cast<std::int64_t>(x.size())}, x);
  return doubles(run(op, {v, none_given, floats({scale})}));
}
std::vector<double> line(const Resize& op, const std::vector<double>& x, std::int64_t size) {
  const Array<double> v = array<double>({static_cast<std::int64_t>(x.size())}, x);
  return doubles(run(op, {v, none_given, none_given, indices({size})}));
}
std::vector<double> near(const std::vector<double>& y) {
  std::vector<double> rounded;
  for (const double v : y) rounded.push_back(std::round(v * 1e6) / 1e6);
  return rounded;
}
using List = std::vector<double>;

}  // namespace

TEST_CASE("resize: coordinates and rounding by their formulas") {
  const List x{1, 2, 3, 4};
  const auto nearest = [&](Coordinates c, NearestMode n, auto to) {
    return line(Resize{.coordinate_transformation_mode = c, .nearest_mode = n}, x, to);
  };
  using enum Coordinates;
  using enum NearestMode;
  const std::int64_t eight = 8;
  CHECK(nearest(half_pixel, round_prefer_floor, 2.f) == List{1, 1, 2, 2, 3, 3, 4, 4});
  // (i + 0.5) / 1.5 - 0.5 = -1/6, 0.5, 7/6, 11/6, 2.5, 19/6: the halves tell.
  CHECK(nearest(half_pixel, round_prefer_floor, 1.5f) == List{1, 1, 2, 3, 3, 4});
  CHECK(nearest(half_pixel, round_prefer_ceil, 1.5f) == List{1, 2, 2, 3, 4, 4});
  CHECK(nearest(half_pixel, floor, 1.5f) == List{1, 1, 2, 2, 3, 4});
  CHECK(nearest(half_pixel, ceil, 1.5f) == List{1, 2, 3, 3, 4, 4});
  // ONNX's examples: i * 3 / 7 and i / 2.
  CHECK(nearest(align_corners, floor, eight) == List{1, 1, 1, 2, 2, 3, 3, 4});
  CHECK(nearest(asymmetric, round_prefer_ceil, eight) == List{1, 2, 2, 3, 3, 4, 4, 4});
  CHECK(nearest(tf_half_pixel_for_nn, floor, 0.5f) == List{2, 4});
  CHECK(nearest(asymmetric, simple, 0.6f) == List{1, 3});
  CHECK(nearest(asymmetric, simple, 2.f) == List{1, 1, 2, 2, 3, 3, 4, 4});
  // A third is not a float, but every third element is every third element.
  CHECK(line(Resize{.coordinate_transformation_mode = asymmetric, .nearest_mode = floor},
             {0, 1, 2, 3, 4, 5, 6, 7, 8}, 1 / 3.f) == List{0, 3, 6});
  CHECK(nearest(pytorch_half_pixel, floor, std::int64_t{1}) == List{1});
  CHECK(nearest(half_pixel, floor, std::int64_t{1}) == List{2});
  const auto linear = [&](Coordinates c, auto to) {
    return near(
        line(Resize{.mode = ResizeMode::linear, .coordinate_transformation_mode = c}, x, to));
  };
  CHECK(linear(half_pixel, 2.f) == List{1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  CHECK(linear(asymmetric, 2.f) == List{1, 1.5, 2, 2.5, 3, 3.5, 4, 4});
  CHECK(linear(align_corners, std::int64_t{7}) == List{1, 1.5, 2, 2.5, 3, 3.5, 4});
  // ONNX's example: y has 2.4 elements before it is rounded.
  CHECK(linear(align_corners, 0.6f) == List{1, 3.142857});
  CHECK(linear(align_corners, std::int64_t{1}) == List{1});
  // y has two elements of 2.4: the centre of x, 1.5, is between them; they are 1 / 0.6 apart.
  CHECK(linear(half_pixel_symmetric, 0.6f) == List{1.666667, 3.333333});
}

TEST_CASE("resize: cubic by Keys' polynomial, antialiasing by the stretched one") {
  const List x{1, -2, 3, 5, 8, 4, 0, 7, 6, 2, 9};
  const auto n = static_cast<std::int64_t>(x.size());
  for (const bool antialias : {false, true}) {
    for (const bool excludes : {false, true}) {
      for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
        for (const std::int64_t size : {1, 2, 4, 7, 11, 12, 25}) {
          const double scale = static_cast<double>(size) / static_cast<double>(n);
          const double stretch = antialias && scale < 1 ? scale : 1, a = -0.5;
          List expected;
          for (std::int64_t i = 0; i < size; ++i) {
            const double place = (static_cast<double>(i) + 0.5) / scale - 0.5;
            double sum = 0, weights = 0;
            for (std::int64_t k = -40; k <= 50; ++k) {
              const double t = std::fabs(static_cast<double>(k) - place) * stretch;
              double w = t < 1 ? 1 - t : 0;
              if (mode == ResizeMode::cubic) {
                w = t < 1   ? (a + 2) * t * t * t - (a + 3) * t * t + 1
                    : t < 2 ? a * (t * t * t - 5 * t * t + 8 * t - 4)
                            : 0;
              }
              if (excludes && (k < 0 || k >= n)) continue;
              sum += w * x[static_cast<std::size_t>(std::min(std::max<std::int64_t>(k, 0), n - 1))];
              weights += w;
            }
            expected.push_back(sum / weights);
          }
          const Resize op{.mode = mode,
                          .cubic_coeff_a = -0.5f,
                          .exclude_outside = excludes,
                          .antialias = antialias};
          CHECK(near(line(op, x, size)) == near(expected));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("resize: dimensions one after the other", T, float, half, bfloat16, std::uint8_t,
                   std::int32_t) {
  // Bilinear interpolation of a linear function is that function, inside.
  const Dims shape{2, 4, 3, 5};
  Array<T> x(shape);
  for_each_index(shape, [&](const Dims& i, std::size_t at) {
    x[at] = static_cast<T>(static_cast<float>(i[0] * 50 + i[1] * 8 + i[2] * 16 + i[3] * 4));
  });
  const Resize op{.mode = ResizeMode::linear,
                  .coordinate_transformation_mode = Coordinates::align_corners};
  const AnyArray y = run(op, {x, none_given, none_given, indices({2, 2, 5, 9})}, backwards());
  List expected;
  for_each_index({2, 2, 5, 9}, [&](const Dims& i, std::size_t) {
    expected.push_back(static_cast<double>(i[0] * 50 + i[1] * 24 + i[2] * 8 + i[3] * 2));
  });
  check_equal<T>(y, {2, 2, 5, 9}, expected);
  // Only some axes, and a shape with the channels last.
  const Resize some{.mode = ResizeMode::linear,
                    .coordinate_transformation_mode = Coordinates::align_corners,
                    .axes = {-2, 1}};
  const AnyArray z = run(some, {x, none_given, none_given, indices({5, 7})});
  expected.clear();
  for_each_index({2, 7, 5, 5}, [&](const Dims& i, std::size_t) {
    expected.push_back(static_cast<double>(i[0] * 50 + i[1] * 4 + i[2] * 8 + i[3] * 4));
  });
  check_equal<T>(z, {2, 7, 5, 5}, expected);
  // Nothing changes.
  const AnyArray same =
      run(Resize{.mode = ResizeMode::cubic}, {x, none_given, floats({1, 1, 1, 1})});
  CHECK(doubles(same) == doubles(x));
}

TEST_CASE("resize: integers are cut off and stay in their range") {
  const Array<std::uint8_t> x = array<std::uint8_t>({4}, {255, 255, 0, 0});
  const Resize linear{.mode = ResizeMode::linear}, cubic{.mode = ResizeMode::cubic};
  CHECK(doubles(run(linear, {x, none_given, floats({2})})) ==
        List{255, 255, 255, 191, 63, 0, 0, 0});
  // 255 * (1 - 29/128) and 255 * 29/128; overshoots above and below.
  const List y = doubles(run(cubic, {x, none_given, floats({2})}));
  CHECK(y == List{255, 255, 255, 197, 57, 0, 0, 0});
  // A flat picture stays as it is, whatever the weights add up to.
  const Array<std::int64_t> flat({7}, std::vector<std::int64_t>(7, 7));
  for (const std::int64_t size : {3, 5, 11, 23}) {
    CHECK(doubles(run(cubic, {flat, none_given, none_given, indices({size})})) ==
          List(static_cast<std::size_t>(size), 7));
  }
}

TEST_CASE_TEMPLATE("resize: nearest moves elements of every size", T, bool, std::uint8_t, half,
                   float, double) {
  const Array<T> x = counted<T>({2, 3, 4, 5});
  const Resize op{.coordinate_transformation_mode = Coordinates::asymmetric,
                  .nearest_mode = NearestMode::floor};
  for (const Dims& scales :
       {Dims{1, 1, 2, 3}, Dims{1, 2, 1, 1}, Dims{3, 1, 2, 1}, Dims{1, 1, 1, 1}, Dims{1, 1, 1, 4}}) {
    Dims shape;
    std::vector<float> factors;
    for (std::size_t d = 0; d < 4; ++d) {
      shape.push_back(x.info().shape[d] * scales[d]);
      factors.push_back(static_cast<float>(scales[d]));
    }
    check_moved(
        run(op, {x, none_given, floats(factors)}, backwards()), shape, x, [&](const Dims& i) {
          return Dims{i[0] / scales[0], i[1] / scales[1], i[2] / scales[2], i[3] / scales[3]};
        });
  }
}

TEST_CASE_TEMPLATE("resize: a region of interest, and what is outside of x", R, float, double,
                   half) {
  const Array<float> x({1, 4}, {1, 2, 3, 4});
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    const Resize op{.mode = mode,
                    .coordinate_transformation_mode = Coordinates::tf_crop_and_resize,
                    .extrapolation_value = 10};
    // Places 1.5 + i * 0.75, of which the last, 3.75, is outside.
    const Array<R> roi = array<R>({4}, {0, 0.5, 1, 1.25});
    const AnyArray y = run(op, {x, roi, none_given, indices({1, 4})});
    const List found = near(doubles(y));
    if (mode == ResizeMode::nearest) CHECK(found == List{2, 3, 4, 10});
    if (mode == ResizeMode::linear) CHECK(found == List{2.5, 3.25, 4, 10});
    CHECK(found[3] == 10);
    // Backwards, and x itself.
    CHECK(doubles(run(op, {x, array<R>({4}, {0, 1, 0, 0}), floats({1, 1})})) == List{4, 3, 2, 1});
    CHECK(doubles(run(op, {x, array<R>({4}, {0, 0, 1, 1}), floats({1, 1})})) == List{1, 2, 3, 4});
  }
}

TEST_CASE("resize: the extents of y") {
  const Array<float> x({1, 3, 10, 20});
  const auto shape = [&](const Resize& op, const std::vector<AnyArray>& in) {
    return infer(op, in).outputs[0].shape;
  };
  // In float 10 * 0.7 is 7.
  CHECK(shape({}, {x, none_given, floats({1, 1, 0.7f, 1.26f})}) == Dims{1, 3, 7, 25});
  CHECK(shape({}, {x, Array<float>({0}), Array<float>({0}), indices({1, 3, 5, 7})}) ==
        Dims{1, 3, 5, 7});
  Resize ratio{.keep_aspect_ratio_policy = AspectRatio::not_larger, .axes = {2, 3}};
  CHECK(shape(ratio, {x, none_given, none_given, indices({7, 9})}) == Dims{1, 3, 5, 9});
  ratio.keep_aspect_ratio_policy = AspectRatio::not_smaller;
  CHECK(shape(ratio, {x, none_given, none_given, indices({7, 9})}) == Dims{1, 3, 7, 14});
  CHECK(run(ratio, {x, none_given, none_given, indices({7, 9})}).info().shape == Dims{1, 3, 7, 14});
  CHECK(run(Resize{}, {Array<float>({0, 3}), none_given, floats({2, 2})}).info().shape ==
        Dims{0, 6});
  CHECK(run(Resize{}, {Array<float>({4, 3}), none_given, floats({0.1f, 2})}).info().shape ==
        Dims{0, 6});
  CHECK(run(Resize{}, {Array<float>({}, {3}), none_given, none_given, Array<std::int64_t>({0})})
            .info()
            .shape == Dims{});
}

TEST_CASE("resize: what does not fit") {
  const Array<float> x({2, 4});
  CHECK(reason(Resize{}, {x}) == "neither scales nor sizes are given");
  CHECK(reason(Resize{}, {x, none_given, floats({1, 2}), indices({1, 2})}) ==
        "both scales and sizes are given");
  CHECK(reason(Resize{}, {x, none_given, floats({1})}) ==
        "scales or sizes need one number per dimension");
  CHECK(reason(Resize{}, {x, none_given, floats({0, 1})}) == "a scale is out of range");
  CHECK(reason(Resize{}, {x, none_given, none_given, indices({-1, 1})}) == "a size is negative");
  CHECK(reason(Resize{.axes = {2}}, {x, none_given, floats({1})}) == "axis is out of range");
  CHECK(reason(Resize{}, {Array<float>({0, 4}), none_given, none_given, indices({1, 1})}) ==
        "there is no element to repeat");
  CHECK(reason(Resize{.coordinate_transformation_mode = Coordinates::tf_crop_and_resize},
               {x, none_given, floats({1, 1})}) == "roi needs two numbers per dimension");
}

TEST_CASE("resize: older versions") {
  const Array<float> x({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), down = floats({1, 1, 0.6f, 0.6f});
  // Examples of the ONNX specification.
  CHECK(doubles(run_expanded<Resize>(op::Resize_10{}, {x, down})) == List{1, 3});
  CHECK(near(doubles(run_expanded<Resize>(op::Resize_10{.mode = ResizeMode::linear}, {x, down}))) ==
        List{1, 2.666667});
  const Array<float> square({1, 1, 2, 2}, {1, 2, 3, 4});
  const List up{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4};
  CHECK(doubles(run_expanded<Resize>(op::Upsample{}, {square, floats({1, 1, 2, 3})})) == up);
  CHECK(doubles(run_expanded<Resize>(op::Upsample_7{.scales = {1, 1, 2, 3}}, {square})) == up);
  CHECK(doubles(run_expanded<Resize>(op::Upsample_1{.height_scale = 2, .width_scale = 3},
                                     {square})) == up);
  CHECK(doubles(run_expanded<Resize>(
            op::Upsample_1{.mode = op::UpsampleMode::bilinear, .height_scale = 1, .width_scale = 2},
            {square})) == List{1, 1.5, 2, 2, 3, 3.5, 4, 4});
}
