#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <halftone/op/list.hpp>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "popart/settings.hpp"

namespace halftone::cli {
namespace {

std::vector<const Descriptor*> sorted_operators() {
  std::vector<const Descriptor*> all;
  for (const Descriptor* op : builtin::table) {
    // What passes make is not for models.
    if (op->id.domain != "halftone") all.push_back(op);
  }
  const auto key = [](const Descriptor* op) {
    return std::tuple(op->id.domain, op->id.name, op->id.versions[0]);
  };
  std::sort(all.begin(), all.end(), [&](auto a, auto b) { return key(a) < key(b); });
  return all;
}

std::vector<ElementType> types_of(const Descriptor& op, int type_variable) {
  std::vector<ElementType> types;
  for (int i = 1; i < detail::element_type_count; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (op.allows(type_variable, type)) types.push_back(type);
  }
  return types;
}

/// Collects the attributes of an operator with their defaults.
class AttributeList final : public AttributeVisitor {
 public:
  Json list = Json::array();

  void integer(std::string_view name, std::int64_t& value, bool& present) override {
    add(name, "int", present && value != required ? Json(value) : Json(),
        present && value == required);
  }
  void real(std::string_view name, float& value, bool& present) override {
    add(name, "float", present ? Json(value) : Json());
  }
  void integers(std::string_view name, std::int64_t* values, std::uint8_t& count,
                std::size_t) override {
    add(name, "ints", std::vector<std::int64_t>(values, values + count));
  }
  void reals(std::string_view name, float* values, std::uint8_t& count, std::size_t) override {
    add(name, "floats", std::vector<float>(values, values + count));
  }
  void text(std::string_view name, char* text, std::size_t) override { add(name, "string", text); }
  void choice(std::string_view name, std::int64_t& value,
              std::span<const std::string_view> names) override {
    add(name, "string", names[static_cast<std::size_t>(value)]);
    list.back()["choices"] = std::vector<std::string_view>(names.begin(), names.end());
  }
  void choices(std::string_view name, std::int64_t* values, std::uint8_t& count, std::size_t,
               std::span<const std::string_view> names) override {
    std::vector<std::string_view> given;
    for (std::size_t i = 0; i < count; ++i) {
      given.push_back(names[static_cast<std::size_t>(values[i])]);
    }
    add(name, "strings", given);
    list.back()["choices"] = std::vector<std::string_view>(names.begin(), names.end());
  }
  void graph(std::string_view name, std::int32_t&) override { add(name, "graph", Json(), true); }

