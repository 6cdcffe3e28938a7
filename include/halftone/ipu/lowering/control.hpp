#pragma once

#include <halftone/ipu/lowering/lowering.hpp>
#include <halftone/ipu/slice.hpp>
#include <halftone/transform/infer.hpp>

// Nodes with bodies: If, Call, Loop and Scan.
namespace halftone::ipu::detail {

inline constexpr std::int64_t call_cycles = 12, branch_cycles = 20;

inline const halftone::Program& Lowering::body_of(const Frame& frame, std::size_t node,
                                                  std::size_t body) {
  const auto step = static_cast<std::size_t>(frame.step[node]);
  const std::int32_t number = frame.program->steps[step].bodies[body];
  return frame.program->bodies[static_cast<std::size_t>(number)];
}

inline void Lowering::copy_to(Frame& frame, TensorId id, const Placed& from) {
  const TensorInfo& info = frame.graph->info(id);
  layout_.place_as(frame, id, from);
  steps_.copy(copy_cycles(steps_.t, from.mapping.largest() * element_bytes(info)),
              from.mapping.pieces);
}

inline void Lowering::copy_arguments(Frame& body, std::span<const TensorId> inputs) {
  for (const TensorId id : inputs) {
    if (const auto waits = body.waiting.find(id); waits != body.waiting.end()) {
      copy_to(body, id, body.waiting.extract(waits).mapped());
    }
  }
}

inline void Lowering::copy_results(Frame& body, std::span<const TensorId> outputs) {
  for (const TensorId id : outputs) {
    const auto [first, last] = body.results.equal_range(id);
    for (auto result = first; result != last; ++result) {
      copy_to(*body.outside, result->second, body.placed[id]);
    }
    body.results.erase(first, last);
  }
}

inline void Lowering::find_results(Frame& body, Frame& outside, const Node& call) {
  body.outside = &outside;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const TensorId id = call.outputs[i];
    if (id == no_tensor || outside.graph->info(id).elements() == 0) continue;
    body.results.emplace(body.graph->outputs[i], id);
  }
}

inline void Lowering::end_results_early(Frame& body) {
  for (const auto& [id, result] : body.results) body.last_step[id] = 0;
  for (std::size_t n = 0; n < body.graph->nodes.size(); ++n) {
    const Node& node = body.graph->nodes[n];
    for (const Vector<TensorId>* ids : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *ids) {
        if (body.results.count(id) == 0) continue;
        body.last_step[id] = std::max(body.last_step[id], body.step[n]);
      }
    }
  }
}

inline Frame Lowering::body_frame(Frame& outside, const halftone::Program& program,
                                  std::span<const TensorId> inputs, CallCopies copies) {
  Frame frame = layout_.frame(program);
  const Graph& body = program.graph;
  const Aliases aliases(body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const TensorInfo& info = body.info(body.inputs[i]);
    if (info.elements() == 0) continue;
    const TensorId id = i < inputs.size() ? inputs[i] : no_tensor;
    const bool is_outside = id != no_tensor && outside.graph->info(id) == info;
    // What the body changes is changed where it lies.
    if (is_outside && copies != CallCopies::none && !aliases.is_modified(body.inputs[i])) {
      frame.waiting.emplace(body.inputs[i], layout_.local(outside, id));
      if (copies == CallCopies::on_enter_and_exit) copy_arguments(frame, {&body.inputs[i], 1});
    } else if (is_outside) {
      layout_.place_input(frame, body.inputs[i], layout_.local(outside, id));
    } else {
      layout_.place(frame, body.inputs[i]);
    }
  }
  return frame;
}

inline void Lowering::lower_body(Frame& body) {
  const Steps::Here here = steps_.here;
  lower_graph(body);
  steps_.here = here;
}

