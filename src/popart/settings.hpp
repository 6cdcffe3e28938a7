#pragma once

#include <span>
#include <string>

#include "popart/options.hpp"

namespace popart::detail {

/// The attributes of nodes, and of tensors in a model's metadata, that are PopART's own.
std::span<const SettingRow> attributeTable();
/// PopART's environment variables.
std::span<const SettingRow> environmentTable();
/// The patterns; `effect`: a rewrite that can be switched.
std::span<const SettingRow> patternTable();

/// What a table says of a setting; null if it has no row.
const SettingRow* findSetting(std::span<const SettingRow> table, std::string_view name);

/// Warns of environment variables that are set and have no effect.
void checkEnvironment();

/// All tables as Markdown: a line for each setting, with what it does on each device.
std::string settingsText();

}  // namespace popart::detail
