#pragma once

#include <halftone/ipu/target.hpp>
#include <popart/devicemanager.hpp>

namespace popart::detail {

/// The machine that a device stands for; null if it is no IPU.
const halftone::ipu::Target* targetOf(const DeviceInfo& device);

}  // namespace popart::detail
