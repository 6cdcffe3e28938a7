#include "gradient_check.hpp"

using namespace gradient_test;

namespace {

AnyArray shaped(const std::vector<std::int64_t>& values, const Dims& shape) {
  Array<std::int64_t> x(shape);
  for (std::size_t i = 0; i < values.size(); ++i) x[i] = values[i];
  return x;
}
AnyArray narrow(const std::vector<std::int32_t>& values, const Dims& shape) {
  Array<std::int32_t> x(shape);
  for (std::size_t i = 0; i < values.size(); ++i) x[i] = values[i];
  return x;
}

constexpr ScatterMode modes[] = {ScatterMode::replace, ScatterMode::add, ScatterMode::mul,
                                 ScatterMode::max, ScatterMode::min};

}  // namespace

TEST_CASE("gradient of ScatterElements and ScatterND") {
  // Places that several updates go to, and negative indices.
  const AnyArray elements = shaped({0, 2, 2, 2, -1, 1, 0, 0}, {2, 4});
  const AnyArray tuples = shaped({1, -1, 0, 2, 1, 2}, {3, 2});
  for (const ScatterMode mode : modes) {
    check_gradients({scattered({2, 3}), elements, scattered({2, 4}, -1, 1, 2)},
                    [&](Graph&, auto& in) {
                      return op::scatter_elements(op::concat(std::array{in[0], in[0]}, {.axis = 1}),
                                                  in[1], in[2], {.axis = 1, .reduction = mode});
                    });
    check_gradients(
        {scattered({2, 3, 2}), tuples, scattered({3, 2}, -1, 1, 2)},
        [&](Graph&, auto& in) { return op::scatter_nd(in[0], in[1], in[2], {.reduction = mode}); });
  }
}

TEST_CASE("gradient of a product with zeros among its factors") {
  Array<double> updates({4});
  updates[0] = 0;
  updates[1] = 2;
  updates[2] = 0;
  updates[3] = 0;
  // One zero at place 0, two at place 1.
  check_gradients({scattered({3}), integers({0, 0, 1, 1}), updates}, [&](Graph&, auto& in) {
    return op::scatter_elements(in[0], in[1], in[2], {.reduction = ScatterMode::mul});
  });
}

TEST_CASE("gradient of GatherElements and GatherND") {
  check_gradients({scattered({3, 4}), shaped({0, -1, 2, 2, 2, 1}, {3, 2})},
                  [](Graph&, auto& in) { return op::gather_elements(in[0], in[1], {.axis = 1}); });
  check_gradients({scattered({3, 2, 2}), shaped({1, -1, 1, 1, 0, 0}, {3, 2})},
                  [](Graph&, auto& in) { return op::gather_nd(in[0], in[1]); });
  check_gradients(
      {scattered({2, 3, 4, 2}), shaped({3, 0, -1, 1, 1, 2, 3, 3, 0, 1, 0, 0}, {2, 3, 2, 1})},
      [](Graph&, auto& in) { return op::gather_nd(in[0], in[1], {.batch_dims = 2}); });
}

TEST_CASE("gradient of Tile, CumSum and Trilu") {
  check_gradients({scattered({2, 1, 3}), integers({3, 4, 1})},
                  [](Graph&, auto& in) { return op::tile(in[0], in[1]); });
  check_gradients({scattered({2, 2}), integers({1, 1})},
                  [](Graph&, auto& in) { return op::tile(in[0], in[1]); });
  for (const std::int64_t exclusive : {0, 1}) {
    for (const std::int64_t reverse : {0, 1}) {
      check_gradients({scattered({2, 5, 2}), integers({1})}, [&](Graph&, auto& in) {
        return op::cumsum(in[0], in[1], {.exclusive = exclusive, .reverse = reverse});
      });
    }
  }
  check_gradients({scattered({2, 3, 4})},
                  [](Graph&, auto& in) { return op::trilu(in[0], none, {.upper = 0}); });
  check_gradients({scattered({3, 4}), integers({1})},
                  [](Graph&, auto& in) { return op::trilu(in[0], in[1]); });
}

TEST_CASE("gradient of what sorts") {
  for (const std::int64_t largest : {0, 1}) {
    check_gradients({apart({3, 5, 2}), integers({3})}, [&](Graph&, auto& in) {
      return op::topk(in[0], in[1], {.axis = 1, .largest = largest})[0];
    });
  }
  check_gradients({apart({3, 5, 2})},
                  [](Graph&, auto& in) { return op::sort(in[0], {.axis = 1, .descending = 1}); });
  check_gradients({apart({3, 5, 2})},
                  [](Graph&, auto& in) { return op::median(in[0], {.axes = {1}}); });
  check_gradients({apart({3, 4, 2})}, [](Graph&, auto& in) {
    return op::median(in[0], {.axes = {0, -1}, .keepdims = 0});
  });
  check_gradients({apart({3, 4})}, [](Graph&, auto& in) { return op::median(in[0]); });
}

TEST_CASE("gradient of OneHot by its values") {
  check_gradients({scattered({2}), shaped({0, -1, 9, 2}, {2, 2}), integers({4})},
                  [](Graph&, auto& in) { return op::onehot(in[1], in[2], in[0], {.axis = 1}); });
}

