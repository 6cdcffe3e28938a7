#pragma once

#include <halftone/base/vector.hpp>
#include <halftone/graph/handle.hpp>
#include <halftone/graph/runner.hpp>

namespace halftone {

template <class Op>
struct OpFunction;

namespace detail {

std::false_type is_of_library(const void*);
/// Whether the operator is one of the library's own (op/list.hpp), not of an extension.
template <class Op>
inline constexpr bool library_op = decltype(is_of_library(static_cast<const Op*>(nullptr)))::value;

template <class Op>
constexpr bool allows(int type_variable, ElementType type) {
  return [&]<std::size_t... V>(std::index_sequence<V...>) {
    return ((static_cast<int>(V) == type_variable &&
             has_type(typename TypesOf<Op>::template list<V>{}, type)) ||
            ...);
  }(std::make_index_sequence<slots_of<Op>.type_variables()>{});
}

/// What `forward` gives for elements of the first allowed types: bool, or not.
template <class Op>
constexpr bool gives_bool() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::is_same_v<
        decltype(std::declval<const Op&>().forward(
            First<Op, static_cast<std::size_t>(slots_of<Op>.input(I).type_variable)>{}...)),
        bool>;
  }(std::make_index_sequence<slots_of<Op>.inputs()>{});
}

/// Shape and type rule of every element-wise operator: numpy's broadcasting.
template <class Op>
constexpr Inferred infer_elementwise(const Inputs& in) {
  Broadcast all;
  ElementType type = ElementType::undefined;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in.has(i)) continue;
    all.add(in[i].shape);
    if (type == ElementType::undefined &&
        slots_of<Op>.input_slot(i).type_variable == slots_of<Op>.output(0).type_variable) {
      type = in[i].type;
    }
  }
  if (!all.ok) {
    return Inferred::mismatch("shapes do not broadcast together", all.expected, all.found);
  }
  return TensorInfo{gives_bool<Op>() ? ElementType::boolean : type, all.shape};
}

template <class Op>
constexpr Inferred infer_op(const Op& op, const Inputs& in) {
  if constexpr (requires { op.infer(in); }) {
    return op.infer(in);
  } else if constexpr (elementwise_op<Op>) {
    return infer_elementwise<Op>(in);
  } else if constexpr (requires { op.infer(in[0]); }) {
    return op.infer(in[0]);
  } else if constexpr (requires { op.infer(in[0], in[1]); }) {
    return op.infer(in[0], in[1]);
  } else if constexpr (requires { op.infer(in[0], in[1], in[2]); }) {
    return op.infer(in[0], in[1], in[2]);
  } else if constexpr (requires { op.infer(in[0], in[1], in[2], in[3]); }) {
    return op.infer(in[0], in[1], in[2], in[3]);
  } else {
    static_assert(
        requires { op.infer(in[0], in[1], in[2], in[3], in[4]); },
        "halftone: an op needs 'infer(infos...)' or 'infer(const Inputs&)', or a "
        "'forward'");
    return op.infer(in[0], in[1], in[2], in[3], in[4]);
  }
}

/// Inference with the checks that every operator needs: number and element types of the inputs.
template <class Op>
constexpr Inferred infer_checked(const Op& op, const Inputs& in) {
  constexpr const Slots& signature = slots_of<Op>;
  const auto count = static_cast<std::int64_t>(in.size());
  if (in.size() < signature.required_inputs()) {
    return Inferred::mismatch("too few inputs",
                              static_cast<std::int64_t>(signature.required_inputs()), count);
  }
  if (in.size() > signature.inputs() && !signature.has_variadic_input()) {
    return Inferred::mismatch("too many inputs", static_cast<std::int64_t>(signature.inputs()),
                              count);
  }
  ElementType types[Slots::max_slots]{};
  bool all_known = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Slot& slot = signature.input_slot(i);
    if (!in.has(i)) {
      all_known = all_known && (slot.optional || slot.variadic || i >= signature.required_inputs());
      continue;
    }
    if (slot.is_attribute() && !in.is_constant(i)) {
      return Inferred::mismatch("an attribute of the operator is no constant", 0,
                                static_cast<std::int64_t>(i));
    }
    if (slot.mixed) continue;
    ElementType& type = types[slot.type_variable];
    if (!allows<Op>(slot.type_variable, in[i].type)) {
      return Inferred::types("element type is not offered", ElementType::undefined, in[i].type);
    }
    if (type == ElementType::undefined) {
      type = in[i].type;
    } else if (type != in[i].type) {
      return Inferred::types("element types of the inputs differ", type, in[i].type);
    }
  }
  if constexpr (signature.has_seed()) {
    constexpr std::size_t seed = signature.inputs() - 1;
    if (in.has(seed) && in[seed].elements() != dynamic && in[seed].elements() != 2) {
      return Inferred::mismatch("a seed has two words", 2, in[seed].elements());
    }
  }
  if (!all_known) {
    // An output in the memory of a changed input keeps that input's info, whatever it is changed by.
    Inferred known = Inferred::unknown(in.output_count());
    for (std::size_t o = 0; o < known.outputs.size(); ++o) {
      const std::int8_t shares = signature.output_slot(o).shares;
      if (shares < 0) continue;
      const auto i = static_cast<std::size_t>(shares);
      if (signature.input_slot(i).modified && in.has(i)) known.outputs[o] = in[i];
    }
    return known;
  }
  Inferred inferred = infer_op(op, in);
  if constexpr (has_attributes<Op>) {
    if (!inferred.ok()) {
      FindMissing find;
      Op(op).attributes(find);
      if (!find.name.empty()) return Inferred::missing(find.name);
    }
  }
  return inferred;
}

