#include <halftone/transform/serialize_batch.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

/// The axis of a result along which it consists of rows that were computed by themselves.
using RowAxis = std::optional<std::size_t>;

/// A tensor whose rows are apart from each other.
struct Rows {
  std::size_t axis = 0;
  std::vector<TensorId> parts{};  ///< empty: they are not there yet
};

/// The nodes that one Scan computes part by part, as the graph has them.
class ScannedNodes {
 public:
  ScannedNodes(Graph& graph, std::int64_t factor) : graph_(graph), factor_(factor) {
    body_.replicas = graph.replicas;
  }

  /// Hands a tensor of the graph in, whole or, if it has rows along `axis`, part by part.
  void take(TensorId id, RowAxis axis) {
    if (id == no_tensor || find(id) != no_tensor) return;
    TensorInfo info = graph_.info(id);
    if (const TensorRecord& t = graph_.tensor(id); t.role == Role::constant) {
      known_.emplace_back(id, body_.add_constant(info, t.data));
      return;
    }
    if (axis.has_value()) {
      info.shape[*axis] /= factor_;
      scanned_.push_back(id);
      scanned_axes_.push_back(*axis);
    } else {
      states_.push_back(id);
    }
    known_.emplace_back(id, body_.add_tensor({.info = info, .role = Role::input}, {}));
  }
  void add(const Node& node, std::size_t axis, bool is_reshape) {
    TensorInfo info = graph_.info(node.outputs[0]);
    info.shape[axis] /= factor_;
    TensorId y = no_tensor;
    if (is_reshape) {
      const AnyTensor x{&body_, find(node.inputs[0])};
      y = op::reshape(x, constant(body_, info.shape)).id;
    } else {
      Node copy = node;
      for (TensorId& id : copy.inputs) id = find(id);
      y = body_.add_tensor({.info = info}, {});
      copy.outputs = {y};
      copy.name = {};
      if (!graph_.name(node).empty()) body_.rename(copy, graph_.name(node));
      body_.nodes.push_back(std::move(copy));
    }
    known_.emplace_back(node.outputs[0], y);
  }
  void give(TensorId id, std::size_t axis) {
    given_.push_back(id);
    given_axes_.push_back(static_cast<std::int64_t>(axis));
  }
  /// Whether a Scan, and that of its gradient, can have so many inputs and outputs.
  bool fits() const { return scanned_.size() + given_.size() <= op::ScanList::capacity(); }

  /// Appends the Scan to the graph.
  void record() {
    op::Scan scan{.num_scan_inputs = static_cast<std::int64_t>(scanned_.size())};
    Vector<TensorId> inputs(states_.begin(), states_.end());
    Vector<TensorInfo> infos;
    for (const TensorId id : states_) {
      body_.inputs.push_back(find(id));
      body_.outputs.push_back(find(id));
      infos.push_back(graph_.info(id));
    }
    for (std::size_t i = 0; i < scanned_.size(); ++i) {
      scan.scan_input_axes.push_back(static_cast<std::int64_t>(scanned_axes_[i]));
      body_.inputs.push_back(find(scanned_[i]));
      const AnyTensor x{&graph_, scanned_[i]};
      inputs.push_back(
          op::reshape(x, constant(graph_, divided(graph_.info(x.id), scanned_axes_[i]).shape)).id);
    }
    for (std::size_t i = 0; i < given_.size(); ++i) {
      scan.scan_output_axes.push_back(given_axes_[i]);
      body_.outputs.push_back(find(given_[i]));
      infos.push_back(divided(graph_.info(given_[i]), static_cast<std::size_t>(given_axes_[i])));
    }
    graph_.graphs.push_back(std::move(body_));
    scan.body = {static_cast<std::int32_t>(graph_.graphs.size()) - 1};
    const std::size_t node =
        graph_.add_node(descriptor<op::Scan>, pack(scan), std::move(inputs), infos);
    Vector<TensorId> outputs = graph_.nodes[node].outputs;
    // Nobody wants the states, which stay as they are.
    std::fill_n(graph_.nodes[node].outputs.begin(), states_.size(), no_tensor);
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const AnyTensor y{&graph_, outputs[states_.size() + i]};
      op::reshape(y, constant(graph_, Dims(graph_.info(given_[i]).shape)));
      graph_.nodes.back().outputs[0] = given_[i];
    }
  }

 private:
  TensorId find(TensorId id) const {
    const auto at = std::find_if(known_.begin(), known_.end(),
                                 [&](const auto& known) { return known.first == id; });
    return at == known_.end() ? no_tensor : at->second;
  }
  /// [.., rows, ..] as [.., parts, rows of a part, ..]
  TensorInfo divided(TensorInfo info, std::size_t axis) const {
    info.shape[axis] /= factor_;
    info.shape.insert(axis, factor_);
    return info;
  }

  Graph& graph_;
  const std::int64_t factor_;
  Graph body_;
  std::vector<std::pair<TensorId, TensorId>> known_;  ///< in the graph and in the body
  std::vector<TensorId> states_, scanned_, given_;
  std::vector<std::size_t> scanned_axes_;
  std::vector<std::int64_t> given_axes_;
};

