#include <popart/customtransform.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include <popart/error.hpp>

#include "popart/convert.hpp"
#include "popart/transforms.hpp"

namespace popart {

namespace {

struct Transforms {
  std::mutex mutex;
  std::map<std::string, CustomTransform> byName;
};
Transforms& transforms() {
  static Transforms all;
  return all;
}

}  // namespace

void registerTransform(const std::string& name, CustomTransform transform) {
  Transforms& all = transforms();
  const std::lock_guard lock(all.mutex);
  if (all.byName.emplace(name, std::move(transform)).second) return;
  throw error("There is a transform '{}' already", name);
}

void detail::checkTransforms(const SessionOptions& options) {
  if (options.experimentalSettings.createHostTransferableTensorWithOffset) {
    throw error(
        "SessionOptions::experimentalSettings.createHostTransferableTensorWithOffset is not "
        "supported: host and device have one layout");
  }
  constexpr const char* points[] = {"Fwd0", "Fwd1", "Bwd0", "PreAlias", "Final"};
  Transforms& all = transforms();
  const std::lock_guard lock(all.mutex);
  for (const auto& [point, names] : options.experimentalSettings.customTransformApplierSettings) {
    if (std::find(std::begin(points), std::end(points), point) == std::end(points)) {
      throw error("There is no checkpoint '{}' for transforms: Fwd0, Fwd1, Bwd0, PreAlias, Final",
                  point);
    }
    for (const std::string& name : names) {
      if (all.byName.count(name) == 0) throw error("Could not find the transform '{}'", name);
    }
  }
}

void detail::applyTransforms(halftone::Graph& graph, const SessionOptions& options,
                             const char* point) {
  const auto& settings = options.experimentalSettings.customTransformApplierSettings;
  const auto wanted = settings.find(point);
  if (wanted == settings.end()) return;
  Transforms& all = transforms();
  for (const std::string& name : wanted->second) {
    CustomTransform transform;
    {
      const std::lock_guard lock(all.mutex);
      transform = all.byName.at(name);
    }
    translated<error>([&] { graph = transform(std::move(graph)); });
  }
}

}  // namespace popart
