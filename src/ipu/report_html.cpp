#include <string_view>

#include <halftone/ipu/profile.hpp>

#include "ipu/page.hpp"

namespace halftone::ipu {
namespace {

/// Within a script element "</" would end it, "<!--" change its meaning.
void append_json(std::string& text, std::string_view json) {
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
}

}  // namespace

std::string Report::html(std::string_view other) const {
  std::string_view rest = page;
  std::string text;
  const auto take = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    text += rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
  };
  take("@REPORT@");
  append_json(text, json());
  take("@OTHER@");
  append_json(text, other.empty() ? "null" : other);
  return text.append(rest);
}

}  // namespace halftone::ipu
