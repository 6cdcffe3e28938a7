#include <halftone/base/storage.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>

#include <halftone/base/error.hpp>

using namespace halftone;

namespace {
struct CountedBlock : Storage::Block {
  explicit CountedBlock(int& counter) : count(counter) { ++count; }
  ~CountedBlock() override { --count; }
  int& count;
};
constexpr bool is_null_in_constant_evaluation() {
  Storage a;
  Storage b = a;
  Bytes bytes({std::byte{1}, std::byte{2}});
  Bytes copy = bytes;
  return !b && copy == bytes && copy.size() == 2 && bytes.span()[1] == std::byte{2};
}
static_assert(is_null_in_constant_evaluation());
}  // namespace

TEST_CASE("storage: allocated memory is aligned and zeroed, small or in pages of its own") {
  for (const std::size_t size : {0u, 1u, 63u, 64u, 4096u, (1u << 20) - 1, 1u << 20, 5'000'000u}) {
    const Storage storage = Storage::allocate(size);
    REQUIRE(storage);
    CHECK(storage.size() == size);
    CHECK(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0);
    bool zero = true;
    for (std::size_t i = 0; i < size; ++i) zero = zero && storage.data()[i] == std::byte{0};
    CHECK(zero);
    if (size > 0) storage.data()[size - 1] = std::byte{1};
  }
}

TEST_CASE("storage: too much memory is a MemoryError") {
  CHECK_THROWS_AS(Storage::allocate(SIZE_MAX / 2), MemoryError);
}

TEST_CASE("storage: the last owner releases the block") {
  int blocks = 0;
  {
    Storage a(new CountedBlock(blocks));
    Storage b = a, c;
    CHECK(blocks == 1);
    c = b;
    a = Storage();
    b = std::move(c);
    CHECK(blocks == 1);
    CHECK(!c);
    CHECK(b);
    const Storage& same = b;
    b = same;
    CHECK(blocks == 1);
  }
  CHECK(blocks == 0);
}

TEST_CASE("storage: threads may copy and release") {
  int blocks = 0;
  {
    const Storage shared(new CountedBlock(blocks));
    std::thread threads[4];
    for (auto& t : threads) {
      t = std::thread([&] {
        for (int i = 0; i < 10000; ++i) Storage copy = shared;
      });
    }
    for (auto& t : threads) t.join();
    CHECK(blocks == 1);
  }
  CHECK(blocks == 0);
}

TEST_CASE("bytes: a piece of shared storage keeps it alive") {
  Bytes piece;
  {
    const Storage storage = Storage::allocate(16);
    storage.data()[5] = std::byte{42};
    piece = Bytes(storage, storage.data() + 4, 4);
  }
  CHECK(piece.size() == 4);
  CHECK(piece.span()[1] == std::byte{42});
  CHECK(piece == Bytes(piece));
  CHECK_FALSE(piece == Bytes({std::byte{0}, std::byte{42}, std::byte{0}, std::byte{0}}));
}
