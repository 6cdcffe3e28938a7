#include "replicas.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include <halftone/base/error.hpp>
#include <halftone/graph/subgraphs.hpp>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HALFTONE_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define HALFTONE_THREAD_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HALFTONE_ADDRESS_SANITIZER
#endif
#ifdef __SANITIZE_THREAD__
#define HALFTONE_THREAD_SANITIZER
#endif
#ifdef HALFTONE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HALFTONE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace halftone {
namespace {

/// As large as that of a thread; what is not used takes no memory.
constexpr std::size_t stack_bytes = std::size_t{8} << 20;

/// What is smaller is joined sooner than other threads are told to help.
constexpr std::int64_t least_shared_bytes = std::int64_t{64} << 10;

constexpr const char* not_joined = "replicas could not meet";

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void* make_stack() {
  const std::size_t bytes = stack_bytes + page_bytes();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    fail(ErrorKind::memory, {.what = "there is no memory for the stack of a replica"});
  }
  // What grows beyond the stack ends the program and changes nothing else.
  static_cast<void>(::mprotect(memory, page_bytes(), PROT_NONE));
  return memory;
}

static_assert(sizeof(void*) == 8, "the registers of x86-64 are saved here");

/// Keeps the registers that belong to a function's caller on the stack, says in `from` where, and goes
/// on with another stack. (ucontext's functions would ask the operating system about signals.)
[[gnu::naked, gnu::noinline]] void switch_stack(void** /*from*/, void* /*to*/) {
  asm volatile(
      "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
      "subq $8, %rsp\n stmxcsr (%rsp)\n fnstcw 4(%rsp)\n"
      "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
      "ldmxcsr (%rsp)\n fldcw 4(%rsp)\n addq $8, %rsp\n"
      "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret");
}
/// Where a new stack begins: calls the function in r13 with what is in r12.
[[gnu::naked, gnu::noinline]] void begin_stack() {
  asm volatile("movq %r12, %rdi\n call *%r13\n ud2");
}

/// What switch_stack() finds on a new stack, so that it begins with function(argument).
void* first_frame(std::byte* end, void* function, void* argument) {
  struct Frame {
    std::uint32_t mxcsr;
    std::uint16_t control_word, unused;
    void *r15, *r14, *r13, *r12, *rbx, *rbp;
    void (*next)();
  };
  constexpr std::uint32_t mxcsr = 0x1f80;         // as a program starts: nothing is trapped,
  constexpr std::uint16_t control_word = 0x037f;  // rounding is to nearest
  const Frame frame{mxcsr,    control_word, 0,       nullptr, nullptr,
                    function, argument,     nullptr, nullptr, &begin_stack};
  // Behind the frame the stack is aligned to 16, as it is before a call.
  std::byte* const top = end - 64 - sizeof frame;
  std::memcpy(top, &frame, sizeof frame);
  return top;
}

}  // namespace

Replicas::Replicas(int count, const kernel::Executor& executor, RankLink* link)
    : parts_(static_cast<std::size_t>(count)), link_(link), executor_(executor) {
  const int first = link != nullptr ? link->rank() * count : 0;
  const int all = link != nullptr ? link->ranks() * count : count;
  // Threads that meet must not wait for each other's processor.
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  threads_ = std::min({std::max(executor.threads, 1), cores, count});
  for (int k = 0; k < count; ++k) {
    Member& m = *members_.emplace_back(std::make_unique<Member>());
    m.all = this;
    m.communicator = {.replica = first + k,
                      .replicas = all,
                      .shares_memory = link == nullptr,
                      .meet =
                          [](void* self, int replica, const kernel::Communicator::Meeting& meeting,
                             kernel::Communicator::Part part) {
                            auto& own = *static_cast<Replicas*>(self);
                            own.meet(replica - own.first(), meeting, part);
                          },
                      .self = this};
    m.memory = make_stack();
    m.place.stack = static_cast<std::byte*>(m.memory) + page_bytes();
    m.place.stack_bytes = stack_bytes;
    m.place.top = first_frame(static_cast<std::byte*>(m.memory) + page_bytes() + stack_bytes,
                              reinterpret_cast<void*>(&enter), &m);
#ifdef HALFTONE_THREAD_SANITIZER
    m.place.fiber = __tsan_create_fiber(0);
#endif
  }
}

Replicas::~Replicas() {
  for (const auto& m : members_) {
#ifdef HALFTONE_THREAD_SANITIZER
    __tsan_destroy_fiber(m->place.fiber);
#endif
    ::munmap(m->memory, stack_bytes + page_bytes());
  }
}

const kernel::Communicator& Replicas::communicator(int replica) const {
  return members_[static_cast<std::size_t>(replica)]->communicator;
}

