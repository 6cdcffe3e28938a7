#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <halftone/graph/describe.hpp>
#include <halftone/graph/type_variables.hpp>
#include <halftone/kernel/broadcast.hpp>
#include <halftone/kernel/elementwise.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/transform/fold.hpp>

// Nodes of constants, computed with the kernels of headers: what the core does with its own.
namespace halftone::ipu::detail {

/// Memory that every kernel can work on.
class FoldMemory {
 public:
  explicit FoldMemory(std::size_t bytes) : size_(bytes), lines_(bytes / sizeof(Line) + 1) {}
  std::byte* data() { return lines_[0].bytes; }
  Bytes bytes() { return Bytes(std::vector<std::byte>(data(), data() + size_)); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64]{};
  };
  std::size_t size_;
  std::vector<Line> lines_;
};

/// Runs an element-wise kernel, element by element.
inline void fold_elements(const Kernel& kernel, const KernelCall& call, const Node& node,
                          std::span<const TensorInfo> in, const TensorInfo& out) {
  constexpr std::size_t most = kernel::detail::max_block_inputs;
  alignas(8) unsigned char room[most][8];
  const void* elements[most]{};
  std::vector<kernel::BroadcastInput> inputs(in.size());
  const Dims& y = out.shape;
  const std::size_t count = node.op->signature.inputs();
  for (std::size_t i = 0; i < count; ++i) {
    if (i < in.size() && in[i].is_known()) {
      const auto size = static_cast<std::size_t>(size_in_bytes(in[i].type));
      inputs[i] = kernel::BroadcastInput(y.items, y.size(), in[i].shape.items, in[i].rank(), size);
    } else {
      kernel.absent(call.op, i, room[i]);
      elements[i] = room[i];
    }
  }
  auto* to = static_cast<std::byte*>(call.arguments[call.inputs].data);
  for (std::int64_t at = 0; at < out.elements(); ++at, to += size_in_bytes(out.type)) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_known()) elements[i] = inputs[i].fetch(call.arguments[i].data, at, 1, room[i]);
    }
    kernel.block(call.op, elements, ~std::uint32_t{0}, to, 1);
  }
}

/// What a node of constants computes.
inline std::vector<Bytes> fold_outputs(const Graph& graph, const Node& node) {
  std::vector<TensorInfo> in, out;
  for (const TensorId id : node.inputs) {
    in.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
  }
  for (const TensorId id : node.outputs) {
    out.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
  }
  Kernel kernel;
  if (node.op->kernel != nullptr) kernel = node.op->kernel(type_variables(*node.op, in, out));
  if (kernel.run == nullptr && kernel.block == nullptr) {
    fail(ErrorKind::unsupported, {.what = "there is no kernel for a node of constants",
                                  .node = halftone::detail::node_text(*node.op, graph.name(node))});
  }
  FoldMemory op(kernel.op_size);
  kernel.unpack(node.attributes, op.data());
  std::vector<FoldMemory> memory;
  for (const auto* infos : {&in, &out}) {
    for (const TensorInfo& info : *infos) {
      memory.emplace_back(info.is_known() ? static_cast<std::size_t>(info.bytes()) : 0);
    }
  }
  std::vector<TensorArgument> arguments;
  for (std::size_t i = 0; i < in.size() + out.size(); ++i) {
    const TensorInfo& info = i < in.size() ? in[i] : out[i - in.size()];
    if (!info.is_known()) {
      arguments.push_back({});
      continue;
    }
    arguments.push_back({memory[i].data(), info.shape.items, info.rank()});
    if (i >= in.size()) continue;
    const std::span<const std::byte> data = graph.tensor(node.inputs[i]).data.span();
    for (std::size_t b = 0; b < data.size(); ++b) memory[i].data()[b] = data[b];
  }
  const kernel::Executor executor;
  KernelCall call{.op = op.data(),
                  .arguments = arguments.data(),
                  .inputs = static_cast<std::uint32_t>(in.size()),
                  .outputs = static_cast<std::uint32_t>(out.size()),
                  .executor = &executor};
  if (kernel.run == nullptr) {
    fold_elements(kernel, call, node, in, out[0]);
  } else {
    FoldMemory workspace(kernel.workspace != nullptr ? kernel.workspace(call) : 0);
    call.workspace = workspace.data();
    kernel.run(call);
  }
  std::vector<Bytes> outputs;
  for (std::size_t i = in.size(); i < memory.size(); ++i) outputs.push_back(memory[i].bytes());
  return outputs;
}

/// `Evaluate` for the pass `infer`.
inline bool evaluate_in_headers(void*, Graph& graph, std::size_t n) {
  return fold_node(graph, n, [&](const Node& node) { return fold_outputs(graph, node); });
}

}  // namespace halftone::ipu::detail
