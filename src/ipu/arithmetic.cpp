#include "ipu/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <halftone/graph/some_attributes.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "exec/run_node.hpp"

namespace halftone::ipu {

std::int64_t broadcast_index(const Dims& x, const Dims& y, std::int64_t i) {
  std::int64_t at = 0, step = 1;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::int64_t extent = y[y.size() - 1 - k], own = x[x.size() - 1 - k];
    if (own != 1) at += i % extent * step;
    step *= own;
    i /= extent;
  }
  return at;
}

AnyArray widened(const AnyView& x) {
  AnyArray wide(TensorInfo{ElementType::float32, x.info.shape});
  const auto* from = static_cast<const half*>(x.data);
  float* to = wide.values<float>().data();
  for (std::int64_t i = 0, n = x.info.elements(); i < n; ++i) to[i] = static_cast<float>(from[i]);
  return wide;
}

namespace {

half half_of(std::uint16_t bits) { return std::bit_cast<half>(bits); }

/// Nodes whose attributes say half say float instead.
class WideTypes final : public SomeAttributes {
 public:
  bool has_changed = false;

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if ((name != "to" && name != "dtype") || !present) return;
    if (value != static_cast<std::int64_t>(ElementType::float16)) return;
    value = static_cast<std::int64_t>(ElementType::float32);
    has_changed = true;
  }
};

/// Whether floats do for the halves of this node.
bool has_wide_form(const Node& node, std::span<const TensorInfo> in,
                   std::span<const TensorInfo> out) {
  const Slots& signature = node.op->signature;
  const auto is_wide = [&](const TensorInfo& info, const Slot& slot) {
    return !is_half(info) || slot.mixed ||
           node.op->allows(slot.type_variable, ElementType::float32);
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!is_wide(in[i], signature.input_slot(i))) return false;
  }
  for (std::size_t o = 0; o < out.size(); ++o) {
    if (!is_wide(out[o], signature.output_slot(o))) return false;
  }
  return true;
}

/// Calls f for each element of a tensor of float or half; the others have none.
void for_floats(const AnyView& x, auto&& f) {
  if (x.data == nullptr) return;
  visit_type<TypeList<float, half>>(x.info.type, [&]<class T>() {
    for (const T v : x.values<T>()) f(static_cast<float>(v));
  });
}

struct Seen {
  bool nan = false, infinity = false, zero = false;
};
Seen look_at(const AnyView& x) {
  Seen seen;
  for_floats(x, [&](float v) {
    seen.nan = seen.nan || detail::is_nan(v);
    seen.infinity = seen.infinity || std::isinf(v);
    seen.zero = seen.zero || v == 0;
  });
  return seen;
}

}  // namespace

ArithmeticRunner::ArithmeticRunner(const Arithmetic& arithmetic, const Target& target,
                                   const ProductOptions& products)
    : arithmetic_(arithmetic),
      t_(target),
      products_(products),
      planner_(target),
      random_(target.tiles(), target.worker_contexts) {}

std::vector<AnyArray> ArithmeticRunner::run(const Graph& graph, const Node& node,
                                            std::span<const AnyView> inputs,
                                            const kernel::Executor& executor) {
  const Now now{graph, node, inputs, executor};
  if (is_view(node)) return run_node(graph, node, inputs, executor);
  check_scale(now);
  const Vector<TensorInfo> infos = infos_of_outputs(graph, node, inputs);
  std::vector<AnyArray> outputs;
  const bool has_half =
      std::any_of(infos.begin(), infos.end(), is_half) ||
      std::any_of(inputs.begin(), inputs.end(), [](const AnyView& x) { return is_half(x.info); });
  if (arithmetic_.hardware_random && node.op->signature.has_seed() && draw(now, infos, outputs)) {
    return outputs;
  }
  if (node.op->id == op::Pow2ScaleThenCast::id) {
    outputs.push_back(cast_to_float8(now, infos[0]));
  } else if (!has_half || infos.empty()) {
    outputs = run_node(graph, node, inputs, executor);
  } else if (!run_product(now, infos[0], outputs) && !run_recurrent(now, infos, outputs)) {
    outputs = run_wide(now, infos);
  }
  for (AnyArray& y : outputs) {
    if (y.info().type != ElementType::float32) continue;
    for (float& v : y.values<float>()) {
      if (std::abs(v) < 0x1p-126f) v = std::copysign(0.0f, v);
    }
  }
  if (arithmetic_.floating_point_checks) check_results(now, outputs);
  return outputs;
}

