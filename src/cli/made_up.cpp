#include "cli/made_up.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include <halftone/base/split_mix.hpp>

namespace halftone::cli {

std::uint64_t MadeUp::bits() {
  const std::uint64_t bits = halftone::detail::mixed(state_);
  state_ += halftone::detail::mix_step;
  return bits;
}

AnyArray MadeUp::array(const TensorInfo& info, std::string_view input) {
  AnyArray array(info);
  const bool is_known = visit_type<AllTypes>(info.type, [&]<class T>() {
    for (T& element : array.values<T>()) {
      if constexpr (std::is_integral_v<T>) {
        element = static_cast<T>(bits() >> 63);
      } else {
        element = T(static_cast<float>(bits() >> 40) * 0x1p-24f);
      }
    }
  });
  if (!is_known) {
    fail(ErrorKind::unsupported, {.what = "elements of this type cannot be made up",
                                  .tensor = input,
                                  .found = name(info.type),
                                  .hint = "give the input with --input"});
  }
  return array;
}

TensorInfo of_replicas(const Graph& graph, TensorInfo info) {
  if (graph.replicas > 1) info.shape.insert(0, graph.replicas);
  return info;
}

void Sizes::learn(TensorId id, const TensorInfo& given) {
  for (const Symbol& symbol : graph_.symbols) {
    if (symbol.tensor == id && symbol.axis < given.rank()) {
      values_.push_back({std::string(graph_.text(symbol.name)), given.shape[symbol.axis]});
    }
  }
}

TensorInfo Sizes::complete(TensorId id) {
  TensorInfo info = graph_.info(id);
  if (!info.is_known()) {
    fail(ErrorKind::input, {.what = "the model does not say what this input is",
                            .tensor = graph_.name(id),
                            .hint = "give it with --input"});
  }
  for (std::size_t axis = 0; axis < info.rank(); ++axis) {
    if (info.shape[axis] < 0) info.shape[axis] = value(id, axis);
  }
  return info;
}

std::int64_t Sizes::value(TensorId id, std::size_t axis) {
  std::string_view name;
  for (const Symbol& symbol : graph_.symbols) {
    if (symbol.tensor == id && symbol.axis == axis) name = graph_.text(symbol.name);
  }
  const auto known = std::find_if(values_.begin(), values_.end(),
                                  [&](const Size& size) { return size.name == name; });
  if (!name.empty() && known != values_.end()) return known->value;
  const bool is_batch = axis == 0 && batch_ > 0;
  used_batch_ = used_batch_ || is_batch;
  const std::int64_t chosen = is_batch ? batch_ : 1;
  if (!name.empty()) values_.push_back({std::string(name), chosen});
  return chosen;
}

}  // namespace halftone::cli
