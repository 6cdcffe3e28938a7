#include "ipu/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <halftone/base/window.hpp>
#include <halftone/graph/some_attributes.hpp>
#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "exec/node.hpp"

namespace halftone::ipu {
namespace {

constexpr std::int64_t group_elements = 16;  ///< of half that a matrix unit adds up in one go

bool is_half(const TensorInfo& info) { return info.type == ElementType::float16; }

AnyArray widened(const AnyView& x) {
  AnyArray wide(TensorInfo{ElementType::float32, x.info.shape});
  const auto* from = static_cast<const half*>(x.data);
  float* to = wide.values<float>().data();
  for (std::int64_t i = 0, n = x.info.elements(); i < n; ++i) to[i] = static_cast<float>(from[i]);
  return wide;
}

half half_of(std::uint16_t bits) { return std::bit_cast<half>(bits); }

/// Nodes whose attributes say half say float instead.
class WideTypes final : public SomeAttributes {
 public:
  bool has_changed = false;

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if ((name != "to" && name != "dtype") || !present) return;
    if (value != static_cast<std::int64_t>(ElementType::float16)) return;
    value = static_cast<std::int64_t>(ElementType::float32);
    has_changed = true;
  }
};

/// Whether floats do for the halves of this node.
bool has_wide_form(const Node& node, std::span<const TensorInfo> in,
                   std::span<const TensorInfo> out) {
  const Slots& signature = node.op->signature;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Slot& slot = signature.input_slot(i);
    if (is_half(in[i]) && !slot.mixed && !node.op->allows(slot.type_variable, ElementType::float32))
      return false;
  }
  for (std::size_t o = 0; o < out.size(); ++o) {
    const Slot& slot = signature.output_slot(o);
    if (is_half(out[o]) && !slot.mixed &&
        !node.op->allows(slot.type_variable, ElementType::float32))
      return false;
  }
  return true;
}

template <class F>
void for_floats(const AnyView& x, F&& f) {
  const std::int64_t n = x.info.elements();
  if (x.data == nullptr) return;
  if (x.info.type == ElementType::float32) {
    for (std::int64_t i = 0; i < n; ++i) f(static_cast<const float*>(x.data)[i]);
  } else if (is_half(x.info)) {
    for (std::int64_t i = 0; i < n; ++i) f(static_cast<float>(static_cast<const half*>(x.data)[i]));
  }
}

struct Seen {
  bool nan = false, infinity = false, zero = false;
};
Seen look_at(const AnyView& x) {
  Seen seen;
  for_floats(x, [&](float v) {
    seen.nan = seen.nan || detail::is_nan(v);
    seen.infinity = seen.infinity || std::isinf(v);
    seen.zero = seen.zero || v == 0;
  });
  return seen;
}

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

}  // namespace

ArithmeticRunner::ArithmeticRunner(const Arithmetic& arithmetic, const Target& target,
                                   const ProductOptions& products)
    : arithmetic_(arithmetic),
      t_(target),
      products_(products),
      planner_(target),
      random_(target.tiles(), target.worker_contexts) {}

std::vector<AnyArray> ArithmeticRunner::run(const Graph& graph, const Node& node,
                                            std::span<const AnyView> inputs,
                                            const kernel::Executor& executor) {
  const Now now{graph, node, inputs, executor};
  if (is_view(node)) return run_node(graph, node, inputs, executor);
  check_scale(now);
  const std::vector<TensorInfo> infos = infos_of_outputs(graph, node, inputs);
  std::vector<AnyArray> outputs;
  bool has_half = false;
  for (const AnyView& x : inputs) has_half = has_half || is_half(x.info);
  for (const TensorInfo& info : infos) has_half = has_half || is_half(info);
  if (arithmetic_.hardware_random && node.op->signature.has_seed() && draw(now, infos, outputs)) {
    return outputs;
  }
  if (node.op->id == op::Pow2ScaleThenCast::id) {
    outputs.push_back(cast_to_float8(now, infos[0]));
  } else if (!has_half || infos.empty()) {
    outputs = run_node(graph, node, inputs, executor);
  } else if (!run_product(now, infos[0], outputs) && !run_recurrent(now, infos, outputs)) {
    outputs = run_wide(now, infos);
  }
  for (AnyArray& y : outputs) {
    if (y.info().type != ElementType::float32) continue;
    for (float& v : y.values<float>()) {
      if (std::abs(v) < 0x1p-126f) v = std::copysign(0.0f, v);
    }
  }
  if (arithmetic_.floating_point_checks) check_results(now, outputs);
  return outputs;
}

