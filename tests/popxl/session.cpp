// Every member of popxl.Session: attachment, runs, weights. Expected numbers come from the formulas of the
// programs.
#include <popxl/popxl.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <halftone/ipu/profile.hpp>
#include <popart/devicemanager.hpp>

#include "error_of.hpp"
#include "folder.hpp"
#include "popxl/evaluate.hpp"

using namespace popxl;
using test::check_near;
using test::contains;
using test::error_of;
using test::Number;

namespace {

/// w counts runs; y = x + w.
struct Counter {
  Ir ir;
  HostToDeviceStream<float, Shape<2, 4>> x;
  DeviceToHostStream<float, Shape<2, 4>> y;
  Number w, fixed;

  explicit Counter(int replicas = 1, std::int64_t transfers = 1) : ir(replicas) {
    ir.num_host_transfers = transfers;
    Main in(ir);
    x = h2d_stream<float, Shape<2, 4>>("x");
    y = d2h_stream<float, Shape<2, 4>>("y");
    w = variable<float, Shape<>>("w", zeros);
    fixed = constant(7.f, "fixed");
    in_sequence seq;
    ops::add_(w, 1.f);
    ops::host_store(y, ops::host_load(x) + w);
  }
  Array<float> input(const Dims& shape = {2, 4}, float value = 0) const {
    Array<float> array(shape);
    for (float& v : array) v = value;
    return array;
  }
};
float first(const AnyView& view) { return view.values<float>()[0]; }

}  // namespace

TEST_CASE("popxl Session: takes the Ir, which cannot be changed any more") {
  Counter p;
  const Session session(p.ir);
  CHECK(session.ir() == p.ir);
  CHECK_THROWS_AS(Main{p.ir}, RuntimeError);
  CHECK_THROWS_AS(p.ir.num_host_transfers = 2, RuntimeError);
  CHECK_THROWS_AS(p.ir.replication_factor = 2, RuntimeError);
  CHECK_THROWS_AS(p.ir.create_empty_graph(), RuntimeError);
  CHECK_THROWS_AS(p.ir.create_graph([](Number v) { return v; }), RuntimeError);
  CHECK_THROWS_AS(Session{p.ir}, RuntimeError);
  CHECK(p.ir.num_host_transfers == 1);
  CHECK(contains(error_of([&] { Main in(p.ir); }), "make the Ir complete"));
}

TEST_CASE("popxl Session: a run of an Ir that was changed behind its back is refused") {
  Counter p;
  Session session(p.ir);
  const auto more = p.w + 1.f;
  const auto on = session.attach();
  CHECK_THROWS_AS(session.run({{p.x, p.input()}}), RuntimeError);
  static_cast<void>(more);
}

TEST_CASE("popxl Session: a run of an Ir that has another variable since is refused") {
  Counter p;
  Main in(p.ir);
  Session session(p.ir);
  const auto on = session.attach();
  session.run({{p.x, p.input()}});
  static_cast<void>(variable<float, Shape<>>("late", zeros));
  CHECK_THROWS_AS(session.run({{p.x, p.input()}}), RuntimeError);
}

// --- devices -------------------------------------------------------------------------------------------

TEST_CASE("popxl Session: device_desc cpu, ipu_model and machines give the same") {
  for (const char* device : {"cpu", "ipu_model", "gc200"}) {
    CAPTURE(device);
    Counter p;
    Session session(p.ir, device);
    const auto on = session.attach();
    const auto out = session.run({{p.x, p.input({2, 4}, 3)}});
    CHECK(out[p.y][7] == 4);
    if (std::string(device) != "cpu") CHECK(session.report().cycles() > 0);
  }
}

TEST_CASE("popxl Session: a Device, and a move while it is attached") {
  Counter p;
  Session session(p.ir, halftone::Device::ipu_model);
  std::optional<Session> moved;
  {
    const auto on = session.attach();
    moved.emplace(std::move(session));
    CHECK(moved->run({{p.x, p.input()}})[p.y][0] == 1);
    CHECK(moved->report().cycles() > 0);
  }
  CHECK_FALSE(moved->is_attached());
  CHECK(first(moved->get_tensor_data(AnyTensor(p.w))) == 1);
  CHECK_THROWS_AS(static_cast<void>(session.is_attached()), halftone::UsageError);
}

TEST_CASE("popxl Session: device_desc ipu_hw and unknown words are errors") {
  Counter p;
  CHECK_THROWS_AS(Session(p.ir, "ipu_hw"), RuntimeError);
  CHECK_THROWS_AS(Session(p.ir, "gpu"), ValueError);
  CHECK(contains(error_of([&] { Session(p.ir, "ipu_hw"); }), "ipu_model"));
  const Session session(p.ir);  // the Ir is still free
}

