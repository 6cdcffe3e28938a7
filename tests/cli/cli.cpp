#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../folder.hpp"
#include "captured.hpp"
#include "cli/commands.hpp"
#include "cli/file.hpp"

using namespace halftone;
using namespace halftone::cli;

namespace {

const std::string models = "tests/cli/models/";

struct Answer {
  int code = 0;
  std::string out, err;
  /// The last line on standard error.
  std::string line() const {
    if (err.empty() || err.back() != '\n') return "no line";
    const std::size_t before = err.find_last_of('\n', err.size() - 2);
    return err.substr(before + 1, err.size() - before - 2);
  }
  /// Whether code and line are those of an error of that kind.
  bool is(ErrorKind kind) const {
    const std::string begin = "error: " + std::string(name(kind)) + ": ";
    return code == static_cast<int>(kind) && line().starts_with(begin) &&
           line().size() > begin.size();
  }
};

Answer halftone_with(std::vector<std::string> arguments) {
  const Captured captured;
  const int code = run_program(std::move(arguments), captured.console());
  return {code, captured.out(), captured.err()};
}

}  // namespace

TEST_CASE("arguments that make no sense are usage errors") {
  const std::string model = models + "add.onnx";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"frobnicate"},
           {"train", model},
           {"profile"},
           {"profile", model, "--target", "gc3"},
           {"profile", model, "--ipus", "65"},
           {"profile", model, "--recompute", "all"},
           {"profile", model, "--accumulation", "2"},
           {"profile", model, "--off-chip", "state"},
           {"profile", model, "--train", "mse"},
           {"profile", model, "--train", "no_such_loss:adam"},
           {"profile", model, "--io-tiles", "1472"},
           {"profile", model, "--tiles", "0"},
           {"profile", model, "--partials", "quarter"},
           {"profile", model, "--sweep", "batch"},
           {"profile", model, "--sweep", "colour=1,2"},
           {"profile", model, "--sweep", "batch=1,0"},
           {"profile", model, "--compare", "report.json"},
           {"compile", model},
           {"--frobnicate"},
           {"run"},
           {"run", model, "--input", "x=" + models + "x.pb"},
           {"run", model, "--output-dir"},
           {"run", model, "--output-dir", ""},
           {"run", model, "--output-dir", "a", "--output-dir", "b"},
           {"run", model, "--output-dir", "a", "--frobnicate"},
           {"run", model, model, "--output-dir", "a"},
           {"run", model, "--output-dir", "a", "--input", "x"},
           {"run", model, "--output-dir", "a", "--input", "=x"},
           {"run", model, "--output-dir", "a", "--format", "csv"},
           {"run", model, "--output-dir", "a", "--threads", "-1"},
           {"run", model, "--output-dir", "a", "--threads", "many"},
           {"run", model, "--convolution", "slow"},
           {"run", model, "--precision", "half"},
           {"ops", "more"},
           {"ops", "--json", "--markdown"},
           {"check"},
           {"check", model, "--size", "batch"},
           {"check", model, "--size", "batch=-1"},
           {"check", model, "--size", "batch=2x"},
           {"bench", model, "--seconds", "-1"},
           {"bench", model, "--batch", "0"},
           {"run", "\x1b[31m\n\xff", "--output-dir"},
       }) {
    const Answer answer = halftone_with(arguments);
    std::string line;
    for (const std::string& argument : arguments) line += argument + ' ';
    INFO(line, "ended with ", doctest::toString(answer.code), ": ", answer.err, answer.out);
    CHECK(answer.is(ErrorKind::usage));
    CHECK(answer.out.empty());
    CHECK(answer.err.find('\x1b') == std::string::npos);
  }
  CHECK(halftone_with({"train", model}).line().find("train") != std::string::npos);
}

TEST_CASE("help and version") {
  CHECK(halftone_with({"--version"}).out == "halftone " HALFTONE_VERSION "\n");
  const Answer help = halftone_with({"--help"});
  CHECK(help.code == 0);
  CHECK(help.out.find("inspect") != std::string::npos);
  CHECK(halftone_with({"run", "--help"}).out.find("--output-dir") != std::string::npos);
}

