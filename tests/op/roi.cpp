#include <halftone/op/roi.hpp>

#include <halftone/base/error.hpp>

#include "movement.hpp"

using namespace run_op_test;
using op::MaxRoiPool;
using op::RoiAlign;
using op::RoiCoordinates;
using op::RoiMode;

TEST_CASE_TEMPLATE("roi align: means of a linear function are its values at the centres", T, float,
                   double, half) {
  // x = 100 * image + 40 * channel + 2 * row + column; 20 channels are two blocks.
  Array<T> x({2, 20, 8, 12});
  for_each_index(x.info().shape, [&](const Dims& i, std::size_t at) {
    x[at] = static_cast<T>(static_cast<float>(100 * i[0] + 40 * i[1] + 2 * i[2] + i[3]));
  });
  // Inside of x, so that nothing is cut off.
  const Array<T> rois = array<T>({3, 4}, {2, 2, 8, 6, 4, 4, 12, 10, 20, 12, 22, 14});
  const Array<std::int64_t> images({3}, {1, 0, 1});
  for (const std::int64_t ratio : {0, 1, 3}) {
    for (const bool moved : {false, true}) {
      RoiAlign op{
          .output_height = 2, .output_width = 4, .sampling_ratio = ratio, .spatial_scale = 0.5f};
      if (!moved) op.coordinate_transformation_mode = RoiCoordinates::output_half_pixel;
      std::vector<double> expected;
      for_each_index({3, 20, 2, 4}, [&](const Dims& i, std::size_t) {
        const auto r = static_cast<std::size_t>(4 * i[0]);
        const std::vector<double> ends = doubles(rois);
        const double x1 = ends[r] / 2, y1 = ends[r + 1] / 2, x2 = ends[r + 2] / 2,
                     y2 = ends[r + 3] / 2;
        const double row = y1 + (static_cast<double>(i[2]) + 0.5) * (y2 - y1) / 2;
        const double column = x1 + (static_cast<double>(i[3]) + 0.5) * (x2 - x1) / 4;
        const double image = static_cast<double>(images[static_cast<std::size_t>(i[0])]);
        expected.push_back(100 * image + 40 * static_cast<double>(i[1]) + 2 * row + column -
                           (moved ? 1.5 : 0));
      });
      check_close<T>(run(op, {x, rois, images}, backwards()), expected,
                     std::is_same_v<T, double> ? 64 : 2);
    }
  }
}

TEST_CASE("roi align: points outside, the largest, small regions") {
  const Array<float> x({1, 1, 2, 2}, {1, 2, 3, 8});
  const Array<std::int64_t> image({1}, {0});
  // Wholly outside; a region without an extent has no point, unless it is made one pixel wide.
  check_equal<float>(run(RoiAlign{}, {x, Array<float>({1, 4}, {9, 9, 11, 11}), image}),
                     {1, 1, 1, 1}, {0});
  check_equal<float>(run(RoiAlign{}, {x, Array<float>({1, 4}, {1, 1, 1, 1}), image}), {1, 1, 1, 1},
                     {0});
  const RoiAlign wide{.coordinate_transformation_mode = RoiCoordinates::output_half_pixel};
  check_equal<float>(run(wide, {x, Array<float>({1, 4}, {0, 0, 0, 0}), image}), {1, 1, 1, 1},
                     {3.5});
  // A quarter of each of the four pixels.
  const RoiAlign most{.mode = RoiMode::max};
  check_equal<float>(run(most, {x, Array<float>({1, 4}, {0.5, 0.5, 1.5, 1.5}), image}),
                     {1, 1, 1, 1}, {2});
  const op::RoiAlign_10 old{};
  check_equal<float>(run_expanded<RoiAlign>(old, {x, Array<float>({1, 4}, {0, 0, 1, 1}), image}),
                     {1, 1, 1, 1}, {3.5});
  CHECK(run(RoiAlign{}, {x, Array<float>({0, 4}), Array<std::int64_t>({0})}).info().shape ==
        Dims{0, 1, 1, 1});
  CHECK_THROWS_AS(run(RoiAlign{}, {x, Array<float>({1, 4}), Array<std::int64_t>({1}, {1})}),
                  InputError);
}

TEST_CASE_TEMPLATE("max roi pool: parts of regions by their definition", T, float, double, half) {
  const Array<T> x = counted<T>({2, 3, 6, 7});
  const Array<T> rois = array<T>({4, 5}, {1, 2,  2,  9,  7,   //
                                          0, 0,  0,  13, 11,  //
                                          0, 4,  4,  4,  4,   //
                                          1, 30, 30, 40, 40});
  const AnyArray y =
      run(MaxRoiPool{.pooled_shape = {2, 3}, .spatial_scale = 0.5f}, {x, rois}, backwards());
  std::vector<double> expected;
  for_each_index({4, 3, 2, 3}, [&](const Dims& i, std::size_t) {
    const std::vector<double> v = doubles(rois), pixels = doubles(x);
    const auto r = static_cast<std::size_t>(5 * i[0]);
    const auto end = [&](std::size_t k) { return std::round(v[r + k] / 2); };
    const double high = std::max(end(4) - end(2) + 1, 1.0) / 2;
    const double wide = std::max(end(3) - end(1) + 1, 1.0) / 3;
    double most = -1;
    for (std::int64_t row = 0; row < 6; ++row) {
      for (std::int64_t column = 0; column < 7; ++column) {
        const auto is_in = [](std::int64_t at, std::int64_t part, double start, double size) {
          const double a = static_cast<double>(at), p = static_cast<double>(part);
          return a >= start + std::floor(p * size) && a < start + std::ceil((p + 1) * size);
        };
        if (!is_in(row, i[2], end(2), high) || !is_in(column, i[3], end(1), wide)) continue;
        most = std::max(
            most,
            pixels[position({2, 3, 6, 7}, {static_cast<std::int64_t>(v[r]), i[1], row, column})]);
      }
    }
    expected.push_back(most < 0 ? 0 : most);
  });
  check_equal<T>(y, {4, 3, 2, 3}, expected);
}

TEST_CASE("regions: what does not fit") {
  const Array<float> x({1, 1, 2, 2}), rois({3, 4});
  const Array<std::int64_t> images({3});
  CHECK(reason(RoiAlign{}, {x, rois, Array<std::int64_t>({2})}) ==
        "there is not one batch index per region");
  CHECK(reason(RoiAlign{}, {x, Array<float>({3, 5}), images}) ==
        "a region has another number of coordinates");
  CHECK(reason(RoiAlign{.output_height = 0}, {x, rois, images}) ==
        "the output extents are out of range");
  CHECK(reason(RoiAlign{.sampling_ratio = -1}, {x, rois, images}) ==
        "sampling_ratio is out of range");
  CHECK(reason(MaxRoiPool{}, {x, rois}) == "pooled_shape is not height and width");
  CHECK(reason(MaxRoiPool{.pooled_shape = {1, 1}}, {x, rois}) ==
        "a region has another number of coordinates");
  CHECK_THROWS_AS(
      run(MaxRoiPool{.pooled_shape = {1, 1}}, {x, Array<float>({1, 5}, {-1, 0, 0, 1, 1})}),
      InputError);
}

TEST_CASE("regions: no operator claims a gradient") {
  // RoiAlign has none, and RoiAlign-10 is recorded as RoiAlign.
  CHECK_FALSE(descriptor<RoiAlign>.has_gradient);
  CHECK_FALSE(descriptor<op::RoiAlign_10>.has_gradient);
}
