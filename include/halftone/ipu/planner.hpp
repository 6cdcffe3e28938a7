#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/convolution.hpp>
#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/grouped_convolution.hpp>
#include <halftone/ipu/reduce.hpp>

namespace halftone::ipu {

/// A matrix product or convolution: for each of `groups`, `rows` (batch and output positions) of
/// `inner` input channels times `columns` output channels, summed over a kernel.
struct Product {
  std::int64_t groups = 1, rows = 1, inner = 1, columns = 1;
  std::int64_t kernel_rows = 1, kernel_columns = 1;
  std::int64_t input_rows = 0;  ///< positions that all outputs read; 0: as many as `rows`
  std::int64_t width = 0;       ///< outputs in a row of the image; 0: no image
  ElementType input = ElementType::float32, output = ElementType::float32;

  constexpr std::int64_t taps() const { return kernel_rows * kernel_columns; }
  constexpr double macs() const {
    return static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(inner) *
           static_cast<double>(columns) * static_cast<double>(taps());
  }
  friend constexpr bool operator==(const Product&, const Product&) = default;
};

struct ProductOptions {
  double available_memory_proportion = 0.6;     ///< of a tile's memory, for what is temporary
  ElementType partials = ElementType::float32;  ///< of partial sums; inputs of float have float

  /// These, but for what one node asks.
  constexpr ProductOptions with(const Planning& node) const {
    ProductOptions options = *this;
    if (node.available_memory_proportion > 0) {
      options.available_memory_proportion = static_cast<double>(node.available_memory_proportion);
    }
    if (node.partials != ElementType::undefined) options.partials = node.partials;
    return options;
  }
  friend constexpr bool operator==(const ProductOptions&, const ProductOptions&) = default;
};

enum class Vertex : std::uint8_t { matrix, matrix_window, dot, vertical, window, outer_product };
constexpr std::string_view name(Vertex v) {
  constexpr std::string_view names[] = {
      "poplin::ConvPartial1x1Out",        "poplin::ConvPartialnx1",
      "poplin::ConvPartialHorizontalMac", "poplin::ConvPartialVerticalMac",
      "poplin::ConvPartial1xNSLIC",       "poplin::OuterProduct"};
  return names[static_cast<int>(v)];
}

/// How a product is spread over an IPU, and what each of its `serial()` steps costs there.
struct ProductPlan {
  Vertex vertex = Vertex::matrix;
  bool is_swapped = false;         ///< rows and columns changed places
  std::int64_t together = 1;       ///< convolution groups that the vertex takes at once
  std::int64_t kernel_height = 1;  ///< kernel rows that share the units' input channels
  std::int64_t serial_columns = 1, serial_inner = 1;
  std::int64_t split_groups = 1, split_rows = 1, split_columns = 1, split_inner = 1;
  std::int64_t compute = 0;                      ///< cycles of the vertices
  std::int64_t received_bytes = 0;               ///< by a tile: what is not there already
  std::int64_t exchange = 0;                     ///< cycles of that, with sync and setup
  std::int64_t reduce_exchange = 0, reduce = 0;  ///< of partial sums; a cast if there are none
  std::int64_t reduced_outputs = 0;              ///< of a tile, of which there are partial sums
  std::int64_t update = 0;                       ///< adding or writing a serial step's result
  std::int64_t input_bytes = 0, weight_bytes = 0, partials_bytes = 0;  ///< on a tile
  std::int64_t temporary_bytes = 0;
  std::int64_t cycles = 0;  ///< of all steps
  bool fits = true;         ///< within the proportion of memory that was asked for

