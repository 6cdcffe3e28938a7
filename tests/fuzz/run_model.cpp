// A model from any bytes, run on inputs that the bytes decide, gives its outputs or a typed error.
//
// The bytes are a model file whose last field may be a `doc_string`: its text decides the inputs.
// Models that the conformance corpus has are good to begin with; each is also inferred twice.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/onnx.hpp>

#include "exec/fold.hpp"

namespace {

using namespace halftone;

constexpr std::size_t text_bytes = 48;
constexpr std::uint8_t field[] = {0x32, text_bytes};  ///< ModelProto.doc_string
constexpr std::size_t field_bytes = sizeof field + text_bytes;

std::size_t model_bytes(const std::uint8_t* data, std::size_t size) {
  const bool has_text =
      size >= field_bytes && std::memcmp(data + size - field_bytes, field, sizeof field) == 0;
  return has_text ? size - field_bytes : size;
}

/// Numbers that follow from a text, again and again.
class Numbers {
 public:
  Numbers(std::span<const std::uint8_t> text, bool only_small)
      : text_(text), only_small_(only_small) {}

  std::uint8_t byte() { return text_.empty() ? 1 : text_[at_++ % text_.size()]; }
  /// Mostly small ones, as extents and indices are.
  std::int64_t integer() {
    const std::uint8_t b = byte();
    if (b < 160 || only_small_) return b % 8;
    if (b < 224) return b - 192;
    constexpr std::int64_t edges[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN,
                                      1 << 16,   -1,        0,         1};
    return edges[b % 8];
  }
  double real() {
    const std::uint8_t b = byte();
    constexpr double edges[] = {0.0, -0.0, 1e30, -1e30, 1e-40, NAN, INFINITY, -INFINITY};
    return b < 240 ? (b - 100) / 32.0 : edges[b % 8];
  }

 private:
  std::span<const std::uint8_t> text_;
  bool only_small_;
  std::size_t at_ = 0;
};

constexpr std::int64_t most_elements = 1 << 16;

/// Nothing if there would be too many elements, or for maps.
AnyArray made_input(TensorInfo info, Numbers& numbers) {
  const ValueKind kind = kind_of(info.type);
  if (kind == ValueKind::sequence || kind == ValueKind::optional) {
    std::vector<AnyArray> items(numbers.byte() % (kind == ValueKind::sequence ? 3 : 2));
    for (AnyArray& item : items) {
      item = made_input({element_of(info.type), {numbers.byte() % 3, 2}}, numbers);
    }
    return {info.type, Sequence::make(std::move(items))};
  }
  if (kind != ValueKind::tensor) return {};
  for (std::int64_t& extent : info.shape) {
    if (extent == dynamic) extent = numbers.byte() % 5;
  }
  if (info.elements() > most_elements) return {};
  if (info.type == ElementType::string) {
    constexpr std::string_view some[] = {"", "a", "Ab c", "1.5", "-7", "\xff\xfe", "\xc3\xa4,b"};
    std::vector<std::string_view> texts(static_cast<std::size_t>(info.elements()));
    for (std::string_view& text : texts) text = some[numbers.byte() % std::size(some)];
    return {info.shape, texts};
  }
  AnyArray array(info);
  const bool is_real = visit_type<FloatTypes>(info.type, [&]<class T>() {
    for (T& x : array.values<T>()) x = static_cast<T>(static_cast<float>(numbers.real()));
  });
  const auto step = static_cast<std::size_t>(size_in_bytes(info.type));
  const bool is_narrow = info.type == ElementType::boolean || size_in_bits(info.type) < 8;
  for (std::size_t at = 0; !is_real && at < array.bytes(); at += step) {
    const std::int64_t x = is_narrow ? numbers.byte() & 1 : numbers.integer();
    std::memcpy(array.data() + at, &x, std::min(step, sizeof x));
  }
  return array;
}

constexpr std::int64_t most_passes = 256;

/// Whether a loop may take more passes than that. One in the main graph may ask an input how many: inputs
/// of such graphs are small numbers.
bool may_loop_long(const Graph& graph, bool is_main) {
  for (const Node& node : graph.nodes) {
    if (node.op->id.name != "Loop") continue;
    const TensorId id = node.inputs.empty() ? no_tensor : node.inputs[0];
    if (id == no_tensor) return true;
    const TensorRecord& count = graph.tensor(id);
    if (is_main && count.role == Role::input) continue;
    if (count.role != Role::constant || count.data.size() < 4) return true;
    std::int64_t passes = 0;
    std::memcpy(&passes, count.data.span().data(), std::min(sizeof passes, count.data.size()));
    if (passes > most_passes) return true;
  }
  return std::any_of(graph.graphs.begin(), graph.graphs.end(),
                     [](const Graph& body) { return may_loop_long(body, false); });
}
bool has_loop(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return node.op->id.name == "Loop"; });
}
bool has_large_tensor(const Graph& graph) {
  for (const TensorRecord& tensor : graph.tensors) {
    if (tensor.info.elements() > most_elements) return true;
  }
  return std::any_of(graph.graphs.begin(), graph.graphs.end(), has_large_tensor);
}

