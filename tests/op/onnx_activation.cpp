#include <halftone/op/onnx_activation.hpp>

#include "expanded.hpp"
#include "gradient_check.hpp"

using namespace run_op_test;

namespace {

double swish(double x, double alpha) { return x / (1 + std::exp(-alpha * x)); }

}  // namespace

TEST_CASE_TEMPLATE("gelu of ONNX: both formulas", T, float, double, half, bfloat16) {
  const Array<T> x = scattered<T>({3, 17}, -6, 6);
  std::vector<double> exact, approximate;
  for (const double v : doubles(x)) {
    exact.push_back(v / 2 * (1 + std::erf(v / std::sqrt(2.0))));
    const double pi = 3.14159265358979323846;
    approximate.push_back(v / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715 * v * v * v))));
  }
  check_close<T>(run_session(op::OnnxGelu{}, {x})[0], exact, 8, 4 * rounding<T>());
  check_close<T>(run_session(op::OnnxGelu{op::GeluApproximation::by_tanh}, {x})[0], approximate, 8,
                 4 * rounding<T>());
}

TEST_CASE_TEMPLATE("swish with alpha, and swiglu", T, float, double, half, bfloat16) {
  const Array<T> a = scattered<T>({3, 17}, -6, 6), b = scattered<T>({3, 17}, -2, 2, 7);
  for (const float alpha : {1.f, 1.702f, -0.5f, 0.f}) {
    std::vector<double> one, two;
    for (std::size_t i = 0; i < a.size(); ++i) {
      one.push_back(swish(doubles(a)[i], alpha));
      two.push_back(one.back() * doubles(b)[i]);
    }
    check_close<T>(run_session(op::OnnxSwish{alpha}, {a})[0], one, 8, 8 * rounding<T>());
    check_close<T>(run_session(op::SwiGLU{alpha}, {a, b})[0], two, 16, 16 * rounding<T>());
  }
}

TEST_CASE("swiglu: shapes that differ are refused") {
  const Array<float> a({2, 3}), b({3});
  CHECK_THROWS_AS(run_session(op::SwiGLU{}, {a, b}), ModelError);
}

TEST_CASE("gradients of gelu, swish and swiglu of ONNX") {
  using namespace gradient_test;
  const auto a = gradient_test::scattered({2, 9}, -3, 3),
             b = gradient_test::scattered({2, 9}, -2, 2, 5);
  for (const auto approximate : {op::GeluApproximation::none, op::GeluApproximation::by_tanh}) {
    check_gradients({a}, [&](Graph&, auto& in) { return op::OnnxGelu{approximate}.expand(in[0]); });
  }
  for (const float alpha : {1.f, 1.702f}) {
    check_gradients({a}, [&](Graph&, auto& in) { return op::OnnxSwish{alpha}.expand(in[0]); });
    check_gradients({a, b},
                    [&](Graph&, auto& in) { return op::swiglu(in[0], in[1], {.alpha = alpha}); });
  }
}
