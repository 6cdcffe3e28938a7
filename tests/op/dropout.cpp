#include <halftone/op/dropout.hpp>

#include <halftone/session/session.hpp>

#include <algorithm>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("dropout: in inference the tensor itself, and a mask of true", T, float, double,
                   half, bfloat16) {
  const Array<T> x = array<T>({2, 2}, {1, -2, 3, 0.5});
  check_equal<T>(run(op::Dropout{}, {x}), {2, 2}, {1, -2, 3, 0.5});
  const std::vector<AnyArray> y =
      run_all(op::Dropout{}, {x, array<float>({}, {0.75}), Array<bool>(Dims{}, {false})}, 2);
  check_equal<T>(y[0], {2, 2}, {1, -2, 3, 0.5});
  check_equal<bool>(y[1], {2, 2}, {1, 1, 1, 1});
}

TEST_CASE_TEMPLATE("dropout: in training drops a share and scales the rest up", T, float, double,
                   half, bfloat16) {
  constexpr std::int64_t n = 50'001;
  const Array<T> x = array<T>({n}, std::vector<double>(n, 3));
  const Array<bool> training(Dims{}, {true});
  const Array<std::uint32_t> seed({2}, {1, 2});
  for (const double ratio : {0.0, 0.25, 0.5, 0.75}) {
    CAPTURE(ratio);
    const std::vector<AnyArray> in{x, array<float>({}, {ratio}), training, seed};
    const std::vector<AnyArray> y = run_all(op::Dropout{}, in, 2);
    const std::vector<double> values = doubles(y[0]), mask = doubles(y[1]);
    const double scaled = doubles(array<T>({}, {3 / (1 - ratio)}))[0];
    double kept = 0;
    bool right = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      right = right && values[i] == (mask[i] != 0 ? scaled : 0);
      kept += mask[i];
    }
    CHECK(right);
    CHECK(std::fabs(kept / n - (1 - ratio)) <= 5 * std::sqrt(ratio * (1 - ratio) / n));
    CHECK(doubles(run_all(op::Dropout{}, in, 1, 0, backwards())[0]) == values);
    // The ratio as attribute, as up to version 10.
    CHECK(doubles(run(op::Dropout{.ratio = static_cast<float>(ratio)},
                      {x, absent(), training, seed})) == values);
  }
  CHECK(doubles(run(op::Dropout{}, {x, absent(), training, seed})) ==
        doubles(run(op::Dropout{}, {x, array<double>({}, {0.5}), training, seed})));
  const std::vector<AnyArray> off{x, absent(), Array<bool>(Dims{}, {false}), seed};
  CHECK(doubles(run(op::Dropout{}, off)) == doubles(x));
}

TEST_CASE("dropout: wrong inputs") {
  const Array<float> x({2}), ratio(Dims{}, {0.5});
  CHECK(reason(op::Dropout{}, {x, Array<float>({2})}) == "the ratio is not a scalar");
  CHECK(reason(op::Dropout{}, {x, ratio, Array<bool>({2})}) == "training_mode is not a scalar");
  CHECK(reason(op::Dropout{}, {x, Array<float>(Dims{}, {1})}) == "the ratio is not in [0, 1)");
  CHECK(reason(op::Dropout{.ratio = -0.5f}, {x}) == "the ratio is not in [0, 1)");
}

