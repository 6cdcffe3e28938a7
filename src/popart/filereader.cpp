#include <popart/filereader.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.hpp"
#include "popart/convert.hpp"

namespace popart::io {

namespace {

namespace fs = std::filesystem;

std::string canonical(const std::string& path, const char* what) {
  std::error_code problem;
  const fs::path result = fs::canonical(path.empty() ? "." : path, problem);
  if (problem) throw error("{} `{}' does not exist: {}", what, path, problem.message());
  return result.string();
}

std::vector<std::string> entries(const std::string& dir, bool (*isWanted)(const fs::path&)) {
  assertDirectoryExists(dir);
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    if (isWanted(entry.path())) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

void assertDirectoryExists(const std::string& path) {
  if (!fs::is_directory(path)) throw error("Directory does not exist: {}", path);
}
void assertDirectoryWritable(const std::string& path) {
  assertDirectoryExists(path);
  if (::access(path.c_str(), W_OK) != 0) throw error("Directory is not writable: {}", path);
}
std::string getCanonicalDirName(const std::string& path) {
  assertDirectoryExists(path.empty() ? "." : path);
  return canonical(path, "Directory");
}
std::string getCanonicalFilename(const std::string& path) { return canonical(path, "File"); }
std::string appendDirFn(const std::string& dir, const std::string& file) {
  return (fs::path(getCanonicalDirName(dir)) / file).string();
}
bool isRegularFile(const std::string& file) { return fs::is_regular_file(file); }
void confirmRegularFile(const std::string& file) {
  if (!isRegularFile(file)) throw error("{} is not a regular file", file);
}
std::vector<std::string> getFns(const std::string& dir) {
  return entries(dir, [](const fs::path& path) { return fs::is_regular_file(path); });
}
std::vector<std::string> getDirns(const std::string& dir) {
  return entries(dir, [](const fs::path& path) { return fs::is_directory(path); });
}
std::vector<std::string> getMatchFns(const std::string& dir, const std::string& toMatch) {
  std::vector<std::string> files = getFns(dir);
  std::erase_if(files, [&](const std::string& file) {
    return fs::path(file).filename().string().find(toMatch) == std::string::npos;
  });
  return files;
}

std::string bytesOfFile(const std::string& file) {
  confirmRegularFile(file);
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream) throw error("Failed to open file {}", file);
  return bytes.str();
}
void writeBytes(const std::string& bytes, const std::string& file) {
  detail::translated<error>([&] {
    halftone::detail::OutputFile out(file);
    out.write(std::as_bytes(std::span(bytes.data(), bytes.size())));
    out.commit();
  });
}

}  // namespace popart::io
