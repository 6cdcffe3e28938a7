#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/simd.hpp>

/// Reductions over any dimensions.
///
/// Neighbouring dimensions that are both kept or both reduced are joined. What is left is, from the
/// inside, either a row that is reduced or a row of columns that are. Work is split by size alone,
/// and each output sums in an order that the shape fixes, so results do not depend on threads.
/// float and the halves are summed in float, in blocks, at most 64 terms one after the other, and
/// the blocks in double; double in double; integers in 64 bits.
namespace halftone::kernel {

namespace detail {

/// Nested loops, the inner one first, and what a step of each moves on by.
struct Loops {
  std::size_t rank = 0;
  std::int64_t extent[8] = {}, stride[8] = {};

  constexpr std::int64_t count() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
};

/// A place in nested loops.
class Position {
 public:
  Position(const Loops& loops, std::int64_t index) : loops_(loops) {
    for (std::size_t i = 0; i < loops.rank && index != 0; ++i) {
      at_[i] = index % loops.extent[i];
      index /= loops.extent[i];
      offset_ += at_[i] * loops.stride[i];
    }
  }
  std::int64_t offset() const { return offset_; }
  void next() {
    for (std::size_t i = 0; i < loops_.rank; ++i) {
      offset_ += loops_.stride[i];
      if (++at_[i] < loops_.extent[i]) return;
      offset_ -= loops_.extent[i] * loops_.stride[i];
      at_[i] = 0;
    }
  }

 private:
  const Loops& loops_;
  std::int64_t at_[8] = {}, offset_ = 0;
};

/// How a reduction runs: by rows, y[i] = sum over p and r of x[kept i + reduced p + r], or by
/// columns, y[i * row + c] = sum over p of x[kept i + reduced p + c]; r, c < row.
struct ReducePlan {
  static constexpr std::int64_t columns = 1024;   ///< of a task
  static constexpr std::int64_t task = 1 << 15;   ///< terms that are worth a task
  static constexpr std::int64_t piece = 1 << 16;  ///< terms of a part of one output

  Loops kept, reduced;
  std::int64_t row = 1;
  bool is_by_columns = false;
  std::int64_t outputs = 1, terms = 1;  ///< terms of each output

  constexpr ReducePlan(const std::int64_t* extents, std::size_t rank, std::uint32_t mask) {
    std::int64_t stride = 1;
    bool has_row = false, is_last_kept = false;
    for (std::size_t i = rank; i-- > 0;) {
      const std::int64_t extent = extents[i];
      const bool is_kept = (mask >> i & 1) == 0;
      (is_kept ? outputs : terms) *= extent;
      if (extent == 1) continue;
      Loops& loops = is_kept ? kept : reduced;
      if (!has_row) {
        has_row = true;
        row = extent;
        is_by_columns = is_kept;
      } else if (is_kept == is_last_kept) {
        if (kept.rank + reduced.rank == 0) {
          row *= extent;
        } else {
          loops.extent[loops.rank - 1] *= extent;
        }
      } else {
        loops.extent[loops.rank] = extent;
        loops.stride[loops.rank++] = stride;
      }
      is_last_kept = is_kept;
      stride *= extent;
    }
  }

  /// Parts that each output's terms are cut into, with a partial result each. The number of outputs does not
  /// count, so that a batch in parts has the same sums.
  constexpr std::int64_t parts() const {
    const std::int64_t work = is_by_columns ? terms * (row < columns ? row : columns) : terms;
    return work < 2 * piece || outputs == 0 ? 1 : (work + piece - 1) / piece;
  }
  constexpr std::int64_t column_tasks() const { return (row + columns - 1) / columns; }
};

/// How terms are joined, over numbers and vectors of S.
template <Accumulation A, class T>
struct Accumulator {
  using S = compute_t<T>;
  using W = double;  ///< of blocks
  using V = Vec<S>;

  /// The first of two that max() takes is asked whether it is NaN: the new one, b, so that no load
  /// waits for the answer about what was joined before.
  template <class X>
  static HALFTONE_INLINE X join(X a, X b) {
    if constexpr (A == Accumulation::product) {
      return a * b;
    } else if constexpr (A == Accumulation::largest) {
      return math::max(b, a);
    } else if constexpr (A == Accumulation::smallest) {
      return math::min(b, a);
    } else {
      return a + b;
    }
  }
  static constexpr S identity() {
    if constexpr (A == Accumulation::product) {
      return 1;
    } else if constexpr (A == Accumulation::largest || A == Accumulation::smallest) {
      const S infinity = static_cast<S>(__builtin_inf());
      return A == Accumulation::largest ? -infinity : infinity;
    } else {
      return 0;
    }
  }
  /// The term of an element; `shift` is subtracted from exponents and in deviations.
  static HALFTONE_INLINE V term(V x, [[maybe_unused]] V shift) {
    if constexpr (A == Accumulation::magnitudes) return abs(x);
    if constexpr (A == Accumulation::squares) return x * x;
    if constexpr (A == Accumulation::deviations) return (x - shift) * (x - shift);
    if constexpr (A == Accumulation::exponentials) return exp(x - shift);
    return x;
  }
  static HALFTONE_INLINE W lanes(V v) {
    S total = v[0];
    if constexpr (A == Accumulation::product) {
      total = reduce_mul(v);
    } else if constexpr (A == Accumulation::largest) {
      total = reduce_max(v);
    } else if constexpr (A == Accumulation::smallest) {
      total = reduce_min(v);
    } else {
      total = reduce_add(v);
    }
    return static_cast<W>(total);
  }

