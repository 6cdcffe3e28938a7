#pragma once

#include <cstddef>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/transform/gradient.hpp>
#include <halftone/transform/infer.hpp>
#include <halftone/transform/seed_random.hpp>

namespace halftone {

namespace detail {

/// Adds a subgraph that runs a body another time, for gradients.
constexpr Subgraph add_rerun(GradientScope& g, Graph body) {
  body = without_dead_code(std::move(body));
  if (RandomSeeds::needs_seed(body)) {
    refuse_gradient(g.graph(), g.node(),
                    {.what = "the gradient would draw other random numbers in the subgraph than "
                             "the node did"});
  }
  g.graph().graphs.push_back(std::move(body));
  return {static_cast<std::int32_t>(g.graph().graphs.size()) - 1};
}

/// Gives a gradient as an output of its own: one that passes through is an input of the body.
constexpr void give_gradient(Graph& body, TensorId gradient, const TensorInfo& info) {
  const AnyTensor dx =
      gradient == no_tensor ? GradientScope::zeros(body, info) : AnyTensor{&body, gradient};
  body.add_output(op::identity(dx).id);
}

class RepeatGradient {
 public:
  constexpr RepeatGradient(GradientScope& g, const op::Repeat& repeat, std::int64_t passes)
      : g_(g),
        graph_(g.graph()),
        repeat_(repeat),
        passes_(passes),
        forward_(graph_.graphs[static_cast<std::size_t>(subgraphs_of(g.node())[0])]),
        body_(forward_) {}

  constexpr void record() {
    pass_kept_outputs();
    take_gradients();
    if (outputs_.empty()) return;
    hand_in_values();
    const Vector<TensorId> found =
        differentiate_with(g_.finder(), body_, outputs_, d_outputs_, wanted_);
    make_body(found);
    record_scan();
  }

 private:
  constexpr std::size_t input(std::size_t state) const { return repeat_.first_state + state; }
  constexpr TensorId inner(std::size_t state) const {
    return forward_.inputs[repeat_.body_state + state];
  }
  constexpr TensorId result(std::size_t i) const {
    return forward_.outputs[repeat_.body_result + i];
  }
  constexpr bool is_kept(std::size_t state) const { return repeat_.is_kept(forward_, state); }
  constexpr TensorInfo info(std::size_t state) const {
    return graph_.info(g_.node().inputs[input(state)]);
  }

  /// A state of the backward loop: its first value, and what it is in the body.
  constexpr TensorId add_state(TensorId first) {
    const TensorId id = body_.add_tensor({.info = graph_.info(first), .role = Role::input}, {});
    states_.push_back(first);
    inner_states_.push_back(id);
    return id;
  }
  constexpr void add_scanned(TensorId tensor, TensorId slice, std::int64_t axis, bool is_reversed) {
    scanned_.push_back(tensor);
    inner_scanned_.push_back(slice);
    axes_.push_back(axis);
    directions_.push_back(is_reversed ? 0 : 1);  // the last pass comes first
  }

  constexpr void pass_kept_outputs() {
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (is_kept(i) && g_.has_dy(i)) g_.dx(input(i)) += g_.dy(i);
    }
  }

