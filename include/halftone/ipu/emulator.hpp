#pragma once

/// An IPU that runs a model of the program's own: headers alone, without the library.
///
///   static ipu::Emulator<Net> emulator{ipu::gc200};
///   emulator.run(x);                            // float x[8]
///   emulator.output<"y">();                     // as Static<Net> computes it
///   emulator.report().cycles();                 // as ipu::profile finds them
///   emulator.report().tile_bytes(113);

#include <cstdint>
#include <string>
#include <utility>

#include <halftone/base/error_text.hpp>
#include <halftone/ipu/lowering/fold.hpp>
#include <halftone/ipu/lowering/make_report.hpp>
#include <halftone/ipu/lowering/recorded_graph.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/program/refuse.hpp>
#include <halftone/static.hpp>
#include <halftone/transform/passes.hpp>

namespace halftone::ipu {

/// A model on an emulated machine: a Static<Model>, which computes, beside the report of what its
/// graph would do on the target.
///
/// report  number by number that of ipu::profile for the same graph, target and options
/// errors  what ipu::profile throws, when the object is made: UsageError for a machine or options
///         that make no sense, MemoryError if the model does not fit, unless the options allow it
/// limits  those of Static; the report takes memory from the heap and needs exceptions
template <class Model, class Ops = Builtin>
class Emulator : public Static<Model, Ops> {
 public:
  /// seed  of variables that start with random numbers, as SessionOptions::seed
  explicit Emulator(const Target& target, const ProfileOptions& options = {},
                    std::uint64_t seed = 0)
      : Static<Model, Ops>(seed), report_(made_report(target, options)) {}

  /// The program of a run with the time of each step, and what each tile's memory is used for. Its
  /// texts and pages (summary() to write_html()) are in the library.
  const Report& report() const { return report_; }

 private:
  static Report made_report(const Target& target, const ProfileOptions& options) {
    using List = typename halftone::detail::ListOf<Ops>::type;
    using Recorded = detail::RecordedGraph<Model, List>;
    static_assert(Recorded::has_all_operators,
                  "halftone: an operator of an emulated model is not in its list: "
                  "ipu::Emulator<Model, builtin::with<Cube>>");
    Graph graph = Recorded::read();
    const std::string name(graph.text(graph.graph_name));
    return detail::make_report(name, target, options, [&] {
      const PassOptions passes{.target = "ipu",
                               .evaluate = &detail::evaluate_in_headers,
                               .recompute = options.recompute,
                               .observer = options.observer};
      return detail::planned_program(
          run_passes(ipu_passes, std::move(graph), passes, [](const PassEvent&) {}));
    });
  }

  Report report_;
};

}  // namespace halftone::ipu
