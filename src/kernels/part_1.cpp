#define HALFTONE_PART 1
#include "part.hpp"
