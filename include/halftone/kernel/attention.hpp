#pragma once

#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/gemm_pack.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/random.hpp>
#include <halftone/kernel/tile.hpp>

namespace halftone::kernel {

namespace detail {

/// The attention of one head and its gradient have this in common.
template <class T>
class AttentionHead {
 protected:
  using V = Vec<T>;
  static constexpr std::int64_t N = V::size;

  constexpr explicit AttentionHead(const AttentionShape& shape) : shape_(shape) {}

  /// y (rows by columns) = x w over `steps`, in tiles; t has the strides.
  template <class W>
  static void multiply(Tile<T, W> t, const left_t<T, W>* x, const W* w, T* y, std::int64_t rows,
                       std::int64_t columns, std::int64_t steps) {
    const Segment segment{0, steps};
    t.segments = &segment;
    t.segment_count = 1;
    if constexpr (std::is_same_v<W, BfloatPair>) {
      if (multiplies_in_amx()) {
        t.x = x;
        t.w = w;
        t.y = y;
        return AmxTiles().run_rows(t, rows, columns / N);
      }
    }
    const Parts tiles(rows, direct_rows), panels(columns / N, direct_vectors);
    for (std::int64_t p = 0; p < panels.parts; ++p) {
      const std::int64_t column = panels.begin(p) * N;
      t.w = w + column;
      for (std::int64_t i = 0; i < tiles.parts; ++i) {
        const std::int64_t row = tiles.begin(i);
        t.x = x + row * t.x_row;
        t.y = y + row * t.y_row + column;
        tile_kernel<T, Source::rows, W>(tiles.begin(i + 1) - row,
                                        panels.begin(p + 1) - panels.begin(p))(t);
      }
    }
  }

  /// The score of some neighbouring keys, masked; `is_chosen`: the choice leaves it.
  HALFTONE_INLINE V masked(V score, std::int64_t row, std::int64_t key, std::int64_t lanes,
                           bool is_chosen) const {
    score = score * V(shape_.scale);
    const auto with_bias = [&](V s) {
      return bias_.data == nullptr ? s : s + bias(row, key, lanes);
    };
    if (shape_.bias_first) score = with_bias(score);
    if (!is_chosen) score = chosen(row, key, lanes, score, V(shape_.fill));
    return shape_.bias_first ? score : with_bias(score);
  }
  HALFTONE_INLINE V bias(std::int64_t row, std::int64_t key, std::int64_t lanes) const {
    const T* const p = bias_.data + row * bias_.row + key * bias_.column;
    if (bias_.column == 0) return V(*p);
    return lanes == N ? V::load(p) : V::load_partial(p, lanes);
  }
  /// The score of some neighbouring keys, or the other number where the mask has one in its place.
  HALFTONE_INLINE V chosen(std::int64_t row, std::int64_t key, std::int64_t lanes, V score,
                           V fill) const {
    using Mask = typename V::mask;
    const bool* const p = chosen_.data + row * chosen_.row + key * chosen_.column;
    const Mask is_chosen = chosen_.column == 0 ? Mask(*p)
                           : lanes == N        ? Mask::load(p)
                                               : Mask::load_partial(p, lanes);
    return shape_.fills_chosen ? select(is_chosen, fill, score) : select(is_chosen, score, fill);
  }

