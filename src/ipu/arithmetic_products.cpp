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
  Dims extents;  ///< of x: spatial
  Window window;

  /// The number of the pixel of x that output pixel `out` multiplies with kernel position `tap`;
  /// -1: padding.
  std::int64_t read(std::int64_t out, std::int64_t tap) const {
    std::int64_t at = 0, step = 1;
    for (std::size_t i = window.rank(); i-- > 0;) {
      const std::int64_t o = out % window.output[i], k = tap % window.kernel[i];
      const std::int64_t x = o * window.strides[i] + k * window.dilations[i] - window.pad_begin(i);
      if (x < 0 || x >= extents[i]) return -1;
      at += x * step;
      step *= extents[i];
      out /= window.output[i];
      tap /= window.kernel[i];
    }
    return at;
  }
  /// The other way: the output pixel that multiplies pixel x with that kernel position; -1: none.
  std::int64_t written(std::int64_t x, std::int64_t tap) const {
    std::int64_t at = 0, step = 1;
    for (std::size_t i = window.rank(); i-- > 0;) {
      const std::int64_t p = x % extents[i], k = tap % window.kernel[i];
      const std::int64_t from = p + window.pad_begin(i) - k * window.dilations[i];
      if (from < 0 || from % window.strides[i] != 0) return -1;
      const std::int64_t o = from / window.strides[i];
      if (o >= window.output[i]) return -1;
      at += o * step;
      step *= window.output[i];
      x /= extents[i];
      tap /= window.kernel[i];
    }
    return at;
  }
};

/// Rows are pixels of the result, of all images; elements are kernel positions times channels.
class ImageRows final : public RowSource {
 public:
  ImageRows(const Images& images, bool is_transposed, const float* values, std::int64_t pixels,
            std::int64_t read_pixels, std::int64_t all_channels, std::int64_t first,
            std::int64_t channels)
      : images_(images),
        is_transposed_(is_transposed),
        values_(values),
        pixels_(pixels),
        read_pixels_(read_pixels),
        all_channels_(all_channels),
        first_(first),
        channels_(channels) {}
  void fill(std::int64_t row, float* to) const override {
    const std::int64_t image = row / pixels_, pixel = row % pixels_;
    const float* from = values_ + (image * all_channels_ + first_) * read_pixels_;
    for (std::int64_t tap = 0, taps = product(images_.window.kernel); tap < taps; ++tap) {
      const std::int64_t at =
          is_transposed_ ? images_.written(pixel, tap) : images_.read(pixel, tap);
      for (std::int64_t c = 0; c < channels_; ++c) {
        *to++ = at < 0 ? 0.0f : from[c * read_pixels_ + at];
      }
    }
  }

 private:
  const Images& images_;
  bool is_transposed_;
  const float* values_;
  std::int64_t pixels_, read_pixels_, all_channels_, first_, channels_;
};

/// Rows are weights of one filter (channel, kernel position); elements are pixels of all images.
class WeightRows final : public RowSource {
 public:
  WeightRows(const Images& images, const float* x, std::int64_t batch, std::int64_t pixels,
             std::int64_t read_pixels, std::int64_t all_channels, std::int64_t first)
      : images_(images),
        x_(x),
        batch_(batch),
        pixels_(pixels),
        read_pixels_(read_pixels),
        all_channels_(all_channels),
        first_(first) {}
  void fill(std::int64_t row, float* to) const override {
    const std::int64_t taps = product(images_.window.kernel);
    const std::int64_t channel = first_ + row / taps, tap = row % taps;
    for (std::int64_t n = 0; n < batch_; ++n) {
      const float* from = x_ + (n * all_channels_ + channel) * read_pixels_;
      for (std::int64_t p = 0; p < pixels_; ++p) {
        const std::int64_t at = images_.read(p, tap);
        *to++ = at < 0 ? 0.0f : from[at];
      }
    }
  }

 private:
  const Images& images_;
  const float* x_;
  std::int64_t batch_, pixels_, read_pixels_, all_channels_, first_;
};

Dims spatial(const Dims& shape) { return Dims(shape.span().subspan(2)); }

