#include <halftone/base/error.hpp>

#include <doctest/doctest.h>

#include <string>

#include <halftone/base/array.hpp>
#include <halftone/graph/model.hpp>

using namespace halftone;

namespace {

/// The error that f throws.
template <class F>
Error thrown(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return InternalError({.what = "nothing"});
}

Error error_of(const ErrorParts& parts) {
  return thrown([&] { fail(ErrorKind::model, parts); });
}

}  // namespace

TEST_CASE("error: the text has where, what, expected, found and hint, aligned") {
  const Error error = error_of({.what = "input channels do not match the weight",
                                .node = "Conv 'layer1.0.conv1'",
                                .tensor = "relu_3",
                                .expected = "64",
                                .found = "128",
                                .hint = "group = 2 would fit"});
  CHECK(std::string(error.what()) ==
        "Conv 'layer1.0.conv1': input channels do not match the weight\n"
        "  tensor    'relu_3'\n"
        "  expected  64\n"
        "  found     128\n"
        "  hint      group = 2 would fit");
  CHECK(error.line() ==
        "Conv 'layer1.0.conv1': input channels do not match the weight (tensor 'relu_3'; expected "
        "64; found 128; hint group = 2 would fit)");
  CHECK(error.node() == "Conv 'layer1.0.conv1'");
  CHECK(error.tensor() == "relu_3");
  CHECK(error.reason() == "input channels do not match the weight");
  CHECK(error.expected() == "64");
  CHECK(error.found() == "128");
  CHECK(error.hint() == "group = 2 would fit");
}

TEST_CASE("error: details stand in lines of their own, with or without a label") {
  const Error error = error_of({.what = "two things\na\tfirst\nlonger\tsecond\nalone"});
  CHECK(std::string(error.what()) == "two things\n  a       first\n  longer  second\n  alone");
  CHECK(error.line() == "two things (a first; longer second; alone)");
  CHECK(error.reason() == "two things");
}

TEST_CASE("error: every kind has its class") {
  CHECK_THROWS_AS(fail(ErrorKind::internal, {.what = "x"}), InternalError);
  CHECK_THROWS_AS(fail(ErrorKind::usage, {.what = "x"}), UsageError);
  CHECK_THROWS_AS(fail(ErrorKind::model, {.what = "x"}), ModelError);
  CHECK_THROWS_AS(fail(ErrorKind::unsupported, {.what = "x"}), UnsupportedError);
  CHECK_THROWS_AS(fail(ErrorKind::input, {.what = "x"}), InputError);
  CHECK_THROWS_AS(fail(ErrorKind::memory, {.what = "x"}), MemoryError);
  CHECK_THROWS_AS(fail(ErrorKind::io, {.what = "x"}), IoError);
  for (int kind = 1; kind <= 7; ++kind) {
    CHECK(thrown([&] { fail(static_cast<ErrorKind>(kind), {.what = "x"}); }).kind() ==
          static_cast<ErrorKind>(kind));
  }
  CHECK(name(ErrorKind::unsupported) == "unsupported");
}

TEST_CASE("error: what a model says cannot break the line or the terminal") {
  const std::string nasty =
      "a\nb\tc\x1b[2J\x7f \xff\xc0\xaf \xe2\x80\xa8 \xc2\x85 \xed\xa0\x80 gr\xc3\xbc\xc3\x9f";
  const Error error = error_of({.what = "bad", .node = nasty, .tensor = nasty, .found = "\x01"});
  for (const char c : error.line()) CHECK(static_cast<unsigned char>(c) >= 0x20);
  CHECK(error.line() ==
        "a\\nb\\tc\\x1b[2J\\x7f \\xff\\xc0\\xaf \\xe2\\x80\\xa8 \\xc2\\x85 \\xed\\xa0\\x80 "
        "gr\xc3\xbc\xc3\x9f: "
        "bad (tensor 'a\\nb\\tc\\x1b[2J\\x7f \\xff\\xc0\\xaf \\xe2\\x80\\xa8 \\xc2\\x85 "
        "\\xed\\xa0\\x80 "
        "gr\xc3\xbc\xc3\x9f'; found \\x01)");
  // A name cut short is cut between characters.
  std::string wide = "x";
  for (int i = 0; i < 1000; ++i) wide += "\xc3\xbc";
  const Error cut = error_of({.what = "bad", .tensor = wide});
  CHECK(cut.line().size() < 250);
  CHECK(cut.line().find('\\') == std::string_view::npos);
  CHECK(cut.tensor() == wide);
}