TEST_CASE("ops: lines and JSON") {
  std::istringstream lines(halftone_with({"ops"}).out);
  std::string domain, name;
  int version = 0, count = 0;
  bool has_matmul = false;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream words(line);
    REQUIRE((words >> domain >> name >> version));
    std::string train;
    CHECK((!(words >> train) || train == "train"));
    CHECK(words.rdbuf()->in_avail() <= 0);
    has_matmul = has_matmul || line == "ai.onnx MatMul 13 train";
    CHECK(line != "ai.onnx ArgMax 13 train");
  }
  CHECK(has_matmul);
  const auto json = nlohmann::json::parse(halftone_with({"ops", "--json"}).out);
  int versions = 0;
  for (const auto& op : json) versions += static_cast<int>(op.at("versions").size());
  CHECK(versions == count);
  const auto matmul = std::find_if(json.begin(), json.end(), [](const auto& op) {
    return op.at("name") == "MatMul" && op.at("domain") == "ai.onnx";
  });
  REQUIRE(matmul != json.end());
  CHECK(matmul->at("inputs").size() == 2);
  CHECK(matmul->at("types").at("T").at(0) == "float");
}

TEST_CASE("the table of operators in op/README.md is what the program prints") {
  const std::string readme = read_file("include/halftone/op/README.md");
  const std::string begin = "<!-- halftone ops --markdown -->\n", end = "<!-- end -->\n";
  const std::size_t first = readme.find(begin) + begin.size(), last = readme.find(end);
  REQUIRE(first < last);
  REQUIRE(last < readme.size());
  INFO("build/halftone ops --markdown prints what belongs between the two marks in the file");
  CHECK((readme.substr(first, last - first) == halftone_with({"ops", "--markdown"}).out));
}

TEST_CASE("the first program in README.md is the one in examples") {
  CHECK(read_file("README.md").find("```cpp\n" + read_file("examples/first/main.cpp") + "```\n") !=
        std::string::npos);
}

TEST_CASE("run writes what the model computes") {
  const test::Folder folder;
  const std::string model = models + "add.onnx";
  // x + [1, 2, 3], worked out by hand.
  const std::string sum = "float 2 3\n-4 2 3.5\n2 -0.5 103\n";
  const std::string positive = "float 2 3\n0 2 3.5\n2 0 103\n";
  for (const char* x : {"x.pb", "x.npy", "x_reversed.npy"}) {
    CAPTURE(x);
    const Answer answer = halftone_with({"run", "--format=txt", "--input", "x=" + models + x, model,
                                         "--output-dir", (folder / "made/here")});
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    CHECK(answer.out.find("positive") != std::string::npos);
    CHECK(answer.err.empty());
    CHECK(read_file((folder / "made/here/output_0.txt")) == sum);
    CHECK(read_file((folder / "made/here/output_1.txt")) == positive);
  }
  SUBCASE("an input that has a value may get another one") {
    write_file((folder / "w.txt"), "float 3\n0 0 0\n");
    const Answer answer = halftone_with({"run", model, "--input", "x=" + models + "x.pb", "--input",
                                         "w=" + (folder / "w.txt"), "--output-dir",
                                         (folder / "out"), "--format", "npy", "--json"});
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    CHECK(read_file((folder / "out/output_0.npy")) == read_file(models + "x.npy"));
    const auto json = nlohmann::json::parse(answer.out);
    CHECK(json.at("outputs").at(0).at("name") == "sum");
    CHECK(json.at("outputs").at(0).at("min") == -5);
    CHECK(json.at("outputs").at(0).at("shape") == std::vector{2, 3});
  }
  SUBCASE("outputs can be inputs") {
    REQUIRE(halftone_with(
                {"run", model, "--input", "x=" + models + "x.pb", "--output-dir", (folder / "a")})
                .code == 0);
    REQUIRE(halftone_with({"run", model, "--input", "x=" + (folder / "a/output_0.pb"),
                           "--output-dir", (folder / "b"), "--format", "txt"})
                .code == 0);
    CHECK(read_file((folder / "b/output_0.txt")) == "float 2 3\n-3 4 6.5\n3 1.5 106\n");
  }
}

// A mean of 2 and a deviation of 1.
TEST_CASE("a model that states no shapes is read for the inputs of a run") {
  const test::Folder folder;
  write_file((folder / "x.txt"), "float 1 2\n1 3\n");
  const Answer answer =
      halftone_with({"run", models + "no_shape.onnx", "--input", "x=" + (folder / "x.txt"),
                     "--output-dir", (folder / "out"), "--format", "txt"});
  INFO(answer.err);
  REQUIRE(answer.code == 0);
  CHECK(read_file((folder / "out/output_0.txt")) == "float 1 2\n-1 1\n");
}

