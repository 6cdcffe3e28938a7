#include "cli/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include <halftone/onnx.hpp>

#include "base/describe.hpp"
#include "cli/file.hpp"

namespace halftone::cli {
namespace {

[[noreturn]] void fail_to_parse(const std::string& path, std::string_view what,
                                std::string_view found = {}, std::string_view hint = {}) {
  fail(ErrorKind::input, {.what = about_file(what, path), .found = found, .hint = hint});
}

/// Dims from a list that a file gives; `bytes_per_element` of the file's `size` bytes stand for one
/// element, so that nothing is allocated that the file does not justify.
TensorInfo checked_info(ElementType type, const std::vector<std::int64_t>& extents,
                        std::size_t size, std::size_t bytes_per_element, const std::string& path) {
  if (extents.size() > max_rank) {
    fail_to_parse(path, "a tensor has at most 8 dimensions",
                  fmt::format("{} dimensions", extents.size()));
  }
  TensorInfo info{type, Dims(std::span<const std::int64_t>(extents))};
  const std::int64_t elements = info.elements();
  if (elements > 0 && static_cast<std::uint64_t>(elements) > size / bytes_per_element) {
    fail_to_parse(path, "the file ends before its last element",
                  fmt::format("{} elements in {} bytes", elements, size));
  }
  return info;
}

// --- NumPy's format: numpy.lib.format
// -------------------------------------------------------------

constexpr std::string_view npy_magic = "\x93NUMPY";

struct NumpyType {
  std::string_view code;
  ElementType type;
};
constexpr std::array numpy_types{
    NumpyType{"f2", ElementType::float16}, NumpyType{"f4", ElementType::float32},
    NumpyType{"f8", ElementType::float64}, NumpyType{"i1", ElementType::int8},
    NumpyType{"i2", ElementType::int16},   NumpyType{"i4", ElementType::int32},
    NumpyType{"i8", ElementType::int64},   NumpyType{"u1", ElementType::uint8},
    NumpyType{"u2", ElementType::uint16},  NumpyType{"u4", ElementType::uint32},
    NumpyType{"u8", ElementType::uint64},  NumpyType{"b1", ElementType::boolean},
};

/// The dictionary at the beginning of the file, a literal of Python's.
class NpyHeader {
 public:
  std::string_view descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  NpyHeader(std::string_view text, const std::string& path) : rest_(text), path_(path) {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        const std::string_view value = word();
        if (value != "True" && value != "False") broken();
        fortran_order = value == "True";
        has_order = true;
      } else if (key == "shape") {
        read_shape();
        has_shape = true;
      } else {
        broken();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) broken();
  }

 private:
  [[noreturn]] void broken() const {
    fail_to_parse(path_, "the header of the NumPy file cannot be read", {},
                  "arrays of records and of objects are no tensors");
  }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size()));
  }
  bool accept(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) broken();
  }
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view quoted() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == rest_.npos) broken();
    return take(end + 1).substr(1, end - 1);
  }
  std::string_view word() {
    skip_blanks();
    return take(
        rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"));
  }
  void read_shape() {
    expect('(');
    while (!accept(')')) {
      std::string_view digits = word();
      if (digits.ends_with('L')) digits.remove_suffix(1);  // Python 2
      std::int64_t extent = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), extent);
      if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) broken();
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view rest_;
  const std::string& path_;
};

/// Turns elements from big-endian into little-endian order.
void reverse_bytes(AnyArray& tensor, std::size_t size) {
  for (std::size_t i = 0; size > 1 && i < tensor.bytes(); i += size) {
    std::reverse(tensor.data() + i, tensor.data() + i + size);
  }
}

// --- IDX: Y. LeCun, C. Cortes and C. Burges, the MNIST database
// ---------------------------------------

struct IdxType {
  unsigned code;
  ElementType type;
};
constexpr std::array idx_types{
    IdxType{0x08, ElementType::uint8},   IdxType{0x09, ElementType::int8},
    IdxType{0x0b, ElementType::int16},   IdxType{0x0c, ElementType::int32},
    IdxType{0x0d, ElementType::float32}, IdxType{0x0e, ElementType::float64}};

