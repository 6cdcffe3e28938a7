#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <halftone/kernels.hpp>
#include <halftone/static/control.hpp>
#include <halftone/static/fault.hpp>
#include <halftone/static/groups.hpp>

// The kernels of a static program: one instantiation for an operator, its attributes and element
// types, and one more for each of the extents that small steps have.
namespace halftone::detail {

template <ElementType Type>
struct TypeWith {
  template <class First, class... Rest>
  static constexpr auto in(TypeList<First, Rest...>) {
    if constexpr (element_type<First> == Type) {
      return std::type_identity<First>{};
    } else {
      return in(TypeList<Rest...>{});
    }
  }
};

template <class List>
inline constexpr bool is_bits = false;
template <>
inline constexpr bool is_bits<BitTypes> = true;
template <class List>
inline constexpr bool is_bits<BitsOf<List>> = true;

/// What a kernel computes with where the graph has that type: for operators that only move
/// elements, an integer of their size.
template <class Op, std::size_t Variable, ElementType Type>
constexpr auto static_element() {
  if constexpr (Type == ElementType::undefined) {
    return std::type_identity<First<Op, Variable>>{};
  } else if constexpr (is_bits<typename TypesOf<Op>::template list<Variable>>) {
    constexpr int size = size_in_bytes(Type);
    if constexpr (size == 1) {
      return std::type_identity<std::uint8_t>{};
    } else if constexpr (size == 2) {
      return std::type_identity<std::uint16_t>{};
    } else if constexpr (size == 4) {
      return std::type_identity<std::uint32_t>{};
    } else {
      return std::type_identity<std::uint64_t>{};
    }
  } else {
    return TypeWith<Type>::in(AllTypes{});
  }
}

inline constexpr kernel::Executor one_thread{};

/// Runs an element-wise kernel over inputs that are read in blocks.
[[gnu::noinline]] inline void run_broadcast(decltype(Kernel::block) block, const void* op,
                                            const StepCall& call, const void* const* inputs,
                                            const std::size_t* sizes, std::size_t y_size) {
  constexpr std::int64_t most = 256;
  alignas(64) unsigned char room[kernel::detail::max_block_inputs][most * 8];
  const kernel::BroadcastInput* const broadcasts = call.broadcasts + call.step.broadcast;
  auto* const y = static_cast<unsigned char*>(call.arguments[call.step.inputs].data);
  for (std::int64_t first = 0; first < call.step.elements; first += most) {
    const std::int64_t n = math::min(most, call.step.elements - first);
    const void* blocks[kernel::detail::max_block_inputs]{};
    for (std::size_t i = 0; sizes[i] != 0; ++i) {
      const bool is_uniform = (call.step.uniform >> i & 1) != 0;
      blocks[i] = is_uniform ? inputs[i] : broadcasts[i].fetch(inputs[i], first, n, room[i]);
    }
    block(op, blocks, call.step.uniform, y + static_cast<std::size_t>(first) * y_size, n);
  }
}

/// A call in a program that has the code of some kinds of convolution only.
template <unsigned Kinds>
struct CallOfKinds : KernelCall {
  static constexpr unsigned conv_kinds = Kinds;
};

/// Kernel number K of a plan.
template <class Plan, class List, std::size_t K>
struct StaticKernel {
  static constexpr const StaticSignature& signature = Plan::tables.signatures[K];
  using Op = typename List::template at<static_cast<std::size_t>(signature.op)>;
  static constexpr Op op = unpack<Op>(std::span(signature.words).first(signature.word_count));
  static constexpr const Slots& slots = slots_of<Op>;
  template <std::size_t V>
  using Type = typename decltype(static_element<Op, V, signature.types[V]>())::type;

  template <std::size_t... V>
  static Thunk<Op, Type<V>...> thunk_for(std::index_sequence<V...>);
  using Kernels = decltype(thunk_for(std::make_index_sequence<slots.type_variables()>{}));
  template <std::size_t I>
  using Input = typename Kernels::template Input<I>;

  /// The step whose extents are constants here.
  static constexpr bool has_extents = signature.extents_of >= 0;
  static constexpr const StaticStep& example =
      Plan::steps[has_extents ? static_cast<std::size_t>(signature.extents_of) : 0];
  static constexpr std::int64_t extent(std::size_t argument, std::size_t axis) {
    return Plan::extents[Plan::arguments[example.first + argument].extents + axis];
  }

