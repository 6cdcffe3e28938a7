#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <popart/domainopset.hpp>

// Written by src/popart/generate_builder.py.
//
// One method for each operator of a version of an operator set: inputs, the number of outputs where
// it varies, attributes (those that must be given first, then by name), a name.

namespace popart {

/// The operators of version 6 of ONNX's default domain.
class AiOnnxOpset6 : public DomainOpSet {
 public:
  explicit AiOnnxOpset6(BuilderImpl& impl) : DomainOpSet(impl) {}
  int getOpsetVersion() const override { return 6; }

  TensorId abs(const Ids& args, const DebugContext& debugContext = {});
  TensorId add(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {});
  TensorId logical_and(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                       const DebugContext& debugContext = {});
  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {});
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {});
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {});
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         int64_t is_test = 0, float momentum = 0.9f, int64_t spatial = 1,
                         const DebugContext& debugContext = {});
  TensorId cast(const Ids& args, const std::string& to, const DebugContext& debugContext = {});
  TensorId ceil(const Ids& args, const DebugContext& debugContext = {});
  TensorId clip(const Ids& args, float max = 3.4028235e+38f, float min = -3.4028235e+38f,
                const DebugContext& debugContext = {});
  TensorId concat(const Ids& args, int64_t axis, const DebugContext& debugContext = {});
  TensorId constant(const ConstVoidData& value, const DebugContext& debugContext = {});
  TensorId conv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                const Ints& kernel_shape = {}, const Ints& pads = {}, const Ints& strides = {},
                const DebugContext& debugContext = {});
  TensorId convtranspose(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                         const Ints& kernel_shape = {}, const Ints& output_padding = {},
                         const Ints& output_shape = {}, const Ints& pads = {},
                         const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId depthtospace(const Ids& args, int64_t blocksize, const DebugContext& debugContext = {});
  TensorId div(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {});
  Ids dropout(const Ids& args, unsigned num_outputs, int64_t is_test = 0, float ratio = 0.5f,
              const DebugContext& debugContext = {});
  TensorId elu(const Ids& args, float alpha = 1.0f, const DebugContext& debugContext = {});
  TensorId equal(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                 const DebugContext& debugContext = {});
  TensorId exp(const Ids& args, const DebugContext& debugContext = {});
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId floor(const Ids& args, const DebugContext& debugContext = {});
  Ids gru(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t linear_before_reset = 0,
          int64_t output_sequence = 0, const DebugContext& debugContext = {});
  TensorId gather(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t broadcast = 0,
                int64_t transA = 0, int64_t transB = 0, const DebugContext& debugContext = {});
  TensorId globalaveragepool(const Ids& args, const DebugContext& debugContext = {});
  TensorId globallppool(const Ids& args, int64_t p = 2, const DebugContext& debugContext = {});
  TensorId globalmaxpool(const Ids& args, const DebugContext& debugContext = {});
  TensorId greater(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                   const DebugContext& debugContext = {});
  TensorId hardsigmoid(const Ids& args, float alpha = 0.2f, float beta = 0.5f,
                       const DebugContext& debugContext = {});
  TensorId hardmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId identity(const Ids& args, const DebugContext& debugContext = {});
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {});
  TensorId instancenormalization(const Ids& args, float epsilon = 1e-05f,
                                 const DebugContext& debugContext = {});
  TensorId lrn(const Ids& args, int64_t size, float alpha = 0.0001f, float beta = 0.75f,
               float bias = 1.0f, const DebugContext& debugContext = {});
  Ids lstm(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
           const Floats& activation_beta = {}, const Strings& activations = {},
           nonstd::optional<float> clip = {}, const std::string& direction = "forward",
           nonstd::optional<int64_t> hidden_size = {}, int64_t input_forget = 0,
           int64_t output_sequence = 0, const DebugContext& debugContext = {});
  TensorId leakyrelu(const Ids& args, float alpha = 0.01f, const DebugContext& debugContext = {});
  TensorId less(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                const DebugContext& debugContext = {});
  TensorId log(const Ids& args, const DebugContext& debugContext = {});
  TensorId logsoftmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {});
  TensorId lpnormalization(const Ids& args, int64_t axis = -1, int64_t p = 2,
                           const DebugContext& debugContext = {});
  TensorId lppool(const Ids& args, const Ints& kernel_shape, int64_t p = 2, const Ints& pads = {},
                  const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId matmul(const Ids& args, const DebugContext& debugContext = {});
  TensorId max(const Ids& args, const DebugContext& debugContext = {});
  TensorId maxpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                   const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId maxroipool(const Ids& args, const Ints& pooled_shape, float spatial_scale = 1.0f,
                      const DebugContext& debugContext = {});
  TensorId mean(const Ids& args, const DebugContext& debugContext = {});
  TensorId min(const Ids& args, const DebugContext& debugContext = {});
  TensorId mul(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {});
  TensorId neg(const Ids& args, const DebugContext& debugContext = {});
  TensorId logical_not(const Ids& args, const DebugContext& debugContext = {});
  TensorId logical_or(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                      const DebugContext& debugContext = {});
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {});
  TensorId pad(const Ids& args, const Ints& pads, const std::string& mode = "constant",
               float value = 0.0f, const DebugContext& debugContext = {});
  TensorId pow(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {});
  Ids rnn(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t output_sequence = 0,
          const DebugContext& debugContext = {});
  TensorId randomnormal(const Ints& shape, int64_t dtype = 1, float mean = 0.0f, float scale = 1.0f,
                        nonstd::optional<float> seed = {}, const DebugContext& debugContext = {});
  TensorId randomnormallike(const Ids& args, nonstd::optional<int64_t> dtype = {},
                            float mean = 0.0f, float scale = 1.0f,
                            nonstd::optional<float> seed = {},
                            const DebugContext& debugContext = {});
  TensorId randomuniform(const Ints& shape, int64_t dtype = 1, float high = 1.0f, float low = 0.0f,
                         nonstd::optional<float> seed = {}, const DebugContext& debugContext = {});
  TensorId randomuniformlike(const Ids& args, nonstd::optional<int64_t> dtype = {},
                             float high = 1.0f, float low = 0.0f, nonstd::optional<float> seed = {},
                             const DebugContext& debugContext = {});
  TensorId reciprocal(const Ids& args, const DebugContext& debugContext = {});
  TensorId reducel1(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducel2(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducelogsum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                        const DebugContext& debugContext = {});
  TensorId reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducemean(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reduceprod(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducesum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducesumsquare(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId relu(const Ids& args, const DebugContext& debugContext = {});
  TensorId reshape(const Ids& args, const DebugContext& debugContext = {});
  TensorId selu(const Ids& args, float alpha = 1.6732632f, float gamma = 1.050701f,
                const DebugContext& debugContext = {});
  TensorId shape(const Ids& args, const DebugContext& debugContext = {});
  TensorId sigmoid(const Ids& args, const DebugContext& debugContext = {});
  TensorId size(const Ids& args, const DebugContext& debugContext = {});
  TensorId slice(const Ids& args, const Ints& ends, const Ints& starts, const Ints& axes = {},
                 const DebugContext& debugContext = {});
  TensorId softmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId softplus(const Ids& args, const DebugContext& debugContext = {});
  TensorId softsign(const Ids& args, const DebugContext& debugContext = {});
  TensorId spacetodepth(const Ids& args, int64_t blocksize, const DebugContext& debugContext = {});
  Ids split(const Ids& args, unsigned num_outputs, int64_t axis = 0, const Ints& split = {},
            const DebugContext& debugContext = {});
  TensorId sqrt(const Ids& args, const DebugContext& debugContext = {});
  TensorId squeeze(const Ids& args, const Ints& axes = {}, const DebugContext& debugContext = {});
  TensorId sub(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
               const DebugContext& debugContext = {});
  TensorId sum(const Ids& args, const DebugContext& debugContext = {});
  TensorId tanh(const Ids& args, const DebugContext& debugContext = {});
  TensorId tile(const Ids& args, const DebugContext& debugContext = {});
  Ids topk(const Ids& args, int64_t k, int64_t axis = -1, const DebugContext& debugContext = {});
  TensorId transpose(const Ids& args, const Ints& perm = {}, const DebugContext& debugContext = {});
  TensorId unsqueeze(const Ids& args, const Ints& axes, const DebugContext& debugContext = {});
  TensorId upsample(const Ids& args, float height_scale, float width_scale,
                    const std::string& mode = "nearest", const DebugContext& debugContext = {});
  TensorId logical_xor(const Ids& args, nonstd::optional<int64_t> axis = {}, int64_t broadcast = 0,
                       const DebugContext& debugContext = {});
};

/// The operators of version 7 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset7 : public AiOnnxOpset6 {
 public:
  explicit AiOnnxOpset7(BuilderImpl& impl) : AiOnnxOpset6(impl) {}
  int getOpsetVersion() const override { return 7; }

  TensorId acos(const Ids& args, const DebugContext& debugContext = {});
  TensorId add(const Ids& args, const DebugContext& debugContext = {});
  TensorId logical_and(const Ids& args, const DebugContext& debugContext = {});
  TensorId asin(const Ids& args, const DebugContext& debugContext = {});
  TensorId atan(const Ids& args, const DebugContext& debugContext = {});
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t count_include_pad = 0,
                       const Ints& pads = {}, const Ints& strides = {},
                       const DebugContext& debugContext = {});
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, int64_t spatial = 1,
                         const DebugContext& debugContext = {});
  TensorId cos(const Ids& args, const DebugContext& debugContext = {});
  TensorId div(const Ids& args, const DebugContext& debugContext = {});
  Ids dropout(const Ids& args, unsigned num_outputs, float ratio = 0.5f,
              const DebugContext& debugContext = {});
  TensorId equal(const Ids& args, const DebugContext& debugContext = {});
  Ids gru(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t linear_before_reset = 0,
          const DebugContext& debugContext = {});
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {});
  TensorId greater(const Ids& args, const DebugContext& debugContext = {});
  Ids lstm(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
           const Floats& activation_beta = {}, const Strings& activations = {},
           nonstd::optional<float> clip = {}, const std::string& direction = "forward",
           nonstd::optional<int64_t> hidden_size = {}, int64_t input_forget = 0,
           const DebugContext& debugContext = {});
  TensorId less(const Ids& args, const DebugContext& debugContext = {});
  TensorId mul(const Ids& args, const DebugContext& debugContext = {});
  TensorId multinomial(const Ids& args, int64_t dtype = 6, int64_t sample_size = 1,
                       nonstd::optional<float> seed = {}, const DebugContext& debugContext = {});
  TensorId logical_or(const Ids& args, const DebugContext& debugContext = {});
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {});
  TensorId pow(const Ids& args, const DebugContext& debugContext = {});
  Ids rnn(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, const DebugContext& debugContext = {});
  TensorId sin(const Ids& args, const DebugContext& debugContext = {});
  TensorId sub(const Ids& args, const DebugContext& debugContext = {});
  TensorId tan(const Ids& args, const DebugContext& debugContext = {});
  TensorId upsample(const Ids& args, const Floats& scales, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {});
  TensorId logical_xor(const Ids& args, const DebugContext& debugContext = {});
};

