// Laws that hold for every operator, asked of its descriptor alone: what its signature, types and
// attributes say is enough to make nodes of it.
#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <halftone/graph/some_attributes.hpp>
#include <halftone/halftone.hpp>

#include "../onnx/model_bytes.hpp"
#include "exec/run_node.hpp"
#include "random_node.hpp"

namespace test {

namespace {

/// A node's outputs; nothing if inference refuses it.
std::optional<std::vector<AnyArray>> run(const Descriptor& op, const Vector<Word>& words,
                                         const std::vector<AnyArray>& arrays) {
  auto [graph, ids, infos, views] = node_inputs(arrays);
  const Inferred inferred = op.infer(words, Inputs(infos, op.signature.required_outputs()));
  if (!inferred.ok()) return {};
  const std::size_t n = graph.add_node(op, words, ids, inferred.outputs);
  return run_node(graph, graph.nodes[n], views, {});
}

/// Equal bits; what is not a number equals what is not a number.
bool equal(const AnyArray& a, const AnyArray& b) {
  if (a.info() != b.info()) return false;
  if (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0) return true;
  bool same = true;
  visit_type<AllTypes>(a.info().type, [&]<class T>() {
    const auto x = a.values<T>(), y = b.values<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool is_nan = x[i] != x[i] && y[i] != y[i];
      same = same && (is_nan || std::memcmp(&x[i], &y[i], sizeof(T)) == 0);
    }
  });
  return same;
}

/// x repeated along the dimensions that it lacks or that have one element.
AnyArray expanded(const AnyArray& x, const Dims& shape) {
  AnyArray y(TensorInfo{x.info().type, shape});
  const auto size = static_cast<std::size_t>(size_in_bytes(x.info().type));
  const Dims& from = x.info().shape;
  for (std::int64_t i = 0; i < y.info().elements(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const std::size_t axis = shape.size() - 1 - k;
      const std::int64_t place = rest % shape[axis];
      rest /= shape[axis];
      if (k >= from.size()) continue;
      const std::int64_t extent = from[from.size() - 1 - k];
      if (extent != 1) at += place * stride;
      stride *= extent;
    }
    std::memcpy(y.data() + static_cast<std::size_t>(i) * size,
                x.data() + static_cast<std::size_t>(at) * size, size);
  }
  return y;
}

/// The part of a tensor that belongs to one position along dimension 0.
AnyArray sample_of(const AnyArray& x, std::int64_t n) {
  TensorInfo info = x.info();
  info.shape[0] = 1;
  const auto bytes = static_cast<std::size_t>(info.bytes());
  AnyArray y(info);
  std::memcpy(y.data(), x.data() + static_cast<std::size_t>(n) * bytes, bytes);
  return y;
}

Vector<Word> random_attributes(const Descriptor& op, Dice& dice) {
  Vector<Word> words = op.defaults();
  RandomAttributes attributes(dice);
  op.attributes(words, attributes);
  return words;
}

/// Sets the attribute `axis`, and all integers that a model must give.
struct Axis final : SomeAttributes {
  std::int64_t axis;
  bool found = false;

  explicit Axis(std::int64_t a) : axis(a) {}
  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    if (value == required) value = 1;
    if (name != "axis") return;
    found = present = true;
    value = axis;
  }
};

/// The attributes of an operator, by kind.
struct Listed final : AttributeVisitor {
  struct One {
    std::string name;
    int type;  ///< ONNX's AttributeProto.AttributeType
    bool is_required = false, is_choice = false;
  };
  std::vector<One> all;

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    all.push_back({std::string(name), 2, present && value == required});
  }
  void real(std::string_view name, float&, bool&) override {
    all.push_back({std::string(name), 1});
  }
  void integers(std::string_view name, std::int64_t*, std::uint8_t&, std::size_t) override {
    all.push_back({std::string(name), 7});
  }
  void reals(std::string_view name, float*, std::uint8_t&, std::size_t) override {
    all.push_back({std::string(name), 6});
  }
  void text(std::string_view name, char*, std::size_t) override {
    all.push_back({std::string(name), 3});
  }
  void choice(std::string_view name, std::int64_t&, std::span<const std::string_view>) override {
    all.push_back({std::string(name), 3, false, true});
  }
  void choices(std::string_view name, std::int64_t*, std::uint8_t&, std::size_t,
               std::span<const std::string_view>) override {
    all.push_back({std::string(name), 8, false, true});
  }
  void graph(std::string_view name, std::int32_t& index) override {
    all.push_back({std::string(name), 5, index != no_subgraph.index});
  }
};