  constexpr std::int64_t serial() const { return serial_columns * serial_inner; }
  constexpr std::int64_t tiles() const {
    return split_groups * split_rows * split_columns * split_inner;
  }
};

namespace detail {

/// The numbers of pieces, up to `most`, at which the largest piece of x gets smaller.
inline std::vector<std::int64_t> useful_splits(std::int64_t x, std::int64_t most) {
  std::vector<std::int64_t> splits;
  for (std::int64_t p = 1; p <= std::min(x, most);) {
    splits.push_back(p);
    const std::int64_t size = divide_up(x, p);
    if (size == 1) break;
    p = divide_up(x, size - 1);
  }
  return splits;
}

/// The search for one vertex and one order of the operands.
class PlanSearch {
 public:
  PlanSearch(const Target& target, const Product& product, const ProductOptions& options)
      : t_(target), p_(product), options_(options) {}

  ProductPlan best() {
    const double memory = static_cast<double>(t_.bytes_per_tile);
    double proportion = options_.available_memory_proportion;
    for (bool first = true;; first = false) {
      limit_ = static_cast<std::int64_t>(std::min(proportion, 1e6) * memory);
      search_all();
      if (found_) {
        best_.fits = first;
        return best_;
      }
      if (proportion >= 2) limit_ = std::numeric_limits<std::int64_t>::max();
      if (proportion >= 2) {
        search_all();
        best_.fits = false;
        return best_;
      }
      proportion = proportion > 0 ? 2 * proportion : 0.05;
    }
  }

 private:
  /// A vertex, and how it takes channels: input and output channels, and convolution groups, at a
  /// time; `rate`: products a cycle that it never exceeds.
  struct Candidate {
    Vertex vertex = Vertex::matrix;
    std::int64_t in = 1, out = 1, together = 1, kernel_height = 1;
    double rate = 1;
    bool is_swapped = false;
  };

  void search_all() {
    const ConvolutionVertex units = matrix_vertex(t_, p_.input, partials());
    const bool has_units = units.units > 0 && size_in_bytes(p_.input) <= 4;
    const bool is_window = p_.taps() > 1;
    const auto vector = static_cast<double>(t_.vector_width(p_.input));
    const auto unit_rate = static_cast<double>(t_.macs_per_cycle(p_.input, partials()));
    if (has_units) {
      Candidate c{.vertex = is_window ? Vertex::matrix_window : Vertex::matrix,
                  .in = units.channels(),
                  .out = units.units,
                  .rate = unit_rate};
      search(p_, c);
      // Few input channels: rows of the kernel fill up what the units take.
      for (c.kernel_height = 2; is_window && c.kernel_height <= 4; c.kernel_height *= 2) {
        c.in = units.channels() / c.kernel_height;
        if (size_in_bytes(p_.input) > 1 && p_.kernel_rows > 1 && p_.inner <= c.in) search(p_, c);
      }
      if (!is_window) {
        Product swapped = p_;
        std::swap(swapped.rows, swapped.columns);
        swapped.input_rows = swapped.width = 0;
        search(swapped, {.vertex = Vertex::matrix,
                         .in = units.channels(),
                         .out = units.units,
                         .rate = unit_rate,
                         .is_swapped = true});
      }
    }
    // Dot products are for what leaves most of the matrix units idle.
    if (!has_units || p_.inner < 16 || p_.columns < 8 || p_.rows * p_.columns <= 4096) {
      search(p_, {.vertex = Vertex::dot, .rate = vector});
    }
    if (p_.inner == 1 && !is_window && size_in_bytes(p_.input) >= 2) {
      search(p_, {.vertex = Vertex::outer_product, .rate = vector});
    }
    search_grouped(units);
  }

  /// The vertices for half and few channels a group.
  void search_grouped(const ConvolutionVertex& units) {
    const bool is_half = size_in_bytes(p_.input) == 2;
    if (p_.taps() == 1 || (!is_half && size_in_bytes(p_.input) != 1)) return;
    if (is_half && p_.inner == 1 && p_.columns == 1) {
      for (const std::int64_t together : {4, 8, 16}) {
        search(p_, {.vertex = Vertex::vertical, .together = together, .rate = 4});
      }
    }
    const std::int64_t channels = p_.inner <= 1 ? 1 : p_.inner <= 2 ? 2 : 4;
    if (units.units == 0 || p_.inner > 4 || p_.width == 0 || stride() > 2) return;
    const double rate = static_cast<double>(units.units * channels);
    const bool has_half_partials = size_in_bytes(partials()) == 2;
    for (std::int64_t together = 4 / channels; together <= 16; together *= 2) {
      search(p_, {.vertex = Vertex::window,
                  .in = channels,
                  .out = channels,
                  .together = together,
                  .rate = rate});
      if (channels > 1 || !has_half_partials) break;
    }
  }