/// The operators of version 8 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset8 : public AiOnnxOpset7 {
 public:
  explicit AiOnnxOpset8(BuilderImpl& impl) : AiOnnxOpset7(impl) {}
  int getOpsetVersion() const override { return 8; }

  TensorId expand(const Ids& args, const DebugContext& debugContext = {});
  TensorId max(const Ids& args, const DebugContext& debugContext = {});
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              const Ints& pads = {}, int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {});
  TensorId mean(const Ids& args, const DebugContext& debugContext = {});
  TensorId min(const Ids& args, const DebugContext& debugContext = {});
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& directions = {}, const DebugContext& debugContext = {});
  TensorId sum(const Ids& args, const DebugContext& debugContext = {});
};

/// The operators of version 9 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset9 : public AiOnnxOpset8 {
 public:
  explicit AiOnnxOpset9(BuilderImpl& impl) : AiOnnxOpset8(impl) {}
  int getOpsetVersion() const override { return 9; }

  TensorId acosh(const Ids& args, const DebugContext& debugContext = {});
  TensorId asinh(const Ids& args, const DebugContext& debugContext = {});
  TensorId atanh(const Ids& args, const DebugContext& debugContext = {});
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, const DebugContext& debugContext = {});
  TensorId cast(const Ids& args, const std::string& to, const DebugContext& debugContext = {});
  TensorId compress(const Ids& args, nonstd::optional<int64_t> axis = {},
                    const DebugContext& debugContext = {});
  TensorId constant(const ConstVoidData& value, const DebugContext& debugContext = {});
  TensorId constantofshape(const Ids& args, const ConstVoidData& value,
                           const DebugContext& debugContext = {});
  TensorId cosh(const Ids& args, const DebugContext& debugContext = {});
  TensorId erf(const Ids& args, const DebugContext& debugContext = {});
  TensorId eyelike(const Ids& args, nonstd::optional<int64_t> dtype = {}, int64_t k = 0,
                   const DebugContext& debugContext = {});
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {});
  TensorId greater(const Ids& args, const DebugContext& debugContext = {});
  TensorId isnan(const Ids& args, const DebugContext& debugContext = {});
  TensorId less(const Ids& args, const DebugContext& debugContext = {});
  TensorId matmul(const Ids& args, const DebugContext& debugContext = {});
  TensorId maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                     const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId meanvariancenormalization(const Ids& args, const Ints& axes = {},
                                     const DebugContext& debugContext = {});
  TensorId nonzero(const Ids& args, const DebugContext& debugContext = {});
  TensorId onehot(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {});
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& scan_input_axes = {}, const Ints& scan_input_directions = {},
           const Ints& scan_output_axes = {}, const Ints& scan_output_directions = {},
           const DebugContext& debugContext = {});
  TensorId scatter(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId shrink(const Ids& args, float bias = 0.0f, float lambd = 0.5f,
                  const DebugContext& debugContext = {});
  TensorId sign(const Ids& args, const DebugContext& debugContext = {});
  TensorId sinh(const Ids& args, const DebugContext& debugContext = {});
  TensorId tfidfvectorizer(const Ids& args, int64_t max_gram_length, int64_t max_skip_count,
                           int64_t min_gram_length, const std::string& mode,
                           const Ints& ngram_counts, const Ints& ngram_indexes,
                           const Ints& pool_int64s = {}, const Strings& pool_strings = {},
                           const Floats& weights = {}, const DebugContext& debugContext = {});
  TensorId upsample(const Ids& args, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {});
  TensorId where(const Ids& args, const DebugContext& debugContext = {});
};

