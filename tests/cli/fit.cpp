#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "../folder.hpp"
#include "captured.hpp"
#include "cli/chart.hpp"
#include "cli/commands.hpp"
#include "cli/dataset.hpp"
#include "cli/file.hpp"
#include "cli/optimizer.hpp"

using namespace halftone;
using namespace halftone::cli;

namespace {

const std::string digits = "examples/digits/cnn_untrained.onnx";

/// The first rows of the example's images.
std::string few_digits(int rows) {
  std::ifstream file("examples/digits/digits.csv");
  std::string text, line;
  for (int row = 0; row < rows && std::getline(file, line); ++row) text += line + "\n";
  return text;
}

struct Answer {
  int code = 0;
  std::string out, err;
};
Answer train_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "train");
  arguments.insert(arguments.end(), {"--threads", "1"});
  const Captured captured;
  const int code = run_program(std::move(arguments), captured.console());
  return {code, captured.out(), captured.err()};
}

std::vector<nlohmann::json> lines_of(const std::string& file) {
  std::istringstream text(read_file(file));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

ErrorKind kind_of(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;  // nothing here fails that way
}

}  // namespace

TEST_CASE("a network learns from a table, and what is asked for is written") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(160));
  const Answer answer = train_with(
      {digits, "--data", (folder / "data.csv"), "--scale", "1/16", "--validate", "0.2", "--epochs",
       "3", "--batch", "16", "--optimizer", "adam:lr=2e-3", "--save", (folder / "net.onnx"),
       "--plot", (folder / "loss.svg"), "--log", (folder / "log.jsonl")});
  CHECK(answer.err == "");
  REQUIRE(answer.code == 0);
  CHECK(answer.out.find("128 samples") != std::string::npos);  // 160 less a fifth
  CHECK(folder.files() ==
        std::vector<std::string>{"data.csv", "log.jsonl", "loss.svg", "net.onnx"});

  const std::vector<nlohmann::json> epochs = lines_of((folder / "log.jsonl"));
  REQUIRE(epochs.size() == 3);
  CHECK(epochs[0]["steps"] == 8);
  CHECK(epochs[2]["loss"] < epochs[0]["loss"]);
  // Ten classes: who guesses pays log(10) and is right in a tenth of all cases.
  CHECK(epochs[2]["loss"] < std::log(10));
  CHECK(epochs[2]["accuracy"] > 0.3);
  CHECK(read_file((folder / "loss.svg")).find("polyline") != std::string::npos);

  // The saved network has the accuracy that was printed.
  const AnyArray table = parse_table(few_digits(160), "data");
  Session net(onnx::load((folder / "net.onnx")));
  Array<float> images({32, 1, 8, 8});
  int right = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i] = table.values<float>()[(128 + i / 64) * 65 + i % 64] / 16;
  }
  const auto result = net.run({{"image", images}});
  const auto logits = result[0].values<float>();
  for (std::size_t i = 0; i < 32; ++i) {
    const auto own = logits.subspan(10 * i, 10);
    const auto best = std::max_element(own.begin(), own.end()) - own.begin();
    right += best == static_cast<std::ptrdiff_t>(table.values<float>()[(128 + i) * 65 + 64]);
  }
  CHECK(epochs[2]["validation_accuracy"] == right / 32.0);
}

TEST_CASE("digits are learned with products in bfloat16 as well as in float32") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(960));
  const auto accuracy = [&](const std::string& precision) {
    const Answer answer =
        train_with({digits, "--data", (folder / "data.csv"), "--scale", "1/16", "--validate", "320",
                    "--epochs", "4", "--batch", "32", "--optimizer", "adam:lr=3e-3", "--log",
                    (folder / "log.jsonl"), "--precision", precision});
    // A machine without products in bfloat16 says so.
    const bool falls_back = answer.err.find("computed in float32") != std::string::npos;
    CHECK((answer.err.empty() || (falls_back && precision != "float32")));
    REQUIRE(answer.code == 0);
    return lines_of((folder / "log.jsonl")).back().at("validation_accuracy").get<double>();
  };
  const double wide = accuracy("float32");
  CHECK(wide > 0.9);
  // Weights that are trained are no constants, which are what float16 holds.
  const Answer in_half =
      train_with({digits, "--data", (folder / "data.csv"), "--precision", "float16"});
  CHECK(in_half.code == 2);
  CHECK(in_half.err.find("training has none") != std::string::npos);
  // Within one standard deviation of a share of 320 samples of which 0.9 are right.
  CHECK(accuracy("bfloat16") > wide - 0.017);
}

