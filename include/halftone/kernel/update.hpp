#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/lanes.hpp>
#include <halftone/kernel/math.hpp>

namespace halftone::kernel {

/// op::Update for a step that is made and counted. T: of the weight, S: of gradient and states. An Op
/// may add to the squares of which Lamb takes the norms.
///
/// Sums of products name the one that is not rounded, because compilers choose it anew for the last
/// elements: a part of a weight is updated bit for bit as the whole.
template <class T, class S, class Op>
void update_elements(const Op& op, const KernelCall& call, View<T> w, View<S> g, View<S> s1,
                     View<S> s2, View<S> s3, View<float> step, View<const float> h) {
  using V = Vec<S>;
  using Kind = decltype(op.kind);
  const std::int64_t n = w.size();
  const auto at = [&](auto k) { return static_cast<S>(h.data[k]); };
  constexpr std::int64_t piece = 1 << 14;
  // Rules and what they hold are values: no store may change what a loop works with.
  const auto all = [&](auto rule) {
    parallel_for(*call.executor, (n + piece - 1) / piece, [=](std::int64_t task) {
      const auto each = rule;
      for_lanes<S>(task * piece, math::min(n, (task + 1) * piece), each);
    });
  };
  const auto weight = [w = w.data](auto lanes) { return lanes.load(w); };
  // The gradient as the optimizer has it; the sum starts again.
  const V unscale = at(Op::scale), decay = at(Op::weight_decay);
  const auto gradient = [g = g.data, w = w.data, unscale, decay, l2 = op.l2,
                         clear = op.clear](auto lanes) {
    V value = lanes.load(g) * unscale;
    if (l2) value = fma(decay, V(lanes.load(w)), value);
    if (clear) lanes.store(g, V(S(0)));
    return value;
  };
  const V less = -at(Op::learning_rate), outside = op.l2 ? S(0) : at(Op::weight_decay);
  const V eps = at(Op::epsilon);

  switch (op.kind) {
    case Kind::sgd: {
      // v = a v + c (1 - b) g, w -= lr / c v: a momentum, b dampening, c velocity scaling
      const V momentum = at(Op::a), fresh = 1 - at(Op::b), scaling = at(Op::c);
      const V kept = at(Op::a) / at(Op::c);
      if (op.combined) {
        // v += c (1 - b) g, w -= lr / c v; then v = a v + c (1 - b) wd w for the next step.
        all([=, w = w.data, g = g.data, v = s1.data, nesterov = op.nesterov,
             clear = op.clear](auto lanes) {
          const V d = lanes.load(g) * unscale, old = weight(lanes);
          if (clear) lanes.store(g, V(S(0)));
          const V x = fma(fresh, d, V(lanes.load(v)) / scaling);
          const V direction = nesterov ? fma(momentum, x, fma(decay, old, d)) : x;
          lanes.store(w, fma(less, direction, old));
          lanes.store(v, fma(momentum, x, fresh * decay * V(weight(lanes))) * scaling);
        });
        break;
      }
      all([=, w = w.data, v = s1.data, nesterov = op.nesterov](auto lanes) {
        const V d = gradient(lanes);
        V x = fresh * d;
        if (v != nullptr) {
          x = fma(kept, V(lanes.load(v)), x);
          lanes.store(v, x * scaling);
        }
        if (nesterov) x = fma(momentum, x, d);
        lanes.store(w, fma(less, x, V(weight(lanes))));
      });
      break;
    }
    case Kind::adam:
    case Kind::adamax:
    case Kind::lamb: {
      // m = a m + (1 - a) g, v = b v + (1 - b) g^2: Kingma and Ba 2014; lamb: You et al. 2019
      const double t = step ? static_cast<double>(step.data[0]) : 1;
      const bool largest = op.kind == Kind::adamax;
      const auto correction = [&](auto beta, bool is_made) -> V {
        if (!is_made) return S(1);
        return static_cast<S>(1 / (1 - math::pow(static_cast<double>(h.data[beta]), t)));
      };
      const V beta1 = at(Op::a), beta2 = at(Op::b), rest1 = 1 - at(Op::a), rest2 = 1 - at(Op::b);
      const V correct1 = correction(Op::a, op.bias_correction);
      const V correct2 = correction(Op::b, op.bias_correction && !largest);
      const auto direction = [=, s1 = s1.data, s2 = s2.data](auto lanes) {
        const V d = gradient(lanes);
        const V m = fma(beta1, V(lanes.load(s1)), rest1 * d);
        lanes.store(s1, m);
        V v = beta2 * lanes.load(s2);
        v = largest ? max(v, abs(d)) : fma(rest2 * d, d, v);
        lanes.store(s2, v);
        const V root = largest ? v : sqrt(v * correct2);
        return fma(outside, V(weight(lanes)), m * correct1 / (root + eps));
      };
      if (op.kind != Kind::lamb) {
        all([=, w = w.data](auto lanes) {
          const V x = direction(lanes);
          lanes.store(w, fma(less, x, V(weight(lanes))));
        });
        break;
      }
      S* const x = static_cast<S*>(call.workspace);
      all([=](auto lanes) { lanes.store(x, direction(lanes)); });
      double squares[2] = {};
      auto& [w_square, x_square] = squares;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(static_cast<S>(w.data[i]));
        w_square += value * value;
        x_square += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      if constexpr (requires { op.add_squares(call, squares); }) op.add_squares(call, squares);
      const double limit = static_cast<double>(h.data[Op::c]);
      const double w_norm = math::min(math::sqrt(w_square), limit);
      const double x_norm = math::sqrt(x_square);
      const bool is_plain = w_square == 0 || x_square == 0 || limit == 0;
      const V rate = is_plain ? less : less * V(static_cast<S>(w_norm / x_norm));
      all([=, w = w.data](auto lanes) {
        lanes.store(w, fma(rate, V(lanes.load(x)), V(weight(lanes))));
      });
      break;
    }
    case Kind::adagrad:
    case Kind::rmsprop:
    case Kind::centered_rmsprop:
    case Kind::adadelta: {
      // v = a v + (1 - a) g^2, x = g / sqrt(v); s3 is momentum b of x
      const V alpha = at(Op::a), rest = 1 - at(Op::a), momentum = at(Op::b);
      const V rate = at(Op::learning_rate), minus_one = S(-1);
      all([=, w = w.data, s1 = s1.data, s2 = s2.data, s3 = s3.data, kind = op.kind,
           tf_variant = op.tf_variant](auto lanes) {
        const V d = gradient(lanes), kept = lanes.load(s1);
        const V v = kind == Kind::adagrad ? fma(d, d, kept) : fma(alpha, kept, rest * d * d);
        lanes.store(s1, v);
        V around = v, x;
        if (kind == Kind::centered_rmsprop) {
          const V average = fma(alpha, V(lanes.load(s2)), rest * d);
          lanes.store(s2, average);
          around = fma(-average, average, around);
        }
        if (kind == Kind::adadelta) {
          const V before = lanes.load(s2);
          x = d * sqrt(before + eps) / sqrt(v + eps);
          lanes.store(s2, fma(alpha, before, rest * x * x));
        } else {
          x = tf_variant ? d / sqrt(around + eps) : d / (sqrt(around) + eps);
        }
        const V old = weight(lanes);
        const bool has_rate = tf_variant && s3 != nullptr;
        if (s3 != nullptr) {
          // The tensorflow form keeps the learning rate of each step in the momentum.
          x = fma(momentum, V(lanes.load(s3)), tf_variant ? rate * x : x);
          lanes.store(s3, x);
        }
        lanes.store(w, fma(has_rate ? minus_one : less, fma(outside, old, x), old));
      });
      break;
    }
  }
}

inline void count_step(View<float> step) {
  if (step) step.data[0] += 1;
}

/// op::Update for a step that is made; see update_elements().
template <class T, class S, class Op>
void update(const Op& op, const KernelCall& call, View<T> w, View<S> g, View<S> s1, View<S> s2,
            View<S> s3, View<float> step, View<const float> h) {
  count_step(step);
  update_elements<T, S>(op, call, w, g, s1, s2, s3, step, h);
}

}  // namespace halftone::kernel
