#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/onnx.hpp>
#include <halftone/train.hpp>

#include "../error_of.hpp"
#include "../folder.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

/// A matrix product on each of two IPUs.
Graph two(std::int32_t first, std::int32_t second, std::int64_t width = 256) {
  Graph g;
  AnyTensor x = g.input<float>("x", {64, width});
  int layer = 0;
  for (const std::int32_t ipu : {first, second}) {
    const OnIpu here(g, ipu);
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {width, width}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    x = op::relu(op::matmul(x, w));
    g.rename(x.id, "layer" + std::to_string(layer++));
  }
  output(g, x, "y");
  return g;
}

std::int64_t variables_on(const ipu::Report& r, std::int64_t ipu) {
  std::int64_t sum = 0;
  for (std::int64_t tile = 0; tile < r.target.tiles_per_ipu; ++tile) {
    sum += r.memory[static_cast<std::size_t>(ipu * r.target.tiles_per_ipu + tile)]
                   [static_cast<std::size_t>(ipu::Category::variables)];
  }
  return sum;
}

/// No IPU does two things at a time, and nothing begins before what it reads is there.
void check_clocks(const ipu::Report& r) {
  std::vector<ipu::Step> steps = r.steps;
  std::stable_sort(steps.begin(), steps.end(), [](const ipu::Step& a, const ipu::Step& b) {
    return std::pair{a.start, a.end()} < std::pair{b.start, b.end()};
  });
  std::vector<std::int64_t> end(static_cast<std::size_t>(r.target.ipus), 0);
  for (const ipu::Step& s : steps) {
    CHECK(s.start >= end[static_cast<std::size_t>(s.ipu)]);
    end[static_cast<std::size_t>(s.ipu)] = s.end();
    const ipu::Operation* o = r.operation_of(s);
    for (std::size_t i = 0; o != nullptr && i < o->inputs.size(); ++i) {
      const ipu::Operation& from = r.operations[static_cast<std::size_t>(o->inputs[i])];
      for (std::int32_t made = from.first_step; made < from.end_step; ++made) {
        CHECK(s.start >= r.steps[static_cast<std::size_t>(made)].end());
      }
    }
  }
  CHECK(*std::max_element(end.begin(), end.end()) == r.cycles());
}

}  // namespace

TEST_CASE("nodes keep the IPU that they are meant for") {
  Graph g = two(0, 1);
  CHECK(g.nodes[0].place.ipu == 0);
  CHECK(g.nodes[3].place.ipu == 1);
  const Graph copy = g;
  CHECK(copy == g);
  set_ipu(g.nodes[3], 5);
  CHECK(g.nodes[3].place.ipu == 5);
  set_ipu(g.nodes[3], -1);
  CHECK(g.nodes[3].place.ipu == -1);
  CHECK_THROWS_AS(set_ipu(g.nodes[3], 64), UsageError);
  CHECK_THROWS_AS(set_ipu(g.nodes[3], -2), UsageError);
  // Saved and loaded is the same.
  const test::Folder folder;
  onnx::save(copy, folder / "m.onnx");
  const Graph loaded = onnx::load(std::string_view(folder / "m.onnx"));
  for (std::size_t n = 0; n < copy.nodes.size(); ++n) {
    CHECK(loaded.nodes[n].place.ipu == copy.nodes[n].place.ipu);
  }
}

