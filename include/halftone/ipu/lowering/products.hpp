#pragma once

#include <halftone/ipu/lowering/work.hpp>

// Matrix products and convolutions, as the planner spreads them over an IPU.
namespace halftone::ipu::detail {

inline Product product_of(const NodeWork& at, const ProductExtents& e) {
  const ElementType x = at.info(at.node.inputs[0]).type, y = at.info(at.node.outputs[0]).type;
  const bool has_units = is_floating_point(x) && size_in_bytes(x) <= 4;
  return {e.groups,
          e.rows,
          e.inner,
          e.columns,
          e.kernel_rows,
          e.kernel_columns,
          e.input_rows,
          e.width,
          has_units ? x : ElementType::float32,
          has_units ? y : ElementType::float32};
}

inline std::string plan_text(const ProductPlan& plan) {
  std::string text =
      joined({"groups ", std::to_string(plan.split_groups), " x rows ",
              std::to_string(plan.split_rows), " x columns ", std::to_string(plan.split_columns),
              " x inner ", std::to_string(plan.split_inner)});
  if (plan.serial() > 1) text += ", serial " + std::to_string(plan.serial());
  if (plan.is_swapped) text += ", swapped";
  if (!plan.fits) text += ", over the memory proportion";
  return text;
}

/// Operands without a place lie as the plan wants them; computed ones may have to be regrouped.
/// Returns the cycles of that.
inline std::int64_t bring_operands(NodeWork& at, const Product& p, const ProductPlan& plan) {
  const std::int64_t tiles = plan.tiles();
  std::int64_t regrouped = 0;
  for (std::size_t i = 0; i < 2 && i < at.node.inputs.size(); ++i) {
    const TensorId id = at.node.inputs[i];
    if (id == no_tensor) continue;
    const TensorInfo& info = at.info(id);
    const Placed wanted =
        at.layout.fresh(spread_mapping(at.target(), info.elements(), tiles), true);
    const bool was_placed = at.frame.placed[id].is_known;
    const Placed& operand = at.layout.local(at.frame, id, &wanted);
    const Role role = at.frame.graph->tensor(id).role;
    const bool is_computed = was_placed && role != Role::variable && role != Role::constant;
    if (!is_computed || operand.is_grouped) continue;
    const std::int64_t bytes = divide_up(info.bytes(), tiles);
    at.steps.exchange(bytes, tiles);
    if (plan.vertex == Vertex::dot) continue;  // reads rows as they are
    regrouped += rearrange_cycles(at.target(), bytes, p.input, p.inner % 4 == 0);
  }
  return regrouped;
}

/// The share of the plan's cycles that computes what is asked for, not what fills up its vertices.
inline double balance_of(const Target& t, const Product& p, const ProductPlan& plan,
                         const ProductOptions& options) {
  const double padded = static_cast<double>(plan.compute) * static_cast<double>(plan.serial()) *
                        static_cast<double>(plan.tiles());
  const double rate = static_cast<double>(t.macs_per_cycle(
      p.input, size_in_bytes(p.input) == 4 ? ElementType::float32 : options.partials));
  return std::clamp(2 * p.macs() / rate / padded, 0.5, 1.0);
}

inline void lower_product(NodeWork& at, const Work& w) {
  const ProductExtents& e = w.product;
  if (e.groups < 1 || e.rows < 1 || e.inner < 1 || e.columns < 1) return;
  Steps& steps = at.steps;
  const Target& t = steps.t;
  const Product p = product_of(at, e);
  steps.check_countable("an operator computes more than a profile counts",
                        2 * p.macs() * static_cast<double>(steps.here.times), most_flops);
  const ProfileOptions& asked = steps.report.options;
  const ProductOptions options =
      ProductOptions{.available_memory_proportion = asked.available_memory_proportion,
                     .partials = asked.partials}
          .with(at.node.planning);
  const ProductPlan plan = at.planner.plan(p, options);
  steps.operation().plan = plan_text(plan);

  const std::int64_t regrouped = bring_operands(at, p, plan);
  const TensorInfo& y = at.info(at.node.outputs[0]);
  const std::int64_t tiles = plan.tiles();
  const Mapping over = spread_mapping(t, std::max(y.elements(), tiles), tiles);
  const auto type = halftone::name(p.input);
  if (regrouped > 0) steps.compute(joined({"poplin::Transpose<", type, ">"}), over, regrouped);

  const Steps::Here before = steps.here;
  if (plan.serial() > 1) steps.open_program("Repeat", plan.serial());
  const std::int64_t sync = t.sync_cycles + t.exchange_setup_cycles;
  steps.exchange(plan.received_bytes, tiles, plan.exchange - sync);
  // What is there already is copied, too, unless it is a weight that lies as the vertices want it.
  const std::int64_t sides[] = {divide_up(plan.input_bytes, plan.split_columns),
                                divide_up(plan.weight_bytes, plan.split_rows)};
  std::int64_t arranged = 0;
  for (std::size_t i = 0; i < 2 && i < at.node.inputs.size(); ++i) {
    const TensorId id = at.node.inputs[i];
    if (id == no_tensor || at.frame.graph->tensor(id).role != Role::value) continue;
    arranged += sides[plan.is_swapped ? 1 - i : i];
  }
  const std::int32_t arrangement = steps.add_variable(
      steps.operation().name + "/arranged", spread_mapping(t, arranged * tiles, tiles), 1);
  const std::int32_t partials =
      steps.add_variable(steps.operation().name + "/partials",
                         spread_mapping(t, plan.partials_bytes * tiles, tiles), 1);
  steps.compute(joined({name(plan.vertex), "<", type, ">"}), over, plan.compute,
                balance_of(t, p, plan, options),
                static_cast<std::int64_t>(2 * p.macs()) * steps.here.times);
  steps.keep_until(arrangement, steps.newest());
  if (plan.split_inner > 1) {
    const ElementType sums = size_in_bytes(p.input) == 4 ? ElementType::float32 : options.partials;
    for_each_reduction_stage(plan.reduced_outputs, plan.split_inner, sums, p.output, true,
                             [&](std::int64_t outputs, std::int64_t copies, ElementType to) {
                               steps.exchange(outputs * (copies - 1) * size_in_bytes(sums), tiles);
                               steps.compute("poplin::ConvPartialReduce", over,
                                             partials_stage_cycles(t, outputs, copies, sums, to));
                             });
  } else if (plan.reduce > 0) {
    steps.compute("popops::Cast", over, plan.reduce);
  }
  if (plan.update > 0) steps.copy(plan.update, tiles);
  steps.keep_until(partials, steps.newest());
  if (plan.serial() > 1) steps.add(StepKind::control, repeat_cycles);
  steps.here = before;
  at.home = at.layout.fresh(spread_mapping(t, y.elements(), tiles), true);
}

}  // namespace halftone::ipu::detail
