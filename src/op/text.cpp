#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#ifdef HALFTONE_HAS_RE2
#include <re2/re2.h>
#endif

#include <halftone/kernel/fault.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "op/outputs.hpp"

namespace halftone::op {

namespace {

/// The shortest decimal number that gives x again, without an exponent unless it would be long.
template <class T>
std::string decimal(T x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  const auto magnitude = std::fabs(static_cast<double>(x));
  const bool is_plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[64];
  const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(text, text + sizeof text, x, format).ptr;
  std::string result(text, end);
  // As a float it has a fraction: "1.0".
  if (is_plain && result.find('.') == result.npos) result += ".0";
  return result;
}

template <class T>
std::string text_of(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "1" : "0";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else if constexpr (is_integer(element_type<T>)) {
    return std::to_string(static_cast<int>(x.value));
  } else if constexpr (std::is_same_v<T, double>) {
    return decimal(x);
  } else {
    return decimal(static_cast<float>(x));
  }
}

bool equal_ignoring_case(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char c = a[i] >= 'A' && a[i] <= 'Z' ? static_cast<char>(a[i] - 'A' + 'a') : a[i];
    if (c != lower[i]) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

template <class N>
bool parse(std::string_view text, N& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
T number_from(std::string_view whole) {
  std::string_view text = trimmed(whole);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    T value{};
    if (parse(text, value)) return value;
  }
  double value = 0;
  if (equal_ignoring_case(text, "inf") || equal_ignoring_case(text, "infinity")) {
    value = INFINITY;
  } else if (equal_ignoring_case(text, "-inf") || equal_ignoring_case(text, "-infinity")) {
    value = -INFINITY;
  } else if (equal_ignoring_case(text, "nan")) {
    value = NAN;
  } else if (!parse(text, value)) {
    fail(ErrorKind::input, {.what = "a text is no number", .found = detail::quoted(whole)});
  }
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, float>) {
    float narrow = 0;  // rounded once
    return parse(text, narrow) ? narrow : static_cast<float>(value);
  } else if constexpr (std::is_integral_v<T>) {
    constexpr auto low = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto high = static_cast<double>(std::numeric_limits<T>::max());
    if (std::isnan(value)) return 0;
    if (value <= low) return std::numeric_limits<T>::min();
    return value >= high ? std::numeric_limits<T>::max() : static_cast<T>(value);
  } else {
    return T(value);
  }
}

/// Calls f with the positions of each element of the result and of the inputs that are broadcast
/// to it.
template <class F>
void for_each_broadcast(const Dims& a, const Dims& b, const Dims& y, F&& f) {
  auto strides = [&](const Dims& shape) {
    Dims steps = Dims::filled(y.size(), 0);
    std::int64_t step = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::size_t at = y.size() - shape.size() + d;
      steps[at] = shape[d] == 1 ? 0 : step;
      step *= shape[d];
    }
    return steps;
  };
  const Dims of_a = strides(a), of_b = strides(b);
  Dims index = Dims::filled(y.size(), 0);
  std::int64_t at_a = 0, at_b = 0;
  for (std::int64_t i = 0, n = product(y); i < n; ++i) {
    f(static_cast<std::size_t>(i), static_cast<std::size_t>(at_a), static_cast<std::size_t>(at_b));
    for (std::size_t d = y.size(); d-- > 0;) {
      at_a += of_a[d];
      at_b += of_b[d];
      if (++index[d] < y[d]) break;
      at_a -= of_a[d] * y[d];
      at_b -= of_b[d] * y[d];
      index[d] = 0;
    }
  }
}

Dims common_shape(const AnyView& a, const AnyView& b) {
  Broadcast all;
  all.add(a.info.shape);
  all.add(b.info.shape);
  if (!all.ok) {
    fail(ErrorKind::input, {.what = "shapes do not broadcast together",
                            .expected = detail::to_text(a.info),
                            .found = detail::to_text(b.info)});
  }
  return all.shape;
}

/// How many bytes the character that a text begins with has; bytes that are no UTF-8 are characters.
std::size_t character_bytes(std::string_view text) {
  return std::max<std::size_t>(1, halftone::detail::utf8_length(text));
}
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    all.push_back(text.substr(0, character_bytes(text)));
    text.remove_prefix(all.back().size());
  }
  return all;
}
std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for (; !text.empty(); text.remove_prefix(character_bytes(text))) ++count;
  return count;
}

