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

constexpr std::uint32_t format_version = 1;
constexpr std::size_t weight_alignment = 4096, blob_alignment = 64;

/// The first bytes of a file. Behind them come the structure, filled up to a page, and the weights.
struct Header {
  char magic[8] = {'\x89', 'H', 'T', 'X', '\r', '\n', '\x1a', '\n'};
  std::uint32_t format = format_version, size = sizeof(Header);
  char version[24] = {};          // of the library
  char instruction_set[16] = {};  // that weights are packed for
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
  if (text_of(header.instruction_set) != instruction_set()) {
    refuse(ErrorKind::unsupported, "the executable is for another processor's instructions",
           instruction_set(), text_of(header.instruction_set));
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

void Executable::verify() { state_->weights.verify(); }

void Executable::change(Graph graph) {
  Graph& now = state_->graph;
  const bool is_same = graph.outputs == now.outputs && graph.nodes.size() == now.nodes.size();
  now = std::move(graph);
  if (!is_same) state_->ready.reset();
}

void save_executable(const Executable& executable, std::string_view path) {
  const Executable::State& state = *executable.state_;
  const Ready& ready = *state.ready;
  detail::ArchiveWriter writer;
  detail::write(writer, state.graph);
  writer.number(ready.is_interpreted ? 1 : 0);
  writer.number(ready.is_random ? 1 : 0);
  writer.number(ready.has_program ? 1 : 0);
  detail::write(writer, ready.program);
  detail::write(writer, ready.graph);

  // Sizes of the weights come first: whoever reads needs them before what refers to them.
  detail::ArchiveWriter sizes;
  sizes.number(writer.blobs.size());
  for (const Bytes& blob : writer.blobs) sizes.number(blob.size());
  std::vector<std::byte> structure = std::move(sizes.bytes);
  structure.insert(structure.end(), writer.bytes.begin(), writer.bytes.end());
  structure.resize(rounded_up(sizeof(Header) + structure.size(), weight_alignment) -
                   sizeof(Header));

  Header header;
  set_text(header.version, HALFTONE_VERSION);
  set_text(header.instruction_set, instruction_set());
  header.structure_bytes = structure.size();
  header.structure_checksum = checksum_of(structure);
  const std::byte blank[blob_alignment] = {};
  XXH3_state_t sum;
  XXH3_64bits_reset(&sum);
  const auto for_each_piece = [&](auto&& f) {
    for (const Bytes& blob : writer.blobs) {
      f(blob.span());
      f(std::span(blank).first(rounded_up(blob.size(), blob_alignment) - blob.size()));
    }
  };
  for_each_piece([&](std::span<const std::byte> piece) {
    header.weight_bytes += piece.size();
    XXH3_64bits_update(&sum, piece.data(), piece.size());
  });
  header.weight_checksum = XXH3_64bits_digest(&sum);
  header.checksum = checksum_of(header);

  detail::OutputFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(structure);
  for_each_piece([&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
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
  auto ready = std::make_unique<Ready>();
  ready->is_interpreted = reader.number() != 0;
  ready->is_random = reader.number() != 0;
  ready->has_program = reader.number() != 0;
  ready->program = detail::read_program(reader, operators);
  ready->graph = detail::read_graph(reader, operators);
  for (const TensorId id : state->graph.inputs) {
    ready->inputs.push_back(state->graph.info(id));
  }
  state->ready = std::move(ready);
  return Executable(state.release());
}

}  // namespace halftone
