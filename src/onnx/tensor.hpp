#pragma once

#include <map>
#include <string>
#include <string_view>

#include <halftone/base/array.hpp>
#include <halftone/base/storage.hpp>

#include "onnx/proto.hpp"

namespace halftone::onnx {

/// The element type of that number; fails if tensors cannot have it.
ElementType element_type_of(std::int64_t number, std::string_view tensor);

/// What a TensorProto says: info and bytes.
struct TensorData {
  TensorInfo info;
  Bytes data;
};

/// Reads tensors of a file. Large data stay where they are, in the mapped file or in the mapped
/// file of external data; their address is then as the file has it, with no alignment.
class TensorReader {
 public:
  /// `storage` holds the file. External data are looked up in `folder`; null: there are none.
  TensorReader(Storage storage, const std::string* folder)
      : storage_(std::move(storage)), folder_(folder) {}

  /// Throws ModelError, UnsupportedError or IoError.
  TensorData read(const TensorMessage& tensor);

 private:
  TensorData dense(const TensorMessage& sparse, TensorInfo info);
  wire::Span external(const TensorMessage& tensor, std::size_t expected, Storage& storage);
  const Storage& file(const std::string& location, std::string_view tensor);
  Bytes typed(const TensorMessage& tensor, const TensorInfo& info);
  Bytes texts(const TensorMessage& tensor, const TensorInfo& info);
  Bytes packed(const TensorMessage& tensor, const TensorInfo& info);

  Storage storage_;
  const std::string* folder_;
  std::map<std::string, Storage> files_;
  std::int64_t dense_bytes_ = 0;               // that sparse tensors have become
  std::map<const std::byte*, Bytes> decoded_;  // functions use one tensor many times
};

}  // namespace halftone::onnx
