#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_PACKED_HPP
#define HALFTONE_OP_GRAPHCORE_PACKED_HPP

#include <halftone/op/scan.hpp>

namespace halftone::op {

/// Runs a graph on batches of sequences that lie one behind the other, without gaps between them.
///
/// inputs   for each data input of the callback: data [rows, ...], offsets [n] and lengths [n], the
///          first row of each of n sequences and how many it has; then offsets [n] and lengths [n]
///          of the results; then what the callback captures of the graph around it
/// output   [resultSize, ...]: each result's first `length` rows at its offset, other rows are 0
/// callback  graph of one [callbackBatchSize, maxSequenceLength, ...] for each data input, padded
///           with zeros behind the end of each sequence -> [callbackBatchSize, length, ...]
/// maxSequenceLengths  one for each data input; what a sequence has beyond that is left out
/// callbackBatchSize   how many sequences the callback gets at once; divides n
/// limits   rows out of range are an InputError of the run. Sequences of length 0 are sequences
///          like others, where PopART may end there. All batches are unpacked before the first runs
/// grad     none
/// source   ai.graphcore PackedDataBlock-1
struct PackedDataBlock {
  BoundedList<std::int64_t, 32> max_lengths{};
  std::int64_t result_size = required, batch_size = required;
  Subgraph callback{};

  static constexpr OpId id{"ai.graphcore", "PackedDataBlock", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "inputs:*... -> y:*";
  using types = TypeList<AllTypes>;

  constexpr void attributes(auto&& visit) {
    visit("maxSequenceLengths", max_lengths);
    visit("resultSize", result_size);
    visit("callbackBatchSize", batch_size);
    visit("callback", callback);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    // Dependent, as all that is handed to operators below: the header is read without recording any.
    using Tensor = std::remove_cvref_t<decltype(inputs[0])>;
    const std::size_t count = max_lengths.size(), own = 3 * count + 2;
    Graph& body = graph.graphs[static_cast<std::size_t>(callback.index)];
    if (max_lengths.empty() || inputs.size() < own ||
        body.inputs.size() != count + inputs.size() - own || body.outputs.size() != 1) {
      fail(ErrorKind::model,
           {.what = "the node has not three inputs for each of maxSequenceLengths and two for the "
                    "result, or the callback not one input for each and one output"});
    }
    check(inputs, own);

    // A Scan over the batches, whose body is the callback: what that captures are kept states.
    Node scan =
        make_node(Scan{.body = callback, .num_scan_inputs = static_cast<std::int64_t>(count)});
    scan.outputs.assign(inputs.size() - own, no_tensor);
    Vector<TensorId> formals(body.inputs.begin() + static_cast<std::ptrdiff_t>(count),
                             body.inputs.end());
    body.outputs.insert(body.outputs.begin(), formals.begin(), formals.end());
    formals.insert(formals.end(), body.inputs.begin(),
                   body.inputs.begin() + static_cast<std::ptrdiff_t>(count));
    body.inputs = std::move(formals);
    for (std::size_t i = own; i < inputs.size(); ++i) scan.inputs.push_back(inputs[i].id);
    for (std::size_t i = 0; i < count; ++i) {
      const Tensor data = inputs[3 * i];
      const Tensor steps = numbers(graph, number(graph, max_lengths[i]));
      const Tensor rows = places(graph, inputs[3 * i + 1], inputs[3 * i + 2], steps);
      const Tensor sequences = gather(behind_zeros(graph, flatten(data)), rows);
      const Tensor shape =
          concat(std::vector<Tensor>{constant(graph, Dims{-1, batch_size, max_lengths[i]}),
                                     shape_of(data, {.start = 1})},
                 {.axis = 0});
      scan.inputs.push_back(reshape(sequences, shape).id);
    }
    const Tensor results{&graph, graph.add_tensor({}, {})};
    scan.outputs.push_back(results.id);
    graph.nodes.push_back(std::move(scan));

    // Which row of the results each row of y is: 0 is a row of zeros.
    const Tensor length =
        reshape(shape_of(results, {.start = 2, .end = 3}), constant(graph, Dims{}));
    const Tensor to =
        reshape(places(graph, inputs[own - 2], inputs[own - 1], numbers(graph, length)),
                constant(graph, Dims{-1, 1}));
    const Tensor rows = flatten(results, {.axis = 3});
    const Tensor row_count = reshape(shape_of(rows, {.end = 1}), constant(graph, Dims{}));
    const Tensor none_yet = constant_of_shape(constant(graph, Dims{result_size + 1}),
                                              {.value_type = ElementType::int64});
    const Tensor from = scatter_nd(none_yet, to, numbers(graph, row_count) + number(graph, 1));
    const Tensor used = slice(from, constant(graph, Dims{1}), constant(graph, Dims{INT64_MAX}));
    const Tensor shape = concat(
        std::vector<Tensor>{constant(graph, Dims{result_size}), shape_of(results, {.start = 3})},
        {.axis = 0});
    return {reshape(gather(behind_zeros(graph, rows), used), shape)};
  }

 private:
  static constexpr AnyTensor number(auto& graph, std::int64_t value) {
    return constant(graph, std::span<const std::int64_t>(&value, 1), Dims{});
  }
  /// 0, 1, 2, ... below a number.
  static constexpr AnyTensor numbers(auto& graph, auto end) {
    return range(number(graph, 0), end, number(graph, 1));
  }
  /// A row of zeros in front of the rows of a matrix.
  static constexpr AnyTensor behind_zeros(auto& graph, auto matrix) {
    return pad(matrix, constant(graph, Dims{1, 0, 0, 0}));
  }
  /// [n, steps]: 1 + the row of element `step` of each sequence; 0 behind its end.
  static constexpr AnyTensor places(auto& graph, auto offsets, auto lengths, auto steps) {
    // Numbers below 0 become large ones, which are out of range, as on the device.
    const auto column = [&](auto x) {
      const auto wide = cast(cast(x, {.to = ElementType::uint32}), {.to = ElementType::int64});
      return reshape(wide, constant(graph, Dims{-1, 1}));
    };
    const auto row = column(offsets) + steps;
    return select(less(steps, column(lengths)), row + number(graph, 1), number(graph, 0));
  }

  constexpr void check(const auto& inputs, std::size_t own) const {
    for (const std::int64_t length : max_lengths) {
      if (length < 1) fail(ErrorKind::model, {.what = "a maximal length is less than 1"});
    }
    if (batch_size < 1) fail(ErrorKind::model, {.what = "callbackBatchSize is less than 1"});
    if (result_size < 0) fail(ErrorKind::model, {.what = "resultSize is negative"});
    std::int64_t sequences = dynamic;
    for (std::size_t i = 0; i < own; ++i) {
      if (inputs[i].is_absent()) fail(ErrorKind::model, {.what = "an input is absent"});
      if (i < own - 2 && i % 3 == 0) continue;
      const TensorInfo list = inputs[i].info();
      if (!list.is_known()) continue;
      if (list.rank() != 1) {
        fail(ErrorKind::model, {.what = "a list of offsets or lengths is not a vector"});
      }
      sequences = agree(sequences, list.shape[0]);
      if (sequences == contradictory) {
        fail(ErrorKind::model, {.what = "lists of offsets and lengths are not equally long"});
      }
    }
    if (sequences != dynamic && sequences % batch_size != 0) {
      fail(ErrorKind::model, {.what = "callbackBatchSize does not divide the number of sequences"});
    }
  }
};

}  // namespace halftone::op

#endif
