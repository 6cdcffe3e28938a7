#include <popart/builder.hpp>

#include "popart/builder_impl.hpp"
#include "popart/builder_methods.hpp"

// Written by src/popart/generate_builder.py.

namespace popart {

namespace {

constexpr BuilderMethod methods[] = {
    {"ai.graphcore", "Abort", 1, 0, 1, ""},
    {"ai.graphcore", "Atan2", 1, 2, 2, ""},
    {"ai.graphcore", "BatchNormalization", 1, 5, 5, "epsilon:f=1e-05 momentum:f=0.9"},
    {"ai.graphcore", "BitwiseAnd", 1, 2, 2, ""},
    {"ai.graphcore", "BitwiseNot", 1, 1, 1, ""},
    {"ai.graphcore", "BitwiseOr", 1, 2, 2, ""},
    {"ai.graphcore", "BitwiseXnor", 1, 2, 2, ""},
    {"ai.graphcore", "BitwiseXor", 1, 2, 2, ""},
    {"ai.graphcore", "Bucketize", 1, 2, 2, "right:i=0"},
    {"ai.graphcore", "Call", 1, 0, -1, "callee:g!"},
    {"ai.graphcore", "CopyVarUpdate", 1, 2, 2, ""},
    {"ai.graphcore", "Ctc", 1, 4, 4, "reduction:s! blank:i! outDataType:i! zeroInfinity:i=0"},
    {"ai.graphcore", "CtcBeamSearchDecoder", 1, 2, 2, "blank:i=0 beam_width:i=100 top_paths:i=1"},
    {"ai.graphcore", "DepthToSpace", 1, 1, 1, "blocksize:i! mode:s=DCR"},
    {"ai.graphcore", "Detach", 1, 1, 1, ""},
    {"ai.graphcore", "DynamicAdd", 1, 3, 3, "axes:I! sizes:I!"},
    {"ai.graphcore", "DynamicSlice", 1, 2, 3, "axes:I! sizes:I! noOverlap:i!"},
    {"ai.graphcore", "DynamicUpdate", 1, 3, 3, "axes:I! sizes:I! noOverlap:i!"},
    {"ai.graphcore", "DynamicZero", 1, 2, 2, "axes:I! sizes:I!"},
    {"ai.graphcore", "Expm1", 1, 1, 1, ""},
    {"ai.graphcore", "Fmod", 1, 2, 2, ""},
    {"ai.graphcore", "Gelu", 1, 1, 1, ""},
    {"ai.graphcore", "GeluErf", 1, 1, 1, ""},
    {"ai.graphcore", "GroupNormalization", 1, 3, 3, "num_groups:i! epsilon:f=1e-05"},
    {"ai.graphcore", "GroupedGather", 1, 2, 2, "axis:i=0 group_size:i=1"},
    {"ai.graphcore", "IdentityLoss", 1, 1, 1, "reduction:s!"},
    {"ai.graphcore", "IncrementMod", 1, 1, 1, "increment:f! modulus:f!"},
    {"ai.graphcore", "Init", 1, 0, 0,
     "shape:I! data_type:i! init_type:i! tensor_type:i! batch_axis:i!"},
    {"ai.graphcore", "L1", 1, 1, 1, "lambda:f! reduction:s!"},
    {"ai.graphcore", "LSTM", 1, 2, 5, "output_full_sequence:i!"},
    {"ai.graphcore", "Log1p", 1, 1, 1, ""},
    {"ai.graphcore", "MultiConv", 1, 2, -1,
     "strides:I pads:I outPads:I dilations:I inDilations:I planType:s perConvReservedTiles:i "
     "cycleBackOff:f __available_memory:F __partials_type:S __enable_conv_dithering:I numConvs:i!"},
    {"ai.graphcore", "NearbyInt", 1, 1, 1, ""},
    {"ai.graphcore", "Nll", 1, 2, 2, "reduction:s! ignoreIndex:i inputIsLogProbability:i=0"},
    {"ai.graphcore", "Nop", 1, 1, 1, ""},
    {"ai.graphcore", "NormalizeImage", 1, 3, 3, "scale:f!"},
    {"ai.graphcore", "PackedDataBlock", 1, 5, -1,
     "maxSequenceLengths:I! resultSize:i! callbackBatchSize:i! callback:g!"},
    {"ai.graphcore", "PrintTensor", 1, 1, 1,
     "print_gradient:i! title:s! summariseThreshold:i! edgeItems:i! maxLineWidth:i! digits:i! "
     "floatFormat:i! separator:i! openBracket:i! closeBracket:i!"},
    {"ai.graphcore", "ReduceMedian", 1, 1, 1, "axes:I keepdims:i=1"},
    {"ai.graphcore", "Remainder", 1, 2, 2, ""},
    {"ai.graphcore", "ReplicatedAllReduce", 1, 1, 1,
     "__collectiveOperator:i __collectiveCommGroup:I"},
    {"ai.graphcore", "ReplicatedReduceScatter", 1, 1, 1,
     "__collectiveOperator:i __collectiveCommGroup:I"},
    {"ai.graphcore", "Reshape", 1, 1, 1, "shape:I!"},
    {"ai.graphcore", "Reverse", 1, 1, 1, "dimensions:I!"},
    {"ai.graphcore", "Round", 1, 1, 1, ""},
    {"ai.graphcore", "Scale", 1, 1, 1, "scale:f!"},
    {"ai.graphcore", "ScaledAdd", 1, 2, 4, "scale0:f! scale1:f!"},
    {"ai.graphcore", "ScatterReduce", 1, 2, 3,
     "axis_size:i! axis:i=-1 reduction:s=sum group_size:i=1 enable_index_broadcast:i=1"},
    {"ai.graphcore", "SequenceSlice", 1, 5, 5, "zeroUnused:i!"},
    {"ai.graphcore", "ShapedDropout", 1, 1, 1, "shape:I! ratio:f=0.5"},
    {"ai.graphcore", "Slice", 1, 1, 1, "ends:I! starts:I! axes:I"},
    {"ai.graphcore", "Sort", 1, 1, 1, "axis:i=-1 descending:i=0 stable:i=0"},
    {"ai.graphcore", "SplineBasis", 1, 3, 3, "degree:i!"},
    {"ai.graphcore", "SplineWeighting", 1, 4, 4, ""},
    {"ai.graphcore", "Subsample", 1, 1, 1, "strides:I!"},
    {"ai.graphcore", "Swish", 1, 1, 1, ""},
    {"ai.graphcore", "TensorRemap", 1, 1, 2, "remap_type:i!"},
    {"ai.onnx", "Abs", 6, 1, 1, ""},
    {"ai.onnx", "Abs", 13, 1, 1, ""},
    {"ai.onnx", "Acos", 7, 1, 1, ""},
    {"ai.onnx", "Acosh", 9, 1, 1, ""},
    {"ai.onnx", "Add", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Add", 7, 2, 2, ""},
    {"ai.onnx", "Add", 13, 2, 2, ""},
    {"ai.onnx", "Add", 14, 2, 2, ""},
    {"ai.onnx", "And", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "And", 7, 2, 2, ""},
    {"ai.onnx", "ArgMax", 6, 1, 1, "axis:i=0 keepdims:i=1"},
    {"ai.onnx", "ArgMax", 11, 1, 1, "axis:i=0 keepdims:i=1"},
    {"ai.onnx", "ArgMax", 12, 1, 1, "axis:i=0 keepdims:i=1 select_last_index:i=0"},
    {"ai.onnx", "ArgMax", 13, 1, 1, "axis:i=0 keepdims:i=1 select_last_index:i=0"},
    {"ai.onnx", "ArgMin", 6, 1, 1, "axis:i=0 keepdims:i=1"},
    {"ai.onnx", "ArgMin", 11, 1, 1, "axis:i=0 keepdims:i=1"},
    {"ai.onnx", "ArgMin", 12, 1, 1, "axis:i=0 keepdims:i=1 select_last_index:i=0"},
    {"ai.onnx", "ArgMin", 13, 1, 1, "axis:i=0 keepdims:i=1 select_last_index:i=0"},
    {"ai.onnx", "Asin", 7, 1, 1, ""},
    {"ai.onnx", "Asinh", 9, 1, 1, ""},
    {"ai.onnx", "Atan", 7, 1, 1, ""},
    {"ai.onnx", "Atanh", 9, 1, 1, ""},
    {"ai.onnx", "AveragePool", 6, 1, 1, "kernel_shape:I! pads:I strides:I"},
    {"ai.onnx", "AveragePool", 7, 1, 1, "kernel_shape:I! count_include_pad:i=0 pads:I strides:I"},
    {"ai.onnx", "AveragePool", 10, 1, 1,
     "kernel_shape:I! ceil_mode:i=0 count_include_pad:i=0 pads:I strides:I"},
    {"ai.onnx", "AveragePool", 11, 1, 1,
     "kernel_shape:I! ceil_mode:i=0 count_include_pad:i=0 pads:I strides:I"},
    {"ai.onnx", "BatchNormalization", 6, 5, 5,
     "epsilon:f=1e-05 is_test:i=0 momentum:f=0.9 spatial:i=1"},
    {"ai.onnx", "BatchNormalization", 7, 5, 5, "epsilon:f=1e-05 momentum:f=0.9 spatial:i=1"},
    {"ai.onnx", "BatchNormalization", 9, 5, 5, "epsilon:f=1e-05 momentum:f=0.9"},
    {"ai.onnx", "BatchNormalization", 14, 5, 5, "epsilon:f=1e-05 momentum:f=0.9 training_mode:i=0"},
    {"ai.onnx", "BatchNormalization", 15, 5, 5, "epsilon:f=1e-05 momentum:f=0.9 training_mode:i=0"},
    {"ai.onnx", "Bernoulli", 15, 1, 1, "dtype:i seed:f"},
    {"ai.onnx", "BitShift", 11, 2, 2, "direction:s!"},
    {"ai.onnx", "BlackmanWindow", 17, 1, 1, "output_datatype:i=1 periodic:i=1"},
    {"ai.onnx", "Cast", 6, 1, 1, "to:i!"},
    {"ai.onnx", "Cast", 9, 1, 1, "to:i!"},
    {"ai.onnx", "Cast", 13, 1, 1, "to:i!"},
    {"ai.onnx", "CastLike", 15, 2, 2, ""},
    {"ai.onnx", "Ceil", 6, 1, 1, ""},
    {"ai.onnx", "Ceil", 13, 1, 1, ""},
    {"ai.onnx", "Celu", 12, 1, 1, "alpha:f=1.0"},
    {"ai.onnx", "Clip", 6, 1, 1, "max:f=3.4028235e+38 min:f=-3.4028235e+38"},
    {"ai.onnx", "Clip", 11, 1, 3, ""},
    {"ai.onnx", "Clip", 12, 1, 3, ""},
    {"ai.onnx", "Clip", 13, 1, 3, ""},
    {"ai.onnx", "Compress", 9, 2, 2, "axis:i"},
    {"ai.onnx", "Compress", 11, 2, 2, "axis:i"},
    {"ai.onnx", "Concat", 6, 1, -1, "axis:i!"},
    {"ai.onnx", "Concat", 11, 1, -1, "axis:i!"},
    {"ai.onnx", "Concat", 13, 1, -1, "axis:i!"},
    {"ai.onnx", "ConcatFromSequence", 11, 1, 1, "axis:i! new_axis:i=0"},
    {"ai.onnx", "Constant", 6, 0, 0, "value:t!"},
    {"ai.onnx", "Constant", 9, 0, 0, "value:t!"},
    {"ai.onnx", "Constant", 11, 0, 0, "value:t!"},
    {"ai.onnx", "Constant", 12, 0, 0, "value:t!"},
    {"ai.onnx", "Constant", 13, 0, 0, "value:t!"},
    {"ai.onnx", "ConstantOfShape", 9, 1, 1, "value:t!"},
    {"ai.onnx", "Conv", 6, 2, 3, "dilations:I group:i=1 kernel_shape:I pads:I strides:I"},
    {"ai.onnx", "Conv", 11, 2, 3, "dilations:I group:i=1 kernel_shape:I pads:I strides:I"},
    {"ai.onnx", "ConvInteger", 10, 2, 4, "dilations:I group:i=1 kernel_shape:I pads:I strides:I"},
    {"ai.onnx", "ConvTranspose", 6, 2, 3,
     "dilations:I group:i=1 kernel_shape:I output_padding:I output_shape:I pads:I strides:I"},
    {"ai.onnx", "ConvTranspose", 11, 2, 3,
     "dilations:I group:i=1 kernel_shape:I output_padding:I output_shape:I pads:I strides:I"},
    {"ai.onnx", "Cos", 7, 1, 1, ""},
    {"ai.onnx", "Cosh", 9, 1, 1, ""},
    {"ai.onnx", "CumSum", 11, 2, 2, "exclusive:i=0 reverse:i=0"},
    {"ai.onnx", "CumSum", 14, 2, 2, "exclusive:i=0 reverse:i=0"},
    {"ai.onnx", "DFT", 17, 1, 2, "axis:i=1 inverse:i=0 onesided:i=0"},
    {"ai.onnx", "DepthToSpace", 6, 1, 1, "blocksize:i!"},
    {"ai.onnx", "DepthToSpace", 11, 1, 1, "blocksize:i! mode:s=DCR"},
    {"ai.onnx", "DepthToSpace", 13, 1, 1, "blocksize:i! mode:s=DCR"},
    {"ai.onnx", "DequantizeLinear", 10, 2, 3, ""},
    {"ai.onnx", "DequantizeLinear", 13, 2, 3, "axis:i=1"},
    {"ai.onnx", "Det", 11, 1, 1, ""},
    {"ai.onnx", "Div", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Div", 7, 2, 2, ""},
    {"ai.onnx", "Div", 13, 2, 2, ""},
    {"ai.onnx", "Div", 14, 2, 2, ""},
    {"ai.onnx", "Dropout", 6, 1, 1, "is_test:i=0 ratio:f=0.5"},
    {"ai.onnx", "Dropout", 7, 1, 1, "ratio:f=0.5"},
    {"ai.onnx", "Dropout", 10, 1, 1, "ratio:f=0.5"},
    {"ai.onnx", "Dropout", 12, 1, 3, "seed:i"},
    {"ai.onnx", "Dropout", 13, 1, 3, "seed:i"},
    {"ai.onnx", "DynamicQuantizeLinear", 11, 1, 1, ""},
    {"ai.onnx", "Einsum", 12, 1, -1, "equation:s!"},
    {"ai.onnx", "Elu", 6, 1, 1, "alpha:f=1.0"},
    {"ai.onnx", "Equal", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Equal", 7, 2, 2, ""},
    {"ai.onnx", "Equal", 11, 2, 2, ""},
    {"ai.onnx", "Equal", 13, 2, 2, ""},
    {"ai.onnx", "Erf", 9, 1, 1, ""},
    {"ai.onnx", "Erf", 13, 1, 1, ""},
    {"ai.onnx", "Exp", 6, 1, 1, ""},
    {"ai.onnx", "Exp", 13, 1, 1, ""},
    {"ai.onnx", "Expand", 8, 2, 2, ""},
    {"ai.onnx", "Expand", 13, 2, 2, ""},
    {"ai.onnx", "EyeLike", 9, 1, 1, "dtype:i k:i=0"},
    {"ai.onnx", "Flatten", 6, 1, 1, "axis:i=1"},
    {"ai.onnx", "Flatten", 9, 1, 1, "axis:i=1"},
    {"ai.onnx", "Flatten", 11, 1, 1, "axis:i=1"},
    {"ai.onnx", "Flatten", 13, 1, 1, "axis:i=1"},
    {"ai.onnx", "Floor", 6, 1, 1, ""},
    {"ai.onnx", "Floor", 13, 1, 1, ""},
    {"ai.onnx", "GRU", 6, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "linear_before_reset:i=0 output_sequence:i=0"},
    {"ai.onnx", "GRU", 7, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "linear_before_reset:i=0"},
    {"ai.onnx", "GRU", 14, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "layout:i=0 linear_before_reset:i=0"},
    {"ai.onnx", "Gather", 6, 2, 2, "axis:i=0"},
    {"ai.onnx", "Gather", 11, 2, 2, "axis:i=0"},
    {"ai.onnx", "Gather", 13, 2, 2, "axis:i=0"},
    {"ai.onnx", "GatherElements", 11, 2, 2, "axis:i=0"},
    {"ai.onnx", "GatherElements", 13, 2, 2, "axis:i=0"},
    {"ai.onnx", "GatherND", 11, 2, 2, ""},
    {"ai.onnx", "GatherND", 12, 2, 2, "batch_dims:i=0"},
    {"ai.onnx", "GatherND", 13, 2, 2, "batch_dims:i=0"},
    {"ai.onnx", "Gemm", 6, 3, 3, "alpha:f=1.0 beta:f=1.0 broadcast:i=0 transA:i=0 transB:i=0"},
    {"ai.onnx", "Gemm", 7, 3, 3, "alpha:f=1.0 beta:f=1.0 transA:i=0 transB:i=0"},
    {"ai.onnx", "Gemm", 9, 3, 3, "alpha:f=1.0 beta:f=1.0 transA:i=0 transB:i=0"},
    {"ai.onnx", "Gemm", 11, 2, 3, "alpha:f=1.0 beta:f=1.0 transA:i=0 transB:i=0"},
    {"ai.onnx", "Gemm", 13, 2, 3, "alpha:f=1.0 beta:f=1.0 transA:i=0 transB:i=0"},
    {"ai.onnx", "GlobalAveragePool", 6, 1, 1, ""},
    {"ai.onnx", "GlobalLpPool", 6, 1, 1, "p:i=2"},
    {"ai.onnx", "GlobalMaxPool", 6, 1, 1, ""},
    {"ai.onnx", "Greater", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Greater", 7, 2, 2, ""},
    {"ai.onnx", "Greater", 9, 2, 2, ""},
    {"ai.onnx", "Greater", 13, 2, 2, ""},
    {"ai.onnx", "GreaterOrEqual", 12, 2, 2, ""},
    {"ai.onnx", "GreaterOrEqual", 16, 2, 2, ""},
    {"ai.onnx", "GridSample", 16, 2, 2, "align_corners:i=0 mode:s=bilinear padding_mode:s=zeros"},
    {"ai.onnx", "HammingWindow", 17, 1, 1, "output_datatype:i=1 periodic:i=1"},
    {"ai.onnx", "HannWindow", 17, 1, 1, "output_datatype:i=1 periodic:i=1"},
    {"ai.onnx", "HardSigmoid", 6, 1, 1, "alpha:f=0.2 beta:f=0.5"},
    {"ai.onnx", "HardSwish", 14, 1, 1, ""},
    {"ai.onnx", "Hardmax", 6, 1, 1, "axis:i=1"},
    {"ai.onnx", "Hardmax", 11, 1, 1, "axis:i=1"},
    {"ai.onnx", "Hardmax", 13, 1, 1, "axis:i=-1"},
    {"ai.onnx", "Identity", 6, 1, 1, ""},
    {"ai.onnx", "Identity", 13, 1, 1, ""},
    {"ai.onnx", "Identity", 14, 1, 1, ""},
    {"ai.onnx", "Identity", 16, 1, 1, ""},
    {"ai.onnx", "If", 6, 1, 1, "else_branch:g! then_branch:g!"},
    {"ai.onnx", "If", 11, 1, 1, "else_branch:g! then_branch:g!"},
    {"ai.onnx", "If", 13, 1, 1, "else_branch:g! then_branch:g!"},
    {"ai.onnx", "If", 16, 1, 1, "else_branch:g! then_branch:g!"},
    {"ai.onnx", "InstanceNormalization", 6, 3, 3, "epsilon:f=1e-05"},
    {"ai.onnx", "IsInf", 10, 1, 1, "detect_negative:i=1 detect_positive:i=1"},
    {"ai.onnx", "IsNaN", 9, 1, 1, ""},
    {"ai.onnx", "IsNaN", 13, 1, 1, ""},
    {"ai.onnx", "LRN", 6, 1, 1, "size:i! alpha:f=0.0001 beta:f=0.75 bias:f=1.0"},
    {"ai.onnx", "LRN", 13, 1, 1, "size:i! alpha:f=0.0001 beta:f=0.75 bias:f=1.0"},
    {"ai.onnx", "LSTM", 6, 3, 8,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "input_forget:i=0 output_sequence:i=0"},
    {"ai.onnx", "LSTM", 7, 3, 8,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "input_forget:i=0"},
    {"ai.onnx", "LSTM", 14, 3, 8,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "input_forget:i=0 layout:i=0"},
    {"ai.onnx", "LayerNormalization", 17, 2, 3, "axis:i=-1 epsilon:f=1e-05 stash_type:i=1"},
    {"ai.onnx", "LeakyRelu", 6, 1, 1, "alpha:f=0.01"},
    {"ai.onnx", "LeakyRelu", 16, 1, 1, "alpha:f=0.01"},
    {"ai.onnx", "Less", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Less", 7, 2, 2, ""},
    {"ai.onnx", "Less", 9, 2, 2, ""},
    {"ai.onnx", "Less", 13, 2, 2, ""},
    {"ai.onnx", "LessOrEqual", 12, 2, 2, ""},
    {"ai.onnx", "LessOrEqual", 16, 2, 2, ""},
    {"ai.onnx", "Log", 6, 1, 1, ""},
    {"ai.onnx", "Log", 13, 1, 1, ""},
    {"ai.onnx", "LogSoftmax", 6, 1, 1, "axis:i=1"},
    {"ai.onnx", "LogSoftmax", 11, 1, 1, "axis:i=1"},
    {"ai.onnx", "LogSoftmax", 13, 1, 1, "axis:i=-1"},
    {"ai.onnx", "Loop", 6, 3, -1, "body:g!"},
    {"ai.onnx", "Loop", 11, 2, -1, "body:g!"},
    {"ai.onnx", "Loop", 13, 2, -1, "body:g!"},
    {"ai.onnx", "Loop", 16, 2, -1, "body:g!"},
    {"ai.onnx", "LpNormalization", 6, 1, 1, "axis:i=-1 p:i=2"},
    {"ai.onnx", "LpPool", 6, 1, 1, "kernel_shape:I! p:i=2 pads:I strides:I"},
    {"ai.onnx", "LpPool", 11, 1, 1, "kernel_shape:I! p:i=2 pads:I strides:I"},
    {"ai.onnx", "MatMul", 6, 2, 3, ""},
    {"ai.onnx", "MatMul", 9, 2, 3, ""},
    {"ai.onnx", "MatMul", 13, 2, 3, ""},
    {"ai.onnx", "MatMulInteger", 10, 2, 4, ""},
    {"ai.onnx", "Max", 6, 1, -1, ""},
    {"ai.onnx", "Max", 8, 1, -1, ""},
    {"ai.onnx", "Max", 12, 1, -1, ""},
    {"ai.onnx", "Max", 13, 1, -1, ""},
    {"ai.onnx", "MaxPool", 6, 1, 1, "kernel_shape:I! pads:I strides:I"},
    {"ai.onnx", "MaxPool", 8, 1, 1, "kernel_shape:I! pads:I storage_order:i=0 strides:I"},
    {"ai.onnx", "MaxPool", 10, 1, 1,
     "kernel_shape:I! ceil_mode:i=0 dilations:I pads:I storage_order:i=0 strides:I"},
    {"ai.onnx", "MaxPool", 11, 1, 1,
     "kernel_shape:I! ceil_mode:i=0 dilations:I pads:I storage_order:i=0 strides:I"},
    {"ai.onnx", "MaxPool", 12, 1, 1,
     "kernel_shape:I! ceil_mode:i=0 dilations:I pads:I storage_order:i=0 strides:I"},
    {"ai.onnx", "MaxRoiPool", 6, 2, 2, "pooled_shape:I! spatial_scale:f=1.0"},
    {"ai.onnx", "MaxUnpool", 9, 2, 3, "kernel_shape:I! pads:I strides:I"},
    {"ai.onnx", "MaxUnpool", 11, 2, 3, "kernel_shape:I! pads:I strides:I"},
    {"ai.onnx", "Mean", 6, 1, -1, ""},
    {"ai.onnx", "Mean", 8, 1, -1, ""},
    {"ai.onnx", "Mean", 13, 1, -1, ""},
    {"ai.onnx", "MeanVarianceNormalization", 9, 1, 1, "axes:I"},
    {"ai.onnx", "MeanVarianceNormalization", 13, 1, 1, "axes:I"},
    {"ai.onnx", "MelWeightMatrix", 17, 5, 5, "output_datatype:i=1"},
    {"ai.onnx", "Min", 6, 1, -1, ""},
    {"ai.onnx", "Min", 8, 1, -1, ""},
    {"ai.onnx", "Min", 12, 1, -1, ""},
    {"ai.onnx", "Min", 13, 1, -1, ""},
    {"ai.onnx", "Mod", 10, 2, 2, "fmod:i=0"},
    {"ai.onnx", "Mod", 13, 2, 2, "fmod:i=0"},
    {"ai.onnx", "Mul", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Mul", 7, 2, 2, ""},
    {"ai.onnx", "Mul", 13, 2, 2, ""},
    {"ai.onnx", "Mul", 14, 2, 2, ""},
    {"ai.onnx", "Multinomial", 7, 1, 1, "dtype:i=6 sample_size:i=1 seed:f"},
    {"ai.onnx", "Neg", 6, 1, 1, ""},
    {"ai.onnx", "Neg", 13, 1, 1, ""},
    {"ai.onnx", "NegativeLogLikelihoodLoss", 12, 2, 3, "ignore_index:i reduction:s=mean"},
    {"ai.onnx", "NegativeLogLikelihoodLoss", 13, 2, 3, "ignore_index:i reduction:s=mean"},
    {"ai.onnx", "NonMaxSuppression", 10, 2, 5, "center_point_box:i=0"},
    {"ai.onnx", "NonMaxSuppression", 11, 2, 5, "center_point_box:i=0"},
    {"ai.onnx", "NonZero", 9, 1, 1, ""},
    {"ai.onnx", "NonZero", 13, 1, 1, ""},
    {"ai.onnx", "Not", 6, 1, 1, ""},
    {"ai.onnx", "OneHot", 9, 3, 3, "axis:i=-1"},
    {"ai.onnx", "OneHot", 11, 3, 3, "axis:i=-1"},
    {"ai.onnx", "Optional", 15, 0, 1, ""},
    {"ai.onnx", "OptionalGetElement", 15, 1, 1, ""},
    {"ai.onnx", "OptionalHasElement", 15, 1, 1, ""},
    {"ai.onnx", "Or", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Or", 7, 2, 2, ""},
    {"ai.onnx", "PRelu", 6, 2, 2, ""},
    {"ai.onnx", "PRelu", 7, 2, 2, ""},
    {"ai.onnx", "PRelu", 9, 2, 2, ""},
    {"ai.onnx", "PRelu", 16, 2, 2, ""},
    {"ai.onnx", "Pad", 6, 1, 1, "pads:I! mode:s=constant value:f=0.0"},
    {"ai.onnx", "Pad", 11, 2, 3, "mode:s=constant"},
    {"ai.onnx", "Pad", 13, 2, 3, "mode:s=constant"},
    {"ai.onnx", "Pow", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Pow", 7, 2, 2, ""},
    {"ai.onnx", "Pow", 12, 2, 2, ""},
    {"ai.onnx", "Pow", 13, 2, 2, ""},
    {"ai.onnx", "Pow", 15, 2, 2, ""},
    {"ai.onnx", "QLinearConv", 10, 8, 9, "dilations:I group:i=1 kernel_shape:I pads:I strides:I"},
    {"ai.onnx", "QLinearMatMul", 10, 8, 8, ""},
    {"ai.onnx", "QuantizeLinear", 10, 2, 3, ""},
    {"ai.onnx", "QuantizeLinear", 13, 2, 3, "axis:i=1"},
    {"ai.onnx", "RNN", 6, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "output_sequence:i=0"},
    {"ai.onnx", "RNN", 7, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i"},
    {"ai.onnx", "RNN", 14, 3, 6,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s=forward hidden_size:i "
     "layout:i=0"},
    {"ai.onnx", "RandomNormal", 6, 0, 0, "shape:I! dtype:i=1 mean:f=0.0 scale:f=1.0 seed:f"},
    {"ai.onnx", "RandomNormalLike", 6, 1, 1, "dtype:i mean:f=0.0 scale:f=1.0 seed:f"},
    {"ai.onnx", "RandomUniform", 6, 0, 0, "shape:I! dtype:i=1 high:f=1.0 low:f=0.0 seed:f"},
    {"ai.onnx", "RandomUniformLike", 6, 1, 1, "dtype:i high:f=1.0 low:f=0.0 seed:f"},
    {"ai.onnx", "Range", 11, 3, 3, ""},
    {"ai.onnx", "Reciprocal", 6, 1, 1, ""},
    {"ai.onnx", "Reciprocal", 13, 1, 1, ""},
    {"ai.onnx", "ReduceL1", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceL1", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceL1", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceL2", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceL2", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceL2", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSum", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSum", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSum", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSumExp", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSumExp", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceLogSumExp", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMax", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMax", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMax", 12, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMax", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMean", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMean", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMean", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMin", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMin", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMin", 12, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceMin", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceProd", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceProd", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceProd", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceSum", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceSum", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceSum", 13, 1, 2, "keepdims:i=1 noop_with_empty_axes:i=0"},
    {"ai.onnx", "ReduceSumSquare", 6, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceSumSquare", 11, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "ReduceSumSquare", 13, 1, 1, "axes:I keepdims:i=1"},
    {"ai.onnx", "Relu", 6, 1, 1, ""},
    {"ai.onnx", "Relu", 13, 1, 1, ""},
    {"ai.onnx", "Relu", 14, 1, 1, ""},
    {"ai.onnx", "Reshape", 6, 2, 2, ""},
    {"ai.onnx", "Reshape", 13, 2, 2, ""},
    {"ai.onnx", "Reshape", 14, 2, 2, "allowzero:i=0"},
    {"ai.onnx", "Resize", 10, 2, 2, "mode:s=nearest"},
    {"ai.onnx", "Resize", 11, 3, 4,
     "coordinate_transformation_mode:s=half_pixel cubic_coeff_a:f=-0.75 exclude_outside:i=0 "
     "extrapolation_value:f=0.0 mode:s=nearest nearest_mode:s=round_prefer_floor"},
    {"ai.onnx", "Resize", 13, 1, 4,
     "coordinate_transformation_mode:s=half_pixel cubic_coeff_a:f=-0.75 exclude_outside:i=0 "
     "extrapolation_value:f=0.0 mode:s=nearest nearest_mode:s=round_prefer_floor"},
    {"ai.onnx", "ReverseSequence", 10, 2, 2, "batch_axis:i=1 time_axis:i=0"},
    {"ai.onnx", "RoiAlign", 10, 3, 3,
     "mode:s=avg output_height:i=1 output_width:i=1 sampling_ratio:i=0 spatial_scale:f=1.0"},
    {"ai.onnx", "RoiAlign", 16, 3, 3,
     "coordinate_transformation_mode:s=half_pixel mode:s=avg output_height:i=1 output_width:i=1 "
     "sampling_ratio:i=0 spatial_scale:f=1.0"},
    {"ai.onnx", "Round", 11, 1, 1, ""},
    {"ai.onnx", "STFT", 17, 2, 4, "onesided:i=1"},
    {"ai.onnx", "Scan", 8, 2, -1, "body:g! num_scan_inputs:i! directions:I"},
    {"ai.onnx", "Scan", 9, 1, -1,
     "body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I "
     "scan_output_directions:I"},
    {"ai.onnx", "Scan", 11, 1, -1,
     "body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I "
     "scan_output_directions:I"},
    {"ai.onnx", "Scan", 16, 1, -1,
     "body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I "
     "scan_output_directions:I"},
    {"ai.onnx", "Scatter", 9, 3, 3, "axis:i=0"},
    {"ai.onnx", "Scatter", 11, 3, 3, "axis:i=0"},
    {"ai.onnx", "ScatterElements", 11, 3, 3, "axis:i=0"},
    {"ai.onnx", "ScatterElements", 13, 3, 3, "axis:i=0"},
    {"ai.onnx", "ScatterElements", 16, 3, 3, "axis:i=0 reduction:s=none"},
    {"ai.onnx", "ScatterND", 11, 3, 3, ""},
    {"ai.onnx", "ScatterND", 13, 3, 3, ""},
    {"ai.onnx", "ScatterND", 16, 3, 3, "reduction:s=none"},
    {"ai.onnx", "Selu", 6, 1, 1, "alpha:f=1.6732632 gamma:f=1.050701"},
    {"ai.onnx", "SequenceAt", 11, 2, 2, ""},
    {"ai.onnx", "SequenceConstruct", 11, 1, -1, ""},
    {"ai.onnx", "SequenceEmpty", 11, 0, 0, "dtype:i"},
    {"ai.onnx", "SequenceErase", 11, 1, 2, ""},
    {"ai.onnx", "SequenceInsert", 11, 2, 3, ""},
    {"ai.onnx", "SequenceLength", 11, 1, 1, ""},
    {"ai.onnx", "SequenceMap", 17, 1, -1, "body:g!"},
    {"ai.onnx", "Shape", 6, 1, 1, ""},
    {"ai.onnx", "Shape", 13, 1, 1, ""},
    {"ai.onnx", "Shape", 15, 1, 1, "end:i start:i=0"},
    {"ai.onnx", "Shrink", 9, 1, 1, "bias:f=0.0 lambd:f=0.5"},
    {"ai.onnx", "Sigmoid", 6, 1, 1, ""},
    {"ai.onnx", "Sigmoid", 13, 1, 1, ""},
    {"ai.onnx", "Sign", 9, 1, 1, ""},
    {"ai.onnx", "Sign", 13, 1, 1, ""},
    {"ai.onnx", "Sin", 7, 1, 1, ""},
    {"ai.onnx", "Sinh", 9, 1, 1, ""},
    {"ai.onnx", "Size", 6, 1, 1, ""},
    {"ai.onnx", "Size", 13, 1, 1, ""},
    {"ai.onnx", "Slice", 6, 1, 1, "ends:I! starts:I! axes:I"},
    {"ai.onnx", "Slice", 10, 3, 5, ""},
    {"ai.onnx", "Slice", 11, 3, 5, ""},
    {"ai.onnx", "Slice", 13, 3, 5, ""},
    {"ai.onnx", "Softmax", 6, 1, 1, "axis:i=1"},
    {"ai.onnx", "Softmax", 11, 1, 1, "axis:i=1"},
    {"ai.onnx", "Softmax", 13, 1, 1, "axis:i=-1"},
    {"ai.onnx", "SoftmaxCrossEntropyLoss", 12, 2, 3, "ignore_index:i reduction:s=mean"},
    {"ai.onnx", "SoftmaxCrossEntropyLoss", 13, 2, 3, "ignore_index:i reduction:s=mean"},
    {"ai.onnx", "Softplus", 6, 1, 1, ""},
    {"ai.onnx", "Softsign", 6, 1, 1, ""},
    {"ai.onnx", "SpaceToDepth", 6, 1, 1, "blocksize:i!"},
    {"ai.onnx", "SpaceToDepth", 13, 1, 1, "blocksize:i!"},
    {"ai.onnx", "Split", 6, 1, 1, "axis:i=0 split:I"},
    {"ai.onnx", "Split", 11, 1, 1, "axis:i=0 split:I"},
    {"ai.onnx", "Split", 13, 1, 2, "axis:i=0"},
    {"ai.onnx", "SplitToSequence", 11, 1, 2, "axis:i=0 keepdims:i=1"},
    {"ai.onnx", "Sqrt", 6, 1, 1, ""},
    {"ai.onnx", "Sqrt", 13, 1, 1, ""},
    {"ai.onnx", "Squeeze", 6, 1, 1, "axes:I"},
    {"ai.onnx", "Squeeze", 11, 1, 1, "axes:I"},
    {"ai.onnx", "Squeeze", 13, 1, 2, ""},
    {"ai.onnx", "StringNormalizer", 10, 1, 1,
     "case_change_action:s=NONE is_case_sensitive:i=0 locale:s stopwords:S"},
    {"ai.onnx", "Sub", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Sub", 7, 2, 2, ""},
    {"ai.onnx", "Sub", 13, 2, 2, ""},
    {"ai.onnx", "Sub", 14, 2, 2, ""},
    {"ai.onnx", "Sum", 6, 1, -1, ""},
    {"ai.onnx", "Sum", 8, 1, -1, ""},
    {"ai.onnx", "Sum", 13, 1, -1, ""},
    {"ai.onnx", "Tan", 7, 1, 1, ""},
    {"ai.onnx", "Tanh", 6, 1, 1, ""},
    {"ai.onnx", "Tanh", 13, 1, 1, ""},
    {"ai.onnx", "TfIdfVectorizer", 9, 1, 1,
     "max_gram_length:i! max_skip_count:i! min_gram_length:i! mode:s! ngram_counts:I! "
     "ngram_indexes:I! pool_int64s:I pool_strings:S weights:F"},
    {"ai.onnx", "ThresholdedRelu", 10, 1, 1, "alpha:f=1.0"},
    {"ai.onnx", "Tile", 6, 2, 2, ""},
    {"ai.onnx", "Tile", 13, 2, 2, ""},
    {"ai.onnx", "TopK", 6, 1, 1, "k:i! axis:i=-1"},
    {"ai.onnx", "TopK", 10, 2, 2, "axis:i=-1"},
    {"ai.onnx", "TopK", 11, 2, 2, "axis:i=-1 largest:i=1 sorted:i=1"},
    {"ai.onnx", "Transpose", 6, 1, 1, "perm:I"},
    {"ai.onnx", "Transpose", 13, 1, 1, "perm:I"},
    {"ai.onnx", "Trilu", 14, 1, 2, "upper:i=1"},
    {"ai.onnx", "Unique", 11, 1, 1, "axis:i sorted:i=1"},
    {"ai.onnx", "Unsqueeze", 6, 1, 1, "axes:I!"},
    {"ai.onnx", "Unsqueeze", 11, 1, 1, "axes:I!"},
    {"ai.onnx", "Unsqueeze", 13, 2, 2, ""},
    {"ai.onnx", "Upsample", 6, 1, 1, "height_scale:f! width_scale:f! mode:s=nearest"},
    {"ai.onnx", "Upsample", 7, 1, 1, "scales:F! mode:s=nearest"},
    {"ai.onnx", "Upsample", 9, 2, 2, "mode:s=nearest"},
    {"ai.onnx", "Upsample", 10, 2, 2, "mode:s=nearest"},
    {"ai.onnx", "Where", 9, 3, 3, ""},
    {"ai.onnx", "Where", 16, 3, 3, ""},
    {"ai.onnx", "Xor", 6, 2, 2, "axis:i broadcast:i=0"},
    {"ai.onnx", "Xor", 7, 2, 2, ""},
};

}  // namespace

std::span<const BuilderMethod> builderMethods() { return methods; }

TensorId AiOnnxOpset6::abs(const Ids& args, const DebugContext& debugContext) {
  return output("Abs", args, {}, debugContext);
}
TensorId AiOnnxOpset6::add(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                           const DebugContext& debugContext) {
  return output("Add", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::logical_and(const Ids& args, nonstd::optional<int64_t> axis,
                                   int64_t broadcast, const DebugContext& debugContext) {
  return output("And", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::argmax(const Ids& args, int64_t axis, int64_t keepdims,
                              const DebugContext& debugContext) {
  return output("ArgMax", args, {axis, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::argmin(const Ids& args, int64_t axis, int64_t keepdims,
                              const DebugContext& debugContext) {
  return output("ArgMin", args, {axis, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::averagepool(const Ids& args, const Ints& kernel_shape, const Ints& pads,
                                   const Ints& strides, const DebugContext& debugContext) {
  return output("AveragePool", args, {kernel_shape, pads, strides}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::batchnormalization(const Ids& args, unsigned num_outputs,
                                                  float epsilon, int64_t is_test, float momentum,
                                                  int64_t spatial,
                                                  const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, is_test, momentum, spatial},
                 debugContext);
}
TensorId AiOnnxOpset6::cast(const Ids& args, const std::string& to,
                            const DebugContext& debugContext) {
  return output("Cast", args, {elementTypeNumber(to)}, debugContext);
}
TensorId AiOnnxOpset6::ceil(const Ids& args, const DebugContext& debugContext) {
  return output("Ceil", args, {}, debugContext);
}
TensorId AiOnnxOpset6::clip(const Ids& args, float max, float min,
                            const DebugContext& debugContext) {
  return output("Clip", args, {max, min}, debugContext);
}
TensorId AiOnnxOpset6::concat(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Concat", args, {axis}, debugContext);
}
TensorId AiOnnxOpset6::constant(const ConstVoidData& value, const DebugContext& debugContext) {
  return output("Constant", {}, {value}, debugContext);
}
TensorId AiOnnxOpset6::conv(const Ids& args, const Ints& dilations, int64_t group,
                            const Ints& kernel_shape, const Ints& pads, const Ints& strides,
                            const DebugContext& debugContext) {
  return output("Conv", args, {dilations, group, kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset6::convtranspose(const Ids& args, const Ints& dilations, int64_t group,
                                     const Ints& kernel_shape, const Ints& output_padding,
                                     const Ints& output_shape, const Ints& pads,
                                     const Ints& strides, const DebugContext& debugContext) {
  return output("ConvTranspose", args,
                {dilations, group, kernel_shape, output_padding, output_shape, pads, strides},
                debugContext);
}
TensorId AiOnnxOpset6::depthtospace(const Ids& args, int64_t blocksize,
                                    const DebugContext& debugContext) {
  return output("DepthToSpace", args, {blocksize}, debugContext);
}
TensorId AiOnnxOpset6::div(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                           const DebugContext& debugContext) {
  return output("Div", args, {axis, broadcast}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::dropout(const Ids& args, unsigned num_outputs, int64_t is_test,
                                       float ratio, const DebugContext& debugContext) {
  return outputs("Dropout", args, num_outputs, {is_test, ratio}, debugContext);
}
TensorId AiOnnxOpset6::elu(const Ids& args, float alpha, const DebugContext& debugContext) {
  return output("Elu", args, {alpha}, debugContext);
}
TensorId AiOnnxOpset6::equal(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                             const DebugContext& debugContext) {
  return output("Equal", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::exp(const Ids& args, const DebugContext& debugContext) {
  return output("Exp", args, {}, debugContext);
}
TensorId AiOnnxOpset6::flatten(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Flatten", args, {axis}, debugContext);
}
TensorId AiOnnxOpset6::floor(const Ids& args, const DebugContext& debugContext) {
  return output("Floor", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::gru(const Ids& args, unsigned num_outputs,
                                   const Floats& activation_alpha, const Floats& activation_beta,
                                   const Strings& activations, nonstd::optional<float> clip,
                                   const std::string& direction,
                                   nonstd::optional<int64_t> hidden_size,
                                   int64_t linear_before_reset, int64_t output_sequence,
                                   const DebugContext& debugContext) {
  return outputs("GRU", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  linear_before_reset, output_sequence},
                 debugContext);
}
TensorId AiOnnxOpset6::gather(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Gather", args, {axis}, debugContext);
}
TensorId AiOnnxOpset6::gemm(const Ids& args, float alpha, float beta, int64_t broadcast,
                            int64_t transA, int64_t transB, const DebugContext& debugContext) {
  return output("Gemm", args, {alpha, beta, broadcast, transA, transB}, debugContext);
}
TensorId AiOnnxOpset6::globalaveragepool(const Ids& args, const DebugContext& debugContext) {
  return output("GlobalAveragePool", args, {}, debugContext);
}
TensorId AiOnnxOpset6::globallppool(const Ids& args, int64_t p, const DebugContext& debugContext) {
  return output("GlobalLpPool", args, {p}, debugContext);
}
TensorId AiOnnxOpset6::globalmaxpool(const Ids& args, const DebugContext& debugContext) {
  return output("GlobalMaxPool", args, {}, debugContext);
}
TensorId AiOnnxOpset6::greater(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                               const DebugContext& debugContext) {
  return output("Greater", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::hardsigmoid(const Ids& args, float alpha, float beta,
                                   const DebugContext& debugContext) {
  return output("HardSigmoid", args, {alpha, beta}, debugContext);
}
TensorId AiOnnxOpset6::hardmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Hardmax", args, {axis}, debugContext);
}
TensorId AiOnnxOpset6::identity(const Ids& args, const DebugContext& debugContext) {
  return output("Identity", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::logical_if(const Ids& args, unsigned num_outputs,
                                          const Builder& else_branch, const Builder& then_branch,
                                          const DebugContext& debugContext) {
  return outputs("If", args, num_outputs, {else_branch, then_branch}, debugContext);
}
TensorId AiOnnxOpset6::instancenormalization(const Ids& args, float epsilon,
                                             const DebugContext& debugContext) {
  return output("InstanceNormalization", args, {epsilon}, debugContext);
}
TensorId AiOnnxOpset6::lrn(const Ids& args, int64_t size, float alpha, float beta, float bias,
                           const DebugContext& debugContext) {
  return output("LRN", args, {size, alpha, beta, bias}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::lstm(const Ids& args, unsigned num_outputs,
                                    const Floats& activation_alpha, const Floats& activation_beta,
                                    const Strings& activations, nonstd::optional<float> clip,
                                    const std::string& direction,
                                    nonstd::optional<int64_t> hidden_size, int64_t input_forget,
                                    int64_t output_sequence, const DebugContext& debugContext) {
  return outputs("LSTM", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  input_forget, output_sequence},
                 debugContext);
}
TensorId AiOnnxOpset6::leakyrelu(const Ids& args, float alpha, const DebugContext& debugContext) {
  return output("LeakyRelu", args, {alpha}, debugContext);
}
TensorId AiOnnxOpset6::less(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                            const DebugContext& debugContext) {
  return output("Less", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::log(const Ids& args, const DebugContext& debugContext) {
  return output("Log", args, {}, debugContext);
}
TensorId AiOnnxOpset6::logsoftmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("LogSoftmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::loop(const Ids& args, unsigned num_outputs, const Builder& body,
                                    const DebugContext& debugContext) {
  return outputs("Loop", args, num_outputs, {body}, debugContext);
}
TensorId AiOnnxOpset6::lpnormalization(const Ids& args, int64_t axis, int64_t p,
                                       const DebugContext& debugContext) {
  return output("LpNormalization", args, {axis, p}, debugContext);
}
TensorId AiOnnxOpset6::lppool(const Ids& args, const Ints& kernel_shape, int64_t p,
                              const Ints& pads, const Ints& strides,
                              const DebugContext& debugContext) {
  return output("LpPool", args, {kernel_shape, p, pads, strides}, debugContext);
}
TensorId AiOnnxOpset6::matmul(const Ids& args, const DebugContext& debugContext) {
  return output("MatMul", args, {}, debugContext);
}
TensorId AiOnnxOpset6::max(const Ids& args, const DebugContext& debugContext) {
  return output("Max", args, {}, debugContext);
}
TensorId AiOnnxOpset6::maxpool(const Ids& args, const Ints& kernel_shape, const Ints& pads,
                               const Ints& strides, const DebugContext& debugContext) {
  return output("MaxPool", args, {kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset6::maxroipool(const Ids& args, const Ints& pooled_shape, float spatial_scale,
                                  const DebugContext& debugContext) {
  return output("MaxRoiPool", args, {pooled_shape, spatial_scale}, debugContext);
}
TensorId AiOnnxOpset6::mean(const Ids& args, const DebugContext& debugContext) {
  return output("Mean", args, {}, debugContext);
}
TensorId AiOnnxOpset6::min(const Ids& args, const DebugContext& debugContext) {
  return output("Min", args, {}, debugContext);
}
TensorId AiOnnxOpset6::mul(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                           const DebugContext& debugContext) {
  return output("Mul", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::neg(const Ids& args, const DebugContext& debugContext) {
  return output("Neg", args, {}, debugContext);
}
TensorId AiOnnxOpset6::logical_not(const Ids& args, const DebugContext& debugContext) {
  return output("Not", args, {}, debugContext);
}
TensorId AiOnnxOpset6::logical_or(const Ids& args, nonstd::optional<int64_t> axis,
                                  int64_t broadcast, const DebugContext& debugContext) {
  return output("Or", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::prelu(const Ids& args, const DebugContext& debugContext) {
  return output("PRelu", args, {}, debugContext);
}
TensorId AiOnnxOpset6::pad(const Ids& args, const Ints& pads, const std::string& mode, float value,
                           const DebugContext& debugContext) {
  return output("Pad", args, {pads, mode, value}, debugContext);
}
TensorId AiOnnxOpset6::pow(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                           const DebugContext& debugContext) {
  return output("Pow", args, {axis, broadcast}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::rnn(const Ids& args, unsigned num_outputs,
                                   const Floats& activation_alpha, const Floats& activation_beta,
                                   const Strings& activations, nonstd::optional<float> clip,
                                   const std::string& direction,
                                   nonstd::optional<int64_t> hidden_size, int64_t output_sequence,
                                   const DebugContext& debugContext) {
  return outputs("RNN", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  output_sequence},
                 debugContext);
}
TensorId AiOnnxOpset6::randomnormal(const Ints& shape, int64_t dtype, float mean, float scale,
                                    nonstd::optional<float> seed,
                                    const DebugContext& debugContext) {
  return output("RandomNormal", {}, {shape, dtype, mean, scale, seed}, debugContext);
}
TensorId AiOnnxOpset6::randomnormallike(const Ids& args, nonstd::optional<int64_t> dtype,
                                        float mean, float scale, nonstd::optional<float> seed,
                                        const DebugContext& debugContext) {
  return output("RandomNormalLike", args, {dtype, mean, scale, seed}, debugContext);
}
TensorId AiOnnxOpset6::randomuniform(const Ints& shape, int64_t dtype, float high, float low,
                                     nonstd::optional<float> seed,
                                     const DebugContext& debugContext) {
  return output("RandomUniform", {}, {shape, dtype, high, low, seed}, debugContext);
}
TensorId AiOnnxOpset6::randomuniformlike(const Ids& args, nonstd::optional<int64_t> dtype,
                                         float high, float low, nonstd::optional<float> seed,
                                         const DebugContext& debugContext) {
  return output("RandomUniformLike", args, {dtype, high, low, seed}, debugContext);
}
TensorId AiOnnxOpset6::reciprocal(const Ids& args, const DebugContext& debugContext) {
  return output("Reciprocal", args, {}, debugContext);
}
TensorId AiOnnxOpset6::reducel1(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                const DebugContext& debugContext) {
  return output("ReduceL1", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducel2(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                const DebugContext& debugContext) {
  return output("ReduceL2", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducelogsum(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                    const DebugContext& debugContext) {
  return output("ReduceLogSum", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes,
                                       int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceLogSumExp", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducemax(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceMax", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducemean(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMean", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducemin(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceMin", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reduceprod(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceProd", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducesum(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceSum", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::reducesumsquare(const Ids& args, nonstd::optional<Ints> axes,
                                       int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceSumSquare", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset6::relu(const Ids& args, const DebugContext& debugContext) {
  return output("Relu", args, {}, debugContext);
}
TensorId AiOnnxOpset6::reshape(const Ids& args, const DebugContext& debugContext) {
  return output("Reshape", args, {}, debugContext);
}
TensorId AiOnnxOpset6::selu(const Ids& args, float alpha, float gamma,
                            const DebugContext& debugContext) {
  return output("Selu", args, {alpha, gamma}, debugContext);
}
TensorId AiOnnxOpset6::shape(const Ids& args, const DebugContext& debugContext) {
  return output("Shape", args, {}, debugContext);
}
TensorId AiOnnxOpset6::sigmoid(const Ids& args, const DebugContext& debugContext) {
  return output("Sigmoid", args, {}, debugContext);
}
TensorId AiOnnxOpset6::size(const Ids& args, const DebugContext& debugContext) {
  return output("Size", args, {}, debugContext);
}
TensorId AiOnnxOpset6::slice(const Ids& args, const Ints& ends, const Ints& starts,
                             const Ints& axes, const DebugContext& debugContext) {
  return output("Slice", args, {ends, starts, axes}, debugContext);
}
TensorId AiOnnxOpset6::softmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Softmax", args, {axis}, debugContext);
}
TensorId AiOnnxOpset6::softplus(const Ids& args, const DebugContext& debugContext) {
  return output("Softplus", args, {}, debugContext);
}
TensorId AiOnnxOpset6::softsign(const Ids& args, const DebugContext& debugContext) {
  return output("Softsign", args, {}, debugContext);
}
TensorId AiOnnxOpset6::spacetodepth(const Ids& args, int64_t blocksize,
                                    const DebugContext& debugContext) {
  return output("SpaceToDepth", args, {blocksize}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::split(const Ids& args, unsigned num_outputs, int64_t axis,
                                     const Ints& split, const DebugContext& debugContext) {
  return outputs("Split", args, num_outputs, {axis, split}, debugContext);
}
TensorId AiOnnxOpset6::sqrt(const Ids& args, const DebugContext& debugContext) {
  return output("Sqrt", args, {}, debugContext);
}
TensorId AiOnnxOpset6::squeeze(const Ids& args, const Ints& axes,
                               const DebugContext& debugContext) {
  return output("Squeeze", args, {axes}, debugContext);
}
TensorId AiOnnxOpset6::sub(const Ids& args, nonstd::optional<int64_t> axis, int64_t broadcast,
                           const DebugContext& debugContext) {
  return output("Sub", args, {axis, broadcast}, debugContext);
}
TensorId AiOnnxOpset6::sum(const Ids& args, const DebugContext& debugContext) {
  return output("Sum", args, {}, debugContext);
}
TensorId AiOnnxOpset6::tanh(const Ids& args, const DebugContext& debugContext) {
  return output("Tanh", args, {}, debugContext);
}
TensorId AiOnnxOpset6::tile(const Ids& args, const DebugContext& debugContext) {
  return output("Tile", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset6::topk(const Ids& args, int64_t k, int64_t axis,
                                    const DebugContext& debugContext) {
  return outputs("TopK", args, 2, {k, axis}, debugContext);
}
TensorId AiOnnxOpset6::transpose(const Ids& args, const Ints& perm,
                                 const DebugContext& debugContext) {
  return output("Transpose", args, {perm}, debugContext);
}
TensorId AiOnnxOpset6::unsqueeze(const Ids& args, const Ints& axes,
                                 const DebugContext& debugContext) {
  return output("Unsqueeze", args, {axes}, debugContext);
}
TensorId AiOnnxOpset6::upsample(const Ids& args, float height_scale, float width_scale,
                                const std::string& mode, const DebugContext& debugContext) {
  return output("Upsample", args, {height_scale, width_scale, mode}, debugContext);
}
TensorId AiOnnxOpset6::logical_xor(const Ids& args, nonstd::optional<int64_t> axis,
                                   int64_t broadcast, const DebugContext& debugContext) {
  return output("Xor", args, {axis, broadcast}, debugContext);
}

TensorId AiOnnxOpset7::acos(const Ids& args, const DebugContext& debugContext) {
  return output("Acos", args, {}, debugContext);
}
TensorId AiOnnxOpset7::add(const Ids& args, const DebugContext& debugContext) {
  return output("Add", args, {}, debugContext);
}
TensorId AiOnnxOpset7::logical_and(const Ids& args, const DebugContext& debugContext) {
  return output("And", args, {}, debugContext);
}
TensorId AiOnnxOpset7::asin(const Ids& args, const DebugContext& debugContext) {
  return output("Asin", args, {}, debugContext);
}
TensorId AiOnnxOpset7::atan(const Ids& args, const DebugContext& debugContext) {
  return output("Atan", args, {}, debugContext);
}
TensorId AiOnnxOpset7::averagepool(const Ids& args, const Ints& kernel_shape,
                                   int64_t count_include_pad, const Ints& pads, const Ints& strides,
                                   const DebugContext& debugContext) {
  return output("AveragePool", args, {kernel_shape, count_include_pad, pads, strides},
                debugContext);
}
DomainOpSet::Ids AiOnnxOpset7::batchnormalization(const Ids& args, unsigned num_outputs,
                                                  float epsilon, float momentum, int64_t spatial,
                                                  const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, momentum, spatial},
                 debugContext);
}
TensorId AiOnnxOpset7::cos(const Ids& args, const DebugContext& debugContext) {
  return output("Cos", args, {}, debugContext);
}
TensorId AiOnnxOpset7::div(const Ids& args, const DebugContext& debugContext) {
  return output("Div", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset7::dropout(const Ids& args, unsigned num_outputs, float ratio,
                                       const DebugContext& debugContext) {
  return outputs("Dropout", args, num_outputs, {ratio}, debugContext);
}
TensorId AiOnnxOpset7::equal(const Ids& args, const DebugContext& debugContext) {
  return output("Equal", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset7::gru(const Ids& args, unsigned num_outputs,
                                   const Floats& activation_alpha, const Floats& activation_beta,
                                   const Strings& activations, nonstd::optional<float> clip,
                                   const std::string& direction,
                                   nonstd::optional<int64_t> hidden_size,
                                   int64_t linear_before_reset, const DebugContext& debugContext) {
  return outputs("GRU", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  linear_before_reset},
                 debugContext);
}
TensorId AiOnnxOpset7::gemm(const Ids& args, float alpha, float beta, int64_t transA,
                            int64_t transB, const DebugContext& debugContext) {
  return output("Gemm", args, {alpha, beta, transA, transB}, debugContext);
}
TensorId AiOnnxOpset7::greater(const Ids& args, const DebugContext& debugContext) {
  return output("Greater", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset7::lstm(const Ids& args, unsigned num_outputs,
                                    const Floats& activation_alpha, const Floats& activation_beta,
                                    const Strings& activations, nonstd::optional<float> clip,
                                    const std::string& direction,
                                    nonstd::optional<int64_t> hidden_size, int64_t input_forget,
                                    const DebugContext& debugContext) {
  return outputs(
      "LSTM", args, num_outputs,
      {activation_alpha, activation_beta, activations, clip, direction, hidden_size, input_forget},
      debugContext);
}
TensorId AiOnnxOpset7::less(const Ids& args, const DebugContext& debugContext) {
  return output("Less", args, {}, debugContext);
}
TensorId AiOnnxOpset7::mul(const Ids& args, const DebugContext& debugContext) {
  return output("Mul", args, {}, debugContext);
}
TensorId AiOnnxOpset7::multinomial(const Ids& args, int64_t dtype, int64_t sample_size,
                                   nonstd::optional<float> seed, const DebugContext& debugContext) {
  return output("Multinomial", args, {dtype, sample_size, seed}, debugContext);
}
TensorId AiOnnxOpset7::logical_or(const Ids& args, const DebugContext& debugContext) {
  return output("Or", args, {}, debugContext);
}
TensorId AiOnnxOpset7::prelu(const Ids& args, const DebugContext& debugContext) {
  return output("PRelu", args, {}, debugContext);
}
TensorId AiOnnxOpset7::pow(const Ids& args, const DebugContext& debugContext) {
  return output("Pow", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset7::rnn(const Ids& args, unsigned num_outputs,
                                   const Floats& activation_alpha, const Floats& activation_beta,
                                   const Strings& activations, nonstd::optional<float> clip,
                                   const std::string& direction,
                                   nonstd::optional<int64_t> hidden_size,
                                   const DebugContext& debugContext) {
  return outputs("RNN", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size},
                 debugContext);
}
TensorId AiOnnxOpset7::sin(const Ids& args, const DebugContext& debugContext) {
  return output("Sin", args, {}, debugContext);
}
TensorId AiOnnxOpset7::sub(const Ids& args, const DebugContext& debugContext) {
  return output("Sub", args, {}, debugContext);
}
TensorId AiOnnxOpset7::tan(const Ids& args, const DebugContext& debugContext) {
  return output("Tan", args, {}, debugContext);
}
TensorId AiOnnxOpset7::upsample(const Ids& args, const Floats& scales, const std::string& mode,
                                const DebugContext& debugContext) {
  return output("Upsample", args, {scales, mode}, debugContext);
}
TensorId AiOnnxOpset7::logical_xor(const Ids& args, const DebugContext& debugContext) {
  return output("Xor", args, {}, debugContext);
}

TensorId AiOnnxOpset8::expand(const Ids& args, const DebugContext& debugContext) {
  return output("Expand", args, {}, debugContext);
}
TensorId AiOnnxOpset8::max(const Ids& args, const DebugContext& debugContext) {
  return output("Max", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset8::maxpool(const Ids& args, unsigned num_outputs,
                                       const Ints& kernel_shape, const Ints& pads,
                                       int64_t storage_order, const Ints& strides,
                                       const DebugContext& debugContext) {
  return outputs("MaxPool", args, num_outputs, {kernel_shape, pads, storage_order, strides},
                 debugContext);
}
TensorId AiOnnxOpset8::mean(const Ids& args, const DebugContext& debugContext) {
  return output("Mean", args, {}, debugContext);
}
TensorId AiOnnxOpset8::min(const Ids& args, const DebugContext& debugContext) {
  return output("Min", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset8::scan(const Ids& args, unsigned num_outputs, const Builder& body,
                                    int64_t num_scan_inputs, const Ints& directions,
                                    const DebugContext& debugContext) {
  return outputs("Scan", args, num_outputs, {body, num_scan_inputs, directions}, debugContext);
}
TensorId AiOnnxOpset8::sum(const Ids& args, const DebugContext& debugContext) {
  return output("Sum", args, {}, debugContext);
}

TensorId AiOnnxOpset9::acosh(const Ids& args, const DebugContext& debugContext) {
  return output("Acosh", args, {}, debugContext);
}
TensorId AiOnnxOpset9::asinh(const Ids& args, const DebugContext& debugContext) {
  return output("Asinh", args, {}, debugContext);
}
TensorId AiOnnxOpset9::atanh(const Ids& args, const DebugContext& debugContext) {
  return output("Atanh", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset9::batchnormalization(const Ids& args, unsigned num_outputs,
                                                  float epsilon, float momentum,
                                                  const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, momentum}, debugContext);
}
TensorId AiOnnxOpset9::cast(const Ids& args, const std::string& to,
                            const DebugContext& debugContext) {
  return output("Cast", args, {elementTypeNumber(to)}, debugContext);
}
TensorId AiOnnxOpset9::compress(const Ids& args, nonstd::optional<int64_t> axis,
                                const DebugContext& debugContext) {
  return output("Compress", args, {axis}, debugContext);
}
TensorId AiOnnxOpset9::constant(const ConstVoidData& value, const DebugContext& debugContext) {
  return output("Constant", {}, {value}, debugContext);
}
TensorId AiOnnxOpset9::constantofshape(const Ids& args, const ConstVoidData& value,
                                       const DebugContext& debugContext) {
  return output("ConstantOfShape", args, {value}, debugContext);
}
TensorId AiOnnxOpset9::cosh(const Ids& args, const DebugContext& debugContext) {
  return output("Cosh", args, {}, debugContext);
}
TensorId AiOnnxOpset9::erf(const Ids& args, const DebugContext& debugContext) {
  return output("Erf", args, {}, debugContext);
}
TensorId AiOnnxOpset9::eyelike(const Ids& args, nonstd::optional<int64_t> dtype, int64_t k,
                               const DebugContext& debugContext) {
  return output("EyeLike", args, {dtype, k}, debugContext);
}
TensorId AiOnnxOpset9::flatten(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Flatten", args, {axis}, debugContext);
}
TensorId AiOnnxOpset9::gemm(const Ids& args, float alpha, float beta, int64_t transA,
                            int64_t transB, const DebugContext& debugContext) {
  return output("Gemm", args, {alpha, beta, transA, transB}, debugContext);
}
TensorId AiOnnxOpset9::greater(const Ids& args, const DebugContext& debugContext) {
  return output("Greater", args, {}, debugContext);
}
TensorId AiOnnxOpset9::isnan(const Ids& args, const DebugContext& debugContext) {
  return output("IsNaN", args, {}, debugContext);
}
TensorId AiOnnxOpset9::less(const Ids& args, const DebugContext& debugContext) {
  return output("Less", args, {}, debugContext);
}
TensorId AiOnnxOpset9::matmul(const Ids& args, const DebugContext& debugContext) {
  return output("MatMul", args, {}, debugContext);
}
TensorId AiOnnxOpset9::maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads,
                                 const Ints& strides, const DebugContext& debugContext) {
  return output("MaxUnpool", args, {kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset9::meanvariancenormalization(const Ids& args, const Ints& axes,
                                                 const DebugContext& debugContext) {
  return output("MeanVarianceNormalization", args, {axes}, debugContext);
}
TensorId AiOnnxOpset9::nonzero(const Ids& args, const DebugContext& debugContext) {
  return output("NonZero", args, {}, debugContext);
}
TensorId AiOnnxOpset9::onehot(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("OneHot", args, {axis}, debugContext);
}
TensorId AiOnnxOpset9::prelu(const Ids& args, const DebugContext& debugContext) {
  return output("PRelu", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset9::scan(const Ids& args, unsigned num_outputs, const Builder& body,
                                    int64_t num_scan_inputs, const Ints& scan_input_axes,
                                    const Ints& scan_input_directions, const Ints& scan_output_axes,
                                    const Ints& scan_output_directions,
                                    const DebugContext& debugContext) {
  return outputs("Scan", args, num_outputs,
                 {body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes,
                  scan_output_directions},
                 debugContext);
}
TensorId AiOnnxOpset9::scatter(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Scatter", args, {axis}, debugContext);
}
TensorId AiOnnxOpset9::shrink(const Ids& args, float bias, float lambd,
                              const DebugContext& debugContext) {
  return output("Shrink", args, {bias, lambd}, debugContext);
}
TensorId AiOnnxOpset9::sign(const Ids& args, const DebugContext& debugContext) {
  return output("Sign", args, {}, debugContext);
}
TensorId AiOnnxOpset9::sinh(const Ids& args, const DebugContext& debugContext) {
  return output("Sinh", args, {}, debugContext);
}
TensorId AiOnnxOpset9::tfidfvectorizer(const Ids& args, int64_t max_gram_length,
                                       int64_t max_skip_count, int64_t min_gram_length,
                                       const std::string& mode, const Ints& ngram_counts,
                                       const Ints& ngram_indexes, const Ints& pool_int64s,
                                       const Strings& pool_strings, const Floats& weights,
                                       const DebugContext& debugContext) {
  return output("TfIdfVectorizer", args,
                {max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts,
                 ngram_indexes, pool_int64s, pool_strings, weights},
                debugContext);
}
TensorId AiOnnxOpset9::upsample(const Ids& args, const std::string& mode,
                                const DebugContext& debugContext) {
  return output("Upsample", args, {mode}, debugContext);
}
TensorId AiOnnxOpset9::where(const Ids& args, const DebugContext& debugContext) {
  return output("Where", args, {}, debugContext);
}

TensorId AiOnnxOpset10::averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode,
                                    int64_t count_include_pad, const Ints& pads,
                                    const Ints& strides, const DebugContext& debugContext) {
  return output("AveragePool", args, {kernel_shape, ceil_mode, count_include_pad, pads, strides},
                debugContext);
}
TensorId AiOnnxOpset10::convinteger(const Ids& args, const Ints& dilations, int64_t group,
                                    const Ints& kernel_shape, const Ints& pads, const Ints& strides,
                                    const DebugContext& debugContext) {
  return output("ConvInteger", args, {dilations, group, kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset10::dequantizelinear(const Ids& args, const DebugContext& debugContext) {
  return output("DequantizeLinear", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset10::dropout(const Ids& args, unsigned num_outputs, float ratio,
                                        const DebugContext& debugContext) {
  return outputs("Dropout", args, num_outputs, {ratio}, debugContext);
}
TensorId AiOnnxOpset10::isinf(const Ids& args, int64_t detect_negative, int64_t detect_positive,
                              const DebugContext& debugContext) {
  return output("IsInf", args, {detect_negative, detect_positive}, debugContext);
}
TensorId AiOnnxOpset10::matmulinteger(const Ids& args, const DebugContext& debugContext) {
  return output("MatMulInteger", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset10::maxpool(const Ids& args, unsigned num_outputs,
                                        const Ints& kernel_shape, int64_t ceil_mode,
                                        const Ints& dilations, const Ints& pads,
                                        int64_t storage_order, const Ints& strides,
                                        const DebugContext& debugContext) {
  return outputs("MaxPool", args, num_outputs,
                 {kernel_shape, ceil_mode, dilations, pads, storage_order, strides}, debugContext);
}
TensorId AiOnnxOpset10::mod(const Ids& args, int64_t fmod, const DebugContext& debugContext) {
  return output("Mod", args, {fmod}, debugContext);
}
TensorId AiOnnxOpset10::nonmaxsuppression(const Ids& args, int64_t center_point_box,
                                          const DebugContext& debugContext) {
  return output("NonMaxSuppression", args, {center_point_box}, debugContext);
}
TensorId AiOnnxOpset10::qlinearconv(const Ids& args, const Ints& dilations, int64_t group,
                                    const Ints& kernel_shape, const Ints& pads, const Ints& strides,
                                    const DebugContext& debugContext) {
  return output("QLinearConv", args, {dilations, group, kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset10::qlinearmatmul(const Ids& args, const DebugContext& debugContext) {
  return output("QLinearMatMul", args, {}, debugContext);
}
TensorId AiOnnxOpset10::quantizelinear(const Ids& args, const DebugContext& debugContext) {
  return output("QuantizeLinear", args, {}, debugContext);
}
TensorId AiOnnxOpset10::resize(const Ids& args, const std::string& mode,
                               const DebugContext& debugContext) {
  return output("Resize", args, {mode}, debugContext);
}
TensorId AiOnnxOpset10::reversesequence(const Ids& args, int64_t batch_axis, int64_t time_axis,
                                        const DebugContext& debugContext) {
  return output("ReverseSequence", args, {batch_axis, time_axis}, debugContext);
}
TensorId AiOnnxOpset10::roialign(const Ids& args, const std::string& mode, int64_t output_height,
                                 int64_t output_width, int64_t sampling_ratio, float spatial_scale,
                                 const DebugContext& debugContext) {
  return output("RoiAlign", args,
                {mode, output_height, output_width, sampling_ratio, spatial_scale}, debugContext);
}
TensorId AiOnnxOpset10::slice(const Ids& args, const DebugContext& debugContext) {
  return output("Slice", args, {}, debugContext);
}
TensorId AiOnnxOpset10::stringnormalizer(const Ids& args, const std::string& case_change_action,
                                         int64_t is_case_sensitive,
                                         nonstd::optional<std::string> locale,
                                         const Strings& stopwords,
                                         const DebugContext& debugContext) {
  return output("StringNormalizer", args,
                {case_change_action, is_case_sensitive, locale, stopwords}, debugContext);
}
TensorId AiOnnxOpset10::thresholdedrelu(const Ids& args, float alpha,
                                        const DebugContext& debugContext) {
  return output("ThresholdedRelu", args, {alpha}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset10::topk(const Ids& args, int64_t axis,
                                     const DebugContext& debugContext) {
  return outputs("TopK", args, 2, {axis}, debugContext);
}
TensorId AiOnnxOpset10::upsample(const Ids& args, const std::string& mode,
                                 const DebugContext& debugContext) {
  return output("Upsample", args, {mode}, debugContext);
}

TensorId AiOnnxOpset11::argmax(const Ids& args, int64_t axis, int64_t keepdims,
                               const DebugContext& debugContext) {
  return output("ArgMax", args, {axis, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::argmin(const Ids& args, int64_t axis, int64_t keepdims,
                               const DebugContext& debugContext) {
  return output("ArgMin", args, {axis, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode,
                                    int64_t count_include_pad, const Ints& pads,
                                    const Ints& strides, const DebugContext& debugContext) {
  return output("AveragePool", args, {kernel_shape, ceil_mode, count_include_pad, pads, strides},
                debugContext);
}
TensorId AiOnnxOpset11::bitshift(const Ids& args, const std::string& direction,
                                 const DebugContext& debugContext) {
  return output("BitShift", args, {direction}, debugContext);
}
TensorId AiOnnxOpset11::clip(const Ids& args, const DebugContext& debugContext) {
  return output("Clip", args, {}, debugContext);
}
TensorId AiOnnxOpset11::compress(const Ids& args, nonstd::optional<int64_t> axis,
                                 const DebugContext& debugContext) {
  return output("Compress", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::concat(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Concat", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::concatfromsequence(const Ids& args, int64_t axis, int64_t new_axis,
                                           const DebugContext& debugContext) {
  return output("ConcatFromSequence", args, {axis, new_axis}, debugContext);
}
TensorId AiOnnxOpset11::constant(const ConstVoidData& value, bool is_value_sparse,
                                 const DebugContext& debugContext) {
  refuseSparse(is_value_sparse);
  return output("Constant", {}, {value}, debugContext);
}
TensorId AiOnnxOpset11::conv(const Ids& args, const Ints& dilations, int64_t group,
                             const Ints& kernel_shape, const Ints& pads, const Ints& strides,
                             const DebugContext& debugContext) {
  return output("Conv", args, {dilations, group, kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset11::convtranspose(const Ids& args, const Ints& dilations, int64_t group,
                                      const Ints& kernel_shape, const Ints& output_padding,
                                      const Ints& output_shape, const Ints& pads,
                                      const Ints& strides, const DebugContext& debugContext) {
  return output("ConvTranspose", args,
                {dilations, group, kernel_shape, output_padding, output_shape, pads, strides},
                debugContext);
}
TensorId AiOnnxOpset11::cumsum(const Ids& args, int64_t exclusive, int64_t reverse,
                               const DebugContext& debugContext) {
  return output("CumSum", args, {exclusive, reverse}, debugContext);
}
TensorId AiOnnxOpset11::depthtospace(const Ids& args, int64_t blocksize, const std::string& mode,
                                     const DebugContext& debugContext) {
  return output("DepthToSpace", args, {blocksize, mode}, debugContext);
}
TensorId AiOnnxOpset11::det(const Ids& args, const DebugContext& debugContext) {
  return output("Det", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::dynamicquantizelinear(const Ids& args,
                                                      const DebugContext& debugContext) {
  return outputs("DynamicQuantizeLinear", args, 3, {}, debugContext);
}
TensorId AiOnnxOpset11::equal(const Ids& args, const DebugContext& debugContext) {
  return output("Equal", args, {}, debugContext);
}
TensorId AiOnnxOpset11::flatten(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Flatten", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::gather(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Gather", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::gatherelements(const Ids& args, int64_t axis,
                                       const DebugContext& debugContext) {
  return output("GatherElements", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::gathernd(const Ids& args, const DebugContext& debugContext) {
  return output("GatherND", args, {}, debugContext);
}
TensorId AiOnnxOpset11::gemm(const Ids& args, float alpha, float beta, int64_t transA,
                             int64_t transB, const DebugContext& debugContext) {
  return output("Gemm", args, {alpha, beta, transA, transB}, debugContext);
}
TensorId AiOnnxOpset11::hardmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Hardmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::logical_if(const Ids& args, unsigned num_outputs,
                                           const Builder& else_branch, const Builder& then_branch,
                                           const DebugContext& debugContext) {
  return outputs("If", args, num_outputs, {else_branch, then_branch}, debugContext);
}
TensorId AiOnnxOpset11::logsoftmax(const Ids& args, int64_t axis,
                                   const DebugContext& debugContext) {
  return output("LogSoftmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::loop(const Ids& args, unsigned num_outputs, const Builder& body,
                                     const DebugContext& debugContext) {
  return outputs("Loop", args, num_outputs, {body}, debugContext);
}
TensorId AiOnnxOpset11::lppool(const Ids& args, const Ints& kernel_shape, int64_t p,
                               const Ints& pads, const Ints& strides,
                               const DebugContext& debugContext) {
  return output("LpPool", args, {kernel_shape, p, pads, strides}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::maxpool(const Ids& args, unsigned num_outputs,
                                        const Ints& kernel_shape, int64_t ceil_mode,
                                        const Ints& dilations, const Ints& pads,
                                        int64_t storage_order, const Ints& strides,
                                        const DebugContext& debugContext) {
  return outputs("MaxPool", args, num_outputs,
                 {kernel_shape, ceil_mode, dilations, pads, storage_order, strides}, debugContext);
}
TensorId AiOnnxOpset11::maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads,
                                  const Ints& strides, const DebugContext& debugContext) {
  return output("MaxUnpool", args, {kernel_shape, pads, strides}, debugContext);
}
TensorId AiOnnxOpset11::nonmaxsuppression(const Ids& args, int64_t center_point_box,
                                          const DebugContext& debugContext) {
  return output("NonMaxSuppression", args, {center_point_box}, debugContext);
}
TensorId AiOnnxOpset11::onehot(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("OneHot", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::pad(const Ids& args, const std::string& mode,
                            const DebugContext& debugContext) {
  return output("Pad", args, {mode}, debugContext);
}
TensorId AiOnnxOpset11::range(const Ids& args, const DebugContext& debugContext) {
  return output("Range", args, {}, debugContext);
}
TensorId AiOnnxOpset11::reducel1(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceL1", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducel2(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceL2", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducelogsum(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                     const DebugContext& debugContext) {
  return output("ReduceLogSum", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes,
                                        int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceLogSumExp", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducemax(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMax", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducemean(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                   const DebugContext& debugContext) {
  return output("ReduceMean", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducemin(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMin", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reduceprod(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                   const DebugContext& debugContext) {
  return output("ReduceProd", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducesum(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceSum", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::reducesumsquare(const Ids& args, nonstd::optional<Ints> axes,
                                        int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceSumSquare", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::resize(const Ids& args, const std::string& coordinate_transformation_mode,
                               float cubic_coeff_a, int64_t exclude_outside,
                               float extrapolation_value, const std::string& mode,
                               const std::string& nearest_mode, const DebugContext& debugContext) {
  return output("Resize", args,
                {coordinate_transformation_mode, cubic_coeff_a, exclude_outside,
                 extrapolation_value, mode, nearest_mode},
                debugContext);
}
TensorId AiOnnxOpset11::round(const Ids& args, const DebugContext& debugContext) {
  return output("Round", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::scan(const Ids& args, unsigned num_outputs, const Builder& body,
                                     int64_t num_scan_inputs, const Ints& scan_input_axes,
                                     const Ints& scan_input_directions,
                                     const Ints& scan_output_axes,
                                     const Ints& scan_output_directions,
                                     const DebugContext& debugContext) {
  return outputs("Scan", args, num_outputs,
                 {body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes,
                  scan_output_directions},
                 debugContext);
}
TensorId AiOnnxOpset11::scatter(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Scatter", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::scatterelements(const Ids& args, int64_t axis,
                                        const DebugContext& debugContext) {
  return output("ScatterElements", args, {axis}, debugContext);
}
TensorId AiOnnxOpset11::scatternd(const Ids& args, const DebugContext& debugContext) {
  return output("ScatterND", args, {}, debugContext);
}
TensorId AiOnnxOpset11::sequenceat(const Ids& args, const DebugContext& debugContext) {
  return output("SequenceAt", args, {}, debugContext);
}
TensorId AiOnnxOpset11::sequenceconstruct(const Ids& args, const DebugContext& debugContext) {
  return output("SequenceConstruct", args, {}, debugContext);
}
TensorId AiOnnxOpset11::sequenceempty(nonstd::optional<int64_t> dtype,
                                      const DebugContext& debugContext) {
  return output("SequenceEmpty", {}, {dtype}, debugContext);
}
TensorId AiOnnxOpset11::sequenceerase(const Ids& args, const DebugContext& debugContext) {
  return output("SequenceErase", args, {}, debugContext);
}
TensorId AiOnnxOpset11::sequenceinsert(const Ids& args, const DebugContext& debugContext) {
  return output("SequenceInsert", args, {}, debugContext);
}
TensorId AiOnnxOpset11::sequencelength(const Ids& args, const DebugContext& debugContext) {
  return output("SequenceLength", args, {}, debugContext);
}
TensorId AiOnnxOpset11::slice(const Ids& args, const DebugContext& debugContext) {
  return output("Slice", args, {}, debugContext);
}
TensorId AiOnnxOpset11::softmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Softmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::split(const Ids& args, unsigned num_outputs, int64_t axis,
                                      const Ints& split, const DebugContext& debugContext) {
  return outputs("Split", args, num_outputs, {axis, split}, debugContext);
}
TensorId AiOnnxOpset11::splittosequence(const Ids& args, int64_t axis, int64_t keepdims,
                                        const DebugContext& debugContext) {
  return output("SplitToSequence", args, {axis, keepdims}, debugContext);
}
TensorId AiOnnxOpset11::squeeze(const Ids& args, const Ints& axes,
                                const DebugContext& debugContext) {
  return output("Squeeze", args, {axes}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::topk(const Ids& args, int64_t axis, int64_t largest, int64_t sorted,
                                     const DebugContext& debugContext) {
  return outputs("TopK", args, 2, {axis, largest, sorted}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset11::unique(const Ids& args, unsigned num_outputs,
                                       nonstd::optional<int64_t> axis, int64_t sorted,
                                       const DebugContext& debugContext) {
  return outputs("Unique", args, num_outputs, {axis, sorted}, debugContext);
}
TensorId AiOnnxOpset11::unsqueeze(const Ids& args, const Ints& axes,
                                  const DebugContext& debugContext) {
  return output("Unsqueeze", args, {axes}, debugContext);
}

TensorId AiOnnxOpset12::argmax(const Ids& args, int64_t axis, int64_t keepdims,
                               int64_t select_last_index, const DebugContext& debugContext) {
  return output("ArgMax", args, {axis, keepdims, select_last_index}, debugContext);
}
TensorId AiOnnxOpset12::argmin(const Ids& args, int64_t axis, int64_t keepdims,
                               int64_t select_last_index, const DebugContext& debugContext) {
  return output("ArgMin", args, {axis, keepdims, select_last_index}, debugContext);
}
TensorId AiOnnxOpset12::celu(const Ids& args, float alpha, const DebugContext& debugContext) {
  return output("Celu", args, {alpha}, debugContext);
}
TensorId AiOnnxOpset12::clip(const Ids& args, const DebugContext& debugContext) {
  return output("Clip", args, {}, debugContext);
}
TensorId AiOnnxOpset12::constant(const ConstVoidData& value, bool is_value_sparse,
                                 const DebugContext& debugContext) {
  refuseSparse(is_value_sparse);
  return output("Constant", {}, {value}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset12::dropout(const Ids& args, unsigned num_outputs,
                                        nonstd::optional<int64_t> seed,
                                        const DebugContext& debugContext) {
  return outputs("Dropout", args, num_outputs, {seed}, debugContext);
}
TensorId AiOnnxOpset12::einsum(const Ids& args, const std::string& equation,
                               const DebugContext& debugContext) {
  return output("Einsum", args, {equation}, debugContext);
}
TensorId AiOnnxOpset12::gathernd(const Ids& args, int64_t batch_dims,
                                 const DebugContext& debugContext) {
  return output("GatherND", args, {batch_dims}, debugContext);
}
TensorId AiOnnxOpset12::greaterorequal(const Ids& args, const DebugContext& debugContext) {
  return output("GreaterOrEqual", args, {}, debugContext);
}
TensorId AiOnnxOpset12::lessorequal(const Ids& args, const DebugContext& debugContext) {
  return output("LessOrEqual", args, {}, debugContext);
}
TensorId AiOnnxOpset12::max(const Ids& args, const DebugContext& debugContext) {
  return output("Max", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset12::maxpool(const Ids& args, unsigned num_outputs,
                                        const Ints& kernel_shape, int64_t ceil_mode,
                                        const Ints& dilations, const Ints& pads,
                                        int64_t storage_order, const Ints& strides,
                                        const DebugContext& debugContext) {
  return outputs("MaxPool", args, num_outputs,
                 {kernel_shape, ceil_mode, dilations, pads, storage_order, strides}, debugContext);
}
TensorId AiOnnxOpset12::min(const Ids& args, const DebugContext& debugContext) {
  return output("Min", args, {}, debugContext);
}
TensorId AiOnnxOpset12::negativeloglikelihoodloss(const Ids& args,
                                                  nonstd::optional<int64_t> ignore_index,
                                                  const std::string& reduction,
                                                  const DebugContext& debugContext) {
  return output("NegativeLogLikelihoodLoss", args, {ignore_index, reduction}, debugContext);
}
TensorId AiOnnxOpset12::pow(const Ids& args, const DebugContext& debugContext) {
  return output("Pow", args, {}, debugContext);
}
TensorId AiOnnxOpset12::reducemax(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMax", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset12::reducemin(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMin", args, {axes, keepdims}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset12::softmaxcrossentropyloss(const Ids& args, unsigned num_outputs,
                                                        nonstd::optional<int64_t> ignore_index,
                                                        const std::string& reduction,
                                                        const DebugContext& debugContext) {
  return outputs("SoftmaxCrossEntropyLoss", args, num_outputs, {ignore_index, reduction},
                 debugContext);
}

TensorId AiOnnxOpset13::abs(const Ids& args, const DebugContext& debugContext) {
  return output("Abs", args, {}, debugContext);
}
TensorId AiOnnxOpset13::add(const Ids& args, const DebugContext& debugContext) {
  return output("Add", args, {}, debugContext);
}
TensorId AiOnnxOpset13::argmax(const Ids& args, int64_t axis, int64_t keepdims,
                               int64_t select_last_index, const DebugContext& debugContext) {
  return output("ArgMax", args, {axis, keepdims, select_last_index}, debugContext);
}
TensorId AiOnnxOpset13::argmin(const Ids& args, int64_t axis, int64_t keepdims,
                               int64_t select_last_index, const DebugContext& debugContext) {
  return output("ArgMin", args, {axis, keepdims, select_last_index}, debugContext);
}
TensorId AiOnnxOpset13::cast(const Ids& args, const std::string& to,
                             const DebugContext& debugContext) {
  return output("Cast", args, {elementTypeNumber(to)}, debugContext);
}
TensorId AiOnnxOpset13::ceil(const Ids& args, const DebugContext& debugContext) {
  return output("Ceil", args, {}, debugContext);
}
TensorId AiOnnxOpset13::clip(const Ids& args, const DebugContext& debugContext) {
  return output("Clip", args, {}, debugContext);
}
TensorId AiOnnxOpset13::concat(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Concat", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::constant(const ConstVoidData& value, bool is_value_sparse,
                                 const DebugContext& debugContext) {
  refuseSparse(is_value_sparse);
  return output("Constant", {}, {value}, debugContext);
}
TensorId AiOnnxOpset13::depthtospace(const Ids& args, int64_t blocksize, const std::string& mode,
                                     const DebugContext& debugContext) {
  return output("DepthToSpace", args, {blocksize, mode}, debugContext);
}
TensorId AiOnnxOpset13::dequantizelinear(const Ids& args, int64_t axis,
                                         const DebugContext& debugContext) {
  return output("DequantizeLinear", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::div(const Ids& args, const DebugContext& debugContext) {
  return output("Div", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset13::dropout(const Ids& args, unsigned num_outputs,
                                        nonstd::optional<int64_t> seed,
                                        const DebugContext& debugContext) {
  return outputs("Dropout", args, num_outputs, {seed}, debugContext);
}
TensorId AiOnnxOpset13::equal(const Ids& args, const DebugContext& debugContext) {
  return output("Equal", args, {}, debugContext);
}
TensorId AiOnnxOpset13::erf(const Ids& args, const DebugContext& debugContext) {
  return output("Erf", args, {}, debugContext);
}
TensorId AiOnnxOpset13::exp(const Ids& args, const DebugContext& debugContext) {
  return output("Exp", args, {}, debugContext);
}
TensorId AiOnnxOpset13::expand(const Ids& args, const DebugContext& debugContext) {
  return output("Expand", args, {}, debugContext);
}
TensorId AiOnnxOpset13::flatten(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Flatten", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::floor(const Ids& args, const DebugContext& debugContext) {
  return output("Floor", args, {}, debugContext);
}
TensorId AiOnnxOpset13::gather(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Gather", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::gatherelements(const Ids& args, int64_t axis,
                                       const DebugContext& debugContext) {
  return output("GatherElements", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::gathernd(const Ids& args, int64_t batch_dims,
                                 const DebugContext& debugContext) {
  return output("GatherND", args, {batch_dims}, debugContext);
}
TensorId AiOnnxOpset13::gemm(const Ids& args, float alpha, float beta, int64_t transA,
                             int64_t transB, const DebugContext& debugContext) {
  return output("Gemm", args, {alpha, beta, transA, transB}, debugContext);
}
TensorId AiOnnxOpset13::greater(const Ids& args, const DebugContext& debugContext) {
  return output("Greater", args, {}, debugContext);
}
TensorId AiOnnxOpset13::hardmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Hardmax", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::identity(const Ids& args, const DebugContext& debugContext) {
  return output("Identity", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset13::logical_if(const Ids& args, unsigned num_outputs,
                                           const Builder& else_branch, const Builder& then_branch,
                                           const DebugContext& debugContext) {
  return outputs("If", args, num_outputs, {else_branch, then_branch}, debugContext);
}
TensorId AiOnnxOpset13::isnan(const Ids& args, const DebugContext& debugContext) {
  return output("IsNaN", args, {}, debugContext);
}
TensorId AiOnnxOpset13::lrn(const Ids& args, int64_t size, float alpha, float beta, float bias,
                            const DebugContext& debugContext) {
  return output("LRN", args, {size, alpha, beta, bias}, debugContext);
}
TensorId AiOnnxOpset13::less(const Ids& args, const DebugContext& debugContext) {
  return output("Less", args, {}, debugContext);
}
TensorId AiOnnxOpset13::log(const Ids& args, const DebugContext& debugContext) {
  return output("Log", args, {}, debugContext);
}
TensorId AiOnnxOpset13::logsoftmax(const Ids& args, int64_t axis,
                                   const DebugContext& debugContext) {
  return output("LogSoftmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset13::loop(const Ids& args, unsigned num_outputs, const Builder& body,
                                     const DebugContext& debugContext) {
  return outputs("Loop", args, num_outputs, {body}, debugContext);
}
TensorId AiOnnxOpset13::matmul(const Ids& args, const DebugContext& debugContext) {
  return output("MatMul", args, {}, debugContext);
}
TensorId AiOnnxOpset13::max(const Ids& args, const DebugContext& debugContext) {
  return output("Max", args, {}, debugContext);
}
TensorId AiOnnxOpset13::mean(const Ids& args, const DebugContext& debugContext) {
  return output("Mean", args, {}, debugContext);
}
TensorId AiOnnxOpset13::meanvariancenormalization(const Ids& args, const Ints& axes,
                                                  const DebugContext& debugContext) {
  return output("MeanVarianceNormalization", args, {axes}, debugContext);
}
TensorId AiOnnxOpset13::min(const Ids& args, const DebugContext& debugContext) {
  return output("Min", args, {}, debugContext);
}
TensorId AiOnnxOpset13::mod(const Ids& args, int64_t fmod, const DebugContext& debugContext) {
  return output("Mod", args, {fmod}, debugContext);
}
TensorId AiOnnxOpset13::mul(const Ids& args, const DebugContext& debugContext) {
  return output("Mul", args, {}, debugContext);
}
TensorId AiOnnxOpset13::neg(const Ids& args, const DebugContext& debugContext) {
  return output("Neg", args, {}, debugContext);
}
TensorId AiOnnxOpset13::negativeloglikelihoodloss(const Ids& args,
                                                  nonstd::optional<int64_t> ignore_index,
                                                  const std::string& reduction,
                                                  const DebugContext& debugContext) {
  return output("NegativeLogLikelihoodLoss", args, {ignore_index, reduction}, debugContext);
}
TensorId AiOnnxOpset13::nonzero(const Ids& args, const DebugContext& debugContext) {
  return output("NonZero", args, {}, debugContext);
}
TensorId AiOnnxOpset13::pad(const Ids& args, const std::string& mode,
                            const DebugContext& debugContext) {
  return output("Pad", args, {mode}, debugContext);
}
TensorId AiOnnxOpset13::pow(const Ids& args, const DebugContext& debugContext) {
  return output("Pow", args, {}, debugContext);
}
TensorId AiOnnxOpset13::quantizelinear(const Ids& args, int64_t axis,
                                       const DebugContext& debugContext) {
  return output("QuantizeLinear", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::reciprocal(const Ids& args, const DebugContext& debugContext) {
  return output("Reciprocal", args, {}, debugContext);
}
TensorId AiOnnxOpset13::reducel1(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceL1", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducel2(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                 const DebugContext& debugContext) {
  return output("ReduceL2", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducelogsum(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                     const DebugContext& debugContext) {
  return output("ReduceLogSum", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes,
                                        int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceLogSumExp", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducemax(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMax", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducemean(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                   const DebugContext& debugContext) {
  return output("ReduceMean", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducemin(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                  const DebugContext& debugContext) {
  return output("ReduceMin", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reduceprod(const Ids& args, nonstd::optional<Ints> axes, int64_t keepdims,
                                   const DebugContext& debugContext) {
  return output("ReduceProd", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::reducesum(const Ids& args, int64_t keepdims, int64_t noop_with_empty_axes,
                                  const DebugContext& debugContext) {
  return output("ReduceSum", args, {keepdims, noop_with_empty_axes}, debugContext);
}
TensorId AiOnnxOpset13::reducesumsquare(const Ids& args, nonstd::optional<Ints> axes,
                                        int64_t keepdims, const DebugContext& debugContext) {
  return output("ReduceSumSquare", args, {axes, keepdims}, debugContext);
}
TensorId AiOnnxOpset13::relu(const Ids& args, const DebugContext& debugContext) {
  return output("Relu", args, {}, debugContext);
}
TensorId AiOnnxOpset13::reshape(const Ids& args, const DebugContext& debugContext) {
  return output("Reshape", args, {}, debugContext);
}
TensorId AiOnnxOpset13::resize(const Ids& args, const std::string& coordinate_transformation_mode,
                               float cubic_coeff_a, int64_t exclude_outside,
                               float extrapolation_value, const std::string& mode,
                               const std::string& nearest_mode, const DebugContext& debugContext) {
  return output("Resize", args,
                {coordinate_transformation_mode, cubic_coeff_a, exclude_outside,
                 extrapolation_value, mode, nearest_mode},
                debugContext);
}
TensorId AiOnnxOpset13::scatterelements(const Ids& args, int64_t axis,
                                        const DebugContext& debugContext) {
  return output("ScatterElements", args, {axis}, debugContext);
}
TensorId AiOnnxOpset13::scatternd(const Ids& args, const DebugContext& debugContext) {
  return output("ScatterND", args, {}, debugContext);
}
TensorId AiOnnxOpset13::shape(const Ids& args, const DebugContext& debugContext) {
  return output("Shape", args, {}, debugContext);
}
TensorId AiOnnxOpset13::sigmoid(const Ids& args, const DebugContext& debugContext) {
  return output("Sigmoid", args, {}, debugContext);
}
TensorId AiOnnxOpset13::sign(const Ids& args, const DebugContext& debugContext) {
  return output("Sign", args, {}, debugContext);
}
TensorId AiOnnxOpset13::size(const Ids& args, const DebugContext& debugContext) {
  return output("Size", args, {}, debugContext);
}
TensorId AiOnnxOpset13::slice(const Ids& args, const DebugContext& debugContext) {
  return output("Slice", args, {}, debugContext);
}
TensorId AiOnnxOpset13::softmax(const Ids& args, int64_t axis, const DebugContext& debugContext) {
  return output("Softmax", args, {axis}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset13::softmaxcrossentropyloss(const Ids& args, unsigned num_outputs,
                                                        nonstd::optional<int64_t> ignore_index,
                                                        const std::string& reduction,
                                                        const DebugContext& debugContext) {
  return outputs("SoftmaxCrossEntropyLoss", args, num_outputs, {ignore_index, reduction},
                 debugContext);
}
TensorId AiOnnxOpset13::spacetodepth(const Ids& args, int64_t blocksize,
                                     const DebugContext& debugContext) {
  return output("SpaceToDepth", args, {blocksize}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset13::split(const Ids& args, unsigned num_outputs, int64_t axis,
                                      const DebugContext& debugContext) {
  return outputs("Split", args, num_outputs, {axis}, debugContext);
}
TensorId AiOnnxOpset13::sqrt(const Ids& args, const DebugContext& debugContext) {
  return output("Sqrt", args, {}, debugContext);
}
TensorId AiOnnxOpset13::squeeze(const Ids& args, const DebugContext& debugContext) {
  return output("Squeeze", args, {}, debugContext);
}
TensorId AiOnnxOpset13::sub(const Ids& args, const DebugContext& debugContext) {
  return output("Sub", args, {}, debugContext);
}
TensorId AiOnnxOpset13::sum(const Ids& args, const DebugContext& debugContext) {
  return output("Sum", args, {}, debugContext);
}
TensorId AiOnnxOpset13::tanh(const Ids& args, const DebugContext& debugContext) {
  return output("Tanh", args, {}, debugContext);
}
TensorId AiOnnxOpset13::tile(const Ids& args, const DebugContext& debugContext) {
  return output("Tile", args, {}, debugContext);
}
TensorId AiOnnxOpset13::transpose(const Ids& args, const Ints& perm,
                                  const DebugContext& debugContext) {
  return output("Transpose", args, {perm}, debugContext);
}
TensorId AiOnnxOpset13::unsqueeze(const Ids& args, const DebugContext& debugContext) {
  return output("Unsqueeze", args, {}, debugContext);
}

TensorId AiOnnxOpset14::add(const Ids& args, const DebugContext& debugContext) {
  return output("Add", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset14::batchnormalization(const Ids& args, unsigned num_outputs,
                                                   float epsilon, float momentum,
                                                   int64_t training_mode,
                                                   const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, momentum, training_mode},
                 debugContext);
}
TensorId AiOnnxOpset14::cumsum(const Ids& args, int64_t exclusive, int64_t reverse,
                               const DebugContext& debugContext) {
  return output("CumSum", args, {exclusive, reverse}, debugContext);
}
TensorId AiOnnxOpset14::div(const Ids& args, const DebugContext& debugContext) {
  return output("Div", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset14::gru(const Ids& args, unsigned num_outputs,
                                    const Floats& activation_alpha, const Floats& activation_beta,
                                    const Strings& activations, nonstd::optional<float> clip,
                                    const std::string& direction,
                                    nonstd::optional<int64_t> hidden_size, int64_t layout,
                                    int64_t linear_before_reset, const DebugContext& debugContext) {
  return outputs("GRU", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  layout, linear_before_reset},
                 debugContext);
}
TensorId AiOnnxOpset14::hardswish(const Ids& args, const DebugContext& debugContext) {
  return output("HardSwish", args, {}, debugContext);
}
TensorId AiOnnxOpset14::identity(const Ids& args, const DebugContext& debugContext) {
  return output("Identity", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset14::lstm(const Ids& args, unsigned num_outputs,
                                     const Floats& activation_alpha, const Floats& activation_beta,
                                     const Strings& activations, nonstd::optional<float> clip,
                                     const std::string& direction,
                                     nonstd::optional<int64_t> hidden_size, int64_t input_forget,
                                     int64_t layout, const DebugContext& debugContext) {
  return outputs("LSTM", args, num_outputs,
                 {activation_alpha, activation_beta, activations, clip, direction, hidden_size,
                  input_forget, layout},
                 debugContext);
}
TensorId AiOnnxOpset14::mul(const Ids& args, const DebugContext& debugContext) {
  return output("Mul", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset14::rnn(const Ids& args, unsigned num_outputs,
                                    const Floats& activation_alpha, const Floats& activation_beta,
                                    const Strings& activations, nonstd::optional<float> clip,
                                    const std::string& direction,
                                    nonstd::optional<int64_t> hidden_size, int64_t layout,
                                    const DebugContext& debugContext) {
  return outputs(
      "RNN", args, num_outputs,
      {activation_alpha, activation_beta, activations, clip, direction, hidden_size, layout},
      debugContext);
}
TensorId AiOnnxOpset14::relu(const Ids& args, const DebugContext& debugContext) {
  return output("Relu", args, {}, debugContext);
}
TensorId AiOnnxOpset14::reshape(const Ids& args, int64_t allowzero,
                                const DebugContext& debugContext) {
  return output("Reshape", args, {allowzero}, debugContext);
}
TensorId AiOnnxOpset14::sub(const Ids& args, const DebugContext& debugContext) {
  return output("Sub", args, {}, debugContext);
}
TensorId AiOnnxOpset14::trilu(const Ids& args, int64_t upper, const DebugContext& debugContext) {
  return output("Trilu", args, {upper}, debugContext);
}

DomainOpSet::Ids AiOnnxOpset15::batchnormalization(const Ids& args, unsigned num_outputs,
                                                   float epsilon, float momentum,
                                                   int64_t training_mode,
                                                   const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, momentum, training_mode},
                 debugContext);
}
TensorId AiOnnxOpset15::bernoulli(const Ids& args, nonstd::optional<int64_t> dtype,
                                  nonstd::optional<float> seed, const DebugContext& debugContext) {
  return output("Bernoulli", args, {dtype, seed}, debugContext);
}
TensorId AiOnnxOpset15::castlike(const Ids& args, const DebugContext& debugContext) {
  return output("CastLike", args, {}, debugContext);
}
TensorId AiOnnxOpset15::optional(const Ids& args, const DebugContext& debugContext) {
  return output("Optional", args, {}, debugContext);
}
TensorId AiOnnxOpset15::optionalgetelement(const Ids& args, const DebugContext& debugContext) {
  return output("OptionalGetElement", args, {}, debugContext);
}
TensorId AiOnnxOpset15::optionalhaselement(const Ids& args, const DebugContext& debugContext) {
  return output("OptionalHasElement", args, {}, debugContext);
}
TensorId AiOnnxOpset15::pow(const Ids& args, const DebugContext& debugContext) {
  return output("Pow", args, {}, debugContext);
}
TensorId AiOnnxOpset15::shape(const Ids& args, nonstd::optional<int64_t> end, int64_t start,
                              const DebugContext& debugContext) {
  return output("Shape", args, {end, start}, debugContext);
}

TensorId AiOnnxOpset16::greaterorequal(const Ids& args, const DebugContext& debugContext) {
  return output("GreaterOrEqual", args, {}, debugContext);
}
TensorId AiOnnxOpset16::gridsample(const Ids& args, int64_t align_corners, const std::string& mode,
                                   const std::string& padding_mode,
                                   const DebugContext& debugContext) {
  return output("GridSample", args, {align_corners, mode, padding_mode}, debugContext);
}
TensorId AiOnnxOpset16::identity(const Ids& args, const DebugContext& debugContext) {
  return output("Identity", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset16::logical_if(const Ids& args, unsigned num_outputs,
                                           const Builder& else_branch, const Builder& then_branch,
                                           const DebugContext& debugContext) {
  return outputs("If", args, num_outputs, {else_branch, then_branch}, debugContext);
}
TensorId AiOnnxOpset16::leakyrelu(const Ids& args, float alpha, const DebugContext& debugContext) {
  return output("LeakyRelu", args, {alpha}, debugContext);
}
TensorId AiOnnxOpset16::lessorequal(const Ids& args, const DebugContext& debugContext) {
  return output("LessOrEqual", args, {}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset16::loop(const Ids& args, unsigned num_outputs, const Builder& body,
                                     const DebugContext& debugContext) {
  return outputs("Loop", args, num_outputs, {body}, debugContext);
}
TensorId AiOnnxOpset16::prelu(const Ids& args, const DebugContext& debugContext) {
  return output("PRelu", args, {}, debugContext);
}
TensorId AiOnnxOpset16::roialign(const Ids& args, const std::string& coordinate_transformation_mode,
                                 const std::string& mode, int64_t output_height,
                                 int64_t output_width, int64_t sampling_ratio, float spatial_scale,
                                 const DebugContext& debugContext) {
  return output("RoiAlign", args,
                {coordinate_transformation_mode, mode, output_height, output_width, sampling_ratio,
                 spatial_scale},
                debugContext);
}
DomainOpSet::Ids AiOnnxOpset16::scan(const Ids& args, unsigned num_outputs, const Builder& body,
                                     int64_t num_scan_inputs, const Ints& scan_input_axes,
                                     const Ints& scan_input_directions,
                                     const Ints& scan_output_axes,
                                     const Ints& scan_output_directions,
                                     const DebugContext& debugContext) {
  return outputs("Scan", args, num_outputs,
                 {body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes,
                  scan_output_directions},
                 debugContext);
}
TensorId AiOnnxOpset16::scatterelements(const Ids& args, int64_t axis, const std::string& reduction,
                                        const DebugContext& debugContext) {
  return output("ScatterElements", args, {axis, reduction}, debugContext);
}
TensorId AiOnnxOpset16::scatternd(const Ids& args, const std::string& reduction,
                                  const DebugContext& debugContext) {
  return output("ScatterND", args, {reduction}, debugContext);
}
TensorId AiOnnxOpset16::where(const Ids& args, const DebugContext& debugContext) {
  return output("Where", args, {}, debugContext);
}

TensorId AiOnnxOpset17::blackmanwindow(const Ids& args, int64_t output_datatype, int64_t periodic,
                                       const DebugContext& debugContext) {
  return output("BlackmanWindow", args, {output_datatype, periodic}, debugContext);
}
TensorId AiOnnxOpset17::dft(const Ids& args, int64_t axis, int64_t inverse, int64_t onesided,
                            const DebugContext& debugContext) {
  return output("DFT", args, {axis, inverse, onesided}, debugContext);
}
TensorId AiOnnxOpset17::hammingwindow(const Ids& args, int64_t output_datatype, int64_t periodic,
                                      const DebugContext& debugContext) {
  return output("HammingWindow", args, {output_datatype, periodic}, debugContext);
}
TensorId AiOnnxOpset17::hannwindow(const Ids& args, int64_t output_datatype, int64_t periodic,
                                   const DebugContext& debugContext) {
  return output("HannWindow", args, {output_datatype, periodic}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset17::layernormalization(const Ids& args, unsigned num_outputs,
                                                   int64_t axis, float epsilon, int64_t stash_type,
                                                   const DebugContext& debugContext) {
  return outputs("LayerNormalization", args, num_outputs, {axis, epsilon, stash_type},
                 debugContext);
}
TensorId AiOnnxOpset17::melweightmatrix(const Ids& args, int64_t output_datatype,
                                        const DebugContext& debugContext) {
  return output("MelWeightMatrix", args, {output_datatype}, debugContext);
}
TensorId AiOnnxOpset17::stft(const Ids& args, int64_t onesided, const DebugContext& debugContext) {
  return output("STFT", args, {onesided}, debugContext);
}
DomainOpSet::Ids AiOnnxOpset17::sequencemap(const Ids& args, unsigned num_outputs,
                                            const Builder& body, const DebugContext& debugContext) {
  return outputs("SequenceMap", args, num_outputs, {body}, debugContext);
}

DomainOpSet::Ids AiGraphcoreOpset1::batchnormalization(const Ids& args, unsigned num_outputs,
                                                       float epsilon, float momentum,
                                                       const DebugContext& debugContext) {
  return outputs("BatchNormalization", args, num_outputs, {epsilon, momentum}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::groupnormalization(const Ids& args, int64_t num_groups,
                                                       float epsilon,
                                                       const DebugContext& debugContext) {
  return outputs("GroupNormalization", args, 3, {num_groups, epsilon}, debugContext);
}
TensorId AiGraphcoreOpset1::subsample(const Ids& args, const Ints& strides,
                                      const DebugContext& debugContext) {
  return output("Subsample", args, {strides}, debugContext);
}
TensorId AiGraphcoreOpset1::nop(const Ids& args, const DebugContext& debugContext) {
  return output("Nop", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::normalize_image(const Ids& args, float scale,
                                            const DebugContext& debugContext) {
  return output("NormalizeImage", args, {scale}, debugContext);
}
TensorId AiGraphcoreOpset1::scale(const Ids& args, float scale, const DebugContext& debugContext) {
  return output("Scale", args, {scale}, debugContext);
}
TensorId AiGraphcoreOpset1::scaledadd(const Ids& args, float scale0, float scale1,
                                      const DebugContext& debugContext) {
  return output("ScaledAdd", args, {scale0, scale1}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::lstm(const Ids& args, int64_t outputFullSequence,
                                         const DebugContext& debugContext) {
  return outputs("LSTM", args, 2, {outputFullSequence}, debugContext);
}
TensorId AiGraphcoreOpset1::gelu(const Ids& args, const DebugContext& debugContext) {
  return output("Gelu", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::geluerf(const Ids& args, const DebugContext& debugContext) {
  return output("GeluErf", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::detach(const Ids& args, const DebugContext& debugContext) {
  return output("Detach", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::depthtospace(const Ids& args, int64_t blocksize,
                                         const std::string& mode,
                                         const DebugContext& debugContext) {
  return output("DepthToSpace", args, {blocksize, mode}, debugContext);
}
TensorId AiGraphcoreOpset1::round(const Ids& args, const DebugContext& debugContext) {
  return output("Round", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::dynamicslice(const Ids& args, const Ints& axes, const Ints& sizes,
                                         int64_t noOverlap, const DebugContext& debugContext) {
  return output("DynamicSlice", args, {axes, sizes, noOverlap}, debugContext);
}
TensorId AiGraphcoreOpset1::dynamicupdate(const Ids& args, const Ints& axes, const Ints& sizes,
                                          int64_t noOverlap, const DebugContext& debugContext) {
  return output("DynamicUpdate", args, {axes, sizes, noOverlap}, debugContext);
}
TensorId AiGraphcoreOpset1::dynamiczero(const Ids& args, const Ints& axes, const Ints& sizes,
                                        const DebugContext& debugContext) {
  return output("DynamicZero", args, {axes, sizes}, debugContext);
}
TensorId AiGraphcoreOpset1::dynamicadd(const Ids& args, const Ints& axes, const Ints& sizes,
                                       const DebugContext& debugContext) {
  return output("DynamicAdd", args, {axes, sizes}, debugContext);
}
TensorId AiGraphcoreOpset1::sequenceslice(const Ids& args, int64_t zeroUnused,
                                          const DebugContext& debugContext) {
  return output("SequenceSlice", args, {zeroUnused}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::call(const Ids& args, unsigned num_outputs,
                                         const Builder& callee, const DebugContext& debugContext) {
  return outputs("Call", args, num_outputs, {callee}, debugContext);
}
TensorId AiGraphcoreOpset1::tensorremap(const Ids& args, int64_t remap_type,
                                        const DebugContext& debugContext) {
  return output("TensorRemap", args, {remap_type}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::ctcbeamsearchdecoder(const Ids& args, unsigned blank,
                                                         unsigned beamWidth, unsigned topPaths,
                                                         const DebugContext& debugContext) {
  return outputs("CtcBeamSearchDecoder", args, 3,
                 {int64_t{blank}, int64_t{beamWidth}, int64_t{topPaths}}, debugContext);
}
TensorId AiGraphcoreOpset1::shapeddropout(const Ids& args, const Ints& shape, float ratio,
                                          const DebugContext& debugContext) {
  return output("ShapedDropout", args, {shape, ratio}, debugContext);
}
TensorId AiGraphcoreOpset1::atan2(const Ids& args, const DebugContext& debugContext) {
  return output("Atan2", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::expm1(const Ids& args, const DebugContext& debugContext) {
  return output("Expm1", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::log1p(const Ids& args, const DebugContext& debugContext) {
  return output("Log1p", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::fmod(const Ids& args, const DebugContext& debugContext) {
  return output("Fmod", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::remainder(const Ids& args, const DebugContext& debugContext) {
  return output("Remainder", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::reverse(const Ids& args, const Ints& dimensions,
                                    const DebugContext& debugContext) {
  return output("Reverse", args, {dimensions}, debugContext);
}
TensorId AiGraphcoreOpset1::slice(const Ids& args, const Ints& ends, const Ints& starts,
                                  const Ints& axes, const DebugContext& debugContext) {
  return output("Slice", args, {ends, starts, axes}, debugContext);
}
TensorId AiGraphcoreOpset1::packedDataBlock(const Ids& args, const Ints& maxSequenceLengths,
                                            int64_t resultSize, int64_t callbackBatchSize,
                                            const Builder& callback,
                                            const DebugContext& debugContext) {
  return output("PackedDataBlock", args,
                {maxSequenceLengths, resultSize, callbackBatchSize, callback}, debugContext);
}
TensorId AiGraphcoreOpset1::bitwisenot(const Ids& args, const DebugContext& debugContext) {
  return output("BitwiseNot", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::bitwiseand(const Ids& args, const DebugContext& debugContext) {
  return output("BitwiseAnd", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::bitwiseor(const Ids& args, const DebugContext& debugContext) {
  return output("BitwiseOr", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::bitwisexor(const Ids& args, const DebugContext& debugContext) {
  return output("BitwiseXor", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::bitwisexnor(const Ids& args, const DebugContext& debugContext) {
  return output("BitwiseXnor", args, {}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::reducemedian(const Ids& args, nonstd::optional<Ints> axes,
                                                 int64_t keepdims,
                                                 const DebugContext& debugContext) {
  return outputs("ReduceMedian", args, 2, {axes, keepdims}, debugContext);
}
TensorId AiGraphcoreOpset1::groupedgather(const Ids& args, int64_t axis, int64_t group_size,
                                          const DebugContext& debugContext) {
  return output("GroupedGather", args, {axis, group_size}, debugContext);
}
TensorId AiGraphcoreOpset1::swish(const Ids& args, const DebugContext& debugContext) {
  return output("Swish", args, {}, debugContext);
}
TensorId AiGraphcoreOpset1::incrementmod(const Ids& args, float increment, float modulus,
                                         const DebugContext& debugContext) {
  return output("IncrementMod", args, {increment, modulus}, debugContext);
}
TensorId AiGraphcoreOpset1::bucketize(const Ids& args, int64_t right,
                                      const DebugContext& debugContext) {
  return output("Bucketize", args, {right}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::sort(const Ids& args, int64_t axis, int64_t descending,
                                         int64_t stable, const DebugContext& debugContext) {
  return outputs("Sort", args, 2, {axis, descending, stable}, debugContext);
}
TensorId AiGraphcoreOpset1::nearbyint(const Ids& args, const DebugContext& debugContext) {
  return output("NearbyInt", args, {}, debugContext);
}
DomainOpSet::Ids AiGraphcoreOpset1::splinebasis(const Ids& args, int64_t degree,
                                                const DebugContext& debugContext) {
  return outputs("SplineBasis", args, 2, {degree}, debugContext);
}
TensorId AiGraphcoreOpset1::splineweighting(const Ids& args, const DebugContext& debugContext) {
  return output("SplineWeighting", args, {}, debugContext);
}

}  // namespace popart
