#include <algorithm>
#include <cstring>
#include <string>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "op/outputs.hpp"

namespace halftone::op {

namespace {

/// One integer that an input holds.
std::int64_t number_of(const AnyView& view) {
  if (view.info.elements() == 1) {
    if (view.info.type == ElementType::int64) return view.values<std::int64_t>()[0];
    if (view.info.type == ElementType::int32) return view.values<std::int32_t>()[0];
  }
  fail(ErrorKind::input,
       {.what = "a position in a sequence is one integer", .found = detail::to_text(view.info)});
}

/// The position that an optional input gives, counted from the front; `count` positions are valid.
std::size_t position_of(std::span<const AnyView> inputs, std::size_t input, std::size_t count,
                        std::size_t otherwise) {
  if (input >= inputs.size() || !inputs[input].info.is_known()) return otherwise;
  const std::int64_t given = number_of(inputs[input]);
  const auto n = static_cast<std::int64_t>(count);
  const std::int64_t position = given < 0 ? given + n : given;
  if (position < 0 || position >= n) {
    fail(ErrorKind::input,
         {.what = "a position is outside the sequence",
          .expected = n == 0 ? "none, the sequence is empty"
                             : std::to_string(-n) + " to " + std::to_string(n - 1),
          .found = std::to_string(given)});
  }
  return static_cast<std::size_t>(position);
}

std::vector<AnyArray> one_sequence(ElementType type, std::vector<AnyArray> items) {
  return one_output(AnyArray(type, Sequence::make(std::move(items))));
}

std::vector<AnyArray> items_of(const AnyView& sequence) {
  const std::span<const AnyArray> items = sequence.sequence().items();
  return {items.begin(), items.end()};
}

/// Elements before an axis, and the bytes of one step along it.
struct Steps {
  std::int64_t outer = 1;
  std::size_t bytes;

  Steps(const TensorInfo& info, std::size_t axis)
      : bytes(static_cast<std::size_t>(size_in_bytes(info.type))) {
    for (std::size_t d = 0; d < info.rank(); ++d) {
      if (d < axis) outer *= info.shape[d];
      if (d > axis) bytes *= static_cast<std::size_t>(info.shape[d]);
    }
  }
};

/// Copies `length` steps along an axis, from one tensor to another.
void copy_steps(const Steps& steps, const std::byte* from, std::int64_t from_length,
                std::int64_t from_at, std::byte* to, std::int64_t to_length, std::int64_t to_at,
                std::int64_t length) {
  const std::size_t bytes = static_cast<std::size_t>(length) * steps.bytes;
  if (bytes == 0) return;
  for (std::int64_t o = 0; o < steps.outer; ++o) {
    std::memcpy(to + static_cast<std::size_t>(o * to_length + to_at) * steps.bytes,
                from + static_cast<std::size_t>(o * from_length + from_at) * steps.bytes, bytes);
  }
}

}  // namespace

std::vector<AnyArray> SequenceEmpty::run(std::span<const AnyView>, std::size_t) const {
  return one_sequence(sequence_of(dtype), {});
}

std::vector<AnyArray> SequenceConstruct::run(std::span<const AnyView> inputs, std::size_t) {
  std::vector<AnyArray> items;
  for (const AnyView& x : inputs) {
    if (x.info.type != inputs[0].info.type) {
      fail(ErrorKind::input, {.what = "the items of a sequence differ in their element type",
                              .expected = detail::to_text(inputs[0].info),
                              .found = detail::to_text(x.info)});
    }
    items.push_back(AnyArray::copy_of(x));
  }
  return one_sequence(sequence_of(inputs[0].info.type), std::move(items));
}

std::vector<AnyArray> SequenceAt::run(std::span<const AnyView> inputs, std::size_t) {
  const std::span<const AnyArray> items = inputs[0].sequence().items();
  return one_output(items[position_of(inputs, 1, items.size(), 0)]);
}

std::vector<AnyArray> SequenceInsert::run(std::span<const AnyView> inputs, std::size_t) {
  std::vector<AnyArray> items = items_of(inputs[0]);
  if (inputs[1].info.type != item_of(inputs[0].info.type)) {
    fail(ErrorKind::input, {.what = "an item is not of the sequence's type",
                            .expected = detail::to_text(item_of(inputs[0].info.type)),
                            .found = detail::to_text(inputs[1].info)});
  }
  std::size_t at = items.size();
  if (inputs.size() > 2 && inputs[2].info.is_known() &&
      number_of(inputs[2]) != static_cast<std::int64_t>(items.size())) {
    at = position_of(inputs, 2, items.size(), at);
  }
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), AnyArray::copy_of(inputs[1]));
  return one_sequence(inputs[0].info.type, std::move(items));
}

std::vector<AnyArray> SequenceErase::run(std::span<const AnyView> inputs, std::size_t) {
  std::vector<AnyArray> items = items_of(inputs[0]);
  if (items.empty())
    fail(ErrorKind::input, {.what = "nothing can be taken from an empty sequence"});
  const std::size_t at = position_of(inputs, 1, items.size(), items.size() - 1);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return one_sequence(inputs[0].info.type, std::move(items));
}

