#include "popart/external.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <halftone/onnx.hpp>
#include <popart/error.hpp>

#include "base/file.hpp"
#include "exec/variables.hpp"
#include "onnx/proto.hpp"
#include "onnx/writer.hpp"

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

detail::GivenModel::GivenModel(const std::string& model) {
  if (isPath(model)) {
    file_ = halftone::detail::map_file(model);
    // Programs may write a small model anew where it is.
    constexpr std::size_t small = std::size_t{32} << 20;
    if (file_.size() <= small) {
      text_.assign(reinterpret_cast<const char*>(file_.data()), file_.size());
      file_ = {};
    }
    folder_ = fs::path(model).parent_path().string();
  } else {
    text_ = model;
  }
}
std::span<const std::byte> detail::GivenModel::bytes() const {
  if (!text_.empty()) return std::as_bytes(std::span(text_));
  return {file_.data(), file_.size()};
}

::onnx::ModelProto detail::parsed(const GivenModel& model) {
  const std::span<const std::byte> bytes = model.bytes();
  ::onnx::ModelProto proto;
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (bytes.size() > most || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    halftone::fail(halftone::ErrorKind::unsupported,
                   {.what = "the model is larger than a protobuf message may be",
                    .hint = "move elements to a file with Builder::saveInitializersExternally"});
  }
  return proto;
}

detail::ExternalFiles detail::externalFiles(const GivenModel& model) {
  using namespace halftone::onnx;
  const std::span<const std::byte> bytes = model.bytes();
  ExternalFiles files;
  for (const Message& message : read_graph(read_model({bytes, bytes.data()}).graph).initializers) {
    const TensorMessage tensor = read_tensor(message);
    if (tensor.is_external) {
      files[TensorId(tensor.name)] = whole(fs::path(model.folder()) / fileOf(tensor));
    }
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

namespace {

/// Writes a tensor's message anew, without elements that are to follow as bytes, which it returns.
std::span<const std::byte> describe(::onnx::TensorProto& tensor, const halftone::TensorInfo& info,
                                    std::span<const std::byte> bytes) {
  ::onnx::TensorProto described = halftone::onnx::tensor_header(info, tensor.name());
  const std::span<const std::byte> raw = halftone::onnx::set_data(described, info, bytes);
  if (tensor.has_doc_string()) described.set_doc_string(tensor.doc_string());
  tensor = std::move(described);
  return raw;
}

}  // namespace

void detail::saveModel(const GivenModel& model, const halftone::Graph& values,
                       const std::string& fn, const ExternalFiles& files) {
  ::onnx::ModelProto proto = parsed(model);
  std::map<std::string, std::vector<TensorData>> byFile;
  std::set<std::string_view> written;
  const auto write = [&](::onnx::TensorProto& tensor, halftone::TensorId id) {
    const halftone::TensorRecord& t = values.tensor(id);
    const halftone::TensorInfo info = halftone::VariableLayout(values, id).host();
    const std::span<const std::byte> raw = describe(tensor, info, t.data.span());
    written.insert(values.name(id));
    if (const auto file = files.find(tensor.name()); file != files.end()) {
      tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
      byFile[file->second].emplace_back(&tensor, raw);
    } else if (raw.size() == t.data.size()) {
      tensor.set_raw_data(raw.data(), raw.size());
    }
  };
  // Initializers of other types than these are constants, which stay what they are.
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    const halftone::TensorId id = values.find(tensor.name());
    if (id == halftone::no_tensor) continue;
    const bool isExternal = tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
    if (is_variable(values.tensor(id)) || isExternal) write(tensor, id);
  }
  for (std::size_t i = 0; i < values.tensors.size(); ++i) {
    const auto id = static_cast<halftone::TensorId>(i);
    if (!is_stored(values.tensor(id).state) || written.contains(values.name(id))) continue;
    auto& tensor = *proto.mutable_graph()->add_initializer();
    tensor.set_name(std::string(values.name(id)));
    write(tensor, id);
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