TEST_CASE("a run with nothing else makes its inputs up") {
  const Answer text = halftone_with({"run", models + "add.onnx"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  for (const std::string_view part : {"made-up input", "x", "[1, 3]", "sum", "positive", "float"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  CHECK(text.out.substr(0, text.out.find("run in")) == [&] {
    const std::string again = halftone_with({"run", models + "add.onnx"}).out;
    return again.substr(0, again.find("run in"));
  }());
  const Answer sized = halftone_with({"run", models + "add.onnx", "--size", "batch=5", "--json"});
  const auto json = nlohmann::json::parse(sized.out);
  CHECK(json.at("made_up_inputs").at(0).at("shape") == std::vector<int>{5, 3});
  CHECK(json.at("outputs").size() == 2);
  CHECK(json.at("outputs").at(0).at("shape") == std::vector<int>{5, 3});
  // w is [1, 2, 3], and what is made up is from 0 to 1.
  CHECK(json.at("outputs").at(0).at("min") >= 1);
  CHECK(json.at("outputs").at(0).at("max") <= 4);
}

TEST_CASE("a reader that goes away is no error") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const Captured captured;
  std::FILE* const out = fdopen(ends[1], "w");
  close(ends[0]);
  CHECK(run_program({"ops", "--json"}, {out, captured.console().err}) == 0);
  CHECK(run_program({"--version"}, {out, captured.console().err}) == 0);
  std::fputs("what is lost without a word", out);
  std::fflush(out);
  CHECK(run_program({"--version"}, {out, captured.console().err}) == 0);
  CHECK(captured.err().empty());
  std::fclose(out);
  std::signal(SIGPIPE, before);
  std::FILE* const full = std::fopen("/dev/full", "w");
  CHECK(run_program({"ops"}, {full, captured.console().err}) == static_cast<int>(ErrorKind::io));
  std::fclose(full);
}

TEST_CASE("a run that fails says why and writes nothing") {
  const test::Folder folder;
  const std::string x = "x=" + models + "x.pb";
  write_file((folder / "wide.txt"), "float 2 4\n1 2 3 4 5 6 7 8\n");
  write_file((folder / "whole.txt"), "int32 2 3\n1 2 3 4 5 6\n");
  write_file((folder / "broken.pb"), "no tensor");
  write_file((folder / "file"), "");
  const std::vector<std::string> before = folder.files();
  const std::string out = (folder / "a/b");
  const auto with = [&](const std::string& model, std::vector<std::string> inputs,
                        const std::string& to) {
    std::vector<std::string> arguments{"run", model, "--output-dir", to};
    for (const std::string& input : inputs) arguments.insert(arguments.end(), {"--input", input});
    return halftone_with(arguments);
  };
  const std::string add = models + "add.onnx";
  using enum ErrorKind;
  CHECK(with(add, {}, out).is(input));
  CHECK(with(add, {x, x}, out).is(input));
  CHECK(with(add, {x, "z=" + models + "x.pb"}, out).is(input));
  CHECK(with(add, {"x=" + (folder / "wide.txt")}, out).is(input));
  CHECK(with(add, {"x=" + (folder / "whole.txt")}, out).is(input));
  CHECK(with(add, {"x=" + (folder / "broken.pb")}, out).is(input));
  CHECK(with(add, {"x=" + (folder / "absent.pb")}, out).is(io));
  CHECK(with((folder / "absent.onnx"), {}, out).is(io));
  CHECK(with((folder / "file"), {}, out).is(model));
  CHECK(with(folder.path.string(), {}, out).is(io));
  CHECK(with(models + "x.npy", {}, out).is(model));
  CHECK(with(models + "mismatch.onnx", {x}, out).is(model));
  const Answer unknown = with(models + "unknown.onnx", {x}, out);
  CHECK(unknown.is(unsupported));
  CHECK(unknown.line().find("Frobnicate") != std::string::npos);
  CHECK(unknown.line().find("Defrobnicate") != std::string::npos);
  CHECK(with(add, {x}, (folder / "file/below")).is(io));
  CHECK(with(add, {x}, (folder / "file")).is(io));
  CHECK(folder.files() == before);
  // Not the second file alone is written.
  std::filesystem::create_directories(folder.path / "out/output_1.pb");
  CHECK(with(add, {x}, (folder / "out")).is(io));
  CHECK_FALSE(std::filesystem::exists(folder.path / "out/output_0.pb"));
}

TEST_CASE("check ends as a run would") {
  const Answer good = halftone_with({"check", models + "add.onnx"});
  INFO(good.err);
  CHECK(good.code == 0);
  CHECK(good.err.empty());
  CHECK_FALSE(good.out.empty());
  CHECK(halftone_with({"check", models + "mismatch.onnx"}).is(ErrorKind::model));
  CHECK(halftone_with({"check", models + "absent.onnx"}).is(ErrorKind::io));
  CHECK(halftone_with({"check", models + "add.onnx", "--size", "batch=4"}).code == 0);
  CHECK(halftone_with({"check", models + "add.onnx", "--size", "depth=4"}).is(ErrorKind::usage));
  const Answer unknown = halftone_with({"check", models + "unknown.onnx", "--json"});
  CHECK(unknown.is(ErrorKind::unsupported));
  const auto json = nlohmann::json::parse(unknown.out);
  CHECK(json.at("ok") == false);
  CHECK(json.at("kind") == "unsupported");
  REQUIRE(json.at("operators").size() == 2);
  CHECK(json.at("operators").at(0).at("operator") == "ai.onnx Frobnicate 13");
  CHECK(json.at("operators").at(0).at("count") == 1);
  CHECK(json.at("operators").at(0).at("nodes").size() == 1);
  CHECK(json.at("defects").empty());
}

TEST_CASE("what is not quite right is read with a warning") {
  const std::string model = models + "wrongly_stated.onnx";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"check", model}, {"run", model}, {"inspect", model}, {"profile", model}}) {
    const Answer answer = halftone_with(arguments);
    INFO(arguments[0], answer.err);
    CHECK(answer.code == 0);
    CHECK(answer.err.starts_with("warning: "));
    CHECK(answer.err.find("'t'") != std::string::npos);
    std::vector<std::string> strict = arguments;
    strict.push_back("--strict");
    CHECK(halftone_with(strict).is(ErrorKind::model));
  }
  const auto json = nlohmann::json::parse(halftone_with({"check", model, "--json"}).out);
  REQUIRE(json.at("warnings").size() == 1);
  CHECK(json.at("warnings").at(0).at("tensor") == "t");
}

