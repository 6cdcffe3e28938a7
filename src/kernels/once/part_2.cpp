#define HALFTONE_PART 2
#include "kernels/part.hpp"
