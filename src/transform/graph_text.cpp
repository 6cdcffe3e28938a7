#include "transform/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/graph/attribute.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

/// The attributes of a node as texts "name=value".
class AttributeTexts final : public AttributeVisitor {
 public:
  std::vector<std::string> texts;

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (present) add(name, fmt::format("{}", value));
  }
  void real(std::string_view name, float& value, bool& present) override {
    if (present) add(name, fmt::format("{}", value));
  }
  void integers(std::string_view name, std::int64_t* items, std::uint8_t& count,
                std::size_t) override {
    add(name, fmt::format("[{}]", fmt::join(items, items + count, ", ")));
  }
  void reals(std::string_view name, float* items, std::uint8_t& count, std::size_t) override {
    add(name, fmt::format("[{}]", fmt::join(items, items + count, ", ")));
  }
  void text(std::string_view name, char* characters, std::size_t) override {
    add(name, detail::quoted(characters));
  }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    add(name, std::string(names[static_cast<std::size_t>(value)]));
  }
  void choices(std::string_view name, std::int64_t* items, std::uint8_t& count, std::size_t,
               std::span<const std::string_view> names) override {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      list += i == 0 ? "" : ", ";
      list += names[static_cast<std::size_t>(items[i])];
    }
    add(name, fmt::format("[{}]", list));
  }
  void graph(std::string_view name, std::int32_t& index) override {
    add(name, fmt::format("graph {}", index));
  }

 private:
  void add(std::string_view name, std::string_view value) {
    texts.push_back(fmt::format("{}={}", name, value));
  }
};

std::vector<std::string> attribute_texts(const Node& node, Vector<Word> words) {
  AttributeTexts visitor;
  node.op->attributes(words, visitor);
  return std::move(visitor.texts);
}

/// Those that differ from the defaults.
std::string attributes_of(const Node& node) {
  const std::vector<std::string> defaults = attribute_texts(node, node.op->defaults());
  std::string text;
  for (const std::string& attribute : attribute_texts(node, node.attributes)) {
    if (std::find(defaults.begin(), defaults.end(), attribute) != defaults.end()) continue;
    text += (text.empty() ? "" : " ") + attribute;
  }
  return text;
}

using detail::name_of;

std::string names_of(const Graph& graph, std::span<const TensorId> ids) {
  std::string text;
  for (const TensorId id : ids) text += (text.empty() ? "" : ", ") + name_of(graph, id);
  return text;
}

/// " = 1, 2" for a few numbers.
std::string values_of(const TensorRecord& tensor) {
  constexpr std::int64_t most = 8;
  if (!tensor.info.is_static() || tensor.info.elements() > most || tensor.data.size() == 0) {
    return {};
  }
  const InputInfo input{tensor.info, tensor.data.span(), true};
  const std::vector<double> numbers = Inputs({&input, 1}, 0).numbers(0);
  return numbers.empty() ? std::string() : fmt::format(" = {}", fmt::join(numbers, ", "));
}

/// Tensors that nodes read or that are the graph's outputs, in the order of their ids.
Vector<TensorId> used_tensors(const Graph& graph, Role role) {
  TensorMap<bool> used(graph, false);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) used[id] = true;
    }
  }
  for (const TensorId id : graph.outputs) used[id] = true;
  Vector<TensorId> ids;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (used[id] && graph.tensor(id).role == role) ids.push_back(id);
  }
  return ids;
}

/// What is said of a variable beside its info: "  groups 0, 0, 1, 1  over 2 shards".
std::string settings_of(const Graph& graph, TensorId id) {
  const VariableSettings* s = graph.settings(id);
  if (s == nullptr) return {};
  std::string text;
  if (!s->grouping.is_whole()) {
    text += fmt::format("  groups {}", fmt::join(s->grouping.assignment(), ", "));
  }
  if (s->shard_over > 1) text += fmt::format("  over {} shards", s->shard_over);
  if (s->retrieval == Retrieval::all_replicas) text += "  of all replicas";
  if (s->remote_buffer >= 0) {
    text += fmt::format("  in buffer {} entry {}", s->remote_buffer, s->remote_entry);
  }
  return text;
}

/// What is asked of a node's place: "  #1.3" for block and position, IPU, stage and more.
std::string place_of(const Node& node) {
  std::string text;
  if (node.order.block != 0) {
    text += fmt::format("  #{}.{}", node.order.block, node.order.position);
  }
  const Place& place = node.place;
  if (place.ipu >= 0) text += fmt::format("  ipu {}", place.ipu);
  if (place.stage >= 0) text += fmt::format("  stage {}", place.stage);
  if (place.phase >= 0) text += fmt::format("  phase {}", place.phase);
  if (place.part == Part::backward) text += is_recomputed(place) ? "  again" : "  backward";
  if (place.part == Part::update) text += "  update";
  if (place.part == Part::forward && place.recompute == Recompute::recompute) {
    text += "  recompute";
  }
  if (place.recompute == Recompute::checkpoint) text += "  checkpoint";
  if (node.planning.on_io_tiles) text += "  on io tiles";
  if (node.planning.exchange != 0) text += fmt::format("  exchange {}", node.planning.exchange);
  return text;
}

