// Kernels that memory or arithmetic in the caches bounds, one thread: each beside a copy (or, for
// those that write little, a read) of the same number of bytes, measured in the same run. The
// arrays of the first part lie beyond the last cache, those of the second in the second one.
#include <cstring>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "measure.hpp"

using namespace halftone;

namespace {

constexpr std::int64_t large = std::int64_t{1} << 25;  // 128 MiB of floats
constexpr std::int64_t small = std::int64_t{1} << 16;  // 256 KiB

/// Copies between addresses that agree in their last 12 bits are up to a third slower.
constexpr std::int64_t half_page = 512;

/// GB/s of one copy of `bytes`, reads and writes both counted.
double copy_rate(std::int64_t bytes) {
  static bench::Buffer<float> from(large), to(large + half_page);
  const std::int64_t half = bytes / 2 < 4 * large ? bytes / 2 : 4 * large;
  const auto n = static_cast<std::size_t>(half);
  const int rounds =
      bytes > (1 << 24) ? 1 : 400;  // until the clock is as fast as without wide vectors
  const double begin = bench::now();
  for (int i = 0; i < rounds; ++i) {
    std::memcpy(to.data() + half_page, from.data(), n);
    __asm__ volatile("" : : "r"(to.data()) : "memory");
  }
  return 2e-9 * static_cast<double>(half) * rounds / (bench::now() - begin);
}

double read_rate() {
  static bench::Buffer<float> from(large);
  return bench::read_rate(from);
}

/// Runs the graph that `record` makes of x, which holds numbers from `first` to `last`; all of x is
/// read `reads` times.
template <class Record>
void row(const std::string& name, const Dims& shape, Record record, bool writes = true,
         float first = -2, float last = 2, int reads = 1) {
  Graph g;
  const AnyTensor x = g.input<float>("x", shape);
  output(g, record(g, x), "y");
  Session session(std::move(g));
  Array<float> data(shape);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = first + static_cast<float>(i % 1021) / 1020 * (last - first);
  }
  session.run({{"x", data}});
  const std::int64_t read = product(shape) * 4 * reads;
  const std::int64_t bytes = writes ? read + session.outputs()[0].info.bytes() : read;
  const auto limit = [&] { return writes ? copy_rate(bytes) : read_rate(); };
  bench::report(
      name.c_str(), "GB/s", writes ? "a copy" : "a read", 1e-9 * static_cast<double>(bytes),
      [&] { session.run({{"x", data}}); }, limit, 0.6);
}

AnyTensor vector(Graph& g, std::int64_t n, float value) {
  return {&g,
          g.add_variable({ElementType::float32, {n}}, Initial{Initial::Rule::fill, value, 0}, "v")};
}

}  // namespace

