#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace popart {

/// Where in the program something was asked for.
class SourceLocation {
 public:
  SourceLocation() = default;
  SourceLocation(const std::string& functionName, const std::string& fileName, unsigned lineNumber)
      : function_(functionName), file_(fileName), line_(lineNumber), valid_(true) {}
  const std::string& getFunctionName() const { return function_; }
  const std::string& getFileName() const { return file_; }
  unsigned getLineNumber() const { return line_; }
  bool isValid() const { return valid_; }
  static SourceLocation Current(const char* function = __builtin_FUNCTION(),
                                const char* file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) {
    return {function, file, line};
  }

 private:
  std::string function_, file_;
  unsigned line_ = 0;
  bool valid_ = false;
};

using DebugId = std::uint64_t;

class DebugContext;

/// Names of what was made, one inside the other: "encoder/attention".
class DebugInfo {
 public:
  DebugInfo(const DebugContext& context, const std::string& layer);
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;
  virtual ~DebugInfo() = default;
  DebugId getId() const { return id_; }
  std::string getPathName() const { return path_; }

 private:
  DebugId id_ = 0;
  std::string path_;
};

class DebugNameAndId {
 public:
  DebugNameAndId(std::string name = "", DebugId id = {}, std::string parentPath = "")
      : id_(id), path_(joined(parentPath, name)) {}
  DebugNameAndId(const char* name) : DebugNameAndId(std::string(name)) {}
  DebugNameAndId(DebugId id) : id_(id) {}
  DebugNameAndId(const DebugInfo& info, std::string name = "")
      : id_(info.getId()), path_(joined(info.getPathName(), name)) {}
  std::string getPathName() const { return path_; }
  DebugId getId() const { return id_; }

  static std::string joined(const std::string& parent, const std::string& name) {
    return parent.empty() || name.empty() ? parent + name : parent + "/" + name;
  }

 private:
  DebugId id_ = 0;
  std::string path_;
};

/// The name that something gets: a text will do.
class DebugContext {
 public:
  DebugContext(SourceLocation location = SourceLocation::Current())
      : location_(std::move(location)) {}
  DebugContext(const char* name, SourceLocation location = SourceLocation::Current())
      : path_(name), location_(std::move(location)) {}
  DebugContext(std::string name, SourceLocation location = SourceLocation::Current())
      : path_(std::move(name)), location_(std::move(location)) {}
  DebugContext(const DebugInfo& info, std::string name = "",
               SourceLocation location = SourceLocation::Current())
      : path_(DebugNameAndId::joined(info.getPathName(), name)), location_(std::move(location)) {}
  DebugContext(const DebugNameAndId& parent, std::string name = "",
               SourceLocation location = SourceLocation::Current())
      : path_(DebugNameAndId::joined(parent.getPathName(), name)), location_(std::move(location)) {}

  std::string getPathName() const { return path_; }
  const SourceLocation& getLocation() const { return location_; }

 private:
  std::string path_;
  SourceLocation location_;
};

}  // namespace popart
