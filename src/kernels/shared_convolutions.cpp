#define HALFTONE_CONVOLUTIONS
#include "shared.hpp"
