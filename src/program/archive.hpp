#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/graph/registry.hpp>
#include <halftone/program/program.hpp>

namespace halftone::detail {

/// Values as bytes, little-endian. Tensors' bytes are kept apart: here are their numbers.
class ArchiveWriter {
 public:
  static constexpr bool is_reader = false;
  std::vector<std::byte> bytes;
  std::vector<Bytes> blobs;  ///< those of one place are one
  std::map<const Descriptor*, std::size_t> operators;

  void number(std::uint64_t value);
  void text(std::string_view value);
  void blob(const Bytes& data);
  /// Of all that was written, tensors' bytes included.
  std::uint64_t hash() const;

 private:
  std::map<std::pair<const std::byte*, std::size_t>, std::size_t> known_;  // numbers of blobs
};

/// The same way back. Throws ModelError if the bytes are not what was written.
class ArchiveReader {
 public:
  static constexpr bool is_reader = true;

  std::vector<Bytes> blobs;
  std::vector<const Descriptor*> operators;

  explicit ArchiveReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t number();
  std::string_view text();
  Bytes blob();
  /// A number of items, each of at least one byte.
  std::size_t count();
  [[noreturn]] static void fail_here();

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

void write(ArchiveWriter& to, const Graph& graph);
void write(ArchiveWriter& to, const Program& program);
/// `operators`: those of extensions; the library's are known.
Graph read_graph(ArchiveReader& from, OperatorTable operators);
/// Its numbers lead nowhere outside the program.
Program read_program(ArchiveReader& from, OperatorTable operators);

}  // namespace halftone::detail
