#pragma once

#include <cstddef>

namespace halftone {

/// The processes that run one graph together, each with an equal part of its replicas; a plain value,
/// like kernel::Executor, so that they may be connected in any way.
///
/// Rank r of n ranks runs the replicas r * graph.replicas / n and following. All ranks have to build
/// the same graph with the same options, run it as often and read or set the same variables: they
/// compare hashes of it, and whoever differs gets an error instead of an answer.
struct Ranks {
  int rank = 0, ranks = 1;
  /// Gives every rank the blocks of all, in the order of ranks. `all` has room for ranks x bytes;
  /// `bytes` is the same everywhere. Returns when all ranks have called it; throws IoError if they
  /// cannot be reached. It is never called from two threads at once.
  void (*all_gather)(void* self, const void* block, std::size_t bytes, void* all) = nullptr;
  struct Block {
    void* data;
    std::size_t bytes;
  };
  /// Gives every other rank a block and gets one from it: sent[r] is for rank r, received[r] from it,
  /// and what is in the place of this rank is left alone. It returns and throws as all_gather. Null:
  /// all_gather does it, so that ranks get more than they need.
  void (*all_to_all)(void* self, const Block* sent, const Block* received) = nullptr;
  /// Ends the processes of all ranks, this one with `status`. Null: each has to end by itself.
  void (*abort)(void* self, int status) = nullptr;
  void* self = nullptr;
};

/// The ranks that `mpirun` has started this process among, connected by libhalftone-mpi.so, which
/// the first call loads; null if this process is alone. Throws UnsupportedError, which says what to
/// install, if the library is missing or is another version's.
const Ranks* launched_ranks();

/// Ends all ranks with this status if launched_ranks() has connected this process with others; else
/// it does nothing.
void abort_launched_ranks(int status);

}  // namespace halftone
