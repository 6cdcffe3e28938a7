#include "cli/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/describe.hpp"
#include "cli/file.hpp"

namespace halftone::cli {
namespace {

constexpr std::string_view separators = ",;\t ";

/// The fields of a line; blanks around other separators do not count.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) { skip_blanks(); }
  bool next(std::string_view& field) {
    if (is_over_) return false;
    std::size_t size = std::min(rest_.find_first_of(separators), rest_.size());
    field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    skip_blanks();
    is_over_ = rest_.empty();
    if (!is_over_ && separators.find(rest_.front()) != separators.npos) {
      rest_.remove_prefix(1);
      skip_blanks();
    }
    return true;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest_;
  bool is_over_ = false;
};

std::optional<float> number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size()) return {};
  return value;
}

/// Columns [first, first + count) of a table, as [rows] if it is one.
AnyArray columns(const AnyArray& table, std::int64_t first, std::int64_t count) {
  const std::int64_t rows = table.info().shape[0], all = table.info().shape[1];
  AnyArray part({ElementType::float32, count == 1 ? Dims{rows} : Dims{rows, count}});
  const auto from = table.values<float>();
  const auto to = part.values<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from.begin() + row * all + first, count, to.begin() + row * count);
  }
  return part;
}

Dataset from_table(const InputFile& file, std::span<const WantedFeature> wanted) {
  const AnyArray table = parse_table(read_file(file.file), file.file);
  const std::int64_t all = table.info().shape[1];
  std::int64_t first = 0;
  Dataset data{{}, file.file};
  for (const WantedFeature& feature : wanted) {
    const std::int64_t count = feature.numbers < 0 ? all - first : feature.numbers;
    if (count < 1 || first + count > all) {
      fail(ErrorKind::input, {.what = about_file("the table has too few columns", file.file),
                              .tensor = feature.name,
                              .expected = fmt::format("{} columns from number {}",
                                                      std::max<std::int64_t>(count, 1), first + 1),
                              .found = fmt::format("{} columns", all)});
    }
    data.features.push_back({feature.name, columns(table, first, count), 1});
    first += count;
  }
  if (first != all) {
    fail(ErrorKind::input, {.what = about_file("the table has too many columns", file.file),
                            .expected = fmt::format("{} columns", first),
                            .found = fmt::format("{} columns", all)});
  }
  return data;
}

}  // namespace

const Feature* Dataset::find(std::string_view name) const {
  const auto at = std::find_if(features.begin(), features.end(),
                               [&](const Feature& feature) { return feature.name == name; });
  return at == features.end() ? nullptr : &*at;
}

AnyArray parse_table(std::string_view text, const std::string& path) {
  const auto refuse = [&](std::int64_t line, std::string_view what, const std::string& expected,
                          std::string_view found) {
    const std::string reason = about_file(fmt::format("line {}: {}", line, what), path);
    fail(ErrorKind::input, {.what = reason, .expected = expected, .found = found.substr(0, 40)});
  };
  std::vector<float> values;
  std::size_t width = 0;
  std::int64_t rows = 0, line = 0;
  while (!text.empty()) {
    ++line;
    std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    if (whole.find_first_not_of(" \t\r") == whole.npos) continue;
    Fields fields(whole);
    const std::size_t before = values.size();
    bool is_title = line == 1;
    std::string_view strange;
    for (std::string_view field; fields.next(field);) {
      const std::optional<float> value = number(field);
      if (value) is_title = false;
      if (!value && strange.data() == nullptr) strange = field;
      values.push_back(value.value_or(0.f));
    }
    if (is_title) {
      values.clear();
      continue;
    }
    if (strange.data() != nullptr) refuse(line, "this is no number", "", strange);
    if (rows == 0) width = values.size() - before;
    if (values.size() - before != width) {
      refuse(line, "the row has another length than those before", fmt::format("{}", width),
             fmt::format("{} numbers", values.size() - before));
    }
    ++rows;
  }
  if (rows == 0) fail(ErrorKind::input, {.what = about_file("the table has no rows", path)});
  AnyArray table({ElementType::float32, {rows, static_cast<std::int64_t>(width)}});
  std::memcpy(table.data(), values.data(), table.bytes());
  return table;
}

