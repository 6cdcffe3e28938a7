#pragma once

#include <string>
#include <string_view>

#include <halftone/onnx.hpp>

#include "onnx/proto.hpp"

namespace halftone::onnx {

/// Reads a SequenceProto, OptionalProto or MapProto, as `type` says. Throws ModelError or
/// UnsupportedError.
NamedArray read_value_file(const Message& message, ElementType type);

/// The bytes of one.
std::string value_message(std::string_view name, const AnyView& value);

}  // namespace halftone::onnx
