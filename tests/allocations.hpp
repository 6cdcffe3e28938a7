#pragma once

#include <cstddef>

/// How often the program called operator new.
std::size_t allocations();
