#include <halftone/exec/executable.hpp>

#include <xxhash.h>

#include <cstring>
#include <string>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "kernel_table.hpp"
#include "program/archive.hpp"
#include "ready.hpp"

namespace halftone {
namespace {

constexpr std::uint32_t format_version = 17;
constexpr std::size_t weight_alignment = 4096, blob_alignment = 64;

/// The first bytes of a file. Behind them come the structure, filled up to a page, and the weights.
struct Header {
  char magic[8] = {'\x89', 'H', 'T', 'X', '\r', '\n', '\x1a', '\n'};
  std::uint32_t format = format_version, size = sizeof(Header);
  char version[24] = {};       // of the library
  char instructions[32] = {};  // that weights are packed for
  std::uint64_t structure_bytes = 0, structure_checksum = 0;
  std::uint64_t weight_bytes = 0, weight_checksum = 0;
  std::uint64_t checksum = 0;  // of all before
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
std::uint64_t checksum_of(const Header& header) {
  return checksum_of(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
}
std::size_t rounded_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}
template <std::size_t N>
std::string text_of(const char (&from)[N]) {
  return {from, ::strnlen(from, N)};
}

[[noreturn]] void refuse(ErrorKind kind, std::string_view what, std::string_view expected = {},
                         std::string_view found = {}) {
  fail(kind, {.what = what,
              .expected = expected,
              .found = found,
              .hint = "compile the model again: halftone compile MODEL.onnx --out MODEL.htx"});
}

Header read_header(std::span<const std::byte> file) {
  Header header;
  const Header ours;
  if (file.size() < sizeof ours.magic ||
      std::memcmp(file.data(), ours.magic, sizeof ours.magic) != 0) {
    refuse(ErrorKind::model, "the file is no executable of this library");
  }
  if (file.size() < sizeof header) refuse(ErrorKind::model, "the executable is truncated");
  std::memcpy(&header, file.data(), sizeof header);
  if (header.format != format_version) {
    refuse(ErrorKind::unsupported, "the executable is of another version of this library",
           "format " + std::to_string(format_version), "format " + std::to_string(header.format));
  }
  if (header.checksum != checksum_of(header)) {
    refuse(ErrorKind::model, "the executable is damaged: its header's checksum differs");
  }
  if (text_of(header.version) != HALFTONE_VERSION) {
    refuse(ErrorKind::unsupported, "the executable is of another version of this library",
           HALFTONE_VERSION, text_of(header.version));
  }
  if (text_of(header.instructions) != packing_instructions()) {
    refuse(ErrorKind::unsupported, "the executable is for another processor's instructions",
           packing_instructions(), text_of(header.instructions));
  }
  return header;
}

}  // namespace

void UnverifiedWeights::verify() {
  if (!file) return;
  if (checksum_of(bytes) != checksum) {
    refuse(ErrorKind::model, "the executable is damaged: its weights' checksum differs");
  }
  file = {};
}

Executable::Executable(State* state) : state_(state) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

const Graph& Executable::graph() const { return state_->graph; }

const Vector<TensorId>& Executable::model_outputs() const { return state_->model_outputs; }
void Executable::set_model_outputs(Vector<TensorId> ids) { state_->model_outputs = std::move(ids); }

void Executable::verify() { state_->weights.verify(); }

void Executable::change(Graph graph) {
  if (!(graph == state_->graph)) state_->ready.reset();
  state_->graph = std::move(graph);
}

/// An executable as pieces of bytes, one behind the other.
class ExecutableWriter {
 public:
  explicit ExecutableWriter(const Executable& executable) {
    Executable::State& state = *executable.state_;
    state.weights.verify();  // before they get another checksum
    detail::write(writer_, state.graph);
    writer_.number(state.model_outputs.size());
    for (const TensorId id : state.model_outputs) writer_.number(static_cast<std::uint64_t>(id));
    const bool is_ready = state.ready.has_value();
    const Prepared ready = state.ready.value_or(Prepared{});
    for (const bool flag : {is_ready, ready.is_random}) writer_.number(flag ? 1 : 0);
    writer_.number(static_cast<std::uint64_t>(ready.precision));
    detail::write(writer_, ready.program);

    // Sizes of the weights come first: whoever reads needs them before what refers to them.
    detail::ArchiveWriter sizes;
    sizes.number(writer_.blobs.size());
    for (const Bytes& blob : writer_.blobs) sizes.number(blob.size());
    structure_ = std::move(sizes.bytes);
    structure_.insert(structure_.end(), writer_.bytes.begin(), writer_.bytes.end());
    structure_.resize(rounded_up(sizeof(Header) + structure_.size(), weight_alignment) -
                      sizeof(Header));
    set_text(header_.version, HALFTONE_VERSION);
    set_text(header_.instructions, packing_instructions());
    header_.structure_bytes = structure_.size();
    header_.structure_checksum = checksum_of(structure_);
    XXH3_state_t sum;
    XXH3_64bits_reset(&sum);
    for_each_weight([&](std::span<const std::byte> piece) {
      header_.weight_bytes += piece.size();
      XXH3_64bits_update(&sum, piece.data(), piece.size());
    });
    header_.weight_checksum = XXH3_64bits_digest(&sum);
    header_.checksum = checksum_of(header_);
  }

