#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SCAN_HPP
#define HALFTONE_OP_SCAN_HPP

#include <halftone/graph/call.hpp>
#include <halftone/op/repeat.hpp>

namespace halftone::op {

/// Runs a subgraph on one slice of its inputs after the other, with values that go from pass to
/// pass.
///
/// tensors  the first values of the states, what the body captures of the graph around it, and
///          `num_scan_inputs` tensors that are cut into slices along their axes; the axes are
///          equally long
/// outputs  the last values of the states, then what the passes give, stacked along a new axis
/// body     (states..., slices...) -> (states..., slices...)
/// axes     0 where a list is empty; negative ones count from the end
/// directions  1: from the last slice to the first
/// grad     a Scan from the last slice to the first, of slices whose number is known before the run
/// limits   at most 32 tensors in each list. PopART joins outputs along an axis that they have;
///          here they get a new one, as ONNX says
/// source   ai.onnx Scan-16
struct Scan {
  Subgraph body{};
  std::int64_t num_scan_inputs = required;
  ScanList scan_input_axes{}, scan_input_directions{}, scan_output_axes{}, scan_output_directions{};

  static constexpr OpId id{"ai.onnx", "Scan", 9, 11, 16, 19, 21, 23, 24, 25};
  static constexpr Signature signature = "tensors:*... -> outputs:*...";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("body", body);
    visit("num_scan_inputs", num_scan_inputs);
    visit("scan_input_axes", scan_input_axes);
    visit("scan_input_directions", scan_input_directions);
    visit("scan_output_axes", scan_output_axes);
    visit("scan_output_directions", scan_output_directions);
  }

  /// Where states, slices and stacked outputs are; false if the body does not fit the node.
  static constexpr bool describe(const Node& node, const Graph& inner, Repeat& repeat) {
    const auto scan = unpack<Scan>(node.attributes);
    repeat = {.input_axes = scan.scan_input_axes,
              .input_directions = scan.scan_input_directions,
              .output_axes = scan.scan_output_axes,
              .output_directions = scan.scan_output_directions};
    const auto count = static_cast<std::int64_t>(node.inputs.size());
    if (scan.num_scan_inputs < 1 || scan.num_scan_inputs > count) return false;
    repeat.scanned = static_cast<std::size_t>(scan.num_scan_inputs);
    repeat.states = node.inputs.size() - repeat.scanned;
    if (inner.inputs.size() != node.inputs.size() || inner.outputs.size() < repeat.states) {
      return false;
    }
    repeat.stacked = inner.outputs.size() - repeat.states;
    return true;
  }

  constexpr Inferred infer(const Inputs& in) const {
    const auto count = static_cast<std::int64_t>(in.size());
    if (num_scan_inputs < 1 || num_scan_inputs > count) {
      return Inferred::mismatch("num_scan_inputs is out of range", count, num_scan_inputs);
    }
    const auto scanned = static_cast<std::size_t>(num_scan_inputs);
    const std::size_t states = in.size() - scanned;
    std::int64_t passes = dynamic;
    for (std::size_t i = 0; i < scanned; ++i) {
      const TensorInfo& x = in[states + i];
      if (!x.is_known()) continue;
      const std::size_t axis = normalized_axis(item(scan_input_axes, i), x.rank());
      if (axis == x.rank()) return out_of_range(x.rank(), item(scan_input_axes, i));
      const std::int64_t both = agree(passes, x.shape[axis]);
      if (both == contradictory) {
        return Inferred::mismatch("the scanned tensors differ in length", passes, x.shape[axis]);
      }
      passes = both;
    }
    if (!fits(scan_input_axes, scanned) || !fits(scan_input_directions, scanned)) {
      return Inferred::mismatch("a list is not as long as there are scanned tensors",
                                num_scan_inputs);
    }
    if (in.graph_outputs().empty()) return Inferred::unknown(in.output_count());
    const Vector<TensorInfo>& inner = in.graph_outputs()[0];
    if (inner.size() < states || inner.size() < in.output_count()) {
      return Inferred::mismatch("the body has another number of outputs",
                                static_cast<std::int64_t>(in.output_count()),
                                static_cast<std::int64_t>(inner.size()));
    }
    const std::size_t stacked = inner.size() - states;
    if (!fits(scan_output_axes, stacked) || !fits(scan_output_directions, stacked)) {
      return Inferred::mismatch("a list is not as long as there are stacked outputs",
                                static_cast<std::int64_t>(stacked));
    }
    for (const ScanList& directions : {scan_input_directions, scan_output_directions}) {
      for (const std::int64_t d : directions) {
        if (d != 0 && d != 1) return Inferred::mismatch("a direction is neither 0 nor 1", 0, d);
      }
    }
    Vector<TensorInfo> outputs;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      TensorInfo y = inner[i];
      if (i < states) {
        if (in[i].is_known() && y.is_known() && in[i].type != y.type) {
          return Inferred::types("a state changes its element type", in[i].type, y.type);
        }
        y = either(in[i], y);
      } else if (y.is_known()) {
        if (y.rank() == max_rank) {
          return Inferred::mismatch("too many dimensions", max_rank, max_rank + 1);
        }
        const std::size_t axis = normalized_axis(item(scan_output_axes, i - states), y.rank() + 1);
        if (axis > y.rank()) return out_of_range(y.rank() + 1, item(scan_output_axes, i - states));
        y.shape.insert(axis, passes);
      }
      outputs.push_back(y);
    }
    outputs.resize(in.output_count());
    return outputs;
  }

  constexpr void gradient(auto& g) const { record_repeat_gradient(g); }

 private:
  static constexpr std::int64_t item(const ScanList& list, std::size_t i) {
    return i < list.size() ? list[i] : 0;
  }
  static constexpr bool fits(const ScanList& list, std::size_t count) {
    return list.empty() || list.size() == count;
  }
  static constexpr Inferred out_of_range(std::size_t rank, std::int64_t axis) {
    return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(rank), axis);
  }
};

