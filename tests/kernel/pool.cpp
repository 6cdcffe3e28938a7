#include <halftone/kernels.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <halftone/base/storage.hpp>
#include <limits>
#include <vector>

using namespace halftone;

// Expected: the definition of pooling, element by element in double.

namespace {

struct Case {
  std::vector<std::int64_t> x;  ///< [batch, channels, spatial...]
  WindowAttributes window;
};

const double infinity = std::numeric_limits<double>::infinity();

/// Up to three spatial dimensions, missing leading ones are 1.
template <class T>
std::vector<double> by_definition(const Case& given, const Window& w, const std::vector<T>& x,
                                  bool largest, bool counts_padding) {
  const std::size_t rank = w.rank();
  const auto at = [&](const auto& list, std::size_t axis, std::int64_t missing) {
    return axis + rank < 3 ? missing : list[axis + rank - 3];
  };
  const std::vector<std::int64_t> spatial(given.x.begin() + 2, given.x.end());
  std::int64_t in[3], out[3], size[3], stride[3], step[3], begin[3], end[3];
  for (std::size_t i = 0; i < 3; ++i) {
    in[i] = at(spatial, i, 1), out[i] = at(w.output, i, 1), size[i] = at(w.kernel, i, 1);
    stride[i] = at(w.strides, i, 1), step[i] = at(w.dilations, i, 1);
    begin[i] = i + rank < 3 ? 0 : w.pad_begin(i + rank - 3);
    end[i] = i + rank < 3 ? 0 : w.pad_end(i + rank - 3);
  }
  std::vector<double> y;
  for (std::int64_t p = 0; p < given.x[0] * given.x[1]; ++p)
    for (std::int64_t o = 0; o < out[0] * out[1] * out[2]; ++o) {
      const std::int64_t place[3] = {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
      double joined = largest ? -infinity : 0;
      std::int64_t count = 0, padded = 0;
      for (std::int64_t k = 0; k < size[0] * size[1] * size[2]; ++k) {
        const std::int64_t tap[3] = {k / (size[1] * size[2]), k / size[2] % size[1], k % size[2]};
        std::int64_t index = p;
        bool is_inside = true, is_padded = true;
        for (int i = 0; i < 3; ++i) {
          const std::int64_t c = place[i] * stride[i] - begin[i] + tap[i] * step[i];
          is_inside = is_inside && c >= 0 && c < in[i];
          is_padded = is_padded && c < in[i] + end[i];
          index = index * in[i] + c;
        }
        padded += is_padded;
        if (!is_inside) continue;
        ++count;
        const auto v = static_cast<double>(x[static_cast<std::size_t>(index)]);
        joined = largest ? std::fmax(joined, v) : joined + v;
      }
      y.push_back(largest ? joined : joined / static_cast<double>(counts_padding ? padded : count));
    }
  return y;
}

/// Runs tasks from the last to the first, as other threads may.
const kernel::Executor backwards{
    .threads = 4,
    .run =
        [](void*, std::int64_t count, kernel::Executor::Task task, void* context) {
          for (std::int64_t i = count; i-- > 0;) task(context, i);
        },
    .self = nullptr};

/// Each dy goes to the place that is its window's index; the gradient of the mean is its adjoint:
/// <mean(x), dy> = <x, gradient(dy)>.
template <class T>
void check_gradients(const Window& w, View<const T> x, View<T> y,
                     const std::vector<std::int64_t>& places) {
  std::vector<T> dy(places.size()), dx(static_cast<std::size_t>(x.size()) + 1);
  std::vector<float> sums(dx.size());
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<T>(static_cast<int>(i % 7) - 2);
  const View<const T> given{dy.data(), y.extents, y.rank};
  const View<T> to{dx.data(), x.extents, x.rank};
  KernelCall call;
  call.executor = &backwards;
  call.workspace = sums.data();
  dx.back() = static_cast<T>(77);
  kernel::max_pool_gradient<T>(call, w, x, given, to);
  std::vector<double> expected(dx.size() - 1);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    expected[static_cast<std::size_t>(places[i])] += static_cast<double>(dy[i]);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(static_cast<double>(dx[i]) == expected[i]);
  }
  for (const bool counts_padding : {false, true}) {
    kernel::average_pool<T>({}, w, counts_padding, x, y);
    kernel::average_pool_gradient<T>(
        call, w, counts_padding ? kernel::PoolCount::padded : kernel::PoolCount::inside, given, to);
    double forward = 0, backward = 0, magnitude = 1;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      forward += static_cast<double>(y.data[i]) * static_cast<double>(dy[i]);
      magnitude += std::fabs(static_cast<double>(y.data[i]) * static_cast<double>(dy[i]));
    }
    for (std::size_t i = 0; i + 1 < dx.size(); ++i) {
      backward += static_cast<double>(x.data[i]) * static_cast<double>(dx[i]);
    }
    REQUIRE(backward ==
            doctest::Approx(forward).scale(magnitude).epsilon(sizeof(T) == 2 ? 1e-2 : 1e-4));
  }
  REQUIRE(dx.back() == static_cast<T>(77));
}

