#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/op/repeat.hpp>

namespace halftone::ipu {

/// Turns a graph whose shapes are known into a program of supersteps with a mapping of every
/// tensor. Appends to a report.
class Lowering {
 public:
  /// `placement`: the IPU of each node of the main graph; empty: all on the first.
  Lowering(Report& report, std::vector<std::int32_t> placement);
  void run(const Graph& graph);

 private:
  /// How a tensor lies on its IPU. Tensors of one layout match element by element.
  struct Placed {
    bool is_known = false;
    std::int32_t ipu = 0;
    Mapping mapping;
    std::uint32_t layout = 0;
    bool is_grouped = false;                ///< channels as products want them
    std::vector<std::int32_t> variables{};  ///< whose memory it is
  };
  /// A graph that is being lowered: the main one, or a body.
  struct Frame {
    const Graph* graph;
    std::vector<Placed> placed;
    std::vector<std::int32_t> last_use{}, made_by{};               ///< nodes, operations
    std::vector<TensorId> updates{};                               ///< the variable that it changes
    std::map<std::pair<TensorId, std::int32_t>, Placed> copies{};  ///< on other IPUs
  };

  /// The IPU of the first node that reads a tensor of the main graph.
  std::int32_t first_reader(const Graph& graph, TensorId id) const;
  void lower_graph(Frame& frame);
  std::string operation_name(const Frame& frame, const Node& node, std::size_t number);
  void lower_node(Frame& frame, std::size_t number);
  void lower_elementwise(Frame& frame, const Node& node);
  /// A subgraph whose inputs have their places; comes back to the node's frame.
  void lower_inside(Frame& frame, const Node& node, Frame& inner);
  void lower_repetition(Frame& frame, const Node& node, const op::Repeat& repeat);
  void lower_call(Frame& frame, const Node& node, std::size_t first_input);
  void lower_body(Frame& frame, const Node& node, const Graph& body, std::size_t first_input);
  void lower_other(const Node& node, std::span<const TensorInfo> in,
                   std::span<const TensorInfo> out);
  /// A piece of the work of the node that is being lowered, as often as it is done.
  void lower_work(const Work& work);
  void product(const ProductExtents& extents);
  void pass(std::string_view op, const TensorInfo& x);
  void reduce(const TensorInfo& x, std::int64_t outputs, bool is_sum);
  void cast(const TensorInfo& x, ElementType to);
  void gather(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
              std::int64_t groups);
  void scatter(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements, bool is_sum,
               std::int64_t groups);
  void dynamic_slice(const TensorInfo& part, std::int64_t slices);
  void keep(const TensorInfo& x);
  void move(const TensorInfo& x);
  void fill(const TensorInfo& y);
  void pool(const TensorInfo& y, std::int64_t taps, bool is_max);
  void random(const TensorInfo& y, std::int64_t cycles_per_vector);
  void top_k(const TensorInfo& x, std::int64_t n, std::int64_t k);
  void vertex(const TensorInfo& x, std::int64_t worker_cycles);
  void transfer(const TensorInfo& x);
  /// The tensor where a node can read it, on its IPU.
  Placed& place(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  Placed& local(Frame& frame, TensorId id, const Placed* wanted = nullptr);
  void place_output(Frame& frame, TensorId id, const Placed& like);
  void place_outputs(Frame& frame, const Node& node, std::size_t number);
  /// Whether output 0 takes the place of input 0, which is read for the last time.
  bool overwrites_input(const Frame& frame, const Node& node, std::size_t number) const;
  /// Where the work on x goes on: at home, at the first input's place, or anywhere.
  Mapping work_on(const TensorInfo& x);
  void copy_on_tiles(std::int64_t cycles, std::int64_t tiles);
  /// How rows of tables are split: tables first, then the rows' elements, then the dictionary, at
  /// least two entries a tile.
  struct RowSplit {
    std::int64_t tiles, dictionary, elements, serial;  ///< a tile's elements of a row, its tables
  };
  RowSplit split_rows(const TensorInfo& tables, std::int64_t row_elements,
                      std::int64_t groups) const;
  void fetch_inputs(Frame& frame, const Node& node);
  void touch(const Placed& placed);

  Placed linear(const TensorInfo& info);
  Mapping next_linear(std::int64_t elements, ElementType type);
  std::int32_t add_variable(std::string name, const Mapping& mapping, std::int64_t element_bytes,
                            Category category);
  std::int16_t vertex_number(std::string_view name);

  Step& add_step(StepKind kind, std::int64_t cycles);
  /// A compute set over the tiles of a mapping, so many cycles on its fullest tile.
  void compute(std::string_view vertex_name, const Mapping& over, std::int64_t cycles,
               double balance = 1, std::int64_t flops = 0);
  /// Each of `tiles` tiles receives so many bytes: sync, exchange, and the memory to receive them.
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles, std::int64_t cycles);
  void exchange(std::int64_t bytes_on_tile, std::int64_t tiles) {
    exchange(bytes_on_tile, tiles, exchange_cycles(t_, bytes_on_tile));
  }
  /// Brings a tensor into another layout.
  void rearrange(const Placed& from, const Mapping& to, std::int64_t element_bytes);
  std::int32_t open_program(std::string name, std::int64_t repeats);
  void close_program(std::int32_t before);
  /// How often a program runs.
  std::int64_t passes_of(std::int32_t program) const;
  /// Throws MemoryError for a tensor that no machine holds.
  void check_size(const Frame& frame, TensorId id) const;
  /// Operations on so many elements, as often as the node repeats them.
  std::int64_t flops_of(std::int64_t elements, std::int64_t each = 1) const;
  /// Throws UnsupportedError for more than `most` of what is counted.
  void check_countable(std::string_view what, double number, double most) const;

  Report& report_;
  const Target& t_;
  Planner planner_;
  std::vector<std::int32_t> placement_;

  std::int32_t operation_ = -1, ipu_ = 0, program_ = 0;
  std::int64_t repeats_ = 1, times_ = 1;
  double cycles_ = 0;  ///< so far
  std::uint32_t layouts_ = 1;
  std::map<std::int32_t, std::int64_t> next_tile_{};  ///< of each IPU's linear mappings
  std::vector<std::int32_t> receive_;                 ///< live until the next compute set
  std::string layer_{};                               ///< of the node before, with its slash
  std::set<std::string> outlined_{};                  ///< what has its code already
  bool has_code_ = true;                              ///< of the node: it is the first of its kind
  std::map<std::string, std::int16_t, std::less<>> vertex_numbers_{};
  std::map<std::pair<std::int16_t, std::int32_t>, std::vector<bool>> has_vertex_{};

  // Of the node that is being lowered.
  Frame* frame_ = nullptr;
  const Node* node_ = nullptr;
  bool is_view_ = false, has_home_ = false;
  Placed home_{};                     ///< the layout that its work goes on in
  std::int64_t broadcast_bytes_ = 0;  ///< of statistics that the next pass needs on every tile
};

}  // namespace halftone::ipu
