#include <popart/stepio.hpp>

#include <halftone/session/step_io.hpp>

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

struct StepIO::Buffers {
  halftone::StepBuffers native;
};

StepIO::StepIO(std::map<TensorId, IArray&> inputs, std::map<TensorId, IArray&> outputs)
    : buffers_(std::make_unique<Buffers>()) {
  // Only the number of elements counts.
  auto info = [](const IArray& array) {
    return halftone::TensorInfo{detail::toNative(array.dataType()),
                                {static_cast<std::int64_t>(array.nelms())}};
  };
  detail::translated<runtime_error>([&] {
    for (auto& [id, array] : inputs) buffers_->native.add_input(id, {info(array), array.data()});
    for (auto& [id, array] : outputs) buffers_->native.add_output(id, {info(array), array.data()});
  });
}
StepIO::~StepIO() = default;

void StepIO::assertNumElements(const popx::Executablex& executable) const {
  detail::translated<runtime_error>([&] { buffers_->native.check(executable.session()); });
}

ConstVoidData StepIO::in(TensorId id, int64_t numElements, bool prefetch, bool) {
  return detail::translated<runtime_error>([&] {
    const halftone::AnyView view = buffers_->native.in(id, numElements, prefetch);
    return ConstVoidData(view.data, detail::fromNative(view.info));
  });
}
void StepIO::inComplete(TensorId, int64_t, bool) {}

MutableVoidData StepIO::out(TensorId id, int64_t numElements) {
  return detail::translated<runtime_error>([&] {
    const halftone::AnyBuffer buffer = buffers_->native.out(id, numElements);
    MutableVoidData data;
    data.data = buffer.data;
    data.info = detail::fromNative(buffer.info);
    return data;
  });
}

}  // namespace popart
