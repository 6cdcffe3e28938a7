#include <popart/logging.hpp>

#include <fmt/args.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include <halftone/base/log.hpp>
#include <popart/error.hpp>

#include "popart/convert.hpp"

namespace popart::logging {

namespace {

constexpr std::array<const char*, 12> modules = {"popart",    "session", "ir",      "devicex",
                                                 "transform", "pattern", "builder", "op",
                                                 "opx",       "ces",     "python",  "unknown"};

Level parseLevel(const std::string& text) {
  constexpr const char* names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERR", "CRITICAL", "OFF"};
  for (int i = 0; i < 7; ++i) {
    if (text == names[i]) return static_cast<Level>(i);
  }
  return Level::Off;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// Levels of the modules, and where and how messages are printed.
class Logger {
 public:
  Logger() {
    levels_.fill(Level::Warn);  // PopART's own level at the start
    if (const char* level = environment("POPART_LOG_LEVEL")) {
      setAll(parseLevel(level));
    } else if (environment("HALFTONE_LOG") != nullptr) {
      setAll(static_cast<Level>(halftone::log_level()));
    }
    if (const char* format = environment("POPART_LOG_FORMAT")) format_ = format;
    const char* destination = environment("POPART_LOG_DEST");
    if (destination != nullptr && std::string(destination) == "stdout") {
      file_ = stdout;
    } else if (destination != nullptr && std::string(destination) != "stderr") {
      file_ = std::fopen(destination, "w");
      if (file_ == nullptr) throw error("Could not open log file: {}", destination);
    }
    if (const char* path = environment("POPART_LOG_CONFIG")) {
      std::ifstream stream(path);
      if (!stream) throw error("Could not open log config file: {}", path);
      const nlohmann::json config = nlohmann::json::parse(stream, nullptr, false);
      if (!config.is_object()) throw error("Log config file {} holds no JSON object", path);
      std::map<std::string, std::string> levels;
      for (const auto& [name, level] : config.items()) {
        if (level.is_string()) levels[name] = level.get<std::string>();
      }
      configure(levels);
    }
  }

  void configure(const std::map<std::string, std::string>& config) {
    if (const auto all = config.find("all"); all != config.end()) setAll(parseLevel(all->second));
    for (const auto& [name, level] : config) {
      for (std::size_t i = 0; i < modules.size(); ++i) {
        if (name == modules[i] || name == std::string("popart:") + modules[i]) {
          set(static_cast<Module>(i), parseLevel(level));
        }
      }
    }
  }
  void setAll(Level level) { levels_.fill(level); }
  void set(Module module, Level level) { levels_[static_cast<std::size_t>(module)] = level; }
  Level get(Module module) const { return levels_[static_cast<std::size_t>(module)]; }
  /// Whether a message has not been said before.
  bool isNew(const std::string& message) {
    const std::lock_guard lock(mutex_);
    return said_.insert(message).second;
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    said_.clear();
  }

  void print(Module module, Level level, const std::string& message) {
    const std::string line = formatted(module, level, message) + "\n";
    const std::lock_guard lock(mutex_);
    std::fwrite(line.data(), 1, line.size(), file_);
    if (file_ != stdout) std::fflush(file_);
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    std::fflush(file_);
  }

 private:
  std::string formatted(Module module, Level level, const std::string& message) const {
    timeval now{};
    gettimeofday(&now, nullptr);
    std::tm utc{};
    gmtime_r(&now.tv_sec, &utc);
    std::string line;
    for (std::size_t i = 0; i < format_.size(); ++i) {
      if (format_[i] != '%' || i + 1 == format_.size()) {
        line += format_[i];
        continue;
      }
      switch (format_[++i]) {
        case 'Y':
          line += fmt::format("{:04}", utc.tm_year + 1900);
          break;
        case 'm':
          line += fmt::format("{:02}", utc.tm_mon + 1);
          break;
        case 'd':
          line += fmt::format("{:02}", utc.tm_mday);
          break;
        case 'H':
          line += fmt::format("{:02}", utc.tm_hour);
          break;
        case 'M':
          line += fmt::format("{:02}", utc.tm_min);
          break;
        case 'S':
          line += fmt::format("{:02}", utc.tm_sec);
          break;
        case 'f':
          line += fmt::format("{:06}", now.tv_usec);
          break;
        case 'e':
          line += fmt::format("{:03}", now.tv_usec / 1000);
          break;
        case 'n':
          line += module == Module::none
                      ? "popart:<unknown>"
                      : std::string("popart:") + modules[static_cast<std::size_t>(module)];
          break;
        case 'P':
          line += std::to_string(getpid());
          break;
        case 't':
          line += std::to_string(syscall(SYS_gettid));
          break;
        case 'L':
          line += "TDIWEC"[static_cast<int>(level)];
          break;
        case 'l': {
          constexpr const char* names[] = {"trace",   "debug", "info",
                                           "warning", "error", "critical"};
          line += names[static_cast<int>(level)];
          break;
        }
        case 'v':
          line += message;
          break;
        case '%':
          line += '%';
          break;
        case '^':
        case '$':
          break;  // colours, which are for terminals
        default:
          line += '%';
          line += format_[i];
      }
    }
    return line;
  }

  std::array<Level, modules.size()> levels_;
  std::set<std::string> said_;
  std::string format_ = "%^%Y-%m-%dT%H:%M:%S.%fZ %n %P.%t %L: %v%$";
  std::FILE* file_ = stderr;
  std::mutex mutex_;
};

/// Never destroyed: messages may come from destructors of static objects.
Logger& logger() {
  static Logger& logger = *new Logger;
  return logger;
}

}  // namespace

void configure(const std::map<std::string, std::string>& config) { logger().configure(config); }
void setLogLevel(Module module, Level level) { logger().set(module, level); }
Level getLogLevel(Module module) { return logger().get(module); }
bool shouldLog(Module module, Level level) {
  return level >= logger().get(module) && level < Level::Off;
}
void flush(Module) { logger().flush(); }
void log(Module module, Level level, const std::string&& message) {
  if (shouldLog(module, level)) logger().print(module, level, message);
}

namespace internal {

std::string format(std::string_view text, const Value* arguments, std::size_t count) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = arguments[i];
    switch (value.kind) {
      case Value::Kind::integer:
        store.push_back(value.integer);
        break;
      case Value::Kind::natural:
        store.push_back(value.natural);
        break;
      case Value::Kind::real:
        store.push_back(value.real);
        break;
      case Value::Kind::boolean:
        store.push_back(value.boolean);
        break;
      case Value::Kind::character:
        store.push_back(value.character);
        break;
      case Value::Kind::text:
      case Value::Kind::printed:
        store.push_back(value.text);
        break;
    }
  }
  try {
    return fmt::vformat(fmt::string_view(text.data(), text.size()), store);
  } catch (const fmt::format_error& wrong) {
    throw FormatError("Log FormatError: " + std::string(wrong.what()) + " in '" +
                      std::string(text) + "'");
  }
}

}  // namespace internal

}  // namespace popart::logging

namespace popart {

void detail::say(logging::Module module, logging::Level level, const std::string& text) {
  if (!logging::shouldLog(module, level)) return;
  // A program that makes many sessions is warned of a setting once.
  if (level == logging::Level::Warn && !logging::logger().isNew(text)) return;
  logging::log(module, level, std::string(text));
}

void detail::forgetSaid() { logging::logger().forget(); }

ErrorSource getErrorSource(const std::exception& e) {
  if (dynamic_cast<const internal_error*>(&e) != nullptr) return ErrorSource::popart_internal;
  if (dynamic_cast<const error*>(&e) != nullptr) return ErrorSource::popart;
  return ErrorSource::unknown;
}

}  // namespace popart
