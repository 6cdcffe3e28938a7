#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <halftone/onnx.hpp>
#include <halftone/session/session.hpp>

#include "base/describe.hpp"
#include "program/activity.hpp"
#include "program/commands.hpp"
#include "program/file.hpp"
#include "program/json.hpp"
#include "program/statistics.hpp"
#include "program/table.hpp"

namespace halftone::program {
namespace {

/// Files that appear together under their names, or not at all: until commit() they have others.
class NewFiles {
 public:
  explicit NewFiles(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::path missing = std::filesystem::path(folder_).lexically_normal();
    while (!missing.empty() && !std::filesystem::exists(missing, error)) {
      made_.push_back(missing);
      missing = missing.has_relative_path() ? missing.parent_path() : std::filesystem::path();
    }
    std::filesystem::create_directories(folder_, error);
    if (error) {
      remove();
      fail_on_file(folder_, "the folder cannot be made", error.value());
    }
    if (!std::filesystem::is_directory(folder_, error)) {
      fail_on_file(folder_, "the folder cannot be made", ENOTDIR);
    }
  }
  ~NewFiles() { remove(); }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  /// The path at which to write what is to become the file `name`.
  std::string add(const std::string& name) {
    const std::filesystem::path folder(folder_);
    files_.emplace_back((folder / fmt::format(".{}.{}", name, getpid())).string(),
                        (folder / name).string());
    return files_.back().first;
  }
  void commit() {
    for (auto& [temporary, path] : files_) {
      if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        fail_on_file(path, "the file cannot be written", errno);
      }
      temporary = path;
    }
    files_.clear();
    made_.clear();
  }

 private:
  void remove() {
    std::error_code ignored;
    for (const auto& [present, path] : files_) std::filesystem::remove(present, ignored);
    for (const std::filesystem::path& folder : made_) rmdir(folder.c_str());
  }

  std::string folder_;
  std::vector<std::filesystem::path> made_;  // innermost first
  std::vector<std::pair<std::string, std::string>> files_;
};

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
  const auto start = std::chrono::steady_clock::now();
  const Result result = session.run(inputs);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;

  NewFiles files(options.output_dir);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < result.size(); ++i) {
    names.push_back(fmt::format("output_{}.{}", i, extension(options.format)));
    write_tensor(files.add(names.back()), options.format, result.name(i), result[i]);
  }
  print_summary(result, names, time.count(), options.json, console);
  flush(console);  // a run that fails leaves no file, whatever the reason
  files.commit();
}

}  // namespace halftone::program
