#pragma once

/// Programs that the compiler makes: headers alone, without the library, the heap and exceptions.
///
///   struct Net {
///     static constexpr void build(Graph& g) {
///       const auto x = input<float, Shape<1, 8>>(g, "x");
///       output(g, op::relu(op::matmul(x, parameter<float, Shape<8, 3>>(g, "w", in_place(w)))), "y");
///     }
///   };
///   static Static<Net> net;
///   net.run(x);  // float x[8]
///   std::span<const float, 3> y = net.output<"y">();

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <halftone/static/kernels.hpp>
#include <halftone/static/variables.hpp>

namespace halftone {

/// A model as a program of its own: `Model::build` records it in constant evaluation, a training
/// step if it calls train(). Order, memory and kernels are constants; the object holds all that a
/// run changes, its variables among it. Weights that build() takes as in_place() arrays are read
/// there, or copied from there if nodes change them.
///
/// Ops     the operators that the model may have: those of the library, or `builtin::with<Cube>`
/// results bit for bit those of a session whose kernels are for the same instruction set, if neither
///         compiler fuses products and sums inside an operator to FMA
/// train   options that the compiler can follow: see train/recorder.hpp
/// first   what depends on constants alone is computed by the first run, and weights are packed. A
///         variable that no node changes counts as a constant, until variable() is called
/// limits  every shape is known to the compiler, there are no texts and sequences; loops may run as
///         often as values say, if no shape follows. One thread; names of inputs, outputs and
///         variables have at most 63 characters. An index out of range ends the process
template <class Model, class Ops = Builtin>
class Static {
  using List = typename detail::ListOf<Ops>::type;
  using Plan = detail::StaticPlan<Model, List>;
  static constexpr detail::NotStatic reason = Plan::sizes.reason;
  static_assert(reason != detail::NotStatic::late,
                "halftone: a shape of a static program is not known to the compiler");
  static_assert(reason != detail::NotStatic::objects,
                "halftone: a static program has no texts, sequences and maps");
  static_assert(reason != detail::NotStatic::bodies,
                "halftone: a loop or branch of a static program has a variable of its own");
  static_assert(reason != detail::NotStatic::streams,
                "halftone: a static program has no streams, remote buffers and replicas");
  static_assert(Plan::sizes.has_all_operators,
                "halftone: an operator of a static program is not in its list: Static<Model, "
                "builtin::with<Cube>>");
  static_assert(Plan::sizes.fits, "halftone: an operator has more attributes than static programs");
  using Kernels = detail::StaticKernels<Plan, List>;
  using Memory = typename Kernels::Memory;
  /// Whether there is something to do before the first run.
  static constexpr bool is_prepared =
      Plan::sizes.first_steps != 0 || Memory::places.packed_bytes != 0;

  template <const auto& Ports, BoundedText<64> Name>
  static constexpr std::size_t find() {
    std::size_t i = 0;
    while (i < Ports.size() && !(Ports[i].name == Name)) ++i;
    return i;
  }
  template <const detail::StaticPort& Port>
  using Element = typename decltype(detail::TypeWith<Port.info.type>::in(AllTypes{}))::type;

 public:
  static constexpr std::size_t steps = Plan::sizes.steps, kernels = Kernels::count,
                               inputs = Plan::sizes.inputs, outputs = Plan::sizes.outputs,
                               variables = Plan::sizes.variables;
  static constexpr std::int64_t arena_bytes = Memory::places.arena_bytes,
                                variable_bytes = Plan::sizes.variable_bytes,
                                packed_bytes = Memory::places.packed_bytes;

  /// seed  of variables that start with random numbers, and of random operators, as
  ///       SessionOptions::seed
  explicit Static(std::uint64_t seed = 0) : random_{seed} {
    constexpr detail::Drawn drawn = [] {
      detail::Drawn result;
      for (const detail::StaticPort& port : Plan::variables) {
        if (port.array == nullptr && port.data < 0) result.add(port);
      }
      return result;
    }();
    for (const detail::StaticPort& port : Plan::variables) {
      const void* data = port.array;
      if (port.data >= 0) data = Plan::data.data() + port.data;
      detail::start_variable<drawn>(variables_ + port.at.offset, port, data, seed);
    }
    for (std::size_t i = 0; i < Plan::arguments.size(); ++i) {
      const detail::PlacedTensor& a = Plan::arguments[i];
      if (a.place == detail::StaticPlace::absent) continue;
      arguments_[i] = {address(a), Plan::extents.data() + a.extents, a.rank};
    }
  }
  Static(const Static&) = delete;  // addresses of its memory are in it
  Static& operator=(const Static&) = delete;

  /// Runs the program on its inputs, in the order in which build() declares them: arrays,
  /// std::arrays and spans of as many elements, which stay the caller's. A span whose size is not
  /// known to the compiler and does not fit ends the process.
  template <class... Inputs>
  void run(const Inputs&... values) {
    static_assert(sizeof...(Inputs) == inputs,
                  "halftone: a static program runs on another number of inputs");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const void* next = nullptr;
      if constexpr (Plan::sizes.is_random) next = random_.next();
      const void* const data[] = {checked<I>(values)..., next};
      run_steps(data);
    }(std::make_index_sequence<inputs>{});
  }