void add_graph(std::string& out, const Graph& graph, const std::string& indent) {
  const auto line = [&](const std::string& text) { out += indent + text + "\n"; };
  if (graph.replicas != 1) line(fmt::format("replicas  {}", graph.replicas));
  for (const StreamRecord& stream : graph.streams) {
    line(fmt::format("stream    {}  {}  {} the host", graph.text(stream.name),
                     detail::to_text(stream.info), stream.to_host ? "to" : "from"));
  }
  for (const RemoteBufferRecord& buffer : graph.remote_buffers) {
    line(fmt::format("buffer    {}  {} entries of {}", buffer.id, buffer.entries,
                     detail::to_text(buffer.info)));
  }
  for (const TensorId id : graph.inputs) {
    line(fmt::format("input     {}  {}", name_of(graph, id), detail::to_text(graph.info(id))));
  }
  for (const auto& [role, word] :
       {std::pair(Role::variable, "variable"), {Role::constant, "constant"}}) {
    for (const TensorId id : used_tensors(graph, role)) {
      const TensorRecord& t = graph.tensor(id);
      std::string values = role == Role::constant ? values_of(t) : std::string();
      if (t.of != no_tensor) values += "  of " + name_of(graph, t.of);
      values += settings_of(graph, id);
      line(fmt::format("{:<8}  {}  {}{}", word, name_of(graph, id), detail::to_text(t.info),
                       values));
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::string attributes = attributes_of(node);
    line(fmt::format("{:>4}  {} ({}){}{}{}", n, detail::node_text(*node.op, graph.name(node)),
                     names_of(graph, node.inputs), attributes.empty() ? "" : "  ", attributes,
                     place_of(node)));
    for (const TensorId id : node.outputs) {
      if (id == no_tensor) continue;
      line(fmt::format("      -> {}  {}", name_of(graph, id), detail::to_text(graph.info(id))));
    }
    for (const std::int32_t index : subgraphs_of(node)) {
      line(fmt::format("      graph {}:", index));
      add_graph(out, graph.graphs[static_cast<std::size_t>(index)], indent + "        ");
    }
  }
  for (const TensorId id : graph.outputs) {
    line(fmt::format("output    {}  {}", name_of(graph, id), detail::to_text(graph.info(id))));
  }
}

/// A text between quotation marks of DOT.
std::string dot_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : detail::escaped(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// Nodes of DOT have the graph's `prefix` in their names, which are unique that way.
void add_dot(std::string& out, const Graph& graph, const std::string& prefix) {
  const auto add = [&](const std::string& text) { out += "  " + text + ";\n"; };
  TensorMap<std::string> from(graph);
  for (const TensorId id : graph.inputs) {
    from[id] = fmt::format("\"{}t{}\"", prefix, id);
    add(fmt::format("{} [shape=ellipse, label={}]", from[id], dot_text(name_of(graph, id))));
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::string box = fmt::format("\"{}n{}\"", prefix, n);
    std::string label = detail::node_text(*node.op, graph.name(node));
    if (const std::string attributes = attributes_of(node); !attributes.empty()) {
      label += "  " + attributes;
    }
    add(fmt::format("{} [shape=box, label={}]", box, dot_text(label)));
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || from[id].empty()) continue;
      const std::string edge = name_of(graph, id) + "  " + detail::to_text(graph.info(id));
      add(fmt::format("{} -> {} [label={}]", from[id], box, dot_text(edge)));
    }
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) from[id] = box;
    }
    for (const std::int32_t index : subgraphs_of(node)) {
      const std::string inner = fmt::format("{}n{}.g{}.", prefix, n, index);
      out += fmt::format("  subgraph \"cluster_{}\" {{\n  label={};\n", inner,
                         dot_text(fmt::format("graph {} of {}", index, label)));
      add_dot(out, graph.graphs[static_cast<std::size_t>(index)], inner);
      out += "  }\n";
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorId id = graph.outputs[i];
    const std::string end = fmt::format("\"{}o{}\"", prefix, i);
    const std::string text = name_of(graph, id) + "  " + detail::to_text(graph.info(id));
    add(fmt::format("{} [shape=ellipse, label={}]", end, dot_text(text)));
    if (!from[id].empty()) add(fmt::format("{} -> {}", from[id], end));
  }
}

}  // namespace

std::string graph_text(const Graph& graph) {
  std::string out =
      fmt::format("graph {}: {} node{}\n", detail::quoted(graph.text(graph.graph_name)),
                  graph.nodes.size(), graph.nodes.size() == 1 ? "" : "s");
  add_graph(out, graph, "  ");
  return out;
}

std::string graph_dot(const Graph& graph) {
  std::string out = "digraph model {\n  rankdir=TB;\n";
  add_dot(out, graph, "");
  return out + "}\n";
}

}  // namespace halftone
