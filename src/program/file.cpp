#include "program/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>

#include "base/describe.hpp"
#include "base/file.hpp"

namespace halftone::program {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

std::string about_file(std::string_view what, const std::string& path) {
  return std::string(what) + "\nfile\t" + detail::quoted(path);
}

void fail_on_file(const std::string& path, std::string_view what, int error) {
  fail(ErrorKind::io,
       {.what = about_file(what, path), .found = std::generic_category().message(error)});
}

std::string read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail_on_file(path, "the file cannot be opened", errno);
  std::string contents;
  std::size_t size = 0;
  do {
    contents.resize(std::max<std::size_t>(2 * size, 1 << 16));
    size += std::fread(contents.data() + size, 1, contents.size() - size, file.get());
  } while (size == contents.size());
  if (std::ferror(file.get()) != 0) fail_on_file(path, "the file cannot be read", errno);
  contents.resize(size);
  return contents;
}

void write_file(const std::string& path, std::string_view contents) {
  detail::OutputFile file(path);
  file.write(std::as_bytes(std::span(contents)));
  file.commit();
}

}  // namespace halftone::program
