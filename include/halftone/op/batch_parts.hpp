#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BATCH_PARTS_HPP
#define HALFTONE_OP_BATCH_PARTS_HPP

namespace halftone::op {

/// Runs a body for one part of the batch after the other, so that the values in between stay in the
/// cache. Made by the pass `batch_parts`; the executor knows it.
///
/// inputs   those of the body; what the body has with a shorter first dimension comes part by part
/// outputs  the parts of the body's outputs, one behind the other along the first dimension
/// source   none
struct BatchParts {
  Subgraph body;
  std::int64_t parts = 1;

  static constexpr OpId id{"halftone", "BatchParts", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("body", body);
    visit("parts", parts);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (in.graph_outputs().empty()) return Inferred::unknown(in.output_count());
    Vector<TensorInfo> outputs = in.graph_outputs()[0];
    for (TensorInfo& y : outputs) y.shape[0] *= parts;
    return outputs;
  }
};

}  // namespace halftone::op

#endif