  /// An output, by number or name; good until the next run.
  template <std::size_t I>
  auto output() const {
    static_assert(I < outputs, "halftone: a static program has no output of that number");
    return span_of<Plan::outputs[I], const Element<Plan::outputs[I]>>(memory(Plan::outputs[I]));
  }
  template <BoundedText<64> Name>
  auto output() const {
    constexpr std::size_t number = find<Plan::outputs, Name>();
    static_assert(number < outputs, "halftone: a static program has no output of that name");
    return output<number>();
  }
  static constexpr TensorInfo input_info(std::size_t i) { return Plan::inputs[i].info; }
  static constexpr std::string_view output_name(std::size_t i) {
    return Plan::outputs[i].name.view();
  }
  static constexpr std::string_view variable_name(std::size_t i) {
    return Plan::variables[i].name.view();
  }
  /// A variable, which the program may change until the next run.
  template <std::size_t I>
  auto variable() {
    static_assert(I < variables, "halftone: a static program has no variable of that number");
    if constexpr (is_prepared && Plan::variables[I].is_constant) is_ready_ = false;
    return span_of<Plan::variables[I], Element<Plan::variables[I]>>(variables_ +
                                                                    Plan::variables[I].at.offset);
  }
  template <BoundedText<64> Name>
  auto variable() {
    constexpr std::size_t number = find<Plan::variables, Name>();
    static_assert(number < variables, "halftone: a static program has no variable of that name");
    return variable<number>();
  }

 private:
  template <const detail::StaticPort& Port, class T>
  static auto span_of(auto* data) {
    constexpr auto count = static_cast<std::size_t>(Port.info.elements());
    using Data = std::conditional_t<std::is_const_v<T>, const void, void>;
    return std::span<T, count>(static_cast<T*>(static_cast<Data*>(data)), count);
  }
  template <std::size_t I, class X>
  static const void* checked(const X& values) {
    using T = Element<Plan::inputs[I]>;
    constexpr auto count = static_cast<std::size_t>(Plan::inputs[I].info.elements());
    const std::span given(values);
    using Span = std::remove_const_t<decltype(given)>;
    static_assert(std::is_same_v<typename Span::value_type, T>,
                  "halftone: an input of a static program has another element type");
    static_assert(Span::extent == std::dynamic_extent || Span::extent == count,
                  "halftone: an input of a static program has another number of elements");
    if (given.size() != count) __builtin_trap();
    return given.data();
  }

  void* address(const detail::PlacedTensor& a) {
    return detail::static_address<Plan, Memory>(a, arena_, variables_);
  }
  const void* memory(const detail::StaticPort& port) const {
    return const_cast<Static*>(this)->address(port.at);
  }

  /// Step number s, on what it works with.
  static detail::StepCall call(const detail::StaticMachine& on, std::size_t s) {
    const detail::StaticStep& step = Plan::steps[s];
    void* scratch = nullptr;
    const void* packed = nullptr;
    if constexpr (Memory::places.scratch_steps != 0) {
      if (Memory::scratch[s] >= 0) scratch = on.arena + Memory::scratch[s];
    }
    if constexpr (Memory::places.packed_bytes != 0) {
      if (Memory::packed[s] >= 0) packed = on.packed + Memory::packed[s];
    }
    return {step, on.arguments + step.first, Plan::broadcasts.data(), scratch, packed, on};
  }
  static void run_range(const detail::StaticMachine& on, std::size_t first, std::size_t end) {
    for (std::size_t s = first; s < end; ++s) Kernels::run[Plan::steps[s].kernel](call(on, s));
  }
  detail::StaticMachine machine() { return {arguments_, arena_, variables_, packed_, &run_range}; }

  /// What depends on constants alone.
  void prepare(const detail::StaticMachine& on) {
    run_range(on, 0, Plan::sizes.first_steps);
    if constexpr (Memory::places.packed_bytes != 0) {
      for (std::size_t s = 0; s < steps; ++s) {
        if (Memory::packed[s] < 0) continue;
        Kernels::pack[Plan::steps[s].kernel](call(on, s), packed_ + Memory::packed[s]);
      }
    }
    is_ready_ = true;
  }

  void run_steps(const void* const* data) {
    const detail::StaticMachine on = machine();
    if constexpr (is_prepared) {
      if (!is_ready_) prepare(on);
    }
    constexpr detail::StaticFrame frame = Plan::frames[0];
    for (std::size_t i = frame.first_input; i < frame.end_input; ++i) {
      const detail::InputArgument& a = Plan::input_arguments[i];
      arguments_[a.argument].data = const_cast<void*>(data[a.input]);
    }
    run_range(on, Plan::sizes.first_steps, frame.end_step);
  }

  /// The state of random numbers, which is another one in each run.
  struct Random {
    std::uint64_t seed = 0, runs = 0;
    std::uint32_t state[6] = {};

    const std::uint32_t* next() {
      state[0] = static_cast<std::uint32_t>(seed);
      state[1] = static_cast<std::uint32_t>(seed >> 32);
      state[2] = static_cast<std::uint32_t>(runs);
      state[3] = static_cast<std::uint32_t>(runs >> 32);
      seed = detail::mixed(seed);
      ++runs;
      return state;
    }
  };

  alignas(64) std::byte arena_[static_cast<std::size_t>(arena_bytes) + 64];
  alignas(64) std::byte variables_[static_cast<std::size_t>(variable_bytes) + 64];
  alignas(64) std::byte packed_[static_cast<std::size_t>(packed_bytes) + 64];
  TensorArgument arguments_[Plan::sizes.arguments + 1]{};
  Random random_;
  bool is_ready_ = false;
};

}  // namespace halftone
