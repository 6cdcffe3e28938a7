#include <halftone/var_updates.hpp>

#include <halftone/op/list.hpp>
#include <halftone/views.hpp>

#include "base/describe.hpp"

namespace halftone::var_updates {

namespace {

/// x in t's element type, once both are known to fit.
void check_shape(AnyTensor t, AnyTensor x, std::string_view what) {
  const TensorInfo want = t.info(), have = x.info();
  if (!have.is_known() || have.shape == want.shape) return;
  fail(ErrorKind::model, {.what = what,
                          .tensor = t.name(),
                          .expected = detail::to_text(want),
                          .found = detail::to_text(have)});
}

AnyTensor operand(AnyTensor t, AnyTensor x) {
  check_shape(t, x, "an update has another shape than its variable");
  return x.info().type == t.info().type ? x : op::cast(x, {.to = t.info().type});
}

AnyTensor converted(AnyTensor t, Factor f) { return f.in(*t.graph, t.info().type); }

/// f t + (1 - f) x.
AnyTensor average(AnyTensor t, AnyTensor x, Factor f) {
  const AnyTensor part = converted(t, f);
  return change(t, part * t + (1 - part) * x);
}

}  // namespace

AnyTensor Factor::in(Graph& graph, ElementType type) const {
  if (tensor_.graph == nullptr) {
    return {&graph, graph.add_constant({type, {}}, detail::scalar_bytes(type, number_))};
  }
  const TensorInfo info = tensor_.info();
  if (info.is_known() && info.elements() != 1) {
    fail(ErrorKind::model, {.what = "a factor is not one number",
                            .tensor = tensor_.name(),
                            .expected = "one element",
                            .found = detail::to_text(info)});
  }
  return info.type == type ? tensor_ : op::cast(tensor_, {.to = type});
}

AnyTensor accumulate_(AnyTensor t, AnyTensor x, Factor f) {
  const AnyTensor part = operand(t, x);
  return change(t, f.is_given() ? t + converted(t, f) * part : t + part);
}

AnyTensor accumulate_square_(AnyTensor t, AnyTensor x, Factor f) {
  return change(t, t + converted(t, f) * op::square(operand(t, x)));
}

AnyTensor accumulate_mean_(AnyTensor t, AnyTensor x, Factor step) {
  const AnyTensor before = converted(t, step);
  return average(t, operand(t, x), before / (before + 1));
}

AnyTensor accumulate_moving_average_(AnyTensor t, AnyTensor x, Factor f) {
  return average(t, operand(t, x), f);
}

AnyTensor accumulate_moving_average_square_(AnyTensor t, AnyTensor x, Factor f) {
  return average(t, op::square(operand(t, x)), f);
}

AnyTensor sparse_accumulate_(AnyTensor t, AnyTensor x, AnyTensor indices, std::int64_t axis,
                             Factor f) {
  const std::size_t at = normalized_axis(axis, t.info().rank());
  if (at == t.info().rank()) {
    fail(ErrorKind::model, {.what = "axis is out of range",
                            .tensor = t.name(),
                            .expected = detail::to_text(t.info()),
                            .found = std::to_string(axis)});
  }
  AnyTensor part = x.info().type == t.info().type ? x : op::cast(x, {.to = t.info().type});
  if (f.is_given()) part = converted(t, f) * part;
  return change(
      t, op::scatter_reduce(part, indices, t, {.axis = axis, .axis_size = t.info().shape[at]}));
}

AnyTensor accumulator_scale_(AnyTensor t, Factor f) { return change(t, converted(t, f) * t); }

AnyTensor accumulator_zero_(AnyTensor t) { return change(t, op::zeros_like(t)); }

AnyTensor copy_var_update_(AnyTensor t, AnyTensor x) { return change(t, operand(t, x)); }

namespace {

/// What is missing among an updater's parts.
[[noreturn]] void missing(std::string_view what) { fail(ErrorKind::usage, {.what = what}); }

/// x with the weight's decay.
AnyTensor decayed(AnyTensor x, const Updater& how) {
  if (!how.weight_decay.is_given()) return x;
  if (how.weight.graph == nullptr) missing("weight decay of an updater without its weight");
  const AnyTensor weight = how.weight.info().type == x.info().type
                               ? how.weight
                               : op::cast(how.weight, {.to = x.info().type});
  return x + converted(x, how.weight_decay) * weight;
}

/// moment / (1 - beta^step).
AnyTensor unbiased(AnyTensor moment, Factor beta, AnyTensor step) {
  const AnyTensor power = op::pow(beta.in(*step.graph, step.info().type), step);
  return moment / converted(moment, 1 - power);
}

AnyTensor next_step(const Updater& how) { return change(how.time_step, how.time_step + 1); }

}  // namespace

AnyTensor adam_updater(AnyTensor m, AnyTensor v, const Updater& how) {
  check_shape(m, v, "the moments of an update have different shapes");
  if (how.time_step.graph != nullptr) {
    if (!how.beta1.is_given() || !how.beta2.is_given()) {
      missing("a time step of an updater without beta1 and beta2");
    }
    const AnyTensor step = next_step(how);
    m = unbiased(m, how.beta1, step);
    v = unbiased(v, how.beta2, step);
  }
  return decayed(m / (op::sqrt(v) + converted(v, how.epsilon)), how);
}

AnyTensor lamb_updater(AnyTensor m, AnyTensor v, const Updater& how) {
  return adam_updater(m, v, how);
}

AnyTensor adamax_updater(AnyTensor m, AnyTensor v, const Updater& how) {
  check_shape(m, v, "the moments of an update have different shapes");
  if (how.time_step.graph == nullptr) missing("adamax_updater without a time step");
  m = unbiased(m, how.beta1.is_given() ? how.beta1 : 0.9f, next_step(how));
  return decayed(m / (v + converted(v, how.epsilon)), how);
}

AnyTensor adam_var_update(AnyTensor t, AnyTensor x, AnyTensor r1, AnyTensor r2,
                          Factor learning_rate, Factor max_weight_norm) {
  const AnyTensor step = operand(t, x);
  const AnyTensor limit = converted(r1, max_weight_norm);
  const AnyTensor norm = op::minimum(op::sqrt(r1), limit), length = op::sqrt(r2);
  const AnyTensor is_one = op::logical_or(op::equal(norm, 0), op::equal(length, 0));
  const AnyTensor ratio = op::where(is_one, 1, norm / length);
  return change(t, t - converted(t, learning_rate) * converted(t, ratio) * step);
}

}  // namespace halftone::var_updates
