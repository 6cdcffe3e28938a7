#include <halftone/graph/call.hpp>

namespace halftone::detail::compiled {

Vector<TensorId> collect(Graph& graph, const Slots& slots, std::span<const Argument> arguments) {
  return detail::collect(graph, slots, arguments);
}

const Vector<TensorId>& record_inferred(Graph& graph, const Descriptor& op, Vector<Word> attributes,
                                        Vector<TensorId> inputs, std::size_t outputs) {
  return detail::record_inferred(graph, op, std::move(attributes), std::move(inputs), outputs);
}

AnyTensor record_known(const Descriptor& op, Vector<Word> attributes,
                       std::span<const Argument> arguments, std::span<const TensorInfo> infos) {
  return detail::record_known(op, std::move(attributes), arguments, infos);
}

AnyTensor record_known(const Descriptor& op, Vector<Word> attributes,
                       std::span<const AnyTensor> arguments, std::span<const TensorInfo> infos) {
  return detail::record_known(op, std::move(attributes), arguments, infos);
}

}  // namespace halftone::detail::compiled
