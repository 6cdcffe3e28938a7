#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <halftone/base/element_type.hpp>
#include <halftone/base/object.hpp>
#include <halftone/base/view.hpp>
#include <halftone/graph/attribute.hpp>
#include <halftone/graph/signature.hpp>
#include <halftone/kernel/communicator.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/precision.hpp>

namespace halftone {

/// One tensor of a step. Absent optional tensors have null data and extents.
struct TensorArgument {
  void* data = nullptr;
  const std::int64_t* extents = nullptr;
  std::size_t rank = 0;
};

/// Runs a graph attribute of the node: `index` counts the node's Subgraph attributes in order.
struct SubgraphRunner {
  void (*run)(void* self, std::size_t index) = nullptr;
  void* self = nullptr;
};

/// What a kernel reaches beside its tensors: nothing; the host's streams and remote buffers
/// (KernelCall::host); the other replicas (KernelCall::communicator). An operator says it:
/// `static constexpr Reaches reaches = Reaches::replicas;`
enum class Reaches : std::uint8_t { nothing, host, replicas };

/// What a kernel gets beside its views; plain data that crosses the border between instruction
/// sets.
struct KernelCall {
  const void* op = nullptr;                   ///< the operator's struct, unpacked
  const TensorArgument* arguments = nullptr;  ///< inputs, then outputs
  std::uint32_t inputs = 0, outputs = 0;
  std::uint64_t constants = 0;   ///< bit i: input i never changes
  void* workspace = nullptr;     ///< as many bytes as `workspace` asked for
  const void* packed = nullptr;  ///< what `pack` made of constant inputs, or null
  const kernel::Executor* executor = nullptr;
  const kernel::Communicator* communicator = nullptr;  ///< null: there are no other replicas
  const kernel::Host* host = nullptr;
  std::uint32_t number = 0;  ///< of a step where replicas meet: the same in all of them
  Precision precision = Precision::float32;  ///< of dense products; one that this machine has
  const SubgraphRunner* subgraphs = nullptr;

  constexpr bool is_constant(std::size_t input) const { return (constants >> input & 1) != 0; }
};

namespace kernel {

/// A step of a chain of small operators whose values stay in registers (kernel/chain.hpp): the
/// operator's link, or one that stores the value.
using ChainLink = void (*)();
struct ChainStep {
  static constexpr std::size_t most_others = 3;

  ChainLink link;
  const void* op;
  /// Inputs that do not come through the chain; a store has the one where it goes to.
  struct Operand {
    const void* data;
    std::int64_t mask;  ///< of the position: -1, or 0 for one element, repeated over a vector
  } others[most_others];
};

/// What chains have beside the operators' links, the same for all.
struct ChainFunctions {
  /// n floats from x on, a multiple of `tile`, through all steps; the last one stores.
  void (*run)(const ChainStep* steps, const float* x, std::int64_t n);
  ChainLink store, store_last;
  std::int64_t tile;   ///< elements that go through at once
  std::int64_t lanes;  ///< of a vector
};

}  // namespace kernel

/// The functions of one operator for one choice of element types.
struct Kernel {
  void (*run)(const KernelCall& call) = nullptr;
  /// Makes the operator's struct from its packed attributes, in `op_size` bytes.
  void (*unpack)(std::span<const Word> attributes, void* op) = nullptr;
  std::size_t op_size = 0;
  /// Bytes of scratch memory for a call with these extents; null: none.
  std::size_t (*workspace)(const KernelCall& call) = nullptr;
  /// Bytes that the constant inputs take when packed; 0: they are used as they are. Null, as `pack`
  /// is then: always.
  std::size_t (*packed_bytes)(const KernelCall& call) = nullptr;
  void (*pack)(const KernelCall& call, void* packed) = nullptr;
  /// The input that is not read any more once it is packed (`Op::packed_input`); -1: none.
  int packed_input = -1;
  /// Operators that may be fused: n elements. Bit i of `uniform`: input i is one element that serves for
  /// all; other inputs are dense and may be the output.
  void (*block)(const void* op, const void* const* inputs, std::uint32_t uniform, void* output,
                std::int64_t n) = nullptr;
  /// Short element-wise operators of floats (`Op::is_short`): the link that gets inputs with their
  /// bit in `chained` through a chain, null if there is none; and what chains need beside links.
  kernel::ChainLink (*link)(std::uint32_t chained) = nullptr;
  kernel::ChainFunctions (*chain)() = nullptr;
  /// Element-wise operators: the element that stands for an optional input that is absent.
  void (*absent)(const void* op, std::size_t input, void* element) = nullptr;
};

/// The tensors of a variadic slot.
template <class T>
class ViewList {
 public:
  ViewList(const TensorArgument* first, std::size_t count) : first_(first), count_(count) {}
  std::size_t size() const { return count_; }
  View<T> operator[](std::size_t i) const {
    return {static_cast<T*>(first_[i].data), first_[i].extents, first_[i].rank};
  }

