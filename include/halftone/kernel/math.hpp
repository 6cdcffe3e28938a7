#pragma once

/// Elementary functions of Vec<float> and Vec<double>; the headers under math/ hold them.
///
/// They follow C's functions for infinities, NaN, zeros of both signs and denormals, lane by lane:
/// a lane's result does not depend on the others, nor on the number of lanes. Errors over the whole
/// range are below 2 units in the last place, for tan below 4.
#include "halftone/kernel/math/activation.hpp"
#include "halftone/kernel/math/basic.hpp"
#include "halftone/kernel/math/error.hpp"
#include "halftone/kernel/math/exponential.hpp"
#include "halftone/kernel/math/inverse.hpp"
#include "halftone/kernel/math/logarithm.hpp"
#include "halftone/kernel/math/power.hpp"
#include "halftone/kernel/math/trigonometric.hpp"
