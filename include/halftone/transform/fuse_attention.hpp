#pragma once

#include <algorithm>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Finds what exporters write for attention: softmax(mask(scale (q k'))) v and the transposes around;
/// where it is trained, the gradients that the operators record for it as well.
class AttentionFusion {
 public:
  constexpr explicit AttentionFusion(Graph& graph)
      : graph_(graph),
        uses_(graph),
        aliases_(graph),
        loaded_(graph, no_tensor),
        original_(graph, no_tensor) {
    find_loads();
  }

  /// Fuses what is around a softmax; leaves the graph alone where that is no attention.
  constexpr void fuse(std::size_t softmax) {
    attention_ = {};
    gradient_ = {};
    chosen_ = bias_ = words_ = kept_ = no_tensor;
    merged_.clear();
    chain_.clear();
    place_ = graph_.nodes[softmax].place;
    const TensorId scores = graph_.nodes[softmax].inputs[0];
    const TensorInfo info = graph_.info(scores);
    if (info.type != ElementType::float32 || !info.is_static()) return;
    rank_ = info.rank();
    if (rank_ != 3 && rank_ != 4) return;
    const auto axis = unpack<op::Softmax>(graph_.nodes[softmax].attributes).axis;
    if (normalized_axis(axis, rank_) != rank_ - 1 || info.elements() == 0) return;
    if (!take(static_cast<int>(softmax))) return;

    const int first = find_products(scores);
    if (first == no_node) return;
    probabilities_ = dropped_ = graph_.nodes[softmax].outputs[0];
    if (!take_dropout()) return;
    weights_ = dropped_;
    if (is_grouped_) {
      const int regrouped = reader(weights_, op::Reshape::id, 0);
      if (regrouped == no_node || !take(regrouped)) return;
      weights_ = output_of(regrouped);
    }
    const int last = reader(weights_, op::MatMul::id, 0);
    if (last == no_node || !take(last)) return;

    query_ = graph_.nodes[index(first)].inputs[0];
    key_ = graph_.nodes[index(first)].inputs[1];
    value_ = graph_.nodes[index(last)].inputs[1];
    TensorId query = query_, key = key_, value = value_;
    if (is_grouped_) {
      const int grouped = uses_.producer[query];
      if (grouped == no_node || !is_a(op::Reshape::id, grouped)) return;
      query = graph_.nodes[index(grouped)].inputs[0];
    }
    if (!fits(query, key, value, info)) return;
    attention_.query_perm = absorbed(query);
    attention_.key_perm = absorbed(key);
    std::swap(attention_.key_perm[rank_ - 1], attention_.key_perm[rank_ - 2]);
    attention_.value_perm = absorbed(value);
    for (const TensorId id : {query, key, value, chosen_, bias_, words_}) {
      // They are read later than before.
      if (id != no_tensor && aliases_.is_modified(id)) return;
    }

    int end = last;
    TensorId y = output_of(last);
    if (is_grouped_) {
      end = uses_.only_reader(y);
      if (end == no_node || !take_as(op::Reshape::id, end)) return;
      y = output_of(end);
      Dims expected = info.shape;
      expected[rank_ - 1] = graph_.info(value_).shape[rank_ - 1];
      if (graph_.info(y).shape != expected) return;
    }
    if (!is_read_by_products_alone() && !find_gradient(graph_.info(y).shape)) return;
    attention_.output_perm = identity();
    const int transpose = uses_.only_reader(y);
    if (transpose != no_node && is_a(op::Transpose::id, transpose) &&
        may_share_kernel(graph_.nodes[index(transpose)].place, place_)) {
      const Dims perm = perm_of(transpose);
      if (perm[rank_ - 1] == last_dimension()) {
        attention_.output_perm = perm;
        merged_.push_back(transpose);
        end = transpose;
      }
    }
    replace(index(end), query, key, value);
    if (gradient_.at != no_node) replace_gradient();
  }

