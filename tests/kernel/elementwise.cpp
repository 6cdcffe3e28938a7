#include <halftone/base/math.hpp>
#include <halftone/kernels.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace halftone;

namespace {

/// Polynomial with attributes, a literal and a function; a power of two keeps every step exact.
struct Example {
  float a = 2, b = 0.5f;
  [[maybe_unused]] static constexpr OpId id{"test", "Example", 1};
  static constexpr Signature signature = "x y -> z";
  using types = TypeList<NumericTypes>;
  constexpr auto forward(auto x, auto y) const {
    return halftone::select(x > y, x * static_cast<int>(a), y + 1) - x;
  }
};
struct IsLarger {
  [[maybe_unused]] static constexpr OpId id{"test", "IsLarger", 1};
  static constexpr Signature signature = "x y -> z";
  static constexpr auto forward(auto x, auto y) { return x > y; }
};
/// A bool among floats, and a result that needs many instructions.
struct Choose {
  [[maybe_unused]] static constexpr OpId id{"test", "Choose", 1};
  static constexpr Signature signature = "c:B x -> y";
  using types = TypeList<TypeList<bool>, FloatTypes>;
  static constexpr auto forward(auto c, auto x) {
    return math::select(c, math::exp(x) * x + 1, math::tanh(x) * 3 - x);
  }
};

template <class Op, class... T>
Kernel kernel_of() {
  const ElementType types[] = {element_type<T>...};
  return detail::select_kernel<Op, kernel::VectorMaker>(types);
}

template <class T>
std::vector<T> numbers(std::size_t n, int step) {
  std::vector<T> values;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(static_cast<T>((static_cast<int>(i) * step) % 23 - 6));
  }
  return values;
}

}  // namespace

TEST_CASE_TEMPLATE("elementwise: blocks of every length are what the formula says", T, float,
                   double, half, bfloat16, std::int8_t, std::int32_t, std::int64_t, std::uint8_t) {
  const Example op;
  const Kernel k = kernel_of<Example, T>();
  for (std::size_t n = 0; n < 80; ++n) {
    std::vector<T> x = numbers<T>(n, 5), y = numbers<T>(n, 7), z(n + 1, static_cast<T>(77));
    const void* in[] = {x.data(), y.data()};
    k.block(&op, in, 0, z.data(), static_cast<std::int64_t>(n));
    CHECK(z[n] == static_cast<T>(77));
    for (std::size_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
      REQUIRE(z[i] == static_cast<T>(static_cast<int>((a > b ? a * 2 : b + 1) - a)));
    }
    // One element instead of either input, or of both.
    for (std::uint32_t uniform = 1; uniform < 4 && n > 0; ++uniform) {
      std::vector<T> u(x), v(y), expected(n), found(n);
      if (uniform & 1) u.assign(n, x[0]);
      if (uniform & 2) v.assign(n, y[0]);
      const void* dense[] = {u.data(), v.data()};
      k.block(&op, dense, 0, expected.data(), static_cast<std::int64_t>(n));
      k.block(&op, in, uniform, found.data(), static_cast<std::int64_t>(n));
      CHECK(std::memcmp(expected.data(), found.data(), n * sizeof(T)) == 0);
    }
    // In place, over either input.
    k.block(&op, in, 0, y.data(), static_cast<std::int64_t>(n));
    CHECK((n == 0 || std::memcmp(y.data(), z.data(), n * sizeof(T)) == 0));
  }
}

TEST_CASE_TEMPLATE("elementwise: comparisons give bool", T, float, double, half, bfloat16) {
  const IsLarger op;
  const Kernel k = kernel_of<IsLarger, T>();
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<T> x = numbers<T>(n, 5), y = numbers<T>(n, 3);
    if (n > 2) x[2] = static_cast<T>(std::nan(""));
    bool z[41];
    z[n] = true;
    const void* in[] = {x.data(), y.data()};
    k.block(&op, in, 0, z, static_cast<std::int64_t>(n));
    CHECK(z[n]);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(z[i] == (x[i] > y[i]));
  }
}

TEST_CASE_TEMPLATE("elementwise: no element depends on its neighbours or its position", T, float,
                   double, half, bfloat16) {
  const Choose op;
  const Kernel k = kernel_of<Choose, bool, T>();
  constexpr std::size_t n = 150;
  bool c[n];
  std::vector<T> x(n), all(n), piece(n);
  for (std::size_t i = 0; i < n; ++i) {
    c[i] = i % 3 != 0;
    x[i] = static_cast<T>(0.37 * static_cast<double>(i % 17) - 3.1);
  }
  const void* in[] = {c, x.data()};
  k.block(&op, in, 0, all.data(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    const double y = c[i] ? std::exp(v) * v + 1 : std::tanh(v) * 3 - v;
    const double unit = sizeof(T) > 2 ? 1e-6 : std::is_same_v<T, half> ? 1e-3 : 8e-3;
    REQUIRE(std::fabs(static_cast<double>(all[i]) - y) <= unit * (1 + std::fabs(y)));
  }
  for (std::size_t first = 0; first < n; ++first) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
      if (first + count > n) continue;
      const void* some[] = {c + first, x.data() + first};
      k.block(&op, some, 0, piece.data(), static_cast<std::int64_t>(count));
      REQUIRE(std::memcmp(piece.data(), all.data() + first, count * sizeof(T)) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("elementwise: a group has the bits that its vectors have alone", Op, op::Exp,
                   op::Log, op::Erf, op::Tanh, op::Sinh, op::Cosh, op::Asin, op::Acos, op::Atan,
                   op::Asinh, op::Acosh, op::Atanh, op::Sin, op::Cos, op::Tan, op::Expm1, op::Log1p,
                   op::Sigmoid, op::Softplus, op::Softsign, op::Mish, op::Gelu, op::GeluErf,
                   op::Swish, op::Elu, op::Selu, op::Celu, op::Shrink, op::Round) {
  const Op op{};
  constexpr std::size_t n = 16 * 1021;
  std::vector<float> x(n), all(n), alone(n);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    // Half of them any floats, half of them in the range where the functions are no constants.
    x[i] = i % 2 != 0 ? std::bit_cast<float>(state) : static_cast<float>(state) * 0x1p-29f - 4;
  }
  const auto run = [&](const float* from, float* to, std::size_t count) {
    const void* in[] = {from};
    kernel::vector_block<Op, float>(&op, in, 0, to, static_cast<std::int64_t>(count));
  };
  run(x.data(), all.data(), n);
  const auto differing = [&](std::size_t step) {
    for (std::size_t i = 0; i < n; i += step) run(&x[i], &alone[i], std::min(step, n - i));
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      count += std::bit_cast<std::uint32_t>(all[i]) != std::bit_cast<std::uint32_t>(alone[i]) &&
               !(std::isnan(all[i]) && std::isnan(alone[i]));
    }
    return count;
  };
  CHECK(differing(16) == 0);
  CHECK(differing(5) == 0);
  CHECK(differing(67) == 0);
}
