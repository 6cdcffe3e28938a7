#include "cli/spreading.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <halftone/base/error.hpp>
#include <halftone/program/spread.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/place.hpp>
#include <halftone/transform/shard.hpp>

#include "base/describe.hpp"

namespace halftone::cli {

Recomputation parse_recomputation(std::string_view name) {
  for (const Recomputation mode :
       {Recomputation::none, Recomputation::standard, Recomputation::norm_only, Recomputation::all,
        Recomputation::pipeline}) {
    if (name == halftone::name(mode)) return mode;
  }
  fail(ErrorKind::usage, {.what = "there is no recomputation of that name",
                          .expected = "none, standard, norm_only, all or pipeline",
                          .found = detail::quoted(name)});
}

Schedule parse_schedule(std::string_view name) {
  for (const Schedule schedule :
       {Schedule::grouped, Schedule::continuous, Schedule::one_f_one_b, Schedule::zero_bubble}) {
    if (name == halftone::name(schedule)) return schedule;
  }
  fail(ErrorKind::usage, {.what = "there is no schedule of that name",
                          .expected = "grouped, continuous, one_f_one_b or zero_bubble",
                          .found = detail::quoted(name)});
}

void place(Graph& graph, const Spreading& spreading) {
  if (spreading.schedule != Schedule::none && spreading.stages == 0 && !has_stages(graph)) {
    fail(ErrorKind::usage, {.what = "a schedule is for the stages of a pipeline",
                            .hint = "--stages says how many there are; or give a model that says "
                                    "them (halftone plan --save)"});
  }
  halftone::place(graph,
                  {.ipus = spreading.ipus, .stages = spreading.stages, .phases = spreading.phases});
}

Schedule schedule_of(const Spreading& spreading) {
  const bool is_chosen = spreading.schedule != Schedule::none || spreading.stages == 0;
  return is_chosen ? spreading.schedule : Schedule::one_f_one_b;
}

TensorKinds parse_kinds(std::string_view names) {
  TensorKinds kinds;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = names.substr(begin, end - begin);
    begin = end + 1;
    const bool is_all = name == "all";
    if (!is_all && name != "none" && name != "state" && name != "accumulators" &&
        name != "weights" && name != "activations") {
      fail(ErrorKind::usage, {.what = "there is no kind of tensors of that name",
                              .expected = "none, state, accumulators, weights, all of these, or "
                                          "activations",
                              .found = detail::quoted(name)});
    }
    if (is_all || name == "state") kinds.state.is_on = true;
    if (is_all || name == "accumulators") kinds.accumulators.is_on = true;
    if (is_all || name == "weights") kinds.weights.is_on = true;
    if (name == "activations") kinds.activations.is_on = true;
  }
  return kinds;
}

void parse_batch_parts(std::string_view text, Spreading& spreading) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const char* const end = text.data() + colon;
  const auto [read, error] = std::from_chars(text.data(), end, spreading.batch_parts);
  const bool is_number = error == std::errc() && read == end;
  if (!is_number || spreading.batch_parts < 1 || spreading.batch_parts > 1 << 20) {
    fail(ErrorKind::usage, {.what = "there is no such number of parts of a batch",
                            .expected = "1 to 1048576",
                            .found = detail::quoted(text)});
  }
  if (colon == text.size()) return;
  const std::string_view name = text.substr(colon + 1);
  constexpr std::pair<std::string_view, BatchMethod> methods[] = {
      {"static", BatchMethod::unroll_static},
      {"dynamic", BatchMethod::unroll_dynamic},
      {"loop", BatchMethod::loop}};
  const auto* const at = std::find_if(std::begin(methods), std::end(methods),
                                      [&](const auto& method) { return method.first == name; });
  if (at == std::end(methods)) {
    fail(ErrorKind::usage, {.what = "there is no such way to compute a batch in parts",
                            .expected = "static, dynamic or loop",
                            .found = detail::quoted(name)});
  }
  spreading.batch_method = at->second;
}

Graph in_parts(Graph graph, const Spreading& spreading) {
  return serialize_batch(std::move(graph), spreading.batch_parts, spreading.batch_method);
}

Graph spread(Graph graph, const Spreading& spreading) {
  if (spreading.shard.any() && graph.replicas == 1) {
    fail(ErrorKind::usage, {.what = "a single replica has nobody to share variables with",
                            .hint = "--replicas N, or no --shard"});
  }
  if (spreading.off_chip.any() && accumulation_of(graph) == 0) {
    fail(ErrorKind::usage, {.what = "without an optimizer no variable changes and no gradient "
                                    "waits: all stay on the machine",
                            .hint = "give an optimizer, or no --off-chip"});
  }
  TensorKinds remote = spreading.off_chip;
  // A phase has the weights of its nodes on the machine, and no others.
  if (spreading.phases > 0 && accumulation_of(graph) != 0) remote.weights.is_on = true;
  return off_chip(shard(std::move(graph), spreading.shard), remote);
}

}  // namespace halftone::cli
