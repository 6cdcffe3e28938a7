#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FUSED_HPP
#define HALFTONE_OP_FUSED_HPP

namespace halftone::op {

/// A group of element-wise operators that runs block by block: the values between them never reach
/// memory. Made by the pass `fuse_elementwise`; the executor knows it.
///
/// inputs   what the group reads, numpy broadcasting to the shape of the outputs
/// outputs  what the rest of the graph reads, all of one shape
/// source   none
struct Fused {
  Subgraph body;

  static constexpr OpId id{"halftone", "Fused", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "inputs:*... -> outputs:*...";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) { visit("body", body); }
  static constexpr Inferred infer(const Inputs& in) {
    if (in.graph_outputs().empty()) return Inferred::unknown(in.output_count());
    return in.graph_outputs()[0];
  }
};

}  // namespace halftone::op

#endif
