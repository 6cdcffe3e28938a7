#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <halftone/kernel/executor.hpp>

namespace halftone {

/// Passes jobs on to another executor and adds up how long its threads work.
class MeasuredExecutor {
 public:
  explicit MeasuredExecutor(const kernel::Executor& inner) : inner_(inner) {}
  MeasuredExecutor(const MeasuredExecutor&) = delete;
  MeasuredExecutor& operator=(const MeasuredExecutor&) = delete;

  /// Borrows this object.
  kernel::Executor executor() {
    if (inner_.threads <= 1) return inner_;
    return {.threads = inner_.threads, .run = &run, .self = this};
  }

  /// Seconds of all threads in which they had nothing to do, of the `seconds` that have passed since
  /// the last call. Between jobs the caller works alone.
  double take_idle(double seconds) {
    if (inner_.threads <= 1) return 0;
    const double worked = seconds - jobs_ + static_cast<double>(busy_.exchange(0)) * 1e-9;
    jobs_ = 0;
    const double idle = inner_.threads * seconds - worked;
    return idle < 0 ? 0 : idle;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    MeasuredExecutor* self;
    kernel::Executor::Task task;
    void* context;
  };

  static void run(void* self, std::int64_t count, kernel::Executor::Task task, void* context) {
    auto& measured = *static_cast<MeasuredExecutor*>(self);
    Job job{&measured, task, context};
    const auto start = Clock::now();
    measured.inner_.run(measured.inner_.self, count, &run_task, &job);
    measured.jobs_ += std::chrono::duration<double>(Clock::now() - start).count();
  }
  static void run_task(void* context, std::int64_t index) {
    const Job& job = *static_cast<const Job*>(context);
    const auto start = Clock::now();
    job.task(job.context, index);
    job.self->busy_ +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  }

  const kernel::Executor inner_;
  double jobs_ = 0;                    ///< seconds of the caller in jobs
  std::atomic<std::int64_t> busy_{0};  ///< nanoseconds of all threads in tasks
};

}  // namespace halftone