  /// Masks the scores of a query's keys [first, first + count), and gives the largest one.
  T mask(std::int64_t row, T* scores, std::int64_t first, std::int64_t count,
         bool is_chosen) const {
    is_chosen = is_chosen || chosen_.data == nullptr;
    const T lowest = -static_cast<T>(__builtin_inf());
    V most(lowest);
    for (std::int64_t j = 0; j < count; j += N) {
      const std::int64_t lanes = count - j < N ? count - j : N;
      const V s = masked(V::load(scores + j), row, first + j, lanes, is_chosen);
      const V counted = lanes == N ? s : select(V::mask::first(lanes), s, V(lowest));
      counted.store(scores + j);
      most = max(counted, most);
    }
    return reduce_max(most);
  }
  /// All powers are zero where nothing is seen: no -infinity is subtracted from another.
  static V shift_of(T largest) {
    return V(largest == -static_cast<T>(__builtin_inf()) ? T(0) : largest);
  }
  /// The scores become powers, whose sum it gives.
  static T powers_of(T* scores, std::int64_t count, V shift) {
    V sum(0);
    for (std::int64_t j = 0; j < count; j += N) {
      const V e = exp(V::load(scores + j) - shift);
      e.store(scores + j);
      sum += e;
    }
    return reduce_add(sum);
  }
  /// f(j, kept, lanes) for vectors of the weights of a query's keys [first, first + count), `j` behind
  /// the first: which of them op::Dropout would keep.
  template <class F>
  void each_kept(std::int64_t row, std::int64_t first, std::int64_t count, F&& f) const {
    using Numbers = Vec<std::uint32_t, int(N)>;
    const Numbers least(std::uint32_t(random_detail::drop_limit(double{shape_.drop_ratio})));
    const std::int64_t begin = first_weight_ + row * shape_.keys + first, end = begin + count;
    const auto run = [&](std::int64_t at, const std::uint32_t* words, std::int64_t given) {
      const std::int64_t stop = at + given < end ? at + given : end;
      for (std::int64_t i = at < begin ? begin : at; i < stop; i += N) {
        const std::int64_t lanes = stop - i < N ? stop - i : N;
        const std::uint32_t* const p = words + (i - at);
        const Numbers n = lanes == N ? Numbers::load(p) : Numbers::load_partial(p, lanes);
        f(i - begin, convert<T>(n >= least), lanes);
      }
    };
    random_detail::Words(seed_).each_run(begin / 4, (end + 3) / 4, run);
  }
  /// x[0, lanes) = f(x), of a vector of them.
  template <class F>
  static void update(T* x, std::int64_t lanes, F&& f) {
    if (lanes == N) {
      f(V::load(x)).store(x);
    } else {
      f(V::load_partial(x, lanes)).store_partial(x, lanes);
    }
  }

  /// Packs rows into whole vectors, which zeros fill up.
  static void pack_rows(const Heads<const T>& from, std::int64_t rows, std::int64_t columns, T* to,
                        std::int64_t width) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const x = from.data + r * from.row;
      T* const y = to + r * width;
      for (std::int64_t c = 0; c < width; c += N) {
        const std::int64_t lanes = columns - c < N ? columns - c : N;
        if (from.column == 1) {
          (lanes == N ? V::load(x + c) : V::load_partial(x + c, lanes)).store(y + c);
          continue;
        }
        for (std::int64_t l = 0; l < N; ++l) y[c + l] = l < lanes ? x[(c + l) * from.column] : T(0);
      }
    }
  }

  /// Keys [begin, end).
  struct Range {
    std::int64_t begin = 0, end = 0;
    bool is_chosen = false;  ///< by the choice, all of them for each query
    bool is_empty() const { return begin >= end; }
  };
  /// The keys of [first, first + count), in whole vectors behind `first`, that the masks do not hide from
  /// all of some queries: their powers are zero if each query sees a key, which has_seen() tells of its
  /// largest score.
  Range seen(std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count) const {
    if (!may_hide()) return {0, count};
    if (bias_.row == 0 && chosen_.row == 0) rows = 1;
    Range keys{0, count};
    if (hides_chosen_ && chosen_.column == 1) {
      const Choice choice = choice_of(row, rows, first, count);
      if (choice == Choice::hides_all) return {};
      keys.is_chosen = choice == Choice::hides_none;
      if (keys.is_chosen && bias_.data == nullptr) return keys;
    }
    const auto is_seen = [&](std::int64_t j) {
      for (std::int64_t r = row; r < row + rows; ++r) {
        if (sees(r, first + j, count - j < N ? count - j : N)) return true;
      }
      return false;
    };
    while (keys.begin < count && !is_seen(keys.begin)) keys.begin += N;
    for (std::int64_t j = (count - 1) / N * N; j > keys.begin && !is_seen(j); j -= N) keys.end = j;
    return keys;
  }
  bool may_hide() const { return bias_.data != nullptr || hides_chosen_; }
  static bool has_seen(T largest) { return largest > lowest_seen; }

  /// Finds the masks and the words of the queries from `begin` on.
  void read_masks(const auto& all, std::int64_t batch, std::int64_t head, std::int64_t begin) {
    if (all.bias.data != nullptr) bias_ = all.bias.at(batch, head, begin);
    if (all.chosen.data != nullptr) chosen_ = all.chosen.at(batch, head, begin);
    // A bias behind the choice could bring a finite number back.
    const bool is_last = bias_.data == nullptr || shape_.bias_first ||
                         shape_.fill == -static_cast<T>(__builtin_inf());
    hides_chosen_ = chosen_.data != nullptr && shape_.fill < hidden && is_last;
    seed_ = all.seed;
    first_weight_ = ((batch * shape_.heads + head) * shape_.queries + begin) * shape_.keys;
  }
  T keep_scale() const {
    return seed_ == nullptr ? T(1) : random_detail::keep_scale<T>(double{shape_.drop_ratio});
  }

