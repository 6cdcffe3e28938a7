#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_REVERSE_SEQUENCE_HPP
#define HALFTONE_OP_REVERSE_SEQUENCE_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Turns the first elements of each sequence of a batch round; the others stay.
///
/// x, y           [time, batch, ...], or [batch, time, ...] with batch_axis 0 and time_axis 1
/// sequence_lens  [batch], how many elements of each are turned round: 0 to time
/// limits         a length that is out of range is an InputError of the run
/// source         ai.onnx ReverseSequence-10
struct ReverseSequence {
  std::int64_t batch_axis = 1, time_axis = 0;

  static constexpr OpId id{"ai.onnx", "ReverseSequence", 10, 28};
  static constexpr Signature signature = "x sequence_lens:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("batch_axis", batch_axis);
    visit("time_axis", time_axis);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo sequence_lens) const {
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has not time and batch", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    const std::size_t batch = normalized_axis(batch_axis, 2), time = normalized_axis(time_axis, 2);
    if (batch == 2 || time == 2 || batch == time) {
      return Inferred::mismatch("batch_axis and time_axis are not 0 and 1", 1 - time_axis,
                                batch_axis);
    }
    if (sequence_lens.rank() != 1 || contradict(x.shape[batch], sequence_lens.shape[0])) {
      return Inferred::mismatch("the batch needs one length for each", x.shape[batch],
                                sequence_lens.elements());
    }
    return x;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> lengths, View<T> y) const {
    const bool is_time_first = normalized_axis(time_axis, 2) == 0;
    const std::int64_t time = x.extent(is_time_first ? 0 : 1);
    const std::int64_t batch = x.extent(is_time_first ? 1 : 0), run = x.size(2, x.rank);
    for (std::int64_t b = 0; b < batch; ++b) {
      if (lengths[b] < 0 || lengths[b] > time) halftone_index_error(lengths[b], time + 1);
    }
    if (x.size() == 0) return;
    const std::int64_t work = time * run, task = 1 << 15;
    const std::int64_t per_task = work >= task ? 1 : task / work;
    const std::int64_t step = (is_time_first ? batch : 1) * run;
    kernel::parallel_for(*call.executor, (batch + per_task - 1) / per_task, [&](std::int64_t t) {
      const std::int64_t end = (t + 1) * per_task < batch ? (t + 1) * per_task : batch;
      for (std::int64_t b = t * per_task; b < end; ++b) {
        const std::int64_t base = b * (is_time_first ? run : time * run);
        for (std::int64_t i = 0; i < time; ++i) {
          const std::int64_t from = i < lengths[b] ? lengths[b] - 1 - i : i;
          __builtin_memcpy(y.data + base + i * step, x.data + base + from * step,
                           static_cast<std::size_t>(run) * sizeof(T));
        }
      }
    });
  }
};

}  // namespace halftone::op

#endif
