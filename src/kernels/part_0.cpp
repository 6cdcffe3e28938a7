#define HALFTONE_PART 0
#include "part.hpp"
