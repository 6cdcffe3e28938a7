#pragma once

#include <cstdint>

/// Throws InputError: an index that a tensor gave to a kernel is outside [-extent, extent). Kernels
/// are compiled in renamed namespaces and cannot throw the library's exceptions themselves; this
/// name is the same for all. Defined in the core.
extern "C" [[noreturn]] void halftone_index_error(std::int64_t index, std::int64_t extent);

/// Throws InputError: a number that a tensor gave to a kernel is none of the categories that an
/// encoder knows. As above.
extern "C" [[noreturn]] void halftone_category_error(std::int64_t number);