std::vector<AnyArray> ArithmeticRunner::run_wide(const Now& now,
                                                 const std::vector<TensorInfo>& infos) {
  std::vector<TensorInfo> in;
  for (const AnyView& x : now.inputs) in.push_back(x.info);
  if (!has_wide_form(now.node, in, infos)) {
    return run_node(now.graph, now.node, now.inputs, now.executor);
  }
  std::vector<AnyView> inputs(now.inputs.begin(), now.inputs.end());
  std::vector<AnyArray> wide(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_half(inputs[i].info) || now.node.op->only_infos) continue;
    wide[i] = widened(inputs[i]);
    inputs[i] = wide[i];
  }
  Node node = now.node;
  WideTypes types;
  node.op->attributes(node.attributes, types);
  std::vector<AnyArray> outputs = run_node(now.graph, node, inputs, now.executor);
  for (std::size_t o = 0; o < outputs.size() && o < infos.size(); ++o) {
    if (!is_half(infos[o]) || now.node.outputs[o] == no_tensor) continue;
    outputs[o] = narrowed(
        now, o, outputs[o].info().type == ElementType::float32 ? outputs[o] : widened(outputs[o]));
  }
  // What the node modifies is the graph's, not the copy.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_half(now.inputs[i].info) || !now.node.op->signature.input_slot(i).modified) continue;
    const auto as_output = [&](std::size_t o) {
      return now.node.op->signature.output_slot(o).shares == static_cast<int>(i) &&
             now.node.outputs[o] != no_tensor;
    };
    std::size_t o = 0;
    while (o < outputs.size() && !as_output(o)) ++o;
    const AnyArray value = o < outputs.size() ? outputs[o] : narrowed(now, 0, wide[i]);
    std::memcpy(const_cast<void*>(now.inputs[i].data), value.data(), value.bytes());
  }
  return outputs;
}

// --- narrowing -----------------------------------------------------------------------------------

bool ArithmeticRunner::narrow_floats(const Mapping& mapping, std::int64_t first,
                                     std::span<float> values) {
  const bool nan = arithmetic_.floating_point_checks;
  bool has_overflowed = false;
  const auto keep = [&](float& v, Narrowed n) {
    has_overflowed = has_overflowed || n.has_overflowed;
    v = static_cast<float>(half_of(n.bits));
  };
  if (!arithmetic_.stochastic_rounding) {
    for (float& v : values) keep(v, narrow(v, nan));
    return has_overflowed;
  }
  // Vectors of four on a tile go round the workers; each is a draw.
  constexpr std::int64_t width = 4;
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t grains = std::max<std::int64_t>(mapping.grains(), 1);
  std::int64_t piece = first / mapping.grain * mapping.pieces / grains;
  for (std::int64_t i = 0; i < count;) {
    while (mapping.begin(piece + 1) <= first + i) ++piece;
    while (mapping.begin(piece) > first + i) --piece;
    const std::int64_t start = mapping.begin(piece), end = mapping.begin(piece + 1);
    const std::int64_t tile = (mapping.first_tile + piece) % mapping.tiles;
    while (i < count && first + i < end) {
      const std::int64_t local = first + i - start;
      const std::int64_t last =
          std::min(width - local % width, std::min(count - i, end - first - i));
      std::uint64_t bits = random_.at(tile, local / width % random_.workers()).next();
      bits >>= 16 * (local % width);
      for (std::int64_t k = 0; k < last; ++k, bits >>= 16, ++i) {
        float& v = values[static_cast<std::size_t>(i)];
        keep(v, narrow(v, nan, static_cast<std::uint16_t>(bits)));
      }
    }
  }
  return has_overflowed;
}

void ArithmeticRunner::round_to_half(const Now& now, std::size_t output, std::span<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  if (narrow_floats(linear_mapping(t_, n, ElementType::float16), 0, values)) {
    raise(now, output, "overflow");
  }
}

