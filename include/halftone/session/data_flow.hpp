#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/tensor_info.hpp>
#include <halftone/graph/handle.hpp>

namespace halftone {

/// What a run returns of a tensor that it computes several times, once for each micro-batch.
enum class Return : std::uint8_t {
  all,      ///< every value
  every_n,  ///< the values of every n-th batch
  final,    ///< the last value
  sum,      ///< the element by element sum of all values
};

/// A tensor that a session returns: any tensor of the graph, named by its name or a handle.
///   {.outputs = {"logits", {"loss", Return::sum}, hidden}}
struct Anchor {
  std::string_view name{};  ///< borrowed until the session is made
  TensorId id = no_tensor;  ///< if it was named by a handle
  Return returns = Return::all;
  std::int64_t period = 1;  ///< the n of every_n

  constexpr Anchor() = default;
  constexpr Anchor(std::string_view tensor, Return what = Return::all, std::int64_t n = 1)
      : name(tensor), returns(what), period(n) {}
  constexpr Anchor(const char* tensor, Return what = Return::all, std::int64_t n = 1)
      : Anchor(std::string_view(tensor), what, n) {}
  template <tensor_handle X>
  constexpr Anchor(const X& tensor, Return what = Return::all, std::int64_t n = 1)
      : id(tensor.id), returns(what), period(n) {}
};

/// How many micro-batches a run computes, for how many replicas, and what it returns of them.
///
/// A run takes and computes batches x accumulation micro-batches: that many times the elements of
/// an input, batch after batch. What it returns has leading dimensions [batches, accumulation] for
/// `all`, [batches / n, accumulation] for `every_n`, none for `final` and `sum`; leading dimensions
/// of one are left out. A dimension for replicas follows, then those of the tensor. Streams have one
/// for host_transfers slices before that of the replicas.
struct DataFlow {
  std::int64_t batches_per_step = 1;
  std::int64_t accumulation = 1;
  std::int64_t host_transfers = 1;
  std::int64_t replicas = 1;

  constexpr std::int64_t micro_batches() const { return batches_per_step * accumulation; }
  /// How many values of a tensor a run returns.
  constexpr std::int64_t returned(Return what, std::int64_t period) const {
    if (what == Return::all) return micro_batches();
    return what == Return::every_n ? batches_per_step / period * accumulation : 1;
  }
  /// Whether the value of micro-batch i is among what is returned (for `sum`: the last one is).
  constexpr bool returns(Return what, std::int64_t period, std::int64_t i) const {
    if (what == Return::all) return true;
    if (what == Return::every_n) return (i / accumulation + 1) % period == 0;
    return i + 1 == micro_batches();
  }
  /// Which of the returned values is that of micro-batch i.
  constexpr std::int64_t slot(Return what, std::int64_t period, std::int64_t i) const {
    if (what == Return::all) return i;
    return what == Return::every_n ? i / accumulation / period * accumulation + i % accumulation
                                   : 0;
  }
  /// The shape of what is returned of a tensor with shape `own`. Throws UsageError if it has too
  /// many dimensions.
  Dims shape(Return what, std::int64_t period, const Dims& own) const;
  /// The same for a stream, in a run or (`all` is false) in one of its micro-batches.
  Dims stream_shape(const Dims& own, bool all = true) const;
  /// Throws UsageError for numbers of batches, transfers and periods that cannot be.
  void check() const;
  void check(Return what, std::int64_t period) const;
};

}  // namespace halftone
