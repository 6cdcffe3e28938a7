#include <halftone/base/array.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace halftone;

TEST_CASE("array: owns zeroed elements in the order of the shape") {
  Array<float> a({2, 3});
  CHECK(a.info() == TensorInfo{ElementType::float32, {2, 3}});
  CHECK(a.size() == 6);
  CHECK(a.bytes() == 24);
  for (const float x : a) CHECK(x == 0);
  std::iota(a.begin(), a.end(), 1.f);
  const AnyView view = a;
  CHECK(view.values<float>()[5] == 6);
  CHECK(view.bytes() == 24);
  const Array<std::int64_t> list({3}, {1, 2, 3});
  CHECK(list[2] == 3);
  CHECK(list.values().size() == 3);
  const Array<double> scalar(Dims{}, {2.5});
  CHECK(scalar.size() == 1);
  CHECK(scalar[0] == 2.5);
  CHECK(Array<half>({4, 0, 7}).size() == 0);
}

TEST_CASE("array: a copy shares the memory") {
  AnyArray a(TensorInfo{ElementType::int32, {2}});
  AnyArray b = a;
  b.values<std::int32_t>()[1] = 7;
  CHECK(a.values<std::int32_t>()[1] == 7);
  CHECK(AnyArray().data() == nullptr);
}

TEST_CASE("array: values of another type or number are refused") {
  Array<float> a({2});
  CHECK_THROWS_AS(static_cast<void>(AnyView(a).values<double>()), InputError);
  CHECK_THROWS_AS(static_cast<void>(static_cast<AnyArray&>(a).values<half>()), InputError);
  CHECK_THROWS_AS(a.assign(std::vector<float>(3)), ShapeError);
  CHECK_THROWS_AS(Array<float>({2}, {1, 2, 3}), ShapeError);
}

TEST_CASE("array: what has no size or no place gives a typed error") {
  CHECK_THROWS_AS(AnyArray(TensorInfo{}), InputError);
  CHECK_THROWS_AS(AnyArray(TensorInfo{static_cast<ElementType>(29), {1}}), InputError);
  CHECK_THROWS_AS(AnyArray(TensorInfo{ElementType::float32, {2, dynamic}}), InputError);
  CHECK_THROWS_AS(AnyArray(TensorInfo{ElementType::float32, {INT64_MAX / 4, 4}}), MemoryError);
  CHECK_THROWS_AS(AnyArray(TensorInfo{ElementType::float32, {INT64_MAX, INT64_MAX}}), MemoryError);
  CHECK_THROWS_AS(AnyArray(TensorInfo{ElementType::uint8, {INT64_MAX / 2}}), MemoryError);
}
