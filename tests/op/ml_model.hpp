#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "../onnx/model_bytes.hpp"
#include "run_op.hpp"

// Models of one operator, of ai.onnx.ml if not stated, whose attributes become inputs when they are
// read.
namespace ml_test {

using namespace halftone;

template <class T>
test::Message ints(std::string_view name, const std::vector<T>& values) {
  test::Message m = test::attribute(name, 7);
  for (const T v : values) m.integer(8, static_cast<std::int64_t>(v));
  return m;
}
inline test::Message floats(std::string_view name, const std::vector<double>& values) {
  test::Message m = test::attribute(name, 6);
  for (const double v : values) m.real(7, static_cast<float>(v));
  return m;
}
inline test::Message texts(std::string_view name, const std::vector<std::string>& values) {
  test::Message m = test::attribute(name, 8);
  for (const std::string& v : values) m.text(9, v);
  return m;
}
inline test::Message doubles(std::string_view name, const std::vector<double>& values) {
  return test::tensor_attribute(
      name, test::tensor<double>("", 11, {static_cast<std::int64_t>(values.size())}, values));
}

/// The operator over x [?, ...] of that type, with outputs y0, y1, ...
inline std::string model(std::string_view op, const std::vector<test::Message>& attributes,
                         ElementType type, std::initializer_list<test::Extent> shape,
                         std::size_t outputs = 1, std::int64_t version = 3,
                         std::string_view domain = "ai.onnx.ml") {
  test::Message node;
  node.text(1, "x");
  test::GraphParts parts;
  for (std::size_t i = 0; i < outputs; ++i) {
    const std::string name = "y" + std::to_string(i);
    node.text(2, name);
    parts.outputs.push_back(test::Message().text(1, name));
  }
  node.text(4, op);
  for (const test::Message& a : attributes) node.message(5, a);
  node.text(7, domain);
  parts.nodes.push_back(node);
  parts.inputs.push_back(test::value("x", static_cast<int>(type), shape));
  return test::model(parts, {.opsets = {test::opset(version, domain)}});
}

/// All outputs for an input; the same after the model was written and read again.
inline std::vector<AnyArray> run(const std::string& bytes, const AnyArray& x) {
  std::vector<std::vector<AnyArray>> all;
  const Graph read = test::loaded(bytes);
  const std::vector<std::byte> written = onnx::to_bytes(read);
  for (const Graph& graph : {read, onnx::load(written)}) {
    Session session(graph);
    const std::vector<Input> inputs{Input("x", x)};
    const Result result = session.run(inputs);
    std::vector<AnyArray>& outputs = all.emplace_back();
    for (std::size_t i = 0; i < result.size(); ++i) {
      const AnyView view = result[i];
      AnyArray& copy = outputs.emplace_back(view.info);
      std::copy_n(static_cast<const std::byte*>(view.data), view.bytes(), copy.data());
    }
  }
  REQUIRE(all[0].size() == all[1].size());
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    CHECK(all[0][i].info() == all[1][i].info());
    CHECK(std::equal(all[0][i].data(), all[0][i].data() + all[0][i].bytes(), all[1][i].data()));
  }
  return all[0];
}

inline std::string error_of(const std::string& bytes) {
  const Error error = test::error_of(bytes);
  return std::string(name(error.kind())) + ": " + std::string(error.what());
}

}  // namespace ml_test
