#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

namespace halftone {

/// What went wrong; the numbers are the exit codes of the program.
enum class ErrorKind : std::uint8_t {
  internal = 1,     ///< a defect of the library
  usage = 2,        ///< wrong or missing arguments
  model = 3,        ///< the model is broken
  unsupported = 4,  ///< well-formed, but not offered
  input = 5,        ///< an input does not fit the model
  memory = 6,       ///< does not fit the device or the host
  io = 7,           ///< a file cannot be opened, read or written
};
constexpr std::string_view name(ErrorKind kind) {
  constexpr std::string_view names[] = {"",      "internal", "usage", "model", "unsupported",
                                        "input", "memory",   "io"};
  return names[static_cast<int>(kind)];
}

/// The parts of an error; empty ones are left out of the text.
struct ErrorParts {
  std::string_view what;      ///< the reason in one sentence
  std::string_view node{};    ///< operator and name of the node concerned
  std::string_view tensor{};  ///< name of the tensor (or file, or option) concerned
  std::string_view expected{};
  std::string_view found{};
  std::string_view hint{};  ///< what to do
};

/// Base of all errors. what() is a text of several lines; the parts can be asked for one by one.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, const ErrorParts& parts);
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;

  const char* what() const noexcept override;
  ErrorKind kind() const noexcept;
  std::string_view reason() const noexcept;
  std::string_view node() const noexcept;
  std::string_view tensor() const noexcept;
  std::string_view expected() const noexcept;
  std::string_view found() const noexcept;
  std::string_view hint() const noexcept;
  /// The whole error in one line, as the program's last line on standard error has it.
  std::string_view line() const noexcept;

 private:
  struct Content;
  Content* content_;  // counted: copying an error must not throw
};

template <ErrorKind Kind>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const ErrorParts& parts) : Error(Kind, parts) {}
};

using InternalError = ErrorOf<ErrorKind::internal>;
using UsageError = ErrorOf<ErrorKind::usage>;
using ModelError = ErrorOf<ErrorKind::model>;
using UnsupportedError = ErrorOf<ErrorKind::unsupported>;
using InputError = ErrorOf<ErrorKind::input>;
using MemoryError = ErrorOf<ErrorKind::memory>;
using IoError = ErrorOf<ErrorKind::io>;

/// A model whose shapes do not fit together.
class ShapeError : public ModelError {
 public:
  ShapeError(const ErrorParts& parts, std::int64_t axis, std::int64_t expected, std::int64_t found)
      : ModelError(parts), axis_(axis), expected_(expected), found_(found) {}
  /// The dimension concerned, -1 if it is not about one.
  std::int64_t axis() const noexcept { return axis_; }
  std::int64_t expected_extent() const noexcept { return expected_; }
  std::int64_t found_extent() const noexcept { return found_; }

 private:
  std::int64_t axis_, expected_, found_;
};

/// Throws the error class of that kind. Defined in the core, so that headers need no formatting.
[[noreturn]] void fail(ErrorKind kind, const ErrorParts& parts);
/// Throws a ShapeError about a tensor.
[[noreturn]] void throw_extent(std::string_view what, std::string_view tensor, std::int64_t axis,
                               std::int64_t expected, std::int64_t found);

}  // namespace halftone
