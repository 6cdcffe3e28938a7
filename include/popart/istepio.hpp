#pragma once

#include <cstdint>

#include <popart/names.hpp>
#include <popart/voiddata.hpp>

namespace popart {

namespace popx {
class Executablex;
}

/// Where a step gets its inputs from and where it puts its anchors, one micro-batch at a time.
class IStepIO {
 public:
  virtual ~IStepIO() = default;
  /// The next `numElements` elements of an input. With `prefetch` they are asked for early, and
  /// null data says that there are none yet.
  virtual ConstVoidData in(TensorId id, int64_t numElements, bool prefetch, bool isBroadcast) = 0;
  /// What `in` gave was read.
  virtual void inComplete(TensorId id, int64_t numElements, bool isBroadcast) = 0;
  /// Memory for the next `numElements` elements of an anchor.
  virtual MutableVoidData out(TensorId id, int64_t numElements) = 0;
  /// The memory was written.
  virtual void outComplete(TensorId) {}

  void enableRuntimeAsserts(bool enable) { asserts_ = enable; }
  bool runtimeAssertsEnabled() const { return asserts_; }
  /// Throws if the buffers have other sizes than the executable needs.
  virtual void assertNumElements(const popx::Executablex& executable) const = 0;

 private:
  bool asserts_ = true;
};

}  // namespace popart
