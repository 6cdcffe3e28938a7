#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <halftone/ipu/convolution.hpp>
#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/grouped_convolution.hpp>
#include <halftone/ipu/nonlinearity.hpp>
#include <halftone/ipu/pool.hpp>
#include <halftone/ipu/random.hpp>
#include <halftone/ipu/reduce.hpp>
#include <halftone/ipu/slice.hpp>

using namespace halftone;
using namespace halftone::ipu;

namespace {

using Json = nlohmann::json;

/// A point of a group: parameters by name, and the estimate behind them.
class Point {
 public:
  Point(const Json& group, const Json& values) : names_(group["parameters"]), values_(values) {}

  std::int64_t number(std::string_view name) const { return at(name).get<std::int64_t>(); }
  double real(std::string_view name) const { return at(name).get<double>(); }
  std::string text(std::string_view name) const { return at(name).get<std::string>(); }
  bool flag(std::string_view name) const { return at(name).get<bool>(); }
  ElementType type(std::string_view name) const {
    static const std::map<std::string, ElementType> types{
        {"float32", ElementType::float32},    {"float16", ElementType::float16},
        {"float8", ElementType::float8_e5m2}, {"int64", ElementType::int64},
        {"uint64", ElementType::uint64},      {"int32", ElementType::int32},
        {"uint32", ElementType::uint32},      {"int16", ElementType::int16},
        {"uint16", ElementType::uint16},      {"int8", ElementType::int8},
        {"char", ElementType::int8},          {"uint8", ElementType::uint8},
        {"bool", ElementType::boolean},       {"none", ElementType::undefined}};
    return types.at(text(name));
  }
  std::int64_t estimate() const { return values_.back().get<std::int64_t>(); }
  std::string print() const { return values_.dump(); }

 private:
  const Json& at(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return values_[i];
    }
    throw std::out_of_range("a point has no " + std::string(name));
  }

  const Json& names_;
  const Json& values_;
};

/// Nothing where no operator here has the vertex.
using Form = std::function<std::optional<std::int64_t>(const Point&)>;
constexpr const Target& t = gc200;

/// The row of one of poplibs' operators.
const ElementwiseCost& row(const Point& p) {
  static const std::map<std::string_view, std::string_view> names{
      {"ABSOLUTE", "Abs"},
      {"ADD", "Add"},
      {"ASIN", "Asin"},
      {"ATAN2", "Atan2"},
      {"BITWISE_AND", "BitwiseAnd"},
      {"BITWISE_NOT", "BitwiseNot"},
      {"BITWISE_OR", "BitwiseOr"},
      {"BITWISE_XNOR", "BitwiseXnor"},
      {"BITWISE_XOR", "BitwiseXor"},
      {"CBRT", "Cbrt"},
      {"CEIL", "Ceil"},
      {"COS", "Cos"},
      {"COUNT_LEADING_ZEROS", "CountLeadingZeros"},
      {"DIVIDE", "Div"},
      {"EQUAL", "Equal"},
      {"ERF", "Erf"},
      {"EXPONENT", "Exp"},
      {"EXPONENT2", "Exp2"},
      {"EXPONENT_MINUS_ONE", "Expm1"},
      {"FLOOR", "Floor"},
      {"GELU_ERF", "GeluErf"},
      {"GREATER_THAN", "Greater"},
      {"GREATER_THAN_EQUAL", "GreaterOrEqual"},
      {"INVERSE", "Reciprocal"},
      {"INV_STD_DEV_TO_VARIANCE", "InverseStdDevToVariance"},
      {"IS_FINITE", "IsFinite"},
      {"IS_INF", "IsInf"},
      {"IS_NAN", "IsNaN"},
      {"LESS_THAN", "Less"},
      {"LESS_THAN_EQUAL", "LessOrEqual"},
      {"LOGARITHM", "Log"},
      {"LOGARITHM_ONE_PLUS", "Log1p"},
      {"LOGICAL_AND", "And"},
      {"LOGICAL_NOT", "Not"},
      {"LOGICAL_OR", "Or"},
      {"MAXIMUM", "Max"},
      {"MINIMUM", "Min"},
      {"MULTIPLY", "Mul"},
      {"NEARBY_INT", "Round"},
      {"NEGATE", "Neg"},
      {"NOT_EQUAL", "NotEqual"},
      {"POPCOUNT", "PopCount"},
      {"POWER", "Pow"},
      {"RELU", "Relu"},
      {"REMAINDER", "Mod"},
      {"ROUND", "Round"},
      {"RSQRT", "Rsqrt"},
      {"SHIFT_LEFT", "ShiftLeft"},
      {"SHIFT_RIGHT", "ShiftRight"},
      {"SHIFT_RIGHT_SIGN_EXTEND", "ShiftRightSignExtend"},
      {"SIGMOID", "Sigmoid"},
      {"SIGNUM", "Sign"},
      {"SIN", "Sin"},
      {"SQRT", "Sqrt"},
      {"SQUARE", "Square"},
      {"SUBTRACT", "Sub"},
      {"TAN", "Tan"},
      {"TANH", "Tanh"},
      {"TRUNC", "Trunc"},
      {"VARIANCE_TO_INV_STD_DEV", "VarianceToInverseStdDev"}};
  const std::string op = p.text("operator");
  return *find_elementwise(names.at(op));
}

