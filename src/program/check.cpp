#include <fmt/format.h>

#include <halftone/session/session.hpp>

#include "base/describe.hpp"
#include "program/activity.hpp"
#include "program/commands.hpp"
#include "program/json.hpp"
#include "program/model.hpp"

namespace halftone::program {

void check(const CheckOptions& options, const Console& console) {
  try {
    const Activity activity(console, "check " + detail::escaped(options.model));
    Graph graph = load_model(options.model, options.sizes);
    const ModelFacts facts = facts_of(graph);
    const Session session(std::move(graph));
    if (options.json) {
      fmt::print(console.out, "{}", dump({{"ok", true}, {"nodes", facts.nodes}}));
    } else {
      fmt::print(console.out, "{}: can run, {} nodes\n", detail::escaped(options.model),
                 facts.nodes);
    }
  } catch (const Error& error) {
    if (options.json) {
      fmt::print(console.out, "{}",
                 dump({{"ok", false},
                       {"kind", name(error.kind())},
                       {"reason", error.reason()},
                       {"node", error.node()},
                       {"tensor", error.tensor()},
                       {"expected", error.expected()},
                       {"found", error.found()},
                       {"hint", error.hint()},
                       {"text", error.what()}}));
    }
    throw;
  }
}

}  // namespace halftone::program
