#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GATHER_ELEMENTS_HPP
#define HALFTONE_OP_GATHER_ELEMENTS_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/scatter_mode.hpp>

namespace halftone {

namespace kernel {
// kernel/indexed.hpp: where indices point to, and what is there.
template <class I>
void element_offsets(const Executor& executor, const I* indices,
                     std::span<const std::int64_t> extents, std::span<const std::int64_t> data,
                     std::size_t axis, std::int64_t* offsets);
template <class I>
void tuple_offsets(const Executor& executor, const I* indices, std::int64_t batches,
                   std::int64_t count, std::size_t width, std::span<const std::int64_t> data,
                   std::size_t batch_dims, std::int64_t* offsets);
template <class T>
void pick(const Executor& executor, const T* data, const std::int64_t* offsets, std::int64_t count,
          std::int64_t run, T* y);
}  // namespace kernel

namespace op {

/// Picks elements along a dimension: y[i, j, k] = x[i, indices[i, j, k], k] for `axis` 1.
///
/// x        [a..., n, b...], n the extent along `axis`
/// indices  of x's rank, along other dimensions at most as long; numbers in [-n, n), negative ones
///          count from the end
/// y        the shape of indices
/// grad     dx = dy added to zeros where the indices point to
/// limits   an index that is out of range is an InputError of the run
/// source   ai.onnx GatherElements-13
struct GatherElements {
  std::int64_t axis = 0;

  static constexpr OpId id{"ai.onnx", "GatherElements", 11, 13};
  static constexpr Signature signature = "x indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  constexpr void cost(auto& machine, auto in, auto) const {
    // A table for each line along the axis.
    const std::int64_t rows = in[1].shape[normalized_axis(axis, in[1].rank())];
    machine.gather(in[0], rows, 1, in[1].elements() / rows);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo indices) const {
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    if (indices.rank() != x.rank()) {
      return Inferred::mismatch("indices have another rank than the data",
                                static_cast<std::int64_t>(x.rank()),
                                static_cast<std::int64_t>(indices.rank()));
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (i != at && x.shape[i] != dynamic && indices.shape[i] > x.shape[i]) {
        return Inferred::mismatch("indices are longer than the data along another dimension",
                                  x.shape[i], indices.shape[i]);
      }
    }
    return TensorInfo{x.type, indices.shape};
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<T> y) const {
    auto* const offsets = static_cast<std::int64_t*>(call.workspace);
    kernel::element_offsets<I>(*call.executor, indices.data, indices.shape(), x.shape(),
                               normalized_axis(axis, x.rank), offsets);
    kernel::pick<T>(*call.executor, x.data, offsets, y.size(), 1, y.data);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> indices,
                                  View<T>) const {
    return static_cast<std::size_t>(indices.size()) * sizeof(std::int64_t);
  }
  constexpr void gradient(auto& g) const {
    const auto zeros = g.zeros(g.graph(), g.x().info());
    g.dx(0) +=
        scatter_elements(zeros, g.x(1), g.dy(), {.axis = axis, .reduction = ScatterMode::add});
  }
};

/// Picks parts of a tensor, or of each tensor of a batch: y[b..., i..., c...] =
/// x[b..., indices[b..., i..., :]..., c...].
///
/// x           [batch..., n..., c...]
/// indices     [batch..., i..., k]: tuples of 1 to rank(x) - batch_dims numbers, each in [-n, n),
///             negative ones count from the end
/// batch_dims  how many dimensions in front belong to the batch; 0 before opset 12
/// y           [batch..., i..., c...]
/// grad        dx = dy added to zeros where the indices point to
/// limits      an index that is out of range is an InputError of the run
/// source      ai.onnx GatherND-13
struct GatherND {
  std::int64_t batch_dims = 0;

