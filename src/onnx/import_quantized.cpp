#include <algorithm>
#include <cmath>
#include <string>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "onnx/importer.hpp"

namespace halftone::onnx {

namespace {

/// The longest sum whose terms, 255 x 255 at the most, int32 holds.
constexpr std::int64_t longest_sum = INT32_MAX / (255 * 255);

bool is_byte(ElementType type) { return has_type(detail::QuantizedTypes{}, type); }

bool is_one_number(const TensorInfo& info) { return info.is_static() && info.elements() == 1; }

/// Whether a scale or zero point is a vector with a number for each index of dimension `axis`.
bool lies_along(const TensorInfo& numbers, const TensorInfo& x, std::size_t axis) {
  return numbers.is_static() && numbers.rank() == 1 && axis < x.rank() &&
         numbers.shape[0] == x.shape[axis];
}

/// The numbers of an initializer; none of what is known only in a run.
Vector<double> numbers_of(const TensorRecord& t) {
  const InputInfo values{.info = t.info, .data = t.data.span(), .is_constant = true};
  return Inputs(std::span(&values, 1), 1).numbers(0);
}

}  // namespace

bool Importer::check_scales(const std::string& described, const Descriptor& op, const Graph& graph,
                            std::span<const TensorId> inputs) {
  bool ok = true;
  const Slots& signature = op.signature;
  for (std::size_t i = 0; i + 1 < signature.inputs() && i < inputs.size(); ++i) {
    if (!signature.input(i).name.ends_with("scale") ||
        !signature.input(i + 1).name.ends_with("zero_point") || inputs[i] == no_tensor) {
      continue;
    }
    const TensorRecord& scale = graph.tensor(inputs[i]);
    if (!has_type(FloatTypes{}, scale.info.type)) continue;
    const Vector<double> numbers = numbers_of(scale);
    const auto wrong = std::ranges::find_if(
        numbers, [](double number) { return !(number >= 0) || std::isinf(number); });
    if (wrong == numbers.end()) continue;
    defect(described, "a scale is negative or not finite", graph.name(inputs[i]), "0 or more",
           std::to_string(*wrong));
    ok = false;
  }
  return ok;
}

void Importer::note_transposed(Target& target, const Node& node) {
  const auto known = target.dequantized.find(node.inputs[0]);
  const Dims perm = unpack<op::Transpose>(node.attributes).perm;
  if (known == target.dequantized.end() || !known->second.perm.empty() || perm.empty()) return;
  Target::Dequantized moved = known->second;
  moved.perm = perm;
  target.dequantized.emplace(node.outputs[0], moved);
}

void Importer::note_dequantized(Target& target, const Descriptor& op, std::span<const Word> words,
                                std::span<const TensorId> inputs, TensorId result) {
  const Graph& graph = target.graph;
  op::DequantizeLinear how;
  if (op.id == op::DequantizeLinear::id) {
    how = unpack<op::DequantizeLinear>(words);
  } else if (op.id == op::MicrosoftDequantizeLinear::id) {
    how.axis = unpack<op::MicrosoftDequantizeLinear>(words).axis.value_or(1);
  } else {
    return;
  }
  const TensorInfo x = graph.info(inputs[0]), scale = graph.info(inputs[1]);
  const TensorId zero_point = inputs.size() > 2 ? inputs[2] : no_tensor;
  const bool is_float =
      how.output_dtype == ElementType::undefined || how.output_dtype == ElementType::float32;
  if (!is_float || how.block_size != 0 || !is_byte(x.type) || !scale.is_static() ||
      scale.type != ElementType::float32 || scale.rank() > 1 ||
      (zero_point != no_tensor && graph.info(zero_point) != TensorInfo{x.type, scale.shape})) {
    return;
  }
  const std::size_t axis = normalized_axis(how.axis, x.rank());
  if (!is_one_number(scale) && !lies_along(scale, x, axis)) return;
  target.dequantized.emplace(result, Target::Dequantized{inputs[0], inputs[1], zero_point, axis});
}

bool Importer::is_integer_product(Target& target, const Descriptor& op, std::span<const Word> words,
                                  std::span<const TensorId> inputs) {
  const bool is_conv = op.id == op::Conv::id, is_gemm = op.id == op::Gemm::id;
  if (!options_.integer_products || inputs.size() < 2 ||
      (!is_conv && !is_gemm && op.id != op::MatMul::id)) {
    return false;
  }
  const auto a = target.dequantized.find(inputs[0]), b = target.dequantized.find(inputs[1]);
  if (a == target.dequantized.end() || b == target.dequantized.end()) return false;
  infer_pending(target);
  const Graph& graph = target.graph;
  const TensorInfo x = graph.info(inputs[0]), w = graph.info(inputs[1]);
  if (!is_one_number(graph.info(a->second.scale)) || x.rank() < 2 || !w.is_static() ||
      w.rank() < 2) {
    return false;
  }
  std::int64_t terms = 1;
  std::size_t axis = w.rank() - 1;  // of w, that the columns of the result or its channels follow
  if (is_conv) {
    axis = 0;
    for (std::size_t i = 1; i < w.rank(); ++i) terms *= w.shape[i];
  } else if (is_gemm && unpack<op::Gemm>(words).trans_b) {
    axis = 0;
    terms = w.shape[1];
  } else {
    terms = w.shape[w.rank() - 2];
  }
  if (terms > longest_sum) return false;
  // What does not fit is an error of the operator as the model has it.
  std::vector<InputInfo> given;
  for (const TensorId id : inputs) {
    given.push_back({.info = id == no_tensor ? TensorInfo{} : graph.info(id)});
    if (id != no_tensor && given.back().info.type != ElementType::float32) return false;
  }
  const Inferred y = op.infer(words, Inputs(given, 1));
  if (!y.ok() || !y.outputs[0].is_known()) return false;
  const TensorInfo scale = graph.info(b->second.scale);
  return is_one_number(scale) || axis == b->second.axis_of_result();
}

Vector<TensorId> Importer::integer_product(Target& target, const Descriptor& op,
                                           std::span<const Word> words,
                                           std::span<const TensorId> inputs) {
  Graph& graph = target.graph;
  struct Operand {
    AnyTensor x, scale, zero_point;
  };
  const auto operand = [&](TensorId id) {
    const Target::Dequantized& from = target.dequantized.at(id);
    Operand made{{&graph, from.x}, {&graph, from.scale}, {&graph, from.zero_point}};
    if (!from.perm.empty()) made.x = op::transpose(made.x, {.perm = from.perm});
    return made;
  };
  const Operand a = operand(inputs[0]);
  Operand b = operand(inputs[1]);
  AnyTensor addend{&graph, inputs.size() > 2 ? inputs[2] : no_tensor}, sum;
  float alpha = 1;
  if (op.id == op::Conv::id) {
    const std::size_t rank = graph.info(inputs[1]).rank();
    sum = op::conv_integer(a.x, b.x, a.zero_point, b.zero_point, {unpack<op::Conv>(words)});
    b.scale = detail::along(b.scale, 1, rank);
    if (!addend.is_absent()) addend = detail::along(addend, 1, rank);
  } else if (op.id == op::Gemm::id) {
    const auto gemm = unpack<op::Gemm>(words);
    sum = op::matmul_integer(detail::product_operand(a.x, gemm.trans_a, false),
                             detail::product_operand(b.x, gemm.trans_b, false), a.zero_point,
                             b.zero_point);
    alpha = gemm.alpha;
    if (!addend.is_absent() && gemm.beta != 1) addend = op::mul(addend, gemm.beta);
  } else {
    sum = op::matmul_integer(a.x, b.x, a.zero_point, b.zero_point);
  }
  AnyTensor scale = op::mul(a.scale, b.scale);
  if (alpha != 1) scale = op::mul(scale, alpha);
  AnyTensor y = op::mul(detail::as_type(sum, ElementType::float32), scale);
  if (!addend.is_absent()) y = op::add(y, addend);
  return {y.id};
}

bool Importer::moves_bytes(const Target& target, const Descriptor& op,
                           std::span<const TensorId> inputs, std::size_t outputs) const {
  if (!options_.integer_products || op.id != op::MaxPool::id || outputs != 1) return false;
  const auto from = target.dequantized.find(inputs[0]);
  return from != target.dequantized.end() && from->second.perm.empty() &&
         is_one_number(target.graph.info(from->second.scale));
}

Vector<TensorId> Importer::moved_bytes(Target& target, const Descriptor& op,
                                       std::span<const Word> words,
                                       std::span<const TensorId> inputs) {
  Graph& graph = target.graph;
  const Target::Dequantized from = target.dequantized.at(inputs[0]);
  const TensorId bytes =
      detail::record(graph, op, Vector<Word>(words.begin(), words.end()), {from.x}, 1)[0];
  const AnyTensor y = op::dequantize_linear(AnyTensor{&graph, bytes}, AnyTensor{&graph, from.scale},
                                            AnyTensor{&graph, from.zero_point});
  target.dequantized.emplace(y.id,
                             Target::Dequantized{bytes, from.scale, from.zero_point, from.axis});
  return {y.id};
}

bool Importer::gives_bytes_back(const Target& target, const Descriptor& op,
                                std::span<const Word> words,
                                std::span<const TensorId> inputs) const {
  if (!options_.integer_products || op.id != op::QuantizeLinear::id) return false;
  const auto found = target.dequantized.find(inputs[0]);
  if (found == target.dequantized.end()) return false;
  const Target::Dequantized& from = found->second;
  const auto how = unpack<op::QuantizeLinear>(words);
  const Graph& graph = target.graph;
  const TensorId zero_point = inputs.size() > 2 ? inputs[2] : no_tensor;
  const TensorRecord& scale = graph.tensor(from.scale);
  if (inputs[1] != from.scale || zero_point != from.zero_point || zero_point == no_tensor ||
      !from.perm.empty() || !is_one_number(scale.info)) {
    return false;
  }
  if (how.block_size != 0 || how.precision != ElementType::undefined) return false;
  // Products of a tiny or a huge scale are not taken back by the division.
  const Vector<double> numbers = numbers_of(scale);
  return numbers.size() == 1 && numbers[0] > 1e-30 && numbers[0] < 1e30;
}

}  // namespace halftone::onnx
