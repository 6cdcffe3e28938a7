#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <halftone/base/dims.hpp>
#include <halftone/base/element_type.hpp>
#include <halftone/base/text.hpp>
#include <halftone/base/vector.hpp>

namespace halftone {

/// The value of an integer attribute that a model must give.
inline constexpr std::int64_t required = INT64_MIN;

/// A graph attribute: index into Graph::graphs of the graph that holds the node.
struct Subgraph {
  std::int32_t index = -1;
  friend constexpr bool operator==(const Subgraph&, const Subgraph&) = default;
};
/// The value of a graph attribute that a model need not give.
inline constexpr Subgraph no_subgraph{-2};

/// Attributes of a node, packed. Equal attributes have equal words.
using Word = std::int64_t;

/// An enumeration with names: `names_of(E)` gives ONNX's spelling of each value, in order from 0.
template <class E>
concept named_enum = std::is_enum_v<E> && requires(E e) {
  { names_of(e) } -> std::convertible_to<std::span<const std::string_view>>;
};

/// Sees the attributes of an operator one by one with their ONNX names, and may change them.
/// Readers, writers and printers derive from it; templates on operators stay small that way.
class AttributeVisitor {
 public:
  constexpr virtual void integer(std::string_view name, std::int64_t& value, bool& present) = 0;
  constexpr virtual void real(std::string_view name, float& value, bool& present) = 0;
  /// `values` has room for `capacity`.
  constexpr virtual void integers(std::string_view name, std::int64_t* values, std::uint8_t& count,
                                  std::size_t capacity) = 0;
  constexpr virtual void reals(std::string_view name, float* values, std::uint8_t& count,
                               std::size_t capacity) = 0;
  /// `text` has room for `capacity` characters and a closing zero.
  constexpr virtual void text(std::string_view name, char* text, std::size_t capacity) = 0;
  constexpr virtual void choice(std::string_view name, std::int64_t& value,
                                std::span<const std::string_view> names) = 0;
  /// A list of choices; `values` has room for `capacity`.
  constexpr virtual void choices(std::string_view name, std::int64_t* values, std::uint8_t& count,
                                 std::size_t capacity, std::span<const std::string_view> names) = 0;
  constexpr virtual void graph(std::string_view name, std::int32_t& index) = 0;

 protected:
  constexpr ~AttributeVisitor() = default;
};

namespace detail {

/// Calls the right function of an AttributeVisitor for a member.
struct VisitMember {
  AttributeVisitor& visitor;

  template <class A>
  constexpr void number(std::string_view name, A& value, bool& present) const {
    if constexpr (std::is_same_v<A, float>) {
      visitor.real(name, value, present);
    } else {
      static_assert(std::is_integral_v<A> || std::is_enum_v<A>,
                    "halftone: an attribute is a number, an enumeration, Dims, Text, Optional or "
                    "Subgraph");
      auto wide = static_cast<std::int64_t>(value);
      visitor.integer(name, wide, present);
      value = static_cast<A>(wide);
    }
  }
  template <class A>
  constexpr void operator()(std::string_view name, A& value) const {
    bool present = true;
    if constexpr (std::is_same_v<A, Subgraph>) {
      visitor.graph(name, value.index);
    } else if constexpr (named_enum<A>) {
      auto wide = static_cast<std::int64_t>(value);
      visitor.choice(name, wide, names_of(value));
      value = static_cast<A>(wide);
    } else {
      number(name, value, present);
    }
  }
  template <class T>
  constexpr void operator()(std::string_view name, Optional<T>& value) const {
    number(name, value.value, value.present);
  }
  template <std::size_t N>
  constexpr void operator()(std::string_view name, BoundedList<std::int64_t, N>& value) const {
    visitor.integers(name, value.items, value.count, N);
  }
  template <std::size_t N>
  constexpr void operator()(std::string_view name, BoundedList<float, N>& value) const {
    visitor.reals(name, value.items, value.count, N);
  }
  template <named_enum E, std::size_t N>
  constexpr void operator()(std::string_view name, BoundedList<E, N>& value) const {
    std::int64_t wide[N]{};
    for (std::size_t i = 0; i < value.size(); ++i) wide[i] = static_cast<std::int64_t>(value[i]);
    visitor.choices(name, wide, value.count, N, names_of(E{}));
    for (std::size_t i = 0; i < N; ++i) value.items[i] = static_cast<E>(wide[i]);
  }
  template <std::size_t N>
  constexpr void operator()(std::string_view name, BoundedText<N>& value) const {
    visitor.text(name, value.characters, N - 1);
  }
};

/// The name of an attribute, for visitors that do not look at it: no text is made of it.
struct AnyName {
  constexpr AnyName(const auto&) {}
};

struct PackMember {
  Vector<Word>& words;