/// The operators of version 10 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset10 : public AiOnnxOpset9 {
 public:
  explicit AiOnnxOpset10(BuilderImpl& impl) : AiOnnxOpset9(impl) {}
  int getOpsetVersion() const override { return 10; }

  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode = 0,
                       int64_t count_include_pad = 0, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId convinteger(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                       const Ints& kernel_shape = {}, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId dequantizelinear(const Ids& args, const DebugContext& debugContext = {});
  Ids dropout(const Ids& args, unsigned num_outputs, float ratio = 0.5f,
              const DebugContext& debugContext = {});
  TensorId isinf(const Ids& args, int64_t detect_negative = 1, int64_t detect_positive = 1,
                 const DebugContext& debugContext = {});
  TensorId matmulinteger(const Ids& args, const DebugContext& debugContext = {});
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              int64_t ceil_mode = 0, const Ints& dilations = {}, const Ints& pads = {},
              int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {});
  TensorId mod(const Ids& args, int64_t fmod = 0, const DebugContext& debugContext = {});
  TensorId nonmaxsuppression(const Ids& args, int64_t center_point_box = 0,
                             const DebugContext& debugContext = {});
  TensorId qlinearconv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                       const Ints& kernel_shape = {}, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId qlinearmatmul(const Ids& args, const DebugContext& debugContext = {});
  TensorId quantizelinear(const Ids& args, const DebugContext& debugContext = {});
  TensorId resize(const Ids& args, const std::string& mode = "nearest",
                  const DebugContext& debugContext = {});
  TensorId reversesequence(const Ids& args, int64_t batch_axis = 1, int64_t time_axis = 0,
                           const DebugContext& debugContext = {});
  TensorId roialign(const Ids& args, const std::string& mode = "avg", int64_t output_height = 1,
                    int64_t output_width = 1, int64_t sampling_ratio = 0,
                    float spatial_scale = 1.0f, const DebugContext& debugContext = {});
  TensorId slice(const Ids& args, const DebugContext& debugContext = {});
  TensorId stringnormalizer(const Ids& args, const std::string& case_change_action = "NONE",
                            int64_t is_case_sensitive = 0,
                            nonstd::optional<std::string> locale = {},
                            const Strings& stopwords = {}, const DebugContext& debugContext = {});
  TensorId thresholdedrelu(const Ids& args, float alpha = 1.0f,
                           const DebugContext& debugContext = {});
  Ids topk(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  TensorId upsample(const Ids& args, const std::string& mode = "nearest",
                    const DebugContext& debugContext = {});
};

