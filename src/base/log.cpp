#include <halftone/base/log.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace halftone {

namespace {

struct Log {
  std::atomic<LogLevel> level;
  std::mutex mutex;
  LogSink sink = nullptr;
  void* context = nullptr;

  Log() : level(LogLevel::off) {
    if (const char* wanted = std::getenv("HALFTONE_LOG")) level = parse_log_level(wanted);
  }
};

/// Never destroyed: messages may come from destructors of static objects.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

LogLevel parse_log_level(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower == "trace") return LogLevel::trace;
  if (lower == "debug") return LogLevel::debug;
  if (lower == "info") return LogLevel::info;
  if (lower == "warn" || lower == "warning") return LogLevel::warn;
  if (lower == "error" || lower == "err") return LogLevel::error;
  if (lower == "critical") return LogLevel::critical;
  return LogLevel::off;
}

LogLevel log_level() { return the_log().level.load(std::memory_order_relaxed); }
void set_log_level(LogLevel level) { the_log().level.store(level, std::memory_order_relaxed); }

void set_log_sink(LogSink sink, void* context) {
  const std::lock_guard lock(the_log().mutex);
  the_log().sink = sink;
  the_log().context = context;
}

void log_message(LogLevel level, std::string_view module, std::string_view text) {
  if (!log_enabled(level) || level >= LogLevel::off) return;
  constexpr const char* names[] = {"trace", "debug", "info", "warning", "error", "critical"};
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (log.sink != nullptr) {
    log.sink(log.context, level, module, text);
    return;
  }
  std::fprintf(stderr, "halftone %s %.*s: %.*s\n", names[static_cast<int>(level)],
               static_cast<int>(module.size()), module.data(), static_cast<int>(text.size()),
               text.data());
}

}  // namespace halftone
