#include <halftone/session/weights.hpp>

#include <cstring>
#include <string>

#include <halftone/session/session.hpp>

#include "base/describe.hpp"

namespace halftone {

namespace {

Bytes copy_of(const void* data, std::size_t size) {
  const Storage storage = Storage::allocate(size);
  if (size > 0) std::memcpy(storage.data(), data, size);
  return Bytes(storage, storage.data(), size);
}

}  // namespace

HostWeights::HostWeights(const Graph& graph) {
  for (const TensorRecord& t : graph.tensors) {
    if (!is_variable(t) || t.name.empty()) continue;
    const std::string_view name = graph.text(t.name);
    weights_.push_back({{name.begin(), name.end()}, t.info, t.data});
  }
}

void HostWeights::from_host(Session& session) const {
  for (const Weight& weight : weights_) {
    if (weight.data.size() == 0) continue;
    session.set(detail::text_of(weight.name), AnyView{weight.info, weight.data.span().data()});
  }
}

void HostWeights::to_host(const Session& session) {
  for (Weight& weight : weights_) {
    const AnyView value = session.get(detail::text_of(weight.name));
    weight.data = copy_of(value.data, value.bytes());
  }
}

void HostWeights::read(const WeightsIo& io) const {
  for (const Weight& weight : weights_) {
    const std::string_view name = detail::text_of(weight.name);
    if (!io.contains(name)) continue;
    const AnyBuffer buffer = io.weight(name);
    if (buffer.info.bytes() != weight.info.bytes()) {
      fail(ErrorKind::input, {.what = "sizes (in bytes) of src and dst do not match",
                              .tensor = name,
                              .expected = std::to_string(weight.info.bytes()),
                              .found = std::to_string(buffer.info.bytes())});
    }
    if (weight.data.size() == 0) {
      if (weight.info.bytes() == 0) continue;
      fail(ErrorKind::usage, {.what = "the weight was not copied to the host yet", .tensor = name});
    }
    std::memcpy(buffer.data, weight.data.span().data(), weight.data.size());
  }
}

void HostWeights::write(const WeightsIo& io) {
  for (Weight& weight : weights_) {
    const std::string_view name = detail::text_of(weight.name);
    if (!io.contains(name)) continue;
    const AnyBuffer buffer = io.weight(name);
    if (buffer.info != weight.info) {
      fail(ErrorKind::input, {.what = "non matching tensor info",
                              .tensor = name,
                              .expected = detail::to_text(weight.info),
                              .found = detail::to_text(buffer.info)});
    }
    weight.data = copy_of(buffer.data, static_cast<std::size_t>(buffer.info.bytes()));
  }
}

void HostWeights::reset(const Graph& graph, bool ignore_unknown) {
  // Nothing is taken before all of it is known to fit.
  std::vector<std::pair<Weight*, const TensorRecord*>> found;
  for (const TensorRecord& t : graph.tensors) {
    if (!is_variable(t) || t.name.empty()) continue;
    const std::string_view name = graph.text(t.name);
    Weight* mine = nullptr;
    for (Weight& weight : weights_) {
      if (detail::text_of(weight.name) == name) mine = &weight;
    }
    if (mine == nullptr) {
      if (ignore_unknown) continue;
      fail(ErrorKind::input,
           {.what = "resetWeights, no tensor '" + std::string(name) + "' in tensors"});
    }
    if (mine->info != t.info) {
      fail(ErrorKind::input, {.what = "resetWeights, non matching tensor info",
                              .tensor = name,
                              .expected = detail::to_text(mine->info),
                              .found = detail::to_text(t.info)});
    }
    found.push_back({mine, &t});
  }
  for (const auto& [mine, other] : found) mine->data = other->data;
}

}  // namespace halftone
