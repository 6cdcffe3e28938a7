#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TEXT_HPP
#define HALFTONE_OP_TEXT_HPP

namespace halftone {

/// What StringNormalizer makes of letters.
enum class CaseChange : std::uint8_t { unchanged, lower, upper };

namespace detail {
inline constexpr std::string_view case_change_names[] = {"NONE", "LOWER", "UPPER"};
}

constexpr std::span<const std::string_view> names_of(CaseChange) {
  return detail::case_change_names;
}

namespace op {

/// The texts of x followed by those of y, element by element.
///
/// x, y    texts, of shapes that broadcast together; z has the common shape
/// source  ai.onnx StringConcat-20
struct StringConcat {
  static constexpr OpId id{"ai.onnx", "StringConcat", 20};
  static constexpr Signature signature = "x y -> z";
  using types = TypeList<TypeList<String>>;

  static constexpr Inferred infer(TensorInfo x, TensorInfo y) {
    Broadcast all;
    all.add(x.shape);
    all.add(y.shape);
    if (!all.ok) {
      return Inferred::mismatch("shapes do not broadcast together", all.expected, all.found);
    }
    return TensorInfo{ElementType::string, all.shape};
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The parts of texts between delimiters.
///
/// delimiter  if it is empty, runs of blanks
/// maxsplit   as many delimiters count, from the left; absent: all
/// y          [shape of x..., n] for the largest number n of parts; shorter rows end in empty texts
/// z          the number of parts, int64, of x's shape
/// source     ai.onnx StringSplit-20
struct StringSplit {
  BoundedText<256> delimiter{};
  Optional<std::int64_t> maxsplit{};

  static constexpr OpId id{"ai.onnx", "StringSplit", 20};
  static constexpr Signature signature = "x -> y z:I";
  using types = TypeList<TypeList<String>, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("delimiter", delimiter);
    visit("maxsplit", maxsplit);
  }
  static constexpr Inferred infer(TensorInfo x) {
    if (x.rank() == max_rank) return Inferred::mismatch("too many dimensions");
    TensorInfo y = x;
    y.shape.push_back(dynamic);
    return {y, {ElementType::int64, x.shape}};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// Whether the whole of a text matches a regular expression in the syntax of RE2.
///
/// limits  an expression that does not parse is a ModelError; without the library RE2 it is an
///         UnsupportedError
/// source  ai.onnx RegexFullMatch-20
struct RegexFullMatch {
  BoundedText<1024> pattern{};

  static constexpr OpId id{"ai.onnx", "RegexFullMatch", 20};
  static constexpr Signature signature = "x -> y:B";
  using types = TypeList<TypeList<String>, TypeList<bool>>;

  constexpr void attributes(auto&& visit) { visit("pattern", pattern); }
  static constexpr Inferred infer(TensorInfo x) {
    return TensorInfo{ElementType::boolean, x.shape};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// Texts without stop words, in lower or upper case.
///
/// x        [n] or [1, n]
/// y        what is left, of x's rank; one empty text if nothing is
/// locale   is not looked at: letters change as Unicode has it
/// source   ai.onnx StringNormalizer-10
struct StringNormalizer {
  CaseChange case_change_action = CaseChange::unchanged;
  bool is_case_sensitive = false;
  Text locale{};

  static constexpr OpId id{"ai.onnx", "StringNormalizer", 10};
  static constexpr Signature signature = "x stopwords=?:S -> y";
  using types = TypeList<TypeList<String>>;

  constexpr void attributes(auto&& visit) {
    visit("case_change_action", case_change_action);
    visit("is_case_sensitive", is_case_sensitive);
    visit("locale", locale);
  }
  static constexpr Inferred infer(const Inputs& in) {
    const Dims& x = in[0].shape;
    if (x.size() != 1 && !(x.size() == 2 && (x[0] == 1 || x[0] == dynamic))) {
      return Inferred::mismatch("the shape is neither [n] nor [1, n]");
    }
    Dims y = x;
    y.back() = dynamic;
    return TensorInfo{ElementType::string, y};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

/// The parts ("tokens") of texts.
///
/// x           [c] or [n, c], UTF-8
/// y           [x..., d] for the largest number d of tokens; shorter rows end with pad_value
/// separators  regular expressions in the syntax of RE2, the longest match of which counts: tokens
///             are what is between matches of the first one, then what is between those of the
///             second one in them, ...; one empty text: every character is a token
/// tokenexp    instead of separators: tokens are what matches it
/// mincharnum  tokens of fewer characters are left out
/// mark        rows begin with the text of the control character 2, and their tokens end with 3
/// limits      without the library RE2 an UnsupportedError, unless every character is a token
/// source      com.microsoft Tokenizer
struct Tokenizer {
  bool mark = false;
  std::int64_t mincharnum = required;
  BoundedText<256> pad_value{};
  BoundedText<1024> tokenexp{};

  static constexpr OpId id{"com.microsoft", "Tokenizer", 1};
  static constexpr Signature signature = "x separators=?:S -> y";
  using types = TypeList<TypeList<String>>;

  constexpr void attributes(auto&& visit) {
    visit("mark", mark);
    visit("mincharnum", mincharnum);
    visit("pad_value", pad_value);
    visit("tokenexp", tokenexp);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (in[0].rank() != 1 && in[0].rank() != 2) {
      return Inferred::mismatch("the input is neither a vector nor a matrix", 2,
                                static_cast<std::int64_t>(in[0].rank()));
    }
    if (mincharnum < 1) return Inferred::mismatch("mincharnum is not positive", 1, mincharnum);
    if (in.has(1) != tokenexp.empty()) {
      return Inferred::mismatch("one of separators and tokenexp is needed");
    }
    TensorInfo y = in[0];
    y.shape.push_back(dynamic);
    return y;
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

}  // namespace op

}  // namespace halftone

#endif
