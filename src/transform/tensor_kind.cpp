#include <halftone/transform/tensor_kind.hpp>

#include <halftone/base/error.hpp>

namespace halftone {

void TensorKinds::check_names(const Graph& graph) const {
  for (const Named& one : named) {
    const TensorId id = graph.find(one.name);
    if (id != no_tensor && is_variable(graph.tensor(id))) continue;
    fail(ErrorKind::model,
         {.what = id == no_tensor ? "there is no variable of that name to be kept elsewhere"
                                  : "a tensor that is to be kept elsewhere is no variable",
          .tensor = one.name});
  }
}

}  // namespace halftone