TEST_CASE("a training that goes on is the one that was never interrupted") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(64));
  const auto train_to = [&](const std::string& epochs, const std::string& to,
                            const std::string& from) {
    std::vector<std::string> arguments{digits, "--data",      (folder / "data.csv"), "--epochs",
                                       epochs, "--save",      (folder / to),         "--batch",
                                       "16",   "--optimizer", "adam:lr=1e-3"};
    if (!from.empty()) arguments.insert(arguments.end(), {"--resume", (folder / from)});
    return train_with(arguments);
  };
  REQUIRE(train_to("2", "half.onnx", "").code == 0);
  REQUIRE(train_to("4", "joined.onnx", "half.onnx").code == 0);
  REQUIRE(train_to("4", "whole.onnx", "").code == 0);
  CHECK(read_file((folder / "joined.onnx")) == read_file((folder / "whole.onnx")));
  CHECK(train_to("4", "again.onnx", "whole.onnx").code == static_cast<int>(ErrorKind::usage));
  // A file of --save is a model like others, which may be trained anew.
  CHECK(train_with({(folder / "whole.onnx"), "--data", (folder / "data.csv"), "--epochs", "1",
                    "--optimizer", "sgd:lr=1e-3,momentum=0.9"})
            .code == 0);
}

TEST_CASE("tensors and a table are the same data") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(32));
  const AnyArray table = parse_table(few_digits(32), "data");
  Array<std::uint8_t> images({32, 8, 8});
  Array<std::int64_t> labels({32});
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      images[64 * i + j] = static_cast<std::uint8_t>(table.values<float>()[65 * i + j]);
    }
    labels[i] = static_cast<std::int64_t>(table.values<float>()[65 * i + 64]);
  }
  write_tensor((folder / "images.npy"), TensorFormat::npy, "", images);
  write_tensor((folder / "labels.pb"), TensorFormat::pb, "", labels);
  const std::string as_tensors = "image=" + (folder / "images.npy");
  REQUIRE(train_with({digits, "--data", (folder / "data.csv"), "--scale", "1/16", "--epochs", "1",
                      "--save", (folder / "a.onnx")})
              .code == 0);
  REQUIRE(train_with({digits, "--data", as_tensors, "--data", "label=" + (folder / "labels.pb"),
                      "--scale", "image=0.0625", "--epochs", "1", "--save", (folder / "b.onnx")})
              .code == 0);
  CHECK(read_file((folder / "a.onnx")) == read_file((folder / "b.onnx")));

  // Files with different numbers of samples, and one that is missing.
  write_tensor((folder / "few.pb"), TensorFormat::pb, "", Array<std::int64_t>({31}));
  for (const std::vector<std::string>& data : std::vector<std::vector<std::string>>{
           {"--data", as_tensors, "--data", "label=" + (folder / "few.pb")},
           {"--data", as_tensors},
           {"--data", as_tensors, "--data", as_tensors},
           {"--data", as_tensors, "--data", "labels=" + (folder / "labels.pb")},
           {"--data", as_tensors, "--data", (folder / "data.csv")},
           {"--data", "image=" + (folder / "few.pb"), "--data", "label=" + (folder / "few.pb")},
       }) {
    std::vector<std::string> arguments{digits};
    arguments.insert(arguments.end(), data.begin(), data.end());
    CHECK(train_with(arguments).code == static_cast<int>(ErrorKind::input));
  }
}

