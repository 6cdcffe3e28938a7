#pragma once

#include <cstddef>
#include <cstdint>

#include <popart/datatype.hpp>
#include <popart/names.hpp>

namespace popart {

/// An array of the program's own, as step IO sees it: dense, row-major.
class IArray {
 public:
  virtual ~IArray() = default;
  virtual void* data() = 0;
  virtual DataType dataType() const = 0;
  virtual std::size_t rank() const = 0;
  virtual int64_t dim(size_t index) const = 0;
  virtual std::size_t nelms() const = 0;
  virtual const Shape shape() const = 0;
};

}  // namespace popart
