#pragma once

#include <span>
#include <string_view>

#include <halftone/base/storage.hpp>
#include <halftone/base/tensor_info.hpp>

namespace halftone {

/// A file of elements, row-major, that variables are in: read where they are, without a copy. A file that
/// is not only read can be written to.
///
/// source  numpy.memmap as data of popxl.variable
class Memmap {
 public:
  /// errors  IoError: a file that cannot be mapped
  explicit Memmap(std::string_view path, bool is_read_only = true);

  const Storage& storage() const { return storage_; }
  bool is_read_only() const { return is_read_only_; }

  /// The bytes of a tensor that begins `offset` bytes behind the beginning of the file.
  ///
  /// errors  UsageError: a file that is too short, elements that are not aligned
  std::span<std::byte> elements(const TensorInfo& info, std::size_t offset = 0) const;
  /// Waits until what was written to storage() is in the file. errors  IoError
  void flush() const;

 private:
  Storage storage_;
  bool is_read_only_;
};

}  // namespace halftone