  /// Drops what was merged, and has loads of operands before the gradients that read them.
  constexpr void finish() {
    Vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    NodeMap<bool> is_early(graph_, false);
    for (const EarlyLoad& early : early_loads_) is_early[index(early.load)] = true;
    std::sort(early_loads_.begin(), early_loads_.end(),
              [](const EarlyLoad& a, const EarlyLoad& b) { return a.before < b.before; });
    std::size_t next = 0;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (; next < early_loads_.size() && index(early_loads_[next].before) == n; ++next) {
        nodes.push_back(std::move(graph_.nodes[index(early_loads_[next].load)]));
      }
      if (graph_.nodes[n].op != nullptr && !is_early[n]) {
        nodes.push_back(std::move(graph_.nodes[n]));
      }
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  static constexpr std::size_t index(int node) { return static_cast<std::size_t>(node); }
  constexpr std::int64_t last_dimension() const { return static_cast<std::int64_t>(rank_) - 1; }

  constexpr bool is_a(const OpId& id, int node) const {
    return graph_.nodes[index(node)].op != nullptr && graph_.nodes[index(node)].op->id == id;
  }
  constexpr bool take(int node) {
    if (!may_share_kernel(graph_.nodes[index(node)].place, place_)) return false;
    merged_.push_back(node);
    return true;
  }
  constexpr bool take_as(const OpId& id, int node) { return is_a(id, node) && take(node); }
  constexpr TensorId output_of(int node) const { return graph_.nodes[index(node)].outputs[0]; }

  /// From the softmax back to the product of queries and keys: masks, then factors.
  constexpr int find_products(TensorId t) {
    bool has_factor = false;
    is_grouped_ = false;
    const TensorInfo info = graph_.info(t);
    for (;;) {
      const int at = uses_.producer[t];
      if (at == no_node || uses_.only_reader(t) == no_node || !take(at)) return no_node;
      const Node& node = graph_.nodes[index(at)];
      if (node.op == nullptr) return no_node;
      if (node.op->id == op::MatMul::id) return at;
      chain_.push_back(at);
      if (is_grouped_) return no_node;
      float value = 0;
      if (node.op->id == op::Reshape::id) {
        is_grouped_ = true;
        t = node.inputs[0];
      } else if (node.op->id == op::Mul::id || node.op->id == op::Div::id) {
        const bool is_div = node.op->id == op::Div::id;
        const std::size_t scores = scalar_value(graph_, node.inputs[1], value) ? 0 : 1;
        if (scores == 1 && (is_div || !scalar_value(graph_, node.inputs[0], value))) return no_node;
        attention_.scale *= is_div ? 1 / value : value;
        has_factor = true;
        t = node.inputs[scores];
      } else if (node.op->id == op::Add::id && !has_factor && bias_ == no_tensor) {
        const auto computes = [&](TensorId id) { return graph_.info(id) == info && leads(id); };
        const std::size_t scores = computes(node.inputs[0]) ? 0 : 1;
        if (!computes(node.inputs[scores])) return no_node;
        bias_ = node.inputs[1 - scores];
        attention_.bias_first = chosen_ != no_tensor;
        t = node.inputs[scores];
      } else if (node.op->id == op::Where::id && !has_factor && chosen_ == no_tensor) {
        attention_.fills_chosen = scalar_value(graph_, node.inputs[1], attention_.fill);
        if (!attention_.fills_chosen && !scalar_value(graph_, node.inputs[2], attention_.fill)) {
          return no_node;
        }
        chosen_ = node.inputs[0];
        t = node.inputs[attention_.fills_chosen ? 2 : 1];
      } else {
        return no_node;
      }
      if (graph_.info(t) != info && !is_grouped_) return no_node;
    }
  }
  /// Whether a tensor comes, through masks and factors, from a product.
  constexpr bool leads(TensorId t) const {
    for (int steps = 0; steps < 8; ++steps) {
      const int at = uses_.producer[t];
      if (at == no_node || uses_.only_reader(t) == no_node) return false;
      const Node& node = graph_.nodes[index(at)];
      if (node.op == nullptr) return false;
      float value = 0;
      if (node.op->id == op::MatMul::id) return true;
      if (node.op->id == op::Reshape::id || node.op->id == op::Div::id) {
        t = node.inputs[0];
      } else if (node.op->id == op::Mul::id) {
        t = node.inputs[scalar_value(graph_, node.inputs[1], value) ? 0 : 1];
      } else if (node.op->id == op::Where::id) {
        t = node.inputs[scalar_value(graph_, node.inputs[1], value) ? 2 : 1];
      } else {
        return false;
      }
    }
    return false;
  }

  /// The Dropout behind the softmax, if there is one; false if it is none that the operator has.
  constexpr bool take_dropout() {
    const int at = reader(probabilities_, op::Dropout::id, 0);
    if (at == no_node) return true;
    const Node& node = graph_.nodes[index(at)];
    float ratio = unpack<op::Dropout>(node.attributes).ratio.value_or(0.5f);
    if (has_input(node, 1) && !scalar_value(graph_, node.inputs[1], ratio)) return false;
    if (!has_input(node, 2) || !has_input(node, 3) || !take(at)) return false;
    const TensorRecord& mode = graph_.tensor(node.inputs[2]);
    if (mode.role != Role::constant || mode.data.size() == 0) return false;
    if (mode.data.span()[0] == std::byte{0}) return false;
    attention_.drop_ratio = ratio;
    words_ = node.inputs[3];
    dropped_ = node.outputs[0];
    if (node.outputs.size() > 1) kept_ = node.outputs[1];
    return true;
  }

  /// Whether shapes are those of the operator: batches alike, one head of keys for some of queries.
  constexpr bool fits(TensorId query, TensorId key, TensorId value,
                      const TensorInfo& scores) const {
    const TensorInfo q = graph_.info(query), k = graph_.info(key), v = graph_.info(value);
    for (const TensorInfo& t : {q, k, v}) {
      if (t.rank() != rank_ || !t.is_static() || t.elements() == 0) return false;
    }
    const std::size_t heads = rank_ - 3;
    if (rank_ == 4 && (q.shape[0] != k.shape[0] || q.shape[0] != v.shape[0])) return false;
    const std::int64_t shared = q.shape[heads] / k.shape[heads];
    const bool divide = q.shape[heads] == shared * k.shape[heads] && (is_grouped_ || shared == 1);
    if (!divide || k.shape[heads] != v.shape[heads]) return false;
    Dims expected = q.shape;
    expected[rank_ - 1] = k.shape[rank_ - 1];
    if (expected != scores.shape || v.shape[rank_ - 2] != k.shape[rank_ - 1]) return false;
    if (is_grouped_ && rank_ != 4) return false;
    if (chosen_ != no_tensor && graph_.info(chosen_).rank() > rank_) return false;
    return bias_ == no_tensor || graph_.info(bias_).rank() <= rank_;
  }

  constexpr Dims identity() const {
    Dims perm;
    for (std::size_t i = 0; i < rank_; ++i) perm.push_back(static_cast<std::int64_t>(i));
    return perm;
  }
  constexpr Dims perm_of(int node) const {
    const auto transpose = unpack<op::Transpose>(graph_.nodes[index(node)].attributes);
    if (!transpose.perm.empty()) return transpose.perm;
    Dims perm = identity();
    for (std::size_t i = 0; i < rank_; ++i)
      perm[i] = last_dimension() - static_cast<std::int64_t>(i);
    return perm;
  }
  /// The permutation by which an operand is read: transposes in front of it are skipped, where there is
  /// a gradient with those that turn it back.
  constexpr Dims absorbed(TensorId& t, TensorId* gradient = nullptr) const {
    Dims perm = identity();
    for (;;) {
      const int at = uses_.producer[t];
      if (at == no_node || !is_a(op::Transpose::id, at)) return perm;
      if (aliases_.is_modified(input_of(at, 0))) return perm;  // it is read later than before
      const Dims outer = perm_of(at);
      if (gradient != nullptr && *gradient != no_tensor) {
        const int back = uses_.only_reader(*gradient);
        if (back == no_node || !is_a(op::Transpose::id, back)) return perm;
        if (chained(outer, perm_of(back)) != identity()) return perm;
        *gradient = output_of(back);
      }
      perm = chained(outer, perm);
      t = graph_.nodes[index(at)].inputs[0];
    }
  }
  /// The permutation that transposes by one and then by another.
  static constexpr Dims chained(const Dims& first, const Dims& second) {
    Dims all;
    for (const std::int64_t from : second) all.push_back(first[static_cast<std::size_t>(from)]);
    return all;
  }

  // --- gradients ---------------------------------------------------------------------------------------

  /// A value that is stored in a remote buffer, and the tensor it is loaded as.
  struct Stored {
    std::int64_t buffer = 0;
    int store = no_node, load = no_node;
    bool is_one = true;  ///< with one store and one load
  };
  /// A load that has to come before a node.
  struct EarlyLoad {
    int load, before;
  };
  /// What the gradient of an attention reads and makes; no_node: nothing was found.
  struct Found {
    int at = no_node;
    TensorId query = no_tensor, key = no_tensor, value = no_tensor;
    TensorId chosen = no_tensor, dy = no_tensor;
    TensorId dquery = no_tensor, dkey = no_tensor, dvalue = no_tensor;
  };

  constexpr void find_loads() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const bool is_store = node.op->id == op::RemoteStore::id;
      if ((!is_store && node.op->id != op::RemoteLoad::id) || node.inputs.size() > 2) continue;
      const std::int64_t buffer = is_store ? unpack<op::RemoteStore>(node.attributes).buffer_id
                                           : unpack<op::RemoteLoad>(node.attributes).buffer_id;
      std::size_t i = 0;
      while (i < stored_.size() && stored_[i].buffer != buffer) ++i;
      if (i == stored_.size()) stored_.push_back({.buffer = buffer});
      int& place = is_store ? stored_[i].store : stored_[i].load;
      stored_[i].is_one = stored_[i].is_one && place == no_node;
      place = static_cast<int>(n);
    }
    for (const Stored& stored : stored_) {
      if (!stored.is_one || stored.store == no_node || stored.load == no_node) continue;
      const TensorId value = graph_.nodes[index(stored.store)].inputs[0];
      const TensorId load = output_of(stored.load);
      if (stored.store > stored.load || aliases_.is_modified(value)) continue;
      loaded_[value] = load;
      original_[load] = value;
    }
  }
  /// Whether a tensor is another one, or what was stored of it.
  constexpr bool is_same(TensorId t, TensorId as) const {
    return t == as || (t != no_tensor && original_[t] == as);
  }
  /// How often a tensor and what is loaded of it are read, but for its store.
  constexpr int reads(TensorId t) const {
    const TensorId load = loaded_[t];
    return uses_.count[t] + (load == no_tensor ? 0 : uses_.count[load] - 1);
  }
  /// The only node of an operator that reads a tensor at that place; no_node: there are none or several.
  constexpr int reader(TensorId t, const OpId& id, std::size_t place) const {
    int found = no_node;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op == nullptr || node.op->id != id || !is_same(node.inputs[place], t)) continue;
      if (found != no_node) return no_node;
      found = static_cast<int>(n);
    }
    return found;
  }
  constexpr TensorId input_of(int node, std::size_t i) const {
    return graph_.nodes[index(node)].inputs[i];
  }
  /// What a tensor is the transpose of, its last two dimensions exchanged; no_tensor: of nothing.
  constexpr TensorId turned(TensorId t) const {
    const int at = uses_.producer[t];
    if (at == no_node || !is_a(op::Transpose::id, at)) return no_tensor;
    Dims expected = identity();
    std::swap(expected[rank_ - 1], expected[rank_ - 2]);
    return perm_of(at) == expected ? input_of(at, 0) : no_tensor;
  }
  /// The only node that reads a tensor if it is of an operator.
  constexpr int only_reader(TensorId t, const OpId& id) const {
    const int at = uses_.only_reader(t);
    return at != no_node && is_a(id, at) ? at : no_node;
  }

  /// Finds what reads the probabilities besides the product with the values, where all of it is the
  /// gradient of this attention.
  constexpr bool find_gradient(const Dims& y_shape) {
    Found found;
    // From the gradient of the softmax, p dp - p sum(p dp), to that of its scores.
    int weighted = no_node, taken = no_node;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op == nullptr || node.op->id != op::Mul::id) continue;
      if (!is_same(node.inputs[0], probabilities_) && !is_same(node.inputs[1], probabilities_)) {
        continue;
      }
      const int maker = uses_.producer[other_factor(static_cast<int>(n))];
      int& which = maker != no_node && is_a(op::ReduceSum::id, maker) ? taken : weighted;
      if (which != no_node) return false;
      which = static_cast<int>(n);
    }
    if (weighted == no_node || taken == no_node) return false;
    const TensorId product = output_of(weighted), mean = other_factor(taken);
    const int sum = uses_.producer[mean];
    Dims rows = graph_.info(probabilities_).shape;
    rows[rank_ - 1] = 1;
    if (input_of(sum, 0) != product || graph_.info(mean).shape != rows) return false;
    const int difference = only_reader(output_of(taken), op::Sub::id);
    if (uses_.only_reader(mean) != taken || difference == no_node) return false;
    if (input_of(difference, 0) != product || uses_.count[product] != 2) return false;

    // Back to the gradient of y, and on to that of the values.
    TensorId dweights = other_factor(weighted);
    if (uses_.only_reader(dweights) != weighted) return false;
    const bool has_dropout = words_ != no_tensor;
    if (has_dropout && !find_kept(dweights)) return false;
    if (is_grouped_) {
      const int regrouped = uses_.producer[dweights];
      if (regrouped == no_node || !is_a(op::Reshape::id, regrouped)) return false;
      dweights = input_of(regrouped, 0);
      if (uses_.only_reader(dweights) != regrouped) return false;
    }
    found.at = uses_.producer[dweights];
    if (found.at == no_node || !is_a(op::MatMul::id, found.at)) return false;
    if (graph_.nodes[index(found.at)].place.part != Part::backward) return false;
    found.dy = input_of(found.at, 0);
    found.value = turned(input_of(found.at, 1));
    if (!is_same(found.value, value_)) return false;
    const int across = reader(weights_, op::Transpose::id, 0);
    if (across != no_node) {
      const int product_of_values = only_reader(output_of(across), op::MatMul::id);
      if (product_of_values == no_node || !is_same(turned(output_of(across)), weights_))
        return false;
      if (input_of(product_of_values, 0) != output_of(across)) return false;
      if (input_of(product_of_values, 1) != found.dy) return false;
      found.dvalue = output_of(product_of_values);
    }
    const int of_values = across != no_node ? 2 : 1;
    const bool are_apart = is_grouped_ || has_dropout;  // the weights and what the softmax gives
    if (reads(probabilities_) != (are_apart ? 3 : 2 + of_values)) return false;
    if (are_apart && reads(weights_) != of_values) return false;
    if (has_dropout && is_grouped_ && reads(dropped_) != 1) return false;

    // Through masks and factors.
    TensorId ds = output_of(difference);
    found.chosen = chosen_;
    for (const int n : chain_) {
      const Node& forward = graph_.nodes[index(n)];
      if (forward.op->id == op::Add::id) continue;
      const int back = only_reader(ds, forward.op->id);
      if (back == no_node || !passes(forward, graph_.nodes[index(back)], ds, found.chosen)) {
        return false;
      }
      ds = output_of(back);
    }

    // To those of queries and keys.
    const int of_query = reader(ds, op::MatMul::id, 0), of_key = reader(ds, op::MatMul::id, 1);
    if (uses_.count[ds] != (of_query != no_node ? 1 : 0) + (of_key != no_node ? 1 : 0))
      return false;
    found.query = query_;
    found.key = key_;
    if (of_query != no_node) {
      found.dquery = output_of(of_query);
      found.key = turned(input_of(of_query, 1));
    }
    if (of_key != no_node) {
      found.dkey = output_of(of_key);
      found.query = turned(input_of(of_key, 0));
    }
    if (!is_same(found.query, query_) || !is_same(found.key, key_)) return false;
    if (is_grouped_) {
      const int regrouped = uses_.producer[found.dy];
      if (regrouped == no_node || !is_a(op::Reshape::id, regrouped)) return false;
      found.dy = input_of(regrouped, 0);
      if (graph_.info(found.dy).shape != y_shape) return false;
      found.query = input_of(uses_.producer[query_], 0);
      if (found.dquery != no_tensor) {
        const int back = only_reader(found.dquery, op::Reshape::id);
        if (back == no_node) return false;
        found.dquery = output_of(back);
        if (graph_.info(found.dquery).shape != graph_.info(found.query).shape) return false;
      }
    }
    gradient_ = found;
    return true;
  }
  /// From the gradient in front of the Dropout to that of what it gives; false: something else is read.
  constexpr bool find_kept(TensorId& t) const {
    const int choice = uses_.producer[t];
    if (choice == no_node || !is_a(op::Where::id, choice)) return false;
    if (!is_same(input_of(choice, 0), kept_) || reads(kept_) != 1) return false;
    float value = 0;
    if (!scalar_value(graph_, input_of(choice, 2), value) || value != 0) return false;
    const TensorId scaled = input_of(choice, 1);
    const int scale = uses_.producer[scaled];
    if (scale == no_node || uses_.only_reader(scaled) != choice) return false;
    const bool is_div = is_a(op::Div::id, scale);
    if (!is_div && !is_a(op::Mul::id, scale)) return false;
    const float share = 1 - attention_.drop_ratio;
    if (!scalar_value(graph_, input_of(scale, 1), value)) return false;
    if (value != (is_div ? share : 1 / share)) return false;
    t = input_of(scale, 0);
    return uses_.only_reader(t) == scale;
  }
  /// The factor of a product that is not the probabilities.
  constexpr TensorId other_factor(int node) const {
    return input_of(node, is_same(input_of(node, 0), probabilities_) ? 1 : 0);
  }
  /// Whether a node is the gradient of a mask, a factor or a reshape in front of the softmax.
  constexpr bool passes(const Node& forward, const Node& back, TensorId ds,
                        TensorId& chosen) const {
    const OpId& id = forward.op->id;
    if (id == op::Reshape::id) return true;
    float a = 0, b = 0;
    if (id == op::Where::id) {
      const std::size_t filled = attention_.fills_chosen ? 1 : 2;
      if (back.inputs[3 - filled] != ds || !is_same(back.inputs[0], chosen_)) return false;
      chosen = back.inputs[0];
      return scalar_value(graph_, back.inputs[filled], a) && a == 0;
    }
    const auto factor = [&](const Node& node, float& value) {
      return scalar_value(graph_, node.inputs[1], value) ||
             (id == op::Mul::id && scalar_value(graph_, node.inputs[0], value));
    };
    return (id == op::Mul::id || back.inputs[0] == ds) && factor(forward, a) && factor(back, b) &&
           a == b;
  }
  /// Whether nothing but products with values reads the probabilities.
  constexpr bool is_read_by_products_alone() const {
    return uses_.count[probabilities_] == 1 && uses_.count[dropped_] == 1 &&
           uses_.count[weights_] == 1 && (kept_ == no_tensor || uses_.count[kept_] == 0);
  }

  constexpr void load_before(int load, int node) {
    for (EarlyLoad& early : early_loads_) {
      if (early.load != load) continue;
      early.before = node < early.before ? node : early.before;
      return;
    }
    early_loads_.push_back({load, node});
  }
  /// Puts the gradient where its first product is. What lies between has no readers any more.
  constexpr void replace_gradient() {
    op::FusedAttentionGradient gradient;
    static_cast<AttentionOperands&>(gradient) = attention_;
    gradient.query_perm = absorbed(gradient_.query, &gradient_.dquery);
    gradient.key_perm = absorbed(gradient_.key, &gradient_.dkey);
    std::swap(gradient.key_perm[rank_ - 1], gradient.key_perm[rank_ - 2]);
    gradient.value_perm = absorbed(gradient_.value, &gradient_.dvalue);
    const Dims of_dy = absorbed(gradient_.dy);
    for (std::size_t i = 0; i < rank_; ++i) {
      gradient.output_perm[static_cast<std::size_t>(of_dy[i])] = static_cast<std::int64_t>(i);
    }
    for (const TensorId id : {gradient_.dquery, gradient_.dkey, gradient_.dvalue}) {
      if (id != no_tensor) graph_.nodes[index(uses_.producer[id])].op = nullptr;
    }
    for (const TensorId id : {probabilities_, dropped_, weights_, kept_}) {
      if (id == no_tensor || loaded_[id] == no_tensor) continue;
      for (const Stored& stored : stored_) {
        if (graph_.nodes[index(stored.load)].outputs[0] != loaded_[id]) continue;
        graph_.nodes[index(stored.store)].op = graph_.nodes[index(stored.load)].op = nullptr;
      }
    }
    Node& node = graph_.nodes[index(gradient_.at)];
    for (const TensorId id : {gradient_.query, gradient_.key, gradient_.value, gradient_.chosen}) {
      const int maker = id == no_tensor ? no_node : uses_.producer[id];
      if (maker <= gradient_.at) continue;
      graph_.nodes[index(maker)].place = node.place;
      load_before(maker, gradient_.at);
    }
    node.op = &descriptor<op::FusedAttentionGradient>;
    node.attributes = pack(gradient);
    node.inputs = {gradient_.query,  gradient_.key, gradient_.value, gradient_.dy,
                   gradient_.chosen, bias_,         words_};
    while (node.inputs.back() == no_tensor) node.inputs.pop_back();
    node.outputs = {gradient_.dquery, gradient_.dkey, gradient_.dvalue};
    while (node.outputs.back() == no_tensor) node.outputs.pop_back();
  }

  constexpr void replace(std::size_t at, TensorId query, TensorId key, TensorId value) {
    Node& node = graph_.nodes[at];
    for (const int n : merged_) {
      if (node.name.empty()) node.name = graph_.nodes[index(n)].name;
    }
    for (const int n : merged_) {
      if (index(n) != at) graph_.nodes[index(n)].op = nullptr;
    }
    node.op = &descriptor<op::FusedAttention>;
    node.attributes = pack(attention_);
    node.inputs = {query, key, value, chosen_, bias_, words_};
    while (node.inputs.back() == no_tensor) node.inputs.pop_back();
  }

  Graph& graph_;
  Uses uses_;
  Aliases aliases_;
  std::size_t rank_ = 0;
  bool is_grouped_ = false;  ///< query heads that share a key's head are queries of one head
  op::FusedAttention attention_{};
  TensorId chosen_ = no_tensor, bias_ = no_tensor;
  TensorId words_ = no_tensor, kept_ = no_tensor;  ///< of the Dropout: its seed and its mask
  /// As the products read them, and the softmax behind the scores, then with the Dropout, and regrouped
  /// if heads are.
  TensorId query_ = no_tensor, key_ = no_tensor, value_ = no_tensor;
  TensorId probabilities_ = no_tensor, dropped_ = no_tensor, weights_ = no_tensor;
  Vector<int> merged_, chain_;  ///< the latter from the softmax to the first product
  Place place_{};
  Found gradient_{};
  Vector<Stored> stored_;
  TensorMap<TensorId> loaded_, original_;
  Vector<EarlyLoad> early_loads_;
};

}  // namespace detail

/// Softmax over products of queries and keys, and the product with the values behind it, become one
/// FusedAttention with the scale, the masks, a Dropout of the softmax and the transposes around, where
/// nothing else reads the values between. Float only. All infos must be known, and seeds placed.
///
/// In a graph that is trained their gradients become one FusedAttentionGradient, unless a mask is
/// trained, too. What remote buffers keep of them stays out of the way. A graph in which nodes are
/// computed again stays as it is: their copies would be other operators.
constexpr Graph fuse_attention(Graph graph) {
  bool may_have_one = false;
  for (const Node& node : graph.nodes) {
    if (is_recomputed(node.place)) return graph;
    if (node.op->id != op::Softmax::id) continue;
    may_have_one = may_have_one || graph.info(node.inputs[0]).rank() > 2;
  }
  if (!may_have_one) return graph;
  detail::AttentionFusion fusion(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != nullptr && graph.nodes[n].op->id == op::Softmax::id) fusion.fuse(n);
  }
  fusion.finish();
  return without_dead_code(std::move(graph));
}

}  // namespace halftone
