#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<std::size_t> allocation_count{0};

std::size_t allocations() { return allocation_count; }

// The address sanitizer has its own, which find more: nothing is counted then.
#if defined(__SANITIZE_ADDRESS__)
#define HALFTONE_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HALFTONE_ADDRESS_SANITIZER
#endif
#endif

#ifndef HALFTONE_ADDRESS_SANITIZER
void* operator new(std::size_t size) {
  ++allocation_count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