TEST_CASE("a straight line is found by least squares") {
  // y = 2 x + 1 without noise: the minimum of the squared error is that line.
  const test::Folder folder;
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic, 1});
  output(g,
         op::matmul(x, parameter<float, Shape<1, 1>>(g, "slope", zeros)) +
             parameter<float, Shape<1>>(g, "offset", zeros),
         "y");
  onnx::save(Session(std::move(g)).graph(), (folder / "line.onnx"));
  std::string table = "x,y\n";
  for (int i = 0; i < 40; ++i)
    table += fmt::format("{},{}\n", i / 20.0 - 1, 2 * (i / 20.0 - 1) + 1);
  write_file((folder / "data.csv"), table);
  REQUIRE(train_with({(folder / "line.onnx"), "--data", (folder / "data.csv"), "--loss", "mse",
                      "--epochs", "60", "--batch", "8", "--optimizer", "sgd:lr=0.2", "--save",
                      (folder / "line.onnx")})
              .code == 0);
  const Session line(onnx::load((folder / "line.onnx")));
  CHECK(line.get("slope").values<float>()[0] == doctest::Approx(2).epsilon(1e-4));
  CHECK(line.get("offset").values<float>()[0] == doctest::Approx(1).epsilon(1e-4));

  // Steps that are too long diverge; what was saved before stays.
  const std::string before = read_file((folder / "line.onnx"));
  const Answer diverged =
      train_with({(folder / "line.onnx"), "--data", (folder / "data.csv"), "--batch", "8",
                  "--optimizer", "sgd:lr=1e30", "--save", (folder / "line.onnx")});
  CHECK(diverged.code == static_cast<int>(ErrorKind::input));
  CHECK(diverged.err.find("diverged") != std::string::npos);
  CHECK(read_file((folder / "line.onnx")) == before);
  // A sample that is no number is named.
  write_file((folder / "nan.csv"), "1,1\n2,2\nnan,3\n");
  const Answer broken =
      train_with({(folder / "line.onnx"), "--data", (folder / "nan.csv"), "--batch", "3"});
  CHECK(broken.code == static_cast<int>(ErrorKind::input));
  CHECK(broken.err.find("sample 2") != std::string::npos);
}

TEST_CASE("exponents and numbers of formulas are no weights") {
  // y = (slope x)^2 * val_0 for negative x: a gradient of the exponent would be NaN.
  const test::Folder folder;
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic, 1});
  const auto scaled = op::matmul(x, parameter<float, Shape<1, 1>>(g, "slope", ones));
  const auto squared = op::pow(scaled, parameter<float, Shape<>>(g, "exponent", filled{2}));
  output(g, squared * parameter<float, Shape<>>(g, "val_0", filled{3}), "y");
  onnx::save(Session(std::move(g)).graph(), (folder / "net.onnx"));
  std::string table = "x,y\n";
  for (int i = 1; i <= 8; ++i) table += fmt::format("{},{}\n", -i / 8.0, 12 * i * i / 64.0);
  write_file((folder / "data.csv"), table);
  REQUIRE(train_with({(folder / "net.onnx"), "--data", (folder / "data.csv"), "--loss", "mse",
                      "--epochs", "200", "--batch", "8", "--optimizer", "sgd:lr=0.02", "--save",
                      (folder / "net.onnx")})
              .code == 0);
  const Session net(onnx::load((folder / "net.onnx")));
  CHECK(net.get("exponent").values<float>()[0] == 2);
  CHECK(net.get("val_0").values<float>()[0] == 3);
  CHECK(net.get("slope").values<float>()[0] == doctest::Approx(2).epsilon(1e-2));
}

