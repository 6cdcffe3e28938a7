// Calls that copy their arguments: PopART's documentation of subgraphCopyingStrategy says when.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;
using namespace halftone::ipu;

namespace {

/// Equal pairs of wide layers, which outline() makes calls of: the second weight is read late.
Graph layers() {
  Graph g;
  AnyTensor x = g.input<float>("x", {4, 512});
  for (int layer = 0; layer < 6; ++layer) x = op::relu(networks::linear(g, x, 512, 512));
  output(g, x, "y");
  return g;
}

Report profiled(CallCopies copies) {
  return profile(layers(), gc200, {.outline = OutlineOptions{}, .call_copies = copies});
}

std::int64_t most_live(const Report& r) {
  return *std::max_element(r.live_bytes.begin(), r.live_bytes.end());
}

/// Copies of each call that come before its first compute set, and those behind it.
std::vector<std::pair<int, int>> copies_by_call(const Report& r) {
  std::vector<std::pair<int, int>> calls;
  for (std::size_t p = 0; p < r.programs.size(); ++p) {
    if (r.programs[p].name != "Call") continue;
    auto& [before, behind] = calls.emplace_back(0, 0);
    bool computes = false;
    for (const Step& s : r.steps) {
      if (s.program != static_cast<std::int32_t>(p)) continue;
      computes = computes || s.kind == StepKind::compute;
      if (s.kind == StepKind::copy) ++(computes ? behind : before);
    }
  }
  return calls;
}

}  // namespace

TEST_CASE("calls copy arguments and results when they are asked to") {
  const Report none = profiled(CallCopies::none), whole = profiled(CallCopies::on_enter_and_exit),
               late = profiled(CallCopies::just_in_time);
  CHECK(none.cycles(StepKind::copy) == 0);
  REQUIRE(copies_by_call(none).size() > 1);
  // Both copy the same, at other times.
  CHECK(whole.cycles(StepKind::copy) > 0);
  CHECK(late.cycles(StepKind::copy) == whole.cycles(StepKind::copy));
  CHECK(late.cycles() == whole.cycles());
  CHECK(whole.cycles(StepKind::compute) == none.cycles(StepKind::compute));
  for (const auto& [before, behind] : copies_by_call(whole)) {
    CHECK(before > 1);
    CHECK(behind == 1);  // the result
  }
  bool is_late = false;
  for (const auto& [before, behind] : copies_by_call(late)) is_late = is_late || behind > 1;
  CHECK(is_late);
  CHECK(most_live(none) < most_live(late));
  CHECK(most_live(late) < most_live(whole));
}