  constexpr void word(float v) const { words.push_back(std::bit_cast<std::int32_t>(v)); }
  template <class A>
    requires(std::is_integral_v<A> || std::is_enum_v<A>)
  constexpr void word(A v) const {
    words.push_back(static_cast<Word>(v));
  }
  template <class A>
  constexpr void operator()(AnyName, const A& value) const {
    word(value);
  }
  constexpr void operator()(AnyName, const Subgraph& value) const { word(value.index); }
  template <class T>
  constexpr void operator()(AnyName, const Optional<T>& value) const {
    word(value.present);
    word(value.value);
  }
  template <class T, std::size_t N>
  constexpr void operator()(AnyName, const BoundedList<T, N>& value) const {
    word(value.count);
    for (const T& item : value) word(item);
  }
  template <std::size_t N>
  constexpr void operator()(AnyName, const BoundedText<N>& value) const {
    word(value.view().size());
    for (const char c : value.view()) word(c);
  }
};

struct UnpackMember {
  const Word*& next;

  constexpr void word(float& v) const {
    v = std::bit_cast<float>(static_cast<std::int32_t>(*next++));
  }
  template <class A>
    requires(std::is_integral_v<A> || std::is_enum_v<A>)
  constexpr void word(A& v) const {
    v = static_cast<A>(*next++);
  }
  template <class A>
  constexpr void operator()(AnyName, A& value) const {
    word(value);
  }
  constexpr void operator()(AnyName, Subgraph& value) const { word(value.index); }
  template <class T>
  constexpr void operator()(AnyName, Optional<T>& value) const {
    word(value.present);
    word(value.value);
  }
  template <class T, std::size_t N>
  constexpr void operator()(AnyName, BoundedList<T, N>& value) const {
    word(value.count);
    for (T& item : value) word(item);
  }
  template <std::size_t N>
  constexpr void operator()(AnyName, BoundedText<N>& value) const {
    std::size_t size = 0;
    word(size);
    value = {};
    for (std::size_t i = 0; i < size; ++i) word(value.characters[i]);
  }
};

/// The first attribute that has to be given and is not.
struct FindMissing {
  std::string_view name{};

  constexpr void operator()(const auto& attribute, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::int64_t>) {
      if (value == required && name.empty()) name = std::string_view(attribute);
    }
  }
};

/// Whether there is a graph among the attributes.
struct FindSubgraph {
  bool is_found = false;

  template <class A>
  constexpr void operator()(AnyName, const A&) {
    is_found = is_found || std::is_same_v<A, Subgraph>;
  }
};

template <class Op>
concept has_attributes = requires(Op op, PackMember visit) { op.attributes(visit); };

}  // namespace detail

template <class Op>
constexpr Vector<Word> pack(Op op) {
  Vector<Word> words;
  if constexpr (detail::has_attributes<Op>) op.attributes(detail::PackMember{words});
  return words;
}

template <class Op>
constexpr Op unpack(std::span<const Word> words) {
  Op op{};
  const Word* next = words.data();
  if constexpr (detail::has_attributes<Op>) op.attributes(detail::UnpackMember{next});
  return op;
}

}  // namespace halftone
