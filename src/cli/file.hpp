#pragma once

#include <string>
#include <string_view>

namespace halftone::cli {

/// A reason for an Error that names a file.
std::string about_file(std::string_view what, const std::string& path);
/// Throws IoError with the words of the system for `error` (an errno).
[[noreturn]] void fail_on_file(const std::string& path, std::string_view what, int error);

/// The whole contents of a regular file (a device may have no end); throws IoError.
std::string read_file(const std::string& path);
/// Writes a new file or replaces an old one, as a whole or not at all; throws IoError.
void write_file(const std::string& path, std::string_view contents);

}  // namespace halftone::cli
