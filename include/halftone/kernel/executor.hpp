#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone::kernel {

/// Runs numbered tasks on some threads; a plain value, so that an application can pass its own
/// pool.
///
/// run(self, count, task, context) calls task(context, i) once for every i in [0, count), in any
/// order and on any thread, and returns when all are done. Kernels split their work by the
/// problem's size alone, never by `threads`, so results do not depend on it; `threads` only says
/// whether splitting is worth its cost.
struct Executor {
  using Task = void (*)(void* context, std::int64_t index);
  int threads = 1;
  void (*run)(void* self, std::int64_t count, Task task, void* context) = nullptr;
  void* self = nullptr;
};

/// f(i) for every i in [0, count), on the executor's threads.
template <class F>
void parallel_for(const Executor& executor, std::int64_t count, F&& f) {
  if (executor.threads <= 1 || executor.run == nullptr || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  using Function = std::remove_reference_t<F>;
  executor.run(
      executor.self, count,
      [](void* context, std::int64_t i) { (*static_cast<Function*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace halftone::kernel