TEST_CASE("training refuses what does not fit") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(40));
  const std::string data = (folder / "data.csv");
  write_file((folder / "short.csv"), "1,2,3\n");
  write_file((folder / "ragged.csv"), "1,2,3\n1,2\n");
  std::string wrong = few_digits(40);
  wrong[wrong.size() - 2] = ':';  // the last label
  write_file((folder / "words.csv"), wrong);
  const auto is = [&](ErrorKind kind, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), digits);
    const Answer answer = train_with(arguments);
    CHECK(answer.out == "");
    return answer.code == static_cast<int>(kind) &&
           answer.err.find("error: " + std::string(name(kind))) != std::string::npos;
  };
  CHECK(is(ErrorKind::usage, {}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--case", "case.json"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--output-dir", "out"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--loss", "frobnicate"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--scale", "x=1"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--scale", "1/0"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--log", "log.txt"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--validate", "0"}));
  CHECK(is(ErrorKind::usage, {"--data", data, "--optimizer", "adam"}));  // without a rate
  CHECK(is(ErrorKind::usage, {"--data", data, "--optimizer", "adam:lr"}));
  CHECK(is(ErrorKind::unsupported, {"--data", data, "--optimizer", "frobnicate:lr=1"}));
  CHECK(is(ErrorKind::unsupported, {"--data", data, "--optimizer", "sgd:lr=1,beta1=1"}));
  CHECK(is(ErrorKind::io, {"--data", (folder / "none.csv")}));
  CHECK(is(ErrorKind::io, {"--data", data, "--save", (folder / "none/net.onnx")}));
  CHECK(is(ErrorKind::input, {"--data", (folder / "short.csv")}));
  CHECK(is(ErrorKind::input, {"--data", (folder / "ragged.csv")}));
  CHECK(is(ErrorKind::input, {"--data", (folder / "words.csv")}));
  CHECK(is(ErrorKind::input, {"--data", data, "--batch", "41"}));
  CHECK(is(ErrorKind::input, {"--data", data, "--validate", "40"}));
  CHECK(is(ErrorKind::input, {"--data", data, "--loss", "mse"}));
  CHECK(is(ErrorKind::input, {"--data", data, "--resume", digits}));
  CHECK(folder.files().size() == 4);
}

// The first rate is so high that the weights, and with them the second step's first product, are
// beyond float; without the option only the loss is looked at.
TEST_CASE("train: the first tensor that is no number is named when asked for") {
  const test::Folder folder;
  write_file((folder / "digits.csv"), few_digits(40));
  const std::vector<std::string> arguments{digits, "--data", (folder / "digits.csv"), "--optimizer",
                                           "sgd:lr=1e38"};
  const Answer plain = train_with(arguments);
  CHECK(plain.code != 0);
  CHECK(plain.err.find("the loss is no number") != std::string::npos);
  std::vector<std::string> asked = arguments;
  asked.push_back("--stop-at-nan");
  const Answer stopped = train_with(asked);
  CHECK(stopped.code == plain.code);
  CHECK(stopped.err.find("holds something that is not a number") != std::string::npos);
  CHECK(stopped.err.find("the loss is no number") == std::string::npos);
}

TEST_CASE("tables") {
  const AnyArray table = parse_table("a;b\n1; -2.5\n\n +3;4e1\r\n", "file");
  CHECK(table.info() == TensorInfo{ElementType::float32, {2, 2}});
  const auto values = table.values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{1, -2.5f, 3, 40});
  CHECK(parse_table("1 2\t3", "file").info().shape == Dims{1, 3});
  CHECK(kind_of([] { parse_table("", "file"); }) == ErrorKind::input);
  CHECK(kind_of([] { parse_table("a,b\n", "file"); }) == ErrorKind::input);
  CHECK(kind_of([] { parse_table("1,2\n3,x\n", "file"); }) == ErrorKind::input);
  CHECK(kind_of([] { parse_table("1,2\n3,,4\n", "file"); }) == ErrorKind::input);
  CHECK(kind_of([] { parse_table("1,2\n3\n", "file"); }) == ErrorKind::input);
}

TEST_CASE("optimizers as words") {
  CHECK(parse_optimizer("sgd") == Json{{"type", "sgd"}});
  CHECK(parse_optimizer("adam:lr=1e-3,weight_decay_mode=l2") ==
        Json{{"type", "adam"}, {"lr", 1e-3}, {"weight_decay_mode", "l2"}});
  CHECK(parse_optimizer("sgd:lr=1,nesterov=true")["nesterov"] == true);
  for (const char* text : {"adam:lr", "adam:=1", "adam:lr=1,lr=2"}) {
    CHECK(kind_of([&] { parse_optimizer(text); }) == ErrorKind::usage);
  }
}

