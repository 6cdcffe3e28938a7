#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_DEFORM_CONV_HPP
#define HALFTONE_OP_DEFORM_CONV_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone {

namespace detail {

/// How a deformable convolution looks its image up: the window that offsets move.
struct Deformation {
  Dims kernel_shape{}, dilations{}, strides{};
  Pads pads{};
  std::int64_t offset_group = 1;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("dilations", dilations);
    visit("strides", strides);
    visit("pads", pads);
    visit("offset_group", offset_group);
  }
  /// The window over the spatial extents of x.
  constexpr Window window(std::span<const std::int64_t> x) const {
    return Window::over(
        x.subspan(2),
        {.kernel = kernel_shape, .strides = strides, .dilations = dilations, .pads = pads});
  }
};

/// Where one element of a moved window lies in an image: between up to 2^3 elements, each with its
/// share, and how fast the share grows along each dimension.
struct MovedElement {
  static constexpr std::size_t most_dimensions = 3;
  static constexpr int most_corners = 1 << most_dimensions;
  int corners = 0;
  std::int64_t at[most_corners] = {};
  double share[most_corners] = {};
  double slope[most_dimensions][most_corners] = {};

  /// Corners outside of the image, which are zeros, are left out.
  MovedElement(std::size_t rank, const std::int64_t* extents, const double* place) {
    std::int64_t low[most_dimensions];
    double rest[most_dimensions];
    for (std::size_t d = 0; d < rank; ++d) {
      if (!(place[d] > -1 && place[d] < static_cast<double>(extents[d]))) return;
      const double floor = math::floor(place[d]);
      low[d] = static_cast<std::int64_t>(floor);
      rest[d] = place[d] - floor;
    }
    for (int corner = 0; corner < 1 << rank; ++corner) {
      std::int64_t offset = 0;
      double product = 1;
      bool is_inside = true;
      for (std::size_t d = 0; d < rank; ++d) {
        const bool is_high = (corner >> d & 1) != 0;
        const std::int64_t i = low[d] + is_high;
        is_inside = is_inside && i >= 0 && i < extents[d];
        offset = offset * extents[d] + i;
        product *= is_high ? rest[d] : 1 - rest[d];
      }
      if (!is_inside) continue;
      at[corners] = offset;
      share[corners] = product;
      for (std::size_t d = 0; d < rank; ++d) {
        double others = (corner >> d & 1) != 0 ? 1 : -1;
        for (std::size_t e = 0; e < rank; ++e) {
          if (e != d) others *= (corner >> e & 1) != 0 ? rest[e] : 1 - rest[e];
        }
        slope[d][corners] = others;
      }
      ++corners;
    }
  }
};

/// f(p, element) for every place p of element `k` of the window of offset group `group`, in image
/// `n`; offset is [batch, groups * elements * dimensions, places...].
template <class T, class F>
void for_each_moved(const Window& window, std::span<const std::int64_t> extents,
                    std::int64_t groups, View<const T> offset, std::int64_t n, std::int64_t group,
                    std::int64_t k, F f) {
  const std::size_t rank = window.rank();
  const std::int64_t elements = product(window.kernel.span()), places = offset.size(2, offset.rank);
  const auto dimensions = static_cast<std::int64_t>(rank);
  const T* const moves = offset.data + ((n * groups + group) * elements + k) * dimensions * places;
  double first[MovedElement::most_dimensions];
  std::int64_t rest = k;
  for (std::size_t d = rank; d-- > 0; rest /= window.kernel[d]) {
    first[d] =
        static_cast<double>(rest % window.kernel[d] * window.dilations[d] - window.pad_begin(d));
  }
  for (std::int64_t p = 0; p < places; ++p) {
    double place[MovedElement::most_dimensions];
    rest = p;
    for (std::size_t d = rank; d-- > 0; rest /= offset.extent(2 + d)) {
      const std::int64_t i = rest % offset.extent(2 + d);
      place[d] = first[d] + static_cast<double>(i * window.strides[d]) +
                 static_cast<double>(moves[static_cast<std::int64_t>(d) * places + p]);
    }
    f(p, MovedElement(rank, extents.data(), place));
  }
}

}  // namespace detail

