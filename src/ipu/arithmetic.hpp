#pragma once

#include <functional>
#include <span>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/ipu/arithmetic.hpp>
#include <halftone/ipu/mapping.hpp>
#include <halftone/ipu/planner.hpp>

namespace halftone::ipu {

inline bool is_half(const TensorInfo& info) { return info.type == ElementType::float16; }
/// An element of a tensor of half or float.
inline float float_at(const AnyView& x, std::int64_t i) {
  return is_half(x.info) ? static_cast<float>(static_cast<const half*>(x.data)[i])
                         : static_cast<const float*>(x.data)[i];
}
/// The element of x that element i of y reads where x is broadcast to y's shape.
std::int64_t broadcast_index(const Dims& x, const Dims& y, std::int64_t i);
/// Values of half as float.
AnyArray widened(const AnyView& x);

/// Makes a row of a product's left operand as it is needed: writes the floats of that number.
using RowSource = std::function<void(std::int64_t row, float* to)>;

/// Rows of a matrix that may be transposed.
inline RowSource matrix_rows(const float* values, std::int64_t inner, std::int64_t row_step,
                             std::int64_t inner_step) {
  return [=](std::int64_t row, float* to) {
    const float* from = values + row * row_step;
    for (std::int64_t k = 0; k < inner; ++k) to[k] = from[k * inner_step];
  };
}

/// Runs nodes with the machine's arithmetic.
class ArithmeticRunner final : public NodeRunner {
 public:
  ArithmeticRunner(const Arithmetic& arithmetic, const Target& target,
                   const ProductOptions& products);

  std::vector<AnyArray> run(const Graph& graph, const Node& node, std::span<const AnyView> inputs,
                            const kernel::Executor& executor) override;
  RandomState& random() { return random_; }

 private:
  /// The node that is being run.
  struct Now {
    const Graph& graph;
    const Node& node;
    std::span<const AnyView> inputs;
    const kernel::Executor& executor;
  };
  struct Extents {
    std::int64_t rows, inner, columns;
    std::int64_t taps = 1;  ///< `inner` is so many groups of input channels
  };

  std::vector<AnyArray> run_wide(const Now& now, const Vector<TensorInfo>& infos);
  struct ProductNode;
  /// Whether the node is a product of half that is added up here.
  bool run_product(const Now& now, const TensorInfo& info, std::vector<AnyArray>& outputs);
  /// The product as the machine adds it up: the rows of the left operand are made as they are
  /// needed, the right one is there as [inner, columns].
  void multiply(const Now& now, const Extents& extents, const RowSource& rows, const float* right,
                float* y);
  struct Drawing;
  /// Whether the node draws random numbers as the hardware's vertices do.
  bool draw(const Now& now, const Vector<TensorInfo>& infos, std::vector<AnyArray>& outputs);

  struct Layer;
  /// Whether the node is a layer of RNN, GRU or LSTM in half, or the way back through one: its
  /// products and each of its gates' operations are the machine's.
  bool run_recurrent(const Now& now, const Vector<TensorInfo>& infos,
                     std::vector<AnyArray>& outputs);
  /// A float8 cast of the machine: no negative zero, one NaN, and exceptions.
  AnyArray cast_to_float8(const Now& now, const TensorInfo& info) const;

  AnyArray narrowed(const Now& now, std::size_t output, const AnyArray& wide);
  /// Values of a whole tensor, in place.
  void round_to_half(const Now& now, std::size_t output, std::span<float> values);
  /// Halves in place of floats, as floats; element `first` of `mapping` is the first of them.
  bool narrow_floats(const Mapping& mapping, std::int64_t first, std::span<float> values);
  void check_scale(const Now& now) const;
  void check_results(const Now& now, std::span<const AnyArray> outputs) const;
  static bool divides_by_zero(const Now& now);
  /// Throws if there are floating-point checks.
  void raise(const Now& now, std::size_t output, std::string_view exception) const {
    if (arithmetic_.floating_point_checks) trap(now, output, exception);
  }
  [[noreturn]] void trap(const Now& now, std::size_t output, std::string_view exception) const;

  Arithmetic arithmetic_;
  Target t_;
  ProductOptions products_;
  Planner planner_;
  RandomState random_;
};

}  // namespace halftone::ipu
