#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <popart/names.hpp>
#include <popart/op/exchange/exchange.hpp>
#include <popart/replicatedstreammode.hpp>
#include <popart/tensorlocation.hpp>

namespace popart {

struct SessionOptions;

/// What a step returns of a tensor: its last value, every N-th, all, or their sum.
enum class AnchorReturnTypeId { Final = 0, EveryN, All, Sum };

std::ostream& operator<<(std::ostream& stream, AnchorReturnTypeId id);

/// "final", "all", "sum" (in any case), or "everyN" with the period N.
class AnchorReturnType {
 public:
  AnchorReturnType() : AnchorReturnType("All") {}
  AnchorReturnType(std::string artString, TileSet tileSet = TileSet::Compute,
                   ExchangeStrategy exchangeStrategy = ExchangeStrategy::JustInTime);
  AnchorReturnType(std::string artString, int returnPeriod, TileSet tileSet = TileSet::Compute,
                   ExchangeStrategy exchangeStrategy = ExchangeStrategy::JustInTime);

  AnchorReturnTypeId id() const { return id_; }
  /// The period; throws unless it is EveryN.
  int rp() const;
  std::size_t hash() const;
  const std::string& str() const { return text_; }
  const TileSet& tileSet() const { return tileSet_; }
  const ExchangeStrategy& exchangeStrategy() const { return exchangeStrategy_; }

 private:
  std::string text_;
  AnchorReturnTypeId id_;
  int period_ = 0;
  TileSet tileSet_;
  ExchangeStrategy exchangeStrategy_;
};

using AnchorReturnTypeMap = std::map<TensorId, AnchorReturnType>;

/// How an input gets to the device.
class InputSettings {
 public:
  InputSettings() = default;
  InputSettings(TileSet tileSet, ExchangeStrategy exchangeStrategy)
      : tileSet_(tileSet), exchangeStrategy_(exchangeStrategy) {}
  InputSettings(ReplicatedStreamMode mode) : mode_(mode) {}

  const TileSet& tileSet() const { return tileSet_; }
  const ExchangeStrategy& exchangeStrategy() const { return exchangeStrategy_; }
  ReplicatedStreamMode replicatedStreamMode() const { return mode_; }
  void setTileSet(TileSet tileSet) { tileSet_ = tileSet; }
  void setExchangeStrategy(ExchangeStrategy strategy) { exchangeStrategy_ = strategy; }
  void setReplicatedStreamMode(ReplicatedStreamMode mode) { mode_ = mode; }

 private:
  TileSet tileSet_ = TileSet::Compute;
  ExchangeStrategy exchangeStrategy_ = ExchangeStrategy::JustInTime;
  ReplicatedStreamMode mode_ = ReplicatedStreamMode::Replicate;
};

/// The number of batches in a step, and the tensors that a step returns.
class DataFlow {
 public:
  DataFlow() = default;
  DataFlow(int batchesPerStep);
  DataFlow(int batchesPerStep, const AnchorReturnTypeMap& anchorMap);
  DataFlow(int batchesPerStep, const std::vector<TensorId> anchorTensorIds,
           const AnchorReturnType& anchorReturnType = AnchorReturnType("All"));

  bool isAnchored(TensorId id) const { return anchors_.count(id) > 0; }
  bool isBatchCountingRequired() const { return !periods_.empty(); }
  const std::vector<TensorId>& anchors() const { return ids_; }
  const std::vector<int>& rps() const { return periods_; }
  int nAnchors() const { return static_cast<int>(ids_.size()); }
  int batchesPerStep() const { return batchesPerStep_; }
  void setBatchesPerStep(int batchesPerStep) { batchesPerStep_ = batchesPerStep; }
  AnchorReturnType art(TensorId anchorId) const;
  /// How often a replica hands out the tensor in a step.
  unsigned numOutFetchesPerRepl(const SessionOptions& options, const TensorId& anchorId) const;
  std::size_t hash() const;
  const AnchorReturnTypeMap& getAnchorReturnTypeMap() const { return anchors_; }

 private:
  void setAnchors(const AnchorReturnTypeMap& anchors);

  int batchesPerStep_ = 0;
  AnchorReturnTypeMap anchors_;
  std::vector<TensorId> ids_;
  std::vector<int> periods_;
};

}  // namespace popart

namespace std {
template <>
struct hash<popart::DataFlow> {
  std::size_t operator()(const popart::DataFlow& flow) const { return flow.hash(); }
};
template <>
struct hash<popart::AnchorReturnType> {
  std::size_t operator()(const popart::AnchorReturnType& type) const { return type.hash(); }
};
}  // namespace std
