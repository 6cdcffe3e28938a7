#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SHAPE_HPP
#define HALFTONE_OP_SHAPE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The extents of a tensor, or those from dimension `start` to before `end`.
///
/// x           any shape; its elements are not looked at
/// start, end  from the end if negative, clamped; end absent: to the last
/// y           [number of dimensions] int64
/// source      ai.onnx Shape-15
struct Shape {
  std::int64_t start = 0;
  Optional<std::int64_t> end{};

  static constexpr OpId id{"ai.onnx", "Shape", 1, 13, 15, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool only_infos = true;

  constexpr void attributes(auto&& visit) {
    visit("start", start);
    visit("end", end);
  }
  constexpr Inferred infer(TensorInfo x) const {
    const std::int64_t count = last(x.rank()) - first(x.rank());
    return TensorInfo{ElementType::int64, {count > 0 ? count : 0}};
  }
  template <class T, class I>
  void kernel(View<const T> x, View<I> y) const {
    const std::int64_t offset = first(x.rank);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      y[i] = x.extent(static_cast<std::size_t>(offset + i));
    }
  }

 private:
  static constexpr std::int64_t clamped(std::int64_t axis, std::size_t rank) {
    const auto n = static_cast<std::int64_t>(rank);
    if (axis < 0) axis += n;
    return axis < 0 ? 0 : axis > n ? n : axis;
  }
  constexpr std::int64_t first(std::size_t rank) const { return clamped(start, rank); }
  constexpr std::int64_t last(std::size_t rank) const {
    return clamped(end.value_or(static_cast<std::int64_t>(rank)), rank);
  }
};

/// The number of elements of a tensor, a scalar int64.
///
/// x       any shape; its elements are not looked at
/// source  ai.onnx Size-13
struct Size {
  static constexpr OpId id{"ai.onnx", "Size", 1, 13, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool only_infos = true;

  static constexpr Inferred infer(TensorInfo) { return TensorInfo{ElementType::int64, {}}; }

  template <class T, class I>
  void kernel(View<const T> x, View<I> y) const {
    y[0] = halftone::product(x.shape());  // of a model that is only profiled it may not fit
  }
};

}  // namespace halftone::op

#endif
