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

/// Between the names of scopes.
constexpr const char* sNameDelimiter = "/";

// Attributes of nodes that say how they are to be run.
constexpr const char* sVirtualGraphAttribute = "__ipu_number";
constexpr const char* sExecutionPhaseAttribute = "__execution_phase";
constexpr const char* sPipelineStageAttribute = "__pipeline_stage";
constexpr const char* sExecutionContextAttribute = "__execution_context";
constexpr const char* sRecomputeOutputAttribute = "__recompute_output_in_backward_pass";
constexpr const char* sOutputTensorLocationAttribute = "__output_tensor_location";
constexpr const char* sOutputTypeAttribute = "__output_type";
constexpr const char* sExcludePatternsAttribute = "__exclude_patterns";
constexpr const char* sSchedulePriority = "__schedule_priority";
constexpr const char* sInplaceOpNames = "__inplace_op_names";
constexpr const char* sInplaceOpPriorities = "__inplace_op_priorities";
constexpr const char* sPartialsTypeAttribute = "__partials_type";
constexpr const char* sAvailMemAttribute = "__available_memory";
constexpr const char* sEnableConvDitheringAttribute = "__enable_conv_dithering";
constexpr const char* sSerializeMatMulModeAttribute = "__serialize_matmul_mode";
constexpr const char* sSerializeMatMulFactorAttribute = "__serialize_matmul_factor";
constexpr const char* sSerializeMatMulPrecisionAttribute = "__serialize_matmul_precision";
constexpr const char* sSerializeMatMulMode_None = "none";
constexpr const char* sSerializeMatMulMode_InputChannels = "input_channels";
constexpr const char* sSerializeMatMulMode_ReducingDim = "reducing_dim";
constexpr const char* sSerializeMatMulMode_OutputChannels = "output_channels";
constexpr const char* sOutlineAttribute = "__outline";
constexpr const char* sDebugInfoId = "__debug_info_id";
constexpr const char* sCollectiveOperator = "__collectiveOperator";
constexpr const char* sCollectiveCommGroup = "__collectiveCommGroup";

// Metadata of models; those of one tensor are followed by "/" and its name.
constexpr const char* sTileSetAttribute = "__tile_set";
constexpr const char* sExchangeStrategyAttribute = "__exchange_strategy";
constexpr const char* sReplicatedStreamMode = "__replicated_stream_mode";
constexpr const char* sVariableSettings = "__variable_settings";
constexpr const char* sCommGroupType = "__comm_group_type";
constexpr const char* sCommGroupSize = "__comm_group_size";
constexpr const char* sReplicationFactor = "__replicationFactor";

}  // namespace popart
