#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_BITS_HPP
#define HALFTONE_OP_MICROSOFT_BITS_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/microsoft_product.hpp>

namespace halftone {

namespace kernel {

// kernel/weight_bits.hpp
struct BitsProduct;
template <class T>
constexpr std::size_t bits_workspace(const BitsProduct& p);
template <class T, class Z>
void bits_product(const Executor& executor, const BitsProduct& p, const T* a, const std::uint8_t* b,
                  const T* scales, const Z* zeros, const T* bias, T* y, void* workspace);

}  // namespace kernel

namespace op {

/// y = a b + bias with a constant matrix b in few bits: blocks of numbers in a column have a scale
/// and a zero point each, b = (number - zero point) * scale. b stays packed; a strip of its columns
/// at a time is widened.
///
/// a            [..., K], floating point
/// b            [N, blocks, block_size * bits / 8] bytes, the first number in the lowest bits
/// scales       [N, blocks], also flat, as a
/// zero_points  [N, bytes] packed like b, also flat, or [N, blocks] of a's type; absent: half of the
///              largest number and 1/2
/// g_idx        is not offered: the order of rows in b
/// bias         [N], may be absent
/// y            [..., N]
/// bits         2, 4 or 8; accuracy_level is not looked at: sums are those of a's type
/// source       com.microsoft MatMulNBits-1
struct MatMulNBits {
  std::int64_t K = required, N = required, bits = 4, block_size = required;
  std::int64_t accuracy_level = 0, weight_prepacked = 0;

  static constexpr OpId id{"com.microsoft", "MatMulNBits", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b:B scales zero_points:Z? g_idx:G? bias? -> y";
  using types = TypeList<TypeList<float, half, bfloat16>, TypeList<std::uint8_t>,
                         TypeList<std::uint8_t, float, half, bfloat16>, TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) {
    visit("K", K);
    visit("N", N);
    visit("bits", bits);
    visit("block_size", block_size);
    visit("accuracy_level", accuracy_level);
    visit("weight_prepacked", weight_prepacked);
  }
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.product({.rows = N > 0 ? out[0].elements() / N : 0, .inner = K, .columns = N});
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (bits != 2 && bits != 4 && bits != 8) {
      return Inferred::mismatch("numbers of other than 2, 4 or 8 bits are not offered");
    }
    if (K < 1 || N < 1 || K > limit || N > limit) {
      return Inferred::mismatch("K or N is out of range", 1, K < 1 ? K : N);
    }
    if (block_size < 16 || block_size > limit || (block_size & (block_size - 1)) != 0) {
      return Inferred::mismatch("block_size is not a power of two from 16 on", 16, block_size);
    }
    if (weight_prepacked != 0) {
      return Inferred::mismatch("a weight in the order of one processor is not offered");
    }
    if (in.has(4)) return Inferred::mismatch("the input g_idx is not offered");
    const TensorInfo& a = in[0];
    if (a.rank() == 0 || contradict(a.shape.back(), K)) {
      return Inferred::mismatch("the last dimension of a is not K", K,
                                a.rank() == 0 ? 0 : a.shape.back());
    }
    const std::int64_t blocks = (K + block_size - 1) / block_size;
    const auto check = [&](std::size_t i, std::int64_t wanted) {
      const std::int64_t found = in[i].elements();
      return !in.has(i) || found == dynamic || found == wanted;
    };
    if (!check(1, N * blocks * (block_size * bits / 8))) {
      return Inferred::mismatch("b has not as many bytes as K, N, bits and block_size say",
                                N * blocks * (block_size * bits / 8), in[1].elements());
    }
    if (!check(2, N * blocks)) {
      return Inferred::mismatch("there is not one scale for each block", N * blocks,
                                in[2].elements());
    }
    if (in.has(3)) {
      const bool is_packed = in[3].type == ElementType::uint8;
      if (!is_packed && in[3].type != a.type) {
        return Inferred::mismatch("zero_points have neither bytes nor the type of a");
      }
      const std::int64_t wanted = N * (is_packed ? (blocks * bits + 7) / 8 : blocks);
      if (!check(3, wanted)) {
        return Inferred::mismatch("there is not one zero point for each block", wanted,
                                  in[3].elements());
      }
    }
    if (!check(5, N)) {
      return Inferred::mismatch("the bias has not one element for each column", N,
                                in[5].elements());
    }
    TensorInfo y = a;
    y.shape.back() = N;
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) {
    return 2 * out[0].elements() * in[0].shape.back();
  }

  template <class T, class B, class Z, class G>
  void kernel(const KernelCall& call, View<const T> a, View<const B> b, View<const T> scales,
              View<const Z> zeros, View<const G>, View<const T> bias, View<T> y) const {
    kernel::bits_product<T, Z>(*call.executor, product_of<kernel::BitsProduct>(a), a.data, b.data,
                               scales.data, zeros.data, bias.data, y.data, call.workspace);
  }
  template <class T, class B, class Z, class G>
  constexpr std::size_t workspace(const KernelCall&, View<const T> a, View<const B>, View<const T>,
                                  View<const Z>, View<const G>, View<const T>, View<T>) const {
    return kernel::bits_workspace<T>(product_of<kernel::BitsProduct>(a));
  }

