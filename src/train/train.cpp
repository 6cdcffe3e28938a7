#include <halftone/train.hpp>

#include <cmath>
#include <cstdio>
#include <string>

#include <halftone/train/recorder.hpp>

#include "graph/subgraphs.hpp"

namespace halftone {

namespace {

std::string text(float number) {
  char characters[32] = {};
  std::snprintf(characters, sizeof characters, "%g", static_cast<double>(number));
  return characters;
}

constexpr std::string_view no_loss = "a loss is not of the graph that is to be trained";

}  // namespace

void detail::refuse_number(const Number& number) {
  std::string expected =
      std::string(number.is_exclusive ? "more than " : "at least ") + text(number.least);
  if (number.beyond != INFINITY) expected += " and less than " + text(number.beyond);
  fail(ErrorKind::usage, {.what = "a hyperparameter is outside its range",
                          .tensor = number.name,
                          .expected = expected,
                          .found = text(number.value.value)});
}

void detail::refuse_nesterov(const std::string& weight, const Hyperparameter& h) {
  fail(ErrorKind::usage, {.what = "nesterov of a weight is neither 0 nor 1, or may change",
                          .tensor = weight,
                          .found = text(h.value)});
}

Training detail::train_by(Graph& graph, AnyTensor loss, const Rule& rule, OwnUpdate* own,
                          const TrainOptions& options) {
  check_graph(graph, loss, no_loss);
  check_subgraphs(graph);
  return Recorder(graph, loss, rule, own, options, &gradient_of).run();
}

Training differentiate_weights(Graph& graph, AnyTensor loss, const TrainOptions& options) {
  detail::check_graph(graph, loss, no_loss);
  detail::use_training_mode(graph);
  Vector<TensorId> none_more;
  std::size_t trained = 0;
  return detail::record_gradients(graph, loss, options, &gradient_of, no_tensor, none_more,
                                  trained);
}

}  // namespace halftone
