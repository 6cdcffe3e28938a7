#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/math.hpp>

namespace halftone::kernel {

namespace detail {

inline constexpr double no_probability = -__builtin_inf();

/// log(e^a + e^b).
inline double log_add(double a, double b) {
  const double high = a > b ? a : b, low = a > b ? b : a;
  return low == no_probability ? high : high + math::log1p(math::exp(low - high));
}

}  // namespace detail

/// One sample of connectionist temporal classification, in double.
struct CtcSample {
  std::int64_t steps, classes, labels, blank;
  const double* log_probabilities;  ///< [steps, classes]
  const std::int64_t* label;        ///< [labels]

  constexpr std::int64_t states() const { return 2 * labels + 1; }
  /// The class of a state: blanks around each label.
  constexpr std::int64_t class_of(std::int64_t s) const {
    return s % 2 == 0 ? blank : label[s / 2];
  }
  /// Whether a state may follow the one before the last.
  constexpr bool skips(std::int64_t s) const {
    return s >= 2 && s % 2 == 1 && label[s / 2] != label[s / 2 - 1];
  }

  /// Logarithm of the probability of all paths to the labels. `forward` has room for [steps,
  /// states].
  double total(double* forward) const {
    const std::int64_t n = states();
    if (steps == 0) return labels == 0 ? 0 : detail::no_probability;
    for (std::int64_t t = 0; t < steps; ++t) {
      const double* const p = log_probabilities + t * classes;
      const double* const before = forward + (t - 1) * n;
      double* const now = forward + t * n;
      for (std::int64_t s = 0; s < n; ++s) {
        double sum = detail::no_probability;
        if (t == 0) {
          if (s < 2) sum = 0;
        } else {
          sum = before[s];
          if (s >= 1) sum = detail::log_add(sum, before[s - 1]);
          if (skips(s)) sum = detail::log_add(sum, before[s - 2]);
        }
        now[s] = sum + p[class_of(s)];
      }
    }
    const double* const last = forward + (steps - 1) * n;
    return n > 1 ? detail::log_add(last[n - 1], last[n - 2]) : last[0];
  }

  /// posterior[t, c]: share of the paths to the labels that are at class c in step t. `backward`
  /// has room for two rows of states.
  void posteriors(const double* forward, double whole, double* backward, double* posterior) const {
    const std::int64_t n = states();
    for (std::int64_t i = 0; i < steps * classes; ++i) posterior[i] = 0;
    if (whole == detail::no_probability) return;
    double *now = backward, *later = backward + n;
    for (std::int64_t t = steps; t-- > 0;) {
      for (std::int64_t s = 0; s < n; ++s) {
        if (t == steps - 1) {
          now[s] = s >= n - 2 ? 0 : detail::no_probability;
          continue;
        }
        const double* const p = log_probabilities + (t + 1) * classes;
        double sum = later[s] + p[class_of(s)];
        if (s + 1 < n) sum = detail::log_add(sum, later[s + 1] + p[class_of(s + 1)]);
        if (s + 2 < n && skips(s + 2)) {
          sum = detail::log_add(sum, later[s + 2] + p[class_of(s + 2)]);
        }
        now[s] = sum;
      }
      for (std::int64_t s = 0; s < n; ++s) {
        posterior[t * classes + class_of(s)] += math::exp(forward[t * n + s] + now[s] - whole);
      }
      double* const other = now;
      now = later;
      later = other;
    }
  }
};

/// Search for the most probable label sequences that keeps `width` of them after each step.
class BeamSearch {
 public:
  /// A sequence of labels: one label behind another sequence; 0 is the empty one. Those that
  /// continue a sequence are a list, -1 at its end.
  struct Sequence {
    std::int32_t parent, label, first, next;
  };
  /// Logarithms of the probability of a sequence whose paths end with a blank, or not.
  struct Beam {
    std::int32_t sequence;
    double blank, label;
    double total() const { return detail::log_add(blank, label); }
  };
  struct Candidate {
    double total, blank, label;
    std::int32_t from, extension;  ///< beam, and class of the label behind it or -1
  };

  static constexpr std::size_t bytes(std::int64_t steps, std::int64_t classes, std::int64_t width) {
    return static_cast<std::size_t>(width) * (sizeof(Candidate) + sizeof(Beam) * 2) +
           static_cast<std::size_t>(steps * width + 1) * sizeof(Sequence) +
           static_cast<std::size_t>(classes + 7) / 8 * 8;
  }

  BeamSearch(void* space, std::int64_t steps, std::int64_t classes, std::int64_t width,
             std::int64_t blank)
      : steps_(steps), classes_(classes), width_(width), blank_(blank) {
    heap_ = static_cast<Candidate*>(space);
    beams_ = reinterpret_cast<Beam*>(heap_ + width);
    next_ = beams_ + width;
    sequences_ = reinterpret_cast<Sequence*>(next_ + width);
    has_child_ = reinterpret_cast<std::uint8_t*>(sequences_ + steps * width + 1);
  }

