#include "batch_parts.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {
namespace {

/// Moves nodes that treat samples one by one into bodies.
class Divider {
 public:
  Divider(Graph graph, std::int64_t cache_bytes)
      : graph_(std::move(graph)),
        cache_bytes_(cache_bytes),
        uses_(graph_),
        form_(graph_),
        inner_(graph_, no_tensor) {}

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes.size();) {
      const std::size_t end = end_of_run(n);
      const auto [first, last] = best_part(n, end);
      const bool is_divided = last - first > 1 && divide(first, last);
      n = is_divided ? last : std::max(end, n + 1);
    }
    detail::remove_empty_nodes(graph_);
    return std::move(graph_);
  }

 private:
  /// How nodes of a run read a tensor.
  enum class Form : std::uint8_t { unread, samples, whole };

  static constexpr std::size_t longest = 1024;

  /// The function finds where the nodes from n on end that treat the same number of samples, each by
  /// itself. They are `longest` at most.
  std::size_t end_of_run(std::size_t n) {
    const std::int64_t batch = samples_of(graph_.nodes[n]);
    if (batch < 2) return n;
    seen_.clear();
    std::size_t end = n;
    while (end < graph_.nodes.size() && end - n < longest &&
           samples_of(graph_.nodes[end]) == batch &&
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
    if (node.op->has_bodies || has_effect(node) || node.op->signature.has_seed() ||
        node.order.block != 0 || node.is_tied) {
      return 0;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor) continue;
      const TensorInfo& x = graph_.info(id);
      if (!x.is_static() || is_variable(graph_.tensor(id))) return 0;
      const bool is_constant = graph_.tensor(id).role == Role::constant;
      if (is_constant && graph_.tensor(id).data.size() == 0 && x.elements() != 0) return 0;
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
  /// A mean that keeps its dimensions has not reduced one of several elements, such as the batch.
  bool is_mean(const Node& node) const {
    return node.op->id == op::ReduceMean::id &&
           graph_.info(node.inputs[0]).rank() == graph_.info(node.outputs[0]).rank();
  }
  static bool gives_only_first(const Node& node) {
    const auto is_given = [](TensorId id) { return id != no_tensor; };
    return !node.outputs.empty() && is_given(node.outputs[0]) &&
           std::none_of(node.outputs.begin() + 1, node.outputs.end(), is_given);
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
    double samples = 0, shared = 0;
  };
  Traffic traffic_of(const Node& node) const {
    Traffic t{.samples = double(graph_.info(node.outputs[0]).bytes())};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_tensor) continue;
      double bytes = double(graph_.info(node.inputs[i]).bytes());
      if (has_samples(node, i)) {
        t.samples += bytes;
        continue;
      }
      if (node.op->id == op::FusedConv::id && i == 1) {
        const auto conv = unpack<op::FusedConv>(node.attributes);
        const std::int64_t edge = conv.winograd, taps = conv.winograd_taps;
        if (edge != 0) {  // transformed
          bytes *= double(kernel::winograd_positions(edge, taps)) / double(taps * taps);
        }
      }
      t.shared += bytes;
    }
    return t;
  }

  /// The nodes of a run whose samples gain most from the cache, beyond what reading the weights once
  /// for each sample costs. Nodes that fuse_elementwise puts into groups stay in the cache without that.
  std::pair<std::size_t, std::size_t> best_part(std::size_t begin, std::size_t end) const {
    std::pair<std::size_t, std::size_t> best{begin, begin};
    double most = 0, sum = 0;
    std::size_t first = begin;
    bool has_others = false;  // since `first`
    for (std::size_t n = begin; n < end; ++n) {
      const Traffic t = traffic_of(graph_.nodes[n]);
      const std::int64_t batch = graph_.info(graph_.nodes[n].outputs[0]).shape[0];
      sum += (t.samples > double(cache_bytes_) ? t.samples : 0) - double(batch - 1) * t.shared;
      has_others = has_others || !graph_.nodes[n].op->in_groups;
      if (sum > most && has_others) {
        most = sum;
        best = {first, n + 1};
      }
      if (sum < 0) {
        sum = 0;
        first = n + 1;
        has_others = false;
      }
    }
    return best;
  }

  /// A part has as many samples as leave the largest node in the cache, and divide the batch. It has all of
  /// them if only much fewer do.
  std::int64_t samples_of_part(std::size_t first, std::size_t last, std::int64_t batch) const {
    double most = 1;
    for (std::size_t n = first; n < last; ++n) {
      most = std::max(most, traffic_of(graph_.nodes[n]).samples);
    }
    const double fit = double(cache_bytes_) * double(batch) / most;
    const std::int64_t wanted = fit < 1               ? 1
                                : fit < double(batch) ? static_cast<std::int64_t>(fit)
                                                      : batch;
    std::int64_t samples = wanted;
    while (batch % samples != 0) --samples;
    return 2 * samples <= wanted ? batch : samples;
  }

  /// Makes nodes the body of one, if it has several parts.
  bool divide(std::size_t first, std::size_t last) {
    const std::int64_t batch = graph_.info(graph_.nodes[first].outputs[0]).shape[0];
    const std::int64_t samples = samples_of_part(first, last, batch);
    if (samples == batch) return false;

    Graph body;
    body.replicas = graph_.replicas;
    std::vector<TensorId> known;  // those that inner_ has a tensor of the body for
    const auto put = [&](TensorId id, TensorId inner) {
      known.push_back(id);
      inner_[id] = inner;
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
        if (id != no_tensor && inner_[id] == no_tensor) {
          if (graph_.tensor(id).role == Role::constant) {
            put(id, body.add_constant(graph_.info(id), graph_.tensor(id).data));
          } else {
            put(id, body.add_input(has_samples(node, i) ? part_of(id) : graph_.info(id), {}));
            made.inputs.push_back(id);
          }
        }
        inputs.push_back(id == no_tensor ? no_tensor : inner_[id]);
      }
      const TensorId y = node.outputs[0];
      Node inner = node;
      inner.inputs = std::move(inputs);
      inner.outputs[0] = body.add_tensor({.info = part_of(y)}, graph_.name(y));
      inner.name = {};
      if (!graph_.name(node).empty()) body.rename(inner, graph_.name(node));
      put(y, inner.outputs[0]);
      body.nodes.push_back(std::move(inner));
      const int read = uses_.last_read[y];
      if (read == no_node || read >= static_cast<int>(last)) {
        made.outputs.push_back(y);
        body.add_output(inner_[y]);
      }
      node.op = nullptr;
    }
    made.attributes =
        pack(op::BatchParts{{static_cast<std::int32_t>(graph_.graphs.size())}, batch / samples});
    forget_constants(body, known);
    for (const TensorId id : known) inner_[id] = no_tensor;
    graph_.graphs.push_back(std::move(body));
    graph_.nodes[last - 1] = std::move(made);
    return true;
  }

  /// Weights that only the body reads belong to it.
  void forget_constants(const Graph& body, const std::vector<TensorId>& known) {
    const Uses inside(body);
    for (const TensorId id : known) {
      TensorRecord& t = graph_.tensor(id);
      if (t.role == Role::constant && uses_.count[id] == inside.count[inner_[id]]) t.data = {};
    }
  }

  Graph graph_;
  const std::int64_t cache_bytes_;
  Uses uses_;
  TensorMap<Form> form_;
  TensorMap<TensorId> inner_;  ///< of the body at hand
  std::vector<TensorId> seen_;
};

}  // namespace

Graph batch_parts(Graph graph, std::int64_t cache_bytes) {
  return Divider(std::move(graph), cache_bytes).run();
}

}  // namespace halftone