  /// The gradients that arrive: those of states go from pass to pass, others are sliced.
  constexpr void take_gradients() {
    bool arrives = false;
    for (std::size_t i = 0; i < g_.outputs(); ++i) {
      arrives = arrives || (g_.has_dy(i) && (i >= repeat_.states || !is_kept(i)));
    }
    if (!arrives) return;
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (is_kept(i) || !is_floating_point(info(i).type)) continue;
      const AnyTensor first = g_.has_dy(i) ? g_.dy(i) : GradientScope::zeros(graph_, info(i));
      outputs_.push_back(result(i));
      d_outputs_.push_back(add_state(first.id));
      wanted_.push_back(inner(i));
      changing_.push_back(i);
    }
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (!is_kept(i) || !g_.needs(input(i))) continue;
      wanted_.push_back(inner(i));
      sums_.push_back(i);
      add_state(GradientScope::zeros(graph_, info(i)).id);
    }
    for (std::size_t i = 0; i < repeat_.stacked; ++i) {
      if (!g_.has_dy(repeat_.states + i)) continue;
      const TensorId y = result(repeat_.states + i);
      const TensorId slice = body_.add_tensor({.info = forward_.info(y), .role = Role::input}, {});
      outputs_.push_back(y);
      d_outputs_.push_back(slice);
      add_scanned(g_.dy(repeat_.states + i).id, slice, repeat_.output_axis(i),
                  repeat_.output_is_reversed(i));
    }
  }

  /// What the passes had: kept states, slices, and the states before each pass.
  constexpr void hand_in_values() {
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (!is_kept(i)) continue;
      states_.push_back(g_.node().inputs[input(i)]);
      inner_states_.push_back(inner(i));
    }
    if (repeat_.is_loop) {
      const TensorId number = forward_.inputs[0], condition = forward_.inputs[1];
      TensorInfo& info = body_.tensor(number).info;
      if (!info.is_static()) info = {ElementType::int64, {}};
      add_scanned(pass_numbers(info), number, 0, false);
      const TensorInfo boolean{ElementType::boolean, body_.info(condition).shape};
      states_.push_back(graph_.add_constant(boolean, scalar_bytes(boolean.type, 1)));
      inner_states_.push_back(condition);
    }
    for (std::size_t i = 0; i < repeat_.scanned; ++i) {
      const std::size_t at = repeat_.states + i;
      add_scanned(g_.node().inputs[at], forward_.inputs[at], repeat_.input_axis(i),
                  repeat_.input_is_reversed(i));
      if (!g_.needs(at)) continue;
      wanted_.push_back(forward_.inputs[at]);
      sliced_.push_back(i);
    }
    stack_states();
  }

  constexpr TensorId pass_numbers(TensorInfo info) {
    Vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < passes_; ++i) numbers.push_back(i);
    const AnyTensor all = constant<std::int64_t>(graph_, std::span(numbers), {passes_});
    info.shape.insert(0, passes_);
    const AnyTensor shaped = op::reshape(all, constant(graph_, info.shape));
    return info.type == ElementType::int64 ? shaped.id : op::cast(shaped, {.to = info.type}).id;
  }

  /// Runs the loop another time, for its states before each pass.
  constexpr void stack_states() {
    Graph stacking = forward_;
    stacking.outputs.resize(repeat_.body_result + repeat_.states);
    Vector<TensorInfo> infos;
    for (std::size_t i = 0; i < repeat_.states; ++i) infos.push_back(info(i));
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (is_kept(i)) continue;
      stacking.add_output(op::identity(AnyTensor{&stacking, inner(i)}).id);
      infos.push_back(info(i));
      infos.back().shape.insert(0, passes_);
    }
    if (infos.size() == repeat_.states) return;
    const Node& node = g_.node();
    const Subgraph body = add_rerun(g_, std::move(stacking));
    Vector<Word> words = pack(op::Loop{.body = body});
    if (!repeat_.is_loop) {
      auto scan = unpack<op::Scan>(node.attributes);
      scan.body = body;
      scan.scan_output_axes = {};
      scan.scan_output_directions = {};
      words = pack(scan);
    }
    const std::size_t added = graph_.add_node(*node.op, std::move(words), node.inputs, infos);
    std::size_t stacked = repeat_.states;
    for (std::size_t i = 0; i < repeat_.states; ++i) {
      if (!is_kept(i)) add_scanned(graph_.nodes[added].outputs[stacked++], inner(i), 0, false);
    }
  }

  constexpr void make_body(const Vector<TensorId>& found) {
    body_.inputs = inner_states_;
    body_.inputs.insert(body_.inputs.end(), inner_scanned_.begin(), inner_scanned_.end());
    body_.outputs.clear();
    std::size_t at = 0;
    for (const std::size_t state : changing_) give_gradient(body_, found[at++], info(state));
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const AnyTensor sum{&body_, inner_states_[at]}, part{&body_, found[at]};
      body_.add_output((part.is_absent() ? op::identity(sum) : op::add(sum, part)).id);
      ++at;
    }
    for (std::size_t i = at; i < inner_states_.size(); ++i) body_.add_output(inner_states_[i]);
    for (const std::size_t i : sliced_) {
      give_gradient(body_, found[at++], body_.info(forward_.inputs[repeat_.states + i]));
    }
  }

  constexpr void record_scan() {
    op::Scan scan{.num_scan_inputs = static_cast<std::int64_t>(scanned_.size())};
    if (scanned_.size() > scan.scan_input_axes.capacity()) {
      const DecimalText most(static_cast<std::int64_t>(scan.scan_input_axes.capacity()));
      refuse_gradient(graph_, g_.node(),
                      {.what = "a loop with so many states and slices has no gradient",
                       .expected = JoinedText({"at most ", most}),
                       .found = DecimalText(scan.num_scan_inputs)});
    }
    for (std::size_t i = 0; i < scanned_.size(); ++i) {
      scan.scan_input_axes.push_back(axes_[i]);
      scan.scan_input_directions.push_back(directions_[i]);
    }
    Vector<TensorInfo> infos;
    for (const TensorId id : states_) infos.push_back(graph_.info(id));
    for (const std::size_t i : sliced_) {
      scan.scan_output_axes.push_back(repeat_.input_axis(i));
      scan.scan_output_directions.push_back(repeat_.input_is_reversed(i) ? 0 : 1);
      infos.push_back(graph_.info(g_.node().inputs[repeat_.states + i]));
    }
    scan.body = add_rerun(g_, std::move(body_));
    Vector<TensorId> inputs = states_;
    inputs.insert(inputs.end(), scanned_.begin(), scanned_.end());
    const std::size_t node =
        graph_.add_node(descriptor<op::Scan>, pack(scan), std::move(inputs), infos);
    const auto dx = [&](std::size_t i) {
      return AnyTensor{&graph_, graph_.nodes[node].outputs[i]};
    };
    std::size_t at = 0;
    for (const std::size_t state : changing_) g_.dx(input(state)) += dx(at++);
    for (const std::size_t state : sums_) g_.dx(input(state)) += dx(at++);
    at = states_.size();
    for (const std::size_t i : sliced_) g_.dx(repeat_.states + i) += dx(at++);
  }

  GradientScope& g_;
  Graph& graph_;
  const op::Repeat repeat_;
  const std::int64_t passes_;
  const Graph forward_;
  Graph body_;  ///< of the backward loop
  Vector<TensorId> outputs_, d_outputs_, wanted_;
  /// Of the backward loop: gradients of states, sums of gradients, then what is kept.
  Vector<TensorId> states_, inner_states_, scanned_, inner_scanned_;
  Vector<std::int64_t> axes_, directions_;
  Vector<std::size_t> changing_, sums_, sliced_;
};

}  // namespace detail

