#include "thread_pool.hpp"

#include <chrono>
#include <utility>

namespace halftone {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr auto spin_time = std::chrono::microseconds(100);

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

kernel::Executor ThreadPool::executor() {
  return {.threads = static_cast<int>(threads_.size()) + 1,
          .run = [](void* self, std::int64_t count, kernel::Executor::Task task,
                    void* context) { static_cast<ThreadPool*>(self)->run(count, task, context); },
          .self = this};
}

void ThreadPool::drain() {
  for (;;) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) return;
    try {
      task_(context_, i);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
}

void ThreadPool::run(std::int64_t count, kernel::Executor::Task task, void* context) {
  task_ = task;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  open_.store(true);
  job_.fetch_add(1);
  if (sleeping_.load() > 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }
  drain();
  // A thread that wakes late finds the job closed: nobody waits for it.
  open_.store(false);
  while (active_.load() > 0) pause();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  for (;;) {
    const auto start = std::chrono::steady_clock::now();
    while (job_.load(std::memory_order_acquire) == seen && !stop_.load()) {
      for (int i = 0; i < 64 && job_.load(std::memory_order_acquire) == seen; ++i) pause();
      if (std::chrono::steady_clock::now() - start < spin_time) continue;
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return job_.load() != seen || stop_.load(); });
      sleeping_.fetch_sub(1);
    }
    if (job_.load(std::memory_order_acquire) == seen) return;
    seen = job_.load(std::memory_order_acquire);
    active_.fetch_add(1);
    if (open_.load()) drain();
    active_.fetch_sub(1);
  }
}

}  // namespace halftone
