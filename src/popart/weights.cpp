#include "popart/weights.hpp"

#include <cstring>

#include "base/describe.hpp"
#include "exec/variables.hpp"
#include "popart/convert.hpp"

namespace popart::detail {

void readWeights(const HostWeights& weights, const IWeightsIO& io) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const TensorId id(weights.name(i));
    if (!io.contains(id)) continue;
    const MutableVoidData buffer = io.weight(id);
    const halftone::TensorInfo info = toNative(buffer.info);
    const halftone::AnyView value = weights[i];
    if (info.bytes() != value.info.bytes()) {
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "sizes (in bytes) of src and dst do not match",
                      .tensor = id,
                      .expected = std::to_string(value.info.bytes()),
                      .found = std::to_string(info.bytes())});
    }
    if (value.info.bytes() == 0) continue;
    if (value.data == nullptr) {
      halftone::fail(halftone::ErrorKind::usage,
                     {.what = "the weight was not copied to the host yet", .tensor = id});
    }
    std::memcpy(buffer.data, value.data, value.bytes());
  }
}

void writeWeights(HostWeights& weights, const IWeightsIO& io) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const TensorId id(weights.name(i));
    if (!io.contains(id)) continue;
    const MutableVoidData buffer = io.weight(id);
    const halftone::TensorInfo info = toNative(buffer.info);
    if (info != weights.info(i)) {
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "non matching tensor info",
                      .tensor = id,
                      .expected = halftone::detail::to_text(weights.info(i)),
                      .found = halftone::detail::to_text(info)});
    }
    weights.set(i, halftone::AnyView{info, buffer.data});
  }
}

void resetWeights(HostWeights& weights, const halftone::Graph& graph, bool ignoreUnknown) {
  // Nothing is taken before all of it is known to fit.
  std::vector<std::pair<std::size_t, const halftone::TensorRecord*>> found;
  for (const halftone::TensorRecord& t : graph.tensors) {
    if (!is_variable(t) || t.name.empty()) continue;
    const std::string_view name = graph.text(t.name);
    const std::size_t mine = weights.find(name);
    if (mine == weights.size()) {
      if (ignoreUnknown) continue;
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "resetWeights, no tensor '" + std::string(name) + "' in tensors"});
    }
    const auto id = static_cast<halftone::TensorId>(&t - graph.tensors.data());
    const halftone::TensorInfo info = halftone::VariableLayout(graph, id).host();
    if (weights.info(mine) != info) {
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "resetWeights, non matching tensor info",
                      .tensor = name,
                      .expected = halftone::detail::to_text(weights.info(mine)),
                      .found = halftone::detail::to_text(info)});
    }
    found.emplace_back(mine, &t);
  }
  for (const auto& [mine, other] : found) weights.set(mine, other->data);
}

}  // namespace popart::detail