/// The images of a ConvTranspose: what it makes is what a convolution would read.
Images transposed_images(const op::ConvTranspose& conv, const Dims& x, const Dims& w,
                         const Dims& y) {
  Images images{spatial(y), {}};
  Window& window = images.window;
  window.kernel = spatial(w);
  const std::size_t rank = window.kernel.size();
  window.strides = conv.strides.empty() ? Dims::filled(rank, 1) : conv.strides;
  window.dilations = conv.dilations.empty() ? Dims::filled(rank, 1) : conv.dilations;
  window.pads = conv.pads.empty() ? Pads::filled(2 * rank, 0) : conv.pads;
  window.output = spatial(x);
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_same =
        conv.auto_pad == AutoPad::same_upper || conv.auto_pad == AutoPad::same_lower;
    if (conv.auto_pad == AutoPad::valid) window.pads[i] = 0;
    if (!is_same && conv.output_shape.empty()) continue;
    // The output's extent says the pads; the odd one is at the end for SAME_UPPER.
    const std::int64_t full = (window.output[i] - 1) * window.strides[i] + window.reach(i) +
                              (conv.output_padding.empty() ? 0 : conv.output_padding[i]);
    const std::int64_t cut = std::max<std::int64_t>(full - images.extents[i], 0);
    window.pads[i] = conv.auto_pad == AutoPad::same_upper ? cut / 2 : cut - cut / 2;
  }
  return images;
}

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
    rows.fill(row, left.data());
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
  void multiply_stacks();
  void multiply_gemm();
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

void ArithmeticRunner::ProductNode::multiply_stacks() {
  const std::int64_t inner = a.back(), rows = a.size() > 1 ? a[a.size() - 2] : 1;
  const std::int64_t columns = b.size() > 1 ? b.back() : 1;
  const std::size_t rank = std::max<std::size_t>(std::max(a.size(), b.size()), 2) - 2;
  const auto extent = [&](const Dims& d, std::size_t axis) {
    const std::size_t missing = rank + 2 - std::max<std::size_t>(d.size(), 2);
    return axis < missing ? std::int64_t{1} : d[axis - missing];
  };
  std::int64_t batches = 1;
  for (std::size_t i = 0; i < rank; ++i) batches *= std::max(extent(a, i), extent(b, i));
  for (std::int64_t n = 0; n < batches; ++n) {
    std::int64_t rest = n, at_a = 0, at_b = 0, step_a = rows * inner, step_b = inner * columns;
    for (std::size_t i = rank; i-- > 0;) {
      const std::int64_t ea = extent(a, i), eb = extent(b, i), index = rest % std::max(ea, eb);
      rest /= std::max(ea, eb);
      at_a += ea == 1 ? 0 : index * step_a;
      at_b += eb == 1 ? 0 : index * step_b;
      step_a *= ea;
      step_b *= eb;
    }
    runner.multiply(now, {rows, inner, columns}, MatrixRows(x() + at_a, inner, inner, 1),
                    w() + at_b, y() + n * rows * columns);
  }
}

void ArithmeticRunner::ProductNode::multiply_gemm() {
  const auto gemm = unpack<op::Gemm>(now.node.attributes);
  const std::int64_t rows = shape[0], columns = shape[1], inner = a[gemm.trans_a ? 0 : 1];
  const float* factor = w();
  if (gemm.trans_b) {
    matrix.resize(static_cast<std::size_t>(inner * columns));
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t n = 0; n < columns; ++n) {
        matrix[static_cast<std::size_t>(k * columns + n)] = factor[n * inner + k];
      }
    }
    factor = matrix.data();
  }
  runner.multiply(now, {rows, inner, columns},
                  gemm.trans_a ? MatrixRows(x(), inner, 1, rows) : MatrixRows(x(), inner, inner, 1),
                  factor, y());
  const auto scale = [&](float by, AnyArray& values) {
    if (by == 1) return;
    values = rounded(values);
    for (float& v : values.values<float>()) v *= by;
  };
  scale(gemm.alpha, wide);
  if (const AnyView* c = bias(); c != nullptr) {
    AnyArray added = widened(*c), sum = rounded(wide);
    scale(gemm.beta, added);
    if (gemm.beta != 1) added = rounded(added);
    const Dims& d = c->info.shape;
    const std::int64_t row_step = d.size() > 1 && d[0] != 1 ? d[1] : 0;
    const std::int64_t column_step = !d.empty() && d.back() != 1 ? 1 : 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t n = 0; n < columns; ++n) {
        sum.values<float>()[static_cast<std::size_t>(r * columns + n)] +=
            added.values<float>()[static_cast<std::size_t>(r * row_step + n * column_step)];
      }
    }
    wide = std::move(sum);
  }
}

