#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SPLIT_HPP
#define HALFTONE_OP_SPLIT_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Divides a tensor along a dimension.
///
/// split        extent of each output along `axis`; absent: equal ones
/// num_outputs  instead of split, the number of outputs, whose extents are rounded up, the last one
///              smaller; absent: as many as the node has, and they must divide evenly
/// axis         from the end if negative
/// source       ai.onnx Split-18; version 13 has no num_outputs
struct Split {
  std::int64_t axis = 0;
  Optional<std::int64_t> num_outputs{};

  static constexpr OpId id{"ai.onnx", "Split", 13, 18};
  static constexpr Signature signature = "x split:I? -> outputs...";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("num_outputs", num_outputs);
  }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    const std::int64_t extent = x.shape[at];
    const auto wanted = static_cast<std::int64_t>(in.output_count());
    std::vector<std::int64_t> sizes;
    if (in.has(1)) {
      if (num_outputs) return Inferred::mismatch("both split and num_outputs are given");
      if (!in.is_constant(1)) return sizes_unknown(x, at, in.output_count());
      sizes = in.integers(1);
      std::int64_t total = 0;
      for (const std::int64_t size : sizes) {
        if (size < 0) return Inferred::mismatch("a size in split is negative", 0, size);
        total = size > INT64_MAX - total ? INT64_MAX : total + size;
      }
      if (contradict(extent, total)) {
        return Inferred::mismatch("the sizes in split do not add up to the extent", extent, total);
      }
    } else {
      const std::int64_t count = num_outputs.value_or(wanted);
      if (count < 1 || count > most_outputs) {
        return Inferred::mismatch("the number of outputs is out of range", 1, count);
      }
      if (extent == dynamic) return sizes_unknown(x, at, static_cast<std::size_t>(count));
      const std::int64_t size = (extent + count - 1) / count;
      if (!num_outputs && extent % count != 0) {
        return Inferred::mismatch("the outputs do not divide the extent evenly", extent, count);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t left = extent - i * size;
        sizes.push_back(left < 0 ? 0 : left < size ? left : size);
      }
    }
    if (wanted != 0 && wanted != static_cast<std::int64_t>(sizes.size())) {
      return Inferred::mismatch("the node has another number of outputs",
                                static_cast<std::int64_t>(sizes.size()), wanted);
    }
    Vector<TensorInfo> outputs(sizes.size(), x);
    for (std::size_t i = 0; i < sizes.size(); ++i) outputs[i].shape[at] = sizes[i];
    return outputs;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I>, ViewList<T> outputs) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t outer = x.size(0, at), whole = x.size(at, x.rank);
    const std::int64_t behind = x.size(at + 1, x.rank);
    const std::int64_t extent = x.extent(at);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      // An output that is not wanted has no extents: only equal ones can be found without it.
      const View<T> y = outputs[i];
      if (!y) {
        offset += absent_size(call, i, extent) * behind;
        continue;
      }
      const std::int64_t run = y.size(at, x.rank);
      kernel::Box box;
      box.add(outer, run, whole);
      box.add(run, 1, 1);
      kernel::copy<T>(*call.executor, box, x.data + offset, y.data);
      offset += run;
    }
  }
  constexpr void gradient(auto& g) const {
    std::vector parts{g.dy(0)};
    for (std::size_t i = 1; i < g.outputs(); ++i) parts.push_back(g.dy(i));
    g.dx(0) += op::concat(parts, {.axis = axis});
  }

 private:
  static constexpr std::int64_t most_outputs = 1 << 20;

  static constexpr Inferred sizes_unknown(TensorInfo x, std::size_t axis, std::size_t outputs) {
    x.shape[axis] = dynamic;
    return Vector<TensorInfo>(outputs, x);
  }
  std::int64_t absent_size(const KernelCall& call, std::size_t output, std::int64_t extent) const {
    if (call.inputs > 1 && call.arguments[1].data != nullptr) {
      return static_cast<const std::int64_t*>(call.arguments[1].data)[output];
    }
    const std::int64_t count = num_outputs.value_or(call.outputs);
    const std::int64_t size = (extent + count - 1) / count;
    const std::int64_t left = extent - static_cast<std::int64_t>(output) * size;
    return left < 0 ? 0 : left < size ? left : size;
  }
};

/// Split whose sizes are an attribute.
struct Split_2 {
  std::int64_t axis = 0;
  BoundedList<std::int64_t, 255> split{};

  static constexpr OpId id{"ai.onnx", "Split", 2, 11};
  static constexpr Signature signature = "x -> outputs...";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("split", split);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    Vector<TensorId> ids{inputs[0].id};
    if (!split.empty()) {
      const auto count = static_cast<std::int64_t>(split.size());
      ids.push_back(constant(graph, split.span(), {count}).id);
    }
    Vector<AnyTensor> parts;
    for (const TensorId part : detail::record(graph, Split{.axis = axis}, ids, outputs)) {
      parts.push_back({&graph, part});
    }
    return parts;
  }
};

}  // namespace halftone::op

#endif
