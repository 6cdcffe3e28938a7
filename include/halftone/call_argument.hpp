#pragma once

#include <type_traits>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/function.hpp>

namespace halftone {

/// What a call is given for an input: a tensor, or a number or array that becomes a constant of the input's
/// type.
class CallArgument {
 public:
  CallArgument(const AnyTensor& tensor) : tensor_(tensor) {}
  template <typed_handle X>
  CallArgument(const X& tensor) : tensor_(tensor) {}
  CallArgument(const AnyArray& value) : value_(value) {}
  template <element T>
  CallArgument(T number) : value_(Array<T>(Dims{}, {number})) {}

  bool is_tensor() const { return tensor_.graph != nullptr; }
  AnyTensor tensor() const { return tensor_; }
  const AnyArray& value() const { return value_; }

 private:
  AnyTensor tensor_{};
  AnyArray value_{};
};

/// Arguments of a call, one after the other: those of a struct, array or vector by their handles.
template <class... A>
std::vector<CallArgument> call_arguments(const A&... arguments) {
  std::vector<CallArgument> all;
  [[maybe_unused]] const auto add = [&]<class X>(const X& x) {
    if constexpr (std::is_constructible_v<CallArgument, const X&>) {
      all.push_back(CallArgument(x));
    } else {
      for (const AnyTensor& t : detail::handles_of(x)) all.push_back(t);
    }
  };
  (add(arguments), ...);
  return all;
}

}  // namespace halftone
