#include <cstring>
#include <filesystem>

#include <halftone/onnx.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/dead_code.hpp>

#include "base/file.hpp"
#include "exec/initial.hpp"
#include "onnx/tensor.hpp"
#include "onnx/value.hpp"
#include "onnx/writer.hpp"

namespace halftone::onnx {

namespace {

std::vector<std::byte> joined(const Pieces& pieces) {
  std::vector<std::byte> bytes;
  bytes.reserve(pieces.size());
  pieces.for_each([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

void write(const Pieces& pieces, detail::OutputFile& file) {
  // Small pieces are collected: a model has many of them.
  constexpr std::size_t small = 1 << 12, block = 1 << 16;
  std::vector<std::byte> buffer;
  auto flush = [&] {
    file.write(buffer);
    buffer.clear();
  };
  pieces.for_each([&](std::span<const std::byte> piece) {
    if (piece.size() >= small) {
      flush();
      file.write(piece);
    } else {
      buffer.insert(buffer.end(), piece.begin(), piece.end());
      if (buffer.size() >= block) flush();
    }
  });
  flush();
}

bool needs_values(const Graph& graph) {
  for (const TensorRecord& t : graph.tensors) {
    if (is_variable(t) && t.data.size() == 0 && t.info.bytes() != 0) return true;
  }
  return false;
}

/// Without what only the loss needs: nodes that no output depends on, and inputs that only they read.
Graph without_loss(Graph graph) {
  const Uses before(graph);
  graph = without_dead_code(std::move(graph));
  const Uses after(graph);
  erase_if(graph.inputs,
           [&](TensorId id) { return before.count[id] != 0 && after.count[id] == 0; });
  TensorMap<bool> is_there(graph, false);
  for (const TensorId id : graph.inputs) is_there[id] = true;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    TensorRecord& t = graph.tensor(id);
    const bool is_computed = t.role == Role::value && after.producer[id] != no_node;
    if ((t.role == Role::value || t.role == Role::input) && !is_computed && !is_there[id]) t = {};
  }
  erase_if(graph.symbols,
           [&](const Symbol& symbol) { return !graph.info(symbol.tensor).is_known(); });
  graph.index_names();
  return graph;
}

/// Calls f with the graph, in which every variable has values. What train() recorded has no
/// spelling in ONNX: the model is written, and the optimizer's state.
template <class F>
auto with_values(const Graph& graph, F&& f) {
  const bool is_trained = !graph.model.empty();
  if (!graph.remote_buffers.empty() || !graph.variable_settings.empty() ||
      (graph.replicas != 1 && !is_trained)) {
    fail(
        ErrorKind::unsupported,
        {.what = "an ONNX file has no replicas, variables of groups and remote buffers",
         .hint = "save_executable keeps them; a graph with replicas = 1 and plain variables can be "
                 "saved"});
  }
  if (!is_trained && !needs_values(graph)) return f(graph);
  Graph copy = is_trained ? without_loss(model_of(graph)) : graph;
  initialize_variables(copy, 0);
  return f(copy);
}

Pieces tensor_pieces(std::string_view name, const AnyView& tensor) {
  Pieces pieces;
  if (!is_tensor(tensor.info.type)) {
    pieces.add(value_message(name, tensor));
    return pieces;
  }
  const auto size = static_cast<std::size_t>(tensor.info.bytes());
  ::onnx::TensorProto proto = tensor_header(tensor.info, name);
  const std::span bytes(static_cast<const std::byte*>(tensor.data), size);
  if (set_data(proto, tensor.info, bytes).size() != size) {
    pieces.add(proto.SerializePartialAsString());
    return pieces;
  }
  pieces.add(proto.SerializePartialAsString() +
             field_header(::onnx::TensorProto::kRawDataFieldNumber, size));
  if (size != 0) {
    pieces.add(bytes);
  }
  return pieces;
}

}  // namespace

void save(const Graph& graph, std::string_view path, const SaveOptions& options) {
  const std::filesystem::path data_name(options.data_file);
  if (!options.data_file.empty() &&
      (data_name.has_parent_path() || data_name == "." || data_name == "..")) {
    fail(ErrorKind::usage, {.what = "a data file is in the model's folder: its name has no folder",
                            .found = options.data_file});
  }
  with_values(graph, [&](const Graph& g) {
    const Writer writer(g, options);
    detail::OutputFile model(path);
    write(writer.model(), model);
    model.flush();
    if (!options.data_file.empty()) {
      const auto data_path = std::filesystem::path(path).parent_path() / data_name;
      detail::OutputFile data(data_path.string());
      write(writer.data(), data);
      data.commit();
    }
    model.commit();
  });
}

std::vector<std::byte> to_bytes(const Graph& graph) {
  return with_values(graph, [](const Graph& g) { return joined(Writer(g, {}).model()); });
}

void save_tensor(std::string_view path, std::string_view name, const AnyView& tensor) {
  const Pieces pieces = tensor_pieces(name, tensor);
  detail::OutputFile file(path);
  write(pieces, file);
  file.commit();
}

std::vector<std::byte> tensor_to_bytes(std::string_view name, const AnyView& tensor) {
  return joined(tensor_pieces(name, tensor));
}

namespace {

NamedArray tensor_from(std::span<const std::byte> bytes, const std::string* folder) {
  const TensorMessage message = read_tensor({bytes, bytes.data()});
  const TensorData data = TensorReader({}, folder).read(message);
  return {AnyArray::copy_of({data.info, data.data.span().data()}), message.name};
}

NamedArray value_from(std::span<const std::byte> bytes, ElementType type,
                      const std::string* folder) {
  if (is_tensor(type)) return tensor_from(bytes, folder);
  return read_value_file({bytes, bytes.data()}, type);
}

}  // namespace

NamedArray load_tensor(std::string_view path, ElementType type) {
  const std::string name(path);
  const std::string folder = std::filesystem::path(name).parent_path().string();
  const Storage file = detail::map_file(name);
  return value_from({file.data(), file.size()}, type, &folder);
}

NamedArray load_tensor(std::span<const std::byte> bytes, ElementType type) {
  return value_from(bytes, type, nullptr);
}

}  // namespace halftone::onnx
