#pragma once

#include <halftone/session/session.hpp>

#include <cstring>
#include <span>

#include "run_op.hpp"

/// Runs operators that are recorded as others: a session over what `expand` made of one node.
namespace run_op_test {

/// Bit i of `constants`: input i is a constant of the graph; `has_open_batch`: the first extents of the others
/// are known when they come.
template <class Op>
std::vector<AnyArray> run_session(const Op& op, const std::vector<AnyArray>& inputs,
                                  std::size_t outputs = 1, std::uint64_t constants = 0,
                                  bool has_open_batch = false) {
  Graph graph;
  std::vector<TensorId> ids;
  std::vector<std::string> names(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const AnyArray& x = inputs[i];
    if (!x.info().is_known()) {
      ids.push_back(no_tensor);
    } else if ((constants >> i & 1) != 0) {
      ids.push_back(
          graph.add_constant(x.info(), Bytes(std::vector(x.data(), x.data() + x.bytes()))));
    } else {
      names[i] = "x" + std::to_string(i);
      TensorInfo info = x.info();
      if (has_open_batch) info.shape[0] = dynamic;
      ids.push_back(graph.add_input(info, names[i]));
    }
  }
  const std::vector<TensorId> made =
      halftone::detail::expand_thunk<Op>(graph, pack(op), ids, outputs);
  REQUIRE(made.size() == outputs);
  for (const TensorId id : made) graph.add_output(id);
  Session session(std::move(graph), {.threads = 1});
  std::vector<Input> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!names[i].empty()) given.push_back({names[i], inputs[i]});
  }
  const Result result = session.run(std::span<const Input>(given));
  std::vector<AnyArray> y;
  for (std::size_t i = 0; i < outputs; ++i) {
    y.emplace_back(result[i].info);
    std::memcpy(y[i].data(), result[i].data, y[i].bytes());
  }
  return y;
}

}  // namespace run_op_test
