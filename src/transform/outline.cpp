#include <halftone/transform/outline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {
namespace {

/// Finds sequences of nodes that occur several times, and replaces them by calls of one body.
class Outliner {
 public:
  Outliner(Graph graph, const OutlineOptions& options)
      : graph_(std::move(graph)), options_(options) {}

  Graph run() {
    constexpr int most_bodies = 256;
    for (int body = 0; body < most_bodies; ++body) {
      read();
      const Sequence best = best_sequence();
      if (best.begins.empty()) break;
      replace(best);
    }
    return std::move(graph_);
  }

 private:
  struct Sequence {
    std::vector<std::size_t> begins;  ///< of the occurrences
    std::size_t length = 0;
  };

  static double value(const Node& node) { return is_planned(node.op->id.name) ? 1000 : 0.1; }
  /// Small integers are shapes, axes and positions: the same ones, or another body.
  bool is_part_of_body(TensorId id) const {
    constexpr std::int64_t small = 64;
    const TensorRecord& t = graph_.tensor(id);
    return t.role == Role::constant && !is_floating_point(t.info.type) && t.info.is_static() &&
           t.info.elements() <= small;
  }
  bool may_be_outlined(const Node& node) const {
    return node.order.block == 0 && !node.is_tied && subgraphs_of(node).empty() &&
           !has_effect(graph_, node) && node.op->reaches == Reaches::nothing &&
           !is_evaluated(node) && !node.outputs.empty();
  }

  /// Gives equal nodes equal symbols; nodes that stay where they are have symbols of their own.
  void read() {
    uses_ = Uses(graph_);
    const Aliases aliases(graph_);
    std::map<std::string, int> numbers;
    symbols_.clear();
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      std::string key;
      if (may_be_outlined(node)) {
        key = key_of(node);
      } else {
        key = "#" + std::to_string(n);
      }
      // What is a variable's memory has to stay one's.
      for (const TensorId id : node.outputs) {
        if (id != no_tensor && (aliases.is_modified(id) || is_memory(aliases.root(id)))) {
          key = "#" + std::to_string(n);
        }
      }
      symbols_.push_back(
          numbers.emplace(std::move(key), static_cast<int>(numbers.size())).first->second);
    }
  }
  bool is_memory(TensorId root) const { return is_variable(graph_.tensor(root)); }

