#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_PRINT_HPP
#define HALFTONE_OP_GRAPHCORE_PRINT_HPP

#include <string>
#include <string_view>

#include <halftone/kernel/abort.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

/// How PrintTensor writes real numbers, numbered as PopART's.
enum class FloatFormat : std::int64_t {
  automatic,  ///< scientific if a number is 1e8 or more or less than 1e-4, else fixed
  fixed,
  scientific,
  general  ///< the shorter one, with so many significant digits
};

struct PrintFormat {
  std::string_view title;
  std::int64_t threshold, edge_items, line_width, digits;
  FloatFormat numbers;
  char separator, open, close;
};

// kernel/print.hpp
template <class T>
void print_tensor(const PrintFormat& format, View<const T> x);

}  // namespace halftone::kernel

namespace halftone::op {

/// The tensor itself, which is printed to the standard error stream in each run.
///
/// title                    in front of the elements
/// summariseThreshold       of more elements than that only edgeItems at both ends of each
///                          dimension are printed
/// maxLineWidth             a longer line continues on the next one
/// digits                   behind the point
/// floatFormat              0: automatic, 1: fixed, 2: scientific, 3: the shorter one
/// separator, openBracket, closeBracket  characters, by their numbers
/// print_gradient           1: the gradient is printed too, "_gradient" behind the title
/// source                   ai.graphcore PrintTensor-1
struct PrintTensor {
  std::int64_t print_gradient = 1;
  BoundedText<256> title{};
  std::int64_t threshold = 1000, edge_items = 3, line_width = 75, digits = 8;
  kernel::FloatFormat numbers = kernel::FloatFormat::automatic;
  std::int64_t separator = ' ', open = '[', close = ']';

  static constexpr OpId id{"ai.graphcore", "PrintTensor", 1};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<AllTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;
  static constexpr bool has_effect = true;

  constexpr void attributes(auto&& visit) {
    visit("print_gradient", print_gradient);
    visit("title", title);
    visit("summariseThreshold", threshold);
    visit("edgeItems", edge_items);
    visit("maxLineWidth", line_width);
    visit("digits", digits);
    visit("floatFormat", numbers);
    visit("separator", separator);
    visit("openBracket", open);
    visit("closeBracket", close);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (threshold < 0) return Inferred::mismatch("summariseThreshold is negative", 0, threshold);
    if (edge_items < 0) return Inferred::mismatch("edgeItems is negative", 0, edge_items);
    if (digits < 0 || digits > 64) return Inferred::mismatch("digits is out of range", 64, digits);
    if (numbers < kernel::FloatFormat::automatic || numbers > kernel::FloatFormat::general) {
      return Inferred::mismatch("floatFormat is out of range", 3,
                                static_cast<std::int64_t>(numbers));
    }
    for (const std::int64_t c : {separator, open, close}) {
      if (c < 1 || c > 126) return Inferred::mismatch("a character is out of range", 126, c);
    }
    return x;
  }
  template <class T>
  void kernel(View<const T> x, View<T> y) const {
    if (y.data != x.data) {
      __builtin_memcpy(y.data, x.data, static_cast<std::size_t>(x.size()) * sizeof(T));
    }
    kernel::print_tensor<T>({.title = title.view(),
                             .threshold = threshold,
                             .edge_items = edge_items,
                             .line_width = line_width,
                             .digits = digits,
                             .numbers = numbers,
                             .separator = static_cast<char>(separator),
                             .open = static_cast<char>(open),
                             .close = static_cast<char>(close)},
                            View<const T>{y.data, y.extents, y.rank});
  }
  constexpr void gradient(auto& g) const {
    if (print_gradient == 0) {
      g.dx(0) += g.dy();
      return;
    }
    PrintTensor printed = *this;
    const std::string text = std::string(title.view()) + "_gradient";
    printed.title.assign(text);
    g.dx(0) += OpFunction<PrintTensor>{}(g.dy(), printed);
  }
};

/// Stops the run with an InputError.
///
/// condition  at most one element: only if it is not 0; absent: always
/// source     ai.graphcore Abort-1
struct Abort {
  static constexpr OpId id{"ai.graphcore", "Abort", 1};
  static constexpr Signature signature = "condition? ->";
  using types = TypeList<Joined<NumericTypes, TypeList<bool>>>;
  static constexpr bool compiled_once = true;
  static constexpr bool has_effect = true;

  static constexpr Inferred infer(const Inputs& in) {
    if (in.has(0) && in[0].elements() > 1) {
      return Inferred::mismatch("the condition has several elements", 1, in[0].elements());
    }
    return Inferred(Vector<TensorInfo>{});
  }
  template <class T>
  void kernel(View<const T> condition) const {
    if (!condition) halftone_abort();
    if (condition.size() == 0) return;
    if (static_cast<halftone::detail::Compute<T>>(condition[0]) != 0) halftone_abort();
  }
};

}  // namespace halftone::op

#endif