namespace op {

/// The elements of images under a window whose elements are moved by offsets, as columns: what
/// DeformConv multiplies its weights with.
///
/// x        [batch, channels, spatial...], one to three spatial dimensions
/// offset   [batch, offset_group * elements * dimensions, places...]: how far each element of the
///          window is moved along each dimension
/// mask     [batch, offset_group * elements, places...], factors; absent: 1
/// columns  [batch, channels * elements, places]; the channels are shared out to the offset groups
/// grad     of x, offset and mask, as DeformColumnsGradient
/// limits   interpolates in double; outside of x there are zeros
struct DeformColumns {
  halftone::detail::Deformation deformation{};

  static constexpr OpId id{"halftone", "DeformColumns", 1};
  static constexpr Signature signature = "x offset mask? -> columns";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { deformation.attributes(visit); }

  constexpr void cost(auto& machine, auto in, auto out) const {
    halftone::detail::interpolation_cost(
        machine, in[0], out[0], std::int64_t{1} << deformation.kernel_shape.size(), in[0].shape[0]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo &x = in[0], &offset = in[1];
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (rank < 3 || rank > 5) {
      return Inferred::mismatch("the input has not one to three spatial dimensions",
                                rank < 3 ? 3 : 5, rank);
    }
    const Window window = deformation.window(x.shape.span());
    if (!window.ok()) return Inferred::mismatch(window.reason, window.expected, window.found);
    const std::int64_t groups = deformation.offset_group;
    const std::int64_t elements = product(window.kernel.span());
    if (groups < 1 || groups > Window::limit ||
        (x.shape[1] != dynamic && x.shape[1] % groups != 0)) {
      return Inferred::mismatch("offset_group does not divide the channels", x.shape[1], groups);
    }
    std::int64_t places = 1, batch = x.shape[0];
    for (const std::size_t i : {1, 2}) {
      if (!in.has(i)) continue;
      if (in[i].rank() != x.rank()) {
        return Inferred::mismatch("offset or mask have another rank than the input", rank,
                                  static_cast<std::int64_t>(in[i].rank()));
      }
      batch = agree(batch, in[i].shape[0]);
      if (batch == contradictory) {
        return Inferred::mismatch("offset or mask have another batch than the input", x.shape[0],
                                  in[i].shape[0]);
      }
      const std::int64_t numbers = product(Dims{groups, elements, i == 1 ? rank - 2 : 1});
      if (contradict(in[i].shape[1], numbers)) {
        return Inferred::mismatch("offset or mask do not fit the window and the groups", numbers,
                                  in[i].shape[1]);
      }
      for (std::size_t d = 0; d < window.rank(); ++d) {
        if (contradict(in[i].shape[2 + d], window.output[d]) ||
            contradict(in[i].shape[2 + d], offset.shape[2 + d])) {
          return Inferred::mismatch("offset or mask have another number of places",
                                    window.output[d], in[i].shape[2 + d]);
        }
      }
    }
    for (std::size_t d = 0; d < window.rank(); ++d) {
      places = product(Dims{places, agree(window.output[d], offset.shape[2 + d])});
    }
    return TensorInfo{x.type, {batch, product(Dims{x.shape[1], elements}), places}};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> offset, View<const T> mask,
              View<T> columns) const {
    using S = halftone::detail::Compute<T>;
    const Window window = deformation.window(x.shape());
    const std::int64_t groups = deformation.offset_group;
    const std::int64_t elements = product(window.kernel.span()), places = columns.extent(2);
    const std::int64_t channels = x.extent(1), shared = channels / groups;
    const std::int64_t pixels = x.size(2, x.rank);
    kernel::parallel_for(*call.executor, x.extent(0) * groups * elements, [&](std::int64_t task) {
      const std::int64_t k = task % elements, group = task / elements % groups;
      const std::int64_t n = task / elements / groups, first = n * channels + group * shared;
      const auto put = [&](std::int64_t p, const halftone::detail::MovedElement& element) {
        const double factor =
            mask ? static_cast<double>(mask[((n * groups + group) * elements + k) * places + p])
                 : 1;
        for (std::int64_t c = first; c < first + shared; ++c) {
          const T* const plane = x.data + c * pixels;
          double value = 0;
          for (int i = 0; i < element.corners; ++i) {
            value += element.share[i] * static_cast<double>(plane[element.at[i]]);
          }
          columns[(c * elements + k) * places + p] = static_cast<T>(static_cast<S>(value * factor));
        }
      };
      halftone::detail::for_each_moved<T>(window, x.shape().subspan(2), groups, offset, n, group, k,
                                          put);
    });
  }
  constexpr void gradient(auto& g) const;
};

/// The gradients of DeformColumns: the shares of every element of dcolumns are added to the elements
/// of dx that it was made of; offsets grow by the slope of the interpolation.
///
/// dx, doffset  of the shapes of x and offset
/// dmask        [batch, offset_group * elements, places...]
struct DeformColumnsGradient {
  halftone::detail::Deformation deformation{};

