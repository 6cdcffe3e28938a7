#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TRILU_HPP
#define HALFTONE_OP_TRILU_HPP

#include <halftone/base/error.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The upper or lower triangle of matrices, zero elsewhere.
///
/// x, y    [..., n, m]
/// k       one number, absent: 0. Which diagonal the triangle ends at, itself included: above the
///         main one if positive
/// upper   1: the upper triangle, 0: the lower one
/// grad    dx = the same triangle of dy
/// source  ai.onnx Trilu-14
struct Trilu {
  std::int64_t upper = 1;

  static constexpr OpId id{"ai.onnx", "Trilu", 14};
  static constexpr Signature signature = "x k:I? -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("upper", upper); }

  static constexpr void cost(auto& machine, auto in, auto) { machine.pass("Where", in[0]); }
  static constexpr Inferred infer(TensorInfo x, TensorInfo k) {
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no matrices", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (k.is_known() && k.elements() != dynamic && k.elements() != 1) {
      return Inferred::mismatch("k is not one number", 1, k.elements());
    }
    return x;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> k, View<T> y) const {
    const std::int64_t n = x.extent(x.rank - 2), m = x.extent(x.rank - 1);
    if (x.size() == 0) return;
    std::int64_t diagonal = k ? k[0] : 0;
    if (diagonal < -n) diagonal = -n;
    if (diagonal > m) diagonal = m;
    const std::int64_t rows = x.size() / m, per_task = m > 1 << 15 ? 1 : (1 << 15) / m;
    const bool is_upper = upper != 0;
    kernel::parallel_for(*call.executor, (rows + per_task - 1) / per_task, [&](std::int64_t task) {
      const std::int64_t end = (task + 1) * per_task < rows ? (task + 1) * per_task : rows;
      for (std::int64_t row = task * per_task; row < end; ++row) {
        // Columns before `border` are below the diagonal, in the sense that zeroes them if upper.
        std::int64_t border = row % n + diagonal + (is_upper ? 0 : 1);
        border = border < 0 ? 0 : border > m ? m : border;
        const T* const from = x.data + row * m;
        T* const to = y.data + row * m;
        const std::int64_t kept = is_upper ? border : 0, cleared = is_upper ? 0 : border;
        const std::int64_t count = is_upper ? m - border : border;
        if (from != to) {
          __builtin_memcpy(to + kept, from + kept, static_cast<std::size_t>(count) * sizeof(T));
        }
        __builtin_memset(to + cleared, 0, static_cast<std::size_t>(m - count) * sizeof(T));
      }
    });
  }
  constexpr void gradient(auto& g) const { g.dx(0) += OpFunction<Trilu>{}(g.dy(), g.x(1), *this); }
};

/// A matrix of x's shape that is 1 on a diagonal and 0 elsewhere.
///
/// x       [n, m]; its elements are not looked at
/// dtype   element type of y; absent: that of x
/// k       which diagonal, above the main one if positive
/// limits  without dtype, the type of x is known when the model is read
/// source  ai.onnx EyeLike-9
struct EyeLike {
  Optional<ElementType> dtype{};
  std::int64_t k = 0;

  static constexpr OpId id{"ai.onnx", "EyeLike", 9, 22};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y:U";

  constexpr void attributes(auto&& visit) {
    visit("dtype", dtype);
    visit("k", k);
  }
  constexpr AnyTensor expand(auto x) const {
    const ElementType type = dtype.value_or(x.info().type);
    if (x.info().is_known() && x.info().rank() != 2) {
      fail(ErrorKind::model, {.what = "the input is not a matrix", .tensor = x.name()});
    }
    std::int64_t one = 0;
    visit_type<Joined<NumericTypes, TypeList<bool>>>(type, [&]<class T>() {
      if constexpr (real<T>) {
        const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(static_cast<T>(1.f));
        for (std::size_t i = 0; i < sizeof(T); ++i) {
          one |= static_cast<std::int64_t>(bytes[i]) << (8 * i);
        }
      } else {
        one = 1;
      }
    });
    if (one == 0) {
      fail(ErrorKind::unsupported,
           {.what = "the element type is not offered, or not known yet", .tensor = x.name()});
    }
    const auto ones = constant_of_shape(shape_of(x), {.value_type = type, .value_bits = one});
    const auto diagonal = constant(*x.graph, Dims{k});
    return trilu(trilu(ones, diagonal, {.upper = 1}), diagonal, {.upper = 0});
  }
};

}  // namespace halftone::op

#endif
