#pragma once

#include <concepts>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <halftone/base/tensor_info.hpp>

namespace halftone::cli {

using Json = nlohmann::ordered_json;

/// The whole text with a line end; bytes that are no UTF-8 are replaced.
inline std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Extents as numbers, unknown ones as null.
inline Json to_json(const Dims& shape) {
  Json list = Json::array();
  for (const std::int64_t extent : shape) list.push_back(extent < 0 ? Json() : Json(extent));
  return list;
}

/// The members `type` and `shape`, null if they are unknown.
inline void add_info(Json& json, const TensorInfo& info) {
  json["type"] = info.is_known() ? Json(name(info.type)) : Json();
  json["shape"] = info.is_known() ? to_json(info.shape) : Json();
}

/// A member of an object, or `otherwise` if it is missing; `refuse(text)` throws.
template <class T>
T member(const Json& object, const std::string& key, std::optional<T> otherwise, auto&& refuse) {
  if (!object.is_object()) refuse("what should hold '" + key + "' is no object");
  const auto at = object.find(key);
  if (at == object.end()) {
    if (!otherwise) refuse("'" + key + "' is missing");
    return *otherwise;
  }
  bool fits = false;
  if constexpr (std::same_as<T, bool>) fits = at->is_boolean();
  if constexpr (std::same_as<T, std::int64_t>) fits = at->is_number_integer();
  if constexpr (std::same_as<T, float>) fits = at->is_number();
  if constexpr (std::same_as<T, std::string>) fits = at->is_string();
  if (!fits) refuse("'" + key + "' has the wrong type");
  return at->template get<T>();
}

}  // namespace halftone::cli