TEST_CASE("popxl Session: cpu has no replicas") {
  Counter p(2);
  CHECK_THROWS_AS(Session(p.ir, "cpu"), ValueError);
  const Session session(p.ir, "ipu_model");
}

TEST_CASE("popxl Session: POPXL_OFFLINE_DEVICE overrides the word") {
  ::setenv("POPXL_OFFLINE_DEVICE", "ipu_hw", 1);
  Counter p;
  CHECK_THROWS_AS(Session(p.ir, "cpu"), RuntimeError);
  ::unsetenv("POPXL_OFFLINE_DEVICE");
}

TEST_CASE("popxl Session: a device object is used as it is") {
  std::map<std::string, std::string> options;
  auto device = popart::DeviceManager::createDeviceManager().createIpuModelDevice(options);
  SUBCASE("attached: the session is, too, and leaving a block does not detach") {
    device->attach();
    Counter p;
    Session session(p.ir, device);
    CHECK(session.is_attached());
    {
      const auto on = session.attach();
    }
    CHECK(session.is_attached());
    CHECK(device->isAttached());
    CHECK(session.run({{p.x, p.input()}})[p.y][0] == 1);
  }
  SUBCASE("detached: as the words") {
    device->detach();
    Counter p;
    Session session(p.ir, device);
    CHECK(!session.is_attached());
    {
      const auto on = session.attach();
      CHECK(device->isAttached());
    }
    CHECK(!device->isAttached());
  }
  SUBCASE("none") {
    Counter p;
    CHECK_THROWS_AS(Session(p.ir, std::shared_ptr<popart::DeviceInfo>{}), ValueError);
  }
}

// --- 2.1 attachment, row by row ------------------------------------------------------------------------

TEST_CASE("popxl Session attach: entering attaches and sends the weights") {
  Counter p;
  Session session(p.ir);
  CHECK(!session.is_attached());
  session.write_variable_data(p.w, Array<float>({}, {10}));
  const auto on = session.attach();
  CHECK(session.is_attached());
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 11);
}

TEST_CASE("popxl Session attach: entering an attached session changes nothing") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  session.run({{p.x, p.input()}});
  const auto again = session.attach();  // no weights from the host, where w is still 0
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 2);
}

TEST_CASE("popxl Session attach: leaving the block that attached brings the weights and detaches") {
  for (const bool weights_to_host_on_exit : {true, false}) {
    CAPTURE(weights_to_host_on_exit);
    Counter p;
    Session session(p.ir, "cpu", weights_to_host_on_exit);
    {
      const auto on = session.attach();
      session.run({{p.x, p.input()}});
    }
    CHECK(!session.is_attached());
    CHECK(session.get_tensor_data(p.w)[0] == (weights_to_host_on_exit ? 1 : 0));
  }
}

TEST_CASE("popxl Session attach: leaving an inner block does nothing") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  {
    const auto inner = session.attach();
  }
  CHECK(session.is_attached());
}

TEST_CASE("popxl Session attach: an exception in the block detaches without the weights") {
  Counter p;
  Session session(p.ir);
  try {
    const auto on = session.attach();
    session.run({{p.x, p.input()}});
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  CHECK(!session.is_attached());
  CHECK(session.get_tensor_data(p.w)[0] == 0);
}

TEST_CASE("popxl Session attach: as often as one likes") {
  Counter p;
  Session session(p.ir);
  for (int i = 0; i < 3; ++i) {
    const auto on = session.attach();
    CHECK(session.run({{p.x, p.input()}})[p.y][0] == i + 1);
  }
}

// --- 2.2 methods ---------------------------------------------------------------------------------------

TEST_CASE("popxl Session: expected_inputs are the streams that something loads from") {
  Counter p;
  {
    Main in(p.ir);
    static_cast<void>(h2d_stream<float, Shape<3>>("unused"));
  }
  const Session session(p.ir);
  const auto inputs = session.expected_inputs();
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].name.view() == "x");
  CHECK(inputs[0].slice.shape == Dims{2, 4});
}

// The table of the documentation, literally.
TEST_CASE("popxl Session: create_host_outputs has the four host shapes") {
  struct Row {
    std::int64_t d;
    int r;
    Dims host;
  };
  const Row rows[] = {
      {4, 16, {4, 16, 2, 4}}, {1, 16, {16, 2, 4}}, {4, 1, {4, 2, 4}}, {1, 1, {2, 4}}};
  for (const Row& row : rows) {
    CAPTURE(row.d);
    CAPTURE(row.r);
    Counter p(row.r, row.d);
    const Session session(p.ir, "ipu_model");
    auto outputs = session.create_host_outputs();
    CHECK(outputs.size() == 1);
    CHECK(outputs[p.y].info().shape == row.host);
    CHECK(outputs[p.y].info().type == ElementType::float32);
  }
}

