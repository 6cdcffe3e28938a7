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

namespace detail {

/// The text of an error. It is counted, so that copying an error cannot throw.
struct ErrorTexts {
  virtual ~ErrorTexts() = default;

  long uses = 1;
  ErrorKind kind{};
  const char* text = "";  ///< with a zero behind it
  std::string_view reason{}, node{}, tensor{}, expected{}, found{}, hint{}, line{};
};

/// Composes the texts of an error. The core has the code; programs without the library include it,
/// error_text.hpp. It is a template because several of a program's files may then have it.
template <class = void>
ErrorTexts* compose_error(ErrorKind kind, const ErrorParts& parts);

}  // namespace detail

/// Base of all errors. what() is a text of several lines; the parts can be asked for one by one.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, const ErrorParts& parts) : texts_(detail::compose_error(kind, parts)) {}
  Error(const Error& other) noexcept : std::exception(other), texts_(other.kept()) {}
  Error& operator=(const Error& other) noexcept {
    detail::ErrorTexts* const texts = other.kept();
    release();
    texts_ = texts;
    return *this;
  }
  ~Error() override { release(); }

  const char* what() const noexcept override { return texts_->text; }
  ErrorKind kind() const noexcept { return texts_->kind; }
  std::string_view reason() const noexcept { return texts_->reason; }
  std::string_view node() const noexcept { return texts_->node; }
  std::string_view tensor() const noexcept { return texts_->tensor; }
  std::string_view expected() const noexcept { return texts_->expected; }
  std::string_view found() const noexcept { return texts_->found; }
  std::string_view hint() const noexcept { return texts_->hint; }
  /// The whole error in one line, as the program's last line on standard error has it.
  std::string_view line() const noexcept { return texts_->line; }

 private:
  detail::ErrorTexts* kept() const noexcept {
    __atomic_fetch_add(&texts_->uses, 1, __ATOMIC_RELAXED);
    return texts_;
  }
  void release() noexcept {
    if (__atomic_fetch_sub(&texts_->uses, 1, __ATOMIC_ACQ_REL) == 1) delete texts_;
  }

  detail::ErrorTexts* texts_;
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

/// Throws the error class of that kind. Defined as detail::compose_error is, so that headers need no
/// formatting.
template <class = void>
[[noreturn]] void fail(ErrorKind kind, const ErrorParts& parts);
/// Throws a ShapeError about a tensor. Defined in the core.
[[noreturn]] void throw_extent(std::string_view what, std::string_view tensor, std::int64_t axis,
                               std::int64_t expected, std::int64_t found);

}  // namespace halftone
