#include <doctest/doctest.h>

#include <halftone/ipu/convolution.hpp>
#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/mapping.hpp>
#include <halftone/ipu/reduce.hpp>
#include <halftone/ipu/slice.hpp>

#include "types.hpp"

using namespace halftone;
using namespace halftone::ipu;
using ipu_test::f16;
using ipu_test::f32;

namespace {

std::int64_t unary(const char* op, ElementType type, std::int64_t n, bool in_place = false) {
  return unary_cycles(gc200, *find_elementwise(op), n, type, in_place);
}
std::int64_t binary(const char* op, ElementType type, std::int64_t n) {
  return binary_cycles(gc200, *find_elementwise(op), n, type);
}
/// The matrix units with weights loaded at 16 bytes a cycle.
ConvolutionVertex fast(ElementType input, ElementType partials) {
  Target t = gc200;
  t.coefficient_bytes_per_cycle = 16;
  return matrix_vertex(t, input, partials);
}

}  // namespace

// The numbers of this file, where nothing else is said, are poplibs' own estimates for these sizes.
TEST_CASE("cycles of element-wise vertices are poplibs'") {
  CHECK(unary("Exp", f32, 1200) == 3818);
  CHECK(unary("Tanh", f16, 1200) == 1322);
  CHECK(unary("GeluErf", f16, 1200) == 19'322);
  CHECK(unary("Relu", f16, 1200, true) == 950);
  CHECK(binary("Add", f32, 1024) == 1733);
  CHECK(binary("Add", f16, 1024) == 941);
  CHECK(binary("Div", f16, 1024) == 5585);
  CHECK(binary("Add", ElementType::int32, 1024) == 7349);
  CHECK(scalar_broadcast_cycles(gc200, *find_elementwise("Mul"), 1024, f16) == 647);
  CHECK(outer_broadcast_cycles(gc200, 64, 128, f16, true) == 4853);
  CHECK(outer_broadcast_cycles(gc200, 64, 128, f16, false) == 7397);
  CHECK(scaled_add_cycles(gc200, 1024, f32, f32) == 1719);
  CHECK(scaled_add_cycles(gc200, 1024, f16, f16) == 945);
  CHECK(elementwise_cycles(gc200, "WeightedAdd", 66, f32) == 285);
  // A vertex of C++ takes 100 cycles of one of the six workers for an index.
  CHECK(elementwise_cycles(gc200, "OneHot", 6, f32) == 6 * 100);
  CHECK(elementwise_cycles(gc200, "OneHotValues", 6, f16) == 6 * 100);
  CHECK(elementwise_cycles(gc200, "OneHot", 6, f16) == 11 + 6 * 74);
  CHECK(nonlinearity_cycles(gc200, Nonlinearity::gelu, 1200, f16) == 1701);
}

TEST_CASE("cycles of casts, slices and reductions are poplibs'") {
  CHECK(cast_cycles(gc200, 1200, f32, f16) == 846);
  CHECK(cast_cycles(gc200, 1200, f16, f32) == 840);
  CHECK(gather_cycles(gc200, {10, 10}, 256, f32) == 16'680);
  CHECK(gather_cycles(gc200, {10, 10}, 256, f16) == 16'680);
  CHECK(scatter_add_cycles(gc200, {10, 10}, 256, f16) == 23'862);
  CHECK(scatter_add_cycles(gc200, {10, 10}, 256, f32) == 46'788);
  CHECK(scatter_cycles(gc200, {10, 10}, 256, f16) ==
        16'680 - 6);  // a gather's loop starts a cycle later
  CHECK(dynamic_slice_cycles(gc200, 4096, 1, f16) == 2443);
  CHECK(dynamic_slice_cycles(gc200, 4096, 1, f32) == 4495);
  CHECK(strided_reduce_cycles(gc200, reduce_vertex(f32), 64, 16) == 848);
  CHECK(strided_reduce_cycles(gc200, reduce_vertex(f16), 64, 16) == 480);
  CHECK(reduce_all_cycles(gc200, reduce_vertex(f32), 1024) == 529);
  CHECK(general_reduce_cycles(gc200, reduce_vertex(f32), 1, 8, 4) == 235);
  CHECK(general_reduce_cycles(gc200, reduce_vertex(f32, false), 1, 8, 4) == 347);
  CHECK(partials_reduce_cycles(gc200, 1024, 9, f32, f32) == 6345);
  CHECK(partials_reduce_cycles(gc200, 1024, 9, f16, f32) == 3585);
  CHECK(partials_reduce_cycles(gc200, 1002, 8, f32, f32) == 7992);
}

TEST_CASE("cycles of convolution vertices are poplibs'") {
  CHECK(matrix_cycles(gc200, fast(f16, f16), 16, 1, 1) == 377);
  CHECK(matrix_cycles(gc200, fast(f16, f16), 144, 1, 1) == 871);
  CHECK(matrix_cycles(gc200, fast(f16, f16), 2048, 1, 1) == 8489);
  CHECK(matrix_cycles(gc200, fast(f16, f16), 128, 4, 4) == 11'375);
  CHECK(matrix_cycles(gc200, fast(f16, f16), 256, 8, 4) == 38'819);
  CHECK(matrix_cycles(gc200, matrix_vertex(gc200, f16, f32), 128, 1, 1) == 809);
  CHECK(matrix_cycles(gc200, matrix_vertex(gc200, f32, f32), 128, 1, 1) == 2419);
  CHECK(matrix_cycles(gc200, matrix_vertex(gc200, f32, f32), 128, 4, 4) == 24'823);
  CHECK(matrix_cycles(gc200, matrix_vertex(gc200, f16, f16), 128, 4, 4) == 11'887);
  CHECK(matrix_window_cycles(gc200, matrix_vertex(gc200, f16, f16), {128}, {3, 3}, 1, 1) == 7762);
  CHECK(dot_cycles(gc200, matrix_vertex(gc200, f32, f32), 24, {.in = 16}) == 994);
  CHECK(dot_cycles(gc200, matrix_vertex(gc200, f16, f32), 24, {.in = 16}) == 721);
}

// One notebook's measurement on all tiles of a Bow: rows against cycles of the hardware, the cycle
// counter's own taken off (tessellate-ipu).
TEST_CASE("the matrix units' cycles are within 3 % of the hardware's") {
  constexpr std::int64_t measured[][2] = {{16, 402},   {32, 461},   {64, 584},    {128, 845},
                                          {256, 1352}, {512, 2381}, {1024, 4424}, {2048, 8525}};
  for (const auto& [rows, cycles] : measured) {
    const std::int64_t ours = matrix_cycles(bow, fast(f16, f16), rows, 1, 1) + bow.launch_cycles;
    CHECK(std::abs(static_cast<double>(ours - cycles)) <= 0.03 * static_cast<double>(cycles));
  }
}

TEST_CASE("the exchange moves four bytes a cycle, eight to a pair") {
  CHECK(exchange_cycles(gc200, 4096) == 1024);
  CHECK(exchange_cycles(gc200, 4096, true) == 512);
  // 15 ns each way and hop: 2 IPUs are one hop of the ladder's two apart at most.
  CHECK(link_hops(2) == 1);
  CHECK(link_hops(4) == 2);
  CHECK(link_hops(16) == 5);
}

// A link carries 14.6 GB/s each way, four of them lie side by side, a hop takes 15 ns each way;
// streaming memory 20 GB/s behind 1.5 us; the host 7 GB/s.
TEST_CASE("links, host and streaming memory take their latency and their bytes' time") {
  const auto cycles = [](double seconds) {
    return doctest::Approx(seconds * 1.325e9).epsilon(1e-4);
  };
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const Target two = gc200.with_ipus(2), sixteen = gc200.with_ipus(16);
  CHECK(of(link_cycles(two, 1 << 26)) == cycles(30e-9 + (1 << 26) / (4 * 14.6e9)));
  CHECK(global_sync_cycles(two) == 600);
  CHECK(of(link_cycles(sixteen, 1 << 26)) == cycles(150e-9 + (1 << 26) / (4 * 14.6e9)));
  CHECK(of(streaming_cycles(gc200, 1 << 26)) == cycles(1.5e-6 + (1 << 26) / 20e9));
  CHECK(of(host_cycles(gc200, 1 << 26, 100)) == cycles((1 << 26) / 7e9));
  CHECK(host_cycles(gc200, 4096, 4096) == 1024);  // one tile cannot take it faster
  // A ring over R replicas: 2 (R - 1) steps of an R-th of the bytes.
  CHECK(all_reduce_cycles(two, 4096, 1) == 0);
  CHECK(all_reduce_cycles(sixteen, 1 << 26, 4) ==
        6 * (link_cycles(sixteen, 1 << 24) + global_sync_cycles(sixteen)));
}

// Data sheets: 124.5, 249.7 and 348.6 TFLOP/s; 897 MiB.
TEST_CASE("machines have the peaks of their data sheets") {
  CHECK(gc2.peak_flops(f16, f16) == doctest::Approx(124.5e12).epsilon(0.001));
  CHECK(gc200.peak_flops(f16, f16) == doctest::Approx(249.7e12).epsilon(0.001));
  CHECK(gc200.peak_flops(f16, f32) == doctest::Approx(124.8e12).epsilon(0.001));
  CHECK(gc200.peak_flops(f32, f32) == doctest::Approx(62.5e12).epsilon(0.01));
  CHECK(bow.peak_flops(f16, f16) == doctest::Approx(348.6e12).epsilon(0.001));
  CHECK(gc200.bytes_per_ipu() == 940'572'672);
  CHECK(gc200.bytes_per_ipu() / 1048576 == 897);
  // C600's sheet: 280 and, for float8, 560 TFLOP/s; its clock is a weak figure.
  CHECK(c600.peak_flops(f16, f16) == doctest::Approx(280e12).epsilon(0.02));
  CHECK(c600.peak_flops(ElementType::float8_e4m3fn, f16) == doctest::Approx(560e12).epsilon(0.02));
  CHECK(c600.bytes_per_ipu() == gc200.bytes_per_ipu());
  CHECK(find_target("bow") == &bow);
  CHECK(find_target("c600") == &c600);
  CHECK(find_target("gc3") == nullptr);
}

TEST_CASE("a machine of impossible numbers is refused") {
  gc200.check();
  for (const int count : {3, 5, 7, 64}) gc200.with_ipus(count).check();
  CHECK_THROWS_AS(gc200.with_ipus(0).check(), UsageError);
  CHECK_THROWS_AS(gc200.with_ipus(65).check(), UsageError);
  CHECK_THROWS_AS(gc200.with_tiles(0).check(), UsageError);
}

// Laws: every element has one tile; pieces differ by a grain at most; small tensors stay together.
TEST_CASE("a linear mapping covers every element once") {
  for (const std::int64_t n : {1, 3, 31, 32, 33, 1000, 47'104, 1'000'003}) {
    for (const std::int64_t first : {0, 5, 1471}) {
      const Mapping m = linear_mapping(gc200, n, f32, first);
      std::int64_t sum = 0, most = 0;
      for (std::int64_t tile = 0; tile < 1472; ++tile) {
        sum += m.on_tile(tile);
        most = std::max(most, m.on_tile(tile));
      }
      CHECK(sum == n);
      CHECK(most == m.largest());
      CHECK(m.on_tile(first) > 0);
      CHECK((m.pieces == 1 || most >= 32));  // at least 128 bytes
      std::int64_t visited = 0;
      m.for_each_piece([&](std::int64_t tile, std::int64_t elements) {
        visited += elements == m.on_tile(tile) ? elements : 0;
      });
      CHECK(visited == n);
    }
  }
  CHECK(linear_mapping(gc200, 0, f32).pieces == 0);
}
