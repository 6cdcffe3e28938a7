#include <halftone/graph/planning.hpp>

#include <algorithm>
#include <bit>

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

}  // namespace

bool is_planned(std::string_view op) {
  constexpr std::string_view products[] = {"Conv",   "ConvTranspose", "ConvWeightGradient",
                                           "Gemm",   "GRU",           "LSTM",
                                           "MatMul", "MultiConv",     "RNN"};
  return std::find(std::begin(products), std::end(products), op) != std::end(products);
}

Planning planning_of(const Node& node) {
  Planning planning;
  if (!is_planned(node.op->id.name)) return planning;
  const std::size_t own = own_words(node);
  if (node.attributes.size() < own + 2) return planning;
  planning.available_memory_proportion =
      std::bit_cast<float>(static_cast<std::int32_t>(node.attributes[own]));
  planning.partials = static_cast<ElementType>(node.attributes[own + 1]);
  return planning;
}

void set_planning(Node& node, const Planning& planning) {
  const std::string text = detail::node_text(*node.op, {});
  if (!is_planned(node.op->id.name)) {
    fail(ErrorKind::usage,
         {.what = "the operator is no product: nothing is planned for it", .node = text});
  }
  const float proportion = planning.available_memory_proportion;
  if (!(proportion >= 0 && proportion <= 1)) {
    fail(ErrorKind::usage, {.what = "the available memory proportion is out of range",
                            .node = text,
                            .expected = "above 0, up to 1",
                            .found = std::to_string(proportion)});
  }
  if (planning.partials != ElementType::undefined && planning.partials != ElementType::float32 &&
      planning.partials != ElementType::float16) {
    fail(ErrorKind::usage,
         {.what = "the type of partial sums is neither float nor float16", .node = text});
  }
  node.attributes.resize(own_words(node));
  if (planning == Planning{}) return;
  node.attributes.push_back(std::bit_cast<std::int32_t>(proportion));
  node.attributes.push_back(static_cast<Word>(planning.partials));
}

}  // namespace halftone
