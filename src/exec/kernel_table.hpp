#pragma once

#include <span>
#include <string>
#include <string_view>

#include <halftone/graph/descriptor.hpp>
#include <halftone/kernel/precision.hpp>

namespace halftone {

/// The kernel of an operator for element types (one for each type variable): an extension's own, or
/// the library's for the best instruction set that the machine has. HALFTONE_ISA=v2|v3|v4 in the
/// environment chooses a lower one. Null `run` and `block`: there is none.
Kernel find_kernel(const Descriptor& op, std::span<const ElementType> types);

/// "v2", "v3", "v4" or "native": what find_kernel chooses.
std::string_view instruction_set();

/// The same with what else decides how weights are packed and which numbers products give: +vnni, +bf16 and
/// +amx.
std::string packing_instructions();

/// Floats in a vector of that instruction set: channels of a block.
std::int64_t float_lanes();

/// Whether that instruction set has products of bytes, and this machine, too.
bool multiplies_bytes();

/// Whether that instruction set multiplies in AMX's registers, and this machine has them.
bool multiplies_in_amx();

/// Whether that instruction set has dense products in this precision, and this machine, too.
bool has_products_in(Precision precision);

}  // namespace halftone
