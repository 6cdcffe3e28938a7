#include "session/host_weights.hpp"

#include <algorithm>
#include <cstring>

#include "exec/variables.hpp"

namespace halftone::detail {

HostWeights::HostWeights(const Graph& graph) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (!is_variable(t) || t.name.empty()) continue;
    const VariableLayout layout(graph, static_cast<TensorId>(i));
    weights_.push_back({.name = std::string(graph.text(t.name)),
                        .settable = layout.host(),
                        .info = layout.host(),
                        .data = t.data,
                        .is_of_replicas = layout.returns_all()});
  }
}

std::size_t HostWeights::find(std::string_view name) const {
  const auto found = std::find_if(weights_.begin(), weights_.end(),
                                  [&](const Weight& weight) { return weight.name == name; });
  return static_cast<std::size_t>(found - weights_.begin());
}

AnyView HostWeights::operator[](std::size_t i) const {
  const Weight& weight = weights_[i];
  const bool has_value = weight.data.size() != 0 || weight.info.bytes() == 0;
  return {weight.info, has_value ? weight.data.span().data() : nullptr};
}

void HostWeights::set(std::size_t i, const AnyView& value) {
  const AnyArray copy = AnyArray::copy_of(value);
  weights_[i].info = value.info;
  set(i, Bytes(copy.storage(), copy.data(), copy.bytes()));
}

void HostWeights::from_host(Session& session) const {
  for (const Weight& weight : weights_) {
    if (weight.data.size() == 0 || weight.is_of_replicas) continue;
    // A session plans again for other values than those that it has taken for constants.
    const AnyView now = session.get(weight.name);
    if (std::memcmp(now.data, weight.data.span().data(), weight.data.size()) == 0) continue;
    session.set(weight.name, AnyView{weight.settable, weight.data.span().data()});
  }
}

void HostWeights::complete(const Session& session) {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].data.size() == 0) set(i, session.get(weights_[i].name));
  }
}

void HostWeights::to_host(const Session& session) {
  for (std::size_t i = 0; i < weights_.size(); ++i) set(i, session.get(weights_[i].name));
  is_in_sync_ = true;
}

}  // namespace halftone::detail
