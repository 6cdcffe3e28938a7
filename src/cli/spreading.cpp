#include "cli/spreading.hpp"

#include <string>

#include <halftone/base/error.hpp>
#include <halftone/transform/place.hpp>

#include "base/describe.hpp"

namespace halftone::cli {

Recomputation parse_recomputation(std::string_view name) {
  constexpr std::string_view names[] = {"none", "standard", "norm_only", "all", "pipeline"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Recomputation>(i);
  }
  fail(ErrorKind::usage, {.what = "there is no recomputation of that name",
                          .expected = "none, standard, norm_only, all or pipeline",
                          .found = detail::quoted(name)});
}

Schedule parse_schedule(std::string_view name) {
  constexpr std::string_view names[] = {"none", "grouped", "continuous", "one_f_one_b",
                                        "zero_bubble"};
  for (std::size_t i = 1; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Schedule>(i);
  }
  fail(ErrorKind::usage, {.what = "there is no schedule of that name",
                          .expected = "grouped, continuous, one_f_one_b or zero_bubble",
                          .found = detail::quoted(name)});
}

void place(Graph& graph, const Spreading& spreading) {
  if (spreading.schedule != Schedule::none && spreading.stages == 0) {
    fail(ErrorKind::usage, {.what = "a schedule is for the stages of a pipeline",
                            .hint = "--stages says how many there are"});
  }
  halftone::place(graph, {.ipus = spreading.ipus, .stages = spreading.stages});
}

Schedule schedule_of(const Spreading& spreading) {
  const bool is_chosen = spreading.schedule != Schedule::none || spreading.stages == 0;
  return is_chosen ? spreading.schedule : Schedule::one_f_one_b;
}

}  // namespace halftone::cli
