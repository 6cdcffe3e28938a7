#include <halftone/base/storage.hpp>

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <halftone/base/array.hpp>

#include "base/describe.hpp"

namespace halftone {

namespace {

constexpr std::size_t alignment = 64;
/// From here on memory comes in zeroed pages of its own, which cost nothing before they are used.
constexpr std::size_t mapped_from = std::size_t{1} << 20;

struct OwnedBlock final : Storage::Block {
  explicit OwnedBlock(std::size_t bytes) {
    size = bytes;
    void* memory = nullptr;
    if (bytes >= mapped_from) {
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc();
    } else {
      const std::size_t rounded = (bytes + alignment) / alignment * alignment;
      memory = std::aligned_alloc(alignment, rounded);
      if (memory == nullptr) throw std::bad_alloc();
      std::memset(memory, 0, rounded);
    }
    data = static_cast<std::byte*>(memory);
  }
  ~OwnedBlock() override {
    if (size >= mapped_from) {
      ::munmap(data, size);
    } else {
      std::free(data);
    }
  }
};

}  // namespace

Storage Storage::allocate(std::size_t size) {
  try {
    return Storage(new OwnedBlock(size));
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::memory,
         {.what = "not enough memory", .expected = detail::bytes_text(size) + " in one piece"});
  }
}

void Storage::retain(Block* block) {
  if (block == nullptr) return;
  std::atomic_ref<long>(block->uses_).fetch_add(1, std::memory_order_relaxed);
}

void Storage::release(Block* block) {
  if (std::atomic_ref<long>(block->uses_).fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete block;
  }
}

AnyArray::AnyArray(const TensorInfo& info) : info_(info) {
  if (!info.is_static() || size_in_bytes(info.type) == 0) {
    fail(ErrorKind::input, {.what = "an array needs an element type of fixed size and a shape in "
                                    "which every extent is known",
                            .found = detail::to_text(info)});
  }
  if (info.bytes() == INT64_MAX) {
    fail(ErrorKind::memory,
         {.what = "an array does not fit into memory", .found = detail::to_text(info)});
  }
  storage_ = Storage::allocate(static_cast<std::size_t>(info.bytes()));
}

}  // namespace halftone
