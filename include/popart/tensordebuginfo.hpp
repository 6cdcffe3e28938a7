#pragma once

#include <string>

#include <popart/debugcontext.hpp>
#include <popart/names.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

enum class TensorType { ActGrad = 0, Const, Stream, Unknown, Variable, N };

/// The debug information of a tensor.
class TensorDebugInfo : public DebugInfo {
 public:
  TensorDebugInfo(const DebugContext& context, const TensorId& tensor, const TensorInfo& info,
                  const TensorType& type);
  TensorDebugInfo(const DebugContext& context, const TensorId& tensor, const TensorType& type);
  const TensorId& getTensorId() const { return tensor_; }

 private:
  TensorId tensor_;
};

}  // namespace popart
