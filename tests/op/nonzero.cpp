#include <halftone/op/nonzero.hpp>

#include <halftone/base/error.hpp>
#include <halftone/op/bit_shift.hpp>
#include <halftone/op/reverse_sequence.hpp>
#include <halftone/op/trilu.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("nonzero: indices in row-major order", T, float, half, bfloat16, std::int64_t,
                   std::uint8_t, bool) {
  check_equal<std::int64_t>(run(op::NonZero{}, {array<T>({2, 3}, {1, 0, 1, 0, 0, 1})}), {2, 3},
                            {0, 0, 1, 0, 2, 2});
  check_equal<std::int64_t>(run(op::NonZero{}, {array<T>({2}, {0, 0})}), {1, 0}, {});
  check_equal<std::int64_t>(run(op::NonZero{}, {array<T>({0, 4}, {})}), {2, 0}, {});
  check_equal<std::int64_t>(run(op::NonZero{}, {array<T>({}, {1})}), {0, 1}, {});
}

TEST_CASE_TEMPLATE("nonzero: rows of any length, many and few", T, float, double, half, bfloat16,
                   std::int16_t, std::uint8_t, bool) {
  for (const Dims& shape : {Dims{1000}, {3, 301}, {2, 5, 16}, {7, 5, 3, 2}, {40, 15}, {1, 17}}) {
    for (const int rare : {0, 1, 9}) {
      Array<T> x(shape);
      std::vector<Dims> places;
      for_each_index(shape, [&](const Dims& index, std::size_t i) {
        const bool is_set = rare == 0 || i * 7919 % 10 > static_cast<std::size_t>(rare);
        x[i] = static_cast<T>(is_set ? 1.f : 0.f);
        if (is_set) places.push_back(index);
      });
      std::vector<double> expected;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        for (const Dims& place : places) expected.push_back(static_cast<double>(place[d]));
      }
      check_equal<std::int64_t>(
          run(op::NonZero{}, {x}),
          {static_cast<std::int64_t>(shape.size()), static_cast<std::int64_t>(places.size())},
          expected);
    }
  }
}

TEST_CASE("nonzero: both zeros, NaN, unknown values") {
  const Array<float> x = array<float>({4}, {-0.0, std::nan(""), 0.0, 1e-45});
  check_equal<std::int64_t>(run(op::NonZero{}, {x}), {1, 2}, {1, 3});
  const Array<std::int64_t> big({2}, {INT64_MIN, 0});
  check_equal<std::int64_t>(run(op::NonZero{}, {big}), {1, 1}, {0});
  const InputInfo unknown{{ElementType::float32, {2, 3, 4}}};
  CHECK(op::NonZero::infer(Inputs({&unknown, 1}, 1)).outputs[0].shape == Dims{3, dynamic});
}

TEST_CASE_TEMPLATE("compress: slices and elements", T, std::uint8_t, half, float, double) {
  const Array<T> x = counted<T>({3, 2});
  const Array<bool> some = array<bool>({3}, {0, 1, 1}), few = array<bool>({2}, {0, 1});
  check_equal<T>(run(op::Compress{.axis = 0}, {x, some}), {2, 2}, {2, 3, 4, 5});
  check_equal<T>(run(op::Compress{.axis = -1}, {x, few}), {3, 1}, {1, 3, 5});
  check_equal<T>(run(op::Compress{.axis = 0}, {x, few}), {1, 2}, {2, 3});
  check_equal<T>(run(op::Compress{}, {x, array<bool>({5}, {0, 1, 0, 0, 1})}), {2}, {1, 4});
  check_equal<T>(run(op::Compress{}, {x, array<bool>({1}, {0})}), {0}, {});
  CHECK(reason(op::Compress{.axis = 2}, {x, few}) == "axis is out of range");
  CHECK(reason(op::Compress{.axis = 1}, {x, some}) == "the condition is longer than the dimension");
  CHECK(reason(op::Compress{}, {x, Array<bool>({2, 2})}) == "the condition is not a vector");
}

TEST_CASE("compress: large ones are divided") {
  const Array<float> x = counted<float>({500, 300});
  Array<bool> odd({300});
  for (std::size_t i = 0; i < 300; ++i) odd[i] = i % 2 == 1;
  check_moved(run(op::Compress{.axis = 1}, {x, odd}, backwards()), {500, 150}, x,
              [](const Dims& index) { return Dims{index[0], 2 * index[1] + 1}; });
}