  /// The kinds of convolution that the operator is.
  static constexpr unsigned conv_kinds = [] {
    if constexpr (requires { op.conv_kinds(); }) return op.conv_kinds();
    return 0u;
  }();

  /// ConvKinds: those of the whole program.
  template <unsigned ConvKinds>
  static void run(const StepCall& call) {
    if constexpr (elementwise_op<Op>) {
      run_elements(call);
    } else if constexpr (has_extents && std::is_same_v<Op, op::MatMul>) {
      multiply(call);
    } else {
      const KernelCall all{.op = &op,
                           .arguments = call.arguments,
                           .inputs = call.step.inputs,
                           .outputs = call.step.outputs,
                           .constants = call.step.constants,
                           .workspace = call.scratch,
                           .packed = call.packed,
                           .executor = &one_thread};
      Kernels::run(CallOfKinds<ConvKinds>{all}, typename Kernels::Inputs{},
                   typename Kernels::Outputs{});
    }
  }

  /// Scratch memory of a step, in bytes.
  static constexpr std::int64_t scratch_bytes(const StaticStep& step) {
    if constexpr (elementwise_op<Op> || !workspace_op<Op>) {
      return 0;
    } else {
      return asked<false>(step);
    }
  }
  /// Bytes of a step's constant inputs as the kernel wants them; 0: as they are.
  static constexpr std::int64_t packed_bytes(const StaticStep& step) {
    if constexpr (packing_op<Op> && !has_extents) {
      return step.constants != 0 ? asked<true>(step) : 0;
    } else {
      return 0;
    }
  }
  template <unsigned ConvKinds>
  static void pack(const StepCall& call, void* to) {
    if constexpr (packing_op<Op>) {
      const KernelCall all{.op = &op,
                           .arguments = call.arguments,
                           .inputs = call.step.inputs,
                           .outputs = call.step.outputs,
                           .constants = call.step.constants,
                           .executor = &one_thread};
      Kernels::pack(CallOfKinds<ConvKinds>{all}, to, typename Kernels::Inputs{},
                    typename Kernels::Outputs{});
    }
  }

 private:
  template <class E>
  static inline E somewhere{};

  /// What `workspace` or `packed_bytes` says of a step, found from extents alone, and from whether
  /// there will be packed weights.
  template <bool IsPacked>
  static constexpr std::int64_t asked(const StaticStep& step) {
    return [&]<std::size_t... V, std::size_t... In, std::size_t... Out>(
               std::index_sequence<V...>, std::index_sequence<In...>, std::index_sequence<Out...>) {
      const KernelCall call{.op = &op,
                            .inputs = step.inputs,
                            .outputs = step.outputs,
                            .constants = step.constants,
                            .packed = IsPacked || packed_bytes(step) == 0 ? nullptr : &one_thread,
                            .executor = &one_thread};
      const std::size_t outputs = step.inputs;
      if constexpr (IsPacked) {
        return static_cast<std::int64_t>(op.template packed_bytes<Type<V>...>(
            call, view<Input<In>, slots.input(In).modified>(step, In, outputs)...,
            view<typename Kernels::template Output<Out>, true>(step, outputs + Out,
                                                               outputs + step.outputs)...));
      } else {
        return static_cast<std::int64_t>(op.template workspace<Type<V>...>(
            call, view<Input<In>, slots.input(In).modified>(step, In, outputs)...,
            view<typename Kernels::template Output<Out>, true>(step, outputs + Out,
                                                               outputs + step.outputs)...));
      }
    }(std::make_index_sequence<slots.type_variables()>{}, typename Kernels::Inputs{},
           typename Kernels::Outputs{});
  }
  /// A view of an argument's extents, without its elements unless they are small constants.
  template <class E, bool IsModified>
  static constexpr auto view(const StaticStep& step, std::size_t i, std::size_t end) {
    using T = std::conditional_t<IsModified, E, const E>;
    if (i >= end) return View<T>{};
    const PlacedTensor& a = Plan::arguments[step.first + i];
    if (a.place == StaticPlace::absent) return View<T>{};
    const std::int64_t* const extents = Plan::extents.data();
    if constexpr (std::is_same_v<T, const std::int64_t>) {
      if (a.values >= 0) return View<T>{extents + a.values, extents + a.extents, a.rank};
    } else if constexpr (std::is_same_v<T, const float>) {
      if (a.values >= 0) {
        return View<T>{Plan::reals.data() + a.values, extents + a.extents, a.rank};
      }
    }
    return View<T>{&somewhere<E>, extents + a.extents, a.rank};
  }