int main() {
  const Dims rows{1 << 15, 1 << 10}, images{32, 64, 128, 128};
  std::printf("beyond the last cache\n");
  row("relu", {large}, [](Graph&, AnyTensor x) { return op::relu(x); });
  row("add of a row", rows, [](Graph& g, AnyTensor x) { return x + vector(g, 1 << 10, 1); });
  row("sum of rows", rows, [](Graph&, AnyTensor x) { return op::sum(x, Shape<1>{}); }, false);
  row("sum of columns", rows, [](Graph&, AnyTensor x) { return op::sum(x, Shape<0>{}); }, false);
  row("max of all", rows, [](Graph&, AnyTensor x) { return op::max(x); }, false);
  row("softmax", rows, [](Graph&, AnyTensor x) { return op::softmax(x); });
  row("batch normalization", images, [](Graph& g, AnyTensor x) {
    return op::batch_normalization(x, vector(g, 64, 1), vector(g, 64, 0), vector(g, 64, 0),
                                   vector(g, 64, 1));
  });
  row("transpose 2-D", rows, [](Graph&, AnyTensor x) { return op::transpose(x); });
  row("transpose NCHW to NHWC", images,
      [](Graph&, AnyTensor x) { return op::transpose(x, {.perm = {0, 2, 3, 1}}); });
  row(
      "concat of two", rows, [](Graph&, AnyTensor x) { return op::concat(x, x, {.axis = 1}); },
      true, -2, 2, 2);
  row("slice of a half", rows, [](Graph& g, AnyTensor x) {
    return op::slice(x, constant(g, {0}), constant(g, {512}), constant(g, {1}));
  });
  row("gather of rows", rows, [](Graph& g, AnyTensor x) {
    std::vector<std::int64_t> indices(1 << 15);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      indices[i] = static_cast<std::int64_t>(i * 7919 % indices.size());
    }
    return op::gather(x, constant<std::int64_t>(g, indices, {1 << 15}));
  });
  row("max pool 2x2", images, [](Graph&, AnyTensor x) {
    op::MaxPool pool;
    pool.kernel_shape = {2, 2};
    pool.strides = {2, 2};
    return op::max_pool(x, pool);
  });
  const auto pool3 = [](auto pool, std::int64_t stride) {
    pool.kernel_shape = {3, 3};
    pool.strides = {stride, stride};
    pool.pads = {1, 1, 1, 1};
    return pool;
  };
  row("max pool 3x3, stride 1", images,
      [&](Graph&, AnyTensor x) { return op::max_pool(x, pool3(op::MaxPool(), 1)); });
  row("average pool 3x3, stride 1", images,
      [&](Graph&, AnyTensor x) { return op::average_pool(x, pool3(op::AveragePool(), 1)); });
  const auto gradient = [&](const char* name, auto pool, const Dims& shape) {
    row(name, shape, [pool](Graph& g, AnyTensor x) {
      const Window window = pool.window_over(x.info().shape.span().subspan(2));
      Dims out = x.info().shape;
      for (std::size_t i = 0; i < 2; ++i) out[2 + i] = window.output[i];
      const TensorId dy =
          g.add_variable({ElementType::float32, out}, Initial{Initial::Rule::fill, 1, 0}, "dy");
      const auto made = halftone::detail::record(g, op::MaxPoolGradient(window), {x.id, dy}, 1);
      return AnyTensor{&g, made[0]};
    });
  };
  op::MaxPool pool2;
  pool2.kernel_shape = {2, 2};
  pool2.strides = {2, 2};
  gradient("gradient of max pool 2x2", pool2, images);
  gradient("gradient of max pool 3x3, stride 2", pool3(op::MaxPool(), 2), images);
  gradient("gradient of max pool 3x3, stride 1", pool3(op::MaxPool(), 1), images);
  const auto average = [&](const char* name, std::int64_t stride) {
    row(name, {32, 64, 128 / stride, 128 / stride}, [&, stride](Graph& g, AnyTensor dy) {
      const auto pool = pool3(op::AveragePool(), stride);
      const op::AveragePoolGradient made(pool.window_over(std::vector<std::int64_t>{128, 128}),
                                         images, op::PoolCount::inside);
      return AnyTensor{&g, halftone::detail::record(g, made, {dy.id}, 1)[0]};
    });
  };
  average("gradient of average pool 3x3, stride 2", 2);
  average("gradient of average pool 3x3, stride 1", 1);
  row(
      "global average pool", images, [](Graph&, AnyTensor x) { return op::global_average_pool(x); },
      false);

  std::printf("\nin the second cache\n");
  const auto function = [](const char* name, auto f, float first = -2, float last = 2) {
    row(name, {small}, [&](Graph&, AnyTensor x) { return f(x); }, true, first, last);
  };
  function("exp", op::exp);
  function("log", op::log, 0, 2);
  function("tanh", op::tanh);
  function("erf", op::erf);
  function("sigmoid", op::sigmoid);
  function("sin", op::sin);
  function("cos", op::cos);
  function("tan", op::tan);
  function("asin", op::asin, -1, 1);
  function("acos", op::acos, -1, 1);
  function("atan", op::atan);
  function("sinh", op::sinh);
  function("cosh", op::cosh);
  function("asinh", op::asinh);
  function("acosh", op::acosh, 1, 3);
  function("atanh", op::atanh, -1, 1);
  function("softplus", op::softplus);
  function("elu", op::elu);
  function("selu", op::selu);
  function("mish", op::mish);
  function("gelu", op::gelu);
  row("softmax", {64, 1024}, [](Graph&, AnyTensor x) { return op::softmax(x); });
}
