#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

#include "../folder.hpp"

using namespace halftone;

namespace {

constexpr int steps = 400;

/// A model of some weights, whose gradients are the inputs times the loss.
Graph model() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {64});
  const TensorId w =
      g.add_variable({ElementType::float32, {64}}, Initial{Initial::Rule::normal, 0, 1}, "w");
  const AnyTensor y = op::sum(AnyTensor{&g, w} * x, {.keepdims = 0});
  output(g, y, "result");
  return g;
}
Session trained(Graph g) {
  const AnyTensor y = g["result"];
  train(g, y * y, Adam{.learning_rate = 1e-3f});
  return Session(std::move(g), {.seed = 3});
}
int step_of(const Session& session) {
  return static_cast<int>(session.get("Step___w").values<float>()[0]);
}
void train_to(Session& session, int last, const std::string& file) {
  while (step_of(session) < last) {
    Array<float> x({64});
    for (std::size_t i = 0; i < 64; ++i) {
      x[i] = std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(step_of(session))));
    }
    session.run({{"x", x}});
    if (!file.empty()) onnx::save(session.graph(), file);
  }
}
bool is_same(const Session& a, const Session& b, std::string_view name) {
  const AnyView x = a.get(name), y = b.get(name);
  return x.info == y.info && std::memcmp(x.data, y.data, x.bytes()) == 0;
}

}  // namespace

// The law: whenever a training that saves after each step is killed, the file is one of those
// states, and training that goes on from it ends where the one that was never interrupted does.
TEST_CASE("checkpoints: killed at any moment, the old or the new file is there, whole") {
  const test::Folder folder;
  const std::string file = folder / "net.onnx";
  Session whole = trained(model());
  train_to(whole, steps, "");
  onnx::save(trained(model()).graph(), file);
  int before = 0;
  for (int kill_after = 1; kill_after <= 12; ++kill_after) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      // Nothing of the parent's is cleaned up here.
      try {
        Session session = trained(onnx::load(file));
        train_to(session, steps, file);
      } catch (const Error& error) {
        std::fputs(error.what(), stderr);
        _exit(1);
      }
      _exit(0);
    }
    usleep(static_cast<useconds_t>(kill_after * 900));
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    const int now = step_of(trained(onnx::load(file)));
    CHECK((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    CHECK(now >= before);
    before = now;
  }
  Session again = trained(onnx::load(file));
  train_to(again, steps, file);
  for (const char* name : {"w", "Accl1___w", "Accl2___w", "Step___w"}) {
    CHECK(is_same(again, whole, name));
  }
}