TEST_CASE("placement by nodes: weights, time and memory of each IPU") {
  const ipu::Report r = ipu::profile(two(0, 1), ipu::gc200, {.ipus = 2});
  CHECK(r.operations[0].ipu == 0);
  CHECK(r.operations.back().ipu == 1);
  // 256 x 256 floats each, but for whole 8 bytes; one activation crosses the link.
  for (int ipu = 0; ipu < 2; ++ipu) {
    CHECK(variables_on(r, ipu) >= 256 * 256 * 4);
    CHECK(variables_on(r, ipu) <= 256 * 256 * 4 + 8 * 1472);
  }
  // It takes the time of both ends, and what one sends the other one receives.
  std::int64_t links[2] = {}, bytes[2] = {};
  for (const ipu::Step& s : r.steps) {
    if (s.kind != ipu::StepKind::link) continue;
    ++links[s.ipu];
    bytes[s.ipu] += s.bytes;
    CHECK(r.steps[static_cast<std::size_t>(s.peer)].start == s.start);
  }
  for (int ipu = 0; ipu < 2; ++ipu) {
    CHECK(links[ipu] == 1);
    CHECK(bytes[ipu] == 64 * 256 * 4);
  }
  const std::int64_t copy = ipu::global_sync_cycles(r.target) + r.cycles(ipu::StepKind::link) / 2;
  CHECK(r.ipu_cycles(0) + r.ipu_cycles(1) == r.cycles() + copy);  // else one behind the other
  CHECK(r.ipu_bytes(0) + r.ipu_bytes(1) == r.bytes());
  // An operation's share of the peak is that of its IPU, which a second one does not change.
  const ipu::Report alone = ipu::profile(two(0, 0), ipu::gc200);
  const auto share = [](const ipu::Report& report) {
    return nlohmann::json::parse(report.json())["operations"][0]["share_of_peak"].get<double>();
  };
  CHECK(share(r) == doctest::Approx(share(alone)));
  // The same layers the other way round, or on one IPU of two.
  CHECK(variables_on(ipu::profile(two(1, 0), ipu::gc200, {.ipus = 2}), 0) == variables_on(r, 1));
  const ipu::Report one = ipu::profile(two(0, 0), ipu::gc200, {.ipus = 2});
  CHECK(one.cycles(ipu::StepKind::link) == 0);
  CHECK(variables_on(one, 1) == 0);
  const ipu::Report first =
      ipu::profile(two(0, 1), ipu::gc200, {.ipus = 2, .placement = ipu::Placement::none});
  CHECK(variables_on(first, 1) == 0);
}

TEST_CASE("automatic placement takes the shares that it is given") {
  Graph g;
  AnyTensor x = g.input<float>("x", {64, 256});
  for (int i = 0; i < 8; ++i) {
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {256, 256}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    x = op::relu(op::matmul(x, w));
  }
  output(g, x, "y");
  const auto products_on_first = [&](std::vector<float> ratios) {
    const ipu::Report r = ipu::profile(
        g, ipu::gc200,
        {.ipus = 2, .placement = ipu::Placement::automatic, .split_ratios = std::move(ratios)});
    int count = 0;
    for (const ipu::Operation& o : r.operations) count += o.type == "MatMul" && o.ipu == 0 ? 1 : 0;
    return count;
  };
  CHECK(products_on_first({}) == 4);
  CHECK(products_on_first({0.25f, 0.75f}) == 2);
  CHECK(products_on_first({0.75f, 0.25f}) == 6);
  CHECK(contains(error_of<UsageError>([&] { products_on_first({0.5f, 0.6f}); }), "split ratios"));
  CHECK(contains(error_of<UsageError>([&] { products_on_first({1}); }), "split ratios"));
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.ipus = 2, .split_ratios = {0.5f, 0.5f}}),
                  UsageError);
}

// 4 MiB to streaming memory, 20 GB/s, take 0.28 million cycles, much longer than four products.
TEST_CASE("automatic placement counts nodes without outputs") {
  Graph g;
  const AnyTensor z = g.input<float>("z", {1024, 1024});
  const TensorInfo rows{ElementType::float32, {1, 1024, 1024}};
  const TensorId buffer = g.add_variable(rows, Initial{Initial::Rule::fill, 0, 0}, "buffer");
  detail::record(g, op::RemoteStore{.buffer_id = 1}, {z.id, no_tensor, buffer}, 0);
  AnyTensor x = g.input<float>("x", {64, 256});
  for (int i = 0; i < 4; ++i) {
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {256, 256}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    x = op::matmul(x, w);
  }
  output(g, x, "y");
  const ipu::Report r =
      ipu::profile(g, ipu::gc200, {.ipus = 2, .placement = ipu::Placement::automatic});
  for (const ipu::Operation& o : r.operations) CHECK(o.ipu == (o.type == "MatMul" ? 1 : 0));
}

