#include <halftone/base/dims.hpp>

#include <doctest/doctest.h>

#include <halftone/base/tensor_info.hpp>
#include <halftone/base/text.hpp>

using namespace halftone;

namespace {
constexpr bool lists_edit() {
  Dims d{2, 3, 5};
  d.insert(0, 7);
  d.insert(4, 11);
  if (!(d == Dims{7, 2, 3, 5, 11})) return false;
  d.erase(1);
  d.pop_back();
  if (!(d == Dims{7, 3, 5}) || d.back() != 5 || !d.contains(3) || d.contains(2)) return false;
  for (int i = 0; i < 20; ++i) d.push_back(i);
  if (d.size() != max_rank) return false;
  d.insert(0, 1);
  return d.size() == max_rank && d[0] == 7 && Dims::filled(3, 4) == Dims{4, 4, 4};
}
static_assert(lists_edit());
static_assert(Dims{} == Dims{} && !(Dims{1} == Dims{1, 1}));

// Unused items do not count: they are the same after pop_back as before push_back.
constexpr bool is_structural() {
  Dims d{1, 2};
  d.pop_back();
  return d.items[1] == 0;
}
static_assert(is_structural());

static_assert(product(Dims{}) == 1);
static_assert(product(Dims{2, 3, 4}) == 24);
static_assert(product(Dims{2, 0, 4}) == 0);
static_assert(product(Dims{2, dynamic}) == dynamic);
static_assert(product(Dims{0, dynamic}) == dynamic);
static_assert(product(Dims{INT64_MAX, 2}) == INT64_MAX);
static_assert(product(Dims{INT64_MAX, 2, 0}) == 0);
static_assert(product(Dims{std::int64_t{1} << 31, std::int64_t{1} << 31}) == std::int64_t{1} << 62);
static_assert(product(Dims{std::int64_t{1} << 32, std::int64_t{1} << 31}) == INT64_MAX);

static_assert(!TensorInfo{}.is_known() && !TensorInfo{}.is_static());
static_assert(TensorInfo{ElementType::float32, {2, dynamic}}.is_known());
static_assert(!TensorInfo{ElementType::float32, {2, dynamic}}.is_static());
static_assert(TensorInfo{ElementType::float64, {2, 3}}.bytes() == 48);
static_assert(TensorInfo{ElementType::float64, {2, dynamic}}.bytes() == dynamic);
static_assert(TensorInfo{ElementType::float64, {INT64_MAX / 4}}.bytes() == INT64_MAX);

static_assert(Text("SAME_UPPER").view() == "SAME_UPPER" && Text{}.empty());
static_assert(BoundedText<4>(std::string_view("abcdef")).view() == "abc");
static_assert(BoundedText<4>::capacity() == 3);
static_assert(Optional<int>{}.value_or(3) == 3 && *Optional<int>(4) == 4 && !Optional<int>{});
}  // namespace

TEST_CASE("dims: the laws above hold at compile time") { CHECK(lists_edit()); }