ConvolutionVertex matrix(const Point& p) {
  ConvolutionVertex v{p.type("input"), p.type("partials"), p.number("conv_units"), 0};
  v.weight_load = v.units * 32 / p.number("weight_load_bytes");
  return v;
}
std::optional<std::int64_t> matrix_form(const Point& p) {
  const ConvolutionVertex v = matrix(p);
  return matrix_cycles(t, v, p.number("rows"), p.number("in_groups"), p.number("out_groups"),
                       p.number("conv_groups"),
                       divide_up(p.number("out_channels_per_group"), v.units));
}
std::int64_t matrix_window(const Point& p, const OutputLines& outputs, const KernelWindow& kernel) {
  const ConvolutionVertex v = matrix(p);
  return matrix_window_cycles(t, v, outputs, kernel, p.number("in_groups"), p.number("out_groups"),
                              p.number("conv_groups"),
                              p.number("out_channels_per_group") / v.units);
}
std::optional<std::int64_t> window_form(const Point& p) {
  return matrix_window(
      p, {.elements = p.number("rows"), .items = p.number("items")},
      {p.number("kernel_row_positions"), p.number("kernel_columns"), p.number("filter_height")});
}
DotShape dot_shape(const Point& p, std::int64_t taps) {
  return {.in = p.number("in_channels_per_group"),
          .out = p.number("out_channels_per_group"),
          .taps = taps,
          .groups = p.number("conv_groups"),
          .in_groups = p.number("in_groups"),
          .out_groups = p.number("out_groups")};
}
std::optional<std::int64_t> dot_form(const Point& p) {
  return dot_cycles(t, {p.type("input"), p.type("partials")},
                    dot_shape(p, p.number("kernel_positions")), 1,
                    divide_up(p.number("rows"), t.worker_contexts), 0, p.flag("use_1x1_vertex"));
}

ReduceVertex reduce(const Point& p) {
  static const std::map<std::string, ipu::Reduction> operations{
      {"ADD", ipu::Reduction::add},
      {"SQUARE_ADD", ipu::Reduction::square_add},
      {"MUL", ipu::Reduction::multiply},
      {"MAX", ipu::Reduction::max},
      {"MIN", ipu::Reduction::min},
      {"LOG_ADD", ipu::Reduction::log_add},
      {"LOGICAL_AND", ipu::Reduction::logical},
      {"LOGICAL_OR", ipu::Reduction::logical}};
  return {operations.at(p.text("operation")), p.type("partials"), p.type("output"),
          p.flag("update")};
}

Nonlinearity function(const Point& p) {
  static const std::map<std::string, Nonlinearity> functions{
      {"relu", Nonlinearity::relu},         {"sigmoid", Nonlinearity::sigmoid},
      {"tanh", Nonlinearity::tanh},         {"gelu", Nonlinearity::gelu},
      {"gelu_erf", Nonlinearity::gelu_erf}, {"swish", Nonlinearity::swish}};
  return functions.at(p.text("function"));
}

Lookups lookups(const Point& p) {
  return {p.number("offsets"), p.number("offsets_in_range"),
          p.flag("sorted") ? p.number("offsets_per_entry") : 0};
}

