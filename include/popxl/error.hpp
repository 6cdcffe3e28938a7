#pragma once

#include <halftone/base/error.hpp>

/// The errors of PopXL's own rules, by the names that they have in Python. Those of models and their
/// shapes, PopXL's popart_exception, are the library's ModelError and ShapeError.
namespace popxl {

/// All errors, the library's and those below.
using Error = halftone::Error;

/// A value, a name or a shape that is not possible here.
class ValueError : public halftone::UsageError {
 public:
  using ErrorOf::ErrorOf;
};
/// A thing of another kind than is wanted.
class TypeError : public halftone::UsageError {
 public:
  using ErrorOf::ErrorOf;
};
/// Something that the state of a session or context does not allow.
class RuntimeError : public halftone::UsageError {
 public:
  using ErrorOf::ErrorOf;
};
/// A number that is out of range.
class IndexError : public ValueError {
 public:
  using ValueError::ValueError;
};
/// A property that nothing has set yet.
class UndefinedValue : public ValueError {
 public:
  using ValueError::ValueError;
};
/// What PopXL does not offer, or not yet.
class NotImplementedError : public halftone::UnsupportedError {
 public:
  using ErrorOf::ErrorOf;
};

}  // namespace popxl
