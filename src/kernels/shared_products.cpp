#define HALFTONE_PRODUCTS
#include "shared.hpp"
