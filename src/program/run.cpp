#include <fmt/format.h>

#include <utility>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "base/describe.hpp"
#include "program/activity.hpp"
#include "program/commands.hpp"
#include "program/file.hpp"
#include "program/json.hpp"
#include "program/new_files.hpp"
#include "program/statistics.hpp"
#include "program/table.hpp"

namespace halftone::program {
namespace {

void print_summary(const Result& result, const std::vector<std::string>& files, double seconds,
                   bool as_json, const Console& console) {
  constexpr std::int64_t few = 10;
  Table table({{"output"}, {"type"}, {"shape"}, {"values"}, {"file"}});
  Json json{{"seconds", seconds}, {"outputs", Json::array()}};
  for (std::size_t i = 0; i < result.size(); ++i) {
    const AnyView value = result[i];
    const Statistics s = statistics_of(value);
    if (as_json) {
      Json output{{"name", result.name(i)}, {"file", files[i]}};
      add_info(output, value.info);
      output.update({{"min", s.min}, {"mean", s.mean}, {"max", s.max}, {"nan", s.not_a_number}});
      json["outputs"].push_back(std::move(output));
      continue;
    }
    std::string values = s.elements <= few ? first_values(value, few)
                                           : fmt::format("min {:.4g}  mean {:.4g}  max {:.4g}",
                                                         s.min, s.mean, s.max);
    if (s.elements > few && s.not_a_number > 0) values += fmt::format("  {} nan", s.not_a_number);
    table.add({detail::escaped(result.name(i)), std::string(name(value.info.type)),
               detail::to_text(value.info.shape), values, files[i]});
  }
  if (as_json) {
    fmt::print(console.out, "{}", dump(json));
  } else {
    table.print(console.out);
    fmt::print(console.out, "run in {}\n", duration(seconds));
  }
}

}  // namespace

void run(const RunOptions& options, const Console& console) {
  const Activity activity(console, "run " + detail::escaped(options.model));
  Session session(onnx::load(options.model), {.threads = options.threads});
  std::vector<AnyArray> arrays;
  std::vector<Input> inputs;
  for (const InputFile& input : options.inputs) {
    arrays.push_back(read_tensor(input.file));
    inputs.emplace_back(input.name, arrays.back());
  }
  const auto start = Clock::now();
  const Result result = session.run(inputs);
  const double seconds = seconds_since(start);

  NewFiles files(options.output_dir);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.size(); ++i) {
    names.push_back(fmt::format("output_{}.{}", i, extension(options.format)));
    write_tensor(files.add(names.back()), options.format, result.name(i), result[i]);
  }
  print_summary(result, names, seconds, options.json, console);
  flush(console);  // a run that fails leaves no file, whatever the reason
  files.commit();
}

}  // namespace halftone::program
