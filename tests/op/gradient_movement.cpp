#include "gradient_check.hpp"

using namespace gradient_test;

TEST_CASE("gradient of Pad") {
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap}) {
    for (const std::vector<std::int64_t>& pads : {std::vector<std::int64_t>{0, 0, 1, 2, 0, 0, 3, 1},
                                                  {1, 0, 0, 2, 2, 1, 0, 0},
                                                  {0, 0, -1, 3, 0, -1, 2, -2}}) {
      check_gradients({scattered({2, 3, 5, 4}), integers(pads)},
                      [&](Graph&, auto& in) { return op::pad(in[0], in[1], {.mode = mode}); });
    }
  }
  check_gradients({scattered({2, 3}), integers({1, 2}), scattered({}), integers({1})},
                  [](Graph&, auto& in) { return op::pad(in[0], in[1], in[2], in[3]); });
}

TEST_CASE("gradient of Resize") {
  const auto check = [](const Dims& x, const std::vector<std::int64_t>& sizes,
                        const op::Resize& resize) {
    check_gradients({scattered(x), integers(sizes)},
                    [&](Graph&, auto& in) { return op::resize(in[0], none, none, in[1], resize); });
  };
  for (const auto mode : {op::ResizeMode::nearest, op::ResizeMode::linear, op::ResizeMode::cubic}) {
    check({2, 3, 4, 5}, {2, 3, 8, 10}, {.mode = mode});
    check({2, 3, 4, 5}, {2, 3, 3, 7}, {.mode = mode});
    check({2, 3, 4, 5}, {2, 3, 3, 7},
          {.mode = mode, .coordinate_transformation_mode = op::Coordinates::align_corners});
    check({1, 2, 7, 6}, {1, 2, 3, 4}, {.mode = mode, .exclude_outside = 1, .antialias = 1});
    check({2, 3, 4}, {2, 3, 4}, {.mode = mode});
    for (const auto coordinates :
         {op::Coordinates::pytorch_half_pixel, op::Coordinates::asymmetric,
          op::Coordinates::half_pixel_symmetric, op::Coordinates::tf_half_pixel_for_nn}) {
      check({2, 4, 5}, {3, 7},
            {.mode = mode, .coordinate_transformation_mode = coordinates, .axes = {-1, 1}});
      check({2, 4, 5}, {3, 7},
            {.mode = mode,
             .coordinate_transformation_mode = coordinates,
             .keep_aspect_ratio_policy = op::AspectRatio::not_smaller,
             .axes = {1, 2}});
    }
  }
  check({3, 4, 5}, {5, 7, 2}, {.mode = op::ResizeMode::linear});
  const Array<float> scales({4}, {1, 1, 2, 3});
  check_gradients({scattered({1, 2, 3, 2}), scales},
                  [](Graph&, auto& in) { return op::Upsample{}.expand(in[0], in[1]); });
  const Array<float> roi({4}, {0.1f, -0.2f, 1.3f, 0.7f});
  check_gradients({scattered({4, 5}), roi, integers({6, 7})}, [](Graph&, auto& in) {
    return op::resize(in[0], in[1], none, in[2],
                      {.mode = op::ResizeMode::linear,
                       .coordinate_transformation_mode = op::Coordinates::tf_crop_and_resize});
  });
}

TEST_CASE("gradient of DepthToSpace and SpaceToDepth") {
  for (const op::DepthOrder order : {op::DepthOrder::dcr, op::DepthOrder::crd}) {
    check_gradients({scattered({2, 8, 3, 2})}, [&](Graph&, auto& in) {
      return op::depth_to_space(in[0], {.blocksize = 2, .mode = order});
    });
  }
  for (const op::DepthOrder order : {op::DepthOrder::dcr, op::DepthOrder::crd}) {
    check_gradients({scattered({2, 2, 6, 4})}, [&](Graph&, auto& in) {
      return op::space_to_depth(in[0], {.blocksize = 2, .mode = order});
    });
  }
}

