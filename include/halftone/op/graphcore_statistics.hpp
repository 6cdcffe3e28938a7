#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_STATISTICS_HPP
#define HALFTONE_OP_GRAPHCORE_STATISTICS_HPP

#include <limits>

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/sort.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::op {

/// Into which interval between boundaries each element falls.
///
/// x           any shape
/// boundaries  [n], ascending
/// right       0: y = i with boundaries[i - 1] < x <= boundaries[i]; 1: <= on the left and < on the
///             right
/// y           int32, 0 in front of the first boundary, n behind the last; NaN gives 0
/// source      ai.graphcore Bucketize-1
struct Bucketize {
  std::int64_t right = 0;

  static constexpr OpId id{"ai.graphcore", "Bucketize", 1};
  static constexpr Signature signature = "x boundaries -> y:I";
  using types = TypeList<Joined<FloatTypes, TypeList<std::int32_t, std::uint32_t, std::int64_t>>,
                         TypeList<std::int32_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("right", right); }
  static constexpr void cost(auto& machine, auto in, auto out) {
    // The number of boundaries that are smaller.
    machine.repeat(in[1].elements());
    machine.pass("Greater", in[0]);
    machine.pass("Add", out[0]);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo boundaries) const {
    if (right != 0 && right != 1) return Inferred::mismatch("right is not 0 or 1", 0, right);
    if (boundaries.rank() != 1) {
      return Inferred::mismatch("the boundaries are not a vector", 1,
                                static_cast<std::int64_t>(boundaries.rank()));
    }
    return TensorInfo{ElementType::int32, x.shape};
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> boundaries, View<I> y) const {
    using S = halftone::detail::Compute<T>;
    constexpr std::int64_t task = 1 << 13;
    const std::int64_t n = x.size();
    kernel::parallel_for(*call.executor, (n + task - 1) / task, [&](std::int64_t t) {
      const std::int64_t end = n - t * task < task ? n : (t + 1) * task;
      for (std::int64_t i = t * task; i < end; ++i) {
        const S value = static_cast<S>(x[i]);
        std::int64_t low = 0, high = boundaries.size();
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          const S boundary = static_cast<S>(boundaries[middle]);
          if (right != 0 ? boundary <= value : boundary < value) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        y[i] = static_cast<I>(low);
      }
    });
  }
};

/// How many elements fall into each interval between levels.
///
/// x                any shape
/// levels           at most 255, in any order: they are sorted
/// absoluteOfInput  1: |x| is looked at
/// y                uint32 [levels + 1], levels[i - 1] <= x < levels[i]; NaN counts to y[0]
/// source           ai.graphcore Histogram-1
struct Histogram {
  BoundedList<float, 255> levels{};
  std::int64_t absolute_of_input = 0;

