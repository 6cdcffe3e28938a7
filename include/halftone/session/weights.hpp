#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/session/step_io.hpp>

namespace halftone {

/// Memory of the program that weights are read into or written from, by name.
class WeightsIo {
 public:
  virtual ~WeightsIo() = default;
  virtual bool contains(std::string_view name) const = 0;
  virtual AnyBuffer weight(std::string_view name) const = 0;
};

/// The host's copy of the variables of a session. Programs exchange weights with it (`read`,
/// `write`, `reset`), and it exchanges them with the session (`from_host`, `to_host`).
class HostWeights {
 public:
  /// Starts with what the variables of the graph have. The elements are shared, not copied.
  explicit HostWeights(const Graph& graph);

  /// Gives the session the host's values.
  void from_host(Session& session) const;
  /// Takes the session's values.
  void to_host(const Session& session);

  /// Copies the host's values to the program's memory, of those that it has. Throws InputError if
  /// the sizes in bytes differ.
  void read(const WeightsIo& io) const;
  /// Takes values from the program's memory, of those that it has. Throws InputError if type or
  /// shape differ.
  void write(const WeightsIo& io);
  /// Takes the values of another graph's variables. Throws InputError if type or shape differ, or,
  /// unless `ignore_unknown`, if it has one that is not here.
  void reset(const Graph& graph, bool ignore_unknown = false);

 private:
  struct Weight {
    std::vector<char> name;
    TensorInfo info;
    Bytes data;  // empty: no value yet
  };
  std::vector<Weight> weights_;
};

}  // namespace halftone
