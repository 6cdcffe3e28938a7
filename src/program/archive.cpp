#include "program/archive.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <halftone/base/array.hpp>

#include "op/builtin.hpp"
#include "train/table.hpp"

namespace halftone {
namespace detail {

void ArchiveWriter::number(std::uint64_t value) {
  // Seven bits a byte; signs are moved to the lowest bit, so that -1 is short.
  value = value << 1 ^ (static_cast<std::int64_t>(value) < 0 ? ~std::uint64_t{0} : 0);
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

void ArchiveWriter::text(std::string_view value) {
  number(value.size());
  const auto* first = reinterpret_cast<const std::byte*>(value.data());
  bytes.insert(bytes.end(), first, first + value.size());
}

std::uint64_t ArchiveWriter::hash() const {
  XXH3_state_t sum;
  XXH3_64bits_reset(&sum);
  XXH3_64bits_update(&sum, bytes.data(), bytes.size());
  for (const Bytes& blob : blobs) XXH3_64bits_update(&sum, blob.span().data(), blob.size());
  return XXH3_64bits_digest(&sum);
}
void ArchiveWriter::blob(const Bytes& data) {
  const std::span<const std::byte> span = data.span();
  if (span.empty()) return number(0);
  const auto [place, is_new] = known_.try_emplace({span.data(), span.size()}, blobs.size() + 1);
  if (is_new) blobs.push_back(data);
  number(place->second);
}

void ArchiveReader::fail_here() {
  fail(ErrorKind::model, {.what = "the executable is damaged: its parts do not fit together",
                          .hint = "compile the model again"});
}

std::uint64_t ArchiveReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    if (at_ == bytes_.size() || shift > 63) fail_here();
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value >> 1 ^ ((value & 1) != 0 ? ~std::uint64_t{0} : 0);
}

std::size_t ArchiveReader::count() {
  const std::uint64_t value = number();
  if (value > bytes_.size() - at_) fail_here();
  return static_cast<std::size_t>(value);
}

std::string_view ArchiveReader::text() {
  const std::size_t size = count();
  const auto* first = reinterpret_cast<const char*>(bytes_.data() + at_);
  at_ += size;
  return {first, size};
}

Bytes ArchiveReader::blob() {
  const std::uint64_t number_of = number();
  if (number_of == 0) return {};
  if (number_of > blobs.size()) fail_here();
  return blobs[static_cast<std::size_t>(number_of - 1)];
}

namespace {

/// What is written, in its order, and read in the same.
template <class A>
class Fields {
 public:
  template <class T>
  using Ref = std::conditional_t<A::is_reader, T&, const T&>;

  Fields(A& archive, OperatorTable operators) : a_(archive), operators_(operators) {}

  void graph(Ref<Graph> g) {
    number(g.replicas);
    list(g.variable_settings, [&](auto& v) { variable_settings(v); });
    list(g.tensors, [&](auto& t) { tensor(g, t); });
    if constexpr (A::is_reader) g.index_names();
    list(g.nodes, [&](auto& n) { node(g, n); });
    list(g.graphs, [&](auto& body) { graph(body); });
    list(g.model, [&](auto& model) { graph(model); });
    ids(g, g.inputs);
    ids(g, g.outputs);
    ids(g, g.optional_inputs);
    list(g.symbols, [&](auto& s) {
      id(g, s.tensor);
      number(s.axis);
      name(g, s.name);
      check(s.tensor != no_tensor && s.axis < g.info(s.tensor).rank());
    });
    list(g.notes, [&](auto& n) {
      number(n.kind);
      name(g, n.key);
      bytes(n.text);
    });
    name(g, g.graph_name);
    list(g.streams, [&](auto& s) {
      name(g, s.name);
      info(s.info);
      number(s.to_host);
    });
    list(g.remote_buffers, [&](auto& b) {
      numbers(b.id, b.entries);
      info(b.info);
      dims(b.meta_shape);
      check(b.entries >= 1 && b.info.is_static());
    });
    list(g.meta_shapes, [&](auto& m) {
      id(g, m.tensor);
      dims(m.shape);
    });
  }

