#include <halftone/memmap.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <halftone/base/error.hpp>

namespace halftone {

namespace {

/// Shared with the file, so that what is written reaches it.
class Mapping final : public Storage::Block {
 public:
  Mapping(void* first, std::size_t count) {
    data = static_cast<std::byte*>(first);
    size = count;
  }
  ~Mapping() override {
    if (size != 0) ::munmap(data, size);
  }
};

[[noreturn]] void cannot_be_mapped(const std::string& path) {
  const int problem = errno;
  fail(ErrorKind::io, {.what = "a file for variables cannot be mapped",
                       .tensor = path,
                       .found = std::strerror(problem)});
}

Storage mapped(const std::string& path, bool is_read_only) {
  const int descriptor =
      ::open(path.c_str(), (is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) cannot_be_mapped(path);
  struct stat status{};
  bool is_known = ::fstat(descriptor, &status) == 0;
  if (is_known && !S_ISREG(status.st_mode)) {
    is_known = false;
    errno = EINVAL;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* first = nullptr;
  if (is_known && size != 0) {
    first = ::mmap(nullptr, size, PROT_READ | (is_read_only ? 0 : PROT_WRITE), MAP_SHARED,
                   descriptor, 0);
  }
  const int problem = errno;
  ::close(descriptor);
  errno = problem;
  if (!is_known || first == MAP_FAILED) cannot_be_mapped(path);
  return Storage(new Mapping(first, size));
}

}  // namespace

Memmap::Memmap(std::string_view path, bool is_read_only)
    : storage_(mapped(std::string(path), is_read_only)), is_read_only_(is_read_only) {}

std::span<std::byte> Memmap::elements(const TensorInfo& info, std::size_t offset) const {
  const auto bytes = static_cast<std::size_t>(info.bytes());
  const std::size_t size = storage_.size();
  if (offset > size || size - offset < bytes) {
    fail(ErrorKind::usage,
         {.what = "a file is too short for its variable",
          .expected = std::to_string(bytes) + " bytes behind " + std::to_string(offset),
          .found = std::to_string(size) + " bytes"});
  }
  if (offset % size_in_bytes(info.type) != 0) {
    fail(ErrorKind::usage, {.what = "the elements of a variable are not aligned in their file",
                            .expected = "a multiple of the element's size",
                            .found = std::to_string(offset)});
  }
  return {storage_.data() + offset, bytes};
}

void Memmap::flush() const {
  if (::msync(storage_.data(), storage_.size(), MS_SYNC) == 0) return;
  fail(ErrorKind::io,
       {.what = "a variable cannot be written to its file", .found = std::strerror(errno)});
}

}  // namespace halftone
