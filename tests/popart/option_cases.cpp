#include "../../bench/option_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "errors.hpp"
#include "popart/options.hpp"

using namespace popart;
using option_cases::Outcome;

TEST_CASE("popart options: random ones compute what none compute, or are refused") {
  int equal = 0, refused = 0;
  popart_test::printed([&] {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const option_cases::Case c = option_cases::draw_case(seed);
      const Outcome outcome = option_cases::outcome(c);
      INFO("seed " << seed << ": " << option_cases::description(c));
      INFO(outcome.text);
      CHECK(outcome.kind != Outcome::Kind::wrong);
      equal += outcome.kind == Outcome::Kind::equal;
      refused += outcome.kind == Outcome::Kind::refused;
    }
  });
  // Cases that are all refused would show nothing.
  CHECK(equal > 100);
  CHECK(refused > 30);
}

TEST_CASE("popart options: the random cases know every option") {
  std::vector<std::string_view> known(option_cases::left_out().begin(),
                                      option_cases::left_out().end());
  for (const option_cases::Draw& draw : option_cases::draws()) known.emplace_back(draw.option);
  std::vector<std::string_view> all;
  for (const detail::OptionRow& row : detail::optionTable()) all.emplace_back(row.name);
  std::sort(known.begin(), known.end());
  std::sort(all.begin(), all.end());
  CHECK(known == all);
}
