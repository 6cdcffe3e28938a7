#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <unordered_map>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "op/outputs.hpp"

// What operators of ai.onnx.ml do with texts and maps.
namespace halftone::op {
namespace {

/// Keys of a look-up: NaN is equal to itself, and 0 to -0.
template <class T>
struct KeyOf {
  using type = T;
  static T make(T key) { return key; }
};
template <>
struct KeyOf<String> {
  using type = std::string_view;
  static std::string_view make(String key) { return key.view(); }
};
template <>
struct KeyOf<float> {
  using type = std::uint64_t;
  static std::uint64_t make(float key) {
    if (std::isnan(key)) return UINT64_MAX;
    return key == 0 ? 0 : std::bit_cast<std::uint32_t>(key);
  }
};
template <>
struct KeyOf<double> {
  using type = std::uint64_t;
  static std::uint64_t make(double key) {
    if (std::isnan(key)) return UINT64_MAX;
    return key == 0 ? 0 : std::bit_cast<std::uint64_t>(key);
  }
};

template <class K>
using Places = std::unordered_map<typename KeyOf<K>::type, std::size_t>;

/// The first place of each key.
template <class K>
Places<K> places_of(std::span<const K> keys) {
  Places<K> places;
  places.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) places.emplace(KeyOf<K>::make(keys[i]), i);
  return places;
}

/// values[i] for what is keys[i], else `other`. An array that owns `other` is kept by the caller.
template <class K, class V>
AnyArray replaced(const AnyView& x, std::span<const K> keys, std::span<const V> values, V other) {
  const Places<K> places = places_of(keys);
  AnyArray y(TensorInfo{element_type<V>, x.info.shape});
  const std::span<const K> from = x.values<K>();
  const std::span<V> to = y.values<V>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto found = places.find(KeyOf<K>::make(from[i]));
    to[i] = found == places.end() ? other : values[found->second];
  }
  y.own_objects();
  return y;
}

/// One text, which lives as long as the array.
AnyArray text_array(std::string_view text) { return AnyArray(Dims{}, std::span(&text, 1)); }

std::vector<std::int64_t> counted(std::size_t n) {
  std::vector<std::int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

/// Texts to numbers or numbers to texts, whichever x asks for.
AnyArray exchanged(const AnyView& x, std::span<const String> texts,
                   std::span<const std::int64_t> numbers, std::int64_t default_number,
                   std::string_view default_text) {
  if (x.info.type == ElementType::string) return replaced(x, texts, numbers, default_number);
  const AnyArray other = text_array(default_text);
  return replaced(x, numbers, texts, other.values<String>()[0]);
}

/// The one of several inputs that is given, from `first` to `last`.
const AnyView* given(std::span<const AnyView> inputs, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last && i < inputs.size(); ++i) {
    if (inputs[i].info.is_known()) return &inputs[i];
  }
  return nullptr;
}

/// The keys of a LabelEncoder are the inputs 2 to 5, the values 6 to 9.
constexpr std::size_t first_key = 2, last_key = 5, first_value = 6, last_value = 9;

}  // namespace

std::vector<AnyArray> OneHotEncoder::run(std::span<const AnyView> inputs, std::size_t) const {
  const std::span<const String> x = inputs[0].values<String>();
  const std::span<const String> categories = inputs[2].values<String>();
  Places<String> places;
  for (std::size_t i = 0; i < categories.size(); ++i) places[categories[i].view()] = i;
  TensorInfo info{ElementType::float32, inputs[0].info.shape};
  info.shape.push_back(static_cast<std::int64_t>(categories.size()));
  AnyArray y(info);
  const std::span<float> to = y.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto found = places.find(x[i].view());
    if (found != places.end()) {
      to[i * categories.size() + found->second] = 1;
    } else if (zeros == 0) {
      fail(ErrorKind::input,
           {.what = "a text is none of the categories", .found = detail::quoted(x[i].view())});
    }
  }
  return one_output(std::move(y));
}

