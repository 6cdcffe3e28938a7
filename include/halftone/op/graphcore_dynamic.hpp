#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_DYNAMIC_HPP
#define HALFTONE_OP_GRAPHCORE_DYNAMIC_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::op {

/// Element types of offsets: PopART has uint32, and takes int32 for the same bits.
using OffsetTypes = TypeList<std::uint32_t, std::int32_t>;

/// A part of a tensor that starts at offsets known at run time. Past the last element of a
/// dimension it goes on at the first.
struct DynamicPart {
  Dims axes, sizes;

  /// The extents of the part, or why there are none.
  constexpr Inferred infer(TensorInfo whole, TensorInfo offset) const {
    const Axes dimensions(axes.span(), whole.rank());
    if (!dimensions.ok()) return dimensions.mismatch();
    if (sizes.size() != axes.size()) {
      return Inferred::mismatch("axes and sizes have different lengths",
                                static_cast<std::int64_t>(axes.size()),
                                static_cast<std::int64_t>(sizes.size()));
    }
    const auto count = static_cast<std::int64_t>(axes.size());
    if (offset.elements() != dynamic && offset.elements() != count) {
      return Inferred::mismatch("the offset has not one number per axis", count, offset.elements());
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::int64_t& extent = whole.shape[static_cast<std::size_t>(dimensions.list[i])];
      if (sizes[i] < 0) return Inferred::mismatch("a size is negative", 0, sizes[i]);
      if (extent != dynamic && sizes[i] > extent) {
        return Inferred::mismatch("a size is larger than the extent", extent, sizes[i]);
      }
      extent = sizes[i];
    }
    return whole;
  }
  /// Why `part` is no such part of the whole; empty outputs if it is.
  constexpr Inferred infer_same(TensorInfo whole, TensorInfo offset, TensorInfo part) const {
    const Inferred expected = infer(whole, offset);
    if (!expected.ok()) return expected;
    const Dims& shape = expected.outputs[0].shape;
    if (shape.size() != part.rank()) {
      return Inferred::mismatch("the slice has another number of dimensions",
                                static_cast<std::int64_t>(shape.size()),
                                static_cast<std::int64_t>(part.rank()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (contradict(shape[i], part.shape[i])) {
        return Inferred::mismatch("the slice has another shape", shape[i], part.shape[i]);
      }
    }
    return whole;
  }

  /// f(offset in the whole, offset in the part, extents) for each of the boxes that the part
  /// consists of: two along a dimension where it goes on at the first element.
  template <class I, class F>
  void each_box(std::span<const std::int64_t> whole, View<const I> offset, F&& f) const {
    Dims starts = Dims::filled(whole.size(), 0), extents(whole);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::size_t axis = normalized_axis(axes[i], whole.size());
      if (whole[axis] == 0) return;
      starts[axis] = static_cast<std::uint32_t>(offset[static_cast<std::int64_t>(i)]) % whole[axis];
      extents[axis] = sizes[i];
    }
    const Dims whole_strides = kernel::row_major_strides(whole);
    const Dims part_strides = kernel::row_major_strides(extents.span());
    for (unsigned corner = 0; corner < 1u << whole.size(); ++corner) {
      Dims box = extents;
      std::int64_t from = 0, to = 0;
      bool is_empty = false;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const std::int64_t room = whole[i] - starts[i];
        const std::int64_t first = extents[i] < room ? extents[i] : room;
        const bool is_second = (corner >> i & 1) != 0;
        box[i] = is_second ? extents[i] - first : first;
        from += is_second ? 0 : starts[i] * whole_strides[i];
        to += is_second ? first * part_strides[i] : 0;
        is_empty = is_empty || box[i] == 0;
      }
      if (!is_empty) f(from, to, whole_strides, part_strides, box);
    }
  }
};

/// The part of a tensor that starts at offsets known at run time.
///
/// x        any shape
/// offset   one number for each of `axes`, modulo the extent; past the last element the part goes
///          on at the first
/// like     a tensor of y's shape; not looked at
/// axes     the dimensions that are cut; from the end if negative, which PopART does not have
/// sizes    y's extent along each of them
/// grad     dx = zeros with dy in that part
/// limits   noOverlap promises what only the layout on the machine depends on
/// source   ai.graphcore DynamicSlice-1
struct DynamicSlice {
  Dims axes{}, sizes{};
  std::int64_t no_overlap = 0;