AnyArray ArithmeticRunner::narrowed(const Now& now, std::size_t output, const AnyArray& wide) {
  AnyArray y(TensorInfo{ElementType::float16, wide.info().shape});
  const std::int64_t n = y.info().elements();
  std::vector<float> values(wide.values<float>().begin(), wide.values<float>().end());
  round_to_half(now, output, values);
  half* to = y.values<half>().data();
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = static_cast<half>(values[static_cast<std::size_t>(i)]);
  return y;
}

// --- products ------------------------------------------------------------------------------------

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

bool ArithmeticRunner::run_product(const Now& now, const TensorInfo& info,
                                   std::vector<AnyArray>& outputs) {
  const OpId& id = now.node.op->id;
  const bool is_product = id == op::MatMul::id || id == op::Gemm::id || id == op::Conv::id ||
                          id == op::ConvTranspose::id || id == op::ConvWeightGradient::id;
  if (!is_product || !is_half(now.inputs[0].info) || !is_half(now.inputs[1].info)) return false;
  const Dims a = now.inputs[0].info.shape, b = now.inputs[1].info.shape, shape = info.shape;
  AnyArray wide(TensorInfo{ElementType::float32, shape});
  if (wide.info().elements() == 0) return false;
  const AnyArray left = widened(now.inputs[0]), right = widened(now.inputs[1]);
  const float *x = left.values<float>().data(), *w = right.values<float>().data();
  float* y = wide.values<float>().data();
  std::vector<float> matrix;  // the right operand as [inner, columns]
  const auto bias = [&](std::size_t i) {
    return now.inputs.size() > i && now.inputs[i].info.is_known() ? &now.inputs[i] : nullptr;
  };

  if (id == op::MatMul::id) {
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
      multiply(now, {rows, inner, columns}, MatrixRows(x + at_a, inner, inner, 1), w + at_b,
               y + n * rows * columns);
    }
  } else if (id == op::Gemm::id) {
    const auto gemm = unpack<op::Gemm>(now.node.attributes);
    const std::int64_t rows = shape[0], columns = shape[1], inner = a[gemm.trans_a ? 0 : 1];
    if (gemm.trans_b) {
      matrix.resize(static_cast<std::size_t>(inner * columns));
      for (std::int64_t k = 0; k < inner; ++k) {
        for (std::int64_t n = 0; n < columns; ++n) {
          matrix[static_cast<std::size_t>(k * columns + n)] = w[n * inner + k];
        }
      }
      w = matrix.data();
    }
    multiply(now, {rows, inner, columns},
             gemm.trans_a ? MatrixRows(x, inner, 1, rows) : MatrixRows(x, inner, inner, 1), w, y);
    const auto scale = [&](float factor, AnyArray& values) {
      if (factor == 1) return;
      values = widened(narrowed(now, 0, values));
      for (float& v : values.values<float>()) v *= factor;
    };
    scale(gemm.alpha, wide);
    if (const AnyView* c = bias(2); c != nullptr) {
      AnyArray added = widened(*c), sum = widened(narrowed(now, 0, wide));
      scale(gemm.beta, added);
      if (gemm.beta != 1) added = widened(narrowed(now, 0, added));
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
  } else {
    // Convolutions: rows of pixels, or of weights, group by group.
    Images images;
    std::int64_t groups = 1;
    const bool is_transposed = id == op::ConvTranspose::id;
    const bool is_weight = id == op::ConvWeightGradient::id;
    const auto spatial = [](const Dims& d) { return Dims(d.span().subspan(2)); };
    if (id == op::Conv::id) {
      const auto conv = unpack<op::Conv>(now.node.attributes);
      images = {spatial(a), Window::over(a.span().subspan(2), {.kernel = spatial(b),
                                                               .strides = conv.strides,
                                                               .dilations = conv.dilations,
                                                               .pads = conv.pads,
                                                               .auto_pad = conv.auto_pad})};
      groups = conv.group;
    } else if (is_transposed) {
      const auto conv = unpack<op::ConvTranspose>(now.node.attributes);
      images.extents = spatial(shape);
      Window& window = images.window;
      window.kernel = spatial(b);
      const std::size_t rank = window.kernel.size();
      window.strides = conv.strides.empty() ? Dims::filled(rank, 1) : conv.strides;
      window.dilations = conv.dilations.empty() ? Dims::filled(rank, 1) : conv.dilations;
      window.pads = conv.pads.empty() ? Pads::filled(2 * rank, 0) : conv.pads;
      window.output = spatial(a);
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
      groups = conv.group;
    } else {
      const auto conv = unpack<op::ConvWeightGradient>(now.node.attributes);
      images.extents = spatial(a);
      images.window.kernel = conv.kernel_shape;
      images.window.strides = conv.strides;
      images.window.dilations = conv.dilations;
      images.window.pads = conv.pads;
      images.window.output = spatial(b);
      groups = conv.group;
    }
    const std::int64_t batch = a[0], taps = product(images.window.kernel);
    const std::int64_t x_pixels = product(spatial(a)),
                       y_pixels = product(spatial(is_weight ? b : shape));
    const std::int64_t x_channels = a[1] / groups;
    const std::int64_t y_channels = (is_weight ? b[1] : shape[1]) / groups;
    std::vector<float> result;
    for (std::int64_t g = 0; g < groups; ++g) {
      if (is_weight) {
        const std::int64_t inner = batch * y_pixels, rows = x_channels * taps;
        matrix.resize(static_cast<std::size_t>(inner * y_channels));
        for (std::int64_t k = 0; k < inner; ++k) {
          for (std::int64_t f = 0; f < y_channels; ++f) {
            matrix[static_cast<std::size_t>(k * y_channels + f)] =
                w[((k / y_pixels) * b[1] + g * y_channels + f) * y_pixels + k % y_pixels];
          }
        }
        result.resize(static_cast<std::size_t>(rows * y_channels));
        multiply(now, {rows, inner, y_channels},
                 WeightRows(images, x, batch, y_pixels, x_pixels, a[1], g * x_channels),
                 matrix.data(), result.data());
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t f = 0; f < y_channels; ++f) {
            y[(g * y_channels + f) * rows + r] =
                result[static_cast<std::size_t>(r * y_channels + f)];
          }
        }
        continue;
      }
      // Weights are [filters, channels, taps], of a transposed one [channels, filters, taps].
      const std::int64_t inner = taps * x_channels, rows = batch * y_pixels;
      matrix.resize(static_cast<std::size_t>(inner * y_channels));
      for (std::int64_t k = 0; k < inner; ++k) {
        const std::int64_t tap = k / x_channels, c = k % x_channels;
        for (std::int64_t f = 0; f < y_channels; ++f) {
          const std::int64_t at = is_transposed
                                      ? ((g * x_channels + c) * y_channels + f) * taps + tap
                                      : ((g * y_channels + f) * x_channels + c) * taps + tap;
          matrix[static_cast<std::size_t>(k * y_channels + f)] = w[at];
        }
      }
      result.resize(static_cast<std::size_t>(rows * y_channels));
      multiply(
          now, {rows, inner, y_channels, taps},
          ImageRows(images, is_transposed, x, y_pixels, x_pixels, a[1], g * x_channels, x_channels),
          matrix.data(), result.data());
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t f = 0; f < y_channels; ++f) {
          y[((r / y_pixels) * shape[1] + g * y_channels + f) * y_pixels + r % y_pixels] =
              result[static_cast<std::size_t>(r * y_channels + f)];
        }
      }
    }
    if (const AnyView* c = is_weight ? nullptr : bias(2); c != nullptr) {
      wide = widened(narrowed(now, 0, wide));
      const AnyArray added = widened(*c);
      const std::int64_t channels = shape[1];
      for (std::int64_t i = 0; i < wide.info().elements(); ++i) {
        wide.values<float>()[static_cast<std::size_t>(i)] +=
            added.values<float>()[static_cast<std::size_t>(i / y_pixels % channels)];
      }
    }
  }
  outputs.clear();
  outputs.push_back(narrowed(now, 0, wide));
  return true;
}

