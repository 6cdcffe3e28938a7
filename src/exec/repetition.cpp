#include "repetition.hpp"

#include <algorithm>
#include <cstring>

#include <halftone/program/repetition.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "interpreter.hpp"
#include "run.hpp"

namespace halftone {
namespace {

template <class T>
AnyArray one_number(const TensorInfo& declared, T value) {
  AnyArray array(TensorInfo{element_type<T>, declared.rank() == 1 ? Dims{1} : Dims{}});
  array.values<T>()[0] = value;
  return array;
}

}  // namespace

std::vector<AnyArray> repeat_node(const Graph& graph, const Node& node,
                                  std::span<const AnyView> inputs, const Interpretation& how) {
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  auto wrong = [&](std::string_view what, std::string_view expected, std::string_view found) {
    fail(ErrorKind::model, {.what = what,
                            .node = detail::node_text(*node.op, graph.name(node)),
                            .expected = expected,
                            .found = found});
  };
  op::Repeat repeat;
  if (!describe_repeat(graph, node, repeat)) wrong("the body does not fit the node", {}, {});
  std::int64_t most = INT64_MAX;
  bool goes_on = true;
  if (repeat.is_loop) {
    for (std::size_t i = 0; i < 2 && i < inputs.size(); ++i) {
      const AnyView& x = inputs[i];
      if (x.info.is_known() && x.info.elements() != 1) {
        wrong(
            i == 0 ? "the number of passes is not one number" : "the condition is not one boolean",
            {}, detail::to_text(x.info));
      }
    }
    if (!inputs.empty()) most = most_passes(inputs[0].info.type, inputs[0].data);
  }
  const bool has_condition = repeat.is_loop && inputs.size() > 1 && inputs[1].data != nullptr;
  if (has_condition) goes_on = *static_cast<const bool*>(inputs[1].data);
  const std::size_t first_scanned = repeat.first_state + repeat.states;
  std::vector<Repetition::Stack> scanned;
  for (std::size_t i = 0; i < repeat.scanned; ++i) {
    const TensorInfo& x = inputs[first_scanned + i].info;
    const std::size_t axis = normalized_axis(repeat.input_axis(i), x.rank());
    if (axis == x.rank()) wrong("axis is out of range", {}, detail::to_text(x));
    scanned.push_back(detail::stack_of(x, repeat.input_axis(i), repeat.input_is_reversed(i)));
    if (i > 0 && scanned[i].length != most) {
      wrong("the scanned tensors differ in length", std::to_string(most),
            std::to_string(scanned[i].length));
    }
    most = scanned[i].length;
  }

  // What a pass leaves as it is, and what nobody wants, is not copied.
  std::vector<TensorId> wanted = body.outputs;
  if (repeat.is_loop && !has_condition) wanted[0] = no_tensor;
  for (std::size_t i = 0; i < repeat.states + repeat.stacked; ++i) {
    const bool is_wanted = i < repeat.states
                               ? !repeat.is_kept(body, i)
                               : i < node.outputs.size() && node.outputs[i] != no_tensor;
    if (!is_wanted) wanted[repeat.body_result + i] = no_tensor;
  }

  std::vector<AnyArray> owned(repeat.states);
  std::vector<AnyView> given(body.inputs.size());
  struct Stack {
    TensorInfo slice{};
    std::vector<AnyArray> slices{};  ///< while nobody knows how many there will be
    AnyArray whole{};
  };
  std::vector<Stack> stacks(repeat.stacked);
  const auto stacked_info = [&](std::size_t i, TensorInfo info, std::int64_t count) {
    if (info.rank() == max_rank) wrong("too many dimensions", {}, detail::to_text(info));
    const std::size_t axis = normalized_axis(repeat.output_axis(i), info.rank() + 1);
    if (axis > info.rank()) wrong("axis is out of range", {}, detail::to_text(info));
    info.shape.insert(axis, count);
    check_fits(graph, &node, info);
    return info;
  };
  const auto put = [&](std::size_t i, std::int64_t pass, const AnyArray& slice) {
    AnyArray& whole = stacks[i].whole;
    put_slice(detail::stack_of(whole.info(), repeat.output_axis(i), repeat.output_is_reversed(i)),
              whole.data(), pass, slice.data());
  };
  for (std::size_t i = 0; i < repeat.states; ++i) {
    given[repeat.body_state + i] = inputs[repeat.first_state + i];
  }
  for (std::int64_t pass = 0; pass < most && goes_on; ++pass) {
    std::vector<AnyArray> made;
    auto give = [&](std::size_t input, AnyArray array) {
      made.push_back(std::move(array));
      given[input] = made.back();
    };
    if (repeat.is_loop) {
      const TensorInfo& number = body.info(body.inputs[0]);
      if (number.type == ElementType::int32) {
        give(0, one_number(number, static_cast<std::int32_t>(pass)));
      } else {
        give(0, one_number(number, pass));
      }
      give(1, one_number(body.info(body.inputs[1]), true));
    }
    for (std::size_t i = 0; i < repeat.scanned; ++i) {
      const AnyView& x = inputs[first_scanned + i];
      TensorInfo info = x.info;
      info.shape.erase(normalized_axis(repeat.input_axis(i), info.rank()));
      AnyArray slice(info);
      take_slice(scanned[i], x.data, pass, slice.data());
      slice.own_objects();
      give(repeat.body_state + repeat.states + i, std::move(slice));
    }
    std::vector<AnyArray> results = interpret(body, given, how, wanted);
    if (has_condition) {
      if (results[0].info().elements() != 1 || results[0].info().type != ElementType::boolean) {
        wrong("the condition is not one boolean", {}, detail::to_text(results[0].info()));
      }
      goes_on = results[0].values<bool>()[0];
    }
    for (std::size_t i = 0; i < repeat.states; ++i) {
      if (repeat.is_kept(body, i)) continue;
      owned[i] = std::move(results[repeat.body_result + i]);
      given[repeat.body_state + i] = owned[i];
    }
    for (std::size_t i = 0; i < repeat.stacked; ++i) {
      if (wanted[repeat.body_result + repeat.states + i] == no_tensor) continue;
      AnyArray& slice = results[repeat.body_result + repeat.states + i];
      Stack& stack = stacks[i];
      if (pass == 0) {
        stack.slice = slice.info();
        // Objects live as long as the slices they came in.
        if (!has_condition && !has_objects(stack.slice.type)) {
          stack.whole = AnyArray(stacked_info(i, stack.slice, most));
        }
      } else if (stack.slice != slice.info()) {
        wrong("what a pass gives has another shape than before", detail::to_text(stack.slice),
              detail::to_text(slice.info()));
      }
      if (stack.whole.info().is_known()) {
        put(i, pass, slice);
      } else {
        stack.slices.push_back(std::move(slice));
      }
    }
  }

  std::vector<AnyArray> outputs;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == no_tensor) {
      outputs.emplace_back();
      continue;
    }
    if (o < repeat.states) {
      const AnyView& last = given[repeat.body_state + o];
      outputs.push_back(owned[o].info().is_known() ? owned[o] : AnyArray::copy_of(last));
      continue;
    }
    const std::size_t i = o - repeat.states;
    Stack& stack = stacks[i];
    if (!stack.whole.info().is_known()) {
      TensorInfo info = stack.slice;
      if (!info.is_known()) {  // there was no pass
        info = body.info(body.outputs[repeat.body_result + o]);
        if (!info.is_known()) {
          fail(ErrorKind::unsupported, {.what = "the shape of an output cannot be found",
                                        .node = detail::node_text(*node.op, graph.name(node))});
        }
        for (std::int64_t& extent : info.shape) extent = std::max<std::int64_t>(extent, 0);
      }
      const auto count = static_cast<std::int64_t>(stack.slices.size());
      stack.whole = AnyArray(stacked_info(i, info, count));
      for (std::int64_t k = 0; k < count; ++k) {
        put(i, k, stack.slices[static_cast<std::size_t>(k)]);
      }
      stack.whole.own_objects();
    }
    outputs.push_back(std::move(stack.whole));
  }
  return outputs;
}

}  // namespace halftone