/// The operators of version 11 of ONNX's default domain: new ones and those that changed.
class AiOnnxOpset11 : public AiOnnxOpset10 {
 public:
  explicit AiOnnxOpset11(BuilderImpl& impl) : AiOnnxOpset10(impl) {}
  int getOpsetVersion() const override { return 11; }

  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {});
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  const DebugContext& debugContext = {});
  TensorId averagepool(const Ids& args, const Ints& kernel_shape, int64_t ceil_mode = 0,
                       int64_t count_include_pad = 0, const Ints& pads = {},
                       const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId bitshift(const Ids& args, const std::string& direction,
                    const DebugContext& debugContext = {});
  TensorId clip(const Ids& args, const DebugContext& debugContext = {});
  TensorId compress(const Ids& args, nonstd::optional<int64_t> axis = {},
                    const DebugContext& debugContext = {});
  TensorId concat(const Ids& args, int64_t axis, const DebugContext& debugContext = {});
  TensorId concatfromsequence(const Ids& args, int64_t axis, int64_t new_axis = 0,
                              const DebugContext& debugContext = {});
  TensorId constant(const ConstVoidData& value, bool is_value_sparse = false,
                    const DebugContext& debugContext = {});
  TensorId conv(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                const Ints& kernel_shape = {}, const Ints& pads = {}, const Ints& strides = {},
                const DebugContext& debugContext = {});
  TensorId convtranspose(const Ids& args, const Ints& dilations = {}, int64_t group = 1,
                         const Ints& kernel_shape = {}, const Ints& output_padding = {},
                         const Ints& output_shape = {}, const Ints& pads = {},
                         const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId cumsum(const Ids& args, int64_t exclusive = 0, int64_t reverse = 0,
                  const DebugContext& debugContext = {});
  TensorId depthtospace(const Ids& args, int64_t blocksize, const std::string& mode = "DCR",
                        const DebugContext& debugContext = {});
  TensorId det(const Ids& args, const DebugContext& debugContext = {});
  Ids dynamicquantizelinear(const Ids& args, const DebugContext& debugContext = {});
  TensorId equal(const Ids& args, const DebugContext& debugContext = {});
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId gather(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId gatherelements(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId gathernd(const Ids& args, const DebugContext& debugContext = {});
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {});
  TensorId hardmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {});
  TensorId logsoftmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {});
  TensorId lppool(const Ids& args, const Ints& kernel_shape, int64_t p = 2, const Ints& pads = {},
                  const Ints& strides = {}, const DebugContext& debugContext = {});
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              int64_t ceil_mode = 0, const Ints& dilations = {}, const Ints& pads = {},
              int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {});
  TensorId maxunpool(const Ids& args, const Ints& kernel_shape, const Ints& pads = {},
                     const Ints& strides = {}, const DebugContext& debugContext = {});
  TensorId nonmaxsuppression(const Ids& args, int64_t center_point_box = 0,
                             const DebugContext& debugContext = {});
  TensorId onehot(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  TensorId pad(const Ids& args, const std::string& mode = "constant",
               const DebugContext& debugContext = {});
  TensorId range(const Ids& args, const DebugContext& debugContext = {});
  TensorId reducel1(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducel2(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducelogsum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                        const DebugContext& debugContext = {});
  TensorId reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducemean(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reduceprod(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducesum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducesumsquare(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId resize(const Ids& args, const std::string& coordinate_transformation_mode = "half_pixel",
                  float cubic_coeff_a = -0.75f, int64_t exclude_outside = 0,
                  float extrapolation_value = 0.0f, const std::string& mode = "nearest",
                  const std::string& nearest_mode = "round_prefer_floor",
                  const DebugContext& debugContext = {});
  TensorId round(const Ids& args, const DebugContext& debugContext = {});
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& scan_input_axes = {}, const Ints& scan_input_directions = {},
           const Ints& scan_output_axes = {}, const Ints& scan_output_directions = {},
           const DebugContext& debugContext = {});
  TensorId scatter(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId scatterelements(const Ids& args, int64_t axis = 0,
                           const DebugContext& debugContext = {});
  TensorId scatternd(const Ids& args, const DebugContext& debugContext = {});
  TensorId sequenceat(const Ids& args, const DebugContext& debugContext = {});
  TensorId sequenceconstruct(const Ids& args, const DebugContext& debugContext = {});
  TensorId sequenceempty(nonstd::optional<int64_t> dtype = {},
                         const DebugContext& debugContext = {});
  TensorId sequenceerase(const Ids& args, const DebugContext& debugContext = {});
  TensorId sequenceinsert(const Ids& args, const DebugContext& debugContext = {});
  TensorId sequencelength(const Ids& args, const DebugContext& debugContext = {});
  TensorId slice(const Ids& args, const DebugContext& debugContext = {});
  TensorId softmax(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  Ids split(const Ids& args, unsigned num_outputs, int64_t axis = 0, const Ints& split = {},
            const DebugContext& debugContext = {});
  TensorId splittosequence(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId squeeze(const Ids& args, const Ints& axes = {}, const DebugContext& debugContext = {});
  Ids topk(const Ids& args, int64_t axis = -1, int64_t largest = 1, int64_t sorted = 1,
           const DebugContext& debugContext = {});
  Ids unique(const Ids& args, unsigned num_outputs, nonstd::optional<int64_t> axis = {},
             int64_t sorted = 1, const DebugContext& debugContext = {});
  TensorId unsqueeze(const Ids& args, const Ints& axes, const DebugContext& debugContext = {});
};

/// The operators of version 12 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset12 : public AiOnnxOpset11 {
 public:
  explicit AiOnnxOpset12(BuilderImpl& impl) : AiOnnxOpset11(impl) {}
  int getOpsetVersion() const override { return 12; }

  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  int64_t select_last_index = 0, const DebugContext& debugContext = {});
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  int64_t select_last_index = 0, const DebugContext& debugContext = {});
  TensorId celu(const Ids& args, float alpha = 1.0f, const DebugContext& debugContext = {});
  TensorId clip(const Ids& args, const DebugContext& debugContext = {});
  TensorId constant(const ConstVoidData& value, bool is_value_sparse = false,
                    const DebugContext& debugContext = {});
  Ids dropout(const Ids& args, unsigned num_outputs, nonstd::optional<int64_t> seed = {},
              const DebugContext& debugContext = {});
  TensorId einsum(const Ids& args, const std::string& equation,
                  const DebugContext& debugContext = {});
  TensorId gathernd(const Ids& args, int64_t batch_dims = 0, const DebugContext& debugContext = {});
  TensorId greaterorequal(const Ids& args, const DebugContext& debugContext = {});
  TensorId lessorequal(const Ids& args, const DebugContext& debugContext = {});
  TensorId max(const Ids& args, const DebugContext& debugContext = {});
  Ids maxpool(const Ids& args, unsigned num_outputs, const Ints& kernel_shape,
              int64_t ceil_mode = 0, const Ints& dilations = {}, const Ints& pads = {},
              int64_t storage_order = 0, const Ints& strides = {},
              const DebugContext& debugContext = {});
  TensorId min(const Ids& args, const DebugContext& debugContext = {});
  TensorId negativeloglikelihoodloss(const Ids& args, nonstd::optional<int64_t> ignore_index = {},
                                     const std::string& reduction = "mean",
                                     const DebugContext& debugContext = {});
  TensorId pow(const Ids& args, const DebugContext& debugContext = {});
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  Ids softmaxcrossentropyloss(const Ids& args, unsigned num_outputs,
                              nonstd::optional<int64_t> ignore_index = {},
                              const std::string& reduction = "mean",
                              const DebugContext& debugContext = {});
};

/// The operators of version 13 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset13 : public AiOnnxOpset12 {
 public:
  explicit AiOnnxOpset13(BuilderImpl& impl) : AiOnnxOpset12(impl) {}
  int getOpsetVersion() const override { return 13; }

  TensorId abs(const Ids& args, const DebugContext& debugContext = {});
  TensorId add(const Ids& args, const DebugContext& debugContext = {});
  TensorId argmax(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  int64_t select_last_index = 0, const DebugContext& debugContext = {});
  TensorId argmin(const Ids& args, int64_t axis = 0, int64_t keepdims = 1,
                  int64_t select_last_index = 0, const DebugContext& debugContext = {});
  TensorId cast(const Ids& args, const std::string& to, const DebugContext& debugContext = {});
  TensorId ceil(const Ids& args, const DebugContext& debugContext = {});
  TensorId clip(const Ids& args, const DebugContext& debugContext = {});
  TensorId concat(const Ids& args, int64_t axis, const DebugContext& debugContext = {});
  TensorId constant(const ConstVoidData& value, bool is_value_sparse = false,
                    const DebugContext& debugContext = {});
  TensorId depthtospace(const Ids& args, int64_t blocksize, const std::string& mode = "DCR",
                        const DebugContext& debugContext = {});
  TensorId dequantizelinear(const Ids& args, int64_t axis = 1,
                            const DebugContext& debugContext = {});
  TensorId div(const Ids& args, const DebugContext& debugContext = {});
  Ids dropout(const Ids& args, unsigned num_outputs, nonstd::optional<int64_t> seed = {},
              const DebugContext& debugContext = {});
  TensorId equal(const Ids& args, const DebugContext& debugContext = {});
  TensorId erf(const Ids& args, const DebugContext& debugContext = {});
  TensorId exp(const Ids& args, const DebugContext& debugContext = {});
  TensorId expand(const Ids& args, const DebugContext& debugContext = {});
  TensorId flatten(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId floor(const Ids& args, const DebugContext& debugContext = {});
  TensorId gather(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId gatherelements(const Ids& args, int64_t axis = 0, const DebugContext& debugContext = {});
  TensorId gathernd(const Ids& args, int64_t batch_dims = 0, const DebugContext& debugContext = {});
  TensorId gemm(const Ids& args, float alpha = 1.0f, float beta = 1.0f, int64_t transA = 0,
                int64_t transB = 0, const DebugContext& debugContext = {});
  TensorId greater(const Ids& args, const DebugContext& debugContext = {});
  TensorId hardmax(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  TensorId identity(const Ids& args, const DebugContext& debugContext = {});
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {});
  TensorId isnan(const Ids& args, const DebugContext& debugContext = {});
  TensorId lrn(const Ids& args, int64_t size, float alpha = 0.0001f, float beta = 0.75f,
               float bias = 1.0f, const DebugContext& debugContext = {});
  TensorId less(const Ids& args, const DebugContext& debugContext = {});
  TensorId log(const Ids& args, const DebugContext& debugContext = {});
  TensorId logsoftmax(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {});
  TensorId matmul(const Ids& args, const DebugContext& debugContext = {});
  TensorId max(const Ids& args, const DebugContext& debugContext = {});
  TensorId mean(const Ids& args, const DebugContext& debugContext = {});
  TensorId meanvariancenormalization(const Ids& args, const Ints& axes = {},
                                     const DebugContext& debugContext = {});
  TensorId min(const Ids& args, const DebugContext& debugContext = {});
  TensorId mod(const Ids& args, int64_t fmod = 0, const DebugContext& debugContext = {});
  TensorId mul(const Ids& args, const DebugContext& debugContext = {});
  TensorId neg(const Ids& args, const DebugContext& debugContext = {});
  TensorId negativeloglikelihoodloss(const Ids& args, nonstd::optional<int64_t> ignore_index = {},
                                     const std::string& reduction = "mean",
                                     const DebugContext& debugContext = {});
  TensorId nonzero(const Ids& args, const DebugContext& debugContext = {});
  TensorId pad(const Ids& args, const std::string& mode = "constant",
               const DebugContext& debugContext = {});
  TensorId pow(const Ids& args, const DebugContext& debugContext = {});
  TensorId quantizelinear(const Ids& args, int64_t axis = 1, const DebugContext& debugContext = {});
  TensorId reciprocal(const Ids& args, const DebugContext& debugContext = {});
  TensorId reducel1(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducel2(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                    const DebugContext& debugContext = {});
  TensorId reducelogsum(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                        const DebugContext& debugContext = {});
  TensorId reducelogsumexp(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId reducemax(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reducemean(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducemin(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                     const DebugContext& debugContext = {});
  TensorId reduceprod(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                      const DebugContext& debugContext = {});
  TensorId reducesum(const Ids& args, int64_t keepdims = 1, int64_t noop_with_empty_axes = 0,
                     const DebugContext& debugContext = {});
  TensorId reducesumsquare(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                           const DebugContext& debugContext = {});
  TensorId relu(const Ids& args, const DebugContext& debugContext = {});
  TensorId reshape(const Ids& args, const DebugContext& debugContext = {});
  TensorId resize(const Ids& args, const std::string& coordinate_transformation_mode = "half_pixel",
                  float cubic_coeff_a = -0.75f, int64_t exclude_outside = 0,
                  float extrapolation_value = 0.0f, const std::string& mode = "nearest",
                  const std::string& nearest_mode = "round_prefer_floor",
                  const DebugContext& debugContext = {});
  TensorId scatterelements(const Ids& args, int64_t axis = 0,
                           const DebugContext& debugContext = {});
  TensorId scatternd(const Ids& args, const DebugContext& debugContext = {});
  TensorId shape(const Ids& args, const DebugContext& debugContext = {});
  TensorId sigmoid(const Ids& args, const DebugContext& debugContext = {});
  TensorId sign(const Ids& args, const DebugContext& debugContext = {});
  TensorId size(const Ids& args, const DebugContext& debugContext = {});
  TensorId slice(const Ids& args, const DebugContext& debugContext = {});
  TensorId softmax(const Ids& args, int64_t axis = -1, const DebugContext& debugContext = {});
  Ids softmaxcrossentropyloss(const Ids& args, unsigned num_outputs,
                              nonstd::optional<int64_t> ignore_index = {},
                              const std::string& reduction = "mean",
                              const DebugContext& debugContext = {});
  TensorId spacetodepth(const Ids& args, int64_t blocksize, const DebugContext& debugContext = {});
  Ids split(const Ids& args, unsigned num_outputs, int64_t axis = 0,
            const DebugContext& debugContext = {});
  TensorId sqrt(const Ids& args, const DebugContext& debugContext = {});
  TensorId squeeze(const Ids& args, const DebugContext& debugContext = {});
  TensorId sub(const Ids& args, const DebugContext& debugContext = {});
  TensorId sum(const Ids& args, const DebugContext& debugContext = {});
  TensorId tanh(const Ids& args, const DebugContext& debugContext = {});
  TensorId tile(const Ids& args, const DebugContext& debugContext = {});
  TensorId transpose(const Ids& args, const Ints& perm = {}, const DebugContext& debugContext = {});
  TensorId unsqueeze(const Ids& args, const DebugContext& debugContext = {});
};

/// The operators of version 14 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset14 : public AiOnnxOpset13 {
 public:
  explicit AiOnnxOpset14(BuilderImpl& impl) : AiOnnxOpset13(impl) {}
  int getOpsetVersion() const override { return 14; }

  TensorId add(const Ids& args, const DebugContext& debugContext = {});
  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, int64_t training_mode = 0,
                         const DebugContext& debugContext = {});
  TensorId cumsum(const Ids& args, int64_t exclusive = 0, int64_t reverse = 0,
                  const DebugContext& debugContext = {});
  TensorId div(const Ids& args, const DebugContext& debugContext = {});
  Ids gru(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t layout = 0,
          int64_t linear_before_reset = 0, const DebugContext& debugContext = {});
  TensorId hardswish(const Ids& args, const DebugContext& debugContext = {});
  TensorId identity(const Ids& args, const DebugContext& debugContext = {});
  Ids lstm(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
           const Floats& activation_beta = {}, const Strings& activations = {},
           nonstd::optional<float> clip = {}, const std::string& direction = "forward",
           nonstd::optional<int64_t> hidden_size = {}, int64_t input_forget = 0, int64_t layout = 0,
           const DebugContext& debugContext = {});
  TensorId mul(const Ids& args, const DebugContext& debugContext = {});
  Ids rnn(const Ids& args, unsigned num_outputs, const Floats& activation_alpha = {},
          const Floats& activation_beta = {}, const Strings& activations = {},
          nonstd::optional<float> clip = {}, const std::string& direction = "forward",
          nonstd::optional<int64_t> hidden_size = {}, int64_t layout = 0,
          const DebugContext& debugContext = {});
  TensorId relu(const Ids& args, const DebugContext& debugContext = {});
  TensorId reshape(const Ids& args, int64_t allowzero = 0, const DebugContext& debugContext = {});
  TensorId sub(const Ids& args, const DebugContext& debugContext = {});
  TensorId trilu(const Ids& args, int64_t upper = 1, const DebugContext& debugContext = {});
};

/// The operators of version 15 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset15 : public AiOnnxOpset14 {
 public:
  explicit AiOnnxOpset15(BuilderImpl& impl) : AiOnnxOpset14(impl) {}
  int getOpsetVersion() const override { return 15; }

  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, int64_t training_mode = 0,
                         const DebugContext& debugContext = {});
  TensorId bernoulli(const Ids& args, nonstd::optional<int64_t> dtype = {},
                     nonstd::optional<float> seed = {}, const DebugContext& debugContext = {});
  TensorId castlike(const Ids& args, const DebugContext& debugContext = {});
  TensorId optional(const Ids& args, const DebugContext& debugContext = {});
  TensorId optionalgetelement(const Ids& args, const DebugContext& debugContext = {});
  TensorId optionalhaselement(const Ids& args, const DebugContext& debugContext = {});
  TensorId pow(const Ids& args, const DebugContext& debugContext = {});
  TensorId shape(const Ids& args, nonstd::optional<int64_t> end = {}, int64_t start = 0,
                 const DebugContext& debugContext = {});
};

/// The operators of version 16 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset16 : public AiOnnxOpset15 {
 public:
  explicit AiOnnxOpset16(BuilderImpl& impl) : AiOnnxOpset15(impl) {}
  int getOpsetVersion() const override { return 16; }

  TensorId greaterorequal(const Ids& args, const DebugContext& debugContext = {});
  TensorId gridsample(const Ids& args, int64_t align_corners = 0,
                      const std::string& mode = "bilinear",
                      const std::string& padding_mode = "zeros",
                      const DebugContext& debugContext = {});
  TensorId identity(const Ids& args, const DebugContext& debugContext = {});
  Ids logical_if(const Ids& args, unsigned num_outputs, const Builder& else_branch,
                 const Builder& then_branch, const DebugContext& debugContext = {});
  TensorId leakyrelu(const Ids& args, float alpha = 0.01f, const DebugContext& debugContext = {});
  TensorId lessorequal(const Ids& args, const DebugContext& debugContext = {});
  Ids loop(const Ids& args, unsigned num_outputs, const Builder& body,
           const DebugContext& debugContext = {});
  TensorId prelu(const Ids& args, const DebugContext& debugContext = {});
  TensorId roialign(const Ids& args,
                    const std::string& coordinate_transformation_mode = "half_pixel",
                    const std::string& mode = "avg", int64_t output_height = 1,
                    int64_t output_width = 1, int64_t sampling_ratio = 0,
                    float spatial_scale = 1.0f, const DebugContext& debugContext = {});
  Ids scan(const Ids& args, unsigned num_outputs, const Builder& body, int64_t num_scan_inputs,
           const Ints& scan_input_axes = {}, const Ints& scan_input_directions = {},
           const Ints& scan_output_axes = {}, const Ints& scan_output_directions = {},
           const DebugContext& debugContext = {});
  TensorId scatterelements(const Ids& args, int64_t axis = 0, const std::string& reduction = "none",
                           const DebugContext& debugContext = {});
  TensorId scatternd(const Ids& args, const std::string& reduction = "none",
                     const DebugContext& debugContext = {});
  TensorId where(const Ids& args, const DebugContext& debugContext = {});
};

/// The operators of version 17 of ONNX's default domain: new ones and those that changed. (Not in
/// PopART.)
class AiOnnxOpset17 : public AiOnnxOpset16 {
 public:
  explicit AiOnnxOpset17(BuilderImpl& impl) : AiOnnxOpset16(impl) {}
  int getOpsetVersion() const override { return 17; }

  TensorId blackmanwindow(const Ids& args, int64_t output_datatype = 1, int64_t periodic = 1,
                          const DebugContext& debugContext = {});
  TensorId dft(const Ids& args, int64_t axis = 1, int64_t inverse = 0, int64_t onesided = 0,
               const DebugContext& debugContext = {});
  TensorId hammingwindow(const Ids& args, int64_t output_datatype = 1, int64_t periodic = 1,
                         const DebugContext& debugContext = {});
  TensorId hannwindow(const Ids& args, int64_t output_datatype = 1, int64_t periodic = 1,
                      const DebugContext& debugContext = {});
  Ids layernormalization(const Ids& args, unsigned num_outputs, int64_t axis = -1,
                         float epsilon = 1e-05f, int64_t stash_type = 1,
                         const DebugContext& debugContext = {});
  TensorId melweightmatrix(const Ids& args, int64_t output_datatype = 1,
                           const DebugContext& debugContext = {});
  TensorId stft(const Ids& args, int64_t onesided = 1, const DebugContext& debugContext = {});
  Ids sequencemap(const Ids& args, unsigned num_outputs, const Builder& body,
                  const DebugContext& debugContext = {});
};

/// The operators of ai.graphcore.
class AiGraphcoreOpset1 : public DomainOpSet {
 public:
  explicit AiGraphcoreOpset1(BuilderImpl& impl) : DomainOpSet(impl) {}
  int getOpsetVersion() const override { return 1; }
  const char* getDomain() const override { return "ai.graphcore"; }

  Ids batchnormalization(const Ids& args, unsigned num_outputs, float epsilon = 1e-05f,
                         float momentum = 0.9f, const DebugContext& debugContext = {});
  Ids groupnormalization(const Ids& args, int64_t num_groups, float epsilon = 1e-05f,
                         const DebugContext& debugContext = {});
  TensorId subsample(const Ids& args, const Ints& strides, const DebugContext& debugContext = {});
  TensorId nop(const Ids& args, const DebugContext& debugContext = {});
  TensorId normalize_image(const Ids& args, float scale, const DebugContext& debugContext = {});
  TensorId scale(const Ids& args, float scale, const DebugContext& debugContext = {});
  TensorId scaledadd(const Ids& args, float scale0, float scale1,
                     const DebugContext& debugContext = {});
  Ids lstm(const Ids& args, int64_t outputFullSequence, const DebugContext& debugContext = {});
  TensorId gelu(const Ids& args, const DebugContext& debugContext = {});
  TensorId geluerf(const Ids& args, const DebugContext& debugContext = {});
  TensorId detach(const Ids& args, const DebugContext& debugContext = {});
  TensorId depthtospace(const Ids& args, int64_t blocksize, const std::string& mode = "DCR",
                        const DebugContext& debugContext = {});
  TensorId round(const Ids& args, const DebugContext& debugContext = {});
  TensorId dynamicslice(const Ids& args, const Ints& axes, const Ints& sizes, int64_t noOverlap,
                        const DebugContext& debugContext = {});
  TensorId dynamicupdate(const Ids& args, const Ints& axes, const Ints& sizes, int64_t noOverlap,
                         const DebugContext& debugContext = {});
  TensorId dynamiczero(const Ids& args, const Ints& axes, const Ints& sizes,
                       const DebugContext& debugContext = {});
  TensorId dynamicadd(const Ids& args, const Ints& axes, const Ints& sizes,
                      const DebugContext& debugContext = {});
  TensorId sequenceslice(const Ids& args, int64_t zeroUnused,
                         const DebugContext& debugContext = {});
  Ids call(const Ids& args, unsigned num_outputs, const Builder& callee,
           const DebugContext& debugContext = {});
  TensorId tensorremap(const Ids& args, int64_t remap_type, const DebugContext& debugContext = {});
  Ids ctcbeamsearchdecoder(const Ids& args, unsigned blank = 0, unsigned beamWidth = 100,
                           unsigned topPaths = 1, const DebugContext& debugContext = {});
  TensorId shapeddropout(const Ids& args, const Ints& shape, float ratio = 0.5f,
                         const DebugContext& debugContext = {});
  TensorId atan2(const Ids& args, const DebugContext& debugContext = {});
  TensorId expm1(const Ids& args, const DebugContext& debugContext = {});
  TensorId log1p(const Ids& args, const DebugContext& debugContext = {});
  TensorId fmod(const Ids& args, const DebugContext& debugContext = {});
  TensorId remainder(const Ids& args, const DebugContext& debugContext = {});
  TensorId reverse(const Ids& args, const Ints& dimensions, const DebugContext& debugContext = {});
  TensorId slice(const Ids& args, const Ints& ends, const Ints& starts, const Ints& axes = {},
                 const DebugContext& debugContext = {});
  TensorId packedDataBlock(const Ids& args, const Ints& maxSequenceLengths, int64_t resultSize,
                           int64_t callbackBatchSize, const Builder& callback,
                           const DebugContext& debugContext = {});
  TensorId bitwisenot(const Ids& args, const DebugContext& debugContext = {});
  TensorId bitwiseand(const Ids& args, const DebugContext& debugContext = {});
  TensorId bitwiseor(const Ids& args, const DebugContext& debugContext = {});
  TensorId bitwisexor(const Ids& args, const DebugContext& debugContext = {});
  TensorId bitwisexnor(const Ids& args, const DebugContext& debugContext = {});
  Ids reducemedian(const Ids& args, nonstd::optional<Ints> axes = {}, int64_t keepdims = 1,
                   const DebugContext& debugContext = {});
  TensorId groupedgather(const Ids& args, int64_t axis = 0, int64_t group_size = 1,
                         const DebugContext& debugContext = {});
  TensorId swish(const Ids& args, const DebugContext& debugContext = {});
  TensorId incrementmod(const Ids& args, float increment, float modulus,
                        const DebugContext& debugContext = {});
  TensorId bucketize(const Ids& args, int64_t right = 0, const DebugContext& debugContext = {});
  Ids sort(const Ids& args, int64_t axis = -1, int64_t descending = 0, int64_t stable = 0,
           const DebugContext& debugContext = {});
  TensorId nearbyint(const Ids& args, const DebugContext& debugContext = {});
  Ids splinebasis(const Ids& args, int64_t degree = 1, const DebugContext& debugContext = {});
  TensorId splineweighting(const Ids& args, const DebugContext& debugContext = {});

  /// Stores the second tensor in the first one, which has to be initialised.
  TensorId copyvarupdate(const Ids& args, const DebugContext& debugContext = {});
  /// Convolutions with inputs of their own: data, weights and perhaps a bias each. Every list has
  /// as many elements as there are convolutions, or none.
  Ids multiconv(const MultiConvInputs& tensors, const MultiConvDilations& dilations = {},
                const MultiConvDilations& inDilations = {}, const MultiConvPads& pads = {},
                const MultiConvPads& outPads = {}, const MultiConvStrides& strides = {},
                const Floats& availableMemoryProportions = {}, const Strings& partialsTypes = {},
                const nonstd::optional<std::string> planType = nonstd::nullopt,
                const nonstd::optional<int> perConvReservedTiles = nonstd::nullopt,
                const nonstd::optional<float> cycleBackOff = nonstd::nullopt,
                const Ints enableConvDithering = {}, const DebugContext& debugContext = {});
  TensorId printtensor(const Ids& args, int64_t print_gradient = 1,
                       const DebugContext& debugContext = {}, const std::string& title = {},
                       const int summariseThreshold = 1000, const int edgeItems = 3,
                       const int maxLineWidth = 75, const int digits = 8, const int floatFormat = 0,
                       const char separator = ' ', const char openBracket = '[',
                       const char closeBracket = ']');
  /// `data_type` is a number of PopART's DataType.
  TensorId init(Ints shape, int64_t data_type, int64_t init_type, int64_t batch_axis,
                const DebugContext& debugContext = {});
  TensorId init(Ints shape, int64_t data_type, int64_t init_type,
                const DebugContext& debugContext = {});
  TensorId replicatedallreduce(const Ids& args,
                               const nonstd::optional<Ints>& commGroup = nonstd::nullopt,
                               const DebugContext& debugContext = {});
  TensorId replicatedallreduce(const Ids& args,
                               const nonstd::optional<CollectiveOperator>& collectiveOperator,
                               const nonstd::optional<CommGroup>& commGroup = nonstd::nullopt,
                               const DebugContext& debugContext = {});
  TensorId replicatedreducescatter(
      const Ids& args,
      const nonstd::optional<CollectiveOperator>& collectiveOperator = nonstd::nullopt,
      const nonstd::optional<CommGroup>& commGroup = nonstd::nullopt,
      const DebugContext& debugContext = {});
  TensorId l1loss(const Ids& args, const float lambda,
                  const ReductionType reduction = ReductionType::Mean,
                  const DebugContext& debugContext = {});
  TensorId nllloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                   const nonstd::optional<int> ignoreIndex = nonstd::nullopt,
                   bool inputIsLogProbability = false, const DebugContext& debugContext = {});
  TensorId identityloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                        const DebugContext& debugContext = {});
  TensorId ctcloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
                   const unsigned blank = 0, const std::string& outDataType = "UNDEFINED",
                   const bool zeroInfinity = false, const DebugContext& debugContext = {});
  /// The same with the second output, the gradient.
  Ids _ctcloss(const Ids& args, const ReductionType reduction = ReductionType::Mean,
               const unsigned blank = 0, const std::string& outDataType = "UNDEFINED",
               const bool zeroInfinity = false, const DebugContext& debugContext = {});
  TensorId reshape(const TensorId& arg, const Ints& shape, const DebugContext& debugContext = {});
  void abort(const Ids& args = {}, const DebugContext& debugContext = {});
  TensorId groupedscatterreduce(const Ids& args, int64_t axis_size, int64_t axis = -1,
                                ScatterReduction reduction = ScatterReduction::Sum,
                                int64_t group_size = 1, int64_t enable_index_broadcast = 1,
                                const DebugContext& debugContext = {});
  TensorId scatterreduce(const Ids& args, int64_t axis_size, int64_t axis = -1,
                         ScatterReduction reduction = ScatterReduction::Sum,
                         int64_t enable_index_broadcast = 1, const DebugContext& debugContext = {});
};

}  // namespace popart
