#define HALFTONE_PART 2
#include "part.hpp"
