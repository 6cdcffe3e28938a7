#include "ml_model.hpp"

#include <array>
#include <cmath>

using namespace ml_test;
using run_op_test::array;
using run_op_test::check_equal;
using test::contains;

namespace {

constexpr ElementType f32 = ElementType::float32, i64 = ElementType::int64,
                      text = ElementType::string;

AnyArray words(const Dims& shape, std::vector<std::string_view> list) {
  return AnyArray(shape, list);
}
std::vector<std::string> read(const AnyArray& x) {
  std::vector<std::string> list;
  for (const String s : x.values<String>()) list.emplace_back(s.view());
  return list;
}
using List = std::vector<std::string>;

/// The first output of a model as it was read, and written and read again.
std::vector<AnyArray> outputs(const std::string& bytes, const AnyArray& x) {
  const Graph graph = test::loaded(bytes);
  Session first(graph), second(onnx::load(onnx::to_bytes(graph)));
  std::vector<AnyArray> all;
  for (Session* session : {&first, &second}) {
    session->run({{"x", x}});  // the second run finds what the first one kept
    const Result result = session->run({{"x", x}});
    for (std::size_t i = 0; i < result.size(); ++i) all.push_back(AnyArray::copy_of(result[i]));
  }
  return all;
}

}  // namespace

TEST_CASE("ml: texts become numbers and numbers texts") {
  const std::vector<test::Message> to_numbers{texts("keys_strings", {"a", "b", "a"}),
                                              ints<int>("values_int64s", {1, 2, 3})};
  const auto y =
      outputs(model("LabelEncoder", to_numbers, text, {"n"}, 1, 2), words({3}, {"b", "c", "a"}));
  for (const AnyArray& each : y) check_equal<std::int64_t>(each, {3}, {2, -1, 1});
  const std::vector<test::Message> to_texts{ints<int>("keys_int64s", {7, 8}),
                                            texts("values_strings", {"seven", "eight"}),
                                            test::text("default_string", "none")};
  for (const AnyArray& each : outputs(model("LabelEncoder", to_texts, i64, {"n", 1}, 1, 2),
                                      array<std::int64_t>({3, 1}, {8, 9, 7}))) {
    CHECK(read(each) == List{"eight", "none", "seven"});
  }
  const double nan = std::nan("");
  const std::vector<test::Message> floats_to_floats{floats("keys_floats", {0, nan}),
                                                    floats("values_floats", {5, 6}),
                                                    test::real("default_float", 1)};
  for (const AnyArray& each : outputs(model("LabelEncoder", floats_to_floats, f32, {"n"}, 1, 4),
                                      array<float>({3}, {nan, -0.0, 2}))) {
    check_equal<float>(each, {3}, {6, 5, 1});
  }
  const std::vector<test::Message> tensors{
      test::tensor_attribute("keys_tensor", test::tensor<std::int16_t>("", 5, {2}, {3, 4})),
      ml_test::doubles("values_tensor", {0.5, 1.5}), ml_test::doubles("default_tensor", {9})};
  for (const AnyArray& each :
       outputs(model("LabelEncoder", tensors, ElementType::int16, {"n"}, 1, 4),
               array<std::int16_t>({3}, {4, 3, 2}))) {
    check_equal<double>(each, {3}, {1.5, 0.5, 9});
  }
}

TEST_CASE("ml: the oldest LabelEncoder and CategoryMapper") {
  const test::Message classes = texts("classes_strings", {"x", "y"});
  check_equal<std::int64_t>(
      outputs(model("LabelEncoder", {classes}, text, {"n"}, 1, 1), words({2}, {"y", "z"}))[0], {2},
      {1, -1});
  CHECK(read(outputs(model("LabelEncoder", {classes}, i64, {"n"}, 1, 1),
                     array<std::int64_t>({2}, {0, 5}))[1]) == List{"x", "_Unused"});
  const std::vector<test::Message> mapper{texts("cats_strings", {"x", "y"}),
                                          ints<int>("cats_int64s", {10, 20})};
  check_equal<std::int64_t>(
      outputs(model("CategoryMapper", mapper, text, {"n"}, 1, 1), words({2}, {"y", "z"}))[1], {2},
      {20, -1});
  CHECK(read(outputs(model("CategoryMapper", mapper, i64, {"n"}, 1, 1),
                     array<std::int64_t>({2}, {20, 5}))[0]) == List{"y", "_Unused"});
  CHECK(contains(error_of(model("CategoryMapper", {mapper[0], ints<int>("cats_int64s", {10})}, i64,
                                {"n"}, 1, 1)),
                 "differ in length"));
}

