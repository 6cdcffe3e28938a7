#pragma once

#include <doctest/doctest.h>
#include <halftone/kernel/executor.hpp>
#include <halftone/op/list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <halftone/base/array.hpp>

/// Runs one operator on arrays, without graph or engine: inference, choice of the core's kernel by
/// element types, workspace, packing, kernel. What tests of operators share; thin, since hundreds
/// of operators pass through it.
namespace run_op_test {

using namespace halftone;

/// Stands for an optional input that is left out.
inline AnyArray absent() { return {}; }

Inferred infer(const Descriptor& op, std::span<const Word> attributes,
               const std::vector<AnyArray>& inputs, std::size_t outputs);

template <class Op>
Inferred infer(const Op& op, const std::vector<AnyArray>& inputs, std::size_t outputs = 0) {
  return infer(descriptor<Op>, pack(op), inputs, outputs);
}

/// Why the operator refuses inputs of these shapes; empty if it does not.
template <class Op>
std::string reason(const Op& op, const std::vector<AnyArray>& inputs, std::size_t outputs = 0) {
  return std::string(infer(op, inputs, outputs).reason);
}

/// `op` is the operator's struct.
std::vector<AnyArray> run_all(const Descriptor& descriptor, std::span<const Word> attributes,
                              const void* op, const std::vector<AnyArray>& inputs,
                              std::size_t outputs, std::uint64_t constants,
                              const halftone::kernel::Executor& executor);

/// All outputs of the operator; optional outputs are computed if `outputs` counts them.
/// `constants` has bit i set if input i is to be packed as a constant.
template <class Op>
std::vector<AnyArray> run_all(const Op& op, const std::vector<AnyArray>& inputs,
                              std::size_t outputs = 0, std::uint64_t constants = 0,
                              const halftone::kernel::Executor& executor = {}) {
  return run_all(descriptor<Op>, pack(op), &op, inputs, outputs, constants, executor);
}

/// The operator's first output.
template <class Op>
AnyArray run(const Op& op, const std::vector<AnyArray>& inputs,
             const halftone::kernel::Executor& executor = {}) {
  return run_all(op, inputs, 0, 0, executor)[0];
}

/// Runs the nodes of a graph whose operators are among Ops; what shares memory with its input is
/// copied. The arrays of all tensors by id; inputs are in the graph's order.
template <class... Ops>
std::vector<AnyArray> run_graph(const Graph& graph, const std::vector<AnyArray>& inputs) {
  std::vector<AnyArray> values(graph.tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (t.role != Role::constant) continue;
    values[i] = AnyArray(t.info);
    std::ranges::copy(t.data.span(), values[i].data());
  }
  for (const Node& node : graph.nodes) {
    std::vector<AnyArray> in;
    for (const TensorId id : node.inputs) {
      in.push_back(id == no_tensor ? absent() : values[static_cast<std::size_t>(id)]);
    }
    const bool found = ([&] {
      if (node.op->id != Ops::id) return false;
      const Ops op = unpack<Ops>(node.attributes);
      if constexpr (halftone::detail::elementwise_op<Ops> || halftone::detail::kernel_op<Ops>) {
        const auto out = run_all(op, in, node.outputs.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
          values[static_cast<std::size_t>(node.outputs[i])] = out[i];
        }
      } else {
        AnyArray y(infer(op, in).outputs[0]);
        REQUIRE(y.bytes() == in[0].bytes());
        std::copy_n(in[0].data(), y.bytes(), y.data());
        values[static_cast<std::size_t>(node.outputs[0])] = y;
      }
      return true;
    }() || ...);
    REQUIRE_MESSAGE(found, std::string(node.op->id.name));
  }
  return values;
}

/// Expands an older operator over inputs and runs what it became, which is among Ops.
template <class... Ops, class Old>
AnyArray run_expanded(const Old& old, const std::vector<AnyArray>& inputs) {
  Graph graph;
  std::vector<TensorId> ids;
  std::vector<AnyArray> given;
  for (const AnyArray& x : inputs) {
    if (!x.info().is_known()) {
      ids.push_back(no_tensor);
      continue;
    }
    ids.push_back(graph.add_input(x.info(), {}));
    given.push_back(x);
  }
  const std::vector<Word> words = pack(old);
  const std::vector<TensorId> out = halftone::detail::expand_thunk<Old>(graph, words, ids, 1);
  REQUIRE(out.size() == 1);
  return run_graph<Ops...>(graph, given)[static_cast<std::size_t>(out[0])];
}

/// Values of an array as double, whatever their type.
std::vector<double> doubles(const AnyArray& x);

/// Sets an array's elements, whatever their type.
void fill(AnyArray& x, const std::vector<double>& values);

/// An array of T from numbers.
template <class T>
Array<T> array(const Dims& shape, const std::vector<double>& values) {
  Array<T> x(shape);
  fill(x, values);
  return x;
}

/// Different numbers in [low, high], the same ones in every run.
std::vector<double> scattered_numbers(std::size_t count, double low, double high,
                                      std::uint64_t seed);

template <class T>
Array<T> scattered(const Dims& shape, double low, double high, std::uint64_t seed = 1) {
  const auto count = static_cast<std::size_t>(product(shape));
  return array<T>(shape, scattered_numbers(count, low, high, seed));
}

/// Largest relative error of a rounding to a type; 0 for integers.
double rounding(ElementType type);
template <class T>
double rounding() {
  return rounding(element_type<T>);
}

/// Every element within `units` roundings of its type, and half the type's smallest number.
void check_close(ElementType type, const AnyArray& y, const std::vector<double>& expected,
                 double units, double absolute);
template <class T>
void check_close(const AnyArray& y, const std::vector<double>& expected, double units = 4,
                 double absolute = 0) {
  check_close(element_type<T>, y, expected, units, absolute);
}

void check_equal(ElementType type, const AnyArray& y, const Dims& shape,
                 const std::vector<double>& expected);
template <class T>
void check_equal(const AnyArray& y, const Dims& shape, const std::vector<double>& expected) {
  check_equal(element_type<T>, y, shape, expected);
}

/// Points between low and high, and what IEEE has besides numbers.
AnyArray points(ElementType type, double low, double high);

/// f(x) of an element-wise operator of one input, over points.
template <class T, class Op, class F>
void check_unary(const Op& op, F f, double low, double high, double units = 4,
                 double absolute = 0) {
  const AnyArray x = points(element_type<T>, low, high);
  std::vector<double> expected;
  for (const double v : doubles(x)) expected.push_back(static_cast<double>(f(v)));
  check_close<T>(run(op, {x}), expected, units, absolute);
}

/// backward(1, x) of an element-wise operator of one input against central differences of
/// forward, both in double.
template <class Op>
void check_gradient(const Op& op, double low, double high, double tolerance = 1e-7) {
  for (int i = 0; i <= 40; ++i) {
    const double x = low + (high - low) * (i + 0.37) / 41, h = 1e-5;
    const double slope =
        (static_cast<double>(op.forward(x + h)) - static_cast<double>(op.forward(x - h))) / (2 * h);
    const double dx = static_cast<double>(op.backward(1.0, x));
    CAPTURE(x);
    CHECK(std::fabs(dx - slope) <= tolerance * (1 + std::fabs(slope)));
  }
}

}  // namespace run_op_test