  /// n terms side by side.
  static W row(const T* x, std::int64_t n, S shift_of_all) {
    constexpr std::int64_t block = 64 * 4 * V::size;
    const V shift(shift_of_all), nothing(identity());
    W total = static_cast<W>(identity());
    while (n > 0) {
      const std::int64_t end = n < block ? n : block;
      V a = nothing, b = nothing, c = nothing, d = nothing;
      std::int64_t i = 0;
      for (; i + 4 * V::size <= end; i += 4 * V::size) {
        a = join(a, term(load_compute(x + i), shift));
        b = join(b, term(load_compute(x + i + V::size), shift));
        c = join(c, term(load_compute(x + i + 2 * V::size), shift));
        d = join(d, term(load_compute(x + i + 3 * V::size), shift));
      }
      for (; i + V::size <= end; i += V::size) a = join(a, term(load_compute(x + i), shift));
      if (i < end) {
        const V last = term(load_compute_partial(x + i, end - i), shift);
        b = join(b, select(V::mask::first(end - i), last, nothing));
      }
      total = join(total, lanes(join(join(a, b), join(c, d))));
      x += end;
      n -= end;
    }
    return total;
  }

  /// total[c], c < n: terms of columns, at positions [first, last) of the loops. n <= columns.
  static void column(const T* x, const Loops& loops, std::int64_t first, std::int64_t last,
                     std::int64_t n, const S* shift, W* total) {
    constexpr std::int64_t rows_of_block = 256;
    constexpr std::int64_t room = ReducePlan::columns + V::size;
    alignas(64) S sums[room];
    for (std::int64_t c = 0; c < n; ++c) total[c] = static_cast<W>(identity());
    Position position(loops, first);
    while (first < last) {
      const std::int64_t end = last - first < rows_of_block ? last : first + rows_of_block;
      for (std::int64_t c = 0; c < n; c += V::size) V(identity()).store(sums + c);
      while (first < end) {
        const T* rows[4];
        const std::int64_t count = end - first < 4 ? 1 : 4;
        for (std::int64_t k = 0; k < count; ++k, position.next()) rows[k] = x + position.offset();
        first += count;
        const auto add = [&](auto get, std::int64_t c) {
          const V s = shift == nullptr ? V(0) : V::load(shift + c);
          V t = term(get(rows[0] + c), s);
          if (count == 4) {
            t = join(join(t, term(get(rows[1] + c), s)),
                     join(term(get(rows[2] + c), s), term(get(rows[3] + c), s)));
          }
          join(V::load(sums + c), t).store(sums + c);
        };
        std::int64_t c = 0;
        for (; c + V::size <= n; c += V::size) add([](const T* p) { return load_compute(p); }, c);
        if (c < n) add([&](const T* p) { return load_compute_partial(p, n - c); }, c);
      }
      for (std::int64_t c = 0; c < n; ++c) total[c] = join(total[c], static_cast<W>(sums[c]));
    }
  }
};

/// From the joined terms to the element; `shift` is added to a logarithm.
inline double finished(Finish finish, double total, std::int64_t terms, double shift) {
  switch (finish) {
    case Finish::mean:
      return total / static_cast<double>(terms);
    case Finish::root:
      return __builtin_sqrt(total);
    case Finish::logarithm:
      return __builtin_log(total) + shift;
    default:
      return total;
  }
}

/// As finished(), for n outputs side by side.
template <class T, class S>
void finish_all(Finish finish, const double* total, std::int64_t terms, const S* shift,
                std::int64_t n, T* y) {
  const auto store = [&](std::int64_t i, double v) { y[i] = static_cast<T>(static_cast<S>(v)); };
  if (finish == Finish::none) {
    for (std::int64_t i = 0; i < n; ++i) store(i, total[i]);
  } else if (finish == Finish::mean) {
    const auto count = static_cast<double>(terms);
    for (std::int64_t i = 0; i < n; ++i) store(i, total[i] / count);
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const double added = shift == nullptr ? 0 : static_cast<double>(shift[i]);
      store(i, finished(finish, total[i], terms, added));
    }
  }
}

/// Calls store(first output, joined terms, n) for all outputs, n at a time. `shift` has a number
/// for each output (and V::size more to read), or is null; `partial` room for outputs * parts
/// numbers if there are parts.
template <class Acc, class T, class Store>
void reduce_terms(const Executor& executor, const ReducePlan& plan, const T* x,
                  const typename Acc::S* shift, typename Acc::W* partial, Store store) {
  using S = typename Acc::S;
  using W = typename Acc::W;
  const std::int64_t parts = plan.parts(), outer = plan.kept.count();
  if (plan.outputs == 0) return;
  const auto shift_of = [&](std::int64_t output) {
    return shift == nullptr ? S(0) : shift[output];
  };
  const auto take = [&](std::int64_t output, std::int64_t part, const W* totals, std::int64_t n) {
    if (parts == 1) {
      store(output, totals, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) partial[part * plan.outputs + output + i] = totals[i];
    }
  };

  if (!plan.is_by_columns) {
    // Each part has whole rows, or a piece of the only row.
    const std::int64_t rows = plan.reduced.count();
    const bool is_one_row = rows == 1;
    const std::int64_t count = is_one_row ? plan.row : rows;
    std::int64_t step = (count + parts - 1) / parts;
    if (is_one_row && parts > 1) step = ReducePlan::piece;
    const std::int64_t per_task =
        parts > 1 || plan.terms >= ReducePlan::task ? 1 : ReducePlan::task / (plan.terms + 1);
    const std::int64_t tasks = (outer + per_task - 1) / per_task;
    parallel_for(executor, tasks * parts, [&](std::int64_t t) {
      const std::int64_t part = t % parts, first = part * step;
      const std::int64_t last = parts == 1 || count - first < step ? count : first + step;
      std::int64_t output = t / parts * per_task;
      const std::int64_t end = outer - output < per_task ? outer : output + per_task;
      for (Position from(plan.kept, output); output < end; ++output, from.next()) {
        const T* const base = x + from.offset();
        const S s = shift_of(output);
        W total = static_cast<W>(Acc::identity());
        if (first < last && is_one_row) {
          total = Acc::row(base + first, last - first, s);
        } else if (first < last) {
          Position position(plan.reduced, first);
          for (std::int64_t p = first; p < last; ++p, position.next()) {
            total = Acc::join(total, Acc::row(base + position.offset(), plan.row, s));
          }
        }
        take(output, part, &total, 1);
      }
    });
  } else {
    const std::int64_t units = outer * plan.column_tasks(), positions = plan.reduced.count();
    const std::int64_t step = (positions + parts - 1) / parts;
    const std::int64_t width = plan.row < ReducePlan::columns ? plan.row : ReducePlan::columns;
    const std::int64_t work = positions * width + 1;
    const std::int64_t per_task =
        parts > 1 || work >= ReducePlan::task ? 1 : ReducePlan::task / work;
    const std::int64_t tasks = (units + per_task - 1) / per_task;
    parallel_for(executor, tasks * parts, [&](std::int64_t t) {
      const std::int64_t part = t % parts;
      const std::int64_t first = part * step < positions ? part * step : positions;
      const std::int64_t last = positions - first < step ? positions : first + step;
      std::int64_t unit = t / parts * per_task;
      const std::int64_t end = units - unit < per_task ? units : unit + per_task;
      alignas(64) W totals[ReducePlan::columns];
      for (; unit < end; ++unit) {
        const std::int64_t i = unit / plan.column_tasks();
        const std::int64_t c = unit % plan.column_tasks() * ReducePlan::columns;
        const std::int64_t n =
            plan.row - c < ReducePlan::columns ? plan.row - c : ReducePlan::columns;
        const std::int64_t output = i * plan.row + c;
        Acc::column(x + Position(plan.kept, i).offset() + c, plan.reduced, first, last, n,
                    shift == nullptr ? nullptr : shift + output, totals);
        take(output, part, totals, n);
      }
    });
  }
  if (parts == 1) return;
  for (std::int64_t output = 0; output < plan.outputs; output += ReducePlan::columns) {
    const std::int64_t rest = plan.outputs - output;
    const std::int64_t n = rest < ReducePlan::columns ? rest : ReducePlan::columns;
    W* const total = partial + output;
    for (std::int64_t part = 1; part < parts; ++part) {
      const W* const next = total + part * plan.outputs;
      for (std::int64_t i = 0; i < n; ++i) total[i] = Acc::join(total[i], next[i]);
    }
    store(output, total, n);
  }
}

/// Integers, one term after the other: rare, so no vectors.
template <Accumulation A, class T>
void reduce_integers(const Executor& executor, const ReducePlan& plan, Finish finish, const T* x,
                     T* y) {
  using W =
      std::conditional_t<A == Accumulation::exponentials, double,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  constexpr bool is_low = A == Accumulation::largest;
  constexpr bool is_choice = is_low || A == Accumulation::smallest;
  const W identity = is_choice                    ? W(math::saturated<T>(is_low ? -1e30 : 1e30))
                     : A == Accumulation::product ? W(1)
                                                  : W(0);
  const std::int64_t n = plan.is_by_columns ? 1 : plan.row, rows = plan.reduced.count();
  const std::int64_t per_task = ReducePlan::task / (plan.terms + 1) + 1;
  parallel_for(executor, (plan.outputs + per_task - 1) / per_task, [&](std::int64_t t) {
    std::int64_t output = t * per_task;
    const std::int64_t end = plan.outputs - output < per_task ? plan.outputs : output + per_task;
    for (; output < end; ++output) {
      const std::int64_t i = plan.is_by_columns ? output / plan.row : output;
      const std::int64_t column = plan.is_by_columns ? output % plan.row : 0;
      const T* const base = x + Position(plan.kept, i).offset() + column;
      const auto each = [&](auto&& f) {
        Position position(plan.reduced, 0);
        for (std::int64_t p = 0; p < rows; ++p, position.next()) {
          for (std::int64_t k = 0; k < n; ++k) f(static_cast<W>(base[position.offset() + k]));
        }
      };
      W total = identity;
      double shift = -__builtin_inf();
      if constexpr (A == Accumulation::exponentials) {
        each([&](W v) { shift = math::max(shift, v); });
      }
      each([&](W v) {
        if constexpr (A == Accumulation::magnitudes) {
          total += math::abs(v);
        } else if constexpr (A == Accumulation::squares) {
          total += v * v;
        } else if constexpr (A == Accumulation::exponentials) {
          total += __builtin_exp(v - shift);
        } else if constexpr (A == Accumulation::product) {
          total *= v;
        } else if constexpr (A == Accumulation::largest) {
          total = math::max(total, v);
        } else if constexpr (A == Accumulation::smallest) {
          total = math::min(total, v);
        } else {
          total += v;
        }
      });
      if (finish == Finish::none) {
        y[output] = static_cast<T>(total);
      } else if (finish == Finish::mean) {
        y[output] = static_cast<T>(math::divide(total, static_cast<W>(plan.terms)));
      } else {
        y[output] = math::saturated<T>(finished(finish, static_cast<double>(total), plan.terms,
                                                A == Accumulation::exponentials ? shift : 0));
      }
    }
  });
}

}  // namespace detail