  /// How far apart the windows of neighbouring outputs lie.
  std::int64_t stride() const {
    std::int64_t s = 1;
    while (p_.rows * (s + 1) * (s + 1) <= p_.input_rows) ++s;
    return s;
  }

  ElementType partials() const {
    return size_in_bytes(p_.input) == 4 ? ElementType::float32 : options_.partials;
  }

  /// Distinct input positions that `rows` output positions of a tile read.
  static std::int64_t positions(const Product& p, std::int64_t rows) {
    if (p.input_rows == 0 || p.width == 0) return rows;
    const double stride = static_cast<double>(p.input_rows) / static_cast<double>(p.rows);
    const std::int64_t lines = divide_up(rows, p.width);
    const double halo = static_cast<double>(lines + p.kernel_rows - 1) / static_cast<double>(lines);
    const auto read = static_cast<std::int64_t>(static_cast<double>(rows) * stride *
                                                (p.kernel_rows > 1 ? halo : 1.0));
    return std::clamp<std::int64_t>(read, 1, p.input_rows);
  }

  void search(const Product& p, const Candidate& candidate) {
    const ElementType part_type = partials();
    const ConvolutionVertex vertex = matrix_vertex(t_, p.input, part_type);
    const std::int64_t gi = candidate.in, go = candidate.out;
    const std::int64_t b = std::max(size_in_bytes(p.input), 1), bp = size_in_bytes(part_type),
                       bo = std::max(size_in_bytes(p.output), 1);
    const std::int64_t kg = divide_up(p.inner, gi), ng = divide_up(p.columns, go);
    const double rate = candidate.rate;
    const double taps = static_cast<double>(p.taps());
    const std::int64_t tiles = t_.tiles_per_ipu, groups = divide_up(p.groups, candidate.together);
    const std::vector<std::int64_t> group_splits = useful_splits(groups, tiles);
    const std::vector<std::int64_t> row_splits = useful_splits(p.rows, tiles);

    ProductPlan splits{.vertex = candidate.vertex,
                       .is_swapped = candidate.is_swapped,
                       .together = candidate.together,
                       .kernel_height = candidate.kernel_height};
    for (const std::int64_t sn : {1, 2, 4, 8, 16, 32}) {
      if (sn > ng) break;
      splits.serial_columns = sn;
      for (const std::int64_t sk : {1, 2, 4, 8}) {
        if (sk > kg) break;
        splits.serial_inner = sk;
        const auto serial = static_cast<double>(sn * sk);
        const std::vector<std::int64_t> column_splits = useful_splits(divide_up(ng, sn), tiles);
        const std::vector<std::int64_t> inner_splits = useful_splits(divide_up(kg, sk), tiles);
        for (const std::int64_t pg : group_splits) {
          const std::int64_t g = divide_up(groups, pg);
          splits.split_groups = pg;
          for (const std::int64_t pn : column_splits) {
            if (pg * pn > tiles) break;
            const std::int64_t og = divide_up(divide_up(ng, sn), pn), n = og * go;
            splits.split_columns = pn;
            for (const std::int64_t pk : inner_splits) {
              if (pg * pn * pk > tiles) break;
              const std::int64_t ig = divide_up(divide_up(kg, sk), pk), k = ig * gi;
              splits.split_inner = pk;
              // From the most rows' splits downwards: the bound only grows.
              auto last =
                  std::upper_bound(row_splits.begin(), row_splits.end(), tiles / (pg * pn * pk));
              while (last != row_splits.begin()) {
                const std::int64_t pm = *--last;
                const std::int64_t m = divide_up(p.rows, pm);
                const double bound = serial * static_cast<double>(g * candidate.together) *
                                     static_cast<double>(m) * static_cast<double>(n) *
                                     static_cast<double>(k) * taps / rate;
                if (found_ && bound >= static_cast<double>(best_.cycles)) break;
                splits.split_rows = pm;
                consider({p, vertex, b, bp, bo, g, m, og, ig, k, n}, splits);
              }
            }
          }
        }
      }
    }
  }

