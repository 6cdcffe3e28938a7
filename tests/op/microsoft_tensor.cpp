#include <halftone/op/microsoft_tensor.hpp>

#include "gradient_check.hpp"
#include "microsoft.hpp"

using namespace microsoft_test;

TEST_CASE_TEMPLATE("com.microsoft Inverse times its matrix is the identity", T, float, double) {
  const Array<T> x = scattered<T>({3, 4, 4}, -1, 1);
  const AnyArray y = run(op::Inverse{}, {x});
  for (std::size_t m = 0; m < 3; ++m) {
    const auto matrix = [&](const AnyArray& t) {
      const Numbers n = doubles(t);
      return Numbers(n.begin() + long(16 * m), n.begin() + long(16 * m + 16));
    };
    const Numbers one = product(matrix(x), matrix(y), 4, 4, 4);
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(std::fabs(one[i] - (i % 5 == 0 ? 1 : 0)) < 64 * rounding<T>());
    }
  }
  CHECK(std::isnan(doubles(run(op::Inverse{}, {Array<T>({1, 2, 2}, {1, 2, 2, 4})}))[0]));
  CHECK(reason(op::Inverse{}, {Array<T>({2, 3})}) == "the matrices are not square");
}

TEST_CASE("com.microsoft CDist: distances of rows") {
  const Array<float> a = scattered<float>({3, 4}, -1, 1), b = scattered<float>({5, 4}, -1, 1, 2);
  Numbers squares;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      double s = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        s += std::pow(doubles(a)[i * 4 + k] - doubles(b)[j * 4 + k], 2);
      }
      squares.push_back(s);
    }
  }
  check_close<float>(run_session(op::CDist{}, {a, b})[0], squares, 32, 1e-6);
  for (double& v : squares) v = std::sqrt(v);
  check_close<float>(run_session(op::CDist{.metric = Distance::euclidean}, {a, b})[0], squares, 32,
                     1e-6);
}

TEST_CASE("com.microsoft: elements that are found and moved") {
  const Array<float> x({2, 3}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(
      run_session(op::MicrosoftTrilu{{.upper = 0}}, {x, Array<std::int64_t>({}, {1})})[0], {2, 3},
      {1, 2, 0, 4, 5, 6});
  const auto found = run_session(op::MicrosoftUnique{}, {Array<float>({6}, {2, 1, 1, 3, 4, 3})}, 3);
  check_equal<float>(found[0], {4}, {2, 1, 3, 4});
  check_equal<std::int64_t>(found[1], {6}, {0, 1, 1, 2, 3, 2});
  check_equal<std::int64_t>(found[2], {4}, {1, 2, 2, 1});
  check_equal<float>(run_session(op::ExpandDims{}, {x, Array<std::int32_t>({}, {-1})}, 1, 2)[0],
                     {2, 3, 1}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(
      run_session(op::MicrosoftGatherND{}, {x, Array<std::int32_t>({2, 2}, {0, 2, 1, 0})})[0], {2},
      {3, 4});
  check_equal<float>(
      run_session(op::MicrosoftRange{}, {Array<float>({}, {1}), Array<float>({1}, {4})})[0], {3},
      {1, 2, 3});
  check_equal<float>(run_session(op::SampleOp{}, {x})[0], {2, 3}, {1, 2, 3, 4, 5, 6});
  check_equal<float>(run_session(op::MicrosoftPad{}, {x, Array<std::int64_t>({1, 4}, {0, 1, 1, 0}),
                                                      Array<float>({1}, {9})})[0],
                     {3, 4}, {9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9});
}

TEST_CASE("com.microsoft: complex numbers and Fourier transforms") {
  const Array<float> a({1, 2}, {1, 2}), b({1, 2}, {3, -4});
  check_equal<float>(run_session(op::ComplexMul{}, {a, b})[0], {1, 2}, {11, 2});
  check_equal<float>(run_session(op::ComplexMulConj{}, {a, b})[0], {1, 2}, {-5, 10});
  const Array<float> x = scattered<float>({2, 4, 6}, -1, 1);
  for (const std::int64_t dimensions : {1, 2, 3}) {
    const AnyArray y = run_session(op::Rfft{.signal_ndim = dimensions}, {x})[0];
    CHECK(y.info().shape == Dims{2, 4, 4, 2});
    const double pi = 3.14159265358979323846;
    // One frequency by the definition: 1 in each transformed dimension.
    double real = 0, imaginary = 0;
    for (std::size_t i = 0; i < 48; ++i) {
      const double at[] = {double(i / 24) / 2, double(i / 6 % 4) / 4, double(i % 6) / 6};
      double turns = 0;
      for (std::size_t d = std::size_t(3 - dimensions); d < 3; ++d) turns += at[d];
      const bool counted = (dimensions >= 3 || i / 24 == 0) && (dimensions >= 2 || i / 6 % 4 == 0);
      if (!counted) continue;
      real += doubles(x)[i] * std::cos(2 * pi * turns);
      imaginary -= doubles(x)[i] * std::sin(2 * pi * turns);
    }
    const std::size_t at = ((dimensions >= 3 ? 4 : 0) + (dimensions >= 2 ? 1 : 0)) * 8 + 2;
    CHECK(doubles(y)[at] == doctest::Approx(real).epsilon(1e-5));
    CHECK(doubles(y)[at + 1] == doctest::Approx(imaginary).epsilon(1e-5));
    check_close<float>(run_session(op::Irfft{.signal_ndim = dimensions}, {y})[0], doubles(x), 32,
                       1e-6);
  }
  CHECK_THROWS_AS(run_session(op::Rfft{.normalized = 1}, {x}), UnsupportedError);
}

TEST_CASE("com.microsoft IsAllFinite") {
  const float infinity = std::numeric_limits<float>::infinity();
  const Array<float> fine({2}, {1, -2}), large({2}, {1, infinity}), none({1}, {std::nanf("")});
  const auto is = [](op::IsAllFinite op, const std::vector<AnyArray>& x) {
    return doubles(run_session(op, x)[0])[0] != 0;
  };
  CHECK(is({}, {fine, fine}));
  CHECK(!is({}, {fine, large}));
  CHECK(!is({}, {none}));
  CHECK(is({.isnan_only = 1}, {large}));
  CHECK(is({.isinf_only = 1}, {none}));
}
