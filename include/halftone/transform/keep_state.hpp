#pragma once

#include <halftone/graph/handle.hpp>

namespace halftone {

/// Has a run start with what the last one gave as `output`, in place of `input`, without it leaving
/// the machine: a decoder's keys and values, a recurrent layer's state. The input becomes a variable of its name,
/// zeros before the first run, that Session::get and Session::set reach; neither is an input or an
/// output of the graph any more. A node that may write its output over its input (TensorScatter,
/// element-wise ones) changes the variable where it lies, if nobody needs the old value afterwards.
///
///   keep_state(past_key, present_key);   // present_key = op::tensor_scatter(past_key, key, position)
///
/// input   an input of the graph, of known shape
/// output  of the same shape and type, computed by a node
/// errors  UsageError: tensors of different graphs; ModelError: no input, no computed tensor, another
///         shape or type; UnsupportedError: a shape that is not known, replicas
/// limits  of a graph that is trained, after train(), whose gradients need the old value
void keep_state(AnyTensor input, AnyTensor output);

}  // namespace halftone
