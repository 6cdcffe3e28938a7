#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/graph.hpp>

#include "cli/commands.hpp"

namespace halftone::cli {

/// Inputs for models that nobody gave any. Floating-point elements are from 0 to 1; integers are 0
/// or 1, which are good indices of most tables. The same numbers every time, and everywhere.
class MadeUp {
 public:
  /// Throws UnsupportedError if there is no such element type to make.
  AnyArray array(const TensorInfo& info, std::string_view input);

 private:
  std::uint64_t bits();

  std::uint64_t state_ = 1;
};

/// What a run is given of an input or stream: a value for each replica of the graph.
TensorInfo of_replicas(const Graph& graph, TensorInfo info);

/// The extents of the inputs that a model leaves open: from inputs that are given, --batch, else 1.
class Sizes {
 public:
  Sizes(const Graph& graph, std::int64_t batch) : graph_(graph), batch_(batch) {}

  /// A given tensor settles the symbols of its extents.
  void learn(TensorId id, const TensorInfo& given);
  /// Throws InputError if the model does not say what the input is.
  TensorInfo complete(TensorId id);
  bool used_batch() const { return used_batch_; }

 private:
  std::int64_t value(TensorId id, std::size_t axis);

  const Graph& graph_;
  std::int64_t batch_;
  std::vector<Size> values_;
  bool used_batch_ = false;
};

}  // namespace halftone::cli