  /// Calls f for each piece.
  void write(auto&& f) const {
    f(std::as_bytes(std::span(&header_, 1)));
    f(std::span<const std::byte>(structure_));
    for_each_weight(f);
  }

 private:
  void for_each_weight(auto&& f) const {
    static constexpr std::byte blank[blob_alignment] = {};
    for (const Bytes& blob : writer_.blobs) {
      f(blob.span());
      f(std::span<const std::byte>(blank).first(rounded_up(blob.size(), blob_alignment) -
                                                blob.size()));
    }
  }

  detail::ArchiveWriter writer_;
  std::vector<std::byte> structure_;
  Header header_;
};

void save_executable(const Executable& executable, std::string_view path) {
  detail::OutputFile file(path);
  ExecutableWriter(executable).write([&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
}

std::vector<std::byte> executable_bytes(const Executable& executable) {
  std::vector<std::byte> bytes;
  ExecutableWriter(executable).write([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

Executable load_executable(std::string_view path, OperatorTable operators) {
  const Storage storage = detail::map_file(std::string(path));
  const std::span<const std::byte> file(storage.data(), storage.size());
  const Header header = read_header(file);
  const std::uint64_t rest = file.size() - sizeof header;
  if (header.structure_bytes > rest || header.weight_bytes != rest - header.structure_bytes) {
    refuse(ErrorKind::model, "the executable is truncated",
           std::to_string(sizeof header + header.structure_bytes + header.weight_bytes) + " bytes",
           std::to_string(file.size()) + " bytes");
  }
  const auto structure =
      file.subspan(sizeof header, static_cast<std::size_t>(header.structure_bytes));
  if (checksum_of(structure) != header.structure_checksum) {
    refuse(ErrorKind::model, "the executable is damaged: its structure's checksum differs");
  }

  auto state = std::make_unique<Executable::State>();
  std::size_t at = sizeof header + structure.size();
  state->weights = {storage, file.subspan(at), header.weight_checksum};
  detail::ArchiveReader reader(structure);
  for (std::size_t count = reader.count(); count > 0; --count) {
    const auto size = static_cast<std::size_t>(reader.number());
    if (size > file.size() - at) reader.fail_here();
    reader.blobs.emplace_back(storage, file.data() + at, size);
    at = std::min(file.size(), at + rounded_up(size, blob_alignment));
  }
  state->graph = detail::read_graph(reader, operators);
  for (std::size_t count = reader.count(); count > 0; --count) {
    const std::uint64_t id = reader.number();
    if (id >= state->graph.tensors.size()) reader.fail_here();
    state->model_outputs.push_back(static_cast<TensorId>(id));
  }
  Prepared ready;
  const bool is_ready = reader.number() != 0;
  ready.is_random = reader.number() != 0;
  const std::uint64_t precision = reader.number();
  if (precision > static_cast<std::uint64_t>(Precision::float16)) reader.fail_here();
  ready.precision = static_cast<Precision>(precision);
  ready.program = detail::read_program(reader, operators);
  for (const TensorId id : state->graph.inputs) {
    ready.inputs.push_back(state->graph.info(id));
  }
  if (is_ready) state->ready = std::move(ready);
  return Executable(state.release());
}

}  // namespace halftone