/// Copies elements of an array whose first index runs fastest into row-major order.
void copy_reversed(const std::byte* from, std::byte* to, const Dims& shape, std::size_t size) {
  Dims strides = shape, index = Dims::filled(shape.size(), 0);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = elements;
    elements *= shape[i];
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(at) * size,
                size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= shape[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

// --- text
// -------------------------------------------------------------------------------------------

/// The words of a text without its comments, with the line that each is in. A word that begins with
/// a quotation mark goes on to the next one that has no backslash before it.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  std::size_t line() const { return line_; }
  /// The next word, empty at the end; with `same_line`, empty at the end of the line, too.
  std::string_view next(bool same_line = false) {
    while (!rest_.empty()) {
      if (rest_.front() == '\n') {
        if (same_line) return {};
        ++line_;
        rest_.remove_prefix(1);
      } else if (rest_.front() == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (is_blank(rest_.front())) {
        rest_.remove_prefix(1);
      } else {
        if (rest_.front() == '"') return quoted();
        std::size_t size = 0;
        while (size < rest_.size() && !is_blank(rest_[size]) && rest_[size] != '\n' &&
               rest_[size] != '#') {
          ++size;
        }
        const std::string_view word = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return word;
      }
    }
    return {};
  }

 private:
  std::string_view quoted() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') {
      line_ += rest_[end] == '\n';
      end += rest_[end] == '\\' ? 2 : 1;
    }
    const std::string_view word = rest_.substr(0, std::min(end + 1, rest_.size()));
    rest_.remove_prefix(word.size());
    return word;
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  std::string_view rest_;
  std::size_t line_ = 1;
};

template <class N>
std::optional<N> number(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  N value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return {};
  return value;
}

template <class T>
std::optional<T> parse_element(std::string_view word) {
  if constexpr (std::is_same_v<T, bool>) {
    if (word == "0" || word == "false") return false;
    if (word == "1" || word == "true") return true;
    return {};
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, float> ||
                       std::is_same_v<T, double>) {
    return number<T>(word);
  } else if constexpr (is_integer(element_type<T>)) {
    const std::optional<int> wide = number<int>(word);
    if (!wide || *wide < T::lowest || *wide > T::largest) return {};
    return T(*wide);
  } else {
    const std::optional<double> wide = number<double>(word);
    if (!wide) return {};
    const T value(*wide);
    // Beyond the largest value there is an infinity or, in some formats of 8 bits, a NaN.
    if (std::isfinite(*wide) && !std::isfinite(static_cast<float>(value))) return {};
    return value;
  }
}

template <class T>
void format_elements(AnyView tensor, std::string& text) {
  const auto elements = tensor.values<T>();
  const std::size_t rank = tensor.info.rank();
  const std::size_t row =
      rank == 0 ? 1
                : static_cast<std::size_t>(std::max<std::int64_t>(tensor.info.shape[rank - 1], 1));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    const auto to = std::back_inserter(text);
    if constexpr (std::is_same_v<T, bool>) {
      fmt::format_to(to, "{:d}", element);
    } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      fmt::format_to(to, "{}", element);
    } else {
      fmt::format_to(to, "{}", static_cast<float>(element));
    }
    text += (i + 1) % row == 0 ? '\n' : ' ';
  }
}

/// What a word in quotation marks stands for; another one stands for itself.
std::optional<std::string> unquoted(std::string_view word) {
  if (!word.starts_with('"')) return std::string(word);
  if (word.size() < 2 || word.back() != '"') return {};
  word = word.substr(1, word.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\') {
      text += word[i];
      continue;
    }
    if (++i == word.size()) return {};
    switch (word[i]) {
      case 'n':
        text += '\n';
        break;
      case 't':
        text += '\t';
        break;
      case 'r':
        text += '\r';
        break;
      case 'x': {
        unsigned code = 0;
        const std::string_view digits = word.substr(i + 1, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (error != std::errc() || end != digits.data() + 2) return {};
        text += static_cast<char>(code);
        i += 2;
        break;
      }
      default:
        text += word[i];
    }
  }
  return text;
}

std::string quoted_text(std::string_view text) {
  std::string marked;
  for (const char c : text) {
    if (c == '"' || c == '\\') marked += '\\';
    marked += c;
  }
  return '"' + detail::escaped(marked) + '"';
}

