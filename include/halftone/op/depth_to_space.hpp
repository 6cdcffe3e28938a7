#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_DEPTH_TO_SPACE_HPP
#define HALFTONE_OP_DEPTH_TO_SPACE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace op {
/// The order of the channels that become pixels: block row, block column, channel ("depth column
/// row"), or channel, block row, block column.
enum class DepthOrder : std::uint8_t { dcr, crd };
}  // namespace op

namespace detail {
inline constexpr std::string_view depth_order_names[] = {"DCR", "CRD"};

/// What both directions ask of x; empty if all is well.
constexpr Inferred check_blocks(const TensorInfo& x, std::int64_t blocksize) {
  if (x.rank() != 4) {
    return Inferred::mismatch("the input is not [batch, channels, height, width]", 4,
                              static_cast<std::int64_t>(x.rank()));
  }
  if (blocksize < 1 || blocksize > 1 << 15) {
    return Inferred::mismatch("blocksize is out of range", 1, blocksize);
  }
  return x;
}
}  // namespace detail

namespace op {
constexpr std::span<const std::string_view> names_of(DepthOrder) {
  return halftone::detail::depth_order_names;
}

/// Makes of blocksize^2 channels a block of pixels of one channel.
///
/// x       [batch, blocksize^2 * channels, height, width]
/// y       [batch, channels, height * blocksize, width * blocksize]
/// mode    which channel goes where, see DepthOrder; before opset 11 always dcr
/// source  ai.onnx DepthToSpace-13
struct DepthToSpace {
  std::int64_t blocksize = required;
  DepthOrder mode = DepthOrder::dcr;

  static constexpr OpId id{"ai.onnx", "DepthToSpace", 1, 11, 13, 28};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("blocksize", blocksize);
    visit("mode", mode);
  }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    if (const Inferred checked = halftone::detail::check_blocks(x, blocksize); !checked.ok()) {
      return checked;
    }
    const std::int64_t pixels = blocksize * blocksize;
    if (x.shape[1] != dynamic && x.shape[1] % pixels != 0) {
      return Inferred::mismatch("the square of blocksize does not divide the channels", pixels,
                                x.shape[1]);
    }
    if (x.shape[1] != dynamic) x.shape[1] /= pixels;
    for (const std::size_t i : {2u, 3u}) {
      if (x.shape[i] != dynamic) x.shape[i] = product(Dims{x.shape[i], blocksize});
    }
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const std::int64_t b = blocksize, channels = y.extent(1), height = x.extent(2);
    const std::int64_t width = x.extent(3), plane = height * width;
    const bool is_dcr = mode == DepthOrder::dcr;
    // Strides in x of a channel of y and of a row and a column of its blocks.
    const std::int64_t column = is_dcr ? channels * plane : plane;
    kernel::Box box;
    box.add(x.extent(0), channels * b * b * plane, channels * b * b * plane);
    box.add(channels, b * b * plane, is_dcr ? plane : b * b * plane);
    box.add(height, b * b * width, width);
    box.add(b, b * width, b * column);
    box.add(width, b, 1);
    box.add(b, 1, column);
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += op::space_to_depth(g.dy(), {.blocksize = blocksize, .mode = mode});
  }
};

/// Makes of a block of pixels blocksize^2 channels: DepthToSpace of the same mode takes it back.
///
/// x       [batch, channels, height, width], blocksize divides height and width
/// y       [batch, blocksize^2 * channels, height / blocksize, width / blocksize]
/// mode    which channel goes where, see DepthOrder; before opset 28 always dcr
/// source  ai.onnx SpaceToDepth-28
struct SpaceToDepth {
  std::int64_t blocksize = required;
  DepthOrder mode = DepthOrder::dcr;

  static constexpr OpId id{"ai.onnx", "SpaceToDepth", 1, 13, 28};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("blocksize", blocksize);
    visit("mode", mode);
  }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    if (const Inferred checked = halftone::detail::check_blocks(x, blocksize); !checked.ok()) {
      return checked;
    }
    for (const std::size_t i : {2u, 3u}) {
      if (x.shape[i] == dynamic) continue;
      if (x.shape[i] % blocksize != 0) {
        return Inferred::mismatch("blocksize does not divide height and width", blocksize,
                                  x.shape[i]);
      }
      x.shape[i] /= blocksize;
    }
    if (x.shape[1] != dynamic) x.shape[1] = product(Dims{x.shape[1], blocksize, blocksize});
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const std::int64_t b = blocksize, channels = x.extent(1), height = y.extent(2);
    const std::int64_t width = y.extent(3), plane = height * width;
    // The stride in y of a column of a block; one of a row is b times as long.
    const std::int64_t column = mode == DepthOrder::dcr ? channels * plane : plane;
    kernel::Box box;
    box.add(x.extent(0), channels * b * b * plane, channels * b * b * plane);
    box.add(b, b * column, b * width);
    box.add(b, column, 1);
    box.add(channels, mode == DepthOrder::dcr ? plane : b * b * plane, b * b * plane);
    box.add(height, width, b * b * width);
    box.add(width, 1, b);
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += op::depth_to_space(g.dy(), {.blocksize = blocksize, .mode = mode});
  }
};

}  // namespace op
}  // namespace halftone

#endif
