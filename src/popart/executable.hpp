#pragma once

#include <halftone/session/session.hpp>

namespace popart::popx {

/// A session that is ready to run, as step IO sees it when it checks sizes.
class Executablex {
 public:
  explicit Executablex(halftone::Session session) : session_(std::move(session)) {}
  halftone::Session& session() { return session_; }
  const halftone::Session& session() const { return session_; }

 private:
  halftone::Session session_;
};

}  // namespace popart::popx
