#include "rank_link.hpp"

#include <xxhash.h>

#include <halftone/base/error.hpp>

#include "kernel_table.hpp"
#include "program/archive.hpp"

namespace halftone {

int replicas_of_rank(const Graph& graph, const Ranks* ranks) {
  if (ranks == nullptr) return graph.replicas;
  if (ranks->ranks < 1 || ranks->rank < 0 || ranks->rank >= ranks->ranks) {
    fail(ErrorKind::usage, {.what = "there is no rank of this number",
                            .expected = "0 to " + std::to_string(ranks->ranks - 1),
                            .found = std::to_string(ranks->rank)});
  }
  if (ranks->ranks > 1 && ranks->all_gather == nullptr) {
    fail(ErrorKind::usage,
         {.what = "ranks have no way to reach each other", .hint = "set Ranks::all_gather"});
  }
  if (graph.replicas % ranks->ranks != 0) {
    fail(ErrorKind::usage, {.what = "the replicas of a graph cannot be shared by the ranks",
                            .expected = "a multiple of " + std::to_string(ranks->ranks),
                            .found = std::to_string(graph.replicas),
                            .hint = "Graph::replicas counts those of all ranks"});
  }
  return graph.replicas / ranks->ranks;
}

std::uint64_t hash_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t hash_with(std::uint64_t hash, AnyView x) {
  const bool is_plain = !has_objects(x.info.type);
  hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(x.info.elements());
  return is_plain ? XXH3_64bits_withSeed(x.data, x.bytes(), hash) : hash;
}

void compare_ranks(const Ranks& ranks, std::string_view subject, std::uint64_t hash) {
  if (ranks.ranks == 1) return;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks.ranks));
  ranks.all_gather(ranks.self, &hash, sizeof hash, all.data());
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    fail(ErrorKind::usage, {.what = "the ranks do not have the same " + std::string(subject),
                            .found = "rank " + std::to_string(r) + " differs from rank 0",
                            .hint = "start all of them with the same program, files and options"});
  }
}

void compare_ranks(const Ranks& ranks, const Graph& graph, std::uint64_t seed) {
  if (ranks.ranks == 1) return;
  compare_ranks(ranks, "version", hash_of(HALFTONE_VERSION));
  compare_ranks(ranks, "instruction set", hash_of(packing_instructions()));
  compare_ranks(ranks, "seed", seed);
  detail::ArchiveWriter writer;
  detail::write(writer, graph);
  compare_ranks(ranks, "model", writer.hash());
}

std::string RankLink::text(int rank, const Header& header) {
  std::string text = "rank " + std::to_string(rank);
  if (header.step == Step::meeting) {
    text += ": collective operator " + std::to_string(header.operation) + " with " +
            std::to_string(header.bytes) + " bytes";
  }
  if (header.step == Step::end_of_run) text += ": the end of a run";
  if (header.step == Step::failure) text += ": an error";
  if (header.step == Step::variable) {
    text += ": the value of variable " + std::to_string(header.operation);
  }
  return text + ", exchange " + std::to_string(header.serial);
}

void RankLink::agree(Step step, std::uint64_t operation, std::int64_t bytes) {
  if (is_broken_) {
    fail(ErrorKind::usage, {.what = "the ranks have come apart in an earlier run",
                            .hint = "make new sessions on all of them"});
  }
  const Header own{++serial_, step, operation, bytes};
  headers_.resize(static_cast<std::size_t>(ranks_.ranks));
  is_broken_ = true;  // also if the ranks cannot be reached
  ranks_.all_gather(ranks_.self, &own, sizeof own, headers_.data());
  for (int r = 0; r < ranks_.ranks; ++r) {
    const Header& other = headers_[static_cast<std::size_t>(r)];
    if (other == own && step != Step::failure) continue;
    const bool has_failed = other.step == Step::failure;
    fail(has_failed ? ErrorKind::io : ErrorKind::model,
         {.what = has_failed ? "a run has failed on another rank"
                             : "ranks come to different collective operators",
          .expected = text(ranks_.rank, own),
          .found = text(r, other),
          .hint = has_failed ? "" : "give all ranks the same number of passes and branches"});
  }
  is_broken_ = false;
}

const std::byte* RankLink::gather(const void* block, std::size_t bytes) {
  std::byte* const all = room(bytes * static_cast<std::size_t>(ranks_.ranks));
  if (bytes != 0) ranks_.all_gather(ranks_.self, block, bytes, all);
  return all;
}

std::byte* RankLink::room(std::size_t bytes) {
  // It never shrinks: what grows again would be filled with zeros again.
  if (blocks_.size() < bytes) blocks_.resize(bytes);
  return blocks_.data();
}

}  // namespace halftone
