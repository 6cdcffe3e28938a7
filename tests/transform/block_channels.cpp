#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

using namespace halftone;

TEST_CASE("a truth value of a convolution's output is not brought into blocks of channels") {
  // A 1 x 1 convolution with the identity gives its input; 32 channels fill blocks of any size.
  constexpr std::int64_t channels = 32;
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, channels, 2, 2});
  std::vector<float> identity(channels * channels);
  for (std::size_t i = 0; i < channels; ++i) identity[i * (channels + 1)] = 1;
  const AnyTensor y = op::conv(x, constant<float>(g, identity, {channels, channels, 1, 1}));
  output(g, op::greater(y, constant<float>(g, std::vector{0.5f}, {1})), "is_large");
  Session session(std::move(g));
  Array<float> values({1, channels, 2, 2});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 1.f : 0.f;
  const auto result = session.run({{"x", values}});
  const auto is_large = result[0].values<bool>();
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(is_large[i] == (i % 3 == 0));
}
