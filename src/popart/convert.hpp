#pragma once

#include <string>
#include <utility>

#include <halftone/base/array.hpp>
#include <halftone/base/error.hpp>
#include <halftone/base/log.hpp>
#include <halftone/base/tensor_info.hpp>
#include <halftone/graph/replica_grouping.hpp>
#include <popart/error.hpp>
#include <popart/replicagrouping.hpp>
#include <popart/tensorinfo.hpp>

namespace popart::detail {

halftone::ElementType toNative(DataType type);
DataType fromNative(halftone::ElementType type);
/// Throws popart::error if the type is none that tensors have, or there are too many dimensions.
halftone::TensorInfo toNative(const TensorInfo& info);
TensorInfo fromNative(const halftone::TensorInfo& info);
halftone::ReplicaGrouping toNative(const ReplicaGrouping& grouping);

/// Calls f; errors of the library become errors of this interface: E, or internal_error.
template <class E, class F>
auto translated(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const halftone::Error& e) {
    if (e.kind() == halftone::ErrorKind::internal) throw internal_error("{}", e.what());
    throw E("{}", e.what());
  }
}

/// A message of the library itself: printed only if logging was asked for.
void say(logging::Module module, logging::Level level, const std::string& text);
/// Forgets what was said: warnings are said again.
void forgetSaid();

}  // namespace popart::detail
