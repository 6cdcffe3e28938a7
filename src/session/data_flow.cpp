#include <halftone/session/data_flow.hpp>

#include <initializer_list>
#include <string>

namespace halftone {

namespace {

/// Leading extents, without those of one, and behind them a tensor's own.
Dims joined(std::initializer_list<std::int64_t> lead, const Dims& own) {
  Dims shape;
  std::size_t rank = own.size();
  for (const std::int64_t extent : lead) {
    if (extent == 1) continue;
    shape.push_back(extent);
    ++rank;
  }
  if (rank > max_rank) {
    fail(ErrorKind::usage, {.what = "what is returned of a tensor has too many dimensions",
                            .expected = std::to_string(max_rank) + " at most",
                            .found = std::to_string(rank)});
  }
  for (const std::int64_t extent : own) shape.push_back(extent);
  return shape;
}

}  // namespace

Dims DataFlow::shape(Return what, std::int64_t period, const Dims& own) const {
  if (what == Return::all) return joined({batches_per_step, accumulation, replicas}, own);
  if (what == Return::every_n) {
    return joined({batches_per_step / period, accumulation, replicas}, own);
  }
  return joined({replicas}, own);
}

Dims DataFlow::stream_shape(const Dims& own, bool all) const {
  if (!all) return joined({host_transfers, replicas}, own);
  return joined({batches_per_step, accumulation, host_transfers, replicas}, own);
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
  if (host_transfers <= 0) {
    fail(ErrorKind::usage, {.what = "a run needs at least one slice of each stream",
                            .expected = "host_transfers of 1 or more",
                            .found = std::to_string(host_transfers)});
  }
  if (host_transfers > 1 && micro_batches() > 1) {
    fail(ErrorKind::usage,
         {.what = "host_transfers and several micro-batches exclude each other",
          .found = std::to_string(host_transfers) + " transfers, " +
                   std::to_string(micro_batches()) + " micro-batches",
          .hint = "host_transfers is for graphs that loop themselves; batches_per_step and "
                  "accumulation run a graph several times"});
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
