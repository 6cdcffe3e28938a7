#include <popart/patterns/patterns.hpp>

#include <algorithm>
#include <ostream>

#include "popart/convert.hpp"

namespace popart {

namespace {

enum class Class { mandatory, on, off, special };

struct PatternRow {
  const char* name;
  Class kind;
  int priority;  // higher ones run first; -1: after those, by name
};

/// Those before aliasing, which users switch on and off, and two that come later.
constexpr PatternRow pattern_rows[] = {
    {"Slice2SliceSubsample", Class::off, 55},
    {"SplitGather", Class::off, 13},
    {"TiedGather", Class::off, -1},
    {"TiedGatherAccumulate", Class::off, -1},
    {"ExpandCast", Class::on, 54},
    {"ConvFlipWeightsDoubleFlip", Class::on, 53},
    {"ConvFlipWeightsGradOp", Class::mandatory, 52},
    {"ConvDataGrad", Class::mandatory, 12},
    {"ConvTranspose", Class::mandatory, -1},
    {"Atan2Arg0GradOp", Class::mandatory, 51},
    {"Atan2Arg1GradOp", Class::mandatory, 50},
    {"DecomposeBinaryConstScalar", Class::on, 47},
    {"Log1pGradOp", Class::mandatory, 45},
    {"Expm1GradOp", Class::mandatory, 44},
    {"ExpGradOp", Class::mandatory, 21},
    {"LogGradOp", Class::mandatory, 20},
    {"SqrtGradOp", Class::mandatory, 22},
    {"SinGradOp", Class::mandatory, 25},
    {"CosGradOp", Class::mandatory, 24},
    {"CoshOp", Class::mandatory, 19},
    {"AbsGradOp", Class::mandatory, 14},
    {"ReciprocalGradOp", Class::mandatory, 28},
    {"ZerosLikeOpPattern", Class::mandatory, 43},
    {"RandomUniformLikeOpPattern", Class::mandatory, 42},
    {"RandomNormalLikeOpPattern", Class::mandatory, 41},
    {"FmodArg0GradOp", Class::mandatory, 39},
    {"SubtractArg1GradOp", Class::mandatory, 30},
    {"MulArgGradOp", Class::mandatory, 29},
    {"DivArg0GradOp", Class::mandatory, 27},
    {"DivArg1GradOp", Class::mandatory, 26},
    {"PowArg0GradOp", Class::mandatory, 7},
    {"PowArg1GradOp", Class::mandatory, 6},
    {"UpsampleToResize", Class::on, 38},
    {"InitAccumulate", Class::on, 37},
    {"PreUniRepl", Class::on, 36},
    {"PostNRepl", Class::on, 35},
    {"SoftmaxGradDirect", Class::on, 34},
    {"NlllWithSoftmaxGradDirect", Class::on, 33},
    {"OpToIdentity", Class::on, 31},
    {"NegativeOneScale", Class::on, 16},
    {"PadSum", Class::on, 15},
    {"SumToAdd", Class::on, 11},
    {"SplitGradOpToConcat", Class::on, 9},
    {"SplitOp", Class::on, 8},
    {"MatMulOp", Class::mandatory, 4},
    {"MatMulLhsGradOp", Class::mandatory, 3},
    {"MatMulRhsGradOp", Class::mandatory, 2},
    {"LSTMOp", Class::off, 0},
    {"PackedDataBlock", Class::on, -1},
    {"LambSerialisedWeight", Class::on, -1},
    {"AllReduceToIdentity", Class::mandatory, -1},
    {"RemoveUnnecessaryLossGradCast", Class::on, -1},
    {"TransposeToIdentityOrReshapePattern", Class::on, -1},
    {"ScanToLoop", Class::mandatory, -1},
    {"LoopScanOut", Class::mandatory, -1},
    {"InPlace", Class::special, -1},
    {"UpdateInplacePrioritiesForIpu", Class::special, -1},
};

const PatternRow& find(const std::string& name) {
  for (const PatternRow& row : pattern_rows) {
    if (name == row.name) return row;
  }
  if (name == "Inplace") throw error("Unknown pattern {}, did you mean InPlace?", name);
  throw error("Unknown pattern {}.", name);
}

}  // namespace

Patterns::Patterns(PatternsLevel level) {
  for (const PatternRow& row : pattern_rows) {
    const bool is_in_place = std::string(row.name) == "InPlace";
    bool enable = false;
    if (level == PatternsLevel::Minimal) enable = row.kind == Class::mandatory;
    if (level == PatternsLevel::Default) {
      enable = row.kind == Class::mandatory || row.kind == Class::on || is_in_place;
    }
    if (level == PatternsLevel::All) enable = row.kind != Class::special || is_in_place;
    settings_[row.name] = enable;
  }
}

Patterns::Patterns(std::vector<std::string> patterns) : Patterns(PatternsLevel::NoPatterns) {
  for (const std::string& name : patterns) settings_[find(name).name] = true;
}

bool Patterns::isPatternEnabled(const std::string& name) const {
  return settings_.at(find(name).name);
}

Patterns& Patterns::enablePattern(const std::string& name, bool enable) {
  const PatternRow& row = find(name);
  if (!enable && row.kind == Class::mandatory && asserts_) {
    throw error("Pattern '{}' is mandatory and cannot be disabled", name);
  }
  settings_[row.name] = enable;
  return *this;
}

void Patterns::ensureAllMandatoryPatternsAreEnabled() const {
  if (!asserts_) return;
  for (const PatternRow& row : pattern_rows) {
    if (row.kind == Class::mandatory && !settings_.at(row.name)) {
      throw error("Pattern '{}' must be enabled", row.name);
    }
  }
}

std::vector<std::string> Patterns::getPreAliasList() const {
  std::vector<const PatternRow*> enabled;
  for (const PatternRow& row : pattern_rows) {
    if (row.kind != Class::special && settings_.at(row.name)) enabled.push_back(&row);
  }
  std::sort(enabled.begin(), enabled.end(), [](const PatternRow* a, const PatternRow* b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    return std::string(a->name) < b->name;
  });
  std::vector<std::string> names;
  for (const PatternRow* row : enabled) names.push_back(row->name);
  return names;
}

std::ostream& operator<<(std::ostream& stream, const Patterns& patterns) {
  for (const auto& [name, enabled] : patterns.getSettings()) {
    if (enabled) stream << name << ' ';
  }
  return stream;
}

}  // namespace popart
