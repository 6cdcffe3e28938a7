#include <popart/stepio.hpp>

#include <map>
#include <string>
#include <vector>

#include <halftone/session/step_io.hpp>
#include <popart/stepio_size_assertion.hpp>

#include "base/describe.hpp"
#include "popart/convert.hpp"
#include "popart/executable.hpp"

namespace popart {

MutableVoidData WeightsIO::weight(TensorId id) const {
  const auto found = weights_.find(id);
  if (found == weights_.end()) throw runtime_error("No TensorId {} in WeightsIO object", id);
  return found->second;
}

void WeightsIO::insert(TensorId id, MutableVoidData data) {
  if (!weights_.emplace(id, data).second) {
    throw runtime_error("TensorId {} already present in WeightsIO, cannot insert", id);
  }
}

namespace {

using halftone::ErrorKind, halftone::fail;
using Elements = std::map<TensorId, std::int64_t>;

std::string listOf(const std::vector<halftone::Port>& ports) {
  std::vector<std::string_view> names;
  for (const halftone::Port& port : ports) names.push_back(port.name);
  return halftone::detail::list_of(names);
}

[[noreturn]] void throwSize(std::string_view direction, const TensorId& id,
                            const halftone::DataFlow& flow, std::int64_t own, std::int64_t expected,
                            std::int64_t found, const std::string& more) {
  const std::string what =
      "Unexpected number of " + std::string(direction) + " elements for Tensor " + id +
      ". Expected " + std::to_string(expected) + ", but received " + std::to_string(found) +
      ".\nReplication factor\t" + std::to_string(flow.replicas) + "\nAccumulation factor\t" +
      std::to_string(flow.accumulation) + "\nBatches per step\t" +
      std::to_string(flow.batches_per_step) + "\nTensor nelms\t" + std::to_string(own) + more;
  fail(ErrorKind::input, {.what = what});
}

std::string inputNames(const halftone::Session& session) {
  const std::vector<halftone::Port> inputs = session.inputs(), more = session.optional_inputs();
  if (inputs.empty()) return "the model has no inputs";
  return "inputs are " + listOf(inputs) + (more.empty() ? "" : "; may be given: " + listOf(more));
}

void requireIn(const popx::Executablex& executable, const TensorId& id, std::int64_t elements) {
  const halftone::Session& session = executable.session();
  const std::string said =
      "The tensor '" + id + "' has been provided as one of the inputs to the stepIO";
  if (executable.isUnused(id)) {
    detail::say(logging::Module::session, logging::Level::Warn,
                "The input '" + id + "' is given, but nothing that is computed reads it");
    return;
  }
  if (!session.has(id)) {
    fail(ErrorKind::input,
         {.what = said + ". But there is no Tensor named " + id + " in the Ir's main Graph",
          .hint = inputNames(session)});
  }
  const std::int64_t own = session.info(id).elements();
  const halftone::DataFlow& flow = session.data_flow();
  const std::int64_t copies = executable.isBroadcast(id) ? 1 : flow.replicas;
  const std::int64_t expected = own < 0 ? elements : own * flow.micro_batches() * copies;
  if (elements != expected) throwSize("input", id, flow, own, expected, elements, {});
  for (const halftone::Port& port : session.inputs()) {
    if (port.name == id) return;
  }
  fail(ErrorKind::input,
       {.what = said + ", but it is not registered as one of the inputs to the model",
        .hint = inputNames(session)});
}

void requireOut(const halftone::Session& session, const TensorId& id, std::int64_t elements) {
  const std::vector<halftone::Port> outputs = session.outputs();
  const std::string hint = "a run returns " + listOf(outputs);
  if (!session.has(id)) {
    fail(ErrorKind::input,
         {.what = "The tensor '" + id +
                  "' has been provided as one of the outputs to the stepIO. But there is no Tensor "
                  "named " +
                  id + " in the Ir's tensors",
          .hint = hint});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name != id) continue;
    const halftone::Anchor anchor = session.anchor(i);
    const halftone::DataFlow& flow = session.data_flow();
    const std::int64_t own = session.info(id).elements();
    const std::int64_t expected =
        own < 0 ? elements : own * flow.returned(anchor.returns, anchor.period) * flow.replicas;
    if (elements == expected) return;
    constexpr std::string_view names[] = {"All", "EveryN", "Final", "Sum"};
    throwSize("output", id, flow, own, expected, elements,
              "\nAnchor return type\t" + std::string(names[static_cast<int>(anchor.returns)]) +
                  "\nReturn period\t" + std::to_string(anchor.period));
  }
  fail(
      ErrorKind::internal,
      {.what = "Non-anchored Tensor in CorrectnessAsserter::checkOut", .tensor = id, .hint = hint});
}

void checkProvided(const Elements& buffers, const TensorId& id, const std::string& direction) {
  if (buffers.count(id) != 0) return;
  std::string there;
  for (const auto& [name, elements] : buffers) there += (there.empty() ? "" : ", ") + name;
  const std::string hint = there.empty() ? "no buffer was given" : "there are buffers for " + there;
  fail(ErrorKind::input, {.what = "No tensor " + id + " provided in PyStepIO's " + direction,
                          .tensor = id,
                          .hint = hint});
}

}  // namespace

