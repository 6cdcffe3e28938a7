#pragma once

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <string>
#include <string_view>

#include "../contains.hpp"
#include "popart/convert.hpp"

/// What tests of sessions share.
namespace popart_test {

using test::contains;

/// The class of an error and its text.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const popart::internal_error& e) {
    return std::string("internal_error ") + e.what();
  } catch (const popart::runtime_error& e) {
    return std::string("runtime_error ") + e.what();
  } catch (const popart::error& e) {
    return std::string("error ") + e.what();
  }
  return "no error";
}
inline bool is(const std::string& text, std::string_view kind, std::string_view part) {
  return text.starts_with(std::string(kind) + " ") && contains(text, part);
}

/// What is printed on standard error while f runs; warnings that were printed before come again.
template <class F>
std::string printed(F&& f) {
  popart::detail::forgetSaid();
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  std::FILE* const file = std::tmpfile();
  dup2(fileno(file), STDERR_FILENO);
  f();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

inline std::shared_ptr<popart::DeviceInfo> cpu() {
  return popart::DeviceManager::createDeviceManager().createCpuDevice();
}

}  // namespace popart_test