  std::string key_of(const Node& node) const {
    std::string key;
    const auto add = [&](const auto& number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    const auto add_info = [&](TensorId id) {
      add(id == no_tensor);
      if (id == no_tensor) return;
      const TensorInfo& info = graph_.info(id);
      add(info.type);
      add(info.rank());
      for (const std::int64_t extent : info.shape) add(extent);
    };
    add(node.op);
    for (const Word word : node.attributes) add(word);
    for (const TensorId id : node.inputs) {
      add_info(id);
      if (id == no_tensor || !is_part_of_body(id)) continue;
      const auto bytes = graph_.tensor(id).data.span();
      key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    for (const TensorId id : node.outputs) add_info(id);
    const Place& p = node.place;
    for (const int number : {int{p.ipu}, int{p.stage}, int{p.phase}, static_cast<int>(p.recompute),
                             static_cast<int>(p.part), static_cast<int>(node.planning.partials),
                             static_cast<int>(node.planning.on_io_tiles)}) {
      add(number);
    }
    add(node.planning.available_memory_proportion);
    return key;
  }

  // --- repeated sequences ------------------------------------------------------------------------

  /// By a suffix array: sequences with a common beginning are neighbours in it.
  Sequence best_sequence() const {
    const std::size_t count = symbols_.size();
    constexpr std::size_t longest = 1024;
    std::vector<std::size_t> suffixes(count);
    std::iota(suffixes.begin(), suffixes.end(), std::size_t{0});
    const auto common = [&](std::size_t a, std::size_t b) {
      std::size_t length = 0;
      while (length < longest && a + length < count && b + length < count &&
             symbols_[a + length] == symbols_[b + length]) {
        ++length;
      }
      return length;
    };
    std::sort(suffixes.begin(), suffixes.end(), [&](std::size_t a, std::size_t b) {
      const std::size_t length = common(a, b);
      if (a + length >= count || b + length >= count) return a > b;
      if (length == longest) return a < b;
      return symbols_[a + length] < symbols_[b + length];
    });
    std::vector<double> before(count + 1, 0);  // value of the nodes before
    for (std::size_t n = 0; n < count; ++n) before[n + 1] = before[n] + value(graph_.nodes[n]);
    // A sequence ends where nodes have another place.
    std::vector<std::size_t> ends(count, count);
    for (std::size_t n = count; n-- > 0;) {
      const bool is_last = n + 1 == count || !(graph_.nodes[n].place == graph_.nodes[n + 1].place);
      ends[n] = is_last ? n + 1 : ends[n + 1];
    }
    std::vector<std::size_t> shared(count, 0);  // with the suffix before in the array
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t a = suffixes[i - 1], b = suffixes[i];
      shared[i] = std::min({common(a, b), ends[a] - a, ends[b] - b});
    }

    Sequence best;
    double most = 0;
    // Each length that ends an interval of the array is a candidate, once.
    std::vector<std::pair<std::size_t, std::size_t>> open;  // length, first position
    for (std::size_t i = 1; i <= count; ++i) {
      const std::size_t now = i < count ? shared[i] : 0;
      std::size_t first = i - 1;
      while (!open.empty() && open.back().first > now) {
        const auto [length, begin] = open.back();
        open.pop_back();
        first = begin;
        const std::size_t at = suffixes[begin];
        const double saved = before[at + length] - before[at];
        if (saved <= options_.threshold) continue;
        if (saved * static_cast<double>(i - begin - 1) <= most) continue;
        std::vector<std::size_t> places(suffixes.begin() + static_cast<std::ptrdiff_t>(begin),
                                        suffixes.begin() + static_cast<std::ptrdiff_t>(i));
        const Sequence sequence = alike(std::move(places), length);
        const double gain = saved * (static_cast<double>(sequence.begins.size()) - 1);
        if (sequence.begins.size() < 2 || gain <= most) continue;
        most = gain;
        best = sequence;
      }
      if (now > 0 && (open.empty() || open.back().first < now)) open.emplace_back(now, first);
    }
    return best;
  }

  /// The most of these occurrences that do not overlap and pass values on in the same way.
  Sequence alike(std::vector<std::size_t> begins, std::size_t length) const {
    std::sort(begins.begin(), begins.end());
    std::map<std::vector<int>, std::vector<std::size_t>> groups;
    std::size_t end = 0;
    for (const std::size_t begin : begins) {
      if (begin < end) continue;
      groups[flow(begin, length)].push_back(begin);
      end = begin + length;
    }
    Sequence best{{}, length};
    for (auto& [flow, places] : groups) {
      if (places.size() > best.begins.size()) best.begins = std::move(places);
    }
    return best;
  }
  /// Where the inputs of a sequence come from: nodes in it by their outputs, others by the order in which
  /// they are read first.
  std::vector<int> flow(std::size_t begin, std::size_t length) const {
    std::vector<int> text;
    std::map<TensorId, int> outside;
    std::map<TensorId, int> inside;
    for (std::size_t n = begin; n < begin + length; ++n) {
      for (const TensorId id : graph_.nodes[n].inputs) {
        if (id == no_tensor || is_part_of_body(id)) continue;
        const auto own = inside.find(id);
        text.push_back(
            own != inside.end()
                ? own->second
                : -1 - outside.emplace(id, static_cast<int>(outside.size())).first->second);
      }
      for (const TensorId id : graph_.nodes[n].outputs) {
        if (id != no_tensor) inside.emplace(id, static_cast<int>(inside.size()));
      }
    }
    return text;
  }

  // --- bodies ------------------------------------------------------------------------------------

  /// Whether something behind a sequence reads a tensor.
  bool is_needed(TensorId id, std::size_t end) const {
    return id != no_tensor && uses_.last_read[id] >= static_cast<int>(end);
  }

  void replace(const Sequence& sequence) {
    const auto body = static_cast<std::int32_t>(graph_.graphs.size());
    const std::size_t first = sequence.begins[0];
    // Which outputs are needed behind any of the occurrences.
    std::vector<std::pair<std::size_t, std::size_t>> outputs;  // node in the sequence, number
    for (std::size_t n = 0; n < sequence.length; ++n) {
      const Node& node = graph_.nodes[first + n];
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const bool needed =
            std::any_of(sequence.begins.begin(), sequence.begins.end(), [&](std::size_t begin) {
              return is_needed(graph_.nodes[begin + n].outputs[o], begin + sequence.length);
            });
        if (needed) outputs.emplace_back(n, o);
      }
    }
    graph_.graphs.push_back(made_body(sequence, outputs));
    Vector<Node> nodes;
    std::size_t next = 0;
    for (std::size_t n = 0; n < graph_.nodes.size();) {
      if (next < sequence.begins.size() && n == sequence.begins[next]) {
        nodes.push_back(call_of(n, sequence.length, outputs, body));
        n += sequence.length;
        ++next;
        continue;
      }
      nodes.push_back(std::move(graph_.nodes[n++]));
    }
    graph_.nodes = std::move(nodes);
  }

