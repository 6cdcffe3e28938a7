#include "cli/header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::cli {
namespace {

/// The name of an operator's struct; empty: none of the library's.
std::string_view struct_name(const OpId& id) {
  struct Named {
    const OpId* id;
    std::string_view name;
  };
#define HALFTONE_NAMED(Struct, function) {&op::Struct::id, #Struct},
#define HALFTONE_NAMED_OLD(Struct) {&op::Struct::id, #Struct},
  static constexpr Named all[] = {HALFTONE_OPERATORS(HALFTONE_NAMED, HALFTONE_NAMED_OLD)};
#undef HALFTONE_NAMED
#undef HALFTONE_NAMED_OLD
  for (const Named& named : all) {
    if (*named.id == id) return named.name;
  }
  return {};
}

/// A text as C++ has it.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// Writes how a graph is recorded, and those of its loops and branches inside it.
class HeaderWriter {
 public:
  /// arrays  takes the weights
  /// suffix  of names, which tells those of bodies apart
  /// indent  in front of each line
  HeaderWriter(const Graph& graph, std::string& arrays, std::string suffix, std::string indent)
      : graph_(graph),
        arrays_(arrays),
        suffix_(std::move(suffix)),
        indent_(std::move(indent)),
        is_needed_(graph, false) {}

