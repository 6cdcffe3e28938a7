#include <algorithm>
#include <cstring>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "onnx/importer.hpp"

// What nodes that exchange tensors with the host need of the whole model: the variables that stand for
// remote buffers.

namespace halftone::onnx {

namespace {

/// The largest buffer: what all tensors of the machine's planner are limited to.
constexpr std::int64_t most_buffer_bytes = std::int64_t{1} << 46;

/// The number in an offset that is a constant; `dynamic` if it is none.
std::int64_t constant_offset(const TensorRecord& offset) {
  std::int64_t row = dynamic;
  if (offset.role != Role::constant || offset.info.elements() != 1) return row;
  visit_type<op::OffsetTypes>(offset.info.type, [&]<class I>() {
    I number{};
    std::memcpy(&number, offset.data.span().data(), sizeof number);
    row = static_cast<std::uint32_t>(number);
  });
  return row;
}

}  // namespace

bool Importer::give_buffer(Scope& scope, const NodeMessage& node, const Descriptor& op,
                           std::span<const Word> words, Vector<TensorId>& inputs) {
  constexpr std::size_t place = 2;
  const bool is_load = op.id == op::RemoteLoad::id;
  if ((!is_load && op.id != op::RemoteStore::id) || inputs.size() > place) return true;
  const std::int64_t number =
      is_load ? unpack<op::RemoteLoad>(words).buffer_id : unpack<op::RemoteStore>(words).buffer_id;
  const auto refuse = [&](std::string_view what, std::string_view found = {}) {
    report_.add(ErrorKind::unsupported, {.what = what, .node = describe(node), .found = found});
    return false;
  };
  if (!scope.target.is_main) {
    return refuse("remote buffers without a tensor are not offered in bodies of other operators");
  }
  infer_pending(scope.target);
  Graph& graph = scope.target.graph;
  TensorInfo row;
  if (!inputs.empty() && inputs[0] != no_tensor) {
    row = graph.info(inputs[0]);
  } else if (is_load) {
    const auto load = unpack<op::RemoteLoad>(words);
    row = {load.type, load.shape};
  }
  if (!row.is_static()) {
    return refuse("the type and shape of a remote buffer's rows are not known",
                  detail::to_text(row));
  }
  if (row.rank() == max_rank) return refuse("a remote buffer has too many dimensions");
  const auto [known, is_new] = buffers_.try_emplace(number);
  Buffer& buffer = known->second;
  if (is_new) {
    TensorInfo info = row;
    info.shape.insert(0, 0);
    buffer = {.variable = graph.add_variable(info, Initial{Initial::Rule::fill, 0, 0},
                                             "RemoteBuffer_" + std::to_string(number)),
              .row = row,
              .node = describe(node)};
  }
  if (buffer.row != row) {
    defect(describe(node), "a remote buffer has rows of two shapes", {},
           detail::to_text(buffer.row), detail::to_text(row));
    return false;
  }
  const bool has_offset = inputs.size() > 1 && inputs[1] != no_tensor;
  const std::int64_t offset = has_offset ? constant_offset(graph.tensor(inputs[1])) : 0;
  std::int64_t& rows = graph.tensor(buffer.variable).info.shape[0];
  if (offset >= rows) {
    if (offset >= most_buffer_bytes / std::max<std::int64_t>(row.bytes(), 1)) {
      return refuse("a remote buffer has too many rows", std::to_string(offset));
    }
    rows = offset + 1;
  }
  inputs.resize(place, no_tensor);
  inputs.push_back(buffer.variable);
  return true;
}

void Importer::check_buffers(const Graph& graph) {
  for (const auto& [number, buffer] : buffers_) {
    if (graph.info(buffer.variable).shape[0] != 0) continue;
    report_.add(ErrorKind::unsupported,
                {.what = "the number of rows of a remote buffer is not known: no offset of a load "
                         "or store is constant",
                 .node = buffer.node,
                 .found = "bufferid " + std::to_string(number)});
  }
}

bool Importer::check_changed(const std::string& described, const Descriptor& op,
                             Vector<Word>& words, const Subgraphs& subgraphs, Target& target,
                             std::span<const TensorId> inputs) {
  Graph& graph = target.graph;
  for (const Subgraphs::Body& body : subgraphs.bodies) {
    const Graph& inner = graph.graphs[static_cast<std::size_t>(body.index)];
    const Aliases aliases(inner);
    for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
      if (!aliases.is_modified(inner.inputs[i])) continue;
      if (op.id != op::Call::id) {
        defect(described, "a body changes what it is given", inner.name(inner.inputs[i]));
        return false;
      }
      auto call = unpack<op::Call>(words);
      if (!call.modifies(i)) call.modified_inputs.push_back(static_cast<std::int64_t>(i));
      words = pack(call);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == no_tensor || !modifies(op, words, i)) continue;
    TensorRecord& t = graph.tensor(inputs[i]);
    // Integer initializers count as constants until somebody changes them.
    if (t.role == Role::constant) t.role = Role::variable;
    if (is_variable(t) || (t.role == Role::input && !target.is_main)) continue;
    defect(described, "a tensor is changed that is no initializer", graph.name(inputs[i]));
    return false;
  }
  return true;
}

}  // namespace halftone::onnx
