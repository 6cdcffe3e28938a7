#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <optional>
#include <string>

#include "../folder.hpp"

namespace test {

/// A folder of models for ONNX's own checker, which is a Python package.
struct CheckedFolder : Folder {
  /// What is wrong, one model a line; nothing if the package is not there.
  std::optional<std::string> complaints() const {
    // Debian's own interpreter is the one that has the package.
    const std::string command =
        "/usr/bin/python3 tests/popart/onnx_checker.py '" + path.string() + "' 2>&1";
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
};

}  // namespace test