  AttentionShape shape_;
  Heads<const T> bias_{};
  Heads<const bool> chosen_{};
  bool hides_chosen_ = false;  ///< where the choice has another number than the score
  const std::uint32_t* seed_ = nullptr;
  std::int64_t first_weight_ = 0;  ///< that of the first query here, among all weights

 private:
  /// A mask's number below the first hides a key from a query that has a score above the second: their
  /// difference has the power zero.
  static constexpr T hidden = T(-1e30), lowest_seen = T(-1e29);

  enum class Choice : std::uint8_t { hides_all, hides_some, hides_none };
  /// Tells what the choice does with keys [first, first + count) for some queries.
  Choice choice_of(std::int64_t row, std::int64_t rows, std::int64_t first,
                   std::int64_t count) const {
    using Bytes = Vec<std::uint8_t>;
    constexpr std::int64_t size = Bytes::size;
    Bytes some(0), every(1);  // of the choice, which is 0 or 1
    for (std::int64_t r = row; r < row + rows; ++r) {
      const auto* const p =
          reinterpret_cast<const std::uint8_t*>(chosen_.data + r * chosen_.row + first);
      for (std::int64_t j = 0; j < count; j += size) {
        if (count - j >= size) {
          some = some | Bytes::load(p + j);
          every = every & Bytes::load(p + j);
        } else {
          const auto is_key = Bytes::mask::first(count - j);
          const Bytes b = Bytes::load_partial(p + j, count - j);
          some = some | b;
          every = every & select(is_key, b, Bytes(1));
        }
      }
      const bool has_some = any(some != Bytes(0));
      if (has_some && any(every != Bytes(1))) return Choice::hides_some;
    }
    const bool are_chosen = any(some != Bytes(0));
    return are_chosen == shape_.fills_chosen ? Choice::hides_all : Choice::hides_none;
  }
  /// Whether a query sees one of some neighbouring keys.
  bool sees(std::int64_t row, std::int64_t key, std::int64_t lanes) const {
    using Mask = typename V::mask;
    Mask is_seen = Mask::first(lanes);
    if (hides_chosen_) is_seen = is_seen & (chosen(row, key, lanes, V(T(1)), V(T(0))) > V(T(0)));
    if (bias_.data != nullptr) is_seen = is_seen & !(bias(row, key, lanes) < V(hidden));
    return any(is_seen);
  }
};

/// The shares that `count` tasks of so many multiply-adds in all are divided into: by the size alone.
constexpr std::int64_t attention_shares(std::int64_t count, double multiply_adds) {
  constexpr std::int64_t most = 16;
  const double wanted = multiply_adds / double(1 << 17);  // those are worth a share
  const std::int64_t shares = wanted < 1 ? 1 : wanted < double(most) ? std::int64_t(wanted) : most;
  return shares < count ? shares : count;
}

