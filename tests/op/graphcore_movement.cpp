#include <halftone/op/graphcore_create.hpp>
#include <halftone/op/graphcore_dynamic.hpp>
#include <halftone/op/graphcore_movement.hpp>

#include <halftone/base/error.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE("nop, detach, tensor remap: the tensor itself") {
  const Array<float> x = counted<float>({2, 3});
  CHECK(infer(op::Nop{}, {x}).outputs[0] == x.info());
  CHECK(infer(op::Detach{}, {x}).outputs[0] == x.info());
  check_moved(run_expanded<op::Identity>(op::TensorRemap{}, {x}), {2, 3}, x,
              [](const Dims& i) { return i; });
  check_moved(run_expanded<op::Identity>(op::TensorRemap{.remap_type = 2}, {x, Array<float>({4})}),
              {2, 3}, x, [](const Dims& i) { return i; });
}

TEST_CASE("copy to a variable") {
  const Array<half> w = counted<half>({2, 3}), x = scattered<half>({2, 3}, 5, 9);
  check_moved(run(op::CopyVarUpdate{}, {w, x}), {2, 3}, x, [](const Dims& i) { return i; });
  CHECK(reason(op::CopyVarUpdate{}, {w, Array<half>({3})}) ==
        "the variable has another number of dimensions");
  CHECK(reason(op::CopyVarUpdate{}, {w, Array<half>({3, 2})}) == "the variable has another shape");
}

TEST_CASE_TEMPLATE("subsample: every stride-th element", T, std::uint8_t, half, float, double) {
  const Array<T> x = counted<T>({5, 4, 3});
  const auto check = [&](const Dims& strides, const Dims& shape) {
    check_moved(run(op::Subsample{.strides = strides}, {x}), shape, x, [&](const Dims& i) {
      return Dims{i[0] * strides[0], i[1] * strides[1], i[2] * strides[2]};
    });
  };
  check({1, 1, 1}, {5, 4, 3});
  check({2, 3, 1}, {3, 2, 3});
  check({5, 2, 4}, {1, 2, 1});
  check({INT64_MAX, 1, 3}, {1, 4, 1});
  CHECK(run(op::Subsample{.strides = {2, 2}}, {Array<T>({0, 3})}).info().shape == Dims{0, 2});
  CHECK(reason(op::Subsample{.strides = {1, 0, 1}}, {x}) == "a stride is less than 1");
  CHECK(reason(op::Subsample{.strides = {1, 1}}, {x}) == "strides are not one per dimension");
}

TEST_CASE("reverse: twice is the identity") {
  const Array<float> x = counted<float>({3, 4, 2});
  const auto reversed = [](const Dims& dimensions, const AnyArray& a) {
    return run_expanded<op::Slice, op::Identity>(op::Reverse{.dimensions = dimensions}, {a});
  };
  check_moved(reversed({0, 2}, x), {3, 4, 2}, x,
              [](const Dims& i) { return Dims{2 - i[0], i[1], 1 - i[2]}; });
  check_moved(reversed({}, x), {3, 4, 2}, x, [](const Dims& i) { return i; });
  for (const Dims& d : {Dims{0}, Dims{1, 2}, Dims{2, 0, 1}, Dims{-1}}) {
    check_moved(reversed(d, reversed(d, x)), {3, 4, 2}, x, [](const Dims& i) { return i; });
  }
  CHECK_THROWS_AS(reversed({3}, x), ModelError);
  CHECK_THROWS_AS(reversed({1, 1}, x), ModelError);
}

TEST_CASE("reshape, slice with numbers as attributes") {
  const Array<float> x = counted<float>({3, 4});
  const AnyArray y = run_expanded<op::Reshape>(op::GraphcoreReshape{.shape = {2, -1}}, {x});
  CHECK(y.info().shape == Dims{2, 6});
  CHECK(doubles(y) == doubles(x));
  const auto sliced = [&](const op::GraphcoreSlice& s) { return run_expanded<op::Slice>(s, {x}); };
  check_equal<float>(sliced({.starts = {1, 1}, .ends = {2, 3}}), {1, 2}, {5, 6});
  check_equal<float>(sliced({.starts = {1}, .ends = {-1}, .axes = {1}}), {3, 2},
                     {1, 2, 5, 6, 9, 10});
  check_equal<float>(sliced({.starts = {3}, .ends = {1}, .axes = {1}, .steps = {-1}}), {3, 2},
                     {3, 2, 7, 6, 11, 10});
}

