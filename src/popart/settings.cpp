#include "popart/settings.hpp"

#include <algorithm>
#include <cstdlib>

#include <popart/names.hpp>

#include "popart/convert.hpp"

namespace popart::detail {
namespace {

constexpr const char* inPlace = "the memory plan finds what can be computed in place";

constexpr SettingRow attribute_rows[] = {
    {sVirtualGraphAttribute, OptionStatus::effect, "the IPU, with virtualGraphMode Manual"},
    {sExecutionPhaseAttribute, OptionStatus::effect,
     "the phase, with virtualGraphMode ExecutionPhases"},
    {sPipelineStageAttribute, OptionStatus::effect, "the stage, with enablePipelining"},
    {sExecutionContextAttribute, OptionStatus::nothing,
     "a node's part of a step follows from the graph"},
    {sRecomputeOutputAttribute, OptionStatus::training, "outputs are kept or computed again"},
    {sOutputTensorLocationAttribute, OptionStatus::training,
     "storage; goes before activationTensorLocationSettings, behind "
     "tensorLocationSettingsOverride"},
    {sOutputTypeAttribute, OptionStatus::nothing, "types follow from the operators"},
    {sExcludePatternsAttribute, OptionStatus::effect, "patterns that leave the node alone"},
    {sSchedulePriority, OptionStatus::effect, "of nodes that could run, the largest is next"},
    {sInplaceOpNames, OptionStatus::nothing, inPlace},
    {sInplaceOpPriorities, OptionStatus::nothing, inPlace},
    {sPartialsTypeAttribute, OptionStatus::modelled, "the type of a product's partial sums"},
    {sAvailMemAttribute, OptionStatus::modelled, "a product's share of tile memory"},
    {sEnableConvDitheringAttribute, OptionStatus::nothing, "plans all start at tile 0"},
    {sSerializeMatMulModeAttribute, OptionStatus::effect,
     "the axis along which a product is computed in parts"},
    {sSerializeMatMulFactorAttribute, OptionStatus::effect, "the number of parts"},
    {sSerializeMatMulPrecisionAttribute, OptionStatus::effect,
     "half parts along reducing_dim are added as float"},
    {sOutlineAttribute, OptionStatus::nothing, "there is no code to share"},
    {sTileSetAttribute, OptionStatus::nothing, "all tiles compute"},
    {sExchangeStrategyAttribute, OptionStatus::nothing,
     "inputs are loaded when they are needed; OverlapStep is an error"},
    {sReplicatedStreamMode, OptionStatus::effect, "replicas get data of their own, or the same"},
    {sVariableSettings, OptionStatus::effect,
     "which replicas share a variable, and what the host gets of it"},
    {sCommGroupType, OptionStatus::effect, "which replicas share a variable"},
    {sCommGroupSize, OptionStatus::effect, "which replicas share a variable"},
    {sCollectiveOperator, OptionStatus::effect, "how replicas join a tensor"},
    {sCollectiveCommGroup, OptionStatus::effect, "which replicas join a tensor"},
    {sReplicationFactor, OptionStatus::effect, "what a builder divides variables by"},
    {sDebugInfoId, OptionStatus::nothing, "names say where a node comes from"},
};

constexpr SettingRow environment_rows[] = {
    {"POPART_LOG_LEVEL", OptionStatus::effect, "TRACE to OFF; WARN at the start"},
    {"POPART_LOG_DEST", OptionStatus::effect, "stderr, stdout or a file"},
    {"POPART_LOG_FORMAT", OptionStatus::effect, "the form of a line"},
    {"POPART_LOG_CONFIG", OptionStatus::effect, "a JSON file with levels by module"},
    {"POPART_CACHE_DIR", OptionStatus::effect, "enableEngineCaching with this cachePath"},
    {"POPXL_CACHE_DIR", OptionStatus::effect, "the same, and goes before it"},
    {"POPART_IR_DUMP", OptionStatus::effect, "the file that serializeIr's text is written to"},
    {"POPART_PRELOAD_POPEF", OptionStatus::nothing, "files of executables are mapped"},
    {"POPART_OPX_TRACE", OptionStatus::nothing, "there is no hardware to trace"},
    {"POPART_PRINT_TENSORS", OptionStatus::nothing, "printtensor prints a tensor"},
    {"POPART_POPLINER_OUTLINER_REGEX", OptionStatus::nothing, "there is no code to share"},
};

struct Words {
  const char *cpu, *ipu;
};
Words wordsOf(OptionStatus status) {
  switch (status) {
    case OptionStatus::effect:
      return {"yes", "yes"};
    case OptionStatus::refused:
      return {"error", "error"};
    case OptionStatus::nothing:
      return {"no subject", "no subject"};
    case OptionStatus::machine:
      return {"error", "yes"};
    case OptionStatus::modelled:
      return {"no subject", "yes"};
    case OptionStatus::built_in:
      return {"always", "always"};
    case OptionStatus::training:
      break;
  }
  return {"in training", "in training"};
}

void addRow(std::string& text, const SettingRow& row) {
  const Words words = wordsOf(row.status);
  text += std::string("| `") + row.name + "` | " + words.cpu + " | " + words.ipu + " | " +
          row.text + " |\n";
}
void addHeading(std::string& text, const char* what) {
  text += std::string("\n| ") + what + " | cpu | IPU models | what it does, or why nothing |\n" +
          "|---|---|---|---|\n";
}
void addTable(std::string& text, const char* what, std::span<const SettingRow> table) {
  addHeading(text, what);
  for (const SettingRow& row : table) addRow(text, row);
}

}  // namespace

std::span<const SettingRow> attributeTable() { return attribute_rows; }
std::span<const SettingRow> environmentTable() { return environment_rows; }

const SettingRow* findSetting(std::span<const SettingRow> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const SettingRow& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

void checkEnvironment() {
  for (const SettingRow& row : environment_rows) {
    const char* const value = std::getenv(row.name);
    if (row.status != OptionStatus::nothing || value == nullptr || *value == '\0') continue;
    say(logging::Module::session, logging::Level::Warn,
        logging::format("The environment's {} has no effect: {}", row.name, row.text));
  }
}

std::string settingsText() {
  std::string text;
  addHeading(text, "session option");
  for (const OptionRow& row : optionTable()) addRow(text, row);
  addTable(text, "engine option", engineOptionTable());
  addTable(text, "pattern", patternTable());
  addTable(text, "attribute", attributeTable());
  addTable(text, "environment variable", environmentTable());
  return text;
}

}  // namespace popart::detail