 private:
  void add(std::string_view name, std::string_view kind, Json value, bool is_required = false) {
    Json attribute{{"name", name}, {"kind", kind}};
    if (is_required) {
      attribute["required"] = true;
    } else {
      attribute["default"] = std::move(value);
    }
    list.push_back(std::move(attribute));
  }
};

std::string type_variable_name(int number) {
  return number == 0 ? "T" : fmt::format("T{}", number);
}

Json slot_json(const Slot& slot) {
  Json json{{"name", slot.name}, {"type", type_variable_name(slot.type_variable)}};
  if (slot.optional) json["optional"] = true;
  if (slot.variadic) json["variadic"] = true;
  return json;
}

/// An input that ONNX has as an attribute.
Json attribute_json(const Descriptor& op, const Slot& slot) {
  const auto choices =
      op.choices == nullptr ? std::span<const std::string_view>{} : op.choices(slot.name);
  Json json{{"name", slot.name}};
  json["kind"] = slot.attribute == SlotAttribute::tensor               ? "tensor"
                 : op.allows(slot.type_variable, ElementType::int64)   ? "ints"
                 : op.allows(slot.type_variable, ElementType::float32) ? "floats"
                                                                       : "strings";
  if (!choices.empty())
    json["choices"] = std::vector<std::string_view>(choices.begin(), choices.end());
  if (slot.optional) {
    json["default"] = nullptr;
  } else {
    json["required"] = true;
  }
  return json;
}

Json operator_json(const Descriptor& op) {
  Json json{{"domain", op.id.domain}, {"name", op.id.name}};
  json["versions"] = std::vector<int>(op.id.versions.begin(), op.id.versions.end());
  json["inputs"] = Json::array();
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < op.signature.inputs(); ++i) {
    const Slot& slot = op.signature.input(i);
    if (!slot.is_attribute()) json["inputs"].push_back(slot_json(slot));
  }
  for (std::size_t i = 0; i < op.signature.outputs(); ++i) {
    json["outputs"].push_back(slot_json(op.signature.output(i)));
  }
  for (int v = 0; v < static_cast<int>(op.signature.type_variables()); ++v) {
    Json& types = json["types"][type_variable_name(v)] = Json::array();
    for (const ElementType type : types_of(op, v)) types.push_back(name(type));
  }
  AttributeList attributes;
  Vector<Word> words = op.defaults();
  op.attributes(words, attributes);
  for (std::size_t i = 0; i < op.signature.inputs(); ++i) {
    const Slot& slot = op.signature.input(i);
    if (slot.is_attribute()) attributes.list.push_back(attribute_json(op, slot));
  }
  json["attributes"] = std::move(attributes.list);
  json["gradient"] = op.has_gradient;
  return json;
}

/// Those of the type variable that allows most: the others have conditions, indices and the like.
std::vector<ElementType> main_types(const Descriptor& op) {
  std::vector<ElementType> most;
  for (int v = 0; v < static_cast<int>(op.signature.type_variables()); ++v) {
    std::vector<ElementType> types = types_of(op, v);
    if (types.size() > most.size()) most = std::move(types);
  }
  return most;
}

/// "floating point, integers, bool": whole groups by their names, others one by one.
std::string types_in_words(const std::vector<ElementType>& types) {
  using enum ElementType;
  const std::pair<std::string_view, std::vector<ElementType>> groups[] = {
      {"floating point", {float32, float64, float16, bfloat16}},
      {"integers", {int8, int16, int32, int64, uint8, uint16, uint32, uint64}},
      {"bool", {boolean}},
      {"float8", {float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz}},
  };
  std::string text;
  const auto add = [&](std::string_view word) {
    if (!text.empty()) text += ", ";
    text += word;
  };
  for (const auto& [group, members] : groups) {
    const auto has = [&](ElementType t) {
      return std::find(types.begin(), types.end(), t) != types.end();
    };
    if (std::all_of(members.begin(), members.end(), has)) {
      add(group);
      continue;
    }
    for (const ElementType type : members) {
      if (has(type)) add(name(type));
    }
  }
  return text;
}

void print_markdown(const Console& console, const std::vector<const Descriptor*>& operators) {
  // Several meanings of an operator are one row; the types are those of the newest.
  std::map<std::pair<std::string_view, std::string_view>,
           std::pair<std::vector<int>, const Descriptor*>>
      rows;
  for (const Descriptor* op : operators) {
    auto& [versions, newest] = rows[{op->id.domain, op->id.name}];
    versions.insert(versions.end(), op->id.versions.begin(), op->id.versions.end());
    newest = op;
  }
  fmt::print(
      console.out,
      "| domain | operator | since-versions | element types | gradient |\n|---|---|---|---|---|\n");
  for (auto& [key, row] : rows) {
    std::sort(row.first.begin(), row.first.end());
    fmt::print(console.out, "| {} | {} | {} | {} | {} |\n", key.first, key.second,
               fmt::join(row.first, ", "), types_in_words(main_types(*row.second)),
               row.second->has_gradient ? "yes" : "");
  }
}

}  // namespace

void ops(const OpsOptions& options, const Console& console) {
  if (options.popart) return fmt::print(console.out, "{}", popart::detail::settingsText());
  const std::vector<const Descriptor*> operators = sorted_operators();
  if (options.markdown) return print_markdown(console, operators);
  if (options.json) {
    Json list = Json::array();
    for (const Descriptor* op : operators) list.push_back(operator_json(*op));
    fmt::print(console.out, "{}", dump(list));
    return;
  }
  for (const Descriptor* op : operators) {
    for (const int version : op->id.versions) {
      fmt::print(console.out, "{} {} {}{}\n", op->id.domain, op->id.name, version,
                 op->has_gradient ? " train" : "");
    }
  }
}

}  // namespace halftone::cli