std::vector<AnyArray> SequenceLength::run(std::span<const AnyView> inputs, std::size_t) {
  return one_output(
      Array<std::int64_t>({}, {static_cast<std::int64_t>(inputs[0].sequence().size())}));
}

std::vector<AnyArray> SplitToSequence::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  const std::size_t along = normalized_axis(axis, x.info.rank());
  if (along == x.info.rank()) {
    fail(ErrorKind::input, {.what = "axis is out of range",
                            .expected = std::to_string(x.info.rank()) + " dimensions",
                            .found = std::to_string(axis)});
  }
  const std::int64_t extent = x.info.shape[along];
  const bool has_split = inputs.size() > 1 && inputs[1].info.is_known();
  std::vector<std::int64_t> lengths;
  if (has_split && inputs[1].info.rank() == 1) {
    const bool is_wide = inputs[1].info.type == ElementType::int64;
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < inputs[1].info.elements(); ++i) {
      const auto n = static_cast<std::size_t>(i);
      lengths.push_back(is_wide ? inputs[1].values<std::int64_t>()[n]
                                : inputs[1].values<std::int32_t>()[n]);
      const bool fits = lengths.back() >= 0 && lengths.back() <= extent - total;
      total = fits ? total + lengths.back() : -1;
      if (!fits) break;
    }
    if (total != extent) {
      fail(ErrorKind::input, {.what = "the lengths of the pieces do not add up to the extent",
                              .expected = std::to_string(extent)});
    }
  } else {
    const std::int64_t length = has_split ? number_of(inputs[1]) : 1;
    if (length <= 0) {
      fail(ErrorKind::input,
           {.what = "the length of a piece is not positive", .found = std::to_string(length)});
    }
    for (std::int64_t at = 0; at < extent; at += std::min(length, extent - at)) {
      lengths.push_back(std::min(length, extent - at));
    }
  }
  const Steps steps(x.info, along);
  std::vector<AnyArray> items;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    TensorInfo info = x.info;
    info.shape[along] = length;
    if (!has_split && !keepdims) info.shape.erase(along);
    AnyArray piece(info);
    copy_steps(steps, static_cast<const std::byte*>(x.data), extent, at, piece.data(), length, 0,
               length);
    piece.own_objects();
    items.push_back(std::move(piece));
    at += length;
  }
  return one_sequence(sequence_of(x.info.type), std::move(items));
}

std::vector<AnyArray> ConcatFromSequence::run(std::span<const AnyView> inputs, std::size_t) const {
  const std::span<const AnyArray> items = inputs[0].sequence().items();
  if (items.empty()) fail(ErrorKind::input, {.what = "an empty sequence has no shape"});
  TensorInfo info = items[0].info();
  const std::size_t along = normalized_axis(axis, info.rank() + (new_axis ? 1 : 0));
  if (along == info.rank() + (new_axis ? 1 : 0) || (new_axis && info.rank() == max_rank)) {
    fail(ErrorKind::input, {.what = "axis is out of range",
                            .expected = detail::to_text(info),
                            .found = std::to_string(axis)});
  }
  std::int64_t total = 0;
  for (const AnyArray& item : items) {
    TensorInfo other = item.info();
    bool fits = other.rank() == info.rank();
    if (fits && !new_axis) {
      total += other.shape[along];
      other.shape[along] = info.shape[along];
    }
    fits = fits && other == items[0].info();
    if (!fits) {
      fail(ErrorKind::input, {.what = "the items of a sequence do not fit together",
                              .expected = detail::to_text(items[0].info()),
                              .found = detail::to_text(item.info())});
    }
  }
  if (new_axis) {
    total = static_cast<std::int64_t>(items.size());
    info.shape.insert(along, total);
  } else {
    info.shape[along] = total;
  }
  AnyArray whole(info);
  const Steps steps(info, along);
  std::int64_t at = 0;
  for (const AnyArray& item : items) {
    const std::int64_t length = new_axis ? 1 : item.info().shape[along];
    copy_steps(steps, item.data(), length, 0, whole.data(), total, at, length);
    at += length;
  }
  whole.own_objects();
  return one_output(std::move(whole));
}

std::vector<AnyArray> MakeOptional::run(std::span<const AnyView> inputs, std::size_t) const {
  if (inputs.empty() || !inputs[0].info.is_known()) {
    return one_sequence(optional_of(type), {});
  }
  std::vector<AnyArray> items;
  items.push_back(AnyArray::copy_of(inputs[0]));
  return one_sequence(optional_of(inputs[0].info.type), std::move(items));
}

std::vector<AnyArray> OptionalGetElement::run(std::span<const AnyView> inputs, std::size_t) {
  if (!is_optional(inputs[0].info.type)) return one_output(AnyArray::copy_of(inputs[0]));
  const std::span<const AnyArray> items = inputs[0].sequence().items();
  if (items.empty()) fail(ErrorKind::input, {.what = "an optional value holds nothing"});
  return one_output(items[0]);
}

std::vector<AnyArray> OptionalHasElement::run(std::span<const AnyView> inputs, std::size_t) {
  const bool is_given = !inputs.empty() && inputs[0].info.is_known();
  const bool has =
      is_given && (!is_optional(inputs[0].info.type) || inputs[0].sequence().size() != 0);
  return one_output(Array<bool>({}, {has}));
}

}  // namespace halftone::op
