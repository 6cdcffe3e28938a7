#include <halftone/session/step_io.hpp>

#include <string>

#include <halftone/session/session.hpp>

#include "base/describe.hpp"

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
                                       std::string_view direction) {
  for (Buffer& buffer : buffers) {
    if (detail::text_of(buffer.name) == name) return buffer;
  }
  std::string there;
  for (const Buffer& buffer : buffers) {
    there += (there.empty() ? "" : ", ") + std::string(detail::text_of(buffer.name));
  }
  fail(ErrorKind::input,
       {.what =
            "No tensor " + std::string(name) + " provided in PyStepIO's " + std::string(direction),
        .tensor = name,
        .hint = there.empty() ? "no buffer was given" : "there are buffers for " + there});
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
  Buffer& buffer = find(inputs_, name, "inputs");
  return {{buffer.info.type, {elements}}, next(buffer, elements)};
}
void StepBuffers::in_complete(std::string_view, std::int64_t) {}

AnyBuffer StepBuffers::out(std::string_view name, std::int64_t elements) {
  Buffer& buffer = find(outputs_, name, "outputs");
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

}  // namespace halftone