// --- random numbers ------------------------------------------------------------------------------

bool ArithmeticRunner::draw(const Now& now, const std::vector<TensorInfo>& infos,
                            std::vector<AnyArray>& outputs) {
  const OpId& id = now.node.op->id;
  const AnyView& words = now.inputs.back();
  if (now.inputs.size() != now.node.op->signature.inputs() || words.data == nullptr) return false;
  const bool is_uniform = id == op::RandomUniform::id || id == op::RandomUniformLike::id;
  const bool is_normal = id == op::RandomNormal::id || id == op::RandomNormalLike::id;
  const bool is_bernoulli = id == op::Bernoulli::id, is_dropout = id == op::Dropout::id;
  const bool is_shaped = id == op::ShapedDropout::id;
  if (is_dropout || is_shaped) {
    const AnyView& training = now.inputs[is_dropout ? 2 : 1];
    if (training.data == nullptr || !*static_cast<const bool*>(training.data)) return false;
  }
  const auto is_two_or_four = [](ElementType type) {
    return type == ElementType::float32 || type == ElementType::float16;
  };
  if (!(is_uniform || is_normal || is_bernoulli || is_dropout || is_shaped) ||
      !is_two_or_four(is_bernoulli ? now.inputs[0].info.type : infos[0].type)) {
    const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
    fail(ErrorKind::unsupported,
         {.what = "the hardware has no random vertex for this node",
          .node = where,
          .found = halftone::detail::to_text(infos[0]),
          .hint = "ipu.arithmetic.hardware_random = false draws the numbers of cpu"});
  }
  const auto* seed_words = static_cast<const std::uint32_t*>(words.data);
  const std::uint64_t seed = std::uint64_t{seed_words[1]} << 32 | seed_words[0];

  const TensorInfo& drawn = is_bernoulli || is_dropout ? now.inputs[0].info : infos[0];
  // A shaped Dropout draws the elements of its mask.
  const op::ShapedDropout shaped =
      is_shaped ? unpack<op::ShapedDropout>(now.node.attributes) : op::ShapedDropout{};
  const std::int64_t n = is_shaped ? product(shaped.shape) : infos[0].elements();
  const std::int64_t width = is_half(drawn) ? 4 : 2;
  const std::int64_t workers = t_.worker_contexts;
  const Mapping mapping = linear_mapping(t_, n, drawn.type);
  // f(element, bits of its own, how many bits, generator): elements of a vector share a draw.
  const auto for_elements = [&](auto&& f) {
    std::vector<Generator> own(static_cast<std::size_t>(workers));
    for (std::int64_t piece = 0; piece < mapping.pieces; ++piece) {
      const std::int64_t tile = (mapping.first_tile + piece) % mapping.tiles;
      for (std::int64_t w = 0; w < workers; ++w) {
        own[static_cast<std::size_t>(w)] = Generator::of_seed(seed, tile, w);
      }
      for (std::int64_t i = mapping.begin(piece); i < mapping.begin(piece + 1); i += width) {
        const std::int64_t vector = (i - mapping.begin(piece)) / width;
        f(i, std::min(width, mapping.begin(piece + 1) - i),
          own[static_cast<std::size_t>(vector % workers)]);
      }
    }
  };
  const int bits_each = static_cast<int>(64 / width);
  const auto bits_of = [&](std::uint64_t word, std::int64_t k) {
    return (word >> (bits_each * k)) & ((std::uint64_t{1} << bits_each) - 1);
  };

  outputs.clear();
  if (is_uniform || is_normal) {
    float first = 0, second = 1;  // low and high, or mean and scale
    if (id == op::RandomUniform::id) {
      const auto o = unpack<op::RandomUniform>(now.node.attributes);
      first = o.low, second = o.high;
    } else if (id == op::RandomUniformLike::id) {
      const auto o = unpack<op::RandomUniformLike>(now.node.attributes);
      first = o.low, second = o.high;
    } else if (id == op::RandomNormal::id) {
      const auto o = unpack<op::RandomNormal>(now.node.attributes);
      first = o.mean, second = o.scale;
    } else {
      const auto o = unpack<op::RandomNormalLike>(now.node.attributes);
      first = o.mean, second = o.scale;
    }
    AnyArray wide(TensorInfo{ElementType::float32, infos[0].shape});
    float* y = wide.values<float>().data();
    for_elements([&](std::int64_t i, std::int64_t count, Generator& g) {
      const std::uint64_t word = is_uniform ? g.next() : 0;
      for (std::int64_t k = 0; k < count; ++k) {
        if (is_uniform) {
          // In (-0.5, 0.5), never 0; then to the range, whose ends are not passed by rounding.
          const double unit =
              (static_cast<double>(bits_of(word, k)) + 0.5) / std::exp2(bits_each) - 0.5;
          const double range = static_cast<double>(second) - static_cast<double>(first);
          const auto value =
              static_cast<float>(unit * range + (static_cast<double>(first) + range / 2));
          y[i + k] = std::clamp(value, first, second);
        } else {
          // Twelve fields of five bits of a draw, a sum of variance 1023 / 1024.
          std::uint64_t fields = g.next();
          int sum = -186;
          for (int field = 0; field < 12; ++field, fields >>= 5) {
            sum += static_cast<int>(fields & 31);
          }
          y[i + k] = static_cast<float>(sum) / 32 * second + first;
        }
      }
    });
    if (is_half(infos[0])) {
      outputs.push_back(narrowed(now, 0, wide));
    } else {
      outputs.push_back(std::move(wide));
    }
    return true;
  }

  // Probabilities are 65536ths; 16 bits of the draw below that many keep an element.
  const auto limit_of = [](double probability) {
    return static_cast<std::uint64_t>(std::clamp(probability, 0.0, 1.0) * 65'536);
  };
  const auto float_at = [&](const AnyView& x, std::int64_t i) {
    return is_half(x.info) ? static_cast<float>(static_cast<const half*>(x.data)[i])
                           : static_cast<const float*>(x.data)[i];
  };
  const AnyView& x = now.inputs[0];
  std::vector<bool> kept(static_cast<std::size_t>(n));
  double ratio = static_cast<double>(shaped.ratio);
  if (is_dropout) {
    const AnyView& given = now.inputs[1];
    ratio = static_cast<double>(unpack<op::Dropout>(now.node.attributes).ratio.value_or(0.5f));
    if (given.data != nullptr) {
      if (given.info.type != ElementType::float32 && !is_half(given.info)) return false;
      ratio = static_cast<double>(float_at(given, 0));
    }
  }
  for_elements([&](std::int64_t i, std::int64_t count, Generator& g) {
    const std::uint64_t word = g.next();
    for (std::int64_t k = 0; k < count; ++k) {
      const double keep = is_bernoulli ? static_cast<double>(float_at(x, i + k)) : 1 - ratio;
      kept[static_cast<std::size_t>(i + k)] = (bits_of(word, k) & 0xffff) < limit_of(keep);
    }
  });
  if (is_bernoulli) {
    AnyArray y(infos[0]);
    const bool done = visit_type<AllTypes>(infos[0].type, [&]<class B>() {
      for (std::int64_t i = 0; i < n; ++i) {
        y.values<B>()[static_cast<std::size_t>(i)] =
            static_cast<B>(kept[static_cast<std::size_t>(i)] ? 1 : 0);
      }
    });
    if (!done) return false;
    outputs.push_back(std::move(y));
    return true;
  }
  AnyArray wide(TensorInfo{ElementType::float32, infos[0].shape});
  float scale = ratio >= 1 ? 0.0f : static_cast<float>(1 / (1 - ratio));
  // The shaped mask is a tensor of its own, of x's type.
  if (is_shaped && is_half(x.info)) scale = static_cast<float>(static_cast<half>(scale));
  const Dims& extents = infos[0].shape;
  const auto mask_index = [&](std::int64_t i) {
    if (!is_shaped) return i;
    std::int64_t at = 0, step = 1;
    for (std::size_t k = 0; k < shaped.shape.size(); ++k) {
      const std::int64_t extent = extents[extents.size() - 1 - k];
      const std::int64_t own_extent = shaped.shape[shaped.shape.size() - 1 - k];
      if (own_extent != 1) at += i % extent * step;
      step *= own_extent;
      i /= extent;
    }
    return at;
  };
  for (std::int64_t i = 0, all = infos[0].elements(); i < all; ++i) {
    wide.values<float>()[static_cast<std::size_t>(i)] =
        kept[static_cast<std::size_t>(mask_index(i))] ? float_at(x, i) * scale : 0.0f;
  }
  outputs.push_back(is_half(infos[0]) ? narrowed(now, 0, wide) : std::move(wide));
  if (infos.size() > 1) {
    AnyArray mask(infos[1]);
    for (std::int64_t i = 0; i < n; ++i) {
      mask.values<bool>()[static_cast<std::size_t>(i)] = kept[static_cast<std::size_t>(i)];
    }
    outputs.push_back(std::move(mask));
  }
  outputs.resize(now.node.outputs.size());
  return true;
}

// --- float8 --------------------------------------------------------------------------------------

AnyArray ArithmeticRunner::cast_to_float8(const Now& now, const TensorInfo& info) const {
  const AnyView& x = now.inputs[0];
  const float factor =
      halftone::detail::power_of_two(*static_cast<const std::int32_t*>(now.inputs[1].data));
  AnyArray y(info);
  visit_type<Float8Types>(info.type, [&]<class T>() {
    auto to = y.values<T>().begin();
    for_floats(x, [&](float v) {
      const float scaled = v * factor;
      // The code of a negative zero is the machine's only NaN.
      *to = scaled == 0 ? T(0.0f) : T(detail::is_nan(scaled) ? std::abs(scaled) : scaled);
      if (detail::is_nan(scaled)) raise(now, 0, "invalid operation");
      const float unsaturated = T::unsaturated(scaled);
      if (!std::isfinite(unsaturated)) raise(now, 0, "overflow");
      if (static_cast<float>(*to) == 0) *to = T(0.0f);
      ++to;
    });
  });
  return y;
}

// --- exceptions ----------------------------------------------------------------------------------

void ArithmeticRunner::check_scale(const Now& now) const {
  const OpId& id = now.node.op->id;
  if (!arithmetic_.check_float8_scale ||
      (id != op::CastThenPow2Scale::id && id != op::Pow2ScaleThenCast::id)) {
    return;
  }
  const std::int32_t scale = *static_cast<const std::int32_t*>(now.inputs[1].data);
  if (scale >= -32 && scale < 32) return;
  const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
  fail(ErrorKind::input, {.what = "the exponent of a scaled float8 cast is out of range",
                          .node = where,
                          .tensor = now.graph.name(now.node.inputs[1]),
                          .expected = "-32 to 31",
                          .found = std::to_string(scale)});
}

bool ArithmeticRunner::divides_by_zero(const Now& now) {
  const OpId& id = now.node.op->id;
  if (id == op::Div::id) return look_at(now.inputs[1]).zero;
  return (id == op::Reciprocal::id || id == op::Log::id) && look_at(now.inputs[0]).zero;
}

void ArithmeticRunner::trap(const Now& now, std::size_t output, std::string_view exception) const {
  if (exception == "overflow" && divides_by_zero(now)) exception = "division by zero";
  const std::string what = "floating-point exception: " + std::string(exception);
  const std::string where = halftone::detail::node_text(*now.node.op, now.graph.name(now.node));
  const TensorId id = now.node.outputs[output];
  std::string tensor(id == no_tensor ? std::string_view{} : now.graph.name(id));
  if (tensor.empty()) tensor = "output " + std::to_string(output);
  throw FloatingPointError({.what = what, .node = where, .tensor = tensor}, exception);
}

void ArithmeticRunner::check_results(const Now& now, std::span<const AnyArray> outputs) const {
  const OpId& id = now.node.op->id;
  // What only moves elements traps at none.
  std::vector<TensorInfo> in, out;
  for (const AnyView& x : now.inputs) in.push_back(x.info);
  for (const AnyArray& y : outputs) out.push_back(y.info());
  const bool computes = now.node.op->flops(now.node.attributes, in, out) > 0 &&
                        id != op::Where::id && id != op::Identity::id && id != op::IsNaN::id &&
                        id != op::IsInf::id;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].info().is_known()) continue;
    const Seen y = look_at(outputs[o]);
    if (!y.nan && !y.infinity) continue;
    Seen x;
    for (const AnyView& input : now.inputs) {
      const Seen seen = look_at(input);
      x.nan = x.nan || seen.nan;
      x.infinity = x.infinity || seen.infinity;
    }
    if (y.nan && (!x.nan || computes)) trap(now, o, "invalid operation");
    if (!y.infinity || x.infinity) continue;
    trap(now, o, "overflow");
  }
}

}  // namespace halftone::ipu