TEST_CASE("ml: OneHotEncoder of texts") {
  const test::Message categories = texts("cats_strings", {"a", "b"});
  for (const AnyArray& y : outputs(model("OneHotEncoder", {categories}, text, {"n"}, 1, 1),
                                   words({3}, {"b", "?", "a"}))) {
    check_equal<float>(y, {3, 2}, {0, 1, 0, 0, 1, 0});
  }
  Session strict(test::loaded(
      model("OneHotEncoder", {categories, test::integer("zeros", 0)}, text, {"n"}, 1, 1)));
  const AnyArray unknown = words({1}, {"?"});
  CHECK_THROWS_AS(strict.run({{"x", unknown}}), InputError);
}

TEST_CASE("ml: labels that are texts") {
  const std::vector<test::Message> attributes{floats("coefficients", {1, 0, 0, 1}),
                                              floats("intercepts", {0, 0}),
                                              texts("classlabels_strings", {"left", "right"})};
  const auto y = outputs(model("LinearClassifier", attributes, f32, {"n", 2}, 2, 1),
                         array<float>({2, 2}, {1, 2, 2, 1}));
  CHECK(read(y[0]) == List{"right", "left"});
  CHECK(read(y[2]) == List{"right", "left"});
  const std::vector<test::Message> tree{ints<int>("nodes_treeids", {0, 0, 0}),
                                        ints<int>("nodes_nodeids", {0, 1, 2}),
                                        ints<int>("nodes_featureids", {0, 0, 0}),
                                        ints<int>("nodes_truenodeids", {1, 0, 0}),
                                        ints<int>("nodes_falsenodeids", {2, 0, 0}),
                                        floats("nodes_values", {0.5, 0, 0}),
                                        texts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}),
                                        ints<int>("class_treeids", {0, 0}),
                                        ints<int>("class_nodeids", {1, 2}),
                                        ints<int>("class_ids", {0, 0}),
                                        floats("class_weights", {0.25, 0.75}),
                                        texts("classlabels_strings", {"low", "high"})};
  const auto z = outputs(model("TreeEnsembleClassifier", tree, f32, {"n", 1}, 2, 3),
                         array<float>({2, 1}, {1, 0}));
  CHECK(read(z[0]) == List{"high", "low"});
  CHECK(read(z[2]) == List{"high", "low"});
  check_equal<float>(z[1], {2, 2}, {0.25, 0.75, 0.75, 0.25});
}

TEST_CASE("ml: ZipMap") {
  for (const bool is_text : {false, true}) {
    const test::Message labels = is_text ? texts("classlabels_strings", {"a", "b"})
                                         : ints<int>("classlabels_int64s", {5, 6});
    for (const AnyArray& y : outputs(model("ZipMap", {labels}, f32, {"n", 2}, 1, 1),
                                     array<float>({2, 2}, {1, 2, 3, 4}))) {
      const std::span<const AnyArray> rows = AnyView(y).sequence().items();
      REQUIRE(rows.size() == 2);
      const Map map = AnyView(rows[1]).map();
      if (is_text) {
        CHECK(read(map.keys()) == List{"a", "b"});
      } else {
        check_equal<std::int64_t>(map.keys(), {2}, {5, 6});
      }
      check_equal<float>(map.values(), {2}, {3, 4});
    }
  }
  CHECK(contains(
      error_of(model("ZipMap", {ints<int>("classlabels_int64s", {5})}, f32, {"n", 2}, 1, 1)),
      "one label for each column"));
}

TEST_CASE("ml: maps become rows") {
  const AnyArray floats_by_number(
      halftone::value_type(ValueKind::int64_map, f32),
      Map::make(array<std::int64_t>({3}, {4, 0, 2}), array<float>({3}, {40, 1.5, 20})));
  const AnyArray words_by_number(
      halftone::value_type(ValueKind::int64_map, text),
      Map::make(array<std::int64_t>({2}, {1, 0}), words({2}, {"7", "-2"})));
  const std::vector<AnyView> first{AnyView(floats_by_number)}, second{AnyView(words_by_number)};
  const auto cast = [](op::CastMap op, const std::vector<AnyView>& x) { return op.run(x, 1)[0]; };
  using op::MapCast, op::MapForm;
  check_equal<float>(cast({}, first), {1, 3}, {1.5, 20, 40});
  check_equal<std::int64_t>(cast({.cast_to = MapCast::to_int64}, first), {1, 3}, {1, 20, 40});
  check_equal<float>(cast({.map_form = MapForm::sparse, .max_map = 4}, first), {1, 4},
                     {1.5, 0, 20, 0});
  check_equal<std::int64_t>(cast({.cast_to = MapCast::to_int64}, second), {1, 2}, {-2, 7});
  CHECK(read(cast({.cast_to = MapCast::to_string}, second)) == List{"-2", "7"});

  const AnyArray vocabulary = array<std::int64_t>({3}, {2, 9, 0});
  const std::vector<AnyView> both{AnyView(floats_by_number), AnyView(vocabulary)};
  check_equal<float>(op::DictVectorizer::run(both, 1)[0], {1, 3}, {20, 0, 1.5});
}