TEST_CASE("depth to space: both orders of channels") {
  const Array<float> x = counted<float>({2, 8, 3, 5});
  for (const op::DepthOrder mode : {op::DepthOrder::dcr, op::DepthOrder::crd}) {
    const op::GraphcoreDepthToSpace op{.blocksize = 2, .mode = mode};
    check_moved(run_expanded<op::DepthToSpace>(op, {x}), {2, 2, 6, 10}, x, [&](const Dims& i) {
      const std::int64_t block = i[2] % 2 * 2 + i[3] % 2;
      const std::int64_t c = mode == op::DepthOrder::dcr ? block * 2 + i[1] : i[1] * 4 + block;
      return Dims{i[0], c, i[2] / 2, i[3] / 2};
    });
  }
}

TEST_CASE("flipped weights: channels change places in each group, space is turned round") {
  const Array<float> w = counted<float>({6, 2, 3, 4});
  const AnyArray y = run(op::ConvFlipWeights{.group = 2}, {w});
  check_moved(y, {4, 3, 3, 4}, w, [](const Dims& i) {
    return Dims{i[0] / 2 * 3 + i[1], i[0] % 2, 2 - i[2], 3 - i[3]};
  });
  check_moved(run(op::ConvFlipWeights{.group = 2}, {y}), {6, 2, 3, 4}, w,
              [](const Dims& i) { return i; });
  CHECK(reason(op::ConvFlipWeights{.group = 4}, {w}) ==
        "the groups do not divide the channels evenly");
  CHECK(reason(op::ConvFlipWeights{.group = 0}, {w}) == "group is less than 1");
}

TEST_CASE_TEMPLATE("dynamic slice, update, zero: positions modulo the extent", T, std::uint8_t,
                   half, float, double) {
  const Dims shape{4, 3, 5};
  const Array<T> x = counted<T>(shape), part = scattered<T>({3, 3, 2}, 50, 90);
  for (const std::uint32_t a : {0u, 1u, 3u, 4u, 6u}) {
    for (const std::uint32_t b : {0u, 3u, 4u}) {
      const Array<std::uint32_t> offset({2}, {b, a});
      const Array<std::int32_t> same({2}, {static_cast<int>(b), static_cast<int>(a)});
      const auto place = [&](const Dims& i) { return Dims{(i[0] + a) % 4, i[1], (i[2] + b) % 5}; };
      const op::DynamicSlice slice{.axes = {2, 0}, .sizes = {2, 3}};
      const op::DynamicUpdate update{.axes = {2, 0}, .sizes = {2, 3}};
      const op::DynamicZero zero{.axes = {2, 0}, .sizes = {2, 3}};
      check_moved(run(slice, {x, offset}), {3, 3, 2}, x, place);
      check_moved(run(slice, {x, same, part}), {3, 3, 2}, x, place);
      // What was written is read again; the rest is as it was.
      const AnyArray updated = run(update, {x, offset, part}), zeroed = run(zero, {x, offset});
      check_moved(run(slice, {updated, offset}), {3, 3, 2}, part, [](const Dims& i) { return i; });
      std::vector<double> expected = doubles(x);
      for_each_index({3, 3, 2},
                     [&](const Dims& i, std::size_t) { expected[position(shape, place(i))] = 0; });
      check_equal<T>(zeroed, shape, expected);
      for_each_index({3, 3, 2}, [&](const Dims& i, std::size_t at) {
        expected[position(shape, place(i))] = static_cast<double>(part[at]);
      });
      check_equal<T>(updated, shape, expected);
    }
  }
}

