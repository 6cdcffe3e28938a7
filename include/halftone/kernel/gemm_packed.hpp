#pragma once

#include <halftone/kernel/epilogue.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_pack.hpp>

/// The product of large float matrices: both operands packed, register tiles, groups of
/// rows that stay in L2.
namespace halftone::kernel::detail {

/// Longest piece of k. A panel of b then streams from L2, which the tiles have bandwidth to spare
/// for; shorter pieces that leave it in L1 cost more by reading and writing y again.
template <class S>
inline constexpr std::int64_t k_block = 4096 / int(sizeof(S));

/// How a product is cut into blocks.
struct Blocking {
  std::int64_t k;     ///< elements of the longest piece of k
  std::int64_t step;  ///< pieces are multiples of it
  std::int64_t tile_rows;
  std::int64_t group;  ///< tiles of rows that are packed at once; their piece of k stays in L2
  /// Up to this many tiles all rows are packed first and the work is divided by columns.
  std::int64_t few_tiles;
};
/// The tiles of AMX are so fast that a panel of b is to lie in L1, and many rows are to use it.
template <class S, class W>
constexpr Blocking blocking() {
  if (takes_amx<W>()) return {512, amx_steps, rows_of_tile<W>(), 8, 8};
  return {k_block<S>, 1, rows_of_tile<W>(), 84 / tile_rows, 256 / tile_rows};
}

/// The pieces that k is cut into.
struct Pieces {
  std::int64_t k = 0, step = 1, parts = 1;
  Parts steps{0, 1};
  constexpr Pieces() = default;
  constexpr Pieces(std::int64_t all, std::int64_t longest, std::int64_t multiple)
      : k(all), step(multiple), steps(Parts(all, multiple).parts, longest / multiple) {
    if (steps.parts > 1) parts = steps.parts;
  }
  constexpr std::int64_t begin(std::int64_t i) const {
    const std::int64_t at = steps.begin(i) * step;
    return i == parts || at > k ? k : at;
  }
};

/// Elements of b packed at once.
inline constexpr std::int64_t b_block = std::int64_t{1} << 22;

/// Panels of b packed at once; k counts elements.
template <class S>
constexpr std::int64_t panels_at_once(std::int64_t n, std::int64_t k) {
  const std::int64_t panels = Parts(n, panel_columns<S>).parts;
  const std::int64_t block = k == 0 ? panels : b_block / (k * panel_columns<S>);
  return block > panels ? panels : block < 1 ? 1 : block;
}

/// Elements of b that a task packs at once where it multiplies them with all rows: they stay in L2.
inline constexpr std::int64_t b_strip = std::int64_t{1} << 17;

/// Whether that can be: of few tiles, and panels that fit.
template <class S>
constexpr bool fits_strips(const Blocking& blocks, std::int64_t m, std::int64_t k) {
  return Parts(m, blocks.tile_rows).parts <= blocks.few_tiles && k * panel_columns<S> <= b_strip;
}
/// Panels that each of `shares` tasks packs at once then.
template <class S>
constexpr std::int64_t panels_of_strip(std::int64_t panels, std::int64_t k, std::int64_t shares) {
  const std::int64_t most = k == 0 ? panels : b_strip / (k * panel_columns<S>);
  const std::int64_t all = (panels + shares - 1) / shares;
  return most < all ? most : all;
}

/// Tasks that divide the rows, each with a slot of scratch memory for a group of tiles.
constexpr std::int64_t slot_count(const Blocking& blocks, std::int64_t tiles) {
  const std::int64_t groups = Parts(tiles, blocks.group).parts;
  return groups < most_tasks ? groups : most_tasks;
}
constexpr std::int64_t slot_rows(const Blocking& blocks) {
  return round_up(blocks.group * blocks.tile_rows, 16);
}

/// W is what the packed b is made of, see PackedB.
template <class T, class W = compute_t<T>>
struct Product {
  using S = compute_t<T>;
  std::int64_t m, n, k;  ///< k counts elements W
  Matrix<const T> a;
  const left_t<S, W>* packed_a;  ///< null: a is packed on the way
  Matrix<const T> b;
  const W* packed_b;
  Matrix<T> y;
  const Epilogue<T>* epilogue;
  Parts tiles;
  Pieces steps;
  bool fused;        ///< the tile kernels apply the whole epilogue
  bool amx = false;  ///< tiles have sums in AMX's registers
};

/// Whether alpha and addend leave something to do only before and after the sum of a tile.
template <class T>
constexpr bool fits_tile(const Epilogue<T>& e) {
  if constexpr (!std::is_same_v<T, compute_t<T>>) {
    return false;
  } else {
    return e.alpha == 1 &&
           (e.addend == nullptr ||
            (e.beta == 1 && e.addend_row_stride == 0 && e.addend_column_stride == 1)) &&
           (e.residual == nullptr || e.residual_column_stride == 1);
  }
}

/// One piece of k for the tiles [t0, t1) by the panels [p0, p1). `a` holds the tiles' rows, tile t
/// at offset (first row - rows before) * a_depth; `b` panel p at (first column - b_column) * k.
template <class T, class W = compute_t<T>>
void multiply_block(const Product<T, W>& p, const left_t<compute_t<T>, W>* a,
                    std::int64_t rows_before, std::int64_t a_depth, std::int64_t a_step,
                    const std::type_identity_t<W>* b, std::int64_t b_column, std::int64_t piece,
                    std::int64_t t0, std::int64_t t1, std::int64_t p0, std::int64_t p1) {
  using S = compute_t<T>;
  const Epilogue<T>& e = *p.epilogue;
  const std::int64_t begin = p.steps.begin(piece);
  const bool first = piece == 0, last = piece + 1 == p.steps.parts;
  const Segment segment{0, p.steps.begin(piece + 1) - begin};
  const std::int64_t row0 = p.tiles.begin(t0), row1 = p.tiles.begin(t1);
  constexpr std::int64_t most_rows = terms_of<W> == 2 ? amx_tile_rows : tile_rows;
  S buffer[most_rows * panel_columns<S>];
  [[maybe_unused]] AmxTilesOf<W> amx;
  const auto compute = [&](Source source, std::int64_t rows, std::int64_t vectors,
                           const Tile<S, W>& tile) {
    if constexpr (terms_of<W> == 2) {
      if (p.amx) return amx.run_rows(tile, rows, vectors);
    }
    const auto kernel = source == Source::row ? tile_kernel<S, Source::row, W>(rows, vectors)
                                              : tile_kernel<S, Source::panel, W>(rows, vectors);
    kernel(tile);
  };

  std::int64_t panels = 1;  // at once
  for (std::int64_t panel = p0; panel < p1; panel += panels) {
    const std::int64_t j = panel * panel_columns<S>;
    panels = 1;
    if constexpr (std::is_same_v<T, S>) {
      // A single row has so few sums in one panel that they would wait for each other.
      const std::int64_t whole = p.n / panel_columns<S> - panel, left = p1 - panel;
      while (row1 - row0 == 1 && panels < row_panels && panels < whole && panels < left) ++panels;
    }
    const std::int64_t vectors = panels > 1 ? panels * panel_vectors : vectors_of_panel<S>(j, p.n);
    const std::int64_t width = vectors * Vec<S>::size;
    const std::int64_t columns = p.n - j < width ? p.n - j : width;
    const bool direct = std::is_same_v<T, S> && columns == width;
    const bool fused = direct && p.fused;
    Tile<S, W> tile;
    tile.w = b + (j - b_column) * p.k + begin * (panels > 1 ? panel_columns<S> : width);
    tile.w_step = p.amx ? width : panel_columns<S> * p.k;
    tile.x_row = a_depth;
    tile.segments = &segment;
    tile.segment_count = 1;
    tile.accumulate = !first;
    // The tiles of this panel fetch the next one into L2, a share each.
    const W* next = panel + 1 < p1 ? tile.w + panel_columns<S> * p.k : tile.w;
    const std::int64_t share = segment.steps * width * std::int64_t(sizeof(W)) / (t1 - t0);
    tile.ahead_step = segment.steps == 0 ? 0 : (share + segment.steps - 1) / segment.steps;
    if constexpr (std::is_same_v<T, S>) {
      if (fused && first && e.addend != nullptr) tile.bias = e.addend + j;
    }
    if (fused && last) {
      tile.residual_row = e.residual_row_stride;
      tile.clamp = e.clamp;
      tile.lower = e.lower;
      tile.upper = e.upper;
    }
    for (std::int64_t t = t0; t < t1; ++t) {
      const std::int64_t i = p.tiles.begin(t), rows = p.tiles.begin(t + 1) - i;
      T* y = p.y.data + i * p.y.row_stride + j;
      tile.ahead = reinterpret_cast<const char*>(next) + (t - t0) * share;
      tile.x = a + (i - rows_before) * a_depth + a_step * (p.amx ? 1 : rows);
      if constexpr (std::is_same_v<T, S>) {
        if (direct) {
          tile.y = y;
          tile.y_row = p.y.row_stride;
          if (fused && last && e.residual != nullptr) {
            tile.residual = e.residual + i * e.residual_row_stride + j;
          }
          compute(panels > 1 ? Source::row : Source::panel, rows, vectors, tile);
          continue;
        }
        if (!first) {
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < columns; ++c) {
              buffer[r * width + c] = y[r * p.y.row_stride + c];
            }
            for (std::int64_t c = columns; c < width; ++c) buffer[r * width + c] = 0;
          }
        }
      }
      tile.y = buffer;
      tile.y_row = width;
      compute(Source::panel, rows, vectors, tile);
      finish(buffer, width, y, p.y.row_stride, 1, i, j, rows, columns, last ? e : Epilogue<T>{});
    }
    if constexpr (std::is_same_v<T, S>) {
      if (last && direct && !fused && !e.is_plain()) {
        T* y = p.y.data + row0 * p.y.row_stride + j;
        finish(y, p.y.row_stride, y, p.y.row_stride, 1, row0, j, row1 - row0, columns, e);
      }
    }
    if (last && e.post != nullptr) {
      if constexpr (terms_of<W> == 2) amx.flush();
      e.post(e.context, p.y.data + row0 * p.y.row_stride + j, row0, j, row1 - row0, columns,
             p.y.row_stride);
    }
  }
}

