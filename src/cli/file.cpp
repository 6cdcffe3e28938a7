#include "cli/file.hpp"

#include <span>
#include <system_error>

#include "base/describe.hpp"
#include "base/file.hpp"

namespace halftone::cli {

std::string about_file(std::string_view what, const std::string& path) {
  return std::string(what) + "\nfile\t" + detail::quoted(path);
}

void fail_on_file(const std::string& path, std::string_view what, int error) {
  fail(ErrorKind::io,
       {.what = about_file(what, path), .found = std::generic_category().message(error)});
}

std::string read_file(const std::string& path) {
  const Storage file = detail::map_file(path);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

void write_file(const std::string& path, std::string_view contents) {
  detail::OutputFile file(path);
  file.write(std::as_bytes(std::span(contents)));
  file.commit();
}

}  // namespace halftone::cli
