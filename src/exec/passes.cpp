#include "passes.hpp"

#include <algorithm>
#include <utility>

#include "base/describe.hpp"
#include "late.hpp"
#include "run.hpp"

namespace halftone {
namespace {

using Stack = Repetition::Stack;

/// Calls f(offset in the whole, offset in the slice) for each run of bytes of a pass's slice.
void for_each_run(const Stack& stack, std::int64_t pass, auto&& f) {
  for (std::int64_t o = 0; o < stack.outer; ++o) {
    f((o * stack.length + stack.at(pass)) * stack.inner_bytes, o * stack.inner_bytes);
  }
}
void take_slice(const Stack& stack, const void* whole, std::int64_t pass, void* slice) {
  for_each_run(stack, pass, [&](std::int64_t from, std::int64_t to) {
    copy_bytes(static_cast<std::byte*>(slice) + to, static_cast<const std::byte*>(whole) + from,
               stack.inner_bytes);
  });
}
void put_slice(const Stack& stack, void* whole, std::int64_t pass, const void* slice) {
  for_each_run(stack, pass, [&](std::int64_t to, std::int64_t from) {
    copy_bytes(static_cast<std::byte*>(whole) + to, static_cast<const std::byte*>(slice) + from,
               stack.inner_bytes);
  });
}

/// The passes of a Loop or Scan: how often its body runs, and in which order values go in and out.
/// Where they are kept meanwhile is said below.
class Passes {
 public:
  explicit Passes(const Repetition& repetition) : repetition_(repetition) {}

  void run() {
    bool goes_on = true;
    if (repetition_.is_loop) {
      most_ = most_passes();
      has_condition_ = input(1) != nullptr;
      if (has_condition_) goes_on = *static_cast<const bool*>(input(1));
      set_number(pass_, narrow_pass_);
    } else if (!repetition_.scanned.empty()) {
      most_ = scanned(0).length;
    }
    for (std::size_t i = 0; i < repetition_.states.size(); ++i) start_state(i);
    for (; pass_ < most_ && goes_on; ++pass_) {
      narrow_pass_ = static_cast<std::int32_t>(pass_);
      for (std::size_t i = 0; i < repetition_.scanned.size(); ++i) cut_slice(i);
      run_body();
      if (has_condition_) goes_on = condition();
      for (std::size_t i = 0; i < repetition_.states.size(); ++i) {
        if (repetition_.states[i].result != Repetition::none) keep_state(i);
      }
      for (std::size_t i = 0; i < repetition_.stacked.size(); ++i) {
        if (repetition_.stacked[i].result != Repetition::none) stack_slice(i);
      }
    }
  }

 protected:
  ~Passes() = default;

  virtual const void* input(std::size_t i) const = 0;  ///< of the node; null: absent
  virtual ElementType count_type() const = 0;
  virtual const Stack& scanned(std::size_t i) const = 0;
  virtual void set_number(const std::int64_t& pass, const std::int32_t& narrow) = 0;
  virtual void start_state(std::size_t i) = 0;
  virtual void cut_slice(std::size_t i) = 0;
  virtual void run_body() = 0;
  virtual bool condition() = 0;
  virtual void keep_state(std::size_t i) = 0;
  virtual void stack_slice(std::size_t i) = 0;

  std::size_t first_value(std::size_t state) const {
    return static_cast<std::size_t>(repetition_.first_state) + state;
  }
  std::size_t body_state(std::size_t state) const {
    return static_cast<std::size_t>(repetition_.body_state) + state;
  }

  const Repetition& repetition_;
  std::int64_t pass_ = 0, most_ = INT64_MAX;
  bool has_condition_ = false;

 private:
  std::int64_t most_passes() const {
    const void* count = input(0);
    if (count == nullptr) return INT64_MAX;
    if (count_type() == ElementType::int32) return *static_cast<const std::int32_t*>(count);
    return *static_cast<const std::int64_t*>(count);
  }

