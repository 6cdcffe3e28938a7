#define HALFTONE_PART 1
#include "kernels/part.hpp"