TEST_CASE("charts") {
  const std::string svg = draw_chart({{"a < b", {1, 2, 3}, {1, 0.1, 0.01}}}, "t & u", "x", "y");
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("a &lt; b") != std::string::npos);
  CHECK(svg.find("t &amp; u") != std::string::npos);
  // Three decades on a logarithmic axis: equal steps, so the middle point is in the middle.
  const std::size_t at = svg.find("points=\"") + 8;
  double x[3]{}, y[3]{};
  REQUIRE(std::sscanf(svg.c_str() + at, "%lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0], &x[1], &y[1],
                      &x[2], &y[2]) == 6);
  CHECK(y[1] == doctest::Approx((y[0] + y[2]) / 2));
  CHECK(x[1] == doctest::Approx((x[0] + x[2]) / 2));
  CHECK(draw_chart({}, "", "", "").ends_with("</svg>\n"));
  CHECK(draw_chart({{"n", {1, 2}, {std::nan(""), 5}}}, "", "", "").find("nan") ==
        std::string::npos);
}

// z = Reshape(x w, [Shape(x)[0], -1]) v as exporters write it, with symbolic extents and without
// infos of what is computed.
TEST_CASE("a model that computes its shapes trains with data and as a case") {
  const test::Folder folder;
  {
    Graph g;
    const AnyTensor x = g.input<float>("x", {dynamic, dynamic, 2});
    g.symbols = {{x.id, 0, g.store_name("batch")}, {x.id, 1, g.store_name("length")}};
    const auto weight = [&](const char* name, const Dims& shape) {
      return AnyTensor{&g, g.add_variable({ElementType::float32, shape},
                                          Initial{Initial::Rule::fill, 0.5f, 0}, name)};
    };
    const TensorInfo unknown[]{{}};
    const auto node = [&](const auto& op, std::vector<TensorId> inputs) {
      return g.nodes[add_node(g, op, std::move(inputs), unknown)].outputs[0];
    };
    const TensorId y = op::matmul(x, weight("w", {2, 3})).id;
    const TensorId n = node(op::Gather{}, {node(op::Shape{}, {x.id}), constant(g, Dims{0}).id});
    const TensorId flat =
        node(op::Reshape{}, {y, node(op::Concat{.axis = 0}, {n, constant(g, Dims{-1}).id})});
    const TensorId z = node(op::MatMul{}, {flat, weight("v", {12, 2}).id});
    g.rename(z, "z");
    const TensorId loss = node(op::ReduceMean{.keepdims = 0}, {z});
    g.rename(loss, "loss");
    g.outputs = {z, loss};
    for (TensorRecord& t : g.tensors) {
      if (t.role != Role::variable) continue;
      AnyArray values(t.info);
      t.data = Bytes(values.storage(), values.data(), values.bytes());
    }
    onnx::save(g, (folder / "net.onnx"));
  }
  Array<float> x({6, 4, 2});
  Array<std::int64_t> label({6});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  write_tensor((folder / "x.npy"), TensorFormat::npy, "", x);
  write_tensor((folder / "label.npy"), TensorFormat::npy, "", label);
  const std::vector<std::string> data{(folder / "net.onnx"), "--data", "x=" + (folder / "x.npy"),
                                      "--data", "label=" + (folder / "label.npy")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), data.begin(), data.end());
    return train_with(more);
  };
  const Answer plain = with({"--epochs", "1", "--output", "z"});
  CHECK(plain.err == "");
  CHECK(plain.code == 0);
  CHECK(with({"--epochs", "1", "--size", "batch=3", "--size", "length=4"}).out.find("of 3, 2") !=
        std::string::npos);
  CHECK(with({"--size", "length=5"}).code == static_cast<int>(ErrorKind::input));
  CHECK(with({"--size", "nothing=5"}).code == static_cast<int>(ErrorKind::usage));

  Array<float> steps({2, 1, 6, 4, 2});
  write_tensor((folder / "steps.npy"), TensorFormat::npy, "", steps);
  const auto as_case = [&](const std::string& beta) {
    write_file((folder / "case.json"),
               R"({"format": 1, "steps": 2, "loss": "loss", "train": ["w", "v"],
                   "optimizer": {"type": "adam", "lr": 0.1, "beta1": )" +
                   beta + R"(}, "inputs": [{"name": "x", "file": "steps.npy"}],
                   "outputs": [{"kind": "weight", "name": "w", "after": 2, "file": "w.pb"}]})");
    return train_with({(folder / "net.onnx"), "--case", (folder / "case.json"), "--output-dir",
                       (folder / "out")});
  };
  const Answer good = as_case("0.9");
  CHECK(good.err == "");
  CHECK(good.code == 0);
  const Answer wrong = as_case("1.5");
  CHECK(wrong.code == static_cast<int>(ErrorKind::input));
  CHECK(wrong.err.find("beta1") != std::string::npos);
  CHECK(wrong.err.find("case.json") != std::string::npos);
}