// --- convolutions --------------------------------------------------------------------------------

ArithmeticRunner::ProductNode::Groups ArithmeticRunner::ProductNode::groups() const {
  const OpId& id = now.node.op->id;
  Groups groups;
  Images& images = groups.images;
  if (id == op::Conv::id) {
    const auto conv = unpack<op::Conv>(now.node.attributes);
    images = {spatial(a), Window::over(a.span().subspan(2), {.kernel = spatial(b),
                                                             .strides = conv.strides,
                                                             .dilations = conv.dilations,
                                                             .pads = conv.pads,
                                                             .auto_pad = conv.auto_pad})};
    groups.count = conv.group;
  } else if (id == op::ConvTranspose::id) {
    const auto conv = unpack<op::ConvTranspose>(now.node.attributes);
    images = transposed_images(conv, a, b, shape);
    groups.count = conv.group;
  } else {
    const auto conv = unpack<op::ConvWeightGradient>(now.node.attributes);
    images.extents = spatial(a);
    images.window.kernel = conv.kernel_shape;
    images.window.strides = conv.strides;
    images.window.dilations = conv.dilations;
    images.window.pads = conv.pads;
    images.window.output = spatial(b);
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
  const AnyArray added = widened(*c);
  float* sum = y();
  for (std::int64_t i = 0; i < wide.info().elements(); ++i) {
    sum[i] += added.values<float>()[static_cast<std::size_t>(i / all.y_pixels % shape[1])];
  }
}

/// Rows are pixels of the result, of all images.
void ArithmeticRunner::ProductNode::convolve_group(const Groups& groups, std::int64_t g) {
  const auto& [images, count, x_pixels, y_pixels, x_channels, y_channels] = groups;
  const bool is_transposed = now.node.op->id == op::ConvTranspose::id;
  // Weights are [filters, channels, taps], of a transposed one [channels, filters, taps].
  const std::int64_t taps = product(images.window.kernel);
  const std::int64_t inner = taps * x_channels, rows = a[0] * y_pixels;
  const float* from = w();
  matrix.resize(static_cast<std::size_t>(inner * y_channels));
  for (std::int64_t k = 0; k < inner; ++k) {
    const std::int64_t tap = k / x_channels, c = k % x_channels;
    for (std::int64_t f = 0; f < y_channels; ++f) {
      const std::int64_t at = is_transposed ? ((g * x_channels + c) * y_channels + f) * taps + tap
                                            : ((g * y_channels + f) * x_channels + c) * taps + tap;
      matrix[static_cast<std::size_t>(k * y_channels + f)] = from[at];
    }
  }
  std::vector<float> result(static_cast<std::size_t>(rows * y_channels));
  runner.multiply(
      now, {rows, inner, y_channels, taps},
      ImageRows(images, is_transposed, x(), y_pixels, x_pixels, a[1], g * x_channels, x_channels),
      matrix.data(), result.data());
  float* to = y();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t f = 0; f < y_channels; ++f) {
      to[((r / y_pixels) * shape[1] + g * y_channels + f) * y_pixels + r % y_pixels] =
          result[static_cast<std::size_t>(r * y_channels + f)];
    }
  }
}

/// Rows are weights of one filter: the gradient of a convolution's weights.
void ArithmeticRunner::ProductNode::correlate_group(const Groups& groups, std::int64_t g) {
  const auto& [images, count, x_pixels, y_pixels, x_channels, y_channels] = groups;
  const std::int64_t inner = a[0] * y_pixels, rows = x_channels * product(images.window.kernel);
  const float* from = w();
  matrix.resize(static_cast<std::size_t>(inner * y_channels));
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t f = 0; f < y_channels; ++f) {
      matrix[static_cast<std::size_t>(k * y_channels + f)] =
          from[((k / y_pixels) * b[1] + g * y_channels + f) * y_pixels + k % y_pixels];
    }
  }
  std::vector<float> result(static_cast<std::size_t>(rows * y_channels));
  runner.multiply(now, {rows, inner, y_channels},
                  WeightRows(images, x(), a[0], y_pixels, x_pixels, a[1], g * x_channels),
                  matrix.data(), result.data());
  float* to = y();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t f = 0; f < y_channels; ++f) {
      to[(g * y_channels + f) * rows + r] = result[static_cast<std::size_t>(r * y_channels + f)];
    }
  }
}

}  // namespace halftone::ipu
