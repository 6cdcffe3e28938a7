#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONCAT_HPP
#define HALFTONE_OP_CONCAT_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Joins tensors along a dimension they have.
///
/// inputs  at least one, of one shape but for the extent along `axis`
/// axis    from the end if negative; required
/// source  ai.onnx Concat-13
struct Concat {
  std::int64_t axis = required;

  static constexpr OpId id{"ai.onnx", "Concat", 4, 11, 13};
  static constexpr Signature signature = "inputs... -> y";
  using types = TypeList<BitTypes>;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(const Inputs& in) const {
    if (in.size() == 0) return Inferred::mismatch("there is no input", 1, 0);
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in.has(i)) return Inferred::unknown();
    }
    TensorInfo y = in[0];
    const auto rank = static_cast<std::int64_t>(y.rank());
    const std::size_t at = normalized_axis(axis, y.rank());
    if (at == y.rank()) return Inferred::mismatch("axis is out of range", rank, axis);
    for (std::size_t n = 1; n < in.size(); ++n) {
      if (in[n].rank() != y.rank()) {
        return Inferred::mismatch("the inputs have different ranks", rank,
                                  static_cast<std::int64_t>(in[n].rank()));
      }
      for (std::size_t i = 0; i < y.rank(); ++i) {
        const std::int64_t have = y.shape[i], found = in[n].shape[i];
        if (i != at) {
          y.shape[i] = agree(have, found);
          if (y.shape[i] == contradictory) {
            return Inferred::mismatch("the inputs differ along another dimension than axis", have,
                                      found);
          }
        } else if (have == dynamic || found == dynamic) {
          y.shape[i] = dynamic;
        } else {
          y.shape[i] = have > INT64_MAX - found ? INT64_MAX : have + found;
        }
      }
    }
    return y;
  }

  template <class T>
  void kernel(const KernelCall& call, ViewList<const T> inputs, View<T> y) const {
    const std::size_t at = normalized_axis(axis, y.rank);
    const std::int64_t outer = y.size(0, at), whole = y.size(at, y.rank);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t run = inputs[i].size(at, y.rank);
      kernel::Box box;
      box.add(outer, whole, run);
      box.add(run, 1, 1);
      // A piece that its node wrote to its place in y needs no copy.
      if (inputs[i].data != y.data + offset) {
        kernel::copy<T>(*call.executor, box, inputs[i].data, y.data + offset);
      }
      offset += run;
    }
  }
  constexpr void gradient(auto& g) const {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < g.inputs(); ++i) {
      const TensorInfo x = g.x(i).info();
      const std::int64_t end = begin + x.shape[normalized_axis(axis, x.rank())];
      g.dx(i) += op::slice(g.dy(), constant(g.graph(), {begin}), constant(g.graph(), {end}),
                           constant(g.graph(), {axis}));
      begin = end;
    }
  }
};

/// Concat along dimension 1 unless axis says another.
struct Concat_1 {
  std::int64_t axis = 1;

  static constexpr OpId id{"ai.onnx", "Concat", 1};
  static constexpr Signature signature = "inputs... -> y";

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr AnyTensor expand(auto&, const auto& inputs, std::size_t) const {
    return concat(inputs, {.axis = axis});
  }
};

}  // namespace halftone::op

#endif
