#pragma once

#include <vector>

#include "session/inputs.hpp"
#include "session/outputs.hpp"

namespace halftone::detail {

/// Moves the elements of micro-batches between step IO and a session, from int64 to int32 and back
/// if need be.
class StepTransfer {
 public:
  /// Begins a run: nothing is there ahead of time.
  void begin(std::size_t inputs);
  /// Gets the next micro-batch of input i, unless it is there already.
  void fetch(StepIo& io, SessionInputs& inputs, std::size_t i);
  /// Asks for it early: it need not be there yet.
  void fetch_ahead(StepIo& io, SessionInputs& inputs, std::size_t i);
  static void deliver(StepIo& io, const OutputPort& port, const AnyView& value);

 private:
  bool fetch(StepIo& io, SessionInputs& inputs, std::size_t i, bool early);

  std::vector<AnyArray> staged_;  // copies of what step IO gave
  std::vector<bool> is_there_;
  bool warned_about_int64_ = false;
};

}  // namespace halftone::detail