TEST_CASE("law: variables in parts, or beside the machine, give the same file") {
  const test::Folder folder;
  write_file((folder / "data.csv"), few_digits(48));
  const auto trained = [&](std::vector<std::string> spreading) {
    std::vector<std::string> arguments{
        digits, "--data", (folder / "data.csv"), "--epochs",    "2",           "--batch",
        "12",   "--save", (folder / "net.onnx"), "--optimizer", "adam:lr=2e-3"};
    arguments.insert(arguments.end(), spreading.begin(), spreading.end());
    const Answer answer = train_with(arguments);
    CHECK(answer.err == "");
    return read_file((folder / "net.onnx"));
  };
  const std::string plain = trained({}), replicas = trained({"--replicas", "3"});
  CHECK(trained({"--off-chip", "all"}) == plain);
  CHECK(trained({"--replicas", "3", "--shard", "state"}) == replicas);
  CHECK(trained({"--replicas", "3", "--shard", "all", "--off-chip", "state,weights"}) == replicas);
  // A training goes on with other parts.
  const Answer next =
      train_with({digits, "--data", (folder / "data.csv"), "--epochs", "3", "--batch", "12",
                  "--replicas", "2", "--shard", "weights", "--resume", (folder / "net.onnx")});
  CHECK(next.code == 0);
  // The sums within a step are no state between steps.
  const Answer added =
      train_with({digits, "--data", (folder / "data.csv"), "--epochs", "3", "--batch", "12",
                  "--accumulate", "4", "--optimizer", "adam:lr=2e-3", "--save",
                  (folder / "next.onnx"), "--resume", (folder / "net.onnx")});
  INFO(added.err);
  CHECK(added.code == 0);
  CHECK(read_file((folder / "next.onnx")).find("Accum___") == std::string::npos);
  const auto code = [&](std::vector<std::string> spreading) {
    std::vector<std::string> arguments{digits, "--data", (folder / "data.csv")};
    arguments.insert(arguments.end(), spreading.begin(), spreading.end());
    return train_with(arguments).code;
  };
  CHECK(code({"--shard", "state"}) == 2);  // nobody to share with
  CHECK(code({"--off-chip", "stat"}) == 2);
  CHECK(code({"--batch", "12", "--epochs", "1", "--serialize-batch", "3"}) == 0);
  CHECK(code({"--batch", "12", "--serialize-batch", "5"}) == 2);  // does not divide 12
}

