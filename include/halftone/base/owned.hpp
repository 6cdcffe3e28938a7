#pragma once

#include <utility>

#include <halftone/base/error.hpp>

namespace halftone {

/// The one owner of a T that may be incomplete where it is declared: std::unique_ptr without the
/// compile time of <memory>.
template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    static_assert(sizeof(T) > 0);
    delete object_;
  }

  T* get() const { return object_; }
  T& operator*() const { return *operator->(); }
  /// errors  UsageError: there is none, since it was moved away
  T* operator->() const {
    if (object_ == nullptr) {
      fail(ErrorKind::usage, {.what = "what was moved away is used",
                              .hint = "the object that it was moved to has it"});
    }
    return object_;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace halftone
