#pragma once

#include <cstdint>

#include <halftone/base/vector.hpp>
#include <halftone/transform/fold_batch_norm.hpp>

namespace halftone::detail {

/// The weights and the bias of a convolution that takes in a batch normalization, which static
/// programs compute before the first run.
struct FoldedNormalization {
  float epsilon = 0;

  static constexpr OpId id{"halftone", "FoldedNormalization", 1};
  static constexpr Signature signature = "w gamma beta mean variance b? -> w_folded b_folded";
  using types = TypeList<TypeList<float>>;

  constexpr void attributes(auto&& visit) { visit("epsilon", epsilon); }
  static constexpr Inferred infer(TensorInfo w, TensorInfo gamma, TensorInfo, TensorInfo,
                                  TensorInfo) {
    return Vector<TensorInfo>{w, gamma};
  }
  template <class T>
  void kernel(View<const T> w, View<const T> gamma, View<const T> beta, View<const T> mean,
              View<const T> variance, View<const T> b, View<T> w_folded, View<T> b_folded) const {
    const std::int64_t filters = w.extent(0), size = filters == 0 ? 0 : w.size() / filters;
    for (std::int64_t f = 0; f < filters; ++f) {
      const FoldedFilter filter(b ? b.data[f] : 0, gamma.data[f], beta.data[f], mean.data[f],
                                variance.data[f], epsilon);
      b_folded.data[f] = filter.bias;
      for (std::int64_t i = f * size; i < (f + 1) * size; ++i) {
        w_folded.data[i] = w.data[i] * filter.scale;
      }
    }
  }
};

}  // namespace halftone::detail
