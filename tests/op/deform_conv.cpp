#include <halftone/op/deform_conv.hpp>

#include "expanded.hpp"
#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::DeformConv;

TEST_CASE("deform conv: examples of ONNX") {
  const Array<float> x = counted<float>({1, 1, 3, 3});
  const Array<float> w({1, 1, 2, 2}, {1, 1, 1, 1});
  Array<float> offset({1, 8, 4, 4});
  offset[0] = 0.5f;
  offset[(5 * 4 + 1) * 4 + 2] = -0.1f;
  check_close<float>(run_session(DeformConv{{.pads = {1, 1, 1, 1}}}, {x, w, offset})[0],
                     {0, 1, 3, 2, 3, 8, 11.9, 7, 9, 20, 24, 13, 6, 13, 15, 8}, 4);

  Array<float> small({1, 8, 2, 2});
  small[0] = 0.5f;
  small[5 * 4 + 1] = -0.1f;
  const Array<float> b({1}, {1});
  Array<float> mask({1, 4, 2, 2}, std::vector<float>(16, 1));
  mask[2 * 4 + 3] = 0.2f;
  check_close<float>(run_session(DeformConv{}, {x, w, small, b, mask})[0], {10.5, 12.9, 21, 19.4},
                     4);
}

TEST_CASE("deform conv: without offsets it is a convolution") {
  for (const std::int64_t group : {1, 2}) {
    const Array<double> x = scattered<double>({2, 4, 6, 5}, -1, 1);
    const Array<double> w = scattered<double>({6, 4 / group, 3, 2}, -1, 1, 2);
    const Array<double> b = scattered<double>({6}, -1, 1, 3);
    const Dims strides{2, 1}, dilations{1, 2};
    const Pads pads{1, 0, 2, 1};
    const AnyArray expected =
        run(op::Conv{.strides = strides, .dilations = dilations, .pads = pads, .group = group},
            {x, w, b});
    const Dims y = expected.info().shape;
    for (const std::int64_t groups : {1, 2, 4}) {
      const Array<double> offset({2, groups * 12, y[2], y[3]});
      const DeformConv conv{
          {.dilations = dilations, .strides = strides, .pads = pads, .offset_group = groups},
          group};
      const AnyArray found = run_session(conv, {x, w, offset, b})[0];
      CHECK(found.info().shape == y);
      check_close<double>(found, doubles(expected), 4, 1e-13);
    }
  }
}

TEST_CASE("deform conv: whole offsets move the image") {
  // Each element looks one row down and two columns to the left of its own.
  const Array<float> x = counted<float>({1, 1, 5, 6});
  const Array<float> w({1, 1, 1, 1}, {1});
  Array<float> offset({1, 2, 5, 6});
  for (std::size_t i = 0; i < 30; ++i) offset[i] = 1, offset[30 + i] = -2;
  const std::vector<double> y = doubles(run_session(DeformConv{}, {x, w, offset})[0]);
  for_each_index({5, 6}, [&](const Dims& at, std::size_t i) {
    CHECK(y[i] == (at[0] < 4 && at[1] >= 2 ? double((at[0] + 1) * 6 + at[1] - 2) : 0));
  });
}

TEST_CASE("deform conv: gradients, in one to three dimensions") {
  using gradient_test::scattered;
  const auto record = [](const DeformConv& conv) {
    return [conv](Graph& graph, auto& in) {
      std::vector<TensorId> ids;
      for (std::size_t i = 0; i < 5; ++i) ids.push_back(i < in.size() ? in[i].id : no_tensor);
      return AnyTensor{&graph,
                       halftone::detail::expand_thunk<DeformConv>(graph, pack(conv), ids, 1)[0]};
    };
  };
  gradient_test::check_gradients(
      {scattered({2, 4, 4, 5}), scattered({2, 2, 3, 2}), scattered({2, 24, 3, 4}, -0.9, 0.9, 5),
       scattered({2}), scattered({2, 12, 3, 4}, 0, 1)},
      record({{.pads = {1, 0, 0, 0}, .offset_group = 2}, 2}));
  gradient_test::check_gradients(
      {scattered({1, 2, 6}), scattered({3, 2, 2}), scattered({1, 2, 5}, -0.9, 0.9)}, record({}));
  gradient_test::check_gradients({scattered({1, 2, 3, 2, 3}), scattered({1, 2, 2, 1, 2}),
                                  scattered({1, 12, 2, 2, 2}, -0.9, 0.9, 7)},
                                 record({}));
}

TEST_CASE("deform conv: what does not fit") {
  const Array<float> x({1, 4, 3, 3}), w({2, 4, 2, 2});
  CHECK_THROWS_AS(run_session(DeformConv{}, {x, w, Array<float>({1, 7, 2, 2})}), ModelError);
  CHECK_THROWS_AS(run_session(DeformConv{}, {x, w, Array<float>({1, 8, 3, 2})}), ModelError);
  CHECK_THROWS_AS(run_session(DeformConv{{.offset_group = 3}}, {x, w, Array<float>({1, 24, 2, 2})}),
                  ModelError);
  CHECK_THROWS_AS(run_session(DeformConv{{}, 3}, {x, w, Array<float>({1, 8, 2, 2})}), ModelError);
  CHECK_THROWS_AS(
      run_session(DeformConv{{.kernel_shape = {3, 3}}}, {x, w, Array<float>({1, 8, 2, 2})}),
      ModelError);
}