/// A model of one node, with inputs whose shapes are not known.
Error error_of_node(const Descriptor& op, const std::vector<test::Message>& attributes) {
  GraphParts parts;
  test::Message node;
  const std::size_t inputs = std::max<std::size_t>(op.signature.inputs(), 1);
  for (std::size_t i = 0; i < inputs && op.signature.inputs() > 0; ++i) {
    if (op.signature.input(i).name == "seed" || op.signature.input(i).name == "captured") continue;
    if (op.signature.input(i).is_attribute()) continue;
    const std::string name = "x" + std::to_string(i);
    node.text(1, name);
    parts.inputs.push_back(shapeless(name, float32));
  }
  node.text(2, "y").text(4, op.id.name);
  for (const test::Message& a : attributes) node.message(5, a);
  const bool is_default = op.id.domain == "ai.onnx";
  std::int64_t version = 1;  // the newest that is read
  for (const std::int64_t v : op.id.versions) version = v <= 28 ? v : version;
  if (!is_default) node.text(7, op.id.domain);
  parts.nodes.push_back(node);
  parts.outputs.push_back(shapeless("y", float32));
  ModelParts model_parts{.opset = is_default ? version : 13};
  if (!is_default) model_parts.opsets.push_back(opset(version, op.id.domain));
  return error_of(model(parts, model_parts));
}

}  // namespace

// A broadcast operand gives what the operand gives that is repeated beforehand, bit for bit; all
// ranks, one element and none along dimensions, numbers of every kind.
TEST_CASE("law: broadcasting is repetition") {
  int number = 0, broadcast = 0;
  for (const Descriptor* op : builtin::table) {
    ++number;
    if (!op->elementwise || op->id.domain == "halftone" || op->only_expands) continue;
    CAPTURE(std::string(op->id.name));
    for (int i = 0; i < 40; ++i) {
      CAPTURE(i);
      Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      Dims base;
      const std::int64_t rank = i % 9;
      for (std::int64_t k = 0; k < rank; ++k) {
        base.push_back(dice.one_in(8) ? 0 : dice.between(1, rank > 4 ? 2 : 7));
      }
      std::size_t count = op->signature.inputs();
      if (op->signature.has_variadic_input()) count = static_cast<std::size_t>(dice.between(1, 3));
      std::vector<AnyArray> given, whole;
      ElementType types[Slots::max_slots]{};
      bool has_base = false;
      for (std::size_t k = 0; k < count; ++k) {
        const Slot& slot = op->signature.input_slot(k);
        ElementType& type = types[slot.type_variable];
        if (type == ElementType::undefined) type = random_type(*op, slot.type_variable, dice);
        Dims shape = base;
        // One has the whole shape: the last one if no other does, since any may be the larger one.
        if (has_base || (k + 1 < count && dice.one_in(2))) {
          const std::int64_t dropped = dice.one_in(2) ? dice.between(0, rank) : 0;
          shape = Dims(base.span().subspan(static_cast<std::size_t>(dropped)));
          for (std::int64_t& extent : shape) extent = dice.one_in(2) ? 1 : extent;
        } else {
          has_base = true;
        }
        given.push_back(random_array(type, shape, dice));
        whole.push_back(expanded(given.back(), base));
      }
      const Vector<Word> words = random_attributes(*op, dice);
      const auto y = run(*op, words, given), z = run(*op, words, whole);
      if (!z) {
        // Types that do not go together; limits of Clip and scales of ScaledAdd have to be scalars.
        CHECK((!y || op->id.name == "Clip" || op->id.name == "ScaledAdd"));
        continue;
      }
      CHECK((*z)[0].info().shape == base);
      // PRelu, and operators like it, broadcast to their first operand only.
      if (!y) CHECK(given[0].info().shape != base);
      if (!y) continue;
      ++broadcast;
      REQUIRE(y->size() == z->size());
      for (std::size_t o = 0; o < y->size(); ++o) CHECK(equal((*y)[o], (*z)[o]));
    }
  }
  CHECK(broadcast > 1000);
}

// Operators that say so treat the samples of a batch one by one: the whole batch gives what each sample
// gives alone, bit for bit. The library's own, of passes: tests/transform/batch_parts.cpp.
TEST_CASE("law: samples are computed one by one") {
  int number = 0, compared = 0;
  for (const Descriptor* op : builtin::table) {
    ++number;
    if (op->by_sample == 0 || op->id.domain == "halftone") continue;
    CAPTURE(std::string(op->id.name));
    for (int i = 0; i < 60; ++i) {
      CAPTURE(i);
      Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      const std::int64_t batch = dice.between(2, 5), channels = dice.between(1, 20);
      const bool is_line = dice.one_in(4);  // of one spatial dimension
      const auto with_pixels = [&](std::int64_t first, std::int64_t low, std::int64_t high) {
        Dims shape{first, channels, dice.between(low, high)};
        if (!is_line) shape.push_back(dice.between(low, high));
        return shape;
      };
      const std::int64_t filters = op->id.name == "Conv" ? dice.between(1, 20) : channels;
      std::vector<AnyArray> whole;
      ElementType types[Slots::max_slots]{};
      for (std::size_t k = 0; k < op->signature.inputs(); ++k) {
        const Slot& slot = op->signature.input_slot(k);
        ElementType& type = types[slot.type_variable];
        if (type == ElementType::undefined) type = random_type(*op, slot.type_variable, dice);
        const Dims shape = (op->by_sample >> k & 1) != 0     ? with_pixels(batch, 3, 9)
                           : op->id.name == "Conv" && k == 1 ? with_pixels(filters, 1, 3)
                                                             : Dims{filters};
        whole.push_back(random_array(type, shape, dice));
      }
      const Vector<Word> words = random_attributes(*op, dice);
      const auto y = run(*op, words, whole);
      if (!y) continue;
      ++compared;
      for (std::int64_t n = 0; n < batch; ++n) {
        std::vector<AnyArray> alone;
        for (std::size_t k = 0; k < whole.size(); ++k) {
          const bool has_samples = (op->by_sample >> k & 1) != 0;
          alone.push_back(has_samples ? sample_of(whole[k], n) : whole[k]);
        }
        const auto z = run(*op, words, alone);
        REQUIRE(z);
        CHECK(equal(sample_of((*y)[0], n), (*z)[0]));
      }
    }
  }
  CHECK(compared > 50);
}

