#include <popxl/tensor.hpp>

#include <string>

#include "base/describe.hpp"
#include "popxl/state.hpp"

namespace popxl {

ElementType as_dtype(std::string_view name) {
  struct Named {
    std::string_view name;
    ElementType type;
  };
  static constexpr Named all[] = {{"bool", ElementType::boolean},
                                  {"int8", ElementType::int8},
                                  {"int16", ElementType::int16},
                                  {"int32", ElementType::int32},
                                  {"int64", ElementType::int64},
                                  {"uint8", ElementType::uint8},
                                  {"uint16", ElementType::uint16},
                                  {"uint32", ElementType::uint32},
                                  {"uint64", ElementType::uint64},
                                  {"float8_143", ElementType::float8_e4m3fnuz},
                                  {"float8_152", ElementType::float8_e5m2fnuz},
                                  {"float16", ElementType::float16},
                                  {"half", ElementType::float16},
                                  {"float32", ElementType::float32},
                                  {"float", ElementType::float32},
                                  {"float64", ElementType::float64},
                                  {"double", ElementType::float64}};
  for (const Named& known : all) {
    if (known.name == name) return known.type;
  }
  throw ValueError(
      {.what = "an element type of this name is not known",
       .found = name,
       .hint = "names are those of PopXL, such as float16; complex types are not offered"});
}

Dims strides(const AnyTensor& t) {
  const TensorSpec info = t.info();
  Dims all = info.shape;
  auto step = static_cast<std::int64_t>(halftone::size_in_bytes(info.type));
  for (std::size_t i = all.size(); i-- > 0;) {
    all[i] = step;
    step *= info.shape[i];
  }
  return all;
}

std::int64_t len(const AnyTensor& t) {
  const TensorSpec info = t.info();
  if (info.rank() > 0) return info.shape[0];
  throw ValueError({.what = "a scalar has no length", .tensor = t.name()});
}

std::string_view scope_of(const AnyTensor& t) {
  const std::string_view name = t.name();
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash);
}
std::string_view name_of(const AnyTensor& t) {
  const std::string_view name = t.name();
  return name.substr(name.rfind('/') + 1);
}

int ipu_of(const AnyTensor& t) {
  const detail::Place place = detail::place_of(t);
  if (place.ipu >= 0) return place.ipu;
  throw UndefinedValue({.what = "nothing says which IPU the tensor is on",
                        .tensor = t.name(),
                        .hint = "popxl::ipu on(0);"});
}
TileSet tile_set(const AnyTensor& t) {
  const detail::Place place = detail::place_of(t);
  if (place.is_known) return place.on_io_tiles ? TileSet::IO : TileSet::Compute;
  throw UndefinedValue({.what = "no operator makes the tensor", .tensor = t.name()});
}
AnyTensor copy_to_ipu(const AnyTensor& t, int destination, std::optional<int> source) {
  if (!source.has_value() && detail::place_of(t).ipu < 0) {
    throw ValueError({.what = "the IPU that a tensor is copied from is not known",
                      .tensor = t.name(),
                      .hint = "make it within popxl::ipu, or give the source"});
  }
  return ops::ipu_copy(t, destination);
}
Dims shape_on_host(const AnyTensor& variable) {
  const halftone::VariableSettings* const settings = variable.graph->settings(variable.id);
  Dims shape = variable.info().shape;
  if (settings == nullptr) return shape;
  if (!settings->host_shape.empty()) shape = settings->host_shape;
  const int groups = settings->grouping.num_groups();
  if (groups > 1) shape.insert(0, groups);
  return shape;
}
TensorLocation location_info(const AnyTensor& t) {
  const halftone::VariableSettings* const settings = t.graph->settings(t.id);
  if (settings == nullptr) return {};
  using popart::TensorStorage, popart::ReplicatedTensorSharding;
  return {
      settings->remote_buffer >= 0 ? TensorStorage::OffChip : TensorStorage::OnChip,
      settings->host_shape.empty() ? ReplicatedTensorSharding::Off : ReplicatedTensorSharding::On};
}

AnyTensor diag(const AnyTensor& x) {
  const TensorSpec info = x.info();
  if (info.rank() == 2) return ops::subsample(ops::flatten(x), {info.shape[1] + 1});
  throw ValueError({.what = "diag takes a matrix",
                    .tensor = x.name(),
                    .found = halftone::detail::to_text(info)});
}

}  // namespace popxl