  static constexpr OpId id{"halftone", "DeformColumnsGradient", 1};
  static constexpr Signature signature = "x offset mask? dcolumns -> dx doffset dmask";
  using types = TypeList<TypeList<float, double>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { deformation.attributes(visit); }
  constexpr void cost(auto& machine, auto in, auto) const {
    machine.pool(in[3], std::int64_t{2} << deformation.kernel_shape.size(), false);
  }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo mask = in[1];
    if (mask.shape[1] != dynamic) mask.shape[1] /= static_cast<std::int64_t>(mask.rank()) - 2;
    return {in[0], in[1], mask};
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> offset, View<const T> mask,
              View<const T> dcolumns, View<T> dx, View<T> doffset, View<T> dmask) const {
    const Window window = deformation.window(x.shape());
    const std::int64_t groups = deformation.offset_group;
    const std::int64_t elements = product(window.kernel.span()), places = dcolumns.extent(2);
    const std::int64_t channels = x.extent(1), shared = channels / groups;
    const std::int64_t pixels = x.size(2, x.rank);
    const std::size_t rank = window.rank();
    const auto factor = [&](std::int64_t n, std::int64_t group, std::int64_t k, std::int64_t p) {
      return mask ? static_cast<double>(mask[((n * groups + group) * elements + k) * places + p])
                  : 1;
    };
    // dx group by group, whose channels share the places; then the offsets and factors.
    kernel::parallel_for(*call.executor, x.extent(0) * groups, [&](std::int64_t task) {
      const std::int64_t group = task % groups, n = task / groups;
      const std::int64_t first = n * channels + group * shared;
      for (std::int64_t i = 0; i < shared * pixels; ++i) dx[first * pixels + i] = T(0);
      for (std::int64_t k = 0; k < elements; ++k) {
        halftone::detail::for_each_moved<T>(
            window, x.shape().subspan(2), groups, offset, n, group, k,
            [&](std::int64_t p, const halftone::detail::MovedElement& element) {
              const double by = factor(n, group, k, p);
              for (std::int64_t c = first; c < first + shared; ++c) {
                const double dy =
                    by * static_cast<double>(dcolumns[(c * elements + k) * places + p]);
                T* const plane = dx.data + c * pixels;
                for (int i = 0; i < element.corners; ++i) {
                  plane[element.at[i]] += static_cast<T>(element.share[i] * dy);
                }
              }
            });
      }
    });
    kernel::parallel_for(*call.executor, x.extent(0) * groups * elements, [&](std::int64_t task) {
      const std::int64_t k = task % elements, group = task / elements % groups;
      const std::int64_t n = task / elements / groups, first = n * channels + group * shared;
      halftone::detail::for_each_moved<T>(
          window, x.shape().subspan(2), groups, offset, n, group, k,
          [&](std::int64_t p, const halftone::detail::MovedElement& element) {
            double value = 0, slopes[halftone::detail::MovedElement::most_dimensions] = {};
            for (std::int64_t c = first; c < first + shared; ++c) {
              const T* const plane = x.data + c * pixels;
              const auto dy = static_cast<double>(dcolumns[(c * elements + k) * places + p]);
              for (int i = 0; i < element.corners; ++i) {
                const double v = dy * static_cast<double>(plane[element.at[i]]);
                value += element.share[i] * v;
                for (std::size_t d = 0; d < rank; ++d) slopes[d] += element.slope[d][i] * v;
              }
            }
            const std::int64_t at = (n * groups + group) * elements + k;
            dmask[at * places + p] = static_cast<T>(value);
            for (std::size_t d = 0; d < rank; ++d) {
              const std::int64_t row =
                  at * static_cast<std::int64_t>(rank) + static_cast<std::int64_t>(d);
              doffset[row * places + p] = static_cast<T>(slopes[d] * factor(n, group, k, p));
            }
          });
    });
  }
};

constexpr void DeformColumns::gradient(auto& g) const {
  using halftone::detail::wide;
  const AnyTensor mask = g.x(2).is_absent() ? g.x(2) : wide(g.x(2));
  const auto made =
      halftone::detail::record(g.graph(), DeformColumnsGradient{deformation},
                               {wide(g.x(0)).id, wide(g.x(1)).id, mask.id, wide(g.dy()).id}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i < 2 || !g.x(2).is_absent()) g.dx(i) += AnyTensor{&g.graph(), made[i]};
  }
}