TEST_CASE("popxl Session: run takes and gives streams; without inputs it takes none") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  const auto out = session.run({{p.x, p.input({2, 4}, 5)}});
  CHECK(out[p.y][0] == 6);
  CHECK(out[AnyDeviceToHost(p.y)].values<float>()[0] == 6);
  Ir ir;
  {
    Main in(ir);
    ops::host_store(d2h_stream<float, Shape<>>("one"), constant(1.f));
  }
  Session other(ir);
  const auto attached = other.attach();
  CHECK(other.run().size() == 1);
  CHECK_THROWS_AS(other.run()[p.y], halftone::UsageError);
}

TEST_CASE("popxl Session: run_with_outputs fills memory of the program") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  Array<float> y({2, 4});
  session.run_with_outputs({{p.x, p.input()}}, {{p.y, y}});
  CHECK(y[0] == 1);
  auto outputs = session.create_host_outputs();
  session.run_with_outputs({{p.x, p.input()}}, outputs);
  CHECK(outputs[p.y][0] == 2);
}

TEST_CASE("popxl Session: downcast_inputs makes 32 bits of 64") {
  Ir ir;
  Main in(ir);
  const auto a = h2d_stream<float, Shape<>>("a");
  const auto b = h2d_stream<std::int32_t, Shape<>>("b");
  const auto c = h2d_stream<std::uint32_t, Shape<>>("c");
  const auto y = d2h_stream<float, Shape<>>("y");
  ops::host_store(y, ops::host_load(a) + ops::cast<float>(ops::host_load(b)) +
                         ops::cast<float>(ops::host_load(c)));
  Session session(ir);
  const auto on = session.attach();
  const AnyArray wide = Array<double>({}, {0.5}), whole = Array<std::int64_t>({}, {-2});
  const AnyArray natural = Array<std::uint64_t>({}, {4});
  const std::array inputs{halftone::Input(a, wide), halftone::Input(b, whole),
                          halftone::Input(c, natural)};
  CHECK(session.run(inputs)[y][0] == 2.5f);
  CHECK_THROWS_AS(session.run(inputs, false), TypeError);
  const AnyArray wrong = Array<std::int32_t>({}, {1});
  const std::array mixed{halftone::Input(a, wrong), inputs[1], inputs[2]};
  CHECK_THROWS_AS(session.run(mixed), TypeError);  // nothing else is converted
}

TEST_CASE("popxl Session: what needs a device is refused while detached") {
  Counter p;
  Session session(p.ir);
  CHECK_THROWS_AS(session.run({{p.x, p.input()}}), ValueError);
  Array<float> y({2, 4});
  CHECK_THROWS_AS(session.run_with_outputs({{p.x, p.input()}}, {{p.y, y}}), ValueError);
  CHECK_THROWS_AS(session.weights_from_host(), ValueError);
  CHECK_THROWS_AS(session.weights_to_host(), ValueError);
  CHECK(contains(error_of([&] { session.run({{p.x, p.input()}}); }), "session.attach()"));
}

TEST_CASE("popxl Session: weights_to_host and weights_from_host copy all of them") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  session.run({{p.x, p.input()}});
  session.weights_from_host();  // puts w back to 0
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 1);
  session.weights_to_host();
  session.run({{p.x, p.input()}});
  session.weights_from_host();
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 2);
}

// --- 2.4 inputs and outputs ----------------------------------------------------------------------------

TEST_CASE("popxl Session: streams that are missing or unexpected are named, and nothing runs") {
  Counter p, q;
  Session session(p.ir);
  const auto on = session.attach();
  const HostToDeviceStream<float, Shape<2, 4>> other{halftone::StreamName("other")};
  const DeviceToHostStream<float, Shape<2, 4>> back{halftone::StreamName("back")};
  const Array<float> x = p.input();
  Array<float> y({2, 4});
  CHECK_THROWS_AS(session.run(), ValueError);
  CHECK(contains(error_of([&] { session.run(); }), "missing: 'x'"));
  CHECK(contains(error_of([&] { session.run({{p.x, x}, {other, x}}); }), "unexpected: 'other'"));
  CHECK(contains(error_of([&] { session.run({{p.x, x}, {p.x, x}}); }), "given twice: 'x'"));
  CHECK_THROWS_AS(session.run_with_outputs({{p.x, x}}, {}), ValueError);
  CHECK(contains(error_of([&] { session.run_with_outputs({{p.x, x}}, {{p.y, y}, {back, y}}); }),
                 "unexpected: 'back'"));
  CHECK(session.run({{p.x, x}})[p.y][0] == 1);
}

