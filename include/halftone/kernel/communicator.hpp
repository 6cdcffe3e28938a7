#pragma once

#include <cstdint>

namespace halftone::kernel {

/// How a kernel reaches the other replicas of its graph; a plain value, like Executor, so that they can
/// be anywhere.
///
/// meet(self, replica, meeting, part) waits until all replicas have come, each with a part of its own;
/// then meeting.join(context, parts, replicas, share) is called, with the parts in the order of the
/// replicas, and all return. It throws if replicas come to different meetings, or do not come.
///
/// One replica calls join for all, or, if the meeting has elements, each calls it for a share of the
/// results; those that run at a time then join side by side.
///
/// Replicas that another process runs have parts too, but no memory for results: Part::result is null
/// there, and join leaves it out.
struct Communicator {
  /// What a replica brings and where it wants the result.
  struct Part {
    const void* given = nullptr;
    void* result = nullptr;  ///< null: another process joins the same parts, and writes it
  };
  /// Which of how many equal shares of the results a call of join makes.
  struct Share {
    int index = 0, count = 1;

    constexpr std::int64_t first(std::int64_t elements) const { return elements * index / count; }
    constexpr std::int64_t size(std::int64_t elements) const {
      return elements * (index + 1) / count - first(elements);
    }
  };
  struct Meeting {
    std::uint64_t operation = 0;  ///< equal where replicas do the same
    std::int64_t bytes = 0;       ///< of what each brings
    const void* context = nullptr;
    void (*join)(const void* context, const Part* parts, int replicas, Share share) = nullptr;
    std::int64_t element_bytes =
        0;  ///< join makes shares of elements; 0: it is called once, for all
    bool is_uniform =
        false;  ///< all results are equal, and have as many elements as what each brings
  };
  int replica = 0, replicas = 1;
  bool shares_memory = true;  ///< all replicas are of one process: no Part::result is null
  void (*meet)(void* self, int replica, const Meeting& meeting, Part part) = nullptr;
  void* self = nullptr;
};

/// A single replica meets nobody.
inline void meet(const Communicator* communicator, const Communicator::Meeting& meeting,
                 Communicator::Part part) {
  if (communicator == nullptr || communicator->meet == nullptr) {
    meeting.join(meeting.context, &part, 1, {});
  } else {
    communicator->meet(communicator->self, communicator->replica, meeting, part);
  }
}

/// How a kernel reaches the host's streams and the memory beside the machine; a plain value.
///
/// load and store take the next slice of a stream for this replica; entry gives the memory of an
/// entry of a remote buffer. They throw if there is no such stream, buffer or entry.
struct Host {
  void (*load)(void* self, const char* stream, void* to, std::int64_t bytes) = nullptr;
  void (*store)(void* self, const char* stream, const void* from, std::int64_t bytes) = nullptr;
  void* (*entry)(void* self, std::int64_t buffer, std::int64_t entry, std::int64_t bytes) = nullptr;
  void* self = nullptr;
};

}  // namespace halftone::kernel
