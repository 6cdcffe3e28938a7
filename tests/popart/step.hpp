#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <vector>

namespace popart_test {

using Values = std::map<popart::TensorId, std::vector<float>>;

/// Runs a step with the inputs' values, and gives those of the anchors, which have so many elements.
inline Values step(popart::Session& session, Values in,
                   const std::map<popart::TensorId, std::size_t>& anchors) {
  Values out;
  std::list<popart::NDArrayWrapper<float>> arrays;
  std::map<popart::TensorId, popart::IArray&> inputs, outputs;
  const auto wrap = [&](std::vector<float>& values) -> popart::IArray& {
    return arrays.emplace_back(values.data(),
                               popart::Shape{static_cast<std::int64_t>(values.size())});
  };
  for (auto& [id, values] : in) inputs.emplace(id, wrap(values));
  for (const auto& [id, size] : anchors) {
    outputs.emplace(id, wrap(out[id] = std::vector<float>(size, -99.f)));
  }
  popart::StepIO io(inputs, outputs);
  session.run(io);
  return out;
}

/// A weight's value, as the host has it after weightsToHost.
inline std::vector<float> weight(popart::Session& session, const popart::TensorId& id) {
  const popart::TensorInfo info = session.getInfo(id);
  std::vector<float> values(static_cast<std::size_t>(info.nelms()), -99.f);
  popart::MutableVoidData data;
  data.data = values.data();
  data.info = info;
  popart::WeightsIO io;
  io.insert(id, data);
  session.weightsToHost();
  session.readWeights(io);
  return values;
}

}  // namespace popart_test
