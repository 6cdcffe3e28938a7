#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_FEATURES_HPP
#define HALFTONE_OP_ML_FEATURES_HPP

#include <halftone/op/ml_post_transform.hpp>

namespace halftone::op {

/// Picks columns; recorded as Gather.
///
/// x        [..., c]
/// indices  any shape, numbers of columns
/// y        [..., number of indices]; of a vector [1, number of indices]
/// source   ai.onnx.ml ArrayFeatureExtractor-1
struct ArrayFeatureExtractor {
  static constexpr OpId id{"ai.onnx.ml", "ArrayFeatureExtractor", 1};
  static constexpr Signature signature = "x indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  static constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto indices) {
    halftone::detail::known_type(x);
    const auto list = reshape(indices, constant(*x.graph, Dims{-1}));
    const AnyTensor y = gather(x, list, {.axis = -1});
    return x.info().rank() == 1 ? AnyTensor(reshape(y, constant(*x.graph, Dims{1, -1}))) : y;
  }
};

/// Columns of several tensors next to each other; recorded as these operators.
///
/// inputdimensions  how many columns of each tensor count: further ones are left out, missing ones
///                  are 0; absent: all
/// x                [n, c...] or [c] each, float, double, int32 or int64
/// y                float [n, sum of inputdimensions]
/// source           ai.onnx.ml FeatureVectorizer-1
struct FeatureVectorizer {
  static constexpr OpId id{"ai.onnx.ml", "FeatureVectorizer", 1};
  static constexpr Signature signature = "inputdimensions=?:I x:T... -> y:F";
  using types = TypeList<TypeList<std::int64_t>,
                         TypeList<float, double, std::int64_t, std::int32_t>, TypeList<float>>;

  static constexpr Vector<AnyTensor> expand(auto& graph, const Vector<AnyTensor>& inputs,
                                            std::size_t) {
    const std::size_t count = inputs.size() - (inputs.empty() ? 0 : 1);
    std::vector<std::int64_t> sizes(count, dynamic);
    if (!inputs.empty() && !inputs[0].is_absent()) {
      const TensorRecord& list = graph.tensor(inputs[0].id);
      const InputInfo info{list.info, list.data.span(), true};
      sizes = Inputs({&info, 1}, 1).integers(0);
    }
    if (count == 0 || sizes.size() != count) {
      fail(ErrorKind::model, {.what = "inputdimensions need one number for each input",
                              .expected = std::to_string(count),
                              .found = std::to_string(sizes.size())});
    }
    Vector<AnyTensor> parts;
    for (std::size_t i = 0; i < count; ++i) {
      parts.push_back(columns(graph, inputs[i + 1], sizes[i]));
    }
    return {concat(parts, {.axis = 1})};
  }

 private:
  static constexpr AnyTensor columns(auto& graph, AnyTensor given, std::int64_t size) {
    if (given.is_absent()) fail(ErrorKind::model, {.what = "a required input is missing"});
    AnyTensor x = halftone::detail::cast_to(ElementType::float32, given);
    const std::size_t rank = given.info().rank();
    if (rank == 1) x = reshape(x, constant(graph, Dims{1, -1}));
    if (rank != 1 && rank != 2) x = flatten(x, {.axis = 1});
    if (size == dynamic || x.info().shape[1] == size) return x;
    if (size < 0) {
      fail(ErrorKind::model,
           {.what = "a number of inputdimensions is negative", .found = std::to_string(size)});
    }
    // As many zeros as columns are wanted, of which the first ones are needed at most.
    if (x.info().shape[1] < size) x = pad(x, constant(graph, Dims{0, 0, 0, size}));
    return slice(x, constant(graph, Dims{0}), constant(graph, Dims{size}),
                 constant(graph, Dims{1}));
  }
};

}  // namespace halftone::op

#endif
