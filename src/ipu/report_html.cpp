#include <string_view>

#include <halftone/ipu/profile.hpp>

#include "ipu/page.hpp"

namespace halftone::ipu {

std::string Report::html() const {
  constexpr std::string_view whole = page, mark = "@REPORT@";
  const std::size_t at = whole.find(mark);
  std::string text(whole.substr(0, at));
  // Within a script element "</" would end it, "<!--" change its meaning.
  for (const char c : json()) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  text += whole.substr(at + mark.size());
  return text;
}

}  // namespace halftone::ipu
