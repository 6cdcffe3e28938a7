#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <halftone/graph/scopes.hpp>
#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

using namespace halftone;

namespace {

/// A product on one IPU, a sum and a relu on another; names with all that files give a meaning to.
ipu::Report layer(bool is_split = true) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {64, 256});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {256, 256}},
                                       Initial{Initial::Rule::fill, 0.5f, 0}, "w")};
  const AnyTensor b{
      &g, g.add_variable({ElementType::float32, {256}}, Initial{Initial::Rule::fill, 0, 0}, "b")};
  AnyTensor y;
  {
    const OnIpu here(g, 0);
    y = op::matmul(x, w);
    g.rename(y.id, "a \"product\", first; one");
  }
  {
    const OnIpu here(g, is_split ? 1 : 0);
    y = op::relu(y + b);
  }
  output(g, y, "y");
  return ipu::profile(g, ipu::gc200, {.ipus = 2});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    REQUIRE(end != text.npos);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Fields as RFC 4180 has them, by the names in the first line.
std::vector<std::map<std::string, std::string>> table_of(const std::string& csv) {
  std::vector<std::string> titles;
  std::vector<std::map<std::string, std::string>> rows;
  for (const std::string& line : lines_of(csv)) {
    std::vector<std::string> fields(1);
    bool is_quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool is_quote = line[i] == '"';
      if (is_quote && is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else if (is_quote) {
        is_quoted = !is_quoted;
      } else if (line[i] == ',' && !is_quoted) {
        fields.emplace_back();
      } else {
        fields.back() += line[i];
      }
    }
    if (titles.empty()) {
      titles = fields;
      continue;
    }
    REQUIRE(fields.size() == titles.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < fields.size(); ++i) rows.back()[titles[i]] = fields[i];
  }
  return rows;
}
std::int64_t number(const std::map<std::string, std::string>& row, const std::string& title) {
  return std::stoll(row.at(title));
}
std::int64_t sum(const std::vector<std::map<std::string, std::string>>& rows,
                 const std::string& title) {
  std::int64_t all = 0;
  for (const auto& row : rows) all += number(row, title);
  return all;
}

}  // namespace

TEST_CASE("DOT: a node for each operation, an edge for each tensor between two") {
  const ipu::Report r = layer();
  const std::vector<std::string> lines = lines_of(r.dot());
  CHECK(lines.front() == "digraph program {");
  CHECK(lines.back() == "}");
  const auto count = [&](std::string_view part) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.find(part) != line.npos; });
  };
  REQUIRE(r.operations.size() == 3);
  CHECK(count(" [label=") == 3);
  CHECK(count(R"(  op0 [label="MatMul\na \"product\", first; one\n)") == 1);
  CHECK(count(R"(  op1 [label="Add\n)") == 1);
  CHECK(count(R"(  op2 [label="Relu\ny\n)") == 1);
  CHECK(count(" -> ") == 2);
  CHECK(count("  op0 -> op1 [color=red];") == 1);  // between IPUs
  CHECK(count("  op1 -> op2;") == 1);
  CHECK(layer(false).dot().find("red") == std::string::npos);
}

TEST_CASE("CSV by tile has the report's numbers") {
  const ipu::Report r = layer();
  const auto rows = table_of(r.tiles_csv());
  REQUIRE(rows.size() == 2 * 1472);
  CHECK(sum(rows, "total") == r.bytes());
  for (const std::size_t tile : {std::size_t{0}, std::size_t{1471}, std::size_t{1472}}) {
    const auto t = static_cast<std::int64_t>(tile);
    CHECK(number(rows[tile], "tile") == t);
    CHECK(number(rows[tile], "ipu") == t / 1472);
    CHECK(number(rows[tile], "total") == r.tile_bytes(t));
    CHECK(number(rows[tile], "always_live") == r.always_live_bytes(t));
    std::int64_t parts = number(rows[tile], "temporary");
    for (int c = 0; c + 1 < ipu::categories; ++c) {
      std::string title(ipu::name(static_cast<ipu::Category>(c)));
      std::replace(title.begin(), title.end(), ' ', '_');
      parts += number(rows[tile], title);
    }
    CHECK(parts == r.tile_bytes(t));
  }
}

TEST_CASE("CSV by step has the report's numbers") {
  const ipu::Report r = layer();
  const auto rows = table_of(r.steps_csv());
  REQUIRE(rows.size() == r.steps.size());
  // One IPU behind the other, but for copies, which take the time of both.
  std::int64_t both = 0;
  for (const ipu::Step& s : r.steps) both += s.peer >= 0 ? s.total() : 0;
  CHECK(sum(rows, "total_cycles") == r.cycles() + both / 2);
  CHECK(sum(rows, "flops") == r.flops());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(number(rows[i], "step") == static_cast<std::int64_t>(i));
    CHECK(rows[i].at("kind") == ipu::name(r.steps[i].kind));
    CHECK(number(rows[i], "live_bytes") == r.live_bytes[i]);
    const std::int32_t operation = r.steps[i].operation;
    CHECK(rows[i].at("operation") ==
          (operation < 0 ? "" : r.operations[static_cast<std::size_t>(operation)].name));
  }
}

