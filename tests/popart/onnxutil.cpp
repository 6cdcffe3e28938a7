// Models as protobuf has them: what a builder made is found, changed and moved to a file.
#include <doctest/doctest.h>

#include <algorithm>
#include <popart/builder.hpp>
#include <popart/error.hpp>
#include <popart/onnxutil.hpp>
#include <string>
#include <vector>

#include "../folder.hpp"

using namespace popart;

namespace {

std::string model() {
  auto builder = Builder::create();
  const TensorInfo info{"FLOAT", Shape{2}};
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId x = builder->addInputTensor(info, "x");
  builder->addOutputTensor(builder->aiOnnxOpset10().add({w, x}));
  return builder->getModelProto();
}

float at(const ConstVoidData& data, int i) { return static_cast<const float*>(data.data)[i]; }

}  // namespace

TEST_CASE("popart onnxutil: initializers are found and changed") {
  onnx::ModelProto proto = onnxutil::getModelProto(model());
  CHECK(onnxutil::isInitializer(proto, "w"));
  CHECK_FALSE(onnxutil::isInitializer(proto, "x"));
  CHECK_THROWS_AS(onnxutil::getTensorProto(proto, "x"), popart::error);
  const ConstVoidData before = onnxutil::getConstData(onnxutil::getTensorProto(proto, "w"));
  CHECK(before.info == TensorInfo{"FLOAT", Shape{2}});
  static_cast<float*>(onnxutil::getMutableData(onnxutil::getTensorProto(proto, "w")).data)[1] = 7;
  const onnx::ModelProto& changed = proto;
  const onnx::TensorProto w = onnxutil::getTensorProto(changed, "w");
  CHECK(at(onnxutil::getConstData(w), 0) == 1);
  CHECK(at(onnxutil::getConstData(w), 1) == 7);
}

TEST_CASE("popart onnxutil: data in another file are read from there") {
  const test::Folder folder;
  onnx::ModelProto proto = onnxutil::getModelProto(model());
  onnxutil::saveInitializersExternally(proto, {"w"}, folder / "weights");
  onnx::TensorProto& w = onnxutil::getTensorProto(proto, "w");
  CHECK_THROWS_AS(onnxutil::getMutableData(w), popart::error);
  CHECK(onnxutil::ExternalTensorProtoInfo(w).location == folder / "weights");
  CHECK(at(onnxutil::getConstData(w), 1) == 2);
}

TEST_CASE("popart onnxutil: types have ONNX's numbers") {
  for (const DataType type :
       {DataType::FLOAT, DataType::FLOAT16, DataType::INT32, DataType::BOOL, DataType::STRING}) {
    CHECK(onnxutil::getDataType(onnxutil::getTPDataType(type)) == type);
  }
  CHECK(onnxutil::getTPDataType(DataType::INT64) == onnx::TensorProto::INT64);
  CHECK_THROWS_AS(onnxutil::getDataType(1000), popart::error);
}

TEST_CASE("popart onnxutil: visitors see nodes, initializers and values") {
  onnx::ModelProto proto = onnxutil::getModelProto(model());
  std::vector<std::string> seen;
  onnxutil::visitModelNodes(proto, [&](onnx::NodeProto& n) { seen.push_back(n.op_type()); });
  onnxutil::visitModelInitializers(proto, [&](onnx::TensorProto& t) { seen.push_back(t.name()); });
  CHECK(seen == std::vector<std::string>{"Add", "w"});
  seen.clear();
  onnxutil::visitModelValueInfos(proto, [&](onnx::ValueInfoProto& v) { seen.push_back(v.name()); });
  CHECK(std::count(seen.begin(), seen.end(), "x") == 1);
}
