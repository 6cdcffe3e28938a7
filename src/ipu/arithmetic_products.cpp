#include <algorithm>

#include <halftone/base/window.hpp>
#include <halftone/op/list.hpp>

#include "ipu/arithmetic.hpp"

// Matrix products and convolutions of half, as the machine's units add them up.
namespace halftone::ipu {
namespace {

constexpr std::int64_t group_elements = 16;  ///< of half that a matrix unit adds up in one go

/// A window over images, of up to three spatial dimensions: where each position reads.
struct Images {
  Window window;
  Dims extents;                ///< of x: spatial
  bool is_transposed = false;  ///< the result is x: pixels of the window's output are read

  /// The number of the pixel that pixel `to` of the result multiplies with kernel position `tap`;
  /// -1: none, or padding.
  std::int64_t read(std::int64_t to, std::int64_t tap) const {
    const Dims& result = is_transposed ? extents : window.output;
    const Dims& other = is_transposed ? window.output : extents;
    std::int64_t at = 0, step = 1;
    for (std::size_t i = window.rank(); i-- > 0;) {
      const std::int64_t p = to % result[i], k = tap % window.kernel[i];
      const std::int64_t offset = k * window.dilations[i] - window.pad_begin(i);
      std::int64_t from = is_transposed ? p - offset : p * window.strides[i] + offset;
      if (is_transposed) {
        if (from % window.strides[i] != 0) return -1;
        from /= window.strides[i];
      }
      if (from < 0 || from >= other[i]) return -1;
      at += from * step;
      step *= other[i];
      to /= result[i];
      tap /= window.kernel[i];
    }
    return at;
  }
};

Dims spatial(const Dims& shape) { return Dims(shape.span().subspan(2)); }

}  // namespace

void ArithmeticRunner::multiply(const Now& now, const Extents& e, const RowSource& rows,
                                const float* right, float* y) {
  if (e.rows == 0 || e.columns == 0) return;
  const ProductOptions asked = products_.with(now.node.planning);
  const bool half_sums = asked.partials == ElementType::float16;
  std::int64_t parts = 1;
  if (e.inner > group_elements) {
    const Product p{.rows = e.rows,
                    .inner = e.inner,
                    .columns = e.columns,
                    .input = ElementType::float16,
                    .output = ElementType::float16};
    parts = planner_.plan(p, asked).split_inner;
  }
  // Groups end where the channels of a kernel position do.
  const std::int64_t channels = e.inner / std::max<std::int64_t>(e.taps, 1);
  std::vector<std::int64_t> ends;
  for (std::int64_t tap = 0; tap < e.taps; ++tap) {
    for (std::int64_t c = 0; c < channels; c += group_elements) {
      ends.push_back(tap * channels + std::min(c + group_elements, channels));
    }
  }
  const auto groups = static_cast<std::int64_t>(ends.size());
  const Mapping mapping = spread_mapping(t_, e.rows * e.columns, t_.tiles_per_ipu);
  const auto compute_row = [&](std::int64_t row, std::vector<float>& left,
                               std::vector<float>& sums) {
    float* total = y + row * e.columns;
    std::fill(total, total + e.columns, 0.0f);
    rows(row, left.data());
    std::int64_t group = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      // One tile's share of the inner elements.
      std::fill(sums.begin(), sums.end(), 0.0f);
      const std::int64_t last = (part + 1) * groups / parts;
      for (; group < last; ++group) {
        std::int64_t k = group == 0 ? 0 : ends[static_cast<std::size_t>(group - 1)];
        const std::int64_t end = ends[static_cast<std::size_t>(group)];
        for (; k < end; k += 4) {
          // Four products at once, which is exact, then into the accumulator.
          const std::int64_t chained = std::min<std::int64_t>(4, end - k);
          double a[4] = {};
          const float* b[4];
          for (std::int64_t i = 0; i < 4; ++i) {
            if (i < chained) a[i] = static_cast<double>(left[static_cast<std::size_t>(k + i)]);
            b[i] = right + (k + std::min(i, chained - 1)) * e.columns;
          }
          float* acc = sums.data();
          for (std::int64_t n = 0; n < e.columns; ++n) {
            const double four =
                (a[0] * static_cast<double>(b[0][n]) + a[1] * static_cast<double>(b[1][n])) +
                (a[2] * static_cast<double>(b[2][n]) + a[3] * static_cast<double>(b[3][n]));
            acc[n] = static_cast<float>(static_cast<double>(acc[n]) + four);
          }
        }
        if (half_sums && narrow_floats(mapping, row * e.columns, sums)) raise(now, 0, "overflow");
      }
      for (std::int64_t n = 0; n < e.columns; ++n) total[n] += sums[static_cast<std::size_t>(n)];
    }
  };
  // Draws have an order; without them rows are each for itself.
  constexpr std::int64_t block = 8;
  const auto compute_block = [&](std::int64_t b) {
    std::vector<float> left(static_cast<std::size_t>(std::max<std::int64_t>(e.inner, 1)));
    std::vector<float> sums(static_cast<std::size_t>(e.columns));
    for (std::int64_t r = b * block; r < std::min((b + 1) * block, e.rows); ++r) {
      compute_row(r, left, sums);
    }
  };
  const std::int64_t blocks = divide_up(e.rows, block);
  if (arithmetic_.stochastic_rounding || arithmetic_.floating_point_checks) {
    for (std::int64_t b = 0; b < blocks; ++b) compute_block(b);
  } else {
    kernel::parallel_for(now.executor, blocks, compute_block);
  }
}

