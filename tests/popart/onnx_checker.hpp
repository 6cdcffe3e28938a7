#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace test {

/// A folder of models for ONNX's own checker, which is a Python package.
class CheckedFolder {
 public:
  CheckedFolder() { std::filesystem::create_directory(path_); }
  CheckedFolder(const CheckedFolder&) = delete;
  CheckedFolder& operator=(const CheckedFolder&) = delete;
  ~CheckedFolder() { std::filesystem::remove_all(path_); }

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  void add(const std::string& name, std::string_view bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
  }
  /// What is wrong, one model a line; nothing if the package is not there.
  std::optional<std::string> complaints() const {
    // Debian's own interpreter is the one that has the package.
    const std::string command =
        "/usr/bin/python3 tests/popart/onnx_checker.py '" + path_.string() + "' 2>&1";
    std::FILE* out = ::popen(command.c_str(), "r");
    if (out == nullptr) return std::nullopt;
    std::string text;
    std::string line;
    for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) {
      line += static_cast<char>(c);
      if (c != '\n') continue;
      // It takes ai.graphcore's operators for old experiments of the same names.
      if (!line.starts_with("Warning: Checker does not support models with experimental")) {
        text += line;
      }
      line.clear();
    }
    text += line;
    const int status = ::pclose(out);
    if (status == 0) return text;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
      return std::nullopt;
    }
    return text + "the checker ended with status " + std::to_string(status);
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("halftone-checked-" + std::to_string(::getpid()) + "-" + std::to_string(count_++));
  static inline int count_ = 0;
};

}  // namespace test
