#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/kernel/communicator.hpp>
#include <halftone/kernel/executor.hpp>

#include "rank_link.hpp"

namespace halftone {

/// Threads of execution for the replicas of a graph, which meet in collective operators: each has a
/// stack of its own, and so many run at a time as the executor has threads and the machine cores.
/// One that waits for others gives its place to the next one without asking the operating system,
/// which would take longer than most kernels.
class Replicas {
 public:
  using Task = void (*)(void* context, int replica);

  /// `link`: to other ranks, each of which has as many replicas; borrowed, null: there are none.
  Replicas(int count, const kernel::Executor& executor, RankLink* link = nullptr);
  ~Replicas();
  Replicas(const Replicas&) = delete;

  /// Has every replica do a task; returns when all are done. What the first of them throws by itself
  /// is thrown; if none did, that they disagreed.
  void run(Task task, void* context);
  /// For the kernels of a replica; the number, as in tasks, is among those of this rank.
  const kernel::Communicator& communicator(int replica) const;

 private:
  /// A place where execution can go on.
  struct Place {
    void* top = nullptr;  ///< of the stack, with the registers that a function has to keep
    // For sanitizers: where its stack is, and what they keep of it.
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;
    void* fiber = nullptr;
  };
  struct Member {
    Replicas* all = nullptr;
    kernel::Communicator communicator{};
    Place place{};
    Place* caller = nullptr;  ///< of the thread that runs it
    void* memory = nullptr;   ///< the stack, with a page that nobody may touch below
    bool is_done = true;
    const char* defect = nullptr;  ///< why the meeting has failed
    std::uint64_t waits_in = 0;    ///< the round that it waits for the end of; 0: it does not wait
    kernel::Communicator::Meeting meeting{};
    std::exception_ptr error{};
  };

  /// The number of this rank's first replica among all.
  int first() const { return members_[0]->communicator.replica; }
  void meet(int replica, const kernel::Communicator::Meeting& meeting,
            kernel::Communicator::Part part);
  /// Runs every replica whose number is `first` and so many steps on, until all are done.
  void run_some(int first, int step);
  void resume(Member& member, Place& home);
  /// `next_caller`: who will have resumed `from` when it goes on, if that is a replica.
  static void switch_to(Place& from, Place& to, Place* const* next_caller = nullptr);
  static void enter(Member* member);
  void do_tasks(Member& member);
  /// Counts that a replica has come; the last one does what ends the round, the others wait for it.
  void wait_for_all(Member& member, void (Replicas::*last)());
  /// All are there or done: ends the round. Those who have met go on, to join shares or because all is
  /// joined, or learn that they disagree.
  void settle();
  void end_round();
  /// The same of a round in which shares were joined.
  void end_shares();
  /// Null: all do the same.
  const char* disagreement() const;
  /// Fetches the parts that are not of this rank; if ranks join shares, of its own share.
  void collect(const kernel::Communicator::Meeting& meeting);
  /// Gives the other ranks the share that this one has joined, and gets theirs.
  void spread(const kernel::Communicator::Meeting& meeting);
  /// The share of a rank in what lies at `elements`.
  Ranks::Block share_of_rank(const kernel::Communicator::Meeting& meeting, int rank,
                             void* elements) const;
  void join(const kernel::Communicator::Meeting& meeting, kernel::Communicator::Share share) const;

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<kernel::Communicator::Part> parts_, all_parts_;  ///< of this rank; of all
  RankLink* const link_;
  std::vector<std::byte> given_;  ///< what this rank's replicas give, for the others
  std::exception_ptr join_error_{};
  bool is_shared_ = false;     ///< each replica joins a share, before another round
  bool is_scattered_ = false;  ///< of the share of its rank, which the others get
  const kernel::Executor executor_;
  int threads_ = 1;  ///< that run replicas at a time
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::mutex mutex_;
  std::condition_variable round_is_over_;
  std::atomic<std::uint64_t> round_{1};
  int meeting_ = 0, done_ = 0;
};

/// Whether replicas of a graph meet: it has operators that reach the others, itself or in bodies.
bool has_meetings(const Graph& graph);

}  // namespace halftone
