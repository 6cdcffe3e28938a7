// Every operator with a gradient, with inputs and attributes drawn at random, in double precision:
// its gradients are the slopes that central differences see. Where two widths see different slopes
// (at a corner, or where numbers are too large for differences), there is nothing to compare.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include <halftone/graph/gradient.hpp>
#include <halftone/transform/infer.hpp>

#include "../exec/random_node.hpp"

using namespace halftone;
using namespace test;

namespace {

/// Operators that pass no gradient on to their later inputs: bounds of a range, divisors.
constexpr std::string_view first_only[] = {"Clip", "Mod", "Fmod"};

/// Operators that let no gradient pass, read what the host has, or print; AllReduce is told what the
/// gradients are to be (tests/replicas.cpp).
constexpr std::string_view left_out[] = {"Detach", "RemoteLoad", "PrintTensor", "AllReduce"};

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The sum of a random node's outputs, each element times a number of its own, and its gradients by
/// the inputs of type double.
class Drawn {
 public:
  Drawn(const Descriptor& op, Dice& dice) : op_(op), dice_(dice) {}

  /// Compares slopes; says how many there were.
  int compare() {
    if (!record()) return 0;
    Session session(std::move(graph_));
    std::vector<std::vector<double>> dx;
    {
      const Result result = run(session);
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const auto v = result[i + 1].values<double>();
        dx.emplace_back(v.begin(), v.end());
        REQUIRE(dx[i].size() == values_[i].size());
      }
    }
    int compared = 0;
    for (std::size_t i = 0; i < (is_in(first_only, op_.id.name) ? 1 : values_.size()); ++i) {
      for (std::size_t e = 0; e < 5 && e < values_[i].size(); ++e) {
        const std::size_t k = (e * 7 + 3) % values_[i].size();
        const double wide = slope(session, i, k, 2e-5), narrow = slope(session, i, k, 1e-5);
        const double size = 1 + std::fabs(narrow);
        if (!(std::fabs(wide - narrow) <= 1e-6 * size) || size > 1e4) continue;
        ++compared;
        if (std::fabs(dx[i][k] - narrow) <= 1e-5 * size) continue;
        CAPTURE(names_[i]);
        CAPTURE(k);
        CAPTURE(values_[i][k]);
        CHECK(dx[i][k] == narrow);
      }
    }
    return compared;
  }

 private:
  bool record() {
    Vector<Word> words = op_.defaults();
    RandomAttributes attributes(dice_);
    op_.attributes(words, attributes);
    if (attributes.has_graph) return false;
    Dims base;
    const std::int64_t rank = dice_.between(0, 4);
    for (std::int64_t i = 0; i < rank; ++i) base.push_back(dice_.between(1, 4));
    std::size_t count = op_.signature.inputs();
    if (op_.signature.has_variadic_input()) count += static_cast<std::size_t>(dice_.below(3));
    ElementType types[Slots::max_slots]{};
    std::vector<TensorId> inputs;
    std::vector<InputInfo> infos;
    for (std::size_t i = 0; i < count; ++i) {
      const Slot& slot = op_.signature.input_slot(i);
      if (slot.optional && dice_.one_in(2)) {
        inputs.push_back(no_tensor);
        infos.push_back({});
        continue;
      }
      ElementType& type = types[slot.type_variable];
      if (type == ElementType::undefined || slot.mixed) {
        type = op_.allows(slot.type_variable, ElementType::float64)
                   ? ElementType::float64
                   : random_type(op_, slot.type_variable, dice_);
      }
      add_input(type, random_shape(base, dice_), inputs, infos);
    }
    std::size_t outputs = op_.signature.required_outputs();
    if (op_.signature.has_variadic_output()) outputs = 2;
    const Inferred inferred = op_.infer(words, Inputs(infos, outputs));
    if (!inferred.ok() || values_.empty()) return false;
    for (const TensorInfo& info : inferred.outputs) {
      if (!info.is_static() || info.elements() == 0 || info.elements() > 4096) return false;
    }
    const std::size_t n = graph_.add_node(op_, words, inputs, inferred.outputs);
    const std::vector<TensorId> results = graph_.nodes[n].outputs;
    AnyTensor loss;
    for (const TensorId id : results) {
      const TensorInfo info = graph_.info(id);
      if (info.type != ElementType::float64) continue;
      const Array<double> r = scattered(info.shape);
      const AnyTensor part =
          op::sum(op::mul(AnyTensor{&graph_, id},
                          constant<double>(graph_, std::span(&r[0], r.size()), info.shape)),
                  none, {.keepdims = 0});
      loss = loss.is_absent() ? part : AnyTensor(op::add(loss, part));
    }
    if (loss.is_absent()) return false;
    graph_.outputs = {loss.id};
    const std::vector<TensorId> dx = differentiate(graph_, loss.id, wanted_);
    for (std::size_t i = 0; i < dx.size(); ++i) {
      // Zeros where the loss does not depend on it.
      const TensorInfo info = graph_.info(wanted_[i]);
      graph_.outputs.push_back(dx[i] != no_tensor ? dx[i] : GradientScope::zeros(graph_, info).id);
    }
    return true;
  }

