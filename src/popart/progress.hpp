#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>

#include <halftone/graph/describe.hpp>
#include <halftone/transform/observer.hpp>
#include <popart/logging.hpp>
#include <popart/sessionoptions.hpp>

#include "popart/convert.hpp"

namespace popart::detail {

/// Tells the program's progress logger, and the log, how far a session is.
class Progress final : public halftone::PassObserver {
 public:
  explicit Progress(const SessionOptions& options)
      : logger_(options.compilationProgressLogger),
        total_(options.compilationProgressTotal),
        leastPercent_(options.developerSettings.timePartitionLoggerThresholdPercentage) {}

  /// Says that so many percent are done. The number that is told never falls.
  void reach(int percent) {
    percent_ = std::max(percent_, percent);
    if (logger_) logger_(percent_ * total_ / 100, total_);
  }

  /// Logs how long the passes took, and everything else that made the session.
  void tellTimes() const {
    if (!logging::shouldLog(logging::Module::session, logging::Level::Info)) return;
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start_;
    std::string text = logging::format("Making the session took {:.3f} ms", 1e3 * whole.count());
    double rest = whole.count();
    const auto add = [&](const std::string& name, double seconds) {
      const double percent = 100 * seconds / whole.count();
      if (percent < leastPercent_) return;
      text += logging::format("\n  {}: {:.3f} ms ({:.1f} %)", name, 1e3 * seconds, percent);
    };
    for (const auto& [pass, seconds] : seconds_) {
      add(pass, seconds);
      rest -= seconds;
    }
    add("outside of passes", rest);
    say(logging::Module::session, logging::Level::Info, text);
  }

  void passed(const halftone::PassEvent& event) override {
    seconds_[std::string(event.pass)] += event.seconds;
    // The number of passes to come is not known, since they run over subgraphs, too.
    percent_ += (95 - percent_) / 8;
    reach(percent_);
    const bool folds = event.pass == "constants";
    if (const auto module = folds ? logging::Module::ces : logging::Module::transform;
        logging::shouldLog(module, logging::Level::Debug)) {
      say(module, logging::Level::Debug,
          logging::format("Pass {}{}{} leaves {} nodes, after {:.3f} ms", event.pass,
                          event.path.empty() ? "" : " of ", event.path, event.graph.nodes.size(),
                          1e3 * event.seconds));
    }
    // The last pass leaves what will run.
    if (event.pass != "schedule" ||
        !logging::shouldLog(logging::Module::opx, logging::Level::Trace))
      return;
    for (const halftone::Node& node : event.graph.nodes) {
      say(logging::Module::opx, logging::Level::Trace,
          halftone::detail::node_text(*node.op, event.graph.name(node)) + " will run");
    }
  }

 private:
  std::function<void(int, int)> logger_;
  int total_, percent_ = 0;
  double leastPercent_;  ///< of the whole time, that the log names
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::string, double> seconds_;  ///< by pass
};

}  // namespace popart::detail
