#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <halftone/program/program.hpp>

namespace test {

/// A number of everything in a program (FNV-1a): what was made in constant evaluation cannot leave
/// it, but its fingerprint can.
class Fingerprint {
 public:
  constexpr std::uint64_t value() const { return hash_; }

  constexpr void add(std::integral auto... numbers) {
    (mix(static_cast<std::uint64_t>(numbers)), ...);
  }
  constexpr void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(c);
  }
  template <class T>
  constexpr void add(const halftone::Vector<T>& list) {
    add(list.size());
    for (const T& item : list) add(item);
  }
  constexpr void add(const halftone::TensorInfo& info) {
    add(static_cast<int>(info.type), info.rank());
    for (const std::int64_t extent : info.shape) add(extent);
  }
  constexpr void add(const halftone::Graph& g, const halftone::TensorRecord& t) {
    add(t.info);
    add(static_cast<int>(t.role), static_cast<int>(t.state), static_cast<int>(t.initial.rule),
        std::bit_cast<std::uint32_t>(t.initial.a), std::bit_cast<std::uint32_t>(t.initial.b));
    add(g.text(t.name));
    for (const std::byte b : t.data.span()) add(std::to_integer<int>(b));
  }
  constexpr void add(const halftone::Node& node) {
    add(node.op->id.domain);
    add(node.op->id.name);
    add(node.attributes);
  }
  constexpr void add(const halftone::Graph& g) {
    for (const halftone::TensorRecord& t : g.tensors) {
      add(g, t);
      add(t.of);
    }
    for (const halftone::Node& node : g.nodes) {
      add(node);
      add(node.inputs);
      add(node.outputs);
      add(g.name(node));
    }
    add(g.inputs);
    add(g.outputs);
    add(g.graphs);
    add(g.model);
  }
  constexpr void add(const halftone::Program::Argument& a) {
    add(a.tensor, static_cast<int>(a.place), a.number);
  }
  constexpr void add(const halftone::Program::Step& s) {
    add(static_cast<int>(s.kind), s.node, s.first, s.inputs, s.outputs, s.constants, s.scratch,
        s.packed, s.repetition);
    add(s.bodies);
  }
  constexpr void add(const halftone::Program::Buffer& b) {
    add(b.bytes, b.offset, b.first, b.last);
  }
  constexpr void add(const halftone::Program& p) {
    add(p.graph);
    add(p.arguments);
    add(p.steps);
    add(p.buffers);
    add(p.outputs);
    add(p.bodies);
    add(p.arena_bytes, p.live_bytes);
  }

 private:
  constexpr void mix(std::uint64_t number) { hash_ = (hash_ ^ number) * 1099511628211u; }

  std::uint64_t hash_ = 14695981039346656037u;
};

constexpr std::uint64_t fingerprint(const halftone::Program& program) {
  Fingerprint all;
  all.add(program);
  return all.value();
}

/// The same of what a graph's outputs are, however its nodes and tensors are numbered: g++ evaluates
/// the arguments of a call from the left in constant evaluation, from the right in a program.
constexpr std::uint64_t fingerprint(const halftone::Graph& g) {
  std::vector<std::uint64_t> of_tensor;
  for (const halftone::TensorRecord& t : g.tensors) {
    Fingerprint one;
    one.add(g, t);
    of_tensor.push_back(one.value());
  }
  const auto of = [&](halftone::TensorId id) -> std::uint64_t& {
    return of_tensor[static_cast<std::size_t>(id)];
  };
  for (const halftone::Node& node : g.nodes) {
    Fingerprint one;
    one.add(node);
    for (const halftone::TensorId id : node.inputs) one.add(id < 0 ? 0 : of(id));
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] < 0) continue;
      Fingerprint output = one;
      output.add(o);
      of(node.outputs[o]) = output.value();
    }
  }
  Fingerprint all;
  for (const halftone::TensorId id : g.outputs) all.add(of(id));
  for (const halftone::Graph& body : g.graphs) all.add(fingerprint(body));
  all.add(g.nodes.size());
  return all.value();
}

}  // namespace test