template <class T>
void check(const Case& given) {
  const auto input = std::span<const std::int64_t>(given.x).subspan(2);
  const Window w = Window::over(input, given.window);
  REQUIRE(w.ok());
  std::vector<std::int64_t> shape{given.x[0], given.x[1]};
  for (const std::int64_t extent : w.output) shape.push_back(extent);
  std::int64_t n = 1, outputs = 1;
  for (const std::int64_t extent : given.x) n *= extent;
  for (const std::int64_t extent : shape) outputs *= extent;
  std::vector<T> x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(outputs) + 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(static_cast<int>(i * 2654435761u % 101) - 50);
  }
  const View<const T> from{x.data(), given.x.data(), given.x.size()};
  const View<T> to{y.data(), shape.data(), shape.size()};
  const auto compare = [&](const std::vector<double>& expected) {
    // Sums of small whole numbers are exact.
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(static_cast<double>(y[i]) == static_cast<double>(static_cast<T>(expected[i])));
    }
    REQUIRE(y.back() == static_cast<T>(77));
  };
  y.back() = static_cast<T>(77);
  kernel::max_pool<T>({}, w, false, from, to, {});
  compare(by_definition(given, w, x, true, false));
  kernel::max_pool<T>(backwards, w, false, from, to, {});
  compare(by_definition(given, w, x, true, false));
  std::vector<std::int64_t> places(static_cast<std::size_t>(outputs));
  kernel::max_pool<T>({}, w, false, from, to,
                      View<std::int64_t>{places.data(), shape.data(), shape.size()});
  compare(by_definition(given, w, x, true, false));
  for (std::size_t i = 0; i < places.size(); ++i) {
    REQUIRE(x[static_cast<std::size_t>(places[i])] == y[i]);
  }
  if constexpr (std::is_floating_point_v<kernel::compute_t<T>>) {
    check_gradients(w, from, to, places);
    for (const bool counts_padding : {false, true}) {
      kernel::average_pool<T>({}, w, counts_padding, from, to);
      compare(by_definition(given, w, x, false, counts_padding));
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("pool: one to three dimensions, strides, dilations, pads", T, float, double,
                   half, std::int8_t) {
  check<T>({{2, 3, 40}, {.kernel = {3}}});
  check<T>({{1, 2, 40}, {.kernel = {4}, .strides = {3}, .pads = {2, 1}}});
  check<T>({{1, 2, 7, 9}, {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}});
  check<T>({{1, 2, 7, 90}, {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}});
  check<T>({{1, 2, 8, 70}, {.kernel = {2, 3}, .dilations = {3, 2}, .pads = {1, 2, 0, 1}}});
  check<T>(
      {{1, 1, 5, 6, 37}, {.kernel = {2, 3, 3}, .strides = {1, 2, 2}, .pads = {1, 0, 1, 0, 1, 1}}});
  check<T>({{1, 2, 9, 34},
            {.kernel = {2, 2}, .strides = {2, 2}, .pads = {0, 0, 1, 1}, .ceil_mode = true}});
  check<T>(
      {{1, 2, 10, 50}, {.kernel = {3, 5}, .strides = {2, 5}, .auto_pad = AutoPad::same_lower}});
}

TEST_CASE_TEMPLATE("pool: narrow windows side by side", T, float, double, half, std::int8_t) {
  for (const std::int64_t width : {3, 15, 16, 33, 64, 90}) {
    check<T>({{1, 2, 5, width}, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}});
    check<T>({{1, 2, 5, width}, {.kernel = {3, 3}, .pads = {0, 1, 2, 0}}});
    check<T>({{1, 2, 5, width}, {.kernel = {3, 3}}});
    check<T>({{1, 2, 4, width}, {.kernel = {2, 2}}});
    check<T>({{1, 1, 3, 4, width}, {.kernel = {2, 2, 3}, .pads = {1, 0, 1, 0, 1, 1}}});
  }
}

TEST_CASE_TEMPLATE("pool: last dimensions that are neither windowed nor moved are lanes", T, float,
                   half, bfloat16, std::int8_t) {
  for (const std::int64_t lanes : {2, 4, 7, 8, 16, 21, 32, 64, 80}) {
    check<T>({{1, 2, 9, 8, lanes},
              {.kernel = {3, 3, 1}, .strides = {2, 2, 1}, .pads = {1, 1, 0, 1, 1, 0}}});
    check<T>({{1, 2, 9, 8, lanes}, {.kernel = {2, 2, 1}, .strides = {2, 2, 1}, .ceil_mode = true}});
    check<T>({{1, 1, 7, 9, lanes}, {.kernel = {3, 2, 1}, .pads = {2, 1, 0, 0, 1, 0}}});
    check<T>({{1, 1, 2, 3, lanes}, {.kernel = {3, 3, 1}, .pads = {2, 1, 0, 1, 1, 0}}});
    check<T>({{1, 1, 3, 5, 6 * lanes}, {.kernel = {1, 2, 1}, .strides = {1, 2, 1}}});
    check<T>({{2, 1, 6, lanes}, {.kernel = {4, 1}, .dilations = {1, 1}}});
  }
}

TEST_CASE_TEMPLATE("pool: lanes of 16 bits order all numbers, and NaN of either sign is not lost",
                   T, half, bfloat16) {
  for (const std::int64_t lanes : {8, 16, 32}) {
    for (const std::int64_t size : {2, 3}) {
      const std::int64_t extents[] = {1, 1, 40, 41, lanes};
      const Window w = Window::over(std::span<const std::int64_t>(extents).subspan(2),
                                    {.kernel = {size, size, 1}, .strides = {2, 2, 1}});
      const std::int64_t outputs[] = {1, 1, w.output[0], w.output[1], lanes};
      std::vector<T> x(static_cast<std::size_t>(40 * 41 * lanes));
      std::uint32_t state = 7;
      for (std::size_t i = 0; i < x.size(); ++i) {
        state = state * 1664525 + 1013904223;
        const std::uint32_t sign = i < x.size() / 2 ? 0x8000 : 0;  // of all in half of the rows
        x[i] = std::bit_cast<T>(static_cast<std::uint16_t>(state >> 16 | sign));
      }
      std::vector<T> y(static_cast<std::size_t>(w.output[0] * w.output[1] * lanes));
      kernel::max_pool<T>({}, w, false, {x.data(), extents, 5}, {y.data(), outputs, 5}, {});
      std::size_t nan = 0, below = 0;
      for (std::int64_t h = 0; h < w.output[0]; ++h)
        for (std::int64_t c = 0; c < w.output[1]; ++c)
          for (std::int64_t lane = 0; lane < lanes; ++lane) {
            float expected = -std::numeric_limits<float>::infinity();
            for (std::int64_t k = 0; k < size * size; ++k) {
              const std::int64_t row = 2 * h + k / size, column = 2 * c + k % size;
              const auto v = static_cast<float>(
                  x[static_cast<std::size_t>((row * 41 + column) * lanes + lane)]);
              if (!(v <= expected)) expected = std::isnan(expected) ? expected : v;
            }
            const auto found = static_cast<float>(
                y[static_cast<std::size_t>((h * w.output[1] + c) * lanes + lane)]);
            nan += std::isnan(expected);
            below += expected < 0;
            CHECK((std::isnan(expected) ? std::isnan(found) : found == expected));
          }
      CHECK(nan > 0);
      CHECK(below > y.size() / 3);
    }
  }
}

TEST_CASE("pool: rows and windows larger than the kernel's buffers") {
  check<float>({{1, 1, 3, 5000}, {.kernel = {2, 3}, .strides = {1, 2}, .pads = {0, 1, 1, 1}}});
  check<float>({{1, 1, 3, 5000}, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}});
  check<float>({{1, 1, 2, 3000}, {.kernel = {2, 2500}, .strides = {1, 7}}});
  check<float>({{1, 1, 300, 4}, {.kernel = {290, 2}}});
  check<float>({{1, 1, 1, 3000}, {.kernel = {1, 3}, .strides = {1, 1000}}});
}

