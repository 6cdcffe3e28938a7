#define HALFTONE_PART 0
#include "kernels/part.hpp"
