#include <doctest/doctest.h>

#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/half.hpp>
#include <popart/inputshapeinfo.hpp>
#include <popart/logging.hpp>
#include <popart/patterns/patterns.hpp>
#include <popart/sessionoptions.hpp>
#include <sstream>
#include <string>

#include "errors.hpp"
#include "popart/options.hpp"

using namespace popart;
using popart_test::contains;
using popart_test::error_of;

// Words are those of PopART's dataflow.cpp.
TEST_CASE("popart data flow") {
  CHECK(AnchorReturnType("all").id() == AnchorReturnTypeId::All);
  CHECK(AnchorReturnType("EVERYN", 3).rp() == 3);
  CHECK(AnchorReturnType().id() == AnchorReturnTypeId::All);
  CHECK(contains(error_of([] { AnchorReturnType("EveryN"); }),
                 "Must specify return period with option 'EVERYN'"));
  CHECK(contains(error_of([] { AnchorReturnType("EveryN", 0); }),
                 "Anchor return period must be greater than zero"));
  CHECK(contains(error_of([] { AnchorReturnType("All", 2); }),
                 "A return period should not be supplied for this anchor return type"));
  CHECK(contains(error_of([] { AnchorReturnType("Some"); }),
                 "Invalid anchor return type ID supplied"));
  CHECK(contains(error_of([] { DataFlow(4, {{"a", AnchorReturnType("EveryN", 5)}}); }),
                 "Return period must be <= to the number of batches per step"));
  CHECK(contains(error_of([] { DataFlow(4, {{"a", AnchorReturnType("EveryN", 3)}}); }),
                 "factor of the number of batches per step"));
  CHECK(contains(error_of([] { DataFlow(0, {{"a", AnchorReturnType("All")}}); }),
                 "'Batches per step' must be greater than zero"));
  CHECK(DataFlow().batchesPerStep() == 0);

  const DataFlow flow(6, {{"a", AnchorReturnType("EveryN", 2)}, {"b", AnchorReturnType("Sum")}});
  CHECK(flow.nAnchors() == 2);
  CHECK(flow.anchors() == std::vector<TensorId>{"a", "b"});
  CHECK(flow.rps() == std::vector<int>{2});
  CHECK(flow.isAnchored("a"));
  CHECK_FALSE(flow.isAnchored("c"));
  CHECK(contains(error_of([&] { flow.art("c"); }), "c"));
  SessionOptions options;
  CHECK(flow.numOutFetchesPerRepl(options, "a") == 3);
  CHECK(flow.numOutFetchesPerRepl(options, "b") == 1);
  options.enableGradientAccumulation = true;
  options.accumulationFactor = 4;
  CHECK(flow.numOutFetchesPerRepl(options, "a") == 12);
}

TEST_CASE("popart devices") {
  DeviceManager& manager = DeviceManager::createDeviceManager();
  const auto device = manager.createCpuDevice();
  CHECK(device->getType() == DeviceType::Cpu);
  CHECK(device->getNumIpus() == 1);
  CHECK(device->isAttached());
  std::ostringstream stream;
  stream << *device;
  CHECK(contains(stream.str(), "Device Type:cpu Connection Type:always"));
  CHECK(manager.enumerateDevices().empty());
  CHECK(manager.enumerateDevices(SyncPattern::Full, 1, DeviceType::Cpu).size() == 1);
  CHECK(contains(error_of([&] { manager.acquireAvailableDevice(2); }),
                 "Failed to acquire device with 2 IPUs"));
  CHECK(contains(error_of([&] { manager.acquireAvailableDevice(2); }), "createCpuDevice"));
  CHECK(manager.tryAcquireAvailableDevice(2) == nullptr);
  CHECK(contains(error_of([&] { manager.tryAcquireAvailableDevice(3); }), "power of two"));
  CHECK(contains(error_of([&] { manager.acquireDeviceById(5); }),
                 "Failed to acquire device with id '5'"));
  CHECK(contains(error_of([&] { manager.createHostDevice(DeviceType::Cpu, {{"numIPUs", "2"}}); }),
                 "Invalid option `numIPUs' passed to"));
  CHECK(contains(error_of([&] { manager.createHostDevice(DeviceType::Ipu, {}); }),
                 "Cannot create device of type ipu"));
  std::map<std::string, std::string> options;
  CHECK(contains(error_of([&] { manager.createSimDevice(options); }), "createCpuDevice"));
}