  static constexpr OpId id{"ai.graphcore", "DynamicSlice", 1};
  static constexpr Signature signature = "x offset:I like? -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("sizes", sizes);
    visit("noOverlap", no_overlap);
  }
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.dynamic_slice(out[0], product(sizes));
  }
  constexpr Inferred infer(const Inputs& in) const {
    const DynamicPart part{axes, sizes};
    if (!in.has(2)) return part.infer(in[0], in[1]);
    const Inferred same = part.infer_same(in[0], in[1], in[2]);
    return same.ok() ? Inferred(in[2]) : same;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> offset, View<const T>,
              View<T> y) const {
    DynamicPart{axes, sizes}.each_box(x.shape(), offset,
                                      [&](std::int64_t from, std::int64_t to, const Dims& wholes,
                                          const Dims& parts, const Dims& extents) {
                                        kernel::Box box;
                                        for (std::size_t i = 0; i < extents.size(); ++i) {
                                          box.add(extents[i], parts[i], wholes[i]);
                                        }
                                        kernel::copy<T>(*call.executor, box, x.data + from,
                                                        y.data + to);
                                      });
  }
  constexpr void gradient(auto& g) const {
    const auto zeros = g.zeros(g.graph(), g.x().info());
    g.dx(0) += dynamic_update(zeros, g.x(1), g.dy(),
                              {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
  }
};

/// A tensor with another one written over the part that starts at offsets known at run time.
///
/// x, y     any shape
/// offset   one number for each of `axes`, modulo the extent; past the last element the part goes
///          on at the first
/// part     x's shape with `sizes` along `axes`
/// grad     dx = dy with zeros in the part, dpart = that part of dy
/// source   ai.graphcore DynamicUpdate-1
struct DynamicUpdate {
  Dims axes{}, sizes{};
  std::int64_t no_overlap = 0;

  static constexpr OpId id{"ai.graphcore", "DynamicUpdate", 1};
  static constexpr Signature signature = "x offset:I part -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("sizes", sizes);
    visit("noOverlap", no_overlap);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    machine.keep(in[0]);
    machine.move(in[2]);
    machine.dynamic_slice(in[2], product(sizes));
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo offset, TensorInfo part) const {
    return DynamicPart{axes, sizes}.infer_same(x, offset, part);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> offset, View<const T> part,
              View<T> y) const {
    if (y.data != x.data) {
      kernel::Box all;
      all.add(x.size(), 1, 1);
      kernel::copy<T>(*call.executor, all, x.data, y.data);
    }
    DynamicPart{axes, sizes}.each_box(x.shape(), offset,
                                      [&](std::int64_t to, std::int64_t from, const Dims& wholes,
                                          const Dims& parts, const Dims& extents) {
                                        kernel::Box box;
                                        for (std::size_t i = 0; i < extents.size(); ++i) {
                                          box.add(extents[i], wholes[i], parts[i]);
                                        }
                                        kernel::copy<T>(*call.executor, box, part.data + from,
                                                        y.data + to);
                                      });
  }
  constexpr void gradient(auto& g) const {
    const auto dy = g.dy(), offset = g.x(1);
    if (g.needs(0)) {
      g.dx(0) += dynamic_zero(dy, offset, {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
    }
    if (g.needs(2)) {
      g.dx(2) +=
          dynamic_slice(dy, offset, {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
    }
  }
};

/// A tensor with zeros in the part that starts at offsets known at run time; as DynamicUpdate.
/// source  ai.graphcore DynamicZero-1
struct DynamicZero {
  Dims axes{}, sizes{};
  std::int64_t no_overlap = 0;

  static constexpr OpId id{"ai.graphcore", "DynamicZero", 1};
  static constexpr Signature signature = "x offset:I -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("sizes", sizes);
    visit("noOverlap", no_overlap);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    TensorInfo part = in[0];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      part.shape[normalized_axis(axes[i], part.rank())] = sizes[i];
    }
    machine.keep(in[0]);
    machine.dynamic_slice(part, product(sizes));
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo offset) const {
    const Inferred part = DynamicPart{axes, sizes}.infer(x, offset);
    return part.ok() ? Inferred(x) : part;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> offset, View<T> y) const {
    if (y.data != x.data) {
      kernel::Box all;
      all.add(x.size(), 1, 1);
      kernel::copy<T>(*call.executor, all, x.data, y.data);
    }
    const T zero{};
    DynamicPart{axes, sizes}.each_box(
        x.shape(), offset,
        [&](std::int64_t to, std::int64_t, const Dims& wholes, const Dims&, const Dims& extents) {
          kernel::Box box;
          for (std::size_t i = 0; i < extents.size(); ++i) box.add(extents[i], wholes[i], 0);
          kernel::copy<T>(*call.executor, box, &zero, y.data + to);
        });
  }
  constexpr void gradient(auto& g) const {
    g.dx(0) += OpFunction<DynamicZero>{}(g.dy(), g.x(1), *this);
  }
};

/// A tensor with another one added to the part that starts at offsets known at run time; as
/// DynamicUpdate. source  ai.graphcore DynamicAdd-1
struct DynamicAdd {
  Dims axes{}, sizes{};
  std::int64_t no_overlap = 0;

  static constexpr OpId id{"ai.graphcore", "DynamicAdd", 1};
  static constexpr Signature signature = "x offset:I part -> y";

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("sizes", sizes);
    visit("noOverlap", no_overlap);
  }
  constexpr AnyTensor expand(tensor_handle auto x, auto offset, auto part) const {
    constexpr OpFunction<DynamicSlice> slice_at{};
    constexpr OpFunction<DynamicUpdate> update_at{};
    const auto old = slice_at(x, offset, DynamicSlice{axes, sizes, no_overlap});
    return update_at(x, offset, old + part, DynamicUpdate{axes, sizes, no_overlap});
  }
};

/// Copies runs of rows to places in another tensor.
///
/// x, to               [rows, ...], the same but for the number of rows
/// counts              [n] rows of each run; a run of 0 ends the list
/// sources, targets    [n] first row of each run in x and in y
/// zeroUnused          1: rows of y that are in no run are 0; 0: they are those of `to`
/// limits              rows out of range are an InputError of the run; runs must not overlap in y
/// source              ai.graphcore SequenceSlice-1
struct SequenceSlice {
  std::int64_t zero_unused = 0;

  static constexpr OpId id{"ai.graphcore", "SequenceSlice", 1};
  static constexpr Signature signature = "x to counts:I sources:I targets:I -> y";
  using types = TypeList<BitTypes, OffsetTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("zeroUnused", zero_unused); }
  constexpr void cost(auto& machine, auto in, auto) const {
    if (zero_unused != 0) {
      machine.fill(in[1]);
    } else {
      machine.move(in[1]);
    }
    // How long the runs are is known when it runs: at most all rows.
    const std::int64_t rows = in[0].shape[0] < in[1].shape[0] ? in[0].shape[0] : in[1].shape[0];
    TensorInfo part = in[1];
    part.shape[0] = rows;
    machine.dynamic_slice(part, rows);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo to, TensorInfo counts,
                                  TensorInfo sources, TensorInfo targets) {
    if (x.rank() < 2 || to.rank() < 2) {
      return Inferred::mismatch("a tensor of rows has less than 2 dimensions", 2,
                                static_cast<std::int64_t>(x.rank() < 2 ? x.rank() : to.rank()));
    }
    const std::int64_t mine = product(x.shape.span().subspan(1));
    const std::int64_t other = product(to.shape.span().subspan(1));
    if (contradict(mine, other)) {
      return Inferred::mismatch("rows have different numbers of elements", mine, other);
    }
    for (const TensorInfo& list : {counts, sources, targets}) {
      if (list.rank() != 1) {
        return Inferred::mismatch("a list of rows is not a vector", 1,
                                  static_cast<std::int64_t>(list.rank()));
      }
      if (contradict(counts.shape[0], list.shape[0])) {
        return Inferred::mismatch("lists of rows have different lengths", counts.shape[0],
                                  list.shape[0]);
      }
    }
    return to;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> to, View<const I> counts,
              View<const I> sources, View<const I> targets, View<T> y) const {
    const auto row = [](I i) { return static_cast<std::int64_t>(static_cast<std::uint32_t>(i)); };
    const std::int64_t n = counts.size();
    std::int64_t used = 0;
    for (; used < n && counts[used] != 0; ++used) {
      const std::int64_t last = row(counts[used]) - 1;
      check(row(sources[used]) + last, x.extent(0));
      check(row(targets[used]) + last, y.extent(0));
    }
    if (zero_unused != 0) {
      kernel::fill<T>(*call.executor, T{}, y.data, y.size());
    } else {
      copy_run(call, to.data, y.data, to.size());
    }
    const std::int64_t run = x.size(1, x.rank);
    for (std::int64_t i = 0; i < used; ++i) {
      copy_run(call, x.data + row(sources[i]) * run, y.data + row(targets[i]) * run,
               row(counts[i]) * run);
    }
  }

 private:
  static void check(std::int64_t row, std::int64_t rows) {
    if (row >= rows) halftone_index_error(row, rows);
  }
  template <class T>
  static void copy_run(const KernelCall& call, const T* from, T* to, std::int64_t n) {
    kernel::Box box;
    box.add(n, 1, 1);
    kernel::copy<T>(*call.executor, box, from, to);
  }
};

}  // namespace halftone::op

#endif
