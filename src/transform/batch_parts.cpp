#include "batch_parts.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

namespace halftone {
namespace {

class Divider {
 public:
  Divider(Graph graph, std::int64_t cache_bytes)
      : graph_(std::move(graph)), cache_bytes_(cache_bytes), uses_(graph_), form_(graph_) {}

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes.size();) {
      const std::size_t end = end_of_run(n);
      const auto [first, last] = best_part(n, end);
      if (last - first > 1) divide(first, last);
      n = std::max(end, n + 1);
    }
    detail::remove_empty_nodes(graph_);
    return std::move(graph_);
  }

 private:
  /// How nodes of a run read a tensor.
  enum class Form : std::uint8_t { unread, samples, whole };

  /// Where the nodes from n on end that treat the same number of samples, each by itself.
  std::size_t end_of_run(std::size_t n) {
    const std::int64_t batch = samples_of(graph_.nodes[n]);
    if (batch < 2) return n;
    seen_.clear();
    std::size_t end = n;
    while (end < graph_.nodes.size() && samples_of(graph_.nodes[end]) == batch &&
           may_merge(graph_.nodes[n].place, graph_.nodes[end].place) && joins(graph_.nodes[end])) {
      ++end;
    }
    for (const TensorId id : seen_) form_[id] = Form::unread;
    return end;
  }