// Names, classes and words: PopART's patterns.cpp; 31 of them are mandatory.
TEST_CASE("popart patterns") {
  Patterns patterns;
  CHECK(patterns.isPatternEnabled("OpToIdentity"));
  CHECK(patterns.isInPlaceEnabled());
  CHECK_FALSE(patterns.isPatternEnabled("LSTMOp"));
  CHECK_FALSE(patterns.isUpdateInplacePrioritiesForIpuEnabled());
  patterns.enableOpToIdentity(false).enableSplitGather(true);
  CHECK_FALSE(patterns.isOpToIdentityEnabled());
  CHECK(patterns.isPatternEnabled("SplitGather"));
  CHECK_FALSE(patterns == Patterns());
  CHECK(contains(error_of([&] { patterns.enablePattern("Inplace", true); }),
                 "did you mean InPlace?"));
  CHECK(contains(error_of([&] { patterns.enablePattern("Nothing", true); }),
                 "Unknown pattern Nothing"));
  CHECK(contains(error_of([] { Patterns(std::vector<std::string>{"Nothing"}); }),
                 "Unknown pattern Nothing"));
  CHECK(contains(error_of([&] { patterns.enableMatMulOp(false); }),
                 "Pattern 'MatMulOp' is mandatory and cannot be disabled"));
  CHECK_FALSE(patterns.enableRuntimeAsserts(false).enableMatMulOp(false).isMatMulOpEnabled());
  Patterns none(PatternsLevel::NoPatterns);
  CHECK(
      contains(error_of([&] { none.ensureAllMandatoryPatternsAreEnabled(); }), "must be enabled"));
  CHECK(error_of([&] {
          none.enableRuntimeAsserts(false).ensureAllMandatoryPatternsAreEnabled();
        }) == "no error");
  CHECK(none.getPreAliasList().empty());
  CHECK(Patterns(PatternsLevel::Minimal).getPreAliasList().size() == 31);
  CHECK_FALSE(Patterns(PatternsLevel::Minimal).isInPlaceEnabled());
  const std::vector<std::string> all = Patterns(PatternsLevel::All).getPreAliasList();
  CHECK(all.size() == 55);
  CHECK(all.front() == "Slice2SliceSubsample");
  CHECK(Patterns().getPreAliasList().size() == 50);
}

TEST_CASE("popart options: every one has a row, and its default is no choice") {
  const auto table = detail::optionTable();
  CHECK(table.size() == 107);
  const SessionOptions options;
  for (const detail::OptionRow& row : table) {
    CAPTURE(row.name);
    CHECK_FALSE(row.isSet(options));
    CHECK(std::string(row.text).size() > 8);
  }
  SessionOptions changed;
  changed.kahnTieBreaker = "fifo";
  changed.compilationProgressLogger = [](int, int) {};
  int set = 0;
  for (const detail::OptionRow& row : table) set += row.isSet(changed) ? 1 : 0;
  CHECK(set == 2);
}

TEST_CASE("popart options: depths of buffers") {
  SessionOptions options;
  CHECK(options.getBufferingDepth("a", false) == 1);
  options.defaultBufferingDepth = 3;
  options.bufferingDepthMap["b"] = 5;
  CHECK(options.getBufferingDepth("a", false) == 3);
  CHECK(options.getBufferingDepth("b", false) == 5);
  CHECK(options.getBufferingDepth("a", true) == 1);
  CHECK(contains(error_of([&] { options.getBufferingDepth("b", true); }), "must be 1"));
  options.bufferingDepthMap["c"] = 0;
  CHECK(contains(error_of([&] { options.getBufferingDepth("c", false); }), "at least 1"));
}

TEST_CASE("popart tensor infos") {
  const TensorInfo info("FLOAT16", "(2,3)");
  CHECK(info.shape() == Shape{2, 3});
  CHECK(info.nelms() == 6);
  CHECK(info.nbytes() == 12);
  CHECK(info.rank() == 2);
  CHECK(info.dim(1) == 3);
  CHECK(info.data_type() == "FLOAT16");
  CHECK(info.data_type_lcase() == "float16");
  CHECK(info.strides() == std::vector<int>{3, 1});
  CHECK(contains(error_of([&] { info.dim(2); }), "Invalid input dimension 2, tensor of rank 2"));
  std::ostringstream stream;
  stream << info;
  CHECK(stream.str() == "FLOAT16 [2 3]");
  CHECK(TensorInfo().dataType() == DataType::UNDEFINED);
  CHECK_FALSE(TensorInfo().isSet());
  CHECK(getDataType<double>() == DataType::DOUBLE);
  CHECK(getONNXDataTypeAsInt(DataType::INT64) == 7);
  CHECK(getCompatibleDataType(DataType::INT64) == DataType::INT32);
  InputShapeInfo shapes;
  shapes.add("a", info);
  CHECK(shapes.has("a"));
  CHECK(shapes.get("a") == info);
  CHECK(contains(error_of([&] { shapes.get("b"); }), "b"));
}

