// Read once for all parts of an instruction set where the compiler does that well (-Db_pch=true).
#include <halftone/kernels.hpp>

#include "base/library_numbers.hpp"