void Replicas::switch_to(Place& from, Place& to, [[maybe_unused]] Place* const* next_caller) {
#ifdef HALFTONE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef HALFTONE_THREAD_SANITIZER
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
  switch_stack(&from.top, to.top);
#ifdef HALFTONE_ADDRESS_SANITIZER
  const void* stack = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(from.fake_stack, &stack, &bytes);
  if (next_caller != nullptr) {
    (*next_caller)->stack = stack;
    (*next_caller)->stack_bytes = bytes;
  }
#endif
}

void Replicas::enter(Member* member) {
#ifdef HALFTONE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &member->caller->stack, &member->caller->stack_bytes);
#endif
  member->all->do_tasks(*member);
}

void Replicas::do_tasks(Member& member) {
  for (;;) {
    std::exception_ptr error;
    try {
      task_(context_, member.communicator.replica - first());
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      member.error = std::move(error);
      member.is_done = true;
      ++done_;
      if (meeting_ > 0 && meeting_ + done_ == static_cast<int>(members_.size())) settle();
    }
    switch_to(member.place, *member.caller, &member.caller);
  }
}

void Replicas::resume(Member& member, Place& home) {
  member.caller = &home;
  switch_to(home, member.place);
}

void Replicas::run_some(int first, int step) {
  Place home;
#ifdef HALFTONE_THREAD_SANITIZER
  home.fiber = __tsan_get_current_fiber();
#endif
  const int count = static_cast<int>(members_.size());
  for (bool has_more = true; has_more;) {
    has_more = false;
    bool has_run = false;
    const std::uint64_t round = round_.load(std::memory_order_acquire);
    for (int k = first; k < count; k += step) {
      Member& m = *members_[static_cast<std::size_t>(k)];
      if (m.is_done) continue;
      has_more = true;
      if (m.waits_in == round_.load(std::memory_order_acquire)) continue;
      resume(m, home);
      has_run = true;
    }
    if (has_run || !has_more) continue;
    // All of them wait for replicas of other threads, for a while without sleeping.
    for (int i = 0; i < 2000 && round_.load(std::memory_order_acquire) == round; ++i) {
      __builtin_ia32_pause();
    }
    std::unique_lock lock(mutex_);
    round_is_over_.wait(lock, [&] { return round_.load() != round; });
  }
}

void Replicas::run(Task task, void* context) {
  task_ = task;
  context_ = context;
  meeting_ = done_ = 0;
  join_error_ = nullptr;
  for (const auto& m : members_) {
    m->is_done = false;
    m->defect = nullptr;
    m->waits_in = 0;
    m->error = nullptr;
  }
  kernel::parallel_for(executor_, threads_,
                       [&](std::int64_t first) { run_some(static_cast<int>(first), threads_); });
  std::exception_ptr error;
  if (link_ != nullptr) {
    const bool is_right = std::all_of(members_.begin(), members_.end(),
                                      [](const auto& m) { return m->error == nullptr; });
    try {
      link_->agree(is_right ? RankLink::Step::end_of_run : RankLink::Step::failure);
    } catch (...) {
      error = std::current_exception();
    }
  }
  for (const bool is_own : {true, false}) {
    for (const auto& m : members_) {
      if (m->error && (m->defect == nullptr) == is_own) std::rethrow_exception(m->error);
    }
  }
  if (error) std::rethrow_exception(error);
}

void Replicas::meet(int replica, const kernel::Communicator::Meeting& meeting,
                    kernel::Communicator::Part part) {
  Member& m = *members_[static_cast<std::size_t>(replica)];
  m.meeting = meeting;
  parts_[static_cast<std::size_t>(replica)] = part;
  wait_for_all(m, &Replicas::settle);
  if (is_shared_) {
    try {
      const auto own = static_cast<int>(members_.size());
      const int first_share = is_scattered_ ? first() : 0;
      join(m.meeting, {first_share + replica, is_scattered_ ? m.communicator.replicas : own});
    } catch (...) {
      const std::lock_guard lock(mutex_);
      join_error_ = std::current_exception();
    }
    wait_for_all(m, &Replicas::end_shares);
    if (join_error_) m.defect = not_joined;
  }
  if (m.defect == nullptr) return;
  if (join_error_) std::rethrow_exception(join_error_);
  fail(ErrorKind::model,
       {.what = m.defect,
        .found = "replica " + std::to_string(m.communicator.replica),
        .hint = "give all replicas the same number of passes and the same branches"});
}

void Replicas::wait_for_all(Member& member, void (Replicas::*last)()) {
  {
    const std::lock_guard lock(mutex_);
    if (++meeting_ + done_ == static_cast<int>(members_.size())) return (this->*last)();
    member.waits_in = round_.load(std::memory_order_relaxed);
  }
  switch_to(member.place, *member.caller, &member.caller);
}

