#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/profile.hpp>

namespace halftone::ipu {

inline constexpr std::int64_t most_repeats = std::int64_t{1} << 32;  ///< that a profile counts
inline constexpr double most_flops = 1e16;                           ///< of one operator
inline constexpr std::int64_t repeat_cycles = 10;  ///< of the control of a loop, each pass

inline std::int64_t element_bytes(const TensorInfo& info) {
  return std::max(size_in_bytes(info.type), 1);
}

/// Appends supersteps to a report, with the time, the code and the memory that they need.
class Steps {
 public:
  /// What the next step belongs to.
  struct Here {
    const Graph* graph = nullptr;
    const Node* node = nullptr;  ///< null: host steps
    std::int32_t operation = -1, ipu = 0, program = 0;
    std::int64_t repeats = 1;  ///< how often the program runs
    std::int64_t passes = 1;   ///< how often the program that holds the operation runs
    std::int64_t times = 1;    ///< how often the piece of work is done
    bool has_code = true;      ///< the node is the first of its kind: the others share its code
  };

  explicit Steps(Report& report);

  Here here{};
  Report& report;
  const Target& t;

  Step& add(StepKind kind, std::int64_t cycles) { return add(kind, cycles, 0, t.tiles_per_ipu); }
  Step& add(StepKind kind, std::int64_t cycles, std::int64_t bytes, std::int64_t tiles);
  /// A compute set over the tiles of a mapping, so many cycles on its fullest tile. `balance`: the
  /// share of these cycles that a tile with as many elements has on average.
  void compute(std::string_view vertex, const Mapping& over, std::int64_t cycles,
               double balance = 1, std::int64_t flops = 0);
  /// Each of `tiles` tiles receives so many bytes: sync, exchange, and the memory to receive them.
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles, std::int64_t cycles);
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles) {
    exchange(bytes_on_tile, tiles, exchange_cycles(t, bytes_on_tile));
  }
  void copy(std::int64_t cycles, std::int64_t tiles);
  /// A tensor comes to this IPU from another one over links.
  void link(std::int32_t from, std::int64_t bytes);

  /// A program within this one, for the steps to come; returns where the steps behind it belong.
  /// Throws UnsupportedError for more than `most_repeats` passes.
  Here open_program(std::string name, std::int64_t repeats);

  /// Memory on this IPU from now on; returns its number.
  std::int32_t add_variable(std::string name, const Mapping& mapping, std::int64_t element_bytes,
                            Category category = Category::temporaries);
  /// Memory is needed up to this step, at least.
  void keep_until(std::int32_t variable, std::int32_t step);
  /// Received data is not needed beyond the node.
  void drop_received() { received_.clear(); }
  /// The number of the newest step; 0 if there is none.
  std::int32_t newest() const {
    return std::max(0, static_cast<std::int32_t>(report.steps.size()) - 1);
  }
  Operation& operation() { return report.operations[static_cast<std::size_t>(here.operation)]; }

  /// Operations on so many elements, as often as the piece of work is done.
  std::int64_t flops_of(std::int64_t elements, std::int64_t each = 1) const;
  /// Throws UnsupportedError for more than `most` of what is counted.
  void check_countable(std::string_view what, double number, double most) const;

  /// Adds the memory that every tile of an IPU has alike.
  void finish(bool has_host_exchange);

 private:
  std::int16_t vertex_number(std::string_view name);
  std::int64_t& bytes(std::int64_t tile, Category category) {
    return report.memory[static_cast<std::size_t>(here.ipu * t.tiles_per_ipu + tile)]
                        [static_cast<std::size_t>(category)];
  }
  std::int64_t& bytes_on_all(std::int32_t ipu, Category category) {
    return on_all_tiles_[static_cast<std::size_t>(ipu)][static_cast<std::size_t>(category)];
  }

  double cycles_ = 0;                   // so far
  std::vector<std::int32_t> received_;  // live until the next compute set
  std::vector<std::array<std::int64_t, categories>> on_all_tiles_;  // of each IPU
  std::map<std::string, std::int16_t, std::less<>> vertex_numbers_{};
  std::map<std::pair<std::int16_t, std::int32_t>, std::vector<bool>> has_vertex_{};
};

}  // namespace halftone::ipu
