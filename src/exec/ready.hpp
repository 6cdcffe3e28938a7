#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <halftone/exec/executable.hpp>
#include <halftone/program/program.hpp>

#include "bind.hpp"
#include "pipeline.hpp"

namespace halftone {

/// A model that is prepared for one combination of input shapes, as a value.
struct Prepared {
  Vector<TensorInfo> inputs{};
  Program program{};
  bool is_random = false;  ///< the program has one input more: the state of random numbers
  Precision precision = Precision::float32;  ///< that its weights are packed for
};

/// The same with what it runs with.
struct Ready : Prepared {
  /// A replica's own program, which shares packed weights and constants with the first one's.
  struct Copy {
    Program program;
    std::unique_ptr<Bound> bound;
  };
  std::unique_ptr<Bound> bound;               ///< of the program
  std::vector<std::unique_ptr<Copy>> copies;  ///< of the other replicas
  /// Of each replica; none: the program runs instead.
  std::vector<std::unique_ptr<Pipeline>> pipelines;

  Bound& of(int replica) const {
    return replica == 0 ? *bound : *copies[static_cast<std::size_t>(replica) - 1]->bound;
  }
};

/// Makes a graph ready for inputs of these infos, with these outputs.
std::unique_ptr<Ready> make_ready(const Graph& model, std::span<const TensorInfo> inputs,
                                  std::span<const TensorId> outputs, const EngineOptions& options,
                                  const kernel::Executor& executor, const Reach& reach,
                                  const Nesting& nesting = {});

/// What was made ready for the last few combinations of input shapes, since they may come again.
class Variants {
 public:
  /// The variant for the inputs whose infos `info(i)` gives; null if there is none.
  Ready* find(std::size_t count, auto&& info) {
    for (auto place = all_.begin(); place != all_.end(); ++place) {
      const Vector<TensorInfo>& inputs = (*place)->inputs;
      bool is_same = inputs.size() == count;
      for (std::size_t i = 0; is_same && i < count; ++i) is_same = inputs[i] == info(i);
      if (!is_same) continue;
      std::rotate(all_.begin(), place, place + 1);
      return all_.front().get();
    }
    return nullptr;
  }
  Ready* add(std::unique_ptr<Ready> variant) {
    all_.insert(all_.begin(), std::move(variant));
    if (all_.size() > most) all_.pop_back();
    return all_.front().get();
  }
  void clear() { all_.clear(); }
  const std::vector<std::unique_ptr<Ready>>& all() const { return all_; }

 private:
  static constexpr std::size_t most = 4;
  std::vector<std::unique_ptr<Ready>> all_;  ///< the one that was used last comes first
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
  Vector<TensorId> model_outputs;  ///< see Executable::model_outputs()
  std::optional<Prepared> ready;   ///< none: the model has changed
  UnverifiedWeights weights;
};

}  // namespace halftone
