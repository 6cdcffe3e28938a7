#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/convolution.hpp>
#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/exchange.hpp>
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

enum class Vertex : std::uint8_t { matrix, matrix_window, dot };
constexpr std::string_view name(Vertex v) {
  constexpr std::string_view names[] = {"poplin::ConvPartial1x1Out", "poplin::ConvPartialnx1",
                                        "poplin::ConvPartialHorizontalMac"};
  return names[static_cast<int>(v)];
}

/// How a product is spread over an IPU, and what each of its `serial()` steps costs there.
struct ProductPlan {
  Vertex vertex = Vertex::matrix;
  bool is_swapped = false;  ///< rows and columns changed places
  std::int64_t serial_columns = 1, serial_inner = 1;
  std::int64_t split_groups = 1, split_rows = 1, split_columns = 1, split_inner = 1;
  std::int64_t compute = 0;                      ///< cycles of the vertices
  std::int64_t exchange = 0;                     ///< cycles, with sync and setup
  std::int64_t reduce_exchange = 0, reduce = 0;  ///< of partial sums; a cast if there are none
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
  void search_all() {
    const bool has_units = t_.units(p_.input, partials()) > 0 &&
                           (size_in_bytes(p_.input) == 4 || size_in_bytes(p_.input) <= 2);
    const bool is_window = p_.taps() > 1;
    if (has_units) {
      search(p_, is_window ? Vertex::matrix_window : Vertex::matrix, false);
      if (!is_window) {
        Product swapped = p_;
        std::swap(swapped.rows, swapped.columns);
        swapped.input_rows = swapped.width = 0;
        search(swapped, Vertex::matrix, true);
      }
    }
    // Dot products are for what leaves most of the matrix units idle.
    if (!has_units || p_.inner < 16 || p_.columns < 8 || p_.rows * p_.columns <= 4096) {
      search(p_, Vertex::dot, false);
    }
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

  void search(const Product& p, Vertex kind, bool is_swapped) {
    const ElementType part_type = partials();
    const ConvolutionVertex vertex = matrix_vertex(t_, p.input, part_type);
    const std::int64_t gi = kind == Vertex::dot ? 1 : vertex.channels();
    const std::int64_t go = kind == Vertex::dot ? 1 : vertex.units;
    const std::int64_t b = std::max(size_in_bytes(p.input), 1), bp = size_in_bytes(part_type),
                       bo = std::max(size_in_bytes(p.output), 1);
    const std::int64_t kg = divide_up(p.inner, gi), ng = divide_up(p.columns, go);
    const double rate = kind == Vertex::dot
                            ? static_cast<double>(t_.vector_width(p.input))
                            : static_cast<double>(t_.macs_per_cycle(p.input, part_type));
    const double taps = static_cast<double>(p.taps());
    const std::int64_t tiles = t_.tiles_per_ipu;
    const std::vector<std::int64_t> group_splits = useful_splits(p.groups, tiles);
    const std::vector<std::int64_t> row_splits = useful_splits(p.rows, tiles);

    ProductPlan splits{.vertex = kind, .is_swapped = is_swapped};
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
          const std::int64_t g = divide_up(p.groups, pg);
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
                const double bound = serial * static_cast<double>(g) * static_cast<double>(m) *
                                     static_cast<double>(n) * static_cast<double>(k) * taps / rate;
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

  /// A tile's share of a product: bytes of an element of inputs, partial sums and outputs; groups,
  /// rows, channels in groups and one by one.
  struct Share {
    const Product& p;
    const ConvolutionVertex& vertex;
    std::int64_t b, bp, bo, g, m, og, ig, k, n;
  };

  /// Takes a plan with these splits if it is better than the best so far.
  void consider(const Share& c, const ProductPlan& splits) {
    const Product& p = c.p;
    const double in_double = static_cast<double>(c.g) * static_cast<double>(positions(p, c.m)) *
                             static_cast<double>(c.k) * static_cast<double>(c.b);
    const double part_double = static_cast<double>(c.g) * static_cast<double>(c.m) *
                               static_cast<double>(c.n) * static_cast<double>(c.bp);
    const double weight_double = static_cast<double>(c.g) * static_cast<double>(c.k) *
                                 static_cast<double>(c.n) * static_cast<double>(c.b * p.taps());
    if (in_double + part_double + weight_double > 1e15) return;
    const auto in = static_cast<std::int64_t>(in_double);
    const auto part = static_cast<std::int64_t>(part_double);
    const auto weights = static_cast<std::int64_t>(weight_double);
    const std::int64_t copies = splits.split_inner;  // of partial sums
    const std::int64_t outputs = c.g * divide_up(c.m * c.n, copies);
    std::int64_t temporary = in + weights + part;
    if (copies > 1) temporary = std::max(temporary, part + outputs * (copies * c.bp + c.bo));
    if (temporary > limit_) return;

    const std::int64_t sync = t_.sync_cycles + t_.exchange_setup_cycles;
    const std::int64_t exchange =
        exchange_cycles(t_, in - divide_up(in, splits.split_columns),
                        splits.split_columns % t_.tiles_per_super_tile == 0) +
        exchange_cycles(t_, weights - divide_up(weights, splits.split_rows)) + sync;
    if (found_ && static_cast<double>(splits.serial()) * static_cast<double>(exchange) >=
                      static_cast<double>(best_.cycles)) {
      return;
    }
    ProductPlan plan = splits;
    plan.exchange = exchange;
    plan.input_bytes = in;
    plan.weight_bytes = weights;
    plan.partials_bytes = part;
    plan.temporary_bytes = temporary;
    plan.compute = compute_cycles(c, plan.vertex);
    if (copies > 1) {
      plan.reduce_exchange = exchange_cycles(t_, outputs * (copies - 1) * c.bp) + sync;
      plan.reduce = partials_reduce_cycles(t_, outputs, copies, c.vertex.partials, p.output);
    } else if (c.bp != c.bo) {
      plan.reduce = cast_cycles(t_, outputs, c.vertex.partials, p.output);
    }
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

  std::int64_t compute_cycles(const Share& c, Vertex vertex) const {
    if (vertex == Vertex::matrix) return matrix_cycles(t_, c.vertex, c.m, c.ig, c.og, c.g);
    const std::int64_t zero = zero_cycles(t_, c.g * c.m * c.n, c.vertex.partials);
    if (vertex == Vertex::dot) {
      return dot_cycles(t_, c.vertex, c.m, c.k, c.n, c.p.taps(), c.g) + zero;
    }
    const std::int64_t lines = c.p.width > 0 ? divide_up(c.m, c.p.width) : 1;
    return matrix_window_cycles(t_, c.vertex, c.m, divide_up(lines, t_.worker_contexts),
                                c.p.kernel_rows, c.p.kernel_columns, c.ig, c.og, c.g) +
           zero;
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
