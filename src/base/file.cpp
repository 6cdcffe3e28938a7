#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <halftone/base/error.hpp>

#include "base/describe.hpp"

namespace halftone::detail {

namespace {

[[noreturn]] void fail_on(std::string_view path, const char* what, int error) {
  const std::string reason = std::system_category().message(error);
  const std::string text = std::string(what) + "\nfile\t" + quoted(path);
  fail(ErrorKind::io, {.what = text, .found = reason});
}

struct MappedBlock final : Storage::Block {
  MappedBlock(void* address, std::size_t bytes) {
    data = static_cast<std::byte*>(address);
    size = bytes;
  }
  ~MappedBlock() override { ::munmap(data, size); }
  /// The pages go; a later look at them reads the file again.
  void unneeded(const std::byte* first, std::size_t bytes) override {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
    const auto end = (reinterpret_cast<std::uintptr_t>(first) + bytes) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
};

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

/// A name with a zero byte in it would be another file's for the system.
void check_path(std::string_view path) {
  if (path.find('\0') != path.npos) fail_on(path, "a file's name holds a zero byte", EINVAL);
}

}  // namespace

Storage map_file(const std::string& path) {
  check_path(path);
  // Without O_NONBLOCK a pipe would wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) fail_on(path, "the file cannot be opened", errno);
  struct stat status;
  if (::fstat(file.value, &status) != 0) fail_on(path, "the file cannot be read", errno);
  if (S_ISDIR(status.st_mode)) fail_on(path, "the file cannot be read", EISDIR);
  if (!S_ISREG(status.st_mode)) fail_on(path, "the file is no regular file", EINVAL);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Storage::allocate(0);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED) fail_on(path, "the file cannot be mapped", errno);
  return Storage(new MappedBlock(address, size));
}

OutputFile::OutputFile(std::string_view path) : path_(path) {
  check_path(path);
  struct stat status;
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_on(path_, "the file cannot be written", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_on(path_, "the file cannot be written", errno);
    return;
  }
  if (exists) {
    // Behind a symbolic link the file itself is replaced, not the link.
    const std::unique_ptr<char, decltype(&std::free)> whole(::realpath(path_.c_str(), nullptr),
                                                            &std::free);
    if (whole != nullptr) path_ = whole.get();
  }
  static std::atomic<unsigned> count{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) {
    temporary_.clear();
    fail_on(path_, "the file cannot be written", errno);
  }
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_here("the file cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::flush() {
  // Devices and pipes cannot be synchronised.
  if (!flushed_ && !temporary_.empty() && ::fsync(descriptor_) != 0) {
    fail_here("the file cannot be written");
  }
  flushed_ = true;
}

void OutputFile::commit() {
  flush();
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_here("the file cannot be written");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_here("the file cannot be renamed");
  temporary_.clear();
}

void OutputFile::fail_here(const char* what) { fail_on(path_, what, errno); }

}  // namespace halftone::detail
