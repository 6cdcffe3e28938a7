#define HALFTONE_PART 4
#include "part.hpp"
