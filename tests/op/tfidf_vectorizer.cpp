#include "ml_model.hpp"

using namespace ml_test;
using run_op_test::check_equal;

namespace {

using Messages = std::vector<test::Message>;

constexpr ElementType i64 = ElementType::int64, i32 = ElementType::int32,
                      text = ElementType::string;

struct Terms {
  std::int64_t longest = 2, skips = 0, shortest = 1;
  std::string mode = "TF";
  std::vector<int> counts{}, indexes{}, pool{};
  std::vector<std::string> words{};
  std::vector<double> weights{};

  Session session(ElementType type, std::initializer_list<test::Extent> shape) const {
    Messages list{test::integer("max_gram_length", longest),
                  test::integer("max_skip_count", skips),
                  test::integer("min_gram_length", shortest),
                  test::text("mode", mode),
                  ints("ngram_counts", counts),
                  ints("ngram_indexes", indexes)};
    if (!pool.empty()) list.push_back(ints("pool_int64s", pool));
    if (!words.empty()) list.push_back(texts("pool_strings", words));
    if (!weights.empty()) list.push_back(floats("weights", weights));
    return Session(test::loaded(model("TfIdfVectorizer", list, type, shape, 1, 13, "")));
  }
  AnyArray operator()(const AnyArray& x) const {
    Session runs =
        x.info().rank() == 1 ? session(x.info().type, {"c"}) : session(x.info().type, {"n", "c"});
    return AnyArray::copy_of(runs.run({{"x", x}})[0]);
  }
  std::string reason() const {
    try {
      session(i64, {"n"});
    } catch (const Error& error) {
      return std::string(error.line());
    }
    return {};
  }
};

AnyArray words(const Dims& shape, std::vector<std::string_view> list) {
  return AnyArray(shape, list);
}

}  // namespace

TEST_CASE("tfidf_vectorizer: counts of sequences") {
  // The specification's example: two skips find [94, 12] and [17, 28] among others.
  Terms terms{
      .shortest = 2, .counts = {0, 0}, .indexes = {1, 0, 3}, .pool = {94, 17, 17, 36, 94, 12}};
  const Array<std::int64_t> x({5}, {94, 17, 36, 12, 28});
  check_equal<float>(terms(x), {4}, {1, 1, 0, 0});
  terms.skips = 2;
  check_equal<float>(terms(x), {4}, {1, 1, 0, 1});
  const Array<std::int32_t> rows({2, 4}, {94, 17, 94, 17, 17, 36, 1, 1});
  terms.skips = 0;
  check_equal<float>(terms(rows), {2, 4}, {0, 2, 0, 0, 1, 0, 0, 0});
  terms.weights = {2, 3, 5};
  terms.mode = "IDF";
  check_equal<float>(terms(rows), {2, 4}, {0, 2, 0, 0, 3, 0, 0, 0});
  terms.mode = "TFIDF";
  check_equal<float>(terms(rows), {2, 4}, {0, 4, 0, 0, 3, 0, 0, 0});
  // Lengths 1 and 2 together; single elements count once, whatever may be skipped.
  terms = {.skips = 3, .counts = {0, 1}, .indexes = {0, 1}, .pool = {17, 17, 17}};
  check_equal<float>(terms(rows), {2, 2}, {2, 1, 1, 0});
  check_equal<float>(terms(Array<std::int64_t>({0})), {2}, {0, 0});
}

TEST_CASE("tfidf_vectorizer: texts, and pools of any length") {
  const Terms terms{.counts = {0, 3}, .indexes = {0, 1, 2, 3}, .words = {"a", "b", "c", "b", "a"}};
  check_equal<float>(terms(words({2, 3}, {"b", "a", "d", "b", "b", "a"})), {2, 4},
                     {1, 1, 0, 1, 1, 2, 0, 1});
  Terms many{.longest = 1, .counts = {0}};
  for (int i = 0; i < 1000; ++i) {
    many.indexes.push_back(999 - i);
    many.pool.push_back(3 * i);
  }
  std::vector<double> expected(1000);
  expected[999 - 333] = 2;
  check_equal<float>(many(Array<std::int64_t>({4}, {999, 7, 999, 1})), {1000}, expected);
}

TEST_CASE("tfidf_vectorizer: attributes that do not fit") {
  const Terms good{.counts = {0, 1}, .indexes = {0, 1}, .pool = {1, 2, 3}};
  CHECK(good.reason() == "");
  Terms terms = good;
  terms.longest = 3;
  CHECK(test::contains(terms.reason(), "the lengths are out of range"));
  terms = good;
  terms.counts = {0, 2};
  CHECK(test::contains(terms.reason(), "ngram_counts do not divide the pool"));
  terms = good;
  terms.indexes = {0};
  CHECK(test::contains(terms.reason(),
                       "ngram_indexes need one number for each sequence of the pool"));
  terms = good;
  terms.indexes = {0, -1};
  CHECK(test::contains(terms.reason(), "a number in ngram_indexes is out of range"));
  terms = good;
  terms.weights = {1};
  CHECK(test::contains(terms.reason(), "weights need one number for each sequence of the pool"));
  terms = good;
  terms.pool = {};
  terms.words = {"1", "2", "3"};
  CHECK(test::contains(terms.reason(), "there is no pool of the input's kind"));
  CHECK_THROWS_AS(good.session(i32, {}), ModelError);
}

TEST_CASE("tokenizer: separators, expressions, characters") {
  // What ONNX Runtime 1.32 gives for these.
  const auto run = [](const Messages& attributes, std::vector<std::string_view> list) {
    Messages all = attributes;
    all.push_back(test::text("pad_value", "#"));
    Session session(test::loaded(model("Tokenizer", all, text, {"n"}, 1, 1, "com.microsoft")));
    const auto n = static_cast<std::int64_t>(list.size());
    const Result result = session.run({{"x", words({n}, list)}});
    std::vector<std::string> rows(list.size());
    const auto found = result[0].values<String>();
    for (std::size_t i = 0; i < found.size(); ++i) {
      rows[i / (found.size() / rows.size())] += "[" + std::string(found[i].view()) + "]";
    }
    return rows;
  };
  using List = std::vector<std::string>;
  try {
    CHECK(run({texts("separators", {"[ \\n]"}), test::integer("mincharnum", 1)},
              {"the  quick fox", "dog", ""}) ==
          List{"[the][quick][fox]", "[dog][#][#]", "[#][#][#]"});
    CHECK(run({texts("separators", {"b+", ","}), test::integer("mincharnum", 2)},
              {"aabbcc,dd", "x,yy"}) == List{"[aa][cc][dd]", "[yy][#][#]"});
    CHECK(run({test::text("tokenexp", "[a-c]+"), test::integer("mincharnum", 1),
               test::integer("mark", 1)},
              {"abdcc", "zz"}) == List{"[\x02][ab][cc][\x03]", "[\x02][\x03][#][#]"});
  } catch (const UnsupportedError& error) {
    CHECK(test::contains(error.line(), "RE2"));  // built without
  }
  CHECK(run({texts("separators", {""}), test::integer("mincharnum", 1)}, {"a\xc3\xa4z", "b"}) ==
        List{"[a][\xc3\xa4][z]", "[b][#][#]"});
  CHECK_THROWS_AS(run({test::integer("mincharnum", 1)}, {"a"}), ModelError);
}
