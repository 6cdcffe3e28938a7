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

/// Tasks of a job that have a bit each.
constexpr std::int64_t few = 64;
constexpr auto spin_time = std::chrono::microseconds(100);

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
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

void ThreadPool::run_task(std::int64_t index) {
  try {
    task_(context_, index);
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadPool::drain(int thread) {
  if (count_ > few) {
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) return;
      run_task(i);
    }
  }
  const auto threads = static_cast<std::int64_t>(threads_.size()) + 1;
  const std::int64_t first = thread * count_ / threads;
  for (std::int64_t k = 0; k < count_; ++k) {
    const std::int64_t i = first + k < count_ ? first + k : first + k - count_;
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((taken_.load(std::memory_order_relaxed) & bit) != 0) continue;
    if ((taken_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) run_task(i);
  }
}

void ThreadPool::run(std::int64_t count, kernel::Executor::Task task, void* context) {
  task_ = task;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  taken_.store(0, std::memory_order_relaxed);
  open_.store(true);
  job_.fetch_add(1);
  if (sleeping_.load() > 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }
  drain(0);
  // A thread that wakes late finds the job closed: nobody waits for it.
  open_.store(false);
  while (active_.load() > 0) pause();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work(int thread) {
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
    if (open_.load()) drain(thread);
    active_.fetch_sub(1);
  }
}

}  // namespace halftone