// An axis counted from the end is the same axis, and one beyond the last is refused.
TEST_CASE("law: negative axes count from the end") {
  int number = 0, same = 0, refused = 0;
  for (const Descriptor* op : builtin::table) {
    ++number;
    if (op->id.domain == "halftone" || op->only_expands) continue;
    CAPTURE(std::string(op->id.name));
    for (int i = 0; i < 20; ++i) {
      CAPTURE(i);
      Dice dice(static_cast<std::uint64_t>(number * 1000 + i));
      const std::int64_t rank = dice.between(1, 4);
      Dims base;
      for (std::int64_t k = 0; k < rank; ++k) base.push_back(dice.between(1, 3));
      std::vector<AnyArray> arrays;
      ElementType types[Slots::max_slots]{};
      for (std::size_t k = 0; k < op->signature.inputs(); ++k) {
        const Slot& slot = op->signature.input_slot(k);
        if (slot.optional) {
          arrays.emplace_back();
          continue;
        }
        ElementType& type = types[slot.type_variable];
        if (type == ElementType::undefined || slot.mixed) {
          type = random_type(*op, slot.type_variable, dice);
        }
        const Dims shape = k == 0 || dice.one_in(2) ? base : dice.one_in(2) ? Dims{} : Dims{2};
        arrays.push_back(random_array(type, shape, dice));
      }
      const auto with_axis = [&](std::int64_t axis) {
        Vector<Word> words = op->defaults();
        Axis visitor(axis);
        op->attributes(words, visitor);
        if (!visitor.found) words.clear();
        return words;
      };
      if (with_axis(0).empty()) break;
      // The new axis of OneHot is one of its result.
      const std::int64_t axes = rank + (op->id.name == "OneHot" ? 1 : 0);
      const auto attempt = [&](std::int64_t axis) -> std::optional<std::vector<AnyArray>> {
        try {
          return run(*op, with_axis(axis), arrays);
        } catch (const Error&) {
          return {};  // values that kernels refuse
        }
      };
      const std::int64_t axis = dice.below(axes);
      const auto y = attempt(axis - axes);
      if (y) {
        const auto z = attempt(axis);
        REQUIRE(z);
        ++same;
        for (std::size_t o = 0; o < y->size(); ++o) CHECK(equal((*y)[o], (*z)[o]));
      }
      for (const std::int64_t beyond : {axes + 1, -axes - 1}) {
        CHECK_FALSE(attempt(beyond));
        ++refused;
      }
    }
  }
  CHECK(same > 100);
  CHECK(refused > 100);
}

// Attributes of another type, of no operator's, missing or misspelt ones: a ModelError that names
// the attribute.
TEST_CASE("law: wrong attributes are model errors that name them") {
  const auto wrong = [](int type, std::string_view name) {
    return type == 3 ? integer(name, 1) : text(name, "what");
  };
  int checked = 0;
  for (const Descriptor* op : builtin::table) {
    if (op->id.domain == "halftone" || op->id.name == "Constant") continue;
    CAPTURE(std::string(op->id.name));
    CAPTURE(static_cast<int>(op->id.versions.back()));
    const auto refuses = [&](const std::vector<test::Message>& attributes,
                             const std::string& name) {
      const Error error = error_of_node(*op, attributes);
      const std::string what = error.what();
      CAPTURE(what);
      CHECK(error.kind() == ErrorKind::model);
      CHECK(what.find(name) != what.npos);
      ++checked;
    };
    refuses({integer("no_such", 1)}, "no_such");
    Listed listed;
    Vector<Word> words = op->defaults();
    op->attributes(words, listed);
    for (const Listed::One& a : listed.all) {
      // What stands for a tensor: split when it is read.
      if (a.name.ends_with("_bits") || a.name.ends_with("_type") || a.name.empty()) continue;
      CAPTURE(a.name);
      refuses({wrong(a.type, a.name)}, a.name);
      if (a.is_choice) refuses({text(a.name, "no_such_choice")}, a.name);
      if (a.is_required) refuses({}, a.name);
    }
  }
  CHECK(checked > 400);
}

}  // namespace test