/// Bytes of scratch memory for multiply_packed.
template <class T, class W = compute_t<T>>
constexpr std::int64_t packed_product_bytes(std::int64_t m, std::int64_t n, std::int64_t terms,
                                            bool has_packed_a, bool has_packed_b) {
  using S = compute_t<T>;
  const Blocking blocks = blocking<S, W>();
  const std::int64_t k = elements_of<W>(terms);
  const std::int64_t depth = std::is_same_v<T, S> && k > blocks.k ? blocks.k : k;
  std::int64_t bytes = 128;
  if (!has_packed_a) {
    const std::int64_t tiles = Parts(m, blocks.tile_rows).parts;
    bytes += (tiles <= blocks.few_tiles ? round_up(m * k, 16)
                                        : slot_count(blocks, tiles) * slot_rows(blocks) * depth) *
             std::int64_t(sizeof(left_t<S, W>));
  }
  if (!has_packed_b) {
    std::int64_t panels = panels_at_once<S>(n, k);
    if (fits_strips<S>(blocks, m, k)) {
      // Of any number of tasks: a strip each, or all panels and up to one more each.
      const std::int64_t parts = Parts(n, panel_columns<S>).parts;
      const std::int64_t most = parts < most_tasks ? parts : most_tasks;
      const std::int64_t strips = most * panels_of_strip<S>(parts, k, 1);
      panels = strips < parts + most ? strips : parts + most;
    }
    bytes += panels * panel_columns<S> * k * std::int64_t(sizeof(W));
  }
  return bytes;
}

