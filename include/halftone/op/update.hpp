#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_UPDATE_HPP
#define HALFTONE_OP_UPDATE_HPP

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Adds to a variable: total += part.
///
/// total, part  the same shape; part is converted to total's type
/// source       PopART's Accumulate
struct Accumulate {
  static constexpr OpId id{"halftone", "Accumulate", 1};
  static constexpr Signature signature = "total:S& part -> y:S@total";
  using types = TypeList<TypeList<float, double>, FloatTypes>;

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
    const std::int64_t n = w.size();
    const auto at = [&](Hyperparameter k) { return static_cast<S>(h.data[k]); };
    const S lr = at(learning_rate), decay = at(weight_decay), unscale = at(scale);
    if (step) step.data[0] += 1;
    constexpr std::int64_t piece = 1 << 14;
    const auto all = [&](auto each) {
      kernel::parallel_for(*call.executor, (n + piece - 1) / piece, [&](std::int64_t task) {
        const std::int64_t last = math::min(n, (task + 1) * piece);
        for (std::int64_t i = task * piece; i < last; ++i) each(i);
      });
    };
    // The gradient as the optimizer has it; the sum starts again.
    const auto gradient = [&](std::int64_t i) {
      S value = g.data[i] * unscale;
      if (l2) value += decay * static_cast<S>(w.data[i]);
      if (clear) g.data[i] = 0;
      return value;
    };
    const auto weight = [&](std::int64_t i) { return static_cast<S>(w.data[i]); };
    const S outside = l2 ? S(0) : decay;

    switch (kind) {
      case Optimizing::sgd: {
        // v = a v + c (1 - b) g, w -= lr / c v: a momentum, b dampening, c velocity scaling
        const S momentum = at(a), fresh = 1 - at(b), scaling = at(c);
        all([&](std::int64_t i) {
          const S d = gradient(i);
          S v = fresh * d;
          if (s1) {
            v = momentum * s1.data[i] / scaling + v;
            s1.data[i] = v * scaling;
          }
          const S x = nesterov ? d + momentum * v : v;
          w.data[i] = static_cast<T>(weight(i) - lr * x);
        });
        break;
      }
      case Optimizing::adam:
      case Optimizing::adamax:
      case Optimizing::lamb: {
        // m = a m + (1 - a) g, v = b v + (1 - b) g^2: Kingma and Ba 2014; lamb: You et al. 2019
        const S beta1 = at(a), beta2 = at(b), eps = at(epsilon);
        const double t = step ? static_cast<double>(step.data[0]) : 1;
        const S correct1 =
            bias_correction ? S(1 / (1 - power(static_cast<double>(h.data[a]), t))) : S(1);
        const S correct2 = bias_correction && kind != Optimizing::adamax
                               ? S(1 / (1 - power(static_cast<double>(h.data[b]), t)))
                               : S(1);
        const bool largest = kind == Optimizing::adamax;
        const auto direction = [&](std::int64_t i) {
          const S d = gradient(i);
          const S m = s1.data[i] = beta1 * s1.data[i] + (1 - beta1) * d;
          S root;
          if (largest) {
            root = s2.data[i] = math::max(beta2 * s2.data[i], static_cast<S>(math::abs(d)));
          } else {
            const S v = s2.data[i] = beta2 * s2.data[i] + (1 - beta2) * d * d;
            root = static_cast<S>(math::sqrt(v * correct2));
          }
          return m * correct1 / (root + eps) + outside * weight(i);
        };
        if (kind != Optimizing::lamb) {
          all([&](std::int64_t i) { w.data[i] = static_cast<T>(weight(i) - lr * direction(i)); });
          break;
        }
        S* const x = static_cast<S*>(call.workspace);
        all([&](std::int64_t i) { x[i] = direction(i); });
        double w_square = 0, x_square = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          w_square += static_cast<double>(weight(i)) * static_cast<double>(weight(i));
          x_square += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        }
        const double limit = static_cast<double>(h.data[c]);
        const double w_norm = math::min(math::sqrt(w_square), limit);
        const double x_norm = math::sqrt(x_square);
        const bool is_plain = w_square == 0 || x_square == 0 || limit == 0;
        const S rate = is_plain ? lr : lr * static_cast<S>(w_norm / x_norm);
        all([&](std::int64_t i) { w.data[i] = static_cast<T>(weight(i) - rate * x[i]); });
        break;
      }
      case Optimizing::adagrad:
      case Optimizing::rmsprop:
      case Optimizing::centered_rmsprop:
      case Optimizing::adadelta: {
        // v = a v + (1 - a) g^2, x = g / sqrt(v); s3 is momentum b of x
        const S alpha = at(a), momentum = at(b), eps = at(epsilon);
        all([&](std::int64_t i) {
          const S d = gradient(i), square = d * d;
          S& v = s1.data[i];
          v = kind == Optimizing::adagrad ? v + square : alpha * v + (1 - alpha) * square;
          S around = v, x;
          if (kind == Optimizing::centered_rmsprop) {
            const S average = s2.data[i] = alpha * s2.data[i] + (1 - alpha) * d;
            around -= average * average;
          }
          if (kind == Optimizing::adadelta) {
            x = d * static_cast<S>(math::sqrt(s2.data[i] + eps)) /
                static_cast<S>(math::sqrt(v + eps));
            s2.data[i] = alpha * s2.data[i] + (1 - alpha) * x * x;
          } else {
            x = tf_variant ? d / static_cast<S>(math::sqrt(around + eps))
                           : d / (static_cast<S>(math::sqrt(around)) + eps);
          }
          const S old = weight(i);
          if (s3) {
            // The tensorflow form keeps the learning rate of each step in the momentum.
            x = s3.data[i] = momentum * s3.data[i] + (tf_variant ? lr * x : x);
          }
          const bool has_rate = tf_variant && s3;
          w.data[i] =
              static_cast<T>(has_rate ? old - (x + outside * old) : old - lr * (x + outside * old));
        });
        break;
      }
    }
  }
  template <class T, class S, class H, class B>
  std::size_t workspace(const KernelCall&, View<T> w, View<S>, View<S>, View<S>, View<S>, View<H>,
                        View<const H>, View<const B>, View<T>) const {
    return kind == Optimizing::lamb ? static_cast<std::size_t>(w.size()) * sizeof(S) : 0;
  }

 private:
  static double power(double base, double exponent) { return math::pow(base, exponent); }
};

}  // namespace halftone::op

#endif
