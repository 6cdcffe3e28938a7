#pragma once

#include <cstdint>

#include <popart/names.hpp>

namespace popart {

namespace popx {
class Executablex;
}

/// For classes derived from IStepIO: whether buffers have the sizes that a step needs.
namespace iosizecheck {

/// Throws popart::runtime_error unless a step reads as many elements of an input, or the input is one
/// of the model's that nothing reads.
void checkIn(const popx::Executablex& executable, const TensorId& id, int64_t elements);
/// Throws popart::runtime_error unless a step returns as many elements of an anchor.
void checkOut(const popx::Executablex& executable, const TensorId& id, int64_t elements);

/// Checks every entry of a map by TensorId; `elementsOf` counts those of a value.
template <class M, class G>
void assertInCorrect(const popx::Executablex& executable, const M& buffers, const G& elementsOf) {
  for (const auto& [id, buffer] : buffers) checkIn(executable, id, elementsOf(buffer));
}
template <class M, class G>
void assertOutCorrect(const popx::Executablex& executable, const M& buffers, const G& elementsOf) {
  for (const auto& [id, buffer] : buffers) checkOut(executable, id, elementsOf(buffer));
}

}  // namespace iosizecheck
}  // namespace popart
