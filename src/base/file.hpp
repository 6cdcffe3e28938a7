#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <halftone/base/storage.hpp>

namespace halftone::detail {

/// A regular file mapped for reading; the pages are read when they are touched. Throws IoError.
Storage map_file(const std::string& path);

/// A file that appears under its name only when it is complete: until commit() it has another name
/// beside it, and without commit() it is removed. Devices and pipes are written directly. Functions
/// throw IoError.
class OutputFile {
 public:
  explicit OutputFile(std::string_view path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  /// Makes sure that the bytes are on the disk; commit() then only renames.
  void flush();
  void commit();

 private:
  [[noreturn]] void fail_here(const char* what);

  std::string path_, temporary_;  // temporary_ is empty when the target is written directly
  int descriptor_ = -1;
  bool flushed_ = false;
};

}  // namespace halftone::detail
