#define HALFTONE_PART 6
#include "part.hpp"