template <class Op>
constexpr Inferred infer_thunk(std::span<const Word> attributes, const Inputs& in) {
  return infer_checked(unpack<Op>(attributes), in);
}

template <class Op>
constexpr std::int64_t flops_thunk(std::span<const Word> attributes, std::span<const TensorInfo> in,
                                   std::span<const TensorInfo> out) {
  if constexpr (requires(const Op& op) { op.flops(in, out); }) {
    return unpack<Op>(attributes).flops(in, out);
  } else {
    return elementwise_op<Op> ? out[0].elements() : 0;
  }
}

template <class Op>
constexpr Vector<Work> cost_thunk(std::span<const Word> attributes, std::span<const TensorInfo> in,
                                  std::span<const TensorInfo> out) {
  WorkList machine;
  unpack<Op>(attributes).cost(machine, in, out);
  return std::move(machine).work();
}

template <class Op>
Vector<AnyArray> value_thunk(std::span<const Word> attributes, std::span<const AnyView> inputs,
                             std::size_t outputs) {
  return unpack<Op>(attributes).run(inputs, outputs);
}

template <class Op>
constexpr Vector<Word> defaults_thunk() {
  return pack(Op{});
}

template <class Op>
constexpr void attributes_thunk(Vector<Word>& words, AttributeVisitor& visitor) {
  if constexpr (has_attributes<Op>) {
    Op op = unpack<Op>(words);
    op.attributes(VisitMember{visitor});
    words = pack(op);
  }
}

constexpr void append(Vector<TensorId>& ids, AnyTensor x) { ids.push_back(x.id); }
template <class C>
  requires requires(const C& c) { c.begin() != c.end(); }
constexpr void append(Vector<TensorId>& ids, const C& list) {
  for (const auto& x : list) append(ids, AnyTensor(x));
}

template <class Op>
constexpr Vector<TensorId> expanded(Graph& graph, std::span<const Word> attributes,
                                    std::span<const TensorId> inputs, std::size_t outputs) {
  const Op op = unpack<Op>(attributes);
  Vector<TensorId> ids;
  auto in = [&](std::size_t i) {
    return AnyTensor{&graph, i < inputs.size() ? inputs[i] : no_tensor};
  };
  auto all = [&] {
    Vector<AnyTensor> list;
    for (const TensorId id : inputs) list.push_back({&graph, id});
    return list;
  };
  if constexpr (requires { op.expand(graph, all(), outputs); }) {
    append(ids, op.expand(graph, all(), outputs));
  } else if constexpr (requires { op.expand(in(0)); }) {
    append(ids, op.expand(in(0)));
  } else if constexpr (requires { op.expand(in(0), in(1)); }) {
    append(ids, op.expand(in(0), in(1)));
  } else if constexpr (requires { op.expand(in(0), in(1), in(2)); }) {
    append(ids, op.expand(in(0), in(1), in(2)));
  } else if constexpr (requires { op.expand(in(0), in(1), in(2), in(3)); }) {
    append(ids, op.expand(in(0), in(1), in(2), in(3)));
  } else {
    static_assert(
        requires { op.expand(in(0), in(1), in(2), in(3), in(4)); },
        "halftone: 'expand' takes one AnyTensor for each input, or (Graph&, "
        "Vector<AnyTensor>, std::size_t outputs)");
    append(ids, op.expand(in(0), in(1), in(2), in(3), in(4)));
  }
  return ids;
}
/// The same for descriptors. Not constexpr, like gradient_thunk: clang instantiates a constexpr
/// function when a constant names it, and what an operator records names descriptors.
template <class Op>
Vector<TensorId> expand_thunk(Graph& graph, std::span<const Word> attributes,
                              std::span<const TensorId> inputs, std::size_t outputs) {
  return expanded<Op>(graph, attributes, inputs, outputs);
}