  std::int32_t narrow_pass_ = 0;
};

/// The passes of a step whose shapes were known before: values lie in its outputs and scratch
/// memory.
class PlannedPasses final : public Passes {
 public:
  explicit PlannedPasses(const KernelCall& call)
      : Passes(*static_cast<const Bound::Control*>(call.op)->repetition),
        call_(call),
        body_(*static_cast<const Bound::Control*>(call.op)->bodies[0]) {}

  void run() {
    Passes::run();
    for (std::size_t i = 0; i < repetition_.states.size(); ++i) {
      const Repetition::State& state = repetition_.states[i];
      const bool is_first = pass_ == 0 || state.result == Repetition::none;
      if (is_first && output(i) != nullptr)
        copy_bytes(output(i), input(first_value(i)), state.bytes);
    }
  }

 private:
  const void* input(std::size_t i) const override {
    return i < call_.inputs ? call_.arguments[i].data : nullptr;
  }
  ElementType count_type() const override { return repetition_.count_type; }
  const Stack& scanned(std::size_t i) const override { return repetition_.scanned[i]; }
  void set_number(const std::int64_t& pass, const std::int32_t& narrow) override {
    const Graph& graph = body_.program.graph;
    const bool is_narrow = graph.info(graph.inputs[0]).type == ElementType::int32;
    body_.set_input(0, is_narrow ? static_cast<const void*>(&narrow) : &pass);
  }
  void start_state(std::size_t i) override {
    body_.set_input(body_state(i), input(first_value(i)));
  }
  void cut_slice(std::size_t i) override {
    const Stack& x = repetition_.scanned[i];
    const std::size_t number = repetition_.states.size() + i;
    const auto* slice = static_cast<const std::byte*>(input(first_value(number)));
    if (x.memory == Repetition::none) {
      slice += x.at(pass_) * x.inner_bytes;
    } else {
      take_slice(x, slice, pass_, memory(x.memory));
      slice = memory(x.memory);
    }
    body_.set_input(body_state(number), slice);
  }
  void run_body() override { halftone::run(body_); }
  bool condition() override { return *static_cast<const bool*>(result(0)); }
  void keep_state(std::size_t i) override {
    const Repetition::State& state = repetition_.states[i];
    std::byte* to = state.memory == Repetition::none ? output(i) : memory(state.memory);
    copy_bytes(to, result(state.result), state.bytes);
    body_.set_input(body_state(i), to);
  }
  void stack_slice(std::size_t i) override {
    const Stack& y = repetition_.stacked[i];
    if (pass_ >= y.length) return;
    put_slice(y, output(repetition_.states.size() + i), pass_, result(y.result));
  }

  std::byte* output(std::size_t i) const {
    return i < call_.outputs ? static_cast<std::byte*>(call_.arguments[call_.inputs + i].data)
                             : nullptr;
  }
  const void* result(std::int32_t number) const {
    return body_.output(static_cast<std::size_t>(number)).data;
  }
  std::byte* memory(std::int64_t offset) const {
    return static_cast<std::byte*>(call_.workspace) + offset;
  }