TEST_CASE("gradient of DynamicSlice, DynamicUpdate and DynamicZero") {
  const AnyArray offset = narrow({3, 1}, {2});
  check_gradients({scattered({4, 3, 2}), offset}, [](Graph&, auto& in) {
    return op::dynamic_slice(in[0], in[1], {.axes = {0, 1}, .sizes = {2, 2}});
  });
  check_gradients(
      {scattered({4, 3, 2}), offset, scattered({2, 2, 2}, -1, 1, 2)}, [](Graph&, auto& in) {
        return op::dynamic_update(in[0], in[1], in[2], {.axes = {0, 1}, .sizes = {2, 2}});
      });
  check_gradients({scattered({4, 3, 2}), offset}, [](Graph&, auto& in) {
    return op::dynamic_zero(in[0], in[1], {.axes = {0, 1}, .sizes = {2, 2}});
  });
}

TEST_CASE("gradient of GroupedGather and ScatterReduce") {
  check_gradients({scattered({3, 4, 2}), shaped({0, -1, 2, 2, 1, 1}, {3, 2})},
                  [](Graph&, auto& in) { return op::grouped_gather(in[0], in[1], {.axis = 1}); });
  check_gradients({scattered({3, 2, 4, 2}), shaped({0, -1, 2, 2, 1, 1}, {3, 2})},
                  [](Graph&, auto& in) {
                    return op::grouped_gather(in[0], in[1], {.axis = 2, .group_size = 3});
                  });
  check_gradients({scattered({2, 3, 2}), integers({4, 1, 1}), scattered({2, 5, 2}, -1, 1, 2)},
                  [](Graph&, auto& in) {
                    return op::scatter_reduce(in[0], in[1], in[2], {.axis = 1, .axis_size = 5});
                  });
  check_gradients({scattered({2, 3}), shaped({4, 1, 1, 0, -1, 0}, {2, 3})}, [](Graph&, auto& in) {
    return op::scatter_reduce(in[0], in[1], {.axis = 1, .axis_size = 5});
  });
  check_gradients({scattered({2, 3, 2}), shaped({4, 1, 1, 0, 2, 0}, {2, 3})}, [](Graph&, auto& in) {
    return op::scatter_reduce(in[0], in[1], {.axis = 1, .axis_size = 5, .group_size = 2});
  });
  check_gradients({scattered({2, 3}), shaped({4, 1}, {1, 2})}, [](Graph&, auto& in) {
    return op::scatter_reduce(in[0], in[1],
                              {.axis = 1, .axis_size = 5, .enable_index_broadcast = 0});
  });
}

TEST_CASE("gradient of what moves elements and adds") {
  check_gradients({scattered({5, 4})},
                  [](Graph&, auto& in) { return op::subsample(in[0], {.strides = {2, 3}}); });
  check_gradients({scattered({4, 3, 2, 2})},
                  [](Graph&, auto& in) { return op::conv_flip_weights(in[0], {.group = 2}); });
  check_gradients({scattered({2, 3}), scattered({2, 3}, -1, 1, 2)}, [](Graph&, auto& in) {
    return op::scaled_add(in[0], in[1], {.scale0 = 2, .scale1 = -3});
  });
  check_gradients({scattered({2, 3}), scattered({2, 3}, -1, 1, 2), scattered({}, -1, 1, 3),
                   scattered({1}, -1, 1, 4)},
                  [](Graph&, auto& in) { return op::scaled_add(in[0], in[1], in[2], in[3]); });
}

TEST_CASE("gradient of what passes elements on") {
  check_gradients({scattered({2, 3})}, [](Graph& graph, auto& in) {
    return AnyTensor{&graph,
                     halftone::detail::record(graph, descriptor<op::Nop>, {}, {in[0].id}, 1)[0]};
  });
  check_gradients({scattered({2, 3})}, [](Graph&, auto& in) { return op::dropout(in[0]); });
}

TEST_CASE("gradient of PrintTensor is printed if that is asked for") {
  for (const std::int64_t printed : {0, 1}) {
    Graph graph;
    const AnyTensor x = graph.input<float>("x", {3});
    const AnyTensor y = op::print_tensor(x, {.print_gradient = printed, .title = "t"});
    const AnyTensor loss = op::sum(y, none, {.keepdims = 0});
    differentiate(graph, loss.id, std::span(&x.id, 1));
    std::size_t found = 0;
    for (const Node& node : graph.nodes) {
      if (node.op->id != op::PrintTensor::id) continue;
      const auto print = unpack<op::PrintTensor>(node.attributes);
      CHECK(print.title.view() == (found == 0 ? "t" : "t_gradient"));
      ++found;
    }
    CHECK(found == std::size_t(1 + printed));
  }
}

TEST_CASE("no gradient passes Detach") {
  Graph graph;
  const AnyTensor x = graph.input<float>("x", {3});
  const AnyTensor y{&graph,
                    halftone::detail::record(graph, descriptor<op::Detach>, {}, {x.id}, 1)[0]};
  const AnyTensor loss = op::sum(y, none, {.keepdims = 0});
  CHECK(differentiate(graph, loss.id, std::span(&x.id, 1))[0] == no_tensor);
}

TEST_CASE("gradient of Ctc behind a logarithm of Softmax") {
  for (const LossReduction reduction :
       {LossReduction::mean, LossReduction::sum, LossReduction::no_reduction}) {
    check_gradients({scattered({5, 2, 4}), narrow({1, 2, 3, 3}, {2, 2}), narrow({5, 4}, {2}),
                     narrow({2, 1}, {2})},
                    [&](Graph&, auto& in) {
                      const AnyTensor p =
                          op::cast(op::log_softmax(in[0]), {.to = ElementType::float32});
                      return op::ctc_loss(p, in[1], in[2], in[3], {.reduction = reduction});
                    },
                    {.tolerance = 1e-3, .step = 1e-2});
  }
}