template <class T>
constexpr std::size_t reduce_workspace(Accumulation accumulation, std::uint32_t mask,
                                       View<const T> x) {
  const detail::ReducePlan plan(x.extents, x.rank, mask);
  const std::int64_t parts = plan.parts();
  std::int64_t numbers = parts == 1 ? 0 : parts * plan.outputs;
  if (accumulation == Accumulation::exponentials) numbers += plan.outputs + 64;
  return static_cast<std::size_t>(numbers) * 8;
}

template <Accumulation A, class T>
void reduce(const Executor& executor, Finish finish, std::uint32_t mask, View<const T> x, T* y,
            void* workspace) {
  const detail::ReducePlan plan(x.extents, x.rank, mask);
  if constexpr (std::is_integral_v<T>) {
    detail::reduce_integers<A>(executor, plan, finish, x.data, y);
  } else {
    using Acc = detail::Accumulator<A, T>;
    using S = typename Acc::S;
    const S* shift = nullptr;
    auto* partial = static_cast<double*>(workspace);
    if constexpr (A == Accumulation::exponentials) {
      // e^(x - largest) cannot overflow. An infinite one is not subtracted: its power says it all.
      auto* const largest = static_cast<S*>(workspace);
      partial += plan.outputs + 64;
      detail::reduce_terms<detail::Accumulator<Accumulation::largest, T>>(
          executor, plan, x.data, nullptr, partial,
          [&](std::int64_t first, const double* values, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) {
              largest[first + i] = math::isfinite(values[i]) ? static_cast<S>(values[i]) : S(0);
            }
          });
      shift = largest;
    }
    detail::reduce_terms<Acc>(executor, plan, x.data, shift, partial,
                              [&](std::int64_t first, const double* totals, std::int64_t n) {
                                detail::finish_all(finish, totals, plan.terms,
                                                   shift == nullptr ? shift : shift + first, n,
                                                   y + first);
                              });
  }
}

}  // namespace halftone::kernel
