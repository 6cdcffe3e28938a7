#include <halftone/base/object.hpp>

#include <atomic>
#include <cstring>
#include <string>

#include <halftone/base/array.hpp>

#include "base/describe.hpp"

namespace halftone {

/// Addresses of objects; those that it owns are deleted with their last block.
class ObjectBlock final : public Storage::Block {
 public:
  explicit ObjectBlock(std::size_t bytes) : objects_(bytes / sizeof(const Object*)) {
    static_assert(sizeof(const Object*) == sizeof(String));
    data = reinterpret_cast<std::byte*>(objects_.data());
    size = bytes;
  }
  ~ObjectBlock() override {
    if (!owns_) return;
    for (const Object* object : objects_) {
      if (object == nullptr) continue;
      if (std::atomic_ref<long>(object->uses_).fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete object;
      }
    }
  }

  void own_objects() override {
    if (owns_) return;
    owns_ = true;
    for (const Object* object : objects_) {
      if (object == nullptr) continue;
      std::atomic_ref<long>(object->uses_).fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  std::vector<const Object*> objects_;
  bool owns_ = false;
};

namespace {

struct TextObject final : Object {
  explicit TextObject(std::string_view text) : characters(text) {}
  std::string characters;
};

struct SequenceObject final : Object {
  explicit SequenceObject(std::vector<AnyArray> list) : items(std::move(list)) {}
  std::vector<AnyArray> items;
};

struct MapObject final : Object {
  MapObject(AnyArray k, AnyArray v) : keys(std::move(k)), values(std::move(v)) {}
  AnyArray keys, values;
};

template <class Handle>
Handle handle_of(const Object* object) {
  Handle handle;
  std::memcpy(static_cast<void*>(&handle), &object, sizeof object);
  return handle;
}

}  // namespace

Storage Storage::allocate_for_objects(std::size_t size) { return Storage(new ObjectBlock(size)); }

String String::make(std::string_view text) {
  return text.empty() ? String() : handle_of<String>(new TextObject(text));
}
std::string_view String::view() const {
  if (object_ == nullptr) return {};
  return static_cast<const TextObject*>(object_)->characters;
}

Sequence Sequence::make(std::vector<AnyArray> items) {
  return items.empty() ? Sequence() : handle_of<Sequence>(new SequenceObject(std::move(items)));
}
std::span<const AnyArray> Sequence::items() const {
  if (object_ == nullptr) return {};
  return static_cast<const SequenceObject*>(object_)->items;
}
std::size_t Sequence::size() const { return items().size(); }

Map Map::make(AnyArray keys, AnyArray values) {
  return handle_of<Map>(new MapObject(std::move(keys), std::move(values)));
}
const AnyArray& Map::keys() const { return static_cast<const MapObject*>(object_)->keys; }
const AnyArray& Map::values() const { return static_cast<const MapObject*>(object_)->values; }

// --- arrays of objects -------------------------------------------------------------------------

namespace {

/// An element of a value that is no tensor.
template <class Handle>
Handle element_of_value(const AnyView& view, bool fits, std::string_view expected) {
  if (!fits) {
    fail(ErrorKind::input, {.what = "a value is asked for as another kind than it has",
                            .expected = expected,
                            .found = detail::to_text(view.info)});
  }
  Handle handle;
  if (view.data != nullptr) std::memcpy(static_cast<void*>(&handle), view.data, sizeof handle);
  return handle;
}

template <class Handle>
void put(AnyArray& array, Handle handle) {
  std::memcpy(array.data(), &handle, sizeof handle);
  array.own_objects();
}

}  // namespace

Sequence AnyView::sequence() const {
  return element_of_value<Sequence>(*this, is_sequence(info.type) || is_optional(info.type),
                                    "a sequence or an optional value");
}

Map AnyView::map() const { return element_of_value<Map>(*this, is_map(info.type), "a map"); }

AnyArray::AnyArray(const Dims& shape, std::span<const std::string_view> texts)
    : AnyArray(TensorInfo{ElementType::string, shape}) {
  const std::span<String> elements = values<String>();
  if (texts.size() != elements.size()) {
    throw_extent("an array gets another number of values than its shape has", {}, -1,
                 static_cast<std::int64_t>(elements.size()),
                 static_cast<std::int64_t>(texts.size()));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) elements[i] = String::make(texts[i]);
  own_objects();
}

AnyArray::AnyArray(ElementType type, Sequence sequence) : AnyArray(TensorInfo{type, {}}) {
  put(*this, sequence);
}

AnyArray::AnyArray(ElementType type, Map map) : AnyArray(TensorInfo{type, {}}) { put(*this, map); }

}  // namespace halftone