TEST_CASE("inspect shows what is in a model") {
  const Answer text = halftone_with({"inspect", models + "add.onnx", "--nodes"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  for (const char* word : {"x", "batch", "sum", "positive", "Add", "Relu", "plus", "13"}) {
    CAPTURE(word);
    CHECK(text.out.find(word) != std::string::npos);
  }
  const auto json = nlohmann::json::parse(
      halftone_with({"inspect", models + "add.onnx", "--json", "--nodes"}).out);
  CHECK(json.at("inputs").at(0).at("name") == "x");
  CHECK(json.at("inputs").at(0).at("shape") == nlohmann::json({nullptr, 3}));
  CHECK(json.at("parameters").at("count") == 3);
  CHECK(json.at("parameters").at("bytes") == 12);
  CHECK(json.at("nodes").size() == 2);
  // Nothing that a terminal would obey.
  const Answer hostile = halftone_with({"inspect", models + "hostile_names.onnx", "--nodes"});
  CHECK(hostile.code == 0);
  CHECK(hostile.out.find('\x1b') == std::string::npos);
}

TEST_CASE("inspect --program shows what runs and where it lies in memory") {
  const std::string model = models + "add.onnx";
  const Answer text = halftone_with({"inspect", model, "--size", "batch=2", "--program"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK(text.out.starts_with("1 step, arena "));
  CHECK(text.out.find("Fused") != std::string::npos);
  CHECK(text.out.find("output 0: ") != std::string::npos);
  const Answer ipu =
      halftone_with({"inspect", model, "--size", "batch=2", "--program", "--target", "ipu"});
  CHECK(ipu.out.starts_with("2 steps, arena "));  // the model's nodes, unfused
  CHECK(halftone_with({"inspect", model, "--program"}).is(ErrorKind::usage));
}

TEST_CASE("compile writes a model as C++ if it is told to") {
  const test::Folder folder;
  const std::string file = folder / "model.hpp";
  const std::vector<std::string> start{"compile", models + "add.onnx", "--emit", "header"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), start.begin(), start.end());
    return halftone_with(more);
  };
  REQUIRE(with({"--size", "batch=2", "--out", file}).code == 0);
  const std::string text = read_file(file);
  CHECK(text.find("namespace model {") != std::string::npos);
  CHECK(text.find("record_static<op::Add>(g, {}, {t0, ") != std::string::npos);
  CHECK(with({"--out", file}).is(ErrorKind::unsupported));
  CHECK(with({"--size", "batch=2", "--out", "model.htx"}).is(ErrorKind::usage));
}

TEST_CASE("compile writes what run, bench, check and inspect take") {
  const test::Folder folder;
  const std::string file = folder / "add.htx";
  const Answer compiled =
      halftone_with({"compile", models + "add.onnx", "--size", "batch=2", "--out", file});
  INFO(compiled.err);
  REQUIRE(compiled.code == 0);
  CHECK(compiled.out.starts_with(file));
  const Answer direct = halftone_with({"run", models + "add.onnx", "--size", "batch=2"});
  const auto values = [](const std::string& text) { return text.substr(0, text.find("run in")); };
  CHECK(values(halftone_with({"run", file}).out) == values(direct.out));
  CHECK(halftone_with({"check", file}).out.find("can run, 2 nodes") != std::string::npos);
  CHECK(halftone_with({"inspect", file}).out.find("executable") != std::string::npos);
  CHECK(halftone_with({"inspect", file, "--program"}).out.starts_with("1 step"));
  CHECK(halftone_with({"bench", file, "--seconds", "0"}).code == 0);

  const std::string digits = "examples/digits/cnn_trained.onnx";
  REQUIRE(halftone_with({"compile", digits, "--batch", "3", "--out", file}).code == 0);
  CHECK(values(halftone_with({"run", file}).out) ==
        values(halftone_with({"run", digits, "--size", "batch=3"}).out));
  CHECK(halftone_with(
            {"compile", models + "add.onnx", "--size", "batch=2", "--batch", "2", "--out", file})
            .is(ErrorKind::input));

  CHECK(halftone_with({"run", file, "--size", "batch=3"}).is(ErrorKind::usage));
  CHECK(halftone_with({"compile", models + "add.onnx", "--out", file}).is(ErrorKind::usage));
  CHECK(halftone_with({"compile", models + "add.onnx", "--size", "batch=2", "--out", "add.bin"})
            .is(ErrorKind::usage));
  folder.write("foreign.htx", "nothing of the kind");
  CHECK(halftone_with({"check", folder / "foreign.htx"}).is(ErrorKind::model));
}

TEST_CASE("inspect --after shows the graph after a pass") {
  const std::string model = models + "add.onnx";
  const Answer infer = halftone_with({"inspect", model, "--size", "batch=2", "--after", "infer"});
  INFO(infer.err);
  REQUIRE(infer.code == 0);
  CHECK(infer.out.find("2 nodes") != std::string::npos);
  CHECK(infer.out.find("[2, 3] float") != std::string::npos);
  const Answer fused =
      halftone_with({"inspect", model, "--size", "batch=2", "--after", "fuse_elementwise"});
  CHECK(fused.out.find("1 node\n") != std::string::npos);
  const Answer ipu = halftone_with(
      {"inspect", model, "--size", "batch=2", "--after", "schedule", "--target", "ipu", "--dot"});
  CHECK(ipu.out.starts_with("digraph model {"));

  const Answer open = halftone_with({"inspect", model, "--after", "infer"});
  CHECK(open.is(ErrorKind::usage));
  CHECK(open.err.find("--size") != std::string::npos);
  const Answer unknown = halftone_with({"inspect", model, "--size", "batch=2", "--after", "none"});
  CHECK(unknown.is(ErrorKind::usage));
  CHECK(unknown.err.find("fold_normalizations") != std::string::npos);
  CHECK(halftone_with({"inspect", model, "--dot"}).is(ErrorKind::usage));
}

// Laws: a case is the profile of its own, and a faster clock does the same cycles in less time.
TEST_CASE("profile: sweeps and comparisons") {
  const test::Folder folder;
  const std::string model = models + "symbols.onnx";
  const Answer table = halftone_with({"profile", model, "--sweep", "batch=1,3", "--sweep",
                                      "target=gc200,bow", "--out", (folder / "sweep")});
  INFO(table.err);
  REQUIRE(table.code == 0);
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 5);
  const auto cases = nlohmann::json::parse(read_file((folder / "sweep/sweep.json")));
  REQUIRE(cases.size() == 4);
  const Answer printed = halftone_with(
      {"profile", model, "--sweep", "batch=1,3", "--sweep", "target=gc200,bow", "--json"});
  CHECK(nlohmann::json::parse(printed.out) == cases);
  CHECK(cases[0]["case"] == "batch=1 target=gc200");
  CHECK(cases[1]["microseconds"] < cases[0]["microseconds"]);
  for (const auto& c : cases) {
    const std::string label = c["case"];
    const std::size_t blank = label.find(' ');
    const Answer alone =
        halftone_with({"profile", model, "--json", "--batch", label.substr(6, blank - 6),
                       "--target", label.substr(blank + 8)});
    const auto report = nlohmann::json::parse(alone.out);
    CHECK(report["execution"]["cycles"] == c["cycles"]);
    CHECK(report["memory"]["bytes"] == c["bytes"]);
  }
  // Twelve bars, and the paper behind them.
  const std::string svg = read_file((folder / "sweep/sweep.svg"));
  std::size_t bars = 0;
  for (std::size_t at = svg.find("<rect"); at != svg.npos; at = svg.find("<rect", at + 1)) ++bars;
  CHECK(bars == 13);

  const std::vector<std::string> plain{"profile", model, "--batch", "1", "--out"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return halftone_with(std::move(more));
  };
  REQUIRE(with({(folder / "a")}).code == 0);
  REQUIRE(with({(folder / "b"), "--compare", (folder / "a/report.json")}).code == 0);
  CHECK(read_file((folder / "b/report.html")).size() >
        read_file((folder / "a/report.html")).size());
  CHECK(with({(folder / "c"), "--compare", models + "x.pb"}).is(ErrorKind::input));
  CHECK(with({(folder / "c"), "--compare", (folder / "nothing")}).code != 0);
}

TEST_CASE("profile: stages of a pipeline") {
  const test::Folder folder;
  const std::vector<std::string> base{
      "profile", "examples/digits/cnn_trained.onnx", "--batch", "8", "--stages", "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return halftone_with(std::move(more));
  };
  const Answer text = with({"--out", folder / "pipeline"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK(text.out == read_file(folder / "pipeline/pipeline.txt"));
  CHECK(text.out.find("3 on 3 IPUs") != text.out.npos);
  const std::string page = read_file(folder / "pipeline/pipeline.html");
  for (const char* const part : {"IPU 2</text>", "stage 1, forward, micro-batch 11", "</html>"}) {
    CHECK(page.find(part) != page.npos);
  }
  const auto trace = nlohmann::json::parse(read_file(folder / "pipeline/trace.json"));
  CHECK(trace["traceEvents"].size() == 3 + 3 * 12);
  const Answer grouped = with({"--schedule", "grouped", "--micro-batches", "8", "--json"});
  const auto json = nlohmann::json::parse(grouped.out);
  CHECK(json["schedule"] == "grouped");
  CHECK(json["micro_batches"] == 8);
  CHECK(json["timetable"].size() == 3 * 8);
  CHECK(with({"--ipus", "2"}).code == 0);
  CHECK(with({"--micro-batches", "2"}).is(ErrorKind::usage));
  // The law: a case of a sweep is what the profile by itself says.
  const Answer cases =
      with({"--schedule", "grouped", "--micro-batches", "8", "--sweep", "stages=2,3", "--json"});
  INFO(cases.err);
  REQUIRE(cases.code == 0);
  const auto swept = nlohmann::json::parse(cases.out);
  REQUIRE(swept.size() == 2);
  CHECK(swept[1]["cycles"] == json["cycles"]);
  CHECK(swept[0]["cycles"] != swept[1]["cycles"]);
  CHECK(with({"--sweep", "stages=0"}).is(ErrorKind::usage));
  // A step after each of the micro-batches.
  const Answer continuous = with({"--schedule", "continuous", "--accumulation", "6", "--train",
                                  "cross_entropy:sgd:lr=0.1", "--json"});
  INFO(continuous.err);
  REQUIRE(continuous.code == 0);
  CHECK(nlohmann::json::parse(continuous.out)["micro_batches"] == 6);
  CHECK(with({"--sweep", "stages=40000"}).is(ErrorKind::usage));
  const std::vector<std::string> whole{"profile", "examples/digits/cnn_trained.onnx"};
  for (const std::vector<std::string>& schedule :
       {std::vector<std::string>{"--schedule", "grouped"}, {"--sweep", "schedule=grouped"}}) {
    std::vector<std::string> arguments = whole;
    arguments.insert(arguments.end(), schedule.begin(), schedule.end());
    CHECK(halftone_with(arguments).is(ErrorKind::usage));
  }
}

TEST_CASE("profile: sweeps over the ways to spread a training") {
  const auto with = [](std::vector<std::string> more) {
    const std::vector<std::string> base{
        "profile", "examples/digits/cnn_untrained.onnx", "--batch", "8", "--stages", "2",
        "--train", "cross_entropy:sgd:lr=0.1",           "--json"};
    more.insert(more.begin(), base.begin(), base.end());
    const Answer answer = halftone_with(std::move(more));
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    return nlohmann::json::parse(answer.out);
  };
  struct Row {
    std::string key, option;
    std::vector<std::string> values;
  };
  const Row rows[] = {{"schedule", "--schedule", {"grouped", "zero_bubble"}},
                      {"replicas", "--replicas", {"1", "4"}},
                      {"recompute", "--recompute", {"none", "pipeline"}},
                      {"accumulate", "--accumulate", {"4", "8"}}};
  for (const auto& [key, option, values] : rows) {
    CAPTURE(key);
    std::vector<std::string> accumulate{"--accumulate", "4"};
    if (key == "accumulate") accumulate.clear();
    std::vector<std::string> arguments = accumulate;
    arguments.insert(arguments.end(), {"--sweep", key + "=" + values[0] + "," + values[1]});
    const nlohmann::json swept = with(arguments);
    REQUIRE(swept.size() == 2);
    CHECK(swept[0]["cycles"] != swept[1]["cycles"]);
    // The law: a case of a sweep is what the profile by itself says.
    for (std::size_t i = 0; i < values.size(); ++i) {
      arguments = accumulate;
      arguments.insert(arguments.end(), {option, values[i]});
      CHECK(swept[i]["case"] == key + "=" + values[i]);
      CHECK(swept[i]["cycles"] == with(arguments)["cycles"]);
    }
  }
}

TEST_CASE("plan: the best way over several IPUs, and a model that says it") {
  const test::Folder folder;
  const auto with = [&](std::vector<std::string> more) {
    const std::vector<std::string> base{"plan", "examples/digits/cnn_trained.onnx"};
    more.insert(more.begin(), base.begin(), base.end());
    return halftone_with(std::move(more));
  };
  const Answer text = with({"--ipus", "4", "--batch", "256", "--optimizer", "adam"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK(text.out.find("Best: --batch") != text.out.npos);
  const Answer half = with({"--ipus", "4", "--stages", "4", "--half", "--io-tiles", "32"});
  INFO(half.err);
  REQUIRE(half.code == 0);
  CHECK(half.out.find(" --half\n") != half.out.npos);
  CHECK(half.out.find("Streams of the host are counted") != half.out.npos);
  CHECK(with({"--ipus", "4", "--no-host"}).out.find("left out") != std::string::npos);
  const Answer json = with({"--ipus", "4", "--stages", "2,4", "--micro-batch", "8,16", "--json"});
  REQUIRE(json.code == 0);
  const auto points = nlohmann::json::parse(json.out)["points"];
  REQUIRE(points.size() == 4);
  for (const auto& point : points) CHECK(point["stages"].get<int>() >= 2);
  // train and profile run the stages that the saved model says.
  const std::string saved = folder / "staged.onnx", out = folder / "plan";
  REQUIRE(
      with({"--ipus", "3", "--stages", "3", "--optimizer", "sgd", "--save", saved, "--out", out})
          .code == 0);
  CHECK(read_file(out + "/pipeline.html").find("updates") != std::string::npos);
  const Answer profile =
      halftone_with({"profile", saved, "--batch", "4", "--ipus", "4", "--schedule", "one_f_one_b"});
  INFO(profile.err);
  CHECK(profile.out.find("3 on 3 IPUs") != profile.out.npos);
  CHECK(halftone_with({"train", saved, "--data", "examples/digits/digits.csv", "--epochs", "1",
                       "--batch", "8", "--accumulation", "4", "--schedule", "grouped"})
            .code == 0);
  CHECK(halftone_with({"train", saved, "--data", "examples/digits/digits.csv", "--stages", "3"})
            .is(ErrorKind::usage));
  CHECK(with({"--loss", "mse"}).is(ErrorKind::usage));
  CHECK(with({"--ipus", "6", "--stages", "4"}).is(ErrorKind::usage));
  CHECK(with({"--ipus", "4", "--batch", "3", "--optimizer", "sgd", "--stages", "4"})
            .is(ErrorKind::usage));
  CHECK(with({"--optimizer", "none"}).is(ErrorKind::unsupported));
}

// The rate is what its numbers say, and each option has a subject: it changes the report.
TEST_CASE("profile: a step of training") {
  const test::Folder folder;
  const auto trained = [&](std::vector<std::string> more) {
    const std::vector<std::string> base{
        "profile", "examples/digits/cnn_untrained.onnx", "--batch", "8",
        "--train", "cross_entropy:adam:lr=1e-3",         "--json"};
    more.insert(more.begin(), base.begin(), base.end());
    const Answer answer = halftone_with(std::move(more));
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    return nlohmann::json::parse(answer.out);
  };
  const auto plain = trained({});
  const auto spread = trained({"--replicas", "4", "--accumulate", "16"});
  const auto& execution = spread["execution"];
  CHECK(execution["replicas"] == 4);
  CHECK(execution["accumulation"] == 16);
  CHECK(execution["batch"] == 8);
  const double seconds = execution["step_cycles"].get<double>() / 1.325e9;
  CHECK(execution["samples_per_second"].get<double>() == doctest::Approx(4 * 16 * 8 / seconds));
  const std::vector<std::vector<std::string>> options{{"--half", "--partials", "half"},
                                                      {"--recompute", "all"},
                                                      {"--replicas", "2", "--shard", "state"},
                                                      {"--off-chip", "all"},
                                                      {"--phases", "2"},
                                                      {"--serialize-batch", "2"},
                                                      {"--io-tiles", "64"},
                                                      {"--ipus", "3"}};
  for (const std::vector<std::string>& option : options) {
    CAPTURE(option[0]);
    const auto changed = trained(option);
    CHECK(changed["execution"]["cycles"] != plain["execution"]["cycles"]);
    // Of so small a network nothing has to wait at the peak.
    const bool is_peak = option[0] != "--recompute";
    if (is_peak) CHECK(changed["memory"]["bytes"] != plain["memory"]["bytes"]);
  }
  const auto pipeline = trained({"--stages", "3", "--accumulation", "8"});
  CHECK(pipeline["micro_batches"] == 8);
  CHECK(pipeline["schedule"] == "one_f_one_b");
  CHECK(pipeline["samples_per_second"] > 0);
}

TEST_CASE("profile: what does not fit is reported all the same, with a way out that was tried") {
  const test::Folder folder;
  const std::vector<std::string> base{
      "profile", "examples/digits/cnn_untrained.onnx", "--batch", "5000", "--tiles", "64"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return halftone_with(std::move(more));
  };
  const Answer answer = with({"--out", folder / "full"});
  CHECK(answer.is(ErrorKind::memory));
  const auto report = nlohmann::json::parse(read_file(folder / "full/report.json"));
  CHECK(report["memory"]["fits"] == false);
  // The first change that suffices is the hint.
  CHECK(answer.err.find("--half --partials half fits") != std::string::npos);
  CHECK(with({"--half", "--partials", "half"}).code == 0);
  CHECK(with({"--allow-out-of-memory"}).code == 0);
}

TEST_CASE("bench measures") {
  const test::Folder folder;
  const std::vector<std::string> quick{"--seconds", "0.01", "--threads", "1"};
  const auto bench_with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.insert(arguments.end(), quick.begin(), quick.end());
    return halftone_with(arguments);
  };
  const Answer text = bench_with({models + "add.onnx", "--batch", "5"});
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK(text.out.find("[5, 3]") != std::string::npos);
  CHECK(text.out.find("items/s") != std::string::npos);
  const Answer file =
      bench_with({models + "symbols.onnx", "--size", "n=7", "--json", (folder / "bench.json")});
  REQUIRE(file.code == 0);
  const auto json = nlohmann::json::parse(read_file((folder / "bench.json")));
  CHECK(json.at("iterations") > 0);
  CHECK(json.at("inputs").at(1).at("shape") == std::vector{7, 2});
  CHECK(json.at("slowest").size() == 1);
  CHECK(json.at("idle") == 0);
  const Answer two = halftone_with(
      {"bench", models + "add.onnx", "--batch", "5", "--seconds", "0.01", "--threads", "2"});
  CHECK(two.out.find("\nidle     ") != std::string::npos);
  const auto given = nlohmann::json::parse(
      bench_with({models + "add.onnx", "--input", "x=" + models + "x.pb", "--json", "-"}).out);
  CHECK(given.at("inputs").at(0).at("shape") == std::vector{2, 3});
  const Answer narrow =
      bench_with({models + "add.onnx", "--precision", "float16", "--json", (folder / "half.json")});
  REQUIRE(narrow.code == 0);
  const auto half = nlohmann::json::parse(read_file((folder / "half.json")));
  CHECK(half.at("wanted_precision") == "float16");
  CHECK(json.at("wanted_precision") == "float32");
  CHECK(narrow.out.find("products " + half.at("precision").get<std::string>()) !=
        std::string::npos);
  CHECK(bench_with({models + "mismatch.onnx", "--batch", "2"}).is(ErrorKind::model));
  CHECK(bench_with({models + "hostile_names.onnx", "--batch", "2"}).is(ErrorKind::input));
  CHECK(bench_with({models + "add.onnx", "--input", "z=" + models + "x.pb"}).is(ErrorKind::input));
}