  /// The statements that record the graph in an empty one.
  std::string run() {
    for (const TensorId id : graph_.outputs) is_needed_[id] = true;
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        if (id != no_tensor) is_needed_[id] = true;
      }
    }
    for (std::size_t i = 0; i < graph_.graphs.size(); ++i) add_body(i);
    for (const TensorId id : graph_.inputs) add_input(id);
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const Role role = graph_.tensor(id).role;
      if (is_needed_[id] && role != Role::input && role != Role::value) add_weight(id);
    }
    for (const Node& node : graph_.nodes) add_node(node);
    TensorMap<bool> is_named(graph_, false);
    for (const TensorId id : graph_.outputs) {
      // Others have their names.
      if (graph_.tensor(id).role == Role::value && !is_named[id]) {
        add("g{}.rename(t{}, {});\n", suffix_, id, quoted(graph_.name(id)));
      }
      is_named[id] = true;
      add("g{}.add_output(t{});\n", suffix_, id);
    }
    return std::move(build_);
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... values) {
    build_ += indent_;
    fmt::format_to(std::back_inserter(build_), text, std::forward<A>(values)...);
  }
  /// The body of a loop or branch: nodes name it by its place among the graph's graphs.
  void add_body(std::size_t place) {
    const std::string suffix = fmt::format("{}_{}", suffix_, place);
    add("g{}.graphs.push_back([] {{\n", suffix_);
    add("  Graph g{};\n", suffix);
    build_ += HeaderWriter(graph_.graphs[place], arrays_, suffix, indent_ + "  ").run();
    add("  return g{};\n", suffix);
    add("}}());\n");
  }
  void add_input(TensorId id) {
    if (graph_.tensor(id).role == Role::constant) {  // of a body: each pass gets the same
      add_weight(id);
      add("g{}.inputs.push_back(t{});\n", suffix_, id);
      is_needed_[id] = false;  // as it is there
      return;
    }
    const std::string left = is_needed_[id] ? fmt::format("const TensorId t{} = ", id) : "";
    add("{}g{}.add_input({}, {});\n", left, suffix_, info(id), quoted(graph_.name(id)));
  }
  [[noreturn]] void refuse(std::string_view what, std::string_view tensor, std::string_view found) {
    fail(ErrorKind::unsupported, {.what = what, .tensor = tensor, .found = found});
  }
  std::string info(TensorId id) {
    const TensorInfo& info = graph_.info(id);
    if (!info.is_static()) {
      refuse("the shape of a tensor is not known before the run", graph_.name(id), {});
    }
    return fmt::format("{{ElementType{{{}}}, {{{}}}}}", static_cast<int>(info.type),
                       fmt::join(info.shape, ", "));
  }

  /// An element as C++ has it. Floats that have no literal are made of their bits.
  template <class T>
  static std::string literal(std::string_view code, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_float = sizeof(T) == 4;
      if (value - value == 0) return fmt::format("{:a}{}", value, is_float ? "f" : "");
      using Bits = std::conditional_t<is_float, std::uint32_t, std::uint64_t>;
      return fmt::format("std::bit_cast<{}>({}u)", code, std::bit_cast<Bits>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return value == INT64_MIN ? "INT64_MIN" : fmt::format("{}", value);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return fmt::format("{}u", value);
    } else if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}", value);
    } else if constexpr (sizeof(T) == 1) {  // float8
      return fmt::format("{}::from_bits({})", code, std::bit_cast<std::uint8_t>(value));
    } else if constexpr (std::is_class_v<T>) {  // bfloat16
      return fmt::format("{}::from_bits({})", code, std::bit_cast<std::uint16_t>(value));
    } else {  // half
      return fmt::format("std::bit_cast<{}>(std::uint16_t{{{}}})", code,
                         std::bit_cast<std::uint16_t>(value));
    }
  }

  /// Types of C++ that hold an element each; ONNX packs others.
  struct Code {
    ElementType type;
    std::string_view text;
  };
  static constexpr Code codes[] = {{ElementType::float32, "float"},
                                   {ElementType::float64, "double"},
                                   {ElementType::float16, "halftone::half"},
                                   {ElementType::bfloat16, "halftone::bfloat16"},
                                   {ElementType::float8_e4m3fn, "halftone::float8_e4m3fn"},
                                   {ElementType::float8_e4m3fnuz, "halftone::float8_e4m3fnuz"},
                                   {ElementType::float8_e5m2, "halftone::float8_e5m2"},
                                   {ElementType::float8_e5m2fnuz, "halftone::float8_e5m2fnuz"},
                                   {ElementType::boolean, "bool"},
                                   {ElementType::int8, "std::int8_t"},
                                   {ElementType::int16, "std::int16_t"},
                                   {ElementType::int32, "std::int32_t"},
                                   {ElementType::int64, "std::int64_t"},
                                   {ElementType::uint8, "std::uint8_t"},
                                   {ElementType::uint16, "std::uint16_t"},
                                   {ElementType::uint32, "std::uint32_t"},
                                   {ElementType::uint64, "std::uint64_t"}};

  void add_values(std::string_view code, ElementType type, std::span<const std::byte> bytes) {
    visit_type<AllTypes>(type, [&]<class T>() {
      std::string_view gap = "";
      for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        arrays_ += gap;
        arrays_ += literal(code, value);
        gap = ",";
      }
    });
  }

  void add_weight(TensorId id) {
    const TensorRecord& t = graph_.tensor(id);
    std::string data;
    if (t.data.size() != 0) {
      std::string_view code;
      for (const Code& c : codes) {
        if (c.type == t.info.type) code = c.text;
      }
      if (code.empty()) {
        refuse("a header has no weights of this type", graph_.name(id), name(t.info.type));
      }
      fmt::format_to(std::back_inserter(arrays_), "alignas(64) inline constexpr {} w{}{}[] = {{",
                     code, id, suffix_);
      add_values(code, t.info.type, t.data.span());
      arrays_ += "};\n";
      data = fmt::format("halftone::detail::bytes_of(in_place(w{}{}))", id, suffix_);
    } else if (t.role == Role::constant || t.info.bytes() == 0) {
      data = "Bytes{}";
    } else {
      refuse("a weight has no value", graph_.name(id), {});
    }
    add("const TensorId t{} = g{}.add_{}({}, {}, {});\n", id, suffix_,
        t.role == Role::constant ? "constant" : "variable", info(id), data,
        quoted(graph_.name(id)));
  }

  static std::string tensor(TensorId id) {
    return id == no_tensor ? "no_tensor" : fmt::format("t{}", id);
  }
  void add_node(const Node& node) {
    const std::string_view op = struct_name(node.op->id);
    if (op.empty()) {
      refuse("static programs do not have this operator", {}, node.op->id.name);
    }
    std::vector<std::string> inputs, infos;
    for (const TensorId id : node.inputs) inputs.push_back(tensor(id));
    for (const TensorId id : node.outputs) {
      // An output that nobody wants has a place all the same.
      infos.push_back(id == no_tensor ? "{}" : info(id));
    }
    add("const std::size_t n{} = record_static<op::{}>(g{}, {{{}}}, {{{}}}, {{{}}});\n", nodes_, op,
        suffix_, fmt::join(node.attributes, ", "), fmt::join(inputs, ", "), fmt::join(infos, ", "));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == no_tensor) {
        add("g{}.nodes[n{}].outputs[{}] = no_tensor;\n", suffix_, nodes_, o);
      } else if (is_needed_[id]) {
        add("const TensorId t{} = g{}.nodes[n{}].outputs[{}];\n", id, suffix_, nodes_, o);
      }
    }
    ++nodes_;
  }

  const Graph& graph_;
  std::string& arrays_;
  std::string suffix_, indent_;
  TensorMap<bool> is_needed_;
  std::string build_;
  int nodes_ = 0;
};

}  // namespace

std::string static_header(const Graph& graph, std::string_view name) {
  std::string arrays;
  const std::string build = HeaderWriter(graph, arrays, "", "    ").run();
  return fmt::format(
      "#pragma once\n\n// Made by halftone compile --emit header.\n"
      "#include <halftone/static.hpp>\n\nnamespace {} {{\n\n{}\n"
      "struct Model {{\n  static constexpr void build(halftone::Graph& g) {{\n"
      "    using namespace halftone;\n{}  }}\n}};\n\n}}  // namespace {}\n",
      name, arrays, build, name);
}

}  // namespace halftone::cli
