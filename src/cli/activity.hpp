#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cli/console.hpp"

namespace halftone::cli {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Something that may take long. If it is not over after a second, and standard error is a
/// terminal, a line with a bar tells what goes on; it vanishes at the end.
class Activity {
 public:
  Activity(const Console& console, std::string what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// How much is done, 0 to 1. Without it the bar only shows that time passes.
  void done(double share) { share_ = static_cast<float>(share); }
  /// The same with words that stand behind the bar, instead of the time.
  void done(double share, std::string words);
  /// Prints results while the bar is there.
  void print(std::FILE* to, const std::string& text);

 private:
  void draw();

  std::FILE* to_;
  std::string what_, words_;
  bool is_drawn_ = false;
  std::atomic<float> share_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace halftone::cli
