#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/graph.hpp>
#include <popart/ir.hpp>
#include <popart/sgd.hpp>
#include <set>
#include <string>
#include <vector>

#include "errors.hpp"

/// What tests of the view of a session share.
namespace popart_test {

using namespace popart;

inline const TensorInfo square_info{"FLOAT", Shape{2, 2}};

inline TensorId weight(Builder& builder, const std::string& name) {
  const float data[] = {1, 2, 3, 4};
  return builder.addInitializedInputTensor(ConstVoidData{data, square_info}, name);
}

struct Prepared {
  std::string proto;
  DataFlow flow;
  TensorId loss{};
  SessionOptions options{};
  Patterns patterns{};
  std::shared_ptr<DeviceInfo> device = cpu();

  void into(Ir& ir, const Optimizer* optimizer = nullptr) const {
    ir.prepare(
        {proto, InputShapeInfo(), flow, loss, optimizer, *device, options, patterns, "prepared"});
  }
};

/// How many operators of a session have that type.
inline std::ptrdiff_t count(const Ir& ir, const std::string& type) {
  const std::vector<Op*> ops = ir.getOpSchedule({}, RequireOptimalSchedule::Yes);
  return std::count_if(ops.begin(), ops.end(), [&](const Op* op) { return op->opid.type == type; });
}

/// Every edge is known to both of its ends, and operators come after what they read.
inline void check_laws(const Ir& ir) {
  for (const Graph* graph : ir.getAllGraphs()) {
    std::set<const Op*> before;
    for (const Op* op : graph->getOpSchedule()) {
      CHECK(graph->getOp(op->id) == op);
      for (const auto& [index, tensor] : op->input->tensorMap()) {
        CHECK(graph->getTensor(tensor->id) == tensor);
        CHECK(tensor->consumers.n(const_cast<Op*>(op)) ==
              static_cast<int>(op->input->indices(tensor).size()));
        if (tensor->hasProducer()) CHECK(before.count(tensor->getProducer()) == 1);
      }
      for (const auto& [index, tensor] : op->output->tensorMap()) {
        CHECK(tensor->getProducer() == op);
      }
      before.insert(op);
    }
    CHECK(before.size() == graph->getOps().size());
  }
}

}  // namespace popart_test
