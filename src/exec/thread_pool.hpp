#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <halftone/kernel/executor.hpp>

namespace halftone {

/// Threads that run the numbered tasks of one job at a time; the caller is one of them. They look
/// for work for a while before they sleep: waking a sleeping thread takes longer than most kernels. Of
/// few tasks each thread begins with its own share, the same ones in each job: what they read may
/// still be in its cache.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  kernel::Executor executor();

 private:
  void run(std::int64_t count, kernel::Executor::Task task, void* context);
  void work(int thread);
  /// Runs tasks until none is left, those first that the thread had in the last job like this one.
  void drain(int thread);
  void run_task(std::int64_t index);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> job_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> sleeping_{0};
  // The job: written while it is not open and nobody is active.
  kernel::Executor::Task task_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};    ///< of many tasks, those before are taken
  std::atomic<std::uint64_t> taken_{0};  ///< of few tasks: a bit each
  std::atomic<bool> open_{false};        ///< whether threads may still join the job
  std::atomic<int> active_{0};           ///< threads that joined it
  std::exception_ptr error_;
  std::mutex error_mutex_;
};

}  // namespace halftone