inline void Lowering::lower_repetition(Frame& frame, std::size_t number, const op::Repeat& repeat) {
  const Graph& graph = *frame.graph;
  const Node& node = graph.nodes[number];
  const halftone::Program& body = body_of(frame, number, 0);
  // The largest numbers there are ask for passes until the body says that it is done.
  std::int64_t passes = pass_count(graph, node, repeat);
  if (passes > most_repeats) passes = dynamic;
  layout_.fetch_inputs(frame, node);
  const std::string kind = passes == dynamic ? "RepeatWhile" : std::string(node.op->id.name);
  const Steps::Here before = steps_.open_program(kind, passes == dynamic ? 1 : passes);
  if (repeat.is_loop && passes == dynamic) {
    steps_.exchange(4, steps_.t.tiles_per_ipu);
    steps_.add(StepKind::control, branch_cycles);
  }
  for (std::size_t i = 0; i < repeat.scanned; ++i) {
    const TensorId id = node.inputs[repeat.first_state + repeat.states + i];
    if (id == no_tensor) continue;
    const Mapping& over = layout_.local(frame, id).mapping;
    const std::int64_t slice = divide_up(over.largest(), std::max<std::int64_t>(passes, 1));
    steps_.compute("popops::DynamicSlice", over,
                   dynamic_slice_cycles(steps_.t, slice, 1, graph.info(id).type));
  }
  // States are the body's inputs behind its own counters, in the node's order.
  std::vector<TensorId> inputs(repeat.body_state, no_tensor);
  for (std::size_t i = 0; i < repeat.states; ++i) {
    inputs.push_back(node.inputs[repeat.first_state + i]);
  }
  Frame inner = body_frame(frame, body, inputs);
  lower_body(inner);
  // What the body gives goes where the next pass, or the node's reader, looks for it.
  for (const TensorId id : body.graph.outputs) {
    const TensorInfo& info = body.graph.info(id);
    if (info.elements() == 0) continue;
    const Placed& p = layout_.place(inner, id);
    steps_.add(StepKind::copy, copy_cycles(steps_.t, p.mapping.largest() * element_bytes(info)));
  }
  layout_.end_lives(inner);
  steps_.add(StepKind::control, repeat_cycles);
  steps_.here = before;
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) layout_.place_output(frame, id);
  }
}

inline void Lowering::lower_call(Frame& frame, std::size_t number, std::size_t first_input) {
  const Node& node = frame.graph->nodes[number];
  const CallCopies copies =
      node.op->id == op::Call::id ? report_.options.call_copies : CallCopies::none;
  layout_.fetch_inputs(frame, node);
  const std::vector<std::int32_t> arms = subgraphs_of(node);
  if (arms.size() > 1) steps_.exchange(4, steps_.t.tiles_per_ipu);  // the predicate, to all tiles
  steps_.add(StepKind::control, arms.size() > 1 ? branch_cycles : call_cycles);
  // The dearest arm is the one that counts; memory is the larger of both.
  const std::vector<double> tile_cycles = report_.tile_cycles;
  std::vector<double> with_dearest;
  struct Range {
    std::size_t first_step, end_step, first_operation, end_operation;
  };
  std::vector<Range> ranges;
  std::size_t dearest = 0;
  std::int64_t most = -1;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const halftone::Program& body = body_of(frame, number, a);
    report_.tile_cycles = tile_cycles;
    const Steps::Here before =
        steps_.open_program(arms.size() > 1 ? "If arm " + std::to_string(a) : "Call", 1);
    Range range{report_.steps.size(), 0, report_.operations.size(), 0};
    Frame inner = body_frame(frame, body, std::span(node.inputs).subspan(first_input), copies);
    if (copies == CallCopies::just_in_time) {
      find_results(inner, frame, node);
      end_results_early(inner);
    }
    const std::int32_t caller = std::exchange(body_, arms[a]);
    lower_body(inner);
    body_ = caller;
    for (const TensorId id : body.graph.outputs) {
      if (body.graph.info(id).elements() == 0) continue;
      copy_arguments(inner, {&id, 1});
      layout_.place(inner, id);
    }
    if (copies == CallCopies::on_enter_and_exit) find_results(inner, frame, node);
    copy_results(inner, body.graph.outputs);
    layout_.end_lives(inner);
    steps_.here = before;
    range.end_step = report_.steps.size();
    range.end_operation = report_.operations.size();
    ranges.push_back(range);
    std::int64_t cycles = 0;
    for (std::size_t s = range.first_step; s < range.end_step; ++s) {
      cycles += report_.steps[s].total();
    }
    if (cycles <= most) continue;
    most = cycles;
    dearest = a;
    with_dearest = report_.tile_cycles;
  }
  report_.tile_cycles = std::move(with_dearest);
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    if (a == dearest) continue;
    for (std::size_t s = ranges[a].first_step; s < ranges[a].end_step; ++s) {
      report_.steps[s].repeats = report_.steps[s].flops = 0;
    }
    for (std::size_t o = ranges[a].first_operation; o < ranges[a].end_operation; ++o) {
      report_.operations[o].flops = 0;
    }
  }
  for (const TensorId id : node.outputs) {
    if (id == no_tensor) continue;
    if (frame.placed[id].is_known) {
      steps_.operation().output_bytes += frame.graph->info(id).bytes();
    } else {
      layout_.place_output(frame, id);
    }
  }
}

}  // namespace halftone::ipu::detail