TEST_CASE("popxl Session: wrong d, r, shapes and types are errors, and nothing runs") {
  Counter p(2, 3);
  Session session(p.ir, "ipu_model");
  const auto on = session.attach();
  const auto run = [&](const Dims& shape) { session.run({{p.x, p.input(shape)}}); };
  CHECK_THROWS_AS(run({4, 2, 2, 4}), ValueError);  // more slices than there are, too
  CHECK_THROWS_AS(run({2, 2, 2, 4}), ValueError);
  CHECK_THROWS_AS(run({3, 3, 2, 4}), ValueError);
  CHECK_THROWS_AS(run({3, 2, 4, 2}), ValueError);
  CHECK_THROWS_AS(run({48}), ValueError);
  CHECK(
      contains(error_of([&] { run({3, 3, 2, 4}); }), "num_host_transfers, 3, and the replicas, 2"));
  Array<float> small({3, 2, 2});
  const Array<float> x = p.input({3, 2, 2, 4});
  CHECK_THROWS_AS(session.run_with_outputs({{p.x, x}}, {{p.y, small}}), ValueError);
  AnyArray whole = Array<std::int32_t>({3, 2, 2, 4});
  CHECK_THROWS_AS(session.run_with_outputs({{p.x, x}}, {{p.y, whole}}), TypeError);
  CHECK(first(session.get_tensor_data(AnyTensor(p.w))) == 0);
  session.run({{p.x, p.input({3, 2, 2, 4, 1})}});  // a dimension of 1 more does not count
}

// --- reading and writing -------------------------------------------------------------------------------

TEST_CASE("popxl Session: get_tensor_data of variables and constants, attached and detached") {
  Counter p;
  Session session(p.ir);
  CHECK(session.get_tensor_data(p.w)[0] == 0);
  CHECK(session.get_tensor_data(p.fixed)[0] == 7);
  const auto on = session.attach();
  session.run({{p.x, p.input()}});
  CHECK(session.get_tensor_data(p.w)[0] == 1);  // of the device
  CHECK(session.get_tensor_data(p.fixed)[0] == 7);
  const AnyView once = session.get_tensor_data(AnyTensor(p.w));
  CHECK(once.data == session.get_tensor_data(AnyTensor(p.w)).data);  // a view, without a transfer
}

TEST_CASE("popxl Session: get_tensors_data of several, with one transfer") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  session.run({{p.x, p.input()}});
  const auto views = session.get_tensors_data({p.w, p.fixed});
  REQUIRE(views.size() == 2);
  CHECK(first(views[0]) == 1);
  CHECK(first(views[1]) == 7);
}

TEST_CASE("popxl Session: data of tensors that are neither variables nor constants: TypeError") {
  Counter p, other;
  Number value;
  {
    Main in(p.ir);
    value = p.w + 1.f;
  }
  Session session(p.ir);
  CHECK_THROWS_AS(session.get_tensor_data(value), TypeError);
  CHECK_THROWS_AS(session.get_tensors_data({p.w, value}), TypeError);
  CHECK_THROWS_AS(session.get_tensor_data(other.w), TypeError);  // of another Ir
}

TEST_CASE("popxl Session: write_variable_data, attached: on host and device") {
  Counter p;
  Session session(p.ir);
  const auto on = session.attach();
  session.write_variable_data(p.w, Array<float>({}, {4}));
  CHECK(session.get_tensor_data(p.w)[0] == 4);
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 5);
}

TEST_CASE("popxl Session: write_variable_data, detached: on the host until the next transfer") {
  Counter p;
  Session session(p.ir);
  session.write_variable_data(p.w, Array<float>({}, {4}));
  CHECK(session.get_tensor_data(p.w)[0] == 4);
  const auto on = session.attach();
  CHECK(session.run({{p.x, p.input()}})[p.y][0] == 5);
}