TEST_CASE("gradients and updates are where the weights are") {
  Graph g = two(0, 1);
  const AnyTensor loss = op::mean(g["y"], {.keepdims = 0});
  train(g, loss, Sgd{.momentum = 0.9f});
  const ipu::Report r = ipu::profile(g, ipu::gc200, {.ipus = 2});
  // Weights and momentum, 256 x 256 floats each, and a few numbers.
  for (int ipu = 0; ipu < 2; ++ipu) {
    CHECK(variables_on(r, ipu) >= 2 * 256 * 256 * 4);
    CHECK(variables_on(r, ipu) <= 2 * 256 * 256 * 4 + 64 * 1472);
  }
  // An activation forward and its gradient back, and small things.
  std::int64_t large = 0;
  for (const ipu::Step& s : r.steps) {
    large += s.kind == ipu::StepKind::link && s.bytes >= 64 * 256 * 4 ? 1 : 0;
  }
  CHECK(large == 4);  // each at both ends
}

TEST_CASE("contradictory placement") {
  CHECK(
      contains(error_of<UsageError>([] { ipu::profile(two(0, 1), ipu::gc200); }), "does not have"));
  CHECK(contains(error_of<UsageError>([] { ipu::profile(two(0, 2), ipu::gc200, {.ipus = 2}); }),
                 "does not have"));
  SessionOptions options{.device = Device::ipu_model};
  for (const bool profiling : {true, false}) {
    options.ipu.profiling = profiling;
    CHECK(contains(error_of<UsageError>([&] { Session(two(0, 1), options); }), "does not have"));
  }
  // A body elsewhere than its node.
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  Graph body;
  const AnyTensor inner{&body, body.add_input({ElementType::float32, {4}}, "inner")};
  output(body, op::relu(inner), "result");
  set_ipu(body.nodes[0], 1);
  g.graphs.push_back(std::move(body));
  const TensorInfo infos[]{{ElementType::float32, {4}}};
  op::Call call;
  call.callee.index = 0;
  const std::size_t n = g.add_node(descriptor<op::Call>, pack(call), {x.id}, infos);
  set_ipu(g.nodes[n], 0);
  g.add_output(g.nodes[n].outputs[0]);
  CHECK(contains(error_of<UsageError>([&] { ipu::check_placement(g, 2); }), "a node of a body"));
  // One variable that is changed on two IPUs.
  Graph v;
  const AnyTensor given = v.input<float>("x", {4});
  const TensorId w =
      v.add_variable({ElementType::float32, {4}}, Initial{Initial::Rule::fill, 0, 0}, "w");
  for (int ipu = 0; ipu < 2; ++ipu) {
    const OnIpu here(v, ipu);
    output(v, AnyTensor{&v, detail::record(v, op::CopyVarUpdate{}, {w, given.id}, 1)[0]}, "y");
  }
  CHECK(contains(error_of<UsageError>([&] { ipu::check_placement(v, 2); }), "change one variable"));
}

TEST_CASE("machines and models that are too large or too small") {
  const Graph g = two(-1, -1);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200.with_tiles(0)), UsageError);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.ipus = 66}), UsageError);
  CHECK_THROWS_AS(ipu::profile(g, ipu::gc200, {.tiles_per_ipu = std::int64_t{1} << 62}),
                  UsageError);
  ipu::Target t = ipu::gc200;
  t.bytes_per_tile = std::int64_t{1} << 40;
  CHECK_THROWS_AS(ipu::profile(g, t), UsageError);
  // 2^20 x 2^20 floats: 4 TiB, more than 64 IPUs have.
  CHECK_THROWS_AS(ipu::profile(two(-1, -1, std::int64_t{1} << 20), ipu::gc200, {.ipus = 64}),
                  MemoryError);
  // 2^61 multiplications: more than the cycles of a century.
  Graph product;
  const AnyTensor square =
      product.input<float>("x", {std::int64_t{1} << 20, std::int64_t{1} << 20});
  output(product, op::matmul(square, square), "y");
  CHECK_THROWS_AS(ipu::profile(product, ipu::gc200, {.allow_out_of_memory = true}),
                  UnsupportedError);
  // 2^40 elements a side: their product is no 64-bit number.
  Graph huge;
  const AnyTensor a = huge.input<float>("a", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  output(huge, op::relu(a), "y");
  CHECK_THROWS_AS(ipu::profile(huge, ipu::gc200), Error);
}