  void program(Ref<Program> p) {
    graph(p.graph);
    numbers(p.is_bound, p.arena_bytes, p.live_bytes);
    list(p.buffers, [&](auto& b) {
      numbers(b.bytes, b.offset, b.first, b.last);
      check(b.bytes >= 0 && b.offset >= 0 && b.offset <= p.arena_bytes &&
            b.bytes <= p.arena_bytes - b.offset);
    });
    list(p.late, [&](auto& last) { number(last); });
    list(p.packed, [&](auto& packed) { a(packed); });
    list(p.repetitions, [&](auto& r) { repetition(r); });
    list(p.bodies, [&](auto& body) { program(body); });
    list(p.arguments, [&](auto& argument) { this->argument(p, argument); });
    list(p.outputs, [&](auto& argument) { this->argument(p, argument); });
    list(p.steps, [&](auto& s) { step(p, s); });
    check(p.outputs.size() == p.graph.outputs.size());
  }

 private:
  static void check(bool fits) {
    if constexpr (A::is_reader) {
      if (!fits) A::fail_here();
    }
  }
  static bool is_below(auto number, std::size_t count) {
    return number >= 0 && static_cast<std::size_t>(number) < count;
  }

  template <class T>
  void number(T& value) {
    if constexpr (A::is_reader) {
      const auto read = static_cast<std::int64_t>(a_.number());
      value = static_cast<T>(read);
      if constexpr (!std::is_enum_v<T> && sizeof(T) < 8) {
        check(static_cast<std::int64_t>(value) == read);
      }
    } else {
      a_.number(static_cast<std::uint64_t>(value));
    }
  }
  void numbers(auto&... values) { (number(values), ...); }
  void real(Ref<float> value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    number(bits);
    if constexpr (A::is_reader) value = std::bit_cast<float>(bits);
  }
  void a(Ref<Bytes> data) {
    if constexpr (A::is_reader) {
      data = a_.blob();
    } else {
      a_.blob(data);
    }
  }
  /// A few bytes, which go where the numbers are.
  void bytes(Ref<Bytes> data) {
    if constexpr (A::is_reader) {
      const std::string_view text = a_.text();
      const auto* first = reinterpret_cast<const std::byte*>(text.data());
      data = Bytes(std::vector<std::byte>(first, first + text.size()));
    } else {
      a_.text({reinterpret_cast<const char*>(data.span().data()), data.size()});
    }
  }
  void name(Ref<Graph> g, Ref<Name> stored) {
    if constexpr (A::is_reader) {
      const std::string_view text = a_.text();
      if (!text.empty()) stored = g.store_name(text);
    } else {
      a_.text(g.text(stored));
    }
  }
  void list(auto& items, auto each) {
    if constexpr (A::is_reader) {
      items.resize(a_.count());
    } else {
      a_.number(items.size());
    }
    for (auto& item : items) each(item);
  }
  void id(Ref<Graph> g, auto& tensor) {
    number(tensor);
    check(tensor == no_tensor || is_below(tensor, g.tensors.size()));
  }
  void ids(Ref<Graph> g, auto& tensors) {
    list(tensors, [&](auto& t) { id(g, t); });
  }

