#include "popart/synthetic.hpp"

#include <limits>
#include <span>

namespace popart::detail {

namespace {

/// The largest number of a type; half of it for double, whose whole range no distribution can have.
template <class T>
double largest() {
  if constexpr (std::is_same_v<T, halftone::half>) return 65504;
  if constexpr (std::is_same_v<T, double>) return std::numeric_limits<double>::max() / 2;
  return static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace

void SyntheticIo::fill(halftone::AnyArray& array) {
  if (mode_ == SyntheticDataMode::Zeros) return;
  halftone::visit_type<halftone::FloatTypes>(array.info().type, [&]<class T>() {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(-largest<T>(), largest<T>());
    for (T& value : array.values<T>()) {
      const bool isNormal = mode_ == SyntheticDataMode::RandomNormal;
      value = static_cast<T>(isNormal ? normal(random_) : uniform(random_));
    }
  });
}

halftone::AnyView SyntheticIo::in(std::string_view name, std::int64_t elements, bool) {
  const auto known = inputs_.find(name);
  if (known != inputs_.end() && known->second.info().elements() == elements) return known->second;
  halftone::AnyArray& array = inputs_[std::string(name)];
  array = halftone::AnyArray({session_.info(name).type, {elements}});
  fill(array);
  return array;
}

halftone::AnyBuffer SyntheticIo::out(std::string_view name, std::int64_t elements) {
  const halftone::TensorInfo info{session_.info(name).type, {elements}};
  halftone::AnyArray& array = dropped_[std::string(name)];
  if (array.info() != info) array = halftone::AnyArray(info);
  return {info, array.data()};
}

}  // namespace popart::detail
