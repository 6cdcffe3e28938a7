#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <halftone/base/vector.hpp>

namespace halftone {

/// Counted memory that tensors share: a mapped file or an owned block. Null in constant evaluation.
class Storage {
 public:
  /// The counted object; the core derives from it (file mapping, owned memory).
  class Block {
   public:
    virtual ~Block() = default;
    /// These bytes will hardly be read again: a mapped file may give their memory back.
    virtual void unneeded(const std::byte*, std::size_t) {}
    /// See AnyArray::own_objects().
    virtual void own_objects() {}
    std::byte* data = nullptr;
    std::size_t size = 0;

   private:
    friend class Storage;
    long uses_ = 0;
  };

  constexpr Storage() = default;
  explicit Storage(Block* block) : block_(block) { retain(block_); }
  constexpr Storage(const Storage& other) : block_(other.block_) {
    if (block_ != nullptr) retain(block_);
  }
  constexpr Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  constexpr Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  constexpr ~Storage() {
    if (block_ != nullptr) release(block_);
  }

  /// Owned memory of `size` bytes, aligned for every kernel (64 bytes), zeroed.
  static Storage allocate(std::size_t size);

  constexpr explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_->data; }
  void unneeded(std::span<const std::byte> bytes) const {
    block_->unneeded(bytes.data(), bytes.size());
  }
  std::size_t size() const { return block_->size; }
  void own_objects() const { block_->own_objects(); }
  /// Memory of that size for addresses of objects, zeroed; see AnyArray::own_objects().
  static Storage allocate_for_objects(std::size_t size);

 private:
  static void retain(Block* block) {
    if (block != nullptr) __atomic_fetch_add(&block->uses_, 1, __ATOMIC_RELAXED);
  }
  static void release(Block* block) {
    if (__atomic_fetch_sub(&block->uses_, 1, __ATOMIC_ACQ_REL) == 1) delete block;
  }
  Block* block_ = nullptr;
};

/// The bytes of a constant: a few of its own, a piece of shared storage, or, in constant evaluation,
/// an array of the program.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(Vector<std::byte> own) : own_(std::move(own)) {}
  Bytes(Storage storage, const std::byte* first, std::size_t size)
      : storage_(std::move(storage)), shared_(first, size) {}
  /// Aligned as allocated storage is.
  static Bytes copy_of(std::span<const std::byte> bytes);
  /// Those of an array that outlives every graph. Only for constant evaluation, which reads no array
  /// as bytes: span() is empty.
  static constexpr Bytes of_array(const void* first, std::size_t size) {
    Bytes bytes;
    bytes.array_ = first;
    bytes.array_size_ = size;
    return bytes;
  }

  constexpr std::size_t size() const {
    if (array_ != nullptr) return array_size_;
    return storage_ ? shared_.size() : own_.size();
  }
  /// The array that the bytes are, null for all others.
  constexpr const void* array() const { return array_; }
  constexpr std::span<const std::byte> span() const {
    return storage_ ? shared_ : std::span<const std::byte>(own_);
  }
  /// The bytes will hardly be read again, such as weights that have been packed.
  void unneeded() const {
    if (storage_) storage_.unneeded(shared_);
  }
  /// Whether these are the same bytes in the same place or equal own bytes.
  friend constexpr bool operator==(const Bytes& a, const Bytes& b) {
    if (a.array_ != b.array_ || a.array_size_ != b.array_size_) return false;
    if (a.storage_ || b.storage_) {
      return a.shared_.data() == b.shared_.data() && a.shared_.size() == b.shared_.size();
    }
    return a.own_ == b.own_;
  }

 private:
  Vector<std::byte> own_;
  Storage storage_;
  std::span<const std::byte> shared_;
  const void* array_ = nullptr;
  std::size_t array_size_ = 0;
};

}  // namespace halftone
