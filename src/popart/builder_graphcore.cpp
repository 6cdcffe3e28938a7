#include <popart/builder.hpp>

#include "popart/builder_impl.hpp"

// The methods of ai.graphcore that are more than a list of attributes.

namespace popart {

namespace {

std::string nameOf(ReductionType reduction) {
  switch (reduction) {
    case ReductionType::Sum:
      return "Sum";
    case ReductionType::Mean:
      return "Mean";
    case ReductionType::NoReduction:
      return "None";
  }
  throw error("Unknown reduction type");
}

std::string nameOf(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::Sum:
      return "sum";
    case ScatterReduction::Max:
      return "max";
    case ScatterReduction::Min:
      return "min";
    case ScatterReduction::Mul:
      return "mul";
    case ScatterReduction::None:
      return "none";
  }
  throw error("Unknown reduction type");
}

nonstd::optional<int64_t> numberOf(const nonstd::optional<CollectiveOperator>& collective) {
  if (!collective) return {};
  return static_cast<int64_t>(*collective);
}

nonstd::optional<std::vector<int64_t>> numbersOf(const nonstd::optional<CommGroup>& group) {
  if (!group) return {};
  return std::vector<int64_t>{static_cast<int64_t>(group->type),
                              static_cast<int64_t>(group->replicaGroupSize)};
}

/// The lists of several convolutions, one behind the other.
std::vector<int64_t> flat(const std::vector<std::vector<int64_t>>& lists, const char* what,
                          std::size_t convolutions) {
  if (!lists.empty() && lists.size() != convolutions) {
    throw error(
        "For MultiConvOp, number of {} parameter sets ({}) does not match the number of "
        "input sets ({})",
        what, lists.size(), convolutions);
  }
  std::vector<int64_t> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

template <class T>
void checkCount(const std::vector<T>& list, const char* what, std::size_t convolutions) {
  if (!list.empty() && list.size() != convolutions) {
    throw error(
        "For MultiConvOp, number of {} parameter sets ({}) does not match the number of "
        "input sets ({})",
        what, list.size(), convolutions);
  }
}

}  // namespace

TensorId AiGraphcoreOpset1::copyvarupdate(const Ids& args, const DebugContext& debugContext) {
  if (!args.empty() && !impl_->isInitializer(args.front())) {
    throw error("CopyVarUpdate: tensor '{}' is not an initializer", args.front());
  }
  return output("CopyVarUpdate", args, {}, debugContext);
}

DomainOpSet::Ids AiGraphcoreOpset1::multiconv(
    const MultiConvInputs& tensors, const MultiConvDilations& dilations,
    const MultiConvDilations& inDilations, const MultiConvPads& pads, const MultiConvPads& outPads,
    const MultiConvStrides& strides, const Floats& availableMemoryProportions,
    const Strings& partialsTypes, const nonstd::optional<std::string> planType,
    const nonstd::optional<int> perConvReservedTiles, const nonstd::optional<float> cycleBackOff,
    const Ints enableConvDithering, const DebugContext& debugContext) {
  const std::size_t count = tensors.size();
  if (count < 1) {
    throw error("MultiConvOp has no input tensors. Provide at least one set of inputs");
  }
  Ids args;
  for (const ConvInputs& inputs : tensors) {
    if (inputs.size() < 2) {
      throw error(
          "Each convolution of MultiConvOp must have at least two inputs - data and "
          "weights");
    }
    if (inputs.size() > 3) {
      throw error(
          "Each convolution of MultiConvOp can have at most three inputs - data, weights, "
          "and bias");
    }
    args.insert(args.end(), inputs.begin(), inputs.end());
    if (inputs.size() == 2) args.emplace_back();
  }
  checkCount(availableMemoryProportions, "availableMemoryProportions", count);
  checkCount(partialsTypes, "partialsTypes", count);
  checkCount(enableConvDithering, "enableConvDithering", count);
  nonstd::optional<int64_t> tiles;
  if (perConvReservedTiles) tiles = *perConvReservedTiles;
  return outputs(
      "MultiConv", args, static_cast<unsigned>(count),
      {flat(strides, "strides", count), flat(pads, "pads", count), flat(outPads, "outPads", count),
       flat(dilations, "dilations", count), flat(inDilations, "inDilations", count), planType,
       tiles, cycleBackOff, availableMemoryProportions, partialsTypes, enableConvDithering,
       static_cast<int64_t>(count)},
      debugContext);
}

TensorId AiGraphcoreOpset1::printtensor(const Ids& args, int64_t print_gradient,
                                        const DebugContext& debugContext, const std::string& title,
                                        const int summariseThreshold, const int edgeItems,
                                        const int maxLineWidth, const int digits,
                                        const int floatFormat, const char separator,
                                        const char openBracket, const char closeBracket) {
  return output("PrintTensor", args,
                {print_gradient, title, int64_t{summariseThreshold}, int64_t{edgeItems},
                 int64_t{maxLineWidth}, int64_t{digits}, int64_t{floatFormat}, int64_t{separator},
                 int64_t{openBracket}, int64_t{closeBracket}},
                debugContext);
}

TensorId AiGraphcoreOpset1::init(Ints shape, int64_t data_type, int64_t init_type,
                                 int64_t batch_axis, const DebugContext& debugContext) {
  constexpr int64_t activation_or_gradient = 0;  // PopART's TensorType::ActGrad
  return output("Init", {}, {shape, data_type, init_type, activation_or_gradient, batch_axis},
                debugContext);
}
TensorId AiGraphcoreOpset1::init(Ints shape, int64_t data_type, int64_t init_type,
                                 const DebugContext& debugContext) {
  return init(std::move(shape), data_type, init_type, int64_t{-1}, debugContext);
}

TensorId AiGraphcoreOpset1::replicatedallreduce(const Ids& args,
                                                const nonstd::optional<Ints>& commGroup,
                                                const DebugContext& debugContext) {
  return output("ReplicatedAllReduce", args, {{}, commGroup}, debugContext);
}
TensorId AiGraphcoreOpset1::replicatedallreduce(
    const Ids& args, const nonstd::optional<CollectiveOperator>& collectiveOperator,
    const nonstd::optional<CommGroup>& commGroup, const DebugContext& debugContext) {
  return output("ReplicatedAllReduce", args, {numberOf(collectiveOperator), numbersOf(commGroup)},
                debugContext);
}
TensorId AiGraphcoreOpset1::replicatedreducescatter(
    const Ids& args, const nonstd::optional<CollectiveOperator>& collectiveOperator,
    const nonstd::optional<CommGroup>& commGroup, const DebugContext& debugContext) {
  return output("ReplicatedReduceScatter", args,
                {numberOf(collectiveOperator), numbersOf(commGroup)}, debugContext);
}

TensorId AiGraphcoreOpset1::l1loss(const Ids& args, const float lambda,
                                   const ReductionType reduction,
                                   const DebugContext& debugContext) {
  return output("L1", args, {lambda, nameOf(reduction)}, debugContext);
}
TensorId AiGraphcoreOpset1::nllloss(const Ids& args, const ReductionType reduction,
                                    const nonstd::optional<int> ignoreIndex,
                                    bool inputIsLogProbability, const DebugContext& debugContext) {
  nonstd::optional<int64_t> ignored;
  if (ignoreIndex) ignored = *ignoreIndex;
  return output("Nll", args, {nameOf(reduction), ignored, int64_t{inputIsLogProbability}},
                debugContext);
}
TensorId AiGraphcoreOpset1::identityloss(const Ids& args, const ReductionType reduction,
                                         const DebugContext& debugContext) {
  return output("IdentityLoss", args, {nameOf(reduction)}, debugContext);
}
TensorId AiGraphcoreOpset1::ctcloss(const Ids& args, const ReductionType reduction,
                                    const unsigned blank, const std::string& outDataType,
                                    const bool zeroInfinity, const DebugContext& debugContext) {
  return _ctcloss(args, reduction, blank, outDataType, zeroInfinity, debugContext).front();
}
DomainOpSet::Ids AiGraphcoreOpset1::_ctcloss(const Ids& args, const ReductionType reduction,
                                             const unsigned blank, const std::string& outDataType,
                                             const bool zeroInfinity,
                                             const DebugContext& debugContext) {
  return outputs(
      "Ctc", args, 2,
      {nameOf(reduction), int64_t{blank}, elementTypeNumber(outDataType), int64_t{zeroInfinity}},
      debugContext);
}

TensorId AiGraphcoreOpset1::reshape(const TensorId& arg, const Ints& shape,
                                    const DebugContext& debugContext) {
  return output("Reshape", {arg}, {shape}, debugContext);
}

void AiGraphcoreOpset1::abort(const Ids& args, const DebugContext& debugContext) {
  // ONNX has no nodes without inputs and outputs: an absent input is one.
  outputs("Abort", args.empty() ? Ids{""} : args, 0, {}, debugContext);
}

TensorId AiGraphcoreOpset1::groupedscatterreduce(const Ids& args, int64_t axis_size, int64_t axis,
                                                 ScatterReduction reduction, int64_t group_size,
                                                 int64_t enable_index_broadcast,
                                                 const DebugContext& debugContext) {
  return output("ScatterReduce", args,
                {axis_size, axis, nameOf(reduction), group_size, enable_index_broadcast},
                debugContext);
}
TensorId AiGraphcoreOpset1::scatterreduce(const Ids& args, int64_t axis_size, int64_t axis,
                                          ScatterReduction reduction,
                                          int64_t enable_index_broadcast,
                                          const DebugContext& debugContext) {
  return groupedscatterreduce(args, axis_size, axis, reduction, 1, enable_index_broadcast,
                              debugContext);
}

}  // namespace popart
