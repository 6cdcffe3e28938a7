#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/profile.hpp>

namespace halftone::ipu {

/// What consecutive parts of a model take on one IPU, for one micro-batch unless it says otherwise.
struct Range {
  // Cycles. Copies are those between a part and other IPUs, which both take the time of.
  double forward = 0, backward = 0, of_weights = 0;
  double forward_copies = 0, backward_copies = 0, update_copies = 0;
  double update = 0;  ///< once a step
  /// Between host and tiles, by itself; and the part that tiles do in any case, whatever hides the rest.
  struct Streams {
    double all = 0, last = 0;
  };
  Streams inputs{}, outputs{};
  // Bytes.
  std::int64_t weights = 0, accumulators = 0, state = 0;
  std::int64_t trained = 0;      ///< of the weights that change
  std::int64_t kept = 0;         ///< of what the forward part makes for gradients
  std::int64_t gradients = 0;    ///< that gradients of weights read
  std::int64_t boundaries = 0;   ///< live at the ends of parts
  std::int64_t temporaries = 0;  ///< within a part of a micro-batch
  std::int64_t code = 0;
  /// What Recomputation::standard runs again, if the parts end a stage or if more of it follow.
  struct Repeated {
    struct Part {
      double cycles = 0;
      std::int64_t kept = 0;     ///< bytes, in place of Range::kept
      std::int64_t largest = 0;  ///< bytes that are computed again at a time
    } within{}, at_end{};
  } repeated{};
};

/// A model in parts that little flows between, and their cost for one size of a micro-batch.
class Segments {
 public:
  std::size_t count() const { return ends_.size(); }
  /// Nodes of the model before the end of a segment.
  std::int64_t end_node(std::size_t segment) const { return ends_[segment]; }
  /// The segments from begin to end.
  const Range& range(std::size_t begin, std::size_t end) const {
    return ranges_[begin * (count() + 1) + end];
  }
  std::int64_t state_bytes() const { return range(0, count()).state; }
  /// The bytes of the fullest tile, as a multiple of the mean.
  double unevenness() const { return unevenness_; }

 private:
  friend class SegmentPricer;
  std::vector<std::int64_t> ends_;
  std::vector<Range> ranges_;
  double unevenness_ = 1;
};

/// Divides a model, records training in it (empty: none), and profiles it on one IPU.
/// Throws what profile() and cut() throw.
Segments segments_of(Graph model, const std::function<void(Graph&)>& train, const Target& target,
                     const ProfileOptions& options);

}  // namespace halftone::ipu
