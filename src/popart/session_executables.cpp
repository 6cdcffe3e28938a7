#include <popart/session.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <istream>

#include <popart/error.hpp>

#include "popart/ir_graph.hpp"

namespace popart {

void Session::saveExecutable(const std::string& path, bool savePopartMetadata, bool saveVariables) {
  if (!savePopartMetadata || !saveVariables) {
    throw runtime_error("An executable is always saved with its metadata and its variables");
  }
  const bool isFolder = std::filesystem::is_directory(path);
  saveExecutableToFile(isFolder ? (std::filesystem::path(path) / "executable.popef").string()
                                : path);
}

void Session::loadExecutableFromStream(std::istream& in) {
  // Executables are mapped into memory from files.
  std::string name = (std::filesystem::temp_directory_path() / "halftone-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw runtime_error("There is no room for an executable in {}", name);
  ::close(file);
  struct Removed {
    const std::string& name;
    ~Removed() { std::remove(name.c_str()); }
  } removed{name};
  std::ofstream(name, std::ios::binary) << in.rdbuf();
  loadExecutableFromFile(name);
}
void Session::loadExecutableFromStream(std::shared_ptr<std::istream> in) {
  if (in == nullptr) throw runtime_error("There is no stream to load an executable from");
  loadExecutableFromStream(*in);
}

namespace {

const detail::IrSource& checked(const std::shared_ptr<Ir>& ir,
                                const std::shared_ptr<const detail::IrSource>& source,
                                bool isTraining) {
  if (ir == nullptr || source == nullptr) throw error("A session needs an Ir that was prepared");
  if (source->isTraining() != isTraining) {
    throw error("The Ir was prepared for {}", isTraining ? "inference" : "training");
  }
  return *source;
}

}  // namespace

std::unique_ptr<TrainingSession> TrainingSession::createFromIr(
    std::shared_ptr<Ir> ir, std::shared_ptr<DeviceInfo> deviceInfo, const std::string name) {
  const detail::IrSource& s = checked(ir, sourceOf(ir.get()), true);
  return createFromOnnxModel(s.bytes, s.dataFlow, s.loss, *s.optimizer, std::move(deviceInfo),
                             s.inputShapeInfo, s.options, s.patterns, name);
}
std::unique_ptr<InferenceSession> InferenceSession::createFromIr(
    std::shared_ptr<Ir> ir, std::shared_ptr<DeviceInfo> deviceInfo, const std::string name) {
  const detail::IrSource& s = checked(ir, sourceOf(ir.get()), false);
  return createFromOnnxModel(s.bytes, s.dataFlow, std::move(deviceInfo), s.inputShapeInfo,
                             s.options, s.patterns, name);
}

std::shared_ptr<const detail::IrSource> Session::sourceOf(const Ir* ir) {
  return ir == nullptr ? nullptr : ir->source_;
}

}  // namespace popart
