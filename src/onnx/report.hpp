#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/error.hpp>

namespace halftone::onnx {

/// Everything that is wrong with a model, so that one error says it all.
class Report {
 public:
  bool empty() const { return defects_.empty() && others_.empty() && operators_.empty(); }

  /// Something that is wrong (ModelError) or not offered (UnsupportedError). Throws everything when
  /// it becomes too much.
  void add(ErrorKind kind, const ErrorParts& parts);
  void add_shape(const ErrorParts& parts, std::int64_t expected, std::int64_t found);
  /// The error that is being handled; throws it again if it is of another kind.
  void add_current();
  /// An operator that is not offered, and a node that asks for it.
  void add_operator(const std::string& op, const std::string& node);

  /// Throws if there is anything.
  void raise() const;

 private:
  struct Operator {
    std::string name;
    std::vector<std::string> nodes;
    std::size_t count = 0;
  };

  struct Entry {
    Error error;
    std::exception_ptr thrown;  // the same with its own class
  };

  void raise_unsupported() const;
  std::string operator_lines() const;

  std::vector<Entry> defects_, others_;
  std::vector<Operator> operators_;
};

}  // namespace halftone::onnx