TEST_CASE("dropout: in a session") {
  for (const bool is_training : {false, true}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {1000});
    const float half_of[]{0.5f};
    const bool mode[]{is_training};
    const AnyTensor ratio = constant(g, std::span<const float>(half_of), {});
    const AnyTensor training = constant(g, std::span<const bool>(mode), {});
    const TensorInfo infos[]{x.info(), {ElementType::boolean, {1000}}};
    for (const char* name : {"a", "b"}) {
      const std::size_t n = g.add_node(descriptor<op::Dropout>, pack(op::Dropout{}),
                                       {x.id, ratio.id, training.id}, infos);
      g.rename(g.nodes[n].outputs[0], name);
      g.add_output(g.nodes[n].outputs[0]);
    }
    Session session(std::move(g), {.seed = 3});
    CHECK(session.is_random() == is_training);
    const Array<float> all_one({1000}, std::vector<float>(1000, 1));
    const auto run = [&](const char* name) {
      const Result result = session.run({{"x", all_one}});
      return std::vector<float>(result[name].values<float>().begin(),
                                result[name].values<float>().end());
    };
    const std::vector<float> a = run("a"), b = run("b"), c = run("a");
    CHECK((a == b) == !is_training);
    CHECK((a == c) == !is_training);
    session.set_random_seed(3);
    CHECK(run("a") == a);
    CHECK((std::count(a.begin(), a.end(), 1.f) == 1000) == !is_training);
  }
}

TEST_CASE("dropout: with a mask of another shape") {
  const Array<float> x = counted<float>({4, 30, 5});
  const Array<bool> training(Dims{}, {true});
  const Array<std::uint32_t> seed({2}, {1, 2});
  for (const Dims& shape :
       {Dims{4, 30, 1}, Dims{30, 1}, Dims{4, 1, 5}, Dims{4, 30, 5}, Dims{1}, Dims{}}) {
    const op::ShapedDropout dropout{.shape = shape, .ratio = 0.5f};
    const Array<float> all_one({4, 30, 5}, std::vector<float>(600, 1));
    const std::vector<double> mask = doubles(run(dropout, {all_one, training, seed}));
    std::vector<double> expected;
    for (std::size_t i = 0; i < 600; ++i) expected.push_back(mask[i] * static_cast<double>(i));
    CHECK(doubles(run(dropout, {x, training, seed})) == expected);
    CHECK(doubles(run(dropout, {x, training, seed}, backwards())) == expected);
    CHECK(doubles(run(dropout, {x})) == doubles(x));
    // The mask of that shape, drawn alone, repeated.
    Dims full = shape;
    while (full.size() < 3) full.insert(0, 1);
    const Array<float> small(shape,
                             std::vector<float>(static_cast<std::size_t>(product(shape)), 1));
    const std::vector<double> alone =
        doubles(run(op::Dropout{}, {small, absent(), training, seed}));
    bool right = true;
    for_each_index({4, 30, 5}, [&](const Dims& index, std::size_t at) {
      Dims from = index;
      for (std::size_t d = 0; d < 3; ++d) from[d] = full[d] == 1 ? 0 : from[d];
      right = right && mask[at] == alone[position(full, from)];
    });
    CHECK(right);
  }
  CHECK(reason(op::ShapedDropout{.shape = {2, 5}}, {x}) ==
        "the mask's shape does not broadcast to that of the input");
  CHECK(reason(op::ShapedDropout{.shape = {1, 4, 30, 5}}, {x}) ==
        "the mask's shape does not broadcast to that of the input");
  CHECK(reason(op::ShapedDropout{.ratio = 1}, {x}) == "the ratio is not in [0, 1)");
}

TEST_CASE("dropout: masks before version 10 have the type of the data") {
  Graph graph;
  const AnyTensor x = graph.input<half>("x", {3});
  const std::vector<Word> words = pack(op::Dropout_1{.ratio = 0.1f, .is_test = 1});
  const std::vector<TensorId> in{x.id};
  const std::vector<TensorId> y =
      halftone::detail::expand_thunk<op::Dropout_1>(graph, words, in, 2);
  REQUIRE(y.size() == 2);
  CHECK(graph.info(y[0]) == TensorInfo{ElementType::float16, {3}});
  CHECK(graph.info(y[1]) == TensorInfo{ElementType::float16, {3}});
  CHECK(unpack<op::Dropout>(graph.nodes[0].attributes).ratio.value == 0.1f);
  CHECK(halftone::detail::expand_thunk<op::Dropout_1>(graph, words, in, 1).size() == 1);
}