  static constexpr OpId id{"ai.onnx", "GatherND", 11, 12, 13};
  static constexpr Signature signature = "x indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("batch_dims", batch_dims); }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const auto batch = static_cast<std::size_t>(batch_dims);
    const std::int64_t groups = product(in[1].shape.span().first(batch));
    const std::int64_t tuples = in[1].elements() / in[1].shape.back();
    machine.gather(in[0], tuples / groups, out[0].elements() / tuples, groups);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo indices) const {
    const std::size_t shorter = x.rank() < indices.rank() ? x.rank() : indices.rank();
    if (batch_dims < 0 || batch_dims >= static_cast<std::int64_t>(shorter)) {
      return Inferred::mismatch("batch_dims is out of range", static_cast<std::int64_t>(shorter),
                                batch_dims);
    }
    const auto batch = static_cast<std::size_t>(batch_dims);
    const std::int64_t width = indices.shape.back();
    if (width == dynamic) return Inferred::unknown();
    if (width < 1 || width > static_cast<std::int64_t>(x.rank() - batch)) {
      return Inferred::mismatch("tuples of indices do not fit the data's rank",
                                static_cast<std::int64_t>(x.rank() - batch), width);
    }
    const std::size_t first = batch + static_cast<std::size_t>(width);
    const std::size_t rank = indices.rank() - 1 + x.rank() - first;
    if (rank > max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank, static_cast<std::int64_t>(rank));
    }
    TensorInfo y{x.type, Dims(indices.shape.span().first(indices.rank() - 1))};
    for (std::size_t i = 0; i < batch; ++i) {
      y.shape[i] = agree(x.shape[i], indices.shape[i]);
      if (y.shape[i] == contradictory) {
        return Inferred::mismatch("batch dimensions differ", x.shape[i], indices.shape[i]);
      }
    }
    for (std::size_t i = first; i < x.rank(); ++i) y.shape.push_back(x.shape[i]);
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<T> y) const {
    const auto batch = static_cast<std::size_t>(batch_dims);
    const std::size_t tuples = indices.rank - 1;
    const auto width = static_cast<std::size_t>(indices.extent(tuples));
    auto* const offsets = static_cast<std::int64_t*>(call.workspace);
    const std::int64_t run = x.size(batch + width, x.rank);
    kernel::tuple_offsets<I>(*call.executor, indices.data, indices.size(0, batch),
                             indices.size(batch, tuples), width, x.shape(), batch, offsets);
    if (run != 0) {
      kernel::pick<T>(*call.executor, x.data, offsets, indices.size(0, tuples), run, y.data);
    }
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> indices,
                                  View<T>) const {
    return static_cast<std::size_t>(indices.size(0, indices.rank - 1)) * sizeof(std::int64_t);
  }
  constexpr void gradient(auto& g) const {
    const auto x = g.x(0);
    auto indices = g.x(1);
    if (batch_dims > 0) {
      // ScatterND has no batch: the tuples get their place in it in front.
      Dims extents = indices.info().shape;
      const auto batch = static_cast<std::size_t>(batch_dims);
      Dims alike = extents;
      for (std::size_t i = batch; i < alike.size(); ++i) alike[i] = 1;
      alike.back() = extents.back() = batch_dims;
      std::vector<std::int64_t> places;
      const std::int64_t count = product(x.info().shape.span().first(batch));
      for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t rest = n, within = count;
        for (std::size_t i = 0; i < batch; ++i) {
          within /= x.info().shape[i];
          places.push_back(rest / within);
          rest %= within;
        }
      }
      const std::span<const std::int64_t> numbers = places;
      const auto first = expand(constant(g.graph(), numbers, alike), constant(g.graph(), extents));
      indices = concat(std::array{first, indices}, {.axis = -1});
    }
    const auto zeros = g.zeros(g.graph(), x.info());
    g.dx(0) += scatter_nd(zeros, indices, g.dy(), {.reduction = ScatterMode::add});
  }
};

}  // namespace op
}  // namespace halftone

#endif
