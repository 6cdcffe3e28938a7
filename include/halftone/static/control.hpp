#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/static/memory.hpp>
#include <halftone/static/step.hpp>

// Loops, branches and calls of static programs: their bodies are ranges of steps.
namespace halftone::detail {

inline void copy_static(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// The elements of a tensor that lies in the arena, with variables, or where a constant is.
template <class Plan, class Memory>
void* static_address(const PlacedTensor& t, std::byte* arena, std::byte* variables) {
  switch (t.place) {
    case StaticPlace::arena:
      return arena + Memory::buffers[static_cast<std::size_t>(t.offset)];
    case StaticPlace::variable:
      return variables + t.offset;
    case StaticPlace::data:
      return const_cast<std::byte*>(Plan::data.data() + t.offset);
    case StaticPlace::array:
      return const_cast<void*>(t.array);
    default:
      return nullptr;
  }
}

/// A body, on the memory of a machine.
template <class Plan, class Memory>
class StaticBody {
 public:
  StaticBody(const StaticMachine& machine, std::size_t frame)
      : machine_(machine), frame_(Plan::frames[frame]) {}

  void set_input(std::size_t input, const void* data) const {
    for (std::size_t i = frame_.first_input; i < frame_.end_input; ++i) {
      const InputArgument& a = Plan::input_arguments[i];
      if (a.input == input) machine_.arguments[a.argument].data = const_cast<void*>(data);
    }
  }
  void run() const { machine_.run(machine_, frame_.first_step, frame_.end_step); }
  const void* result(std::size_t i) const {
    return static_address<Plan, Memory>(of(i).at, machine_.arena, machine_.variables);
  }
  void copy_result(std::size_t i, void* to) const {
    if (to != nullptr) copy_static(to, result(i), of(i).bytes);
  }

 private:
  const StaticResult& of(std::size_t i) const { return Plan::results[frame_.first_result + i]; }

  const StaticMachine& machine_;
  const StaticFrame& frame_;
};

/// The steps that have bodies.
template <class Plan, class Memory>
struct StaticControls {
  using Body = StaticBody<Plan, Memory>;

  static void run_branch(const StepCall& call) {
    const bool condition = *static_cast<const bool*>(call.arguments[0].data);
    run_body(call, condition ? 0 : 1, 1);
  }
  static void run_call(const StepCall& call) { run_body(call, 0, 0); }

  /// The passes of a Loop or Scan; Repetition says what becomes of their results.
  static void run_repetition(const StepCall& call) {
    const StaticControl& c = control(call);
    const Body body(call.machine, c.frames[0]);
    const auto* const states = Plan::states.data() + c.state;
    const auto* const scanned = Plan::stacks.data() + c.stack;
    const auto* const stacked = scanned + c.scanned;
    const auto input = [&](std::size_t i) -> void* {
      return i < call.step.inputs ? call.arguments[i].data : nullptr;
    };
    const auto output = [&](std::size_t i) -> void* {
      return i < call.step.outputs ? call.arguments[call.step.inputs + i].data : nullptr;
    };
    const auto memory = [&](std::int64_t offset) {
      return static_cast<std::byte*>(call.scratch) + offset;
    };
    std::int64_t most = INT64_MAX, pass = 0;
    std::int32_t narrow_pass = 0;
    bool goes_on = true;
    const bool has_condition = c.is_loop && input(1) != nullptr;
    if (c.is_loop) {
      if (input(0) != nullptr) {
        most = c.narrow_count ? *static_cast<const std::int32_t*>(input(0))
                              : *static_cast<const std::int64_t*>(input(0));
      }
      if (has_condition) goes_on = *static_cast<const bool*>(input(1));
      body.set_input(0, c.narrow_pass ? static_cast<const void*>(&narrow_pass) : &pass);
      body.set_input(1, &yes);
    } else if (c.scanned != 0) {
      most = scanned[0].length;
    }
    for (std::size_t i = 0; i < c.states; ++i) {
      body.set_input(c.body_state + i, input(c.first_state + i));
    }
    for (; pass < most && goes_on; ++pass) {
      narrow_pass = static_cast<std::int32_t>(pass);
      for (std::size_t i = 0; i < c.scanned; ++i) {
        const Repetition::Stack& x = scanned[i];
        const std::size_t number = c.states + i;
        const auto* slice = static_cast<const std::byte*>(input(c.first_state + number));
        if (x.memory == Repetition::none) {
          slice += x.at(pass) * x.inner_bytes;
        } else {
          move_slice(x, pass, memory(x.memory), const_cast<std::byte*>(slice), true);
          slice = memory(x.memory);
        }
        body.set_input(c.body_state + number, slice);
      }
      body.run();
      if (has_condition) goes_on = *static_cast<const bool*>(body.result(0));
      for (std::size_t i = 0; i < c.states; ++i) {
        const Repetition::State& state = states[i];
        if (state.result == Repetition::none) continue;
        void* const to = state.memory == Repetition::none ? output(i) : memory(state.memory);
        copy_static(to, body.result(static_cast<std::size_t>(state.result)), state.bytes);
        body.set_input(c.body_state + i, to);
      }
      for (std::size_t i = 0; i < c.stacked; ++i) {
        const Repetition::Stack& y = stacked[i];
        if (y.result == Repetition::none || pass >= y.length) continue;
        const void* const slice = body.result(static_cast<std::size_t>(y.result));
        move_slice(y, pass, const_cast<void*>(slice), output(c.states + i), false);
      }
    }
    for (std::size_t i = 0; i < c.states; ++i) {
      const bool is_first = pass == 0 || states[i].result == Repetition::none;
      if (!is_first || output(i) == nullptr) continue;
      copy_static(output(i), input(c.first_state + i), states[i].bytes);
    }
  }

 private:
  static constexpr bool yes = true;

  static const StaticControl& control(const StepCall& call) {
    return Plan::controls[static_cast<std::size_t>(call.step.control)];
  }
  /// A body on a step's inputs from number `first` on.
  static void run_body(const StepCall& call, std::size_t number, std::size_t first) {
    const Body body(call.machine, control(call).frames[number]);
    for (std::size_t i = first; i < call.step.inputs; ++i) {
      body.set_input(i - first, call.arguments[i].data);
    }
    body.run();
    for (std::size_t o = 0; o < call.step.outputs; ++o) {
      body.copy_result(o, call.arguments[call.step.inputs + o].data);
    }
  }
  /// A pass's slice, out of a tensor or into it.
  static void move_slice(const Repetition::Stack& stack, std::int64_t pass, void* slice,
                         void* whole, bool is_taken) {
    for (std::int64_t o = 0; o < stack.outer; ++o) {
      auto* const apart = static_cast<std::byte*>(slice) + o * stack.inner_bytes;
      auto* const inside =
          static_cast<std::byte*>(whole) + (o * stack.length + stack.at(pass)) * stack.inner_bytes;
      copy_static(is_taken ? apart : inside, is_taken ? inside : apart, stack.inner_bytes);
    }
  }
};

}  // namespace halftone::detail
