#include <halftone/seeds.hpp>

#include <string>

#include <halftone/base/error.hpp>
#include <halftone/base/split_mix.hpp>

namespace halftone {

Array<std::uint32_t> create_seeds(std::uint64_t seed, std::uint64_t offset,
                                  std::int64_t batches_per_step, std::int64_t gradient_accumulation,
                                  std::int64_t replicas) {
  Dims shape;
  std::int64_t count = 1;
  for (const std::int64_t extent : {batches_per_step, gradient_accumulation, replicas}) {
    if (extent < 1) {
      fail(ErrorKind::usage, {.what = "seeds are made for at least one step, batch and replica",
                              .expected = "1 or more",
                              .found = std::to_string(extent)});
    }
    if (extent > 1) shape.push_back(extent);
    count *= extent;
  }
  shape.push_back(2);
  Array<std::uint32_t> seeds(shape);
  std::uint64_t state = detail::scrambled(seed + offset);
  for (std::int64_t i = 0; i < count; ++i, state += detail::mix_step) {
    const auto words = uint64_to_two_uint32(detail::mixed(state));
    seeds[2 * i] = words[0];
    seeds[2 * i + 1] = words[1];
  }
  return seeds;
}

}  // namespace halftone