/// The type that a word names; undefined if there is none.
ElementType value_type_of(std::string_view word) {
  const ElementType type = parse_element_type(word);
  if (type != ElementType::undefined) return type;
  for (int code = 1 << detail::value_kind_bits; code <= UINT8_MAX; ++code) {
    const auto value = static_cast<ElementType>(code);
    const bool is_known = detail::row(element_of(value)).size_in_bytes != 0;
    if (is_known && detail::to_text(value) == word) return value;
  }
  return ElementType::undefined;
}

AnyArray parse_value(Words& words, std::size_t size, const std::string& path, int depth);

/// The elements of a tensor, with each its own word.
template <class F>
void parse_elements(Words& words, const TensorInfo& info, const std::string& path, F&& put) {
  const auto count = static_cast<std::size_t>(info.elements());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view word = words.next();
    if (word.empty()) {
      fail_to_parse(path, "the file ends before its last element",
                    fmt::format("{} of {} elements", i, count));
    }
    if (!put(i, word)) {
      fail_to_parse(path, fmt::format("line {}: this is no {}", words.line(), name(info.type)),
                    word.substr(0, 40));
    }
  }
}

AnyArray parse_tensor(Words& words, const TensorInfo& info, const std::string& path) {
  AnyArray tensor(info);
  if (info.type == ElementType::string) {
    const auto values = tensor.values<String>();
    parse_elements(words, info, path, [&](std::size_t i, std::string_view word) {
      const std::optional<std::string> text = unquoted(word);
      if (text) values[i] = String::make(*text);
      return text.has_value();
    });
    tensor.own_objects();
    return tensor;
  }
  visit_type<AllTypes>(info.type, [&]<class T>() {
    const auto values = tensor.values<T>();
    parse_elements(words, info, path, [&](std::size_t i, std::string_view word) {
      const std::optional<T> element = parse_element<T>(word);
      if (element) values[i] = *element;
      return element.has_value();
    });
  });
  return tensor;
}

AnyArray parse_value(Words& words, std::size_t size, const std::string& path, int depth) {
  const std::string_view type_name = words.next();
  const ElementType type = value_type_of(type_name);
  if (type == ElementType::undefined || type == ElementType::complex64 ||
      type == ElementType::complex128 || depth > 3) {
    fail_to_parse(path, "the first line gives the element type and the extents, as in 'float 2 3'",
                  type_name.substr(0, 40));
  }
  std::vector<std::int64_t> extents;
  for (std::string_view word = words.next(true); !word.empty(); word = words.next(true)) {
    const auto extent = number<std::int64_t>(word);
    if (!extent || *extent < 0) {
      fail_to_parse(path, "an extent is a number from 0", word.substr(0, 40));
    }
    extents.push_back(*extent);
  }
  // Each element takes a character and, but for the last one, a blank.
  const TensorInfo info = checked_info(type, extents, size + 1, 2, path);
  if (is_tensor(type)) return parse_tensor(words, info, path);
  if (extents.size() != 1 || (is_optional(type) && extents[0] > 1)) {
    fail_to_parse(path, "the number of items follows the type, as in 'seq(tensor(float)) 2'",
                  type_name.substr(0, 40));
  }
  if (is_map(type)) {
    const bool is_text = kind_of(type) == ValueKind::string_map;
    AnyArray keys = parse_tensor(
        words, {is_text ? ElementType::string : ElementType::int64, {extents[0]}}, path);
    AnyArray values = parse_tensor(words, {element_of(type), {extents[0]}}, path);
    return AnyArray(type, Map::make(std::move(keys), std::move(values)));
  }
  std::vector<AnyArray> items;
  for (std::int64_t i = 0; i < extents[0]; ++i) {
    items.push_back(parse_value(words, size, path, depth + 1));
    if (items.back().info().type != item_of(type)) {
      fail_to_parse(
          path,
          fmt::format("line {}: an item is of another type than the value holds", words.line()),
          detail::to_text(items.back().info().type));
    }
  }
  return AnyArray(type, Sequence::make(std::move(items)));
}

