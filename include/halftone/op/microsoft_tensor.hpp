#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_TENSOR_HPP
#define HALFTONE_OP_MICROSOFT_TENSOR_HPP

#include <halftone/op/microsoft_normalization.hpp>
#include <halftone/op/pad.hpp>
#include <halftone/op/unique.hpp>

namespace halftone {

namespace kernel {

/// Inverts a matrix [n, n] by elimination with the largest pivot of each column; `inverse` starts as
/// anything. Overwrites the matrix. Says whether it has an inverse.
inline bool invert(double* a, double* inverse, std::int64_t n) {
  for (std::int64_t i = 0; i < n * n; ++i) inverse[i] = i % (n + 1) == 0 ? 1 : 0;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (__builtin_fabs(a[i * n + k]) > __builtin_fabs(a[pivot * n + k])) pivot = i;
    }
    if (!(__builtin_fabs(a[pivot * n + k]) > 0)) return false;
    for (double* const m : {a, inverse}) {
      for (std::int64_t j = 0; j < n && pivot != k; ++j) {
        const double kept = m[k * n + j];
        m[k * n + j] = m[pivot * n + j];
        m[pivot * n + j] = kept;
      }
    }
    const double top = a[k * n + k];
    for (std::int64_t j = 0; j < n; ++j) {
      a[k * n + j] /= top;
      inverse[k * n + j] /= top;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double factor = a[i * n + k];
      if (i == k || factor == 0) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[k * n + j];
        inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  return true;
}

}  // namespace kernel

enum class Distance : std::uint8_t { sqeuclidean, euclidean };
inline constexpr std::string_view distance_names[]{"sqeuclidean", "euclidean"};
constexpr std::span<const std::string_view> names_of(Distance) { return distance_names; }

namespace detail {

/// A scalar that an operator takes as an input.
constexpr AnyTensor axis_input(const std::same_as<AnyTensor> auto& x, std::int64_t axis) {
  return constant(*x.graph, std::span<const std::int64_t>(&axis, 1), {});
}

}  // namespace detail

namespace op {

/// The inverses of matrices.
///
/// x, y    [..., n, n], floating point
/// grad    dx = -y' dy y'
/// limits  computed in double; a matrix without an inverse gives NaN
/// source  com.microsoft Inverse-1
struct Inverse {
  static constexpr OpId id{"com.microsoft", "Inverse", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  static constexpr void cost(auto& machine, auto in, auto) {
    // Elimination: 2 n^3 multiplications and subtractions of each matrix.
    machine.repeat(2 * in[0].shape.back());
    machine.pass("Mul", in[0]);
    machine.pass("Sub", in[0]);
  }
  static constexpr Inferred infer(TensorInfo x) {
    const std::size_t rank = x.rank();
    if (rank < 2) {
      return Inferred::mismatch("the input has no matrices", 2, static_cast<std::int64_t>(rank));
    }
    if (contradict(x.shape[rank - 2], x.shape[rank - 1])) {
      return Inferred::mismatch("the matrices are not square", x.shape[rank - 2],
                                x.shape[rank - 1]);
    }
    return x;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const std::int64_t n = x.extent(x.rank - 1), size = n * n;
    auto* const a = static_cast<double*>(call.workspace);
    for (std::int64_t at = 0; size > 0 && at < x.size(); at += size) {
      for (std::int64_t k = 0; k < size; ++k) a[k] = static_cast<double>(x[at + k]);
      const bool ok = kernel::invert(a, a + size, n);
      for (std::int64_t k = 0; k < size; ++k) {
        y[at + k] = static_cast<T>(static_cast<float>(ok ? 0 : __builtin_nan("")));
        if (ok) y[at + k] = static_cast<T>(a[size + k]);
      }
    }
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>) const {
    const std::int64_t n = x.extent(x.rank - 1);
    return static_cast<std::size_t>(2 * n * n) * sizeof(double);
  }
  static constexpr void gradient(auto& g) {
    Dims perm = halftone::detail::axes_in_order(g.y().info().rank());
    std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
    const auto transposed = op::transpose(g.y(), {.perm = perm});
    g.dx(0) += neg(matmul(matmul(transposed, g.dy()), transposed));
  }
};

/// Trilu, see there. source  com.microsoft Trilu-1
struct MicrosoftTrilu {
  Trilu newer{};

  static constexpr OpId id{"com.microsoft", "Trilu", 1};
  static constexpr Signature signature = "x k:I? -> y";
  using types = Trilu::types;

