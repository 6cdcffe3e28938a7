#include <halftone/program/refuse.hpp>

namespace halftone::detail {

template void refuse_program<>(ErrorKind, std::string_view, const Graph&, const Node&, TensorId);
template void refuse_repetition<>(const Graph&, const Node&);

}  // namespace halftone::detail
