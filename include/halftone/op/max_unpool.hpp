#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MAX_UNPOOL_HPP
#define HALFTONE_OP_MAX_UNPOOL_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Puts the elements that MaxPool found back to where they were; all others are zeros.
///
/// x             [batch, channels, spatial...]
/// indices       as x, the places that MaxPool gave, in a dense tensor of the natural output shape
/// output_shape  all extents of y, may be absent; y then is what MaxPool read at least, along each
///               dimension (input - 1) * stride + kernel - pads, its natural shape. In a larger y
///               elements keep their row and column
/// limits        an index that is out of range is an InputError of the run; of elements with the
///               same index the last one counts
/// source        ai.onnx MaxUnpool-11
struct MaxUnpool {
  Dims kernel_shape{}, strides{};
  Pads pads{};

  static constexpr OpId id{"ai.onnx", "MaxUnpool", 9, 11, 22};
  static constexpr Signature signature = "x indices:I output_shape:I? -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("pads", pads);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.fill(out[0]);
    // Places are those of the whole tensor, but a window's is in its channel.
    const std::int64_t channels = in[0].shape[0] * in[0].shape[1];
    machine.scatter(out[0], channels > 0 ? in[0].elements() / channels : 0, 1, false, channels);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (rank < 3) return Inferred::mismatch("the input has no spatial dimension", 3, rank);
    const std::size_t spatial = x.rank() - 2;
    if (kernel_shape.size() != spatial) {
      return Inferred::mismatch("kernel_shape needs one number per spatial dimension", rank - 2,
                                static_cast<std::int64_t>(kernel_shape.size()));
    }
    if (!strides.empty() && strides.size() != spatial) {
      return Inferred::mismatch("strides need one number per spatial dimension", rank - 2,
                                static_cast<std::int64_t>(strides.size()));
    }
    if (!pads.empty() && pads.size() != 2 * spatial) {
      return Inferred::mismatch("pads need two numbers per spatial dimension", 2 * (rank - 2),
                                static_cast<std::int64_t>(pads.size()));
    }
    for (std::size_t i = 0; i < spatial; ++i) {
      for (const std::int64_t number :
           {kernel_shape[i], strides.empty() ? 1 : strides[i], pads.empty() ? 1 : pads[i] + 1,
            pads.empty() ? 1 : pads[spatial + i] + 1}) {
        if (number < 1 || number > Window::limit) {
          return Inferred::mismatch("kernel_shape, strides or pads are out of range", 1, number);
        }
      }
    }
    if (in[1].rank() != x.rank()) {
      return Inferred::mismatch("indices have another rank than the input", rank,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (contradict(x.shape[i], in[1].shape[i])) {
        return Inferred::mismatch("indices have another shape than the input", x.shape[i],
                                  in[1].shape[i]);
      }
    }
    TensorInfo y{x.type, natural_shape(x.shape.span())};
    if (!in.has(2)) {
      for (const std::int64_t extent : y.shape) {
        if (extent < dynamic) return Inferred::mismatch("pads leave no output", 0, extent);
      }
      return y;
    }
    if (!in.is_constant(2)) {
      y.shape = Dims::filled(x.rank(), dynamic);
      return y;
    }
    const std::vector<std::int64_t> wanted = in.integers(2);
    if (wanted.size() != x.rank()) {
      return Inferred::mismatch("output_shape needs one number per dimension", rank,
                                static_cast<std::int64_t>(wanted.size()));
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] < 0 || (i < 2 && contradict(x.shape[i], wanted[i]))) {
        return Inferred::mismatch("output_shape is out of range", i < 2 ? x.shape[i] : 0,
                                  wanted[i]);
      }
      y.shape[i] = wanted[i];
    }
    return y;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<const I>,
              View<T> y) const {
    const Dims natural = natural_shape(x.shape());
    const Dims strides_of_y = kernel::row_major_strides(y.shape());
    kernel::fill<T>(*call.executor, T(0), y.data, y.size());
    const std::int64_t n = x.size(), limit = product(natural);
    for (std::int64_t i = 0; i < n; ++i) {
      if (indices[i] < 0 || indices[i] >= limit) halftone_index_error(indices[i], limit);
      std::int64_t left = indices[i], at = 0;
      for (std::size_t d = x.rank; d-- > 0;) {
        const std::int64_t place = left % natural[d];
        left /= natural[d];
        if (place >= y.extent(d)) halftone_index_error(place, y.extent(d));
        at += place * strides_of_y[d];
      }
      y[at] = x[i];
    }
  }

 private:
  constexpr Dims natural_shape(std::span<const std::int64_t> x) const {
    Dims shape(x.first(2));
    for (std::size_t i = 0; i + 2 < x.size(); ++i) {
      if (x[2 + i] == dynamic) {
        shape.push_back(dynamic);
        continue;
      }
      const std::int64_t stride = strides.empty() ? 1 : strides[i];
      const std::int64_t cut = pads.empty() ? 0 : pads[i] + pads[x.size() - 2 + i];
      const std::int64_t extent =
          x[2 + i] == 0 ? 0 : (x[2 + i] - 1) * stride + kernel_shape[i] - cut;
      shape.push_back(extent < 0 ? -2 : extent);
    }
    return shape;
  }
};

}  // namespace halftone::op

#endif
