#include "session/host_weights.hpp"

#include <doctest/doctest.h>

#include <halftone/halftone.hpp>

using namespace halftone;

TEST_CASE("host weights know whether a run may have changed the session's values") {
  Graph g;
  const auto w = parameter<float, Shape<2>>(g, "w", filled{1});
  op::copy_var_update(w, w + 1.f);
  output(g, w * 1.f, "y");
  detail::HostWeights host(g);
  Session session(std::move(g));
  CHECK(host.is_in_sync());
  session.run({});
  host.session_ran();
  CHECK(!host.is_in_sync());
  host.to_host(session);
  CHECK(host.is_in_sync());
  CHECK(host[host.find("w")].values<float>()[0] == 2);
  CHECK(host.find("v") == host.size());
  host.set(0, Array<float>({2}, {7, 8}));
  host.from_host(session);
  CHECK(session.get("w").values<float>()[1] == 8);
}
