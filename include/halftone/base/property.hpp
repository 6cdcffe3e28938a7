#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace halftone {

/// A number of some shared state that reads and is set like a member: Get(state), Set(state, value).
template <class State, auto Get, auto Set>
class Property {
 public:
  explicit Property(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Property(const Property&) = default;
  Property& operator=(const Property&) = default;
  operator std::int64_t() const { return Get(*state_); }
  Property& operator=(std::int64_t value) {
    Set(*state_, value);
    return *this;
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace halftone
