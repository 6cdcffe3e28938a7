#include <halftone/op/grid_sample.hpp>

#include <halftone/base/error.hpp>

#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::GridSample;
using op::SampleMode;
using op::SamplePadding;

namespace {

/// x of ONNX's examples, 3 rows of 2, at places whose two coordinates are the same.
std::vector<double> example(const GridSample& op, const std::vector<double>& places) {
  std::vector<double> grid;
  for (const double v : places) grid.insert(grid.end(), 2, v);
  const auto n = static_cast<std::int64_t>(places.size());
  return doubles(run(
      op, {array<double>({1, 1, 3, 2}, {0, 1, 2, 3, 4, 5}), array<double>({1, 1, n, 2}, grid)}));
}
void near(const std::vector<double>& y, const std::vector<double>& expected) {
  REQUIRE(y.size() == expected.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-4));
}

}  // namespace

TEST_CASE("gridsample: many points are as each of them alone") {
  const Array<float> x = scattered<float>({2, 3, 9, 7}, -1, 1);
  const Dims places{2, 19, 17, 2};
  const Array<float> grid = scattered<float>(places, -1.3, 1.3);
  for (const op::SampleMode mode :
       {op::SampleMode::linear, op::SampleMode::nearest, op::SampleMode::cubic}) {
    for (const op::SamplePadding padding :
         {op::SamplePadding::zeros, op::SamplePadding::border, op::SamplePadding::reflection}) {
      const op::GridSample sample{.mode = mode, .padding_mode = padding};
      const std::vector<double> all = doubles(run(sample, {x, grid}));
      for (std::int64_t i = 0; i < 19 * 17; i += 5) {
        Array<float> one({2, 1, 1, 2});
        for (std::size_t n = 0; n < 2; ++n) {
          for (std::size_t k = 0; k < 2; ++k) {
            one[2 * n + k] = grid[(n * 19 * 17 + static_cast<std::size_t>(i)) * 2 + k];
          }
        }
        const std::vector<double> y = doubles(run(sample, {x, one}));
        for (std::size_t plane = 0; plane < 6; ++plane) {
          CHECK(y[plane] == all[plane * 19 * 17 + static_cast<std::size_t>(i)]);
        }
      }
    }
  }
}

TEST_CASE("grid sample: examples of the ONNX specification, which are PyTorch's") {
  const std::vector<double> far{-10, -5, -0.2, 10, 5}, close{-1, -0.5, -0.2, 0, 0.5, 1};
  near(example({}, far), {0, 0, 1.7, 0, 0});
  near(example({.padding_mode = SamplePadding::border}, far), {0, 0, 1.7, 5, 5});
  near(example({.padding_mode = SamplePadding::reflection}, far), {2.5, 0, 1.7, 2.5, 5});
  near(example({}, close), {0, 0.5, 1.7, 2.5, 4.5, 1.25});
  near(example({.align_corners = 1}, close), {0, 1.25, 2, 2.5, 3.75, 5});
  near(example({.mode = SampleMode::nearest}, close), {0, 0, 2, 2, 5, 0});
  near(example({.mode = SampleMode::bicubic}, close),
       {-0.1406, 0.3828, 1.7556, 2.9688, 5.1445, 1.3906});
}

TEST_CASE_TEMPLATE("grid sample: the centres of the elements give x", T, float, half, bfloat16,
                   std::uint8_t, std::int64_t, bool) {
  const Dims shape{2, 3, 4, 2, 5};
  const Array<T> x = counted<T>(shape);
  for (const bool aligns : {false, true}) {
    Array<double> grid({2, 4, 2, 5, 3});
    std::size_t at = 0;
    for_each_index({2, 4, 2, 5}, [&](const Dims& i, std::size_t) {
      for (std::size_t d = 3; d > 0; --d) {
        const double n = static_cast<double>(shape[1 + d]), k = static_cast<double>(i[d]);
        grid[at++] = aligns ? 2 * k / (n - 1) - 1 : (2 * k + 1) / n - 1;
      }
    });
    for (const SampleMode mode : {SampleMode::linear, SampleMode::nearest, SampleMode::cubic}) {
      for (const SamplePadding padding :
           {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection}) {
        const AnyArray y =
            run(GridSample{.mode = mode, .padding_mode = padding, .align_corners = aligns},
                {x, grid}, backwards());
        CHECK(y.info() == x.info());
        if constexpr (real<T>) {
          check_close<T>(y, doubles(x), 1, 1e-12);
        } else {
          CHECK(doubles(y) == doubles(x));
        }
      }
    }
  }
}

TEST_CASE("grid sample: one dimension, half a grid, strange places and empty tensors") {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const Array<float> x({1, 1, 4}, {1, 2, 3, 4});
  const Array<half> grid = array<half>({1, 6, 1}, {-0.75, 0, nan, infinity, -infinity, 1});
  check_equal<float>(run(GridSample{}, {x, grid}), {1, 1, 6}, {1, 2.5, 0, 0, 0, 2});
  check_equal<float>(run(GridSample{.padding_mode = SamplePadding::border}, {x, grid}), {1, 1, 6},
                     {1, 2.5, 1, 4, 1, 4});
  for (const double v :
       doubles(run(GridSample{.padding_mode = SamplePadding::reflection}, {x, grid}))) {
    CHECK((v >= 1 && v <= 4));
  }
  CHECK(run(GridSample{}, {Array<float>({0, 1, 4}), Array<float>({0, 6, 1})}).info().shape ==
        Dims{0, 1, 6});
  check_equal<float>(run(GridSample{.padding_mode = SamplePadding::border},
                         {Array<float>({1, 1, 0}), Array<float>({1, 1, 1})}),
                     {1, 1, 1}, {0});
}

TEST_CASE("grid sample: what does not fit") {
  const Array<float> x({1, 1, 2, 2});
  CHECK(reason(GridSample{}, {x, Array<float>({1, 2, 2})}) ==
        "input and grid have different ranks");
  CHECK(reason(GridSample{}, {x, Array<float>({1, 2, 2, 3})}) ==
        "a place has not one number per spatial dimension");
  CHECK(reason(GridSample{}, {x, Array<float>({2, 2, 2, 2})}) ==
        "input and grid have different batches");
  CHECK(reason(GridSample{}, {Array<float>({1, 2}), Array<float>({1, 2})}) ==
        "the input has not one to three spatial dimensions");
}

TEST_CASE("grid sample: gradients") {
  using gradient_test::scattered;
  for (const SamplePadding padding :
       {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection}) {
    for (const std::int64_t aligns : {0, 1}) {
      for (const SampleMode mode : {SampleMode::linear, SampleMode::nearest, SampleMode::cubic}) {
        const GridSample sampled{.mode = mode, .padding_mode = padding, .align_corners = aligns};
        const auto record = [&](Graph&, auto& in) {
          return op::grid_sample(in[0], in[1], sampled);
        };
        gradient_test::check_gradients(
            {scattered({2, 3, 4, 5}), scattered({2, 3, 2, 2}, -1.4, 1.4, 5)}, record);
        gradient_test::check_gradients({scattered({1, 2, 5}), scattered({1, 4, 1}, -1.4, 1.4, 9)},
                                       record);
        gradient_test::check_gradients(
            {scattered({1, 18, 2, 3, 2}), scattered({1, 2, 1, 2, 3}, -1.3, 1.3, 3)}, record);
      }
    }
  }
}