/// A node that multiplies two tensors of half.
struct ArithmeticRunner::ProductNode {
  ArithmeticRunner& runner;
  const Now& now;
  Dims a, b, shape;             ///< of the operands and the result
  AnyArray left, right, wide;   ///< the same in float
  std::vector<float> matrix{};  ///< the right operand as [inner, columns]

  const float* x() const { return left.values<float>().data(); }
  const float* w() const { return right.values<float>().data(); }
  float* y() { return wide.values<float>().data(); }
  const AnyView* bias() const {
    return now.inputs.size() > 2 && now.inputs[2].info.is_known() ? &now.inputs[2] : nullptr;
  }
  /// Floats that were rounded to half.
  AnyArray rounded(const AnyArray& values) const {
    return widened(runner.narrowed(now, 0, values));
  }
  /// The right operand as [inner, columns], of its elements `at(k, n)`.
  const float* gathered(std::int64_t inner, std::int64_t columns, auto&& at) {
    const float* from = w();
    matrix.resize(static_cast<std::size_t>(inner * columns));
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t n = 0; n < columns; ++n) {
        matrix[static_cast<std::size_t>(k * columns + n)] = from[at(k, n)];
      }
    }
    return matrix.data();
  }

  void multiply_stacks() {
    const std::int64_t inner = a.back(), rows = a.size() > 1 ? a[a.size() - 2] : 1;
    const std::int64_t columns = b.size() > 1 ? b.back() : 1;
    const auto stack = [](const Dims& d, std::size_t rank) { return Dims(d.span().first(rank)); };
    const std::size_t a_rank = std::max<std::size_t>(a.size(), 2) - 2,
                      b_rank = std::max<std::size_t>(b.size(), 2) - 2;
    const Dims of_a = stack(a, a_rank), of_b = stack(b, b_rank),
               of_y = stack(shape, std::max(a_rank, b_rank));
    for (std::int64_t n = 0, count = product(of_y); n < count; ++n) {
      const float* left_matrix = x() + broadcast_index(of_a, of_y, n) * rows * inner;
      runner.multiply(now, {rows, inner, columns}, matrix_rows(left_matrix, inner, inner, 1),
                      w() + broadcast_index(of_b, of_y, n) * inner * columns,
                      y() + n * rows * columns);
    }
  }

  void multiply_gemm() {
    const auto gemm = unpack<op::Gemm>(now.node.attributes);
    const std::int64_t rows = shape[0], columns = shape[1], inner = a[gemm.trans_a ? 0 : 1];
    const float* factor = w();
    if (gemm.trans_b) {
      factor =
          gathered(inner, columns, [&](std::int64_t k, std::int64_t n) { return n * inner + k; });
    }
    runner.multiply(
        now, {rows, inner, columns},
        gemm.trans_a ? matrix_rows(x(), inner, 1, rows) : matrix_rows(x(), inner, inner, 1), factor,
        y());
    const auto scale = [&](float by, AnyArray& values) {
      if (by == 1) return;
      values = rounded(values);
      for (float& v : values.values<float>()) v *= by;
    };
    scale(gemm.alpha, wide);
    if (const AnyView* c = bias(); c != nullptr) {
      AnyArray added = widened(*c);
      wide = rounded(wide);
      scale(gemm.beta, added);
      if (gemm.beta != 1) added = rounded(added);
      add(added, [&](std::int64_t i) { return broadcast_index(c->info.shape, shape, i); });
    }
  }

  void convolve();

 private:
  /// What the groups of a convolution have in common.
  struct Groups {
    Images images{};
    std::int64_t count = 1;
    std::int64_t x_pixels = 0, y_pixels = 0, x_channels = 0, y_channels = 0;  ///< of one group
  };
  Groups groups() const;
  void convolve_group(const Groups& groups, std::int64_t g);
  void correlate_group(const Groups& groups, std::int64_t g);
  /// The product of a group's rows and right operand; element (r, f) goes to `to(r, f)` of y.
  void multiply_group(const Extents& e, const RowSource& source, const float* factor, auto&& to) {
    std::vector<float> result(static_cast<std::size_t>(e.rows * e.columns));
    runner.multiply(now, e, source, factor, result.data());
    float* all = y();
    for (std::int64_t r = 0; r < e.rows; ++r) {
      for (std::int64_t f = 0; f < e.columns; ++f) {
        all[to(r, f)] = result[static_cast<std::size_t>(r * e.columns + f)];
      }
    }
  }
  /// Adds element `at(i)` to element i of the result.
  void add(const AnyArray& added, auto&& at) {
    const float* from = added.values<float>().data();
    float* sum = y();
    for (std::int64_t i = 0; i < wide.info().elements(); ++i) sum[i] += from[at(i)];
  }
};

