#include <popart/numerics.hpp>

#include <cstring>
#include <vector>

#include <popart/error.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/util.hpp>

#include "popart/convert.hpp"
#include "popart/model.hpp"

namespace popart::numerics {

namespace {

std::vector<double> numbersOf(const halftone::Graph& graph, const TensorId& id) {
  const halftone::TensorId tensor = graph.find(id);
  if (tensor == halftone::no_tensor) throw error("There is no initializer {} in all models", id);
  const std::span<const std::byte> bytes = graph.tensor(tensor).data.span();
  const std::vector<char> doubles = cast(detail::fromNative(graph.info(tensor)).dataType(),
                                         DataType::DOUBLE, bytes.data(), bytes.size());
  std::vector<double> numbers(doubles.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), doubles.data(), doubles.size());
  return numbers;
}

}  // namespace

NumericsReport::NumericsReport(std::string aStarts, std::string aEnds, std::string bStarts,
                               std::string bEnds) {
  const halftone::Graph models[] = {
      detail::translated<error>([&] { return detail::readModel(aStarts); }),
      detail::translated<error>([&] { return detail::readModel(aEnds); }),
      detail::translated<error>([&] { return detail::readModel(bStarts); }),
      detail::translated<error>([&] { return detail::readModel(bEnds); })};
  for (const halftone::TensorRecord& t : models[0].tensors) {
    if (t.role != halftone::Role::variable || !halftone::is_floating_point(t.info.type)) continue;
    const TensorId id(models[0].text(t.name));
    std::vector<double> numbers[4];
    for (int m = 0; m < 4; ++m) {
      numbers[m] = numbersOf(models[m], id);
      if (numbers[m].size() != numbers[0].size()) {
        throw error("Initializer {} does not have the same number of elements in all models", id);
      }
    }
    NumericsTracker<double> tracker;
    for (std::size_t i = 0; i < numbers[0].size(); ++i) {
      tracker.insert(numbers[0][i], numbers[1][i], numbers[2][i], numbers[3][i]);
    }
    reports_[id] = tracker.str();
    errors_[id] = static_cast<float>(tracker.getRelativeError());
  }
}
std::string NumericsReport::report(TensorId id) const {
  const auto found = reports_.find(id);
  if (found == reports_.end()) throw error("There is no report of tensor {}", id);
  return found->second;
}
std::string NumericsReport::fullReport() const {
  std::string text;
  for (const auto& [id, line] : reports_) text += id + " :\n" + line + "\n";
  return text;
}

}  // namespace popart::numerics