TEST_CASE("collapsed stacks: frames of an operation hold its cycles") {
  const ipu::Report r = layer();
  std::map<std::string, std::int64_t> cycles;
  for (const std::string& line : lines_of(r.stacks())) {
    const std::size_t blank = line.find(' ');  // frames have none
    REQUIRE(blank != line.npos);
    CHECK(line.find(' ', blank + 1) == line.npos);
    CHECK(line.starts_with("main;"));
    const std::size_t leaf = line.rfind(';', blank);
    cycles[line.substr(0, leaf)] += std::stoll(line.substr(blank + 1));
  }
  CHECK(cycles["main;MatMul;a_\"product\",_first,_one"] == r.operation_cycles(0));
  CHECK(cycles["main;Relu;y"] == r.operation_cycles(2));
  CHECK(cycles["main"] == r.cycles(ipu::StepKind::host));
}

TEST_CASE("what is live at a step is what its variables need") {
  const ipu::Report r = layer();
  for (std::size_t s = 0; s < r.steps.size(); ++s) {
    std::int64_t bytes = 0;
    for (const ipu::Variable& v : r.variables) {
      const auto step = static_cast<std::int32_t>(s);
      if (v.is_always_live || step < v.first_step || step > v.last_step) continue;
      for (std::int64_t tile = 0; tile < 1472; ++tile) bytes += v.on_tile(tile);
    }
    CHECK(bytes == r.live_bytes[s]);
  }
  // Every tensor has its tiles, and lies there whole.
  for (const ipu::Variable& v : r.variables) {
    std::int64_t elements = 0;
    for (std::int64_t tile = 0; tile < 1472; ++tile) elements += v.mapping.on_tile(tile);
    CHECK(elements == v.mapping.elements);
  }
  // A tile's temporaries are what is live on it at its own peak.
  const std::int64_t fullest = r.fullest_tile();
  std::int64_t temporary = 0;
  for (const std::int32_t i :
       r.live_variables(fullest, r.peak_step[static_cast<std::size_t>(fullest)])) {
    const ipu::Variable& v = r.variables[static_cast<std::size_t>(i)];
    if (!v.is_always_live) temporary += v.on_tile(fullest % 1472);
  }
  CHECK(temporary == r.tile_bytes(fullest) - r.always_live_bytes(fullest));
}

TEST_CASE("traces: a process for each IPU, an event for each step and operation") {
  const ipu::Report r = layer();
  const auto json = nlohmann::json::parse(r.trace());
  std::map<std::string, double> us;
  std::int64_t operations = 0;
  for (const auto& event : json["traceEvents"]) {
    REQUIRE(event.contains("ph"));
    if (event["ph"] != "X") continue;
    if (event["cat"] == "operation") ++operations;
    if (event["cat"] != "bsp") continue;
    us[event["name"].get<std::string>()] += event["dur"].get<double>();
    CHECK(event["pid"].get<std::int64_t>() < 2);
  }
  CHECK(operations == 3);
  for (int k = 0; k < ipu::step_kinds; ++k) {
    const auto kind = static_cast<ipu::StepKind>(k);
    CHECK(us[std::string(ipu::name(kind))] ==
          doctest::Approx(r.target.seconds(r.cycles(kind)) * 1e6));
  }
}
