// Read once for all tests where the compiler does that well (-Db_pch=true).
#include <doctest/doctest.h>

#include <halftone/halftone.hpp>
