#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/onnx.hpp>

namespace halftone::onnx {

/// An operator that is not offered, and the nodes that ask for it.
struct MissingOperator {
  std::string name;  ///< "ai.onnx Gelu 20"
  std::vector<std::string> nodes;
  std::size_t count = 0;  ///< of the nodes; of very many only the first have their names here
};

/// Everything that is wrong with a model, so that one error says it all, and what is unusual.
class Report {
 public:
  /// A strict report takes warnings for defects.
  explicit Report(bool strict) : strict_(strict) {}

  bool empty() const { return defects_.empty() && others_.empty() && operators_.empty(); }

  /// Something that is wrong (ModelError) or not offered (UnsupportedError). Throws everything when
  /// it becomes too much.
  void add(ErrorKind kind, const ErrorParts& parts);
  void add_shape(const ErrorParts& parts, std::int64_t expected, std::int64_t found);
  /// The error that is being handled; throws it again if it is of another kind.
  void add_current();
  /// An operator that is not offered, and a node that asks for it.
  void add_operator(const std::string& op, const std::string& node);
  /// The model is written in a version that is not known: what seems to be wrong may be right in
  /// it, so nothing is a defect.
  void add_version(const ErrorParts& parts);
  /// Something that should not be so, but has a meaning all the same.
  void warn(const ErrorParts& parts);

  /// Throws if there is anything but warnings.
  void raise() const;
  /// Gives the warnings to the log, one message for those of one kind.
  void log_warnings() const;

  std::vector<Error> defects() const { return errors_of(defects_); }
  /// All but operators.
  std::vector<Error> unsupported() const { return errors_of(others_); }
  const std::vector<MissingOperator>& operators() const { return operators_; }
  std::vector<Error> warnings() const { return errors_of(warnings_); }

 private:
  struct Entry {
    Error error;
    std::exception_ptr thrown;  // the same with its own class
  };

  void keep(const Error& error);
  void raise_unsupported() const;
  std::string operator_lines() const;
  static std::string lines(const std::vector<Entry>& entries, std::string_view before);
  static std::vector<Error> errors_of(const std::vector<Entry>& entries);

  bool strict_, has_unknown_version_ = false;
  std::vector<Entry> defects_, others_, warnings_;
  std::vector<MissingOperator> operators_;
  std::size_t characters_ = 0;  ///< that all this takes
};

/// Reads a model file; `report` says what is wrong and what is unusual, also if this throws.
Graph load(std::string_view path, const LoadOptions& options, Report& report);

}  // namespace halftone::onnx