/// Packs the steps [q, q + steps) of the tiles [t0, t1) one after the other.
template <class T, class W>
void pack_tiles_of_a(const Product<T, W>& p, std::int64_t t0, std::int64_t t1, std::int64_t q,
                     std::int64_t steps, left_t<compute_t<T>, W>* to) {
  const std::int64_t first = q * terms_of<W>, left = p.a.columns - first;
  const std::int64_t terms = left < steps * terms_of<W> ? left : steps * terms_of<W>;
  for (std::int64_t t = t0; t < t1; ++t) {
    const std::int64_t i = p.tiles.begin(t), rows = p.tiles.begin(t + 1) - i;
    pack_tile<T>(p.a.data + i * p.a.row_stride + first * p.a.column_stride, p.a.row_stride,
                 p.a.column_stride, rows, terms, to + (i - p.tiles.begin(t0)) * steps, steps, 0,
                 true);
  }
}

/// The panels [p0, p1) with a packed: a grid of groups of tiles by groups of panels.
template <class T, class W>
void multiply_grid(const Product<T, W>& p, std::int64_t tasks, const W* b, std::int64_t b_column,
                   std::int64_t p0, std::int64_t p1, const Executor& executor) {
  const Blocking blocks = blocking<compute_t<T>, W>();
  const bool are_few = p.tiles.parts <= blocks.few_tiles;
  const Parts groups(p.tiles.parts, are_few ? blocks.few_tiles : blocks.group);
  const Parts columns(p1 - p0, Parts(p1 - p0, Parts(tasks, groups.parts).parts).parts);
  parallel_for(executor, groups.parts * columns.parts, [&](std::int64_t task) {
    const std::int64_t g = task / columns.parts, c = task % columns.parts;
    for (std::int64_t piece = 0; piece < p.steps.parts; ++piece) {
      multiply_block(p, p.packed_a, 0, p.k, p.steps.begin(piece), b, b_column, piece,
                     groups.begin(g), groups.begin(g + 1), p0 + columns.begin(c),
                     p0 + columns.begin(c + 1));
    }
  });
}