/// Softmax(scale q k' + mask) v for the queries of one head, by blocks of keys: the sums of a block
/// are scaled down when a later one has a larger score (Milakov and Gimelshein 2018,
/// arXiv:1805.02867). The scores of a block of queries and keys stay in the first two caches. In bfloat16
/// queries, keys, weights and values are rounded before they are multiplied.
template <class T>
class HeadAttention : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::multiply, Head::pack_rows, Head::powers_of, Head::read_masks, Head::seen;
  using Head::N, Head::each_kept, Head::has_seen, Head::keep_scale, Head::mask, Head::may_hide;
  using Head::shift_of, Head::update, Head::seed_, Head::shape_;
  using typename Head::Range;
  using typename Head::V;
  static constexpr std::int64_t key_block = 128;
  static constexpr std::int64_t query_block = 4 * direct_rows, blocks_at_once = 4;
  /// Up to these, the keys are read where they are: packing would cost more than the products.
  static constexpr std::int64_t few_queries = 2;
  static constexpr bool may_take_pairs = std::is_same_v<T, float> && has_tiles<float, BfloatPair>;

 public:
  /// Queries of a task: each task packs the keys for itself.
  static constexpr std::int64_t queries_at_once = blocks_at_once * query_block;

  constexpr explicit HeadAttention(const AttentionShape& shape, Precision precision = {})
      : Head(shape), precision_(precision), width_(round_up(shape.values, N)) {}

  constexpr std::int64_t workspace_bytes() const {
    const std::int64_t pairs = may_take_pairs ? queries_at_once * query_pairs() : 0;
    const std::int64_t elements = 2 * query_pairs() * key_block + key_block * width_ + pairs +
                                  query_block * key_block + queries_at_once * (width_ + 2);
    return round_up(elements * std::int64_t{sizeof(T)}, 64);
  }

  /// Queries [begin, end) of one head.
  void compute(const AttentionTensors<T>& all, std::int64_t batch, std::int64_t head,
               std::int64_t begin, std::int64_t end, void* workspace) {
    const std::int64_t key_head = head / (shape_.heads / shape_.key_heads);
    q_ = all.query.at(batch, head, begin);
    k_ = all.key.at(batch, key_head, 0);
    v_ = all.value.at(batch, key_head, 0);
    y_ = all.output.at(batch, head, begin);
    read_masks(all, batch, head, begin);
    reads_keys_ = end - begin <= few_queries && q_.column == 1 && k_.column == 1;
    takes_pairs_ = may_take_pairs && precision_ == Precision::bfloat16 && !reads_keys_;
    packed_keys_ = static_cast<T*>(workspace);
    packed_values_ = packed_keys_ + 2 * query_pairs() * key_block;
    query_pairs_ = packed_values_ + key_block * width_;
    scores_ = query_pairs_ + (may_take_pairs ? queries_at_once * query_pairs() : 0);
    sums_ = scores_ + query_block * key_block;
    largest_ = sums_ + queries_at_once * width_;
    total_ = largest_ + queries_at_once;

    if (takes_pairs_) round_queries(end - begin);
    if (!may_hide() || !add(end - begin, true)) add(end - begin, false);
    for (std::int64_t row = 0; row < end - begin; ++row) store(row);
  }

 private:
  /// The sums of some queries over the keys; `trims`: but for those that the masks hide from all of a
  /// block. False: some query may see none of the others, so that these count.
  bool add(std::int64_t queries, bool trims) {
    bool has_begun[blocks_at_once] = {};
    const Parts keys(shape_.keys, key_block);
    const std::int64_t blocks = (queries + query_block - 1) / query_block;
    const auto rows_of = [&](std::int64_t block) {
      const std::int64_t left = queries - block * query_block;
      return left < query_block ? left : query_block;
    };
    for (std::int64_t part = 0; part < keys.parts; ++part) {
      const std::int64_t first = keys.begin(part), count = keys.begin(part + 1) - first;
      Range used[blocks_at_once];
      std::int64_t end = 0;
      for (std::int64_t b = 0; b < blocks; ++b) {
        used[b] = trims ? seen(b * query_block, rows_of(b), first, count) : Range{0, count};
        if (!used[b].is_empty() && used[b].end > end) end = used[b].end;
      }
      if (end == 0) continue;
      if (!reads_keys_) pack_keys(first, end);
      if (has_packed_values()) pack_values(first, end);
      for (std::int64_t b = 0; b < blocks; ++b) {
        if (used[b].is_empty()) continue;
        add_keys(b * query_block, rows_of(b), first, used[b], round_up(end, N), !has_begun[b]);
        has_begun[b] = true;
      }
    }
    for (std::int64_t row = 0; trims && row < queries; ++row) {
      if (!has_begun[row / query_block] || !has_seen(largest_[row])) return false;
    }
    return true;
  }
  /// What some keys behind `first` add to the sums of a block of queries. `width`: of packed keys.
  void add_keys(std::int64_t row, std::int64_t rows, std::int64_t first, Range keys,
                std::int64_t width, bool is_first) {
    T* const scores = scores_ + keys.begin;
    if (reads_keys_) {
      multiply_few(rows, first, keys);
    } else {
      multiply_keys(row, rows, keys, width);
    }
    const std::int64_t key = first + keys.begin, count = keys.end - keys.begin;
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const of_query = scores + r * key_block;
      powers(row + r, of_query, count, mask(row + r, of_query, key, count, keys.is_chosen),
             is_first);
      if (seed_ != nullptr) drop(row + r, of_query, key, count);
    }
    multiply_values(row, rows, first, keys, is_first);
  }

  constexpr std::int64_t query_pairs() const { return (shape_.size + 1) / 2; }
  static BfloatPair* as_pairs(T* words) { return reinterpret_cast<BfloatPair*>(words); }
  void round_queries(std::int64_t queries) {
    if constexpr (may_take_pairs) {
      for (std::int64_t row = 0; row < queries; ++row) {
        pack_narrow<BfloatPair>(q_.data + row * q_.row, q_.row, q_.column, 1, shape_.size,
                                as_pairs(query_pairs_) + row * query_pairs(), 1);
      }
    }
  }

  bool has_packed_values() const {
    return v_.column != 1 || width_ != shape_.values || takes_pairs_;
  }

  /// Keys [first, first + count) as columns.
  void pack_keys(std::int64_t first, std::int64_t count) {
    const std::int64_t width = round_up(count, N);
    const T* const keys = k_.data + first * k_.row;
    if constexpr (may_take_pairs) {
      if (takes_pairs_) {
        return pack_narrow(keys, k_.row, k_.column, count, shape_.size, as_pairs(packed_keys_),
                           width);
      }
    }
    pack_strip(keys, k_.row, k_.column, count, shape_.size, packed_keys_, width);
  }
  /// Values [first, first + count) in rows of whole vectors.
  void pack_values(std::int64_t first, std::int64_t count) {
    Heads<const T> rows = v_;
    rows.data += first * v_.row;
    if constexpr (may_take_pairs) {
      if (takes_pairs_) {
        return pack_narrow(rows.data, rows.column, rows.row, shape_.values, count,
                           as_pairs(packed_values_), width_);
      }
    }
    pack_rows(rows, count, shape_.values, packed_values_, width_);
  }

  void multiply_keys(std::int64_t row, std::int64_t rows, Range keys, std::int64_t width) {
    const std::int64_t columns = round_up(keys.end, N) - keys.begin;
    if constexpr (may_take_pairs) {
      if (takes_pairs_) {
        Tile<T, BfloatPair> t;
        t.x_row = query_pairs();
        t.x_step = 1;
        t.w_step = width;
        t.y_row = key_block;
        return multiply(t, as_pairs(query_pairs_) + row * query_pairs(),
                        as_pairs(packed_keys_) + keys.begin, scores_ + keys.begin, rows, columns,
                        query_pairs());
      }
    }
    Tile<T> t;
    t.x_row = q_.row;
    t.x_step = q_.column;
    t.w_step = width;
    t.y_row = key_block;
    multiply(t, q_.data + row * q_.row, packed_keys_ + keys.begin, scores_ + keys.begin, rows,
             columns, shape_.size);
  }
  /// Scores of few queries: a vector of partial sums for each of N keys, then added up side by side.
  void multiply_few(std::int64_t rows, std::int64_t first, Range keys) {
    for (std::int64_t j = keys.begin; j < keys.end; j += N) {
      const std::int64_t lanes = keys.end - j < N ? keys.end - j : N;
      for (std::int64_t r = 0; r < rows; ++r) {
        const T* const q = q_.data + r * q_.row;
        V sums[N];
        for (std::int64_t l = 0; l < N; ++l) {
          sums[l] = V(T(0));
          if (l >= lanes) continue;
          const T* const k = k_.data + (first + j + l) * k_.row;
          std::int64_t c = 0;
          for (; c + N <= shape_.size; c += N)
            sums[l] = fma(V::load(q + c), V::load(k + c), sums[l]);
          if (const std::int64_t rest = shape_.size - c; rest > 0) {
            sums[l] = fma(V::load_partial(q + c, rest), V::load_partial(k + c, rest), sums[l]);
          }
        }
        transpose(sums);
        for (std::int64_t half = N / 2; half > 0; half /= 2) {
          for (std::int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
        }
        sums[0].store(scores_ + r * key_block + j);
      }
    }
  }
  void multiply_values(std::int64_t row, std::int64_t rows, std::int64_t first, Range keys,
                       bool is_first) {
    const std::int64_t count = keys.end - keys.begin;
    if constexpr (may_take_pairs) {
      if (takes_pairs_) {
        for (std::int64_t r = 0; r < rows; ++r) {
          T* const weights = scores_ + r * key_block + keys.begin;
          round_row(weights, count, as_pairs(weights));
        }
        Tile<T, BfloatPair> t;
        t.x_row = key_block;
        t.x_step = 1;
        t.w_step = t.y_row = width_;
        t.accumulate = !is_first;
        return multiply(t, as_pairs(scores_ + keys.begin),
                        as_pairs(packed_values_) + keys.begin / 2 * width_, sums_ + row * width_,
                        rows, width_, (count + 1) / 2);
      }
    }
    Tile<T> t;
    t.x_row = key_block;
    t.x_step = 1;
    t.y_row = width_;
    t.accumulate = !is_first;
    const bool is_packed = has_packed_values();
    t.w_step = is_packed ? width_ : v_.row;
    const T* const values = is_packed ? packed_values_ : v_.data + first * v_.row;
    multiply(t, scores_ + keys.begin, values + keys.begin * t.w_step, sums_ + row * width_, rows,
             width_, count);
  }

  /// The masked scores of one query become powers, of `largest` or the largest before; what its sums hold
  /// becomes a share of the new largest.
  void powers(std::int64_t row, T* scores, std::int64_t count, T largest, bool is_first) {
    if (!is_first && !(largest > largest_[row])) largest = largest_[row];
    const V shift = shift_of(largest);
    const T sum = powers_of(scores, count, shift);
    if (is_first) {
      total_[row] = sum;
    } else if (largest == largest_[row]) {
      total_[row] += sum;
    } else {
      const V factor = exp(V(largest_[row]) - shift);
      total_[row] = total_[row] * factor[0] + sum;
      T* const sums = sums_ + row * width_;
      for (std::int64_t c = 0; c < width_; c += N) (V::load(sums + c) * factor).store(sums + c);
    }
    largest_[row] = largest;
  }

  void drop(std::int64_t row, T* weights, std::int64_t first, std::int64_t count) const {
    each_kept(row, first, count, [&](std::int64_t j, auto kept, std::int64_t lanes) {
      update(weights + j, lanes, [&](V w) { return select(kept, w, V(T(0))); });
    });
  }

  void store(std::int64_t row) const {
    const V factor(keep_scale() / total_[row]);
    const T* const sums = sums_ + row * width_;
    T* const y = y_.data + row * y_.row;
    for (std::int64_t c = 0; c < shape_.values; c += N) {
      const V v = V::load(sums + c) * factor;
      const std::int64_t lanes = shape_.values - c < N ? shape_.values - c : N;
      if (lanes == N) {
        v.store(y + c);
      } else {
        v.store_partial(y + c, lanes);
      }
    }
  }

  Precision precision_;
  bool reads_keys_ = false;   ///< where they are
  bool takes_pairs_ = false;  ///< of bfloat16
  std::int64_t width_;        ///< of a row of sums, whole vectors
  Heads<const T> q_{}, k_{}, v_{};
  Heads<T> y_{};
  T *packed_keys_ = nullptr, *packed_values_ = nullptr, *query_pairs_ = nullptr;
  T* scores_ = nullptr;
  T *sums_ = nullptr, *largest_ = nullptr, *total_ = nullptr;
};

