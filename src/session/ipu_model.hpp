#pragma once

#include <memory>
#include <span>
#include <vector>

#include <halftone/ipu/profile.hpp>
#include <halftone/session/session.hpp>

#include "ipu/arithmetic.hpp"

namespace halftone::detail {

/// What runs the nodes with the machine's arithmetic; null if nobody asks for it. Throws UsageError
/// for options that exclude each other.
std::unique_ptr<ipu::ArithmeticRunner> device_arithmetic(const SessionOptions& options);

/// Says what the machine of a session would do: its report for the shapes of the last run.
class IpuModel {
 public:
  /// Throws UsageError if the target cannot be.
  explicit IpuModel(const SessionOptions& options);

  /// Profiles the graph for inputs that are not those of the last report.
  void follow(const Graph& graph, std::span<const AnyView> inputs);
  const ipu::Report* report() const { return report_.get(); }

 private:
  ipu::Report made_report(const Graph& graph) const;

  ipu::Target target_;
  ipu::ProfileOptions options_;
  Schedule schedule_;
  std::int64_t batches_, accumulation_;
  std::unique_ptr<ipu::Report> report_;
  Vector<TensorInfo> profiled_;  // the inputs that the report is about
};

}  // namespace halftone::detail
