#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace popart::logging {

enum class Level { Trace = 0, Debug, Info, Warn, Err, Critical, Off, N };
enum class Module {
  popart,
  session,
  ir,
  devicex,
  transform,
  pattern,
  builder,
  op,
  opx,
  ces,
  python,
  none
};

/// A text with {} that do not fit the arguments.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Levels of modules by name; "all" stands for every module. Levels are TRACE, DEBUG, INFO, WARN,
/// ERR, CRITICAL and OFF; any other text is OFF.
void configure(const std::map<std::string, std::string>& config);
void setLogLevel(Module module, Level level);
Level getLogLevel(Module module);
bool shouldLog(Module module, Level level);
void flush(Module module);
/// A finished message, if `level` is enabled for the module.
void log(Module module, Level level, const std::string&& message);

namespace internal {

/// An argument of a message. Numbers and texts are formatted as fmt does; anything else is printed
/// with its operator<<.
struct Value {
  enum class Kind { integer, natural, real, boolean, character, text, printed } kind;
  union {
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    bool boolean;
    char character;
  };
  std::string text;
};

template <typename T>
Value makeValue(const T& argument) {
  Value value{};
  if constexpr (std::is_same_v<T, bool>) {
    value.kind = Value::Kind::boolean;
    value.boolean = argument;
  } else if constexpr (std::is_same_v<T, char>) {
    value.kind = Value::Kind::character;
    value.character = argument;
  } else if constexpr (std::is_floating_point_v<T>) {
    value.kind = Value::Kind::real;
    value.real = static_cast<double>(argument);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    value.kind = Value::Kind::integer;
    value.integer = argument;
  } else if constexpr (std::is_integral_v<T>) {
    value.kind = Value::Kind::natural;
    value.natural = argument;
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    value.kind = Value::Kind::text;
    value.text = std::string_view(argument);
  } else {
    std::ostringstream stream;
    stream << argument;
    value.kind = Value::Kind::printed;
    value.text = stream.str();
  }
  return value;
}

std::string format(std::string_view text, const Value* arguments, std::size_t count);

}  // namespace internal

/// The text with its {} replaced by the arguments; throws FormatError.
template <typename... Args>
std::string format(std::string_view text, const Args&... args) {
  const internal::Value values[sizeof...(Args) + 1] = {internal::makeValue(args)..., {}};
  return internal::format(text, values, sizeof...(Args));
}

/// The elements with a separator between them.
template <typename It>
std::string join(It begin, It end, std::string separator) {
  std::ostringstream stream;
  for (It it = begin; it != end; ++it) {
    if (it != begin) stream << separator;
    stream << *it;
  }
  return stream.str();
}

template <typename... Args>
void log(Module module, Level level, const char* text, const Args&... args) {
  if (shouldLog(module, level)) log(module, level, format(text, args...));
}

#define POPART_LOG_FUNCTION(function, module, level)            \
  template <typename... Args>                                   \
  void function(const std::string& text, const Args&... args) { \
    log(Module::module, Level::level, text.c_str(), args...);   \
  }
#define POPART_LOG_FUNCTIONS(module)          \
  POPART_LOG_FUNCTION(trace, module, Trace)   \
  POPART_LOG_FUNCTION(debug, module, Debug)   \
  POPART_LOG_FUNCTION(info, module, Info)     \
  POPART_LOG_FUNCTION(warn, module, Warn)     \
  POPART_LOG_FUNCTION(err, module, Err)       \
  POPART_LOG_FUNCTION(crit, module, Critical) \
  POPART_LOG_FUNCTION(critical, module, Critical)
#define POPART_LOG_MODULE(module)                                                       \
  namespace module {                                                                    \
  POPART_LOG_FUNCTIONS(module)                                                          \
  inline void flush() { logging::flush(Module::module); }                               \
  inline void setLogLevel(Level level) { logging::setLogLevel(Module::module, level); } \
  inline bool isEnabled(Level level) { return shouldLog(Module::module, level); }       \
  }

POPART_LOG_FUNCTIONS(popart)
POPART_LOG_MODULE(session)
POPART_LOG_MODULE(ir)
POPART_LOG_MODULE(devicex)
POPART_LOG_MODULE(transform)
POPART_LOG_MODULE(pattern)
POPART_LOG_MODULE(builder)
POPART_LOG_MODULE(op)
POPART_LOG_MODULE(opx)
POPART_LOG_MODULE(ces)
POPART_LOG_MODULE(python)

#undef POPART_LOG_MODULE
#undef POPART_LOG_FUNCTIONS
#undef POPART_LOG_FUNCTION

}  // namespace popart::logging
