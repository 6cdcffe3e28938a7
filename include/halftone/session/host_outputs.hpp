#pragma once

#include <utility>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/streams.hpp>
#include <halftone/session/step_io.hpp>

namespace halftone {

/// Memory of the program for what a run stores to a stream: {y_stream, array}.
struct HostBuffer {
  AnyDeviceToHost stream;
  AnyBuffer memory;

  template <device_to_host S>
  HostBuffer(const S& to, AnyArray& array)
      : stream(to), memory{array.info(), array.info().bytes() == 0 ? nullptr : array.data()} {}
};

/// An array for each stream that runs store to.
class HostOutputs {
 public:
  /// Adds a stream and an array of that type and shape, of zeros.
  void add(const AnyDeviceToHost& stream, const TensorInfo& info) {
    all_.emplace_back(stream, AnyArray(info));
  }
  /// errors  UsageError: no stream that runs store to
  template <class T, class S>
  const Array<T>& operator[](const DeviceToHost<T, S>& stream) const {
    return static_cast<const Array<T>&>(at(stream.name));
  }
  const AnyArray& operator[](const AnyDeviceToHost& stream) const { return at(stream.name); }
  std::size_t size() const { return all_.size(); }
  /// All of them, as memory for what a run stores.
  operator std::vector<HostBuffer>() {
    std::vector<HostBuffer> buffers;
    for (auto& [stream, array] : all_) buffers.emplace_back(stream, array);
    return buffers;
  }

 private:
  const AnyArray& at(const StreamName& stream) const {
    for (const auto& [known, array] : all_) {
      if (known.name == stream) return array;
    }
    fail(ErrorKind::usage,
         {.what = "nothing is stored to a stream of this name", .tensor = stream.view()});
  }
  std::vector<std::pair<AnyDeviceToHost, AnyArray>> all_;
};

}  // namespace halftone
