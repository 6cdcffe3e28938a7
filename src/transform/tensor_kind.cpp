#include <halftone/transform/tensor_kind.hpp>

#include <halftone/base/error.hpp>

namespace halftone {

void TensorKinds::check_names(const Graph& graph, bool may_be_values) const {
  for (const Named& one : named) {
    const TensorId id = graph.find(one.name);
    if (id != no_tensor && is_variable(graph.tensor(id))) continue;
    if (id != no_tensor && may_be_values && graph.tensor(id).role == Role::value) continue;
    fail(ErrorKind::model,
         {.what = id == no_tensor ? "there is no tensor of that name to be kept elsewhere"
                  : may_be_values ? "a tensor that is to be kept elsewhere is given for each run"
                                  : "a tensor that is to be kept elsewhere is no variable",
          .tensor = one.name});
  }
}

}  // namespace halftone