TEST_CASE("popart half: it prints as a float does") {
  std::ostringstream stream;
  stream << float16_t(1.5f) << ' ' << Half(-2.f);
  CHECK(stream.str() == "1.5 -2");
}

TEST_CASE("popart logging: texts and levels") {
  CHECK(logging::format("{} and {:.2f}, {:>4}|{}", 1, 2.5, "a", true) == "1 and 2.50,    a|true");
  CHECK(logging::format("{{}}") == "{}");
  CHECK_THROWS_AS(logging::format("{} {}", 1), logging::FormatError);
  CHECK(std::string(error("{} is not {}", "a", 2).what()) == "a is not 2");
  CHECK(std::string(error("100 % {braces}").what()) == "100 % {braces}");
  const std::vector<int> list = {1, 2, 3};
  CHECK(logging::join(list.begin(), list.end(), ", ") == "1, 2, 3");

  const logging::Level before = logging::getLogLevel(logging::Module::opx);
  logging::configure({{"opx", "ERR"}});
  CHECK(logging::getLogLevel(logging::Module::opx) == logging::Level::Err);
  CHECK(logging::opx::isEnabled(logging::Level::Critical));
  CHECK_FALSE(logging::opx::isEnabled(logging::Level::Warn));
  logging::configure({{"popart:opx", "nonsense"}});
  CHECK(logging::getLogLevel(logging::Module::opx) == logging::Level::Off);
  CHECK_FALSE(logging::shouldLog(logging::Module::opx, logging::Level::Critical));
  logging::setLogLevel(logging::Module::opx, before);
  CHECK(getErrorSource(error("x")) == ErrorSource::popart);
  CHECK(getErrorSource(internal_error("x")) == ErrorSource::popart_internal);
}

// Keys, defaults (4 tiles, ipu2) and words: PopART's devicemanager.hpp and devicexmanager.cpp.
TEST_CASE("popart devices: emulated IPUs") {
  DeviceManager& manager = DeviceManager::createDeviceManager();
  std::map<std::string, std::string> options;
  const auto model = manager.createIpuModelDevice(options);
  CHECK(model->getType() == DeviceType::IpuModel);
  CHECK(model->getNumIpus() == 1);
  CHECK(model->getTilesPerIPU() == 4);
  CHECK(model->getNumWorkerContexts() == 6);
  CHECK(model->getIpuVersion() == "ipu2");
  CHECK(model->isAttached());
  CHECK_FALSE(model->isHwCompatible());
  options = {{"numIPUs", "2"}, {"tilesPerIPU", "1216"}, {"ipuVersion", "ipu1"}};
  const auto old = manager.createIpuModelDevice(options);
  CHECK(old->getNumIpus() == 2);
  CHECK(old->getTilesPerIPU() == 1216);
  options = {{"numIPUs", "2"}, {"syncPattern", "full"}};
  const auto offline = manager.createOfflineIPUDevice(options);
  CHECK(offline->getConnectionType() == DeviceConnectionType::Never);
  CHECK(offline->canCompileOffline());
  CHECK(offline->getTilesPerIPU() == 1472);
  options = {{"tilesPerIPU", "32"}};
  const auto few = manager.createOfflineIPUDevice(options);
  CHECK(few->getTilesPerIPU() == 32);
  CHECK(manager.createOfflineIpuFromDeviceInfo(*few)->getTilesPerIPU() == 32);
  CHECK(contains(error_of([&] { offline->attach(); }), "Cannot attach to a device"));
  for (const char* ipus : {"3", "5", "7"}) {
    options = {{"numIPUs", ipus}, {"tilesPerIPU", "0"}, {"ipuVersion", "ipu1"}};
    const auto odd = manager.createIpuModelDevice(options);
    CHECK(std::to_string(odd->getNumIpus()) == ipus);
    CHECK(odd->getTilesPerIPU() == 1216);
  }
  for (const std::map<std::string, std::string>& wrong :
       std::vector<std::map<std::string, std::string>>{{{"numIPU", "2"}},
                                                       {{"numIPUs", "0"}},
                                                       {{"numIPUs", "two"}},
                                                       {{"tilesPerIPU", "-1"}},
                                                       {{"tilesPerIPU", "4611686018427387904"}},
                                                       {{"tilesPerIPU", "99999999999999999999"}},
                                                       {{"compileIPUCode", "maybe"}},
                                                       {{"ipuVersion", "ipu3"}}}) {
    options = wrong;
    CHECK(error_of([&] { manager.createIpuModelDevice(options); }) != "no error");
  }
}

