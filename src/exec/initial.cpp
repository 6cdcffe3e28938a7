#include "initial.hpp"

#include <halftone/base/element_type.hpp>
#include <halftone/base/error.hpp>
#include <halftone/graph/initial.hpp>

#include "variables.hpp"

namespace halftone {

void initialize_variables(Graph& graph, std::uint64_t seed) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    TensorRecord& t = graph.tensors[id];
    if (!is_variable(t) || t.data.size() != 0 || t.info.bytes() == 0) continue;
    if (!t.info.is_static()) {
      fail(ErrorKind::model, {.what = "a variable's shape is not known",
                              .tensor = graph.name(static_cast<TensorId>(id))});
    }
    const std::uint64_t own = detail::own_seed(seed, graph.name(static_cast<TensorId>(id)));
    const VariableLayout layout(graph, static_cast<TensorId>(id));
    const TensorInfo host = layout.host();
    // Values that depend on the shape are those of a whole tensor, not of a replica's part.
    const Dims& shape = layout.shards() > 1 ? layout.settings()->host_shape : t.info.shape;
    const auto bytes = static_cast<std::size_t>(host.bytes());
    Storage storage = Storage::allocate(bytes);
    visit_type<NumericTypes>(t.info.type, [&]<class T>() {
      auto* data = reinterpret_cast<T*>(storage.data());
      for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
        data[i] = static_cast<T>(detail::initial_value(t.initial, shape, own, i));
      }
    });
    const std::byte* data = storage.data();
    t.data = Bytes(std::move(storage), data, bytes);
  }
}

}  // namespace halftone