TEST_CASE("popxl Session: write_variables_data checks all, then writes; others keep their values") {
  Ir ir;
  Main in(ir);
  const auto a = variable<float, Shape<2>>("a", zeros);
  const auto b = variable<float, Shape<2>>("b", zeros);
  const auto c = constant(1.f);
  ops::add_(a, 1.f);
  ops::add_(b, 1.f);
  Session session(ir);
  const auto on = session.attach();
  session.run();
  const Array<float> five({2}, {5, 5}), three({3}, {1, 2, 3});
  const Array<double> wide({2}, {1, 2});
  CHECK_THROWS_AS(session.write_variables_data({{a, five}, {c, five}}), TypeError);  // no variable
  CHECK_THROWS_AS(session.write_variables_data({{a, five}, {b, wide}}), TypeError);
  CHECK_THROWS_AS(session.write_variables_data({{a, five}, {b, three}}), ValueError);
  CHECK(session.get_tensor_data(a)[0] == 1);
  session.write_variables_data({{a, five}});
  session.run();
  CHECK(session.get_tensor_data(a)[0] == 6);
  CHECK(session.get_tensor_data(b)[0] == 2);  // PopXL would have put it back to 0
}

TEST_CASE(
    "popxl Session: replicas: data have a row for each group; all_replicas cannot be written") {
  Ir ir(4);
  Main in(ir);
  const auto groups = ir.replica_grouping(1, 2);
  const Array<float> two_rows({2, 2}, {1, 2, 3, 4});
  const auto w =
      variable<float, Shape<2>>("w", two_rows.values(), VariableSettings{.grouping = groups});
  const auto all = variable<float, Shape<2>>(
      "all", two_rows.values(),
      VariableSettings{.grouping = groups, .retrieval = RetrievalMode::all_replicas});
  ops::add_(w, 1.f);
  ops::add_(all, 1.f);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  const auto views = session.get_tensors_data({w, all});
  CHECK(views[0].info.shape == Dims{2, 2});
  CHECK(views[1].info.shape == Dims{4, 2});
  CHECK(views[0].values<float>()[2] == 4);
  CHECK(views[1].values<float>()[6] == 4);
  CHECK_THROWS_AS(session.write_variable_data(all, two_rows), NotImplementedError);
  CHECK_THROWS_AS(session.write_variable_data(w, Array<float>({2}, {1, 2})), ValueError);
  session.write_variable_data(w, two_rows);
  session.run();
  CHECK(session.get_tensor_data(w)[3] == 5);
}

// --- variables in files --------------------------------------------------------------------------------

namespace {
/// w is two numbers in a file, and counts runs.
struct Mapped {
  test::Folder folder;
  std::string path = folder / "w.bin";
  Ir ir;
  Tensor<float, Shape<2>> w;
  const std::byte* data = nullptr;

  explicit Mapped(bool is_read_only) {
    const float values[] = {0, 1, 2};
    folder.write("w.bin", {reinterpret_cast<const char*>(values), sizeof values});
    const Memmap file(path, is_read_only);
    data = file.storage().data();
    Main in(ir);
    w = variable<float, Shape<2>>("w", file, 4);
    ops::add_(w, 1.f);
  }
  float stored() const {
    std::ifstream file(path, std::ios::binary);
    float value[2] = {};
    file.read(reinterpret_cast<char*>(value), sizeof value);
    return value[1];
  }
};
}  // namespace

TEST_CASE("popxl Session: a variable in a file is read there, and written when weights come") {
  Mapped m(false);
  Session session(m.ir);
  CHECK(session.get_tensor_data(AnyTensor(m.w)).data == m.data + 4);
  {
    const auto on = session.attach();
    session.run();
  }
  CHECK(m.stored() == 2);
  CHECK(session.get_tensor_data(AnyTensor(m.w)).data == m.data + 4);
  session.write_variable_data(m.w, Array<float>({2}, {5, 6}));
  CHECK(m.stored() == 5);
}

TEST_CASE("popxl Session: a file that is only read turns weights_to_host off") {
  Mapped m(true);
  Session session(m.ir);
  {
    const auto on = session.attach();
    CHECK(session.get_tensor_data(m.w)[0] == 1);
    session.run();
    CHECK_THROWS_AS(session.weights_to_host(), RuntimeError);
    CHECK_THROWS_AS(session.get_tensor_data(m.w), RuntimeError);
  }  // without the weights
  CHECK(m.stored() == 1);
}

TEST_CASE("popxl Memmap: files and places that cannot be") {
  CHECK_THROWS_AS(Memmap("/nowhere/w.bin"), halftone::IoError);
  Mapped m(true);
  Main in(m.ir);
  const Memmap file(m.path);
  CHECK_THROWS_AS((variable<float, Shape<4>>("v", file)), ValueError);
  CHECK_THROWS_AS((variable<float, Shape<1>>("v", file, 2)), ValueError);
  CHECK_THROWS_AS((variable<float, Shape<1>>("v", file, 100)), ValueError);
}