  static constexpr OpId id{"ai.graphcore", "Histogram", 1};
  static constexpr Signature signature = "x -> y:I";
  using types = TypeList<FloatTypes, TypeList<std::uint32_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("levels", levels);
    visit("absoluteOfInput", absolute_of_input);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    if (absolute_of_input != 0) machine.pass("Abs", in[0]);
    machine.repeat(static_cast<std::int64_t>(levels.size()));
    machine.pass("Less", in[0]);
    machine.repeat(1);
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(TensorInfo) const {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] != levels[i]) {
        return Inferred::mismatch("a level is not a number", 0, static_cast<std::int64_t>(i));
      }
    }
    return TensorInfo{ElementType::uint32, {static_cast<std::int64_t>(levels.size() + 1)}};
  }
  constexpr BoundedList<float, 255> sorted() const {
    BoundedList<float, 255> list;
    for (const float level : levels) {
      std::size_t at = list.size();
      while (at > 0 && list[at - 1] > level) --at;
      list.insert(at, level);
    }
    return list;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<I> y) const {
    auto* const counts = static_cast<std::uint32_t*>(call.workspace);
    const std::int64_t n = x.size(), tasks = task_count(n), bins = y.size();
    const auto edges = sorted();
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t t) {
      std::uint32_t* const mine = counts + t * bins;
      for (std::int64_t i = 0; i < bins; ++i) mine[i] = 0;
      const std::int64_t end = n * (t + 1) / tasks;
      for (std::int64_t i = n * t / tasks; i < end; ++i) {
        double value = static_cast<double>(x[i]);
        if (absolute_of_input != 0 && value < 0) value = -value;
        std::size_t low = 0, high = edges.size();
        while (low < high) {
          const std::size_t middle = (low + high) / 2;
          if (value >= static_cast<double>(edges[middle])) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        ++mine[low];
      }
    });
    for (std::int64_t i = 0; i < bins; ++i) {
      y[i] = 0;
      for (std::int64_t t = 0; t < tasks; ++t) y[i] += counts[t * bins + i];
    }
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<I> y) const {
    return static_cast<std::size_t>(task_count(x.size()) * y.size()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::int64_t task_count(std::int64_t n) {
    const std::int64_t tasks = n >> 14;
    return tasks < 1 ? 1 : tasks > 32 ? 32 : tasks;
  }
};

/// The elements along a dimension in order, and where they were.
///
/// axis        from the end if negative, which PopART refuses
/// descending  1: the largest first
/// stable      equal elements always keep their order
/// indices     int32, of the elements of y along the axis
/// grad        dx = dy at the places where the elements were
/// limits      NaN counts as larger than all numbers
/// source      ai.graphcore Sort-1
struct Sort {
  std::int64_t axis = -1, descending = 0, stable = 0;

  static constexpr OpId id{"ai.graphcore", "Sort", 1};
  static constexpr Signature signature = "x -> y indices:I?";
  using types = TypeList<NumericTypes, TypeList<std::int32_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("descending", descending);
    visit("stable", stable);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    const std::int64_t n = in[0].shape[normalized_axis(axis, in[0].rank())];
    machine.top_k(in[0], n, n);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    if (x.shape[at] > INT32_MAX) {
      return Inferred::mismatch("the dimension is too long for int32", INT32_MAX, x.shape[at]);
    }
    Vector<TensorInfo> outputs{x};
    if (in.output_count() > 1) outputs.push_back({ElementType::int32, x.shape});
    return outputs;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<T> y, View<I> indices) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t n = x.extent(at), inner = x.size(at + 1, x.rank);
    const std::int64_t lines = x.size(0, at) * inner, tasks = kernel::sort_tasks(lines, n);
    const std::uint64_t turned = descending != 0 ? ~std::uint64_t{0} : 0;
    auto* const space = static_cast<kernel::Coded*>(call.workspace);
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t t) {
      kernel::Coded* const items = space + 2 * n * t;
      const std::int64_t end = lines * (t + 1) / tasks;
      for (std::int64_t line = lines * t / tasks; line < end; ++line) {
        const std::int64_t first = line / inner * n * inner + line % inner;
        for (std::int64_t i = 0; i < n; ++i) {
          items[i] = {kernel::order_code<T>(x[first + i * inner]) ^ turned, i};
        }
        kernel::sort_codes(items, items + n, n);
        for (std::int64_t i = 0; i < n; ++i) {
          if (y) y[first + i * inner] = x[first + items[i].index * inner];
          if (indices) indices[first + i * inner] = static_cast<I>(items[i].index);
        }
      }
    });
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>, View<I>) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t n = x.extent(at);
    const std::int64_t tasks = kernel::sort_tasks(n == 0 ? 0 : x.size() / n, n);
    return static_cast<std::size_t>(2 * n * tasks) * sizeof(kernel::Coded);
  }
  constexpr void gradient(auto& g) const {
    const auto x = g.x(0);
    auto at = g.y(1);
    if (at.is_absent()) {
      at.id = detail::record(g.graph(), *this, {x.id}, 2)[1];
    }
    g.dx(0) += scatter_elements(g.zeros(g.graph(), x.info()), at, g.dy(), {.axis = axis});
  }
};

/// The middle element over some dimensions, of an even number the lower one, and where it was.
///
/// axes      dimensions, from the end if negative; empty: all
/// keepdims  1: reduced dimensions stay, with extent 1; 0: they go
/// indices   int32, row-major over the reduced dimensions
/// grad      dx = dy at the place of the element, 0 elsewhere
/// limits    NaN counts as larger than all numbers; of equal elements it is the one in the middle
///           of a stable sort
/// source    ai.graphcore ReduceMedian-1
struct ReduceMedian {
  Dims axes{};
  std::int64_t keepdims = 1;

