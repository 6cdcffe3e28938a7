#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TOP_K_HPP
#define HALFTONE_OP_TOP_K_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/scatter_elements.hpp>

namespace halftone {

namespace kernel {
// kernel/top_k.hpp. Over the middle one of dimensions [outer, n, inner].
template <class T>
constexpr std::int64_t top_k_workspace(std::int64_t outer, std::int64_t n, std::int64_t inner,
                                       std::int64_t k);
template <class T>
void top_k(const Executor& executor, bool largest, const T* x, std::int64_t outer, std::int64_t n,
           std::int64_t inner, std::int64_t k, T* values, std::int64_t* indices, void* workspace);
}  // namespace kernel

namespace op {

/// The k largest, or smallest, elements along a dimension and where they are.
///
/// x        [a..., n, b...], n the extent along `axis`
/// k        one number, 0 to n; PopART wants a constant
/// values   [a..., k, b...], the best first
/// indices  int64, the shape of values; of equal elements the one with the lower index is first.
///          PopART gives int32, in any order for equal elements
/// axis     from the end if negative, which PopART refuses
/// largest  1: the largest elements, 0: the smallest; 1 before opset 11
/// sorted   0 allows any order; this one is sorted all the same
/// grad     dx = dy at the places of values, 0 elsewhere
/// limits   NaN counts as larger than all. While k is not known, neither is y's extent
/// source   ai.onnx TopK-11
struct TopK {
  std::int64_t axis = -1, largest = 1, sorted = 1;

  static constexpr OpId id{"ai.onnx", "TopK", 10, 11, 24};
  static constexpr Signature signature = "x k:I -> values indices:I";
  using types = TypeList<NumericTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("largest", largest);
    visit("sorted", sorted);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::size_t dimension = normalized_axis(axis, in[0].rank());
    if (dimension == in[0].rank()) return;
    machine.top_k(in[0], in[0].shape[dimension], out[0].shape[dimension]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo values = in[0];
    const std::size_t at = normalized_axis(axis, values.rank());
    if (at == values.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(values.rank()),
                                axis);
    }
    if (in[1].elements() != dynamic && in[1].elements() != 1) {
      return Inferred::mismatch("k is not one number", 1, in[1].elements());
    }
    const std::vector<std::int64_t> k = in.integers(1);
    const std::int64_t extent = values.shape[at];
    values.shape[at] = k.empty() ? dynamic : k[0];
    if (!k.empty() && k[0] < 0) return Inferred::mismatch("k is negative", 0, k[0]);
    if (!k.empty() && extent != dynamic && k[0] > extent) {
      return Inferred::mismatch("k is larger than the extent", extent, k[0]);
    }
    return {values, TensorInfo{ElementType::int64, values.shape}};
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I>, View<T> values,
              View<I> indices) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    kernel::top_k<T>(*call.executor, largest != 0, x.data, x.size(0, at), x.extent(at),
                     x.size(at + 1, x.rank), values.extent(at), values.data, indices.data,
                     call.workspace);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I>, View<T> values,
                                  View<I>) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    return static_cast<std::size_t>(kernel::top_k_workspace<T>(
        x.size(0, at), x.extent(at), x.size(at + 1, x.rank), values.extent(at)));
  }
  constexpr void gradient(auto& g) const {
    const auto zeros = g.zeros(g.graph(), g.x().info());
    g.dx(0) += scatter_elements(zeros, g.y(1), g.dy(), {.axis = axis});
  }
};

/// TopK whose k is an attribute. source  ai.onnx TopK-1
struct TopK_1 {
  std::int64_t axis = -1, k = required;

  static constexpr OpId id{"ai.onnx", "TopK", 1};
  static constexpr Signature signature = "x -> values indices:I";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("k", k);
  }
  constexpr Vector<AnyTensor> expand(auto x) const {
    const std::array<AnyTensor, 2> both =
        OpFunction<TopK>{}(x, constant(*x.graph, Dims{k}), TopK{.axis = axis});
    return {both[0], both[1]};
  }
};

}  // namespace op
}  // namespace halftone

#endif
