#include "popart/operator_classes.hpp"

#include <algorithm>
#include <cctype>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/op/classes.gen.hpp>

namespace popart {

Graph& SubgraphOp::getCalledGraph() const {
  if (facts().called.empty()) throw error("{} calls no graph", debugName());
  return *facts().called.front();
}
Graph& IfOp::getThenGraph() const { return *facts().called.at(0); }
Graph& IfOp::getElseGraph() const { return *facts().called.at(1); }

int LoopOp::getTripCountValue() const {
  const Tensor* count =
      hasInput(getMaximumTripCountInIndex()) ? inTensor(getMaximumTripCountInIndex()) : nullptr;
  if (count == nullptr || !count->hasTensorData()) {
    throw error("{}: the number of passes is not known before the run", debugName());
  }
  const TensorData& data = *count->tensorData();
  return count->info.dataType() == DataType::INT64
             ? static_cast<int>(*static_cast<const int64_t*>(data.data()))
             : static_cast<int>(*static_cast<const int32_t*>(data.data()));
}
int LoopOp::getNumExplicitInputs() const { return facts().explicit_inputs; }
int LoopOp::getNumImplicitInputs() const {
  return input->n() - facts().explicit_inputs - getFirstInputInIndex();
}

VGraphId IpuCopyOp::getDestIpu() const { return facts().destination; }
std::map<TensorId, VGraphId> IpuCopyOp::getSourceIpus() const { return facts().sources; }
VGraphId IpuCopyOp::getSourceIpu(const TensorId& tensor) const {
  const auto found = facts().sources.find(tensor);
  if (found == facts().sources.end()) throw error("{} does not copy {}", debugName(), tensor);
  return found->second;
}
VGraphId IpuCopyOp::getSourceIpu() const {
  if (getMinSourceIpu() != getMaxSourceIpu()) {
    throw error("{} copies from several virtual graphs", debugName());
  }
  return getMinSourceIpu();
}
VGraphId IpuCopyOp::getMinSourceIpu() const {
  VGraphId least = facts().sources.begin()->second;
  for (const auto& [tensor, ipu] : facts().sources) least = std::min(least, ipu);
  return least;
}
VGraphId IpuCopyOp::getMaxSourceIpu() const {
  VGraphId most = facts().sources.begin()->second;
  for (const auto& [tensor, ipu] : facts().sources) most = std::max(most, ipu);
  return most;
}
PipelineStage IpuCopyOp::getDestPipelineStage() const { return facts().destination_stage; }

namespace {
ReductionType reductionOf(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name == "sum") return ReductionType::Sum;
  return name == "mean" ? ReductionType::Mean : ReductionType::NoReduction;
}
}  // namespace

ReductionType LossOp::getReductionType() const { return reductionOf(text("reduction", "Mean")); }
ReductionType L1GradOp::getReductionType() const { return reductionOf(text("reduction", "Mean")); }

int64_t StashOp::getStashSize() const { return facts().stash_size; }
int64_t RestoreOp::getStashSize() const { return facts().stash_size; }
TensorId HostBaseOp::getHostStreamTensorId() const { return facts().stream; }

}  // namespace popart
