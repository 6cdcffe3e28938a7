#include "run_node.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/program/buffers.hpp>

#include "base/describe.hpp"
#include "group.hpp"
#include "transform/infer_from_inputs.hpp"

namespace halftone {

void throw_at(const Graph& graph, const Node& node, const Error& error) {
  fail(error.kind(), {.what = error.reason(),
                      .node = detail::node_text(*node.op, graph.name(node)),
                      .tensor = error.tensor(),
                      .expected = error.expected(),
                      .found = error.found(),
                      .hint = error.hint()});
}

void check_fits(const Graph& graph, const Node* node, const TensorInfo& info) {
  if (fits_memory(info)) return;
  const std::string where =
      node == nullptr ? std::string() : detail::node_text(*node->op, graph.name(*node));
  fail(
      ErrorKind::memory,
      {.what = "a tensor does not fit into memory", .node = where, .found = detail::to_text(info)});
}

Vector<TensorInfo> infos_of_outputs(const Graph& graph, const Node& node,
                                    std::span<const AnyView> inputs) {
  Vector<InputInfo> infos;
  for (const AnyView& x : inputs) {
    const auto* bytes = static_cast<const std::byte*>(x.data);
    const bool given = x.data != nullptr || x.info.bytes() == 0;
    infos.push_back({x.info, x.data != nullptr ? std::span(bytes, x.bytes()) : std::span(bytes, 0),
                     given && x.info.is_known()});
  }
  Inferred inferred = node.op->infer(node.attributes, Inputs(infos, node.outputs.size()));
  if (!inferred.ok()) {
    const Defect defect{.node = static_cast<std::size_t>(&node - graph.nodes.data()),
                        .inferred = inferred};
    throw_defects(graph, {&defect, 1});
  }
  for (const AnyView& x : inputs) check_fits(graph, nullptr, x.info);
  for (const TensorInfo& info : inferred.outputs) {
    check_fits(graph, &node, info);
    if (info.is_static()) continue;
    fail(ErrorKind::unsupported, {.what = "the shape of an output cannot be found",
                                  .node = detail::node_text(*node.op, graph.name(node))});
  }
  return std::move(inferred.outputs);
}

namespace {

/// Whether a node that has both a kernel and `run` has to do with texts or values that are no
/// tensors.
bool is_for_values(const Graph& graph, const Node& node, std::span<const AnyView> inputs) {
  if (node.op->kernel == nullptr) return true;
  for (const AnyView& x : inputs) {
    if (has_objects(x.info.type)) return true;
  }
  for (const TensorId id : node.outputs) {
    if (id != no_tensor && has_objects(graph.info(id).type)) return true;
  }
  return false;
}

/// Bit i: input i is an attribute (Slot::attribute).
std::uint64_t attribute_bits(const Node& node) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < node.inputs.size() && node.op->signature.inputs() > 0; ++i) {
    if (i < 64 && node.op->signature.input_slot(i).is_attribute()) bits |= std::uint64_t{1} << i;
  }
  return bits;
}

bool has_constant_attributes(const Graph& graph, const Node& node) {
  const std::uint64_t bits = attribute_bits(node);
  for (std::size_t i = 0; i < node.inputs.size() && i < 64; ++i) {
    const TensorId id = node.inputs[i];
    if ((bits >> i & 1) != 0 && id != no_tensor && graph.tensor(id).role != Role::constant) {
      return false;
    }
  }
  return bits != 0;
}

}  // namespace