  /// log_probability(t, c); the best sequences come first then.
  template <class F>
  void run(F&& log_probability) {
    sequences_[0] = {-1, -1, -1, -1};
    std::int32_t sequence_count = 1;
    beams_[0] = {0, 0, detail::no_probability};
    count_ = 1;
    for (std::int64_t t = 0; t < steps_; ++t) {
      candidates_ = 0;
      for (std::int64_t b = 0; b < count_; ++b) {
        const Beam& beam = beams_[b];
        const Sequence sequence = sequences_[beam.sequence];
        const double whole = beam.total();
        double stays = detail::no_probability;
        if (sequence.label >= 0) {
          const double p = log_probability(t, sequence.label);
          stays = beam.label + p;
          // Another beam may become this sequence by its last label.
          for (std::int64_t o = 0; o < count_; ++o) {
            if (beams_[o].sequence != sequence.parent) continue;
            stays = detail::log_add(stays, extended(beams_[o], sequence.label) + p);
          }
        }
        offer(whole + log_probability(t, blank_), stays, b, -1);
        for (std::int64_t c = 0; c < classes_; ++c) has_child_[c] = 0;
        for (std::int64_t o = 0; o < count_; ++o) {
          const Sequence other = sequences_[beams_[o].sequence];
          if (other.parent == beam.sequence) has_child_[other.label] = 1;
        }
        for (std::int64_t c = 0; c < classes_; ++c) {
          if (c == blank_ || has_child_[c] != 0) continue;
          const auto label = static_cast<std::int32_t>(c);
          offer(detail::no_probability, extended(beam, label) + log_probability(t, c), b, label);
        }
      }
      for (std::int64_t i = 0; i < candidates_; ++i) {
        const Candidate& chosen = heap_[i];
        std::int32_t id = beams_[chosen.from].sequence;
        if (chosen.extension >= 0) {
          // One that left the search may come back.
          const std::int32_t parent = id;
          id = sequences_[parent].first;
          while (id >= 0 && sequences_[id].label != chosen.extension) id = sequences_[id].next;
          if (id < 0) {
            id = sequence_count++;
            sequences_[id] = {parent, chosen.extension, -1, sequences_[parent].first};
            sequences_[parent].first = id;
          }
        }
        next_[i] = {id, chosen.blank, chosen.label};
      }
      count_ = candidates_;
      Beam* const other = beams_;
      beams_ = next_;
      next_ = other;
    }
    for (std::int64_t i = 1; i < count_; ++i) {
      const Beam beam = beams_[i];
      std::int64_t at = i;
      for (; at > 0 && beams_[at - 1].total() < beam.total(); --at) beams_[at] = beams_[at - 1];
      beams_[at] = beam;
    }
  }

  std::int64_t count() const { return count_; }
  double log_probability(std::int64_t i) const { return beams_[i].total(); }
  std::int64_t length(std::int64_t i) const {
    std::int64_t n = 0;
    for (std::int32_t s = beams_[i].sequence; s != 0; s = sequences_[s].parent) ++n;
    return n;
  }
  template <class L>
  void labels(std::int64_t i, L* to) const {
    std::int64_t n = length(i);
    for (std::int32_t s = beams_[i].sequence; s != 0; s = sequences_[s].parent) {
      to[--n] = static_cast<L>(sequences_[s].label);
    }
  }

 private:
  /// A label that repeats the last one needs a blank between.
  double extended(const Beam& beam, std::int32_t label) const {
    return sequences_[beam.sequence].label == label ? beam.blank : beam.total();
  }
  /// Keeps the candidate if it is among the best; the worst of them is on top of the heap.
  void offer(double blank, double label, std::int64_t from, std::int32_t extension) {
    const double total = detail::log_add(blank, label);
    if (total == detail::no_probability) return;
    const Candidate item{total, blank, label, static_cast<std::int32_t>(from), extension};
    std::int64_t at = candidates_;
    if (candidates_ < width_) {
      ++candidates_;
      for (; at > 0 && heap_[(at - 1) / 2].total > total; at = (at - 1) / 2) {
        heap_[at] = heap_[(at - 1) / 2];
      }
    } else {
      if (!(total > heap_[0].total)) return;
      at = 0;
      for (;;) {
        std::int64_t child = 2 * at + 1;
        if (child >= width_) break;
        if (child + 1 < width_ && heap_[child + 1].total < heap_[child].total) ++child;
        if (!(heap_[child].total < total)) break;
        heap_[at] = heap_[child];
        at = child;
      }
    }
    heap_[at] = item;
  }

  std::int64_t steps_, classes_, width_, blank_, count_ = 0, candidates_ = 0;
  Candidate* heap_;
  Beam *beams_, *next_;
  Sequence* sequences_;
  std::uint8_t* has_child_;
};

}  // namespace halftone::kernel
