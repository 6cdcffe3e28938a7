#pragma once

#include <optional>

#include <popart/op.hpp>
#include <popart/tensorlocation.hpp>
#include <popxl/ir.hpp>
#include <popxl/ops.hpp>

/// What PopXL's tensors have beside the members of handles: element types by name, places, parts.
///
/// source  popxl.Tensor, popxl.dtypes
namespace popxl {

using popart::ExecutionContext, popart::ReplicatedTensorSharding, popart::TensorLocation,
    popart::TensorStorage, popart::TileSet;

/// An element type by PopXL's or numpy's name: "float32", "half", "float8_143", "bool".
/// errors  ValueError: no such type
ElementType as_dtype(std::string_view name);

/// The distances of neighbours along each dimension, in bytes.
Dims strides(const AnyTensor& t);
/// The extent of the first dimension. errors  ValueError: a scalar
std::int64_t len(const AnyTensor& t);
/// The scope of a name: "layer" of "layer/w", and the name without it.
std::string_view scope_of(const AnyTensor& t);
std::string_view name_of(const AnyTensor& t);
/// The IPU, and the tiles of it, that the operator which makes a tensor is meant for.
/// errors  UndefinedValue: nothing makes it, or nothing was said
int ipu_of(const AnyTensor& t);
TileSet tile_set(const AnyTensor& t);
/// A copy on another IPU, from the one that the tensor is on.
/// errors  ValueError: that is not known, as for a variable that no operator on an IPU reads
AnyTensor copy_to_ipu(const AnyTensor& t, int destination, std::optional<int> source = {});
/// A variable's shape as the session takes it: [groups, shape], without the groups if there is one.
Dims shape_on_host(const AnyTensor& variable);
/// Where a variable is, and whether replicas hold shards of it.
TensorLocation location_info(const AnyTensor& t);

/// Elements (i, i) of a matrix. errors  ValueError: not two dimensions
AnyTensor diag(const AnyTensor& x);
template <class T, std::int64_t N>
Tensor<T, Shape<N>> diag(const Tensor<T, Shape<N, N>>& x) {
  return {x.graph, diag(AnyTensor(x)).id};
}
/// x += y changes x, whose handle stays the same.
template <halftone::tensor_handle X, class Y>
const X& operator+=(const X& x, const Y& y) {
  ops::add_(x, y);
  return x;
}

}  // namespace popxl