 private:
  const TensorArgument* first_;
  std::size_t count_;
};

/// Elements as bits: what an operator asks for that only moves them. One kernel for each size.
struct BitTypes {};
constexpr bool has_type(BitTypes, ElementType type) {
  if (!is_tensor(type)) return false;
  const int size = size_in_bytes(type);
  return size == 1 || size == 2 || size == 4 || size == 8;
}

/// The same for the types of a list.
template <class List>
struct BitsOf {};
template <class List>
constexpr bool has_type(BitsOf<List>, ElementType type) {
  return has_type(List{}, type);
}

/// Values of any type, also those that are no tensors: for operators without a kernel.
struct AnyTypes {};
constexpr bool has_type(AnyTypes, ElementType type) { return type != ElementType::undefined; }

namespace detail {

/// The type lists of an operator: `types` of the struct, else floats for element-wise and for
/// others.
template <class Op>
struct TypesOf {
  static constexpr auto lists() {
    if constexpr (requires { typename Op::types; }) {
      return typename Op::types{};
    } else {
      return TypeList<FloatTypes>{};
    }
  }
  template <std::size_t I, class First, class... Rest>
  static constexpr auto at(TypeList<First, Rest...>) {
    if constexpr (I == 0 || sizeof...(Rest) == 0) {
      return std::type_identity<First>{};
    } else {
      return at<I - 1>(TypeList<Rest...>{});
    }
  }
  /// The list of type variable I; the last one serves for all further variables.
  template <std::size_t I>
  using list = typename decltype(at<I>(lists()))::type;
};

/// A type that stands for all of a list.
template <class First, class... Rest>
std::type_identity<First> first_of(TypeList<First, Rest...>);
std::type_identity<std::uint8_t> first_of(BitTypes);
template <class List>
std::type_identity<std::uint8_t> first_of(BitsOf<List>);
std::type_identity<std::uint8_t> first_of(AnyTypes);
template <class Op, std::size_t Variable>
using First = typename decltype(first_of(typename TypesOf<Op>::template list<Variable>{}))::type;

/// Whether a class has a member of a name, template or not, without instantiating it: the name is
/// ambiguous in a class that inherits it twice.
struct ForwardName {
  int forward;
};
struct BackwardName {
  int backward;
};
struct GradientName {
  int gradient;
};
struct KernelName {
  int kernel;
};
struct BlockName {
  int kernel_block;
};
struct ExpandName {
  int expand;
};
struct RunName {
  int run;
};
struct WorkspaceName {
  int workspace;
};
struct PackedBytesName {
  int packed_bytes;
};
struct PackName {
  int pack;
};
template <class A, class B>
struct Both : A, B {};

template <class Op>
concept elementwise_op = !requires { &Both<Op, ForwardName>::forward; };
template <class Op>
concept differentiable_op = !requires { &Both<Op, BackwardName>::backward; } ||
                            !requires { &Both<Op, GradientName>::gradient; };
template <class Op>
concept kernel_op = !requires { &Both<Op, KernelName>::kernel; };
/// A kernel of one input whose elements become the output's one by one, which can run block by block.
template <class Op>
concept block_op = kernel_op<Op> && !requires { &Both<Op, BlockName>::kernel_block; };
/// An operator on values as they are, such as texts and sequences, which kernels do not know.
template <class Op>
concept value_op = !requires { &Both<Op, RunName>::run; };
template <class Op>
concept workspace_op = !requires { &Both<Op, WorkspaceName>::workspace; };
/// One of the two without the other is an error of the compiler.
template <class Op>
concept packing_op = !requires { &Both<Op, PackedBytesName>::packed_bytes; } ||
                     !requires { &Both<Op, PackName>::pack; };
template <class Op>
concept compiled_once_op = requires { requires Op::compiled_once; };
template <class Op>
concept expanding_op = !requires { &Both<Op, ExpandName>::expand; };
/// An operator of which no node is recorded, only what it expands to.
template <class Op>
concept only_expanding_op =
    expanding_op<Op> && !elementwise_op<Op> && !kernel_op<Op> && !value_op<Op>;

/// What an arithmetic operation on elements of type T computes in.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<half> {
  using type = float;
};
template <>
struct ComputeType<bfloat16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeType<T>::type;

template <std::size_t I, class... T>
struct TypeAt;
template <class First, class... Rest>
struct TypeAt<0, First, Rest...> {
  using type = First;
};
template <std::size_t I, class First, class... Rest>
  requires(I > 0)
struct TypeAt<I, First, Rest...> : TypeAt<I - 1, Rest...> {};

/// Tensor i of `count` from `first` on, or all from there on; empty if there is none.
template <class E, bool Variadic>
auto argument(const TensorArgument* first, std::size_t count, std::size_t i) {
  if constexpr (Variadic) {
    return i < count ? ViewList<E>(first + i, count - i) : ViewList<E>(first, 0);
  } else {
    if (i >= count) return View<E>{};
    return View<E>{static_cast<E*>(first[i].data), first[i].extents, first[i].rank};
  }
}

template <class Op>
void unpack_op(std::span<const Word> attributes, void* to) {
  *static_cast<Op*>(to) = unpack<Op>(attributes);
}

/// Few and small templates: there is one of each for every operator and choice of types.
template <class Op, class... T>
struct Thunk {
  static constexpr const Slots& signature = slots_of<Op>;
  template <std::size_t Variable>
  using Type = typename TypeAt<Variable, T...>::type;
  template <std::size_t I>
  using Input = Type<static_cast<std::size_t>(signature.input(I).type_variable)>;
  template <std::size_t I>
  using Output = Type<static_cast<std::size_t>(signature.output(I).type_variable)>;
  using Inputs = std::make_index_sequence<signature.inputs()>;
  using Outputs = std::make_index_sequence<signature.outputs()>;

#define HALFTONE_VIEWS                                                                    \
  argument<std::conditional_t<signature.input(In).modified, Input<In>, const Input<In>>,  \
           signature.input(In).variadic>(call.arguments, call.inputs, In)...,             \
      argument<Output<Out>, signature.output(Out).variadic>(call.arguments + call.inputs, \
                                                            call.outputs, Out)...