  constexpr void attributes(auto&& visit) { newer.attributes(visit); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto k) const {
    return trilu(x, k, newer);
  }
};

/// The different elements of a vector in the order in which they come, where each element is among
/// them, and how often each comes.
///
/// source  com.microsoft Unique-1
struct MicrosoftUnique {
  static constexpr OpId id{"com.microsoft", "Unique", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y idx:I counts:I";
  using types = Unique::types;

  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto made = halftone::detail::record(graph, Unique{.sorted = 0}, {inputs[0].id}, 4);
    return {{&graph, made[0]}, {&graph, made[2]}, {&graph, made[3]}};
  }
};

/// Distances between the rows of two matrices.
///
/// a, b    [m, k] and [n, k], floating point
/// y       [m, n]: the sum of squared differences, or with metric euclidean its root
/// limits  as a^2 - 2 a b + b^2, not below 0: rows that are close together lose digits
/// source  com.microsoft CDist-1
struct CDist {
  Distance metric{};

  static constexpr OpId id{"com.microsoft", "CDist", 1};
  static constexpr Signature signature = "a b -> y";

  constexpr void attributes(auto&& visit) { visit("metric", metric); }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) const {
    const auto axis = constant(*a.graph, Dims{1});
    const auto columns = op::transpose(sum(mul(b, b), axis), {.perm = {1, 0}});
    const auto product = gemm(a, b, columns, {.alpha = -2, .trans_b = true});
    const auto squares = maximum(add(product, sum(mul(a, a), axis)), 0);
    return metric == Distance::euclidean ? AnyTensor(sqrt(squares)) : AnyTensor(squares);
  }
};

/// Unsqueeze with one axis, a scalar. source  com.microsoft ExpandDims-1
struct ExpandDims {
  static constexpr OpId id{"com.microsoft", "ExpandDims", 1};
  static constexpr Signature signature = "x axis:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t>>;

  static constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto axis) {
    const auto axes = op::cast(axis, {.to = ElementType::int64});
    return unsqueeze(x, reshape(axes, constant(*x.graph, Dims{1})));
  }
};

/// GatherND without batches. source  com.microsoft GatherND-1
struct MicrosoftGatherND {
  static constexpr OpId id{"com.microsoft", "GatherND", 1};
  static constexpr Signature signature = "x indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;

  static constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto indices) {
    return gather_nd(x, op::cast(indices, {.to = ElementType::int64}));
  }
};

/// Range, see there, whose delta is 1 where it is absent. source  com.microsoft Range-1
struct MicrosoftRange {
  static constexpr OpId id{"com.microsoft", "Range", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "start limit delta? -> y";

  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto number = [&](std::size_t i) { return reshape(inputs[i], constant(graph, Dims{})); };
    if (halftone::detail::is_given(inputs, 2)) {
      return {op::range(number(0), number(1), number(2))};
    }
    return {op::range(number(0), number(1), 1)};
  }
};

/// The input. source  com.microsoft SampleOp-1
struct SampleOp {
  static constexpr OpId id{"com.microsoft", "SampleOp", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<AllTypes>;

  static constexpr AnyTensor expand(tensor_handle auto x) { return op::identity(x); }
};

/// Pad, see there, whose numbers are inputs. source  com.microsoft Pad-1
struct MicrosoftPad {
  Pad newer{};

  static constexpr OpId id{"com.microsoft", "Pad", 1};
  static constexpr Signature signature = "x pads:I value? -> y";

  constexpr void attributes(auto&& visit) { newer.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    // pads may be [1, n].
    const auto pads = reshape(inputs[1], constant(graph, Dims{-1}));
    Vector<TensorId> ids{inputs[0].id, pads.id};
    if (halftone::detail::is_given(inputs, 2)) {
      ids.push_back(reshape(inputs[2], constant(graph, Dims{})).id);
    }
    return {{&graph, halftone::detail::record(graph, newer, ids, 1)[0]}};
  }
};

/// Products of complex numbers, the last dimension: [real, imaginary].
///
/// source  com.microsoft ComplexMul-1
struct ComplexMul {
  static constexpr OpId id{"com.microsoft", "ComplexMul", 1};
  static constexpr Signature signature = "a b -> y";

  static constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) {
    return product(a, b, false);
  }
  /// a times b, or times b's conjugate.
  static constexpr AnyTensor product(const auto& a, const auto& b, bool conjugate) {
    const auto part = [](const auto& x, std::int64_t i) {
      return slice(x, constant(*x.graph, Dims{i}), constant(*x.graph, Dims{i + 1}),
                   constant(*x.graph, Dims{-1}));
    };
    const auto real = part(a, 0), imaginary = part(a, 1), c = part(b, 0);
    const auto d = conjugate ? AnyTensor(neg(part(b, 1))) : AnyTensor(part(b, 1));
    return concat(Vector<AnyTensor>{sub(mul(real, c), mul(imaginary, d)),
                                    add(mul(real, d), mul(imaginary, c))},
                  {.axis = -1});
  }
};

/// Products of complex numbers with the conjugates of others. source  com.microsoft ComplexMulConj-1
struct ComplexMulConj {
  static constexpr OpId id{"com.microsoft", "ComplexMulConj", 1};
  static constexpr Signature signature = "a b -> y";

