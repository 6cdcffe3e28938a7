#pragma once

#include <popart/builder.hpp>

namespace test {

/// Calls every method of one class with all attributes; the input is "x", graphs are `body`.
/// `opset` 0: ai.graphcore.
void callEvery(popart::Builder& builder, const popart::Builder& body, int opset);

}  // namespace test
