#include <halftone/graph/placement.hpp>

#include <string>

#include "base/describe.hpp"

namespace halftone {

namespace {

/// Takes attributes as they are.
class Nothing final : public AttributeVisitor {
 public:
  void integer(std::string_view, std::int64_t&, bool&) override {}
  void real(std::string_view, float&, bool&) override {}
  void integers(std::string_view, std::int64_t*, std::uint8_t&, std::size_t) override {}
  void reals(std::string_view, float*, std::uint8_t&, std::size_t) override {}
  void text(std::string_view, char*, std::size_t) override {}
  void choice(std::string_view, std::int64_t&, std::span<const std::string_view>) override {}
  void choices(std::string_view, std::int64_t*, std::uint8_t&, std::size_t,
               std::span<const std::string_view>) override {}
  void graph(std::string_view, std::int32_t&) override {}
};

/// How many words the operator itself reads.
std::size_t own_words(const Node& node) {
  if (node.op->defaults().empty()) return 0;
  std::vector<Word> words = node.attributes;
  Nothing visitor;
  node.op->attributes(words, visitor);
  return words.size();
}

// Behind the words of the attributes, and two that are kept free: a word with this above the IPU.
constexpr std::size_t place = 2;
constexpr Word tag = Word{0x49505521} << 32;

bool is_placed(const Node& node, std::size_t own) {
  return node.attributes.size() > own + place && (node.attributes[own + place] & ~Word{255}) == tag;
}

}  // namespace

std::int32_t ipu_of(const Node& node) {
  if (node.attributes.size() <= place) return -1;
  const std::size_t own = own_words(node);
  return is_placed(node, own) ? static_cast<std::int32_t>(node.attributes[own + place] & 255) : -1;
}

void set_ipu(Node& node, std::int32_t ipu) {
  if (ipu < -1 || ipu >= most_ipus) {
    const std::string text = detail::node_text(*node.op, {});
    fail(ErrorKind::usage, {.what = "the number of a node's IPU is out of range",
                            .node = text,
                            .expected = "0 to 63, or -1 for any",
                            .found = std::to_string(ipu)});
  }
  const std::size_t own = own_words(node);
  if (ipu < 0) {
    if (is_placed(node, own)) node.attributes.resize(own + place);
    return;
  }
  node.attributes.resize(own + place + 1);
  node.attributes[own + place] = tag | static_cast<Word>(ipu);
}

}  // namespace halftone