Dataset read_dataset(std::span<const InputFile> files, std::span<const WantedFeature> wanted) {
  if (files.size() == 1 && files[0].name.empty()) return from_table(files[0], wanted);
  Dataset data;
  for (const InputFile& file : files) {
    const auto is_meant = [&](const WantedFeature& feature) { return feature.name == file.name; };
    if (std::none_of(wanted.begin(), wanted.end(), is_meant)) {
      std::string names;
      for (const WantedFeature& feature : wanted) {
        names += (names.empty() ? "there are " : ", ") + detail::quoted(feature.name);
      }
      fail(ErrorKind::input,
           {.what = about_file("the training has no input of this name", file.file),
            .found = file.name.empty() ? "a file without a name beside others" : file.name,
            .hint = names});
    }
    if (data.find(file.name) != nullptr) {
      fail(ErrorKind::input, {.what = "an input is given twice", .tensor = file.name});
    }
    AnyArray values = file.file.ends_with(".csv") ? parse_table(read_file(file.file), file.file)
                                                  : read_tensor(file.file);
    if (values.info().rank() == 0) {
      fail(ErrorKind::input, {.what = about_file("a scalar is no list of samples", file.file)});
    }
    const std::int64_t samples = values.info().shape[0];
    if (!data.features.empty() && samples != data.samples()) {
      fail(ErrorKind::input,
           {.what = about_file("the files have different numbers of samples", file.file),
            .tensor = file.name,
            .expected = fmt::format("{} samples as in '{}'", data.samples(),
                                    detail::escaped(data.features[0].name)),
            .found = fmt::format("{} samples", samples)});
    }
    data.source += (data.source.empty() ? "" : ", ") + file.file;
    data.features.push_back({file.name, std::move(values), 1});
  }
  for (const WantedFeature& feature : wanted) {
    if (data.find(feature.name) == nullptr) {
      fail(ErrorKind::input, {.what = "the data for an input are missing",
                              .tensor = feature.name,
                              .hint = fmt::format("--data {}=FILE", feature.name)});
    }
  }
  if (data.samples() == 0) {
    fail(ErrorKind::input, {.what = about_file("there are no samples", files[0].file)});
  }
  return data;
}

void check_integers(const Feature& feature, double low, double high) {
  const TensorInfo& info = feature.values.info();
  const std::int64_t size = info.shape[0] == 0 ? 1 : info.elements() / info.shape[0];
  visit_type<AllTypes>(info.type, [&]<class T>() {
    const auto values = feature.values.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(values[i]) * feature.scale;
      if (x >= low && x <= high && x == std::trunc(x)) continue;
      fail(ErrorKind::input,
           {.what = fmt::format("sample {} has a number that is not allowed there",
                                static_cast<std::int64_t>(i) / size),
            .tensor = feature.name,
            .expected = fmt::format("integers from {} to {}", low, high),
            .found = fmt::format("{}", x)});
    }
  });
}

void gather(const Feature& feature, std::span<const std::int64_t> which, AnyArray& to) {
  const TensorInfo& info = feature.values.info();
  const std::int64_t size = info.shape[0] == 0 ? 0 : info.elements() / info.shape[0];
  visit_type<AllTypes>(info.type, [&]<class From>() {
    const auto from = feature.values.values<From>();
    visit_type<AllTypes>(to.info().type, [&]<class To>() {
      const auto values = to.values<To>();
      constexpr bool is_wide = std::is_same_v<From, double> || std::is_same_v<To, double>;
      using Wide = std::conditional_t<is_wide, double, float>;
      const auto scale = static_cast<Wide>(feature.scale);
      for (std::size_t i = 0; i < which.size(); ++i) {
        const From* const x = from.data() + which[i] * size;
        To* const y = values.data() + static_cast<std::int64_t>(i) * size;
        if constexpr (std::is_same_v<From, To>) {
          if (feature.scale == 1) {
            std::copy_n(x, size, y);
            continue;
          }
        }
        if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
          // Not by way of floating point: large integers stay what they are.
          if (feature.scale == 1) {
            for (std::int64_t j = 0; j < size; ++j) y[j] = static_cast<To>(x[j]);
            continue;
          }
        }
        for (std::int64_t j = 0; j < size; ++j) {
          y[j] = static_cast<To>(static_cast<Wide>(x[j]) * scale);
        }
      }
    });
  });
}

}  // namespace halftone::cli
