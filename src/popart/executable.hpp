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
  /// unused     inputs of the model that nothing reads
  explicit Executablex(halftone::Session session, std::vector<std::string> broadcast = {},
                       std::vector<std::string> unused = {})
      : session_(std::move(session)),
        broadcast_(std::move(broadcast)),
        unused_(std::move(unused)) {}
  halftone::Session& session() { return session_; }
  const halftone::Session& session() const { return session_; }
  bool isBroadcast(std::string_view input) const { return has(broadcast_, input); }
  bool isUnused(std::string_view input) const { return has(unused_, input); }

 private:
  static bool has(const std::vector<std::string>& inputs, std::string_view input) {
    return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
  }

  halftone::Session session_;
  std::vector<std::string> broadcast_, unused_;
};

}  // namespace popart::popx
