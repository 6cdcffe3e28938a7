// What will run: programs of networks, in constant evaluation, too.
#include <doctest/doctest.h>

#include <halftone/program/program.hpp>

#include "networks.hpp"

using namespace halftone;

namespace {

/// A program that was made in constant evaluation keeps the promises of its members.
constexpr bool is_sound(const Program& p) {
  std::int32_t at = 0;
  for (const Program::Step& step : p.steps) {
    const std::span<const Program::Argument> arguments = p.of(step);
    for (const Program::Argument& a : arguments) {
      if (a.place != Program::Place::buffer) continue;
      const Program::Buffer& b = p.buffers[static_cast<std::size_t>(a.number)];
      if (at < b.first || at > b.last || b.bytes < p.graph.info(a.tensor).bytes()) return false;
      if (b.offset % 64 != 0 || b.offset + b.bytes > p.arena_bytes) return false;
    }
    ++at;
  }
  for (const Program& body : p.bodies) {
    if (!is_sound(body)) return false;
  }
  return p.live_bytes <= p.arena_bytes && p.outputs.size() == p.graph.outputs.size();
}

constexpr Program program_of(Graph graph) {
  static_cast<void>(infer(graph));
  return make_program(std::move(graph));
}

static_assert(is_sound(program_of(test::lenet())));
static_assert(is_sound(program_of(test::encoder_layer())));

}  // namespace
