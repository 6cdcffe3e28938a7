#pragma once

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

#include "../floats.hpp"

namespace test {

using Number = F<>;

/// The values of tensors as doubles.
inline std::vector<std::vector<double>> evaluate(const halftone::Graph& graph,
                                                 std::vector<halftone::Anchor> outputs,
                                                 std::vector<halftone::Input> inputs = {}) {
  halftone::Session session(graph, {.outputs = std::move(outputs)});
  const halftone::Result result = session.run(inputs);
  std::vector<std::vector<double>> all;
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<double>& values = all.emplace_back();
    const halftone::AnyView view = result[i];
    halftone::visit_type<halftone::AllTypes>(view.info.type, [&]<class T>() {
      for (const T& value : view.values<T>()) values.push_back(static_cast<double>(value));
    });
  }
  return all;
}

inline std::vector<double> value(const halftone::AnyTensor& t) {
  return evaluate(*t.graph, {t})[0];
}

inline void check_near(const std::vector<double>& found, const std::vector<double>& expected,
                       double epsilon = 1e-5) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(epsilon));
  }
}

}  // namespace test
