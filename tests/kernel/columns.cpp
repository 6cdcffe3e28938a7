#include <doctest/doctest.h>

#include <cstdint>
#include <halftone/base/element_type.hpp>
#include <halftone/kernel/columns.hpp>
#include <vector>

using namespace halftone;

namespace {

std::int64_t product_of(const Dims& extents) {
  std::int64_t n = 1;
  for (const std::int64_t extent : extents) n *= extent;
  return n;
}

std::vector<Window> windows_over(const Dims& image) {
  std::vector<Window> windows;
  for (const std::int64_t kernel : {1, 2, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        for (const std::int64_t pad : {0, 1, 4}) {
          WindowAttributes given{.kernel = Dims::filled(image.size(), kernel),
                                 .strides = Dims::filled(image.size(), stride),
                                 .dilations = Dims::filled(image.size(), dilation),
                                 .pads = Pads::filled(2 * image.size(), pad)};
          given.kernel[0] = 2;
          given.pads[0] = 3;
          const Window window = Window::over(image.span(), given);
          if (window.ok()) windows.push_back(window);
        }
      }
    }
  }
  return windows;
}

/// The offset of the pixel under an element of the window at a position, or -1 if it is outside.
std::int64_t pixel_of(const Window& window, const Dims& image, std::int64_t element,
                      std::int64_t position) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t d = image.size(); d-- > 0; stride *= image[d]) {
    const std::int64_t at = position % window.output[d] * window.strides[d] +
                            element % window.kernel[d] * window.dilations[d] - window.pad_begin(d);
    if (at < 0 || at >= image[d]) return -1;
    offset += at * stride;
    element /= window.kernel[d];
    position /= window.output[d];
  }
  return offset;
}

template <class T, class S>
void check_added(const Dims& image) {
  for (const Window& window : windows_over(image)) {
    const std::int64_t elements = product_of(window.kernel), count = product_of(window.output);
    std::vector<T> columns(std::size_t(elements * count));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i] = static_cast<T>(static_cast<float>(i * 2654435761u % 251) / 7 - 10);
    }
    std::vector<S> sums(std::size_t(product_of(image)), S(5)), expected = sums;
    for (std::int64_t k = 0; k < elements; ++k) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t pixel = pixel_of(window, image, k, i);
        if (pixel >= 0) expected[pixel] += static_cast<S>(columns[k * count + i]);
      }
    }
    kernel::add_columns(window, image.begin(), window.output.begin(), columns.data(), sums.data());
    CHECK((sums == expected));
  }
}

template <class T>
void check_copied(const Dims& image) {
  for (const Window& window : windows_over(image)) {
    const std::int64_t elements = product_of(window.kernel), count = product_of(window.output);
    std::vector<T> pixels(std::size_t(product_of(image)));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = T(i % 101);
    for (std::int64_t k = 0; k < elements; ++k) {
      std::vector<T> column(std::size_t(count), T(111)), expected = column;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t pixel = pixel_of(window, image, k, i);
        if (pixel >= 0) expected[i] = pixels[pixel];
      }
      kernel::copy_column(window, image.begin(), window.output.begin(), k, pixels.data(),
                          column.data());
      if (column != expected) FAIL_CHECK("element " << k);
    }
  }
}

const std::vector<Dims> images{{40}, {0}, {1, 1}, {5, 7}, {3, 37}, {0, 4}, {3, 2, 9}};

}  // namespace

TEST_CASE("columns: pixels get their terms in the order of the window's elements") {
  for (const Dims& image : images) {
    check_added<float, float>(image);
    check_added<double, double>(image);
    check_added<half, float>(image);
    check_added<bfloat16, float>(image);
    check_added<std::int8_t, std::uint64_t>(image);
    check_added<std::int32_t, std::uint64_t>(image);
  }
}

TEST_CASE("columns: the pixels under an element of the window, those outside are left out") {
  for (const Dims& image : images) {
    check_copied<std::uint8_t>(image);
    check_copied<std::uint16_t>(image);
    check_copied<std::uint32_t>(image);
    check_copied<std::uint64_t>(image);
  }
}
