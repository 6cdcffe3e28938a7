#pragma once

#include <cstddef>
#include <string_view>

#include <halftone/base/array.hpp>

namespace halftone {

class Session;

namespace detail {
struct SessionState;
}

/// The variables of a session by name, with the values that they have whenever one looks: a view
/// into the session, which must outlive it. Other sessions take them:
///   const Weights weights = training.weights();
///   ...                              // training goes on
///   inference.set_weights(weights);  // as they are now
class Weights {
 public:
  std::size_t size() const;
  std::string_view name(std::size_t i) const;
  AnyView operator[](std::size_t i) const;
  /// Throws InputError, listing the names there are, if there is no variable of this name.
  AnyView operator[](std::string_view name) const;

 private:
  friend class Session;
  explicit Weights(detail::SessionState& state) : state_(&state) {}
  detail::SessionState* state_;
};

}  // namespace halftone
