#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/program/program.hpp>

#include "exec/bind.hpp"
#include "exec/run.hpp"

namespace test {

using Results = std::vector<std::string>;

/// Calls f(p, q) for all floats of two runs, which have as many.
template <class F>
void for_each_pair(const Results& x, const Results& y, F&& f) {
  REQUIRE(x.size() == y.size());
  for (std::size_t o = 0; o < x.size(); ++o) {
    REQUIRE(x[o].size() == y[o].size());
    for (std::size_t at = 0; at < x[o].size(); at += sizeof(float)) {
      float p, q;
      std::memcpy(&p, x[o].data() + at, sizeof p);
      std::memcpy(&q, y[o].data() + at, sizeof q);
      f(p, q);
    }
  }
}

/// The number of nodes of an operator.
inline std::size_t count(const halftone::Graph& g, const halftone::OpId& id) {
  std::size_t n = 0;
  for (const halftone::Node& node : g.nodes) n += node.op->id == id ? 1 : 0;
  return n;
}

/// Outputs of two runs, with an arena of zeros or of signalling NaNs before each.
inline Results results(halftone::Program program, bool with_nan = false) {
  using namespace halftone;
  const kernel::Executor one;
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  std::vector<AnyArray> inputs;
  for (std::size_t i = 0; i < program.graph.inputs.size(); ++i) {
    AnyArray& x = inputs.emplace_back(program.graph.info(program.graph.inputs[i]));
    int k = 0;
    for (float& value : x.values<float>()) value = static_cast<float>(++k % 13) / 13;
    bound->set_input(i, x.data());
  }
  Results list;
  for (int times = 0; times < 2; ++times) {
    const std::size_t floats = bound->arena.size() / sizeof(float);
    for (std::size_t i = 0; i < floats && with_nan; ++i) {
      constexpr std::uint32_t signalling = 0x7fa00001;
      std::memcpy(bound->arena.data() + i * sizeof(float), &signalling, sizeof signalling);
    }
    run(*bound);
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const AnyView y = bound->output(o);
      list.emplace_back(static_cast<const char*>(y.data), y.bytes());
    }
  }
  return list;
}

/// Variables are written by runs: every program gets its own.
inline halftone::Graph with_own_variables(halftone::Graph graph) {
  using namespace halftone;
  for (TensorRecord& t : graph.tensors) {
    if (t.role != Role::variable) continue;
    Storage storage = Storage::allocate(static_cast<std::size_t>(t.info.bytes()));
    if (t.data.size() != 0) {
      std::memcpy(storage.data(), t.data.span().data(), t.data.size());
    } else {
      int k = 0;
      for (std::size_t at = 0; at < storage.size(); at += sizeof(float)) {
        const float value = static_cast<float>(++k % 7) / 16;
        std::memcpy(storage.data() + at, &value, sizeof value);
      }
    }
    const std::byte* data = storage.data();
    t.data = Bytes(std::move(storage), data, static_cast<std::size_t>(t.info.bytes()));
  }
  return graph;
}

/// The results of a graph as it is: no pass is run. Its infos are known.
inline Results results(halftone::Graph graph) {
  using namespace halftone;
  return results(make_program(with_own_variables(std::move(graph)), NoPasses{}));
}

}  // namespace test
