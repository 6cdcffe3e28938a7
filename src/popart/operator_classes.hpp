#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <popart/op.hpp>

namespace popart::detail {

/// What is known of a node beside its inputs, outputs and settings.
struct OpFacts {
  std::vector<std::pair<std::string, std::string>> attributes;  ///< values as JSON
  std::vector<Graph*> called;
  std::vector<InIndex> modified;                      ///< inputs that it writes to
  std::vector<std::pair<InIndex, OutIndex>> aliases;  ///< outputs in the memory of inputs
  bool has_effect = false;
  std::map<TensorId, VGraphId> sources;  ///< of an IpuCopy
  VGraphId destination = -1;
  PipelineStage destination_stage = -1;
  int64_t stash_size = 0;   ///< of Stash and Restore
  TensorId stream;          ///< of HostLoad and HostStore
  int explicit_inputs = 0;  ///< of a Loop
};

/// An operator of its class; Op itself if PopART has none.
std::unique_ptr<Op> makeOp(const OperatorIdentifier& opid, const Op::Settings& settings);

}  // namespace popart::detail