template <class Op, class... T>
constexpr Kernel make_kernel() {
  using K = Thunk<Op, T...>;
  Kernel kernel{.run = &K::run, .unpack = &unpack_op<Op>, .op_size = sizeof(Op)};
  if constexpr (workspace_op<Op>) kernel.workspace = &K::workspace;
  if constexpr (packing_op<Op>) {
    kernel.packed_bytes = &K::packed_bytes;
    kernel.pack = &K::pack;
  }
  if constexpr (requires { Op::packed_input; }) kernel.packed_input = Op::packed_input;
  if constexpr (block_op<Op>) kernel.block = &K::block_of_kernel;
  return kernel;
}

/// Of an element-wise operator.
template <class Op, class... T>
constexpr Kernel make_block_kernel(decltype(Kernel::block) block) {
  Kernel kernel{.unpack = &unpack_op<Op>, .op_size = sizeof(Op), .block = block};
  constexpr bool has_optional = [] {
    for (std::size_t i = 0; i < slots_of<Op>.inputs(); ++i) {
      if (slots_of<Op>.input(i).optional) return true;
    }
    return false;
  }();
  if constexpr (has_optional) kernel.absent = &Thunk<Op, T...>::absent;
  return kernel;
}

template <class Op, template <class...> class Maker, class... T>
constexpr Kernel select_kernel(std::span<const ElementType> types);

template <class Op, template <class...> class Maker, class... T, class... E>
constexpr Kernel select_from(TypeList<E...>, std::span<const ElementType> types) {
  Kernel kernel;
  auto take = [&]<class Type>(std::type_identity<Type>) {
    // No kernel computes with texts: `run` does.
    if constexpr (!std::is_same_v<Type, String>) {
      if (types[sizeof...(T)] != element_type<Type>) return false;
      kernel = select_kernel<Op, Maker, T..., Type>(types);
      return true;
    }
    return false;
  };
  static_cast<void>((take(std::type_identity<E>{}) || ...));
  return kernel;
}

template <class Op, template <class...> class Maker, class... T>
constexpr Kernel select_from(BitTypes, std::span<const ElementType> types) {
  switch (size_in_bytes(types[sizeof...(T)])) {
    case 1:
      return select_kernel<Op, Maker, T..., std::uint8_t>(types);
    case 2:
      return select_kernel<Op, Maker, T..., std::uint16_t>(types);
    case 4:
      return select_kernel<Op, Maker, T..., std::uint32_t>(types);
    case 8:
      return select_kernel<Op, Maker, T..., std::uint64_t>(types);
    default:
      return {};
  }
}

template <class Op, template <class...> class Maker, class... T, class List>
constexpr Kernel select_from(BitsOf<List>, std::span<const ElementType> types) {
  // No kernel computes with texts.
  if (types[sizeof...(T)] == ElementType::string) return {};
  return select_from<Op, Maker, T...>(BitTypes{}, types);
}

/// Finds the instantiation of Maker<Op, T...> for run-time element types, one a type variable.
template <class Op, template <class...> class Maker, class... T>
constexpr Kernel select_kernel(std::span<const ElementType> types) {
  if constexpr (sizeof...(T) == slots_of<Op>.type_variables()) {
    return Maker<Op, T...>::make();
  } else {
    return select_from<Op, Maker, T...>(typename TypesOf<Op>::template list<sizeof...(T)>{}, types);
  }
}

template <class Op, class... T>
struct ScalarMaker {
  static constexpr Kernel make() {
    if constexpr (elementwise_op<Op>) {
      return make_block_kernel<Op, T...>(&Thunk<Op, T...>::block);
    } else {
      return make_kernel<Op, T...>();
    }
  }
};

template <class Op>
Kernel kernel_thunk(std::span<const ElementType> types) {
  return select_kernel<Op, ScalarMaker>(types);
}

template <class Op>
void gradient_thunk(std::span<const Word> attributes, GradientScope& g);

/// The same for the library's own: compiled once, in the core.
template <class Op>
Kernel library_kernel(std::span<const ElementType> types);
template <class Op>
void library_gradient(std::span<const Word> attributes, GradientScope& g);

