#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <halftone/graph/registry.hpp>

#include "onnx/versions.hpp"

namespace halftone::onnx {

/// The operators of the library.
OperatorTable builtin_operators();

/// Whether the last inputs are what the operator's graphs read of the graph around: a slot
/// `captured...`.
inline bool captures_follow(const Signature& signature) {
  return signature.has_variadic_input() &&
         signature.input(signature.inputs() - 1).name == "captured";
}

/// Operators by domain, name and version of the operator set.
class Operators {
 public:
  explicit Operators(OperatorTable table) : rows_(table.begin(), table.end()) {
    std::stable_sort(rows_.begin(), rows_.end(), before);
  }

  /// The operator that has this meaning in that version of its domain; null if it is not offered.
  const Descriptor* find(std::string_view domain, std::string_view name, std::int64_t opset) const {
    const Descriptor* best = nullptr;
    std::int64_t best_version = 0;
    const auto first =
        std::lower_bound(rows_.begin(), rows_.end(), std::pair(domain, name),
                         [](const Descriptor* op, const auto& key) { return key_of(op) < key; });
    for (auto at = first; at != rows_.end() && key_of(*at) == std::pair(domain, name); ++at) {
      for (const std::int64_t version : (*at)->id.versions) {
        // A later one of equals is an extension that replaces the library's.
        if (version <= opset && version >= best_version) best = *at, best_version = version;
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
  static std::pair<std::string_view, std::string_view> key_of(const Descriptor* op) {
    return {op->id.domain, op->id.name};
  }
  static bool before(const Descriptor* a, const Descriptor* b) { return key_of(a) < key_of(b); }

  std::vector<const Descriptor*> rows_;
};

}  // namespace halftone::onnx
