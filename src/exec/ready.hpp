#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <halftone/exec/executable.hpp>
#include <halftone/program/program.hpp>

#include "bind.hpp"
#include "interpreter.hpp"

namespace halftone {

/// A model that is prepared for one combination of input shapes, as a value.
struct Prepared {
  std::vector<TensorInfo> inputs{};
  Program program{};
  bool has_program = false;  ///< there is something that can be planned
  /// `graph` is interpreted behind the program, whose outputs are its last inputs.
  bool is_interpreted = false;
  Graph graph{};
  bool is_random = false;  ///< the graph has one input more: the state of random numbers
};

/// The same with what an engine runs it with.
struct Ready : Prepared {
  std::unique_ptr<Bound> bound;  ///< of the program
  KeptNodes kept;                ///< of the nodes that are interpreted
};

/// The bytes of a file's weights, and what they have to add up to.
struct UnverifiedWeights {
  Storage file;
  std::span<const std::byte> bytes;
  std::uint64_t checksum = 0;

  /// Throws ModelError if they are damaged; does nothing the second time.
  void verify();
};

struct Executable::State {
  Graph graph;
  std::vector<TensorId> model_outputs;  ///< see Executable::model_outputs()
  std::optional<Prepared> ready;        ///< none: the model has changed
  UnverifiedWeights weights;
};

}  // namespace halftone
