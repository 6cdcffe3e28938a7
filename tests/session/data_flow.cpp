#include <doctest/doctest.h>

#include <string>

#include <halftone/session/data_flow.hpp>

using namespace halftone;

namespace {

template <class F>
std::string reason(F&& f) {
  try {
    f();
  } catch (const UsageError& error) {
    return std::string(error.reason());
  }
  return {};
}

}  // namespace

// Shapes are those of PopART (its dataflow.hpp and dataflow.cpp).
TEST_CASE("data flow: shapes of what runs return") {
  const Dims own{5, 7};
  const DataFlow flow{4, 3};
  CHECK(flow.shape(Return::all, 1, own) == Dims{4, 3, 5, 7});
  CHECK(flow.shape(Return::every_n, 2, own) == Dims{2, 3, 5, 7});
  CHECK(flow.shape(Return::every_n, 4, own) == Dims{3, 5, 7});
  CHECK(flow.shape(Return::final, 1, own) == own);
  CHECK(flow.shape(Return::sum, 1, own) == own);
  CHECK(DataFlow{1, 3}.shape(Return::all, 1, own) == Dims{3, 5, 7});
  CHECK(DataFlow{4, 1}.shape(Return::all, 1, own) == Dims{4, 5, 7});
  CHECK(DataFlow{1, 1}.shape(Return::all, 1, own) == own);
  CHECK(DataFlow{4, 1}.shape(Return::all, 1, {}) == Dims{4});
  CHECK_THROWS_AS(flow.shape(Return::all, 1, Dims{1, 1, 1, 1, 1, 1, 1}), UsageError);
}

TEST_CASE("data flow: as many values are returned as the shape has") {
  for (std::int64_t batches = 1; batches <= 6; ++batches) {
    for (std::int64_t accumulation = 1; accumulation <= 3; ++accumulation) {
      const DataFlow flow{batches, accumulation};
      for (const Return what : {Return::all, Return::every_n, Return::final, Return::sum}) {
        for (std::int64_t period = 1; period <= batches; ++period) {
          if (batches % period != 0) continue;
          std::int64_t count = 0;
          for (std::int64_t i = 0; i < flow.micro_batches(); ++i) {
            count += flow.returns(what, period, i) ? 1 : 0;
          }
          CHECK(count == flow.returned(what, period));
          CHECK(count == product(flow.shape(what, period, {})));
        }
      }
    }
  }
}

TEST_CASE("data flow: errors") {
  CHECK(reason([] { DataFlow{0, 1}.check(); }) == "a run needs at least one batch");
  CHECK(reason([] { DataFlow{-1, 1}.check(); }) == "a run needs at least one batch");
  CHECK(reason([] { DataFlow{1, 0}.check(); }) != "");
  const DataFlow flow{4, 1};
  for (const std::int64_t period : {0, 3, 5}) {
    CHECK(reason([&] { flow.check(Return::every_n, period); }) ==
          "the period of returned values does not divide the number of batches in a run");
  }
  CHECK(reason([&] { flow.check(Return::every_n, 2); }).empty());
}
