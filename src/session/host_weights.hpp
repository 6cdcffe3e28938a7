#pragma once

#include <string>
#include <vector>

#include <halftone/session/session.hpp>

namespace halftone::detail {

/// The host's copy of a session's variables. Programs read and set it, and it exchanges values with the
/// session: all of them when it is told to, those of the session only if a run may have changed them.
class HostWeights {
 public:
  /// Starts with what the variables of the graph have. The elements are shared, not copied.
  explicit HostWeights(const Graph& graph);

  std::size_t size() const { return weights_.size(); }
  std::string_view name(std::size_t i) const { return weights_[i].name; }
  /// What a variable can be set to: [groups, shape].
  const TensorInfo& info(std::size_t i) const { return weights_[i].settable; }
  /// The number of the variable of this name; size() if there is none.
  std::size_t find(std::string_view name) const;
  /// Null data: there is no value yet.
  AnyView operator[](std::size_t i) const;
  void set(std::size_t i, Bytes data) { weights_[i].data = std::move(data); }
  /// The same with a copy of these elements.
  void set(std::size_t i, const AnyView& value);

  /// Gives the session the host's values.
  void from_host(Session& session) const;
  /// Takes the session's values of variables that have none here.
  void complete(const Session& session);
  /// Takes the session's values.
  void to_host(const Session& session);
  /// Whether the host has them.
  bool is_in_sync() const { return is_in_sync_; }
  /// The session ran: its values may be others than the host's.
  void session_ran() { is_in_sync_ = false; }

 private:
  struct Weight {
    std::string name;
    TensorInfo settable;  ///< what the session can be given: [groups, shape]
    TensorInfo info;      ///< of the data: the same, or [replicas, shape]
    Bytes data;
    bool is_of_replicas = false;  ///< the session gives the value of each, and takes none
  };
  std::vector<Weight> weights_;
  bool is_in_sync_ = true;
};

}  // namespace halftone::detail
