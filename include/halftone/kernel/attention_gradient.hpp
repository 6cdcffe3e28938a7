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
/// dv = p' dy.
template <class T>
class HeadAttentionGradient : AttentionHead<T> {
  using Head = AttentionHead<T>;
  using Head::N, Head::chosen, Head::mask, Head::multiply, Head::pack_rows, Head::powers_of;
  using Head::shift_of, Head::shape_, Head::bias_, Head::chosen_;
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

    const std::int64_t shared = shape_.heads / shape_.key_heads;
    const Parts blocks(shape_.queries, block_);
    for (std::int64_t i = 0; i < shared; ++i) {
      for (std::int64_t b = 0; b < blocks.parts; ++b) {
        const std::int64_t begin = blocks.begin(b);
        add_block(all, batch, key_head * shared + i, begin, blocks.begin(b + 1) - begin,
                  i == 0 && b == 0);
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
                 std::int64_t begin, std::int64_t rows, bool is_first) {
    if (all.bias.data != nullptr) bias_ = all.bias.at(batch, head, begin);
    if (all.chosen.data != nullptr) chosen_ = all.chosen.at(batch, head, begin);
    pack_rows(all.query.at(batch, head, begin), rows, shape_.size, query_, size_);
    pack_rows(all.output.at(batch, head, begin), rows, shape_.values, output_, values_);

    Tile<T> t;
    t.x_row = size_;
    t.x_step = 1;
    t.y_row = t.w_step = keys_;
    const std::int64_t columns = round_up(shape_.keys, N);
    multiply(t, query_, keys_by_column_, weights_, rows, columns, shape_.size);
    for (std::int64_t r = 0; r < rows; ++r) weigh(r, weights_ + r * keys_);
    t.x_row = values_;
    multiply(t, output_, values_by_column_, scores_, rows, columns, shape_.values);
    for (std::int64_t r = 0; r < rows; ++r) {
      differentiate(r, weights_ + r * keys_, scores_ + r * keys_);
    }

    if (all.query_gradient.data != nullptr) {
      t.x_row = keys_;
      t.y_row = t.w_step = size_;
      for (std::int64_t k = 0; k < shape_.keys; k += key_block) {
        t.accumulate = k > 0;
        multiply(t, scores_ + k, keys_by_row_ + k * size_, query_sums_, rows, size_,
                 at_most(shape_.keys - k, key_block));
      }
      store_rows(query_sums_, size_, rows, shape_.size, all.query_gradient, batch, head, begin);
    }
    t.x_row = 1;
    t.x_step = keys_;
    t.accumulate = !is_first;
    if (all.key_gradient.data != nullptr) {
      t.y_row = t.w_step = size_;
      multiply(t, scores_, query_, key_sums_, shape_.keys, size_, rows);
    }
    if (all.value_gradient.data != nullptr) {
      t.y_row = t.w_step = values_;
      multiply(t, weights_, output_, value_sums_, shape_.keys, values_, rows);
    }
  }

  /// The scores of one query become its weights, their softmax.
  void weigh(std::int64_t row, T* x) const {
    const V shift = shift_of(mask(row, x, 0, shape_.keys));
    const V factor(1 / powers_of(x, shape_.keys, shift));
    for (std::int64_t j = 0; j < shape_.keys; j += N) (V::load(x + j) * factor).store(x + j);
  }

  /// The gradients of the weights of one query become those of its products.
  void differentiate(std::int64_t row, const T* weights, T* x) const {
    V sum(0);
    for (std::int64_t j = 0; j < shape_.keys; j += N) {
      sum = fma(V::load(weights + j), V::load(x + j), sum);
    }
    const V mean(reduce_add(sum)), scale(shape_.scale);
    for (std::int64_t j = 0; j < shape_.keys; j += N) {
      V s = V::load(weights + j) * (V::load(x + j) - mean);
      if (chosen_.data != nullptr) s = chosen(row, j, at_most(shape_.keys - j, N), s, V(0));
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
