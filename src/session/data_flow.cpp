#include <halftone/session/data_flow.hpp>

#include <string>

namespace halftone {

Return parse_return(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower == "all") return Return::all;
  if (lower == "everyn") return Return::every_n;
  if (lower == "final") return Return::final;
  if (lower == "sum") return Return::sum;
  fail(ErrorKind::usage, {.what = "Invalid anchor return type ID supplied",
                          .expected = "all, everyn, final or sum",
                          .found = text});
}

Dims DataFlow::shape(Return what, std::int64_t period, const Dims& own) const {
  Dims shape;
  auto lead = [&](std::int64_t extent) {
    if (extent != 1) shape.push_back(extent);
  };
  if (what == Return::all || what == Return::every_n) {
    lead(what == Return::all ? batches_per_step : batches_per_step / period);
    lead(accumulation);
  }
  if (shape.size() + own.size() > max_rank) {
    fail(ErrorKind::usage, {.what = "what is returned of a tensor has too many dimensions",
                            .expected = std::to_string(max_rank) + " at most",
                            .found = std::to_string(shape.size() + own.size())});
  }
  for (const std::int64_t extent : own) shape.push_back(extent);
  return shape;
}

void DataFlow::check() const {
  if (batches_per_step <= 0) {
    fail(ErrorKind::usage, {.what = "'Batches per step' must be greater than zero",
                            .found = std::to_string(batches_per_step)});
  }
  if (accumulation <= 0) {
    fail(ErrorKind::usage, {.what = "the accumulation factor must be greater than zero",
                            .found = std::to_string(accumulation)});
  }
  if (batches_per_step > (std::int64_t{1} << 40) / accumulation) {
    fail(ErrorKind::usage,
         {.what = "a run cannot have so many micro-batches",
          .found = std::to_string(batches_per_step) + " x " + std::to_string(accumulation)});
  }
}

void DataFlow::check(Return what, std::int64_t period) const {
  if (what != Return::every_n) return;
  const std::string batches = std::to_string(batches_per_step);
  const std::string found = std::to_string(period);
  if (period <= 0) {
    fail(ErrorKind::usage,
         {.what = "Anchor return period must be greater than zero", .found = found});
  }
  if (period > batches_per_step) {
    fail(ErrorKind::usage, {.what = "Return period must be <= to the number of batches per step",
                            .expected = batches + " at most",
                            .found = found});
  }
  if (batches_per_step % period != 0) {
    fail(ErrorKind::usage,
         {.what = "Return period must be a factor of the number of batches per step",
          .expected = "a factor of " + batches,
          .found = found});
  }
}

}  // namespace halftone
