#pragma once

#include <iosfwd>
#include <tuple>

#include <popart/names.hpp>

namespace popart {

/// Limits of an operator's number of inputs; a limit below 1 is none.
struct NumInputs {
  int min = 0;
  int max = 0;

  NumInputs() = default;
  NumInputs(int number) : min(number), max(number) {}
  NumInputs(int least, int most) : min(least), max(most) {}
};

/// The names of operator sets.
class Domain {
 public:
  static constexpr const char* ai_onnx = "ai.onnx";
  static constexpr const char* ai_onnx_ml = "ai.onnx.ml";
  static constexpr const char* ai_graphcore = "ai.graphcore";
};

/// An operator: domain, type, and the version of the operator set that introduced it.
struct OperatorIdentifier {
  OpDomain domain;
  OpType type;
  OpVersion version;
  NumInputs numInputs;
  int numOutputs;

  OperatorIdentifier(const OpDomain& opDomain, const OpType& opType, OpVersion opVersion,
                     NumInputs inputs = {}, int outputs = 0)
      : domain(opDomain),
        type(opType),
        version(opVersion),
        numInputs(inputs),
        numOutputs(outputs) {}

  bool operator==(const OperatorIdentifier& other) const {
    return domain == other.domain && type == other.type && version == other.version;
  }
  bool operator!=(const OperatorIdentifier& other) const { return !(*this == other); }
  bool operator<(const OperatorIdentifier& other) const {
    return std::tie(domain, type, version) < std::tie(other.domain, other.type, other.version);
  }
};

/// domain.type:version
std::ostream& operator<<(std::ostream& stream, const OperatorIdentifier& opid);

/// An operator of ai.graphcore.
struct AiGraphcoreOpIdV1 : OperatorIdentifier {
  AiGraphcoreOpIdV1(const OpType& opType, NumInputs inputs = {}, int outputs = 0)
      : OperatorIdentifier(Domain::ai_graphcore, opType, 1, inputs, outputs) {}
};

}  // namespace popart
