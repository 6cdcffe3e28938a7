#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_COL2IM_HPP
#define HALFTONE_OP_COL2IM_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {
// kernel/columns.hpp. A column has one element of the window at all of its positions.
template <class T, class S>
void add_columns(const Window& window, const std::int64_t* image, const std::int64_t* positions,
                 const T* columns, S* pixels);
template <class T>
void copy_column(const Window& window, const std::int64_t* image, const std::int64_t* positions,
                 std::int64_t element, const T* pixels, T* to);
}  // namespace halftone::kernel

namespace halftone::detail {

/// Blocks of images as columns.
struct ImageBlocks {
  Window window{};

  /// The window of blocks over an image; extents of the image may be `dynamic`.
  constexpr ImageBlocks(std::span<const std::int64_t> image, const Dims& block, const Dims& strides,
                        const Pads& pads, const Dims& dilations)
      : window(Window::over(
            image, {.kernel = block, .strides = strides, .dilations = dilations, .pads = pads})) {}

  std::int64_t elements() const { return product(window.kernel.span()); }
  std::int64_t blocks() const { return product(window.output.span()); }
};

}  // namespace halftone::detail

namespace halftone::op {

/// Adds the elements of blocks up to the images that they were taken from, where they overlap.
///
/// x            [batch, channels * elements of a block, blocks]
/// image_shape  the spatial extents of y
/// block_shape  the spatial extents of a block
/// y            [batch, channels, image_shape...]
/// strides, pads, dilations  from one block to the next, around the image, and within a block
/// grad         dx = the blocks of dy
/// limits       half and bfloat16 are added in float; integers wrap. While the shapes are not
///              known, neither are y's extents
/// source       ai.onnx Col2Im-18
struct Col2Im {
  Dims dilations{}, strides{};
  Pads pads{};

  static constexpr OpId id{"ai.onnx", "Col2Im", 18};
  static constexpr Signature signature = "x image_shape:I block_shape:I -> y";
  using types = TypeList<NumericTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("dilations", dilations);
    visit("strides", strides);
    visit("pads", pads);
  }
  static constexpr void cost(auto& machine, auto in, auto) { machine.pass("Add", in[0]); }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() != 3) {
      return Inferred::mismatch("the input is not [batch, elements of blocks, blocks]", 3,
                                static_cast<std::int64_t>(x.rank()));
    }
    for (const std::size_t i : {1, 2}) {
      if (in[i].rank() != 1) {
        return Inferred::mismatch("a shape is not a vector", 1,
                                  static_cast<std::int64_t>(in[i].rank()));
      }
    }
    const std::int64_t rank = agree(in[1].shape[0], in[2].shape[0]);
    if (rank == contradictory) {
      return Inferred::mismatch("image and block have different numbers of dimensions",
                                in[1].shape[0], in[2].shape[0]);
    }
    if (rank == dynamic) return Inferred::unknown();
    const auto most = static_cast<std::int64_t>(max_rank) - 2;
    if (rank < 1 || rank > most) {
      return Inferred::mismatch("the number of spatial dimensions is out of range", most, rank);
    }
    TensorInfo y{x.type, Dims::filled(static_cast<std::size_t>(rank) + 2, dynamic)};
    y.shape[0] = x.shape[0];
    if (!in.is_constant(2)) return y;
    const std::vector<std::int64_t> given = in.integers(2), image = in.integers(1);
    const Dims block(given);
    for (const std::int64_t extent : block) {
      if (extent < 1)
        return Inferred::mismatch("an extent of the block is not positive", 1, extent);
    }
    const std::int64_t elements = product(block.span());
    if (x.shape[1] != dynamic) {
      if (x.shape[1] % elements != 0) {
        return Inferred::mismatch("the elements of a block do not divide the dimension of channels",
                                  elements, x.shape[1]);
      }
      y.shape[1] = x.shape[1] / elements;
    }
    if (!in.is_constant(1)) return y;
    for (const std::int64_t extent : image) {
      if (extent < 0) return Inferred::mismatch("an extent is negative", 0, extent);
    }
    const halftone::detail::ImageBlocks blocks(image, block, strides, pads, dilations);
    if (!blocks.window.ok()) {
      return Inferred::mismatch(blocks.window.reason, blocks.window.expected, blocks.window.found);
    }
    if (contradict(x.shape[2], blocks.blocks())) {
      return Inferred::mismatch("the image has another number of blocks", blocks.blocks(),
                                x.shape[2]);
    }
    for (std::size_t i = 0; i < image.size(); ++i) y.shape[2 + i] = image[i];
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I>, View<const I> block_shape,
              View<T> y) const {
    using S = halftone::detail::Compute<T>;
    using Wide = std::conditional_t<integer<T>, std::uint64_t, S>;
    const halftone::detail::ImageBlocks blocks(y.shape().subspan(2),
                                               Dims(std::span(block_shape.data, y.rank - 2)),
                                               strides, pads, dilations);
    const std::int64_t elements = blocks.elements(), count = blocks.blocks();
    const std::int64_t planes = y.size(0, 2), pixels = y.size(2, y.rank);
    Wide* sums;
    if constexpr (std::is_same_v<T, Wide>) {
      sums = y.data;
    } else {
      sums = static_cast<Wide*>(call.workspace);
    }
    kernel::parallel_for(*call.executor, planes, [&](std::int64_t plane) {
      Wide* const plane_sums = sums + plane * pixels;
      for (std::int64_t i = 0; i < pixels; ++i) plane_sums[i] = Wide(0);
      kernel::add_columns(blocks.window, y.extents + 2, blocks.window.output.begin(),
                          x.data + plane * elements * count, plane_sums);
      if constexpr (!std::is_same_v<T, Wide>) {
        for (std::int64_t i = 0; i < pixels; ++i)
          y[plane * pixels + i] = static_cast<T>(plane_sums[i]);
      }
    });
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I>, View<const I>,
                                  View<T> y) const {
    using S = halftone::detail::Compute<T>;
    return std::is_same_v<T, S> && !integer<T> ? 0 : static_cast<std::size_t>(y.size()) * 8;
  }
  constexpr void gradient(auto& g) const;
};

