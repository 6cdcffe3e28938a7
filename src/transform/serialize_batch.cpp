#include <halftone/transform/serialize_batch.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halftone/base/error.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/scopes.hpp>
#include <halftone/op/list.hpp>

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

class Serializer {
 public:
  Serializer(Graph graph, std::int64_t factor)
      : graph_(std::move(graph)), factor_(factor), number_(graph_, none) {}

  Graph run() {
    find_inputs();
    Vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node& node : nodes) {
      const PlaceScope there(graph_, node.place);
      if (const RowAxis axis = row_axis(node); axis.has_value()) {
        repeat(node, *axis);
      } else {
        keep(std::move(node));
      }
    }
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
    constexpr const OpId* samples[] = {&op::Conv::id,
                                       &op::MaxPool::id,
                                       &op::AveragePool::id,
                                       &op::GlobalMaxPool::id,
                                       &op::GlobalAveragePool::id,
                                       &op::InstanceNormalization::id,
                                       &op::LRN::id};
    const bool is_of_samples = std::any_of(std::begin(samples), std::end(samples),
                                           [&](const OpId* sample) { return id == *sample; });
    return is_of_samples ? RowAxis(0) : RowAxis();
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
    const bool has_c = node.inputs.size() > 2 && node.inputs[2] != no_tensor;
    if (gemm.trans_a || (has_c && !is_shared(node.inputs[2], 2))) return {};
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
        const AnyTensor y =
            op::slice(x, constant(graph_, Dims{i * size}), constant(graph_, Dims{(i + 1) * size}),
                      constant(graph_, Dims{axis}));
        parts.push_back(y.id);
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
    const TensorInfo infos[]{graph_.info(whole)};
    Vector<TensorId> ids(parts.begin(), parts.end());
    const std::size_t n = graph_.add_node(descriptor<op::Concat>,
                                          pack(op::Concat{.axis = static_cast<std::int64_t>(axis)}),
                                          std::move(ids), infos);
    graph_.nodes[n].outputs[0] = whole;
    add(whole, axis, std::move(parts));
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
  TensorMap<int> number_;  ///< of the graph's own tensors, in `rows_`
  std::vector<Rows> rows_;
};

}  // namespace

Graph serialize_batch(Graph graph, std::int64_t factor) {
  if (factor < 1) {
    fail(ErrorKind::usage, {.what = "the batch serialization factor is not at least 1",
                            .found = std::to_string(factor)});
  }
  if (factor == 1) return graph;
  if (!graph.model.empty()) {
    fail(ErrorKind::usage, {.what = "the batch of a graph that is trained is not divided any more",
                            .hint = "serialize_batch(), then train()"});
  }
  return Serializer(std::move(graph), factor).run();
}

}  // namespace halftone
