#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/exec/ranks.hpp>
#include <halftone/graph/graph.hpp>

namespace halftone {

/// How many of a graph's replicas each rank runs; null: all. Throws UsageError if the ranks cannot
/// share them equally.
int replicas_of_rank(const Graph& graph, const Ranks* ranks);

/// Throws UsageError on all ranks, naming `subject` and a rank, unless all have the same hash of it.
void compare_ranks(const Ranks& ranks, std::string_view subject, std::uint64_t hash);
std::uint64_t hash_of(std::string_view bytes);
/// A hash that goes on with an array's values; texts and other objects count by their number alone.
std::uint64_t hash_with(std::uint64_t hash, AnyView x);
/// Compares versions, instruction sets and graphs with their data.
void compare_ranks(const Ranks& ranks, const Graph& graph, std::uint64_t seed);

/// An engine's connection with other ranks, which finds out when they do not do the same.
class RankLink {
 public:
  enum class Step : std::uint64_t { meeting, end_of_run, failure, variable };

  explicit RankLink(const Ranks& ranks) : ranks_(ranks) {}

  int rank() const { return ranks_.rank; }
  int ranks() const { return ranks_.ranks; }

  /// Says what this rank comes to. Throws if another one comes to something else or has failed;
  /// from then on always, without waiting for anybody.
  void agree(Step step, std::uint64_t operation = 0, std::int64_t bytes = 0);
  /// The blocks of all ranks, which have agreed; good until the next call.
  const std::byte* gather(const void* block, std::size_t bytes);
  /// Whether ranks can give each other different blocks.
  bool has_exchange() const { return ranks_.all_to_all != nullptr; }
  /// sent(r) and received(r) are the Ranks::Block for rank r and from it, which have agreed.
  template <class Sent, class Received>
  void exchange(Sent&& sent, Received&& received) {
    sent_.clear();
    received_.clear();
    for (int r = 0; r < ranks_.ranks; ++r) {
      sent_.push_back(sent(r));
      received_.push_back(received(r));
    }
    ranks_.all_to_all(ranks_.self, sent_.data(), received_.data());
  }
  /// Memory for blocks, good until the next call of this or of gather().
  std::byte* room(std::size_t bytes);

 private:
  struct Header {
    std::uint64_t serial = 0;
    Step step = Step::meeting;
    std::uint64_t operation = 0;
    std::int64_t bytes = 0;
    bool operator==(const Header&) const = default;
  };
  static std::string text(int rank, const Header& header);

  const Ranks ranks_;
  std::uint64_t serial_ = 0;
  bool is_broken_ = false;
  std::vector<Header> headers_;
  std::vector<std::byte> blocks_;
  std::vector<Ranks::Block> sent_, received_;
};

}  // namespace halftone