/// The blocks of images as columns: what Col2Im adds up.
///
/// x      [batch, channels, spatial...]
/// block  the spatial extents of a block
/// y      [batch, channels * elements of a block, blocks]; around the image there are zeros
/// grad   dx = Col2Im of dy
struct Im2Col {
  Dims block{}, dilations{}, strides{};
  Pads pads{};

  static constexpr OpId id{"halftone", "Im2Col", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<BitTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("block", block);
    visit("dilations", dilations);
    visit("strides", strides);
    visit("pads", pads);
  }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(TensorInfo x) const {
    if (x.rank() < 3) {
      return Inferred::mismatch("the input has no spatial dimension", 3,
                                static_cast<std::int64_t>(x.rank()));
    }
    const halftone::detail::ImageBlocks blocks(x.shape.span().subspan(2), block, strides, pads,
                                               dilations);
    if (!blocks.window.ok()) {
      return Inferred::mismatch(blocks.window.reason, blocks.window.expected, blocks.window.found);
    }
    return TensorInfo{x.type,
                      {x.shape[0], product(Dims{x.shape[1], blocks.elements()}), blocks.blocks()}};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const halftone::detail::ImageBlocks blocks(x.shape().subspan(2), block, strides, pads,
                                               dilations);
    const std::int64_t elements = blocks.elements(), count = blocks.blocks();
    const std::int64_t pixels = x.size(2, x.rank);
    kernel::parallel_for(*call.executor, x.size(0, 2) * elements, [&](std::int64_t row) {
      T* const to = y.data + row * count;
      for (std::int64_t i = 0; i < count; ++i) to[i] = T(0);
      kernel::copy_column(blocks.window, x.extents + 2, blocks.window.output.begin(),
                          row % elements, x.data + row / elements * pixels, to);
    });
  }
  constexpr void gradient(auto& g) const {
    const Dims x = g.x().info().shape, image(x.span().subspan(2));
    g.dx(0) += op::col2im(g.dy(), constant(g.graph(), image), constant(g.graph(), block),
                          {.dilations = dilations, .strides = strides, .pads = pads});
  }
};

constexpr void Col2Im::gradient(auto& g) const {
  const std::vector<std::int64_t> block = g.integers(2);
  g.dx(0) += op::im2col(
      g.dy(), {.block = Dims(block), .dilations = dilations, .strides = strides, .pads = pads});
}

}  // namespace halftone::op

#endif
