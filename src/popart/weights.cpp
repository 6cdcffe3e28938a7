#include "popart/weights.hpp"

#include <algorithm>
#include <cstring>

#include "base/describe.hpp"
#include "popart/convert.hpp"

namespace popart::detail {

namespace {

halftone::Bytes copiedBytes(const halftone::AnyView& view) {
  const halftone::AnyArray copy = halftone::AnyArray::copy_of(view);
  return {copy.storage(), copy.data(), copy.bytes()};
}

}  // namespace

HostWeights::HostWeights(const halftone::Graph& graph) {
  for (const halftone::TensorRecord& t : graph.tensors) {
    if (!is_variable(t) || t.name.empty()) continue;
    weights_.push_back({TensorId(graph.text(t.name)), t.info, t.data});
  }
}

void HostWeights::fromHost(halftone::Session& session) const {
  for (const Weight& weight : weights_) {
    if (weight.data.size() == 0) continue;
    // A session plans again for other values than those that it has taken for constants.
    const halftone::AnyView now = session.get(weight.id);
    if (std::memcmp(now.data, weight.data.span().data(), weight.data.size()) == 0) continue;
    session.set(weight.id, halftone::AnyView{weight.info, weight.data.span().data()});
  }
}

void HostWeights::toHost(const halftone::Session& session) {
  for (Weight& weight : weights_) weight.data = copiedBytes(session.get(weight.id));
}

void HostWeights::read(const IWeightsIO& io) const {
  for (const Weight& weight : weights_) {
    if (!io.contains(weight.id)) continue;
    const MutableVoidData buffer = io.weight(weight.id);
    const halftone::TensorInfo info = toNative(buffer.info);
    if (info.bytes() != weight.info.bytes()) {
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "sizes (in bytes) of src and dst do not match",
                      .tensor = weight.id,
                      .expected = std::to_string(weight.info.bytes()),
                      .found = std::to_string(info.bytes())});
    }
    if (weight.data.size() == 0) {
      if (weight.info.bytes() == 0) continue;
      halftone::fail(halftone::ErrorKind::usage,
                     {.what = "the weight was not copied to the host yet", .tensor = weight.id});
    }
    std::memcpy(buffer.data, weight.data.span().data(), weight.data.size());
  }
}

void HostWeights::write(const IWeightsIO& io) {
  for (Weight& weight : weights_) {
    if (!io.contains(weight.id)) continue;
    const MutableVoidData buffer = io.weight(weight.id);
    const halftone::TensorInfo info = toNative(buffer.info);
    if (info != weight.info) {
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "non matching tensor info",
                      .tensor = weight.id,
                      .expected = halftone::detail::to_text(weight.info),
                      .found = halftone::detail::to_text(info)});
    }
    weight.data = copiedBytes({info, buffer.data});
  }
}

void HostWeights::reset(const halftone::Graph& graph, bool ignoreUnknown) {
  // Nothing is taken before all of it is known to fit.
  std::vector<std::pair<Weight*, const halftone::TensorRecord*>> found;
  for (const halftone::TensorRecord& t : graph.tensors) {
    if (!is_variable(t) || t.name.empty()) continue;
    const std::string_view name = graph.text(t.name);
    const auto mine = std::find_if(weights_.begin(), weights_.end(),
                                   [&](const Weight& weight) { return weight.id == name; });
    if (mine == weights_.end()) {
      if (ignoreUnknown) continue;
      halftone::fail(halftone::ErrorKind::input,
                     {.what = "resetWeights, no tensor '" + std::string(name) + "' in tensors"});
    }
    if (mine->info != t.info) {
      halftone::fail(halftone::ErrorKind::input, {.what = "resetWeights, non matching tensor info",
                                                  .tensor = name,
                                                  .expected = halftone::detail::to_text(mine->info),
                                                  .found = halftone::detail::to_text(t.info)});
    }
    found.emplace_back(&*mine, &t);
  }
  for (const auto& [mine, other] : found) mine->data = other->data;
}

}  // namespace popart::detail