#ifdef HALFTONE_HAS_RE2
/// A regular expression in the syntax of RE2.
class Expression {
 public:
  /// With `longest`, of the matches at a place the longest one counts (as POSIX has it).
  explicit Expression(std::string_view pattern, bool longest = false) {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    quiet.set_longest_match(longest);
    expression_ = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), quiet);
    if (!expression_->ok()) {
      fail(ErrorKind::model,
           {.what = "a regular expression does not parse\n" + expression_->error(),
            .found = detail::quoted(pattern)});
    }
  }
  bool is_all_of(std::string_view text) const {
    return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *expression_);
  }
  /// What matches, from left to right, without empty texts.
  std::vector<std::string_view> matches(std::string_view text) const {
    std::vector<std::string_view> list;
    for_each_match(text, [&](std::size_t begin, std::size_t end) {
      if (end > begin) list.push_back(text.substr(begin, end - begin));
    });
    return list;
  }
  /// What is between matches, before the first and behind the last one.
  std::vector<std::string_view> between(std::string_view text) const {
    std::vector<std::string_view> list;
    std::size_t rest = 0;
    for_each_match(text, [&](std::size_t begin, std::size_t end) {
      if (end == begin) return;
      list.push_back(text.substr(rest, begin - rest));
      rest = end;
    });
    list.push_back(text.substr(rest));
    return list;
  }

 private:
  void for_each_match(std::string_view text, auto&& f) const {
    const re2::StringPiece whole(text.data(), text.size());
    re2::StringPiece match;
    for (std::size_t at = 0; at <= text.size() && expression_->Match(whole, at, text.size(),
                                                                     RE2::UNANCHORED, &match, 1);) {
      const auto begin = static_cast<std::size_t>(match.data() - text.data());
      const std::size_t end = begin + match.size();
      f(begin, end);
      const bool is_last = end == text.size();
      at = end > begin ? end : is_last ? end + 1 : end + character_bytes(text.substr(end));
    }
  }
  std::unique_ptr<RE2> expression_;
};
#else
class Expression {
 public:
  explicit Expression(std::string_view, bool = false) {
    fail(ErrorKind::unsupported, {.what = "regular expressions need the library RE2",
                                  .hint = "build Halftone where RE2 is installed (libre2-dev)"});
  }
  bool is_all_of(std::string_view) const { return false; }
  std::vector<std::string_view> matches(std::string_view) const { return {}; }
  std::vector<std::string_view> between(std::string_view) const { return {}; }
};
#endif

}  // namespace

std::vector<AnyArray> Cast::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  AnyArray y(TensorInfo{to, x.info.shape});
  const auto n = static_cast<std::size_t>(x.info.elements());
  bool is_done = true;
  if (x.info.type == ElementType::string && to == ElementType::string) {
    return one_output(AnyArray::copy_of(x));
  } else if (x.info.type == ElementType::string) {
    const std::span<const String> texts = x.values<String>();
    is_done = visit_type<AllTypes>(to, [&]<class T>() {
      for (std::size_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<T, float8_e8m0>) {
          y.values<T>()[i] = T::rounded(number_from<float>(texts[i].view()), round_mode, saturate);
        } else if constexpr (requires(float v) { T::unsaturated(v); }) {
          const auto value = number_from<double>(texts[i].view());
          y.values<T>()[i] = saturate ? T(value) : T::unsaturated(value);
        } else {
          y.values<T>()[i] = number_from<T>(texts[i].view());
        }
      }
    });
  } else {
    is_done = visit_type<AllTypes>(x.info.type, [&]<class T>() {
      for (std::size_t i = 0; i < n; ++i) {
        y.values<String>()[i] = String::make(text_of(x.values<T>()[i]));
      }
    });
    y.own_objects();
  }
  if (!is_done) {
    fail(ErrorKind::unsupported,
         {.what = "numbers of this type cannot be converted to text or back",
          .expected = name(to),
          .found = name(x.info.type)});
  }
  return one_output(std::move(y));
}

