#include <doctest/doctest.h>

#include <halftone/ipu/planner.hpp>

#include "types.hpp"

using namespace halftone;
using namespace halftone::ipu;
using ipu_test::f16;
using ipu_test::f32;

namespace {

Product square(std::int64_t n, ElementType type) {
  return {.groups = 1, .rows = n, .inner = n, .columns = n, .input = type, .output = type};
}
double teraflops(const Target& t, std::int64_t n, ElementType type, ElementType partials) {
  const Product p = square(n, type);
  const ProductPlan plan = plan_product(t, p, {.partials = partials});
  return 2 * p.macs() / t.seconds(plan.cycles) * 1e-12;
}

}  // namespace

// The formulas of the planner, computed by hand for the split of this product.
TEST_CASE("the plan of a large product is the one computed by hand") {
  const ProductPlan plan = plan_product(gc200, square(4096, f16), {.partials = f16});
  CHECK(plan.split_rows == 14);
  CHECK(plan.split_columns == 8);
  CHECK(plan.split_inner == 13);
  CHECK(plan.serial_columns == 4);
  CHECK(plan.serial_inner == 1);
  CHECK(plan.compute == 221'335);
  CHECK(plan.exchange == 39'853);
  CHECK(plan.reduce_exchange == 17'636);
  CHECK(plan.reduce == 17'334);
  CHECK(plan.temporary_bytes == 344'448);
}

// The same planner's figures, computed independently, within 4 % (two forms of the reduction).
TEST_CASE("rates of whole-chip products") {
  const auto near = [](double expected) { return doctest::Approx(expected).epsilon(0.04); };
  CHECK(teraflops(gc200, 3584, f32, f32) == near(43.0));
  CHECK(teraflops(gc200, 1024, f16, f16) == near(94));
  CHECK(teraflops(gc200, 2048, f16, f16) == near(142));
  CHECK(teraflops(gc200, 4096, f16, f16) == near(153));
  CHECK(teraflops(gc200, 4096, f16, f32) == near(83));
  CHECK(teraflops(bow, 4096, f16, f16) == near(214));
  CHECK(teraflops(gc2, 2048, f16, f32) == near(67));
  CHECK(teraflops(gc2, 2048, f32, f32) == near(21.2));
}

// arXiv 2310.00256: 44 TFLOP/s is the best square product in float; 25 % is asked of the model.
TEST_CASE("the rate of a float product is near the published one") {
  CHECK(teraflops(gc200, 3584, f32, f32) == doctest::Approx(44).epsilon(0.25));
}

// C600 multiplies float8 at twice the rate of half; older machines' matrix units have none.
TEST_CASE("products of float8 are planned for machines that have them") {
  const ElementType f8 = ElementType::float8_e5m2;
  Product p = square(4096, f8);
  p.output = f16;
  const ProductPlan plan = plan_product(c600, p, {.partials = f16});
  const ProductPlan halves = plan_product(c600, square(4096, f16), {.partials = f16});
  CHECK(plan.vertex == Vertex::matrix);
  CHECK(plan.cycles < halves.cycles);
  CHECK(2 * plan.cycles > halves.cycles);
  const ProductPlan old = plan_product(gc200, p, {.partials = f16});
  CHECK(old.vertex == Vertex::dot);
  CHECK(old.cycles > halves.cycles);
}

// Two thirds of the four-wide window are in use, against a dot product of one channel each: at most
// 3000 cycles are asked of 64 channels of 56 x 56.
TEST_CASE("depthwise convolutions and few channels have vertices of their own") {
  const Product depthwise{.groups = 64,
                          .rows = 3136,
                          .inner = 1,
                          .columns = 1,
                          .kernel_rows = 3,
                          .kernel_columns = 3,
                          .input_rows = 3136,
                          .width = 56,
                          .input = f16,
                          .output = f16};
  const ProductPlan plan = plan_product(gc200, depthwise, {.partials = f16});
  CHECK(plan.vertex == Vertex::window);
  CHECK(plan.cycles <= 3000);
  CHECK(plan.split_groups * plan.together <= 64);
  // The window moves by one or two outputs; with others each channel is summed by itself.
  Product apart = depthwise;
  apart.input_rows = 9 * apart.rows;
  CHECK(plan_product(gc200, apart, {.partials = f16}).vertex == Vertex::vertical);
  // Four channels fill the four-wide window; a kernel of one column leaves most of it idle.
  Product grouped = depthwise;
  grouped.groups = 16;
  grouped.inner = grouped.columns = 4;
  CHECK(plan_product(gc200, grouped, {.partials = f16}).vertex == Vertex::window);
  grouped.input = grouped.output = f32;
  CHECK(plan_product(gc200, grouped, {.partials = f32}).vertex != Vertex::window);
  const Product outer{
      .groups = 1, .rows = 4096, .inner = 1, .columns = 4096, .input = f16, .output = f16};
  CHECK(plan_product(gc200, outer, {.partials = f16}).vertex == Vertex::outer_product);
}

// Two rows of the kernel fill up what eight channels leave of the units' sixteen.
TEST_CASE("few input channels share the matrix units with rows of the kernel") {
  const Product p{.groups = 1,
                  .rows = 12'544,
                  .inner = 8,
                  .columns = 64,
                  .kernel_rows = 4,
                  .kernel_columns = 3,
                  .input_rows = 12'544,
                  .width = 112,
                  .input = f16,
                  .output = f16};
  const ProductPlan plan = plan_product(gc200, p, {.partials = f16});
  CHECK(plan.vertex == Vertex::matrix_window);
  CHECK(plan.kernel_height == 2);
}

TEST_CASE("laws of plans") {
  for (const Product& p : {Product{.rows = 1, .inner = 1, .columns = 1},
                           Product{.groups = 7, .rows = 5, .inner = 3, .columns = 2},
                           Product{.rows = 12'544,
                                   .inner = 3,
                                   .columns = 64,
                                   .kernel_rows = 7,
                                   .kernel_columns = 7,
                                   .input_rows = 50'176,
                                   .width = 112},
                           Product{.groups = 512,
                                   .rows = 196,
                                   .inner = 1,
                                   .columns = 1,
                                   .kernel_rows = 3,
                                   .kernel_columns = 3,
                                   .width = 14}}) {
    for (const Target& t : {gc2, gc200, gc200.with_tiles(4), gc200.with_tiles(1)}) {
      const ProductPlan plan = plan_product(t, p);
      CHECK(plan.cycles > 0);
      CHECK(plan.tiles() <= t.tiles_per_ipu);
      CHECK(plan.cycles == plan.serial() * (plan.compute + plan.exchange + plan.reduce_exchange +
                                            plan.reduce + plan.update));
      // No machine is faster than its units.
      CHECK(static_cast<double>(plan.cycles) * 64 * static_cast<double>(t.tiles_per_ipu) >=
            p.macs());
    }
  }
}

TEST_CASE("less memory never makes a plan faster, and equal products are planned once") {
  const Product p = square(2048, f16);
  std::int64_t last = 0;
  for (const double proportion : {0.9, 0.6, 0.3, 0.15}) {
    const ProductPlan plan =
        plan_product(gc200, p, {.available_memory_proportion = proportion, .partials = f16});
    CHECK(plan.cycles >= last);
    CHECK(static_cast<double>(plan.temporary_bytes) <= proportion * 638'976);
    CHECK(plan.fits);
    last = plan.cycles;
  }
  Planner planner(gc200);
  const std::int64_t cycles = planner.plan(p).cycles;
  CHECK(planner.plan(p).cycles == cycles);
  CHECK(planner.planned() == 1);
  CHECK(planner.reused() == 1);
  CHECK_FALSE(plan_product(gc200.with_tiles(1), square(4096, f32)).fits);
}
