#include <doctest/doctest.h>

#include <halftone/halftone.hpp>

#include "../error_of.hpp"
#include "popart/weights.hpp"

using popart::detail::HostWeights;
using test::contains;
using test::error_of;

namespace {

halftone::Graph weighted(float first, float second) {
  halftone::Graph g;
  const float data[] = {first, second};
  const auto w =
      halftone::parameter<float, halftone::Shape<2>>(g, "w", std::span<const float>(data));
  output(g, halftone::op::mul(g.input<float>("x", {2}), halftone::AnyTensor(w)), "y");
  return g;
}

popart::WeightsIO weightsAt(float* data, std::int64_t count) {
  popart::MutableVoidData buffer;
  buffer.data = data;
  buffer.info = popart::TensorInfo("FLOAT", popart::Shape{count});
  popart::WeightsIO io;
  io.insert("w", buffer);
  return io;
}

}  // namespace

TEST_CASE("popart weights go from the program to the host to the session, and back") {
  halftone::Session net(weighted(2, 3));
  HostWeights host(weighted(2, 3));
  float w[] = {7, 8};
  const popart::WeightsIO mine = weightsAt(w, 2);
  const auto first = [&] { return net.get("w").values<float>()[0]; };
  popart::detail::writeWeights(host, mine);
  CHECK(first() == 2);  // the session has the old ones
  host.from_host(net);
  CHECK(first() == 7);
  net.set("w", halftone::Array<float>({2}, {9, 9}));
  popart::detail::readWeights(host, mine);
  CHECK(w[0] == 7);  // the host has the old ones
  host.to_host(net);
  popart::detail::readWeights(host, mine);
  CHECK(w[0] == 9);
  popart::detail::resetWeights(host, weighted(5, 6), false);
  host.from_host(net);
  CHECK(first() == 5);
}

// The words are PopART's.
TEST_CASE("popart weights that do not fit are refused") {
  HostWeights host(weighted(2, 3));
  float data[3] = {};
  const popart::WeightsIO three = weightsAt(data, 3);
  CHECK(contains(error_of([&] { popart::detail::writeWeights(host, three); }),
                 "non matching tensor info"));
  CHECK(contains(error_of([&] { popart::detail::readWeights(host, three); }),
                 "sizes (in bytes) of src"));
  using halftone::zeros;
  halftone::Graph other;
  output(other,
         halftone::AnyTensor(halftone::parameter<float, halftone::Shape<2>>(other, "v", zeros)));
  CHECK(contains(error_of([&] { popart::detail::resetWeights(host, other, false); }),
                 "no tensor 'v' in tensors"));
  popart::detail::resetWeights(host, other, true);
  halftone::Graph longer;
  output(longer,
         halftone::AnyTensor(halftone::parameter<float, halftone::Shape<3>>(longer, "w", zeros)));
  CHECK(contains(error_of([&] { popart::detail::resetWeights(host, longer, false); }),
                 "non matching tensor info"));
}
