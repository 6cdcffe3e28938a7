#pragma once

#include <cstddef>
#include <string_view>

namespace halftone {

/// A short string as a structural type, so that it can be an attribute and a template argument.
template <std::size_t N>
struct BoundedText {
  char characters[N]{};

  constexpr BoundedText() = default;
  template <std::size_t M>
    requires(M <= N)
  constexpr BoundedText(const char (&literal)[M]) {
    assign({literal, M - 1});
  }
  constexpr explicit BoundedText(std::string_view text) { assign(text); }

  /// The longest text that fits.
  static constexpr std::size_t capacity() { return N - 1; }
  /// What does not fit is dropped; who reads untrusted text checks its length first.
  constexpr void assign(std::string_view text) {
    for (std::size_t i = 0; i < N; ++i) characters[i] = i < text.size() ? text[i] : '\0';
    characters[N - 1] = '\0';
  }
  constexpr std::string_view view() const { return characters; }
  constexpr bool empty() const { return characters[0] == '\0'; }
  friend constexpr bool operator==(const BoundedText&, const BoundedText&) = default;
  friend constexpr bool operator==(const BoundedText& a, std::string_view b) {
    return a.view() == b;
  }
};

using Text = BoundedText<64>;

/// A value that may be absent; unlike std::optional a structural type.
template <class T>
struct Optional {
  T value{};
  bool present = false;

  constexpr Optional() = default;
  constexpr Optional(T given) : value(given), present(true) {}
  constexpr explicit operator bool() const { return present; }
  constexpr const T& operator*() const { return value; }
  constexpr T value_or(T other) const { return present ? value : other; }
  friend constexpr bool operator==(const Optional&, const Optional&) = default;
};

}  // namespace halftone