/// A law: what was inferred and folded is inferred again without a change.
void fold_twice(Graph graph) {
  try {
    fold_shapes(graph);
  } catch (const Error&) {
    return;
  }
  Graph again = graph;
  try {
    fold_shapes(again);
  } catch (const Error& error) {
    std::fprintf(stderr, "inferred again: %s\n", error.what());
    std::abort();
  }
  for (const TensorId id : graph.outputs) {
    if (again.info(id) == graph.info(id)) continue;
    std::fprintf(stderr, "inferred again, an output has another shape\n");
    std::abort();
  }
}

void run(const onnx::LoadResult& loaded, std::span<const std::uint8_t> text) {
  const Graph& graph = loaded.graph();
  // These may take long rightly.
  if (has_large_tensor(graph) || may_loop_long(graph, true)) return;
  fold_twice(graph);
  Numbers numbers(text, has_loop(graph));
  std::vector<AnyArray> arrays;
  for (const TensorId id : graph.inputs) {
    TensorInfo info = graph.info(id);
    if (!info.is_known()) {
      info.type = graph.tensor(id).stated_type;
      if (size_in_bytes(info.type) == 0) info.type = ElementType::float32;
      for (int rank = numbers.byte() % 4; rank > 0; --rank) info.shape.push_back(dynamic);
    }
    arrays.push_back(made_input(info, numbers));
    if (!arrays.back().info().is_known()) return;
  }
  const std::vector<AnyView> inputs(arrays.begin(), arrays.end());
  Engine engine(graph);
  for (int i = 0; i < 2; ++i) {
    engine.run(inputs);
    for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
      const AnyView output = engine.output(o);
      const auto* bytes = static_cast<const volatile std::uint8_t*>(output.data);
      for (std::size_t b = 0, n = output.bytes(); b < n; ++b) static_cast<void>(bytes[b]);
    }
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// Changes the text at the end, or a number in the model without a change of lengths, or anything.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  std::size_t model = model_bytes(data, size);
  if (model == size && size + field_bytes <= most) {
    std::memcpy(data + size, field, sizeof field);
    for (std::size_t i = 0; i < text_bytes; ++i) {
      data[size + sizeof field + i] = static_cast<std::uint8_t>(random());
    }
    size += field_bytes;
  }
  const auto choice = random() % 8;
  if (choice < 3 && model + field_bytes == size) {
    LLVMFuzzerMutate(data + model + sizeof field, text_bytes, text_bytes);
    return size;
  }
  if (choice < 7 && model > 8) {
    constexpr std::int64_t edges[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 0, 1, -1, 2};
    const std::size_t count = std::size_t{1} << random() % 4;
    const std::int64_t value =
        random() % 4 == 0 ? edges[random() % 8] : static_cast<std::int64_t>(random() % 32) - 8;
    std::memcpy(data + random() % (model - count + 1), &value, count);
    return size;
  }
  return LLVMFuzzerMutate(data, size, most);
}

/// Instead of the C library's: tensors beyond this size are errors of the kind `memory`, and take no
/// time.
extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (bytes > std::size_t{1} << 24) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t model = model_bytes(data, size);
  const std::span<const std::uint8_t> bytes(data, size);
  try {
    const onnx::LoadResult loaded = onnx::try_load(std::as_bytes(bytes));
    if (loaded) run(loaded, bytes.subspan(std::min(model + sizeof field, size)));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::usage) {
      std::fprintf(stderr, "%s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
