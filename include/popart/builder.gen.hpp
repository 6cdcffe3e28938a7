#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <popart/domainopset.hpp>

// One method for each operator of a version of the default domain: inputs, the number of outputs
// where it varies, attributes (those that must be given first, then by name), a name.

namespace popart {

/// The operators of version 6 of ONNX's default domain.
class AiOnnxOpset6 : public DomainOpSet {
 public:
  explicit AiOnnxOpset6(BuilderImpl& impl) : DomainOpSet(impl) {}
  int getOpsetVersion() const override { return 6; }

  TensorId abs(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Abs", args, {}, debugContext);
  }
  TensorId add(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {}) {
    return output("Add", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId logical_and(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                       const DebugContext& debugContext = {}) {
    return output("And", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {}) {
    return output("ArgMax", args, {{"axis", axis, int64_t{0}}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {}) {
    return output("ArgMin", args, {{"axis", axis, int64_t{0}}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("AveragePool", args,
                  {{"kernel_shape", kernel_shape}, {"pads", pads}, {"strides", strides}},
                  debugContext);
  }
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         int64_t is_test = 0, float momentum = 0.9f, int64_t spatial = 1,
                         const DebugContext& debugContext = {}) {
    return outputs("BatchNormalization", args, num_outputs,
                   {{"epsilon", epsilon, 1e-05f},
                    {"is_test", is_test, int64_t{0}},
                    {"momentum", momentum, 0.9f},
                    {"spatial", spatial, int64_t{1}}},
                   debugContext);
  }
  TensorId cast(const Ids& args, const std::string& to, const DebugContext& debugContext = {}) {
    return output("Cast", args, {{"to", elementType(to)}}, debugContext);
  }
  TensorId ceil(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Ceil", args, {}, debugContext);
  }
  TensorId clip(const Ids& args, float max = 3.4028234663852886e+38f,
                float min = -3.4028234663852886e+38f, const DebugContext& debugContext = {}) {
    return output("Clip", args,
                  {{"max", max, 3.4028234663852886e+38f}, {"min", min, -3.4028234663852886e+38f}},
                  debugContext);
  }
  TensorId concat(const Ids& args, int64_t axis, const DebugContext& debugContext = {}) {
    return output("Concat", args, {{"axis", axis}}, debugContext);
  }
  TensorId constant(const ConstVoidData& value, const DebugContext& debugContext = {}) {
    return output("Constant", {}, {{"value", value}}, debugContext);
  }
  TensorId conv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                const Ints& kernel_shape = {}, const Ints& pads = {}, const Ints& strides = {},
                const DebugContext& debugContext = {}) {
    return output("Conv", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId convtranspose(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                         const Ints& kernel_shape = {}, const Ints& output_padding = {},
                         const Ints& output_shape = {}, const Ints& pads = {},
                         const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("ConvTranspose", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"output_padding", output_padding},
                   {"output_shape", output_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId depthtospace(const Ids& args, int64_t blocksize, const DebugContext& debugContext = {}) {
    return output("DepthToSpace", args, {{"blocksize", blocksize}}, debugContext);
  }
  TensorId div(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {}) {
    return output("Div", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  Ids dropout(const Ids& args, unsigned num_outputs, int64_t is_test = 0, float ratio = 0.5f,
              const DebugContext& debugContext = {}) {
    return outputs("Dropout", args, num_outputs,
                   {{"is_test", is_test, int64_t{0}}, {"ratio", ratio, 0.5f}}, debugContext);
  }
  TensorId elu(const Ids& args, float alpha = 1.0f, const DebugContext& debugContext = {}) {
    return output("Elu", args, {{"alpha", alpha, 1.0f}}, debugContext);
  }
  TensorId equal(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                 const DebugContext& debugContext = {}) {
    return output("Equal", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId exp(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Exp", args, {}, debugContext);
  }
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Flatten", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  TensorId floor(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Floor", args, {}, debugContext);
  }
  Ids gru(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t linear_before_reset = 0,
          int64_t output_sequence = 0, const DebugContext& debugContext = {}) {
    return outputs("GRU", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size},
                    {"linear_before_reset", linear_before_reset, int64_t{0}},
                    {"output_sequence", output_sequence, int64_t{0}}},
                   debugContext);
  }
  TensorId gather(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {}) {
    return output("Gather", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t broadcast = 0,
                int64_t transA = 0, int64_t transB = 0, const DebugContext& debugContext = {}) {
    return output("Gemm", args,
                  {{"alpha", alpha, 1.0f},
                   {"beta", beta, 1.0f},
                   {"broadcast", broadcast, int64_t{0}},
                   {"transA", transA, int64_t{0}},
                   {"transB", transB, int64_t{0}}},
                  debugContext);
  }
  TensorId globalaveragepool(const Ids& args, const DebugContext& debugContext = {}) {
    return output("GlobalAveragePool", args, {}, debugContext);
  }
  TensorId globallppool(const Ids& args, int64_t p = 2, const DebugContext& debugContext = {}) {
    return output("GlobalLpPool", args, {{"p", p, int64_t{2}}}, debugContext);
  }
  TensorId globalmaxpool(const Ids& args, const DebugContext& debugContext = {}) {
    return output("GlobalMaxPool", args, {}, debugContext);
  }
  TensorId greater(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                   const DebugContext& debugContext = {}) {
    return output("Greater", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId hardsigmoid(const Ids& args, float alpha = 0.2f, float beta = 0.5f,
                       const DebugContext& debugContext = {}) {
    return output("HardSigmoid", args, {{"alpha", alpha, 0.2f}, {"beta", beta, 0.5f}},
                  debugContext);
  }
  TensorId hardmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Hardmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  TensorId identity(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Identity", args, {}, debugContext);
  }
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {}) {
    return outputs("If", args, num_outputs,
                   {{"else_branch", else_branch}, {"then_branch", then_branch}}, debugContext);
  }
  TensorId instancenormalization(const Ids& args, float epsilon = 1e-05f,
                                 const DebugContext& debugContext = {}) {
    return output("InstanceNormalization", args, {{"epsilon", epsilon, 1e-05f}}, debugContext);
  }
  TensorId lrn(const Ids& args, int64_t size, float alpha = 0.0001f, float beta = 0.75f,
               float bias = 1.0f, const DebugContext& debugContext = {}) {
    return output(
        "LRN", args,
        {{"size", size}, {"alpha", alpha, 0.0001f}, {"beta", beta, 0.75f}, {"bias", bias, 1.0f}},
        debugContext);
  }
  Ids lstm(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
           const Floats& activation_beta = {}, const Strings& activations = {},
           nonstd::optional<float> clip = {}, const std::string& direction = "forward",
           nonstd::optional<int64_t> hidden_size = {}, int64_t input_forget = 0,
           int64_t output_sequence = 0, const DebugContext& debugContext = {}) {
    return outputs("LSTM", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size},
                    {"input_forget", input_forget, int64_t{0}},
                    {"output_sequence", output_sequence, int64_t{0}}},
                   debugContext);
  }
  TensorId leakyrelu(const Ids& args, float alpha = 0.01f, const DebugContext& debugContext = {}) {
    return output("LeakyRelu", args, {{"alpha", alpha, 0.01f}}, debugContext);
  }
  TensorId less(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                const DebugContext& debugContext = {}) {
    return output("Less", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId log(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Log", args, {}, debugContext);
  }
  TensorId logsoftmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("LogSoftmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {}) {
    return outputs("Loop", args, num_outputs, {{"body", body}}, debugContext);
  }
  TensorId lpnormalization(const Ids& args, int64_t axis = -1, int64_t p = 2,
                           const DebugContext& debugContext = {}) {
    return output("LpNormalization", args, {{"axis", axis, int64_t{-1}}, {"p", p, int64_t{2}}},
                  debugContext);
  }
  TensorId lppool(const Ids& args, const Ints& kernel_shape, int64_t p = 2, const Ints& pads = {},
                  const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("LpPool", args,
                  {{"kernel_shape", kernel_shape},
                   {"p", p, int64_t{2}},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId matmul(const Ids& args, const DebugContext& debugContext = {}) {
    return output("MatMul", args, {}, debugContext);
  }
  TensorId max(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Max", args, {}, debugContext);
  }
  TensorId maxpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                   const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("MaxPool", args,
                  {{"kernel_shape", kernel_shape}, {"pads", pads}, {"strides", strides}},
                  debugContext);
  }
  TensorId maxroipool(const Ids& args, const Ints& pooled_shape, float spatial_scale = 1.0f,
                      const DebugContext& debugContext = {}) {
    return output("MaxRoiPool", args,
                  {{"pooled_shape", pooled_shape}, {"spatial_scale", spatial_scale, 1.0f}},
                  debugContext);
  }
  TensorId mean(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Mean", args, {}, debugContext);
  }
  TensorId min(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Min", args, {}, debugContext);
  }
  TensorId mul(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {}) {
    return output("Mul", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId neg(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Neg", args, {}, debugContext);
  }
  TensorId logical_not(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Not", args, {}, debugContext);
  }
  TensorId logical_or(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                      const DebugContext& debugContext = {}) {
    return output("Or", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}}, debugContext);
  }
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {}) {
    return output("PRelu", args, {}, debugContext);
  }
  TensorId pad(const Ids& args, const Ints& pads, const std::string& mode = "constant",
               float value = 0.0f, const DebugContext& debugContext = {}) {
    return output("Pad", args, {{"pads", pads}, {"mode", mode, "constant"}, {"value", value, 0.0f}},
                  debugContext);
  }
  TensorId pow(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {}) {
    return output("Pow", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  Ids rnn(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t output_sequence = 0,
          const DebugContext& debugContext = {}) {
    return outputs("RNN", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size},
                    {"output_sequence", output_sequence, int64_t{0}}},
                   debugContext);
  }
  TensorId randomnormal(const Ints& shape, int64_t dtype = 1, float mean = 0.0f, float scale = 1.0f,
                        nonstd::optional<float> seed = {}, const DebugContext& debugContext = {}) {
    return output("RandomNormal", {},
                  {{"shape", shape},
                   {"dtype", dtype, int64_t{1}},
                   {"mean", mean, 0.0f},
                   {"scale", scale, 1.0f},
                   {"seed", seed}},
                  debugContext);
  }
  TensorId randomnormallike(const Ids& args, nonstd::optional<int64_t> dtype = {},
                            float mean = 0.0f, float scale = 1.0f,
                            nonstd::optional<float> seed = {},
                            const DebugContext& debugContext = {}) {
    return output("RandomNormalLike", args,
                  {{"dtype", dtype}, {"mean", mean, 0.0f}, {"scale", scale, 1.0f}, {"seed", seed}},
                  debugContext);
  }
  TensorId randomuniform(const Ints& shape, int64_t dtype = 1, float high = 1.0f, float low = 0.0f,
                         nonstd::optional<float> seed = {}, const DebugContext& debugContext = {}) {
    return output("RandomUniform", {},
                  {{"shape", shape},
                   {"dtype", dtype, int64_t{1}},
                   {"high", high, 1.0f},
                   {"low", low, 0.0f},
                   {"seed", seed}},
                  debugContext);
  }
  TensorId randomuniformlike(const Ids& args, nonstd::optional<int64_t> dtype = {},
                             float high = 1.0f, float low = 0.0f, nonstd::optional<float> seed = {},
                             const DebugContext& debugContext = {}) {
    return output("RandomUniformLike", args,
                  {{"dtype", dtype}, {"high", high, 1.0f}, {"low", low, 0.0f}, {"seed", seed}},
                  debugContext);
  }
  TensorId reciprocal(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Reciprocal", args, {}, debugContext);
  }
  TensorId reducel1(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {}) {
    return output("ReduceL1", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducel2(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {}) {
    return output("ReduceL2", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducelogsum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                        const DebugContext& debugContext = {}) {
    return output("ReduceLogSum", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {}) {
    return output("ReduceLogSumExp", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceMax", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemean(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {}) {
    return output("ReduceMean", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceMin", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reduceprod(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {}) {
    return output("ReduceProd", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducesum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceSum", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducesumsquare(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {}) {
    return output("ReduceSumSquare", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId relu(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Relu", args, {}, debugContext);
  }
  TensorId reshape(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Reshape", args, {}, debugContext);
  }
  TensorId selu(const Ids& args, float alpha = 1.67326f, float gamma = 1.0507f,
                const DebugContext& debugContext = {}) {
    return output("Selu", args, {{"alpha", alpha, 1.67326f}, {"gamma", gamma, 1.0507f}},
                  debugContext);
  }
  TensorId shape(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Shape", args, {}, debugContext);
  }
  TensorId sigmoid(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sigmoid", args, {}, debugContext);
  }
  TensorId size(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Size", args, {}, debugContext);
  }
  TensorId slice(const Ids& args, const Ints& ends, const Ints& starts, const Ints& axes = {},
                 const DebugContext& debugContext = {}) {
    return output("Slice", args, {{"ends", ends}, {"starts", starts}, {"axes", axes}},
                  debugContext);
  }
  TensorId softmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Softmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  TensorId softplus(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Softplus", args, {}, debugContext);
  }
  TensorId softsign(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Softsign", args, {}, debugContext);
  }
  TensorId spacetodepth(const Ids& args, int64_t blocksize, const DebugContext& debugContext = {}) {
    return output("SpaceToDepth", args, {{"blocksize", blocksize}}, debugContext);
  }
  Ids split(const Ids& args, unsigned num_outputs, int64_t axis = 0, const Ints& split = {},
            const DebugContext& debugContext = {}) {
    return outputs("Split", args, num_outputs, {{"axis", axis, int64_t{0}}, {"split", split}},
                   debugContext);
  }
  TensorId sqrt(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sqrt", args, {}, debugContext);
  }
  TensorId squeeze(const Ids& args, const Ints& axes = {}, const DebugContext& debugContext = {}) {
    return output("Squeeze", args, {{"axes", axes}}, debugContext);
  }
  TensorId sub(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {}) {
    return output("Sub", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
  TensorId sum(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sum", args, {}, debugContext);
  }
  TensorId tanh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Tanh", args, {}, debugContext);
  }
  TensorId tile(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Tile", args, {}, debugContext);
  }
  Ids topk(const Ids& args, int64_t k, int64_t axis = -1, const DebugContext& debugContext = {}) {
    return outputs("TopK", args, 2, {{"k", k}, {"axis", axis, int64_t{-1}}}, debugContext);
  }
  TensorId transpose(const Ids& args, const Ints& perm = {},
                     const DebugContext& debugContext = {}) {
    return output("Transpose", args, {{"perm", perm}}, debugContext);
  }
  TensorId unsqueeze(const Ids& args, const Ints& axes, const DebugContext& debugContext = {}) {
    return output("Unsqueeze", args, {{"axes", axes}}, debugContext);
  }
  TensorId upsample(const Ids& args, float height_scale, float width_scale,
                    const std::string& mode = "nearest", const DebugContext& debugContext = {}) {
    return output(
        "Upsample", args,
        {{"height_scale", height_scale}, {"width_scale", width_scale}, {"mode", mode, "nearest"}},
        debugContext);
  }
  TensorId logical_xor(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                       const DebugContext& debugContext = {}) {
    return output("Xor", args, {{"axis", axis}, {"broadcast", broadcast, int64_t{0}}},
                  debugContext);
  }
};

/// The operators of version 7 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset7 : public AiOnnxOpset6 {
 public:
  explicit AiOnnxOpset7(BuilderImpl& impl) : AiOnnxOpset6(impl) {}
  int getOpsetVersion() const override { return 7; }

  TensorId acos(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Acos", args, {}, debugContext);
  }
  TensorId add(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Add", args, {}, debugContext);
  }
  TensorId logical_and(const Ids& args, const DebugContext& debugContext = {}) {
    return output("And", args, {}, debugContext);
  }
  TensorId asin(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Asin", args, {}, debugContext);
  }
  TensorId atan(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Atan", args, {}, debugContext);
  }
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t count_include_pad = 0,
                       const Ints& pads = {}, const Ints& strides = {},
                       const DebugContext& debugContext = {}) {
    return output("AveragePool", args,
                  {{"kernel_shape", kernel_shape},
                   {"count_include_pad", count_include_pad, int64_t{0}},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, int64_t spatial = 1,
                         const DebugContext& debugContext = {}) {
    return outputs("BatchNormalization", args, num_outputs,
                   {{"epsilon", epsilon, 1e-05f},
                    {"momentum", momentum, 0.9f},
                    {"spatial", spatial, int64_t{1}}},
                   debugContext);
  }
  TensorId cos(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Cos", args, {}, debugContext);
  }
  TensorId div(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Div", args, {}, debugContext);
  }
  Ids dropout(const Ids& args, unsigned num_outputs, float ratio = 0.5f,
              const DebugContext& debugContext = {}) {
    return outputs("Dropout", args, num_outputs, {{"ratio", ratio, 0.5f}}, debugContext);
  }
  TensorId equal(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Equal", args, {}, debugContext);
  }
  Ids gru(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t linear_before_reset = 0,
          const DebugContext& debugContext = {}) {
    return outputs("GRU", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size},
                    {"linear_before_reset", linear_before_reset, int64_t{0}}},
                   debugContext);
  }
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {}) {
    return output("Gemm", args,
                  {{"alpha", alpha, 1.0f},
                   {"beta", beta, 1.0f},
                   {"transA", transA, int64_t{0}},
                   {"transB", transB, int64_t{0}}},
                  debugContext);
  }
  TensorId greater(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Greater", args, {}, debugContext);
  }
  Ids lstm(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
           const Floats& activation_beta = {}, const Strings& activations = {},
           nonstd::optional<float> clip = {}, const std::string& direction = "forward",
           nonstd::optional<int64_t> hidden_size = {}, int64_t input_forget = 0,
           const DebugContext& debugContext = {}) {
    return outputs("LSTM", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size},
                    {"input_forget", input_forget, int64_t{0}}},
                   debugContext);
  }
  TensorId less(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Less", args, {}, debugContext);
  }
  TensorId mul(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Mul", args, {}, debugContext);
  }
  TensorId multinomial(const Ids& args, int64_t dtype = 6, int64_t sample_size = 1,
                       nonstd::optional<float> seed = {}, const DebugContext& debugContext = {}) {
    return output(
        "Multinomial", args,
        {{"dtype", dtype, int64_t{6}}, {"sample_size", sample_size, int64_t{1}}, {"seed", seed}},
        debugContext);
  }
  TensorId logical_or(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Or", args, {}, debugContext);
  }
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {}) {
    return output("PRelu", args, {}, debugContext);
  }
  TensorId pow(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Pow", args, {}, debugContext);
  }
  Ids rnn(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, const DebugContext& debugContext = {}) {
    return outputs("RNN", args, num_outputs,
                   {{"activation_alpha", activation_alpha},
                    {"activation_beta", activation_beta},
                    {"activations", activations},
                    {"clip", clip},
                    {"direction", direction, "forward"},
                    {"hidden_size", hidden_size}},
                   debugContext);
  }
  TensorId sin(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sin", args, {}, debugContext);
  }
  TensorId sub(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sub", args, {}, debugContext);
  }
  TensorId tan(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Tan", args, {}, debugContext);
  }
  TensorId upsample(const Ids& args, const Floats& scales, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {}) {
    return output("Upsample", args, {{"scales", scales}, {"mode", mode, "nearest"}}, debugContext);
  }
  TensorId logical_xor(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Xor", args, {}, debugContext);
  }
};

/// The operators of version 8 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset8 : public AiOnnxOpset7 {
 public:
  explicit AiOnnxOpset8(BuilderImpl& impl) : AiOnnxOpset7(impl) {}
  int getOpsetVersion() const override { return 8; }

  TensorId expand(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Expand", args, {}, debugContext);
  }
  TensorId max(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Max", args, {}, debugContext);
  }
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              const Ints& pads = {}, int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {}) {
    return outputs("MaxPool", args, num_outputs,
                   {{"kernel_shape", kernel_shape},
                    {"pads", pads},
                    {"storage_order", storage_order, int64_t{0}},
                    {"strides", strides}},
                   debugContext);
  }
  TensorId mean(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Mean", args, {}, debugContext);
  }
  TensorId min(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Min", args, {}, debugContext);
  }
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& directions = {}, const DebugContext& debugContext = {}) {
    return outputs(
        "Scan", args, num_outputs,
        {{"body", body}, {"num_scan_inputs", num_scan_inputs}, {"directions", directions}},
        debugContext);
  }
  TensorId sum(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sum", args, {}, debugContext);
  }
};

/// The operators of version 9 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset9 : public AiOnnxOpset8 {
 public:
  explicit AiOnnxOpset9(BuilderImpl& impl) : AiOnnxOpset8(impl) {}
  int getOpsetVersion() const override { return 9; }

  TensorId acosh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Acosh", args, {}, debugContext);
  }
  TensorId asinh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Asinh", args, {}, debugContext);
  }
  TensorId atanh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Atanh", args, {}, debugContext);
  }
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, const DebugContext& debugContext = {}) {
    return outputs("BatchNormalization", args, num_outputs,
                   {{"epsilon", epsilon, 1e-05f}, {"momentum", momentum, 0.9f}}, debugContext);
  }
  TensorId cast(const Ids& args, const std::string& to, const DebugContext& debugContext = {}) {
    return output("Cast", args, {{"to", elementType(to)}}, debugContext);
  }
  TensorId compress(const Ids& args, nonstd::optional<int64_t> axis = {},
                    const DebugContext& debugContext = {}) {
    return output("Compress", args, {{"axis", axis}}, debugContext);
  }
  TensorId constant(const ConstVoidData& value, const DebugContext& debugContext = {}) {
    return output("Constant", {}, {{"value", value}}, debugContext);
  }
  TensorId constantofshape(const Ids& args, const ConstVoidData& value,
                           const DebugContext& debugContext = {}) {
    return output("ConstantOfShape", args, {{"value", value}}, debugContext);
  }
  TensorId cosh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Cosh", args, {}, debugContext);
  }
  TensorId erf(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Erf", args, {}, debugContext);
  }
  TensorId eyelike(const Ids& args, nonstd::optional<int64_t> dtype = {}, int64_t k = 0,
                   const DebugContext& debugContext = {}) {
    return output("EyeLike", args, {{"dtype", dtype}, {"k", k, int64_t{0}}}, debugContext);
  }
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Flatten", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {}) {
    return output("Gemm", args,
                  {{"alpha", alpha, 1.0f},
                   {"beta", beta, 1.0f},
                   {"transA", transA, int64_t{0}},
                   {"transB", transB, int64_t{0}}},
                  debugContext);
  }
  TensorId greater(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Greater", args, {}, debugContext);
  }
  TensorId isnan(const Ids& args, const DebugContext& debugContext = {}) {
    return output("IsNaN", args, {}, debugContext);
  }
  TensorId less(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Less", args, {}, debugContext);
  }
  TensorId matmul(const Ids& args, const DebugContext& debugContext = {}) {
    return output("MatMul", args, {}, debugContext);
  }
  TensorId maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                     const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("MaxUnpool", args,
                  {{"kernel_shape", kernel_shape}, {"pads", pads}, {"strides", strides}},
                  debugContext);
  }
  TensorId meanvariancenormalization(const Ids& args, const Ints& axes = {},
                                     const DebugContext& debugContext = {}) {
    return output("MeanVarianceNormalization", args, {{"axes", axes}}, debugContext);
  }
  TensorId nonzero(const Ids& args, const DebugContext& debugContext = {}) {
    return output("NonZero", args, {}, debugContext);
  }
  TensorId onehot(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {}) {
    return output("OneHot", args, {{"axis", axis, int64_t{-1}}}, debugContext);
  }
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {}) {
    return output("PRelu", args, {}, debugContext);
  }
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& scan_input_axes = {}, const Ints& scan_input_directions = {},
           const Ints& scan_output_axes = {}, const Ints& scan_output_directions = {},
           const DebugContext& debugContext = {}) {
    return outputs("Scan", args, num_outputs,
                   {{"body", body},
                    {"num_scan_inputs", num_scan_inputs},
                    {"scan_input_axes", scan_input_axes},
                    {"scan_input_directions", scan_input_directions},
                    {"scan_output_axes", scan_output_axes},
                    {"scan_output_directions", scan_output_directions}},
                   debugContext);
  }
  TensorId scatter(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {}) {
    return output("Scatter", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId shrink(const Ids& args, float bias = 0.0f, float lambd = 0.5f,
                  const DebugContext& debugContext = {}) {
    return output("Shrink", args, {{"bias", bias, 0.0f}, {"lambd", lambd, 0.5f}}, debugContext);
  }
  TensorId sign(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sign", args, {}, debugContext);
  }
  TensorId sinh(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Sinh", args, {}, debugContext);
  }
  TensorId tfidfvectorizer(const Ids& args, int64_t max_gram_length, int64_t max_skip_count,
                           int64_t min_gram_length, const std::string& mode,
                           const Ints& ngram_counts, const Ints& ngram_indexes,
                           const Ints& pool_int64s = {}, const Strings& pool_strings = {},
                           const Floats& weights = {}, const DebugContext& debugContext = {}) {
    return output("TfIdfVectorizer", args,
                  {{"max_gram_length", max_gram_length},
                   {"max_skip_count", max_skip_count},
                   {"min_gram_length", min_gram_length},
                   {"mode", mode},
                   {"ngram_counts", ngram_counts},
                   {"ngram_indexes", ngram_indexes},
                   {"pool_int64s", pool_int64s},
                   {"pool_strings", pool_strings},
                   {"weights", weights}},
                  debugContext);
  }
  TensorId upsample(const Ids& args, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {}) {
    return output("Upsample", args, {{"mode", mode, "nearest"}}, debugContext);
  }
  TensorId where(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Where", args, {}, debugContext);
  }
};

/// The operators of version 10 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset10 : public AiOnnxOpset9 {
 public:
  explicit AiOnnxOpset10(BuilderImpl& impl) : AiOnnxOpset9(impl) {}
  int getOpsetVersion() const override { return 10; }

  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode = 0,
                       int64_t count_include_pad = 0, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("AveragePool", args,
                  {{"kernel_shape", kernel_shape},
                   {"ceil_mode", ceil_mode, int64_t{0}},
                   {"count_include_pad", count_include_pad, int64_t{0}},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId convinteger(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                       const Ints& kernel_shape = {}, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("ConvInteger", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId dequantizelinear(const Ids& args, const DebugContext& debugContext = {}) {
    return output("DequantizeLinear", args, {}, debugContext);
  }
  Ids dropout(const Ids& args, unsigned num_outputs, float ratio = 0.5f,
              const DebugContext& debugContext = {}) {
    return outputs("Dropout", args, num_outputs, {{"ratio", ratio, 0.5f}}, debugContext);
  }
  TensorId isinf(const Ids& args, int64_t detect_negative = 1, int64_t detect_positive = 1,
                 const DebugContext& debugContext = {}) {
    return output("IsInf", args,
                  {{"detect_negative", detect_negative, int64_t{1}},
                   {"detect_positive", detect_positive, int64_t{1}}},
                  debugContext);
  }
  TensorId matmulinteger(const Ids& args, const DebugContext& debugContext = {}) {
    return output("MatMulInteger", args, {}, debugContext);
  }
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              int64_t ceil_mode = 0, const Ints& dilations = {}, const Ints& pads = {},
              int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {}) {
    return outputs("MaxPool", args, num_outputs,
                   {{"kernel_shape", kernel_shape},
                    {"ceil_mode", ceil_mode, int64_t{0}},
                    {"dilations", dilations},
                    {"pads", pads},
                    {"storage_order", storage_order, int64_t{0}},
                    {"strides", strides}},
                   debugContext);
  }
  TensorId mod(const Ids& args, int64_t fmod = 0, const DebugContext& debugContext = {}) {
    return output("Mod", args, {{"fmod", fmod, int64_t{0}}}, debugContext);
  }
  TensorId nonmaxsuppression(const Ids& args, int64_t center_point_box = 0,
                             const DebugContext& debugContext = {}) {
    return output("NonMaxSuppression", args, {{"center_point_box", center_point_box, int64_t{0}}},
                  debugContext);
  }
  TensorId qlinearconv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                       const Ints& kernel_shape = {}, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("QLinearConv", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId qlinearmatmul(const Ids& args, const DebugContext& debugContext = {}) {
    return output("QLinearMatMul", args, {}, debugContext);
  }
  TensorId quantizelinear(const Ids& args, const DebugContext& debugContext = {}) {
    return output("QuantizeLinear", args, {}, debugContext);
  }
  TensorId resize(const Ids& args, const std::string& mode = "nearest",
                  const DebugContext& debugContext = {}) {
    return output("Resize", args, {{"mode", mode, "nearest"}}, debugContext);
  }
  TensorId reversesequence(const Ids& args, int64_t batch_axis = 1, int64_t time_axis = 0,
                           const DebugContext& debugContext = {}) {
    return output("ReverseSequence", args,
                  {{"batch_axis", batch_axis, int64_t{1}}, {"time_axis", time_axis, int64_t{0}}},
                  debugContext);
  }
  TensorId roialign(const Ids& args, const std::string& mode = "avg", int64_t output_height = 1,
                    int64_t output_width = 1, int64_t sampling_ratio = 0,
                    float spatial_scale = 1.0f, const DebugContext& debugContext = {}) {
    return output("RoiAlign", args,
                  {{"mode", mode, "avg"},
                   {"output_height", output_height, int64_t{1}},
                   {"output_width", output_width, int64_t{1}},
                   {"sampling_ratio", sampling_ratio, int64_t{0}},
                   {"spatial_scale", spatial_scale, 1.0f}},
                  debugContext);
  }
  TensorId slice(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Slice", args, {}, debugContext);
  }
  TensorId stringnormalizer(const Ids& args, const std::string& case_change_action = "NONE",
                            int64_t is_case_sensitive = 0,
                            nonstd::optional<std::string> locale = {},
                            const Strings& stopwords = {}, const DebugContext& debugContext = {}) {
    return output("StringNormalizer", args,
                  {{"case_change_action", case_change_action, "NONE"},
                   {"is_case_sensitive", is_case_sensitive, int64_t{0}},
                   {"locale", locale},
                   {"stopwords", stopwords}},
                  debugContext);
  }
  TensorId thresholdedrelu(const Ids& args, float alpha = 1.0f,
                           const DebugContext& debugContext = {}) {
    return output("ThresholdedRelu", args, {{"alpha", alpha, 1.0f}}, debugContext);
  }
  Ids topk(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {}) {
    return outputs("TopK", args, 2, {{"axis", axis, int64_t{-1}}}, debugContext);
  }
  TensorId upsample(const Ids& args, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {}) {
    return output("Upsample", args, {{"mode", mode, "nearest"}}, debugContext);
  }
};

/// The operators of version 11 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset11 : public AiOnnxOpset10 {
 public:
  explicit AiOnnxOpset11(BuilderImpl& impl) : AiOnnxOpset10(impl) {}
  int getOpsetVersion() const override { return 11; }

  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {}) {
    return output("ArgMax", args, {{"axis", axis, int64_t{0}}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {}) {
    return output("ArgMin", args, {{"axis", axis, int64_t{0}}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode = 0,
                       int64_t count_include_pad = 0, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("AveragePool", args,
                  {{"kernel_shape", kernel_shape},
                   {"ceil_mode", ceil_mode, int64_t{0}},
                   {"count_include_pad", count_include_pad, int64_t{0}},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId bitshift(const Ids& args, const std::string& direction,
                    const DebugContext& debugContext = {}) {
    return output("BitShift", args, {{"direction", direction}}, debugContext);
  }
  TensorId clip(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Clip", args, {}, debugContext);
  }
  TensorId compress(const Ids& args, nonstd::optional<int64_t> axis = {},
                    const DebugContext& debugContext = {}) {
    return output("Compress", args, {{"axis", axis}}, debugContext);
  }
  TensorId concat(const Ids& args, int64_t axis, const DebugContext& debugContext = {}) {
    return output("Concat", args, {{"axis", axis}}, debugContext);
  }
  TensorId concatfromsequence(const Ids& args, int64_t axis, int64_t new_axis = 0,
                              const DebugContext& debugContext = {}) {
    return output("ConcatFromSequence", args, {{"axis", axis}, {"new_axis", new_axis, int64_t{0}}},
                  debugContext);
  }
  TensorId constant(const ConstVoidData& value, bool is_value_sparse = false,
                    const DebugContext& debugContext = {}) {
    return output("Constant", {},
                  {{"value", value}, {"is_value_sparse", int64_t{is_value_sparse}, int64_t{0}}},
                  debugContext);
  }
  TensorId conv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                const Ints& kernel_shape = {}, const Ints& pads = {}, const Ints& strides = {},
                const DebugContext& debugContext = {}) {
    return output("Conv", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId convtranspose(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                         const Ints& kernel_shape = {}, const Ints& output_padding = {},
                         const Ints& output_shape = {}, const Ints& pads = {},
                         const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("ConvTranspose", args,
                  {{"dilations", dilations},
                   {"group", group, int64_t{1}},
                   {"kernel_shape", kernel_shape},
                   {"output_padding", output_padding},
                   {"output_shape", output_shape},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  TensorId cumsum(const Ids& args, int64_t exclusive = 0, int64_t reverse = 0,
                  const DebugContext& debugContext = {}) {
    return output("CumSum", args,
                  {{"exclusive", exclusive, int64_t{0}}, {"reverse", reverse, int64_t{0}}},
                  debugContext);
  }
  TensorId depthtospace(const Ids& args, int64_t blocksize, const std::string& mode = "DCR",
                        const DebugContext& debugContext = {}) {
    return output("DepthToSpace", args, {{"blocksize", blocksize}, {"mode", mode, "DCR"}},
                  debugContext);
  }
  TensorId det(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Det", args, {}, debugContext);
  }
  Ids dynamicquantizelinear(const Ids& args, const DebugContext& debugContext = {}) {
    return outputs("DynamicQuantizeLinear", args, 3, {}, debugContext);
  }
  TensorId equal(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Equal", args, {}, debugContext);
  }
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Flatten", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  TensorId gather(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {}) {
    return output("Gather", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId gatherelements(const Ids& args, int64_t axis = 0,
                          const DebugContext& debugContext = {}) {
    return output("GatherElements", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId gathernd(const Ids& args, const DebugContext& debugContext = {}) {
    return output("GatherND", args, {}, debugContext);
  }
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {}) {
    return output("Gemm", args,
                  {{"alpha", alpha, 1.0f},
                   {"beta", beta, 1.0f},
                   {"transA", transA, int64_t{0}},
                   {"transB", transB, int64_t{0}}},
                  debugContext);
  }
  TensorId hardmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Hardmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {}) {
    return outputs("If", args, num_outputs,
                   {{"else_branch", else_branch}, {"then_branch", then_branch}}, debugContext);
  }
  TensorId logsoftmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("LogSoftmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {}) {
    return outputs("Loop", args, num_outputs, {{"body", body}}, debugContext);
  }
  TensorId lppool(const Ids& args, const Ints& kernel_shape, int64_t p = 2, const Ints& pads = {},
                  const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("LpPool", args,
                  {{"kernel_shape", kernel_shape},
                   {"p", p, int64_t{2}},
                   {"pads", pads},
                   {"strides", strides}},
                  debugContext);
  }
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              int64_t ceil_mode = 0, const Ints& dilations = {}, const Ints& pads = {},
              int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {}) {
    return outputs("MaxPool", args, num_outputs,
                   {{"kernel_shape", kernel_shape},
                    {"ceil_mode", ceil_mode, int64_t{0}},
                    {"dilations", dilations},
                    {"pads", pads},
                    {"storage_order", storage_order, int64_t{0}},
                    {"strides", strides}},
                   debugContext);
  }
  TensorId maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                     const Ints& strides = {}, const DebugContext& debugContext = {}) {
    return output("MaxUnpool", args,
                  {{"kernel_shape", kernel_shape}, {"pads", pads}, {"strides", strides}},
                  debugContext);
  }
  TensorId nonmaxsuppression(const Ids& args, int64_t center_point_box = 0,
                             const DebugContext& debugContext = {}) {
    return output("NonMaxSuppression", args, {{"center_point_box", center_point_box, int64_t{0}}},
                  debugContext);
  }
  TensorId onehot(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {}) {
    return output("OneHot", args, {{"axis", axis, int64_t{-1}}}, debugContext);
  }
  TensorId pad(const Ids& args, const std::string& mode = "constant",
               const DebugContext& debugContext = {}) {
    return output("Pad", args, {{"mode", mode, "constant"}}, debugContext);
  }
  TensorId range(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Range", args, {}, debugContext);
  }
  TensorId reducel1(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {}) {
    return output("ReduceL1", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducel2(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {}) {
    return output("ReduceL2", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducelogsum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                        const DebugContext& debugContext = {}) {
    return output("ReduceLogSum", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {}) {
    return output("ReduceLogSumExp", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceMax", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemean(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {}) {
    return output("ReduceMean", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceMin", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reduceprod(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {}) {
    return output("ReduceProd", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducesum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {}) {
    return output("ReduceSum", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId reducesumsquare(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {}) {
    return output("ReduceSumSquare", args, {{"axes", axes}, {"keepdims", keepdims, int64_t{1}}},
                  debugContext);
  }
  TensorId resize(const Ids& args, const std::string& coordinate_transformation_mode = "half_pixel",
                  float cubic_coeff_a = -0.75f, int64_t exclude_outside = 0,
                  float extrapolation_value = 0.0f, const std::string& mode = "nearest",
                  const std::string& nearest_mode = "round_prefer_floor",
                  const DebugContext& debugContext = {}) {
    return output("Resize", args,
                  {{"coordinate_transformation_mode", coordinate_transformation_mode, "half_pixel"},
                   {"cubic_coeff_a", cubic_coeff_a, -0.75f},
                   {"exclude_outside", exclude_outside, int64_t{0}},
                   {"extrapolation_value", extrapolation_value, 0.0f},
                   {"mode", mode, "nearest"},
                   {"nearest_mode", nearest_mode, "round_prefer_floor"}},
                  debugContext);
  }
  TensorId round(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Round", args, {}, debugContext);
  }
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& scan_input_axes = {}, const Ints& scan_input_directions = {},
           const Ints& scan_output_axes = {}, const Ints& scan_output_directions = {},
           const DebugContext& debugContext = {}) {
    return outputs("Scan", args, num_outputs,
                   {{"body", body},
                    {"num_scan_inputs", num_scan_inputs},
                    {"scan_input_axes", scan_input_axes},
                    {"scan_input_directions", scan_input_directions},
                    {"scan_output_axes", scan_output_axes},
                    {"scan_output_directions", scan_output_directions}},
                   debugContext);
  }
  TensorId scatter(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {}) {
    return output("Scatter", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId scatterelements(const Ids& args, int64_t axis = 0,
                           const DebugContext& debugContext = {}) {
    return output("ScatterElements", args, {{"axis", axis, int64_t{0}}}, debugContext);
  }
  TensorId scatternd(const Ids& args, const DebugContext& debugContext = {}) {
    return output("ScatterND", args, {}, debugContext);
  }
  TensorId sequenceat(const Ids& args, const DebugContext& debugContext = {}) {
    return output("SequenceAt", args, {}, debugContext);
  }
  TensorId sequenceconstruct(const Ids& args, const DebugContext& debugContext = {}) {
    return output("SequenceConstruct", args, {}, debugContext);
  }
  TensorId sequenceempty(nonstd::optional<int64_t> dtype = {},
                         const DebugContext& debugContext = {}) {
    return output("SequenceEmpty", {}, {{"dtype", dtype}}, debugContext);
  }
  TensorId sequenceerase(const Ids& args, const DebugContext& debugContext = {}) {
    return output("SequenceErase", args, {}, debugContext);
  }
  TensorId sequenceinsert(const Ids& args, const DebugContext& debugContext = {}) {
    return output("SequenceInsert", args, {}, debugContext);
  }
  TensorId sequencelength(const Ids& args, const DebugContext& debugContext = {}) {
    return output("SequenceLength", args, {}, debugContext);
  }
  TensorId slice(const Ids& args, const DebugContext& debugContext = {}) {
    return output("Slice", args, {}, debugContext);
  }
  TensorId softmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {}) {
    return output("Softmax", args, {{"axis", axis, int64_t{1}}}, debugContext);
  }
  Ids split(const Ids& args, unsigned num_outputs, int64_t axis = 0, const Ints& split = {},
            const DebugContext& debugContext = {}) {
    return outputs("Split", args, num_outputs, {{"axis", axis, int64_t{0}}, {"split", split}},
                   debugContext);
  }
  TensorId splittosequence(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                           const DebugContext& debugContext = {}) {
    return output("SplitToSequence", args,
                  {{"axis", axis, int64_t{0}}, {"keepdims", keepdims, int64_t{1}}}, debugContext);
  }
  TensorId squeeze(const Ids& args, const Ints& axes = {}, const DebugContext& debugContext = {}) {
    return output("Squeeze", args, {{"axes", axes}}, debugContext);
  }
  Ids topk(const Ids& args, int64_t axis = -1, int64_t largest = 1, int64_t sorted = 1,
           const DebugContext& debugContext = {}) {
    return outputs("TopK", args, 2,
                   {{"axis", axis, int64_t{-1}},
                    {"largest", largest, int64_t{1}},
                    {"sorted", sorted, int64_t{1}}},
                   debugContext);
  }
  Ids unique(const Ids& args, unsigned num_outputs, nonstd::optional<int64_t> axis = {},
             int64_t sorted = 1, const DebugContext& debugContext = {}) {
    return outputs("Unique", args, num_outputs, {{"axis", axis}, {"sorted", sorted, int64_t{1}}},
                   debugContext);
  }
  TensorId unsqueeze(const Ids& args, const Ints& axes, const DebugContext& debugContext = {}) {
    return output("Unsqueeze", args, {{"axes", axes}}, debugContext);
  }
};

}  // namespace popart
