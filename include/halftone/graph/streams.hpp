#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/shape.hpp>
#include <halftone/base/tensor_info.hpp>
#include <halftone/base/text.hpp>
#include <halftone/graph/handle.hpp>
#include <halftone/graph/names.hpp>

namespace halftone {

/// The name of a stream between the host and the machine.
using StreamName = BoundedText<256>;

/// A stream from the host, whose slices the loads of a run take one after the other; see
/// halftone/streams.hpp. Good wherever its graph goes.
template <class T, class S>
struct HostToDevice {
  using tensor = Tensor<T, S>;
  static constexpr TensorInfo static_info = tensor::static_info;

  StreamName name{};

  static constexpr TensorInfo info() { return static_info; }
};
/// A stream to the host, which gets a slice from every store of a run.
template <class T, class S>
struct DeviceToHost {
  using tensor = Tensor<T, S>;
  static constexpr TensorInfo static_info = tensor::static_info;

  StreamName name{};

  static constexpr TensorInfo info() { return static_info; }
};

/// The same where the type and shape of a slice are known at run time only.
struct AnyHostToDevice {
  StreamName name{};
  TensorInfo slice{};

  constexpr AnyHostToDevice() = default;
  constexpr AnyHostToDevice(const StreamName& stream, const TensorInfo& info)
      : name(stream), slice(info) {}
  template <class T, class S>
  constexpr AnyHostToDevice(const HostToDevice<T, S>& stream)
      : name(stream.name), slice(stream.static_info) {}

  constexpr const TensorInfo& info() const { return slice; }
};
struct AnyDeviceToHost {
  StreamName name{};
  TensorInfo slice{};

  constexpr AnyDeviceToHost() = default;
  constexpr AnyDeviceToHost(const StreamName& stream, const TensorInfo& info)
      : name(stream), slice(info) {}
  template <class T, class S>
  constexpr AnyDeviceToHost(const DeviceToHost<T, S>& stream)
      : name(stream.name), slice(stream.static_info) {}

  constexpr const TensorInfo& info() const { return slice; }
};

namespace detail {
template <class X>
inline constexpr bool is_load_stream = std::is_same_v<X, AnyHostToDevice>;
template <class T, class S>
inline constexpr bool is_load_stream<HostToDevice<T, S>> = true;
template <class X>
inline constexpr bool is_store_stream = std::is_same_v<X, AnyDeviceToHost>;
template <class T, class S>
inline constexpr bool is_store_stream<DeviceToHost<T, S>> = true;
}  // namespace detail

/// HostToDevice<T, S> or AnyHostToDevice.
template <class X>
concept host_to_device = detail::is_load_stream<std::remove_cvref_t<X>>;
/// DeviceToHost<T, S> or AnyDeviceToHost.
template <class X>
concept device_to_host = detail::is_store_stream<std::remove_cvref_t<X>>;

}  // namespace halftone