bool ArithmeticRunner::run_product(const Now& now, const TensorInfo& info,
                                   std::vector<AnyArray>& outputs) {
  const OpId& id = now.node.op->id;
  const bool is_convolution =
      id == op::Conv::id || id == op::ConvTranspose::id || id == op::ConvWeightGradient::id;
  if (!is_convolution && id != op::MatMul::id && id != op::Gemm::id) return false;
  if (!is_half(now.inputs[0].info) || !is_half(now.inputs[1].info)) return false;
  AnyArray wide(TensorInfo{ElementType::float32, info.shape});
  if (wide.info().elements() == 0) return false;
  ProductNode product{*this,
                      now,
                      now.inputs[0].info.shape,
                      now.inputs[1].info.shape,
                      info.shape,
                      widened(now.inputs[0]),
                      widened(now.inputs[1]),
                      std::move(wide)};
  if (is_convolution) {
    product.convolve();
  } else if (id == op::Gemm::id) {
    product.multiply_gemm();
  } else {
    product.multiply_stacks();
  }
  outputs.clear();
  outputs.push_back(narrowed(now, 0, product.wide));
  return true;
}

// --- convolutions --------------------------------------------------------------------------------

ArithmeticRunner::ProductNode::Groups ArithmeticRunner::ProductNode::groups() const {
  const OpId& id = now.node.op->id;
  Groups groups;
  if (id == op::Conv::id) {
    const auto conv = unpack<op::Conv>(now.node.attributes);
    groups.images = {conv.window_over(a.span().subspan(2), spatial(b)), spatial(a)};
    groups.count = conv.group;
  } else if (id == op::ConvTranspose::id) {
    // What it makes is what a convolution would read.
    const auto conv = unpack<op::ConvTranspose>(now.node.attributes);
    groups.images = {conv.window_over(a.span().subspan(2), spatial(b)), spatial(shape), true};
    groups.images.window.output = spatial(a);
    groups.count = conv.group;
  } else {
    const auto conv = unpack<op::ConvWeightGradient>(now.node.attributes);
    groups.images.window = {conv.kernel_shape, conv.strides, conv.dilations, spatial(b), conv.pads};
    groups.images.extents = spatial(a);
    groups.count = conv.group;
  }
  const Dims& y = id == op::ConvWeightGradient::id ? b : shape;
  groups.x_pixels = product(spatial(a));
  groups.y_pixels = product(spatial(y));
  groups.x_channels = a[1] / groups.count;
  groups.y_channels = y[1] / groups.count;
  return groups;
}

