#include "onnx/report.hpp"

#include <algorithm>

namespace halftone::onnx {

namespace {
constexpr std::size_t most_defects = 100, most_operators = 1000, most_nodes = 16;
}  // namespace

void Report::add_current() {
  try {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model && error.kind() != ErrorKind::unsupported) throw;
    auto& list = error.kind() == ErrorKind::model ? defects_ : others_;
    list.push_back({error, std::current_exception()});
  }
  if (defects_.size() + others_.size() >= most_defects) raise();
}

void Report::add(ErrorKind kind, const ErrorParts& parts) {
  try {
    fail(kind, parts);
  } catch (const Error&) {
    add_current();
  }
}

void Report::add_shape(const ErrorParts& parts, std::int64_t expected, std::int64_t found) {
  try {
    throw ShapeError(parts, -1, expected, found);
  } catch (const Error&) {
    add_current();
  }
}

void Report::add_operator(const std::string& op, const std::string& node) {
  auto known = std::find_if(operators_.begin(), operators_.end(),
                            [&](const Operator& o) { return o.name == op; });
  if (known == operators_.end()) {
    operators_.push_back({op, {}, 0});
    known = operators_.end() - 1;
  }
  if (known->nodes.size() < most_nodes) known->nodes.push_back(node);
  ++known->count;
  if (operators_.size() >= most_operators) raise();
}

std::string Report::operator_lines() const {
  std::string text;
  for (const Operator& op : operators_) {
    text += "\n" + op.name + "\t";
    for (std::size_t i = 0; i < op.nodes.size(); ++i) {
      text += (i == 0 ? "" : ", ") + op.nodes[i];
    }
    if (op.count > op.nodes.size()) {
      text += " and " + std::to_string(op.count - op.nodes.size()) + " more";
    }
  }
  return text;
}

void Report::raise_unsupported() const {
  if (operators_.empty() && others_.size() == 1) std::rethrow_exception(others_[0].thrown);
  const std::size_t count = operators_.size();
  std::string text;
  if (count > 0) {
    text = count == 1 ? "an operator is not offered"
                      : std::to_string(count) + " operators are not offered";
  } else {
    text = std::to_string(others_.size()) + " things in the model are not offered";
  }
  text += operator_lines();
  for (const Entry& other : others_) text += "\n" + std::string(other.error.line());
  throw UnsupportedError({.what = text,
                          .hint = count == 0 ? ""
                                             : "operators of your own come in with "
                                               "LoadOptions::operators"});
}

void Report::raise() const {
  if (empty()) return;
  if (defects_.empty()) raise_unsupported();
  if (defects_.size() == 1 && others_.empty() && operators_.empty()) {
    std::rethrow_exception(defects_[0].thrown);
  }
  std::string text = defects_.size() == 1
                         ? "the model has a defect, and something in it is not offered"
                         : "the model has " + std::to_string(defects_.size()) + " defects";
  if (defects_.size() >= most_defects) text += " at least";
  for (const Entry& defect : defects_) text += "\n" + std::string(defect.error.line());
  for (const Entry& other : others_) text += "\nnot offered: " + std::string(other.error.line());
  text += operator_lines();
  throw ModelError({.what = text});
}

}  // namespace halftone::onnx