void format_tensor(AnyView tensor, std::string& text) {
  if (tensor.info.type == ElementType::string) {
    for (const String element : tensor.values<String>()) {
      text += quoted_text(element.view()) + '\n';
    }
    return;
  }
  const bool is_known =
      visit_type<AllTypes>(tensor.info.type, [&]<class T>() { format_elements<T>(tensor, text); });
  if (!is_known) {
    fail(ErrorKind::unsupported, {.what = "text files have no such element type",
                                  .found = name(tensor.info.type),
                                  .hint = "use the format pb"});
  }
}

void format_value(AnyView value, std::string& text) {
  const ElementType type = value.info.type;
  text += detail::to_text(type);
  if (is_map(type)) {
    const Map map = value.map();
    text += fmt::format(" {}\n", map ? map.keys().info().elements() : 0);
    if (!map) return;
    format_tensor(map.keys(), text);
    format_tensor(map.values(), text);
  } else if (!is_tensor(type)) {
    const std::span<const AnyArray> items = value.sequence().items();
    text += fmt::format(" {}\n", items.size());
    for (const AnyArray& item : items) format_value(item, text);
  } else {
    for (const std::int64_t extent : value.info.shape) text += fmt::format(" {}", extent);
    text += '\n';
    format_tensor(value, text);
  }
}

}  // namespace

TensorFormat format_of(std::string_view path) {
  if (path.ends_with(".npy")) return TensorFormat::npy;
  if (path.ends_with(".txt")) return TensorFormat::text;
  return TensorFormat::pb;
}

std::string_view extension(TensorFormat format) {
  switch (format) {
    case TensorFormat::npy:
      return "npy";
    case TensorFormat::text:
      return "txt";
    default:
      return "pb";
  }
}

AnyArray parse_npy(std::string_view bytes, const std::string& path) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (!bytes.starts_with(npy_magic) || bytes.size() < 10) {
    fail_to_parse(path, "this is no NumPy file", {},
                  "the name ends in .npy; other names are read as ONNX tensors");
  }
  const unsigned version = byte(6);
  std::size_t header_size = byte(8) + (std::size_t{byte(9)} << 8);
  std::size_t begin = 10;
  if (version == 2 || version == 3) {
    if (bytes.size() < 12) fail_to_parse(path, "the file ends in its header");
    header_size += (std::size_t{byte(10)} << 16) + (std::size_t{byte(11)} << 24);
    begin = 12;
  } else if (version != 1) {
    fail_to_parse(path, "this version of the NumPy format is not known",
                  fmt::format("{}", version));
  }
  if (header_size > bytes.size() - begin) fail_to_parse(path, "the file ends in its header");
  const NpyHeader header(bytes.substr(begin, header_size), path);
  bytes.remove_prefix(begin + header_size);

  const auto known = std::find_if(numpy_types.begin(), numpy_types.end(), [&](NumpyType t) {
    return header.descr.size() == 3 && header.descr.substr(1) == t.code;
  });
  const char order = header.descr.empty() ? ' ' : header.descr[0];
  if (known == numpy_types.end() ||
      (order != '<' && order != '>' && order != '|' && order != '=')) {
    fail_to_parse(path, "elements of this type cannot be read from NumPy files", header.descr,
                  "an ONNX tensor file (.pb) holds any type");
  }
  const auto size = static_cast<std::size_t>(size_in_bytes(known->type));
  AnyArray tensor(checked_info(known->type, header.shape, bytes.size(), size, path));
  if (bytes.size() != tensor.bytes()) {
    fail_to_parse(path, "the file goes on after its last element",
                  fmt::format("{} bytes too many", bytes.size() - tensor.bytes()));
  }
  if (tensor.bytes() == 0) return tensor;
  if (header.fortran_order) {
    copy_reversed(reinterpret_cast<const std::byte*>(bytes.data()), tensor.data(),
                  tensor.info().shape, size);
  } else {
    std::memcpy(tensor.data(), bytes.data(), tensor.bytes());
  }
  if (order == '>') reverse_bytes(tensor, size);
  return tensor;
}