constexpr Subgraph SubgraphGradient::of(Subgraph forward) {
  Graph body = g_.graph().graphs[static_cast<std::size_t>(forward.index)];
  Vector<TensorId> outputs, gradients, captured;
  for (const std::size_t i : arriving_) {
    outputs.push_back(body.outputs[i]);
    gradients.push_back(body.add_input(body.info(outputs.back()), {}));
  }
  for (const std::size_t i : wanted_) captured.push_back(body.inputs[i - first_]);
  const Vector<TensorId> found =
      detail::differentiate_with(g_.finder(), body, outputs, gradients, captured);
  body.outputs.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    detail::give_gradient(body, found[i], g_.x(wanted_[i]).info());
  }
  return detail::add_rerun(g_, std::move(body));
}

template <class Op>
constexpr void SubgraphGradient::record(const Op& op) {
  Vector<TensorId> inputs;
  Vector<TensorInfo> infos;
  for (std::size_t i = 0; i < g_.inputs(); ++i) inputs.push_back(g_.x(i).id);
  for (const std::size_t i : arriving_) inputs.push_back(g_.dy(i).id);
  for (const std::size_t i : wanted_) infos.push_back(g_.x(i).info());
  const std::size_t node = add_node(g_.graph(), op, std::move(inputs), infos);
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    g_.dx(wanted_[i]) += AnyTensor{&g_.graph(), g_.graph().nodes[node].outputs[i]};
  }
}

constexpr void record_repeat_gradient(GradientScope& g) {
  op::Repeat repeat;
  const bool fits = describe_repeat(g.graph(), g.node(), repeat);
  const std::int64_t passes = fits ? pass_count(g.graph(), g.node(), repeat) : dynamic;
  if (passes == dynamic) {
    detail::refuse_gradient(
        g.graph(), g.node(),
        {.what = "the gradient needs a number of passes that is known before the run",
         .hint = "a constant M, and a condition that stays true"});
  }
  detail::RepeatGradient(g, repeat, passes).record();
}

}  // namespace halftone