/// Our form for each group of estimates.
const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> all{
      {"conv 1x1 AMP", matrix_form},
      {"conv 1x1 AMP float8", matrix_form},
      {"conv 1x1 AMP Mk1 (8 units)", matrix_form},
      {"conv n x 1 AMP", window_form},
      {"conv n x 1 AMP, filter height 2 and 4", window_form},
      {"conv n x 1 AMP float8", window_form},
      {"conv n x 1 AMP as planned",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::int64_t height = p.number("filter_height");
         const std::int64_t outputs =
             p.number("batch") * p.number("out_height") * p.number("out_width");
         return matrix_window(p, {outputs, p.number("out_width")},
                              {divide_up(p.number("kernel_height"), height),
                               p.number("kernel_width"), height}) +
                zero_cycles(t, outputs * p.number("out_channels_per_group"), ElementType::float32,
                            p.number("out_groups") * p.number("conv_groups"));
       }},
      {"horizontal MAC", dot_form},
      {"horizontal MAC, 1x1 kernel of float16", dot_form},
      {"horizontal MAC as planned",
       [](const Point& p) -> std::optional<std::int64_t> {
         return planned_dot_cycles(
             t, {p.type("input"), p.type("partials")}, p.number("batch") * p.number("out_height"),
             p.number("out_width"),
             dot_shape(p, p.number("kernel_height") * p.number("kernel_width")),
             p.flag("use_1x1_vertex"));
       }},
      {"vertical MAC (depthwise)",
       [](const Point& p) -> std::optional<std::int64_t> {
         return vertical_cycles(
             t, {.together = p.number("conv_groups_per_group"),
                 .groups = p.number("conv_groups"),
                 .in_groups = p.number("in_groups"),
                 .kernel_rows = p.number("kernel_height"),
                 .kernel_columns = p.number("kernel_width"),
                 .outputs = p.number("batch") * p.number("out_height") * p.number("out_width"),
                 .zeroed = p.number("out_elements"),
                 .has_float_partials = p.type("partials") == ElementType::float32});
       }},
      {"SLIC",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::int64_t width = p.number("out_width");
         return window_cycles(
             t, p.type("input"), p.type("partials"),
             {.together = p.number("conv_groups_per_group"),
              .channels = p.number("channels_per_group"),
              .group_groups = p.number("conv_group_groups"),
              .sub_kernels = p.number("sub_kernels"),
              .stride = p.number("out_stride"),
              .chains = p.number("conv_chains"),
              .outputs = {p.number("batch") * p.number("out_height") * width, width}});
       }},
      {"outer product",
       [](const Point& p) -> std::optional<std::int64_t> {
         return outer_product_worker_cycles(p.number("width"), p.number("channels"),
                                            p.number("channels_per_group"), p.type("type"));
       }},
      {"partial-sum reduce",
       [](const Point& p) -> std::optional<std::int64_t> {
         return partials_vertex_cycles(t, p.number("outputs"), p.number("partial_sums"),
                                       p.type("partials"), p.type("output"), p.flag("single_input"),
                                       p.flag("fast"));
       }},
      {"convolution's reduction as planned",
       [](const Point& p) -> std::optional<std::int64_t> {
         return partials_reduce_cycles(t, p.number("outputs"), p.number("depth"),
                                       p.type("partials"), p.type("output"), p.flag("multi_stage"),
                                       p.flag("fast"));
       }},
      {"zero partials",
       [](const Point& p) -> std::optional<std::int64_t> {
         return zero_cycles(t, p.number("outputs"), p.type("partials"), p.number("groups"));
       }},
      {"cast of partials",
       [](const Point& p) -> std::optional<std::int64_t> {
         return partials_cast_cycles(t, p.number("elements"), p.type("from"), p.type("to"));
       }},
      {"unary element-wise",
       [](const Point& p) -> std::optional<std::int64_t> {
         return unary_cycles(t, row(p), p.number("elements"), p.type("type"));
       }},
      {"unary element-wise in place",
       [](const Point& p) -> std::optional<std::int64_t> {
         return unary_cycles(t, row(p), p.number("elements"), p.type("type"), true);
       }},
      {"unary element-wise, whole vectors of integers",
       [](const Point& p) -> std::optional<std::int64_t> {
         // poplar's width is not public; integers here have one element in a vector.
         if (p.number("vector_width") != t.vector_width(p.type("type"))) return std::nullopt;
         return unary_cycles(t, row(p), p.number("elements"), p.type("type"), p.flag("in_place"));
       }},
      {"binary element-wise",
       [](const Point& p) -> std::optional<std::int64_t> {
         return binary_cycles(t, row(p), p.number("elements"), p.type("type"));
       }},
      {"binary element-wise in place",
       [](const Point& p) -> std::optional<std::int64_t> {
         return binary_cycles(t, row(p), p.number("elements"), p.type("type"), true);
       }},
      {"scalar broadcast",
       [](const Point& p) -> std::optional<std::int64_t> {
         return scalar_broadcast_cycles(t, row(p), p.number("elements"), p.type("type"));
       }},
      {"scalar broadcast in place",
       [](const Point& p) -> std::optional<std::int64_t> {
         return scalar_broadcast_cycles(t, row(p), p.number("elements"), p.type("type"), true);
       }},
      {"vector broadcast over the outer dimension",
       [](const Point& p) -> std::optional<std::int64_t> {
         return outer_broadcast_cycles(t, p.number("rows"), p.number("columns"), p.type("type"),
                                       p.text("by") == "row", !p.flag("allow_misaligned"));
       }},
      {"vector broadcast over the inner dimension",
       [](const Point& p) -> std::optional<std::int64_t> {
         return inner_broadcast_cycles(t, row(p).op, p.number("broadcast_factor"),
                                       p.number("slice_elements"), p.number("slices"),
                                       p.type("type"), p.flag("in_place"));
       }},
      {"scaled add (axpy) and relatives",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::string vertex = p.text("vertex");
         const bool is_apart = p.flag("memory_constrained");
         const Scaled kind = vertex == "ScaledAdd"        ? Scaled::add
                             : vertex == "ScaledSubtract" ? Scaled::subtract
                             : vertex == "aXMinusbY"      ? Scaled::weighted_subtract
                                                          : Scaled::weighted_add;
         if (kind >= Scaled::weighted_add && p.type("a") != p.type("scale")) {
           return float_weighted_cycles(t, p.number("elements"), is_apart);
         }
         return scaled_add_cycles(t, p.number("elements"), p.type("a"), p.type("b"), kind,
                                  is_apart);
       }},
      {"cast",
       [](const Point& p) -> std::optional<std::int64_t> {
         return cast_cycles(t, p.number("elements"), p.type("from"), p.type("to"));
       }},
      {"cast by one worker",
       [](const Point& p) -> std::optional<std::int64_t> {
         return 5 + halftone::ipu::detail::cast_worker_cycles(p.number("elements"), p.type("from"),
                                                              p.type("to"));
       }},
      {"fill",
       [](const Point& p) -> std::optional<std::int64_t> {
         return fill_worker_cycles(p.number("elements"), p.type("type"));
       }},
      {"select and clamp",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::int64_t regions = p.number("regions"), elements = p.number("elements");
         const std::string vertex = p.text("vertex");
         if (vertex == "Select") return select_worker_cycles(elements, regions);
         if (vertex == "BroadcastSelect") {
           return scalar_select_worker_cycles(elements, p.type("type"), regions);
         }
         if (vertex == "BroadcastSelectorSelectInPlace") {
           return row_select_worker_cycles(elements, p.type("type"), regions);
         }
         return clamp_worker_cycles(t, elements, p.type("type"), regions);
       }},
      {"dynamic slice",
       [](const Point& p) -> std::optional<std::int64_t> {
         return dynamic_slice_cycles(t, p.number("region_elements"), p.number("slices"),
                                     p.type("type"));
       }},
      {"gather (multiSlice)",
       [](const Point& p) -> std::optional<std::int64_t> {
         return gather_cycles(t, lookups(p), p.number("elements"), p.type("type"),
                              p.flag("split_single_region"));
       }},
      {"multiUpdate",
       [](const Point& p) -> std::optional<std::int64_t> {
         return scatter_cycles(t, lookups(p), p.number("elements"), p.type("type"),
                               p.flag("split_single_region"));
       }},
      {"multiUpdateAdd, Max, Mul",
       [](const Point& p) -> std::optional<std::int64_t> {
         const ElementType type = p.type("type"), scale = p.type("scale");
         return scatter_add_cycles(t, lookups(p), p.number("elements"), type,
                                   scale == ElementType::undefined ? ScatterScale::none
                                   : scale == type                 ? ScatterScale::same
                                                                   : ScatterScale::wide,
                                   p.flag("sub_word_writes"));
       }},
      {"one-hot",
       [](const Point& p) -> std::optional<std::int64_t> {
         return one_hot_cycles(p.number("indices"), p.type("index"), p.type("output"),
                               p.text("vertex") == "EncodeOneHotCustomValues");
       }},
      {"sort on a tile (heap sort)",
       [](const Point& p) -> std::optional<std::int64_t> {
         return heap_sort_worker_cycles(p.number("elements"), p.text("value") != "none");
       }},
      {"top-k (bitonic compare and swap)",
       [](const Point& p) -> std::optional<std::int64_t> {
         return compare_and_swap_cycles(
             t,
             {.entries = p.number("entries"),
              .pairs = p.number("elements"),
              .distance = p.number("distance"),
              .first = p.number("first_elements"),
              .until_change = p.number("distance_to_change_order") - p.number("initial_count"),
              .change = p.number("distance_to_change_order")},
             p.type("key") == ElementType::float32,
             p.text("value") == "none"             ? PairValues::none
             : p.flag("values_are_secondary_keys") ? PairValues::decide
                                                   : PairValues::carried);
       }},
      {"strided reduce",
       [](const Point& p) -> std::optional<std::int64_t> {
         return strided_reduce_cycles(t, reduce(p), p.number("outputs"), p.number("partial_rows"),
                                      p.number("stride"), p.number("outer_strides"));
       }},
      {"single-input reduce",
       [](const Point& p) -> std::optional<std::int64_t> {
         return reduce_all_cycles(t, reduce(p), p.number("elements"));
       }},
      {"general reduce",
       [](const Point& p) -> std::optional<std::int64_t> {
         return general_reduce_cycles(t, reduce(p), p.number("reductions"), p.number("outputs"),
                                      p.number("regions"), p.number("multiple"));
       }},
      {"continuous reduce",
       [](const Point& p) -> std::optional<std::int64_t> {
         return continuous_reduce_cycles(t, reduce(p), p.number("outputs_minus_1"),
                                         p.number("partial_elements"));
       }},
      {"exchange between tiles as modelled",
       [](const Point& p) -> std::optional<std::int64_t> {
         if (p.real("bytes_per_cycle") < 4) return std::nullopt;  // rates here are whole numbers
         Target at = t;
         at.exchange_bytes_per_cycle = p.number("bytes_per_cycle");
         const std::int64_t same = p.number("same_data_tiles");
         return exchange_cycles(at, p.number("bytes"),
                                same > 0 && (same % 2 == 0 || same == p.number("receiving_tiles")));
       }},
      {"fused non-linearity",
       [](const Point& p) -> std::optional<std::int64_t> {
         return nonlinearity_cycles(t, function(p), p.number("elements"), p.type("type"),
                                    p.flag("in_place"));
       }},
      {"gradient of a non-linearity",
       [](const Point& p) -> std::optional<std::int64_t> {
         return nonlinearity_gradient_cycles(t, function(p), p.number("elements"), p.type("type"));
       }},
      {"pooling",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::string kind = p.text("kind");
         return pool_cycles(t,
                            kind == "sum"            ? PoolVertex::sum
                            : kind == "max"          ? PoolVertex::max
                            : kind == "max_gradient" ? PoolVertex::max_gradient
                                                     : PoolVertex::max_gradient_scale,
                            {.channel_groups = p.number("channel_groups"),
                             .channels = p.number("channels_per_group"),
                             .outputs = p.number("out_positions"),
                             .rows = p.number("rows"),
                             .items = p.number("items"),
                             .width = p.number("width")},
                            p.type("type"), p.text("costs") == "planning");
       }},
      {"loss",
       [](const Point& p) -> std::optional<std::int64_t> {
         return loss_worker_cycles(p.number("elements"), p.type("type"),
                                   p.text("vertex") == "LossCrossEntropyTransform");
       }},
      {"largest or smallest of all classes, first stage",
       [](const Point& p) -> std::optional<std::int64_t> {
         return arg_max_cycles(t, p.number("elements"), p.number("worker_elements"),
                               p.type("type"));
       }},
      {"largest or smallest of all classes, later stages",
       [](const Point& p) -> std::optional<std::int64_t> {
         return arg_max_worker_cycles(p.number("elements"), p.type("type"));
       }},
      {"random numbers",
       [](const Point& p) -> std::optional<std::int64_t> {
         const std::string vertex = p.text("vertex");
         const RandomVertex kind = vertex == "Bernoulli" ? RandomVertex::bernoulli
                                   : vertex == "Dropout" ? RandomVertex::dropout
                                   : vertex == "Normal"  ? RandomVertex::normal
                                   : vertex == "Uniform" ? RandomVertex::uniform
                                                         : RandomVertex::truncated_normal;
         // These two estimators divide 64 by 2 or 4, where they mean bits.
         const bool is_wide = kind == RandomVertex::bernoulli || kind == RandomVertex::uniform;
         const std::int64_t v = p.type("type") == ElementType::float16 ? 16 : 32;
         return random_cycles(t, kind, p.number("elements"), p.type("type"), p.number("argument"),
                              is_wide ? v : 0);
       }},
  };
  return all;
}