Inferred LabelEncoder::infer(const Inputs& in) {
  std::size_t keys = 0, values = 0;
  std::int64_t sizes[2] = {};
  ElementType type = ElementType::undefined;
  for (std::size_t i = first_key; i <= last_value; ++i) {
    if (!in.has(i)) continue;
    const bool is_key = i <= last_key;
    ++(is_key ? keys : values);
    sizes[is_key ? 0 : 1] = in[i].elements();
    if (!is_key) type = in[i].type;
  }
  if (keys != 1)
    return Inferred::mismatch("there is not one list of keys", 1, static_cast<std::int64_t>(keys));
  if (values != 1)
    return Inferred::mismatch("there is not one list of values", 1,
                              static_cast<std::int64_t>(values));
  if (sizes[0] != sizes[1]) {
    return Inferred::mismatch("keys and values differ in length", sizes[0], sizes[1]);
  }
  if (in.has(1) && in[1].elements() != 1) {
    return Inferred::mismatch("default_tensor has not one element", 1, in[1].elements());
  }
  return TensorInfo{type, in[0].shape};
}

std::vector<AnyArray> LabelEncoder::run(std::span<const AnyView> inputs, std::size_t) const {
  const AnyView& x = inputs[0];
  const AnyView *keys = given(inputs, first_key, last_key),
                *values = given(inputs, first_value, last_value), *other = given(inputs, 1, 1);
  if (keys == nullptr || values == nullptr) {
    fail(ErrorKind::model, {.what = "a label encoder has neither keys nor values"});
  }
  AnyArray y;
  visit_type<Elements>(x.info.type, [&]<class K>() {
    visit_type<Elements>(values->info.type, [&]<class V>() {
      V rest{};
      AnyArray owner;
      if (other != nullptr) {
        rest = other->values<V>()[0];
      } else if constexpr (std::is_same_v<V, String>) {
        owner = text_array(default_string.view());
        rest = owner.values<String>()[0];
      } else if constexpr (std::is_floating_point_v<V>) {
        rest = static_cast<V>(default_float);
      } else {
        rest = static_cast<V>(default_int64);
      }
      y = replaced<K, V>(x, keys->values<K>(), values->values<V>(), rest);
    });
  });
  return one_output(std::move(y));
}

std::vector<AnyArray> LabelEncoder_1::run(std::span<const AnyView> inputs, std::size_t) const {
  const std::span<const String> texts = inputs[1].values<String>();
  return one_output(
      exchanged(inputs[0], texts, counted(texts.size()), default_int64, default_string.view()));
}

std::vector<AnyArray> CategoryMapper::run(std::span<const AnyView> inputs, std::size_t) const {
  return one_output(exchanged(inputs[0], inputs[2].values<String>(),
                              inputs[1].values<std::int64_t>(), default_int64,
                              default_string.view()));
}

std::vector<AnyArray> ZipMap::run(std::span<const AnyView> inputs, std::size_t) {
  const AnyView& x = inputs[0];
  const AnyView& labels = *given(inputs, 1, 2);
  const AnyArray keys = AnyArray::copy_of(labels);
  const std::int64_t rows = x.info.rank() == 1 ? 1 : x.info.shape[0];
  const auto columns = static_cast<std::size_t>(labels.info.elements());
  if (x.info.elements() != rows * labels.info.elements()) {
    fail(ErrorKind::input, {.what = "there is not one label for each column",
                            .expected = std::to_string(x.info.shape.back()),
                            .found = std::to_string(columns)});
  }
  const bool is_text = labels.info.type == ElementType::string;
  const ElementType type =
      value_type(is_text ? ValueKind::string_map : ValueKind::int64_map, ElementType::float32);
  const std::span<const float> from = x.values<float>();
  std::vector<AnyArray> maps;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    AnyArray values(TensorInfo{ElementType::float32, {labels.info.elements()}});
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                values.values<float>().begin());
    maps.emplace_back(type, Map::make(keys, std::move(values)));
  }
  return one_output(AnyArray(sequence_of(type), Sequence::make(std::move(maps))));
}