TEST_CASE("a case has gradients of inputs, whether it trains weights or none") {
  // By the formula: y = sum(a * w) + sum(b * b): w for a, 2 b for b, a for w, and 0 for v, which y has not.
  const test::Folder folder;
  Graph g;
  const AnyTensor a = g.input<float>("a", {2}), b = g.input<float>("b", {3});
  const float start[] = {3, 5};
  const auto w = parameter<float, Shape<2>>(g, "w", std::span<const float>(start));
  op::neg(parameter<float, Shape<2>>(g, "v", ones));
  output(g, op::sum(a * w, {.keepdims = 0}) + op::sum(b * b, {.keepdims = 0}), "loss");
  onnx::save(g, (folder / "model.onnx"));
  write_tensor((folder / "a.pb"), TensorFormat::pb, "a", Array<float>({1, 1, 2}, {7, 8}));
  write_tensor((folder / "b.pb"), TensorFormat::pb, "b", Array<float>({1, 1, 3}, {1, 2, 3}));
  for (const nlohmann::json& weights : {nlohmann::json::array(), nlohmann::json{"w"}}) {
    CAPTURE(weights.dump());
    nlohmann::json made{
        {"format", 1},
        {"steps", 1},
        {"accumulation", 1},
        {"loss", "loss"},
        {"train", weights},
        {"inputs", {{{"name", "a"}, {"file", "a.pb"}}, {{"name", "b"}, {"file", "b.pb"}}}}};
    for (const char* name : {"b", "v", "w", "a"}) {
      made["outputs"].push_back(
          {{"kind", "grad"}, {"name", name}, {"step", 1}, {"file", std::string(name) + ".pb"}});
    }
    write_file((folder / "case.json"), made.dump());
    const std::string out = (folder / "out");
    const Answer answer = train_with(
        {(folder / "model.onnx"), "--case", (folder / "case.json"), "--output-dir", out});
    CHECK(answer.err == "");
    REQUIRE(answer.code == 0);
    const auto found = [&](const char* file) {
      const AnyArray value = read_tensor(out + "/" + file, ElementType::float32);
      const auto floats = value.values<float>();
      return std::vector<float>(floats.begin(), floats.end());
    };
    CHECK(found("a.pb") == std::vector<float>{3, 5});
    CHECK(found("b.pb") == std::vector<float>{2, 4, 6});
    CHECK(found("w.pb") == std::vector<float>{7, 8});
    CHECK(found("v.pb") == std::vector<float>{0, 0});
  }
}

TEST_CASE("law: a case has its spread as options, and gives the same weights") {
  const test::Folder folder;
  Graph g;
  const AnyTensor x = g.input<float>("x", {4, 3});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {3, 5}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  output(g, op::mean(op::tanh(op::matmul(x, w)), {.keepdims = 0}), "loss");
  onnx::save(Session(std::move(g), {.seed = 1}).graph(), (folder / "model.onnx"));
  Array<float> data({2, 2, 4, 3});  // steps, micro-batches, a micro-batch
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::sin(static_cast<float>(i));
  write_tensor((folder / "x.pb"), TensorFormat::pb, "x", data);
  const auto trained = [&](const nlohmann::json& options) {
    const nlohmann::json made{
        {"format", 1},
        {"steps", 2},
        {"accumulation", 2},
        {"loss", "loss"},
        {"train", {"w"}},
        {"optimizer", {{"type", "adam"}, {"lr", 0.01}}},
        {"inputs", {{{"name", "x"}, {"file", "x.pb"}}}},
        {"outputs", {{{"kind", "weight"}, {"name", "w"}, {"after", 2}, {"file", "w.pb"}}}},
        {"options", options}};
    write_file((folder / "case.json"), made.dump());
    const std::string out = (folder / "out");
    const Answer answer = train_with(
        {(folder / "model.onnx"), "--case", (folder / "case.json"), "--output-dir", out});
    CHECK(answer.err == "");
    return answer.code == 0 ? read_file(out + "/w.pb") : std::to_string(answer.code);
  };
  const std::string plain = trained({{"replicas", 2}});
  CHECK(plain.size() > 60);  // 15 numbers
  CHECK(trained({{"replicas", 2}, {"shard", "state"}}) == plain);
  CHECK(trained({{"replicas", 2}, {"shard", "all"}, {"off_chip", "all"}}) == plain);
  CHECK(trained({{"serialize_batch", 2}}).size() == plain.size());
  CHECK(trained({{"serialize_batch", "2:loop"}}).size() == plain.size());
}
