#include <popart/devicemanager.hpp>

#include <charconv>
#include <ostream>
#include <sstream>

#include "popart/convert.hpp"
#include "popart/ipu_device.hpp"

namespace popart {

namespace {

constexpr const char* noHardware =
    "there is no IPU hardware here; use DeviceManager::createIpuModelDevice() or createCpuDevice()";

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

/// An emulated IPU: to run on (ipu-model), or to plan for (offline-ipu).
class IpuDevice final : public DeviceInfo {
 public:
  IpuDevice(DeviceType type, OptionFlags options, const halftone::ipu::Target& target)
      : DeviceInfo(type,
                   type == DeviceType::OfflineIpu ? DeviceConnectionType::Never
                                                  : DeviceConnectionType::Always,
                   std::move(options)),
        target_(target) {}
  bool attach() override {
    checkOnline("attach to");
    return attached_ = true;
  }
  void detach() override {
    checkOnline("detach from");
    attached_ = false;
  }
  bool isAttached() const override { return attached_; }
  int getId() const override { return 0; }
  std::vector<int> getChildIds() const override { return {}; }
  std::string getVersion() const override {
    return isOffline() ? "<offline-ipu>" : "<unknown-ipumodel>";
  }
  int getNumIpus() const override { return static_cast<int>(target_.ipus); }
  int getTilesPerIPU() const override { return static_cast<int>(target_.tiles_per_ipu); }
  int getNumWorkerContexts() const override { return static_cast<int>(target_.worker_contexts); }
  std::string getIpuVersion() const override { return std::string(target_.version.view()); }
  std::vector<unsigned> getDriverIds() const override { return {}; }
  bool canCompileOffline() const override { return isOffline(); }
  bool isHwCompatible() const override { return isOffline(); }
  const halftone::ipu::Target& target() const { return target_; }

 private:
  bool isOffline() const { return getType() == DeviceType::OfflineIpu; }
  void checkOnline(const char* what) const {
    if (isOffline()) throw error("Cannot {} a device of type {}", what, getType());
  }
  halftone::ipu::Target target_;
  bool attached_ = true;
};

std::int64_t numberOption(const std::string& key, const std::string& value, std::int64_t least) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem != std::errc() || stop != end || number < least) {
    throw error("Option `{}' of a device must be a number from {} on, not '{}'", key, least, value);
  }
  return number;
}

std::shared_ptr<DeviceInfo> createIpu(DeviceType type,
                                      const std::map<std::string, std::string>& options) {
  const bool isOffline = type == DeviceType::OfflineIpu;
  std::string version = "ipu2";
  // PopART's model has few tiles unless it is told; what is compiled offline has all.
  constexpr std::int64_t defaultFewTiles = 4;
  std::int64_t ipus = 1, tiles = isOffline ? 0 : defaultFewTiles;
  for (const auto& [key, value] : options) {
    if (key == "numIPUs") {
      ipus = numberOption(key, value, 1);
    } else if (key == "tilesPerIPU") {
      tiles = numberOption(key, value, 0);
    } else if (key == "ipuVersion") {
      version = value;
    } else if (key == "compileIPUCode" && !isOffline) {
      if (value != "true" && value != "false") {
        throw error("Option `{}' of a device is true or false, not '{}'", key, value);
      }
    } else if (key == "syncPattern" && isOffline) {
      syncPatternFromString(value);
    } else if (key == "gatewayMode" && isOffline) {
      if (value != "false") throw error("There is no gateway: option `{}' must be false", key);
    } else {
      throw error("Invalid option `{}' passed to DeviceManager::createHostDevice", key);
    }
  }
  const halftone::ipu::Target* known = nullptr;
  if (version == "ipu1") known = &halftone::ipu::gc2;
  if (version == "ipu2") known = &halftone::ipu::gc200;
  if (version == "ipu21") known = &halftone::ipu::c600;
  if (known == nullptr) known = halftone::ipu::find_target(version);
  if (known == nullptr) {
    throw error("Unknown ipuVersion '{}', expected one of ipu1, ipu2, ipu21, gc2, gc200, bow, c600",
                version);
  }
  halftone::ipu::Target target = known->with_ipus(ipus);
  if (tiles != 0) target.tiles_per_ipu = tiles;  // else the machine's own
  detail::translated<error>([&] { target.check(); });
  return std::make_shared<IpuDevice>(type, options, target);
}

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

const halftone::ipu::Target* detail::targetOf(const DeviceInfo& device) {
  const auto* ipu = dynamic_cast<const IpuDevice*>(&device);
  return ipu != nullptr ? &ipu->target() : nullptr;
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
  if (deviceType == DeviceType::Cpu && numIpus == 1 && tilesPerIPU <= 1) return {createCpuDevice()};
  if (deviceType != DeviceType::IpuModel) return {};
  return {createHostDevice(deviceType, {{"numIPUs", std::to_string(numIpus)},
                                        {"tilesPerIPU", std::to_string(tilesPerIPU)}})};
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
      return createIpu(type, options);
    case DeviceType::Sim:
      break;
  }
  throw error(
      "Devices of type {} are not supported; use DeviceManager::createIpuModelDevice() or "
      "createCpuDevice()",
      type);
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
std::shared_ptr<DeviceInfo> DeviceManager::createOfflineIpuFromDeviceInfo(
    const DeviceInfo& device) {
  std::map<std::string, std::string> options{{"numIPUs", std::to_string(device.getNumIpus())}};
  if (detail::targetOf(device) != nullptr) {
    options["ipuVersion"] = device.getIpuVersion();
    options["tilesPerIPU"] = std::to_string(device.getTilesPerIPU());
  }
  return createHostDevice(DeviceType::OfflineIpu, options);
}
std::shared_ptr<DeviceInfo> DeviceManager::createOfflineIpuFromSystemString(
    const std::string& system, uint32_t numIpus) {
  return createHostDevice(DeviceType::OfflineIpu,
                          {{"numIPUs", std::to_string(numIpus)}, {"ipuVersion", system}});
}

}  // namespace popart
