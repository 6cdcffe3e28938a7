#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include <popart/logging.hpp>

namespace popart {

/// Base of the errors of this interface; the text is a fmt string with arguments.
class error : public std::runtime_error {
 public:
  template <typename... Args>
  explicit error(const char* text, const Args&... args)
      : std::runtime_error(formatted(text, args...)) {}
  template <typename... Args>
  explicit error(const std::string& text, const Args&... args)
      : std::runtime_error(formatted(text, args...)) {}

  /// Where it was thrown; empty, since no stacks are recorded.
  const std::string& stackreport() const { return stack_; }

 private:
  template <typename... Args>
  static std::string formatted(const std::string& text, const Args&... args) {
    // A finished text may hold braces of its own.
    if constexpr (sizeof...(Args) == 0) return text;
    try {
      return logging::format(text, args...);
    } catch (const logging::FormatError& wrong) {
      return std::string("Popart exception format error ") + wrong.what();
    }
  }
  std::string stack_;
};

/// A defect of the library.
class internal_error : public error {
 public:
  using error::error;
};

/// Wrong use of a session or device while a model runs. (Not std::runtime_error itself.)
class runtime_error : public error {
 public:
  using error::error;
};

/// The model does not fit the memory of its device.
class memory_allocation_err : public error {
 public:
  explicit memory_allocation_err(const std::string& info) : error("{}", info) {}
  virtual std::unique_ptr<memory_allocation_err> clone() const = 0;
  virtual std::string getSummaryReport() const = 0;
  virtual std::string getProfilePath() const = 0;
};

enum class ErrorSource { popart = 0, popart_internal, poplar, poplibs, unknown };
ErrorSource getErrorSource(const std::exception& e);

}  // namespace popart
