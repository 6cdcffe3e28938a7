#include "popart/external.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <set>

#include <halftone/onnx.hpp>
#include <popart/error.hpp>

#include "base/file.hpp"
#include "onnx/proto.hpp"

namespace popart {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t alignment = 64;  // of data in a file

std::string whole(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

std::string fileOf(const halftone::onnx::TensorMessage& tensor) {
  using Entry = ::onnx::StringStringEntryProto;
  for (const halftone::onnx::Message& entry : tensor.external) {
    std::string_view key, value;
    halftone::onnx::wire::Reader reader(entry);
    for (halftone::onnx::wire::Field f; reader.next(f);) {
      if (f.number == Entry::kKeyFieldNumber) key = f.text();
      if (f.number == Entry::kValueFieldNumber) value = f.text();
    }
    if (key == "location") return std::string(value);
  }
  return {};
}

}  // namespace

bool detail::isPath(const std::string& model) {
  if (model.size() >= 4096 || model.find('\0') != model.npos) return false;
  struct stat status{};
  // A name without a file would be a model that is broken in its first bytes.
  return ::stat(model.c_str(), &status) == 0 || (model.size() > 5 && model.ends_with(".onnx"));
}

detail::ExternalFiles detail::externalFiles(const std::string& model) {
  using namespace halftone::onnx;
  halftone::Storage file;
  std::span<const std::byte> bytes = std::as_bytes(std::span(model));
  fs::path folder;
  if (isPath(model)) {
    file = halftone::detail::map_file(model);
    bytes = {file.data(), file.size()};
    folder = fs::path(model).parent_path();
  }
  ExternalFiles files;
  for (const Message& message : read_graph(read_model({bytes, bytes.data()}).graph).initializers) {
    const TensorMessage tensor = read_tensor(message);
    if (tensor.is_external) files[TensorId(tensor.name)] = whole(folder / fileOf(tensor));
  }
  return files;
}

std::string detail::locationOf(const std::string& file, const std::string& folder) {
  const fs::path relative = fs::path(file).lexically_relative(whole(folder.empty() ? "." : folder));
  const bool isInside = !relative.empty() && *relative.begin() != "..";
  return isInside ? relative.string() : file;
}

void detail::writeData(std::span<const TensorData> tensors, const std::string& file,
                       const std::string& location) {
  halftone::detail::OutputFile out(file);
  std::size_t at = 0;
  for (const auto& [tensor, bytes] : tensors) {
    const std::string padding((alignment - at % alignment) % alignment, '\0');
    out.write(std::as_bytes(std::span(padding)));
    at += padding.size();
    out.write(bytes);
    tensor->clear_external_data();
    const auto entry = [&, to = tensor](const char* key, const std::string& value) {
      auto& e = *to->add_external_data();
      e.set_key(key);
      e.set_value(value);
    };
    entry("location", location);
    entry("offset", std::to_string(at));
    entry("length", std::to_string(bytes.size()));
    at += bytes.size();
  }
  out.commit();
}

void detail::saveWithData(halftone::Graph model, const std::string& fn,
                          const ExternalFiles& files) {
  // The model is made without the data, which may be more than a message holds.
  std::map<TensorId, std::pair<halftone::TensorInfo, halftone::Bytes>> taken;
  for (const auto& [name, file] : files) {
    const halftone::TensorId id = model.find(name);
    if (id == halftone::no_tensor) continue;
    halftone::TensorRecord& record = model.tensor(id);
    taken[name] = {record.info, std::move(record.data)};
    record.info.shape = {0};
    record.data = {};
  }
  const std::vector<std::byte> bytes = halftone::onnx::to_bytes(model);
  ::onnx::ModelProto proto;
  proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  std::map<std::string, std::vector<TensorData>> byFile;
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    const auto found = taken.find(tensor.name());
    if (found == taken.end()) continue;
    const auto& [info, data] = found->second;
    tensor.clear_raw_data();
    tensor.clear_dims();
    for (const std::int64_t extent : info.shape) tensor.add_dims(extent);
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    byFile[files.at(tensor.name())].emplace_back(&tensor, data.span());
  }
  const std::string folder = fs::path(fn).parent_path().string();
  for (const auto& [file, tensors] : byFile) {
    writeData(tensors, file, locationOf(file, folder));
  }
  halftone::detail::OutputFile out(fn);
  const std::string text = proto.SerializeAsString();
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace popart