const char* Replicas::disagreement() const {
  if (done_ > 0) return "replicas come to a collective operator that another one does not reach";
  const kernel::Communicator::Meeting& first = members_[0]->meeting;
  for (const auto& m : members_) {
    if (m->meeting.operation == first.operation && m->meeting.bytes == first.bytes) continue;
    return "replicas come to different collective operators";
  }
  return nullptr;
}

void Replicas::settle() {
  const char* defect = disagreement();
  is_shared_ = is_scattered_ = false;
  if (defect == nullptr) {
    const kernel::Communicator::Meeting& meeting = members_[0]->meeting;
    const bool has_shares = meeting.element_bytes > 0 && meeting.bytes >= least_shared_bytes;
    is_scattered_ = has_shares && meeting.is_uniform && link_ != nullptr && link_->has_exchange();
    try {
      collect(meeting);
      is_shared_ = has_shares && (threads_ > 1 || is_scattered_);
      if (!is_shared_) join(meeting, {});
    } catch (...) {
      join_error_ = std::current_exception();
      defect = not_joined;
    }
  }
  for (const auto& m : members_) {
    if (!m->is_done) m->defect = defect;
  }
  end_round();
}

void Replicas::end_shares() {
  if (is_scattered_ && !join_error_) {
    try {
      spread(members_[0]->meeting);
    } catch (...) {
      join_error_ = std::current_exception();
    }
  }
  end_round();
}

void Replicas::end_round() {
  meeting_ = 0;
  round_.fetch_add(1, std::memory_order_release);
  round_is_over_.notify_all();
}

void Replicas::join(const kernel::Communicator::Meeting& meeting,
                    kernel::Communicator::Share share) const {
  const auto& parts = link_ == nullptr ? parts_ : all_parts_;
  meeting.join(meeting.context, parts.data(), static_cast<int>(parts.size()), share);
}

void Replicas::collect(const kernel::Communicator::Meeting& meeting) {
  if (link_ == nullptr) return;
  const std::size_t own = members_.size(), all = own * static_cast<std::size_t>(link_->ranks());
  link_->agree(RankLink::Step::meeting, meeting.operation, meeting.bytes);
  const auto bytes = static_cast<std::size_t>(meeting.bytes);
  all_parts_.assign(all, {});
  if (is_scattered_) {
    std::byte* const room = link_->room(all * bytes);
    for (std::size_t k = 0; k < all; ++k) all_parts_[k].given = room + k * bytes;
    for (std::size_t k = 0; k < own; ++k) {
      // MPI does not write to what it sends, but has no type for that.
      void* const given = const_cast<void*>(parts_[k].given);
      link_->exchange([&](int r) { return share_of_rank(meeting, r, given); },
                      [&](int r) {
                        const auto other = static_cast<std::size_t>(r) * own + k;
                        return share_of_rank(meeting, link_->rank(), room + other * bytes);
                      });
    }
    std::copy(parts_.begin(), parts_.end(), all_parts_.begin() + first());
    return;
  }
  const void* given = parts_[0].given;
  if (own > 1 && bytes > 0) {
    if (given_.size() < own * bytes) given_.resize(own * bytes);
    for (std::size_t k = 0; k < own; ++k) {
      std::memcpy(given_.data() + k * bytes, parts_[k].given, bytes);
    }
    given = given_.data();
  }
  const std::byte* const gathered = link_->gather(given, own * bytes);
  for (std::size_t k = 0; k < all; ++k) all_parts_[k].given = gathered + k * bytes;
  std::copy(parts_.begin(), parts_.end(), all_parts_.begin() + first());
}

Ranks::Block Replicas::share_of_rank(const kernel::Communicator::Meeting& meeting, int rank,
                                     void* elements) const {
  const kernel::Communicator::Share share{rank, link_->ranks()};
  const std::int64_t count = meeting.bytes / meeting.element_bytes;
  return {static_cast<std::byte*>(elements) + share.first(count) * meeting.element_bytes,
          static_cast<std::size_t>(share.size(count) * meeting.element_bytes)};
}

void Replicas::spread(const kernel::Communicator::Meeting& meeting) {
  void* const result = parts_[0].result;
  link_->exchange([&](int) { return share_of_rank(meeting, link_->rank(), result); },
                  [&](int r) { return share_of_rank(meeting, r, result); });
  for (std::size_t k = 1; k < parts_.size(); ++k) {
    for (int r = 0; r < link_->ranks(); ++r) {
      if (r == link_->rank()) continue;
      const Ranks::Block from = share_of_rank(meeting, r, result);
      std::memcpy(share_of_rank(meeting, r, parts_[k].result).data, from.data, from.bytes);
    }
  }
}

bool has_meetings(const Graph& graph) {
  bool found = false;
  for (const Node& node : graph.nodes) {
    found = found || node.op->reaches == Reaches::replicas;
    for_each_body(graph, node, [&](const Graph& body) { found = found || has_meetings(body); });
  }
  return found;
}

}  // namespace halftone