void iosizecheck::checkIn(const popx::Executablex& executable, const TensorId& id,
                          std::int64_t elements) {
  detail::translated<runtime_error>([&] { requireIn(executable, id, elements); });
}
void iosizecheck::checkOut(const popx::Executablex& executable, const TensorId& id,
                           std::int64_t elements) {
  detail::translated<runtime_error>([&] { requireOut(executable.session(), id, elements); });
}

struct StepIO::Buffers {
  halftone::StepBuffers native;
  Elements inputs, outputs;
};

StepIO::StepIO(std::map<TensorId, IArray&> inputs, std::map<TensorId, IArray&> outputs)
    : buffers_(std::make_unique<Buffers>()) {
  // Only the number of elements counts.
  auto info = [](const IArray& array) {
    return halftone::TensorInfo{detail::toNative(array.dataType()),
                                {static_cast<std::int64_t>(array.nelms())}};
  };
  detail::translated<runtime_error>([&] {
    for (auto& [id, array] : inputs) {
      buffers_->native.add_input(id, {info(array), array.data()});
      buffers_->inputs[id] = info(array).elements();
    }
    for (auto& [id, array] : outputs) {
      buffers_->native.add_output(id, {info(array), array.data()});
      buffers_->outputs[id] = info(array).elements();
    }
  });
}
StepIO::~StepIO() = default;

void StepIO::assertNumElements(const popx::Executablex& executable) const {
  const auto elementsOf = [](std::int64_t elements) { return elements; };
  iosizecheck::assertInCorrect(executable, buffers_->inputs, elementsOf);
  iosizecheck::assertOutCorrect(executable, buffers_->outputs, elementsOf);
}

ConstVoidData StepIO::in(TensorId id, int64_t numElements, bool prefetch, bool) {
  return detail::translated<runtime_error>([&] {
    checkProvided(buffers_->inputs, id, "inputs");
    const halftone::AnyView view = buffers_->native.in(id, numElements, prefetch);
    return ConstVoidData(view.data, detail::fromNative(view.info));
  });
}
void StepIO::inComplete(TensorId, int64_t, bool) {}

MutableVoidData StepIO::out(TensorId id, int64_t numElements) {
  return detail::translated<runtime_error>([&] {
    checkProvided(buffers_->outputs, id, "outputs");
    const halftone::AnyBuffer buffer = buffers_->native.out(id, numElements);
    MutableVoidData data;
    data.data = buffer.data;
    data.info = detail::fromNative(buffer.info);
    return data;
  });
}

}  // namespace popart
