#include "onnx/attributes.hpp"

#include <algorithm>

#include <halftone/graph/some_attributes.hpp>

#include "base/describe.hpp"

namespace halftone::onnx {

namespace {

class Visitor final : public AttributeVisitor {
 public:
  Visitor(std::span<const AttributeMessage> attributes, const GraphReader& read_graph,
          std::vector<bool>& taken, std::vector<AttributeDefect>& defects)
      : attributes_(attributes), read_graph_(read_graph), taken_(taken), defects_(defects) {}

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (const AttributeMessage* a = take(name, AttributeType::integer)) {
      value = a->integer;
      present = true;
    }
  }
  void real(std::string_view name, float& value, bool& present) override {
    if (const AttributeMessage* a = take(name, AttributeType::real)) {
      value = a->real;
      present = true;
    }
  }
  void integers(std::string_view name, std::int64_t* values, std::uint8_t& count,
                std::size_t capacity) override {
    const AttributeMessage* a = take(name, AttributeType::integers);
    if (a != nullptr) assign(name, a->integers(), values, count, capacity);
  }
  void reals(std::string_view name, float* values, std::uint8_t& count,
             std::size_t capacity) override {
    const AttributeMessage* a = take(name, AttributeType::reals);
    if (a != nullptr) assign(name, a->reals(), values, count, capacity);
  }
  void text(std::string_view name, char* text, std::size_t capacity) override {
    const AttributeMessage* a = take(name, AttributeType::text);
    if (a == nullptr) return;
    const bool has_zero = a->text.find('\0') != a->text.npos;
    if (a->text.size() > capacity || has_zero) {
      add(name, has_zero ? "holds a zero byte" : "is too long",
          has_zero ? "" : "at most " + std::to_string(capacity) + " characters",
          detail::quoted(a->text));
      return;
    }
    std::fill(text, text + capacity + 1, '\0');
    std::copy(a->text.begin(), a->text.end(), text);
  }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    const AttributeMessage* a = take(name, AttributeType::text);
    if (a != nullptr) choose(name, a->text, value, names);
  }
  void choices(std::string_view name, std::int64_t* values, std::uint8_t& count,
               std::size_t capacity, std::span<const std::string_view> names) override {
    const AttributeMessage* a = take(name, AttributeType::texts);
    if (a == nullptr) return;
    std::vector<std::int64_t> chosen;
    for (const std::string_view text : a->texts()) {
      choose(name, text, chosen.emplace_back(), names);
    }
    assign(name, chosen, values, count, capacity);
  }
  void graph(std::string_view name, std::int32_t& index) override {
    if (const AttributeMessage* a = take(name, AttributeType::graph)) index = read_graph_(*a);
  }

 private:
  void choose(std::string_view name, std::string_view text, std::int64_t& value,
              std::span<const std::string_view> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != text) continue;
      value = static_cast<std::int64_t>(i);
      return;
    }
    std::string known;
    for (const std::string_view n : names) known += (known.empty() ? "" : ", ") + std::string(n);
    add(name, "has an unknown value", known, detail::quoted(text));
  }
  const AttributeMessage* take(std::string_view name, AttributeType type) {
    for (std::size_t i = 0; i < attributes_.size(); ++i) {
      if (attributes_[i].name != name) continue;
      taken_[i] = true;
      if (attributes_[i].type == type) return &attributes_[i];
      add(name, "has another type", onnx::name(type), std::string(onnx::name(attributes_[i].type)));
    }
    return nullptr;
  }
  template <class T>
  void assign(std::string_view name, const std::vector<T>& from, T* values, std::uint8_t& count,
              std::size_t capacity) {
    if (from.size() > capacity) {
      add(name, "has too many values", "at most " + std::to_string(capacity),
          std::to_string(from.size()));
      return;
    }
    // What lies behind the last value is zero: equal lists are then equal bytes.
    std::fill(values, values + capacity, T{});
    std::copy(from.begin(), from.end(), values);
    count = static_cast<std::uint8_t>(from.size());
  }
  void add(std::string_view name, std::string_view what, std::string_view expected,
           std::string found) {
    defects_.push_back({"attribute '" + std::string(name) + "' " + std::string(what),
                        std::string(expected), std::move(found)});
  }

  std::span<const AttributeMessage> attributes_;
  const GraphReader& read_graph_;
  std::vector<bool>& taken_;
  std::vector<AttributeDefect>& defects_;
};

/// Looks at the attributes again, as the operator keeps them.
class Check final : public SomeAttributes {
 public:
  Check(std::span<const AttributeMessage> attributes, std::vector<AttributeDefect>& defects)
      : attributes_(attributes), defects_(defects) {}

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    const auto given = std::find_if(attributes_.begin(), attributes_.end(),
                                    [&](const AttributeMessage& a) { return a.name == name; });
    if (given == attributes_.end()) {
      if (present && value == required) missing(name);
    } else if (given->type == AttributeType::integer && given->integer != value) {
      defects_.push_back({"attribute '" + std::string(name) + "' is out of range", "",
                          std::to_string(given->integer)});
    }
  }
  void graph(std::string_view name, std::int32_t& index) override {
    const bool given = std::any_of(attributes_.begin(), attributes_.end(),
                                   [&](const AttributeMessage& a) { return a.name == name; });
    if (index < 0 && index != no_subgraph.index && !given) missing(name);
  }

 private:
  void missing(std::string_view name) {
    defects_.push_back({"attribute '" + std::string(name) + "' is missing", "", ""});
  }

  std::span<const AttributeMessage> attributes_;
  std::vector<AttributeDefect>& defects_;
};

}  // namespace

Vector<Word> read_attributes(const Descriptor& op, std::span<const AttributeMessage> attributes,
                             const GraphReader& read_graph, std::vector<bool>& taken,
                             std::vector<AttributeDefect>& defects) {
  Vector<Word> words = op.defaults();
  taken.assign(attributes.size(), false);
  const std::size_t before = defects.size();
  Visitor visitor(attributes, read_graph, taken, defects);
  op.attributes(words, visitor);
  if (defects.size() == before) {
    Check check(attributes, defects);
    op.attributes(words, check);
  }
  return words;
}

}  // namespace halftone::onnx
