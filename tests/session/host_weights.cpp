#include "session/host_weights.hpp"

#include <doctest/doctest.h>

#include <halftone/halftone.hpp>

using namespace halftone;

// The law: between two runs at most one fetch takes values from the session.
TEST_CASE("host weights take the session's values only if a run may have changed them") {
  Graph g;
  const auto w = parameter<float, Shape<2>>(g, "w", filled{1});
  op::copy_var_update(w, w + 1.f);
  output(g, w * 1.f, "y");
  detail::HostWeights host(g);
  Session session(std::move(g));
  host.to_host(session);
  CHECK(!host.fetch(session));
  session.run({});
  CHECK(!host.fetch(session));  // nobody said that it ran
  host.session_ran();
  CHECK(!host.is_in_sync());
  CHECK(host.fetch(session));
  CHECK(host.is_in_sync());
  CHECK(!host.fetch(session));
  CHECK(host[host.find("w")].values<float>()[0] == 2);
  CHECK(host.find("v") == host.size());
  host.set(0, Array<float>({2}, {7, 8}));
  host.from_host(session);
  CHECK(session.get("w").values<float>()[1] == 8);
}