// Keys of each kind of device, and words: PopART's devicexmanager.cpp.
TEST_CASE("popart devices: every option of every kind, taken or refused") {
  DeviceManager& manager = DeviceManager::createDeviceManager();
  struct Case {
    DeviceType type;
    const char *key, *value;
    bool isTaken;
  };
  constexpr DeviceType model = DeviceType::IpuModel, offline = DeviceType::OfflineIpu;
  const Case cases[] = {
      {model, "numIPUs", "64", true},
      {model, "numIPUs", "128", false},
      {model, "tilesPerIPU", "1472", true},
      {model, "compileIPUCode", "true", true},
      {model, "compileIPUCode", "false", true},
      {model, "ipuVersion", "ipu1", true},
      {model, "ipuVersion", "ipu2", true},
      {model, "ipuVersion", "ipu21", true},
      {model, "ipuVersion", "ipu:machine.json", false},
      {model, "syncPattern", "full", false},
      {model, "gatewayMode", "false", false},
      {offline, "numIPUs", "2", true},
      {offline, "tilesPerIPU", "4", true},
      {offline, "ipuVersion", "ipu21", true},
      {offline, "syncPattern", "full", true},
      {offline, "syncPattern", "singlePipeline", true},
      {offline, "syncPattern", "replicaAndLadder", true},
      {offline, "syncPattern", "none", false},
      {offline, "gatewayMode", "false", true},
      {offline, "gatewayMode", "true", false},
      {offline, "compileIPUCode", "true", false},
      {DeviceType::Cpu, "tilesPerIPU", "1", false},
      {DeviceType::Sim, "numIPUs", "1", false},
      {DeviceType::Ipu, "numIPUs", "1", false},
  };
  for (const Case& c : cases) {
    const std::string option = std::string(c.key) + " = " + c.value;
    CAPTURE(option);
    const std::string text = error_of([&] {
      const auto device = manager.createHostDevice(c.type, {{c.key, c.value}});
      CHECK(device->getType() == c.type);
    });
    CHECK((text == "no error") == c.isTaken);
  }
  // The machine that a version says.
  const auto tilesOf = [&](const char* version) {
    std::map<std::string, std::string> options{{"ipuVersion", version}};
    return manager.createOfflineIPUDevice(options)->getTilesPerIPU();
  };
  CHECK(tilesOf("ipu1") == 1216);
  CHECK(tilesOf("ipu2") == 1472);
  CHECK(tilesOf("ipu21") == 1472);
  CHECK(manager.createOfflineIpuFromSystemString("ipu21", 2)->getIpuVersion() == "ipu21");
}

TEST_CASE("popart devices: what is there, and words of sync patterns and connections") {
  DeviceManager& manager = DeviceManager::createDeviceManager();
  CHECK(manager.enumerateDevices(SyncPattern::Full, 2).empty());
  CHECK(manager.enumerateDevices(SyncPattern::Full, 2, DeviceType::Cpu).empty());
  const auto models = manager.enumerateDevices(SyncPattern::Full, 2, DeviceType::IpuModel);
  REQUIRE(models.size() == 1);
  CHECK(models[0]->getType() == DeviceType::IpuModel);
  CHECK(models[0]->getNumIpus() == 2);
  CHECK(models[0]->getTilesPerIPU() == 1472);
  CHECK(manager.getDevice() == nullptr);
  for (const auto& f : std::vector<std::function<void()>>{
           [&] { manager.getDevice(SyncPattern::Full, 0, DeviceConnectionType::Never); },
           [&] {
             manager.acquireAvailableDevice(1, 0, SyncPattern::Full, DeviceConnectionType::Never);
           },
           [&] { manager.acquireDeviceById(0, SyncPattern::Full, DeviceConnectionType::Never); }}) {
    CHECK(contains(error_of(f), "never"));
  }
  const auto words = [](const auto& value) {
    std::ostringstream stream;
    stream << value;
    return stream.str();
  };
  CHECK(words(SyncPattern::Full) == "none");
  CHECK(words(SyncPattern::SinglePipeline) == "ipuAndAll");
  CHECK(words(SyncPattern::ReplicaAndLadder) == "intraReplicaAndLadder");
  for (const char* text : {"full", "singlePipeline", "replicaAndLadder"}) {
    CHECK(syncPatternToString(syncPatternFromString(text)) == text);
  }
  CHECK(words(DeviceConnectionType::Always) == "always");
  CHECK(words(DeviceConnectionType::OnDemand) == "on-demand");
  CHECK(words(DeviceConnectionType::Never) == "never");
  CHECK(words(DeviceType::IpuModel) == "ipu-model");
  CHECK(words(DeviceType::Cpu) == "cpu");
  CHECK(words(DeviceType::Ipu) == "ipu");
  CHECK(words(DeviceType::OfflineIpu) == "offline-ipu");
  CHECK(words(DeviceType::Sim) == "sim");
}