  static void run_elements(const StepCall& call) {
    [&]<std::size_t... V, std::size_t... I>(std::index_sequence<V...>, std::index_sequence<I...>) {
      constexpr Kernel functions = kernel::VectorMaker<Op, Type<V>...>::make();
      using Elements =
          kernel::detail::Elementwise<Op, std::make_index_sequence<slots.inputs()>, Type<V>...>;
      const void* inputs[sizeof...(I)];
      alignas(8) unsigned char missing[sizeof...(I)][8];
      for (std::size_t i = 0; i < sizeof...(I); ++i) {
        inputs[i] = i < call.step.inputs ? call.arguments[i].data : nullptr;
        if (inputs[i] != nullptr || functions.absent == nullptr) continue;
        functions.absent(&op, i, missing[i]);
        inputs[i] = missing[i];
      }
      void* const y = call.arguments[call.step.inputs].data;
      const std::uint32_t uniform = call.step.uniform | absent_bits(call.step.inputs);
      if (call.step.broadcast < 0) {
        functions.block(&op, inputs, uniform, y, call.step.elements);
        return;
      }
      static constexpr std::size_t sizes[] = {sizeof(Input<I>)..., 0};
      run_broadcast(functions.block, &op, call, inputs, sizes, sizeof(typename Elements::Output));
    }(std::make_index_sequence<slots.type_variables()>{}, typename Kernels::Inputs{});
  }
  static constexpr std::uint32_t absent_bits(std::size_t given) {
    std::uint32_t bits = 0;
    for (std::size_t i = given; i < slots.inputs(); ++i) bits |= 1u << i;
    return bits;
  }

  /// A product of small matrices, each sum over ascending steps as in kernel::gemm.
  static void multiply(const StepCall& call) {
    using V = kernel::Vec<float>;
    constexpr std::int64_t m = extent(0, 0), k = extent(0, 1), n = extent(1, 1);
    constexpr std::int64_t vectors = n / V::size, rest = n % V::size, first = n - rest;
    const auto* a = static_cast<const float*>(call.arguments[0].data);
    const auto* const b = static_cast<const float*>(call.arguments[1].data);
    auto* y = static_cast<float*>(call.arguments[2].data);
    for (std::int64_t i = 0; i < m; ++i, a += k, y += n) {
      V sums[vectors == 0 ? 1 : vectors];
      float last[rest == 0 ? 1 : rest]{};
      for (V& sum : sums) sum = V(0.f);
      for (std::int64_t q = 0; q < k; ++q) {
        const float* const row = b + q * n;
#pragma GCC unroll 16
        for (std::int64_t v = 0; v < vectors; ++v) {
          sums[v] = fma(V(a[q]), V::load(row + v * V::size), sums[v]);
        }
#pragma GCC unroll 16
        for (std::int64_t r = 0; r < rest; ++r) last[r] = step_of(a[q], row[first + r], last[r]);
      }
      for (std::int64_t v = 0; v < vectors; ++v) sums[v].store(y + v * V::size);
      for (std::int64_t r = 0; r < rest; ++r) y[first + r] = last[r];
    }
  }
  /// a b + sum, as vectors compute it.
  static float step_of(float a, float b, float sum) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, sum);
#else
    return a * b + sum;
#endif
  }
};

template <class Kernel, const StaticStep& Step>
concept has_constant_scratch =
    requires { typename std::bool_constant<(Kernel::scratch_bytes(Step), true)>; };
template <class Kernel, const StaticStep& Step>
concept has_constant_packing =
    requires { typename std::bool_constant<(Kernel::packed_bytes(Step), true)>; };

/// A copy of elements.
inline void run_static_copy(const StepCall& call) {
  copy_static(call.arguments[1].data, call.arguments[0].data, call.step.elements);
}

/// The kernels of a plan, and what they ask for.
template <class Plan, class List>
struct StaticKernels {
  static constexpr std::size_t count = Plan::sizes.signatures, steps = Plan::sizes.steps;
  using Run = void (*)(const StepCall& call);
  using Pack = void (*)(const StepCall& call, void* to);
  using Kind = StaticSignature::Kind;
  using Bytes = std::array<std::int64_t, steps + 1>;