/// Blocks of queries of all heads, and the shares that they are divided into.
template <class T>
struct AttentionTasks {
  Parts blocks;
  std::int64_t count, shares;

  constexpr explicit AttentionTasks(const AttentionShape& s)
      : blocks(s.queries, HeadAttention<T>::queries_at_once),
        count(s.batch * s.heads * blocks.parts),
        shares(attention_shares(count, double(s.batch * s.heads) * double(s.queries) *
                                           double(s.keys) * double(s.size + s.values))) {}
};

}  // namespace detail

/// op::FusedAttention. At least one key, unless there are no outputs.
template <class T>
constexpr std::size_t attention_workspace(const AttentionShape& shape) {
  const detail::AttentionTasks<T> tasks(shape);
  return std::size_t(tasks.shares * detail::HeadAttention<T>(shape).workspace_bytes());
}

template <class T>
void attention(const KernelCall& call, const AttentionShape& shape,
               const AttentionTensors<T>& tensors) {
  const detail::AttentionTasks<T> tasks(shape);
  parallel_for(*call.executor, tasks.shares, [&](std::int64_t share) {
    detail::HeadAttention<T> head(shape, call.precision);
    void* const workspace = static_cast<char*>(call.workspace) + share * head.workspace_bytes();
    const std::int64_t end = (share + 1) * tasks.count / tasks.shares;
    for (std::int64_t i = share * tasks.count / tasks.shares; i < end; ++i) {
      const std::int64_t block = i % tasks.blocks.parts, number = i / tasks.blocks.parts;
      head.compute(tensors, number / shape.heads, number % shape.heads, tasks.blocks.begin(block),
                   tasks.blocks.begin(block + 1), workspace);
    }
  });
}

}  // namespace halftone::kernel