 private:
  static constexpr std::int64_t limit = std::int64_t{1} << 24;

  template <class Product, class T>
  constexpr Product product_of(View<const T> a) const {
    return {a.size(0, a.rank - 1), N, K, block_size, static_cast<int>(bits)};
  }
};

/// Rows of a table in few bits, see MatMulNBits.
///
/// data         [..., columns * bits / 8] bytes, the first number in the lowest bits
/// indices      any shape, of rows
/// scales       [..., blocks], zero_points [..., blocks * bits / 8] packed like data; absent: 8 of 4
///              bits, 128 of 8
/// y            the gathered rows, of the scales' type
/// limits       gather_axis 0, quantize_axis the last one
/// source       com.microsoft GatherBlockQuantized-1
struct GatherBlockQuantized {
  std::int64_t bits = 4, block_size = 128, gather_axis = 0, quantize_axis = 1;

  static constexpr OpId id{"com.microsoft", "GatherBlockQuantized", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "data:D indices:I scales zero_points:D? -> y";

  constexpr void attributes(auto&& visit) {
    visit("bits", bits);
    visit("block_size", block_size);
    visit("gather_axis", gather_axis);
    visit("quantize_axis", quantize_axis);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    using namespace halftone::detail;
    const std::size_t rank = known_rank(inputs[0]);
    if (rank < 2 || gather_axis != 0 || normalized_axis(quantize_axis, rank) != rank - 1) {
      fail(
          ErrorKind::unsupported,
          {.what = "GatherBlockQuantized: other axes than the first and the last are not offered"});
    }
    if ((bits != 4 && bits != 8) || block_size < 16) {
      fail(ErrorKind::unsupported,
           {.what = "GatherBlockQuantized: numbers of these bits or blocks are not offered"});
    }
    if (inputs[0].info().type != ElementType::uint8) {
      fail(ErrorKind::unsupported, {.what = "GatherBlockQuantized: data is not uint8"});
    }
    const auto rows = [&](std::size_t i) { return AnyTensor(op::gather(inputs[i], inputs[1])); };
    const ElementType type = inputs[2].info().type;
    const auto numbers = [&](const AnyTensor& bytes) {
      const AnyTensor wide = as_type(bytes, ElementType::float32);
      if (bits == 8) return wide;
      const AnyTensor high = floor(mul(wide, 1.f / 16)), low = sub(wide, mul(high, 16.f));
      const AnyTensor pairs = concat(Vector<AnyTensor>{unsqueeze(low, constant(graph, Dims{-1})),
                                                       unsqueeze(high, constant(graph, Dims{-1}))},
                                     {.axis = -1});
      Dims shape(bytes.info().shape);
      if (bytes.info().rank() == 0) known_rank(bytes);
      for (std::size_t i = 0; i + 1 < shape.size(); ++i) shape[i] = 0;
      shape.back() = -1;
      return AnyTensor(reshape(pairs, constant(graph, shape)));
    };
    const std::int64_t columns = inputs[0].info().shape.back() * (8 / bits);
    const std::int64_t blocks = (columns + block_size - 1) / block_size;
    if (inputs[0].info().shape.back() == dynamic || columns % block_size != 0) {
      fail(ErrorKind::unsupported,
           {.what = "GatherBlockQuantized: the columns are no multiple of block_size"});
    }
    // Blocks and their numbers apart.
    const auto apart = [&](const AnyTensor& x, std::int64_t of_block) {
      Dims shape = Dims::filled(x.info().rank() - 1, 0);
      shape.push_back(blocks);
      shape.push_back(of_block);
      return AnyTensor(reshape(x, constant(graph, shape)));
    };
    AnyTensor y = apart(numbers(rows(0)), block_size);
    if (is_given(inputs, 3)) {
      AnyTensor zeros = numbers(rows(3));
      if (bits == 4 && blocks % 2 != 0) {  // the last byte has one number more
        zeros = slice(zeros, constant(graph, Dims{0}), constant(graph, Dims{blocks}),
                      constant(graph, Dims{-1}));
      }
      y = sub(y, apart(zeros, 1));
    } else {
      y = sub(y, bits == 4 ? 8.f : 128.f);
    }
    y = mul(y, apart(as_type(rows(2), ElementType::float32), 1));
    Dims shape = Dims::filled(y.info().rank() - 2, 0);
    shape.push_back(-1);
    return {as_type(AnyTensor(reshape(y, constant(graph, shape))), type)};
  }
};

}  // namespace op
}  // namespace halftone

#endif
