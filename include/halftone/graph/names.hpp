#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>

namespace halftone {

/// A text in a graph's pool of characters.
struct Name {
  std::uint32_t first = 0, size = 0;
  constexpr bool empty() const { return size == 0; }
  friend constexpr bool operator==(const Name&, const Name&) = default;
};

/// A whole number in decimal digits.
class DecimalText {
 public:
  constexpr explicit DecimalText(std::int64_t number) {
    const bool is_negative = number < 0;
    auto rest = static_cast<std::uint64_t>(number);
    if (is_negative) rest = 0 - rest;
    do {
      digits_[--first_] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (is_negative) digits_[--first_] = '-';
  }
  constexpr operator std::string_view() const { return {digits_ + first_, most - first_}; }

 private:
  static constexpr std::size_t most = 20;
  char digits_[most]{};
  std::size_t first_ = most;
};

/// Texts one behind the other. (Not every compiler and standard library that is supported has
/// std::string in constant evaluation.)
struct JoinedText {
  Vector<char> characters{};

  constexpr explicit JoinedText(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
      characters.insert(characters.end(), part.begin(), part.end());
    }
  }
  constexpr operator std::string_view() const { return {characters.data(), characters.size()}; }
};

/// Texts in one pool of characters, and an index from unique ones to ids.
class Names {
 public:
  constexpr std::string_view view(Name name) const {
    return {pool_.data() + name.first, name.size};
  }
  constexpr Name store(std::string_view text) {
    const Name name{static_cast<std::uint32_t>(pool_.size()),
                    static_cast<std::uint32_t>(text.size())};
    // The text may lie in the pool itself, which moves as it grows.
    const bool own = !pool_.empty() && !std::is_constant_evaluated() &&
                     text.data() >= pool_.data() && text.data() < pool_.data() + pool_.size();
    const std::size_t offset = own ? static_cast<std::size_t>(text.data() - pool_.data()) : 0;
    if (own) {
      for (std::size_t i = 0; i < text.size(); ++i) pool_.push_back(pool_[offset + i]);
    } else {
      pool_.append(text.data(), text.size());
    }
    return name;
  }
  /// Stores the text, or the text and a number if another id has it.
  constexpr Name add_unique(std::string_view text, std::int32_t id) {
    if (find(text) < 0) {
      const Name name = store(text);
      bind(name, id);
      return name;
    }
    for (std::uint32_t number = next_number_of(text);; ++number) {
      const JoinedText candidate({text, "_", DecimalText(number)});
      if (find(candidate) >= 0) continue;
      const Name name = store(candidate);
      bind(name, id);
      return name;
    }
  }
  constexpr std::int32_t find(std::string_view text) const {
    if (slots_.empty()) return -1;
    for (std::size_t at = hash(text) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].id < 0) return -1;
      if (view(slots_[at].name) == text) return slots_[at].id;
    }
  }
  constexpr void bind(Name name, std::int32_t id) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    insert({name, id});
  }
  constexpr void clear_index() {
    slots_.clear();
    used_ = 0;
  }

 private:
  struct Slot {
    Name name;
    std::int32_t id = -1;
    std::uint32_t next_number = 1;
  };

  static constexpr std::size_t hash(std::string_view text) {
    std::uint64_t h = 14695981039346656037u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return static_cast<std::size_t>(h ^ h >> 32);
  }
  /// Each taken text remembers where its numbering stands: many equal names cost no search.
  constexpr std::uint32_t next_number_of(std::string_view text) {
    for (std::size_t at = hash(text) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (view(slots_[at].name) == text) return slots_[at].next_number++;
    }
  }
  constexpr void insert(Slot slot) {
    const std::string_view text = view(slot.name);
    for (std::size_t at = hash(text) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].id < 0) {
        slots_[at] = slot;
        ++used_;
        return;
      }
      if (view(slots_[at].name) == text) {
        slots_[at].id = slot.id;
        return;
      }
    }
  }
  constexpr void grow() {
    Vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 16 : 2 * old.size(), Slot{});
    used_ = 0;
    for (const Slot& slot : old) {
      if (slot.id >= 0) insert(slot);
    }
  }

  Vector<char> pool_;
  Vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace halftone
