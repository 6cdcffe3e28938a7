#include <halftone/kernels.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace halftone;
using kernel::Accumulation;
using kernel::Finish;

namespace {

/// Tasks from the last to the first, as other threads may run them.
const kernel::Executor backwards{
    .threads = 4,
    .run =
        [](void*, std::int64_t count, kernel::Executor::Task task, void* context) {
          for (std::int64_t i = count; i-- > 0;) task(context, i);
        },
    .self = nullptr};

template <Accumulation A, class T>
std::vector<T> reduced(const std::vector<std::int64_t>& extents, std::uint32_t mask,
                       const std::vector<T>& x, Finish finish = Finish::none,
                       const kernel::Executor& executor = {}) {
  std::int64_t outputs = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) outputs *= (mask >> i & 1) != 0 ? 1 : extents[i];
  std::vector<T> y(static_cast<std::size_t>(outputs));
  const View<const T> view{x.data(), extents.data(), extents.size()};
  std::vector<double> workspace(kernel::reduce_workspace<T>(A, mask, view) / 8);
  kernel::reduce<A, T>(executor, finish, mask, view, y.data(), workspace.data());
  return y;
}

/// Whole numbers from -3 to 3, whose sums are exact.
template <class T>
std::vector<T> whole(std::int64_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(static_cast<int>(i * 2654435761u >> 7) % 4);
  }
  return x;
}

}  // namespace

// A law: reducing dimensions one after the other is reducing them at once.
TEST_CASE_TEMPLATE("reduce: in one step or in several", T, float, double, std::int32_t,
                   std::int64_t) {
  const std::vector<std::int64_t> shapes[] = {{6, 5, 4, 7}, {3, 40, 2, 33}, {2, 3, 70, 1}};
  for (const auto& shape : shapes) {
    const std::int64_t n = shape[0] * shape[1] * shape[2] * shape[3];
    const std::vector<T> x = whole<T>(n);
    for (std::uint32_t mask = 0; mask < 16; ++mask) {
      std::vector<T> steps = x;
      std::vector<std::int64_t> left = shape;
      for (std::size_t i = 0; i < 4; ++i) {
        if ((mask >> i & 1) == 0) continue;
        steps = reduced<Accumulation::sum>(left, 1u << i, steps);
        left[i] = 1;
      }
      CHECK(reduced<Accumulation::sum>(shape, mask, x) == steps);
    }
  }
}

TEST_CASE("reduce: parts of one output, in any order of the tasks") {
  const std::vector<std::int64_t> shapes[] = {{300001}, {150001, 2}, {2, 150001}, {3, 60001, 2}};
  for (const auto& shape : shapes) {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    const std::vector<float> x = whole<float>(n);
    for (std::uint32_t mask = 1; mask < 1u << shape.size(); ++mask) {
      const auto y = reduced<Accumulation::sum>(shape, mask, x);
      CHECK(y == reduced<Accumulation::sum>(shape, mask, x, Finish::none, backwards));
      double all = 0, expected = 0;
      for (const float v : y) all += v;
      for (const float v : x) expected += v;
      CHECK(all == expected);
      const auto largest = reduced<Accumulation::largest>(shape, mask, x);
      CHECK(largest == reduced<Accumulation::largest>(shape, mask, x, Finish::none, backwards));
      float most = -4;
      for (const float v : largest) most = v > most ? v : most;
      CHECK(most == 3);
      CHECK(reduced<Accumulation::exponentials>(shape, mask, x, Finish::logarithm) ==
            reduced<Accumulation::exponentials>(shape, mask, x, Finish::logarithm, backwards));
    }
  }
}

TEST_CASE("reduce: a batch in parts has the same sums") {
  constexpr std::int64_t batch = 6, part = 2;
  const auto check = [&](std::vector<std::int64_t> extents, std::uint32_t mask) {
    extents[0] = batch;
    std::size_t image = 1;
    for (std::size_t i = 1; i < extents.size(); ++i) image *= std::size_t(extents[i]);
    std::vector<float> x(batch * image);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7919 % 65537) / 65537;
    const auto whole = reduced<Accumulation::sum>(extents, mask, x);
    extents[0] = part;
    std::vector<float> parts;
    for (std::size_t i = 0; i < batch; i += part) {
      const std::vector<float> some(x.begin() + i * image, x.begin() + (i + part) * image);
      for (const float y : reduced<Accumulation::sum>(extents, mask, some)) parts.push_back(y);
    }
    CHECK(parts == whole);
  };
  check({0, 2, 112, 112, 16}, 0b01100);  // pixels of channels in blocks
  check({0, 2, 400, 500}, 0b1100);
  check({0, 300, 500}, 0b110);
}

TEST_CASE_TEMPLATE("reduce: halves are summed in float", T, half, bfloat16) {
  // Their own sum of ones would stop at 2048, or at 256.
  const std::vector<T> x(30000, static_cast<T>(1.f));
  CHECK(reduced<Accumulation::sum>({30000}, 1, x)[0] == static_cast<T>(30000.f));
  CHECK(reduced<Accumulation::sum>({15000, 2}, 1, x)[1] == static_cast<T>(15000.f));
  CHECK(reduced<Accumulation::sum>({30000}, 1, x, Finish::mean)[0] == static_cast<T>(1.f));
}

TEST_CASE("reduce: integers are summed in 64 bits") {
  const std::vector<std::int8_t> x(1000, 100);
  CHECK(reduced<Accumulation::sum>({1000}, 1, x, Finish::mean)[0] == 100);
  CHECK(reduced<Accumulation::largest>({10, 100}, 1, x)[99] == 100);
}
