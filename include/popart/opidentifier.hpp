#pragma once

// The older name of what is two headers now.
#include <popart/operatoridentifier.hpp>
#include <popart/operators.hpp>
