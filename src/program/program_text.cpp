#include "program/program_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/describe.hpp"

namespace halftone {
namespace {

constexpr std::int64_t bar_width = 24;

std::string bytes_of(std::int64_t bytes) {
  return detail::bytes_text(static_cast<std::uint64_t>(bytes));
}

class ProgramText {
 public:
  explicit ProgramText(const Program& program)
      : p_(program), live_(detail::live_bytes(program.lifetimes(), 64)) {
    live_.resize(program.steps.size() + 1);  // steps behind the last life
  }

  std::string text() const {
    std::size_t packed = 0;
    for (const Bytes& bytes : p_.packed) packed += bytes.size();
    std::string text = fmt::format(
        "{} {}, arena {}, {} live at most, packed weights {}, hash {:016x}\n", p_.steps.size(),
        p_.steps.size() == 1 ? "step" : "steps", bytes_of(p_.arena_bytes), bytes_of(p_.live_bytes),
        bytes_of(static_cast<std::int64_t>(packed)), hash(p_));
    std::vector<Row> rows{{"step", "operator", "node", "reads", "writes", "live", ""}};
    for (std::size_t s = 0; s < p_.steps.size(); ++s) rows.push_back(row(s));
    if (rows.size() > 1) text += aligned(rows);
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      text += fmt::format("output {}: {}\n", i, argument(p_.outputs[i]));
    }
    for (std::size_t b = 0; b < p_.bodies.size(); ++b) {
      text += fmt::format("\nbody {}: {}", b, ProgramText(p_.bodies[b]).text());
    }
    return text;
  }

 private:
  using Row = std::array<std::string, 7>;

  /// Columns two blanks apart; numbers are on the right.
  static std::string aligned(const std::vector<Row>& rows) {
    std::array<std::size_t, 7> width{};
    for (const Row& row : rows) {
      for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
    }
    std::string text;
    for (const Row& row : rows) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const bool is_number = c == 0 || c == 5;
        line += c == 0 ? "" : "  ";
        line += is_number ? fmt::format("{:>{}}", row[c], width[c])
                          : fmt::format("{:<{}}", row[c], width[c]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

  Row row(std::size_t number) const {
    const Program::Step& step = p_.steps[number];
    const std::span<const Program::Argument> arguments = p_.of(step);
    std::string reads = list(arguments.first(step.inputs));
    if (step.packed != Program::none) {
      const std::size_t bytes = p_.packed[static_cast<std::size_t>(step.packed)].size();
      reads += fmt::format(", packed {}", bytes_of(static_cast<std::int64_t>(bytes)));
    }
    std::string writes = list(arguments.subspan(step.inputs));
    if (step.scratch != Program::none) writes += ", scratch " + buffer(step.scratch);
    for (const std::int32_t body : step.bodies) reads += fmt::format(", body {}", body);
    const std::int64_t live = live_[number];
    return {fmt::format("{}", number),
            std::string(operator_of(step)),
            node_of(step),
            reads,
            writes,
            bytes_of(live),
            bar(live)};
  }
  std::string_view operator_of(const Program::Step& step) const {
    if (step.kind == Program::Kind::copy) return "copy";
    return p_.graph.nodes[static_cast<std::size_t>(step.node)].op->id.name;
  }
  std::string node_of(const Program::Step& step) const {
    if (step.node == Program::none) return "";
    return detail::escaped(p_.graph.name(p_.graph.nodes[static_cast<std::size_t>(step.node)]));
  }

  std::string bar(std::int64_t live) const {
    if (p_.live_bytes <= 0) return {};
    return std::string(
        static_cast<std::size_t>((live * bar_width + p_.live_bytes - 1) / p_.live_bytes), '#');
  }

  std::string buffer(std::int32_t number) const {
    const Program::Buffer& b = p_.buffers[static_cast<std::size_t>(number)];
    return fmt::format("@{}+{}", b.offset, b.bytes);
  }
  std::string argument(const Program::Argument& a) const {
    const std::string name = detail::name_of(p_.graph, a.tensor);
    switch (a.place) {
      case Program::Place::absent:
        return "-";
      case Program::Place::input:
        return name + " (input)";
      case Program::Place::weight:
        return name +
               (p_.graph.tensor(a.number).role == Role::constant ? " (constant)" : " (variable)");
      case Program::Place::late:
        return fmt::format("{} (late {})", name, a.number);
      case Program::Place::buffer:
        break;
    }
    const std::string text = fmt::format("{} {}", name, buffer(a.number));
    return a.offset == 0 ? text : fmt::format("{} at {}", text, a.offset);
  }
  std::string list(std::span<const Program::Argument> arguments) const {
    std::string text;
    for (const Program::Argument& a : arguments) text += (text.empty() ? "" : ", ") + argument(a);
    return text;
  }

  const Program& p_;
  std::vector<std::int64_t> live_;  // at each step
};

}  // namespace

std::string program_text(const Program& program) { return ProgramText(program).text(); }

}  // namespace halftone
