#pragma once

#include <halftone/session/session.hpp>
#include <vector>

#include "../onnx/model_bytes.hpp"

namespace test {

using Floats = std::vector<float>;

inline Message graphcore(std::string_view op, Names inputs, Names outputs,
                         std::vector<Message> attributes = {}) {
  return node(op, inputs, outputs, {.domain = "ai.graphcore", .attributes = attributes});
}
inline std::string model_of(const GraphParts& parts) {
  return model(parts, {.opsets = {opset(1, "ai.graphcore")}});
}
inline Floats floats_of(const halftone::AnyView& view) {
  const auto values = view.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace test
