#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_BYTE_TABLE_HPP
#define HALFTONE_OP_BYTE_TABLE_HPP

namespace halftone::kernel {

// kernel/byte_table.hpp
template <class X, class Y>
void look_up_bytes(const Executor& executor, View<const X> x, View<const Y> table, View<Y> y);

}  // namespace halftone::kernel

namespace halftone::op {

/// y = table[x], where the bits of x are the index. Made by the pass `tabulate_bytes`.
///
/// x       any shape
/// table   256 bytes
/// source  none
struct ByteTable {
  static constexpr OpId id{"halftone", "ByteTable", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x:X table:Y -> y:Y";
  static constexpr std::uint32_t by_sample = 1;
  using types = TypeList<halftone::detail::QuantizedTypes, halftone::detail::QuantizedTypes>;
  static constexpr bool in_place = true;

  static constexpr Inferred infer(TensorInfo x, TensorInfo table) {
    if (table.is_static() && table.elements() != 256) {
      return Inferred::mismatch("a table of bytes has another size", 256, table.elements());
    }
    return TensorInfo{table.type, x.shape};
  }
  template <class X, class Y>
  void kernel(const KernelCall& call, View<const X> x, View<const Y> table, View<Y> y) const {
    kernel::look_up_bytes<X, Y>(*call.executor, x, table, y);
  }
};

}  // namespace halftone::op

#endif
