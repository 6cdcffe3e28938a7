#define HALFTONE_PART 5
#include "part.hpp"
