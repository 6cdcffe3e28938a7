#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/graph/registry.hpp>

#include "onnx/versions.hpp"
#include "op/builtin.hpp"

namespace halftone::onnx {

// PopART's attributes of nodes for the machine, see Planning and Place of graph/graph.hpp.
inline constexpr const char* memory_proportion_attribute = "__available_memory";
inline constexpr const char* partials_attribute = "__partials_type";
inline constexpr const char* placement_attribute = "__ipu_number";
inline constexpr const char* stage_attribute = "__pipeline_stage";
inline constexpr const char* phase_attribute = "__execution_phase";
inline constexpr const char* recompute_attribute = "__recompute_output_in_backward_pass";

/// Whether the last inputs are what the operator's graphs read of the graph around: a slot
/// `captured...`.
inline bool captures_follow(const Slots& signature) {
  return signature.has_variadic_input() &&
         signature.input(signature.inputs() - 1).name == "captured";
}

/// Operators by domain, name and version of the operator set.
class Operators {
 public:
  explicit Operators(OperatorTable table) {
    rows_.reserve(table.size());
    for (const Descriptor* op : table) rows_.push_back({op, rows_.size()});
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::pair(key_of(a), a.position) < std::pair(key_of(b), b.position);
    });
  }

  /// The operator that has this meaning in that version of its domain; null if it is not offered.
  const Descriptor* find(std::string_view domain, std::string_view name, std::int64_t opset) const {
    const Descriptor* best = nullptr;
    std::int64_t best_version = 0;
    const std::pair key(domain, name);
    auto at = std::lower_bound(rows_.begin(), rows_.end(), key,
                               [](const Row& row, const auto& k) { return key_of(row) < k; });
    for (; at != rows_.end() && key_of(*at) == key; ++at) {
      for (const std::int64_t version : at->op->id.versions) {
        // A later one of equals is an extension that replaces the library's.
        if (version <= opset && version >= best_version) best = at->op, best_version = version;
      }
    }
    // An operator that changed since has another meaning than the one that is known.
    if (domain == "ai.onnx" && best_version < since_version(name, opset)) return nullptr;
    return best;
  }
  /// The newest meaning of an operator of the default domain.
  const Descriptor* newest(std::string_view name) const {
    for (std::int64_t opset = newest_opset; opset > 0; --opset) {
      const Descriptor* op = find("ai.onnx", name, opset);
      if (op != nullptr && op->expand == nullptr) return op;
    }
    return nullptr;
  }

 private:
  struct Row {
    const Descriptor* op;
    std::size_t position;  // in the table
  };
  static std::pair<std::string_view, std::string_view> key_of(const Row& row) {
    return {row.op->id.domain, row.op->id.name};
  }

  std::vector<Row> rows_;
};

}  // namespace halftone::onnx
