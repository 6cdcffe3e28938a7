#pragma once

#include <halftone/kernel/conv_shape.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/gemm_pack.hpp>
#include <halftone/kernel/precision.hpp>

namespace halftone::kernel {

/// The ways to compute a convolution.
enum class ConvKind : std::uint8_t {
  blocked,    ///< channels of x by vectors of filters, activations in blocks
  line,       ///< few channels, read from plain rows
  depthwise,  ///< groups of a few channels and as many filters, a block at a time
  winograd,   ///< channels by vectors of filters in transformed tiles, activations in blocks
  general,    ///< products with patches: any type, groups and dimensions
  simple,     ///< integers
};

/// How a convolution runs; chosen once from its shape by conv_plan, then used by conv_pack and
/// conv. The memory it asks for is in bytes and 64-byte aligned.
struct ConvPlan {
  ConvShape shape;
  ConvKind kind = ConvKind::general;
  Layout input = Layout::plain, output = Layout::plain;
  std::int64_t packed_bytes = 0;     ///< of the weights after conv_pack
  std::int64_t workspace_bytes = 0;  ///< of scratch memory while conv runs

  // Kinds blocked and line: x is read from planes (blocks of channels, or channels) of `frames` along the
  // depth, each of `rows` rows, each `phases` runs of `columns` elements of `unit`: run p holds the columns
  // p, p + stride, ..., so that neighbouring outputs always read neighbouring elements. `copies` says whether x has to
  // be brought into that form, with its padding. Each column is one of `images` images, side by
  // side: where their rows are short, they fill tiles together.
  bool copies = false;
  /// Elements of planes and weights are pairs: of channels, or (kind line) of rows, the kernel's
  /// dilation apart.
  bool pairs = false;
  bool amx = false;  ///< tiles of pairs of channels have their sums in AMX's registers
  std::int64_t amx_steps = detail::amx_steps;  ///< that a register of AMX takes of a segment
  std::int64_t images = 1;
  std::int64_t unit = 1, planes = 1, frames = 1, rows = 1, phases = 1, columns = 1;
  std::int64_t frame_step = 1;   ///< frames from one output frame to the next
  std::int64_t row_step = 1;     ///< rows from one output row to the next
  std::int64_t column_step = 1;  ///< columns of a run from one output to the next
  /// A 1x1 kernel sees all pixels as one row, those of a frame where it has a depth; columns are those of all
  /// images.
  std::int64_t output_rows = 1, output_columns = 1;
  std::int64_t frame_rows = 1;           ///< output rows of a frame
  std::int64_t segments = 0, steps = 0;  ///< of one sum
  /// Parts of a kernel, its frames or its rows, of which an output row leaves out those that see padding alone:
  /// a sum goes through them one after the other, else through the channels.
  std::int64_t kernel_parts = 1;
  std::int64_t panels = 0;  ///< groups of filters, of one group
  std::int64_t band = 1;    ///< output rows (tiles if there is one row) a task
  // Kind winograd: output_rows and output_columns count tiles of `edge` by `edge` outputs.
  std::int64_t edge = 0, tiles_per_block = 1, panels_per_group = 1;
  /// Kinds depthwise and winograd: images that are brought into blocks, or out of them, at once.
  std::int64_t reordered = 1;
  /// Parts that run side by side, each with scratch memory of its own. Kinds blocked and line divide
  /// the batch.
  std::int64_t tasks = 1;
  std::int64_t panels_per_task = 1;  ///< of kind general

