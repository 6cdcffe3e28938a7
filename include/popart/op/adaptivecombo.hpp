#pragma once

#include <popart/op/classes.gen.hpp>
