#include "onnx/tensor.hpp"

#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "base/packed.hpp"

namespace halftone::onnx {

namespace {

using wire::Field;
using wire::Reader;
using wire::Span;
using wire::Type;

/// Smaller data are copied into the graph: that is cheaper than to share them, and aligned.
constexpr std::size_t shared_from = 1024;

Bytes copy_of(Span bytes) {
  if (bytes.size() < shared_from) return Bytes({bytes.begin(), bytes.end()});
  return Bytes::copy_of(bytes);
}

/// Bytes that are filled before they become a constant.
struct Filled {
  explicit Filled(std::size_t size) {
    if (size < shared_from) {
      own.resize(size);
      data = own.data();
    } else {
      storage = Storage::allocate(size);
      data = storage.data();
    }
  }
  Bytes bytes(std::size_t size) && {
    return storage ? Bytes(storage, storage.data(), size) : Bytes(std::move(own));
  }
  std::vector<std::byte> own;
  Storage storage;
  std::byte* data;
};

[[noreturn]] void wrong(const TensorMessage& tensor, std::string_view what,
                        std::string_view expected = {}, std::string_view found = {}) {
  fail(ErrorKind::model,
       {.what = what, .tensor = tensor.name, .expected = expected, .found = found});
}

/// The field of TensorProto that holds elements of a type when they are not raw, and how.
struct TypedField {
  std::uint32_t number = 0;
  Type wire = Type::varint;
  std::size_t per_element = 1;
};
TypedField typed_field(ElementType type) {
  using P = ::onnx::TensorProto;
  switch (type) {
    case ElementType::float32:
      return {P::kFloatDataFieldNumber, Type::fixed32};
    case ElementType::complex64:
      return {P::kFloatDataFieldNumber, Type::fixed32, 2};
    case ElementType::float64:
      return {P::kDoubleDataFieldNumber, Type::fixed64};
    case ElementType::complex128:
      return {P::kDoubleDataFieldNumber, Type::fixed64, 2};
    case ElementType::int64:
      return {P::kInt64DataFieldNumber};
    case ElementType::uint32:
    case ElementType::uint64:
      return {P::kUint64DataFieldNumber};
    default:
      return {P::kInt32DataFieldNumber};
  }
}

/// Whether the value of a varint is one of the type's; 16- and 8-bit floats are there as codes.
bool fits(ElementType type, std::int64_t value) {
  auto within = [&](std::int64_t low, std::int64_t high) { return value >= low && value <= high; };
  switch (type) {
    case ElementType::int64:
    case ElementType::uint64:
      return true;
    case ElementType::uint32:
      return within(0, UINT32_MAX);
    case ElementType::int32:
      return within(INT32_MIN, UINT32_MAX);
    case ElementType::int16:
      return within(INT16_MIN, INT16_MAX);
    case ElementType::int8:
      return within(INT8_MIN, INT8_MAX);
    case ElementType::boolean:
      return within(0, 1);
    case ElementType::uint16:
    case ElementType::float16:
    case ElementType::bfloat16:
      return within(0, UINT16_MAX);
    default:
      return within(0, UINT8_MAX);
  }
}

void make_boolean(std::byte* data, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) data[i] = std::byte{data[i] != std::byte{0}};
}

bool is_boolean(Span bytes) {
  for (const std::byte b : bytes) {
    if (b > std::byte{1}) return false;
  }
  return true;
}

}  // namespace

ElementType element_type_of(std::int64_t number, std::string_view tensor) {
  if (number > 0 && number < detail::element_type_count) {
    return static_cast<ElementType>(number);
  }
  constexpr std::int64_t newest = 32;  // numbers up to there may come with newer versions of ONNX
  const bool is_known_to_others = number >= detail::element_type_count && number <= newest;
  constexpr std::string_view younger[] = {"uint4", "int4", "float4e2m1", "float8e8m0",
                                          "uint2", "int2", "float6e2m3", "float6e3m2"};
  constexpr std::int64_t first_younger = 21;
  const std::int64_t at = number - first_younger;
  const bool has_name = at >= 0 && at < std::ssize(younger);
  const std::string found = has_name ? std::string(younger[static_cast<std::size_t>(at)])
                                     : "number " + std::to_string(number);
  fail(is_known_to_others ? ErrorKind::unsupported : ErrorKind::model,
       {.what = is_known_to_others ? "tensors of this element type are not offered"
                                   : "a tensor has no element type",
        .tensor = tensor,
        .found = found});
}

