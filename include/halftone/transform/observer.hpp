#pragma once

#include <string_view>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// A pass has run over a graph.
struct PassEvent {
  std::string_view target;  ///< "cpu" or "ipu"
  std::string_view pass;    ///< its name in the target's list
  /// Of a graph inside the model's: the node that has it and its number there, such as "loop/0";
  /// empty: the model's own.
  std::string_view path;
  const Graph& graph;  ///< after the pass; good during the call
  double seconds = 0;
};

/// Is told of each pass that makes a graph ready to run, see EngineOptions::observer.
class PassObserver {
 public:
  virtual void passed(const PassEvent& event) = 0;

 protected:
  ~PassObserver() = default;
};

}  // namespace halftone