/// Scan for each element of a batch: states are [batch, ...], scanned tensors and stacked outputs
/// [batch, length, ...]. Becomes a Scan over the batch whose body is the Scan over the length.
///
/// captured  how many of the tensors between states and scanned ones are captured by the body; the
///           importer says so
/// limits    sequence_lens is refused
/// source    ai.onnx Scan-8
struct Scan_8 {
  Subgraph body{};
  std::int64_t num_scan_inputs = required;
  ScanList directions{};
  std::int64_t captured = 0;

  static constexpr OpId id{"ai.onnx", "Scan", 8};
  static constexpr Signature signature = "sequence_lens:I? tensors:*... -> outputs:*...";

  constexpr void attributes(auto&& visit) {
    visit("body", body);
    visit("num_scan_inputs", num_scan_inputs);
    visit("directions", directions);
    visit("captured", captured);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    if (inputs.empty() || inputs[0].id != no_tensor) {
      fail(ErrorKind::unsupported, {.what = "sequence_lens is not offered"});
    }
    const auto scanned = static_cast<std::size_t>(num_scan_inputs);
    const auto kept = static_cast<std::size_t>(captured);
    const std::size_t count = inputs.size() - 1;
    Graph& place = graph.graphs[static_cast<std::size_t>(body.index)];
    if (num_scan_inputs < 1 || captured < 0 || scanned > count || kept > count - scanned ||
        place.inputs.size() != count || place.outputs.size() < count - scanned) {
      fail(ErrorKind::model, {.what = "the body has another number of inputs or outputs"});
    }
    const std::size_t states = count - scanned - kept;
    const std::size_t stacked = place.outputs.size() - states - kept;

    // The batch is scanned: states and scanned tensors are slices, captured ones are states.
    std::remove_cvref_t<decltype(graph)> over_batch;  // dependent: see PackedDataBlock
    Node node =
        make_node(Scan{.body = body, .num_scan_inputs = static_cast<std::int64_t>(count - kept)});
    Vector<TensorId> inner(count, no_tensor);
    auto hand_in = [&](std::size_t first, std::size_t number) {
      for (std::size_t i = first; i < first + number; ++i) {
        node.inputs.push_back(inputs[1 + i].id);
        inner[i] = over_batch.add_input({}, {});
      }
    };
    hand_in(states, kept);
    hand_in(0, states);
    hand_in(states + kept, scanned);
    const Vector<TensorInfo> infos(states + kept + stacked);
    const std::size_t n = add_node(
        over_batch,
        Scan{.body = {0}, .num_scan_inputs = num_scan_inputs, .scan_input_directions = directions},
        inner, infos);
    for (std::size_t i = 0; i < kept; ++i) over_batch.add_output(inner[states + i]);
    Vector<AnyTensor> results;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (i >= states && i < states + kept) continue;
      over_batch.add_output(over_batch.nodes[n].outputs[i]);
      results.push_back({&graph, graph.add_tensor({}, {})});
    }
    node.outputs.assign(kept, no_tensor);
    for (const AnyTensor& y : results) node.outputs.push_back(y.id);
    over_batch.graphs.push_back(std::move(place));
    place = std::move(over_batch);
    graph.nodes.push_back(std::move(node));
    return results;
  }
};

}  // namespace halftone::op

#endif
