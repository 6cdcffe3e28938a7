#pragma once

#include <doctest/doctest.h>
#include <halftone/kernels.hpp>

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

/// Runs one operator on arrays, without graph, engine or the core's kernel table: inference, choice
/// of the kernel by element type, workspace, packing, kernel. What tests of operators share.
namespace run_op_test {

using namespace halftone;

/// Stands for an optional input that is left out.
inline AnyArray absent() { return {}; }

template <class Op>
Inferred infer(const Op& op, const std::vector<AnyArray>& inputs, std::size_t outputs = 0) {
  std::vector<InputInfo> infos;
  for (const AnyArray& x : inputs) {
    if (!x.info().is_known()) {
      infos.push_back({});
    } else {
      infos.push_back({x.info(), {x.data(), x.data() == nullptr ? 0 : x.bytes()}, true});
    }
  }
  if (outputs == 0) outputs = Op::signature.required_outputs();
  return halftone::detail::infer_checked(op, Inputs(infos, outputs));
}

/// Why the operator refuses inputs of these shapes; empty if it does not.
template <class Op>
std::string reason(const Op& op, const std::vector<AnyArray>& inputs, std::size_t outputs = 0) {
  return std::string(infer(op, inputs, outputs).reason);
}

template <class Op>
std::vector<ElementType> type_variables(const std::vector<AnyArray>& inputs,
                                        const std::vector<TensorInfo>& outputs) {
  std::vector<ElementType> types(Op::signature.type_variables(), ElementType::undefined);
  const auto note = [&](const Slot& slot, ElementType type) {
    ElementType& t = types[static_cast<std::size_t>(slot.type_variable)];
    if (t == ElementType::undefined) t = type;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    note(Op::signature.input_slot(i), inputs[i].info().type);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    note(Op::signature.output_slot(i), outputs[i].type);
  }
  // A variable of absent tensors alone: any type that the operator takes will do.
  for (std::size_t v = 0; v < types.size(); ++v) {
    for (int t = 1; types[v] == ElementType::undefined && t <= 20; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (halftone::detail::allows<Op>(static_cast<int>(v), type)) types[v] = type;
    }
  }
  return types;
}

/// Blocks of a size that leaves rests, so that broadcasting starts and ends anywhere in a row.
template <class Op>
void run_blocks(const Op& op, const Kernel& kernel, const std::vector<AnyArray>& inputs,
                AnyArray& output) {
  constexpr std::int64_t block = 37;
  constexpr std::size_t count = Op::signature.inputs();
  const Dims& shape = output.info().shape;
  const std::int64_t n = output.info().elements();
  std::vector<halftone::kernel::BroadcastInput> broadcast;
  std::vector<AnyArray> own(count);
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = i < inputs.size() ? inputs[i] : absent();
    if (!own[i].info().is_known()) {
      own[i] = AnyArray(TensorInfo{inputs[0].info().type, {}});
      kernel.absent(&op, i, own[i].data());
    }
    const Dims& extents = own[i].info().shape;
    broadcast.emplace_back(shape.begin(), shape.size(), extents.begin(), extents.size(),
                           static_cast<std::size_t>(size_in_bytes(own[i].info().type)));
  }
  const auto y_size = static_cast<std::size_t>(size_in_bytes(output.info().type));
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t size = n - first < block ? n - first : block;
    alignas(64) std::byte temporary[count][block * 8];
    const void* in[count];
    std::uint32_t uniform = 0;
    for (std::size_t i = 0; i < count; ++i) {
      uniform |= broadcast[i].is_uniform() ? 1u << i : 0;
      in[i] = broadcast[i].is_uniform()
                  ? own[i].data()
                  : broadcast[i].fetch(own[i].data(), first, size, temporary[i]);
    }
    std::byte* y = output.data() + static_cast<std::size_t>(first) * y_size;
    // The kit of helpers has the former kernel.
    [&](const auto& k) {
      if constexpr (requires { k.block(&op, in, uniform, y, size); }) {
        k.block(&op, in, uniform, y, size);
      } else {
        for (std::size_t i = 0; i < count; ++i)
          in[i] = broadcast[i].fetch(own[i].data(), first, size, temporary[i]);
        k.block(&op, in, y, size);
      }
    }(kernel);
  }
}

