#include <halftone/session/data_flow.hpp>

#include <string>

namespace halftone {

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
    fail(ErrorKind::usage,
         {.what = "a run needs at least one batch", .found = std::to_string(batches_per_step)});
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
  if (period > 0 && batches_per_step % period == 0) return;
  fail(ErrorKind::usage,
       {.what = "the period of returned values does not divide the number of batches in a run",
        .expected = "a factor of " + std::to_string(batches_per_step),
        .found = std::to_string(period)});
}

}  // namespace halftone
