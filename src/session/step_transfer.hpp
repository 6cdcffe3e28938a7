#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/inputs.hpp"
#include "session/outputs.hpp"

namespace halftone::detail {

/// Moves the elements of micro-batches between step IO and a session, from int64 to int32 and back
/// if need be.
class StepTransfer {
 public:
  /// depths  how many micro-batches of each input are asked for ahead of time
  explicit StepTransfer(const std::vector<std::size_t>& depths);
  /// Begins a run: nothing is there ahead of time.
  void begin();
  /// Gets the next micro-batch of input i, unless it is there already.
  void fetch(StepIo& io, SessionInputs& inputs, std::size_t i);
  /// Asks for the next ones early, as many as the input's depth and `most` allow: they need not be
  /// there yet.
  void fetch_ahead(StepIo& io, SessionInputs& inputs, std::size_t i, std::int64_t most);
  static void deliver(StepIo& io, const OutputPort& port, const AnyView& value);

 private:
  /// Micro-batches of an input that are there, in a ring of `slots`.
  struct Queue {
    struct Slot {
      const void* data = nullptr;
      AnyArray staged;  ///< a copy of what step IO gave, unless that keeps its data
    };
    std::size_t depth = 0, first = 0, count = 0;
    std::vector<Slot> slots;
  };
  bool load(StepIo& io, SessionInputs& inputs, std::size_t i, bool early);

  std::vector<Queue> queues_;
  bool warned_about_int64_ = false;
};

}  // namespace halftone::detail
