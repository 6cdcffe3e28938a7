#include <halftone/composed.hpp>

#include <string>
#include <string_view>

#include "base/describe.hpp"

namespace halftone {
namespace op {

AnyTensor ipu_copy(AnyTensor x, std::int32_t destination) {
  const AnyTensor y = identity(x);
  x.graph->nodes.back().place.ipu = static_cast<std::int16_t>(destination);
  return y;
}

AnyTensor interpolate(AnyTensor x, std::span<const float> scale_factor, const Resize& how) {
  const auto count = static_cast<std::int64_t>(scale_factor.size());
  return resize(x, none, constant(*x.graph, scale_factor, {count}), how);
}

AnyTensor gather_or_zero(AnyTensor x, AnyTensor indices, std::int64_t axis) {
  const TensorInfo data = x.info(), wanted = indices.info();
  const std::size_t at = normalized_axis(axis, data.rank());
  if (!data.is_known() || !wanted.is_known() || at == data.rank() || data.shape[at] < 1) {
    fail(ErrorKind::model,
         {.what = "gather_or_zero has to know what there is along its axis",
          .tensor = x.name(),
          .expected = "axis " + std::to_string(axis) + " of a known extent, at least 1",
          .found = detail::to_text(data)});
  }
  const std::size_t behind = data.rank() - at - 1, rank = wanted.rank();
  const AnyTensor is_inside =
      logical_and(greater_or_equal(indices, 0), less(indices, data.shape[at]));
  const AnyTensor y = gather(x, where(is_inside, indices, 0), {.axis = axis});
  // One for each slice: as many extents of 1 behind as a slice has.
  Dims axes;
  for (std::size_t i = 0; i < behind; ++i) axes.push_back(static_cast<std::int64_t>(rank + i));
  return where(axes.empty() ? is_inside : unsqueeze(is_inside, constant(*x.graph, axes)), y, 0);
}

Vector<AnyTensor> split_random_seed(AnyTensor seed, std::int64_t n) {
  if (n < 1) {
    fail(ErrorKind::usage, {.what = "a seed is split into one at least",
                            .tensor = seed.name(),
                            .expected = "1 or more",
                            .found = std::to_string(n)});
  }
  const Dims rest = {0, 0, 0, 0};
  const AnyTensor state =
      concat(seed, cast(constant(*seed.graph, rest), {.to = ElementType::uint32}), {.axis = 0});
  Vector<AnyTensor> seeds;
  for (std::int64_t i = 0; i < n; ++i) {
    seeds.push_back(OpFunction<DeriveSeed>{}(state, {.number = i}));
  }
  return seeds;
}

std::vector<Seed> split_random_seed(const Seed& seed, std::int64_t n) {
  std::vector<Seed> seeds;
  for (const AnyTensor& made : split_random_seed(AnyTensor(seed), n)) {
    seeds.push_back({made.graph, made.id});
  }
  return seeds;
}

std::pair<AnyTensor, AnyTensor> nll_loss_with_softmax_grad(AnyTensor p, AnyTensor label,
                                                           float loss_grad, const Nll& how) {
  const AnyTensor loss = nll_loss(p, label, how);
  const AnyTensor d_loss =
      expand(cast(constant(*p.graph, std::span<const float>(&loss_grad, 1), Dims{}),
                  {.to = p.info().type}),
             shape_of(loss));
  const SoftmaxNllGradient gradient{.axis = -1,
                                    .reduction = how.reduction,
                                    .ignore_index = how.ignore_index,
                                    .is_logarithm = how.input_is_log_probability != 0};
  return {loss, OpFunction<SoftmaxNllGradient>{}(p, d_loss, label, gradient)};
}

}  // namespace op

}  // namespace halftone
