#pragma once

// The names of patterns; the library's own passes do their work.
#include <popart/patterns/patterns.hpp>