void ArithmeticRunner::ProductNode::convolve() {
  const Groups all = groups();
  const bool is_weight = now.node.op->id == op::ConvWeightGradient::id;
  for (std::int64_t g = 0; g < all.count; ++g) {
    if (is_weight) {
      correlate_group(all, g);
    } else {
      convolve_group(all, g);
    }
  }
  const AnyView* c = is_weight ? nullptr : bias();
  if (c == nullptr) return;
  wide = rounded(wide);
  add(widened(*c), [&](std::int64_t i) { return i / all.y_pixels % shape[1]; });
}

/// Rows are pixels of the result, of all images; elements are kernel positions times channels.
void ArithmeticRunner::ProductNode::convolve_group(const Groups& groups, std::int64_t g) {
  const Images& images = groups.images;
  const std::int64_t x_pixels = groups.x_pixels, y_pixels = groups.y_pixels,
                     x_channels = groups.x_channels, y_channels = groups.y_channels;
  const std::int64_t taps = product(images.window.kernel);
  const RowSource pixels = [&](std::int64_t row, float* to) {
    const std::int64_t image = row / y_pixels, pixel = row % y_pixels;
    const float* x_of = x() + (image * a[1] + g * x_channels) * x_pixels;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t at = images.read(pixel, tap);
      for (std::int64_t c = 0; c < x_channels; ++c) {
        *to++ = at < 0 ? 0.0f : x_of[c * x_pixels + at];
      }
    }
  };
  const Extents extents{a[0] * y_pixels, taps * x_channels, y_channels, taps};
  const float* weights = gathered(extents.inner, y_channels, [&](std::int64_t k, std::int64_t f) {
    // [filters, channels, taps], of a transposed one [channels, filters, taps].
    const std::int64_t tap = k / x_channels, c = k % x_channels;
    return images.is_transposed ? ((g * x_channels + c) * y_channels + f) * taps + tap
                                : ((g * y_channels + f) * x_channels + c) * taps + tap;
  });
  multiply_group(extents, pixels, weights, [&](std::int64_t r, std::int64_t f) {
    return ((r / y_pixels) * shape[1] + g * y_channels + f) * y_pixels + r % y_pixels;
  });
}

/// The gradient of a convolution's weights: rows are weights of one filter (channel, kernel
/// position), elements are pixels of all images.
void ArithmeticRunner::ProductNode::correlate_group(const Groups& groups, std::int64_t g) {
  const Images& images = groups.images;
  const std::int64_t x_pixels = groups.x_pixels, y_pixels = groups.y_pixels,
                     x_channels = groups.x_channels, y_channels = groups.y_channels;
  const std::int64_t taps = product(images.window.kernel);
  const RowSource weights = [&](std::int64_t row, float* to) {
    const std::int64_t channel = g * x_channels + row / taps, tap = row % taps;
    for (std::int64_t n = 0; n < a[0]; ++n) {
      const float* x_of = x() + (n * a[1] + channel) * x_pixels;
      for (std::int64_t p = 0; p < y_pixels; ++p) {
        const std::int64_t at = images.read(p, tap);
        *to++ = at < 0 ? 0.0f : x_of[at];
      }
    }
  };
  const Extents extents{x_channels * taps, a[0] * y_pixels, y_channels};
  const float* gradients = gathered(extents.inner, y_channels, [&](std::int64_t k, std::int64_t f) {
    return ((k / y_pixels) * b[1] + g * y_channels + f) * y_pixels + k % y_pixels;
  });
  multiply_group(extents, weights, gradients, [&](std::int64_t r, std::int64_t f) {
    return (g * y_channels + f) * extents.rows + r;
  });
}

}  // namespace halftone::ipu