  /// A tile's share of a product: bytes of an element of inputs, partial sums and outputs; groups as
  /// the vertex takes them, rows, channels in groups and one by one.
  struct Share {
    const Product& p;
    const ConvolutionVertex& vertex;
    std::int64_t b, bp, bo, g, m, og, ig, k, n;
  };

  /// Takes a plan with these splits if it is better than the best so far.
  void consider(const Share& c, const ProductPlan& splits) {
    const Product& p = c.p;
    const std::int64_t groups = c.g * splits.together;
    const double in_double = static_cast<double>(groups) * static_cast<double>(positions(p, c.m)) *
                             static_cast<double>(c.k) * static_cast<double>(c.b);
    const double part_double = static_cast<double>(groups) * static_cast<double>(c.m) *
                               static_cast<double>(c.n) * static_cast<double>(c.bp);
    const double weight_double = static_cast<double>(groups) * static_cast<double>(c.k) *
                                 static_cast<double>(c.n) * static_cast<double>(c.b * p.taps());
    if (in_double + part_double + weight_double > 1e15) return;
    const auto in = static_cast<std::int64_t>(in_double);
    const auto part = static_cast<std::int64_t>(part_double);
    const auto weights = static_cast<std::int64_t>(weight_double);
    const std::int64_t copies = splits.split_inner;  // of partial sums
    const std::int64_t outputs = groups * divide_up(c.m * c.n, copies);
    // In the vertical vertex each worker has sums of its own.
    const std::int64_t sums = splits.vertex == Vertex::vertical ? t_.worker_contexts : 1;
    std::int64_t temporary = in + weights + sums * part;
    if (copies > 1) temporary = std::max(temporary, part + outputs * (copies * c.bp + c.bo));
    if (temporary > limit_) return;

    const std::int64_t sync = t_.sync_cycles + t_.exchange_setup_cycles;
    // A tile that shares its inputs or weights with others holds a part of them before.
    const std::int64_t inputs_received = in - divide_up(in, splits.split_columns);
    const std::int64_t weights_received = weights - divide_up(weights, splits.split_rows);
    const std::int64_t received = inputs_received + weights_received;
    const std::int64_t exchange =
        received == 0 ? 0
                      : exchange_cycles(t_, inputs_received,
                                        splits.split_columns % t_.tiles_per_super_tile == 0) +
                            exchange_cycles(t_, weights_received) + sync;
    if (found_ && static_cast<double>(splits.serial()) * static_cast<double>(exchange) >=
                      static_cast<double>(best_.cycles)) {
      return;
    }
    ProductPlan plan = splits;
    plan.received_bytes = received;
    plan.exchange = exchange;
    plan.input_bytes = in;
    plan.weight_bytes = weights;
    plan.partials_bytes = part;
    plan.temporary_bytes = temporary;
    plan.compute = compute_cycles(c, plan);
    plan.reduced_outputs = outputs;
    plan.reduce = partials_reduce_cycles(t_, outputs, copies, c.vertex.partials, p.output);
    for_each_reduction_stage(outputs, copies, c.vertex.partials, p.output, true,
                             [&](std::int64_t size, std::int64_t now, ElementType) {
                               plan.reduce_exchange +=
                                   exchange_cycles(t_, size * (now - 1) * c.bp) + sync;
                             });
    if (plan.serial() > 1) plan.update = divide_up(outputs * c.bo, 8);
    plan.cycles = plan.serial() *
                  (plan.exchange + plan.compute + plan.reduce_exchange + plan.reduce + plan.update);
    const auto rank = [](const ProductPlan& x) {
      return std::tuple(x.cycles, x.tiles(), x.temporary_bytes);
    };
    if (found_ && rank(plan) >= rank(best_)) return;
    best_ = plan;
    found_ = true;
  }

