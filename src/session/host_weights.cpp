#include "session/host_weights.hpp"

#include <algorithm>
#include <cstring>

namespace halftone::detail {

HostWeights::HostWeights(const Graph& graph) {
  for (const TensorRecord& t : graph.tensors) {
    if (is_variable(t) && !t.name.empty()) {
      weights_.push_back({std::string(graph.text(t.name)), t.info, t.data});
    }
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
  set(i, Bytes(copy.storage(), copy.data(), copy.bytes()));
}

void HostWeights::from_host(Session& session) const {
  for (const Weight& weight : weights_) {
    if (weight.data.size() == 0) continue;
    // A session plans again for other values than those that it has taken for constants.
    const AnyView now = session.get(weight.name);
    if (std::memcmp(now.data, weight.data.span().data(), weight.data.size()) == 0) continue;
    session.set(weight.name, AnyView{weight.info, weight.data.span().data()});
  }
}

void HostWeights::to_host(const Session& session) {
  for (std::size_t i = 0; i < weights_.size(); ++i) set(i, session.get(weights_[i].name));
  is_in_sync_ = true;
}

}  // namespace halftone::detail
