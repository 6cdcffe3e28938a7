#pragma once

#include <map>
#include <set>
#include <vector>

#include <popart/op.hpp>

namespace popart {

/// This says which operators of a graph come before others although no data flows between them: those that
/// read a tensor and one that writes to it. It is a view: changing it changes no session.
class TopoCons {
 public:
  TopoCons() = default;
  /// The schedule has all operators of the graph in their order.
  explicit TopoCons(const std::vector<Op*>& schedule);

  bool contains(Op* before, Op* after) const;
  std::vector<Op*> getAfters(Op* before) const;
  std::vector<Op*> getBefores(Op* after) const;
  const std::map<Op*, std::set<Op*, POpCmp>, POpCmp>& getValsAfter() const { return after_; }
  const std::map<Op*, std::set<Op*, POpCmp>, POpCmp>& getValsBefore() const { return before_; }

 private:
  std::map<Op*, std::set<Op*, POpCmp>, POpCmp> after_, before_;
};

}  // namespace popart
