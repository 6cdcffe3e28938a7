#include <popart/operators.hpp>

#include "popart/operator_versions.hpp"

// Written by src/popart/generate_operators.py.

namespace popart {

namespace Onnx {

namespace Operators {
const OperatorIdentifier Abs_1(Domain::ai_onnx, "Abs", 1, {1, 1}, 1);
const OperatorIdentifier Abs_6(Domain::ai_onnx, "Abs", 6, {1, 1}, 1);
const OperatorIdentifier Abs_13(Domain::ai_onnx, "Abs", 13, {1, 1}, 1);
const OperatorIdentifier Acos_7(Domain::ai_onnx, "Acos", 7, {1, 1}, 1);
const OperatorIdentifier Acosh_9(Domain::ai_onnx, "Acosh", 9, {1, 1}, 1);
const OperatorIdentifier Add_1(Domain::ai_onnx, "Add", 1, {2, 2}, 1);
const OperatorIdentifier Add_6(Domain::ai_onnx, "Add", 6, {2, 2}, 1);
const OperatorIdentifier Add_7(Domain::ai_onnx, "Add", 7, {2, 2}, 1);
const OperatorIdentifier Add_13(Domain::ai_onnx, "Add", 13, {2, 2}, 1);
const OperatorIdentifier Add_14(Domain::ai_onnx, "Add", 14, {2, 2}, 1);
const OperatorIdentifier And_1(Domain::ai_onnx, "And", 1, {2, 2}, 1);
const OperatorIdentifier And_7(Domain::ai_onnx, "And", 7, {2, 2}, 1);
const OperatorIdentifier ArgMax_1(Domain::ai_onnx, "ArgMax", 1, {1, 1}, 1);
const OperatorIdentifier ArgMax_11(Domain::ai_onnx, "ArgMax", 11, {1, 1}, 1);
const OperatorIdentifier ArgMax_12(Domain::ai_onnx, "ArgMax", 12, {1, 1}, 1);
const OperatorIdentifier ArgMax_13(Domain::ai_onnx, "ArgMax", 13, {1, 1}, 1);
const OperatorIdentifier ArgMin_1(Domain::ai_onnx, "ArgMin", 1, {1, 1}, 1);
const OperatorIdentifier ArgMin_11(Domain::ai_onnx, "ArgMin", 11, {1, 1}, 1);
const OperatorIdentifier ArgMin_12(Domain::ai_onnx, "ArgMin", 12, {1, 1}, 1);
const OperatorIdentifier ArgMin_13(Domain::ai_onnx, "ArgMin", 13, {1, 1}, 1);
const OperatorIdentifier Asin_7(Domain::ai_onnx, "Asin", 7, {1, 1}, 1);
const OperatorIdentifier Asinh_9(Domain::ai_onnx, "Asinh", 9, {1, 1}, 1);
const OperatorIdentifier Atan_7(Domain::ai_onnx, "Atan", 7, {1, 1}, 1);
const OperatorIdentifier Atanh_9(Domain::ai_onnx, "Atanh", 9, {1, 1}, 1);
const OperatorIdentifier AveragePool_1(Domain::ai_onnx, "AveragePool", 1, {1, 1}, 1);
const OperatorIdentifier AveragePool_7(Domain::ai_onnx, "AveragePool", 7, {1, 1}, 1);
const OperatorIdentifier AveragePool_10(Domain::ai_onnx, "AveragePool", 10, {1, 1}, 1);
const OperatorIdentifier AveragePool_11(Domain::ai_onnx, "AveragePool", 11, {1, 1}, 1);
const OperatorIdentifier BatchNormalization_1(Domain::ai_onnx, "BatchNormalization", 1, {5, 5}, 5);
const OperatorIdentifier BatchNormalization_6(Domain::ai_onnx, "BatchNormalization", 6, {5, 5}, 5);
const OperatorIdentifier BatchNormalization_7(Domain::ai_onnx, "BatchNormalization", 7, {5, 5}, 5);
const OperatorIdentifier BatchNormalization_9(Domain::ai_onnx, "BatchNormalization", 9, {5, 5}, 5);
const OperatorIdentifier BatchNormalization_14(Domain::ai_onnx, "BatchNormalization", 14, {5, 5},
                                               3);
const OperatorIdentifier BatchNormalization_15(Domain::ai_onnx, "BatchNormalization", 15, {5, 5},
                                               3);
const OperatorIdentifier Bernoulli_15(Domain::ai_onnx, "Bernoulli", 15, {1, 1}, 1);
const OperatorIdentifier BitShift_11(Domain::ai_onnx, "BitShift", 11, {2, 2}, 1);
const OperatorIdentifier BlackmanWindow_17(Domain::ai_onnx, "BlackmanWindow", 17, {1, 1}, 1);
const OperatorIdentifier Cast_1(Domain::ai_onnx, "Cast", 1, {1, 1}, 1);
const OperatorIdentifier Cast_6(Domain::ai_onnx, "Cast", 6, {1, 1}, 1);
const OperatorIdentifier Cast_9(Domain::ai_onnx, "Cast", 9, {1, 1}, 1);
const OperatorIdentifier Cast_13(Domain::ai_onnx, "Cast", 13, {1, 1}, 1);
const OperatorIdentifier CastLike_15(Domain::ai_onnx, "CastLike", 15, {2, 2}, 1);
const OperatorIdentifier Ceil_1(Domain::ai_onnx, "Ceil", 1, {1, 1}, 1);
const OperatorIdentifier Ceil_6(Domain::ai_onnx, "Ceil", 6, {1, 1}, 1);
const OperatorIdentifier Ceil_13(Domain::ai_onnx, "Ceil", 13, {1, 1}, 1);
const OperatorIdentifier Celu_12(Domain::ai_onnx, "Celu", 12, {1, 1}, 1);
const OperatorIdentifier Clip_1(Domain::ai_onnx, "Clip", 1, {1, 1}, 1);
const OperatorIdentifier Clip_6(Domain::ai_onnx, "Clip", 6, {1, 1}, 1);
const OperatorIdentifier Clip_11(Domain::ai_onnx, "Clip", 11, {1, 3}, 1);
const OperatorIdentifier Clip_12(Domain::ai_onnx, "Clip", 12, {1, 3}, 1);
const OperatorIdentifier Clip_13(Domain::ai_onnx, "Clip", 13, {1, 3}, 1);
const OperatorIdentifier Compress_9(Domain::ai_onnx, "Compress", 9, {2, 2}, 1);
const OperatorIdentifier Compress_11(Domain::ai_onnx, "Compress", 11, {2, 2}, 1);
const OperatorIdentifier Concat_1(Domain::ai_onnx, "Concat", 1, {1, -1}, 1);
const OperatorIdentifier Concat_4(Domain::ai_onnx, "Concat", 4, {1, -1}, 1);
const OperatorIdentifier Concat_11(Domain::ai_onnx, "Concat", 11, {1, -1}, 1);
const OperatorIdentifier Concat_13(Domain::ai_onnx, "Concat", 13, {1, -1}, 1);
const OperatorIdentifier ConcatFromSequence_11(Domain::ai_onnx, "ConcatFromSequence", 11, {1, 1},
                                               1);
const OperatorIdentifier Constant_1(Domain::ai_onnx, "Constant", 1, {0, 0}, 1);
const OperatorIdentifier Constant_9(Domain::ai_onnx, "Constant", 9, {0, 0}, 1);
const OperatorIdentifier Constant_11(Domain::ai_onnx, "Constant", 11, {0, 0}, 1);
const OperatorIdentifier Constant_12(Domain::ai_onnx, "Constant", 12, {0, 0}, 1);
const OperatorIdentifier Constant_13(Domain::ai_onnx, "Constant", 13, {0, 0}, 1);
const OperatorIdentifier ConstantOfShape_9(Domain::ai_onnx, "ConstantOfShape", 9, {1, 1}, 1);
const OperatorIdentifier Conv_1(Domain::ai_onnx, "Conv", 1, {2, 3}, 1);
const OperatorIdentifier Conv_11(Domain::ai_onnx, "Conv", 11, {2, 3}, 1);
const OperatorIdentifier ConvInteger_10(Domain::ai_onnx, "ConvInteger", 10, {2, 4}, 1);
const OperatorIdentifier ConvTranspose_1(Domain::ai_onnx, "ConvTranspose", 1, {2, 3}, 1);
const OperatorIdentifier ConvTranspose_11(Domain::ai_onnx, "ConvTranspose", 11, {2, 3}, 1);
const OperatorIdentifier Cos_7(Domain::ai_onnx, "Cos", 7, {1, 1}, 1);
const OperatorIdentifier Cosh_9(Domain::ai_onnx, "Cosh", 9, {1, 1}, 1);
const OperatorIdentifier CumSum_11(Domain::ai_onnx, "CumSum", 11, {2, 2}, 1);
const OperatorIdentifier CumSum_14(Domain::ai_onnx, "CumSum", 14, {2, 2}, 1);
const OperatorIdentifier DFT_17(Domain::ai_onnx, "DFT", 17, {1, 2}, 1);
const OperatorIdentifier DepthToSpace_1(Domain::ai_onnx, "DepthToSpace", 1, {1, 1}, 1);
const OperatorIdentifier DepthToSpace_11(Domain::ai_onnx, "DepthToSpace", 11, {1, 1}, 1);
const OperatorIdentifier DepthToSpace_13(Domain::ai_onnx, "DepthToSpace", 13, {1, 1}, 1);
const OperatorIdentifier DequantizeLinear_10(Domain::ai_onnx, "DequantizeLinear", 10, {2, 3}, 1);
const OperatorIdentifier DequantizeLinear_13(Domain::ai_onnx, "DequantizeLinear", 13, {2, 3}, 1);
const OperatorIdentifier Det_11(Domain::ai_onnx, "Det", 11, {1, 1}, 1);
const OperatorIdentifier Div_1(Domain::ai_onnx, "Div", 1, {2, 2}, 1);
const OperatorIdentifier Div_6(Domain::ai_onnx, "Div", 6, {2, 2}, 1);
const OperatorIdentifier Div_7(Domain::ai_onnx, "Div", 7, {2, 2}, 1);
const OperatorIdentifier Div_13(Domain::ai_onnx, "Div", 13, {2, 2}, 1);
const OperatorIdentifier Div_14(Domain::ai_onnx, "Div", 14, {2, 2}, 1);
const OperatorIdentifier Dropout_1(Domain::ai_onnx, "Dropout", 1, {1, 1}, 2);
const OperatorIdentifier Dropout_6(Domain::ai_onnx, "Dropout", 6, {1, 1}, 2);
const OperatorIdentifier Dropout_7(Domain::ai_onnx, "Dropout", 7, {1, 1}, 2);
const OperatorIdentifier Dropout_10(Domain::ai_onnx, "Dropout", 10, {1, 1}, 2);
const OperatorIdentifier Dropout_12(Domain::ai_onnx, "Dropout", 12, {1, 3}, 2);
const OperatorIdentifier Dropout_13(Domain::ai_onnx, "Dropout", 13, {1, 3}, 2);
const OperatorIdentifier DynamicQuantizeLinear_11(Domain::ai_onnx, "DynamicQuantizeLinear", 11,
                                                  {1, 1}, 3);
const OperatorIdentifier Einsum_12(Domain::ai_onnx, "Einsum", 12, {1, -1}, 1);
const OperatorIdentifier Elu_1(Domain::ai_onnx, "Elu", 1, {1, 1}, 1);
const OperatorIdentifier Elu_6(Domain::ai_onnx, "Elu", 6, {1, 1}, 1);
const OperatorIdentifier Equal_1(Domain::ai_onnx, "Equal", 1, {2, 2}, 1);
const OperatorIdentifier Equal_7(Domain::ai_onnx, "Equal", 7, {2, 2}, 1);
const OperatorIdentifier Equal_11(Domain::ai_onnx, "Equal", 11, {2, 2}, 1);
const OperatorIdentifier Equal_13(Domain::ai_onnx, "Equal", 13, {2, 2}, 1);
const OperatorIdentifier Erf_9(Domain::ai_onnx, "Erf", 9, {1, 1}, 1);
const OperatorIdentifier Erf_13(Domain::ai_onnx, "Erf", 13, {1, 1}, 1);
const OperatorIdentifier Exp_1(Domain::ai_onnx, "Exp", 1, {1, 1}, 1);
const OperatorIdentifier Exp_6(Domain::ai_onnx, "Exp", 6, {1, 1}, 1);
const OperatorIdentifier Exp_13(Domain::ai_onnx, "Exp", 13, {1, 1}, 1);
const OperatorIdentifier Expand_8(Domain::ai_onnx, "Expand", 8, {2, 2}, 1);
const OperatorIdentifier Expand_13(Domain::ai_onnx, "Expand", 13, {2, 2}, 1);
const OperatorIdentifier EyeLike_9(Domain::ai_onnx, "EyeLike", 9, {1, 1}, 1);
const OperatorIdentifier Flatten_1(Domain::ai_onnx, "Flatten", 1, {1, 1}, 1);
const OperatorIdentifier Flatten_9(Domain::ai_onnx, "Flatten", 9, {1, 1}, 1);
const OperatorIdentifier Flatten_11(Domain::ai_onnx, "Flatten", 11, {1, 1}, 1);
const OperatorIdentifier Flatten_13(Domain::ai_onnx, "Flatten", 13, {1, 1}, 1);
const OperatorIdentifier Floor_1(Domain::ai_onnx, "Floor", 1, {1, 1}, 1);
const OperatorIdentifier Floor_6(Domain::ai_onnx, "Floor", 6, {1, 1}, 1);
const OperatorIdentifier Floor_13(Domain::ai_onnx, "Floor", 13, {1, 1}, 1);
const OperatorIdentifier GRU_1(Domain::ai_onnx, "GRU", 1, {3, 6}, 2);
const OperatorIdentifier GRU_3(Domain::ai_onnx, "GRU", 3, {3, 6}, 2);
const OperatorIdentifier GRU_7(Domain::ai_onnx, "GRU", 7, {3, 6}, 2);
const OperatorIdentifier GRU_14(Domain::ai_onnx, "GRU", 14, {3, 6}, 2);
const OperatorIdentifier Gather_1(Domain::ai_onnx, "Gather", 1, {2, 2}, 1);
const OperatorIdentifier Gather_11(Domain::ai_onnx, "Gather", 11, {2, 2}, 1);
const OperatorIdentifier Gather_13(Domain::ai_onnx, "Gather", 13, {2, 2}, 1);
const OperatorIdentifier GatherElements_11(Domain::ai_onnx, "GatherElements", 11, {2, 2}, 1);
const OperatorIdentifier GatherElements_13(Domain::ai_onnx, "GatherElements", 13, {2, 2}, 1);
const OperatorIdentifier GatherND_11(Domain::ai_onnx, "GatherND", 11, {2, 2}, 1);
const OperatorIdentifier GatherND_12(Domain::ai_onnx, "GatherND", 12, {2, 2}, 1);
const OperatorIdentifier GatherND_13(Domain::ai_onnx, "GatherND", 13, {2, 2}, 1);
const OperatorIdentifier Gemm_1(Domain::ai_onnx, "Gemm", 1, {3, 3}, 1);
const OperatorIdentifier Gemm_6(Domain::ai_onnx, "Gemm", 6, {3, 3}, 1);
const OperatorIdentifier Gemm_7(Domain::ai_onnx, "Gemm", 7, {3, 3}, 1);
const OperatorIdentifier Gemm_9(Domain::ai_onnx, "Gemm", 9, {3, 3}, 1);
const OperatorIdentifier Gemm_11(Domain::ai_onnx, "Gemm", 11, {2, 3}, 1);
const OperatorIdentifier Gemm_13(Domain::ai_onnx, "Gemm", 13, {2, 3}, 1);
const OperatorIdentifier GlobalAveragePool_1(Domain::ai_onnx, "GlobalAveragePool", 1, {1, 1}, 1);
const OperatorIdentifier GlobalLpPool_1(Domain::ai_onnx, "GlobalLpPool", 1, {1, 1}, 1);
const OperatorIdentifier GlobalLpPool_2(Domain::ai_onnx, "GlobalLpPool", 2, {1, 1}, 1);
const OperatorIdentifier GlobalMaxPool_1(Domain::ai_onnx, "GlobalMaxPool", 1, {1, 1}, 1);
const OperatorIdentifier Greater_1(Domain::ai_onnx, "Greater", 1, {2, 2}, 1);
const OperatorIdentifier Greater_7(Domain::ai_onnx, "Greater", 7, {2, 2}, 1);
const OperatorIdentifier Greater_9(Domain::ai_onnx, "Greater", 9, {2, 2}, 1);
const OperatorIdentifier Greater_13(Domain::ai_onnx, "Greater", 13, {2, 2}, 1);
const OperatorIdentifier GreaterOrEqual_12(Domain::ai_onnx, "GreaterOrEqual", 12, {2, 2}, 1);
const OperatorIdentifier GreaterOrEqual_16(Domain::ai_onnx, "GreaterOrEqual", 16, {2, 2}, 1);
const OperatorIdentifier GridSample_16(Domain::ai_onnx, "GridSample", 16, {2, 2}, 1);
const OperatorIdentifier HammingWindow_17(Domain::ai_onnx, "HammingWindow", 17, {1, 1}, 1);
const OperatorIdentifier HannWindow_17(Domain::ai_onnx, "HannWindow", 17, {1, 1}, 1);
const OperatorIdentifier HardSigmoid_1(Domain::ai_onnx, "HardSigmoid", 1, {1, 1}, 1);
const OperatorIdentifier HardSigmoid_6(Domain::ai_onnx, "HardSigmoid", 6, {1, 1}, 1);
const OperatorIdentifier HardSwish_14(Domain::ai_onnx, "HardSwish", 14, {1, 1}, 1);
const OperatorIdentifier Hardmax_1(Domain::ai_onnx, "Hardmax", 1, {1, 1}, 1);
const OperatorIdentifier Hardmax_11(Domain::ai_onnx, "Hardmax", 11, {1, 1}, 1);
const OperatorIdentifier Hardmax_13(Domain::ai_onnx, "Hardmax", 13, {1, 1}, 1);
const OperatorIdentifier Identity_1(Domain::ai_onnx, "Identity", 1, {1, 1}, 1);
const OperatorIdentifier Identity_13(Domain::ai_onnx, "Identity", 13, {1, 1}, 1);
const OperatorIdentifier Identity_14(Domain::ai_onnx, "Identity", 14, {1, 1}, 1);
const OperatorIdentifier Identity_16(Domain::ai_onnx, "Identity", 16, {1, 1}, 1);
const OperatorIdentifier If_1(Domain::ai_onnx, "If", 1, {1, 1}, -1);
const OperatorIdentifier If_11(Domain::ai_onnx, "If", 11, {1, 1}, -1);
const OperatorIdentifier If_13(Domain::ai_onnx, "If", 13, {1, 1}, -1);
const OperatorIdentifier If_16(Domain::ai_onnx, "If", 16, {1, 1}, -1);
const OperatorIdentifier InstanceNormalization_1(Domain::ai_onnx, "InstanceNormalization", 1,
                                                 {3, 3}, 1);
const OperatorIdentifier InstanceNormalization_6(Domain::ai_onnx, "InstanceNormalization", 6,
                                                 {3, 3}, 1);
const OperatorIdentifier IsInf_10(Domain::ai_onnx, "IsInf", 10, {1, 1}, 1);
const OperatorIdentifier IsNaN_9(Domain::ai_onnx, "IsNaN", 9, {1, 1}, 1);
const OperatorIdentifier IsNaN_13(Domain::ai_onnx, "IsNaN", 13, {1, 1}, 1);
const OperatorIdentifier LRN_1(Domain::ai_onnx, "LRN", 1, {1, 1}, 1);
const OperatorIdentifier LRN_13(Domain::ai_onnx, "LRN", 13, {1, 1}, 1);
const OperatorIdentifier LSTM_1(Domain::ai_onnx, "LSTM", 1, {3, 8}, 3);
const OperatorIdentifier LSTM_7(Domain::ai_onnx, "LSTM", 7, {3, 8}, 3);
const OperatorIdentifier LSTM_14(Domain::ai_onnx, "LSTM", 14, {3, 8}, 3);
const OperatorIdentifier LayerNormalization_17(Domain::ai_onnx, "LayerNormalization", 17, {2, 3},
                                               3);
const OperatorIdentifier LeakyRelu_1(Domain::ai_onnx, "LeakyRelu", 1, {1, 1}, 1);
const OperatorIdentifier LeakyRelu_6(Domain::ai_onnx, "LeakyRelu", 6, {1, 1}, 1);
const OperatorIdentifier LeakyRelu_16(Domain::ai_onnx, "LeakyRelu", 16, {1, 1}, 1);
const OperatorIdentifier Less_1(Domain::ai_onnx, "Less", 1, {2, 2}, 1);
const OperatorIdentifier Less_7(Domain::ai_onnx, "Less", 7, {2, 2}, 1);
const OperatorIdentifier Less_9(Domain::ai_onnx, "Less", 9, {2, 2}, 1);
const OperatorIdentifier Less_13(Domain::ai_onnx, "Less", 13, {2, 2}, 1);
const OperatorIdentifier LessOrEqual_12(Domain::ai_onnx, "LessOrEqual", 12, {2, 2}, 1);
const OperatorIdentifier LessOrEqual_16(Domain::ai_onnx, "LessOrEqual", 16, {2, 2}, 1);
const OperatorIdentifier Log_1(Domain::ai_onnx, "Log", 1, {1, 1}, 1);
const OperatorIdentifier Log_6(Domain::ai_onnx, "Log", 6, {1, 1}, 1);
const OperatorIdentifier Log_13(Domain::ai_onnx, "Log", 13, {1, 1}, 1);
const OperatorIdentifier LogSoftmax_1(Domain::ai_onnx, "LogSoftmax", 1, {1, 1}, 1);
const OperatorIdentifier LogSoftmax_11(Domain::ai_onnx, "LogSoftmax", 11, {1, 1}, 1);
const OperatorIdentifier LogSoftmax_13(Domain::ai_onnx, "LogSoftmax", 13, {1, 1}, 1);
const OperatorIdentifier Loop_1(Domain::ai_onnx, "Loop", 1, {3, -1}, -1);
const OperatorIdentifier Loop_11(Domain::ai_onnx, "Loop", 11, {2, -1}, -1);
const OperatorIdentifier Loop_13(Domain::ai_onnx, "Loop", 13, {2, -1}, -1);
const OperatorIdentifier Loop_16(Domain::ai_onnx, "Loop", 16, {2, -1}, -1);
const OperatorIdentifier LpNormalization_1(Domain::ai_onnx, "LpNormalization", 1, {1, 1}, 1);
const OperatorIdentifier LpPool_1(Domain::ai_onnx, "LpPool", 1, {1, 1}, 1);
const OperatorIdentifier LpPool_2(Domain::ai_onnx, "LpPool", 2, {1, 1}, 1);
const OperatorIdentifier LpPool_11(Domain::ai_onnx, "LpPool", 11, {1, 1}, 1);
const OperatorIdentifier MatMul_1(Domain::ai_onnx, "MatMul", 1, {2, 2}, 1);
const OperatorIdentifier MatMul_9(Domain::ai_onnx, "MatMul", 9, {2, 2}, 1);
const OperatorIdentifier MatMul_13(Domain::ai_onnx, "MatMul", 13, {2, 2}, 1);
const OperatorIdentifier MatMulInteger_10(Domain::ai_onnx, "MatMulInteger", 10, {2, 4}, 1);
const OperatorIdentifier Max_1(Domain::ai_onnx, "Max", 1, {1, -1}, 1);
const OperatorIdentifier Max_6(Domain::ai_onnx, "Max", 6, {1, -1}, 1);
const OperatorIdentifier Max_8(Domain::ai_onnx, "Max", 8, {1, -1}, 1);
const OperatorIdentifier Max_12(Domain::ai_onnx, "Max", 12, {1, -1}, 1);
const OperatorIdentifier Max_13(Domain::ai_onnx, "Max", 13, {1, -1}, 1);
const OperatorIdentifier MaxPool_1(Domain::ai_onnx, "MaxPool", 1, {1, 1}, 1);
const OperatorIdentifier MaxPool_8(Domain::ai_onnx, "MaxPool", 8, {1, 1}, 2);
const OperatorIdentifier MaxPool_10(Domain::ai_onnx, "MaxPool", 10, {1, 1}, 2);
const OperatorIdentifier MaxPool_11(Domain::ai_onnx, "MaxPool", 11, {1, 1}, 2);
const OperatorIdentifier MaxPool_12(Domain::ai_onnx, "MaxPool", 12, {1, 1}, 2);
const OperatorIdentifier MaxRoiPool_1(Domain::ai_onnx, "MaxRoiPool", 1, {2, 2}, 1);
const OperatorIdentifier MaxUnpool_9(Domain::ai_onnx, "MaxUnpool", 9, {2, 3}, 1);
const OperatorIdentifier MaxUnpool_11(Domain::ai_onnx, "MaxUnpool", 11, {2, 3}, 1);
const OperatorIdentifier Mean_1(Domain::ai_onnx, "Mean", 1, {1, -1}, 1);
const OperatorIdentifier Mean_6(Domain::ai_onnx, "Mean", 6, {1, -1}, 1);
const OperatorIdentifier Mean_8(Domain::ai_onnx, "Mean", 8, {1, -1}, 1);
const OperatorIdentifier Mean_13(Domain::ai_onnx, "Mean", 13, {1, -1}, 1);
const OperatorIdentifier MeanVarianceNormalization_9(Domain::ai_onnx, "MeanVarianceNormalization",
                                                     9, {1, 1}, 1);
const OperatorIdentifier MeanVarianceNormalization_13(Domain::ai_onnx, "MeanVarianceNormalization",
                                                      13, {1, 1}, 1);
const OperatorIdentifier MelWeightMatrix_17(Domain::ai_onnx, "MelWeightMatrix", 17, {5, 5}, 1);
const OperatorIdentifier Min_1(Domain::ai_onnx, "Min", 1, {1, -1}, 1);
const OperatorIdentifier Min_6(Domain::ai_onnx, "Min", 6, {1, -1}, 1);
const OperatorIdentifier Min_8(Domain::ai_onnx, "Min", 8, {1, -1}, 1);
const OperatorIdentifier Min_12(Domain::ai_onnx, "Min", 12, {1, -1}, 1);
const OperatorIdentifier Min_13(Domain::ai_onnx, "Min", 13, {1, -1}, 1);
const OperatorIdentifier Mod_10(Domain::ai_onnx, "Mod", 10, {2, 2}, 1);
const OperatorIdentifier Mod_13(Domain::ai_onnx, "Mod", 13, {2, 2}, 1);
const OperatorIdentifier Mul_1(Domain::ai_onnx, "Mul", 1, {2, 2}, 1);
const OperatorIdentifier Mul_6(Domain::ai_onnx, "Mul", 6, {2, 2}, 1);
const OperatorIdentifier Mul_7(Domain::ai_onnx, "Mul", 7, {2, 2}, 1);
const OperatorIdentifier Mul_13(Domain::ai_onnx, "Mul", 13, {2, 2}, 1);
const OperatorIdentifier Mul_14(Domain::ai_onnx, "Mul", 14, {2, 2}, 1);
const OperatorIdentifier Multinomial_7(Domain::ai_onnx, "Multinomial", 7, {1, 1}, 1);
const OperatorIdentifier Neg_1(Domain::ai_onnx, "Neg", 1, {1, 1}, 1);
const OperatorIdentifier Neg_6(Domain::ai_onnx, "Neg", 6, {1, 1}, 1);
const OperatorIdentifier Neg_13(Domain::ai_onnx, "Neg", 13, {1, 1}, 1);
const OperatorIdentifier NegativeLogLikelihoodLoss_12(Domain::ai_onnx, "NegativeLogLikelihoodLoss",
                                                      12, {2, 3}, 1);
const OperatorIdentifier NegativeLogLikelihoodLoss_13(Domain::ai_onnx, "NegativeLogLikelihoodLoss",
                                                      13, {2, 3}, 1);
const OperatorIdentifier NonMaxSuppression_10(Domain::ai_onnx, "NonMaxSuppression", 10, {2, 5}, 1);
const OperatorIdentifier NonMaxSuppression_11(Domain::ai_onnx, "NonMaxSuppression", 11, {2, 5}, 1);
const OperatorIdentifier NonZero_9(Domain::ai_onnx, "NonZero", 9, {1, 1}, 1);
const OperatorIdentifier NonZero_13(Domain::ai_onnx, "NonZero", 13, {1, 1}, 1);
const OperatorIdentifier Not_1(Domain::ai_onnx, "Not", 1, {1, 1}, 1);
const OperatorIdentifier OneHot_9(Domain::ai_onnx, "OneHot", 9, {3, 3}, 1);
const OperatorIdentifier OneHot_11(Domain::ai_onnx, "OneHot", 11, {3, 3}, 1);
const OperatorIdentifier Optional_15(Domain::ai_onnx, "Optional", 15, {0, 1}, 1);
const OperatorIdentifier OptionalGetElement_15(Domain::ai_onnx, "OptionalGetElement", 15, {1, 1},
                                               1);
const OperatorIdentifier OptionalHasElement_15(Domain::ai_onnx, "OptionalHasElement", 15, {1, 1},
                                               1);
const OperatorIdentifier Or_1(Domain::ai_onnx, "Or", 1, {2, 2}, 1);
const OperatorIdentifier Or_7(Domain::ai_onnx, "Or", 7, {2, 2}, 1);
const OperatorIdentifier PRelu_1(Domain::ai_onnx, "PRelu", 1, {2, 2}, 1);
const OperatorIdentifier PRelu_6(Domain::ai_onnx, "PRelu", 6, {2, 2}, 1);
const OperatorIdentifier PRelu_7(Domain::ai_onnx, "PRelu", 7, {2, 2}, 1);
const OperatorIdentifier PRelu_9(Domain::ai_onnx, "PRelu", 9, {2, 2}, 1);
const OperatorIdentifier PRelu_16(Domain::ai_onnx, "PRelu", 16, {2, 2}, 1);
const OperatorIdentifier Pad_1(Domain::ai_onnx, "Pad", 1, {1, 1}, 1);
const OperatorIdentifier Pad_2(Domain::ai_onnx, "Pad", 2, {1, 1}, 1);
const OperatorIdentifier Pad_11(Domain::ai_onnx, "Pad", 11, {2, 3}, 1);
const OperatorIdentifier Pad_13(Domain::ai_onnx, "Pad", 13, {2, 3}, 1);
const OperatorIdentifier Pow_1(Domain::ai_onnx, "Pow", 1, {2, 2}, 1);
const OperatorIdentifier Pow_7(Domain::ai_onnx, "Pow", 7, {2, 2}, 1);
const OperatorIdentifier Pow_12(Domain::ai_onnx, "Pow", 12, {2, 2}, 1);
const OperatorIdentifier Pow_13(Domain::ai_onnx, "Pow", 13, {2, 2}, 1);
const OperatorIdentifier Pow_15(Domain::ai_onnx, "Pow", 15, {2, 2}, 1);
const OperatorIdentifier QLinearConv_10(Domain::ai_onnx, "QLinearConv", 10, {8, 9}, 1);
const OperatorIdentifier QLinearMatMul_10(Domain::ai_onnx, "QLinearMatMul", 10, {8, 8}, 1);
const OperatorIdentifier QuantizeLinear_10(Domain::ai_onnx, "QuantizeLinear", 10, {2, 3}, 1);
const OperatorIdentifier QuantizeLinear_13(Domain::ai_onnx, "QuantizeLinear", 13, {2, 3}, 1);
const OperatorIdentifier RNN_1(Domain::ai_onnx, "RNN", 1, {3, 6}, 2);
const OperatorIdentifier RNN_7(Domain::ai_onnx, "RNN", 7, {3, 6}, 2);
const OperatorIdentifier RNN_14(Domain::ai_onnx, "RNN", 14, {3, 6}, 2);
const OperatorIdentifier RandomNormal_1(Domain::ai_onnx, "RandomNormal", 1, {0, 0}, 1);
const OperatorIdentifier RandomNormalLike_1(Domain::ai_onnx, "RandomNormalLike", 1, {1, 1}, 1);
const OperatorIdentifier RandomUniform_1(Domain::ai_onnx, "RandomUniform", 1, {0, 0}, 1);
const OperatorIdentifier RandomUniformLike_1(Domain::ai_onnx, "RandomUniformLike", 1, {1, 1}, 1);
const OperatorIdentifier Range_11(Domain::ai_onnx, "Range", 11, {3, 3}, 1);
const OperatorIdentifier Reciprocal_1(Domain::ai_onnx, "Reciprocal", 1, {1, 1}, 1);
const OperatorIdentifier Reciprocal_6(Domain::ai_onnx, "Reciprocal", 6, {1, 1}, 1);
const OperatorIdentifier Reciprocal_13(Domain::ai_onnx, "Reciprocal", 13, {1, 1}, 1);
const OperatorIdentifier ReduceL1_1(Domain::ai_onnx, "ReduceL1", 1, {1, 1}, 1);
const OperatorIdentifier ReduceL1_11(Domain::ai_onnx, "ReduceL1", 11, {1, 1}, 1);
const OperatorIdentifier ReduceL1_13(Domain::ai_onnx, "ReduceL1", 13, {1, 1}, 1);
const OperatorIdentifier ReduceL2_1(Domain::ai_onnx, "ReduceL2", 1, {1, 1}, 1);
const OperatorIdentifier ReduceL2_11(Domain::ai_onnx, "ReduceL2", 11, {1, 1}, 1);
const OperatorIdentifier ReduceL2_13(Domain::ai_onnx, "ReduceL2", 13, {1, 1}, 1);
const OperatorIdentifier ReduceLogSum_1(Domain::ai_onnx, "ReduceLogSum", 1, {1, 1}, 1);
const OperatorIdentifier ReduceLogSum_11(Domain::ai_onnx, "ReduceLogSum", 11, {1, 1}, 1);
const OperatorIdentifier ReduceLogSum_13(Domain::ai_onnx, "ReduceLogSum", 13, {1, 1}, 1);
const OperatorIdentifier ReduceLogSumExp_1(Domain::ai_onnx, "ReduceLogSumExp", 1, {1, 1}, 1);
const OperatorIdentifier ReduceLogSumExp_11(Domain::ai_onnx, "ReduceLogSumExp", 11, {1, 1}, 1);
const OperatorIdentifier ReduceLogSumExp_13(Domain::ai_onnx, "ReduceLogSumExp", 13, {1, 1}, 1);
const OperatorIdentifier ReduceMax_1(Domain::ai_onnx, "ReduceMax", 1, {1, 1}, 1);
const OperatorIdentifier ReduceMax_11(Domain::ai_onnx, "ReduceMax", 11, {1, 1}, 1);
const OperatorIdentifier ReduceMax_12(Domain::ai_onnx, "ReduceMax", 12, {1, 1}, 1);
const OperatorIdentifier ReduceMax_13(Domain::ai_onnx, "ReduceMax", 13, {1, 1}, 1);
const OperatorIdentifier ReduceMean_1(Domain::ai_onnx, "ReduceMean", 1, {1, 1}, 1);
const OperatorIdentifier ReduceMean_11(Domain::ai_onnx, "ReduceMean", 11, {1, 1}, 1);
const OperatorIdentifier ReduceMean_13(Domain::ai_onnx, "ReduceMean", 13, {1, 1}, 1);
const OperatorIdentifier ReduceMin_1(Domain::ai_onnx, "ReduceMin", 1, {1, 1}, 1);
const OperatorIdentifier ReduceMin_11(Domain::ai_onnx, "ReduceMin", 11, {1, 1}, 1);
const OperatorIdentifier ReduceMin_12(Domain::ai_onnx, "ReduceMin", 12, {1, 1}, 1);
const OperatorIdentifier ReduceMin_13(Domain::ai_onnx, "ReduceMin", 13, {1, 1}, 1);
const OperatorIdentifier ReduceProd_1(Domain::ai_onnx, "ReduceProd", 1, {1, 1}, 1);
const OperatorIdentifier ReduceProd_11(Domain::ai_onnx, "ReduceProd", 11, {1, 1}, 1);
const OperatorIdentifier ReduceProd_13(Domain::ai_onnx, "ReduceProd", 13, {1, 1}, 1);
const OperatorIdentifier ReduceSum_1(Domain::ai_onnx, "ReduceSum", 1, {1, 1}, 1);
const OperatorIdentifier ReduceSum_11(Domain::ai_onnx, "ReduceSum", 11, {1, 1}, 1);
const OperatorIdentifier ReduceSum_13(Domain::ai_onnx, "ReduceSum", 13, {1, 2}, 1);
const OperatorIdentifier ReduceSumSquare_1(Domain::ai_onnx, "ReduceSumSquare", 1, {1, 1}, 1);
const OperatorIdentifier ReduceSumSquare_11(Domain::ai_onnx, "ReduceSumSquare", 11, {1, 1}, 1);
const OperatorIdentifier ReduceSumSquare_13(Domain::ai_onnx, "ReduceSumSquare", 13, {1, 1}, 1);
const OperatorIdentifier Relu_1(Domain::ai_onnx, "Relu", 1, {1, 1}, 1);
const OperatorIdentifier Relu_6(Domain::ai_onnx, "Relu", 6, {1, 1}, 1);
const OperatorIdentifier Relu_13(Domain::ai_onnx, "Relu", 13, {1, 1}, 1);
const OperatorIdentifier Relu_14(Domain::ai_onnx, "Relu", 14, {1, 1}, 1);
const OperatorIdentifier Reshape_1(Domain::ai_onnx, "Reshape", 1, {1, 1}, 1);
const OperatorIdentifier Reshape_5(Domain::ai_onnx, "Reshape", 5, {2, 2}, 1);
const OperatorIdentifier Reshape_13(Domain::ai_onnx, "Reshape", 13, {2, 2}, 1);
const OperatorIdentifier Reshape_14(Domain::ai_onnx, "Reshape", 14, {2, 2}, 1);
const OperatorIdentifier Resize_10(Domain::ai_onnx, "Resize", 10, {2, 2}, 1);
const OperatorIdentifier Resize_11(Domain::ai_onnx, "Resize", 11, {3, 4}, 1);
const OperatorIdentifier Resize_13(Domain::ai_onnx, "Resize", 13, {1, 4}, 1);
const OperatorIdentifier ReverseSequence_10(Domain::ai_onnx, "ReverseSequence", 10, {2, 2}, 1);
const OperatorIdentifier RoiAlign_10(Domain::ai_onnx, "RoiAlign", 10, {3, 3}, 1);
const OperatorIdentifier RoiAlign_16(Domain::ai_onnx, "RoiAlign", 16, {3, 3}, 1);
const OperatorIdentifier Round_11(Domain::ai_onnx, "Round", 11, {1, 1}, 1);
const OperatorIdentifier STFT_17(Domain::ai_onnx, "STFT", 17, {2, 4}, 1);
const OperatorIdentifier Scan_8(Domain::ai_onnx, "Scan", 8, {2, -1}, -1);
const OperatorIdentifier Scan_9(Domain::ai_onnx, "Scan", 9, {1, -1}, -1);
const OperatorIdentifier Scan_11(Domain::ai_onnx, "Scan", 11, {1, -1}, -1);
const OperatorIdentifier Scan_16(Domain::ai_onnx, "Scan", 16, {1, -1}, -1);
const OperatorIdentifier Scatter_9(Domain::ai_onnx, "Scatter", 9, {3, 3}, 1);
const OperatorIdentifier Scatter_11(Domain::ai_onnx, "Scatter", 11, {3, 3}, 1);
const OperatorIdentifier ScatterElements_11(Domain::ai_onnx, "ScatterElements", 11, {3, 3}, 1);
const OperatorIdentifier ScatterElements_13(Domain::ai_onnx, "ScatterElements", 13, {3, 3}, 1);
const OperatorIdentifier ScatterElements_16(Domain::ai_onnx, "ScatterElements", 16, {3, 3}, 1);
const OperatorIdentifier ScatterND_11(Domain::ai_onnx, "ScatterND", 11, {3, 3}, 1);
const OperatorIdentifier ScatterND_13(Domain::ai_onnx, "ScatterND", 13, {3, 3}, 1);
const OperatorIdentifier ScatterND_16(Domain::ai_onnx, "ScatterND", 16, {3, 3}, 1);
const OperatorIdentifier Selu_1(Domain::ai_onnx, "Selu", 1, {1, 1}, 1);
const OperatorIdentifier Selu_6(Domain::ai_onnx, "Selu", 6, {1, 1}, 1);
const OperatorIdentifier SequenceAt_11(Domain::ai_onnx, "SequenceAt", 11, {2, 2}, 1);
const OperatorIdentifier SequenceConstruct_11(Domain::ai_onnx, "SequenceConstruct", 11, {1, -1}, 1);
const OperatorIdentifier SequenceEmpty_11(Domain::ai_onnx, "SequenceEmpty", 11, {0, 0}, 1);
const OperatorIdentifier SequenceErase_11(Domain::ai_onnx, "SequenceErase", 11, {1, 2}, 1);
const OperatorIdentifier SequenceInsert_11(Domain::ai_onnx, "SequenceInsert", 11, {2, 3}, 1);
const OperatorIdentifier SequenceLength_11(Domain::ai_onnx, "SequenceLength", 11, {1, 1}, 1);
const OperatorIdentifier SequenceMap_17(Domain::ai_onnx, "SequenceMap", 17, {1, -1}, -1);
const OperatorIdentifier Shape_1(Domain::ai_onnx, "Shape", 1, {1, 1}, 1);
const OperatorIdentifier Shape_13(Domain::ai_onnx, "Shape", 13, {1, 1}, 1);
const OperatorIdentifier Shape_15(Domain::ai_onnx, "Shape", 15, {1, 1}, 1);
const OperatorIdentifier Shrink_9(Domain::ai_onnx, "Shrink", 9, {1, 1}, 1);
const OperatorIdentifier Sigmoid_1(Domain::ai_onnx, "Sigmoid", 1, {1, 1}, 1);
const OperatorIdentifier Sigmoid_6(Domain::ai_onnx, "Sigmoid", 6, {1, 1}, 1);
const OperatorIdentifier Sigmoid_13(Domain::ai_onnx, "Sigmoid", 13, {1, 1}, 1);
const OperatorIdentifier Sign_9(Domain::ai_onnx, "Sign", 9, {1, 1}, 1);
const OperatorIdentifier Sign_13(Domain::ai_onnx, "Sign", 13, {1, 1}, 1);
const OperatorIdentifier Sin_7(Domain::ai_onnx, "Sin", 7, {1, 1}, 1);
const OperatorIdentifier Sinh_9(Domain::ai_onnx, "Sinh", 9, {1, 1}, 1);
const OperatorIdentifier Size_1(Domain::ai_onnx, "Size", 1, {1, 1}, 1);
const OperatorIdentifier Size_13(Domain::ai_onnx, "Size", 13, {1, 1}, 1);
const OperatorIdentifier Slice_1(Domain::ai_onnx, "Slice", 1, {1, 1}, 1);
const OperatorIdentifier Slice_10(Domain::ai_onnx, "Slice", 10, {3, 5}, 1);
const OperatorIdentifier Slice_11(Domain::ai_onnx, "Slice", 11, {3, 5}, 1);
const OperatorIdentifier Slice_13(Domain::ai_onnx, "Slice", 13, {3, 5}, 1);
const OperatorIdentifier Softmax_1(Domain::ai_onnx, "Softmax", 1, {1, 1}, 1);
const OperatorIdentifier Softmax_11(Domain::ai_onnx, "Softmax", 11, {1, 1}, 1);
const OperatorIdentifier Softmax_13(Domain::ai_onnx, "Softmax", 13, {1, 1}, 1);
const OperatorIdentifier SoftmaxCrossEntropyLoss_12(Domain::ai_onnx, "SoftmaxCrossEntropyLoss", 12,
                                                    {2, 3}, 2);
const OperatorIdentifier SoftmaxCrossEntropyLoss_13(Domain::ai_onnx, "SoftmaxCrossEntropyLoss", 13,
                                                    {2, 3}, 2);
const OperatorIdentifier Softplus_1(Domain::ai_onnx, "Softplus", 1, {1, 1}, 1);
const OperatorIdentifier Softsign_1(Domain::ai_onnx, "Softsign", 1, {1, 1}, 1);
const OperatorIdentifier SpaceToDepth_1(Domain::ai_onnx, "SpaceToDepth", 1, {1, 1}, 1);
const OperatorIdentifier SpaceToDepth_13(Domain::ai_onnx, "SpaceToDepth", 13, {1, 1}, 1);
const OperatorIdentifier Split_1(Domain::ai_onnx, "Split", 1, {1, 2}, -1);
const OperatorIdentifier Split_2(Domain::ai_onnx, "Split", 2, {1, 1}, -1);
const OperatorIdentifier Split_11(Domain::ai_onnx, "Split", 11, {1, 1}, -1);
const OperatorIdentifier Split_13(Domain::ai_onnx, "Split", 13, {1, 2}, -1);
const OperatorIdentifier SplitToSequence_11(Domain::ai_onnx, "SplitToSequence", 11, {1, 2}, 1);
const OperatorIdentifier Sqrt_1(Domain::ai_onnx, "Sqrt", 1, {1, 1}, 1);
const OperatorIdentifier Sqrt_6(Domain::ai_onnx, "Sqrt", 6, {1, 1}, 1);
const OperatorIdentifier Sqrt_13(Domain::ai_onnx, "Sqrt", 13, {1, 1}, 1);
const OperatorIdentifier Squeeze_1(Domain::ai_onnx, "Squeeze", 1, {1, 1}, 1);
const OperatorIdentifier Squeeze_11(Domain::ai_onnx, "Squeeze", 11, {1, 1}, 1);
const OperatorIdentifier Squeeze_13(Domain::ai_onnx, "Squeeze", 13, {1, 2}, 1);
const OperatorIdentifier StringNormalizer_10(Domain::ai_onnx, "StringNormalizer", 10, {1, 1}, 1);
const OperatorIdentifier Sub_1(Domain::ai_onnx, "Sub", 1, {2, 2}, 1);
const OperatorIdentifier Sub_6(Domain::ai_onnx, "Sub", 6, {2, 2}, 1);
const OperatorIdentifier Sub_7(Domain::ai_onnx, "Sub", 7, {2, 2}, 1);
const OperatorIdentifier Sub_13(Domain::ai_onnx, "Sub", 13, {2, 2}, 1);
const OperatorIdentifier Sub_14(Domain::ai_onnx, "Sub", 14, {2, 2}, 1);
const OperatorIdentifier Sum_1(Domain::ai_onnx, "Sum", 1, {1, -1}, 1);
const OperatorIdentifier Sum_6(Domain::ai_onnx, "Sum", 6, {1, -1}, 1);
const OperatorIdentifier Sum_8(Domain::ai_onnx, "Sum", 8, {1, -1}, 1);
const OperatorIdentifier Sum_13(Domain::ai_onnx, "Sum", 13, {1, -1}, 1);
const OperatorIdentifier Tan_7(Domain::ai_onnx, "Tan", 7, {1, 1}, 1);
const OperatorIdentifier Tanh_1(Domain::ai_onnx, "Tanh", 1, {1, 1}, 1);
const OperatorIdentifier Tanh_6(Domain::ai_onnx, "Tanh", 6, {1, 1}, 1);
const OperatorIdentifier Tanh_13(Domain::ai_onnx, "Tanh", 13, {1, 1}, 1);
const OperatorIdentifier TfIdfVectorizer_9(Domain::ai_onnx, "TfIdfVectorizer", 9, {1, 1}, 1);
const OperatorIdentifier ThresholdedRelu_10(Domain::ai_onnx, "ThresholdedRelu", 10, {1, 1}, 1);
const OperatorIdentifier Tile_1(Domain::ai_onnx, "Tile", 1, {3, 3}, 1);
const OperatorIdentifier Tile_6(Domain::ai_onnx, "Tile", 6, {2, 2}, 1);
const OperatorIdentifier Tile_13(Domain::ai_onnx, "Tile", 13, {2, 2}, 1);
const OperatorIdentifier TopK_1(Domain::ai_onnx, "TopK", 1, {1, 1}, 2);
const OperatorIdentifier TopK_10(Domain::ai_onnx, "TopK", 10, {2, 2}, 2);
const OperatorIdentifier TopK_11(Domain::ai_onnx, "TopK", 11, {2, 2}, 2);
const OperatorIdentifier Transpose_1(Domain::ai_onnx, "Transpose", 1, {1, 1}, 1);
const OperatorIdentifier Transpose_13(Domain::ai_onnx, "Transpose", 13, {1, 1}, 1);
const OperatorIdentifier Trilu_14(Domain::ai_onnx, "Trilu", 14, {1, 2}, 1);
const OperatorIdentifier Unique_11(Domain::ai_onnx, "Unique", 11, {1, 1}, 4);
const OperatorIdentifier Unsqueeze_1(Domain::ai_onnx, "Unsqueeze", 1, {1, 1}, 1);
const OperatorIdentifier Unsqueeze_11(Domain::ai_onnx, "Unsqueeze", 11, {1, 1}, 1);
const OperatorIdentifier Unsqueeze_13(Domain::ai_onnx, "Unsqueeze", 13, {2, 2}, 1);
const OperatorIdentifier Upsample_1(Domain::ai_onnx, "Upsample", 1, {1, 1}, 1);
const OperatorIdentifier Upsample_7(Domain::ai_onnx, "Upsample", 7, {1, 1}, 1);
const OperatorIdentifier Upsample_9(Domain::ai_onnx, "Upsample", 9, {2, 2}, 1);
const OperatorIdentifier Upsample_10(Domain::ai_onnx, "Upsample", 10, {2, 2}, 1);
const OperatorIdentifier Where_9(Domain::ai_onnx, "Where", 9, {3, 3}, 1);
const OperatorIdentifier Where_16(Domain::ai_onnx, "Where", 16, {3, 3}, 1);
const OperatorIdentifier Xor_1(Domain::ai_onnx, "Xor", 1, {2, 2}, 1);
const OperatorIdentifier Xor_7(Domain::ai_onnx, "Xor", 7, {2, 2}, 1);
}  // namespace Operators

namespace GradOperators {
const AiGraphcoreOpIdV1 AbsGrad("AbsGrad");
const AiGraphcoreOpIdV1 AddArg0Grad("AddArg0Grad");
const AiGraphcoreOpIdV1 AddArg1Grad("AddArg1Grad");
const AiGraphcoreOpIdV1 AsinGrad("AsinGrad");
const AiGraphcoreOpIdV1 Atan2Arg0Grad("Atan2Arg0Grad");
const AiGraphcoreOpIdV1 Atan2Arg1Grad("Atan2Arg1Grad");
const AiGraphcoreOpIdV1 AtanGrad("AtanGrad");
const AiGraphcoreOpIdV1 AutoLossScaleProxyGrad("AutoLossScaleProxyGrad");
const AiGraphcoreOpIdV1 AveragePoolGrad("AveragePoolGrad");
const AiGraphcoreOpIdV1 BatchNormalizationGrad("BatchNormalizationGrad");
const AiGraphcoreOpIdV1 CastGrad("CastGrad");
const AiGraphcoreOpIdV1 ClipGrad("ClipGrad");
const AiGraphcoreOpIdV1 ConcatGrad("ConcatGrad");
const AiGraphcoreOpIdV1 ConvDataGrad("ConvDataGrad");
const AiGraphcoreOpIdV1 ConvWeightsGrad("ConvWeightsGrad");
const AiGraphcoreOpIdV1 ConvFlipWeightsGrad("ConvFlipWeightsGrad");
const AiGraphcoreOpIdV1 CosGrad("CosGrad");
const AiGraphcoreOpIdV1 CumSumGrad("CumSumGrad");
const AiGraphcoreOpIdV1 DivArg0Grad("DivArg0Grad");
const AiGraphcoreOpIdV1 DivArg1Grad("DivArg1Grad");
const AiGraphcoreOpIdV1 DropoutGrad("DropoutGrad");
const AiGraphcoreOpIdV1 EluGrad("EluGrad");
const AiGraphcoreOpIdV1 ErfGrad("ErfGrad");
const AiGraphcoreOpIdV1 ExpandGrad("ExpandGrad");
const AiGraphcoreOpIdV1 ExpGrad("ExpGrad");
const AiGraphcoreOpIdV1 Expm1Grad("Expm1Grad");
const AiGraphcoreOpIdV1 GatherGrad("GatherGrad");
const AiGraphcoreOpIdV1 GeluGrad("GeluGrad");
const AiGraphcoreOpIdV1 GeluErfGrad("GeluErfGrad");
const AiGraphcoreOpIdV1 GlobalAveragePoolGrad("GlobalAveragePoolGrad");
const AiGraphcoreOpIdV1 GlobalMaxPoolGrad("GlobalMaxPoolGrad");
const AiGraphcoreOpIdV1 GroupNormalizationGrad("GroupNormalizationGrad");
const AiGraphcoreOpIdV1 GRUGrad("GRUGrad");
const AiGraphcoreOpIdV1 HardSigmoidGrad("HardSigmoidGrad");
const AiGraphcoreOpIdV1 IdentityGrad("IdentityGrad");
const AiGraphcoreOpIdV1 IdentityLossGrad("IdentityLossGrad");
const AiGraphcoreOpIdV1 InstanceNormalizationGrad("InstanceNormalizationGrad");
const AiGraphcoreOpIdV1 LeakyReluGrad("LeakyReluGrad");
const AiGraphcoreOpIdV1 Log1pGrad("Log1pGrad");
const AiGraphcoreOpIdV1 LogGrad("LogGrad");
const AiGraphcoreOpIdV1 LogSoftmaxGrad("LogSoftmaxGrad");
const AiGraphcoreOpIdV1 LRN("LRN");
const AiGraphcoreOpIdV1 LRNGrad("LRNGrad");
const AiGraphcoreOpIdV1 LSTMGrad("LSTMGrad");
const AiGraphcoreOpIdV1 MatMulLhsGrad("MatMulLhsGrad");
const AiGraphcoreOpIdV1 MatMulRhsGrad("MatMulRhsGrad");
const AiGraphcoreOpIdV1 MaxArgGrad("MaxArgGrad");
const AiGraphcoreOpIdV1 MaxPoolGrad("MaxPoolGrad");
const AiGraphcoreOpIdV1 MeanArgGrad("MeanArgGrad");
const AiGraphcoreOpIdV1 MinArgGrad("MinArgGrad");
const AiGraphcoreOpIdV1 FmodArg0Grad("FmodArg0Grad");
const AiGraphcoreOpIdV1 MulArg0Grad("MulArg0Grad");
const AiGraphcoreOpIdV1 MulArg1Grad("MulArg1Grad");
const AiGraphcoreOpIdV1 MultiConvDataGrad("MultiConvDataGrad");
const AiGraphcoreOpIdV1 MultiConvWeightsGrad("MultiConvWeightsGrad");
const AiGraphcoreOpIdV1 NegGrad("NegGrad");
const AiGraphcoreOpIdV1 OneHotGrad("OneHotGrad");
const AiGraphcoreOpIdV1 PadGrad("PadGrad");
const AiGraphcoreOpIdV1 PopartLSTMGrad("PopartLSTMGrad");
const AiGraphcoreOpIdV1 PowArg0Grad("PowArg0Grad");
const AiGraphcoreOpIdV1 PowArg1Grad("PowArg1Grad");
const AiGraphcoreOpIdV1 ReciprocalGrad("ReciprocalGrad");
const AiGraphcoreOpIdV1 ReduceL1Grad("ReduceL1Grad");
const AiGraphcoreOpIdV1 ReduceL2Grad("ReduceL2Grad");
const AiGraphcoreOpIdV1 ReduceLogSumExpGrad("ReduceLogSumExpGrad");
const AiGraphcoreOpIdV1 ReduceLogSumGrad("ReduceLogSumGrad");
const AiGraphcoreOpIdV1 ReduceMaxGrad("ReduceMaxGrad");
const AiGraphcoreOpIdV1 ReduceMeanGrad("ReduceMeanGrad");
const AiGraphcoreOpIdV1 ReduceMinGrad("ReduceMinGrad");
const AiGraphcoreOpIdV1 ReduceProdGrad("ReduceProdGrad");
const AiGraphcoreOpIdV1 ReduceSumGrad("ReduceSumGrad");
const AiGraphcoreOpIdV1 ReduceSumSquareGrad("ReduceSumSquareGrad");
const AiGraphcoreOpIdV1 ReluGrad("ReluGrad");
const AiGraphcoreOpIdV1 ReshapeGrad("ReshapeGrad");
const AiGraphcoreOpIdV1 ResizeGrad("ResizeGrad");
const AiGraphcoreOpIdV1 ReverseGrad("ReverseGrad");
const AiGraphcoreOpIdV1 RNNGrad("RNNGrad");
const AiGraphcoreOpIdV1 RoiAlignGrad("RoiAlignGrad");
const AiGraphcoreOpIdV1 Scale("Scale");
const AiGraphcoreOpIdV1 ScaleGrad("ScaleGrad");
const AiGraphcoreOpIdV1 ScatterDataGrad("ScatterDataGrad");
const AiGraphcoreOpIdV1 ScatterUpdateGrad("ScatterUpdateGrad");
const AiGraphcoreOpIdV1 SeluGrad("SeluGrad");
const AiGraphcoreOpIdV1 ShrinkGrad("ShrinkGrad");
const AiGraphcoreOpIdV1 SigmoidGrad("SigmoidGrad");
const AiGraphcoreOpIdV1 SignGrad("SignGrad");
const AiGraphcoreOpIdV1 SinGrad("SinGrad");
const AiGraphcoreOpIdV1 SinhGrad("SinhGrad");
const AiGraphcoreOpIdV1 SliceGrad("SliceGrad");
const AiGraphcoreOpIdV1 SoftmaxGrad("SoftmaxGrad");
const AiGraphcoreOpIdV1 SoftPlusGrad("SoftPlusGrad");
const AiGraphcoreOpIdV1 SoftSignGrad("SoftSignGrad");
const AiGraphcoreOpIdV1 SplitGrad("SplitGrad");
const AiGraphcoreOpIdV1 SqrtGrad("SqrtGrad");
const AiGraphcoreOpIdV1 SubArg0Grad("SubArg0Grad");
const AiGraphcoreOpIdV1 SubArg1Grad("SubArg1Grad");
const AiGraphcoreOpIdV1 SumArgGrad("SumArgGrad");
const AiGraphcoreOpIdV1 TanhGrad("TanhGrad");
const AiGraphcoreOpIdV1 ThresholdedReluGrad("ThresholdedReluGrad");
const AiGraphcoreOpIdV1 TiedGatherGrad("TiedGatherGrad");
const AiGraphcoreOpIdV1 TileGrad("TileGrad");
const AiGraphcoreOpIdV1 TopKGrad("TopKGrad");
const AiGraphcoreOpIdV1 TransposeGrad("TransposeGrad");
const AiGraphcoreOpIdV1 WhereXGrad("WhereXGrad");
const AiGraphcoreOpIdV1 WhereYGrad("WhereYGrad");
}  // namespace GradOperators

namespace CustomOperators {
const AiGraphcoreOpIdV1 Abort("Abort");
const AiGraphcoreOpIdV1 Accumulate("Accumulate");
const AiGraphcoreOpIdV1 AccumulatorScale("AccumulatorScale");
const AiGraphcoreOpIdV1 AccumulatorUpdate("AccumulatorUpdate");
const AiGraphcoreOpIdV1 AccumulatorZero("AccumulatorZero");
const AiGraphcoreOpIdV1 AdaDeltaUpdater("AdaDeltaUpdater");
const AiGraphcoreOpIdV1 AdamCombo("AdamCombo");
const AiGraphcoreOpIdV1 AdamUpdater("AdamUpdater");
const AiGraphcoreOpIdV1 AdamVarUpdate("AdamVarUpdate");
const AiGraphcoreOpIdV1 AdaptiveCombo("AdaptiveCombo");
const AiGraphcoreOpIdV1 AddBias("AddBias");
const AiGraphcoreOpIdV1 AddBiasInplace("AddBiasInplace");
const AiGraphcoreOpIdV1 AddLhsInplace("AddLhsInplace");
const AiGraphcoreOpIdV1 AddRhsInplace("AddRhsInplace");
const AiGraphcoreOpIdV1 AllReduce("AllReduce");
const AiGraphcoreOpIdV1 AsinInplace("AsinInplace");
const AiGraphcoreOpIdV1 Atan2_1("Atan2");
const AiGraphcoreOpIdV1 Atan2Inplace("Atan2Inplace");
const AiGraphcoreOpIdV1 AtanInplace("AtanInplace");
const AiGraphcoreOpIdV1 AutoLossScaleProxy("AutoLossScaleProxy");
const AiGraphcoreOpIdV1 BinaryConstScalar("BinaryConstScalar");
const AiGraphcoreOpIdV1 BitwiseAnd("BitwiseAnd");
const AiGraphcoreOpIdV1 BitwiseNot("BitwiseNot");
const AiGraphcoreOpIdV1 BitwiseOr("BitwiseOr");
const AiGraphcoreOpIdV1 BitwiseXnor("BitwiseXnor");
const AiGraphcoreOpIdV1 BitwiseXor("BitwiseXor");
const AiGraphcoreOpIdV1 Bucketize("Bucketize");
const AiGraphcoreOpIdV1 Call_1("Call");
const AiGraphcoreOpIdV1 CastThenPow2Scale("CastThenPow2Scale");
const AiGraphcoreOpIdV1 CeilInplace("CeilInplace");
const AiGraphcoreOpIdV1 ClipInplace("ClipInplace");
const AiGraphcoreOpIdV1 ConcatGradInplace("ConcatGradInplace");
const AiGraphcoreOpIdV1 ConcatInplace("ConcatInplace");
const AiGraphcoreOpIdV1 ConvFlipWeights("ConvFlipWeights");
const AiGraphcoreOpIdV1 CopyVarUpdate("CopyVarUpdate");
const AiGraphcoreOpIdV1 Ctc("Ctc");
const AiGraphcoreOpIdV1 CtcBeamSearchDecoder("CtcBeamSearchDecoder");
const AiGraphcoreOpIdV1 DepthToSpace("DepthToSpace");
const AiGraphcoreOpIdV1 Detach_1("Detach");
const AiGraphcoreOpIdV1 DetachInplace("DetachInplace");
const AiGraphcoreOpIdV1 DynamicAdd_1("DynamicAdd");
const AiGraphcoreOpIdV1 DynamicAddInplace("DynamicAddInplace");
const AiGraphcoreOpIdV1 DynamicSlice_1("DynamicSlice");
const AiGraphcoreOpIdV1 DynamicSliceInplace_1("DynamicSliceInplace");
const AiGraphcoreOpIdV1 DynamicUpdate_1("DynamicUpdate");
const AiGraphcoreOpIdV1 DynamicUpdateInplace("DynamicUpdateInplace");
const AiGraphcoreOpIdV1 DynamicZero_1("DynamicZero");
const AiGraphcoreOpIdV1 DynamicZeroInplace("DynamicZeroInplace");
const AiGraphcoreOpIdV1 EluInplace("EluInplace");
const AiGraphcoreOpIdV1 ExpandInplace("ExpandInplace");
const AiGraphcoreOpIdV1 ExpInplace("ExpInplace");
const AiGraphcoreOpIdV1 Expm1_1("Expm1");
const AiGraphcoreOpIdV1 Expm1Inplace("Expm1Inplace");
const AiGraphcoreOpIdV1 FlattenInplace("FlattenInplace");
const AiGraphcoreOpIdV1 FloorInplace("FloorInplace");
const AiGraphcoreOpIdV1 Fmod("Fmod");
const AiGraphcoreOpIdV1 Gelu_1("Gelu");
const AiGraphcoreOpIdV1 GeluErf_1("GeluErf");
const AiGraphcoreOpIdV1 GeluErfInplace("GeluErfInplace");
const AiGraphcoreOpIdV1 GeluInplace("GeluInplace");
const AiGraphcoreOpIdV1 GetRandomSeed("GetRandomSeed");
const AiGraphcoreOpIdV1 GradCopyFromHost("GradCopyFromHost");
const AiGraphcoreOpIdV1 GradientAccumulation("GradientAccl");
const AiGraphcoreOpIdV1 GroupedGather("GroupedGather");
const AiGraphcoreOpIdV1 GroupNormalization_1("GroupNormalization");
const AiGraphcoreOpIdV1 HardSigmoidInplace("HardSigmoidInplace");
const AiGraphcoreOpIdV1 Histogram("Histogram");
const AiGraphcoreOpIdV1 HostLoad("HostLoad");
const AiGraphcoreOpIdV1 HostLoadInplace("HostLoadInplace");
const AiGraphcoreOpIdV1 HostSGD0VarUpdate("HostSGD0VarUpdate");
const AiGraphcoreOpIdV1 HostStore("HostStore");
const AiGraphcoreOpIdV1 IdentityInplace("IdentityInplace");
const AiGraphcoreOpIdV1 IdentityLoss("IdentityLoss");
const AiGraphcoreOpIdV1 IncrementMod_1("IncrementMod");
const AiGraphcoreOpIdV1 IncrementModInplace_1("IncrementModInplace");
const AiGraphcoreOpIdV1 Init_1("Init");
const AiGraphcoreOpIdV1 IoTileCopy("IoTileCopy");
const AiGraphcoreOpIdV1 IpuCopy("IpuCopy");
const AiGraphcoreOpIdV1 L1("L1");
const AiGraphcoreOpIdV1 LambSquare("LambSquare");
const AiGraphcoreOpIdV1 LeakyReluInplace("LeakyReluInplace");
const AiGraphcoreOpIdV1 Log1p_1("Log1p");
const AiGraphcoreOpIdV1 Log1pInplace("Log1pInplace");
const AiGraphcoreOpIdV1 LogSoftmaxInplace("LogSoftmaxInplace");
const AiGraphcoreOpIdV1 LossScaleUpdate("LossScaleUpdate");
const AiGraphcoreOpIdV1 LSTM_1("LSTM");
const AiGraphcoreOpIdV1 ModifyRandomSeed("ModifyRandomSeed");
const AiGraphcoreOpIdV1 MulLhsInplace("MulLhsInplace");
const AiGraphcoreOpIdV1 MulRhsInplace("MulRhsInplace");
const AiGraphcoreOpIdV1 MultiConv_1("MultiConv");
const AiGraphcoreOpIdV1 MultiExchange("MultiExchange");
const AiGraphcoreOpIdV1 MultiReplicatedAllReduce("MultiReplicatedAllReduce");
const AiGraphcoreOpIdV1 NearbyInt("NearbyInt");
const AiGraphcoreOpIdV1 Nll("Nll");
const AiGraphcoreOpIdV1 Nop_1("Nop");
const AiGraphcoreOpIdV1 NormalizeImage("NormalizeImage");
const AiGraphcoreOpIdV1 PackedDataBlock("PackedDataBlock");
const AiGraphcoreOpIdV1 PadInplace("PadInplace");
const AiGraphcoreOpIdV1 Pow2ScaleThenCast("Pow2ScaleThenCast");
const AiGraphcoreOpIdV1 PowLhsInplace("PowLhsInplace");
const AiGraphcoreOpIdV1 PrintTensor_1("PrintTensor");
const AiGraphcoreOpIdV1 ReduceMedian("ReduceMedian");
const AiGraphcoreOpIdV1 ReluInplace("ReluInplace");
const AiGraphcoreOpIdV1 Remainder("Remainder");
const AiGraphcoreOpIdV1 RemoteCodeLoad("RemoteCodeLoad");
const AiGraphcoreOpIdV1 RemoteLoad("RemoteLoad");
const AiGraphcoreOpIdV1 RemoteLoadInplace("RemoteLoadInplace");
const AiGraphcoreOpIdV1 RemoteStore("RemoteStore");
const AiGraphcoreOpIdV1 ReplicatedAllGather("ReplicatedAllGather");
const AiGraphcoreOpIdV1 ReplicatedAllReduce("ReplicatedAllReduce");
const AiGraphcoreOpIdV1 ReplicatedAllReduceInplace("ReplicatedAllReduceInplace");
const AiGraphcoreOpIdV1 ReplicatedReduceScatter("ReplicatedReduceScatter");
const AiGraphcoreOpIdV1 RescaleAccumulate("RescaleAccumulate");
const AiGraphcoreOpIdV1 ResetAccumulation("ResetAccl");
const AiGraphcoreOpIdV1 Reshape_1("Reshape");
const AiGraphcoreOpIdV1 ReshapeInplace("ReshapeInplace");
const AiGraphcoreOpIdV1 Resize("Resize");
const AiGraphcoreOpIdV1 Restore("Restore");
const AiGraphcoreOpIdV1 RestoreInplace("RestoreInplace");
const AiGraphcoreOpIdV1 Reverse("Reverse");
const AiGraphcoreOpIdV1 ReverseInplace("ReverseInplace");
const AiGraphcoreOpIdV1 RMSPropUpdater("RMSPropUpdater");
const AiGraphcoreOpIdV1 Round_1("Round");
const AiGraphcoreOpIdV1 RoundInplace("RoundInplace");
const AiGraphcoreOpIdV1 Scale_1("Scale");
const AiGraphcoreOpIdV1 ScaledAdd("ScaledAdd");
const AiGraphcoreOpIdV1 ScaledAddLhsInplace("ScaledAddLhsInplace");
const AiGraphcoreOpIdV1 ScaledAddRhsInplace("ScaledAddRhsInplace");
const AiGraphcoreOpIdV1 ScaledVarUpdate("ScaledVarUpdate");
const AiGraphcoreOpIdV1 ScaleInplace("ScaleInplace");
const AiGraphcoreOpIdV1 ScatterReduce("ScatterReduce");
const AiGraphcoreOpIdV1 SeluInplace("SeluInplace");
const AiGraphcoreOpIdV1 SequenceSlice_1("SequenceSlice");
const AiGraphcoreOpIdV1 SequenceSliceInplace("SequenceSliceInplace");
const AiGraphcoreOpIdV1 SGD0Combo("SGD0Combo");
const AiGraphcoreOpIdV1 SGD0VarUpdate("SGD0VarUpdate");
const AiGraphcoreOpIdV1 SGD1AcclUpdate("SGD1AcclUpdate");
const AiGraphcoreOpIdV1 SGD1Combo("SGD1Combo");
const AiGraphcoreOpIdV1 SGD1VarUpdate("SGD1VarUpdate");
const AiGraphcoreOpIdV1 SGD2AcclUpdate("SGD2AcclUpdate");
const AiGraphcoreOpIdV1 SGD2Combo("SGD2Combo");
const AiGraphcoreOpIdV1 SGD2VarUpdate("SGD2VarUpdate");
const AiGraphcoreOpIdV1 ShapedDropout_1("ShapedDropout");
const AiGraphcoreOpIdV1 ShrinkInplace("ShrinkInplace");
const AiGraphcoreOpIdV1 SigmoidInplace("SigmoidInplace");
const AiGraphcoreOpIdV1 SignInplace("SignInplace");
const AiGraphcoreOpIdV1 SinhInplace("SinhInplace");
const AiGraphcoreOpIdV1 SliceInplace("SliceInplace");
const AiGraphcoreOpIdV1 SoftmaxInplace("SoftmaxInplace");
const AiGraphcoreOpIdV1 SoftPlusInplace("SoftPlusInplace");
const AiGraphcoreOpIdV1 SoftSignInplace("SoftSignInplace");
const AiGraphcoreOpIdV1 Sort("Sort");
const AiGraphcoreOpIdV1 SparseAccumulate("PopartSparseAccumulate");
const AiGraphcoreOpIdV1 SplineBasis("SplineBasis");
const AiGraphcoreOpIdV1 SplineWeighting("SplineWeighting");
const AiGraphcoreOpIdV1 Square("Square");
const AiGraphcoreOpIdV1 SqueezeInplace("SqueezeInplace");
const AiGraphcoreOpIdV1 Stash("Stash");
const AiGraphcoreOpIdV1 Subsample_1("Subsample");
const AiGraphcoreOpIdV1 SubsampleInplace("SubsampleInplace");
const AiGraphcoreOpIdV1 Swish("Swish");
const AiGraphcoreOpIdV1 SwishInplace("SwishInplace");
const AiGraphcoreOpIdV1 Sync("Sync");
const AiGraphcoreOpIdV1 TensorRemap_1("TensorRemap");
const AiGraphcoreOpIdV1 ThresholdedReluInplace("ThresholdedReluInplace");
const AiGraphcoreOpIdV1 TiedGather("PopartTiedGather");
const AiGraphcoreOpIdV1 TransposeInplace("TransposeInplace");
const AiGraphcoreOpIdV1 WhereLhsInplace("WhereLhsInplace");
const AiGraphcoreOpIdV1 WhereRhsInplace("WhereRhsInplace");
const AiGraphcoreOpIdV1 Zeros_1("Zeros");
const AiGraphcoreOpIdV1 ZerosLike_1("ZerosLike");
}  // namespace CustomOperators

namespace CustomGradOperators {
const AiGraphcoreOpIdV1 AddBiasBiasGrad("AddBiasBiasGrad");
const AiGraphcoreOpIdV1 AddBiasDataGrad("AddBiasDataGrad");
const AiGraphcoreOpIdV1 AllReduceGrad("AllReduceGrad");
const AiGraphcoreOpIdV1 CallGrad("CallGrad");
const AiGraphcoreOpIdV1 CtcGrad("CtcGrad");
const AiGraphcoreOpIdV1 DynamicSlicePadGrad("DynamicSlicePadGrad");
const AiGraphcoreOpIdV1 DynamicUpdateToUpdateGrad("DynamicUpdateToUpdateGrad");
const AiGraphcoreOpIdV1 DynamicUpdateUpdaterGrad("DynamicUpdateUpdaterGrad");
const AiGraphcoreOpIdV1 DynamicZeroGrad("DynamicZeroGrad");
const AiGraphcoreOpIdV1 IfConditionGrad("IfConditionGrad");
const AiGraphcoreOpIdV1 IfGrad("IfGrad");
const AiGraphcoreOpIdV1 L1Grad("L1Grad");
const AiGraphcoreOpIdV1 LoopGrad("LoopGrad");
const AiGraphcoreOpIdV1 NllGrad("NllGrad");
const AiGraphcoreOpIdV1 NlllWithSoftmaxGradDirect("NlllWithSoftmaxGradDirect");
const AiGraphcoreOpIdV1 ReduceMedianGrad("ReduceMedianGrad");
const AiGraphcoreOpIdV1 ScatterReduceGradOp("ScatterReduceGradOp");
const AiGraphcoreOpIdV1 SoftmaxGradDirect("SoftmaxGradDirect");
const AiGraphcoreOpIdV1 SubsampleGrad("SubsampleGrad");
const AiGraphcoreOpIdV1 SwishGrad("SwishGrad");
const AiGraphcoreOpIdV1 UnaryZeroGradOp("UnaryZeroGrad");
}  // namespace CustomGradOperators

}  // namespace Onnx

namespace {

/// Names in order; each with the versions that changed the operator, in order.
constexpr detail::OperatorVersions versions[] = {
    {"Abs", {1, 6, 13}},
    {"Acos", {7}},
    {"Acosh", {9}},
    {"Add", {1, 6, 7, 13, 14}},
    {"And", {1, 7}},
    {"ArgMax", {1, 11, 12, 13}},
    {"ArgMin", {1, 11, 12, 13}},
    {"Asin", {7}},
    {"Asinh", {9}},
    {"Atan", {7}},
    {"Atanh", {9}},
    {"AveragePool", {1, 7, 10, 11}},
    {"BatchNormalization", {1, 6, 7, 9, 14, 15}},
    {"Bernoulli", {15}},
    {"BitShift", {11}},
    {"BlackmanWindow", {17}},
    {"Cast", {1, 6, 9, 13}},
    {"CastLike", {15}},
    {"Ceil", {1, 6, 13}},
    {"Celu", {12}},
    {"Clip", {1, 6, 11, 12, 13}},
    {"Compress", {9, 11}},
    {"Concat", {1, 4, 11, 13}},
    {"ConcatFromSequence", {11}},
    {"Constant", {1, 9, 11, 12, 13}},
    {"ConstantOfShape", {9}},
    {"Conv", {1, 11}},
    {"ConvInteger", {10}},
    {"ConvTranspose", {1, 11}},
    {"Cos", {7}},
    {"Cosh", {9}},
    {"CumSum", {11, 14}},
    {"DFT", {17}},
    {"DepthToSpace", {1, 11, 13}},
    {"DequantizeLinear", {10, 13}},
    {"Det", {11}},
    {"Div", {1, 6, 7, 13, 14}},
    {"Dropout", {1, 6, 7, 10, 12, 13}},
    {"DynamicQuantizeLinear", {11}},
    {"Einsum", {12}},
    {"Elu", {1, 6}},
    {"Equal", {1, 7, 11, 13}},
    {"Erf", {9, 13}},
    {"Exp", {1, 6, 13}},
    {"Expand", {8, 13}},
    {"EyeLike", {9}},
    {"Flatten", {1, 9, 11, 13}},
    {"Floor", {1, 6, 13}},
    {"GRU", {1, 3, 7, 14}},
    {"Gather", {1, 11, 13}},
    {"GatherElements", {11, 13}},
    {"GatherND", {11, 12, 13}},
    {"Gemm", {1, 6, 7, 9, 11, 13}},
    {"GlobalAveragePool", {1}},
    {"GlobalLpPool", {1, 2}},
    {"GlobalMaxPool", {1}},
    {"Greater", {1, 7, 9, 13}},
    {"GreaterOrEqual", {12, 16}},
    {"GridSample", {16}},
    {"HammingWindow", {17}},
    {"HannWindow", {17}},
    {"HardSigmoid", {1, 6}},
    {"HardSwish", {14}},
    {"Hardmax", {1, 11, 13}},
    {"Identity", {1, 13, 14, 16}},
    {"If", {1, 11, 13, 16}},
    {"InstanceNormalization", {1, 6}},
    {"IsInf", {10}},
    {"IsNaN", {9, 13}},
    {"LRN", {1, 13}},
    {"LSTM", {1, 7, 14}},
    {"LayerNormalization", {17}},
    {"LeakyRelu", {1, 6, 16}},
    {"Less", {1, 7, 9, 13}},
    {"LessOrEqual", {12, 16}},
    {"Log", {1, 6, 13}},
    {"LogSoftmax", {1, 11, 13}},
    {"Loop", {1, 11, 13, 16}},
    {"LpNormalization", {1}},
    {"LpPool", {1, 2, 11}},
    {"MatMul", {1, 9, 13}},
    {"MatMulInteger", {10}},
    {"Max", {1, 6, 8, 12, 13}},
    {"MaxPool", {1, 8, 10, 11, 12}},
    {"MaxRoiPool", {1}},
    {"MaxUnpool", {9, 11}},
    {"Mean", {1, 6, 8, 13}},
    {"MeanVarianceNormalization", {9, 13}},
    {"MelWeightMatrix", {17}},
    {"Min", {1, 6, 8, 12, 13}},
    {"Mod", {10, 13}},
    {"Mul", {1, 6, 7, 13, 14}},
    {"Multinomial", {7}},
    {"Neg", {1, 6, 13}},
    {"NegativeLogLikelihoodLoss", {12, 13}},
    {"NonMaxSuppression", {10, 11}},
    {"NonZero", {9, 13}},
    {"Not", {1}},
    {"OneHot", {9, 11}},
    {"Optional", {15}},
    {"OptionalGetElement", {15}},
    {"OptionalHasElement", {15}},
    {"Or", {1, 7}},
    {"PRelu", {1, 6, 7, 9, 16}},
    {"Pad", {1, 2, 11, 13}},
    {"Pow", {1, 7, 12, 13, 15}},
    {"QLinearConv", {10}},
    {"QLinearMatMul", {10}},
    {"QuantizeLinear", {10, 13}},
    {"RNN", {1, 7, 14}},
    {"RandomNormal", {1}},
    {"RandomNormalLike", {1}},
    {"RandomUniform", {1}},
    {"RandomUniformLike", {1}},
    {"Range", {11}},
    {"Reciprocal", {1, 6, 13}},
    {"ReduceL1", {1, 11, 13}},
    {"ReduceL2", {1, 11, 13}},
    {"ReduceLogSum", {1, 11, 13}},
    {"ReduceLogSumExp", {1, 11, 13}},
    {"ReduceMax", {1, 11, 12, 13}},
    {"ReduceMean", {1, 11, 13}},
    {"ReduceMin", {1, 11, 12, 13}},
    {"ReduceProd", {1, 11, 13}},
    {"ReduceSum", {1, 11, 13}},
    {"ReduceSumSquare", {1, 11, 13}},
    {"Relu", {1, 6, 13, 14}},
    {"Reshape", {1, 5, 13, 14}},
    {"Resize", {10, 11, 13}},
    {"ReverseSequence", {10}},
    {"RoiAlign", {10, 16}},
    {"Round", {11}},
    {"STFT", {17}},
    {"Scan", {8, 9, 11, 16}},
    {"Scatter", {9, 11}},
    {"ScatterElements", {11, 13, 16}},
    {"ScatterND", {11, 13, 16}},
    {"Selu", {1, 6}},
    {"SequenceAt", {11}},
    {"SequenceConstruct", {11}},
    {"SequenceEmpty", {11}},
    {"SequenceErase", {11}},
    {"SequenceInsert", {11}},
    {"SequenceLength", {11}},
    {"SequenceMap", {17}},
    {"Shape", {1, 13, 15}},
    {"Shrink", {9}},
    {"Sigmoid", {1, 6, 13}},
    {"Sign", {9, 13}},
    {"Sin", {7}},
    {"Sinh", {9}},
    {"Size", {1, 13}},
    {"Slice", {1, 10, 11, 13}},
    {"Softmax", {1, 11, 13}},
    {"SoftmaxCrossEntropyLoss", {12, 13}},
    {"Softplus", {1}},
    {"Softsign", {1}},
    {"SpaceToDepth", {1, 13}},
    {"Split", {1, 2, 11, 13}},
    {"SplitToSequence", {11}},
    {"Sqrt", {1, 6, 13}},
    {"Squeeze", {1, 11, 13}},
    {"StringNormalizer", {10}},
    {"Sub", {1, 6, 7, 13, 14}},
    {"Sum", {1, 6, 8, 13}},
    {"Tan", {7}},
    {"Tanh", {1, 6, 13}},
    {"TfIdfVectorizer", {9}},
    {"ThresholdedRelu", {10}},
    {"Tile", {1, 6, 13}},
    {"TopK", {1, 10, 11}},
    {"Transpose", {1, 13}},
    {"Trilu", {14}},
    {"Unique", {11}},
    {"Unsqueeze", {1, 11, 13}},
    {"Upsample", {1, 7, 9, 10}},
    {"Where", {9, 16}},
    {"Xor", {1, 7}},
};

/// In order.
constexpr std::string_view inPlaceTypes[] = {
    "AddBiasInplace",
    "AddLhsInplace",
    "AddRhsInplace",
    "AsinInplace",
    "Atan2Inplace",
    "AtanInplace",
    "CeilInplace",
    "ClipInplace",
    "ConcatGradInplace",
    "ConcatInplace",
    "DetachInplace",
    "DynamicAddInplace",
    "DynamicSliceInplace",
    "DynamicUpdateInplace",
    "DynamicZeroInplace",
    "EluInplace",
    "ExpInplace",
    "ExpandInplace",
    "Expm1Inplace",
    "FlattenInplace",
    "FloorInplace",
    "GeluErfInplace",
    "GeluInplace",
    "HardSigmoidInplace",
    "HostLoadInplace",
    "IdentityInplace",
    "IncrementModInplace",
    "LeakyReluInplace",
    "Log1pInplace",
    "LogSoftmaxInplace",
    "MulLhsInplace",
    "MulRhsInplace",
    "PadInplace",
    "PowLhsInplace",
    "ReluInplace",
    "RemoteLoadInplace",
    "ReplicatedAllReduceInplace",
    "ReshapeInplace",
    "RestoreInplace",
    "ReverseInplace",
    "RoundInplace",
    "ScaleInplace",
    "ScaledAddLhsInplace",
    "ScaledAddRhsInplace",
    "SeluInplace",
    "SequenceSliceInplace",
    "ShrinkInplace",
    "SigmoidInplace",
    "SignInplace",
    "SinhInplace",
    "SliceInplace",
    "SoftPlusInplace",
    "SoftSignInplace",
    "SoftmaxInplace",
    "SqueezeInplace",
    "SubsampleInplace",
    "SwishInplace",
    "ThresholdedReluInplace",
    "TransposeInplace",
    "UnsqueezeInplace",
    "WhereLhsInplace",
    "WhereRhsInplace",
};

}  // namespace

std::span<const detail::OperatorVersions> detail::operatorVersions() { return versions; }
std::span<const std::string_view> detail::inPlaceOperators() { return inPlaceTypes; }

}  // namespace popart
