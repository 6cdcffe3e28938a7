#include <halftone/base/storage.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
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
const std::size_t page = std::size_t(::sysconf(_SC_PAGESIZE));
constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Maps whole huge pages where the system has them: matrices whose rows lie pages apart would
/// otherwise need more address translations than the processor keeps.
void* map_pages(std::size_t bytes) {
  const std::size_t spare = bytes >= huge_page ? huge_page : 0;
  if (bytes + spare < bytes) throw std::bad_alloc();
  void* const mapped =
      ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (spare == 0) return mapped;
  std::byte* const first = static_cast<std::byte*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) % huge_page;
  const std::size_t used = (bytes + page - 1) / page * page;
  if (before > 0) ::munmap(first, before);
  if (before + used < bytes + spare) ::munmap(first + before + used, bytes + spare - before - used);
  ::madvise(first + before, used, MADV_HUGEPAGE);  // a wish: no harm where it is not granted
  return first + before;
}

struct OwnedBlock final : Storage::Block {
  explicit OwnedBlock(std::size_t bytes) {
    size = bytes;
    void* memory = nullptr;
    if (bytes >= mapped_from) {
      memory = map_pages(bytes);
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

Bytes Bytes::copy_of(std::span<const std::byte> bytes) {
  Storage storage = Storage::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(storage.data(), bytes.data(), bytes.size());
  const std::byte* const own = storage.data();
  return Bytes(std::move(storage), own, bytes.size());
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
  const auto bytes = static_cast<std::size_t>(info.bytes());
  storage_ =
      has_objects(info.type) ? Storage::allocate_for_objects(bytes) : Storage::allocate(bytes);
}

AnyArray AnyArray::copy_of(const AnyView& view) {
  AnyArray copy(view.info);
  if (view.bytes() != 0) std::memcpy(copy.data(), view.data, view.bytes());
  copy.own_objects();
  return copy;
}

}  // namespace halftone