class Serializer {
 public:
  Serializer(Graph graph, std::int64_t factor, BatchMethod method)
      : graph_(std::move(graph)),
        factor_(factor),
        method_(method),
        number_(graph_, none),
        uses_(graph_) {}

  Graph run() {
    find_inputs();
    Vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      Node& node = nodes[n];
      const PlaceScope there(graph_, node.place);
      const RowAxis axis = row_axis(node);
      if (method_ == BatchMethod::loop) {
        if (ends_loop(node, axis)) scan_waiting();
        if (axis.has_value()) {
          add(node.outputs[0], *axis);
          waiting_.push_back({static_cast<int>(n), *axis, std::move(node)});
          continue;
        }
      }
      if (axis.has_value()) {
        repeat(node, *axis);
      } else {
        keep(std::move(node));
      }
    }
    scan_waiting();
    return std::move(graph_);
  }

 private:
  static constexpr int none = -1;

  void find_inputs() {
    std::optional<std::int64_t> batch;
    for (const TensorId id : graph_.inputs) {
      const TensorInfo& info = graph_.info(id);
      if (!info.is_known() || info.rank() == 0) continue;
      if (!batch.has_value()) check_batch(id, *(batch = info.shape[0]));
      if (info.is_static() && info.shape[0] == *batch) add(id, 0);
    }
    if (batch.has_value()) return;
    fail(ErrorKind::usage, {.what = "a model without inputs has no batch to compute in parts"});
  }
  void check_batch(TensorId id, std::int64_t batch) const {
    const auto refuse = [&](std::string_view what) {
      fail(ErrorKind::usage, {.what = what,
                              .tensor = graph_.name(id),
                              .expected = "a multiple of " + std::to_string(factor_),
                              .found = detail::to_text(graph_.info(id))});
    };
    if (batch == dynamic) refuse("a batch that is computed in parts has to be known");
    if (batch < factor_) refuse("the batch is shorter than the batch serialization factor");
    if (batch % factor_ != 0) refuse("the batch serialization factor does not divide the batch");
  }

  void add(TensorId id, std::size_t axis, std::vector<TensorId> parts = {}) {
    number_[id] = static_cast<int>(rows_.size());
    rows_.push_back({axis, std::move(parts)});
  }
  const Rows* rows(TensorId id) const {
    if (id == no_tensor || number_[id] == none) return nullptr;
    return &rows_[static_cast<std::size_t>(number_[id])];
  }
  const Rows* input_rows(const Node& node, std::size_t i) const {
    return i < node.inputs.size() ? rows(node.inputs[i]) : nullptr;
  }

  // --- which nodes treat rows alone -------------------------------------------------------------

  RowAxis row_axis(const Node& node) const {
    std::size_t given = 0, outputs = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) given += input_rows(node, i) != nullptr;
    for (const TensorId id : node.outputs) outputs += id != no_tensor;
    if (given == 0 || outputs != 1 || node.outputs[0] == no_tensor) return {};
    const TensorInfo& y = graph_.info(node.outputs[0]);
    if (!y.is_static() || y.elements() == 0 || node.op->has_bodies || node.op->has_effect ||
        node.op->signature.has_seed() || node.op->signature.modifies()) {
      return {};
    }
    // The tensors of a Scan have the number of the part as another dimension.
    if (method_ == BatchMethod::loop && has_full_rank(node)) return {};
    const OpId& id = node.op->id;
    if (node.op->elementwise) return of_elements(node, y);
    if (id == op::MatMul::id) return of_product(node, y);
    if (id == op::Gather::id) return of_gather(node);
    // The others have their rows in the first input alone.
    const Rows* const x = input_rows(node, 0);
    if (x == nullptr || given != 1) return {};
    if (id == op::Identity::id || id == op::Cast::id) return x->axis;
    if (is_reshape(node)) return of_reshape(*x, y);
    if (id == op::Transpose::id) return of_transpose(node, *x);
    if (id == op::Softmax::id) return beside(unpack<op::Softmax>(node.attributes).axis, *x, y);
    if (id == op::LogSoftmax::id) {
      return beside(unpack<op::LogSoftmax>(node.attributes).axis, *x, y);
    }
    if (id == op::LayerNormalization::id) {
      const auto norm = unpack<op::LayerNormalization>(node.attributes);
      const bool is_row = x->axis < normalized_axis(norm.axis, y.rank());
      return is_row ? RowAxis(x->axis) : RowAxis();
    }
    if (x->axis != 0) return {};
    if (id == op::Gemm::id) return of_gemm(node);
    return node.op->by_sample != 0 ? RowAxis(0) : RowAxis();
  }

  bool has_full_rank(const Node& node) const {
    const auto is_full = [&](TensorId id) {
      return id != no_tensor && graph_.info(id).rank() == max_rank;
    };
    return is_full(node.outputs[0]) || std::any_of(node.inputs.begin(), node.inputs.end(), is_full);
  }
  static RowAxis beside(std::int64_t axis, const Rows& x, const TensorInfo& y) {
    return normalized_axis(axis, y.rank()) != x.axis ? RowAxis(x.axis) : RowAxis();
  }
  /// From the last axis, which is 1.
  std::size_t place_of(const Rows& x, TensorId id) const { return graph_.info(id).rank() - x.axis; }
  /// Whether all rows get the same of a tensor.
  bool is_shared(TensorId id, std::size_t place) const {
    const TensorInfo& info = graph_.info(id);
    return info.is_known() && (info.rank() < place || info.shape[info.rank() - place] == 1);
  }
  RowAxis of_elements(const Node& node, const TensorInfo& y) const {
    std::size_t place = 0;
    for (const TensorId id : node.inputs) {
      const Rows* const x = rows(id);
      if (x == nullptr) continue;
      if (place != 0 && place != place_of(*x, id)) return {};
      place = place_of(*x, id);
    }
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && rows(id) == nullptr && !is_shared(id, place)) return {};
    }
    return y.rank() - place;
  }
  RowAxis of_product(const Node& node, const TensorInfo& y) const {
    const Rows *const a = input_rows(node, 0), *const b = input_rows(node, 1);
    if (a == nullptr || graph_.info(node.inputs[1]).rank() < 2) return {};
    const std::size_t place = place_of(*a, node.inputs[0]);
    if (place < 2) return {};
    if (b == nullptr ? place > 2 && !is_shared(node.inputs[1], place)
                     : place < 3 || place_of(*b, node.inputs[1]) != place) {
      return {};
    }
    return y.rank() - place;
  }
  RowAxis of_gather(const Node& node) const {
    const Rows* const indices = input_rows(node, 1);
    if (indices == nullptr || input_rows(node, 0) != nullptr) return {};
    const auto gather = unpack<op::Gather>(node.attributes);
    return normalized_axis(gather.axis, graph_.info(node.inputs[0]).rank()) + indices->axis;
  }
  RowAxis of_gemm(const Node& node) const {
    const auto gemm = unpack<op::Gemm>(node.attributes);
    if (gemm.trans_a || (has_input(node, 2) && !is_shared(node.inputs[2], 2))) return {};
    return 0;
  }
  RowAxis of_transpose(const Node& node, const Rows& x) const {
    const auto transpose = unpack<op::Transpose>(node.attributes);
    const std::size_t rank = graph_.info(node.inputs[0]).rank();
    if (transpose.perm.empty()) return rank - 1 - x.axis;
    std::size_t axis = 0;
    while (transpose.perm[axis] != static_cast<std::int64_t>(x.axis)) ++axis;
    return axis;
  }
  static bool is_reshape(const Node& node) {
    const OpId& id = node.op->id;
    return id == op::Reshape::id || id == op::Flatten::id || id == op::Squeeze::id ||
           id == op::Unsqueeze::id;
  }
  /// The first rows are the first elements, also in another shape.
  RowAxis of_reshape(const Rows& x, const TensorInfo& y) const {
    const bool is_divided = y.rank() > 0 && y.shape[0] % factor_ == 0;
    return x.axis == 0 && is_divided ? RowAxis(0) : RowAxis();
  }

  // --- parts ------------------------------------------------------------------------------------

  TensorId part(TensorId id, std::int64_t k) {
    if (rows(id) == nullptr) return id;
    const auto number = static_cast<std::size_t>(number_[id]);
    if (rows_[number].parts.empty()) {
      const auto axis = static_cast<std::int64_t>(rows_[number].axis);
      const AnyTensor x{&graph_, id};
      const std::int64_t size = x.info().shape[rows_[number].axis] / factor_;
      std::vector<TensorId> parts;
      for (std::int64_t i = 0; i < factor_; ++i) {
        parts.push_back(is_dynamic()
                            ? op::dynamic_slice(x, offset(i * size),
                                                {.axes = {axis}, .sizes = {size}, .no_overlap = 1})
                                  .id
                            : op::slice(x, constant(graph_, Dims{i * size}),
                                        constant(graph_, Dims{(i + 1) * size}),
                                        constant(graph_, Dims{axis}))
                                  .id);
      }
      rows_[number].parts = std::move(parts);
    }
    return rows_[number].parts[static_cast<std::size_t>(k)];
  }

  void repeat(const Node& node, std::size_t axis) {
    const TensorId whole = node.outputs[0];
    TensorInfo info = graph_.info(whole);
    info.shape[axis] /= factor_;
    std::vector<TensorId> parts;
    for (std::int64_t k = 0; k < factor_; ++k) {
      if (is_reshape(node)) {
        const AnyTensor x{&graph_, part(node.inputs[0], k)};
        parts.push_back(op::reshape(x, constant(graph_, info.shape)).id);
        continue;
      }
      Node copy = node;
      for (TensorId& id : copy.inputs) id = part(id, k);
      copy.outputs = {graph_.add_tensor({.info = info}, {})};
      parts.push_back(copy.outputs[0]);
      graph_.nodes.push_back(std::move(copy));
    }
    join(parts, static_cast<std::int64_t>(axis), whole);
    add(whole, axis, std::move(parts));
  }

  bool is_dynamic() const { return method_ == BatchMethod::unroll_dynamic; }
  /// A constant, which a part begins at.
  AnyTensor offset(std::int64_t row) {
    const std::uint32_t value[]{static_cast<std::uint32_t>(row)};
    return constant<std::uint32_t>(graph_, value, {1});
  }
  /// Records how a tensor is put together from its parts.
  void join(const std::vector<TensorId>& parts, std::int64_t axis, TensorId whole) {
    const TensorInfo info = graph_.info(whole);
    if (!is_dynamic()) {
      const TensorInfo infos[]{info};
      graph_.add_node(descriptor<op::Concat>, pack(op::Concat{.axis = axis}),
                      Vector<TensorId>(parts.begin(), parts.end()), infos);
    } else {
      const std::int64_t size = info.shape[static_cast<std::size_t>(axis)] / factor_;
      AnyTensor y = GradientScope::zeros(graph_, info);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        y = op::dynamic_update(y, offset(static_cast<std::int64_t>(k) * size),
                               AnyTensor{&graph_, parts[k]},
                               {.axes = {axis}, .sizes = {size}, .no_overlap = 1});
      }
    }
    graph_.nodes.back().outputs[0] = whole;
  }

  // --- a loop over the parts --------------------------------------------------------------------

  /// A node that is to be part of the next Scan, and its number in the model.
  struct Waiting {
    int number = 0;
    std::size_t axis = 0;
    Node node{};
  };

  bool is_waiting(TensorId id) const {
    return std::any_of(waiting_.begin(), waiting_.end(),
                       [&](const Waiting& w) { return w.node.outputs[0] == id; });
  }
  /// Whether the nodes that wait have to come before this one.
  bool ends_loop(const Node& node, RowAxis axis) const {
    if (waiting_.empty()) return false;
    if (axis.has_value()) return !may_merge(waiting_.front().node.place, node.place);
    return node.op->has_bodies || has_effect(node) ||
           std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId id) { return is_waiting(id); });
  }
  void scan_waiting() {
    const std::vector<Waiting> nodes = std::exchange(waiting_, {});
    scan(nodes);
  }
  /// Computes nodes in one Scan, or, if it had too many inputs and outputs, in several.
  void scan(std::span<const Waiting> nodes) {
    if (nodes.empty()) return;
    const PlaceScope there(graph_, nodes.front().node.place);
    ScannedNodes scanned(graph_, factor_);
    for (const Waiting& w : nodes) {
      if (is_reshape(w.node)) {
        scanned.take(w.node.inputs[0], rows(w.node.inputs[0])->axis);
      } else {
        for (const TensorId id : w.node.inputs) {
          const Rows* const x = rows(id);
          scanned.take(id, x != nullptr ? RowAxis(x->axis) : RowAxis());
        }
      }
      scanned.add(w.node, w.axis, is_reshape(w.node));
    }
    for (const Waiting& w : nodes) {
      // What nobody reads may be asked for by its name.
      const int last = uses_.last_read[w.node.outputs[0]];
      if (last == no_node || last > nodes.back().number) scanned.give(w.node.outputs[0], w.axis);
    }
    if (scanned.fits() || nodes.size() == 1) return scanned.record();
    scan(nodes.first(nodes.size() / 2));
    scan(nodes.subspan(nodes.size() / 2));
  }

  void keep(Node node) {
    const OpId& id = node.op->id;
    const Rows* const x = input_rows(node, 0);
    // Rows meet in these, and are apart again behind them.
    const bool keeps_rows = id == op::BatchNormalization::id || id == op::Dropout::id;
    if (x != nullptr && keeps_rows && node.outputs[0] != no_tensor) add(node.outputs[0], x->axis);
    graph_.nodes.push_back(std::move(node));
  }

  Graph graph_;
  std::int64_t factor_;
  BatchMethod method_;
  TensorMap<int> number_;  ///< of the graph's own tensors, in `rows_`
  Uses uses_;              ///< of the model
  std::vector<Rows> rows_;
  std::vector<Waiting> waiting_;
};

}  // namespace

Graph serialize_batch(Graph graph, std::int64_t factor, BatchMethod method) {
  if (factor < 1) {
    fail(ErrorKind::usage, {.what = "the batch serialization factor is not at least 1",
                            .found = std::to_string(factor)});
  }
  if (factor == 1) return graph;
  if (!graph.model.empty()) {
    fail(ErrorKind::usage, {.what = "the batch of a graph that is trained is not divided any more",
                            .hint = "serialize_batch(), then train()"});
  }
  return Serializer(std::move(graph), factor, method).run();
}

}  // namespace halftone
