#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <popart/names.hpp>

namespace popart {

enum class DeviceType { IpuModel = 0, Cpu, Ipu, OfflineIpu, Sim };
enum class DeviceConnectionType { Always = 0, OnDemand, Never };
enum class SyncPattern { Full = 0, SinglePipeline, ReplicaAndLadder };
enum class DeviceSelectionCriterion { First = 0, Random };

std::ostream& operator<<(std::ostream& stream, const DeviceType& type);
std::ostream& operator<<(std::ostream& stream, const DeviceConnectionType& type);
std::ostream& operator<<(std::ostream& stream, const SyncPattern& pattern);
SyncPattern syncPatternFromString(const std::string& text);
std::string syncPatternToString(SyncPattern pattern);

using OptionFlags = std::map<std::string, std::string>;

/// What a session runs on.
class DeviceInfo {
 public:
  DeviceInfo(DeviceType type, DeviceConnectionType connectionType, OptionFlags options)
      : type_(type), connectionType_(connectionType), options_(std::move(options)) {}
  virtual ~DeviceInfo() = default;

  virtual bool attach() = 0;
  virtual void detach() = 0;
  virtual bool isAttached() const = 0;
  DeviceType getType() const { return type_; }
  DeviceConnectionType getConnectionType() const { return connectionType_; }
  std::string toString() const;
  virtual int getId() const = 0;
  virtual std::vector<int> getChildIds() const = 0;
  virtual std::string getVersion() const = 0;
  virtual int getNumIpus() const = 0;
  virtual int getTilesPerIPU() const = 0;
  virtual int getNumWorkerContexts() const = 0;
  virtual std::string getIpuVersion() const = 0;
  virtual std::vector<unsigned> getDriverIds() const = 0;
  virtual bool canCompileOffline() const { return false; }
  virtual bool isHwCompatible() const { return false; }
  const OptionFlags& getOptionFlags() const { return options_; }
  void setOnDemandAttachTimeout(unsigned seconds) { attachTimeout_ = seconds; }
  unsigned getOnDemandAttachTimeout() const { return attachTimeout_; }
  bool tryAttachUntilTimeout() { return attach(); }

 private:
  DeviceType type_;
  DeviceConnectionType connectionType_;
  OptionFlags options_;
  unsigned attachTimeout_ = 0;
};

std::ostream& operator<<(std::ostream& stream, const DeviceInfo& device);

/// Makes devices. There is no hardware: acquiring some fails, and says what there is.
class DeviceManager {
 public:
  static DeviceManager& createDeviceManager();

  std::shared_ptr<DeviceInfo> getDevice(
      SyncPattern syncPattern = SyncPattern::Full, uint32_t deviceManagerId = 0,
      DeviceConnectionType connectionType = DeviceConnectionType::Always);
  std::vector<std::shared_ptr<DeviceInfo>> enumerateDevices(
      SyncPattern pattern = SyncPattern::Full, int numIpus = 1,
      DeviceType deviceType = DeviceType::Ipu,
      DeviceConnectionType connectionType = DeviceConnectionType::Always, int tilesPerIPU = 0);

  std::shared_ptr<DeviceInfo> acquireAvailableDevice(
      int numIpus = 1, int tilesPerIPU = 0, SyncPattern pattern = SyncPattern::Full,
      DeviceConnectionType connectionType = DeviceConnectionType::Always,
      DeviceSelectionCriterion selectionCriterion = DeviceSelectionCriterion::First);
  std::shared_ptr<DeviceInfo> tryAcquireAvailableDevice(
      int numIpus = 1, int tilesPerIPU = 0, SyncPattern pattern = SyncPattern::Full,
      DeviceConnectionType connectionType = DeviceConnectionType::Always,
      DeviceSelectionCriterion selectionCriterion = DeviceSelectionCriterion::First);
  std::shared_ptr<DeviceInfo> acquireDeviceById(
      int id, SyncPattern pattern = SyncPattern::Full,
      DeviceConnectionType connectionType = DeviceConnectionType::Always);
  std::shared_ptr<DeviceInfo> tryAcquireDeviceById(
      int id, SyncPattern pattern = SyncPattern::Full,
      DeviceConnectionType connectionType = DeviceConnectionType::Always);

  std::shared_ptr<DeviceInfo> createHostDevice(DeviceType type,
                                               const std::map<std::string, std::string>& options,
                                               SyncPattern syncPattern = SyncPattern::Full);
  std::shared_ptr<DeviceInfo> createCpuDevice();
  std::shared_ptr<DeviceInfo> createIpuModelDevice(std::map<std::string, std::string>& options);
  std::shared_ptr<DeviceInfo> createSimDevice(std::map<std::string, std::string>& options);
  std::shared_ptr<DeviceInfo> createOfflineIPUDevice(std::map<std::string, std::string>& options);
  std::shared_ptr<DeviceInfo> createOfflineIpuFromDeviceInfo(const DeviceInfo& device);
  std::shared_ptr<DeviceInfo> createOfflineIpuFromSystemString(const std::string& system,
                                                               uint32_t numIpus);
  void setOnDemandAttachTimeout(unsigned seconds) { attachTimeout_ = seconds; }

 private:
  unsigned attachTimeout_ = 0;
};

}  // namespace popart
