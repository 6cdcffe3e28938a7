#pragma once

#include <memory>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <string>
#include <string_view>

#include "../contains.hpp"

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

inline std::shared_ptr<popart::DeviceInfo> cpu() {
  return popart::DeviceManager::createDeviceManager().createCpuDevice();
}

}  // namespace popart_test