Json estimates() {
  std::ifstream file("tests/ipu/estimators.json");
  return Json::parse(file);
}

}  // namespace

// Graphcore's public estimators, as the file beside this test has them with their meaning. A form is one
// that an operator or the planner here uses; groups without one say why.
TEST_CASE("estimates of vertices are poplibs'") {
  const Json all = estimates();
  constexpr std::string_view
      no_winograd = "convolutions here are never Winograd's",
      no_regions = "a mapping gives each worker of a tile one region",
      no_operator = "no operator here has that vertex",
      by_others = "such an operator here is priced as passes of other vertices so far",
      one_type = "casts are nodes of their own, not parts of other vertices",
      is_sparse =
          "products here are dense, and popsparse's vertex is not "
          "the one that regroups them",
      is_fixed = "a placeholder, or a loop counter that control steps count";
  static const std::map<std::string_view, std::string_view> without{
      {"Winograd transforms", no_winograd},
      {"Winograd accumulation", no_winograd},
      {"inverse standard deviation", "normalizations are passes of element-wise vertices"},
      {"triangular solve, inverse, Cholesky", by_others},
      {"LU factorisation", by_others},
      {"QR factorisation", no_operator},
      {"unary element-wise, regions", no_regions},
      {"binary element-wise, regions", no_regions},
      {"scalar broadcast, regions", no_regions},
      {"scalar broadcast between two types", one_type},
      {"scalar comparison with two outputs", no_operator},
      {"vector broadcast over the inner dimension, regions", no_regions},
      {"scaled add and relatives, regions", no_regions},
      {"Hadamard product", "products of elements are Mul's vertices"},
      {"cast, regions", no_regions},
      {"fill, regions", no_regions},
      {"float16 times a float32 scalar", one_type},
      {"dynamic slice, regions", no_regions},
      {"sequence slice", by_others},
      {"iota", "ranges are constants once shapes are known"},
      {"check for NaN", "IsNaN keeps its elements, this vertex reduces them"},
      {"check for NaN, regions", no_regions},
      {"histogram", by_others},
      {"histogram, regions", no_regions},
      {"normalise image", by_others},
      {"select or update one element of each row", no_operator},
      {"spline basis", by_others},
      {"fused non-linearity, regions", no_regions},
      {"gradient of a non-linearity, regions", no_regions},
      {"top-k of classes on a tile", "TopK is the bitonic sort over tiles"},
      {"accuracy", "accuracy is counted by the host"},
      {"CTC loss", by_others},
      {"CTC beam search", by_others},
      {"transposes of small matrices", is_sparse},
      {"vertices of a fixed cost", is_fixed}};
  int points = 0, exact = 0;
  for (const Json& group : all["groups"]) {
    const auto name = group["name"].get<std::string>();
    CAPTURE(name);
    const auto form = forms().find(name);
    CHECK((form == forms().end()) == (without.count(name) != 0));
    if (form == forms().end()) continue;
    for (const Json& values : group["points"]) {
      const Point p(group, values);
      const std::optional<std::int64_t> ours = form->second(p);
      if (!ours) continue;
      CAPTURE(p.print());
      CAPTURE(*ours);
      const std::int64_t most = p.estimate() / 100;
      CHECK(std::abs(*ours - p.estimate()) <= most);
      ++points;
      exact += *ours == p.estimate() ? 1 : 0;
    }
  }
  CHECK(points > 960);
  CHECK(exact >= points * 95 / 100);
}
