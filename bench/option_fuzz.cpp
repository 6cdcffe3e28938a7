#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>

#include "option_cases.hpp"

// Random combinations of session options: bench-option_fuzz [COUNT [FIRST_SEED]].
namespace {

constexpr unsigned seconds_per_case = 30;
volatile std::uint64_t running = 0;

/// Names the case that crashed or hangs; only functions that are safe in a handler.
extern "C" void stopped(int signal) {
  char digits[20];
  std::size_t at = sizeof digits;
  for (std::uint64_t rest = running; at == sizeof digits || rest > 0; rest /= 10) {
    digits[--at] = static_cast<char>('0' + rest % 10);
  }
  const char hung[] = "hang in seed ", crashed[] = "crash in seed ";
  [[maybe_unused]] ssize_t n =
      signal == SIGALRM ? write(2, hung, sizeof hung - 1) : write(2, crashed, sizeof crashed - 1);
  n = write(2, digits + at, sizeof digits - at);
  n = write(2, "\n", 1);
  _exit(2);
}

/// An error's text without what differs from case to case.
std::string reason(const std::string& text) {
  std::string all;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c >= '0' && c <= '9') {
      if (all.empty() || all.back() != '#') all += '#';
    } else {
      all += c;
    }
  }
  return all.substr(0, 100);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace option_cases;
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, stopped);
  std::uint64_t equal = 0, wrong = 0;
  std::map<std::string, std::uint64_t> refused;
  // An option that is never part of an equal case was not compared at all.
  std::map<std::string, std::uint64_t> compared;
  for (const Draw& draw : draws()) compared[draw.option] = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    running = seed;
    alarm(seconds_per_case);
    const Case c = draw_case(seed);
    const Outcome result = outcome(c);
    alarm(0);
    if (result.kind == Outcome::Kind::equal) {
      ++equal;
      for (const char* option : c.changed) ++compared[option];
    }
    if (result.kind == Outcome::Kind::refused) ++refused[reason(result.text)];
    if (result.kind == Outcome::Kind::wrong) {
      ++wrong;
      fmt::print("seed {}: {}\n  {}\n", seed, result.text, description(c));
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto percent = [&](std::uint64_t n) {
    return 100 * static_cast<double>(n) / static_cast<double>(count);
  };
  const std::uint64_t refusals = count - equal - wrong;
  fmt::print("seeds    {}..{}, {:.1f} s, {:.2f} ms a case\n", first, first + count - 1, seconds,
             1000 * seconds / static_cast<double>(count));
  fmt::print("equal    {:6}  {:5.1f} %\n", equal, percent(equal));
  fmt::print("refused  {:6}  {:5.1f} %\n", refusals, percent(refusals));
  fmt::print("wrong    {:6}  {:5.1f} %\n", wrong, percent(wrong));
  fmt::print("reasons of refusals\n");
  for (const auto& [text, n] : refused) fmt::print("  {:6}  {}\n", n, text);
  fmt::print("equal cases with the option\n");
  for (const auto& [option, n] : compared) fmt::print("  {:6}  {}\n", n, option);
  return wrong == 0 ? 0 : 1;
}
