#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include <halftone/base/dims.hpp>
#include <halftone/op/graphcore_print.hpp>

namespace halftone::kernel {

namespace detail {

template <class T>
using float_or_double = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// A tensor whose type only the functions know.
struct PrintedTensor {
  const void* data;
  Dims shape;
  bool is_real, is_signed;
  double (*real)(const void* data, std::int64_t i);
  std::uint64_t (*bits)(const void* data, std::int64_t i);  ///< of an integer, sign extended
};

/// Writes a tensor as text; `write` takes pieces of it.
class TensorPrinter {
 public:
  using Write = void (*)(void* to, const char* text, std::size_t size);

  TensorPrinter(const PrintFormat& format, const PrintedTensor& x, Write write, void* to)
      : format_(format), x_(x), write_(write), to_(to) {
    const std::int64_t n = product(x.shape);
    is_summary_ = n > format.threshold;
    if (x.is_real && format.numbers == FloatFormat::automatic) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = x.real(x.data, i), size = value < 0 ? -value : value;
        if (size - size != 0 || size == 0) continue;  // neither infinities nor NaN
        is_scientific_ = is_scientific_ || size >= 1e8 || size < 1e-4;
      }
    }
  }

  void run() {
    if (!format_.title.empty()) {
      put(format_.title.data(), format_.title.size());
      put(x_.shape.size() > 1 ? ":\n" : ": ", 2);
      column_ = x_.shape.size() > 1 ? 0 : column_;
    }
    list(0, 0);
    put("\n", 1);
  }

 private:
  void put(const char* text, std::size_t size) {
    write_(to_, text, size);
    column_ += static_cast<std::int64_t>(size);
  }
  void put(char c) { put(&c, 1); }
  void new_line(std::size_t indent) {
    put('\n');
    column_ = 0;
    for (std::size_t i = 0; i < indent; ++i) put(' ');
  }

  /// Dimensions from `axis` on; `first` counts the elements of those before it.
  void list(std::size_t axis, std::int64_t first) {
    if (axis == x_.shape.size()) {
      char text[room];
      put(text, number(first, text));
      return;
    }
    put(format_.open);
    const std::int64_t n = x_.shape[axis];
    const std::int64_t edge = is_summary_ && format_.edge_items < n ? format_.edge_items : n;
    const bool is_cut = edge < n - edge;
    for (std::int64_t i = 0; i < (is_cut ? edge : n); ++i) item(axis, first * n + i, i == 0);
    if (is_cut) {
      separate(axis, 3, edge == 0);
      put("...", 3);
      for (std::int64_t i = n - edge; i < n; ++i) item(axis, first * n + i, false);
    }
    put(format_.close);
  }
  void item(std::size_t axis, std::int64_t at, bool is_first) {
    if (axis + 1 < x_.shape.size()) {
      separate(axis, 0, is_first);
      list(axis + 1, at);
      return;
    }
    char text[room];
    const std::size_t size = number(at, text);
    separate(axis, size, is_first);
    put(text, size);
  }
  /// What stands in front of the next `size` characters, or in front of the next list.
  void separate(std::size_t axis, std::size_t size, bool is_first) {
    if (is_first) return;
    const bool is_number = axis + 1 == x_.shape.size();
    if (is_number || format_.separator != ' ') put(format_.separator);
    if (!is_number || column_ + static_cast<std::int64_t>(size) >= format_.line_width) {
      new_line(axis + 1);
    }
  }
  std::size_t number(std::int64_t i, char* text) const {
    int size = 0;
    if (!x_.is_real) {
      const std::uint64_t bits = x_.bits(x_.data, i);
      const bool is_negative = x_.is_signed && bits >> 63 != 0;
      size = std::snprintf(text, room, "%s%llu", is_negative ? "-" : "",
                           static_cast<unsigned long long>(is_negative ? 0 - bits : bits));
    } else {
      const double value = x_.real(x_.data, i);
      const int digits = static_cast<int>(format_.digits);
      if (format_.numbers == FloatFormat::general) {
        size = std::snprintf(text, room, "%.*g", digits, value);
      } else if (format_.numbers == FloatFormat::scientific || is_scientific_) {
        size = std::snprintf(text, room, "%.*e", digits, value);
      } else {
        size = std::snprintf(text, room, "%.*f", digits, value);
      }
    }
    return size < 0                                ? 0
           : static_cast<std::size_t>(size) < room ? static_cast<std::size_t>(size)
                                                   : room - 1;
  }

  /// Characters of a number: the largest double has 309 before its point.
  static constexpr std::size_t room = 384;

  const PrintFormat& format_;
  const PrintedTensor& x_;
  Write write_;
  void* to_;
  std::int64_t column_ = 0;
  bool is_summary_ = false, is_scientific_ = false;
};

template <class T>
void print_to(TensorPrinter::Write write, void* to, const PrintFormat& format, View<const T> x) {
  PrintedTensor tensor{.data = x.data,
                       .shape = Dims(x.shape()),
                       .is_real = is_floating_point(element_type<T>),
                       .is_signed = is_signed(element_type<T>),
                       .real = nullptr,
                       .bits = nullptr};
  if constexpr (is_floating_point(element_type<T>)) {
    tensor.real = [](const void* data, std::int64_t i) {
      return static_cast<double>(static_cast<float_or_double<T>>(static_cast<const T*>(data)[i]));
    };
  } else {
    tensor.bits = [](const void* data, std::int64_t i) {
      const T element = static_cast<const T*>(data)[i];
      if constexpr (std::is_integral_v<T>) {
        return static_cast<std::uint64_t>(element);
      } else {
        return static_cast<std::uint64_t>(std::int64_t{element.value});
      }
    };
  }
  TensorPrinter(format, tensor, write, to).run();
}

}  // namespace detail

template <class T>
void print_tensor(const PrintFormat& format, View<const T> x) {
  detail::print_to<T>(
      [](void*, const char* text, std::size_t size) {
        static_cast<void>(std::fwrite(text, 1, size, stderr));
      },
      nullptr, format, x);
}

}  // namespace halftone::kernel
