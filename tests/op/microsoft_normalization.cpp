#include <halftone/op/microsoft_normalization.hpp>

#include "microsoft.hpp"

using namespace microsoft_test;

TEST_CASE("ONNX Runtime's normalisations of a sum against their formulas") {
  const Array<float> x = scattered<float>({2, 3, 4}, -2, 2),
                     skip = scattered<float>({3, 4}, -2, 2, 2);
  const Array<float> gamma = scattered<float>({4}, 0.5, 2, 3),
                     beta = scattered<float>({4}, -1, 1, 4), bias = scattered<float>({4}, -1, 1, 5);
  const Numbers sum = with_row(with_row(doubles(x), doubles(skip)), doubles(bias));
  const auto check = [](const AnyArray& y, const Numbers& expected) {
    check_close<float>(y, expected, 16, 1e-6);
  };
  const auto whole =
      run_session(op::SkipLayerNormalization{.epsilon = 1e-3f}, {x, skip, gamma, beta, bias}, 4);
  check(whole[0], with_row(scaled(normalized(sum, 4, 1e-3, true), doubles(gamma)), doubles(beta)));
  check(whole[3], sum);
  CHECK(whole[1].info().shape == Dims{2, 3, 1});
  const Numbers simple = scaled(normalized(sum, 4, 1e-3, false), doubles(gamma));
  check(run_session(op::SkipSimplifiedLayerNormalization{.epsilon = 1e-3f},
                    {x, skip, gamma, bias})[0],
        simple);
  const auto made = run_session(op::SimplifiedLayerNormalization{.epsilon = 1e-3f},
                                {array<float>({2, 3, 4}, sum), gamma}, 2);
  check(made[0], simple);
  for (std::size_t row = 0; row < 6; ++row) {
    CHECK(doubles(made[1])[row] * sum[row * 4] * doubles(gamma)[0] ==
          doctest::Approx(simple[row * 4]));
  }
  check(run_session(op::SimplifiedLayerNormalization{.axis = 1, .epsilon = 0}, {x, skip})[0],
        scaled(normalized(doubles(x), 12, 0, false), doubles(skip)));
  check(run_session(op::LayerNormalization_1{{.epsilon = 1e-3f}}, {x, gamma, beta})[0],
        with_row(scaled(normalized(doubles(x), 4, 1e-3, true), doubles(gamma)), doubles(beta)));
}

TEST_CASE("com.microsoft EmbedLayerNormalization adds three embeddings") {
  const Array<std::int32_t> words({1, 3}, {4, 0, 2}), segments({1, 3}, {0, 1, 1}),
      mask({1, 3}, {1, 1, 0});
  const Array<float> word = scattered<float>({5, 2}, -1, 1),
                     position = scattered<float>({6, 2}, -1, 1, 2),
                     segment = scattered<float>({2, 2}, -1, 1, 3),
                     gamma = scattered<float>({2}, 1, 2, 4), beta = scattered<float>({2}, -1, 1, 5);
  const auto rows = [](const AnyArray& table, std::vector<std::size_t> which) {
    Numbers y;
    for (const std::size_t r : which) {
      y.push_back(doubles(table)[2 * r]);
      y.push_back(doubles(table)[2 * r + 1]);
    }
    return y;
  };
  const auto sum = [&](std::vector<std::size_t> places) {
    return with_row(with_row(rows(word, {4, 0, 2}), rows(position, places)),
                    rows(segment, {0, 1, 1}));
  };
  const auto finished = [&](const Numbers& s) {
    return with_row(scaled(normalized(s, 2, 1e-2, true), doubles(gamma)), doubles(beta));
  };
  const op::EmbedLayerNormalization op{.epsilon = 1e-2f};
  const auto all =
      run_session(op, {words, segments, word, position, segment, gamma, beta, mask}, 3);
  check_close<float>(all[0], finished(sum({0, 1, 2})), 16, 1e-6);
  check_equal<std::int32_t>(all[1], {1}, {2});
  check_close<float>(all[2], sum({0, 1, 2}), 4);
  const auto placed = run_session(op,
                                  {words, segments, word, position, segment, gamma, beta, absent(),
                                   Array<std::int32_t>({1, 3}, {5, 3, 3})},
                                  2);
  check_close<float>(placed[0], finished(sum({5, 3, 3})), 16, 1e-6);
  check_equal<std::int32_t>(placed[1], {1}, {0});
}

TEST_CASE("com.microsoft GroupNorm normalises channels behind and in front") {
  const Array<float> x = scattered<float>({1, 4, 2, 1}, -2, 2);  // channels in front
  const Array<float> gamma = scattered<float>({4}, 0.5, 2, 3),
                     beta = scattered<float>({4}, -1, 1, 4);
  Numbers expected = normalized(doubles(x), 4, 1e-5, true);
  for (std::size_t i = 0; i < 8; ++i) {
    const double v = expected[i] * doubles(gamma)[i / 2] + doubles(beta)[i / 2];
    expected[i] = v * logistic(v);
  }
  const op::GroupNorm op{.groups = 2, .activation = 1, .channels_last = 0};
  check_close<float>(run_session(op, {x, gamma, beta})[0], expected, 32, 1e-6);
  const auto last = [](const AnyArray& t) { return run(op::Transpose{.perm = {0, 2, 3, 1}}, {t}); };
  const op::GroupNorm behind{.groups = 2, .activation = 1};
  const Numbers turned = doubles(last(array<float>({1, 4, 2, 1}, expected)));
  check_close<float>(run_session(behind, {last(x), gamma, beta})[0], turned, 32, 1e-6);
  // x less a skip of each channel, which SkipGroupNorm adds again.
  const Array<float> skip = scattered<float>({1, 4}, -1, 1, 5);
  Numbers less = doubles(last(x));
  for (std::size_t i = 0; i < 8; ++i) less[i] -= doubles(skip)[i % 4];
  const auto both = run_session(op::SkipGroupNorm{behind},
                                {array<float>({1, 2, 1, 4}, less), gamma, beta, skip}, 2);
  check_close<float>(both[0], turned, 64, 2e-6);
  check_close<float>(both[1], doubles(last(x)), 4, 1e-6);
}
