#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_CTC_HPP
#define HALFTONE_OP_GRAPHCORE_CTC_HPP

#include <halftone/kernel/ctc.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/graphcore_loss.hpp>

namespace halftone::op {

/// Connectionist temporal classification: -log of the probability of all paths that become the
/// labels when repeated classes, and then blanks, are removed.
///
/// log_probabilities  [steps, batch, classes], logarithms of probabilities
/// labels             [batch, length], without blanks
/// steps, lengths     [batch], how many steps and labels of each sample count
/// loss               [batch] or, reduced, a scalar; Mean divides each loss by its number of labels
///                    (at least 1) first
/// gradient           [steps, batch, classes], e^log_probability - the share of the paths that are
///                    there; steps that do not count keep e^log_probability
/// outDataType        element type of both, ONNX's number; 0: as the input
/// zeroInfinity       1: labels without a path have no loss and no gradient
/// grad               the output gradient, as loss is reduced. Behind a LogSoftmax, which is there
///                    by definition, it is the derivative
/// limits             without a path the loss is 65504; lengths beyond the extents and classes that
///                    there are not are an InputError of the run; sums are of double;
///                    enableReducedClassesInLabel has no effect
/// source             ai.graphcore Ctc-1; Graves et al. 2006
struct Ctc {
  LossReduction reduction = LossReduction::mean;
  std::int64_t blank = 0;
  ElementType out_data_type = ElementType::undefined;
  std::int64_t zero_infinity = 0, reduced_classes = 0;

  static constexpr OpId id{"ai.graphcore", "Ctc", 1};
  static constexpr Signature signature =
      "log_probabilities labels:I steps:L lengths:L -> loss:U gradient:U?";
  using types = TypeList<TypeList<float, half>, TypeList<std::int32_t, std::uint32_t>,
                         TypeList<std::int32_t, std::uint32_t>, TypeList<float, half>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("reduction", reduction);
    visit("blank", blank);
    visit("outDataType", out_data_type);
    visit("zeroInfinity", zero_infinity);
    visit("enableReducedClassesInLabel", reduced_classes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    // Forward and backward, each step adds logarithms from up to three states to each state.
    const TensorInfo &p = in[0], &labels = in[1];
    const bool has_gradient = out[1].is_known();
    const TensorInfo states{ElementType::float32, {labels.shape[0], 2 * labels.shape[1] + 1}};
    machine.repeat(p.shape[0] * (has_gradient ? 2 : 1));
    for (const char* const name : {"Max", "Sub", "Exp", "Add", "Log", "Add"}) {
      machine.pass(name, states);
    }
    machine.repeat(1);
    if (!has_gradient) return;
    machine.pass("Exp", p);
    machine.pass("Sub", p);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo &p = in[0], &labels = in[1];
    if (p.rank() != 3) {
      return Inferred::mismatch("the probabilities are not [steps, batch, classes]", 3,
                                static_cast<std::int64_t>(p.rank()));
    }
    if (labels.rank() != 2) {
      return Inferred::mismatch("the labels are not [batch, length]", 2,
                                static_cast<std::int64_t>(labels.rank()));
    }
    if (blank < 0 || (p.shape[2] != dynamic && blank >= p.shape[2])) {
      return Inferred::mismatch("the blank is no class", p.shape[2], blank);
    }
    std::int64_t batch = agree(p.shape[1], labels.shape[0]);
    if (batch == contradictory) {
      return Inferred::mismatch("the labels have another batch", p.shape[1], labels.shape[0]);
    }
    for (std::size_t i = 2; i < 4; ++i) {
      if (in[i].rank() != 1) {
        return Inferred::mismatch("the lengths are not a vector", 1,
                                  static_cast<std::int64_t>(in[i].rank()));
      }
      const std::int64_t both = agree(batch, in[i].shape[0]);
      if (both == contradictory) {
        return Inferred::mismatch("the lengths have another batch", batch, in[i].shape[0]);
      }
      batch = both;
    }
    const ElementType type = out_data_type == ElementType::undefined ? p.type : out_data_type;
    if (type != ElementType::float32 && type != ElementType::float16) {
      return Inferred::mismatch("outDataType is not float or half", 0,
                                static_cast<std::int64_t>(type));
    }
    TensorInfo loss{type, {}};
    if (reduction == LossReduction::no_reduction) loss.shape = {batch};
    Vector<TensorInfo> outputs{loss};
    if (in.output_count() > 1) outputs.push_back({type, p.shape});
    return outputs;
  }