  /// The extent of a node's output along dimension 0, if it computes it sample by sample; else 0.
  std::int64_t samples_of(const Node& node) const {
    if (node.inputs.empty() || !gives_only_first(node)) return 0;
    const TensorInfo& y = graph_.info(node.outputs[0]);
    if (!y.is_static() || y.rank() == 0 || y.elements() == 0 || has_objects(y.type)) return 0;
    if (node.op->has_bodies || node.op->has_effect || node.op->signature.has_seed() ||
        modifies_any(node) || node.order.block != 0 || node.is_tied) {
      return 0;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor) continue;
      const TensorInfo& x = graph_.info(id);
      if (!x.is_static() || is_variable(graph_.tensor(id))) return 0;
      const bool is_constant = graph_.tensor(id).role == Role::constant;
      if (has_samples(node, i)) {
        if (is_constant || x.rank() == 0 || x.shape[0] != y.shape[0]) return 0;
      } else if (!node.op->in_groups && !is_constant) {
        return 0;
      }
    }
    const bool is_by_sample =
        node.op->in_groups || node.op->by_sample != 0 || is_concat(node, y.rank()) || is_mean(node);
    return is_by_sample ? y.shape[0] : 0;
  }
  static bool is_concat(const Node& node, std::size_t rank) {
    return node.op->id == op::Concat::id &&
           normalized_axis(unpack<op::Concat>(node.attributes).axis, rank) != 0;
  }
  /// Of the dimensions that are kept only those of one element may have been reduced.
  bool is_mean(const Node& node) const {
    return node.op->id == op::ReduceMean::id &&
           graph_.info(node.inputs[0]).rank() == graph_.info(node.outputs[0]).rank();
  }
  static bool gives_only_first(const Node& node) {
    const auto is_given = [](TensorId id) { return id != no_tensor; };
    return !node.outputs.empty() && is_given(node.outputs[0]) &&
           std::none_of(node.outputs.begin() + 1, node.outputs.end(), is_given);
  }
  static bool modifies_any(const Node& node) {
    bool any = false;
    for_each_modified(node, [&](std::size_t) { any = true; });
    return any;
  }
  /// Whether the samples of a node's input lie along its dimension 0.
  bool has_samples(const Node& node, std::size_t i) const {
    if (node.op->id == op::Concat::id) return true;
    if (node.op->id == op::ReduceMean::id) return i == 0;
    if (!node.op->in_groups) return i < 32 && (node.op->by_sample >> i & 1) != 0;
    const Dims &x = graph_.info(node.inputs[i]).shape, &y = graph_.info(node.outputs[0]).shape;
    return x.size() == y.size() && x[0] != 1;
  }

  /// Whether a node reads tensors as those before it in the run do; notes how, if so.
  bool joins(const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor) continue;
      const Form form = has_samples(node, i) ? Form::samples : Form::whole;
      if (form_[id] != Form::unread && form_[id] != form) return false;
    }
    const auto note = [&](TensorId id, Form form) {
      form_[id] = form;
      seen_.push_back(id);
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_tensor) continue;
      note(node.inputs[i], has_samples(node, i) ? Form::samples : Form::whole);
    }
    note(node.outputs[0], Form::samples);
    return true;
  }

  /// Bytes of the samples that a node reads and writes, and of what is the same for all.
  struct Traffic {
    std::int64_t samples = 0, shared = 0;
  };
  Traffic traffic_of(const Node& node) const {
    Traffic t{.samples = graph_.info(node.outputs[0]).bytes()};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_tensor) continue;
      std::int64_t bytes = graph_.info(node.inputs[i]).bytes();
      if (has_samples(node, i)) {
        t.samples += bytes;
        continue;
      }
      if (node.op->id == op::FusedConv::id && i == 1) {
        const std::int64_t edge = unpack<op::FusedConv>(node.attributes).winograd;
        if (edge != 0) bytes = bytes * (edge + 2) * (edge + 2) / 9;
      }
      t.shared += bytes;
    }
    return t;
  }

  /// The nodes of a run whose samples gain most from the cache, beyond what reading the weights once
  /// for each sample costs.
  std::pair<std::size_t, std::size_t> best_part(std::size_t begin, std::size_t end) const {
    std::pair<std::size_t, std::size_t> best{begin, begin};
    std::int64_t most = 0, sum = 0;
    std::size_t first = begin;
    for (std::size_t n = begin; n < end; ++n) {
      const Traffic t = traffic_of(graph_.nodes[n]);
      const std::int64_t batch = graph_.info(graph_.nodes[n].outputs[0]).shape[0];
      sum += (t.samples > cache_bytes_ ? t.samples : 0) - (batch - 1) * t.shared;
      if (sum > most) {
        most = sum;
        best = {first, n + 1};
      }
      if (sum < 0) {
        sum = 0;
        first = n + 1;
      }
    }
    return best;
  }

  using Known = std::pair<TensorId, TensorId>;  // in the graph and in the body

  void divide(std::size_t first, std::size_t last) {
    const std::int64_t batch = graph_.info(graph_.nodes[first].outputs[0]).shape[0];
    std::int64_t most = 1;
    for (std::size_t n = first; n < last; ++n) {
      most = std::max(most, traffic_of(graph_.nodes[n]).samples);
    }
    std::int64_t samples = std::clamp<std::int64_t>(cache_bytes_ * batch / most, 1, batch);
    while (batch % samples != 0) --samples;
    if (samples == batch) return;

    Graph body;
    body.replicas = graph_.replicas;
    std::vector<Known> known;
    const auto find = [&](TensorId id) {
      const auto at =
          std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == id; });
      return at == known.end() ? no_tensor : at->second;
    };
    const auto part_of = [&](TensorId id) {
      TensorInfo info = graph_.info(id);
      info.shape[0] = samples;
      return info;
    };
    Node made{.op = &descriptor<op::BatchParts>, .place = graph_.nodes[first].place};
    for (std::size_t n = first; n < last; ++n) {
      Node& node = graph_.nodes[n];
      Vector<TensorId> inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId id = node.inputs[i];
        if (id != no_tensor && find(id) == no_tensor) {
          if (graph_.tensor(id).role == Role::constant) {
            known.emplace_back(id, body.add_constant(graph_.info(id), graph_.tensor(id).data));
          } else {
            const TensorInfo info = has_samples(node, i) ? part_of(id) : graph_.info(id);
            known.emplace_back(id, body.add_input(info, {}));
            made.inputs.push_back(id);
          }
        }
        inputs.push_back(id == no_tensor ? no_tensor : find(id));
      }
      const TensorId y = node.outputs[0];
      Node inner = node;
      inner.inputs = std::move(inputs);
      inner.outputs[0] = body.add_tensor({.info = part_of(y)}, graph_.name(y));
      inner.name = {};
      if (!graph_.name(node).empty()) body.rename(inner, graph_.name(node));
      known.emplace_back(y, inner.outputs[0]);
      body.nodes.push_back(std::move(inner));
      const int read = uses_.last_read[y];
      if (read == no_node || read >= static_cast<int>(last)) {
        made.outputs.push_back(y);
        body.add_output(known.back().second);
      }
      node.op = nullptr;
    }
    made.attributes =
        pack(op::BatchParts{{static_cast<std::int32_t>(graph_.graphs.size())}, batch / samples});
    forget_constants(body, known);
    graph_.graphs.push_back(std::move(body));
    graph_.nodes[last - 1] = std::move(made);
  }

  /// Weights that only the body reads belong to it.
  void forget_constants(const Graph& body, const std::vector<Known>& known) {
    const Uses inside(body);
    for (const auto& [outer, inner] : known) {
      TensorRecord& t = graph_.tensor(outer);
      if (t.role == Role::constant && uses_.count[outer] == inside.count[inner]) t.data = {};
    }
  }

  Graph graph_;
  const std::int64_t cache_bytes_;
  Uses uses_;
  TensorMap<Form> form_;
  std::vector<TensorId> seen_;
};

}  // namespace

Graph batch_parts(Graph graph, std::int64_t cache_bytes) {
  return Divider(std::move(graph), cache_bytes).run();
}

}  // namespace halftone