std::vector<AnyArray> Equal::run(std::span<const AnyView> inputs, std::size_t) {
  const std::span<const String> a = inputs[0].values<String>(), b = inputs[1].values<String>();
  Array<bool> y(common_shape(inputs[0], inputs[1]));
  for_each_broadcast(
      inputs[0].info.shape, inputs[1].info.shape, y.info().shape,
      [&](std::size_t i, std::size_t of_a, std::size_t of_b) { y[i] = a[of_a] == b[of_b]; });
  return one_output(std::move(y));
}

namespace {

std::vector<std::int64_t> whole_numbers(const AnyView& x) {
  const auto list = [](const auto& values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  return x.info.type == ElementType::int32 ? list(x.values<std::int32_t>())
                                           : list(x.values<std::int64_t>());
}

/// The place that an index means, which counts from the end if it is negative.
std::int64_t place_of(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) halftone_index_error(index, extent);
  return index < 0 ? index + extent : index;
}

void require(const Inferred& inferred) {
  if (inferred.ok()) return;
  fail(ErrorKind::model, {.what = inferred.reason});
}

/// x with runs of texts replaced, those at places[p] by the p-th run of `updates`.
std::vector<AnyArray> with_texts(const AnyView& x, const std::vector<std::int64_t>& places,
                                 std::size_t run, const AnyView& updates) {
  const std::span<const String> before = x.values<String>(), from = updates.values<String>();
  AnyArray y(x.info);
  const std::span<String> to = y.values<String>();
  std::copy(before.begin(), before.end(), to.begin());
  for (std::size_t p = 0; p < places.size(); ++p) {
    for (std::size_t i = 0; i < run; ++i) {
      to[static_cast<std::size_t>(places[p]) + i] = from[p * run + i];
    }
  }
  y.own_objects();
  return one_output(std::move(y));
}

}  // namespace

std::vector<AnyArray> ScatterElements::run(std::span<const AnyView> inputs, std::size_t) const {
  const Dims &x = inputs[0].info.shape, &shape = inputs[1].info.shape;
  require(infer(inputs[0].info, inputs[1].info, inputs[2].info));
  const std::size_t at = normalized_axis(axis, x.size());
  std::vector<std::int64_t> places = whole_numbers(inputs[1]);
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t place = 0, stride = 1;
    for (std::size_t d = x.size(); d-- > 0;) {
      const std::int64_t own = rest % shape[d];
      rest /= shape[d];
      place += (d == at ? place_of(places[i], x[d]) : own) * stride;
      stride *= x[d];
    }
    places[i] = place;
  }
  return with_texts(inputs[0], places, 1, inputs[2]);
}

std::vector<AnyArray> ScatterND::run(std::span<const AnyView> inputs, std::size_t) const {
  const Dims &x = inputs[0].info.shape, &shape = inputs[1].info.shape;
  require(infer(inputs[0].info, inputs[1].info, inputs[2].info));
  const auto width = static_cast<std::size_t>(shape.back());
  const std::int64_t run = product(x.span().subspan(width));
  const std::vector<std::int64_t> indices = whole_numbers(inputs[1]);
  std::vector<std::int64_t> places(
      static_cast<std::size_t>(product(shape.span().first(shape.size() - 1))));
  for (std::size_t p = 0; p < places.size(); ++p) {
    std::int64_t stride = run;
    for (std::size_t d = width; d-- > 0;) {
      places[p] += place_of(indices[p * width + d], x[d]) * stride;
      stride *= x[d];
    }
  }
  return with_texts(inputs[0], places, static_cast<std::size_t>(run), inputs[2]);
}

