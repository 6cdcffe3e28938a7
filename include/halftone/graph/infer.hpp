#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include <halftone/base/tensor_info.hpp>
#include <halftone/base/vector.hpp>

namespace halftone {

/// What an operator's `infer` says: infos of all outputs, or why there are none.
struct Inferred {
  Vector<TensorInfo> outputs;
  std::string_view reason{};     ///< a literal; empty if all is well
  std::string_view attribute{};  ///< that is missing; empty if the reason is another one
  std::int64_t expected = 0, found = 0;
  bool are_types = false;  ///< whether `expected` and `found` are ElementTypes

  constexpr Inferred(const TensorInfo& output) : outputs{output} {}
  constexpr Inferred(std::initializer_list<TensorInfo> list) : outputs(list) {}
  constexpr Inferred(Vector<TensorInfo> list) : outputs(std::move(list)) {}
  constexpr Inferred(const std::vector<TensorInfo>& list) : outputs(list) {}

  static constexpr Inferred mismatch(std::string_view reason, std::int64_t expected = 0,
                                     std::int64_t found = 0) {
    Inferred result(Vector<TensorInfo>{});
    result.reason = reason;
    result.expected = expected;
    result.found = found;
    return result;
  }
  /// An element type is found where another one, or (undefined) one of several, is expected.
  static constexpr Inferred types(std::string_view reason, ElementType expected,
                                  ElementType found) {
    Inferred result =
        mismatch(reason, static_cast<std::int64_t>(expected), static_cast<std::int64_t>(found));
    result.are_types = true;
    return result;
  }
  /// An attribute that has to be given is not.
  static constexpr Inferred missing(std::string_view attribute) {
    Inferred result = mismatch("an attribute is missing");
    result.attribute = attribute;
    return result;
  }
  /// Nothing can be said before more is known, such as the value of an input.
  static constexpr Inferred unknown(std::size_t outputs = 1) {
    return Inferred(Vector<TensorInfo>(outputs, TensorInfo{}));
  }
  constexpr bool ok() const { return reason.empty(); }
};

/// One input of a node as inference sees it.
struct InputInfo {
  TensorInfo info;
  std::span<const std::byte> data{};  ///< elements, if they are known before the run
  bool is_constant = false;
};

/// All inputs of a node; those that are absent have type `undefined`.
class Inputs {
 public:
  constexpr Inputs(std::span<const InputInfo> inputs, std::size_t output_count,
                   std::span<const Vector<TensorInfo>> graph_outputs = {},
                   std::int64_t passes = dynamic)
      : inputs_(inputs.data()),
        size_(inputs.size()),
        output_count_(output_count),
        graph_outputs_(graph_outputs),
        passes_(passes) {}

  constexpr std::size_t size() const { return size_; }
  constexpr const TensorInfo& operator[](std::size_t i) const {
    return i < size_ ? inputs_[i].info : absent_;
  }
  constexpr bool has(std::size_t i) const { return i < size_ && inputs_[i].info.is_known(); }
  constexpr bool is_constant(std::size_t i) const { return i < size_ && inputs_[i].is_constant; }
  /// How many outputs the node has.
  constexpr std::size_t output_count() const { return output_count_; }
  constexpr std::span<const std::byte> data(std::size_t i) const { return inputs_[i].data; }
  /// Outputs of the node's Subgraph attributes, in their order; none while they are unknown.
  constexpr std::span<const Vector<TensorInfo>> graph_outputs() const { return graph_outputs_; }
  /// How often a loop runs its subgraph; `dynamic` if that is not known.
  constexpr std::int64_t passes() const { return passes_; }

  /// The values of a constant int64 or int32 input.
  constexpr Vector<std::int64_t> integers(std::size_t i) const {
    Vector<std::int64_t> values;
    if (!is_constant(i)) return values;
    const std::size_t size = size_in_bytes(inputs_[i].info.type);
    if (size == 0) return values;
    for (std::size_t at = 0; at + size <= inputs_[i].data.size(); at += size) {
      std::uint64_t bits = 0;
      for (std::size_t b = 0; b < size; ++b) {
        bits |= std::to_integer<std::uint64_t>(inputs_[i].data[at + b]) << (8 * b);
      }
      if (size < 8 && is_signed(inputs_[i].info.type) && (bits >> (8 * size - 1)) != 0) {
        bits |= ~std::uint64_t{0} << (8 * size);
      }
      values.push_back(static_cast<std::int64_t>(bits));
    }
    return values;
  }

  /// The values of a constant input as double, whatever kind of number they are.
  constexpr Vector<double> numbers(std::size_t i) const {
    Vector<double> values;
    if (!is_constant(i)) return values;
    const bool is_real = visit_type<FloatTypes>(inputs_[i].info.type, [&]<class T>() {
      struct Bits {
        std::byte bytes[sizeof(T)];
      };
      for (std::size_t at = 0; at + sizeof(T) <= inputs_[i].data.size(); at += sizeof(T)) {
        Bits bits{};
        for (std::size_t b = 0; b < sizeof(T); ++b) bits.bytes[b] = inputs_[i].data[at + b];
        values.push_back(static_cast<double>(std::bit_cast<T>(bits)));
      }
    });
    if (is_real) return values;
    const bool is_unsigned = inputs_[i].info.type == ElementType::uint64;
    for (const std::int64_t v : integers(i)) {
      values.push_back(is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(v))
                                   : static_cast<double>(v));
    }
    return values;
  }

 private:
  const InputInfo* inputs_;
  std::size_t size_;
  std::size_t output_count_;
  std::span<const Vector<TensorInfo>> graph_outputs_;
  std::int64_t passes_;
  TensorInfo absent_{};
};

/// The common value of two extents that must be equal; `contradictory` if they differ.
constexpr std::int64_t agree(std::int64_t a, std::int64_t b) {
  if (a == b || b == dynamic) return a;
  return a == dynamic ? b : contradictory;
}
constexpr bool contradict(std::int64_t a, std::int64_t b) { return agree(a, b) == contradictory; }

/// The extent of numpy's broadcasting, `contradictory` if there is none.
constexpr std::int64_t broadcast(std::int64_t a, std::int64_t b) {
  if (a == 1) return b;
  if (b == 1) return a;
  return agree(a, b);
}

/// The shape of numpy's broadcasting; not ok with the two extents that differ.
struct Broadcast {
  Dims shape;
  bool ok = true;
  std::int64_t expected = 0, found = 0;

  constexpr void add(const Dims& other) {
    while (shape.size() < other.size()) shape.insert(0, 1);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::int64_t& mine = shape[shape.size() - other.size() + i];
      const std::int64_t both = broadcast(mine, other[i]);
      if (both == contradictory) {
        if (ok) expected = mine, found = other[i];
        ok = false;
      } else {
        mine = both;
      }
    }
  }
};

/// Axis counted from the end if negative; `rank` if it is out of range.
constexpr std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) return rank;
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

}  // namespace halftone