std::vector<AnyArray> ArithmeticRunner::run_wide(const Now& now, const Vector<TensorInfo>& infos) {
  Vector<TensorInfo> in;
  for (const AnyView& x : now.inputs) in.push_back(x.info);
  if (!has_wide_form(now.node, in, infos)) {
    return run_node(now.graph, now.node, now.inputs, now.executor);
  }
  std::vector<AnyView> inputs(now.inputs.begin(), now.inputs.end());
  std::vector<AnyArray> wide(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_half(inputs[i].info) || now.node.op->only_infos) continue;
    wide[i] = widened(inputs[i]);
    inputs[i] = wide[i];
  }
  Node node = now.node;
  WideTypes types;
  node.op->attributes(node.attributes, types);
  std::vector<AnyArray> outputs = run_node(now.graph, node, inputs, now.executor);
  for (std::size_t o = 0; o < outputs.size() && o < infos.size(); ++o) {
    if (!is_half(infos[o]) || now.node.outputs[o] == no_tensor) continue;
    outputs[o] = narrowed(
        now, o, outputs[o].info().type == ElementType::float32 ? outputs[o] : widened(outputs[o]));
  }
  // What the node modifies is the graph's, not the copy.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_half(now.inputs[i].info) || !now.node.op->signature.input_slot(i).modified) continue;
    const auto as_output = [&](std::size_t o) {
      return now.node.op->signature.output_slot(o).shares == static_cast<int>(i) &&
             now.node.outputs[o] != no_tensor;
    };
    std::size_t o = 0;
    while (o < outputs.size() && !as_output(o)) ++o;
    const AnyArray value = o < outputs.size() ? outputs[o] : narrowed(now, 0, wide[i]);
    std::memcpy(const_cast<void*>(now.inputs[i].data), value.data(), value.bytes());
  }
  return outputs;
}

// --- narrowing -----------------------------------------------------------------------------------

bool ArithmeticRunner::narrow_floats(const Mapping& mapping, std::int64_t first,
                                     std::span<float> values) {
  const bool nan = arithmetic_.floating_point_checks;
  bool has_overflowed = false;
  const auto keep = [&](float& v, Narrowed n) {
    has_overflowed = has_overflowed || n.has_overflowed;
    v = static_cast<float>(half_of(n.bits));
  };
  if (!arithmetic_.stochastic_rounding) {
    for (float& v : values) keep(v, narrow(v, nan));
    return has_overflowed;
  }
  // Vectors of four on a tile go round the workers; each is a draw.
  constexpr std::int64_t width = 4;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t grains = std::max<std::int64_t>(mapping.grains(), 1);
  std::int64_t piece = first / mapping.grain * mapping.pieces / grains;
  for (std::int64_t i = 0; i < count;) {
    while (mapping.begin(piece + 1) <= first + i) ++piece;
    while (mapping.begin(piece) > first + i) --piece;
    const std::int64_t start = mapping.begin(piece), end = mapping.begin(piece + 1);
    const std::int64_t tile = (mapping.first_tile + piece) % mapping.tiles;
    while (i < count && first + i < end) {
      const std::int64_t local = first + i - start;
      const std::int64_t last =
          std::min(width - local % width, std::min(count - i, end - first - i));
      std::uint64_t bits = random_.at(tile, local / width % random_.workers()).next();
      bits >>= 16 * (local % width);
      for (std::int64_t k = 0; k < last; ++k, bits >>= 16, ++i) {
        float& v = values[static_cast<std::size_t>(i)];
        keep(v, narrow(v, nan, static_cast<std::uint16_t>(bits)));
      }
    }
  }
  return has_overflowed;
}

void ArithmeticRunner::round_to_half(const Now& now, std::size_t output, std::span<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  if (narrow_floats(linear_mapping(t_, n, ElementType::float16), 0, values)) {
    raise(now, output, "overflow");
  }
}

