#pragma once

#include <halftone/graph/infer.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/tree_ensemble.hpp>

/// What operators of ai.onnx.ml share: their attributes are inputs (Slot::attribute) with names.
namespace halftone::detail {

/// The input that has a name. A name that no input has does not compile.
template <class Op>
consteval std::size_t ml_slot(std::string_view name) {
  for (std::size_t i = 0; i < slots_of<Op>.inputs(); ++i) {
    if (slots_of<Op>.input(i).name == name) return i;
  }
  wrong_signature("halftone: the operator has no input of this name");
  return 0;
}

/// Whether all attributes of a node are known when it is planned.
template <class Op>
bool has_constant_lists(const KernelCall& call) {
  for (std::size_t i = 0; i < call.inputs; ++i) {
    const bool is_list = slots_of<Op>.input(i).is_attribute() && call.arguments[i].data != nullptr;
    if (is_list && !call.is_constant(i)) return false;
  }
  return true;
}

/// Finds attributes by their names: lists("nodes_modes"); empty if there is none. In inference, in a
/// kernel for elements of types T..., in `run`.
template <class Op>
auto ml_lists(const Inputs& in) {
  return [&in](std::string_view name) -> kernel::ConstantList {
    for (std::size_t i = 0; i < in.size() && i < slots_of<Op>.inputs(); ++i) {
      if (slots_of<Op>.input(i).name != name || !in.has(i)) continue;
      const auto bytes = in.data(i);
      const auto size = static_cast<std::size_t>(size_in_bytes(in[i].type));
      return {bytes.data(), static_cast<std::int64_t>(bytes.size() / size), in[i].type};
    }
    return {};
  };
}
template <class Op, class... T>
auto ml_lists(const KernelCall& call) {
  return [&call](std::string_view name) -> kernel::ConstantList {
    constexpr ElementType types[]{element_type<T>...};
    for (std::size_t i = 0; i < call.inputs && i < slots_of<Op>.inputs(); ++i) {
      const TensorArgument& a = call.arguments[i];
      if (slots_of<Op>.input(i).name != name || a.data == nullptr) continue;
      return {static_cast<const std::byte*>(a.data), product({a.extents, a.rank}),
              types[slots_of<Op>.input(i).type_variable]};
    }
    return {};
  };
}

/// An attribute that is a list of float or a tensor.
kernel::ConstantList either(const auto& lists, std::string_view list, std::string_view tensor) {
  const kernel::ConstantList given = lists(list);
  return given.empty() ? lists(tensor) : given;
}

/// Rows and columns of an input: a vector is one row.
struct Rows {
  std::int64_t rows = 0, columns = 0;
  std::string_view reason{};  ///< why there are none

  constexpr explicit Rows(const TensorInfo& x) {
    if (x.rank() != 1 && x.rank() != 2) {
      reason = "the input is neither a vector nor a matrix";
    } else {
      rows = x.rank() == 1 ? 1 : x.shape[0];
      columns = x.shape[x.rank() - 1];
    }
  }
};

}  // namespace halftone::detail
