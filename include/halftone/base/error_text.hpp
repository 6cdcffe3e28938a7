#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/base/describe.hpp>
#include <halftone/base/error.hpp>

// The code behind error.hpp: in the core, and in programs that throw without the library.
namespace halftone {
namespace detail {

/// The reason's first line says what is wrong; further ones are details, each "label<tab>text" or a
/// text alone.
class ComposedError final : public ErrorTexts {
 public:
  ComposedError(ErrorKind kind_, const ErrorParts& parts)
      : node_(parts.node),
        tensor_(parts.tensor),
        expected_(parts.expected),
        found_(parts.found),
        hint_(parts.hint) {
    compose(parts.what);
    kind = kind_;
    text = text_.c_str();
    reason = reason_;
    node = node_;
    tensor = tensor_;
    expected = expected_;
    found = found_;
    hint = hint_;
    line = line_;
  }

 private:
  void compose(std::string_view what) {
    const std::vector<std::string_view> lines = split(what);
    reason_ = escaped(lines[0]);
    if (reason_.empty()) reason_ = "failed without a reason";

    std::vector<std::pair<std::string, std::string>> details;  // label, text
    auto add = [&](std::string_view label, std::string_view part) {
      if (part.empty()) return;
      for (const std::string_view row : split(part)) {
        details.emplace_back(label, escaped(row));
        label = {};
      }
    };
    if (!tensor_.empty()) details.emplace_back("tensor", detail::quoted(tensor_));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t tab = lines[i].find('\t');
      if (tab == lines[i].npos) {
        details.emplace_back("\n", escaped(lines[i]));
      } else {
        details.emplace_back(escaped(lines[i].substr(0, tab)), escaped(lines[i].substr(tab + 1)));
      }
    }
    add("expected", expected_);
    add("found", found_);
    add("hint", hint_);

    text_ = line_ = node_.empty() ? reason_ : escaped(node_) + ": " + reason_;
    std::size_t width = 0;
    for (const auto& [label, part] : details) width = std::max(width, label.size());
    const char* separator = " (";
    for (const auto& [label, part] : details) {
      const bool alone = label == "\n";
      text_ += "\n  ";
      if (!alone) text_ += label + std::string(width + 2 - label.size(), ' ');
      text_ += part;
      line_ += separator;
      if (!alone && !label.empty()) line_ += label + " ";
      line_ += part;
      separator = "; ";
    }
    if (!details.empty()) line_ += ")";
  }

  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      lines.push_back(text.substr(0, end));
    }
    lines.push_back(text);
    return lines;
  }

  std::string reason_, node_, tensor_, expected_, found_, hint_, text_, line_;
};

template <class>
ErrorTexts* compose_error(ErrorKind kind, const ErrorParts& parts) {
  return new ComposedError(kind, parts);
}

}  // namespace detail

template <class>
void fail(ErrorKind kind, const ErrorParts& parts) {
  switch (kind) {
    case ErrorKind::usage:
      throw UsageError(parts);
    case ErrorKind::model:
      throw ModelError(parts);
    case ErrorKind::unsupported:
      throw UnsupportedError(parts);
    case ErrorKind::input:
      throw InputError(parts);
    case ErrorKind::memory:
      throw MemoryError(parts);
    case ErrorKind::io:
      throw IoError(parts);
    case ErrorKind::internal:
      break;
  }
  throw InternalError(parts);
}

}  // namespace halftone
