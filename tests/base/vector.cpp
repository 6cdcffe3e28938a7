#include <doctest/doctest.h>

#include <halftone/base/vector.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace halftone;

namespace {

template <class T>
T item(std::uint32_t number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(number % 40, static_cast<char>('a' + number % 26));
  } else {
    return static_cast<T>(number);
  }
}

constexpr int sum_of_squares(int n) {
  Vector<Vector<int>> rows;
  for (int i = 0; i < n; ++i) rows.push_back(Vector<int>(static_cast<std::size_t>(i), i));
  int sum = 0;
  for (const Vector<int>& row : rows) {
    for (const int x : row) sum += x;
  }
  return sum;
}
static_assert(sum_of_squares(10) == 285);  // n (n - 1) (2 n - 1) / 6

}  // namespace

TEST_CASE_TEMPLATE("vectors do what std::vector does", T, int, std::string) {
  Vector<T> mine;
  std::vector<T> given;
  std::uint32_t state = 1;
  const auto next = [&](std::size_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % (static_cast<std::uint32_t>(below) + 1);
  };
  for (int i = 0; i < 3000; ++i) {
    const T value = item<T>(next(1000));
    const std::size_t at = next(given.size());
    const auto place = static_cast<std::ptrdiff_t>(at);
    switch (next(11)) {
      case 0:
        mine.push_back(value), given.push_back(value);
        break;
      case 1:  // an item of its own
        if (given.empty()) break;
        mine.push_back(mine[0]), given.push_back(given[0]);
        break;
      case 2:
        mine.insert(mine.begin() + place, value), given.insert(given.begin() + place, value);
        break;
      case 3: {
        const T more[]{value, item<T>(7), item<T>(39)};
        mine.insert(mine.begin() + place, more, more + 3);
        given.insert(given.begin() + place, more, more + 3);
        break;
      }
      case 4:
        if (at == given.size()) break;
        mine.erase(mine.begin() + place), given.erase(given.begin() + place);
        break;
      case 5:
        mine.erase(mine.begin() + place, mine.end());
        given.erase(given.begin() + place, given.end());
        break;
      case 6:
        mine.resize(at + 5), given.resize(at + 5);
        break;
      case 7:  // with an item of its own
        if (given.empty()) break;
        mine.resize(given.size() + 9, mine.back()), given.resize(given.size() + 9, given.back());
        break;
      case 8: {
        Vector<T> copy(mine);
        Vector<T> moved(std::move(copy));
        CHECK(copy.empty());
        copy = moved;
        mine = std::move(copy);
        break;
      }
      case 9: {
        const auto is_it = [&](const T& x) { return x == value; };
        CHECK(erase_if(mine, is_it) == std::erase_if(given, is_it));
        break;
      }
      case 10:
        mine.append(&value, 1), given.push_back(value);
        break;
      default:
        if (given.empty()) break;
        mine.pop_back(), given.pop_back();
    }
    REQUIRE(mine == given);
    REQUIRE(std::vector<T>(mine) == given);
  }
  mine.clear();
  CHECK(mine.empty());
  CHECK(mine == Vector<T>{});
}