  std::int64_t compute_cycles(const Share& c, const ProductPlan& plan) const {
    const Product& p = c.p;
    const OutputLines outputs{c.m, p.width > 0 ? p.width : c.m};
    const bool has_float_partials = size_in_bytes(c.vertex.partials) == 4;
    switch (plan.vertex) {
      case Vertex::matrix:
        return matrix_cycles(t_, c.vertex, c.m, c.ig, c.og, c.g);
      case Vertex::matrix_window:
        return matrix_window_cycles(t_, c.vertex, outputs,
                                    {divide_up(p.kernel_rows, plan.kernel_height), p.kernel_columns,
                                     plan.kernel_height},
                                    c.ig, c.og, c.g) +
               zero_cycles(t_, c.m * c.vertex.units, ElementType::float32, c.og * c.g);
      case Vertex::dot:
        return planned_dot_cycles(t_, c.vertex, divide_up(c.m, outputs.width),
                                  std::min(outputs.width, c.m),
                                  {.in = c.k, .out = c.n, .taps = p.taps(), .groups = c.g},
                                  has_plain_dot(c.vertex, p.taps()));
      case Vertex::vertical:
        return vertical_cycles(t_, {.together = plan.together,
                                    .groups = c.g,
                                    .kernel_rows = p.kernel_rows,
                                    .kernel_columns = p.kernel_columns,
                                    .outputs = c.m,
                                    .zeroed = c.m * plan.together,
                                    .has_float_partials = has_float_partials});
      case Vertex::window:
        return window_cycles(t_, p.input, c.vertex.partials,
                             {.together = plan.together,
                              .channels = c.k / c.ig,
                              .group_groups = c.g * c.ig * c.og,
                              .sub_kernels = p.kernel_rows * divide_up(p.kernel_columns, 4),
                              .stride = stride(),
                              .chains = c.vertex.units / 4,
                              .outputs = outputs});
      case Vertex::outer_product:
        return t_.worker_contexts * c.g *
               outer_product_worker_cycles(divide_up(c.m, t_.worker_contexts), c.n, c.n, p.input);
    }
    return 0;
  }

  const Target& t_;
  const Product& p_;
  const ProductOptions& options_;
  std::int64_t limit_ = 0;
  ProductPlan best_;
  bool found_ = false;
};

}  // namespace detail

/// The fastest plan whose temporary bytes stay within the proportion of a tile's memory; if there
/// is none, within twice, four times ... as much, and in the end the fastest there is.
inline ProductPlan plan_product(const Target& target, const Product& product,
                                const ProductOptions& options = {}) {
  return detail::PlanSearch(target, product, options).best();
}

/// Plans products of one machine, equal ones once.
class Planner {
 public:
  explicit Planner(const Target& target) : target_(target) {}

  const ProductPlan& plan(const Product& product, const ProductOptions& options = {}) {
    for (const Entry& entry : entries_) {
      if (entry.product == product && entry.options == options) {
        ++reused_;
        return plans_[entry.plan];
      }
    }
    plans_.push_back(plan_product(target_, product, options));
    entries_.push_back({product, options, plans_.size() - 1});
    return plans_.back();
  }
  /// How many plans were made, and how often one was used again.
  std::size_t planned() const { return plans_.size(); }
  std::size_t reused() const { return reused_; }

 private:
  struct Entry {
    Product product;
    ProductOptions options;
    std::size_t plan;
  };
  Target target_;
  std::vector<Entry> entries_;
  std::vector<ProductPlan> plans_;
  std::size_t reused_ = 0;
};

}  // namespace halftone::ipu