  const KernelCall& call_;
  Bound& body_;
};

/// The passes of a late step: shapes may change from pass to pass, and their number need not be
/// known.
class LatePasses final : public Passes {
 public:
  LatePasses(Late& late, std::span<const AnyView> inputs)
      : Passes(late.bound.program.repetitions[static_cast<std::size_t>(late.step.repetition)]),
        late_(late),
        inputs_(inputs),
        body_(late.bound.program.bodies[static_cast<std::size_t>(late.step.bodies[0])].graph),
        given_(body_.inputs.size()),
        slices_(repetition_.scanned.size()),
        states_(repetition_.states.size()),
        stacks_(repetition_.stacked.size()) {
    for (std::size_t i = 0; repetition_.is_loop && i < 2 && i < inputs.size(); ++i) {
      const TensorInfo& x = inputs[i].info;
      if (!x.is_known() || x.elements() == 1) continue;
      late_.refuse(
          i == 0 ? "the number of passes is not one number" : "the condition is not one boolean",
          {}, detail::to_text(x));
    }
    for (std::size_t i = 0; i < repetition_.scanned.size(); ++i) {
      const TensorInfo& x = inputs[first_value(repetition_.states.size() + i)].info;
      const Stack& stack = repetition_.scanned[i];
      if (normalized_axis(stack.axis, x.rank()) == x.rank()) {
        late_.refuse("axis is out of range", {}, detail::to_text(x));
      }
      scanned_.push_back(detail::stack_of(x, stack.axis, stack.is_reversed));
      if (scanned_[i].length != scanned_[0].length) {
        late_.refuse("the scanned tensors differ in length", std::to_string(scanned_[0].length),
                     std::to_string(scanned_[i].length));
      }
    }
  }

  std::vector<AnyArray> run() {
    Passes::run();
    std::vector<AnyArray> outputs;
    for (std::size_t o = 0; o < late_.step.outputs; ++o) {
      const Program::Argument& a =
          late_.bound.program.arguments[late_.step.first + late_.step.inputs + o];
      if (a.place == Program::Place::absent) {
        outputs.emplace_back();
      } else if (o < repetition_.states.size()) {
        outputs.push_back(states_[o].info().is_known() ? states_[o]
                                                       : AnyArray::copy_of(given_[body_state(o)]));
      } else {
        outputs.push_back(stacked(o - repetition_.states.size()));
      }
    }
    return outputs;
  }

 private:
  struct Slices {
    TensorInfo info{};
    std::vector<AnyArray> all{};  ///< while nobody knows how many there will be
    AnyArray whole{};
  };

  const void* input(std::size_t i) const override {
    return i < inputs_.size() ? inputs_[i].data : nullptr;
  }
  ElementType count_type() const override { return inputs_[0].info.type; }
  const Stack& scanned(std::size_t i) const override { return scanned_[i]; }
  void set_number(const std::int64_t& pass, const std::int32_t& narrow) override {
    const auto info = [&](std::size_t i, ElementType type) {
      const TensorInfo& declared = body_.info(body_.inputs[i]);
      return TensorInfo{type, declared.rank() == 1 ? Dims{1} : Dims{}};
    };
    const bool is_narrow = body_.info(body_.inputs[0]).type == ElementType::int32;
    given_[0] = is_narrow ? AnyView{info(0, ElementType::int32), &narrow}
                          : AnyView{info(0, ElementType::int64), &pass};
    given_[1] = {info(1, ElementType::boolean), &yes_};
  }
  void start_state(std::size_t i) override { given_[body_state(i)] = inputs_[first_value(i)]; }
  void cut_slice(std::size_t i) override {
    const std::size_t number = repetition_.states.size() + i;
    const AnyView& x = inputs_[first_value(number)];
    TensorInfo info = x.info;
    info.shape.erase(normalized_axis(scanned_[i].axis, info.rank()));
    slices_[i] = AnyArray(info);
    take_slice(scanned_[i], x.data, pass_, slices_[i].data());
    slices_[i].own_objects();
    given_[body_state(number)] = slices_[i];
  }
  /// The body is made ready for shapes that stay as they are.
  void run_body() override {
    bool is_same = previous_.size() == given_.size();
    for (std::size_t i = 0; is_same && i < given_.size(); ++i) {
      is_same = previous_[i] == given_[i].info;
    }
    const bool for_shapes = !late_.bound.is_open && (pass_ == 0 || is_same);
    if (!is_same) {
      previous_.clear();
      for (const AnyView& x : given_) previous_.push_back(x.info);
    }
    results_ = results_of(late_.bodies[0].with(given_, for_shapes));
  }
  bool condition() override {
    if (results_[0].info().elements() != 1 || results_[0].info().type != ElementType::boolean) {
      late_.refuse("the condition is not one boolean", {}, detail::to_text(results_[0].info()));
    }
    return results_[0].values<bool>()[0];
  }
  void keep_state(std::size_t i) override {
    states_[i] = std::move(result(repetition_.states[i].result));
    given_[body_state(i)] = states_[i];
  }
  void stack_slice(std::size_t i) override {
    AnyArray& slice = result(repetition_.stacked[i].result);
    Slices& slices = stacks_[i];
    if (pass_ == 0) {
      slices.info = slice.info();
    } else if (slices.info != slice.info()) {
      late_.refuse("what a pass gives has another shape than before", detail::to_text(slices.info),
                   detail::to_text(slice.info()));
    }
    // Objects live as long as the slices they came in.
    if (has_condition_ || has_objects(slices.info.type)) {
      return slices.all.push_back(std::move(slice));
    }
    if (pass_ == 0) slices.whole = AnyArray(stacked_info(i, slices.info, most_));
    put(i, pass_, slice);
  }
  AnyArray& result(std::int32_t number) { return results_[static_cast<std::size_t>(number)]; }

