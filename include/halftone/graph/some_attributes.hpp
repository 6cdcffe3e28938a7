#pragma once

#include <halftone/graph/attribute.hpp>

namespace halftone {

/// A visitor that leaves all attributes as they are: the base of those that want only some.
class SomeAttributes : public AttributeVisitor {
 public:
  constexpr void integer(std::string_view, std::int64_t&, bool&) override {}
  constexpr void real(std::string_view, float&, bool&) override {}
  constexpr void integers(std::string_view, std::int64_t*, std::uint8_t&, std::size_t) override {}
  constexpr void reals(std::string_view, float*, std::uint8_t&, std::size_t) override {}
  constexpr void text(std::string_view, char*, std::size_t) override {}
  constexpr void choice(std::string_view, std::int64_t&,
                        std::span<const std::string_view>) override {}
  constexpr void choices(std::string_view, std::int64_t*, std::uint8_t&, std::size_t,
                         std::span<const std::string_view>) override {}
  constexpr void graph(std::string_view, std::int32_t&) override {}

 protected:
  constexpr ~SomeAttributes() = default;
};

}  // namespace halftone