std::vector<AnyArray> StringConcat::run(std::span<const AnyView> inputs, std::size_t) {
  const std::span<const String> x = inputs[0].values<String>(), y = inputs[1].values<String>();
  AnyArray z(TensorInfo{ElementType::string, common_shape(inputs[0], inputs[1])});
  const std::span<String> texts = z.values<String>();
  std::string joined;
  for_each_broadcast(inputs[0].info.shape, inputs[1].info.shape, z.info().shape,
                     [&](std::size_t i, std::size_t of_x, std::size_t of_y) {
                       joined = x[of_x].view();
                       joined += y[of_y].view();
                       texts[i] = String::make(joined);
                     });
  z.own_objects();
  return one_output(std::move(z));
}

namespace {

std::vector<std::string_view> split_at(std::string_view text, std::string_view delimiter,
                                       std::size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() < most) {
    const std::size_t at = text.find(delimiter);
    if (at == text.npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_at_blanks(std::string_view text, std::size_t most) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  std::vector<std::string_view> parts;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (text.empty()) return parts;
    if (parts.size() == most) {
      parts.push_back(text.substr(0, text.find_last_not_of(blanks) + 1));
      return parts;
    }
    const std::size_t size = std::min(text.find_first_of(blanks), text.size());
    parts.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

}  // namespace

std::vector<AnyArray> StringSplit::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  if (x.info.rank() == max_rank) {
    fail(ErrorKind::input, {.what = "too many dimensions", .found = detail::to_text(x.info)});
  }
  const std::size_t most =
      maxsplit && *maxsplit >= 0 ? static_cast<std::size_t>(*maxsplit) : SIZE_MAX;
  std::vector<std::vector<std::string_view>> rows;
  std::size_t longest = 0;
  for (const String text : x.values<String>()) {
    rows.push_back(delimiter.empty() ? split_at_blanks(text.view(), most)
                                     : split_at(text.view(), delimiter.view(), most));
    longest = std::max(longest, rows.back().size());
  }
  TensorInfo info = x.info;
  info.shape.push_back(static_cast<std::int64_t>(longest));
  AnyArray y(info);
  Array<std::int64_t> z(x.info.shape);
  const std::span<String> texts = y.values<String>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    z[i] = static_cast<std::int64_t>(rows[i].size());
    for (std::size_t k = 0; k < rows[i].size(); ++k) {
      texts[i * longest + k] = String::make(rows[i][k]);
    }
  }
  y.own_objects();
  std::vector<AnyArray> outputs = one_output(std::move(y));
  outputs.push_back(std::move(z));
  return outputs;
}

std::vector<AnyArray> RegexFullMatch::run(std::span<const AnyView> inputs, std::size_t) const {
  const Expression expression(pattern.view());
  Array<bool> y(inputs[0].info.shape);
  const std::span<const String> texts = inputs[0].values<String>();
  for (std::size_t i = 0; i < texts.size(); ++i) y[i] = expression.is_all_of(texts[i].view());
  return one_output(std::move(y));
}

std::vector<AnyArray> Tokenizer::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  std::vector<Expression> separators;
  if (tokenexp.empty()) {
    const std::span<const String> list = inputs[1].values<String>();
    const bool is_each_character = list.size() == 1 && list[0].view().empty();
    if (!is_each_character) {
      for (const String text : list) separators.emplace_back(text.view(), true);
    }
  }
  std::optional<Expression> token;
  if (!tokenexp.empty()) token.emplace(tokenexp.view(), true);

  std::vector<std::vector<std::string_view>> rows;
  std::size_t longest = 0;
  for (const String text : x.values<String>()) {
    std::vector<std::string_view> tokens{text.view()};
    if (token) {
      tokens = token->matches(text.view());
    } else if (separators.empty()) {
      tokens = characters(text.view());
    }
    const auto is_short = [&](std::string_view t) { return count_characters(t) < mincharnum; };
    std::erase_if(tokens, is_short);
    for (const Expression& separator : separators) {
      std::vector<std::string_view> parts;
      for (const std::string_view t : tokens) {
        for (const std::string_view part : separator.between(t)) parts.push_back(part);
      }
      tokens = std::move(parts);
      std::erase_if(tokens, is_short);
    }
    longest = std::max(longest, tokens.size());
    rows.push_back(std::move(tokens));
  }
  const std::size_t length = longest == 0 ? 0 : longest + (mark ? 2 : 0);
  TensorInfo info = x.info;
  info.shape.push_back(static_cast<std::int64_t>(length));
  AnyArray y(info);
  const std::span<String> texts = y.values<String>();
  for (std::size_t i = 0; i < rows.size() && length > 0; ++i) {
    std::size_t at = i * length;
    if (mark) texts[at++] = String::make("\x02");
    for (const std::string_view t : rows[i]) texts[at++] = String::make(t);
    if (mark) texts[at++] = String::make("\x03");
    for (; at < (i + 1) * length; ++at) texts[at] = String::make(pad_value.view());
  }
  y.own_objects();
  return one_output(std::move(y));
}