  std::vector<TensorId> outside_of(std::size_t begin, std::size_t length) const {
    std::vector<TensorId> ids;
    TensorMap<bool> seen(graph_, false);
    for (std::size_t n = begin; n < begin + length; ++n) {
      for (const TensorId id : graph_.nodes[n].inputs) {
        if (id == no_tensor || seen[id] || is_part_of_body(id)) continue;
        seen[id] = true;
        ids.push_back(id);
      }
      for (const TensorId id : graph_.nodes[n].outputs) {
        if (id != no_tensor) seen[id] = true;
      }
    }
    return ids;
  }

  Graph made_body(const Sequence& sequence,
                  const std::vector<std::pair<std::size_t, std::size_t>>& outputs) const {
    const std::size_t begin = sequence.begins[0];
    Graph body;
    body.replicas = graph_.replicas;
    TensorMap<TensorId> id_of(graph_, no_tensor);
    for (const TensorId id : outside_of(begin, sequence.length)) {
      id_of[id] = body.add_input(graph_.info(id), graph_.name(id));
    }
    for (std::size_t n = begin; n < begin + sequence.length; ++n) {
      Node node = graph_.nodes[n];
      node.name = {};
      for (TensorId& id : node.inputs) {
        if (id == no_tensor) continue;
        if (id_of[id] == no_tensor) {
          id_of[id] = body.add_constant(graph_.info(id), graph_.tensor(id).data);
        }
        id = id_of[id];
      }
      for (TensorId& id : node.outputs) {
        if (id == no_tensor) continue;
        id = id_of[id] = body.add_tensor({.info = graph_.info(id)}, graph_.name(id));
      }
      if (!graph_.name(graph_.nodes[n]).empty()) {
        body.rename(node, graph_.name(graph_.nodes[n]));
      }
      body.nodes.push_back(std::move(node));
    }
    for (const auto& [n, o] : outputs) {
      body.add_output(id_of[graph_.nodes[begin + n].outputs[o]]);
    }
    return body;
  }

  Node call_of(std::size_t begin, std::size_t length,
               const std::vector<std::pair<std::size_t, std::size_t>>& outputs,
               std::int32_t body) const {
    Node call{.op = &descriptor<op::Call>,
              .attributes = pack(op::Call{.callee = {body}}),
              .place = graph_.nodes[begin].place};
    for (const TensorId id : outside_of(begin, length)) call.inputs.push_back(id);
    for (const auto& [n, o] : outputs) call.outputs.push_back(graph_.nodes[begin + n].outputs[o]);
    return call;
  }

  Graph graph_;
  OutlineOptions options_;
  Uses uses_{Graph{}};
  std::vector<int> symbols_;
};

}  // namespace

Graph outline(Graph graph, const OutlineOptions& options) {
  return Outliner(std::move(graph), options).run();
}

}  // namespace halftone