TEST_CASE("error: a copy has the same text and outlives the original") {
  auto* first = new ModelError({.what = "first"});
  Error copy(*first);
  Error assigned = InputError({.what = "second"});
  assigned = *first;
  delete first;
  CHECK(copy.line() == "first");
  CHECK(assigned.line() == "first");
  CHECK(assigned.kind() == ErrorKind::model);
  CHECK(error_of({.what = ""}).line() == "failed without a reason");
}

TEST_CASE("error: an extent error carries its numbers") {
  try {
    throw_extent("extents differ", "x", 2, 8, dynamic);
    FAIL("nothing was thrown");
  } catch (const ShapeError& error) {
    CHECK(error.axis() == 2);
    CHECK(error.expected_extent() == 8);
    CHECK(error.found_extent() == dynamic);
    CHECK(error.line() == "extents differ (tensor 'x'; axis 2; expected 8; found unknown)");
  }
  const Error type = thrown([] { throw_element_type(ElementType::float32, ElementType::int64); });
  CHECK(type.kind() == ErrorKind::input);
  CHECK(type.expected() == "float");
  CHECK(type.found() == "int64");
}

TEST_CASE("error: an unknown name lists what there is") {
  Graph g;
  CHECK(thrown([&] { g["y"]; }).hint() == "it has no tensor with a name");
  g.add_input({ElementType::float32, {2}}, "x");
  g.add_variable({ElementType::float32, {2}}, Initial{}, "w");
  const Error error = thrown([&] { g["y"]; });
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.tensor() == "y");
  CHECK(error.hint() == "there are 'x', 'w'");
  for (int i = 0; i < 100; ++i) g.add_input({ElementType::float32, {2}}, "input");
  CHECK(thrown([&] { g["y"]; }).hint().ends_with(", ..."));
}

namespace {
struct TwoInputs {
  static constexpr OpId id{"test", "TwoInputs", 1};
  static constexpr Signature signature = "a b -> y";
  static constexpr Inferred infer(TensorInfo a, TensorInfo) { return a; }
};
}  // namespace

TEST_CASE("error: inference names the inputs by slot, shape and name") {
  Graph g;
  const TensorId a = g.add_input({ElementType::float32, {4, 8}}, "x");
  const TensorId b = g.add_input({ElementType::float32, {9, dynamic}}, {});
  const TensorId ids[] = {a, b};
  const Descriptor& op = descriptor<TwoInputs>;
  const auto mismatch = Inferred::mismatch("inner dimensions differ", 8, 9);
  try {
    throw_inference(g, op, ids, mismatch);
    FAIL("nothing was thrown");
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()) ==
          "TwoInputs: inner dimensions differ\n"
          "  a         [4, 8] float  'x'\n"
          "  b         [9, ?] float\n"
          "  expected  8\n"
          "  found     9");
    CHECK(error.expected_extent() == 8);
    CHECK(error.found_extent() == 9);
  }
  // Element types are words, and a type that is not offered is no defect of the model.
  const auto type =
      Inferred::types("element type is not offered", ElementType::undefined, ElementType::string);
  const Error not_offered = thrown([&] { throw_inference(g, op, ids, type); });
  CHECK(not_offered.kind() == ErrorKind::unsupported);
  CHECK(not_offered.expected() == "");
  CHECK(not_offered.found() == "string");
  const auto types = Inferred::types("a state changes its element type", ElementType::float32,
                                     ElementType::boolean);
  const Error changed = thrown([&] { throw_inference(g, op, ids, types); });
  CHECK(changed.kind() == ErrorKind::model);
  CHECK(changed.expected() == "float");
  CHECK(changed.found() == "bool");
  // So is the name of an attribute that is missing.
  const Error missing = thrown([&] { throw_inference(g, op, ids, Inferred::missing("axis")); });
  CHECK(missing.reason().starts_with("attribute 'axis' is missing"));
}
