#include "session/step_transfer.hpp"

#include <algorithm>
#include <cstring>

#include <halftone/base/log.hpp>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

template <class From, class To>
void convert(const void* from, void* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    static_cast<To*>(to)[i] = static_cast<To>(static_cast<const From*>(from)[i]);
  }
}

/// Copies elements; false if the types do not fit.
bool copy_elements(const void* from, ElementType from_type, void* to, ElementType to_type,
                   std::int64_t count) {
  if (from_type == to_type) {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count * size_in_bytes(to_type)));
  } else if (from_type == ElementType::int64 && to_type == ElementType::int32) {
    convert<std::int64_t, std::int32_t>(from, to, count);
  } else if (from_type == ElementType::int32 && to_type == ElementType::int64) {
    convert<std::int32_t, std::int64_t>(from, to, count);
  } else {
    return false;
  }
  return true;
}

[[noreturn]] void throw_type(std::string_view tensor, ElementType expected, ElementType found) {
  fail(ErrorKind::input,
       {.what = "Type discrepancy between the elements of a tensor and those of its buffer",
        .tensor = tensor,
        .expected = name(expected),
        .found = name(found)});
}

}  // namespace

StepTransfer::StepTransfer(const std::vector<std::size_t>& depths) {
  for (const std::size_t depth : depths) {
    Queue& queue = queues_.emplace_back();
    queue.depth = depth;
    queue.slots.resize(std::max<std::size_t>(depth, 1));
  }
}

void StepTransfer::begin() {
  for (Queue& queue : queues_) queue.first = queue.count = 0;
}

void StepTransfer::fetch(StepIo& io, SessionInputs& inputs, std::size_t i) {
  Queue& queue = queues_[i];
  if (queue.count == 0) load(io, inputs, i, false);
  inputs.views[i].data = queue.slots[queue.first].data;
  queue.first = (queue.first + 1) % queue.slots.size();
  --queue.count;
}

void StepTransfer::fetch_ahead(StepIo& io, SessionInputs& inputs, std::size_t i,
                               std::int64_t most) {
  const Queue& queue = queues_[i];
  while (queue.count < queue.depth && static_cast<std::int64_t>(queue.count) < most) {
    if (!load(io, inputs, i, true)) return;
  }
}

/// Puts the next micro-batch behind those that are there; false if it is asked for early and step IO
/// has none yet.
bool StepTransfer::load(StepIo& io, SessionInputs& inputs, std::size_t i, bool early) {
  const InputPort& port = inputs.ports()[i];
  const std::int64_t elements = port.info.elements() * port.count;
  const AnyView data = io.in(port.name, elements, early);
  if (data.data == nullptr && elements != 0) {
    if (early) return false;
    inputs.refuse(port, "step IO gives no data for an input", "null");
  }
  if (data.info.elements() < elements) {
    inputs.refuse(port, "step IO gives less elements than an input has",
                  std::to_string(data.info.elements()));
  }
  const ElementType found = data.info.type, wanted = port.info.type;
  Queue& queue = queues_[i];
  Queue::Slot& slot = queue.slots[(queue.first + queue.count) % queue.slots.size()];
  if (found == wanted && io.keeps_data()) {
    slot.data = data.data;
    ++queue.count;
    io.in_complete(port.name, elements);
    return true;
  }
  const TensorInfo staged{port.info.type, {elements}};
  if (slot.staged.info() != staged) slot.staged = AnyArray(staged);
  if (found == ElementType::int64 && wanted == ElementType::int32 && !warned_about_int64_) {
    warned_about_int64_ = true;
    log_message(LogLevel::warn, "session",
                "elements of input " + quoted(port.name) + " are cast from int64 to int32");
  }
  const bool is_float8 =
      size_in_bytes(wanted) == 1 && is_floating_point(wanted) && found == ElementType::uint8;
  if (!copy_elements(data.data, is_float8 ? wanted : found, slot.staged.data(), wanted, elements)) {
    throw_type(port.name, wanted, found);
  }
  slot.data = slot.staged.data();
  ++queue.count;
  io.in_complete(port.name, elements);
  return true;
}

void StepTransfer::deliver(StepIo& io, const OutputPort& port, const AnyView& value) {
  const std::int64_t elements = value.info.elements();
  const AnyBuffer buffer = io.out(port.name, elements);
  if (buffer.data == nullptr && elements != 0) {
    fail(ErrorKind::input,
         {.what = "step IO gives no memory for a returned tensor", .tensor = port.name});
  }
  if (buffer.info.elements() < elements) {
    fail(ErrorKind::input, {.what = "step IO gives less memory than a returned tensor has",
                            .tensor = port.name,
                            .expected = DecimalText(elements),
                            .found = DecimalText(buffer.info.elements())});
  }
  // Bits are bits: a program may keep halves as uint16.
  const ElementType wanted = buffer.info.type;
  const bool same_size = size_in_bytes(wanted) == size_in_bytes(value.info.type);
  if (!copy_elements(value.data, value.info.type, buffer.data, same_size ? value.info.type : wanted,
                     elements)) {
    throw_type(port.name, value.info.type, wanted);
  }
  io.out_complete(port.name);
}

}  // namespace halftone::detail