TEST_CASE_TEMPLATE("trilu: zero below or above a diagonal", T, std::uint8_t, half, float, double) {
  const Array<T> x = array<T>({2, 3, 4}, std::vector<double>(24, 7));
  for (const std::int64_t upper : {0, 1}) {
    for (const std::int64_t k : {std::int64_t{-9}, std::int64_t{-1}, std::int64_t{0},
                                 std::int64_t{1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
      std::vector<double> expected;
      for_each_index({2, 3, 4}, [&](const Dims& i, std::size_t) {
        const bool is_in = upper != 0 ? i[2] - i[1] >= k : i[2] - i[1] <= k;
        expected.push_back(is_in ? 7 : 0);
      });
      const Array<std::int64_t> diagonal({}, {k});
      check_equal<T>(run(op::Trilu{.upper = upper}, {x, diagonal}), {2, 3, 4}, expected);
      if (k == 0) check_equal<T>(run(op::Trilu{.upper = upper}, {x}), {2, 3, 4}, expected);
    }
  }
  check_equal<T>(run(op::Trilu{}, {Array<T>({3, 0})}), {3, 0}, {});
  CHECK(reason(op::Trilu{}, {Array<T>({3})}) == "the input has no matrices");
  CHECK(reason(op::Trilu{}, {x, indices({1, 2})}) == "k is not one number");
}

TEST_CASE("eye_like: a diagonal of ones") {
  const auto eye = [](op::EyeLike op, const AnyArray& x) {
    return run_expanded<op::Trilu, op::ConstantOfShape, op::Shape>(op, {x});
  };
  const Array<float> x({2, 3});
  check_equal<float>(eye({}, x), {2, 3}, {1, 0, 0, 0, 1, 0});
  check_equal<half>(eye({.dtype = ElementType::float16, .k = 1}, x), {2, 3}, {0, 1, 0, 0, 0, 1});
  check_equal<std::int64_t>(eye({.dtype = ElementType::int64, .k = -1}, x), {2, 3},
                            {0, 0, 0, 1, 0, 0});
  check_equal<bool>(eye({.dtype = ElementType::boolean}, x), {2, 3}, {1, 0, 0, 0, 1, 0});
  CHECK_THROWS_AS(eye({}, Array<float>({2})), ModelError);
  CHECK_THROWS_AS(eye({.dtype = ElementType::complex64}, x), UnsupportedError);
}

TEST_CASE_TEMPLATE("reverse_sequence: the first elements of each are turned round", T, std::uint8_t,
                   half, float, double) {
  const Array<T> x = counted<T>({4, 3, 2});
  const Array<std::int64_t> lengths({3}, {4, 0, 2}), others({4}, {1, 2, 3, 0});
  check_moved(run(op::ReverseSequence{}, {x, lengths}), {4, 3, 2}, x, [&](const Dims& i) {
    const std::int64_t n = lengths[static_cast<std::size_t>(i[1])];
    return Dims{i[0] < n ? n - 1 - i[0] : i[0], i[1], i[2]};
  });
  check_moved(run(op::ReverseSequence{.batch_axis = 0, .time_axis = 1}, {x, others}), {4, 3, 2}, x,
              [&](const Dims& i) {
                const std::int64_t n = others[static_cast<std::size_t>(i[0])];
                return Dims{i[0], i[1] < n ? n - 1 - i[1] : i[1], i[2]};
              });
  CHECK_THROWS_AS(run(op::ReverseSequence{}, {x, indices({5, 0, 0})}), InputError);
  CHECK_THROWS_AS(run(op::ReverseSequence{}, {x, indices({0, 0, -1})}), InputError);
  CHECK(reason(op::ReverseSequence{.batch_axis = 0}, {x, lengths}) ==
        "batch_axis and time_axis are not 0 and 1");
  CHECK(reason(op::ReverseSequence{}, {x, others}) == "the batch needs one length for each");
  CHECK(reason(op::ReverseSequence{}, {Array<T>({3}), lengths}) ==
        "the input has not time and batch");
}

TEST_CASE_TEMPLATE("bit_shift: multiplication and division by powers of two", T, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  const std::int64_t bits = 8 * sizeof(T), n = 3 * bits;
  Array<T> a({n}), b({n});
  std::vector<double> left, right;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<T>(0x9d3b'4c81'e205'77a9u >> (i % 11));
    const auto at = static_cast<std::size_t>(i);
    a[at] = value;
    b[at] = static_cast<T>(i % (bits + 3));
    T up = value, down = value;
    for (T k = 0; k < b[at]; ++k) {
      up = static_cast<T>(up * 2u);
      down = static_cast<T>(down / 2u);
    }
    left.push_back(static_cast<double>(up));
    right.push_back(static_cast<double>(down));
  }
  check_equal<T>(run(op::BitShift{.direction = op::ShiftDirection::left}, {a, b}), {n}, left);
  check_equal<T>(run(op::BitShift{.direction = op::ShiftDirection::right}, {a, b}), {n}, right);
  CHECK(reason(op::BitShift{}, {a, b}) == "attribute 'direction' is missing");
}

TEST_CASE_TEMPLATE("bit_shift: signs move in from the left", T, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t) {
  constexpr double lowest = static_cast<double>(std::numeric_limits<T>::min());
  const T bits = 8 * sizeof(T);
  const Array<T> a({7}, {-16, -16, 16, 16, std::numeric_limits<T>::min(), 5, -5});
  const Array<T> b({7}, {2, bits, bits, -1, static_cast<T>(bits - 1), 0, -3});
  check_equal<T>(run(op::BitShift{.direction = op::ShiftDirection::right}, {a, b}), {7},
                 {-4, -1, 0, 0, -1, 5, -1});
  const Array<T> c({5}, {-3, 1, 3, 7, 7}), d({5}, {2, static_cast<T>(bits - 1), bits, -1, 3});
  check_equal<T>(run(op::BitShift{.direction = op::ShiftDirection::left}, {c, d}), {5},
                 {-12, lowest, 0, 0, 56});
}