TEST_CASE("IPUs have clocks: one waits for another's result behind a view of it, too") {
  Graph g;
  AnyTensor x = g.input<float>("x", {64, 256});
  for (const int ipu : {0, 1}) {
    const OnIpu here(g, ipu);
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {256, 256}},
                                         Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
    x = op::relu(op::matmul(x, w));
    x = op::reshape(op::reshape(x, constant(g, Dims{128, 128})), constant(g, Dims{64, 256}));
  }
  output(g, x, "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200, {.ipus = 2});
  CHECK(r.waiting_cycles(1) > 0);
  const std::int64_t copy = ipu::global_sync_cycles(r.target) + r.cycles(ipu::StepKind::link) / 2;
  CHECK(r.ipu_cycles(0) + r.ipu_cycles(1) == r.cycles() + copy);  // else one behind the other
}

// The sum of the ends is on either IPU: a copy that is needed late holds nobody up before.
TEST_CASE("IPUs have clocks: parts that do not depend on each other run side by side") {
  // Two chains of equal layers, each on an IPU, whose ends are added.
  const auto chains = [](int second, int end) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {64, 256});
    std::vector<AnyTensor> ends;
    for (const int ipu : {0, second}) {
      const OnIpu here(g, ipu);
      AnyTensor y = x;
      for (int layer = 0; layer < 6; ++layer) {
        const AnyTensor w{&g, g.add_variable({ElementType::float32, {256, 256}},
                                             Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
        y = op::relu(op::matmul(y, w));
      }
      ends.push_back(y);
    }
    const OnIpu last(g, end);
    output(g, ends[0] + ends[1], "y");
    return g;
  };
  const ipu::Report one = ipu::profile(chains(0, 0), ipu::gc200, {.ipus = 2});
  CHECK(one.waiting_cycles(0) == 0);
  CHECK(one.ipu_cycles(1) == 0);
  CHECK(one.idle_cycles(1) == one.cycles());
  for (const int end : {0, 1}) {
    CAPTURE(end);
    const ipu::Report two = ipu::profile(chains(1, end), ipu::gc200, {.ipus = 2});
    CHECK(static_cast<double>(two.cycles()) < 0.9 * static_cast<double>(one.cycles()));
    std::int64_t all = 0;
    for (const ipu::Step& s : two.steps) all += s.total();
    CHECK(two.cycles() < all);
    for (int ipu = 0; ipu < 2; ++ipu) {
      CHECK(two.ipu_cycles(ipu) <= two.cycles());
      CHECK(two.waiting_cycles(ipu) >= 0);
      CHECK(two.idle_cycles(ipu) >= 0);
    }
    check_clocks(two);
    const auto json = nlohmann::json::parse(two.json());
    CHECK(json["execution"]["by_ipu"][1]["busy"] == two.ipu_cycles(1));
    CHECK(json["steps"]["start"].back() == two.steps.back().start);
  }
}

// The time is that of poplibs' test tools: a sync, the latency, and the bytes at the links' rate.
TEST_CASE("copies of one moment are one exchange") {
  // Branches on IPUs of their own read one input; what they give comes back together.
  Graph g;
  const AnyTensor x = g.input<float>("x", {64, 256});
  std::vector<AnyTensor> ends;
  for (const int ipu : {0, 1, 2, 3}) {
    const OnIpu here(g, ipu);
    ends.push_back(op::relu(x));
  }
  const OnIpu first(g, 0);
  output(g, op::concat(ends, {.axis = 0}), "y");
  const ipu::Report r = ipu::profile(g, ipu::gc200, {.ipus = 4});
  check_clocks(r);
  std::int64_t links = 0, syncs = 0;
  for (const ipu::Step& s : r.steps) {
    if (s.peer < 0 || s.ipu != 0) continue;
    (s.kind == ipu::StepKind::link ? links : syncs) += s.total();
  }
  constexpr std::int64_t bytes = 64 * 256 * 4;
  CHECK(syncs == 2 * ipu::global_sync_cycles(r.target));
  CHECK(links == 2 * ipu::link_cycles(r.target, 3 * bytes));
}