/// All outputs of the operator; optional outputs are computed if `outputs` counts them.
/// `constants` has bit i set if input i is to be packed as a constant.
template <class Op>
std::vector<AnyArray> run_all(const Op& op, const std::vector<AnyArray>& inputs,
                              std::size_t outputs = 0, std::uint64_t constants = 0,
                              const halftone::kernel::Executor& executor = {}) {
  const Inferred inferred = infer(op, inputs, outputs);
  REQUIRE_MESSAGE(inferred.ok(), std::string(inferred.reason));
  std::vector<AnyArray> y;
  for (const TensorInfo& info : inferred.outputs) {
    REQUIRE(info.is_static());
    y.emplace_back(info);
    // What a kernel leaves out shows up as a strange number.
    for (std::size_t i = 0; i < y.back().bytes(); ++i) y.back().data()[i] = std::byte{0x5b};
  }
  const std::vector<ElementType> types = type_variables<Op>(inputs, inferred.outputs);
  if constexpr (halftone::detail::elementwise_op<Op>) {
    const Kernel kernel = halftone::detail::select_kernel<Op, halftone::kernel::VectorMaker>(types);
    REQUIRE((kernel.block != nullptr));
    run_blocks(op, kernel, inputs, y[0]);
  } else {
    const Kernel kernel = halftone::detail::select_kernel<Op, halftone::detail::ScalarMaker>(types);
    REQUIRE((kernel.run != nullptr));
    std::vector<TensorArgument> arguments;
    const auto add = [&](const AnyArray& x) {
      if (!x.info().is_known()) {
        arguments.push_back({});
      } else {
        // Empty tensors have a place, too: null means absent.
        static std::byte nothing[64];
        void* data = x.bytes() == 0 ? nothing : const_cast<std::byte*>(x.data());
        arguments.push_back({data, x.info().shape.begin(), x.info().rank()});
      }
    };
    for (const AnyArray& x : inputs) add(x);
    for (const AnyArray& x : y) add(x);
    KernelCall call{.op = &op,
                    .arguments = arguments.data(),
                    .inputs = static_cast<std::uint32_t>(inputs.size()),
                    .outputs = static_cast<std::uint32_t>(y.size()),
                    .constants = constants,
                    .executor = &executor};
    const std::size_t packed = kernel.packed_bytes(call), space = kernel.workspace(call);
    const AnyArray packed_memory({ElementType::uint8, {static_cast<std::int64_t>(packed)}});
    AnyArray workspace({ElementType::uint8, {static_cast<std::int64_t>(space)}});
    if (packed != 0) {
      kernel.pack(call, const_cast<std::byte*>(packed_memory.data()));
      call.packed = packed_memory.data();
    }
    call.workspace = workspace.data();
    kernel.run(call);
  }
  return y;
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
    for (std::size_t k = 0; k < t.data.size(); ++k) values[i].data()[k] = t.data.span()[k];
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
        for (std::size_t i = 0; i < y.bytes(); ++i) y.data()[i] = in[0].data()[i];
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
inline std::vector<double> doubles(const AnyArray& x) {
  std::vector<double> values;
  visit_type<AllTypes>(x.info().type, [&]<class T>() {
    for (const T& v : x.values<T>()) values.push_back(static_cast<double>(v));
  });
  return values;
}

/// An array of T from numbers.
template <class T>
Array<T> array(const Dims& shape, const std::vector<double>& values) {
  Array<T> x(shape);
  REQUIRE(x.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (real<T>) {
      x[i] = static_cast<T>(static_cast<halftone::detail::Compute<T>>(values[i]));
    } else {
      x[i] = static_cast<T>(values[i]);
    }
  }
  return x;
}

/// Different numbers in [low, high], the same ones in every run.
template <class T>
Array<T> scattered(const Dims& shape, double low, double high, std::uint64_t seed = 1) {
  std::vector<double> values(static_cast<std::size_t>(product(shape)));
  for (double& v : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v = low + (high - low) * static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return array<T>(shape, values);
}

/// Largest relative error of a rounding to T; 0 for integers.
template <class T>
constexpr double rounding() {
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24;
  if constexpr (std::is_same_v<T, half>) return 0x1p-11;
  if constexpr (std::is_same_v<T, bfloat16>) return 0x1p-8;
  return 0;
}

inline bool is_close(double y, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(y);
  if (std::isinf(expected)) return y == expected;
  return std::fabs(y - expected) <= relative * std::fabs(expected) + absolute;
}

/// Every element within `units` roundings of T, and half the smallest number of T.
template <class T>
void check_close(const AnyArray& y, const std::vector<double>& expected, double units = 4,
                 double absolute = 0) {
  REQUIRE(y.info().type == element_type<T>);
  const std::vector<double> found = doubles(y);
  REQUIRE(found.size() == expected.size());
  if (std::is_same_v<T, half>) absolute += 0x1p-24;
  if (std::is_same_v<T, float>) absolute += 0x1p-149;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double want =
        std::is_same_v<T, half> && std::fabs(expected[i]) >= 65520 && !std::isnan(expected[i])
            ? std::copysign(std::numeric_limits<double>::infinity(), expected[i])
            : expected[i];
    if (!is_close(found[i], want, units * rounding<T>(), absolute)) {
      CAPTURE(i);
      CHECK(found[i] == want);
    }
  }
  CHECK(true);
}

template <class T>
void check_equal(const AnyArray& y, const Dims& shape, const std::vector<double>& expected) {
  CHECK(y.info().type == element_type<T>);
  CHECK(y.info().shape == shape);
  CHECK(doubles(y) == expected);
}

/// f(x) of an element-wise operator of one input, over points and what IEEE has besides numbers.
template <class T, class Op, class F>
void check_unary(const Op& op, F f, double low, double high, double units = 4,
                 double absolute = 0) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> points{0.0, -0.0, 1, -1, infinity, -infinity, std::nan(""), low, high};
  const Array<T> some = scattered<T>({200}, low, high);
  for (const T& v : some.values()) points.push_back(static_cast<double>(v));
  const Array<T> x = array<T>({static_cast<std::int64_t>(points.size())}, points);
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
    // The same text on vectors.
    using V = halftone::kernel::Vec<double>;
    CHECK(std::fabs(V(op.backward(V(1.0), V(x)))[0] - dx) <= 1e-9 * (1 + std::fabs(dx)));
  }
}

}  // namespace run_op_test