TensorData TensorReader::read(const TensorMessage& tensor) {
  TensorData result;
  result.info.type = element_type_of(tensor.element_type, tensor.name);
  if (tensor.is_segment) {
    fail(ErrorKind::unsupported,
         {.what = "tensors in segments are not offered", .tensor = tensor.name});
  }
  if (tensor.shape.size() > max_rank) {
    fail(ErrorKind::unsupported, {.what = "a tensor has too many dimensions",
                                  .tensor = tensor.name,
                                  .expected = "at most " + std::to_string(max_rank),
                                  .found = std::to_string(tensor.shape.size())});
  }
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0) wrong(tensor, "a tensor has a negative extent", {}, std::to_string(extent));
    result.info.shape.push_back(extent);
  }
  const std::int64_t bytes = result.info.bytes();
  if (bytes == INT64_MAX) {
    wrong(tensor, "a tensor is larger than its data", "data of " + detail::to_text(result.info));
  }
  if (!tensor.sparse.empty()) return dense(tensor, result.info);
  const auto size = static_cast<std::size_t>(bytes);
  if (result.info.type == ElementType::string) {
    result.data = texts(tensor, result.info);
    return result;
  }
  if (detail::is_packed(result.info.type)) {
    result.data = packed(tensor, result.info);
    return result;
  }

  Span data;
  Storage storage = storage_;
  if (tensor.is_external) {
    data = external(tensor, size, storage);
  } else if (tensor.has_raw && !tensor.raw.empty()) {
    data = tensor.raw;
  } else {
    result.data = typed(tensor, result.info);
    return result;
  }
  if (data.size() != size) {
    wrong(tensor, "a tensor's data have another size than its shape",
          std::to_string(size) + " bytes for " + detail::to_text(result.info),
          std::to_string(data.size()) + " bytes");
  }
  if (result.info.type == ElementType::boolean && !is_boolean(data)) {
    Filled filled(size);
    std::memcpy(filled.data, data.data(), size);
    make_boolean(filled.data, size);
    result.data = std::move(filled).bytes(size);
  } else if (size < shared_from || !storage) {
    result.data = copy_of(data);
  } else {
    result.data = Bytes(storage, data.data(), size);
  }
  return result;
}

Bytes TensorReader::texts(const TensorMessage& tensor, const TensorInfo& info) {
  if (tensor.is_external || !tensor.raw.empty()) {
    wrong(tensor, "texts are neither raw nor external data");
  }
  std::vector<std::string_view> list;
  Reader reader(tensor.message);
  for (Field f; reader.next(f);) {
    if (f.number == ::onnx::TensorProto::kStringDataFieldNumber) list.push_back(f.text());
  }
  if (list.size() != static_cast<std::uint64_t>(info.elements())) {
    wrong(tensor, "a tensor's data have another number of elements than its shape",
          std::to_string(info.elements()) + " for " + detail::to_text(info),
          std::to_string(list.size()));
  }
  const AnyArray array(info.shape, list);
  return Bytes(array.storage(), array.data(), array.bytes());
}

Bytes TensorReader::packed(const TensorMessage& tensor, const TensorInfo& info) {
  const auto elements = static_cast<std::uint64_t>(info.elements());
  const std::uint64_t size = detail::packed_bytes(info.type, elements);
  std::vector<std::byte> codes;
  Span data = codes;
  Storage storage = storage_;
  if (tensor.is_external) {
    data = external(tensor, size, storage);
  } else if (tensor.has_raw && !tensor.raw.empty()) {
    data = tensor.raw;
  } else {
    // A number for each byte; for each element where bytes do not hold whole ones.
    auto put = [&](std::uint64_t number) {
      if (number > UINT8_MAX && !fits(ElementType::int8, static_cast<std::int64_t>(number))) {
        wrong(tensor, "an element is out of the range of its type", name(info.type),
              std::to_string(static_cast<std::int64_t>(number)));
      }
      codes.push_back(static_cast<std::byte>(number));
    };
    Reader reader(tensor.message);
    for (Field f; reader.next(f);) {
      if (f.number != ::onnx::TensorProto::kInt32DataFieldNumber) continue;
      if (f.type != Type::bytes) {
        f.expect(Type::varint);
        put(f.value);
      } else {
        Reader list(f.message());
        for (std::uint64_t value; list.next(value);) put(value);
      }
    }
    data = codes;
    if (8 % size_in_bits(info.type) != 0 && data.size() == elements) {
      Filled filled(elements);
      visit_type<NarrowTypes>(info.type, [&]<class T>() {
        for (std::uint64_t i = 0; i < elements; ++i) {
          const T element = T::from_bits(std::to_integer<std::uint8_t>(data[i]));
          std::memcpy(filled.data + i, &element, 1);
        }
      });
      return std::move(filled).bytes(elements);
    }
  }
  if (data.size() != size) {
    wrong(tensor, "a tensor's data have another size than its shape",
          std::to_string(size) + " bytes for " + detail::to_text(info),
          std::to_string(data.size()) + " bytes");
  }
  Filled filled(elements);
  detail::unpack_elements(info.type, data.data(), filled.data, elements);
  return std::move(filled).bytes(elements);
}