std::vector<AnyArray> DictVectorizer::run(std::span<const AnyView> inputs, std::size_t) {
  const Map map = inputs[0].map();
  const AnyView& words = *given(inputs, 1, 2);
  const ElementType type = element_of(inputs[0].info.type);
  AnyArray y(TensorInfo{type, {1, words.info.elements()}});
  if (map) {
    visit_type<TypeList<std::int64_t, String>>(words.info.type, [&]<class K>() {
      const Places<K> places = places_of(map.keys().values<K>());
      const std::span<const K> list = words.values<K>();
      visit_type<TypeList<std::int64_t, float, double, String>>(type, [&]<class V>() {
        const std::span<const V> values = map.values().values<V>();
        const std::span<V> to = y.values<V>();
        for (std::size_t i = 0; i < list.size(); ++i) {
          const auto found = places.find(KeyOf<K>::make(list[i]));
          if (found != places.end()) to[i] = values[found->second];
        }
      });
    });
  }
  y.own_objects();
  return one_output(std::move(y));
}

std::vector<AnyArray> CastMap::run(std::span<const AnyView> inputs, std::size_t) const {
  const Map map = inputs[0].map();
  const bool is_text = element_of(inputs[0].info.type) == ElementType::string;
  std::vector<std::pair<std::int64_t, std::size_t>> entries;  // key and its place
  if (map) {
    const std::span<const std::int64_t> keys = map.keys().values<std::int64_t>();
    for (std::size_t i = 0; i < keys.size(); ++i) entries.emplace_back(keys[i], i);
  }
  std::sort(entries.begin(), entries.end());
  if (map_form == MapForm::sparse && !entries.empty() && entries[0].first < 0) {
    fail(ErrorKind::input,
         {.what = "a key of a sparse map is negative", .found = std::to_string(entries[0].first)});
  }
  const bool is_sparse = map_form == MapForm::sparse;
  const std::size_t n = is_sparse ? static_cast<std::size_t>(max_map) : entries.size();
  const auto place_of = [&](std::size_t i) -> const std::size_t* {
    if (!is_sparse) return &entries[i].second;
    const auto found = std::lower_bound(
        entries.begin(), entries.end(), i,
        [](const auto& e, std::size_t key) { return static_cast<std::size_t>(e.first) < key; });
    const bool has = found != entries.end() && static_cast<std::size_t>(found->first) == i;
    return has ? &found->second : nullptr;
  };
  const auto number = [&]<class N>(std::size_t place, N) {
    if (!is_text) return static_cast<N>(map.values().values<float>()[place]);
    const std::string_view text = map.values().values<String>()[place].view();
    N value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail(ErrorKind::input, {.what = "a text is no number", .found = detail::quoted(text)});
    }
    return value;
  };
  const Dims shape{1, static_cast<std::int64_t>(n)};
  if (cast_to == MapCast::to_string) {
    std::vector<std::string> made(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t* place = place_of(i);
      made[i] = place == nullptr ? "0.f"
                : is_text        ? std::string(map.values().values<String>()[*place].view())
                                 : std::to_string(map.values().values<float>()[*place]);
    }
    const std::vector<std::string_view> texts(made.begin(), made.end());
    return one_output(AnyArray(shape, texts));
  }
  const auto numbers = [&]<class N>(N zero) {
    AnyArray y(TensorInfo{element_type<N>, shape});
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t* place = place_of(i);
      y.values<N>()[i] = place == nullptr ? zero : number(*place, zero);
    }
    return one_output(std::move(y));
  };
  return cast_to == MapCast::to_float ? numbers(float{}) : numbers(std::int64_t{});
}

}  // namespace halftone::op
