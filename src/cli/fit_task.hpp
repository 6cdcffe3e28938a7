#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/session/session.hpp>

#include "cli/commands.hpp"
#include "cli/dataset.hpp"
#include "cli/loss.hpp"

namespace halftone::cli {

/// The state of an earlier training that a model file has, by name.
struct SavedState {
  std::vector<std::pair<std::string, TensorRecord>> tensors;

  const TensorRecord* find(std::string_view name) const {
    const auto at = std::find_if(tensors.begin(), tensors.end(),
                                 [&](const auto& tensor) { return tensor.first == name; });
    return at == tensors.end() ? nullptr : &at->second;
  }
  template <class T>
  T number(std::string_view name, T otherwise) const {
    const TensorRecord* const t = find(name);
    if (t == nullptr || t->info != TensorInfo{element_type<T>, {}}) return otherwise;
    T value{};
    std::memcpy(&value, t->data.span().data(), sizeof value);
    return value;
  }
};

/// Takes what no node uses, and only a saved training has, out of a model.
SavedState take_state(Graph& graph);

/// What is trained, on what: the model, its loss, the samples and the batches they make.
class FitTask {
 protected:
  explicit FitTask(const FitOptions& options);

  bool has_labels() const { return loss_ != Loss::own; }
  void choose_loss(const TensorInfo& y);
  /// The loss of each sample's numbers, or of all together.
  AnyTensor record_loss(Graph& graph, bool of_each) const;
  /// The inputs of one batch.
  struct Batch {
    std::vector<AnyArray> arrays;
    std::vector<Input> inputs;
  };
  /// For runs of several micro-batches and replicas: [micro-batches, replicas, batch, ...].
  Batch make_batch(std::int64_t micro_batches = 1, std::int64_t replicas = 1) const;
  int rank() const { return options_.spreading.rank(); }
  int ranks() const { return options_.spreading.rank_count(); }
  /// Replicas of all ranks.
  std::int64_t replicas() const { return options_.spreading.all_replicas(); }
  /// Runs of the model that a step of the optimizer takes: all, and those of this rank.
  std::int64_t parts() const { return options_.accumulation * replicas(); }
  std::int64_t own_parts() const { return options_.accumulation * options_.spreading.replicas; }
  /// The samples of them.
  std::int64_t step_batch() const { return batch_ * parts(); }
  std::int64_t own_batch() const { return batch_ * own_parts(); }
  void fill(Batch& batch, const Dataset& data, std::span<const std::int64_t> which) const;
  /// How many of the first `samples` of a batch have their label as the greatest output.
  std::int64_t count_right(const AnyView& y, const AnyArray& label, std::int64_t samples) const;
  static double sum_of(const AnyView& x, std::int64_t elements);

  const FitOptions& options_;
  /// As it was given; with the sizes that options say; with the extents of a batch.
  Graph original_, declared_, model_;
  std::string output_;
  Dataset data_, validation_;
  std::int64_t known_ = 0, classes_ = 0;
  std::int64_t batch_ = 0;  ///< samples in a run of the model: of a micro-batch
  TensorInfo label_info_;
  std::optional<Loss> loss_;

 private:
  void choose_output();
  void read_data();
  void apply_factors(Dataset& data);
  /// The model with the extents that data and batch give it.
  void choose_batch();
  /// What an input is in a batch; throws if the samples do not fit.
  TensorInfo batch_info(TensorId id, const Feature& feature) const;
  static std::int64_t sample_size(const Feature& feature);
  /// Whether a feature's numbers can become elements of that type.
  static void check_elements(const Feature& feature, ElementType type);
};

}  // namespace halftone::cli
