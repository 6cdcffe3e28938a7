#pragma once

#include <cstdint>
#include <utility>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/attention.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/gemm_pack.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/tile.hpp>

namespace halftone::kernel {

namespace detail {

/// The gradient of softmax(scale q k' + mask) v for one head of keys and the heads of queries that share
/// it. The weights are computed again for a block of queries and all keys, so that nothing of the
/// forward part has to be kept but its operands (Dao et al. 2022, arXiv:2205.14135).
///
/// With weights p and dp = dy v': ds = p (dp - sum of p dp), dq = scale ds k, dk = scale ds' q,
/// dv = p' dy. Where weights are dropped, r is 0 or 1 / (1 - ratio): dp = r dy v', dv = (r p)' dy.
template <class T>
class HeadAttentionGradient : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::chosen_, Head::seed_, Head::shape_;
  using Head::may_hide, Head::multiply, Head::pack_rows, Head::powers_of, Head::read_masks;
  using Head::N, Head::chosen, Head::each_kept, Head::has_seen, Head::keep_scale, Head::mask;
  using Head::seen, Head::shift_of, Head::update;
  using typename Head::Range;
  using typename Head::V;
  /// Weights and their gradients of a block of queries are in the second cache.
  static constexpr std::int64_t block_elements = 1 << 16;
  /// Keys whose rows a product with ds goes through before the next ones.
  static constexpr std::int64_t key_block = 256;

 public:
  constexpr explicit HeadAttentionGradient(const AttentionShape& shape)
      : Head(shape),
        size_(round_up(shape.size, N)),
        values_(round_up(shape.values, N)),
        // An odd number of vectors: rows of a power of two would share a few lines of the caches.
        keys_((round_up(shape.keys, N) / N | 1) * N),
        block_(at_most(shape.queries, at_least(block_elements / keys_, 4 * direct_rows))) {}

  constexpr std::int64_t workspace_bytes() const {
    const std::int64_t elements = 2 * shape_.keys * size_ + shape_.keys * values_ +
                                  (shape_.size + shape_.values) * keys_ +
                                  block_ * (2 * keys_ + 2 * size_ + values_);
    return round_up(elements * std::int64_t{sizeof(T)}, 64);
  }

  void compute(const AttentionGradientTensors<T>& all, std::int64_t batch, std::int64_t key_head,
               void* workspace) {
    T* free = static_cast<T*>(workspace);
    const auto take = [&](std::int64_t elements) { return std::exchange(free, free + elements); };
    keys_by_row_ = take(shape_.keys * size_);
    key_sums_ = take(shape_.keys * size_);
    value_sums_ = take(shape_.keys * values_);
    keys_by_column_ = take(shape_.size * keys_);
    values_by_column_ = take(shape_.values * keys_);
    weights_ = take(block_ * keys_);
    scores_ = take(block_ * keys_);
    query_ = take(block_ * size_);
    query_sums_ = take(block_ * size_);
    output_ = take(block_ * values_);

    const Heads<const T> key = all.key.at(batch, key_head, 0);
    const Heads<const T> value = all.value.at(batch, key_head, 0);
    pack_strip(key.data, key.row, key.column, shape_.keys, shape_.size, keys_by_column_, keys_);
    pack_strip(value.data, value.row, value.column, shape_.keys, shape_.values, values_by_column_,
               keys_);
    pack_rows(key, shape_.keys, shape_.size, keys_by_row_, size_);
    // The first block need not reach all keys.
    for (std::int64_t i = 0; i < shape_.keys * size_; ++i) key_sums_[i] = T(0);
    for (std::int64_t i = 0; i < shape_.keys * values_; ++i) value_sums_[i] = T(0);

    const std::int64_t shared = shape_.heads / shape_.key_heads;
    const Parts blocks(shape_.queries, block_);
    for (std::int64_t i = 0; i < shared; ++i) {
      for (std::int64_t b = 0; b < blocks.parts; ++b) {
        const std::int64_t begin = blocks.begin(b);
        add_block(all, batch, key_head * shared + i, begin, blocks.begin(b + 1) - begin);
      }
    }
    if (all.key_gradient.data != nullptr) {
      store_rows(key_sums_, size_, shape_.keys, shape_.size, all.key_gradient, batch, key_head, 0);
    }
    if (all.value_gradient.data != nullptr) {
      store_rows(value_sums_, values_, shape_.keys, shape_.values, all.value_gradient, batch,
                 key_head, 0);
    }
  }

