#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace halftone::ipu::detail {

/// A row of nodes that is cut into consecutive parts, so that the slowest part is as fast as it can be.
class Division {
 public:
  explicit Division(std::size_t count)
      : cycles(count + 1, 0),
        bytes(count + 1, 0),
        crossing(count + 1, 0),
        may_cut(count + 1, true) {}

  std::vector<double> cycles, bytes;  ///< of all nodes before; bytes: what has to fit
  std::vector<double> crossing;       ///< cycles over links, between nodes
  std::vector<char> may_cut;
  double capacity = std::numeric_limits<double>::infinity();  ///< bytes of a part

  std::size_t count() const { return cycles.size() - 1; }

  /// Adds up what was noted of single nodes, at the place behind each.
  void add_up() {
    for (std::size_t n = 0; n < count(); ++n) {
      cycles[n + 1] += cycles[n];
      bytes[n + 1] += bytes[n];
    }
  }
  /// What nodes `from` to `to` pass on takes so many cycles at each cut between them.
  void cross(std::size_t from, std::size_t to, double link_cycles) {
    for (std::size_t n = from + 1; n <= to; ++n) crossing[n] += link_cycles;
  }

  /// The end of each part, as many as there are shares, which are those of the cycles: nodes before it.
  /// Parts fit if any division has them so. Empty: there are fewer nodes than parts.
  std::vector<std::size_t> ends(const std::vector<double>& shares) const {
    std::vector<std::size_t> best = divided(shares, true);
    return best.empty() ? divided(shares, false) : best;
  }

 private:
  double cost(std::size_t begin, std::size_t end, double share) const {
    return (cycles[end] - cycles[begin]) / share + crossing[begin] + crossing[end];
  }

  /// By dynamic programming over where a part ends; empty: there is no such division.
  std::vector<std::size_t> divided(const std::vector<double>& shares, bool must_fit) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    // The best slowest part of nodes [0, end), and the sum of what crosses, which decides among equals.
    struct Best {
      double slowest = never, crossing = 0;
      std::size_t begin = 0;
    };
    const std::size_t parts = shares.size();
    const std::vector<std::size_t> cuts = candidates(parts);
    std::vector<std::vector<Best>> best(parts + 1, std::vector<Best>(cuts.size()));
    best[0][0].slowest = 0;
    for (std::size_t p = 1; p <= parts; ++p) {
      const double share = std::max(shares[p - 1] * static_cast<double>(parts), 1e-9);
      for (std::size_t e = p; e < cuts.size(); ++e) {
        for (std::size_t b = p - 1; b < e; ++b) {
          const Best& before = best[p - 1][b];
          if (before.slowest == never) continue;
          if (must_fit && bytes[cuts[e]] - bytes[cuts[b]] > capacity) continue;
          const double slowest = std::max(before.slowest, cost(cuts[b], cuts[e], share));
          const double crossed = before.crossing + crossing[cuts[e]];
          Best& now = best[p][e];
          if (slowest > now.slowest || (slowest == now.slowest && crossed >= now.crossing))
            continue;
          now = {slowest, crossed, b};
        }
      }
    }
    if (best[parts].back().slowest == never) return {};
    std::vector<std::size_t> ends(parts);
    for (std::size_t p = parts, e = cuts.size() - 1; p > 0; --p) {
      ends[p - 1] = cuts[e];
      e = best[p][e].begin;
    }
    return ends;
  }

  /// Places for cuts, the beginning and the end: of large graphs those where little crosses.
  std::vector<std::size_t> candidates(std::size_t parts) const {
    constexpr std::size_t most = 512;
    std::vector<std::size_t> cuts;
    for (std::size_t n = 1; n < count(); ++n) {
      if (may_cut[n]) cuts.push_back(n);
    }
    if (cuts.size() > most) {
      std::sort(cuts.begin(), cuts.end(), [&](std::size_t a, std::size_t b) {
        return crossing[a] != crossing[b] ? crossing[a] < crossing[b] : a < b;
      });
      cuts.resize(std::max(most, 4 * parts));
      std::sort(cuts.begin(), cuts.end());
    }
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(count());
    return cuts;
  }
};

}  // namespace halftone::ipu::detail
