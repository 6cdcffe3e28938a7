#include <popart/devicemanager.hpp>

#include <ostream>
#include <sstream>

#include "popart/convert.hpp"

namespace popart {

namespace {

constexpr const char* noHardware =
    "there is no IPU hardware here; use DeviceManager::createCpuDevice()";

/// The processor that the program runs on. Always there.
class CpuDevice final : public DeviceInfo {
 public:
  CpuDevice() : DeviceInfo(DeviceType::Cpu, DeviceConnectionType::Always, {}) {}
  bool attach() override { return attached_ = true; }
  void detach() override { attached_ = false; }
  bool isAttached() const override { return attached_; }
  int getId() const override { return 0; }
  std::vector<int> getChildIds() const override { return {}; }
  std::string getVersion() const override { return "<unknown-cpu>"; }
  int getNumIpus() const override { return 1; }
  int getTilesPerIPU() const override { return 1; }
  int getNumWorkerContexts() const override { return 1; }
  std::string getIpuVersion() const override { return "<unknown-cpu>"; }
  std::vector<unsigned> getDriverIds() const override { return {}; }

 private:
  bool attached_ = true;
};

void checkAcquire(int numIpus, DeviceConnectionType connectionType) {
  if (connectionType == DeviceConnectionType::Never) {
    throw error("Cannot acquire a device with the connection type {}", connectionType);
  }
  if (numIpus < 1 || (numIpus & (numIpus - 1)) != 0) {
    throw error("numIpus must be a power of two, not {}", numIpus);
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const DeviceType& type) {
  constexpr const char* names[] = {"ipu-model", "cpu", "ipu", "offline-ipu", "sim"};
  return stream << names[static_cast<int>(type)];
}
std::ostream& operator<<(std::ostream& stream, const DeviceConnectionType& type) {
  constexpr const char* names[] = {"always", "on-demand", "never"};
  return stream << names[static_cast<int>(type)];
}
std::ostream& operator<<(std::ostream& stream, const SyncPattern& pattern) {
  constexpr const char* names[] = {"none", "ipuAndAll", "intraReplicaAndLadder"};
  return stream << names[static_cast<int>(pattern)];
}

SyncPattern syncPatternFromString(const std::string& text) {
  if (text == "full") return SyncPattern::Full;
  if (text == "singlePipeline") return SyncPattern::SinglePipeline;
  if (text == "replicaAndLadder") return SyncPattern::ReplicaAndLadder;
  throw error("Unknown sync pattern '{}', expected one of full, singlePipeline, replicaAndLadder",
              text);
}
std::string syncPatternToString(SyncPattern pattern) {
  constexpr const char* names[] = {"full", "singlePipeline", "replicaAndLadder"};
  return names[static_cast<int>(pattern)];
}

std::string DeviceInfo::toString() const {
  std::ostringstream stream;
  const std::vector<unsigned> ids = getDriverIds();
  stream << "Device Type:" << type_ << " Connection Type:" << connectionType_ << " Id:" << getId()
         << " Version:" << getVersion() << " NumIPUs:" << getNumIpus()
         << " NumTilesPerIPU:" << getTilesPerIPU() << " DeviceIds: {"
         << logging::join(ids.begin(), ids.end(), ",") << "}";
  return stream.str();
}
std::ostream& operator<<(std::ostream& stream, const DeviceInfo& device) {
  return stream << device.toString();
}

DeviceManager& DeviceManager::createDeviceManager() {
  static DeviceManager manager;
  return manager;
}

std::shared_ptr<DeviceInfo> DeviceManager::getDevice(SyncPattern, uint32_t,
                                                     DeviceConnectionType connectionType) {
  if (connectionType == DeviceConnectionType::Never) {
    throw error("Cannot get a device with the connection type {}", connectionType);
  }
  return nullptr;
}

std::vector<std::shared_ptr<DeviceInfo>> DeviceManager::enumerateDevices(SyncPattern, int numIpus,
                                                                         DeviceType deviceType,
                                                                         DeviceConnectionType,
                                                                         int tilesPerIPU) {
  if (deviceType != DeviceType::Cpu || numIpus != 1 || tilesPerIPU > 1) return {};
  return {createCpuDevice()};
}

std::shared_ptr<DeviceInfo> DeviceManager::tryAcquireAvailableDevice(
    int numIpus, int, SyncPattern, DeviceConnectionType connectionType, DeviceSelectionCriterion) {
  checkAcquire(numIpus, connectionType);
  return nullptr;
}
std::shared_ptr<DeviceInfo> DeviceManager::acquireAvailableDevice(
    int numIpus, int tilesPerIPU, SyncPattern pattern, DeviceConnectionType connectionType,
    DeviceSelectionCriterion selectionCriterion) {
  auto device =
      tryAcquireAvailableDevice(numIpus, tilesPerIPU, pattern, connectionType, selectionCriterion);
  if (device == nullptr) {
    throw error("Failed to acquire device with {} IPUs: {}", numIpus, noHardware);
  }
  return device;
}
std::shared_ptr<DeviceInfo> DeviceManager::tryAcquireDeviceById(
    int, SyncPattern, DeviceConnectionType connectionType) {
  checkAcquire(1, connectionType);
  return nullptr;
}
std::shared_ptr<DeviceInfo> DeviceManager::acquireDeviceById(int id, SyncPattern pattern,
                                                             DeviceConnectionType connectionType) {
  auto device = tryAcquireDeviceById(id, pattern, connectionType);
  if (device == nullptr) throw error("Failed to acquire device with id '{}': {}", id, noHardware);
  return device;
}

std::shared_ptr<DeviceInfo> DeviceManager::createHostDevice(
    DeviceType type, const std::map<std::string, std::string>& options, SyncPattern) {
  switch (type) {
    case DeviceType::Cpu:
      for (const auto& [key, value] : options) {
        throw error("Invalid option `{}' passed to DeviceManager::createHostDevice", key);
      }
      return std::make_shared<CpuDevice>();
    case DeviceType::Ipu:
      throw error("Cannot create device of type {}: {}", type, noHardware);
    case DeviceType::IpuModel:
    case DeviceType::OfflineIpu:
    case DeviceType::Sim:
      break;
  }
  throw error("Devices of type {} are not supported; use DeviceManager::createCpuDevice()", type);
}

std::shared_ptr<DeviceInfo> DeviceManager::createCpuDevice() {
  return createHostDevice(DeviceType::Cpu, {});
}
std::shared_ptr<DeviceInfo> DeviceManager::createIpuModelDevice(
    std::map<std::string, std::string>& options) {
  return createHostDevice(DeviceType::IpuModel, options);
}
std::shared_ptr<DeviceInfo> DeviceManager::createSimDevice(
    std::map<std::string, std::string>& options) {
  return createHostDevice(DeviceType::Sim, options);
}
std::shared_ptr<DeviceInfo> DeviceManager::createOfflineIPUDevice(
    std::map<std::string, std::string>& options) {
  return createHostDevice(DeviceType::OfflineIpu, options);
}
std::shared_ptr<DeviceInfo> DeviceManager::createOfflineIpuFromDeviceInfo(const DeviceInfo&) {
  return createHostDevice(DeviceType::OfflineIpu, {});
}
std::shared_ptr<DeviceInfo> DeviceManager::createOfflineIpuFromSystemString(const std::string&,
                                                                            uint32_t) {
  return createHostDevice(DeviceType::OfflineIpu, {});
}

}  // namespace popart