  template <class T, class I, class L, class U>
  void kernel(const KernelCall& call, View<const T> p, View<const I> labels, View<const L> steps,
              View<const L> lengths, View<U> loss, View<U> gradient) const {
    const Space space(p.extent(0), p.extent(1), p.extent(2), labels.extent(1));
    const std::int64_t most = space.steps, batch = space.batch, classes = space.classes;
    double* const losses = static_cast<double*>(call.workspace);
    for (std::int64_t n = 0; n < batch; ++n) {
      check(steps[n], most + 1);
      check(lengths[n], space.labels + 1);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(lengths[n]); ++i) {
        check(labels[n * space.labels + i], classes);
      }
    }
    kernel::parallel_for(*call.executor, space.tasks, [&](std::int64_t task) {
      double* const mine = losses + batch + task * space.doubles();
      double* const posterior = mine + most * classes;
      double* const forward = posterior + most * classes;
      double* const backward = forward + most * space.states();
      auto* const label = reinterpret_cast<std::int64_t*>(backward + 2 * space.states());
      const std::int64_t end = batch * (task + 1) / space.tasks;
      for (std::int64_t n = batch * task / space.tasks; n < end; ++n) {
        const kernel::CtcSample sample{static_cast<std::int64_t>(steps[n]),
                                       classes,
                                       static_cast<std::int64_t>(lengths[n]),
                                       blank,
                                       mine,
                                       label};
        for (std::int64_t i = 0; i < sample.labels; ++i) label[i] = labels[n * space.labels + i];
        for (std::int64_t t = 0; t < most; ++t) {
          for (std::int64_t c = 0; c < classes; ++c) {
            mine[t * classes + c] = static_cast<double>(p[(t * batch + n) * classes + c]);
          }
        }
        const double whole = sample.total(forward);
        const double value = -whole < largest ? -whole : largest;
        const bool is_left_out = zero_infinity != 0 && value >= 0.99 * largest;
        losses[n] = is_left_out ? 0 : value;
        if (!gradient) continue;
        sample.posteriors(forward, whole, backward, posterior);
        for (std::int64_t t = 0; t < most; ++t) {
          for (std::int64_t c = 0; c < classes; ++c) {
            const std::int64_t i = t * classes + c;
            const double share = t < sample.steps ? posterior[i] : 0;
            const double value_here = is_left_out ? 0 : math::exp(mine[i]) - share;
            gradient[(t * batch + n) * classes + c] =
                static_cast<U>(static_cast<float>(value_here));
          }
        }
      }
    });
    double total = 0;
    for (std::int64_t n = 0; n < batch; ++n) {
      if (reduction == LossReduction::no_reduction) {
        if (loss) loss[n] = static_cast<U>(static_cast<float>(losses[n]));
      } else if (reduction == LossReduction::sum) {
        total += losses[n];
      } else {
        const auto count = static_cast<double>(lengths[n]);
        total += losses[n] / (count < 1 ? 1 : count) / static_cast<double>(batch);
      }
    }
    if (reduction != LossReduction::no_reduction && loss) {
      loss[0] = static_cast<U>(static_cast<float>(total));
    }
  }
  template <class T, class I, class L, class U>
  constexpr std::size_t workspace(const KernelCall&, View<const T> p, View<const I> labels,
                                  View<const L>, View<const L>, View<U>, View<U>) const {
    const Space space(p.extent(0), p.extent(1), p.extent(2), labels.extent(1));
    return static_cast<std::size_t>(space.batch + space.tasks * space.doubles()) * sizeof(double);
  }
  constexpr void gradient(auto& g) const {
    if (g.has_dy(1)) {
      fail(ErrorKind::unsupported, {.what = "Ctc's gradient has no gradient itself"});
    }
    auto& graph = g.graph();
    auto each = g.y(1), factor = g.dy();
    if (each.is_absent()) {
      each.id = detail::record(graph, *this, {g.x(0).id, g.x(1).id, g.x(2).id, g.x(3).id}, 2)[1];
    }
    const std::int64_t batch = each.info().shape[1];
    if (reduction == LossReduction::mean) {
      const auto lengths = maximum(cast(g.x(3), {.to = each.info().type}), 1);
      factor = factor / (lengths * static_cast<float>(batch));
    }
    if (reduction != LossReduction::sum) {
      factor = reshape(factor, constant(graph, {std::int64_t{1}, batch, std::int64_t{1}}));
    }
    g.dx(0) += each * factor;
  }

 private:
  static constexpr double largest = 65504;

  struct Space {
    std::int64_t steps, batch, classes, labels, tasks;
    constexpr Space(std::int64_t t, std::int64_t n, std::int64_t c, std::int64_t l)
        : steps(t), batch(n), classes(c), labels(l), tasks(n < 8 ? n : 8) {}
    constexpr std::int64_t states() const { return 2 * labels + 1; }
    constexpr std::int64_t doubles() const {
      return 2 * steps * classes + (steps + 2) * states() + labels;
    }
  };
  static void check(auto value, std::int64_t end) {
    const auto wide = static_cast<std::int64_t>(value);
    if (wide < 0 || wide >= end) halftone_index_error(wide, end);
  }
};

