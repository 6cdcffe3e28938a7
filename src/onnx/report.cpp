#include "onnx/report.hpp"

#include <algorithm>
#include <unordered_map>

#include <halftone/base/log.hpp>

namespace halftone::onnx {

namespace {

constexpr std::size_t most_defects = 10'000, most_operators = 1000, most_warnings = 10'000;
constexpr std::size_t most_characters = std::size_t{16} << 20;
/// Of several things of one kind so many are in the text; the rest are counted.
constexpr std::size_t shown = 3, longest_line = 300, longest_list = 150;

/// The line without what a person would not read to its end.
std::string cut(std::string_view line) {
  if (line.size() <= longest_line) return std::string(line);
  std::size_t end = longest_line;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return std::string(line.substr(0, end)) + " ...";
}

/// What makes two errors one kind: their reason, and the operator of their node.
std::string kind_of(const Error& error) {
  return std::string(error.reason()) + '\n' +
         std::string(error.node().substr(0, error.node().find(' ')));
}

}  // namespace

void Report::keep(const Error& error) {
  const bool is_model = error.kind() == ErrorKind::model && !has_unknown_version_;
  (is_model ? defects_ : others_).push_back({error, std::current_exception()});
  characters_ += std::string_view(error.what()).size() + error.line().size();
  if (defects_.size() + others_.size() >= most_defects || characters_ > most_characters) raise();
}

void Report::add_current() {
  try {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model && error.kind() != ErrorKind::unsupported) throw;
    keep(error);
  }
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
                            [&](const MissingOperator& o) { return o.name == op; });
  if (known == operators_.end()) {
    operators_.push_back({op, {}, 0});
    known = operators_.end() - 1;
  }
  if (characters_ <= most_characters) {
    known->nodes.push_back(node);
    characters_ += node.size();
  }
  ++known->count;
  if (operators_.size() >= most_operators) raise();
}

void Report::add_version(const ErrorParts& parts) {
  has_unknown_version_ = true;
  add(ErrorKind::unsupported, parts);
}

void Report::warn(const ErrorParts& parts) {
  if (strict_) return add(ErrorKind::model, parts);
  if (warnings_.size() >= most_warnings || characters_ > most_characters) return;
  const ModelError error(parts);
  characters_ += std::string_view(error.what()).size() + error.line().size();
  warnings_.push_back({error, {}});
}

void Report::log_warnings() const {
  if (!log_enabled(LogLevel::warn)) return;
  std::vector<std::string> kinds;
  for (const Entry& entry : warnings_) {
    const std::string kind(entry.error.reason());
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
    kinds.push_back(kind);
    const auto count = static_cast<std::size_t>(
        std::count_if(warnings_.begin(), warnings_.end(),
                      [&](const Entry& other) { return other.error.reason() == kind; }));
    std::string text = cut(entry.error.line());
    if (count > 1) text += "; and " + std::to_string(count - 1) + " more like this";
    log_message(LogLevel::warn, "onnx", text);
  }
}

std::vector<Error> Report::errors_of(const std::vector<Entry>& entries) {
  std::vector<Error> errors;
  for (const Entry& entry : entries) errors.push_back(entry.error);
  return errors;
}

std::string Report::operator_lines() const {
  std::string text;
  for (const MissingOperator& op : operators_) {
    std::string line = std::to_string(op.count) + (op.count == 1 ? " node: " : " nodes: ");
    std::size_t named = 0;
    for (; named < std::min(op.nodes.size(), shown); ++named) {
      if (named > 0 && line.size() + op.nodes[named].size() > longest_list) break;
      line += (named == 0 ? "" : ", ") + op.nodes[named];
    }
    if (op.count > named) line += " and " + std::to_string(op.count - named) + " more";
    if (op.name.starts_with("com.microsoft.nchwc ")) {
      line += "; made for one kind of processor, let ONNX Runtime save with ORT_ENABLE_EXTENDED";
    }
    text += "\n" + op.name + "\t" + line;
  }
  return text;
}

std::string Report::lines(const std::vector<Entry>& entries, std::string_view before) {
  struct Kind {
    std::string name;
    std::vector<const Entry*> first;
    std::size_t count = 0;
  };
  std::vector<Kind> kinds;
  std::unordered_map<std::string, std::size_t> places;
  for (const Entry& entry : entries) {
    const auto [place, is_new] = places.emplace(kind_of(entry.error), kinds.size());
    if (is_new) kinds.push_back({place->first, {}, 0});
    Kind& kind = kinds[place->second];
    if (kind.first.size() < shown) kind.first.push_back(&entry);
    ++kind.count;
  }
  std::string text;
  for (const Kind& kind : kinds) {
    for (const Entry* entry : kind.first) {
      text += "\n" + std::string(before) + cut(entry->error.line());
    }
    if (kind.count > kind.first.size()) {
      text += "\n" + std::string(before) + "and " + std::to_string(kind.count - kind.first.size()) +
              " more like this";
    }
  }
  return text;
}

void Report::raise_unsupported() const {
  if (operators_.empty() && others_.size() == 1) std::rethrow_exception(others_[0].thrown);
  const std::size_t count = operators_.size(), others = others_.size();
  const auto number = [](std::size_t n) { return std::to_string(n); };
  std::string text;
  if (count > 0) text = count == 1 ? "an operator" : number(count) + " operators";
  if (count > 0 && others > 0) text += " and ";
  if (others > 0) {
    const bool is_more = count > 0;
    text += others == 1 ? "something" : number(others);
    if (is_more) text += others == 1 ? " else" : " other";
    text += others == 1 ? " in the model" : " things in the model";
  }
  text += count + others == 1 ? " is not offered" : " are not offered";
  text += operator_lines() + lines(others_, "");
  fail(
      ErrorKind::unsupported,
      {.what = text, .hint = count == 0 ? "" : "programs in C++ can bring operators of their own"});
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
  text += lines(defects_, "") + lines(others_, "not offered: ") + operator_lines();
  throw ModelError({.what = text});
}

}  // namespace halftone::onnx
