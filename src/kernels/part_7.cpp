#define HALFTONE_PART 7
#include "part.hpp"