Bytes TensorReader::typed(const TensorMessage& tensor, const TensorInfo& info) {
  const TypedField field = typed_field(info.type);
  const auto elements = static_cast<std::uint64_t>(info.elements());
  const auto size = static_cast<std::size_t>(info.bytes());
  const std::size_t piece = static_cast<std::size_t>(size_in_bytes(info.type)) / field.per_element;
  auto check_count = [&](std::uint64_t found) {
    if (found == elements * field.per_element) return;
    wrong(tensor, "a tensor's data have another number of elements than its shape",
          std::to_string(elements) + " for " + detail::to_text(info),
          std::to_string(found / field.per_element));
  };

  // One element takes at least one byte: so much is there before memory is asked for.
  if (elements > tensor.message.bytes.size()) {
    std::uint64_t count = 0;
    Reader reader(tensor.message);
    for (Field f; reader.next(f);) {
      if (f.number != field.number) continue;
      if (f.type != Type::bytes) ++count;
      if (f.type == Type::bytes && field.wire != Type::varint) count += f.bytes.size() / piece;
      if (f.type == Type::bytes && field.wire == Type::varint) {
        for (const std::byte b : f.bytes) count += b < std::byte{0x80};
      }
    }
    check_count(count);
  }
  if (const auto known = decoded_.find(tensor.message.bytes.data()); known != decoded_.end()) {
    return known->second;
  }

  if (storage_ && field.wire != Type::varint && size >= shared_from) {
    // One packed list of floats is as good as raw data.
    Span only;
    int lists = 0;
    Reader fields(tensor.message);
    for (Field f; fields.next(f);) {
      if (f.number == field.number) ++lists, only = f.bytes;
    }
    if (lists == 1 && only.size() == size) return Bytes(storage_, only.data(), size);
  }

  Filled filled(size);
  std::uint64_t count = 0;
  auto put = [&](std::uint64_t bits) {
    if (count < elements * field.per_element) {
      std::memcpy(filled.data + count * piece, &bits, piece);
    }
    ++count;
  };
  auto put_number = [&](std::uint64_t number) {
    auto value = static_cast<std::int64_t>(number);
    if (!fits(info.type, value)) {
      wrong(tensor, "an element is out of the range of its type", name(info.type),
            std::to_string(value));
    }
    put(number);
  };
  Reader reader(tensor.message);
  for (Field f; reader.next(f);) {
    if (f.number != field.number) continue;
    if (f.type != Type::bytes) {
      f.expect(field.wire);
      if (field.wire == Type::varint) {
        put_number(f.value);
      } else {
        put(f.value);
      }
    } else if (field.wire == Type::varint) {
      Reader packed(f.message());
      for (std::uint64_t value; packed.next(value);) put_number(value);
    } else {
      if (f.bytes.size() % piece != 0) wrong(tensor, "a tensor's data end within an element");
      const std::uint64_t here = f.bytes.size() / piece;
      const std::uint64_t room = elements * field.per_element;
      if (count + here <= room && here > 0) {
        std::memcpy(filled.data + count * piece, f.bytes.data(), f.bytes.size());
      }
      count += here;
    }
  }
  check_count(count);
  Bytes bytes = std::move(filled).bytes(size);
  if (size >= shared_from) decoded_.emplace(tensor.message.bytes.data(), bytes);
  return bytes;
}

const Storage& TensorReader::file(const std::string& location, std::string_view tensor) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  namespace fs = std::filesystem;
  auto refuse = [&](const char* what) {
    fail(ErrorKind::model, {.what = what, .tensor = tensor, .found = detail::quoted(location)});
  };
  if (folder_ == nullptr) refuse("a tensor's data are in another file, but the model is in none");
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != location.npos) {
    refuse("a tensor's data are in a file without a name");
  }
  if (relative.is_absolute()) refuse("a tensor's data are outside the model's folder");
  for (const fs::path& part : relative) {
    if (part == "..") refuse("a tensor's data are outside the model's folder");
  }
  // A symbolic link must not lead out of the folder either.
  std::error_code error;
  const fs::path folder = fs::canonical(folder_->empty() ? "." : *folder_, error);
  const fs::path whole = error ? fs::path() : fs::canonical(folder / relative, error);
  if (!error) {
    const fs::path inside = whole.lexically_relative(folder);
    if (inside.empty() || *inside.begin() == "..") {
      refuse("a tensor's data are outside the model's folder");
    }
  }
  const std::string path = error ? (fs::path(*folder_) / relative).string() : whole.string();
  return files_.emplace(location, detail::map_file(path)).first->second;
}

Span TensorReader::external(const TensorMessage& tensor, std::size_t expected, Storage& storage) {
  std::string location;
  std::uint64_t offset = 0, length = expected;
  auto number = [&](std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      wrong(tensor, "offset and length of external data are numbers", {}, detail::quoted(text));
    }
    return value;
  };
  for (const Message& entry : tensor.external) {
    using P = ::onnx::StringStringEntryProto;
    std::string_view key, value;
    Reader reader(entry);
    for (Field f; reader.next(f);) {
      if (f.number == P::kKeyFieldNumber) key = f.text();
      if (f.number == P::kValueFieldNumber) value = f.text();
    }
    if (key == "location") location = value;
    if (key == "offset") offset = number(value);
    if (key == "length") length = number(value);
  }
  storage = file(location, tensor.name);
  if (offset > storage.size() || length > storage.size() - offset) {
    wrong(tensor, "a tensor's external data lie behind the end of their file",
          std::to_string(length) + " bytes at " + std::to_string(offset),
          detail::quoted(location) + " of " + std::to_string(storage.size()) + " bytes");
  }
  return {storage.data() + offset, static_cast<std::size_t>(length)};
}

}  // namespace halftone::onnx
