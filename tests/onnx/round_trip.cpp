#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <popart/builder.hpp>
#include <span>
#include <string>
#include <vector>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "../popart/onnx_checker.hpp"

// Models of others, where they are: what the library writes of them has the same results.

namespace test {

namespace {

using namespace halftone;
namespace fs = std::filesystem;

std::vector<fs::path> models() {
  std::vector<std::string> folders{"../shared/conformance", "build/conformance"};
  if (const char* more = std::getenv("HALFTONE_TEST_MODELS")) folders.push_back(more);
  std::vector<fs::path> found;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string_view text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The inputs of a case, if there are files for all of them.
std::vector<onnx::NamedArray> inputs_of(const fs::path& model, std::size_t count) {
  fs::path folder = model.parent_path() / "test_data_set_0";
  if (!fs::exists(folder)) folder = model.parent_path();
  std::vector<onnx::NamedArray> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = folder / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return {};
    inputs.push_back(onnx::load_tensor(file.string()));
  }
  return inputs;
}

/// Results of a run as bytes, each behind its info.
std::vector<std::string> results(const Graph& graph, const std::vector<onnx::NamedArray>& arrays) {
  Session session(graph);
  std::vector<Input> inputs;
  std::size_t i = 0;
  const std::vector<Port> ports = session.inputs();
  for (const Port& port : ports) inputs.emplace_back(port.name, arrays[i++]);
  const Result result = session.run(inputs);
  std::vector<std::string> all;
  for (std::size_t k = 0; k < result.size(); ++k) {
    const AnyView view = result[k];
    std::string one(result.name(k));
    one += ' ' + std::string(name(view.info.type));
    for (const std::int64_t extent : view.info.shape) one += ' ' + std::to_string(extent);
    one.append(static_cast<const char*>(view.data), static_cast<std::size_t>(view.info.bytes()));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

TEST_CASE("onnx: models that were written have the results of those that were read") {
  const CheckedFolder folder;
  int written = 0, run = 0;
  for (const fs::path& path : models()) {
    CAPTURE(path.string());
    onnx::LoadResult first = onnx::try_load(path.string());
    if (!first) continue;  // broken, or not offered
    std::vector<std::byte> bytes;
    try {
      bytes = onnx::to_bytes(first.graph());
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
      continue;
    }
    folder.write(std::to_string(written) + "-" + path.parent_path().filename().string() + ".onnx",
                 text(bytes));
    ++written;
    onnx::LoadResult second = onnx::try_load(bytes);
    if (!second) FAIL_CHECK(second.error().what());
    if (!second) continue;
    // What has been written once does not change any more.
    CHECK((onnx::to_bytes(second.graph()) == bytes));
    try {
      const auto inputs = inputs_of(path, first.graph().inputs.size());
      if (inputs.size() != first.graph().inputs.size()) continue;
      std::vector<std::string> before;
      try {
        before = results(first.graph(), inputs);
      } catch (const Error&) {
        continue;
      }
      CHECK((results(second.graph(), inputs) == before));
      ++run;
      // PopART's builder, too, writes what it has read.
      const std::string built =
          popart::Builder::createFromOnnxModel(path.string())->getModelProto();
      onnx::LoadResult third = onnx::try_load(std::as_bytes(std::span(built)));
      if (!third) FAIL_CHECK(third.error().what());
      if (third) CHECK((results(third.graph(), inputs) == before));
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
  if (written == 0) {
    MESSAGE("no models to read");
    return;
  }
  MESSAGE(written, " models written, ", run, " run");
  if (const auto complaints = folder.complaints()) CHECK(*complaints == "");
}

}  // namespace test
