#include "halftone/base/object.hpp"

#include <doctest/doctest.h>

#include <string>

#include <halftone/base/array.hpp>

using namespace halftone;

TEST_CASE("object: texts of an array live as long as its copies") {
  AnyArray copy;
  {
    const std::string_view texts[] = {"one", "", "a text that is longer than any small buffer"};
    const AnyArray array(Dims{3}, texts);
    CHECK(array.values<String>()[0].view() == "one");
    CHECK(array.values<String>()[1].view().empty());
    copy = AnyArray::copy_of(array);
  }
  CHECK(copy.info() == TensorInfo{ElementType::string, {3}});
  CHECK(copy.values<String>()[2].view() == "a text that is longer than any small buffer");
  CHECK(String::make("").object() == nullptr);
  const std::string_view two[] = {"x", "y"};
  CHECK_THROWS_AS(AnyArray(Dims{3}, two), Error);
}

TEST_CASE("object: sequences share their items, and maps their keys and values") {
  AnyArray sequence;
  {
    std::vector<AnyArray> items;
    items.push_back(Array<float>({2}, {1, 2}));
    items.push_back(Array<float>({1}, {3}));
    sequence = AnyArray(sequence_of(ElementType::float32), Sequence::make(std::move(items)));
  }
  const AnyArray again = AnyArray::copy_of(sequence);
  sequence = {};
  const AnyView view = again;
  REQUIRE(view.sequence().size() == 2);
  CHECK(view.sequence().items()[1].values<float>()[0] == 3);
  CHECK_THROWS_AS(view.map(), InputError);

  const std::string_view names[] = {"a", "b"};
  const ElementType type = value_type(ValueKind::string_map, ElementType::int64);
  const AnyArray map(type, Map::make(AnyArray(Dims{2}, names), Array<std::int64_t>({2}, {5, 6})));
  CHECK(AnyView(map).map().keys().values<String>()[1].view() == "b");
  CHECK(AnyView(map).map().values().values<std::int64_t>()[1] == 6);
  CHECK_FALSE(AnyView(AnyArray(TensorInfo{type, {}})).map());
  CHECK(AnyView(AnyArray(TensorInfo{sequence_of(type), {}})).sequence().size() == 0);
}

TEST_CASE("object: the kind and the element type of a value are in its type") {
  for (int code = 1; code <= 28; ++code) {
    const auto element = static_cast<ElementType>(code);
    CHECK(kind_of(element) == ValueKind::tensor);
    CHECK(item_of(sequence_of(element)) == element);
    CHECK(item_of(optional_of(element)) == element);
    CHECK(item_of(optional_of(sequence_of(element))) == sequence_of(element));
    for (const ValueKind kind : {ValueKind::int64_map, ValueKind::string_map}) {
      const ElementType map = value_type(kind, element);
      CHECK(is_map(map));
      CHECK(element_of(map) == element);
      CHECK(item_of(sequence_of(map)) == map);
      CHECK(is_sequence(sequence_of(map)));
    }
    CHECK_FALSE(has_objects(element) != (element == ElementType::string));
    CHECK(has_objects(sequence_of(element)));
  }
  CHECK(sequence_of(sequence_of(ElementType::float32)) == ElementType::undefined);
}
