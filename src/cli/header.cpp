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

class HeaderWriter {
 public:
  HeaderWriter(const Graph& graph, std::string_view space)
      : graph_(graph), space_(space), is_needed_(graph, false) {}

  std::string run() {
    for (const auto* ids : {&graph_.inputs, &graph_.outputs}) {
      for (const TensorId id : *ids) is_needed_[id] = true;
    }
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        if (id != no_tensor) is_needed_[id] = true;
      }
    }
    for (const TensorId id : graph_.inputs) {
      add("    const TensorId t{} = g.add_input({}, {});\n", id, info(id), quoted(graph_.name(id)));
    }
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
        add("    g.rename(t{}, {});\n", id, quoted(graph_.name(id)));
      }
      is_named[id] = true;
      add("    g.add_output(t{});\n", id);
    }
    return fmt::format(
        "#pragma once\n\n// Made by halftone compile --emit header.\n"
        "#include <halftone/static.hpp>\n\nnamespace {} {{\n\n{}\n"
        "struct Model {{\n  static constexpr void build(halftone::Graph& g) {{\n"
        "    using namespace halftone;\n{}  }}\n}};\n\n}}  // namespace {}\n",
        space_, arrays_, build_, space_);
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... values) {
    fmt::format_to(std::back_inserter(build_), text, std::forward<A>(values)...);
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

  template <class T>
  void add_values(std::span<const std::byte> bytes) {
    std::string_view gap = "";
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes.data() + at, sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        // Bits and nothing else: infinities and NaNs have no literals.
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const bool is_finite = value - value == 0;
        const auto bits = std::bit_cast<Bits>(value);
        fmt::format_to(std::back_inserter(arrays_), "{}{}", gap,
                       is_finite ? fmt::format("{:a}{}", value, sizeof(T) == 4 ? "f" : "")
                                 : fmt::format("std::bit_cast<{}>({}u)",
                                               sizeof(T) == 4 ? "float" : "double", bits));
      } else {
        fmt::format_to(std::back_inserter(arrays_), "{}{}", gap, value);
      }
      gap = ",";
    }
  }

  void add_weight(TensorId id) {
    const TensorRecord& t = graph_.tensor(id);
    const std::string type{name(t.info.type)};
    using Types = TypeList<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                           std::uint8_t, std::uint16_t, std::uint32_t>;
    std::string data;
    if (t.data.size() != 0) {
      fmt::format_to(std::back_inserter(arrays_), "alignas(64) inline constexpr {} w{}[] = {{",
                     type_code(t.info.type), id);
      const bool is_known =
          visit_type<Types>(t.info.type, [&]<class T>() { add_values<T>(t.data.span()); });
      if (!is_known) refuse("a header has no weights of this type", graph_.name(id), type);
      arrays_ += "};\n";
      data = fmt::format("halftone::detail::bytes_of(in_place(w{}))", id);
    } else if (t.role == Role::constant || t.info.bytes() == 0) {
      data = "Bytes{}";
    } else {
      refuse("a weight has no value", graph_.name(id), {});
    }
    add("    const TensorId t{} = g.add_{}({}, {}, {});\n", id,
        t.role == Role::constant ? "constant" : "variable", info(id), data,
        quoted(graph_.name(id)));
  }
  static std::string_view type_code(ElementType type) {
    switch (type) {
      case ElementType::float32:
        return "float";
      case ElementType::float64:
        return "double";
      case ElementType::int8:
        return "std::int8_t";
      case ElementType::int16:
        return "std::int16_t";
      case ElementType::int32:
        return "std::int32_t";
      case ElementType::int64:
        return "std::int64_t";
      case ElementType::uint8:
        return "std::uint8_t";
      case ElementType::uint16:
        return "std::uint16_t";
      default:
        return "std::uint32_t";
    }
  }

  static std::string tensor(TensorId id) {
    return id == no_tensor ? "no_tensor" : fmt::format("t{}", id);
  }
  void add_node(const Node& node) {
    const std::string_view op = struct_name(node.op->id);
    if (op.empty() || !subgraphs_of(node).empty()) {
      refuse("static programs do not have this operator", {}, node.op->id.name);
    }
    std::vector<std::string> inputs, infos;
    for (const TensorId id : node.inputs) inputs.push_back(tensor(id));
    for (const TensorId id : node.outputs) {
      // An output that nobody wants has a place all the same.
      infos.push_back(id == no_tensor ? "{}" : info(id));
    }
    add("    const std::size_t n{} = record_static<op::{}>(g, {{{}}}, {{{}}}, {{{}}});\n", nodes_,
        op, fmt::join(node.attributes, ", "), fmt::join(inputs, ", "), fmt::join(infos, ", "));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == no_tensor) {
        add("    g.nodes[n{}].outputs[{}] = no_tensor;\n", nodes_, o);
      } else if (is_needed_[id]) {
        add("    const TensorId t{} = g.nodes[n{}].outputs[{}];\n", id, nodes_, o);
      }
    }
    ++nodes_;
  }

  const Graph& graph_;
  std::string_view space_;
  TensorMap<bool> is_needed_;
  std::string arrays_, build_;
  int nodes_ = 0;
};

}  // namespace

std::string static_header(const Graph& graph, std::string_view name) {
  return HeaderWriter(graph, name).run();
}

}  // namespace halftone::cli
