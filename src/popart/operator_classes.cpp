#include "popart/operator_classes.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <ostream>
#include <string>

#include <halftone/base/window.hpp>
#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/names.hpp>
#include <popart/op/classes.gen.hpp>

namespace popart {

namespace {

/// 0, 1, ...
std::vector<int64_t> firstAxes(int64_t count) {
  std::vector<int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}
/// A shape without the batch and the channels.
Shape spatialOf(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }
/// The numbers of one of several windows, out of those of all; `missing` if there are none.
Shape partOf(const std::vector<int64_t>& all, std::size_t begin, std::size_t count,
             int64_t missing) {
  if (all.empty()) return Shape(count, missing);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

/// The padding before each spatial axis, or behind each.
Shape paddingOf(const Shape& data, const Shape& kernel, const Shape& strides,
                const Shape& dilations, const Shape& pads, const std::string& autoPad,
                bool isLower) {
  const auto names = halftone::names_of(halftone::AutoPad{});
  const auto found = std::find(names.begin(), names.end(), autoPad);
  const auto window = halftone::Window::over(
      data, {.kernel = halftone::Dims(kernel),
             .strides = halftone::Dims(strides),
             .dilations = halftone::Dims(dilations),
             .pads = halftone::Pads(pads),
             .auto_pad = static_cast<halftone::AutoPad>(found - names.begin())});
  Shape result;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    result.push_back(isLower ? window.pad_begin(d) : window.pad_end(d));
  }
  return result;
}

}  // namespace

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

std::vector<int64_t> SplitOp::getSplitSizes() const {
  std::vector<int64_t> sizes;
  for (const Tensor* part : output->tensors()) {
    sizes.push_back(part->info.dim(static_cast<int>(getAxis())));
  }
  return sizes;
}

std::vector<int64_t> ReduceOp::getAxes() const {
  std::vector<int64_t> axes = integers("axes", 1);
  const int64_t rank = inRank(getInIndex());
  if (axes.empty() && integer("noop_with_empty_axes", 0) == 0) axes = firstAxes(rank);
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}
std::vector<int64_t> BaseSliceOp::getAxes() const {
  const std::vector<int64_t> axes = integers("axes", getAxesInIndex());
  return axes.empty() ? firstAxes(static_cast<int64_t>(getStarts().size())) : axes;
}
Shape TransposeBaseOp::getPerm() const {
  Shape axes = integers("perm");
  if (axes.empty()) {
    axes = firstAxes(inRank(getInIndex()));
    std::reverse(axes.begin(), axes.end());
  }
  return axes;
}

float BasePadOp::getPadValue() const { return number("value", 2, 0); }
bool BasePadOp::padSizeZero() const {
  const std::vector<int64_t> pads = getPads();
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
}

MatMulBaseOp::SerialiseSettings MatMulBaseOp::getSerialiseSettings() const {
  using Mode = SerialiseSettings::Mode;
  const std::string name = text(sSerializeMatMulModeAttribute, sSerializeMatMulMode_None);
  return {.mode = name == sSerializeMatMulMode_InputChannels    ? Mode::InputChannels
                  : name == sSerializeMatMulMode_ReducingDim    ? Mode::ReducingDim
                  : name == sSerializeMatMulMode_OutputChannels ? Mode::OutputChannels
                                                                : Mode::None,
          .factor = integer(sSerializeMatMulFactorAttribute, 0),
          .keep_precision = integer(sSerializeMatMulPrecisionAttribute, 0) != 0};
}

uint32_t RandomBaseOp::getSeedModifier() const {
  for (const auto& [index, tensor] : input->tensorMap()) {
    const Op* const maker = tensor->getProducerUnsafe();
    if (maker == nullptr || !maker->isConvertibleTo<ModifyRandomSeedOp>()) continue;
    for (const auto& [key, value] : maker->getAttributes()) {
      if (key == "number") return static_cast<uint32_t>(std::stoul(value));
    }
  }
  return 0;
}

float DropoutBaseOp::getRatio() const { return number("ratio", 1, 0.5f); }

// --- windows --------------------------------------------------------------------------------------

Shape HasReceptiveFieldOp::getStrides() const {
  return partOf(integers("strides"), 0, getSpatialK().size(), 1);
}
std::vector<int64_t> HasReceptiveFieldOp::padding(bool isLower) const {
  const Shape kernel = getSpatialK();
  return paddingOf(spatialOf(inShape(getInIndex())), kernel, getStrides(),
                   partOf(integers("dilations"), 0, kernel.size(), 1), integers("pads"),
                   text("auto_pad", "NOTSET"), isLower);
}

Shape MultiConvBaseOp::getSpatialD(int conv) const {
  return spatialOf(inShape(getDataInIndex(conv)));
}
Shape MultiConvBaseOp::getSpatialK(int conv) const {
  return spatialOf(inShape(getWeightsInIndex(conv)));
}
std::size_t MultiConvBaseOp::axesBefore(int conv) const {
  int64_t axes = 0;
  for (int before = 0; before < conv; ++before) axes += getNSpatialDims(before);
  return static_cast<std::size_t>(axes);
}
Shape MultiConvBaseOp::getStrides(int64_t conv) const {
  const auto c = static_cast<int>(conv);
  return partOf(integers("strides"), axesBefore(c), getSpatialK(c).size(), 1);
}
Shape MultiConvBaseOp::getDilations(int64_t conv) const {
  const auto c = static_cast<int>(conv);
  return partOf(integers("dilations"), axesBefore(c), getSpatialK(c).size(), 1);
}
Shape MultiConvBaseOp::padding(int conv, bool isLower) const {
  const Shape kernel = getSpatialK(conv);
  return paddingOf(getSpatialD(conv), kernel, getStrides(conv), getDilations(conv),
                   partOf(integers("pads"), 2 * axesBefore(conv), 2 * kernel.size(), 0),
                   text("auto_pad", "NOTSET"), isLower);
}
Shape MultiConvBaseOp::getPads(int64_t conv) const {
  Shape pads = lowerPads(static_cast<int>(conv));
  const Shape behind = upperPads(static_cast<int>(conv));
  pads.insert(pads.end(), behind.begin(), behind.end());
  return pads;
}
ConvParameters MultiConvBaseOp::getParameters(int conv) const {
  const Shape none(getSpatialK(conv).size(), 0);
  const std::size_t axes = none.size(), before = axesBefore(conv);
  const std::vector<bool> unflipped(none.size(), false);
  return {.type = inInfo(getDataInIndex(conv)).dataType(),
          .batchSize = inShape(getDataInIndex(conv))[0],
          .numInChannelsPerGroup = getNInChans(conv) / getGroups(conv),
          .numOutChannelsPerGroup = getNOutChans(conv) / getGroups(conv),
          .numGroups = getGroups(conv),
          .inputShape = getSpatialD(conv),
          .kernelShape = getSpatialK(conv),
          .inputTransformation = {none, none, partOf(integers("inDilations"), before, axes, 1),
                                  lowerPads(conv), upperPads(conv), unflipped},
          .kernelTransformation = {none, none, getDilations(conv), none, none, unflipped},
          .outputTransformation = {none, none, getStrides(conv),
                                   partOf(integers("outPads"), 2 * before, axes, 0),
                                   partOf(integers("outPads"), 2 * before + axes, axes, 0)}};
}

// --- Resize ---------------------------------------------------------------------------------------

std::ostream& operator<<(std::ostream& stream, const ResizeMode& mode) {
  constexpr const char* names[] = {"nearest", "linear", "cubic", "N"};
  return stream << names[static_cast<int>(mode)];
}

namespace {

/// The place of a name in the order of an enumeration; the last one for others.
template <class Enumeration, std::size_t count>
Enumeration named(const std::string& name, const char* const (&names)[count]) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  return static_cast<Enumeration>(found - std::begin(names));
}

}  // namespace

ResizeMode ResizeOp::getMode() const {
  return named<ResizeMode>(text("mode", "nearest"), {"nearest", "linear", "cubic"});
}
ResizeNearestMode ResizeOp::getNearestMode() const {
  return named<ResizeNearestMode>(
      text("nearest_mode", "round_prefer_floor"),
      {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "pytorch"});
}
ResizeCoordinateTransformationMode ResizeOp::getCoordinateTransformationMode() const {
  return named<ResizeCoordinateTransformationMode>(
      text("coordinate_transformation_mode", "half_pixel"),
      {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"});
}
std::vector<float> ResizeOp::getScales() const {
  std::vector<float> scales;
  const Shape& in = inShape(getInIndex());
  const Shape& out = outShape(getOutIndex());
  for (std::size_t i = 0; i < in.size(); ++i) {
    scales.push_back(static_cast<float>(out[i]) / static_cast<float>(in[i]));
  }
  return scales;
}

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
