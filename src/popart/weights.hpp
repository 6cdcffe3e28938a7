#pragma once

#include <string>
#include <vector>

#include <halftone/session/session.hpp>
#include <popart/stepio.hpp>

namespace popart::detail {

/// The host's copy of a session's variables. Programs exchange weights with it (`read`, `write`,
/// `reset`), and it exchanges them with the session (`fromHost`, `toHost`). Throws the library's
/// errors, in PopART's words.
class HostWeights {
 public:
  /// Starts with what the variables of the graph have. The elements are shared, not copied.
  explicit HostWeights(const halftone::Graph& graph);

  /// Gives the session the host's values.
  void fromHost(halftone::Session& session) const;
  /// Takes the session's values.
  void toHost(const halftone::Session& session);

  /// Copies the host's values to the program's memory, of those that it has.
  void read(const IWeightsIO& io) const;
  /// Takes values from the program's memory, of those that it has.
  void write(const IWeightsIO& io);
  /// Takes the values of another graph's variables; one that is not here is an error, or ignored.
  void reset(const halftone::Graph& graph, bool ignoreUnknown);

 private:
  struct Weight {
    TensorId id;
    halftone::TensorInfo info;
    halftone::Bytes data;  // empty: no value yet
  };
  std::vector<Weight> weights_;
};

}  // namespace popart::detail
