#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace popart {

/// The name of a tensor: unique in its model.
using TensorId = std::string;
using OpId = int;
using OpName = std::string;
using OpType = std::string;
using OpDomain = std::string;
using OpVersion = unsigned;
using ReturnPeriod = int;
using SubgraphIndex = int;
using SubgraphPartIndex = int;
using Rank = int;
using PingPongPhase = int64_t;
using ExecutionPhase = int64_t;
using BatchSerializedPhase = int64_t;
using PipelineCycle = int64_t;
using VGraphId = int64_t;
using PipelineStage = int64_t;
using RemoteBufferId = int64_t;
using RemoteBufferIndex = int64_t;
using RandomReferenceId = int64_t;
using StashIndex = int64_t;
using InIndex = int;
using OutIndex = int;
using Shape = std::vector<int64_t>;
using ConvInputs = std::vector<TensorId>;
using ConvDilations = std::vector<int64_t>;
using ConvPads = std::vector<int64_t>;
using ConvStrides = std::vector<int64_t>;
using ConvTruncs = std::vector<int64_t>;
using MultiConvInputs = std::vector<ConvInputs>;
using MultiConvDilations = std::vector<ConvDilations>;
using MultiConvPads = std::vector<ConvPads>;
using MultiConvStrides = std::vector<ConvStrides>;

}  // namespace popart
