#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_UPDATE_HPP
#define HALFTONE_OP_UPDATE_HPP

#include <initializer_list>
#include <string_view>

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

// kernel/update.hpp
template <class T, class S, class Op>
void update(const Op& op, const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2,
            View<S> s3, View<float> step, View<const float> h);

}  // namespace halftone::kernel

namespace halftone::op {

/// Adds to a variable: total += part.
///
/// total, part  the same shape; part is converted to total's type
/// source       PopART's Accumulate
struct Accumulate {
  static constexpr OpId id{"halftone", "Accumulate", 1};
  static constexpr Signature signature = "total:S& part -> y:S@total";
  using types = TypeList<TypeList<float, double>, FloatTypes>;

  static constexpr void cost(auto& machine, auto in, auto) {
    machine.move(in[1]);
    machine.pass("ScaledAdd", in[0]);
  }
  static constexpr Inferred infer(TensorInfo total, TensorInfo part) {
    if (total.shape != part.shape) return Inferred::mismatch("the shapes differ");
    return total;
  }
  template <class S, class T>
  void kernel(const KernelCall& call, View<S> total, View<const T> part, View<S>) const {
    constexpr std::int64_t piece = 1 << 14;
    const std::int64_t n = total.size();
    kernel::parallel_for(*call.executor, (n + piece - 1) / piece, [&](std::int64_t task) {
      const std::int64_t last = math::min(n, (task + 1) * piece);
      for (std::int64_t i = task * piece; i < last; ++i)
        total.data[i] += static_cast<S>(part.data[i]);
    });
  }
};

/// Counts runs: true in every n-th one, when what has been accumulated is to be used.
///
/// count   one number, the runs since the last time
/// source  none
struct EveryN {
  std::int64_t n = 1;

  static constexpr OpId id{"halftone", "EveryN", 1};
  static constexpr Signature signature = "count& -> y:B";
  using types = TypeList<TypeList<std::int64_t>, TypeList<bool>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("n", n); }
  static constexpr Inferred infer(TensorInfo) { return TensorInfo{ElementType::boolean, {}}; }
  template <class T, class B>
  void kernel(View<T> count, View<B> y) const {
    count.data[0] = (count.data[0] + 1) % n;
    y.data[0] = count.data[0] == 0;
  }
};

enum class Optimizing : std::int64_t {
  sgd,
  adam,
  adamax,
  lamb,
  adagrad,
  rmsprop,
  centered_rmsprop,
  adadelta
};
inline constexpr std::string_view optimizing_names[] = {
    "sgd", "adam", "adamax", "lamb", "adagrad", "rmsprop", "centered_rmsprop", "adadelta"};
constexpr std::span<const std::string_view> names_of(Optimizing) { return optimizing_names; }

/// One step of an optimizer for one weight, in a single pass over memory (two for lamb).
///
/// w          the weight, changed in place
/// g          its gradient, or the sum of gradients, which is then set to zero
/// s1 s2 s3   states of w's shape; which ones there are depends on the kind
/// step       how many steps were made
/// h          hyperparameters, see train.hpp
/// apply      absent or true: make the step; false: leave everything as it is
/// source     the formulas stand at the kinds
struct Update {
  Optimizing kind = Optimizing::sgd;
  bool nesterov = false, bias_correction = true, l2 = false, tf_variant = false, clear = false;
  bool combined = false;  ///< of sgd: the velocity decays at the end of a step, for the next one

  static constexpr OpId id{"halftone", "Update", 1};
  static constexpr Signature signature =
      "w& g:S& s1:S&? s2:S&? s3:S&? step:H&? h:H apply:B? -> w_next@w";
  using types = TypeList<FloatTypes, TypeList<float, double>, TypeList<float>, TypeList<bool>>;

  /// Numbers in h.
  enum Hyperparameter : std::size_t { learning_rate, weight_decay, scale, a, b, epsilon, c, count };

  constexpr void attributes(auto&& visit) {
    visit("kind", kind);
    visit("nesterov", nesterov);
    visit("bias_correction", bias_correction);
    visit("l2", l2);
    visit("tf_variant", tf_variant);
    visit("clear", clear);
    visit("combined", combined);
  }
  constexpr void cost(auto& machine, auto in, auto) const {
    const auto passes = [&](std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) machine.pass(name, in[1]);
    };
    machine.move(in[1]);
    if (l2) passes({"ScaledAdd"});
    if (clear) machine.fill(in[1]);
    switch (kind) {
      case Optimizing::sgd:
        if (in[2].is_known()) passes({"WeightedAdd"});
        if (nesterov) passes({"ScaledAdd"});
        if (combined) passes({"ScaledAdd"});
        break;
      case Optimizing::adamax:
        passes({"WeightedAdd", "Abs", "Max", "Div"});
        break;
      case Optimizing::adam:
      case Optimizing::lamb:
        passes({"WeightedAdd", "Mul", "WeightedAdd", "Sqrt", "Div"});
        break;
      case Optimizing::centered_rmsprop:
        passes({"WeightedAdd", "Mul", "Sub"});
        [[fallthrough]];
      case Optimizing::adagrad:
      case Optimizing::rmsprop:
        passes({"Mul", kind == Optimizing::adagrad ? "ScaledAdd" : "WeightedAdd", "Sqrt", "Div"});
        if (in[4].is_known()) passes({"ScaledAdd"});
        break;
      case Optimizing::adadelta:
        passes({"Mul", "WeightedAdd", "Sqrt", "Sqrt", "Div", "Mul", "Mul", "WeightedAdd"});
        break;
    }
    if (kind == Optimizing::lamb) {
      for (int norm = 0; norm < 2; ++norm) {
        passes({"Mul"});
        machine.reduce(in[1], 1);
      }
    }
    passes({"ScaledAdd"});
  }
  static constexpr Inferred infer(const Inputs& in) {
    if (in[0].shape != in[1].shape)
      return Inferred::mismatch("weight and gradient have different shapes");
    return in[0];
  }

  template <class T, class S, class H, class B>
  void kernel(const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2, View<S> s3,
              View<H> step, View<const H> h, View<const B> apply, View<T>) const {
    if (apply && !apply.data[0]) return;
    kernel::update<T, S>(*this, call, w, g, s1, s2, s3, step, h);
  }
  template <class T, class S, class H, class B>
  constexpr std::size_t workspace(const KernelCall&, View<T> w, View<S>, View<S>, View<S>, View<S>,
                                  View<H>, View<const H>, View<const B>, View<T>) const {
    return kind == Optimizing::lamb ? static_cast<std::size_t>(w.size()) * sizeof(S) : 0;
  }
};

}  // namespace halftone::op

#endif