std::vector<AnyArray> run_node(const Graph& graph, const Node& node,
                               std::span<const AnyView> inputs, const kernel::Executor& executor,
                               KeptNode* kept, const Reach& reach, Precision precision) {
  if (node.op->run != nullptr && is_for_values(graph, node, inputs)) {
    try {
      std::vector<AnyArray> outputs = node.op->run(node.attributes, inputs, node.outputs.size());
      outputs.resize(node.outputs.size());
      return outputs;
    } catch (const Error& error) {
      if (!error.node().empty()) throw;
      throw_at(graph, node, error);
    }
  }
  check_reach(graph, node, reach);
  Vector<TensorInfo> input_infos;
  for (const AnyView& x : inputs) input_infos.push_back(x.info);
  if (!has_constant_attributes(graph, node)) kept = nullptr;
  const bool is_known = kept != nullptr && kept->kernel != nullptr && kept->inputs == input_infos;
  const Vector<TensorInfo> inferred =
      is_known ? kept->outputs : infos_of_outputs(graph, node, inputs);
  std::vector<AnyArray> outputs(inferred.begin(), inferred.end());
  outputs.resize(node.outputs.size());
  if (is_view(node)) {
    const AnyView& x = inputs[static_cast<std::size_t>(node.op->signature.output(0).shares)];
    if (x.bytes() != 0) std::memcpy(outputs[0].data(), x.data, x.bytes());
    outputs[0].own_objects();
    return outputs;
  }

  std::unique_ptr<NodeKernel> made;
  if (!is_known) made = std::make_unique<NodeKernel>(graph, node, input_infos, inferred);
  const NodeKernel& kernel = is_known ? *kept->kernel : *made;
  std::vector<TensorArgument> arguments;
  // Kernels tell absent tensors by null data; empty ones are given.
  static char nothing[64];
  auto add = [&](const TensorInfo& info, const void* data, bool given) {
    if (!given) {
      arguments.push_back({});
    } else {
      arguments.push_back(
          {data != nullptr ? const_cast<void*>(data) : nothing, info.shape.items, info.rank()});
    }
  };
  for (const AnyView& x : inputs) add(x.info, x.data, x.info.is_known());
  // An output may be the memory of an input that the node changes. It is written there, as in a
  // program, and copied into an array of its own.
  const auto changed_input = [&](std::size_t output) -> const void* {
    const int shared = node.op->signature.output_slot(output).shares;
    if (shared < 0 || outputs[output].bytes() == 0) return nullptr;
    const auto i = static_cast<std::size_t>(shared);
    return node.op->signature.input_slot(i).modified ? inputs[i].data : nullptr;
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const void* changed = changed_input(i);
    add(outputs[i].info(), changed != nullptr ? changed : outputs[i].data(),
        node.outputs[i] != no_tensor);
  }
  KernelCall call{.op = kernel.op(),
                  .arguments = arguments.data(),
                  .inputs = static_cast<std::uint32_t>(inputs.size()),
                  .outputs = static_cast<std::uint32_t>(outputs.size()),
                  .executor = &executor,
                  .communicator = reach.communicator,
                  .host = reach.host,
                  .precision = precision};
  const Kernel& f = kernel.functions();
  if (f.block != nullptr) {
    const Group group(node, kernel, input_infos, outputs[0].info());
    call.op = &group;
    Group::run(call);
    outputs[0].own_objects();
    return outputs;
  }
  if (kept != nullptr) {
    call.constants = attribute_bits(node);
    if (!is_known) {
      const std::size_t bytes = f.packed_bytes != nullptr ? f.packed_bytes(call) : 0;
      kept->packed = bytes != 0 ? Storage::allocate(bytes) : Storage();
      if (bytes != 0) f.pack(call, kept->packed.data());
      kept->inputs = std::move(input_infos);
      kept->outputs = inferred;
      kept->kernel = std::move(made);
    }
    if (kept->packed) call.packed = kept->packed.data();
  }
  Storage workspace;
  if (f.workspace != nullptr) {
    if (const std::size_t bytes = f.workspace(call); bytes != 0) {
      workspace = Storage::allocate(bytes);
      call.workspace = workspace.data();
    }
  }
  f.run(call);
  for (AnyArray& output : outputs) output.own_objects();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const void* changed = changed_input(o);
    if (changed != nullptr) std::memcpy(outputs[o].data(), changed, outputs[o].bytes());
  }
  return outputs;
}

}  // namespace halftone
