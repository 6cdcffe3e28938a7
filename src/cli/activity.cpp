#include "cli/activity.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace halftone::cli {

Activity::Activity(const Console& console, std::string what)
    : to_(console.err), what_(std::move(what)) {
  const int file = fileno(to_);
  if (file >= 0 && isatty(file) == 1) thread_ = std::thread([this] { draw(); });
}

Activity::~Activity() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Activity::done(double share, std::string words) {
  done(share);
  const std::lock_guard lock(mutex_);
  words_ = std::move(words);
}

void Activity::print(std::FILE* to, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (is_drawn_) std::fputs("\r\x1b[K", to_);
  std::fflush(to_);
  is_drawn_ = false;
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

void Activity::draw() {
  using namespace std::chrono_literals;
  constexpr int cells = 24, block = 6;
  std::unique_lock lock(mutex_);
  auto wait = 1000ms;
  for (int step = 0; !wake_.wait_for(lock, wait, [this] { return is_over_; }); ++step) {
    wait = 200ms;
    const float share = share_;
    std::string bar(cells, '.');
    if (share >= 0) {
      bar.replace(0, static_cast<std::size_t>(share * cells),
                  static_cast<std::size_t>(share * cells), '#');
    } else {
      const int way = cells - block, at = step % (2 * way);
      bar.replace(static_cast<std::size_t>(at < way ? at : 2 * way - at), block, block, '#');
    }
    const std::string words = words_.empty() ? fmt::format("{:.0f} s", 1 + 0.2 * step) : words_;
    std::fputs(fmt::format("\r{} [{}] {}\x1b[K", what_, bar, words).c_str(), to_);
    std::fflush(to_);
    is_drawn_ = true;
  }
  if (is_drawn_) std::fputs("\r\x1b[K", to_);
}

}  // namespace halftone::cli
