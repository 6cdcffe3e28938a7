#include <halftone/float8_host.hpp>

#include <cmath>
#include <limits>
#include <string>

#include <halftone/base/error.hpp>

#include "describe.hpp"

namespace halftone {
namespace {

using WideTypes = TypeList<double, float, half, bfloat16>;
using DeviceFloat8 = TypeList<float8_e4m3fnuz, float8_e5m2fnuz>;

void check_scale(int log2_scale) {
  if (log2_scale >= -32 && log2_scale < 32) return;
  fail(ErrorKind::usage, {.what = "the scale of a float8 cast is out of range",
                          .expected = "-32 to 31",
                          .found = std::to_string(log2_scale)});
}

[[noreturn]] void refuse_type(std::string_view what, std::string_view expected, ElementType found) {
  fail(ErrorKind::usage, {.what = what, .expected = expected, .found = name(found)});
}
constexpr std::string_view wide_names = "float16, bfloat16, float or double";
constexpr std::string_view narrow_names = "float8_e4m3fnuz or float8_e5m2fnuz";

template <class T>
T narrowed(double x, bool nan_on_overflow) {
  if (std::isinf(x)) return T(std::numeric_limits<float>::quiet_NaN());
  return nan_on_overflow ? T::unsaturated(x) : T(x);
}

/// f(x as double, y) for each element of x and its float8.
template <class F>
void for_each_element(const AnyView& x, F&& f) {
  const bool is_wide = visit_type<WideTypes>(x.info.type, [&]<class X>() {
    const X* values = static_cast<const X*>(x.data);
    for (std::int64_t i = 0, n = x.info.elements(); i < n; ++i) {
      if constexpr (std::is_same_v<X, double>) {
        f(i, values[i]);
      } else {
        f(i, static_cast<double>(static_cast<float>(values[i])));
      }
    }
  });
  if (!is_wide) refuse_type("float8 is cast from wider floats", wide_names, x.info.type);
}

}  // namespace

AnyArray host_pow2scale_cast_to_fp8(const AnyView& x, ElementType type, int log2_scale,
                                    bool nan_on_overflow) {
  check_scale(log2_scale);
  AnyArray y;
  const bool is_narrow = visit_type<DeviceFloat8>(type, [&]<class T>() {
    y = AnyArray({type, x.info.shape});
    T* codes = y.values<T>().data();
    for_each_element(x, [&](std::int64_t i, double value) {
      codes[i] = narrowed<T>(std::ldexp(value, log2_scale), nan_on_overflow);
    });
  });
  if (!is_narrow) refuse_type("a float8 cast is to another type", narrow_names, type);
  return y;
}

AnyArray host_pow2scale_cast_from_fp8(const AnyView& x, ElementType type, int log2_scale) {
  check_scale(log2_scale);
  AnyArray y;
  const bool is_narrow = visit_type<DeviceFloat8>(x.info.type, [&]<class T>() {
    const bool is_wide = visit_type<WideTypes>(type, [&]<class Y>() {
      y = AnyArray({type, x.info.shape});
      const T* codes = static_cast<const T*>(x.data);
      Y* values = y.values<Y>().data();
      for (std::int64_t i = 0, n = x.info.elements(); i < n; ++i) {
        values[i] = static_cast<Y>(std::ldexp(static_cast<double>(float(codes[i])), log2_scale));
      }
    });
    if (!is_wide) refuse_type("float8 is cast to wider floats", wide_names, type);
  });
  if (!is_narrow) refuse_type("a float8 cast is from another type", narrow_names, x.info.type);
  return y;
}

int host_fp8_mse_scale(const AnyView& x, ElementType type) {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  const bool is_narrow = visit_type<DeviceFloat8>(type, [&]<class T>() {
    for (int scale = -31; scale <= 31; ++scale) {
      double error = 0;
      for_each_element(x, [&](std::int64_t, double value) {
        const T code = narrowed<T>(std::ldexp(value, scale), false);
        const double back = std::ldexp(static_cast<double>(float(code)), -scale);
        error += (back - value) * (back - value);
      });
      if (error < least) best = scale;
      if (error < least) least = error;
    }
  });
  if (!is_narrow) refuse_type("a float8 cast is to another type", narrow_names, type);
  return best;
}

}  // namespace halftone
