#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRID_SAMPLE_HPP
#define HALFTONE_OP_GRID_SAMPLE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone {

namespace kernel {

/// linear and cubic are what later versions call bilinear and bicubic.
enum class SampleMode : std::uint8_t { bilinear, nearest, bicubic, linear, cubic };
/// What is outside of x: zeros, its last elements, or x again, mirrored.
enum class SamplePadding : std::uint8_t { zeros, border, reflection };

// kernel/grid_sample.hpp. grid: places as numbers for each dimension of x, the last one first.
template <class T>
void grid_sample(const Executor& executor, SampleMode mode, SamplePadding padding,
                 bool aligns_corners, View<const T> x, const double* grid, View<T> y);
template <class T>
void grid_sample_gradient(const Executor& executor, SampleMode mode, SamplePadding padding,
                          bool aligns_corners, View<const T> x, View<const T> grid,
                          View<const T> dy, View<T> dx, View<T> dgrid);

}  // namespace kernel

namespace detail {
inline constexpr std::string_view sample_mode_names[] = {"bilinear", "nearest", "bicubic", "linear",
                                                         "cubic"};
inline constexpr std::string_view sample_padding_names[] = {"zeros", "border", "reflection"};
}  // namespace detail

namespace kernel {
constexpr std::span<const std::string_view> names_of(SampleMode) {
  return halftone::detail::sample_mode_names;
}
constexpr std::span<const std::string_view> names_of(SamplePadding) {
  return halftone::detail::sample_padding_names;
}
}  // namespace kernel

namespace op {
using kernel::SampleMode;
using kernel::SamplePadding;

/// Looks x up at places: y[n, c, i...] is channel c of x[n] at grid[n, i...], from the nearest
/// element or interpolated.
///
/// x       [batch, channels, spatial...], one to three spatial dimensions
/// grid    [batch, output..., spatial dimensions]: for each element of y its place, along the last
///         dimension of x first, from -1 to 1
/// y       [batch, channels, output...]
/// align_corners  1: -1 and 1 are the centres of the first and the last element; 0: the ends
/// grad    dx = dy times the weights of the interpolation, dgrid = dy times how fast they grow; 0
///         where the border is repeated
/// limits  interpolates in double (cubic: Keys with -0.75); integers are cut off. Elements are
///         nearest to a half if they are even. A place that is not a number is outside, or the
///         first element where there is no outside
/// source  ai.onnx GridSample-22, before 20 for two dimensions; Jaderberg et al. 2015,
///         arXiv:1506.02025
struct GridSample {
  SampleMode mode = SampleMode::bilinear;
  SamplePadding padding_mode = SamplePadding::zeros;
  std::int64_t align_corners = 0;

  static constexpr OpId id{"ai.onnx", "GridSample", 16, 20, 22};
  static constexpr Signature signature = "x grid:G -> y";
  using types = TypeList<Joined<NumericTypes, TypeList<bool>>, FloatTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("padding_mode", padding_mode);
    visit("align_corners", align_corners);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const bool is_cubic = mode == SampleMode::bicubic || mode == SampleMode::cubic;
    std::int64_t taps = 1;
    for (std::size_t i = 2; i < in[0].rank() && mode != SampleMode::nearest; ++i) {
      taps *= is_cubic ? 4 : 2;
    }
    halftone::detail::interpolation_cost(machine, in[0], out[0], taps, in[0].shape[0]);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo grid) {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (rank < 3 || rank > 5) {
      return Inferred::mismatch("the input has not one to three spatial dimensions",
                                rank < 3 ? 3 : 5, rank);
    }
    if (grid.rank() != x.rank()) {
      return Inferred::mismatch("input and grid have different ranks", rank,
                                static_cast<std::int64_t>(grid.rank()));
    }
    if (contradict(grid.shape.back(), rank - 2)) {
      return Inferred::mismatch("a place has not one number per spatial dimension", rank - 2,
                                grid.shape.back());
    }
    const std::int64_t batch = agree(x.shape[0], grid.shape[0]);
    if (batch == contradictory) {
      return Inferred::mismatch("input and grid have different batches", x.shape[0], grid.shape[0]);
    }
    TensorInfo y{x.type, {batch, x.shape[1]}};
    for (std::size_t i = 1; i + 1 < grid.rank(); ++i) y.shape.push_back(grid.shape[i]);
    return y;
  }
  template <class T, class G>
  void kernel(const KernelCall& call, View<const T> x, View<const G> grid, View<T> y) const {
    auto* const places = static_cast<double*>(call.workspace);
    for (std::int64_t i = 0, n = grid.size(); i < n; ++i) places[i] = static_cast<double>(grid[i]);
    kernel::grid_sample<T>(*call.executor, mode, padding_mode, align_corners != 0, x,
                           static_cast<const double*>(places), y);
  }
  template <class T, class G>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const G> grid,
                                  View<T>) const {
    return static_cast<std::size_t>(grid.size()) * sizeof(double);
  }
  constexpr void gradient(auto& g) const;
};

/// The gradients of GridSample.
///
/// sampled    the GridSample; x and grid are its inputs
/// dx, dgrid  of the shapes of x and grid
struct GridSampleGradient {
  GridSample sampled{};

  static constexpr OpId id{"halftone", "GridSampleGradient", 1};
  static constexpr Signature signature = "x grid dy -> dx dgrid";
  using types = TypeList<TypeList<float, double>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { sampled.attributes(visit); }
  constexpr void cost(auto& machine, auto in, auto) const {
    machine.repeat(2);
    sampled.cost(machine, in, in.subspan(2));
    machine.repeat(1);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo grid, TensorInfo) { return {x, grid}; }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> grid, View<const T> dy,
              View<T> dx, View<T> dgrid) const {
    kernel::grid_sample_gradient<T>(*call.executor, sampled.mode, sampled.padding_mode,
                                    sampled.align_corners != 0, x, grid, dy, dx, dgrid);
  }
};

constexpr void GridSample::gradient(auto& g) const {
  const AnyTensor x = halftone::detail::wide(g.x(0));
  const ElementType type = x.info().type;
  const auto as_x = [&](auto t) { return op::cast(t, {.to = type}); };
  const auto made = halftone::detail::record(g.graph(), GridSampleGradient{*this},
                                             {x.id, as_x(g.x(1)).id, as_x(g.dy()).id}, 2);
  for (std::size_t i = 0; i < 2; ++i) g.dx(i) += AnyTensor{&g.graph(), made[i]};
}

}  // namespace op
}  // namespace halftone

#endif
