#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TENSOR_SCATTER_HPP
#define HALFTONE_OP_TENSOR_SCATTER_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/gather_elements.hpp>

namespace halftone {

namespace op {
/// What happens at the end of a cache: nothing may be written behind it, or the start follows.
enum class CacheMode : std::uint8_t { linear, circular };
}  // namespace op

namespace detail {
inline constexpr std::string_view cache_mode_names[] = {"linear", "circular"};
}

namespace op {
constexpr std::span<const std::string_view> names_of(CacheMode) {
  return halftone::detail::cache_mode_names;
}

/// A cache of keys or values with some steps of each sample replaced: present[b, ..., w[b] + i, ...]
/// = update[b, ..., i, ...].
///
/// past, present  [batch, ..., most, ...], `most` along `axis`
/// update         the same but for [batch, ..., steps, ...], steps at most `most`
/// write_indices  w, [batch], absent: zeros
/// axis           the dimension of the steps, from the end if negative; not 0
/// mode           linear: w[b] + steps is at most `most`; circular: places count modulo `most`
/// grad           that of past is dy where nothing was written, that of update dy where it was
/// limits         a place that is out of range is an InputError of the run
/// source         ai.onnx TensorScatter-24
struct TensorScatter {
  CacheMode mode = CacheMode::linear;
  std::int64_t axis = -2;

  static constexpr OpId id{"ai.onnx", "TensorScatter", 24};
  static constexpr Signature signature = "past update write_indices:I? -> present";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("axis", axis);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    machine.keep(in[0]);
    machine.dynamic_slice(in[1], in[0].shape[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo &past = in[0], &update = in[1];
    const std::size_t rank = past.rank(), at = normalized_axis(axis, rank);
    if (at == rank || at == 0) {
      return Inferred::mismatch("axis is out of range, or that of the batch",
                                static_cast<std::int64_t>(rank), axis);
    }
    if (update.rank() != rank) {
      return Inferred::mismatch("the update has another rank than the cache",
                                static_cast<std::int64_t>(rank),
                                static_cast<std::int64_t>(update.rank()));
    }
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t most = past.shape[i], here = update.shape[i];
      const bool fits =
          i == at ? most == dynamic || here == dynamic || here <= most : !contradict(most, here);
      if (!fits) return Inferred::mismatch("the update does not fit the cache", most, here);
    }
    if (in.has(2)) {
      if (in[2].rank() != 1 || contradict(past.shape[0], in[2].shape[0])) {
        return Inferred::mismatch("write_indices need one number for each sample", past.shape[0],
                                  in[2].elements());
      }
    }
    return past;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> past, View<const T> update,
              View<const I> write_indices, View<T> present) const {
    const std::size_t at = normalized_axis(axis, past.rank);
    const std::int64_t batch = past.extent(0), most = past.extent(at), steps = update.extent(at);
    const std::int64_t outer = past.size(1, at), run = past.size(at + 1, past.rank);
    for (std::int64_t b = 0; write_indices && b < batch; ++b) {
      const std::int64_t first = write_indices[b];
      const bool fits = mode == CacheMode::circular || (first >= 0 && first <= most - steps);
      if (!fits) halftone_index_error(first, most - steps + 1);
    }
    if (present.size() == 0) return;
    if (present.data != past.data) {
      kernel::Box box;
      box.add(past.size(), 1, 1);
      kernel::copy<T>(*call.executor, box, past.data, present.data);
    }
    for (std::int64_t b = 0; b < batch; ++b) {
      std::int64_t first = write_indices ? write_indices[b] % most : 0;
      if (first < 0) first += most;
      // Steps behind the end come first.
      const std::int64_t before = steps < most - first ? steps : most - first;
      for (std::int64_t o = b * outer; o < (b + 1) * outer; ++o) {
        const T* const from = update.data + o * steps * run;
        T* const to = present.data + o * most * run;
        for (std::int64_t i = 0; i < before * run; ++i) to[first * run + i] = from[i];
        for (std::int64_t i = before * run; i < steps * run; ++i) to[i - before * run] = from[i];
      }
    }
  }
  constexpr void gradient(auto& g) const {
    auto& graph = g.graph();
    const TensorInfo past = g.x(0).info(), update = g.x(1).info();
    if (g.needs(0)) {
      const auto nothing = GradientScope::zeros(graph, update);
      g.dx(0) += OpFunction<TensorScatter>{}(g.dy(), nothing, g.x(2), *this);
    }
    if (!g.needs(1)) return;
    const std::size_t at = normalized_axis(axis, past.rank());
    const std::int64_t most = past.shape[at], steps = update.shape[at];
    Dims of_steps = Dims::filled(past.rank(), 1), of_batch = of_steps;
    of_steps[at] = steps;
    of_batch[0] = past.shape[0];
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < steps; ++i) numbers.push_back(i);
    auto places = constant<std::int64_t>(graph, numbers, of_steps);
    if (!g.x(2).is_absent()) {
      places = op::mod(op::add(op::reshape(g.x(2), constant(graph, of_batch)), places), most);
    }
    g.dx(1) += op::gather_elements(g.dy(), op::expand(places, constant(graph, update.shape)),
                                   {.axis = static_cast<std::int64_t>(at)});
  }
};

}  // namespace op
}  // namespace halftone

#endif