AnyArray ArithmeticRunner::narrowed(const Now& now, std::size_t output, const AnyArray& wide) {
  AnyArray y(TensorInfo{ElementType::float16, wide.info().shape});
  const std::int64_t n = y.info().elements();
  std::vector<float> values(wide.values<float>().begin(), wide.values<float>().end());
  round_to_half(now, output, values);
  half* to = y.values<half>().data();
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = static_cast<half>(values[static_cast<std::size_t>(i)]);
  return y;
}

// --- float8 --------------------------------------------------------------------------------------

AnyArray ArithmeticRunner::cast_to_float8(const Now& now, const TensorInfo& info) const {
  const AnyView& x = now.inputs[0];
  const float factor =
      halftone::detail::power_of_two(*static_cast<const std::int32_t*>(now.inputs[1].data));
  AnyArray y(info);
  visit_type<Float8Types>(info.type, [&]<class T>() {
    auto to = y.values<T>().begin();
    for_floats(x, [&](float v) {
      const float scaled = v * factor;
      // The code of a negative zero is the machine's only NaN.
      *to = scaled == 0 ? T(0.0f) : T(detail::is_nan(scaled) ? std::abs(scaled) : scaled);
      if (detail::is_nan(scaled)) raise(now, 0, "invalid operation");
      const float unsaturated = T::unsaturated(scaled);
      if (!std::isfinite(unsaturated)) raise(now, 0, "overflow");
      if (static_cast<float>(*to) == 0) *to = T(0.0f);
      ++to;
    });
  });
  return y;
}

// --- exceptions ----------------------------------------------------------------------------------

void ArithmeticRunner::check_scale(const Now& now) const {
  const OpId& id = now.node.op->id;
  if (!arithmetic_.check_float8_scale ||
      (id != op::CastThenPow2Scale::id && id != op::Pow2ScaleThenCast::id)) {
    return;
  }
  const std::int32_t scale = *static_cast<const std::int32_t*>(now.inputs[1].data);
  if (scale >= -32 && scale < 32) return;
  const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
  fail(ErrorKind::input, {.what = "the exponent of a scaled float8 cast is out of range",
                          .node = where,
                          .tensor = now.graph.name(now.node.inputs[1]),
                          .expected = "-32 to 31",
                          .found = std::to_string(scale)});
}

bool ArithmeticRunner::divides_by_zero(const Now& now) {
  const OpId& id = now.node.op->id;
  if (id == op::Div::id) return look_at(now.inputs[1]).zero;
  return (id == op::Reciprocal::id || id == op::Log::id) && look_at(now.inputs[0]).zero;
}

void ArithmeticRunner::trap(const Now& now, std::size_t output, std::string_view exception) const {
  if (exception == "overflow" && divides_by_zero(now)) exception = "division by zero";
  const std::string what = "floating-point exception: " + std::string(exception);
  const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
  const TensorId id = now.node.outputs[output];
  std::string tensor(id == no_tensor ? std::string_view{} : now.graph.name(id));
  if (tensor.empty()) tensor = "output " + std::to_string(output);
  throw FloatingPointError({.what = what, .node = where, .tensor = tensor}, exception);
}

void ArithmeticRunner::check_results(const Now& now, std::span<const AnyArray> outputs) const {
  const OpId& id = now.node.op->id;
  // What only moves elements traps at none.
  Vector<TensorInfo> in, out;
  for (const AnyView& x : now.inputs) in.push_back(x.info);
  for (const AnyArray& y : outputs) out.push_back(y.info());
  const bool computes = now.node.op->flops(now.node.attributes, in, out) > 0 &&
                        id != op::Where::id && id != op::Identity::id && id != op::IsNaN::id &&
                        id != op::IsInf::id;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].info().is_known()) continue;
    const Seen y = look_at(outputs[o]);
    if (!y.nan && !y.infinity) continue;
    Seen x;
    for (const AnyView& input : now.inputs) {
      const Seen seen = look_at(input);
      x.nan = x.nan || seen.nan;
      x.infinity = x.infinity || seen.infinity;
    }
    if (y.nan && (!x.nan || computes)) trap(now, o, "invalid operation");
    if (!y.infinity || x.infinity) continue;
    trap(now, o, "overflow");
  }
}

}  // namespace halftone::ipu
