#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include <halftone/halftone.hpp>

// Inputs and attributes of operators, drawn at random.
namespace test {

using namespace halftone;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  /// 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }

 private:
  std::uint64_t state_;
};

struct RandomAttributes final : AttributeVisitor {
  Dice& dice;
  bool has_graph = false;

  explicit RandomAttributes(Dice& d) : dice(d) {}
  void integer(std::string_view, std::int64_t& value, bool& present) override {
    if (value == required || dice.one_in(2)) {
      value = dice.between(-2, 4);
      present = true;
    }
  }
  void real(std::string_view, float& value, bool& present) override {
    if (!dice.one_in(2)) return;
    value = static_cast<float>(dice.between(-4, 8)) / 4;
    present = true;
  }
  void integers(std::string_view, std::int64_t* values, std::uint8_t& count,
                std::size_t capacity) override {
    if (dice.one_in(2)) return;
    count = static_cast<std::uint8_t>(
        dice.between(0, std::min<std::int64_t>(5, static_cast<std::int64_t>(capacity))));
    for (int i = 0; i < count; ++i) values[i] = dice.one_in(3) ? dice.between(-2, 4) : 1;
  }
  void reals(std::string_view, float* values, std::uint8_t& count, std::size_t capacity) override {
    if (dice.one_in(2)) return;
    count = static_cast<std::uint8_t>(
        dice.between(0, std::min<std::int64_t>(4, static_cast<std::int64_t>(capacity))));
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(dice.between(-4, 8)) / 4;
  }
  void text(std::string_view, char*, std::size_t) override {}
  void choice(std::string_view, std::int64_t& value,
              std::span<const std::string_view> names) override {
    if (dice.one_in(2)) value = dice.below(static_cast<std::int64_t>(names.size()));
  }
  void choices(std::string_view, std::int64_t* values, std::uint8_t& count, std::size_t capacity,
               std::span<const std::string_view> names) override {
    if (!dice.one_in(4)) return;
    count = static_cast<std::uint8_t>(
        dice.between(0, std::min<std::int64_t>(4, static_cast<std::int64_t>(capacity))));
    for (int i = 0; i < count; ++i) values[i] = dice.below(static_cast<std::int64_t>(names.size()));
  }
  void graph(std::string_view, std::int32_t&) override { has_graph = true; }
};

inline ElementType random_type(const Descriptor& op, int variable, Dice& dice) {
  std::vector<ElementType> types;
  for (int t = 1; t < detail::element_type_count; ++t) {
    const auto type = static_cast<ElementType>(t);
    // Texts: tests/op/text.cpp.
    if (!has_objects(type) && op.allows(variable, type)) types.push_back(type);
  }
  if (types.empty()) return ElementType::float32;
  // Mostly the first, which most of the code is for.
  return dice.one_in(2)
             ? types[0]
             : types[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(types.size())))];
}

inline Dims random_shape(const Dims& base, Dice& dice) {
  Dims shape = base;
  switch (dice.below(6)) {
    case 0:  // broadcasts to the base
      for (std::int64_t& extent : shape) extent = dice.one_in(2) ? 1 : extent;
      return shape;
    case 1: {  // a vector as long as one of its dimensions, or another small one
      const std::int64_t extent = base.empty() || dice.one_in(3)
                                      ? dice.between(0, 4)
                                      : base[dice.one_in(2) && base.size() > 1 ? 1 : 0];
      return Dims{extent};
    }
    case 2:
      return Dims{};
    case 3: {
      shape = Dims{};
      const std::int64_t rank = dice.between(0, 4);
      for (std::int64_t i = 0; i < rank; ++i) shape.push_back(dice.between(0, 4));
      return shape;
    }
    default:
      return shape;
  }
}

inline AnyArray random_array(ElementType type, const Dims& shape, Dice& dice) {
  AnyArray x(TensorInfo{type, shape});
  visit_type<AllTypes>(type, [&]<class T>() {
    for (T& v : x.values<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        v = dice.one_in(2);
      } else if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(dice.between(std::is_signed_v<T> ? -2 : 0, 4));
      } else {
        const float some[] = {0, -0.f, 1, -1, 0.5f, 3, 1e30f, std::nanf(""), INFINITY, -INFINITY};
        v = static_cast<T>(dice.one_in(4) ? some[dice.below(10)]
                                          : static_cast<float>(dice.between(-30, 30)) / 8);
      }
    }
  });
  return x;
}

/// A graph with an input for each array that is given, and what a node on them takes.
struct NodeInputs {
  Graph graph;
  std::vector<TensorId> ids;
  std::vector<InputInfo> infos;
  std::vector<AnyView> views;
};

inline NodeInputs node_inputs(const std::vector<AnyArray>& arrays) {
  NodeInputs in;
  for (const AnyArray& x : arrays) {
    const bool given = x.info().is_known();
    in.ids.push_back(given ? in.graph.add_input(x.info(), {}) : no_tensor);
    in.infos.push_back({x.info(), {x.data(), x.bytes()}, given});
    in.views.push_back(given ? AnyView(x) : AnyView());
  }
  return in;
}

}  // namespace test
