#include "onnx/versions.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace halftone::onnx {

namespace {

/// Bit v for each version.
template <class... V>
constexpr std::uint32_t versions(V... v) {
  return ((std::uint32_t{1} << v) | ...);
}

struct Row {
  std::string_view name;
  std::uint32_t versions;
};

// What onnx.defs.get_all_schemas_with_history() of the package onnx 1.23 says of the default
// domain.
constexpr Row rows[] = {
    {"Abs", versions(1, 6, 13)},
    {"Acos", versions(7, 22)},
    {"Acosh", versions(9, 22)},
    {"Add", versions(1, 6, 7, 13, 14)},
    {"AffineGrid", versions(20)},
    {"And", versions(1, 7)},
    {"ArgMax", versions(1, 11, 12, 13)},
    {"ArgMin", versions(1, 11, 12, 13)},
    {"Asin", versions(7, 22)},
    {"Asinh", versions(9, 22)},
    {"Atan", versions(7, 22)},
    {"Atanh", versions(9, 22)},
    {"Attention", versions(23, 24, 25)},
    {"AveragePool", versions(1, 7, 10, 11, 19, 22)},
    {"BatchNormalization", versions(1, 6, 7, 9, 14, 15)},
    {"Bernoulli", versions(15, 22)},
    {"BitCast", versions(26)},
    {"BitShift", versions(11, 28)},
    {"BitwiseAnd", versions(18)},
    {"BitwiseNot", versions(18)},
    {"BitwiseOr", versions(18)},
    {"BitwiseXor", versions(18)},
    {"BlackmanWindow", versions(17)},
    {"Cast", versions(1, 6, 9, 13, 19, 21, 23, 24, 25, 28)},
    {"CastLike", versions(15, 19, 21, 23, 24, 25)},
    {"CausalConvWithState", versions(27)},
    {"Ceil", versions(1, 6, 13)},
    {"Celu", versions(12, 28)},
    {"CenterCropPad", versions(18)},
    {"Clip", versions(1, 6, 11, 12, 13)},
    {"Col2Im", versions(18)},
    {"Compress", versions(9, 11, 28)},
    {"Concat", versions(1, 4, 11, 13)},
    {"ConcatFromSequence", versions(11)},
    {"Constant", versions(1, 9, 11, 12, 13, 19, 21, 23, 24, 25)},
    {"ConstantOfShape", versions(9, 20, 21, 23, 24, 25)},
    {"Conv", versions(1, 11, 22)},
    {"ConvInteger", versions(10)},
    {"ConvTranspose", versions(1, 11, 22)},
    {"Cos", versions(7, 22)},
    {"Cosh", versions(9, 22)},
    {"CumProd", versions(26)},
    {"CumSum", versions(11, 14)},
    {"DFT", versions(17, 20)},
    {"DeformConv", versions(19, 22)},
    {"DepthToSpace", versions(1, 11, 13, 28)},
    {"DequantizeLinear", versions(10, 13, 19, 21, 23, 24, 25, 28)},
    {"Det", versions(11, 22)},
    {"Div", versions(1, 6, 7, 13, 14)},
    {"Dropout", versions(1, 6, 7, 10, 12, 13, 22)},
    {"DynamicQuantizeLinear", versions(11)},
    {"Einsum", versions(12, 28)},
    {"Elu", versions(1, 6, 22)},
    {"Equal", versions(1, 7, 11, 13, 19)},
    {"Erf", versions(9, 13)},
    {"Exp", versions(1, 6, 13)},
    {"Expand", versions(8, 13)},
    {"EyeLike", versions(9, 22)},
    {"Flatten", versions(1, 9, 11, 13, 21, 23, 24, 25)},
    {"Floor", versions(1, 6, 13)},
    {"GRU", versions(1, 3, 7, 14, 22)},
    {"Gather", versions(1, 11, 13)},
    {"GatherElements", versions(11, 13)},
    {"GatherND", versions(11, 12, 13)},
    {"Gelu", versions(20)},
    {"Gemm", versions(1, 6, 7, 9, 11, 13)},
    {"GlobalAveragePool", versions(1, 22)},
    {"GlobalLpPool", versions(1, 2, 22)},
    {"GlobalMaxPool", versions(1, 22)},
    {"Greater", versions(1, 7, 9, 13)},
    {"GreaterOrEqual", versions(12, 16)},
    {"GridSample", versions(16, 20, 22)},
    {"GroupNormalization", versions(18, 21)},
    {"HammingWindow", versions(17)},
    {"HannWindow", versions(17)},
    {"HardSigmoid", versions(1, 6, 22)},
    {"HardSwish", versions(14, 22)},
    {"Hardmax", versions(1, 11, 13)},
    {"Identity", versions(1, 13, 14, 16, 19, 21, 23, 24, 25)},
    {"If", versions(1, 11, 13, 16, 19, 21, 23, 24, 25)},
    {"ImageDecoder", versions(20)},
    {"InstanceNormalization", versions(1, 6, 22)},
    {"IsInf", versions(10, 20)},
    {"IsNaN", versions(9, 13, 20)},
    {"LRN", versions(1, 13)},
    {"LSTM", versions(1, 7, 14, 22)},
    {"LayerNormalization", versions(17)},
    {"LeakyRelu", versions(1, 6, 16)},
    {"Less", versions(1, 7, 9, 13)},
    {"LessOrEqual", versions(12, 16)},
    {"LinearAttention", versions(27)},
    {"Log", versions(1, 6, 13)},
    {"LogSoftmax", versions(1, 11, 13)},
    {"Loop", versions(1, 11, 13, 16, 19, 21, 23, 24, 25)},
    {"LpNormalization", versions(1, 22)},
    {"LpPool", versions(1, 2, 11, 18, 22)},
    {"MatMul", versions(1, 9, 13)},
    {"MatMulInteger", versions(10)},
    {"Max", versions(1, 6, 8, 12, 13)},
    {"MaxPool", versions(1, 8, 10, 11, 12, 22)},
    {"MaxRoiPool", versions(1, 22)},
    {"MaxUnpool", versions(9, 11, 22)},
    {"Mean", versions(1, 6, 8, 13)},
    {"MeanVarianceNormalization", versions(9, 13)},
    {"MelWeightMatrix", versions(17)},
    {"Min", versions(1, 6, 8, 12, 13)},
    {"Mish", versions(18, 22)},
    {"Mod", versions(10, 13, 28)},
    {"Mul", versions(1, 6, 7, 13, 14)},
    {"Multinomial", versions(7, 22)},
    {"Neg", versions(1, 6, 13)},
    {"NegativeLogLikelihoodLoss", versions(12, 13, 22)},
    {"NonMaxSuppression", versions(10, 11)},
    {"NonZero", versions(9, 13)},
    {"Not", versions(1)},
    {"OneHot", versions(9, 11, 28)},
    {"Optional", versions(15, 28)},
    {"OptionalGetElement", versions(15, 18, 28)},
    {"OptionalHasElement", versions(15, 18, 28)},
    {"Or", versions(1, 7)},
    {"PRelu", versions(1, 6, 7, 9, 16)},
    {"Pad", versions(1, 2, 11, 13, 18, 19, 21, 23, 24, 25)},
    {"Pow", versions(1, 7, 12, 13, 15)},
    {"QLinearConv", versions(10)},
    {"QLinearMatMul", versions(10, 21)},
    {"QuantizeLinear", versions(10, 13, 19, 21, 23, 24, 25, 28)},
    {"RMSNormalization", versions(23)},
    {"RNN", versions(1, 7, 14, 22)},
    {"RandomNormal", versions(1, 22)},
    {"RandomNormalLike", versions(1, 22)},
    {"RandomUniform", versions(1, 22)},
    {"RandomUniformLike", versions(1, 22)},
    {"Range", versions(11, 27)},
    {"Reciprocal", versions(1, 6, 13)},
    {"ReduceL1", versions(1, 11, 13, 18)},
    {"ReduceL2", versions(1, 11, 13, 18)},
    {"ReduceLogSum", versions(1, 11, 13, 18, 28)},
    {"ReduceLogSumExp", versions(1, 11, 13, 18, 28)},
    {"ReduceMax", versions(1, 11, 12, 13, 18, 20)},
    {"ReduceMean", versions(1, 11, 13, 18)},
    {"ReduceMin", versions(1, 11, 12, 13, 18, 20)},
    {"ReduceProd", versions(1, 11, 13, 18)},
    {"ReduceSum", versions(1, 11, 13)},
    {"ReduceSumSquare", versions(1, 11, 13, 18)},
    {"RegexFullMatch", versions(20)},
    {"Relu", versions(1, 6, 13, 14)},
    {"Reshape", versions(1, 5, 13, 14, 19, 21, 23, 24, 25)},
    {"Resize", versions(10, 11, 13, 18, 19)},
    {"ReverseSequence", versions(10, 28)},
    {"RoiAlign", versions(10, 16, 22)},
    {"RotaryEmbedding", versions(23)},
    {"Round", versions(11, 22)},
    {"STFT", versions(17)},
    {"Scan", versions(8, 9, 11, 16, 19, 21, 23, 24, 25)},
    {"Scatter", versions(9, 11)},
    {"ScatterElements", versions(11, 13, 16, 18)},
    {"ScatterND", versions(11, 13, 16, 18)},
    {"Selu", versions(1, 6, 22)},
    {"SequenceAt", versions(11)},
    {"SequenceConstruct", versions(11)},
    {"SequenceEmpty", versions(11)},
    {"SequenceErase", versions(11)},
    {"SequenceInsert", versions(11)},
    {"SequenceLength", versions(11)},
    {"SequenceMap", versions(17)},
    {"Shape", versions(1, 13, 15, 19, 21, 23, 24, 25)},
    {"Shrink", versions(9)},
    {"Sigmoid", versions(1, 6, 13)},
    {"Sign", versions(9, 13)},
    {"Sin", versions(7, 22)},
    {"Sinh", versions(9, 22)},
    {"Size", versions(1, 13, 19, 21, 23, 24, 25)},
    {"Slice", versions(1, 10, 11, 13)},
    {"Softmax", versions(1, 11, 13)},
    {"SoftmaxCrossEntropyLoss", versions(12, 13)},
    {"Softplus", versions(1, 22)},
    {"Softsign", versions(1, 22)},
    {"SpaceToDepth", versions(1, 13, 28)},
    {"Split", versions(1, 2, 11, 13, 18)},
    {"SplitToSequence", versions(11, 24)},
    {"Sqrt", versions(1, 6, 13)},
    {"Squeeze", versions(1, 11, 13, 21, 23, 24, 25)},
    {"StringConcat", versions(20)},
    {"StringNormalizer", versions(10)},
    {"StringSplit", versions(20)},
    {"Sub", versions(1, 6, 7, 13, 14)},
    {"Sum", versions(1, 6, 8, 13)},
    {"SwiGLU", versions(28)},
    {"Swish", versions(24)},
    {"Tan", versions(7, 22)},
    {"Tanh", versions(1, 6, 13)},
    {"TensorScatter", versions(24)},
    {"TfIdfVectorizer", versions(9)},
    {"ThresholdedRelu", versions(10, 22)},
    {"Tile", versions(1, 6, 13)},
    {"TopK", versions(1, 10, 11, 24)},
    {"Transpose", versions(1, 13, 21, 23, 24, 25)},
    {"Trilu", versions(14)},
    {"Unique", versions(11, 28)},
    {"Unsqueeze", versions(1, 11, 13, 21, 23, 24, 25)},
    {"Upsample", versions(1, 7, 9, 10)},
    {"Where", versions(9, 16)},
    {"Xor", versions(1, 7)},
};

static_assert(std::is_sorted(std::begin(rows), std::end(rows),
                             [](const Row& a, const Row& b) { return a.name < b.name; }));

// Bit t for each element type t; none for values that are no tensors.
constexpr std::uint32_t bit(ElementType type) {
  return is_tensor(type) ? std::uint32_t{1} << static_cast<int>(type) : 0;
}
constexpr std::uint32_t booleans = bit(ElementType::boolean),
                        octets = bit(ElementType::int8) | bit(ElementType::uint8),
                        shorts = bit(ElementType::int16) | bit(ElementType::uint16),
                        signed_wide = bit(ElementType::int32) | bit(ElementType::int64),
                        wide = signed_wide | bit(ElementType::uint32) | bit(ElementType::uint64),
                        signed_narrow = bit(ElementType::int8) | bit(ElementType::int16);

/// Element types that an operator takes from a version of the operator set on.
struct Extension {
  std::string_view name;
  int since;
  std::uint32_t types;
};

// From the type constraints of the first inputs in the schemas of the package onnx 1.23.
constexpr Extension extensions[] = {
    {"Add", 14, octets | shorts},
    {"BitShift", 28, signed_wide | signed_narrow},
    {"Clip", 12, wide | octets | shorts},
    {"Div", 14, octets | shorts},
    {"Equal", 11, octets | shorts | (wide & ~signed_wide)},
    {"Flatten", 9, wide | octets | shorts | booleans},
    {"Gemm", 9, wide},
    {"Greater", 9, wide | octets | shorts},
    {"Less", 9, wide | octets | shorts},
    {"MatMul", 9, wide},
    {"Max", 12, wide | octets | shorts},
    {"MaxPool", 12, octets},
    {"Min", 12, wide | octets | shorts},
    {"Mul", 14, octets | shorts},
    {"PRelu", 9, wide},
    {"Pad", 11, wide | octets | shorts},
    {"Pad", 13, booleans},
    {"Pow", 12, signed_wide},
    {"ReduceMax", 12, octets},
    {"ReduceMax", 20, booleans},
    {"ReduceMin", 12, octets},
    {"ReduceMin", 20, booleans},
    {"Relu", 14, signed_wide | signed_narrow},
    {"Sub", 14, octets | shorts},
    {"TopK", 11, wide | octets | shorts},
};

}  // namespace

int since_version(std::string_view name, std::int64_t opset) {
  const Row* row = std::lower_bound(std::begin(rows), std::end(rows), name,
                                    [](const Row& r, std::string_view n) { return r.name < n; });
  if (row == std::end(rows) || row->name != name || opset < 1) return 0;
  const int shift = opset >= newest_opset ? newest_opset : static_cast<int>(opset);
  const std::uint32_t until = row->versions & ((std::uint32_t{2} << shift) - 1);
  return until == 0 ? 0 : static_cast<int>(std::bit_width(until)) - 1;
}

int first_opset_of(std::string_view name, ElementType type) {
  for (const Extension& extension : extensions) {
    if (extension.name == name && (extension.types & bit(type)) != 0) return extension.since;
  }
  return 0;
}

int last_extension(std::string_view name) {
  int last = 0;
  for (const Extension& extension : extensions) {
    if (extension.name == name) last = std::max(last, extension.since);
  }
  return last;
}

}  // namespace halftone::onnx
