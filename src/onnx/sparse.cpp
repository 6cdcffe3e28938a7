#include <cstring>

#include "base/describe.hpp"
#include "onnx/tensor.hpp"

namespace halftone::onnx {

namespace {

/// So many bytes, and so many for each of the file, may be what sparse tensors become.
constexpr std::int64_t most_dense_bytes = std::int64_t{256} << 20, most_per_byte = 64;

std::int64_t integer_at(const Bytes& data, std::int64_t i) {
  std::int64_t value = 0;
  std::memcpy(&value, data.span().data() + i * std::int64_t{sizeof value}, sizeof value);
  return value;
}

}  // namespace

/// The tensor with a zero wherever the sparse one has no value. Indices are one number for each value,
/// counting elements in row-major order, or one for each axis.
TensorData TensorReader::dense(const TensorMessage& sparse, TensorInfo info) {
  auto wrong = [&](std::string_view what, std::string_view expected, std::string_view found) {
    fail(ErrorKind::model,
         {.what = what, .tensor = sparse.name, .expected = expected, .found = found});
  };
  const TensorData values = read(read_tensor(sparse.sparse[0]));
  const TensorData indices = read(read_tensor(sparse.sparse[1]));
  const std::int64_t count = values.info.elements(), elements = info.elements();
  const auto rank = static_cast<std::int64_t>(info.rank());
  const bool is_flat = indices.info.rank() == 1;
  const Dims wanted = is_flat ? Dims{count} : Dims{count, rank};
  if (values.info.rank() != 1) {
    wrong("the values of a sparse tensor are no list", {}, detail::to_text(values.info));
  }
  if (indices.info != TensorInfo{ElementType::int64, wanted}) {
    wrong("a sparse tensor has an index for each value",
          detail::to_text(TensorInfo{ElementType::int64, wanted}), detail::to_text(indices.info));
  }
  const std::int64_t bytes = info.bytes();
  if (elements > 0 && bytes % elements != 0) {
    fail(ErrorKind::unsupported, {.what = "sparse tensors of this element type are not offered",
                                  .tensor = sparse.name,
                                  .found = name(info.type)});
  }
  const auto file = static_cast<std::int64_t>(storage_.size());
  if (bytes > most_dense_bytes + most_per_byte * file - dense_bytes_) {
    fail(ErrorKind::unsupported, {.what = "a sparse tensor would become too large a dense one",
                                  .tensor = sparse.name,
                                  .found = detail::to_text(info)});
  }
  dense_bytes_ += bytes;
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  const std::int64_t element = elements > 0 ? bytes / elements : 0;
  for (std::int64_t v = 0; v < count; ++v) {
    std::int64_t at = 0;
    bool is_inside = true;
    for (std::int64_t axis = 0; axis < (is_flat ? 1 : rank); ++axis) {
      const std::int64_t extent = is_flat ? elements : info.shape[static_cast<std::size_t>(axis)];
      const std::int64_t index = integer_at(indices.data, is_flat ? v : v * rank + axis);
      is_inside = is_inside && index >= 0 && index < extent;
      if (is_inside) at = at * extent + index;
    }
    if (!is_inside) {
      wrong("an index of a sparse tensor is out of range", detail::to_text(info),
            "value " + std::to_string(v));
    }
    std::memcpy(data.data() + at * element, values.data.span().data() + v * element,
                static_cast<std::size_t>(element));
  }
  return {info, Bytes(std::move(data))};
}

}  // namespace halftone::onnx
