#pragma once

#include <popart/vendored/any.hpp>