  static constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) {
    return ComplexMul::product(a, b, true);
  }
};

/// The Fourier transform of real signals over the last `signal_ndim` dimensions.
///
/// x       [..., n] of real numbers
/// y       [..., n / 2 + 1, 2]: of the last dimension only what does not follow from the rest; all n
///         where onesided is 0
/// normalized  0
/// source  com.microsoft Rfft-1
struct Rfft {
  std::int64_t signal_ndim = 1, normalized = 0, onesided = 1;

  static constexpr OpId id{"com.microsoft", "Rfft", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("signal_ndim", signal_ndim);
    visit("normalized", normalized);
    visit("onesided", onesided);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    check(signal_ndim, normalized);
    AnyTensor y = unsqueeze(x, constant(*x.graph, Dims{-1}));
    const auto rank = static_cast<std::int64_t>(halftone::detail::known_rank(y));
    y = dft(y, none, halftone::detail::axis_input(y, rank - 2), {.onesided = onesided != 0});
    for (std::int64_t i = 1; i < signal_ndim; ++i)
      y = dft(y, none, halftone::detail::axis_input(y, rank - 2 - i));
    return y;
  }
  static void check(std::int64_t dimensions, std::int64_t is_normalized) {
    if (dimensions < 1 || dimensions > 3) {
      fail(ErrorKind::model, {.what = "signal_ndim is not 1 to 3"});
    }
    if (is_normalized != 0) {
      fail(ErrorKind::unsupported, {.what = "a normalized Fourier transform is not offered"});
    }
  }
};

/// The inverse of Rfft.
///
/// x       [..., n / 2 + 1, 2], or with onesided 0 [..., n, 2]
/// y       [..., n] of real numbers; n is even where it does not follow from x
/// source  com.microsoft Irfft-1
struct Irfft {
  std::int64_t signal_ndim = required, normalized = 0, onesided = 1;

  static constexpr OpId id{"com.microsoft", "Irfft", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("signal_ndim", signal_ndim);
    visit("normalized", normalized);
    visit("onesided", onesided);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    Rfft::check(signal_ndim, normalized);
    auto& graph = *x.graph;
    const auto rank = static_cast<std::int64_t>(halftone::detail::known_rank(x));
    AnyTensor y = x;
    for (std::int64_t i = 1; i < signal_ndim; ++i) {
      y = dft(y, none, halftone::detail::axis_input(y, rank - 2 - i), {.inverse = true});
    }
    const auto axes = constant(graph, Dims{rank - 2});
    if (onesided != 0) {
      // What is left out: the conjugates in reverse order, without the first and the last number.
      const AnyTensor rest = slice(y, constant(graph, Dims{-2}), constant(graph, Dims{0}), axes,
                                   constant(graph, Dims{-1}));
      const float signs[]{1, -1};
      const AnyTensor conjugate =
          mul(rest, halftone::detail::as_type(constant(graph, std::span<const float>(signs), {2}),
                                              x.info().type));
      y = concat(Vector<AnyTensor>{y, conjugate}, {.axis = rank - 2});
    }
    y = dft(y, none, halftone::detail::axis_input(y, rank - 2), {.inverse = true});
    const std::int64_t first = 0;
    return op::gather(y, constant(graph, std::span<const std::int64_t>(&first, 1), {}),
                      {.axis = rank - 1});
  }
};

/// Whether all elements of all inputs are finite; with isnan_only whether none is NaN, with
/// isinf_only whether none is infinite.
///
/// source  com.microsoft IsAllFinite-1
struct IsAllFinite {
  std::int64_t isinf_only = 0, isnan_only = 0;

  static constexpr OpId id{"com.microsoft", "IsAllFinite", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "inputs... -> y:B";

  constexpr void attributes(auto&& visit) {
    visit("isinf_only", isinf_only);
    visit("isnan_only", isnan_only);
  }
  template <std::same_as<Graph> G>
  constexpr Vector<AnyTensor> expand(G& graph, const auto& inputs, std::size_t) const {
    halftone::detail::HandleIn<G> worst{&graph, no_tensor};
    for (const auto& given : inputs) {
      const auto x = halftone::detail::as_type(given, ElementType::float32);
      const auto bad = isinf_only != 0   ? isinf(x)
                       : isnan_only != 0 ? isnan(x)
                                         : logical_or(isinf(x), isnan(x));
      const auto any = max(op::cast(bad, {.to = ElementType::float32}), ReduceMax{.keepdims = 0});
      worst = worst.is_absent() ? any : maximum(worst, any);
    }
    if (worst.is_absent()) fail(ErrorKind::model, {.what = "IsAllFinite has no input"});
    return {equal(worst, 0)};
  }
};

}  // namespace op
}  // namespace halftone

#endif
