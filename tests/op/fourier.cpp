#include <halftone/op/fourier.hpp>

#include "gradient_check.hpp"
#include "run_op.hpp"

using namespace run_op_test;

namespace {

constexpr double pi = 3.14159265358979323846;

/// The sum of the definition, of n complex numbers (re, im, re, im, ...), unscaled.
std::vector<double> by_definition(const std::vector<double>& x, double sign) {
  const std::size_t n = x.size() / 2;
  std::vector<double> y(x.size());
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const double t = sign * 2 * pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      y[2 * k] += x[2 * j] * std::cos(t) - x[2 * j + 1] * std::sin(t);
      y[2 * k + 1] += x[2 * j] * std::sin(t) + x[2 * j + 1] * std::cos(t);
    }
  }
  return y;
}

Array<std::int64_t> number(std::int64_t n) { return Array<std::int64_t>({}, {n}); }

}  // namespace

TEST_CASE_TEMPLATE("fourier: the definition, for any length", T, float, double, half, bfloat16) {
  const double absolute = sizeof(T) == 8 ? 1e-12 : 1e-6;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 60, 97, 128}) {
    const Array<T> x = scattered<T>({1, n, 2}, -1, 1);
    check_close<T>(run(op::DFT{}, {x}), by_definition(doubles(x), -1), 2, absolute);
    std::vector<double> back = by_definition(doubles(x), 1);
    for (double& v : back) v /= static_cast<double>(n);
    check_close<T>(run(op::DFT{.inverse = 1}, {x}), back, 2, absolute);
  }
}

TEST_CASE("fourier: axes, real signals, one side, other lengths") {
  const Array<double> x = scattered<double>({2, 5, 6, 1}, -1, 1);
  const std::vector<double> v = doubles(x);
  for (const std::int64_t axis : {0, 1, 2, -2, -4}) {
    const std::size_t at = normalized_axis(axis, 4);
    for (const std::int64_t length : {0, 4, 9}) {
      for (const std::int64_t onesided : {0, 1}) {
        const AnyArray dft_length = length == 0 ? absent() : AnyArray(number(length));
        const AnyArray y = run(op::DFT{.onesided = onesided}, {x, dft_length, number(axis)});
        const std::int64_t n = length == 0 ? x.info().shape[at] : length;
        const std::int64_t wanted = onesided == 0 ? n : n / 2 + 1;
        Dims shape = x.info().shape;
        shape[3] = 2;
        shape[at] = wanted;
        REQUIRE(y.info().shape == shape);
        const std::vector<double> found = doubles(y);
        const std::int64_t inner = product(x.info().shape.span().subspan(at + 1));
        const std::int64_t extent = x.info().shape[at];
        double worst = 0;
        for (std::int64_t line = 0; line < 60 / extent; ++line) {
          std::vector<double> numbers(static_cast<std::size_t>(2 * n));
          for (std::int64_t i = 0; i < n && i < extent; ++i) {
            numbers[static_cast<std::size_t>(2 * i)] =
                v[static_cast<std::size_t>((line / inner * extent + i) * inner + line % inner)];
          }
          const std::vector<double> expected = by_definition(numbers, -1);
          for (std::int64_t i = 0; i < 2 * wanted; ++i) {
            const std::int64_t place =
                ((line / inner * wanted + i / 2) * inner + line % inner) * 2 + i % 2;
            worst = std::fmax(worst, std::fabs(found[static_cast<std::size_t>(place)] -
                                               expected[static_cast<std::size_t>(i)]));
          }
        }
        CHECK(worst < 1e-12);
      }
    }
  }
}

TEST_CASE("fourier: forth and back is the identity, for a long prime as well") {
  const Array<double> x = scattered<double>({3, 1009, 2}, -1, 1);
  check_close<double>(run(op::DFT{.inverse = 1}, {run(op::DFT{}, {x})}), doubles(x), 0, 1e-12);
}

TEST_CASE("fourier: half of a spectrum gives the real signal back") {
  for (const std::int64_t n : {2, 3, 8, 9, 30}) {
    const Array<double> x = scattered<double>({2, n, 3, 1}, -1, 1);
    const AnyArray half_of = run(op::DFT{.onesided = 1}, {x, absent(), number(1)});
    const AnyArray y = run(op::DFT{.inverse = 1, .onesided = 1}, {half_of, number(n), number(1)});
    CHECK(y.info() == x.info());
    check_close<double>(y, doubles(x), 0, 1e-14);
    if (n % 2 == 0) {  // the length that half of a spectrum has unless another is given
      check_close<double>(run(op::DFT{.inverse = 1, .onesided = 1}, {half_of, absent(), number(1)}),
                          doubles(x), 0, 1e-14);
    }
  }
  // Of 1 / 4 (10 + 2 (-2 cos(pi k / 2)) - 2 (-1)^k - 4 sin(pi k / 2)): imaginary parts of the first
  // and the last number do not count.
  const Array<double> spectrum({3, 2}, {10, 7, -2, 2, -2, 7});
  check_close<double>(run(op::DFT{.inverse = 1, .onesided = 1}, {spectrum}), {1, 2, 3, 4}, 0,
                      1e-14);
}

TEST_CASE("fourier: the axis as an attribute") {
  const Array<double> x = scattered<double>({2, 5, 6, 1}, -1, 1);
  for (const std::int64_t axis : {0, 1, 2}) {
    const AnyArray y =
        run_expanded<op::DFT>(op::DFT_17{.axis = axis, .onesided = 1}, {x, absent()});
    const AnyArray expected = run(op::DFT{.onesided = 1}, {x, absent(), number(axis)});
    CHECK(y.info() == expected.info());
    CHECK(doubles(y) == doubles(expected));
  }
}

