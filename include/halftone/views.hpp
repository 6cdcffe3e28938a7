#pragma once

#include <halftone/op/list.hpp>

/// Views: tensors that stand for a part, or another order, of other tensors' elements. A change of a view
/// is one of what it was made of, and the other way round:
///
///   auto row = tied(op::slice(w, Integers<0>{}, Integers<1>{}, Integers<0>{}));  // w: [4, 8]
///   change(row, row * 2.f);                                                      // of w as well
///
/// A reshaped tensor shares memory with what it was made of. One that is not tied keeps what it was where it
/// is read after a change.
///
/// limits  the machine has no strided tensors: what is tied to a changed tensor is copied, all of it
/// source  popxl.ops.transpose_, slice_, concat_
namespace halftone {

namespace detail {
void tie(AnyTensor y);
}  // namespace detail

/// A tensor that Transpose, Slice, Concat or an operator that shares an input's memory made just now, as a
/// view of that node's inputs.
///
/// errors  UsageError: a result of another operator, a slice with steps other than 1 and -1
template <tensor_handle X>
X tied(const X& y) {
  detail::tie(y);
  return y;
}

/// Changes x to y, of x's type and shape; what is tied to x follows. Returns the changed tensor.
///
/// errors  UsageError: x is a constant
AnyTensor change(AnyTensor x, AnyTensor y);

/// Has what is tied to a tensor follow a change of it that was recorded otherwise, by a call for example.
void follow_change(AnyTensor x);

}  // namespace halftone
