#define HALFTONE_MOVES
#include "shared.hpp"
