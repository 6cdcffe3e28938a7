#pragma once

#include <cstdint>
#include <string_view>

namespace halftone {

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error, critical, off };
/// "trace", "debug", "info", "warn" (or "warning"), "error" (or "err"), "critical", "off", in any
/// case; off for other texts.
LogLevel parse_log_level(std::string_view text);

/// Gets the messages of the library. `module` says who speaks: "session", "engine", ...
using LogSink = void (*)(void* context, LogLevel level, std::string_view module,
                         std::string_view text);

/// Messages below this level are dropped. At the start it is what the environment's HALFTONE_LOG
/// says, else `off`: the library prints nothing unless asked.
LogLevel log_level();
void set_log_level(LogLevel level);
/// Null (at the start): lines on standard error.
void set_log_sink(LogSink sink, void* context);

inline bool log_enabled(LogLevel level) { return level >= log_level(); }
void log_message(LogLevel level, std::string_view module, std::string_view text);

}  // namespace halftone