  template <std::size_t K>
  static constexpr bool is_op = Plan::tables.signatures[K].kind == Kind::op;
  /// The first step that has kernel number K.
  template <std::size_t K>
  static constexpr std::size_t example = [] {
    std::size_t i = 0;
    while (Plan::steps[i].kernel != K) ++i;
    return i;
  }();

  template <std::size_t K>
  static constexpr unsigned conv_kinds_of_op = [] {
    if constexpr (is_op<K>) return StaticKernel<Plan, List, K>::conv_kinds;
    return 0u;
  }();
  static constexpr unsigned conv_kinds = []<std::size_t... K>(std::index_sequence<K...>) {
    return (0u | ... | conv_kinds_of_op<K>);
  }(std::make_index_sequence<count>{});

  template <std::size_t K>
  static constexpr std::int64_t scratch_of(const StaticStep& step) {
    if constexpr (!is_op<K>) {
      return 0;
    } else {
      using Kernel = StaticKernel<Plan, List, K>;
      static_assert(has_constant_scratch<Kernel, Plan::steps[example<K>]>,
                    "halftone: static programs do not have this operator: the compiler cannot tell "
                    "how much scratch memory it needs");
      return Kernel::scratch_bytes(step);
    }
  }
  template <std::size_t K>
  static constexpr std::int64_t packed_of(const StaticStep& step) {
    if constexpr (!is_op<K>) {
      return 0;
    } else {
      using Kernel = StaticKernel<Plan, List, K>;
      static_assert(has_constant_packing<Kernel, Plan::steps[example<K>]>,
                    "halftone: static programs do not have this operator: the compiler cannot tell "
                    "how much memory its weights need");
      return Kernel::packed_bytes(step);
    }
  }
  using Of = std::int64_t (*)(const StaticStep& step);
  static constexpr Bytes of_steps(const std::array<Of, count>& functions) {
    Bytes bytes{};
    for (std::size_t s = 0; s < steps; ++s) {
      bytes[s] = functions[Plan::steps[s].kernel](Plan::steps[s]);
    }
    return bytes;
  }
  /// Scratch memory and packed weights of each step.
  static constexpr Bytes scratch = []<std::size_t... K>(std::index_sequence<K...>) {
    return of_steps({&scratch_of<K>...});
  }(std::make_index_sequence<count>{});
  static constexpr Bytes packed = []<std::size_t... K>(std::index_sequence<K...>) {
    return of_steps({&packed_of<K>...});
  }(std::make_index_sequence<count>{});

  using Memory = StaticMemory<Plan, StaticKernels>;
  using Controls = StaticControls<Plan, Memory>;

  template <std::size_t K>
  static constexpr Run run_of() {
    constexpr Kind kind = Plan::tables.signatures[K].kind;
    if constexpr (kind == Kind::copy) {
      return &run_static_copy;
    } else if constexpr (kind == Kind::group) {
      return &StaticGroupKernel<Plan, List, K>::run;
    } else if constexpr (kind == Kind::branch) {
      return &Controls::run_branch;
    } else if constexpr (kind == Kind::call) {
      return &Controls::run_call;
    } else if constexpr (kind == Kind::repetition) {
      return &Controls::run_repetition;
    } else {
      using Op = typename StaticKernel<Plan, List, K>::Op;
      static_assert(elementwise_op<Op> || kernel_op<Op>,
                    "halftone: an operator of a static program has no kernel");
      return &StaticKernel<Plan, List, K>::template run<conv_kinds>;
    }
  }
  template <std::size_t K>
  static constexpr Pack pack_of() {
    if constexpr (is_op<K>) {
      if constexpr (packing_op<typename StaticKernel<Plan, List, K>::Op>) {
        return &StaticKernel<Plan, List, K>::template pack<conv_kinds>;
      }
    }
    return nullptr;
  }
  static constexpr std::array<Run, count> run = []<std::size_t... K>(std::index_sequence<K...>) {
    return std::array<Run, count>{run_of<K>()...};
  }(std::make_index_sequence<count>{});
  static constexpr std::array<Pack, count> pack = []<std::size_t... K>(std::index_sequence<K...>) {
    return std::array<Pack, count>{pack_of<K>()...};
  }(std::make_index_sequence<count>{});
};

}  // namespace halftone::detail
