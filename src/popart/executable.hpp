#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/session/session.hpp>

namespace popart::popx {

/// A session that is ready to run, as step IO sees it when it checks sizes.
class Executablex {
 public:
  /// broadcast  inputs of which all replicas get the same data
  explicit Executablex(halftone::Session session, std::vector<std::string> broadcast = {})
      : session_(std::move(session)), broadcast_(std::move(broadcast)) {}
  halftone::Session& session() { return session_; }
  const halftone::Session& session() const { return session_; }
  bool isBroadcast(std::string_view input) const {
    return std::find(broadcast_.begin(), broadcast_.end(), input) != broadcast_.end();
  }

 private:
  halftone::Session session_;
  std::vector<std::string> broadcast_;
};

}  // namespace popart::popx