  template <std::size_t... In, std::size_t... Out>
  static void run(const auto& call, std::index_sequence<In...>, std::index_sequence<Out...>) {
    const Op& op = *static_cast<const Op*>(call.op);
    if constexpr (requires { op.template kernel<T...>(call, HALFTONE_VIEWS); }) {
      op.template kernel<T...>(call, HALFTONE_VIEWS);
    } else {
      op.template kernel<T...>(HALFTONE_VIEWS);
    }
  }
  // Asked when a model is planned: small code, which is quicker to compile, will do.
  template <std::size_t... In, std::size_t... Out>
  [[gnu::cold]] static std::size_t workspace(const KernelCall& call, std::index_sequence<In...>,
                                             std::index_sequence<Out...>) {
    return static_cast<const Op*>(call.op)->template workspace<T...>(call, HALFTONE_VIEWS);
  }
  template <std::size_t... In, std::size_t... Out>
  [[gnu::cold]] static std::size_t packed_bytes(const KernelCall& call, std::index_sequence<In...>,
                                                std::index_sequence<Out...>) {
    return static_cast<const Op*>(call.op)->template packed_bytes<T...>(call, HALFTONE_VIEWS);
  }
  template <std::size_t... In, std::size_t... Out>
  static void pack(const auto& call, void* packed, std::index_sequence<In...>,
                   std::index_sequence<Out...>) {
    static_cast<const Op*>(call.op)->template pack<T...>(call, packed, HALFTONE_VIEWS);
  }
#undef HALFTONE_VIEWS

  static void run(const KernelCall& call) { run(call, Inputs{}, Outputs{}); }
  static std::size_t workspace(const KernelCall& call) {
    return workspace(call, Inputs{}, Outputs{});
  }
  static std::size_t packed_bytes(const KernelCall& call) {
    return packed_bytes(call, Inputs{}, Outputs{});
  }
  static void pack(const KernelCall& call, void* packed) {
    pack(call, packed, Inputs{}, Outputs{});
  }

  /// Scalar loop; the core's kernels use vectors instead (kernel/elementwise.hpp).
  static void block(const void* op, const void* const* inputs, std::uint32_t uniform, void* output,
                    std::int64_t n) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto element = [&]<std::size_t K>(std::integral_constant<std::size_t, K>, std::int64_t i) {
        using E = Input<K>;
        return static_cast<Compute<E>>(
            static_cast<const E*>(inputs[K])[(uniform >> K & 1) != 0 ? 0 : i]);
      };
      using Y = decltype(static_cast<const Op*>(op)->forward(
          element(std::integral_constant<std::size_t, I>{}, 0)...));
      using E = Output<0>;
      using Out = std::conditional_t<std::is_same_v<Y, bool>, bool, E>;
      auto* y = static_cast<Out*>(output);
      for (std::int64_t i = 0; i < n; ++i) {
        y[i] = static_cast<Out>(static_cast<const Op*>(op)->forward(
            element(std::integral_constant<std::size_t, I>{}, i)...));
      }
    }(std::make_index_sequence<signature.inputs()>{});
  }

  /// `Op::kernel_block<T...>(x, y, n)`.
  static void block_of_kernel(const void* op, const void* const* inputs, std::uint32_t,
                              void* output, std::int64_t n) {
    static_cast<const Op*>(op)->template kernel_block<T...>(static_cast<const Input<0>*>(inputs[0]),
                                                            static_cast<Output<0>*>(output), n);
  }

  /// `Op::absent<E>(input)`, which an element-wise operator with optional inputs has.
  static void absent(const void* op, std::size_t input, void* element) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            using E = Input<I>;
            if constexpr (signature.input(I).optional) {
              if (I == input) {
                *static_cast<E*>(element) = static_cast<const Op*>(op)->template absent<E>(input);
              }
            }
          }(),
          ...);
    }(std::make_index_sequence<signature.inputs()>{});
  }
};

}  // namespace detail

}  // namespace halftone
