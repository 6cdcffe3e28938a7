#define HALFTONE_PART 3
#include "part.hpp"