TEST_CASE("fourier: nothing, and what does not fit") {
  check_equal<float>(run(op::DFT{}, {Array<float>({0, 4, 1})}), {0, 4, 2}, {});
  check_equal<float>(run(op::DFT{}, {Array<float>({2, 0, 1})}), {2, 0, 2}, {});
  const Array<float> plain({1, 4, 1}), complex({1, 4, 2});
  CHECK(reason(op::DFT{}, {plain, absent(), number(2)}) == "axis is out of range");
  CHECK(reason(op::DFT{}, {plain, absent(), number(-1)}) == "axis is out of range");
  CHECK(reason(op::DFT{.onesided = 1}, {complex}) == "onesided is for real signals");
  CHECK(reason(op::DFT{.inverse = 1, .onesided = 1}, {plain}) ==
        "the inverse of onesided is for complex signals");
  CHECK(reason(op::DFT{}, {Array<float>({1, 4, 3})}) ==
        "the last dimension is neither 1 (real) nor 2 (complex)");
  CHECK(reason(op::DFT{}, {Array<float>({4})}) == "the input has no signal");
  CHECK(reason(op::DFT{}, {plain, number(0)}) == "dft_length is out of range");
}

TEST_CASE("short-time fourier: the transform of each frame") {
  for (const std::int64_t parts : {1, 2}) {
    const Array<double> signal = scattered<double>({2, 50, parts}, -1, 1);
    const Array<double> window = scattered<double>({12}, 0, 1, 5);
    const std::vector<double> v = doubles(signal), w = doubles(window);
    for (const bool has_window : {false, true}) {
      const std::int64_t onesided = parts == 2 ? 0 : 1, bins = onesided == 0 ? 12 : 7;
      std::vector<AnyArray> inputs{signal, number(5), has_window ? AnyArray(window) : absent()};
      if (!has_window) inputs.push_back(number(12));
      const AnyArray y = run(op::STFT{.onesided = onesided}, inputs);
      REQUIRE(y.info().shape == Dims{2, 8, bins, 2});  // (50 - 12) / 5 + 1 frames
      std::vector<double> expected;
      for (std::size_t frame = 0; frame < 16; ++frame) {
        std::vector<double> numbers(24);
        for (std::size_t i = 0; i < 12; ++i) {
          const std::size_t from =
              (frame / 8 * 50 + frame % 8 * 5 + i) * static_cast<std::size_t>(parts);
          const double factor = has_window ? w[i] : 1;
          numbers[2 * i] = factor * v[from];
          if (parts == 2) numbers[2 * i + 1] = factor * v[from + 1];
        }
        const std::vector<double> all = by_definition(numbers, -1);
        expected.insert(expected.end(), all.begin(), all.begin() + 2 * bins);
      }
      check_close<double>(y, expected, 0, 1e-12);
    }
  }
}

TEST_CASE("short-time fourier: short signals, and what does not fit") {
  const Array<float> signal({1, 8, 1}), complex({1, 8, 2}), window({4});
  check_equal<float>(run(op::STFT{}, {signal, number(2), absent(), number(9)}), {1, 0, 5, 2}, {});
  CHECK(reason(op::STFT{}, {signal, number(2)}) == "neither window nor frame_length is given");
  CHECK(reason(op::STFT{}, {signal, number(0), window}) == "frame_step is not positive");
  CHECK(reason(op::STFT{}, {signal, number(2), window, number(5)}) ==
        "frame_length is not the window's");
  CHECK(reason(op::STFT{}, {complex, number(2), window}) == "onesided is for real signals");
}

TEST_CASE("fourier: gradients") {
  using gradient_test::scattered;
  for (const std::int64_t parts : {1, 2}) {
    for (const std::int64_t inverse : {0, 1}) {
      for (const std::int64_t length : {3, 5, 8}) {
        gradient_test::check_gradients(
            {scattered({2, 5, 3, parts}), number(length), number(1)},
            [&](Graph&, auto& in) { return op::dft(in[0], in[1], in[2], {.inverse = inverse}); });
      }
    }
  }
  for (const std::int64_t length : {4, 5, 9}) {
    gradient_test::check_gradients({scattered({2, 5, 1}), number(length)}, [](Graph&, auto& in) {
      return op::dft(in[0], in[1], none, {.onesided = 1});
    });
    gradient_test::check_gradients(
        {scattered({2, 4, 2}), number(length), number(-2)}, [](Graph&, auto& in) {
          return op::dft(in[0], in[1], in[2], {.inverse = 1, .onesided = 1});
        });
  }
}

TEST_CASE("short-time fourier: gradients") {
  using gradient_test::scattered;
  for (const std::int64_t parts : {1, 2}) {
    const op::STFT stft{.onesided = parts == 1 ? 1 : 0};
    gradient_test::check_gradients(
        {scattered({2, 13, parts}), number(3), scattered({5}, 0, 1, 7)},
        [&](Graph&, auto& in) { return op::stft(in[0], in[1], in[2], none, stft); });
    gradient_test::check_gradients(
        {scattered({1, 9, parts}), number(2), number(4)},
        [&](Graph&, auto& in) { return op::stft(in[0], in[1], none, in[2], stft); });
  }
  gradient_test::check_gradients({scattered({2, 12}), number(4), scattered({4}, 0, 1, 7)},
                                 [](Graph&, auto& in) { return op::stft(in[0], in[1], in[2]); });
}
