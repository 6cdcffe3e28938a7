#include <popart/registeroperators.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include "op/builtin.hpp"
#include "popart/model.hpp"

namespace popart {

namespace {

struct Registered {
  std::mutex mutex;
  /// The tables so far. None is ever changed or dropped: sessions may be reading it.
  std::list<std::vector<const halftone::Descriptor*>> tables;
};

Registered& registered() {
  static Registered all;
  return all;
}

}  // namespace

halftone::OperatorTable detail::operators() {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  return all.tables.empty() ? halftone::OperatorTable() : all.tables.back();
}

void registerOperators(halftone::OperatorTable operators) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const halftone::OperatorTable builtin = halftone::builtin_operators();
  std::vector<const halftone::Descriptor*> next(builtin.begin(), builtin.end());
  if (!all.tables.empty()) next = all.tables.back();
  for (const halftone::Descriptor* op : operators) {
    const auto isLibrarys = [&](const halftone::Descriptor* known) {
      return known == op || known->id == op->id;
    };
    // A list that extends the library's has the library's, too.
    if (std::none_of(builtin.begin(), builtin.end(), isLibrarys)) next.push_back(op);
  }
  all.tables.push_back(std::move(next));
}

}  // namespace popart
