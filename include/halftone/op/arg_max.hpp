#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ARG_MAX_HPP
#define HALFTONE_OP_ARG_MAX_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace kernel {
// kernel/arg_extreme.hpp. Over the middle one of dimensions [outer, n, inner].
template <class T>
void arg_extreme(const Executor& executor, bool largest, bool last, const T* x, std::int64_t outer,
                 std::int64_t n, std::int64_t inner, std::int64_t* y);
}  // namespace kernel

namespace op {

/// The shape rule of ArgMax and ArgMin.
constexpr Inferred infer_arg_extreme(TensorInfo x, std::int64_t axis, bool keeps_dims) {
  const std::size_t at = normalized_axis(axis, x.rank());
  if (at == x.rank()) {
    return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
  }
  if (x.shape[at] == 0) return Inferred::mismatch("there is no element to choose from", 1, 0);
  x.type = ElementType::int64;
  if (keeps_dims) {
    x.shape[at] = 1;
  } else {
    x.shape.erase(at);
  }
  return x;
}

/// Where the largest element along a dimension is.
///
/// x                  at least one dimension
/// y                  int64, x's shape with extent 1 along `axis`, or without it if keepdims is 0;
///                    PopART gives int32
/// axis               from the end if negative, which PopART refuses
/// select_last_index  1: the last one of equal elements; 0: the first
/// limits             the first NaN counts as the largest element, as numpy has it
/// source             ai.onnx ArgMax-13; below version 12 there is no select_last_index
struct ArgMax {
  std::int64_t axis = 0, keepdims = 1, select_last_index = 0;

  static constexpr OpId id{"ai.onnx", "ArgMax", 1, 11, 12, 13};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<NumericTypes, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("keepdims", keepdims);
    visit("select_last_index", select_last_index);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements(), false);
  }
  constexpr Inferred infer(TensorInfo x) const { return infer_arg_extreme(x, axis, keepdims != 0); }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<I> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    kernel::arg_extreme<T>(*call.executor, true, select_last_index != 0, x.data, x.size(0, at),
                           x.extent(at), x.size(at + 1, x.rank), y.data);
  }
};

/// Where the smallest element along a dimension is.
///
/// x                  at least one dimension
/// y                  int64, x's shape with extent 1 along `axis`, or without it if keepdims is 0;
///                    PopART gives int32
/// axis               from the end if negative, which PopART refuses
/// select_last_index  1: the last one of equal elements; 0: the first
/// limits             the first NaN counts as the smallest element, as numpy has it
/// source             ai.onnx ArgMin-13; below version 12 there is no select_last_index
struct ArgMin {
  std::int64_t axis = 0, keepdims = 1, select_last_index = 0;

  static constexpr OpId id{"ai.onnx", "ArgMin", 1, 11, 12, 13};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<NumericTypes, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("keepdims", keepdims);
    visit("select_last_index", select_last_index);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements(), false);
  }
  constexpr Inferred infer(TensorInfo x) const { return infer_arg_extreme(x, axis, keepdims != 0); }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<I> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    kernel::arg_extreme<T>(*call.executor, false, select_last_index != 0, x.data, x.size(0, at),
                           x.extent(at), x.size(at + 1, x.rank), y.data);
  }
};

}  // namespace op
}  // namespace halftone

#endif