/// The most probable label sequences of connectionist temporal classification, by a search that
/// keeps the best ones after each step.
///
/// log_probabilities  [steps, batch, classes]
/// lengths            [batch] uint32, how many steps count
/// label_probs        [batch, top_paths] logarithms, the best first; -65504 where the search has
///                    found no more
/// label_lengths      [batch, top_paths] uint32
/// labels             [batch, top_paths, steps] uint32, blank behind the length
/// blank, beam_width, top_paths   class without label, sequences kept, sequences wanted
/// limits             a length beyond the steps is an InputError of the run
/// source             ai.graphcore CtcBeamSearchDecoder-1; Graves and Jaitly 2014
struct CtcBeamSearchDecoder {
  std::int64_t blank = 0, beam_width = 100, top_paths = 1;

  static constexpr OpId id{"ai.graphcore", "CtcBeamSearchDecoder", 1};
  static constexpr Signature signature =
      "log_probabilities lengths:L -> label_probs label_lengths:L labels:L";
  using types = TypeList<TypeList<float, half>, TypeList<std::uint32_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("blank", blank);
    visit("beam_width", beam_width);
    visit("top_paths", top_paths);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    // Each step adds every class to every sequence and keeps the best.
    const std::int64_t batch = in[0].shape[1], candidates = beam_width * in[0].shape[2];
    const TensorInfo scores{ElementType::float32, {batch, candidates}};
    machine.repeat(in[0].shape[0]);
    machine.pass("Add", scores);
    machine.top_k(scores, candidates, beam_width);
  }
  constexpr Inferred infer(TensorInfo p, TensorInfo lengths) const {
    if (p.rank() != 3) {
      return Inferred::mismatch("the probabilities are not [steps, batch, classes]", 3,
                                static_cast<std::int64_t>(p.rank()));
    }
    if (lengths.rank() != 1) {
      return Inferred::mismatch("the lengths are not a vector", 1,
                                static_cast<std::int64_t>(lengths.rank()));
    }
    if (blank < 0 || (p.shape[2] != dynamic && blank >= p.shape[2])) {
      return Inferred::mismatch("the blank is no class", p.shape[2], blank);
    }
    if (beam_width < 1 || beam_width > 1 << 16) {
      return Inferred::mismatch("beam_width is out of range", 1, beam_width);
    }
    if (top_paths < 1 || top_paths > beam_width) {
      return Inferred::mismatch("top_paths is out of range", beam_width, top_paths);
    }
    const std::int64_t batch = agree(p.shape[1], lengths.shape[0]);
    if (batch == contradictory) {
      return Inferred::mismatch("the lengths have another batch", p.shape[1], lengths.shape[0]);
    }
    return {{p.type, {batch, top_paths}},
            {ElementType::uint32, {batch, top_paths}},
            {ElementType::uint32, {batch, top_paths, p.shape[0]}}};
  }
  template <class T, class L>
  void kernel(const KernelCall& call, View<const T> p, View<const L> lengths, View<T> probabilities,
              View<L> label_lengths, View<L> labels) const {
    const std::int64_t steps = p.extent(0), batch = p.extent(1), classes = p.extent(2);
    const std::int64_t tasks = batch < 8 ? batch : 8;
    for (std::int64_t n = 0; n < batch; ++n) {
      const auto length = static_cast<std::int64_t>(lengths[n]);
      if (length > steps) halftone_index_error(length, steps + 1);
    }
    const std::size_t bytes = kernel::BeamSearch::bytes(steps, classes, beam_width);
    kernel::parallel_for(*call.executor, tasks, [&](std::int64_t task) {
      void* const mine =
          static_cast<std::byte*>(call.workspace) + static_cast<std::size_t>(task) * bytes;
      const std::int64_t end = batch * (task + 1) / tasks;
      for (std::int64_t n = batch * task / tasks; n < end; ++n) {
        kernel::BeamSearch search(mine, static_cast<std::int64_t>(lengths[n]), classes, beam_width,
                                  blank);
        search.run([&](std::int64_t t, std::int64_t c) {
          return static_cast<double>(p[(t * batch + n) * classes + c]);
        });
        for (std::int64_t i = 0; i < top_paths; ++i) {
          const std::int64_t at = n * top_paths + i;
          const bool is_found = i < search.count();
          probabilities[at] =
              static_cast<T>(is_found ? static_cast<float>(search.log_probability(i)) : -65504.f);
          label_lengths[at] = static_cast<L>(is_found ? search.length(i) : 0);
          L* const row = labels.data + at * steps;
          for (std::int64_t t = 0; t < steps; ++t) row[t] = static_cast<L>(blank);
          if (is_found) search.labels(i, row);
        }
      }
    });
  }
  template <class T, class L>
  constexpr std::size_t workspace(const KernelCall&, View<const T> p, View<const L>, View<T>,
                                  View<L>, View<L>) const {
    const std::int64_t batch = p.extent(1);
    return static_cast<std::size_t>(batch < 8 ? batch : 8) *
           kernel::BeamSearch::bytes(p.extent(0), p.extent(2), beam_width);
  }
};

}  // namespace halftone::op

#endif
