#include <halftone/session/step_io.hpp>

#include <string>

#include "base/describe.hpp"
#include "graph/inputs.hpp"
#include "session/state.hpp"

namespace halftone {

namespace {

/// Elements of a type without a size would never come to an end.
void check_buffer(std::string_view name, const TensorInfo& info) {
  if (info.is_static() && size_in_bytes(info.type) > 0) return;
  fail(ErrorKind::input, {.what = "a buffer needs an element type of fixed size and a known shape",
                          .tensor = name,
                          .found = detail::to_text(info)});
}

}  // namespace

void StepBuffers::add_input(std::string_view name, AnyView buffer) {
  check_buffer(name, buffer.info);
  // Only read from: inputs and outputs share the structure, not the right to write.
  inputs_.push_back({{name.begin(), name.end()}, buffer.info, const_cast<void*>(buffer.data), 0});
}

void StepBuffers::add_output(std::string_view name, AnyBuffer buffer) {
  check_buffer(name, buffer.info);
  outputs_.push_back({{name.begin(), name.end()}, buffer.info, buffer.data, 0});
}

StepBuffers::Buffer& StepBuffers::find(std::vector<Buffer>& buffers, std::string_view name,
                                       std::string_view what) {
  std::vector<std::string_view> names;
  for (Buffer& buffer : buffers) {
    names.push_back(detail::text_of(buffer.name));
    if (names.back() == name) return buffer;
  }
  const std::string hint =
      names.empty() ? "no buffer was given" : "there are buffers for " + detail::list_of(names);
  fail(ErrorKind::input, {.what = what, .tensor = name, .hint = hint});
}

void* StepBuffers::next(Buffer& buffer, std::int64_t elements) {
  const std::int64_t bytes = elements * size_in_bytes(buffer.info.type);
  if (bytes > buffer.info.bytes() - buffer.at) {
    fail(ErrorKind::input, {.what = "a run needs more elements than are left in the buffer",
                            .tensor = detail::text_of(buffer.name),
                            .expected = std::to_string(elements) + " more elements",
                            .found = std::to_string((buffer.info.bytes() - buffer.at) /
                                                    size_in_bytes(buffer.info.type))});
  }
  void* here = static_cast<char*>(buffer.data) + buffer.at;
  buffer.at += bytes;
  if (buffer.at == buffer.info.bytes()) buffer.at = 0;
  return here;
}

AnyView StepBuffers::in(std::string_view name, std::int64_t elements, bool) {
  Buffer& buffer = find(inputs_, name, "there is no buffer for an input");
  return {{buffer.info.type, {elements}}, next(buffer, elements)};
}
void StepBuffers::in_complete(std::string_view, std::int64_t) {}

AnyBuffer StepBuffers::out(std::string_view name, std::int64_t elements) {
  Buffer& buffer = find(outputs_, name, "there is no buffer for a returned tensor");
  return {{buffer.info.type, {elements}}, next(buffer, elements)};
}
void StepBuffers::out_complete(std::string_view) {}

void StepBuffers::check(const Session& session) const {
  for (const Buffer& buffer : inputs_) {
    session.check_input(detail::text_of(buffer.name), buffer.info.elements());
  }
  for (const Buffer& buffer : outputs_) {
    session.check_output(detail::text_of(buffer.name), buffer.info.elements());
  }
}

namespace {

/// Throws unless a buffer holds `count` times the elements of a tensor.
void check_size(const TensorInfo& info, std::string_view name, std::int64_t count,
                std::int64_t found) {
  const std::int64_t own = info.elements();
  if (own < 0 || found == own * count) return;
  fail(ErrorKind::input, {.what = "a buffer has another number of elements than a run needs",
                          .tensor = name,
                          .expected = std::to_string(own * count) + ": " + std::to_string(count) +
                                      " x " + detail::to_text(info),
                          .found = std::to_string(found)});
}

}  // namespace

void Session::check_input(std::string_view name, std::int64_t elements) const {
  for (const detail::InputPort& port : state_->inputs.ports()) {
    if (port.name != name) continue;
    return check_size(port.info, name, state_->flow.micro_batches() * port.count, elements);
  }
  fail(ErrorKind::input, {.what = "a buffer is given for a tensor that is not an input",
                          .tensor = name,
                          .hint = detail::input_names(state_->graph())});
}

void Session::check_output(std::string_view name, std::int64_t elements) const {
  const std::size_t i = state_->outputs.find(name);
  if (i < state_->outputs.size()) {
    const detail::OutputPort& port = state_->outputs[i];
    const std::int64_t count = state_->flow.returned(port.returns, port.period);
    return check_size(state_->outputs.info(i), name, count * port.count, elements);
  }
  fail(ErrorKind::input, {.what = "a buffer is given for a tensor that a run does not return",
                          .tensor = name,
                          .hint = "a run returns " + state_->outputs.names()});
}

}  // namespace halftone
