#include <popart/dataflow.hpp>

#include <algorithm>
#include <functional>
#include <ostream>

#include <halftone/session/data_flow.hpp>
#include <popart/error.hpp>
#include <popart/inputshapeinfo.hpp>
#include <popart/sessionoptions.hpp>

#include "popart/convert.hpp"
#include "popart/options.hpp"

namespace popart {

namespace {

AnchorReturnTypeId parseId(const std::string& text) {
  std::string lower = text;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower == "all") return AnchorReturnTypeId::All;
  if (lower == "everyn") return AnchorReturnTypeId::EveryN;
  if (lower == "final") return AnchorReturnTypeId::Final;
  if (lower == "sum") return AnchorReturnTypeId::Sum;
  halftone::fail(halftone::ErrorKind::usage, {.what = "Invalid anchor return type ID supplied",
                                              .expected = "all, everyn, final or sum",
                                              .found = text});
}

void checkPeriod(int period, int batches) {
  const std::string found = std::to_string(period), most = std::to_string(batches);
  if (period > batches) {
    halftone::fail(halftone::ErrorKind::usage,
                   {.what = "Return period must be <= to the number of batches per step",
                    .expected = most + " at most",
                    .found = found});
  }
  if (batches % period != 0) {
    halftone::fail(halftone::ErrorKind::usage,
                   {.what = "Return period must be a factor of the number of batches per step",
                    .expected = "a factor of " + most,
                    .found = found});
  }
}

}  // namespace

void detail::checkBatches(int batchesPerStep) {
  if (batchesPerStep > 0) return;
  halftone::fail(halftone::ErrorKind::usage,
                 {.what = "'Batches per step' must be greater than zero",
                  .found = std::to_string(batchesPerStep)});
}

std::ostream& operator<<(std::ostream& stream, AnchorReturnTypeId id) {
  constexpr const char* names[] = {"Final", "EveryN", "All", "Sum"};
  return stream << names[static_cast<int>(id)];
}
std::ostream& operator<<(std::ostream& stream, const ReplicatedStreamMode& mode) {
  return stream << (mode == ReplicatedStreamMode::Replicate ? "Replicate" : "Broadcast");
}
std::ostream& operator<<(std::ostream& stream, const ExchangeStrategy& strategy) {
  constexpr const char* names[] = {"JustInTime", "OverlapInnerLoop", "OverlapLoops", "OverlapStep",
                                   "N"};
  return stream << names[static_cast<int>(strategy)];
}
std::ostream& operator<<(std::ostream& stream, CommGroupType type) {
  constexpr const char* names[] = {"All", "Consecutive", "Orthogonal", "None", "N"};
  return stream << names[static_cast<int>(type)];
}
std::ostream& operator<<(std::ostream& stream, const CommGroup& group) {
  return stream << "CommGroup(type=" << group.type
                << ", replicaGroupSize=" << group.replicaGroupSize << ")";
}

AnchorReturnType::AnchorReturnType(std::string artString, TileSet tileSet,
                                   ExchangeStrategy exchangeStrategy)
    : text_(std::move(artString)),
      id_(detail::translated<error>([&] { return parseId(text_); })),
      tileSet_(tileSet),
      exchangeStrategy_(exchangeStrategy) {
  if (id_ == AnchorReturnTypeId::EveryN) {
    throw error("Must specify return period with option 'EVERYN'");
  }
}

AnchorReturnType::AnchorReturnType(std::string artString, int returnPeriod, TileSet tileSet,
                                   ExchangeStrategy exchangeStrategy)
    : text_(std::move(artString)),
      id_(detail::translated<error>([&] { return parseId(text_); })),
      period_(returnPeriod),
      tileSet_(tileSet),
      exchangeStrategy_(exchangeStrategy) {
  if (id_ != AnchorReturnTypeId::EveryN) {
    throw error("A return period should not be supplied for this anchor return type");
  }
  if (returnPeriod <= 0) throw error("Anchor return period must be greater than zero");
}

int AnchorReturnType::rp() const {
  if (id_ != AnchorReturnTypeId::EveryN) {
    throw error("A return period should not be supplied for this anchor return type");
  }
  return period_;
}

std::size_t AnchorReturnType::hash() const {
  return std::hash<int>()(static_cast<int>(id_)) * 31 + std::hash<int>()(period_) * 7 +
         std::hash<int>()(static_cast<int>(tileSet_) * 8 + static_cast<int>(exchangeStrategy_));
}

DataFlow::DataFlow(int batchesPerStep) : batchesPerStep_(batchesPerStep) {}

DataFlow::DataFlow(int batchesPerStep, const AnchorReturnTypeMap& anchorMap)
    : batchesPerStep_(batchesPerStep) {
  setAnchors(anchorMap);
}

DataFlow::DataFlow(int batchesPerStep, const std::vector<TensorId> anchorTensorIds,
                   const AnchorReturnType& anchorReturnType)
    : batchesPerStep_(batchesPerStep) {
  AnchorReturnTypeMap map;
  for (const TensorId& id : anchorTensorIds) map.emplace(id, anchorReturnType);
  setAnchors(map);
}

void DataFlow::setAnchors(const AnchorReturnTypeMap& anchors) {
  detail::translated<error>([&] { detail::checkBatches(batchesPerStep_); });
  for (const auto& [id, type] : anchors) {
    if (type.id() == AnchorReturnTypeId::EveryN) {
      detail::translated<error>([&] { checkPeriod(type.rp(), batchesPerStep_); });
      if (std::find(periods_.begin(), periods_.end(), type.rp()) == periods_.end()) {
        periods_.push_back(type.rp());
      }
    }
    ids_.push_back(id);
  }
  anchors_ = anchors;
}

AnchorReturnType DataFlow::art(TensorId anchorId) const {
  const auto found = anchors_.find(anchorId);
  if (found == anchors_.end()) throw error("Tensor {} is not an anchor", anchorId);
  return found->second;
}

unsigned DataFlow::numOutFetchesPerRepl(const SessionOptions& options,
                                        const TensorId& anchorId) const {
  const AnchorReturnType type = art(anchorId);
  const int64_t accumulation = options.enableGradientAccumulation ? options.accumulationFactor : 1;
  const halftone::DataFlow flow{batchesPerStep_, accumulation};
  switch (type.id()) {
    case AnchorReturnTypeId::All:
      return static_cast<unsigned>(flow.returned(halftone::Return::all, 1));
    case AnchorReturnTypeId::EveryN:
      return static_cast<unsigned>(flow.returned(halftone::Return::every_n, type.rp()));
    case AnchorReturnTypeId::Final:
    case AnchorReturnTypeId::Sum:
      break;
  }
  return 1;
}

std::size_t DataFlow::hash() const {
  std::size_t value = std::hash<int>()(batchesPerStep_);
  for (const auto& [id, type] : anchors_) {
    value = value * 31 + std::hash<std::string>()(id) + type.hash();
  }
  return value;
}

// --- shapes of inputs
// ------------------------------------------------------------------------------

const TensorInfo& InputShapeInfo::get(TensorId id) const {
  const auto found = infos_.find(id);
  if (found == infos_.end()) throw error("No input shape info for {}", id);
  return found->second;
}

std::vector<TensorId> InputShapeInfo::getAllTensorIds() const {
  std::vector<TensorId> ids;
  for (const auto& [id, info] : infos_) ids.push_back(id);
  return ids;
}

}  // namespace popart
