#pragma once

#include <halftone/base/error.hpp>

/// The errors of PopXL's own rules, by the names that they have in Python. Those of models and their
/// shapes, PopXL's popart_exception, are the library's ModelError and ShapeError.
namespace popxl {

/// All errors, the library's and those below.
using Error = halftone::Error;

/// A value, a name or a shape that is not possible here.
struct ValueError : halftone::UsageError {
  using ErrorOf::ErrorOf;
};
/// A thing of another kind than is wanted.
struct TypeError : halftone::UsageError {
  using ErrorOf::ErrorOf;
};
/// Something that the state of a session or context does not allow.
struct RuntimeError : halftone::UsageError {
  using ErrorOf::ErrorOf;
};
/// A number that is out of range.
struct IndexError : ValueError {
  using ValueError::ValueError;
};
/// A property that nothing has set yet.
struct UndefinedValue : ValueError {
  using ValueError::ValueError;
};
/// What PopXL does not offer, or not yet.
struct NotImplementedError : halftone::UnsupportedError {
  using ErrorOf::ErrorOf;
};

}  // namespace popxl
