#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_MAPS_HPP
#define HALFTONE_OP_ML_MAPS_HPP

#include <halftone/op/ml_list.hpp>

namespace halftone {

namespace op {
/// What a CastMap makes of a map's values, and whether it leaves gaps for keys that are not there.
enum class MapCast : std::uint8_t { to_float, to_string, to_int64 };
enum class MapForm : std::uint8_t { dense, sparse };
}  // namespace op

namespace detail {
inline constexpr std::string_view map_cast_names[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
inline constexpr std::string_view map_form_names[] = {"DENSE", "SPARSE"};
}  // namespace detail

namespace op {
constexpr std::span<const std::string_view> names_of(MapCast) {
  return halftone::detail::map_cast_names;
}
constexpr std::span<const std::string_view> names_of(MapForm) {
  return halftone::detail::map_form_names;
}

/// A map from labels to scores for each row.
///
/// x      float [n, e] or [e]
/// z      a sequence of n maps (of one) from the labels to the numbers of a row
/// classlabels_int64s, classlabels_strings  e labels
/// source ai.onnx.ml ZipMap-1
struct ZipMap {
  static constexpr OpId id{"ai.onnx.ml", "ZipMap", 1};
  static constexpr Signature signature =
      "x:F classlabels_int64s=?:L classlabels_strings=?:L -> z:M";
  using types = TypeList<TypeList<float>, TypeList<std::int64_t, String>, AnyTypes>;

  static Inferred infer(const Inputs& in) {
    const halftone::detail::Rows x(in[0]);
    if (!x.reason.empty()) return Inferred::mismatch(x.reason);
    if (in.has(1) == in.has(2)) return Inferred::mismatch("there is not one list of labels");
    const std::size_t list = in.has(1) ? 1 : 2;
    if (contradict(x.columns, in[list].elements())) {
      return Inferred::mismatch("there is not one label for each column", x.columns,
                                in[list].elements());
    }
    const bool is_text = in[list].type == ElementType::string;
    return TensorInfo{
        value_type(is_text ? ValueKind::string_maps : ValueKind::int64_maps, ElementType::float32),
        {}};
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The values of a map in the order of a vocabulary.
///
/// x      a map
/// y      [1, number of words]; 0 or an empty text for keys that the map does not have
/// int64_vocabulary, string_vocabulary  the keys
/// source ai.onnx.ml DictVectorizer-1
struct DictVectorizer {
  static constexpr OpId id{"ai.onnx.ml", "DictVectorizer", 1};
  static constexpr Signature signature = "x:M int64_vocabulary=?:L string_vocabulary=?:L -> y:T";
  using types = TypeList<AnyTypes, TypeList<std::int64_t, String>,
                         TypeList<std::int64_t, float, double, String>>;

  static Inferred infer(const Inputs& in) {
    if (!is_map(in[0].type)) return Inferred::mismatch("the input is no map");
    const std::size_t list = kind_of(in[0].type) == ValueKind::int64_map ? 1 : 2;
    if (!in.has(list) || in.has(3 - list)) {
      return Inferred::mismatch("the vocabulary is not of the map's kind");
    }
    return TensorInfo{element_of(in[0].type), {1, in[list].elements()}};
  }
  static std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs);
};

/// The values of a map as a row, in the order of their keys.
///
/// x        a map from int64 to float or texts
/// y        [1, number of values], or [1, max_map] with 0 ("0.f" for texts, as ONNX Runtime has it)
///          for keys that the map does not have
/// cast_to  the type of y
/// source   ai.onnx.ml CastMap-1
struct CastMap {
  MapCast cast_to = MapCast::to_float;
  MapForm map_form = MapForm::dense;
  std::int64_t max_map = 1;

  static constexpr OpId id{"ai.onnx.ml", "CastMap", 1};
  static constexpr Signature signature = "x:M -> y:T";
  using types = TypeList<AnyTypes, TypeList<float, String, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("cast_to", cast_to);
    visit("map_form", map_form);
    visit("max_map", max_map);
  }
  Inferred infer(const Inputs& in) const {
    const ElementType value = element_of(in[0].type);
    const bool is_offered = kind_of(in[0].type) == ValueKind::int64_map &&
                            (value == ElementType::float32 || value == ElementType::string);
    if (!is_offered) return Inferred::mismatch("the input is no map from int64 to float or texts");
    const bool is_sparse = map_form == MapForm::sparse;
    if (is_sparse && max_map < 1) return Inferred::mismatch("max_map is not positive", 1, max_map);
    const ElementType to[] = {ElementType::float32, ElementType::string, ElementType::int64};
    return TensorInfo{to[static_cast<int>(cast_to)], {1, is_sparse ? max_map : dynamic}};
  }
  std::vector<AnyArray> run(std::span<const AnyView> inputs, std::size_t outputs) const;
};

}  // namespace op
}  // namespace halftone

#endif
