#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <halftone/base/tensor_info.hpp>

namespace halftone::program {

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

}  // namespace halftone::program
