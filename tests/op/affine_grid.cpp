#include <halftone/op/affine_grid.hpp>

#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::AffineGrid;

TEST_CASE_TEMPLATE("affine grid: the formula", T, float, double, half) {
  for (const bool aligns : {false, true}) {
    for (const Dims& size : {Dims{2, 3, 4, 5}, Dims{2, 1, 2, 3, 4}, Dims{2, 1, 1, 6}}) {
      const auto n = static_cast<std::int64_t>(size.size()) - 2;
      const Array<T> theta = scattered<T>({2, n, n + 1}, -1, 1);
      const std::vector<double> m = doubles(theta);
      Dims shape{2};
      for (std::size_t i = 2; i < size.size(); ++i) shape.push_back(size[i]);
      shape.push_back(n);
      std::vector<double> expected;
      for_each_index(shape, [&](const Dims& at, std::size_t) {
        const auto row = static_cast<std::size_t>(at.back());
        const auto columns = static_cast<std::size_t>(n) + 1;
        const double* const line = &m[(static_cast<std::size_t>(at[0] * n) + row) * columns];
        double value = line[n];
        for (std::size_t d = 0; d + 1 < columns; ++d) {  // x is along the last dimension
          const std::size_t axis = columns - 1 - d;
          const auto i = static_cast<double>(at[axis]), extent = static_cast<double>(shape[axis]);
          const double place = shape[axis] == 1 ? 0
                               : aligns         ? -1 + 2 * i / (extent - 1)
                                                : -1 + (2 * i + 1) / extent;
          value += line[d] * place;
        }
        expected.push_back(value);
      });
      const AnyArray grid =
          run(AffineGrid{.align_corners = aligns},
              {theta, Array<std::int64_t>({n + 2}, std::vector(size.begin(), size.end()))},
              backwards());
      CHECK(grid.info().shape == shape);
      check_close<T>(grid, expected, 2, 1e-7);
    }
  }
}

TEST_CASE("affine grid: an example of ONNX") {
  const Array<float> theta({1, 2, 3}, {1.0889f, -3.288f, 5, 2.0223f, 1.096f, -3.3f});
  const std::vector<double> y = doubles(run(AffineGrid{}, {theta, indices({1, 3, 5, 6})}));
  const double expected[] = {6.723, -5.862, 7.086, -5.188, 7.449, -4.514};
  for (std::size_t i = 0; i < 6; ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-3));
}

TEST_CASE("affine grid: gradient, and what does not fit") {
  for (const bool aligns : {false, true}) {
    for (const std::vector<std::int64_t>& size :
         {std::vector<std::int64_t>{2, 1, 3, 4}, {2, 1, 2, 3, 2}}) {
      const auto n = static_cast<std::int64_t>(size.size()) - 2;
      gradient_test::check_gradients(
          {gradient_test::scattered({2, n, n + 1}), gradient_test::integers(size)},
          [&](Graph&, auto& in) {
            return op::affine_grid(in[0], in[1], {.align_corners = aligns});
          });
    }
  }
  const Array<float> theta({1, 2, 3});
  CHECK(reason(AffineGrid{}, {theta, indices({1, 1, 2, 2, 2})}) ==
        "size is not that of a batch of images");
  CHECK(reason(AffineGrid{}, {theta, indices({2, 1, 2, 2})}) ==
        "theta and size have different batches");
  CHECK(reason(AffineGrid{}, {Array<float>({1, 2, 4}), indices({1, 1, 2, 2})}) ==
        "the matrices have not one column more than rows");
  CHECK(reason(AffineGrid{}, {theta, indices({1, 1, -2, 2})}) == "an extent is negative");
}
