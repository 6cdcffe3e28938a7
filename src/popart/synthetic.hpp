#pragma once

#include <map>
#include <random>
#include <string>

#include <halftone/session/session.hpp>
#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// Step IO that needs no data: inputs have values of its own, made once, and what a run returns is
/// dropped.
///
/// Floating-point inputs have zeros, N(0, 1), or a uniform distribution over the range of their type, from
/// mt19937 with its default seed. Integers are 0 in all modes: they may be indices.
class SyntheticIo final : public halftone::StepIo {
 public:
  SyntheticIo(SyntheticDataMode mode, const halftone::Session& session)
      : mode_(mode), session_(session) {}

  halftone::AnyView in(std::string_view name, std::int64_t elements, bool prefetch) override;
  void in_complete(std::string_view, std::int64_t) override {}
  halftone::AnyBuffer out(std::string_view name, std::int64_t elements) override;
  void out_complete(std::string_view) override {}
  void check(const halftone::Session&) const override {}
  bool keeps_data() const override { return true; }

 private:
  void fill(halftone::AnyArray& array);

  SyntheticDataMode mode_;
  const halftone::Session& session_;
  std::map<std::string, halftone::AnyArray, std::less<>> inputs_, dropped_;
  std::mt19937 random_;
};

}  // namespace popart::detail