std::string format_npy(AnyView tensor) {
  const auto known = std::find_if(numpy_types.begin(), numpy_types.end(),
                                  [&](NumpyType t) { return t.type == tensor.info.type; });
  if (known == numpy_types.end()) {
    fail(ErrorKind::unsupported, {.what = "NumPy files have no such element type",
                                  .found = name(tensor.info.type),
                                  .hint = "use the format pb or txt"});
  }
  std::string shape;
  for (const std::int64_t extent : tensor.info.shape) shape += fmt::format("{}, ", extent);
  if (tensor.info.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.info.rank() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   size_in_bytes(known->type) == 1 ? '|' : '<', known->code, shape);
  // The elements begin at a multiple of 64 bytes, as NumPy has it.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(npy_magic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  if (tensor.bytes() > 0) bytes.append(static_cast<const char*>(tensor.data), tensor.bytes());
  return bytes;
}

AnyArray parse_idx(std::string_view bytes, const std::string& path) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0) {
    fail_to_parse(path, "this is no IDX file", {},
                  bytes.starts_with("\x1f\x8b") ? "it is compressed: gunzip it first" : "");
  }
  const unsigned code = byte(2);
  const auto known = std::find_if(idx_types.begin(), idx_types.end(),
                                  [&](IdxType type) { return type.code == code; });
  if (known == idx_types.end()) {
    fail_to_parse(path, "IDX has no such element type", fmt::format("{:#x}", code));
  }
  const std::size_t rank = byte(3), begin = 4 + 4 * rank;
  if (bytes.size() < begin) fail_to_parse(path, "the file ends in its header");
  std::vector<std::int64_t> extents;
  for (std::size_t i = 4; i < begin; i += 4) {
    extents.push_back(std::int64_t{byte(i)} << 24 | std::int64_t{byte(i + 1)} << 16 |
                      std::int64_t{byte(i + 2)} << 8 | std::int64_t{byte(i + 3)});
  }
  bytes.remove_prefix(begin);
  const auto size = static_cast<std::size_t>(size_in_bytes(known->type));
  AnyArray tensor(checked_info(known->type, extents, bytes.size(), size, path));
  if (bytes.size() != tensor.bytes()) {
    fail_to_parse(path, "the file goes on after its last element",
                  fmt::format("{} bytes too many", bytes.size() - tensor.bytes()));
  }
  if (tensor.bytes() == 0) return tensor;
  std::memcpy(tensor.data(), bytes.data(), tensor.bytes());
  reverse_bytes(tensor, size);
  return tensor;
}

AnyArray parse_text(std::string_view text, const std::string& path) {
  Words words(text);
  AnyArray value = parse_value(words, text.size(), path, 0);
  const std::string_view rest = words.next();
  if (!rest.empty()) {
    fail_to_parse(path,
                  is_tensor(value.info().type)
                      ? fmt::format("line {}: the shape has {} elements, here is another one",
                                    words.line(), value.info().elements())
                      : fmt::format("line {}: the value has ended before", words.line()),
                  rest.substr(0, 40));
  }
  return value;
}

std::string format_text(AnyView value) {
  std::string text;
  format_value(value, text);
  return text;
}

AnyArray read_tensor(const std::string& path, ElementType type) {
  if (path.ends_with("-ubyte") || path.ends_with(".idx")) return parse_idx(read_file(path), path);
  switch (format_of(path)) {
    case TensorFormat::npy:
      return parse_npy(read_file(path), path);
    case TensorFormat::text:
      return parse_text(read_file(path), path);
    default:
      break;
  }
  try {
    return onnx::load_tensor(path, type);
  } catch (const ModelError& error) {
    // The file is no part of a model, but an input of it.
    fail(ErrorKind::input, {.what = about_file(error.reason(), path),
                            .tensor = error.tensor(),
                            .expected = error.expected(),
                            .found = error.found(),
                            .hint = error.hint()});
  }
}

void write_tensor(const std::string& path, TensorFormat format, std::string_view name,
                  AnyView tensor) {
  switch (format) {
    case TensorFormat::npy:
      return write_file(path, format_npy(tensor));
    case TensorFormat::text:
      return write_file(path, format_text(tensor));
    default:
      return onnx::save_tensor(path, name, tensor);
  }
}

}  // namespace halftone::cli
