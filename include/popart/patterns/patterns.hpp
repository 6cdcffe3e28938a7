#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include <popart/util.hpp>

namespace popart {

/// Which patterns are on: none, those that cannot be left out, the usual ones, all.
enum class PatternsLevel { NoPatterns, Minimal, Default, All };

/// Names of graph patterns, switched on and off. Results do not depend on them; Ir shows what they change.
class Patterns {
 public:
  Patterns() : Patterns(PatternsLevel::Default) {}
  Patterns(PatternsLevel level);
  /// Exactly these; throws for unknown names.
  Patterns(std::vector<std::string> patterns);
  static Patterns create(std::vector<std::string> patterns) { return Patterns(patterns); }

  bool isPatternEnabled(const std::string& name) const;
  /// Throws for unknown names, and for switching off what is mandatory.
  Patterns& enablePattern(const std::string& name, bool enable);

#define POPART_PATTERN(function, name)                                   \
  bool is##function##Enabled() const { return isPatternEnabled(#name); } \
  Patterns& enable##function(bool enable) { return enablePattern(#name, enable); }
  POPART_PATTERN(InitAccumulate, InitAccumulate)
  POPART_PATTERN(PreUniRepl, PreUniRepl)
  POPART_PATTERN(PostNRepl, PostNRepl)
  POPART_PATTERN(SoftMaxGradDirect, SoftmaxGradDirect)
  POPART_PATTERN(NlllWithSoftMaxGradDirect, NlllWithSoftmaxGradDirect)
  POPART_PATTERN(SplitGather, SplitGather)
  POPART_PATTERN(OpToIdentity, OpToIdentity)
  POPART_PATTERN(UpsampleToResize, UpsampleToResize)
  POPART_PATTERN(SubtractArg1GradOp, SubtractArg1GradOp)
  POPART_PATTERN(MulArgGradOp, MulArgGradOp)
  POPART_PATTERN(ReciprocalGradOp, ReciprocalGradOp)
  POPART_PATTERN(Atan2Arg0GradOp, Atan2Arg0GradOp)
  POPART_PATTERN(Atan2Arg1GradOp, Atan2Arg1GradOp)
  POPART_PATTERN(DivArg0GradOp, DivArg0GradOp)
  POPART_PATTERN(DivArg1GradOp, DivArg1GradOp)
  POPART_PATTERN(PowArg0GradOp, PowArg0GradOp)
  POPART_PATTERN(PowArg1GradOp, PowArg1GradOp)
  POPART_PATTERN(SinGradOp, SinGradOp)
  POPART_PATTERN(CosGradOp, CosGradOp)
  POPART_PATTERN(InPlace, InPlace)
  POPART_PATTERN(UpdateInplacePrioritiesForIpu, UpdateInplacePrioritiesForIpu)
  POPART_PATTERN(SqrtGradOp, SqrtGradOp)
  POPART_PATTERN(ExpGradOp, ExpGradOp)
  POPART_PATTERN(Expm1GradOp, Expm1GradOp)
  POPART_PATTERN(Log1pGradOp, Log1pGradOp)
  POPART_PATTERN(LogGradOp, LogGradOp)
  POPART_PATTERN(NegativeOneScale, NegativeOneScale)
  POPART_PATTERN(MatMulOp, MatMulOp)
  POPART_PATTERN(MatMulLhsGradOp, MatMulLhsGradOp)
  POPART_PATTERN(MatMulRhsGradOp, MatMulRhsGradOp)
  POPART_PATTERN(RandomNormalLikeOpPattern, RandomNormalLikeOpPattern)
  POPART_PATTERN(RandomUniformLikeOpPattern, RandomUniformLikeOpPattern)
  POPART_PATTERN(ZerosLikeOpPattern, ZerosLikeOpPattern)
  POPART_PATTERN(DecomposeBinaryConstScalar, DecomposeBinaryConstScalar)
  POPART_PATTERN(FmodArg0GradOp, FmodArg0GradOp)
  POPART_PATTERN(LambSerialisedWeight, LambSerialisedWeight)
  POPART_PATTERN(TiedGather, TiedGather)
  POPART_PATTERN(TiedGatherAccumulate, TiedGatherAccumulate)
#undef POPART_PATTERN

  /// Whether patterns that are mandatory must be on.
  Patterns& enableRuntimeAsserts(bool enable) {
    asserts_ = enable;
    return *this;
  }
  bool getRuntimeAssertsOn() const { return asserts_; }
  /// Throws if a mandatory pattern is off, unless the assertions are.
  void ensureAllMandatoryPatternsAreEnabled() const;
  /// The names of the patterns that are on, of those that run before aliasing: by priority.
  std::vector<std::string> getPreAliasList() const;
  const std::map<std::string, bool>& getSettings() const { return settings_; }
  bool getInplaceEnabled() const { return isPatternEnabled("InPlace"); }
  bool operator==(const Patterns& other) const { return settings_ == other.settings_; }

 private:
  std::map<std::string, bool> settings_;
  bool asserts_ = true;
};

std::ostream& operator<<(std::ostream& stream, const Patterns& patterns);

}  // namespace popart