namespace {

/// All gradients of sum(y * y) have their inputs' shapes. They are 0, as y has no elements or
/// elements that are 0.
void check_zero_gradients(const std::vector<Dims>& shapes, auto&& record) {
  Graph graph;
  std::vector<AnyTensor> x;
  std::vector<TensorId> wanted;
  std::vector<std::string> names;
  for (const Dims& shape : shapes) {
    names.push_back("x" + std::to_string(x.size()));
    x.push_back({&graph, graph.add_input({ElementType::float64, shape}, names.back())});
    wanted.push_back(x.back().id);
  }
  const AnyTensor y = record(graph, x);
  const AnyTensor loss = op::sum(op::mul(y, y), none, {.keepdims = 0});
  for (const TensorId id : differentiate(graph, loss.id, wanted)) {
    REQUIRE(id != no_tensor);
    graph.add_output(id);
  }
  Session session(std::move(graph), {.threads = 1});
  std::vector<Array<double>> values;
  for (const Dims& shape : shapes) values.push_back(scattered(shape));
  std::vector<Input> given;
  for (std::size_t i = 0; i < values.size(); ++i) {
    given.push_back({names[i], static_cast<const AnyArray&>(values[i])});
  }
  const Result result = session.run(std::span<const Input>(given));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    const AnyView dx = result[i];
    REQUIRE(dx.info == values[i].info());
    for (std::size_t k = 0; k < values[i].size(); ++k) {
      CHECK(static_cast<const double*>(dx.data)[k] == 0);
    }
  }
}

}  // namespace

TEST_CASE("gradients of tensors without elements") {
  const auto list = [](Graph& graph, const Dims& values) { return constant(graph, values); };
  check_zero_gradients({{1, 0, 2}},
                       [&](Graph& graph, auto& x) { return op::squeeze(x[0], list(graph, {0})); });
  check_zero_gradients(
      {{0, 2}}, [&](Graph& graph, auto& x) { return op::unsqueeze(x[0], list(graph, {0})); });
  check_zero_gradients({{2, 0, 3}}, [](Graph&, auto& x) { return op::flatten(x[0], {.axis = 2}); });
  for (const Dims& shape : {Dims{0, 6}, Dims{3, 0}, Dims{0}}) {
    check_zero_gradients({{2, 0, 3}}, [&](Graph& graph, auto& x) {
      return op::reshape(x[0], list(graph, shape), {.allowzero = true});
    });
  }
  for (const Dims& repeats : {Dims{0, 1}, Dims{0, 0}, Dims{2, 0}}) {
    check_zero_gradients(
        {{2, 3}}, [&](Graph& graph, auto& x) { return op::tile(x[0], list(graph, repeats)); });
    check_zero_gradients(
        {{0, 3}}, [&](Graph& graph, auto& x) { return op::tile(x[0], list(graph, {2, 2})); });
  }
  const std::vector<std::vector<Dims>> factors{{{1, 0, 2, 2}, {0, 2, 3}}, {{2, 0}, {0, 3}},
                                               {{0, 2}, {2, 3}},          {{0}, {2, 0, 3}},
                                               {{2, 3, 0}, {0}},          {{0}, {0}}};
  for (const std::vector<Dims>& shapes : factors) {
    check_zero_gradients(shapes, [](Graph&, auto& x) { return op::matmul(x[0], x[1]); });
  }
  for (const std::int64_t batch : {0, 1}) {
    // One step of no sequences, and no steps of one.
    const Dims x{1 - batch, batch, 2};
    check_zero_gradients({x, {1, 8, 2}, {1, 8, 2}}, [](Graph& graph, auto& in) {
      const auto made = halftone::detail::record(graph, op::LSTM{.hidden_size = 2},
                                                 {in[0].id, in[1].id, in[2].id}, 1);
      return AnyTensor{&graph, made[0]};
    });
  }
  check_zero_gradients({{2, 0, 3}}, [&](Graph& graph, auto& x) {
    return op::mean(x[0], list(graph, {0}), {.keepdims = 0});
  });
  check_zero_gradients({{2, 0, 3}}, [&](Graph& graph, auto& x) {
    return op::max(x[0], list(graph, {0}), {.keepdims = 0});
  });
}
