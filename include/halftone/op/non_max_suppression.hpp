#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_NON_MAX_SUPPRESSION_HPP
#define HALFTONE_OP_NON_MAX_SUPPRESSION_HPP

#include <concepts>
#include <type_traits>

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/non_max_suppression.hpp>

namespace halftone::op {

/// Selects, for each class, boxes in the order of their scores, but none that overlaps too much
/// with one selected before.
///
/// boxes                       [batch, n, 4]: two opposite corners y1, x1, y2, x2, or with
///                             center_point_box 1 centre and extents: x, y, width, height
/// scores                      [batch, classes, n]
/// max_output_boxes_per_class  one number, absent: 0
/// iou_threshold               one number, absent: 0. Boxes overlap too much if their common area
///                             is more than that share of their union
/// score_threshold             one number: boxes take part whose score is larger; absent: all
/// y                           int64 [selected, 3]: batch, class, box; of equal scores the box with
///                             the lower index is first
/// limits                      while the inputs are not known, neither is y's extent
/// source                      ai.onnx NonMaxSuppression-11
struct NonMaxSuppression {
  std::int64_t center_point_box = 0;

  static constexpr OpId id{"ai.onnx", "NonMaxSuppression", 10, 11};
  static constexpr Signature signature =
      "boxes scores max_output_boxes_per_class:I? iou_threshold? score_threshold? -> y:I";
  using types = TypeList<TypeList<float>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("center_point_box", center_point_box); }

  /// A template, so that only the core compiles the search.
  constexpr Inferred infer(const std::same_as<Inputs> auto& in) const {
    const TensorInfo &boxes = in[0], &scores = in[1];
    if (boxes.rank() != 3 || contradict(boxes.shape[2], 4)) {
      return Inferred::mismatch("boxes are not [batch, n, 4]", 3,
                                static_cast<std::int64_t>(boxes.rank()));
    }
    if (scores.rank() != 3) {
      return Inferred::mismatch("scores are not [batch, classes, n]", 3,
                                static_cast<std::int64_t>(scores.rank()));
    }
    if (contradict(boxes.shape[0], scores.shape[0])) {
      return Inferred::mismatch("boxes and scores have different batches", boxes.shape[0],
                                scores.shape[0]);
    }
    if (contradict(boxes.shape[1], scores.shape[2])) {
      return Inferred::mismatch("there is not one score for each box", boxes.shape[1],
                                scores.shape[2]);
    }
    bool is_known = true;
    for (std::size_t i = 0; i < 5; ++i) {
      if (i > 1 && in.has(i) && in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch("a limit is not one number", 1, in[i].elements());
      }
      is_known = is_known && (in.has(i) ? has_data(in, i) : i > 1);
    }
    TensorInfo y{ElementType::int64, {dynamic, 3}};
    if (!is_known || std::is_constant_evaluated()) return y;
    const auto number = [&](std::size_t i) {
      const std::vector<double> values = in.numbers(i);
      return values.empty() ? 0.f : static_cast<float>(values[0]);
    };
    kernel::NonMaxSuppression search = shaped(boxes.shape.span(), scores.shape.span());
    search.boxes = in.data(0).data();
    search.scores = in.data(1).data();
    for (const std::int64_t most : in.integers(2)) search.most_per_class = most;
    search.iou_threshold = number(3);
    search.score_threshold = number(4);
    search.has_score_threshold = in.has(4);
    std::vector<std::int64_t> memory(static_cast<std::size_t>(search.workspace()) / 8);
    y.shape[0] = search.run(memory.data(), nullptr);
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> boxes, View<const T> scores, View<const I> most,
              View<const T> iou_threshold, View<const T> score_threshold, View<I> y) const {
    kernel::NonMaxSuppression search = shaped(boxes.shape(), scores.shape());
    search.boxes = reinterpret_cast<const std::byte*>(boxes.data);
    search.scores = reinterpret_cast<const std::byte*>(scores.data);
    search.most_per_class = most ? most[0] : 0;
    search.iou_threshold = iou_threshold ? iou_threshold[0] : 0;
    search.score_threshold = score_threshold ? score_threshold[0] : 0;
    search.has_score_threshold = static_cast<bool>(score_threshold);
    search.run(call.workspace, y.data);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> boxes, View<const T> scores,
                                  View<const I>, View<const T>, View<const T>, View<I>) const {
    return static_cast<std::size_t>(shaped(boxes.shape(), scores.shape()).workspace());
  }

 private:
  static constexpr bool has_data(const Inputs& in, std::size_t i) {
    return in.is_constant(i) && in[i].bytes() == static_cast<std::int64_t>(in.data(i).size());
  }
  constexpr kernel::NonMaxSuppression shaped(std::span<const std::int64_t> boxes,
                                             std::span<const std::int64_t> scores) const {
    kernel::NonMaxSuppression search;
    search.batches = boxes[0];
    search.n = boxes[1];
    search.classes = scores[1];
    search.is_centred = center_point_box != 0;
    return search;
  }
};

}  // namespace halftone::op

#endif
