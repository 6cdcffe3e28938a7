#include <popart/patterns/patterns.hpp>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "popart/convert.hpp"
#include "popart/settings.hpp"

namespace popart {

namespace {

using detail::OptionStatus;
using detail::SettingRow;

enum class Class { mandatory, on, off, special };

struct PatternRow : SettingRow {
  Class kind;
  int priority;  // higher ones run first; -1: after those, by name
};

constexpr const char* grad = "gradients are recorded in these operators";

/// The 55 patterns that run before aliasing, which users switch on and off, and nine later ones. Priorities
/// and classes are those of PopART's documentation.
constexpr PatternRow pattern_rows[] = {
    {{"Slice2SliceSubsample", OptionStatus::nothing, "a Slice with steps is one operator"},
     Class::off,
     55},
    {{"SplitGather", OptionStatus::nothing,
      "tables of a Gather are spread over the tiles of one IPU"},
     Class::off,
     13},
    {{"TiedGather", OptionStatus::nothing, "products are planned whole"}, Class::off, -1},
    {{"TiedGatherAccumulate", OptionStatus::nothing, "products are planned whole"}, Class::off, -1},
    {{"ExpandCast", OptionStatus::effect, "a tensor is converted before it is expanded, not after"},
     Class::on,
     54},
    {{"ConvFlipWeightsDoubleFlip", OptionStatus::nothing,
      "kernels read weights in either direction"},
     Class::on,
     53},
    {{"ConvFlipWeightsGradOp", OptionStatus::built_in, "kernels read weights in either direction"},
     Class::mandatory,
     52},
    {{"ConvDataGrad", OptionStatus::built_in, grad}, Class::mandatory, 12},
    {{"ConvTranspose", OptionStatus::built_in, "one operator, with a kernel of its own"},
     Class::mandatory,
     -1},
    {{"Atan2Arg0GradOp", OptionStatus::built_in, grad}, Class::mandatory, 51},
    {{"Atan2Arg1GradOp", OptionStatus::built_in, grad}, Class::mandatory, 50},
    {{"DecomposeBinaryConstScalar", OptionStatus::built_in, "numbers in expressions are constants"},
     Class::on,
     47},
    {{"Log1pGradOp", OptionStatus::built_in, grad}, Class::mandatory, 45},
    {{"Expm1GradOp", OptionStatus::built_in, grad}, Class::mandatory, 44},
    {{"ExpGradOp", OptionStatus::built_in, grad}, Class::mandatory, 21},
    {{"LogGradOp", OptionStatus::built_in, grad}, Class::mandatory, 20},
    {{"SqrtGradOp", OptionStatus::built_in, grad}, Class::mandatory, 22},
    {{"SinGradOp", OptionStatus::built_in, grad}, Class::mandatory, 25},
    {{"CosGradOp", OptionStatus::built_in, grad}, Class::mandatory, 24},
    {{"CoshOp", OptionStatus::built_in, "one operator, with a kernel of its own"},
     Class::mandatory,
     19},
    {{"AbsGradOp", OptionStatus::built_in, grad}, Class::mandatory, 14},
    {{"ReciprocalGradOp", OptionStatus::built_in, grad}, Class::mandatory, 28},
    {{"ZerosLikeOpPattern", OptionStatus::built_in, "shapes are known when a model is read"},
     Class::mandatory,
     43},
    {{"RandomUniformLikeOpPattern", OptionStatus::built_in,
      "shapes are known when a model is read"},
     Class::mandatory,
     42},
    {{"RandomNormalLikeOpPattern", OptionStatus::built_in, "shapes are known when a model is read"},
     Class::mandatory,
     41},
    {{"FmodArg0GradOp", OptionStatus::built_in, grad}, Class::mandatory, 39},
    {{"SubtractArg1GradOp", OptionStatus::built_in, grad}, Class::mandatory, 30},
    {{"MulArgGradOp", OptionStatus::built_in, grad}, Class::mandatory, 29},
    {{"DivArg0GradOp", OptionStatus::built_in, grad}, Class::mandatory, 27},
    {{"DivArg1GradOp", OptionStatus::built_in, grad}, Class::mandatory, 26},
    {{"PowArg0GradOp", OptionStatus::built_in, grad}, Class::mandatory, 7},
    {{"PowArg1GradOp", OptionStatus::built_in, grad}, Class::mandatory, 6},
    {{"UpsampleToResize", OptionStatus::built_in, "a model is read so"}, Class::on, 38},
    {{"InitAccumulate", OptionStatus::nothing, "layouts follow from the shapes alone"},
     Class::on,
     37},
    {{"PreUniRepl", OptionStatus::effect, "the operator before an Identity computes its output"},
     Class::on,
     36},
    {{"PostNRepl", OptionStatus::effect, "readers of an Identity read its input"}, Class::on, 35},
    {{"SoftmaxGradDirect", OptionStatus::effect,
      "the gradient of a softmax and its loss, without weights, is one operator"},
     Class::on,
     34},
    {{"NlllWithSoftmaxGradDirect", OptionStatus::effect,
      "Ir has one operator for a loss and its gradient, if nothing reads the loss in between"},
     Class::on,
     33},
    {{"OpToIdentity", OptionStatus::effect,
      "an operator that moves and converts nothing is an Identity"},
     Class::on,
     31},
    {{"NegativeOneScale", OptionStatus::effect, "Scale by -1 is Neg"}, Class::on, 16},
    {{"PadSum", OptionStatus::nothing, "a Pad is copied once, whoever adds it"}, Class::on, 15},
    {{"SumToAdd", OptionStatus::built_in, "a model is read so"}, Class::on, 11},
    {{"SplitGradOpToConcat", OptionStatus::built_in, grad}, Class::on, 9},
    {{"SplitOp", OptionStatus::nothing, "a Split is one operator"}, Class::on, 8},
    {{"MatMulOp", OptionStatus::built_in, "kernels take products of any rank"},
     Class::mandatory,
     4},
    {{"MatMulLhsGradOp", OptionStatus::built_in, "kernels take products of any rank"},
     Class::mandatory,
     3},
    {{"MatMulRhsGradOp", OptionStatus::built_in, "kernels take products of any rank"},
     Class::mandatory,
     2},
    {{"LSTMOp", OptionStatus::nothing, "an LSTM is one operator"}, Class::off, 0},
    {{"PackedDataBlock", OptionStatus::built_in, "packed sequences are a loop"}, Class::on, -1},
    {{"LambSerialisedWeight", OptionStatus::nothing, "weights are updated whole"}, Class::on, -1},
    {{"AllReduceToIdentity", OptionStatus::built_in, "one replica has nothing to reduce"},
     Class::mandatory,
     -1},
    {{"RemoveUnnecessaryLossGradCast", OptionStatus::built_in,
      "the loss scaling is converted once"},
     Class::on,
     -1},
    {{"TransposeToIdentityOrReshapePattern", OptionStatus::effect,
      "two Transposes, one after the other, are one"},
     Class::on,
     -1},
    {{"ScanToLoop", OptionStatus::built_in, "both are repeated bodies"}, Class::mandatory, -1},
    {{"LoopScanOut", OptionStatus::built_in, "both are repeated bodies"}, Class::mandatory, -1},
    {{"InPlace", OptionStatus::effect,
      "Ir has in-place forms where the memory plan computes in place, as it always does"},
     Class::special,
     -1},
    {{"UpdateInplacePrioritiesForIpu", OptionStatus::nothing, "the memory plan has no priorities"},
     Class::special,
     -1},
    {{"SGD0Decompose", OptionStatus::built_in, "an optimizer is one operator for each weight"},
     Class::special,
     -1},
    {{"SGD1Decompose", OptionStatus::built_in, "an optimizer is one operator for each weight"},
     Class::special,
     -1},
    {{"SGD2Decompose", OptionStatus::built_in, "an optimizer is one operator for each weight"},
     Class::special,
     -1},
    {{"AdamDecompose", OptionStatus::built_in, "an optimizer is one operator for each weight"},
     Class::special,
     -1},
    {{"AdaptiveDecompose", OptionStatus::built_in, "an optimizer is one operator for each weight"},
     Class::special,
     -1},
    {{"ContiguateIpuCopyIndicesPattern", OptionStatus::built_in,
      "values go straight to the stages that read them"},
     Class::special,
     -1},
    {{"ViewSimplifyPattern", OptionStatus::built_in, "views are not copied"}, Class::special, -1},
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
    const bool is_late = row.kind == Class::special && row.status == OptionStatus::built_in;
    bool enable = is_late && !is_in_place;
    if (level == PatternsLevel::Minimal) enable = enable || row.kind == Class::mandatory;
    if (level == PatternsLevel::Default) {
      enable = enable || row.kind == Class::mandatory || row.kind == Class::on || is_in_place;
    }
    if (level == PatternsLevel::All) enable = enable || row.kind != Class::special || is_in_place;
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

std::span<const SettingRow> detail::patternTable() {
  static const std::vector<SettingRow> rows(std::begin(pattern_rows), std::end(pattern_rows));
  return rows;
}

std::ostream& operator<<(std::ostream& stream, const Patterns& patterns) {
  for (const auto& [name, enabled] : patterns.getSettings()) {
    if (enabled) stream << name << ' ';
  }
  return stream;
}

}  // namespace popart