  static constexpr OpId id{"ai.graphcore", "ReduceMedian", 1};
  static constexpr Signature signature = "x -> y indices:I?";
  using types = TypeList<NumericTypes, TypeList<std::int32_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("keepdims", keepdims);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    const TensorInfo& y = out[0].is_known() ? out[0] : out[1];
    const std::int64_t n = in[0].elements() / y.elements();
    machine.top_k(in[0], n, n / 2 + 1);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    const Axes dimensions(axes.span(), x.rank());
    if (!dimensions.ok()) return dimensions.mismatch();
    TensorInfo y{x.type, {}};
    Dims reduced;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      if (is_reduced(i, x.rank())) {
        if (x.shape[i] == 0) return Inferred::mismatch("there is no element in the middle", 1, 0);
        reduced.push_back(x.shape[i]);
        if (keepdims != 0) y.shape.push_back(1);
      } else {
        y.shape.push_back(x.shape[i]);
      }
    }
    if (product(reduced) > INT32_MAX) {
      return Inferred::mismatch("too many elements for int32", INT32_MAX, product(reduced));
    }
    Vector<TensorInfo> outputs{y};
    if (in.output_count() > 1) outputs.push_back({ElementType::int32, y.shape});
    return outputs;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<T> y, View<I> indices) const {
    const Plan plan(*this, x);
    const std::int64_t n = plan.n, lines = plan.lines, tasks = kernel::sort_tasks(lines, n);
    auto* const space = static_cast<kernel::Coded*>(call.workspace);
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t t) {
      kernel::Coded* const items = space + 2 * n * t;
      const std::int64_t end = lines * (t + 1) / tasks;
      for (std::int64_t line = lines * t / tasks; line < end; ++line) {
        const std::int64_t first = plan.offset(plan.kept, line);
        for (std::int64_t i = 0; i < n; ++i) {
          items[i] = {kernel::order_code<T>(x[first + plan.offset(plan.reduced, i)]), i};
        }
        kernel::sort_codes(items, items + n, n);
        const std::int64_t middle = items[(n - 1) / 2].index;
        if (y) y[line] = x[first + plan.offset(plan.reduced, middle)];
        if (indices) indices[line] = static_cast<I>(middle);
      }
    });
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>, View<I>) const {
    const Plan plan(*this, x);
    return static_cast<std::size_t>(2 * plan.n * kernel::sort_tasks(plan.lines, plan.n)) *
           sizeof(kernel::Coded);
  }
  constexpr void gradient(auto& g) const {
    const auto x = g.x(0);
    auto at = g.y(1);
    if (at.is_absent()) {
      at.id = detail::record(g.graph(), *this, {x.id}, 2)[1];
    }
    // The reduced dimensions behind the others, as one.
    const TensorInfo info = x.info();
    Dims order, moved, back = info.shape;
    std::int64_t lines = 1;
    for (const bool goes : {false, true}) {
      for (std::size_t i = 0; i < info.rank(); ++i) {
        if (is_reduced(i, info.rank()) != goes) continue;
        back[i] = static_cast<std::int64_t>(order.size());
        order.push_back(static_cast<std::int64_t>(i));
        moved.push_back(info.shape[i]);
        if (!goes) lines *= info.shape[i];
      }
    }
    const std::int64_t n = lines == 0 ? 0 : info.elements() / lines;
    const auto line = [&](auto t) { return GradientScope::reshape_to(t, {lines, 1}); };
    const auto zeros = g.zeros(g.graph(), {info.type, {lines, n}});
    const auto dx = scatter_elements(zeros, line(at), line(g.dy()), {.axis = 1});
    g.dx(0) += transpose(GradientScope::reshape_to(dx, moved), {.perm = back});
  }

 private:
  constexpr bool is_reduced(std::size_t i, std::size_t rank) const {
    return axes.empty() || Axes(axes.span(), rank).contains(i);
  }
  /// Dimensions that are reduced and those that are not, from the innermost one.
  struct Plan {
    struct Dimension {
      std::int64_t extent, stride;
    };
    struct List {
      Dimension items[max_rank];
      std::size_t count = 0;
    };
    List kept, reduced;
    std::int64_t n = 1, lines = 1;

    constexpr Plan(const ReduceMedian& op, const auto& x) {
      std::int64_t stride = 1;
      for (std::size_t i = x.rank; i-- > 0;) {
        const std::int64_t extent = x.extent(i);
        const bool goes = op.is_reduced(i, x.rank);
        List& list = goes ? reduced : kept;
        list.items[list.count++] = {extent, stride};
        (goes ? n : lines) *= extent;
        stride *= extent;
      }
    }
    static std::int64_t offset(const List& list, std::int64_t at) {
      std::int64_t total = 0;
      for (std::size_t i = 0; i < list.count; ++i) {
        total += at % list.items[i].extent * list.items[i].stride;
        at /= list.items[i].extent;
      }
      return total;
    }
  };
};

}  // namespace halftone::op

#endif