 private:
  static constexpr std::int64_t at_least(std::int64_t n, std::int64_t least) {
    return n < least ? least : n;
  }
  static constexpr std::int64_t at_most(std::int64_t n, std::int64_t most) {
    return n > most ? most : n;
  }

  static void store_rows(const T* from, std::int64_t width, std::int64_t rows, std::int64_t columns,
                         const Heads<T>& all, std::int64_t batch, std::int64_t head,
                         std::int64_t begin) {
    const Heads<T> to = all.at(batch, head, begin);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const x = from + r * width;
      T* const y = to.data + r * to.row;
      for (std::int64_t c = 0; c < columns; c += N) {
        const std::int64_t lanes = columns - c < N ? columns - c : N;
        if (to.column != 1) {
          for (std::int64_t l = 0; l < lanes; ++l) y[(c + l) * to.column] = x[c + l];
        } else if (lanes == N) {
          V::load(x + c).store(y + c);
        } else {
          V::load(x + c).store_partial(y + c, lanes);
        }
      }
    }
  }

  /// What `rows` queries of one head add to the gradients of its keys and values, and their own.
  void add_block(const AttentionGradientTensors<T>& all, std::int64_t batch, std::int64_t head,
                 std::int64_t begin, std::int64_t rows) {
    read_masks(all, batch, head, begin);
    pack_rows(all.query.at(batch, head, begin), rows, shape_.size, query_, size_);
    pack_rows(all.output.at(batch, head, begin), rows, shape_.values, output_, values_);

    Range keys = seen(0, rows, 0, shape_.keys);
    if (keys.is_empty() || !compute_weights(rows, keys)) {
      // Keys that are hidden from a query count if it sees no other.
      keys = {0, shape_.keys};
      compute_weights(rows, keys);
    }
    T *const weights = weights_ + keys.begin, *const scores = scores_ + keys.begin;
    const std::int64_t count = keys.end - keys.begin;
    Tile<T> t;
    t.x_row = values_;
    t.x_step = 1;
    t.y_row = t.w_step = keys_;
    multiply(t, output_, values_by_column_ + keys.begin, scores, rows, round_up(count, N),
             shape_.values);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (seed_ != nullptr) drop(weights + r * keys_, scores + r * keys_, count);
      differentiate(r, keys.begin, weights + r * keys_, scores + r * keys_, count);
      if (seed_ != nullptr) scale_kept(weights + r * keys_, count);
    }