/// The panels [p0, p1) with a packed on the way, each task into its own slot of `slots`.
template <class T, class W>
void multiply_groups(const Product<T, W>& p, std::int64_t tasks, std::int64_t depth,
                     left_t<compute_t<T>, W>* slots, const W* b, std::int64_t b_column,
                     std::int64_t p0, std::int64_t p1, const Executor& executor) {
  const Blocking blocks = blocking<compute_t<T>, W>();
  const Parts groups(p.tiles.parts, blocks.group);
  const std::int64_t most = slot_count(blocks, p.tiles.parts);
  const std::int64_t shares = tasks < most ? tasks : most;
  parallel_for(executor, shares, [&](std::int64_t task) {
    auto* const slot = slots + task * slot_rows(blocks) * depth;
    const std::int64_t end = (task + 1) * groups.parts / shares;
    for (std::int64_t g = task * groups.parts / shares; g < end; ++g) {
      const std::int64_t t0 = groups.begin(g), t1 = groups.begin(g + 1);
      for (std::int64_t piece = 0; piece < p.steps.parts; ++piece) {
        const std::int64_t q = p.steps.begin(piece), steps = p.steps.begin(piece + 1) - q;
        pack_tiles_of_a(p, t0, t1, q, steps, slot);
        multiply_block(p, slot, p.tiles.begin(t0), steps, 0, b, b_column, piece, t0, t1, p0, p1);
      }
    }
  });
}

/// Whether threads take rows of few tiles instead of columns. Neighbouring operators do: what one
/// thread has computed it then reads itself. But each thread reads all of b.
template <class T, class W>
constexpr bool shares_rows(const Product<T, W>& p, std::int64_t tasks, const Executor& executor) {
  constexpr std::int64_t least = 2;                     // tiles of a thread
  constexpr std::int64_t most = std::int64_t{1} << 20;  // bytes of b
  const std::int64_t threads = executor.threads, tiles = p.tiles.parts;
  if (threads <= 1 || tasks < threads || tiles < least * threads) return false;
  // Threads that get a tile less wait meanwhile: no more than a tenth of the time.
  const std::int64_t turns = (tiles + threads - 1) / threads;
  return (turns * threads - tiles) * 10 <= turns * threads &&
         p.k * p.n * std::int64_t{sizeof(W)} <= most;
}

/// The panels [p0, p1) with rows that are packed, or that each task packs into its part of `room`.
template <class T, class W>
void multiply_rows(const Product<T, W>& p, left_t<compute_t<T>, W>* room, const W* b,
                   std::int64_t p0, std::int64_t p1, const Executor& executor) {
  const std::int64_t threads = executor.threads;
  const Parts rows(p.tiles.parts, (p.tiles.parts + threads - 1) / threads);
  const auto* const packed = p.packed_a != nullptr ? p.packed_a : room;
  parallel_for(executor, rows.parts, [&](std::int64_t task) {
    const std::int64_t t0 = rows.begin(task), t1 = rows.begin(task + 1);
    if (p.packed_a == nullptr) pack_tiles_of_a(p, t0, t1, 0, p.k, room + p.tiles.begin(t0) * p.k);
    for (std::int64_t piece = 0; piece < p.steps.parts; ++piece) {
      multiply_block(p, packed, 0, p.k, p.steps.begin(piece), b, 0, piece, t0, t1, p0, p1);
    }
  });
}