  TensorInfo stacked_info(std::size_t i, TensorInfo info, std::int64_t count) const {
    if (info.rank() == max_rank) late_.refuse("too many dimensions", {}, detail::to_text(info));
    const std::size_t axis = normalized_axis(repetition_.stacked[i].axis, info.rank() + 1);
    if (axis > info.rank()) late_.refuse("axis is out of range", {}, detail::to_text(info));
    info.shape.insert(axis, count);
    check_fits(late_.bound.program.graph, &late_.node(), info);
    return info;
  }
  void put(std::size_t i, std::int64_t pass, const AnyArray& slice) {
    const Stack& stack = repetition_.stacked[i];
    AnyArray& whole = stacks_[i].whole;
    put_slice(detail::stack_of(whole.info(), stack.axis, stack.is_reversed), whole.data(), pass,
              slice.data());
  }
  /// The slices of all passes as one tensor.
  AnyArray stacked(std::size_t i) {
    Slices& slices = stacks_[i];
    if (slices.whole.info().is_known()) return std::move(slices.whole);
    const TensorInfo info = pass_ == 0 ? slice_without_pass(i) : slices.info;
    slices.whole = AnyArray(stacked_info(i, info, pass_));
    for (std::int64_t pass = 0; pass < pass_; ++pass) {
      put(i, pass, slices.all[static_cast<std::size_t>(pass)]);
    }
    slices.whole.own_objects();
    return std::move(slices.whole);
  }
  /// Without any pass the body tells what a slice would have been; unknown extents are 0.
  TensorInfo slice_without_pass(std::size_t i) {
    const auto number = static_cast<std::size_t>(repetition_.stacked[i].result);
    TensorInfo info = body_.info(body_.outputs[number]);
    if (!info.is_known()) {
      const Graph& graph = late_.bound.program.graph;
      fail(ErrorKind::unsupported,
           {.what = "the shape of an output cannot be found",
            .node = detail::node_text(*late_.node().op, graph.name(late_.node()))});
    }
    for (std::int64_t& extent : info.shape) extent = std::max<std::int64_t>(extent, 0);
    return info;
  }

  static constexpr bool yes_ = true;

  Late& late_;
  const std::span<const AnyView> inputs_;
  const Graph& body_;
  std::vector<AnyView> given_;  ///< to the body
  Vector<TensorInfo> previous_;
  std::vector<Stack> scanned_;
  std::vector<AnyArray> slices_, states_, results_;
  std::vector<Slices> stacks_;
};

}  // namespace

void run_repetition(const KernelCall& call) { PlannedPasses(call).run(); }

std::vector<AnyArray> run_late_passes(Late& late, std::span<const AnyView> inputs) {
  return LatePasses(late, inputs).run();
}

}  // namespace halftone