template <class Op>
constexpr Descriptor make_descriptor() {
  static_assert(
      requires { Op::id; },
      "halftone: an op needs 'static constexpr OpId id{domain, name, version...}'");
  static_assert(
      requires { Op::signature; },
      "halftone: an op needs 'static constexpr Signature signature = \"x -> y\"'");
  constexpr bool computes = elementwise_op<Op> || kernel_op<Op>;
  constexpr bool marked_in_place = requires { Op::in_place; };
  constexpr bool marked_only_infos = requires { Op::only_infos; };
  constexpr bool marked_for_host = requires { Op::for_host; };
  constexpr bool may_differentiate = !requires { requires !Op::differentiable; };
  constexpr bool has_bodies = [] {
    FindSubgraph graphs;
    if constexpr (has_attributes<Op>) Op{}.attributes(graphs);
    return graphs.is_found;
  }();
  constexpr bool marked_effect = requires { requires Op::has_effect; };
  constexpr std::uint32_t by_sample = []() -> std::uint32_t {
    if constexpr (requires { Op::by_sample; }) return Op::by_sample;
    return 0;
  }();
  constexpr Reaches marked_reaches = [] {
    if constexpr (requires { Op::reaches; }) return Op::reaches;
    return Reaches::nothing;
  }();
  Descriptor d{
      .id = Op::id,
      .signature = slots_of<Op>,
      .elementwise = elementwise_op<Op>,
      .in_groups = elementwise_op<Op> || block_op<Op>,
      .in_place = elementwise_op<Op> || marked_in_place,
      .has_bodies = has_bodies,
      .has_effect = marked_effect,
      .reaches = marked_reaches,
      .only_infos = marked_only_infos,
      .for_host = marked_for_host,
      .has_gradient = differentiable_op<Op> || (only_expanding_op<Op> && may_differentiate),
      .only_expands = only_expanding_op<Op>,
      .by_sample = by_sample,
      .infer = nullptr,
      .flops = &flops_thunk<Op>,
      .defaults = &defaults_thunk<Op>,
      .attributes = &attributes_thunk<Op>,
      .expand = nullptr,
      .kernel = nullptr,
      .run = nullptr,
      .gradient = nullptr,
      .allows = &allows<Op>,
      .cost = nullptr,
      .modifies = nullptr,
      .choices = nullptr};
  if constexpr (requires(const Op& op, WorkList& machine, std::span<const TensorInfo> infos) {
                  op.cost(machine, infos, infos);
                }) {
    d.cost = &cost_thunk<Op>;
  }
  if constexpr (requires(const Op& op) { op.modifies(std::size_t{}); }) {
    d.modifies = [](std::span<const Word> attributes, std::size_t input) {
      return unpack<Op>(attributes).modifies(input);
    };
  }
  if constexpr (requires { Op::choices(std::string_view{}); }) d.choices = &Op::choices;
  // Both: an element-wise operator of two tensors whose ONNX form takes any number.
  if constexpr (expanding_op<Op>) d.expand = &expand_thunk<Op>;
  if constexpr (value_op<Op>) d.run = &value_thunk<Op>;
  if constexpr (!expanding_op<Op> || computes || value_op<Op>) {
    d.infer = &infer_thunk<Op>;
    if constexpr (computes && library_op<Op>) {
      d.kernel = &library_kernel<Op>;
    } else if constexpr (computes) {
      d.kernel = &kernel_thunk<Op>;
    }
  }
  if constexpr (differentiable_op<Op> && library_op<Op>) {
    d.gradient = &library_gradient<Op>;
  } else if constexpr (differentiable_op<Op>) {
    d.gradient = &gradient_thunk<Op>;
  }
  return d;
}

}  // namespace detail

/// The descriptor of an operator. Those of the library are instantiated once, in the core.
template <class Op>
inline constexpr Descriptor descriptor = detail::make_descriptor<Op>();

/// A node of that operator, without inputs and outputs.
template <class Op>
constexpr Node make_node(const Op& op) {
  return {.op = &descriptor<Op>, .attributes = pack(op)};
}

/// Appends a node of that operator without inference; its outputs become tensors of those infos.
template <class Op>
constexpr std::size_t add_node(Graph& graph, const Op& op, Vector<TensorId> inputs,
                               std::span<const TensorInfo> infos) {
  return graph.add_node(descriptor<Op>, pack(op), std::move(inputs), infos);
}

}  // namespace halftone
