#pragma once

#include <span>
#include <string_view>

namespace popart {

/// What a builder's method needs to know of an operator.
struct BuilderMethod {
  std::string_view domain, op;
  int version;                 ///< of the operator set, the first that has this form
  int min_inputs, max_inputs;  ///< max -1: any number
  /// In the order of the method's parameters, each "name:kind": i, f, s (text), I, F, S (lists of
  /// them), t (tensor) or g (graph); then '!' if it must be given, or "=default".
  std::string_view attributes;
};

/// All, by domain, operator and version.
std::span<const BuilderMethod> builderMethods();

}  // namespace popart