  void add_input(ElementType type, const Dims& shape, std::vector<TensorId>& inputs,
                 std::vector<InputInfo>& infos) {
    if (type != ElementType::float64) {
      const AnyArray x = random_array(type, shape, dice_);
      inputs.push_back(graph_.add_constant(
          x.info(), Bytes(std::vector<std::byte>(x.data(), x.data() + x.bytes()))));
      const TensorRecord& t = graph_.tensor(inputs.back());
      infos.push_back({t.info, t.data.span(), true});
      return;
    }
    names_.push_back("x" + std::to_string(values_.size()));
    inputs.push_back(graph_.add_input({type, shape}, names_.back()));
    infos.push_back({graph_.info(inputs.back()), {}, false});
    wanted_.push_back(inputs.back());
    values_.push_back(scattered(shape));
    // Probabilities: what is not positive is clamped, where the gradient is no slope.
    if (op_.id.name != "Nll") return;
    for (double& v : values_.back().values()) v = std::fabs(v);
  }

  /// Numbers of which no two are equal.
  Array<double> scattered(const Dims& shape) {
    Array<double> x(shape);
    const double low = dice_.one_in(2) ? -0.95 : 0.05, high = dice_.one_in(4) ? 2.9 : 0.95;
    for (double& v : x.values()) {
      v = low + (high - low) * (static_cast<double>(dice_.below(1 << 20)) + 0.5) / (1 << 20);
    }
    return x;
  }

  Result run(Session& session) const {
    std::vector<Input> given;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      given.push_back({names_[i], static_cast<const AnyArray&>(values_[i])});
    }
    return session.run(std::span<const Input>(given));
  }
  double slope(Session& session, std::size_t i, std::size_t k, double width) {
    const double before = values_[i][k];
    values_[i][k] = before + width;
    const double above = run(session)[0].values<double>()[0];
    values_[i][k] = before - width;
    const double below = run(session)[0].values<double>()[0];
    values_[i][k] = before;
    return (above - below) / (2 * width);
  }

  const Descriptor& op_;
  Dice& dice_;
  Graph graph_;
  std::vector<TensorId> wanted_;
  std::vector<std::string> names_;
  std::vector<Array<double>> values_;
};

}  // namespace

TEST_CASE("every operator's gradient is the slope that central differences see") {
  std::string none_compared;
  int number = 0, operators = 0;
  for (const Descriptor* op : builtin::table) {
    ++number;
    if (op->gradient == nullptr || op->only_expands || op->signature.has_seed()) continue;
    if (is_in(left_out, op->id.name)) continue;
    CAPTURE(std::string(op->id.name));
    int compared = 0;
    for (int i = 0; i < 400 && compared < 25; ++i) {
      CAPTURE(i);
      Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      try {
        compared += Drawn(*op, dice).compare();
      } catch (const Error&) {
        // Values that this operator does not take.
      }
    }
    if (compared == 0) none_compared += std::string(op->id.name) + " ";
    operators += compared > 0;
  }
  CAPTURE(none_compared);
  CHECK(operators > 100);
}
