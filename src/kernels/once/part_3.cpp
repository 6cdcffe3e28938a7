#define HALFTONE_PART 3
#include "kernels/part.hpp"