    if (all.query_gradient.data != nullptr) {
      t.x_row = keys_;
      t.y_row = t.w_step = size_;
      for (std::int64_t k = keys.begin; k < keys.end; k += key_block) {
        t.accumulate = k > keys.begin;
        multiply(t, scores_ + k, keys_by_row_ + k * size_, query_sums_, rows, size_,
                 at_most(keys.end - k, key_block));
      }
      store_rows(query_sums_, size_, rows, shape_.size, all.query_gradient, batch, head, begin);
    }
    t.x_row = 1;
    t.x_step = keys_;
    t.accumulate = true;
    if (all.key_gradient.data != nullptr) {
      t.y_row = t.w_step = size_;
      multiply(t, scores, query_, key_sums_ + keys.begin * size_, count, size_, rows);
    }
    if (all.value_gradient.data != nullptr) {
      t.y_row = t.w_step = values_;
      multiply(t, weights, output_, value_sums_ + keys.begin * values_, count, values_, rows);
    }
  }

  /// The weights of some queries and keys; false: a query may see none of these.
  bool compute_weights(std::int64_t rows, Range keys) const {
    T* const weights = weights_ + keys.begin;
    const std::int64_t count = keys.end - keys.begin;
    Tile<T> t;
    t.x_row = size_;
    t.x_step = 1;
    t.y_row = t.w_step = keys_;
    multiply(t, query_, keys_by_column_ + keys.begin, weights, rows, round_up(count, N),
             shape_.size);
    bool have_seen = true;
    for (std::int64_t r = 0; r < rows; ++r) {
      const T largest = weigh(r, keys, weights + r * keys_);
      have_seen = have_seen && has_seen(largest);
    }
    return have_seen || !may_hide();
  }

  /// The scores of one query become its weights, their softmax. Those that are dropped are negative.
  /// It gives the largest score.
  T weigh(std::int64_t row, Range keys, T* x) const {
    const std::int64_t count = keys.end - keys.begin;
    const T largest = mask(row, x, keys.begin, count, keys.is_chosen);
    const V factor(1 / powers_of(x, count, shift_of(largest)));
    for (std::int64_t j = 0; j < count; j += N) (V::load(x + j) * factor).store(x + j);
    if (seed_ == nullptr) return largest;
    each_kept(row, keys.begin, count, [&](std::int64_t j, auto kept, std::int64_t lanes) {
      update(x + j, lanes, [&](V w) { return select(kept, w, V(T(0)) - w); });
    });
    return largest;
  }
  /// The gradients of the weights that are kept become those in front of the Dropout, the others zero.
  void drop(const T* weights, T* x, std::int64_t count) const {
    const V scale(keep_scale());
    for (std::int64_t j = 0; j < count; j += N) {
      select(V::load(weights + j) < V(T(0)), V(T(0)), V::load(x + j) * scale).store(x + j);
    }
  }
  /// The weights of one query become what the values are multiplied by.
  void scale_kept(T* weights, std::int64_t count) const {
    const V scale(keep_scale());
    for (std::int64_t j = 0; j < count; j += N) {
      const V w = V::load(weights + j);
      select(w < V(T(0)), V(T(0)), w * scale).store(weights + j);
    }
  }

  /// The gradients of the weights of one query become those of its products.
  void differentiate(std::int64_t row, std::int64_t first, const T* weights, T* x,
                     std::int64_t count) const {
    V sum(0);
    for (std::int64_t j = 0; j < count; j += N) {
      sum = fma(abs(V::load(weights + j)), V::load(x + j), sum);
    }
    const V mean(reduce_add(sum)), scale(shape_.scale);
    for (std::int64_t j = 0; j < count; j += N) {
      V s = abs(V::load(weights + j)) * (V::load(x + j) - mean);
      if (chosen_.data != nullptr) s = chosen(row, first + j, at_most(count - j, N), s, V(0));
      (s * scale).store(x + j);
    }
  }

  std::int64_t size_, values_, keys_;  ///< of rows of whole vectors
  std::int64_t block_;                 ///< queries at once
  T *keys_by_row_ = nullptr, *keys_by_column_ = nullptr, *values_by_column_ = nullptr;
  T *key_sums_ = nullptr, *value_sums_ = nullptr, *query_sums_ = nullptr;
  T *weights_ = nullptr, *scores_ = nullptr;  ///< of a block: [queries, keys]
  T *query_ = nullptr, *output_ = nullptr;
};

/// Heads of keys, and the shares that they are divided into.
struct AttentionGradientTasks {
  std::int64_t count, shares;

  constexpr explicit AttentionGradientTasks(const AttentionShape& s)
      : count(s.batch * s.key_heads),
        shares(attention_shares(count, double(s.batch * s.heads) * double(s.queries) *
                                           double(s.keys) * double(3 * s.size + 2 * s.values))) {}
};

}  // namespace detail

/// op::FusedAttentionGradient. At least one query and one key.
template <class T>
constexpr std::size_t attention_gradient_workspace(const AttentionShape& shape) {
  const detail::AttentionGradientTasks tasks(shape);
  return std::size_t(tasks.shares * detail::HeadAttentionGradient<T>(shape).workspace_bytes());
}

template <class T>
void attention_gradient(const KernelCall& call, const AttentionShape& shape,
                        const AttentionGradientTensors<T>& tensors) {
  const detail::AttentionGradientTasks tasks(shape);
  parallel_for(*call.executor, tasks.shares, [&](std::int64_t share) {
    detail::HeadAttentionGradient<T> head(shape);
    void* const workspace = static_cast<char*>(call.workspace) + share * head.workspace_bytes();
    const std::int64_t end = (share + 1) * tasks.count / tasks.shares;
    for (std::int64_t i = share * tasks.count / tasks.shares; i < end; ++i) {
      head.compute(tensors, i / shape.key_heads, i % shape.key_heads, workspace);
    }
  });
}

}  // namespace halftone::kernel