  void info(Ref<TensorInfo> i) {
    number(i.type);
    check(is_below(static_cast<int>(element_of(i.type)), element_type_count));
    dims(i.shape);
  }
  void dims(Ref<Dims> list) {
    std::uint64_t rank = list.size();
    number(rank);
    check(rank <= max_rank);
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t extent = d < list.size() ? list[d] : 0;
      number(extent);
      if constexpr (A::is_reader) list.push_back(extent);
    }
  }
  void variable_settings(Ref<VariableSettings> v) {
    std::vector<int> groups = v.grouping.assignment();
    list(groups, [&](auto& group) { number(group); });
    if constexpr (A::is_reader) {
      if (!groups.empty()) v.grouping = ReplicaGrouping(std::move(groups));
    }
    numbers(v.retrieval, v.shard_over, v.remote_buffer, v.remote_entry);
    dims(v.host_shape);
    check(v.shard_over >= 1);
  }
  void tensor(Ref<Graph> g, Ref<TensorRecord> t) {
    info(t.info);
    number(t.settings);
    check(t.settings == -1 || is_below(t.settings, g.variable_settings.size()));
    numbers(t.role, t.state, t.of, t.initial.rule, t.stated_type);
    check(t.of == no_tensor || is_below(t.of, g.tensors.size()));
    real(t.initial.a);
    real(t.initial.b);
    name(g, t.name);
    if (has_objects(t.info.type)) {
      texts(t);
    } else {
      a(t.data);
      check(t.data.size() == 0 || t.settings >= 0 ||
            static_cast<std::int64_t>(t.data.size()) == t.info.bytes());
    }
  }
  /// Elements of a constant of texts.
  void texts(Ref<TensorRecord> t) {
    std::uint64_t count = t.data.size() / sizeof(String);
    number(count);
    if (count == 0) return;
    check(t.info.type == ElementType::string &&
          static_cast<std::int64_t>(count) == t.info.elements());
    if constexpr (A::is_reader) {
      AnyArray array(t.info);
      for (String& text : array.template values<String>()) text = String::make(a_.text());
      array.own_objects();
      t.data = Bytes(array.storage(), array.data(), array.bytes());
    } else {
      const auto* first = reinterpret_cast<const String*>(t.data.span().data());
      for (const String& text : std::span(first, static_cast<std::size_t>(count))) {
        a_.text(text.view());
      }
    }
  }
  void node(Ref<Graph> g, Ref<Node> n) {
    op(n);
    list(n.attributes, [&](auto& word) { number(word); });
    ids(g, n.inputs);
    ids(g, n.outputs);
    name(g, n.name);
    real(n.planning.available_memory_proportion);
    numbers(n.planning.partials, n.planning.on_io_tiles, n.planning.exchange, n.place.ipu,
            n.place.stage, n.place.phase, n.place.recompute, n.place.part, n.order.block,
            n.order.position);
    const Slots& slots = n.op->signature;
    check(n.inputs.size() <= slots.inputs() || slots.has_variadic_input());
    check(n.outputs.size() <= slots.outputs() || slots.has_variadic_output());
  }
  /// An operator has its names where it is the first one, and a number from then on.
  void op(Ref<Node> n) {
    if constexpr (A::is_reader) {
      const std::uint64_t number = a_.number();
      if (number < a_.operators.size()) {
        n.op = a_.operators[static_cast<std::size_t>(number)];
        return;
      }
      check(number == a_.operators.size());
      const std::string_view domain = a_.text(), name = a_.text();
      n.op = known(domain, name, static_cast<std::int64_t>(a_.number()));
      a_.operators.push_back(n.op);
    } else {
      const auto [place, is_new] = a_.operators.try_emplace(n.op, a_.operators.size());
      a_.number(place->second);
      if (!is_new) return;
      a_.text(n.op->id.domain);
      a_.text(n.op->id.name);
      a_.number(static_cast<std::uint64_t>(n.op->id.versions.back()));
    }
  }
  const Descriptor* known(std::string_view domain, std::string_view name, std::int64_t newest) {
    for (const OperatorTable table : {operators_, builtin_operators(), training_operators()}) {
      for (const Descriptor* op : table) {
        if (op->id.name == name && op->id.domain == domain && op->id.versions.back() == newest) {
          return op;
        }
      }
    }
    fail(ErrorKind::unsupported, {.what = "the executable has an operator that is not offered",
                                  .node = name,
                                  .found = domain,
                                  .hint = "those of an extension: load_executable(path, "
                                          "extension::table)"});
  }