namespace {

/// Changes the letters of UTF-8 as Unicode has it; bytes that are no UTF-8 stay.
class Letters {
 public:
  Letters() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;
  ~Letters() {
    if (locale_ != nullptr) ::freelocale(locale_);
  }

  std::string changed(std::string_view text, CaseChange change) const {
    if (change == CaseChange::unchanged) return std::string(text);
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t size = 1;
      const std::uint32_t code = decode(text.substr(at), size);
      if (code == invalid) {
        result += text[at];
      } else {
        encode(change == CaseChange::lower ? lower(code) : upper(code), result);
      }
      at += size;
    }
    return result;
  }

 private:
  static constexpr std::uint32_t invalid = UINT32_MAX;

  std::uint32_t lower(std::uint32_t c) const {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
    return locale_ == nullptr ? c : static_cast<std::uint32_t>(::towlower_l(c, locale_));
  }
  std::uint32_t upper(std::uint32_t c) const {
    if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return locale_ == nullptr ? c : static_cast<std::uint32_t>(::towupper_l(c, locale_));
  }
  static std::uint32_t decode(std::string_view text, std::size_t& size) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return first;
    const std::size_t length = halftone::detail::utf8_length(text);
    if (length == 0) return invalid;
    std::uint32_t code = first & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fu);
    size = length;
    return code;
  }
  static void encode(std::uint32_t c, std::string& to) {
    const auto put = [&](std::uint32_t b) { to += static_cast<char>(b); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xc0 | c >> 6);
    } else {
      if (c < 0x10000) {
        put(0xe0 | c >> 12);
      } else {
        put(0xf0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3f));
      }
      put(0x80 | (c >> 6 & 0x3f));
    }
    put(0x80 | (c & 0x3f));
  }

  ::locale_t locale_;
};

}  // namespace

std::vector<AnyArray> StringNormalizer::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  const std::size_t rank = x.info.rank();
  if (rank != 1 && !(rank == 2 && x.info.shape[0] == 1)) {
    fail(ErrorKind::input,
         {.what = "the shape is neither [n] nor [1, n]", .found = detail::to_text(x.info)});
  }
  const Letters letters;
  const CaseChange compared = is_case_sensitive ? CaseChange::unchanged : CaseChange::lower;
  std::unordered_set<std::string> stopwords;
  if (inputs.size() > 1 && inputs[1].info.is_known()) {
    for (const String word : inputs[1].values<String>()) {
      stopwords.insert(letters.changed(word.view(), compared));
    }
  }
  std::vector<std::string> kept;
  for (const String text : x.values<String>()) {
    if (!stopwords.contains(letters.changed(text.view(), compared))) {
      kept.push_back(letters.changed(text.view(), case_change_action));
    }
  }
  if (kept.empty()) kept.emplace_back();
  Dims shape = x.info.shape;
  shape.back() = static_cast<std::int64_t>(kept.size());
  const std::vector<std::string_view> views(kept.begin(), kept.end());
  return one_output(AnyArray(shape, views));
}

}  // namespace halftone::op
