#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/file.hpp"

namespace halftone::cli {

/// Files that appear together under their names, or not at all: until commit() they have others.
class NewFiles {
 public:
  explicit NewFiles(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::path missing = std::filesystem::path(folder_).lexically_normal();
    while (!missing.empty() && !std::filesystem::exists(missing, error)) {
      made_.push_back(missing);
      missing = missing.has_relative_path() ? missing.parent_path() : std::filesystem::path();
    }
    std::filesystem::create_directories(folder_, error);
    if (error) {
      remove();
      fail_on_file(folder_, "the folder cannot be made", error.value());
    }
    if (!std::filesystem::is_directory(folder_, error)) {
      fail_on_file(folder_, "the folder cannot be made", ENOTDIR);
    }
  }
  ~NewFiles() { remove(); }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  /// The path at which to write what is to become the file `name`.
  std::string add(const std::string& name) {
    const std::filesystem::path folder(folder_);
    files_.emplace_back((folder / fmt::format(".{}.{}", name, getpid())).string(),
                        (folder / name).string());
    return files_.back().first;
  }
  void commit() {
    for (auto& [temporary, path] : files_) {
      if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        fail_on_file(path, "the file cannot be written", errno);
      }
      temporary = path;
    }
    files_.clear();
    made_.clear();
  }

 private:
  void remove() {
    std::error_code ignored;
    for (const auto& [present, path] : files_) std::filesystem::remove(present, ignored);
    for (const std::filesystem::path& folder : made_) rmdir(folder.c_str());
  }

  std::string folder_;
  std::vector<std::filesystem::path> made_;  // innermost first
  std::vector<std::pair<std::string, std::string>> files_;
};

}  // namespace halftone::cli