  constexpr std::int64_t column_size() const { return images * unit; }
  /// Columns of x from one of a run to the next.
  constexpr std::int64_t copied_step() const { return column_step > 1 ? 1 : shape.stride[2]; }
  constexpr std::int64_t rows_of_tile() const { return amx ? detail::amx_tile_rows : tile_rows; }
  /// Rows of an image leave a tile's registers empty: images may share tiles, so that each sum is one
  /// chain, however many rows a tile has.
  constexpr bool is_narrow() const {
    constexpr std::int64_t least_of_amx = 12;
    return output_columns / images < (amx ? least_of_amx : (tile_rows + 1) / 2);
  }
  constexpr bool pairs_rows() const { return pairs && kind == ConvKind::line; }
  constexpr std::int64_t channels_per_plane() const {
    return pairs && !pairs_rows() ? 2 * unit : unit;
  }
  /// The kernel's rows that the elements of planes stand for one by one, or in pairs.
  constexpr std::int64_t kernel_rows() const {
    return pairs_rows() ? (shape.kernel[1] + 1) / 2 : shape.kernel[1];
  }
  /// The first row of pair i. Of an odd number the last pair has a row again, with a weight of zero: it
  /// is one that the output sees.
  constexpr std::int64_t kernel_row(std::int64_t i) const {
    if (!pairs_rows()) return i;
    return 2 * i < shape.kernel[1] - 1 ? 2 * i : shape.kernel[1] - 2;
  }
  constexpr std::int64_t row_size() const { return phases * columns * column_size(); }
  constexpr std::int64_t frame_size() const { return rows * row_size(); }
  constexpr std::int64_t plane_size() const { return frames * frame_size(); }
  /// The place in a plane of the first elements that an output row sees.
  constexpr std::int64_t offset_of_row(std::int64_t row) const {
    return row / frame_rows * frame_step * frame_size() + row % frame_rows * row_step * row_size();
  }
};

namespace detail {

/// Whether there are kernels for groups of so many channels, and as many filters, which are lanes of one block;
/// groups of more than one have them for floats alone.
template <class T>
constexpr bool has_narrow_groups(std::int64_t channels) {
  constexpr std::int64_t N = channel_block<T>;
  return channels > 0 && channels < N && N % channels == 0 &&
         (channels == 1 || std::is_same_v<T, float>);
}

/// Whether kernels of T take pairs of channels where they are asked for bfloat16.
template <class T>
inline constexpr bool takes_pairs = std::is_same_v<T, float> && has_tiles<float, BfloatPair>;

/// The taps [begin, end) of a kernel of `count` that fall on elements [0, extent) when tap 0 falls
/// on `start`; begin and end are 0 if none does.
struct Taps {
  std::int64_t begin, end;
  constexpr Taps(std::int64_t start, std::int64_t dilation, std::int64_t count, std::int64_t extent)
      : begin(start < 0 ? (-start + dilation - 1) / dilation : 0),
        end(start >= extent ? 0 : (extent - 1 - start) / dilation + 1) {
    if (end > count) end = count;
    if (begin >= end) begin = end = 0;
  }
};

/// Calls f(offset in a row of x's runs, kw, whether it follows the one before directly) for each
/// column of the kernel in the order of summation.
template <class F>
HALFTONE_INLINE constexpr void for_each_column(const ConvPlan& plan, F&& f) {
  const ConvShape& s = plan.shape;
  for (std::int64_t phase = 0; phase < plan.phases; ++phase) {
    std::int64_t next = -1;
    for (std::int64_t kw = 0; kw < s.kernel[2]; ++kw) {
      const std::int64_t column = kw * s.dilation[2];
      if (plan.phases > 1 && column % plan.phases != phase) continue;
      const std::int64_t at = phase * plan.columns + column / plan.phases;
      f(at * plan.column_size(), kw, at == next && plan.images == 1);
      next = at + 1;
    }
  }
}

/// Bytes of the table of segments in front of the packed weights.
constexpr std::int64_t segment_bytes(const ConvPlan& plan) {
  return round_up(plan.segments * std::int64_t(sizeof(Segment)), 64);
}

/// Channels of one of a group's planes that there are.
constexpr std::int64_t channels_of_plane(const ConvPlan& plan, std::int64_t plane) {
  const std::int64_t most = plan.channels_per_plane();
  const std::int64_t left = plan.shape.channels_per_group() - plane * most;
  return left < most ? left : most;
}

/// Activations that a task should find in L2 beside its weights.
inline constexpr std::int64_t band_bytes = 384 * 1024;

/// Bytes of a block of transformed tiles, and of their products, that a task should find in L2, and
/// the tiles that a block has at least.
inline constexpr std::int64_t winograd_bytes = 384 * 1024;
inline constexpr std::int64_t winograd_tiles = 28;

/// Bytes of images that are reordered at once, so that they use the same transformed weights.
inline constexpr std::int64_t reordered_bytes = 4 * 1024 * 1024;

/// Elements of patches that a task of the general kind packs at once.
inline constexpr std::int64_t patch_elements = 64 * 1024;

/// Pairs that hold so many channels for AMX: few of them lie so close that a register takes neighbouring
/// pixels at once.
constexpr std::int64_t amx_unit(std::int64_t channels) {
  std::int64_t unit = 1;
  while (unit < amx_steps && 2 * unit < channels) unit *= 2;
  return unit;
}

template <class T>
constexpr void plan_tiles(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  constexpr std::int64_t N = channel_block<T>;
  const bool line = plan.kind == ConvKind::line;
  const std::int64_t output_depth = s.output(0), output_height = s.output(1),
                     output_width = s.output(2);
  plan.unit = line ? 1 : plan.amx ? amx_unit(s.channels) : plan.pairs ? N / 2 : N;
  plan.planes = Parts(s.channels, plan.channels_per_plane()).parts;
  const bool has_steps =
      plan.amx && plan.unit < amx_steps;  // neighbours alone can be taken at once
  plan.phases = s.kernel[2] == 1 || has_steps ? 1 : s.stride[2];
  plan.column_step = s.kernel[2] > 1 && has_steps ? s.stride[2] : 1;
  plan.columns = s.kernel[2] == 1
                     ? output_width
                     : (output_width - 1) * plan.column_step + (s.reach(2) - 1) / plan.phases + 1;
  plan.rows = s.kernel[1] == 1 ? output_height : (output_height - 1) * s.stride[1] + s.reach(1);
  plan.row_step = s.kernel[1] == 1 ? 1 : s.stride[1];
  plan.frames = s.kernel[0] == 1 ? output_depth : (output_depth - 1) * s.stride[0] + s.reach(0);
  plan.frame_step = s.kernel[0] == 1 ? 1 : s.stride[0];
  const Layout in_form = plan.pairs ? Layout::pairs : line ? Layout::plain : Layout::blocked;
  const bool in_place = plan.images == 1 && plan.input == in_form && s.pads_begin[0] == 0 &&
                        s.pads_begin[1] == 0 && s.pads_begin[2] == 0 && s.stride[2] == 1 &&
                        (s.kernel[1] > 1 || s.stride[1] == 1) &&
                        (s.kernel[0] > 1 || s.stride[0] == 1) && plan.columns == s.input[2] &&
                        plan.rows <= s.input[1] && plan.frames <= s.input[0];
  plan.copies = !in_place;
  if (in_place) {
    plan.rows = s.input[1];
    plan.frames = s.input[0];
  }
  const bool one_row = s.kernel[1] == 1 && s.kernel[2] == 1,
             one_frame = one_row && s.kernel[0] == 1;
  plan.frame_rows = one_row ? 1 : output_height;
  plan.output_rows = one_frame ? 1 : output_depth * plan.frame_rows;
  plan.output_columns = plan.images * s.output_pixels() / plan.output_rows;

  std::int64_t runs = 0;
  for_each_column(plan, [&](std::int64_t, std::int64_t, bool joined) { runs += joined ? 0 : 1; });
  const std::int64_t planes = plan.planes / s.groups;
  const bool has_wide_rows = s.dilation[1] > 1 && s.pads_begin[1] > 0 && !plan.pairs_rows();
  if (!plan.amx)
    plan.kernel_parts = s.kernel[0] > 1 ? s.kernel[0] : has_wide_rows ? s.kernel[1] : 1;
  plan.segments = planes * s.kernel[0] * plan.kernel_rows() * runs;
  if (has_steps && runs > 0) plan.amx_steps = amx_steps_of(s.kernel[2] / runs * plan.unit);
  plan.steps = planes * s.kernel[0] * plan.kernel_rows() * s.kernel[2] * plan.unit;
  const std::int64_t filters = round_up(s.filters_per_group(), N);
  plan.panels = Parts(filters, panel_columns<compute_t<T>>).parts;
  plan.packed_bytes =
      segment_bytes(plan) + s.groups * filters * plan.steps * std::int64_t(sizeof(T));

  // Bands of rows whose x stays in L2; at least eight tasks where there is work for them.
  const std::int64_t tiles = Parts(plan.output_columns, plan.rows_of_tile()).parts;
  const std::int64_t units = plan.output_rows > 1 ? plan.output_rows : tiles;
  const std::int64_t bytes = plan.planes / s.groups * plan.plane_size() * std::int64_t(sizeof(T));
  std::int64_t bands = Parts(bytes, band_bytes).parts;
  const std::int64_t wanted = Parts(8, plan.panels * s.groups).parts;
  if (bands < wanted) bands = wanted;
  if (bands > units) bands = units;
  plan.band = Parts(units, bands < 1 ? 1 : bands).parts;
}

/// Lets images share tiles that the rows of one would not fill, as far as their x stays in L2.
template <class T>
constexpr void plan_images(ConvPlan& plan) {
  const std::int64_t batch = plan.shape.batch;
  const std::int64_t bytes = plan.planes * plan.plane_size() * std::int64_t(sizeof(T));
  const std::int64_t most = bytes < band_bytes ? band_bytes / bytes : 1;
  if (!plan.is_narrow() || batch == 1 || most == 1 || plan.column_step > 1) return;
  plan.images = Parts(batch, Parts(batch, most).parts).parts;
  plan_tiles<T>(plan);
}

/// Batches are divided where each thread then has all weights in L2, and enough images.
constexpr std::int64_t batch_tasks(const ConvPlan& plan) {
  constexpr std::int64_t least = 4, most = 8;
  const std::int64_t parts = Parts(plan.shape.batch, plan.images).parts;
  if (parts < least || plan.packed_bytes > band_bytes) return 1;
  return parts < most ? parts : most;
}

/// Elements of scratch memory that a part of a batch needs: for its x with the padding, and with y
/// in blocks.
template <class T>
constexpr std::int64_t copied_size(const ConvPlan& plan) {
  return plan.copies ? round_up(plan.planes * plan.plane_size(), 64 / std::int64_t(sizeof(T))) : 0;
}
/// Whether what tiles compute is brought into y behind them.
constexpr bool finishes(const ConvPlan& plan) {
  return plan.output == Layout::plain || plan.images > 1;
}
template <class T>
constexpr std::int64_t tiled_scratch(const ConvPlan& plan) {
  if (!finishes(plan)) return copied_size<T>(plan);
  const ConvShape& s = plan.shape;
  const std::int64_t filters = channel_blocks<T>(s.filters) * channel_block<T>;
  return copied_size<T>(plan) +
         round_up(plan.images * filters * s.output_pixels(), 64 / std::int64_t(sizeof(T)));
}

/// Channels that are summed up in one chain: the sums of several such chains are added, which keeps
/// rounding errors from growing with the number of channels.
inline constexpr std::int64_t winograd_channels = 64;

/// Neighbouring tiles that are transformed together.
inline constexpr std::int64_t winograd_run = 8;

/// Elements from a position of transformed tiles to the next: the same elements of all positions
/// must not share a set of the cache.
constexpr std::int64_t winograd_position(std::int64_t elements, std::int64_t lanes) {
  return elements + lanes;
}

template <class T>
constexpr void plan_winograd(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  constexpr std::int64_t N = channel_block<T>;
  const std::int64_t bytes = sizeof(T), panel = panel_columns<compute_t<T>>;
  const std::int64_t positions = winograd_positions(plan.edge, s.kernel[2]);
  plan.unit = N;
  plan.planes = plan.segments = channel_blocks<T>(s.channels);
  plan.steps = plan.planes * N;
  plan.output_rows = Parts(s.output(1), plan.edge).parts;
  plan.output_columns = Parts(s.output(2), plan.edge).parts;
  const std::int64_t filters = round_up(s.filters, N);
  plan.panels = Parts(filters, panel).parts;
  plan.packed_bytes = segment_bytes(plan) + positions * filters * plan.steps * bytes;

  const bool is_reordered = plan.input == Layout::plain || plan.output == Layout::plain;
  const std::int64_t image = (plan.steps * s.input_pixels() + filters * s.output_pixels()) * bytes;
  const std::int64_t fitting = image < reordered_bytes ? reordered_bytes / image : 1;
  plan.reordered = fitting < s.batch ? fitting : s.batch;
  const std::int64_t images = is_reordered ? plan.reordered : s.batch;
  const std::int64_t tiles = images * plan.output_rows * plan.output_columns;
  std::int64_t most = winograd_bytes / (positions * plan.steps * bytes);
  if (most < winograd_tiles) most = winograd_tiles;
  std::int64_t blocks = Parts(tiles, most).parts;
  plan.tasks = blocks < 4 ? 1 : 8;
  blocks = round_up(blocks, plan.tasks);  // for each task about as many: they end together
  plan.tiles_per_block = Parts(tiles, blocks).parts;
  const std::int64_t wanted = plan.tasks > 1 ? 1 : 8;
  std::int64_t group = winograd_bytes / (positions * plan.tiles_per_block * panel * bytes);
  if (group > Parts(plan.panels, wanted).parts) group = Parts(plan.panels, wanted).parts;
  plan.panels_per_group = group < 1 ? 1 : group;
  const std::int64_t groups = Parts(plan.panels, plan.panels_per_group).parts;
  const std::int64_t input = winograd_position(plan.tiles_per_block * plan.steps, N);
  const std::int64_t products =
      winograd_position(plan.tiles_per_block * plan.panels_per_group * panel, N);
  plan.workspace_bytes =
      positions * (plan.tasks * input + (plan.tasks > 1 ? plan.tasks : groups) * products) * bytes;
}

}  // namespace detail

/// Whether a convolution has no depth.
constexpr bool is_flat(const ConvShape& s) {
  return s.input[0] == 1 && s.kernel[0] == 1 && s.output(0) == 1 && s.stride[0] == 1;
}

/// Whether a convolution has the form F(edge x edge, kernel): F(2x2, 3x3), F(4x4, 3x3) or F(2x2, 5x5).
constexpr bool has_winograd(const ConvShape& s, std::int64_t edge) {
  const std::int64_t taps = s.kernel[2];
  return ((edge == 2 && (taps == 3 || taps == 5)) || (edge == 4 && taps == 3)) &&
         s.kernel[1] == taps && is_flat(s) && s.groups == 1 && s.stride[1] == 1 &&
         s.stride[2] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1;
}

/// Chooses how to compute a convolution of elements T whose x and y have these layouts, pairs where
/// conv_takes_pairs() and conv_makes_pairs(); by the form
/// F(edge x edge, kernel) if there is one and T is float. In bfloat16 direct sums of floats take pairs of
/// channels or rows, which is faster than tiles of edge 2, too; in AMX's registers pairs of channels
/// alone, which is faster than tiles of any edge.
template <class T>
constexpr ConvPlan conv_plan(const ConvShape& s, Layout input, Layout output, std::int64_t edge = 0,
                             Precision precision = Precision::float32) {
  using S = compute_t<T>;
  constexpr std::int64_t N = channel_block<T>;
  ConvPlan plan;
  plan.shape = s;
  plan.input = input;
  plan.output = output;
  const std::int64_t bytes = sizeof(T);
  const std::int64_t blocks = channel_blocks<T>(s.filters);
  const bool some = s.batch > 0 && s.channels > 0 && s.filters > 0 && s.output_pixels() > 0;
  const bool tiled =
      detail::is_real<T> && std::is_same_v<T, S> && some && s.kernel[2] <= most_kernel_columns;
  const bool few = input == Layout::plain && s.groups == 1 &&
                   (s.channels * 2 <= N || (s.channels < N && s.kernel[2] > 2));
  const std::int64_t group = s.channels_per_group();
  const bool is_narrow =
      s.groups > 1 && s.channels == s.filters && detail::has_narrow_groups<T>(group);
  const bool in_pairs = detail::takes_pairs<T> && precision == Precision::bfloat16;
  if (!detail::is_real<T>) {
    plan.kind = ConvKind::simple;
  } else if (tiled && is_flat(s) && is_narrow) {
    plan.kind = ConvKind::depthwise;
  } else if (tiled && std::is_same_v<T, float> && has_winograd(s, edge) &&
             !(in_pairs && (edge == 2 || detail::multiplies_in_amx()))) {
    plan.kind = ConvKind::winograd;
    plan.edge = edge;
  } else if (tiled && few) {
    plan.kind = in_pairs && detail::multiplies_in_amx() ? ConvKind::blocked : ConvKind::line;
  } else if (tiled && (s.groups == 1 ||
                       (s.channels_per_group() % N == 0 && s.filters_per_group() % N == 0))) {
    plan.kind = ConvKind::blocked;
  } else {
    plan.kind = ConvKind::general;
  }

  const bool has_rows = plan.kind == ConvKind::line && s.kernel[1] > 1 && s.kernel[0] == 1;
  plan.pairs = in_pairs && (plan.kind == ConvKind::blocked || has_rows);
  if (plan.pairs && detail::multiplies_in_amx()) {
    plan.amx = s.groups == 1 || group % (2 * N) == 0;
    plan.pairs = plan.amx;
  }
  if (plan.kind == ConvKind::blocked || plan.kind == ConvKind::line) {
    detail::plan_tiles<T>(plan);
    const bool is_plain = input == Layout::plain && output == Layout::plain;
    // See is_narrow().
    const bool has_chains = std::is_same_v<T, float> && (!plan.pairs || plan.amx);
    if (plan.kind == ConvKind::blocked && (is_plain || has_chains)) detail::plan_images<T>(plan);
    plan.tasks = detail::batch_tasks(plan);
    plan.workspace_bytes = detail::round_up(blocks * N * bytes, 64) +  // the bias, padded
                           plan.tasks * detail::tiled_scratch<T>(plan) * bytes;
  } else if (plan.kind == ConvKind::winograd) {
    detail::plan_winograd<T>(plan);
    plan.workspace_bytes += detail::round_up(blocks * N * bytes, 64);
    const std::int64_t images = plan.reordered;
    if (input == Layout::plain) {
      plan.workspace_bytes += images * plan.steps * s.input_pixels() * bytes;
    }
    if (output == Layout::plain) {
      plan.workspace_bytes += images * blocks * N * s.output_pixels() * bytes;
    }
  } else if (plan.kind == ConvKind::depthwise) {
    plan.packed_bytes = blocks * N * group * s.kernel_size() * bytes;
    plan.workspace_bytes = detail::round_up(blocks * N * bytes, 64);
    if (input == Layout::plain) plan.workspace_bytes += blocks * N * s.input_pixels() * bytes;
    if (output == Layout::plain) plan.workspace_bytes += blocks * N * s.output_pixels() * bytes;
  } else {
    plan.steps = s.channels_per_group() * s.kernel_size();
    plan.packed_bytes = s.filters * plan.steps * std::int64_t(sizeof(S));
    const auto align = [](std::int64_t n) { return detail::round_up(n, 64); };
    if (input == Layout::blocked) {
      plan.workspace_bytes += align(s.batch * s.channels * s.input_pixels() * bytes);
    }
    if (output == Layout::blocked) {
      plan.workspace_bytes += 2 * align(s.batch * s.filters * s.output_pixels() * bytes);
    }
    if (plan.kind == ConvKind::general && some) {
      const std::int64_t panel = plan.steps * detail::panel_columns<S>;
      const std::int64_t panels = Parts(s.output_pixels(), detail::panel_columns<S>).parts;
      plan.panels_per_task = panel >= detail::patch_elements ? 1 : detail::patch_elements / panel;
      if (plan.panels_per_task > panels) plan.panels_per_task = panels;
      plan.tasks = s.batch * s.groups * Parts(panels, plan.panels_per_task).parts;
      if (plan.tasks > 16) plan.tasks = 16;
      plan.workspace_bytes += plan.tasks * plan.panels_per_task * panel * std::int64_t(sizeof(S));
    }
  }
  return plan;
}

namespace detail {

/// Pixels that a depthwise convolution of pairs has room for as floats: those of the rows of x that one row of
/// y reads.
inline constexpr std::int64_t depthwise_ring_pixels = 1024;
constexpr bool fits_depthwise_ring(std::int64_t rows, std::int64_t width) {
  return rows * width <= depthwise_ring_pixels;
}

/// Whether a convolution's kernel by channel has pairs of blocks; both sides of it are in blocks or pairs.
constexpr bool is_paired_depthwise(const ConvPlan& plan) {
  return takes_pairs<float> && plan.kind == ConvKind::depthwise &&
         plan.shape.channels_per_group() == 1 && plan.input != Layout::plain &&
         plan.output != Layout::plain;
}

}  // namespace detail

/// Whether the convolution of a plan, whose y or x is in blocks, may have pairs in their place.
constexpr bool conv_makes_pairs(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const bool makes = detail::is_paired_depthwise(plan) || (plan.amx && s.groups == 1);
  return makes && s.filters % channel_block<float> == 0;
}
constexpr bool conv_takes_pairs(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  return (detail::is_paired_depthwise(plan) &&
          detail::fits_depthwise_ring(s.reach(1), s.input[2])) ||
         (plan.amx && s.groups == 1 && plan.unit == detail::amx_steps);
}

}  // namespace halftone::kernel