TEST_CASE("dynamic add; wrong parts") {
  const Array<float> x({4}, {1, 2, 3, 4}), part({2}, {10, 20});
  const Array<std::uint32_t> offset({1}, {3});
  check_equal<float>(run_expanded<op::DynamicSlice, op::Add, op::DynamicUpdate>(
                         op::DynamicAdd{.axes = {0}, .sizes = {2}}, {x, offset, part}),
                     {4}, {21, 2, 3, 14});
  const auto why = [&](const Dims& axes, const Dims& sizes) {
    return reason(op::DynamicUpdate{.axes = axes, .sizes = sizes}, {x, offset, part});
  };
  CHECK(why({1}, {2}) == "axis is out of range");
  CHECK(why({0}, {2, 2}) == "axes and sizes have different lengths");
  CHECK(why({}, {}) == "the offset has not one number per axis");
  CHECK(why({0}, {-1}) == "a size is negative");
  CHECK(why({0}, {5}) == "a size is larger than the extent");
  CHECK(why({0}, {3}) == "the slice has another shape");
  CHECK(reason(op::DynamicUpdate{.axes = {0}, .sizes = {2}}, {x, offset, Array<float>({2, 1})}) ==
        "the slice has another number of dimensions");
  CHECK(run(op::DynamicSlice{.axes = {0}, .sizes = {0}}, {Array<float>({0, 3}), offset})
            .info()
            .shape == Dims{0, 3});
}

TEST_CASE("sequence slice: runs of rows, until one is empty") {
  using Rows = Array<std::uint32_t>;
  const Array<float> x = counted<float>({4, 2}), to = scattered<float>({5, 2}, 50, 90);
  const Rows counts({4}, {2, 1, 0, 1}), sources({4}, {1, 0, 0, 3}), targets({4}, {3, 0, 0, 1});
  const std::vector<double> old = doubles(to);
  check_equal<float>(run(op::SequenceSlice{}, {x, to, counts, sources, targets}), {5, 2},
                     {0, 1, old[2], old[3], old[4], old[5], 2, 3, 4, 5});
  check_equal<float>(run(op::SequenceSlice{.zero_unused = 1}, {x, to, counts, sources, targets}),
                     {5, 2}, {0, 1, 0, 0, 0, 0, 2, 3, 4, 5});
  CHECK_THROWS_AS(run(op::SequenceSlice{}, {x, to, Rows({1}, {2}), Rows({1}, {3}), Rows({1}, {0})}),
                  InputError);
  CHECK_THROWS_AS(run(op::SequenceSlice{}, {x, to, Rows({1}, {2}), Rows({1}, {0}), Rows({1}, {4})}),
                  InputError);
  CHECK(reason(op::SequenceSlice{}, {x, Array<float>({5, 3}), counts, sources, targets}) ==
        "rows have different numbers of elements");
  CHECK(reason(op::SequenceSlice{}, {x, to, counts, Rows({3}), targets}) ==
        "lists of rows have different lengths");
}

TEST_CASE("new tensors of zeros") {
  const auto made = [](const auto& op) { return run_expanded<op::ConstantOfShape>(op, {}); };
  check_equal<float>(made(op::Init{.shape = {2, 2}, .init_type = 1}), {2, 2}, {0, 0, 0, 0});
  check_equal<std::uint32_t>(made(op::Init{.shape = {1}, .data_type = 8}), {1}, {0});
  check_equal<half>(made(op::Init{.shape = {0}, .data_type = 12}), {0}, {});
  check_equal<bool>(made(op::Init{.shape = {2}, .data_type = 10}), {2}, {0, 0});
  check_equal<std::int32_t>(made(op::Zeros{.shape = {2}, .dtype = ElementType::int32}), {2},
                            {0, 0});
  check_equal<std::int8_t>(run_expanded<op::Shape, op::ConstantOfShape>(
                               op::ZerosLike{}, {Array<std::int8_t>({2, 1}, {3, 4})}),
                           {2, 1}, {0, 0});
  CHECK_THROWS_AS(made(op::Init{.data_type = 13}), ModelError);
}
