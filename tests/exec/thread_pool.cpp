#include "exec/thread_pool.hpp"

#include "exec/measured_executor.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace halftone;

// The promise of kernel::Executor: every number once, all done on return.
TEST_CASE("thread pool: every task runs exactly once, in job after job") {
  for (const int threads : {1, 2, 7}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    const kernel::Executor executor = pool.executor();
    CHECK(executor.threads == threads);
    for (const std::int64_t count : {0, 1, 2, 5, 1000}) {
      for (int job = 0; job < 50; ++job) {
        std::vector<int> done(static_cast<std::size_t>(count));
        executor.run(
            executor.self, count,
            [](void* context, std::int64_t i) {
              ++(*static_cast<std::vector<int>*>(context))[static_cast<std::size_t>(i)];
            },
            &done);
        CHECK(done == std::vector<int>(static_cast<std::size_t>(count), 1));
      }
    }
  }
}

TEST_CASE("thread pool: sleeping threads take part again") {
  ThreadPool pool(3);
  const kernel::Executor executor = pool.executor();
  for (int job = 0; job < 3; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they look for work for 0.1 ms
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::atomic<int> sum = 0;
    kernel::parallel_for(executor, 60, [&](std::int64_t i) {
      sum += static_cast<int>(i);
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    CHECK(sum == 60 * 59 / 2);
    CHECK(seen.size() <= 3);
  }
}

TEST_CASE("thread pool: an exception of a task reaches the caller when all others are done") {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    const kernel::Executor executor = pool.executor();
    std::atomic<int> done = 0;
    const auto job = [&](std::int64_t wrong) {
      done = 0;
      auto task = [&](std::int64_t i) {
        ++done;
        if (i == wrong) throw std::runtime_error("task");
      };
      executor.run(
          executor.self, 100,
          [](void* context, std::int64_t i) { (*static_cast<decltype(task)*>(context))(i); },
          &task);
    };
    CHECK_THROWS_WITH(job(17), "task");
    CHECK(done == 100);
    CHECK_NOTHROW(job(-1));  // nothing is left of the error
    CHECK(done == 100);
  }
}

// By definition: n threads have n times the seconds, less those that tasks take and those of the
// caller between jobs.
TEST_CASE("measured executor: what threads wait is what they do not work") {
  using Clock = std::chrono::steady_clock;
  const auto work = [] {
    const auto end = Clock::now() + std::chrono::milliseconds(2);
    while (Clock::now() < end) {
    }
  };
  const auto idle = [](MeasuredExecutor& measured, auto f) {
    const auto start = Clock::now();
    f(measured.executor());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return measured.take_idle(seconds) / (measured.executor().threads * seconds);
  };
  const auto tasks = [&](const kernel::Executor& executor) {
    kernel::parallel_for(executor, 2, [&](std::int64_t) { work(); });
  };
  ThreadPool pool(2);
  MeasuredExecutor measured(pool.executor());
  CHECK(idle(measured, [&](const auto&) { work(); }) == doctest::Approx(.5));
  CHECK(idle(measured, tasks) < .75);
  // Four threads of which one does it all.
  MeasuredExecutor lazy(
      {.threads = 4,
       .run = [](void*, std::int64_t count, kernel::Executor::Task task, void* context) {
         for (std::int64_t i = 0; i < count; ++i) task(context, i);
       }});
  const double share = idle(lazy, tasks);
  CHECK(share > .749);
  CHECK(share < 1);
  ThreadPool one(1);
  MeasuredExecutor single(one.executor());
  CHECK(idle(single, tasks) == 0);
}
