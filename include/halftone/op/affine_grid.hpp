#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_AFFINE_GRID_HPP
#define HALFTONE_OP_AFFINE_GRID_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::op {

/// The places of the elements of an image, moved by a matrix: what GridSample looks up.
///
/// theta  [batch, n, n + 1], n is 2 or 3: each matrix times (x, y, 1) or (x, y, z, 1)
/// size   [batch, channels, (depth,) height, width] of the image
/// grid   [batch, (depth,) height, width, n]
/// align_corners  1: -1 and 1 are the centres of the first and the last element; 0: the ends.
///                The only element of a dimension is at 0
/// grad   of theta: the sums of dgrid times the places before they were moved
/// limits computed in double. While size is not known, neither are the grid's extents
/// source ai.onnx AffineGrid-20; Jaderberg et al. 2015, arXiv:1506.02025
struct AffineGrid {
  std::int64_t align_corners = 0;

  static constexpr OpId id{"ai.onnx", "AffineGrid", 20};
  static constexpr Signature signature = "theta size:I -> grid";
  using types = TypeList<FloatTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("align_corners", align_corners); }

  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.repeat(in[0].shape[1]);
    machine.pass("Mul", out[0]);
    machine.pass("Add", out[0]);
    machine.repeat(1);
  }
  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo& theta = in[0];
    if (theta.rank() != 3) {
      return Inferred::mismatch("theta is not a batch of matrices", 3,
                                static_cast<std::int64_t>(theta.rank()));
    }
    std::int64_t n = theta.shape[1];
    if (n == dynamic && theta.shape[2] != dynamic) n = theta.shape[2] - 1;
    if (n == dynamic && in[1].elements() != dynamic) n = in[1].elements() - 2;
    if (n == dynamic) return Inferred::unknown();
    if (n != 2 && n != 3) return Inferred::mismatch("the matrices have not 2 or 3 rows", 2, n);
    if (contradict(theta.shape[2], n + 1)) {
      return Inferred::mismatch("the matrices have not one column more than rows", n + 1,
                                theta.shape[2]);
    }
    if (in[1].rank() != 1 || contradict(in[1].shape[0], n + 2)) {
      return Inferred::mismatch("size is not that of a batch of images", n + 2, in[1].elements());
    }
    TensorInfo grid{theta.type, Dims::filled(static_cast<std::size_t>(n) + 2, dynamic)};
    grid.shape[0] = theta.shape[0];
    grid.shape.back() = n;
    const std::vector<std::int64_t> size = in.integers(1);
    if (size.empty()) return grid;
    for (const std::int64_t extent : size) {
      if (extent < 0) return Inferred::mismatch("an extent is negative", 0, extent);
    }
    if (contradict(theta.shape[0], size[0])) {
      return Inferred::mismatch("theta and size have different batches", theta.shape[0], size[0]);
    }
    grid.shape[0] = size[0];
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) grid.shape[1 + i] = size[2 + i];
    return grid;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> theta, View<const I>, View<T> grid) const {
    const std::size_t n = grid.rank - 2;
    const std::int64_t width = grid.extent(n), rows = grid.size(0, n);
    const std::int64_t image_rows = grid.size(1, n);
    kernel::parallel_for(*call.executor, rows, [&](std::int64_t row) {
      const T* const matrix =
          theta.data + row / image_rows * static_cast<std::int64_t>(n * (n + 1));
      double place[4] = {};  // the last dimension first
      std::int64_t rest = row;
      for (std::size_t d = n - 1; d > 0; --d) {
        place[n - d] = centre(rest % grid.extent(d), grid.extent(d));
        rest /= grid.extent(d);
      }
      place[n] = 1;
      T* to = grid.data + row * width * static_cast<std::int64_t>(n);
      for (std::int64_t i = 0; i < width; ++i) {
        place[0] = centre(i, width);
        for (std::size_t r = 0; r < n; ++r) {
          double total = 0;
          for (std::size_t c = 0; c <= n; ++c) {
            total += static_cast<double>(matrix[r * (n + 1) + c]) * place[c];
          }
          *to++ = static_cast<T>(static_cast<halftone::detail::Compute<T>>(total));
        }
      }
    });
  }
  constexpr void gradient(auto& g) const {
    // The places before they were moved: those that the unit matrix gives.
    const Dims shape = g.dy().info().shape;
    const std::int64_t n = shape.back(), batch = shape[0];
    std::vector<double> unit;
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c <= n; ++c) unit.push_back(r == c ? 1 : 0);
    }
    Dims size{1, 1};
    for (std::size_t i = 1; i + 1 < shape.size(); ++i) size.push_back(shape[i]);
    const auto dy = halftone::detail::wide(g.dy());
    const auto matrix = op::cast(constant(g.graph(), std::span<const double>(unit), {1, n, n + 1}),
                                 {.to = dy.info().type});
    const std::int64_t places = product(shape.span().subspan(1).first(shape.size() - 2));
    const auto grid = halftone::detail::reshaped(
        AnyTensor(op::affine_grid(matrix, constant(g.graph(), size), *this)), {places, n});
    const auto rows = op::transpose(halftone::detail::reshaped(AnyTensor(dy), {batch, places, n}),
                                    {.perm = {0, 2, 1}});
    const auto offset = op::sum(rows, constant(g.graph(), Dims{2}));
    g.dx(0) +=
        op::concat(std::array{AnyTensor(op::matmul(rows, grid)), AnyTensor(offset)}, {.axis = 2});
  }

 private:
  /// Where element i of n is between -1 and 1.
  double centre(std::int64_t i, std::int64_t n) const {
    if (n == 1) return 0;
    const auto at = static_cast<double>(i), count = static_cast<double>(n);
    return align_corners != 0 ? 2 * at / (count - 1) - 1 : (2 * at + 1) / count - 1;
  }
};

}  // namespace halftone::op

#endif
