#include "node.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <halftone/graph/call.hpp>
#include <halftone/program/buffers.hpp>

#include "base/describe.hpp"
#include "group.hpp"

namespace halftone {

std::vector<ElementType> type_variables(const Descriptor& op, std::span<const TensorInfo> inputs,
                                        std::span<const TensorInfo> outputs) {
  std::vector<ElementType> types(op.signature.type_variables(), ElementType::undefined);
  auto take = [&](const Slot& slot, const TensorInfo& info) {
    ElementType& type = types[static_cast<std::size_t>(slot.type_variable)];
    if (type == ElementType::undefined) type = info.type;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) take(op.signature.input_slot(i), inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) take(op.signature.output_slot(i), outputs[i]);
  // A variable of absent tensors alone: any type that the operator takes will do.
  for (std::size_t v = 0; v < types.size(); ++v) {
    for (int t = 1; types[v] == ElementType::undefined && t < detail::element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (op.allows(static_cast<int>(v), type)) types[v] = type;
    }
  }
  return types;
}

NodeKernel::NodeKernel(const Graph& graph, const Node& node, std::span<const TensorInfo> inputs,
                       std::span<const TensorInfo> outputs) {
  const std::vector<ElementType> types = type_variables(*node.op, inputs, outputs);
  kernel_ = find_kernel(*node.op, types);
  if (kernel_.run == nullptr && kernel_.block == nullptr) {
    std::string text;
    for (const ElementType type : types) {
      text += text.empty() ? "" : ", ";
      text += name(type);
    }
    fail(ErrorKind::unsupported, {.what = "there is no kernel for these element types",
                                  .node = detail::node_text(*node.op, graph.name(node)),
                                  .found = text});
  }
  op_.reset(new std::max_align_t[kernel_.op_size / sizeof(std::max_align_t) + 1]);
  kernel_.unpack(node.attributes, op_.get());
}

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

std::vector<TensorInfo> infos_of_outputs(const Graph& graph, const Node& node,
                                         std::span<const AnyView> inputs) {
  std::vector<InputInfo> infos;
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
                               KeptNode* kept) {
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
  std::vector<TensorInfo> input_infos;
  for (const AnyView& x : inputs) input_infos.push_back(x.info);
  if (!has_constant_attributes(graph, node)) kept = nullptr;
  const bool is_known = kept != nullptr && kept->kernel != nullptr && kept->inputs == input_infos;
  const std::vector<TensorInfo> inferred =
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
                  .executor = &executor};
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

bool evaluate_constant(void* executor, Graph& graph, std::size_t n) {
  // What is larger than this is cheaper to compute in each run than to keep.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
  Node& node = graph.nodes[n];
  if (node.outputs.empty()) return false;
  std::int64_t bytes = 0;
  for (const TensorId id : node.outputs) {
    if (id == no_tensor) continue;
    if (!is_tensor(graph.info(id).type)) return false;  // constants are tensors
    const std::int64_t size = graph.info(id).bytes();
    bytes = size > most_bytes - bytes ? most_bytes + 1 : bytes + size;
  }
  if (bytes > most_bytes) return false;
  auto keep = [&](TensorId id, Bytes data) {
    graph.tensor(id).role = Role::constant;
    graph.tensor(id).data = std::move(data);
  };
  if (is_view(node)) {
    const auto shared = static_cast<std::size_t>(node.op->signature.output(0).shares);
    if (graph.tensor(node.inputs[shared]).role != Role::constant) return false;
    keep(node.outputs[0], graph.tensor(node.inputs[shared]).data);
    node.outputs.clear();
    return true;
  }
  std::vector<AnyView> inputs;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor) {
      inputs.push_back({});
      continue;
    }
    TensorRecord& t = graph.tensor(id);
    // Only the infos count where the input is no constant (Shape).
    inputs.push_back({t.info, t.role == Role::constant ? aligned_data(t) : nullptr});
  }
  const std::vector<AnyArray> outputs =
      run_node(graph, node, inputs, *static_cast<const kernel::Executor*>(executor));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_tensor) continue;
    keep(node.outputs[i], Bytes(outputs[i].storage(), outputs[i].data(), outputs[i].bytes()));
  }
  node.outputs.clear();
  return true;
}

const void* aligned_data(TensorRecord& tensor) {
  const std::span<const std::byte> bytes = tensor.data.span();
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.info.type));
  if (size != 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0) {
    Storage copy = Storage::allocate(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    tensor.data.unneeded();
    const std::byte* data = copy.data();
    tensor.data = Bytes(std::move(copy), data, bytes.size());
  }
  return tensor.data.span().data();
}

}  // namespace halftone
