// compileAndExport, loadExecutableFromFile and the cache of executables, as PopART's programs use
// them.
#include <doctest/doctest.h>

#include <fstream>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../folder.hpp"
#include "errors.hpp"

using namespace popart;
using namespace popart_test;

namespace {

/// y = relu(x @ w).
std::string model(float weight) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{1, 2}}, "x");
  const float data[] = {weight, 1, 1, weight};
  const TensorId w =
      builder->addInitializedInputTensor({data, TensorInfo{"FLOAT", Shape{2, 2}}}, "w");
  builder->addOutputTensor(aiOnnx.relu({aiOnnx.matmul({x, w}, "product")}, "y"));
  return builder->getModelProto();
}

std::unique_ptr<InferenceSession> session_of(const std::string& proto,
                                             const SessionOptions& options = {},
                                             const char* anchor = "y") {
  return InferenceSession::createFromOnnxModel(
      proto, DataFlow(1, {{anchor, AnchorReturnType("All")}}), cpu(), {}, options);
}

std::vector<float> run(InferenceSession& session) {
  session.weightsFromHost();
  std::vector<float> x{1, 2}, y(2, -1);
  NDArrayWrapper<float> in(x.data(), {1, 2}), out(y.data(), {1, 2});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, anchors = {{"y", out}};
  StepIO io(inputs, anchors);
  session.run(io);
  return y;
}

}  // namespace

TEST_CASE("popart executable: what one session exports another one loads and runs") {
  const test::Folder folder;
  const std::string file = folder / "model.popef";
  session_of(model(3))->compileAndExport(file);
  const auto loaded = session_of(model(3));
  loaded->loadExecutableFromFile(file);
  CHECK(run(*loaded) == std::vector<float>{5, 7});  // 1 * 3 + 2 * 1, 1 * 1 + 2 * 3
  // The host's weights count, not those that were there when it was compiled.
  const auto other = session_of(model(4));
  other->loadExecutableFromFile(file);
  CHECK(run(*other) == std::vector<float>{6, 9});

  std::ostringstream stream;
  session_of(model(3))->compileAndExport(stream);
  std::ifstream written(file, std::ios::binary);
  CHECK(stream.str().size() == std::string(std::istreambuf_iterator<char>(written), {}).size());
}

TEST_CASE("popart executable: through streams, into folders and as bytes") {
  const test::Folder folder;
  const auto made = session_of(model(3));
  CHECK(is(error_of([&] { made->getSerializedGraph(); }), "runtime_error",
           "must have been prepared"));
  made->prepareDevice();
  std::ostringstream out;
  made->saveExecutableToStream(out);
  CHECK(made->getSerializedGraph() == out.str());
  const auto loaded = session_of(model(3));
  loaded->loadExecutableFromStream(std::make_shared<std::istringstream>(out.str()));
  CHECK(run(*loaded) == std::vector<float>{5, 7});  // as above
  made->saveExecutable(folder.path.string());
  made->saveExecutable(folder / "named");
  CHECK(folder.files() == std::vector<std::string>{"executable.popef", "named"});
  CHECK(is(error_of([&] { made->saveExecutable(folder / "bare", false); }), "runtime_error",
           "always saved with its metadata"));
  const auto fresh = session_of(model(3));
  std::istringstream foreign("something else");
  CHECK(is(error_of([&] { fresh->loadExecutableFromStream(foreign); }), "runtime_error",
           "no executable of this library"));
}

TEST_CASE("popart executable: streams with memory of the program's") {
  const auto session = session_of(model(3));
  float x[] = {1, 2}, y[] = {-1, -1};
  session->connectStream("h2d_x", x);
  session->connectStream("anchor_d2h_y", y);
  CHECK(is(error_of([&] { session->connectStream("h2d", x); }), "runtime_error",
           "There is no stream h2d"));
  session->prepareDevice();
  session->weightsFromHost();
  session->broadcastWeights();  // there is one process
  session->checkInplacingAmbiguity();
  std::map<TensorId, IArray&> none;
  StepIO io(none, none);
  session->run(io);
  CHECK(y[0] == 5);
  CHECK(y[1] == 7);
  x[1] = 0;
  session->run(io);
  CHECK(y[0] == 3);
  CHECK(y[1] == 1);
}

TEST_CASE("popart executable: those that do not fit are refused") {
  const test::Folder folder;
  const std::string file = folder / "model.popef";
  const auto made = session_of(model(3));
  CHECK(is(error_of([&] { made->saveExecutableToFile(file); }), "runtime_error",
           "Session::prepareDevice must be called before Session::saveExecutableToFile"));
  made->compileAndExport(file);
  CHECK(is(error_of([&] { made->loadExecutableFromFile(file); }), "runtime_error",
           "instead of Session::prepareDevice"));
  const auto loads = [](const std::string& path, const char* anchor) {
    return error_of([&] { session_of(model(3), {}, anchor)->loadExecutableFromFile(path); });
  };
  CHECK(is(loads(file, "product"), "runtime_error", "of another model or returns other tensors"));
  folder.write("foreign", "something else");
  CHECK(is(loads(folder / "foreign", "y"), "runtime_error", "no executable of this library"));
}

TEST_CASE("popart executable: enableEngineCaching keeps what was compiled in cachePath") {
  const test::Folder folder;
  SessionOptions options;
  options.enableEngineCaching = true;
  options.cachePath = folder / "cache";
  for (int time = 0; time < 2; ++time) {
    const auto session = session_of(model(3), options);
    session->prepareDevice();
    CHECK(run(*session) == std::vector<float>{5, 7});
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options.cachePath)) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    CHECK(files == 1);
    // What is stored is the model as it came, with its own outputs.
    session->modelToHost(folder / "model.onnx");
    CHECK(session_of(folder / "model.onnx") != nullptr);
  }
}
