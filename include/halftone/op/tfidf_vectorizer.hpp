#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TFIDF_VECTORIZER_HPP
#define HALFTONE_OP_TFIDF_VECTORIZER_HPP

#include <halftone/kernel/fwd.hpp>

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

/// Counts in sequences of numbers the short ones ("n-grams") that a pool lists.
///
/// x                [c] or [n, c]
/// y                float [m] or [n, m], m the largest of ngram_indexes plus 1
/// pool_int64s      all sequences of length 1, then all of length 2, ...
/// ngram_counts     where in the pool those of length 1, 2, ... begin
/// ngram_indexes    for each sequence of the pool its place in y
/// weights          for each sequence of the pool its weight; absent: 1
/// min_gram_length, max_gram_length  which lengths count
/// max_skip_count   elements of a sequence are 1 to max_skip_count + 1 apart in x, all equally far
/// limits           each list has at most 255 numbers; no strings
/// source           ai.onnx TfIdfVectorizer-9
struct TfIdfVectorizer {
  std::int64_t max_gram_length = required, max_skip_count = required, min_gram_length = required;
  TermWeighting mode = TermWeighting::missing;
  BoundedList<std::int64_t, 255> ngram_counts{}, ngram_indexes{}, pool_int64s{};
  BoundedList<float, 255> weights{};

  static constexpr OpId id{"ai.onnx", "TfIdfVectorizer", 9};
  static constexpr Signature signature = "x:I -> y:T";
  using types = TypeList<TypeList<std::int32_t, std::int64_t>, TypeList<float>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("max_gram_length", max_gram_length);
    visit("max_skip_count", max_skip_count);
    visit("min_gram_length", min_gram_length);
    visit("mode", mode);
    visit("ngram_counts", ngram_counts);
    visit("ngram_indexes", ngram_indexes);
    visit("pool_int64s", pool_int64s);
    visit("weights", weights);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    // Each term of the pool at each place, with each skip.
    const std::int64_t places = in[0].shape.back();
    const std::int64_t skips = max_skip_count < places ? max_skip_count + 1 : places;
    machine.repeat(static_cast<std::int64_t>(pool_int64s.size()) * skips);
    machine.pass("Equal", in[0]);
    machine.repeat(1);
    machine.pass("Mul", out[0]);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (x.rank() != 1 && x.rank() != 2) {
      return Inferred::mismatch("the input is neither a vector nor a matrix", 2,
                                static_cast<std::int64_t>(x.rank()));
    }
    if (mode == TermWeighting::missing) return Inferred::mismatch("attribute 'mode' is missing");
    const auto lengths = static_cast<std::int64_t>(ngram_counts.size());
    if (min_gram_length < 1 || max_gram_length < min_gram_length || max_gram_length > lengths) {
      return Inferred::mismatch("the lengths are out of range", lengths, max_gram_length);
    }
    if (max_skip_count < 0) {
      return Inferred::mismatch("max_skip_count is negative", 0, max_skip_count);
    }
    std::int64_t count = 0;
    for (std::int64_t n = 1; n <= lengths; ++n) {
      const std::int64_t first = begin_of(n), size = begin_of(n + 1) - first;
      if (first < 0 || size < 0 || size % n != 0) {
        return Inferred::mismatch("ngram_counts do not divide the pool", n, size);
      }
      count += size / n;
    }
    if (begin_of(1) != 0) return Inferred::mismatch("ngram_counts do not begin with 0");
    const auto places = static_cast<std::int64_t>(ngram_indexes.size());
    if (count != places) {
      return Inferred::mismatch("ngram_indexes need one number for each sequence of the pool",
                                count, places);
    }
    if (!weights.empty() && weights.size() != ngram_indexes.size()) {
      return Inferred::mismatch("weights need one number for each sequence of the pool", count,
                                static_cast<std::int64_t>(weights.size()));
    }
    std::int64_t largest = -1;
    for (const std::int64_t place : ngram_indexes) {
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
  template <class I, class T>
  void kernel(const KernelCall& call, View<const I> x, View<T> y) const {
    const std::int64_t c = x.extent(x.rank - 1), m = y.extent(y.rank - 1);
    const std::int64_t rows = x.size(0, x.rank - 1);
    kernel::fill<T>(*call.executor, T(0), y.data, y.size());
    kernel::parallel_for(*call.executor, rows, [&](std::int64_t row) {
      std::int64_t found[255] = {};
      for (std::int64_t n = min_gram_length; n <= max_gram_length; ++n) {
        // A single element has no distances.
        const std::int64_t most = n == 1 ? 1 : max_skip_count + 1;
        for (std::int64_t step = 1; step <= most && step <= c; ++step) {
          for (std::int64_t i = 0; i + (n - 1) * step < c; ++i) {
            count(x.data + row * c + i, n, step, found);
          }
        }
      }
      for (std::size_t g = 0; g < ngram_indexes.size(); ++g) {
        const T number = static_cast<T>(found[g]), weight = weights.empty() ? T(1) : weights[g];
        y[row * m + ngram_indexes[g]] += mode == TermWeighting::tf      ? number
                                         : mode == TermWeighting::tfidf ? number * weight
                                         : found[g] > 0                 ? weight
                                                                        : T(0);
      }
    });
  }

 private:
  /// Where in the pool sequences of length n begin.
  constexpr std::int64_t begin_of(std::int64_t n) const {
    const auto size = static_cast<std::int64_t>(pool_int64s.size());
    if (n > static_cast<std::int64_t>(ngram_counts.size())) return size;
    const std::int64_t first = ngram_counts[static_cast<std::size_t>(n - 1)];
    return first > size ? -1 : first;
  }
  template <class I>
  void count(const I* x, std::int64_t n, std::int64_t step, std::int64_t* found) const {
    std::int64_t g = 0;
    for (std::int64_t k = 1; k < n; ++k) g += (begin_of(k + 1) - begin_of(k)) / k;
    for (std::int64_t at = begin_of(n); at < begin_of(n + 1); at += n, ++g) {
      bool is_same = true;
      for (std::int64_t k = 0; k < n && is_same; ++k) {
        is_same = pool_int64s[static_cast<std::size_t>(at + k)] == x[k * step];
      }
      found[g] += is_same;
    }
  }
};

}  // namespace op
}  // namespace halftone

#endif