TEST_CASE("pool: outputs that no cache keeps are those of each plane by itself") {
  const std::int64_t planes = 2100, size = 64 * 64, all[] = {1, planes, 64, 64},
                     one[] = {1, 1, 64, 64};
  std::vector<float> x(static_cast<std::size_t>(planes * size)), expected(size);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 101);
  // 64-byte aligned, as tensors are.
  const Storage memory = Storage::allocate(x.size() * sizeof(float));
  auto* const y = reinterpret_cast<float*>(memory.data());
  const Window w = Window::over(std::span<const std::int64_t>(one).subspan(2),
                                {.kernel = {3, 3}, .pads = {1, 1, 1, 1}});
  kernel::max_pool<float>(backwards, w, false, {x.data(), all, 4}, {y, all, 4}, {});
  for (std::int64_t p = 0; p < planes; ++p) {
    kernel::max_pool<float>({}, w, false, {x.data() + p * size, one, 4}, {expected.data(), one, 4},
                            {});
    REQUIRE(std::memcmp(expected.data(), y + p * size, expected.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("pool: NaN is not lost, wherever it is in a window") {
  for (std::size_t place = 0; place < 100; ++place) {
    const std::int64_t extents[] = {1, 1, 2, 50}, outputs[] = {1, 1, 1, 25};
    std::vector<float> x(100, 1), y(25);
    x[place] = std::nanf("");
    const Window w = Window::over(std::span<const std::int64_t>(extents).subspan(2),
                                  {.kernel = {2, 2}, .strides = {2, 2}});
    kernel::max_pool<float>({}, w, false, {x.data(), extents, 4}, {y.data(), outputs, 4}, {});
    for (std::size_t i = 0; i < 25; ++i) CHECK(std::isnan(y[i]) == (i == place % 50 / 2));
    const std::int64_t near[] = {1, 1, 1, 48};
    std::vector<float> beside(48);
    const Window three = Window::over(std::span<const std::int64_t>(extents).subspan(2),
                                      {.kernel = {2, 3}, .strides = {1, 1}});
    kernel::max_pool<float>({}, three, false, {x.data(), extents, 4}, {beside.data(), near, 4}, {});
    for (std::size_t i = 0; i < 48; ++i) {
      CHECK(std::isnan(beside[i]) == (place % 50 >= i && place % 50 <= i + 2));
    }
    const std::vector<float> dy(25, 1);
    std::vector<float> dx(100);
    KernelCall call;
    call.executor = &backwards;
    kernel::max_pool_gradient<float>(call, w, {x.data(), extents, 4}, {dy.data(), outputs, 4},
                                     {dx.data(), extents, 4});
    CHECK(dx[place] == 1);
  }
}

namespace {

/// The gradients of pooling over rows and columns as plain loops over the windows, in double: dy
/// goes to the first largest element, NaN before all, or in equal parts to all elements.
template <class T>
void check_against_plain_loops(std::int64_t planes, std::int64_t height, std::int64_t width,
                               const WindowAttributes& attributes, const kernel::Executor& on) {
  const std::int64_t extents[] = {1, planes, height, width};
  const Window w = Window::over(std::span<const std::int64_t>(extents).subspan(2), attributes);
  REQUIRE(w.ok());
  const std::int64_t outputs[] = {1, planes, w.output[0], w.output[1]};
  const auto size = static_cast<std::size_t>(planes * height * width);
  const auto out_size = static_cast<std::size_t>(planes * w.output[0] * w.output[1]);
  // Exact blocks, so that a sanitizer sees accesses outside; aligned, so that rows can be streamed.
  const Storage memory = Storage::allocate(size * sizeof(T));
  auto* const dx = reinterpret_cast<T*>(memory.data());
  std::vector<T> x(size), dy(out_size);
  std::vector<float> sums(size);
  for (std::size_t i = 0; i < size; ++i) {
    // Few numbers, so that many are equal; whole windows of -infinity.
    const std::size_t kind = i * 2654435761u % 23;
    x[i] = static_cast<T>(static_cast<float>(kind % 5));
    if (kind == 22) x[i] = static_cast<T>(std::nanf(""));
    if (kind == 21 || i / 7 % 4 == 0) x[i] = static_cast<T>(-static_cast<float>(infinity));
  }
  for (std::size_t i = 0; i < out_size; ++i) dy[i] = static_cast<T>(static_cast<int>(i % 7) - 2);
  std::vector<double> largest(size), inside(size), padded(size);
  for (std::int64_t o = 0; o < static_cast<std::int64_t>(out_size); ++o) {
    const std::int64_t p = o / (w.output[0] * w.output[1]);
    const std::int64_t top = o / w.output[1] % w.output[0] * w.strides[0] - w.pad_begin(0);
    const std::int64_t left = o % w.output[1] * w.strides[1] - w.pad_begin(1);
    std::vector<std::size_t> elements;
    int padded_count = 0;
    for (std::int64_t k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
      const std::int64_t a = top + k / w.kernel[1] * w.dilations[0];
      const std::int64_t b = left + k % w.kernel[1] * w.dilations[1];
      padded_count += a < height + w.pad_end(0) && b < width + w.pad_end(1);
      if (a < 0 || a >= height || b < 0 || b >= width) continue;
      elements.push_back(static_cast<std::size_t>((p * height + a) * width + b));
    }
    if (elements.empty()) continue;
    const auto sent = static_cast<double>(dy[static_cast<std::size_t>(o)]);
    std::size_t best = elements[0];
    for (const std::size_t i : elements) {
      const auto v = static_cast<double>(x[i]), old = static_cast<double>(x[best]);
      if (v > old || (std::isnan(v) && !std::isnan(old))) best = i;
      inside[i] += sent / static_cast<double>(elements.size());
      padded[i] += sent / padded_count;
    }
    largest[best] += sent;
  }
  KernelCall call;
  call.executor = &on;
  call.workspace = sums.data();
  const View<const T> from{x.data(), extents, 4}, given{dy.data(), outputs, 4};
  const View<T> to{dx, extents, 4};
  const auto compare = [&](const std::vector<double>& expected, double tolerance) {
    for (std::size_t i = 0; i < size; ++i) {
      if (std::fabs(static_cast<double>(dx[i]) - expected[i]) <= tolerance) continue;
      CAPTURE(i);
      REQUIRE(static_cast<double>(dx[i]) == expected[i]);
    }
  };
  for (std::size_t i = 0; i < size; ++i) dx[i] = static_cast<T>(77);
  kernel::max_pool_gradient<T>(call, w, from, given, to);
  compare(largest, 0);
  // Sums of at most 25 shares of at most 4, each rounded.
  const double tolerance = sizeof(T) == 2 ? 2e-2 : 2e-5;
  kernel::average_pool_gradient<T>(call, w, kernel::PoolCount::inside, given, to);
  compare(inside, tolerance);
  kernel::average_pool_gradient<T>(call, w, kernel::PoolCount::padded, given, to);
  compare(padded, tolerance);
}

}  // namespace

TEST_CASE_TEMPLATE("pool: gradients are those of plain loops, with ties, NaN and infinity", T,
                   float, double, half) {
  const WindowAttributes windows[] = {
      {.kernel = {2, 2}, .strides = {2, 2}},
      {.kernel = {2, 2}, .strides = {2, 2}, .pads = {0, 0, 1, 1}, .ceil_mode = true},
      {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}},
      {.kernel = {3, 3}, .strides = {2, 2}, .ceil_mode = true},
      {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 2, 2}, .ceil_mode = true},
      {.kernel = {3, 3}, .pads = {1, 1, 1, 1}},
      {.kernel = {3, 3}},
      {.kernel = {2, 3}, .strides = {3, 1}, .dilations = {2, 1}, .pads = {1, 1, 1, 1}},
      {.kernel = {3, 2}, .strides = {1, 2}, .dilations = {3, 1}, .pads = {2, 0, 2, 0}},
      {.kernel = {5, 5}, .pads = {2, 2, 2, 2}},
      {.kernel = {2, 2}, .dilations = {2, 2}},
      {.kernel = {4, 3}, .strides = {3, 3}},
  };
  for (const std::int64_t width : {5, 16, 33, 64, 71}) {
    for (const WindowAttributes& window : windows) {
      check_against_plain_loops<T>(2, 9, width, window, backwards);
    }
  }
}

TEST_CASE("pool: gradients that no cache keeps are those of each plane by itself") {
  const std::int64_t planes = 2100, size = 64 * 64, all[] = {1, planes, 64, 64},
                     one[] = {1, 1, 64, 64}, dy_all[] = {1, planes, 32, 32},
                     dy_one[] = {1, 1, 32, 32};
  std::vector<float> x(static_cast<std::size_t>(planes * size)), dy(x.size() / 4), expected(size);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 101);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i * 2654435761u % 103);
  // 64-byte aligned, as tensors are.
  const Storage memory = Storage::allocate(x.size() * sizeof(float));
  auto* const dx = reinterpret_cast<float*>(memory.data());
  const Window w = Window::over(std::span<const std::int64_t>(one).subspan(2),
                                {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}});
  const kernel::Executor alone;
  KernelCall many, single;
  many.executor = &backwards;
  single.executor = &alone;
  const auto compare = [&](auto gradient) {
    gradient(many, View<const float>{x.data(), all, 4}, View<const float>{dy.data(), dy_all, 4},
             View<float>{dx, all, 4});
    for (std::int64_t p = 0; p < planes; ++p) {
      gradient(single, View<const float>{x.data() + p * size, one, 4},
               View<const float>{dy.data() + p * size / 4, dy_one, 4},
               View<float>{expected.data(), one, 4});
      REQUIRE(std::memcmp(expected.data(), dx + p * size, expected.size() * sizeof(float)) == 0);
    }
  };
  compare([&](const KernelCall& call, auto from, auto given, auto to) {
    kernel::max_pool_gradient<float>(call, w, from, given, to);
  });
  compare([&](const KernelCall& call, auto, auto given, auto to) {
    kernel::average_pool_gradient<float>(call, w, kernel::PoolCount::inside, given, to);
  });
}