  void argument(Ref<Program> p, Ref<Program::Argument> x) {
    numbers(x.tensor, x.place, x.number, x.offset);
    const std::size_t tensors = p.graph.tensors.size();
    check(x.place == Program::Place::absent ? x.tensor == no_tensor : is_below(x.tensor, tensors));
    switch (x.place) {
      case Program::Place::absent:
        break;
      case Program::Place::input:
        return check(is_below(x.number, p.graph.inputs.size()));
      case Program::Place::weight:
        return check(is_below(x.number, tensors));
      case Program::Place::buffer: {
        check(is_below(x.number, p.buffers.size()));
        // An output that was given away has no bytes here.
        const std::int64_t bytes = p.buffers[static_cast<std::size_t>(x.number)].bytes;
        return check(x.offset >= 0 && (bytes == 0 || x.offset <= bytes));
      }
      case Program::Place::late:
        return check(is_below(x.number, p.late.size()));
      default:
        check(false);
    }
  }
  void step(Ref<Program> p, Ref<Program::Step> s) {
    numbers(s.kind, s.is_late, s.node, s.first, s.inputs, s.outputs, s.constants, s.scratch,
            s.packed, s.repetition);
    list(s.bodies, [&](auto& body) {
      number(body);
      check(is_below(body, p.bodies.size()));
    });
    const auto is_number = [](std::int32_t number, std::size_t count) {
      return number == Program::none || is_below(number, count);
    };
    check(is_number(s.node, p.graph.nodes.size()) && is_number(s.scratch, p.buffers.size()) &&
          is_number(s.packed, p.packed.size()) && is_number(s.repetition, p.repetitions.size()));
    check(std::uint64_t{s.first} + s.inputs + s.outputs <= p.arguments.size());
    check(s.kind <= Program::Kind::parts && (s.is_late || s.kind != Program::Kind::map) &&
          (!s.is_late || s.kind != Program::Kind::parts));
    check(s.node != Program::none || s.kind == Program::Kind::copy);
    const std::size_t bodies = s.kind == Program::Kind::branch       ? 2
                               : s.kind == Program::Kind::call       ? 1
                               : s.kind == Program::Kind::repetition ? 1
                               : s.kind == Program::Kind::map        ? 1
                               : s.kind == Program::Kind::parts      ? 1
                                                                     : 0;
    check(s.bodies.size() == bodies);
    if (s.is_late && bodies != 0) {  // they are made ready from the graph's own
      const std::vector<std::int32_t> graphs =
          subgraphs_of(p.graph.nodes[static_cast<std::size_t>(s.node)]);
      check(graphs.size() == bodies);
      for (const std::int32_t index : graphs) check(is_below(index, p.graph.graphs.size()));
    }
    check(s.kind != Program::Kind::repetition || s.repetition != Program::none);
    if (s.kind == Program::Kind::parts) {
      const Graph& body = p.bodies[static_cast<std::size_t>(s.bodies[0])].graph;
      check(body.inputs.size() == s.inputs && body.outputs.size() == s.outputs);
    }
  }
  void repetition(Ref<Repetition> r) {
    numbers(r.is_loop, r.count_type, r.first_state, r.body_state, r.scratch_bytes);
    list(r.states, [&](auto& s) { numbers(s.result, s.bytes, s.memory); });
    const auto stack = [&](auto& s) {
      numbers(s.result, s.axis, s.outer, s.length, s.inner_bytes, s.is_reversed, s.memory);
    };
    list(r.scanned, stack);
    list(r.stacked, stack);
  }

  A& a_;
  OperatorTable operators_;
};

}  // namespace

void write(ArchiveWriter& to, const Graph& graph) { Fields(to, {}).graph(graph); }
void write(ArchiveWriter& to, const Program& program) { Fields(to, {}).program(program); }
Graph read_graph(ArchiveReader& from, OperatorTable operators) {
  Graph graph;
  Fields(from, operators).graph(graph);
  return graph;
}
Program read_program(ArchiveReader& from, OperatorTable operators) {
  Program program;
  Fields(from, operators).program(program);
  return program;
}

}  // namespace detail

std::uint64_t hash(const Program& program) {
  detail::ArchiveWriter writer;
  detail::write(writer, program);
  return XXH3_64bits(writer.bytes.data(), writer.bytes.size());
}

}  // namespace halftone