/// Convolution whose window's elements are moved, each by an offset of its own at every place.
/// Recorded as DeformColumns and a product with the weights.
///
/// x        [batch, channels, spatial...], one to three spatial dimensions
/// w        [filters, channels / group, kernel...]
/// offset   [batch, offset_group * elements of the kernel * dimensions, places...]
/// b        [filters], added; may be absent
/// mask     [batch, offset_group * elements of the kernel, places...], factors; absent: 1
/// y        [batch, filters, places...]
/// limits   w's shape must be known when the model is loaded
/// source   ai.onnx DeformConv-22; Dai et al. 2017, arXiv:1703.06211; Zhu et al. 2018,
///          arXiv:1811.11168
struct DeformConv {
  halftone::detail::Deformation deformation{};
  std::int64_t group = 1;

  static constexpr OpId id{"ai.onnx", "DeformConv", 19, 22};
  static constexpr Signature signature = "x w offset b? mask? -> y";

  constexpr void attributes(auto&& visit) {
    deformation.attributes(visit);
    visit("group", group);
  }
  template <std::same_as<AnyTensor> X>
  constexpr X expand(X x, X w, X offset, X b, X mask) const {
    Graph& graph = *x.graph;
    const TensorInfo weights = w.info();
    if (!weights.is_static()) {
      fail(ErrorKind::unsupported, {.what = "the shape of the weights is not known"});
    }
    if (weights.rank() < 3 || group < 1 || weights.shape[0] % group != 0) {
      fail(ErrorKind::model, {.what = "the weights do not fit the groups"});
    }
    halftone::detail::Deformation d = deformation;
    const Dims kernel(weights.shape.span().subspan(2));
    if (d.kernel_shape.empty()) d.kernel_shape = kernel;
    if (d.kernel_shape != kernel) {
      fail(ErrorKind::model, {.what = "kernel_shape is not that of the weights"});
    }
    X columns{&graph,
              halftone::detail::record(graph, DeformColumns{d}, {x.id, offset.id, mask.id}, 1)[0]};
    const std::int64_t filters = weights.shape[0], terms = product(weights.shape.span().subspan(1));
    const auto reshaped = [&](auto t, const Dims& shape) -> X {
      return op::reshape(t, constant(graph, shape));
    };
    if (group == 1) {
      columns = op::matmul(reshaped(w, {filters, terms}), columns);
    } else {
      columns = op::matmul(reshaped(w, {1, group, filters / group, terms}),
                           reshaped(columns, {0, group, terms, -1}));
    }
    // The places are the offset's: a constant if they are known.
    Dims shape{0, filters};
    const TensorInfo info = offset.info();
    for (std::size_t i = 2; i < info.rank(); ++i) shape.push_back(info.shape[i]);
    const bool is_known = info.is_known() && product(shape.span().subspan(1)) != dynamic;
    const X front = constant(graph, is_known ? shape : Dims{0, filters});
    const X y = op::reshape(
        columns, is_known ? front
                          : X(op::concat(std::array{front, X(op::shape_of(offset, {.start = 2}))},
                                         {.axis = 0})));
    if (b.is_absent()) return y;
    Dims each = Dims::filled(weights.rank() - 1, 1);
    each[0] = filters;
    return op::add(y, reshaped(b, each));
  }
};

}  // namespace op
}  // namespace halftone

#endif
