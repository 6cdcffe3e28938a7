#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TFIDF_VECTORIZER_HPP
#define HALFTONE_OP_TFIDF_VECTORIZER_HPP

namespace halftone {

namespace op {
/// What becomes of a count: itself; the weight if it is not 0; itself times the weight.
enum class TermWeighting : std::uint8_t { missing, tf, idf, tfidf };
}  // namespace op

namespace detail {
inline constexpr std::string_view term_weighting_names[] = {"", "TF", "IDF", "TFIDF"};
}

namespace op {
constexpr std::span<const std::string_view> names_of(TermWeighting) {
  return halftone::detail::term_weighting_names;
}

/// Counts in sequences of numbers or texts the short ones ("n-grams") that a pool lists.
///
/// x                [c] or [n, c]
/// y                float [m] or [n, m], m the largest of ngram_indexes plus 1
/// pool_int64s, pool_strings  of x's kind: all sequences of length 1, then all of length 2, ...
/// ngram_counts     where in the pool those of length 1, 2, ... begin
/// ngram_indexes    for each sequence of the pool its place in y
/// weights          for each sequence of the pool its weight; absent: 1
/// min_gram_length, max_gram_length  which lengths count
/// max_skip_count   elements of a sequence are 1 to max_skip_count + 1 apart in x, all equally far
/// source           ai.onnx TfIdfVectorizer-9
struct TfIdfVectorizer {
  std::int64_t max_gram_length = required, max_skip_count = required, min_gram_length = required;
  TermWeighting mode = TermWeighting::missing;

  static constexpr OpId id{"ai.onnx", "TfIdfVectorizer", 9};
  static constexpr Signature signature =
      "x:K ngram_counts=:I ngram_indexes=:I pool_int64s=?:I pool_strings=?:S weights=?:F -> y:F";
  using types = TypeList<TypeList<std::int32_t, std::int64_t, String>, TypeList<std::int64_t>,
                         TypeList<String>, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("max_gram_length", max_gram_length);
    visit("max_skip_count", max_skip_count);
    visit("min_gram_length", min_gram_length);
    visit("mode", mode);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    // Each element at each distance is looked up in the pool.
    const std::int64_t places = in[0].shape.back();
    machine.repeat(max_skip_count < places ? max_skip_count + 1 : places);
    machine.pass("Equal", in[0]);
    machine.repeat(1);
    machine.pass("Mul", out[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() != 1 && x.rank() != 2) {
      return Inferred::mismatch("the input is neither a vector nor a matrix", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (mode == TermWeighting::missing) return Inferred::mismatch("attribute 'mode' is missing");
    const std::size_t pool = x.type == ElementType::string ? 4 : 3;
    if (!in.has(pool)) return Inferred::mismatch("there is no pool of the input's kind");
    if (!in.is_constant(1) || !in.is_constant(2)) return Inferred::unknown();
    const std::vector<std::int64_t> counts = in.integers(1), indexes = in.integers(2);
    const auto lengths = static_cast<std::int64_t>(counts.size());
    if (min_gram_length < 1 || max_gram_length < min_gram_length || max_gram_length > lengths) {
      return Inferred::mismatch("the lengths are out of range", lengths, max_gram_length);
    }
    if (max_skip_count < 0) {
      return Inferred::mismatch("max_skip_count is negative", 0, max_skip_count);
    }
    std::int64_t count = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::int64_t end = i + 1 < counts.size() ? counts[i + 1] : in[pool].elements();
      const std::int64_t size = end - counts[i], n = static_cast<std::int64_t>(i) + 1;
      if (counts[i] < 0 || end < counts[i] || size % n != 0) {
        return Inferred::mismatch("ngram_counts do not divide the pool", n, size);
      }
      count += size / n;
    }
    if (counts[0] != 0) return Inferred::mismatch("ngram_counts do not begin with 0");
    if (const auto places = static_cast<std::int64_t>(indexes.size()); count != places) {
      return Inferred::mismatch("ngram_indexes need one number for each sequence of the pool",
                                count, places);
    }
    if (in.has(5) && in[5].elements() != count) {
      return Inferred::mismatch("weights need one number for each sequence of the pool", count,
                                in[5].elements());
    }
    std::int64_t largest = -1;
    for (const std::int64_t place : indexes) {
      if (place < 0 || place > INT32_MAX) {
        return Inferred::mismatch("a number in ngram_indexes is out of range", INT32_MAX, place);
      }
      if (place > largest) largest = place;
    }
    TensorInfo y{ElementType::float32, {}};
    if (x.rank() == 2) y.shape.push_back(x.shape[0]);
    y.shape.push_back(largest + 1);
    return y;
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

}  // namespace op
}  // namespace halftone

#endif
