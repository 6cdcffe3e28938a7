#pragma once

#include <memory>
#include <vector>

#include <halftone/exec/executable.hpp>
#include <halftone/program/program.hpp>

#include "bind.hpp"
#include "interpreter.hpp"

namespace halftone {

/// What is ready to run for one combination of input shapes.
struct Ready {
  std::vector<TensorInfo> inputs;
  Program program;
  bool has_program = false;      ///< there is something that can be planned
  std::unique_ptr<Bound> bound;  ///< of the program
  /// `graph` is interpreted behind the program, whose outputs are its last inputs.
  bool is_interpreted = false;
  Graph graph;
  KeptNodes kept;          ///< of the nodes that are interpreted
  bool is_random = false;  ///< the graph has one input more: the state of random numbers
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
  std::unique_ptr<Ready> ready;
  UnverifiedWeights weights;
};

}  // namespace halftone
