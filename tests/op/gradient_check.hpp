#pragma once

#include <doctest/doctest.h>
#include <halftone/graph/gradient.hpp>
#include <halftone/op/list.hpp>
#include <halftone/session/session.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

/// Gradients of operators against central differences.
namespace gradient_test {

using namespace halftone;

/// Different numbers in [low, high], the same ones in every run.
inline Array<double> scattered(const Dims& shape, double low = -1, double high = 1,
                               std::uint64_t seed = 1) {
  Array<double> x(shape);
  for (double& v : x.values()) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v = low + (high - low) * static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return x;
}

/// Numbers at least `distance` from each other, in no order: for operators that choose.
inline Array<double> apart(const Dims& shape, double distance = 0.1, std::uint64_t seed = 1) {
  Array<double> x(shape);
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < n; ++i) {
    x[static_cast<std::size_t>(i)] = distance * (static_cast<double>(i) + 0.3 - 0.5 * double(n));
  }
  for (std::size_t i = x.size(); i > 1; --i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    std::swap(x[i - 1], x[(seed >> 33) % i]);
  }
  return x;
}

inline AnyArray integers(const std::vector<std::int64_t>& values) {
  Array<std::int64_t> x({static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) x[i] = values[i];
  return x;
}

struct Check {
  double tolerance = 1e-6;  ///< of 1 + the size of the derivative
  double step = 1e-5;
  std::size_t elements = 24;  ///< of each input, at most
};

/// Derivatives of the sum of all outputs, each element times some number, by the inputs of type
/// double. Other inputs are constants of the graph.
///
/// record    records the operator: record(graph, inputs) is a tensor or a list of them
inline void check_gradients(const std::vector<AnyArray>& inputs, auto&& record,
                            const Check& check = {}) {
  Graph graph;
  std::vector<AnyTensor> x;
  std::vector<TensorId> wanted;
  std::vector<std::size_t> varied;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const AnyArray& value = inputs[i];
    if (value.info().type == ElementType::float64) {
      x.push_back({&graph, graph.add_input(value.info(), "x" + std::to_string(i))});
      wanted.push_back(x.back().id);
      varied.push_back(i);
    } else {
      x.push_back({&graph, graph.add_constant(
                               value.info(),
                               Bytes(std::vector(value.data(), value.data() + value.bytes())))});
    }
  }
  std::vector<AnyTensor> y;
  if constexpr (requires { AnyTensor(record(graph, x)); }) {
    y.push_back(record(graph, x));
  } else {
    for (const AnyTensor& t : record(graph, x)) y.push_back(t);
  }
  AnyTensor loss;
  for (std::size_t i = 0; i < y.size(); ++i) {
    AnyTensor t = y[i];
    if (t.info().type != ElementType::float64) t = op::cast(t, {.to = ElementType::float64});
    const Array<double> r = scattered(t.info().shape, -1, 1, 99 + i);
    const std::span<const double> numbers(&r[0], r.size());
    const AnyTensor part =
        op::sum(op::mul(t, constant(graph, numbers, t.info().shape)), none, {.keepdims = 0});
    loss = i == 0 ? part : AnyTensor(op::add(loss, part));
  }
  const std::vector<TensorId> gradients = differentiate(graph, loss.id, wanted);
  graph.add_output(loss.id);
  for (const TensorId id : gradients) {
    REQUIRE(id != no_tensor);
    graph.add_output(id);
  }
  Session session(std::move(graph), {.threads = 1});

  std::vector<Array<double>> values;
  std::vector<std::string> names;
  for (const std::size_t i : varied) {
    Array<double> copy(inputs[i].info().shape);
    std::memcpy(copy.data(), inputs[i].data(), inputs[i].bytes());
    values.push_back(std::move(copy));
    names.push_back("x" + std::to_string(i));
  }
  const auto run = [&] {
    std::vector<Input> given;
    for (std::size_t i = 0; i < values.size(); ++i) {
      given.push_back({names[i], static_cast<const AnyArray&>(values[i])});
    }
    return session.run(std::span<const Input>(given));
  };
  const auto number = [](const AnyView& view, std::size_t at) {
    double v;
    std::memcpy(&v, static_cast<const std::byte*>(view.data) + at * sizeof v, sizeof v);
    return v;
  };
  std::vector<std::vector<double>> dx(values.size());
  {
    const Result result = run();
    for (std::size_t i = 0; i < values.size(); ++i) {
      REQUIRE(result[i + 1].info == inputs[varied[i]].info());
      for (std::size_t k = 0; k < values[i].size(); ++k) dx[i].push_back(number(result[i + 1], k));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = values[i].size();
    const std::size_t count = n < check.elements ? n : check.elements;
    for (std::size_t e = 0; e < count; ++e) {
      const std::size_t k = e * n / count;
      const double before = values[i][k];
      values[i][k] = before + check.step;
      const double above = number(run()[0], 0);
      values[i][k] = before - check.step;
      const double below = number(run()[0], 0);
      values[i][k] = before;
      const double slope = (above - below) / (2 * check.step);
      if (!(std::fabs(dx[i][k] - slope) <= check.tolerance * (1 + std::fabs(slope)))) {
        CAPTURE(names[i]);
        CAPTURE(k);
        CHECK(dx[i][k] == slope);
      }
    }
  }
  CHECK(true);
}

}  // namespace gradient_test
