// Any bytes are a graph or an error; what is a graph can be written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <halftone/onnx.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone;
  const auto bytes = std::as_bytes(std::span(data, size));
  const onnx::LoadResult loaded = onnx::try_load(bytes);
  if (!loaded) {
    const ErrorKind kind = loaded.error().kind();
    if (kind != ErrorKind::model && kind != ErrorKind::unsupported) std::abort();
    return 0;
  }
  try {
    const std::vector<std::byte> saved = onnx::to_bytes(loaded.graph());
    const onnx::LoadResult again = onnx::try_load(saved);
    if (!again || onnx::to_bytes(again.graph()) != saved) std::abort();
  } catch (const UnsupportedError&) {
  }
  return 0;
}