/// All columns of few tiles, with a packed and b on the way: each task packs strips into its slot of
/// `slots`, so that b is read once and what is packed does not leave the cache.
template <class T, class W>
void multiply_strips(const Product<T, W>& p, std::int64_t tasks, W* slots,
                     const Executor& executor) {
  using S = compute_t<T>;
  const std::int64_t panels = Parts(p.n, panel_columns<S>).parts;
  // A thread that uses its slot again finds it in the cache.
  const std::int64_t wanted = executor.threads <= 1 ? 1 : 2 * std::int64_t{executor.threads};
  const std::int64_t most = tasks < panels ? tasks : panels, shares = wanted < most ? wanted : most;
  const std::int64_t at_once = panels_of_strip<S>(panels, p.k, shares);
  parallel_for(executor, shares, [&](std::int64_t task) {
    W* const slot = slots + task * at_once * panel_columns<S> * p.k;
    const std::int64_t end = (task + 1) * panels / shares;
    for (std::int64_t p0 = task * panels / shares; p0 < end; p0 += at_once) {
      const std::int64_t p1 = p0 + at_once < end ? p0 + at_once : end;
      pack_panels<T, W>(p.b, p0, p1, slot);
      for (std::int64_t piece = 0; piece < p.steps.parts; ++piece) {
        multiply_block(p, p.packed_a, 0, p.k, p.steps.begin(piece), slot, p0 * panel_columns<S>,
                       piece, 0, p.tiles.parts, p0, p1);
      }
    }
  });
}

template <class T, class W = compute_t<T>>
void multiply_packed(Product<T, W> p, void* workspace, const Executor& executor) {
  using S = compute_t<T>;
  using X = left_t<S, W>;
  X* const packed_rows = static_cast<X*>(workspace);
  std::int64_t row_elements = 0;
  const Blocking blocks = blocking<S, W>();
  const bool splits_k = std::is_same_v<T, S> && p.tiles.parts > 1;
  p.steps = Pieces(p.k, splits_k ? blocks.k : round_up(p.k + 1, blocks.step), blocks.step);
  p.fused = fits_tile(*p.epilogue);
  p.amx = takes_amx<W>() && p.m > 1;  // the sums of one row wait for memory
  const std::int64_t tasks = task_count(p.m, p.n, p.k);
  const std::int64_t depth = splits_k && p.k > blocks.k ? blocks.k : p.k;

  if constexpr (std::is_same_v<T, X>) {
    // One row is packed as it is.
    if (p.m == 1 && p.a.column_stride == 1 && p.packed_a == nullptr) p.packed_a = p.a.data;
  }
  const bool by_rows =
      p.packed_b != nullptr && p.tiles.parts <= blocks.few_tiles && shares_rows(p, tasks, executor);
  if (by_rows) {
    multiply_rows(p, packed_rows, p.packed_b, 0, Parts(p.n, panel_columns<S>).parts, executor);
    return;
  }
  if (p.packed_a == nullptr && p.tiles.parts <= blocks.few_tiles) {
    const Parts groups(p.tiles.parts, Parts(p.tiles.parts, tasks).parts);
    parallel_for(executor, groups.parts, [&](std::int64_t g) {
      const std::int64_t t = groups.begin(g);
      pack_tiles_of_a(p, t, groups.begin(g + 1), 0, p.k, packed_rows + p.tiles.begin(t) * p.k);
    });
    p.packed_a = packed_rows;
    row_elements = round_up(p.m * p.k, 16);
  } else if (p.packed_a == nullptr) {
    row_elements = slot_count(blocks, p.tiles.parts) * slot_rows(blocks) * depth;
  }
  auto* const packed_panels =
      reinterpret_cast<W*>(static_cast<char*>(workspace) + row_elements * std::int64_t{sizeof(X)});

  if (p.packed_b == nullptr && fits_strips<S>(blocks, p.m, p.k)) {
    multiply_strips(p, tasks, packed_panels, executor);
    return;
  }
  const std::int64_t panels = Parts(p.n, panel_columns<S>).parts;
  const std::int64_t block = p.packed_b == nullptr ? panels_at_once<S>(p.n, p.k) : panels;
  for (std::int64_t p0 = 0; p0 < panels; p0 += block) {
    const std::int64_t p1 = p0 + block < panels ? p0 + block : panels;
    const W* b = p.packed_b;
    std::int64_t b_column = 0;
    if (b == nullptr) {
      const Parts parts(p1 - p0, Parts(p1 - p0, tasks).parts);
      parallel_for(executor, parts.parts, [&](std::int64_t task) {
        pack_panels<T, W>(p.b, p0 + parts.begin(task), p0 + parts.begin(task + 1),
                          packed_panels + parts.begin(task) * panel_columns<S> * p.k);
      });
      b = packed_panels;
      b_column = p0 * panel_columns<S>;
    }
    if (p.packed_a != nullptr) {
      multiply_grid(p, tasks, b, b_column, p0, p1, executor);
    } else {
      multiply_groups(p, tasks, depth, packed_rows, b, b_column, p0, p1, executor);
    }
  }
}

}  // namespace halftone::kernel::detail
