#pragma once

// Models that the compiler runs as static programs and a session as graphs.
#include <halftone/function.hpp>
#include <halftone/static.hpp>

using namespace halftone;

template <int In, int Out>
constexpr auto dense(Graph& g, auto x) {
  auto w = parameter<float, Shape<In, Out>>(g, "w");
  auto b = parameter<float, Shape<Out>>(g, "b", uniform{-0.5f, 0.5f});
  return op::matmul(x, w) + b;
}

struct Perceptron {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 8>>(g, "x");
    output(g, dense<16, 3>(g, op::relu(dense<8, 16>(g, x))), "y");
  }
};

/// Of the second model's convolution, in place.
inline constexpr float window[36] = {
    0.5f,  -1,    0.25f, 2,     0.125f, -0.75f, 1,     0.5f, -0.25f, 0.375f, -2,      1.5f,
    -0.5f, 0.75f, 1,     -0.5f, 0.25f,  0.5f,   -1.5f, 1,    0.5f,   -0.25f, 0.125f,  1,
    2,     -1,    0.5f,  0.25f, -0.75f, 1,      0.5f,  -1,   0.25f,  0.5f,   -0.125f, 0.75f};

/// Operators with scratch memory, broadcasting, views, axes that are constants, and long functions.
struct Mixed {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<2, 1, 9, 9>>(g, "x");
    const auto w = parameter<float, Shape<4, 1, 3, 3>>(g, "window", in_place(window));
    const auto scale = parameter<float, Shape<4, 1, 1>>(g, "scale", uniform{0.5f, 2});
    const auto c = apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, w) * scale;
    const auto pooled = apply<op::MaxPool{.kernel_shape = {3, 3}, .strides = {3, 3}}>(op::tanh(c));
    const AnyTensor flat = op::flatten(pooled);
    const AnyTensor sums = op::mean(c, constant(g, {1, -1}));
    output(g, op::softmax(flat), "shares");
    output(g, op::exp(sums) - op::sigmoid(sums), "sums");
    output(g, op::transpose(flat) > 0.25f, "is_large");
    output(g, op::identity(x), "again");
  }
};

/// An attention of two heads that becomes one operator, with a choice of scores.
struct Attending {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<2, 5, 16>>(g, "x");
    const auto heads = [&](const AnyTensor& t, const Dims& perm) -> AnyTensor {
      return op::transpose(op::reshape(t, constant(g, {2, 5, 2, 8})), {.perm = perm});
    };
    const AnyTensor scores = op::matmul(heads(x, {0, 2, 1, 3}), heads(x, {0, 2, 3, 1})) * 0.25f;
    const AnyTensor sees = heads(x, {0, 2, 1, 3}) > 0.f;
    const AnyTensor mask = op::slice(sees, constant(g, {0}), constant(g, {5}), constant(g, {3}));
    const AnyTensor masked = op::where(mask, scores, -2.f);
    output(g, op::matmul(op::softmax(masked), heads(x, {0, 2, 1, 3})), "y");
  }
};

constexpr auto classifier_loss(Graph& g) {
  const auto x = input<float, Shape<8, 20>>(g, "x");
  const auto label = input<std::int32_t, Shape<8>>(g, "label");
  const auto h = op::relu(dense<20, 24>(g, x));
  const auto loss = op::nll_loss(op::softmax(dense<24, 10>(g, h)), label);
  output(g, loss, "loss");
  return loss;
}
struct TrainedBySgd {
  static constexpr void build(Graph& g) {
    const auto loss = classifier_loss(g);
    train(g, loss, Sgd{.learning_rate = variable{0.25f}, .momentum = 0.5f});
  }
};
struct TrainedByAdam {
  static constexpr void build(Graph& g) {
    const auto loss = classifier_loss(g);
    const Adam adam{.learning_rate = 0.0625f, .weight_decay = 0.125f};
    train(g, loss, adam);
  }
};

struct Descent {
  constexpr void update(auto w, auto dw) const { op::copy_var_update(w, w - 0.125f * dw); }
};
struct TrainedByOwn {
  static constexpr void build(Graph& g) { train(g, classifier_loss(g), Descent{}); }
};

/// Convolutions and their gradients.
struct TrainedImages {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<4, 3, 8, 8>>(g, "x");
    const auto label = input<std::int32_t, Shape<4>>(g, "label");
    const auto w = parameter<float, Shape<8, 3, 3, 3>>(g, "first");
    const auto b = parameter<float, Shape<8>>(g, "bias", zeros);
    const AnyTensor y = apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, w, b);
    const auto by_channel = parameter<float, Shape<8, 1, 3, 3>>(g, "by_channel");
    const AnyTensor c = op::relu(
        apply<op::Conv{.pads = {1, 1, 1, 1}, .group = 8}>(op::clip(y, -1.f, 2.f), by_channel));
    const AnyTensor m = apply<op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}>(c);
    const auto v = parameter<float, Shape<4, 8, 3, 3>>(g, "second");
    const AnyTensor flat = op::flatten(op::relu(apply<op::Conv{}>(m, v)));
    const auto last = parameter<float, Shape<16, 10>>(g, "last");
    const AnyTensor loss = op::nll_loss(op::softmax(op::matmul(flat, last)), label);
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 0.015625f});
  }
};

/// Calls of one function, one of them inside another, which changes a variable. What a session calls
/// becomes nodes of a static program.
struct Functions {
  static constexpr void build(Graph& g) {
    using Row = Tensor<float, Shape<4>>;
    const auto half = function([](Row x) { return std::tuple(x * 0.5f, x); });
    const auto count = function([&](by_ref<Row> sum, Row x) {
      const auto [smaller, same] = call(half, x);
      op::copy_var_update(*sum, *sum + smaller);
      return smaller * same;
    });
    const auto x = input<float, Shape<4>>(g, "x");
    const auto sum = parameter<float, Shape<4>>(g, "sum", zeros);
    const auto y = call(count, sum, x);
    const auto z = call(count, sum, y);
    const auto [smaller, same] = call(half, z);
    output(g, smaller, "smaller");
    output(g, same, "same");
  }
};

template <class T>
constexpr AnyTensor number(Graph& g, T value) {
  return constant(g, std::span<const T>(&value, 1), Dims{});
}

/// A loop in a loop, and branches, with bodies that have constants, groups and scratch memory.
struct Controlled {
  static constexpr void build(Graph& g) {
    using Row = Tensor<float, Shape<4>>;
    using Square = Tensor<float, Shape<4, 4>>;
    const auto x = input<float, Shape<4>>(g, "x");
    const auto w = parameter<float, Shape<4, 4>>(g, "w", uniform{-0.5f, 0.5f});
    const auto step = function([](Row h, Square m) {
      const AnyTensor next = op::matmul(h, m);
      return (op::tanh(next) + h * 0.5f).as<Row>();
    });
    const auto steps = function([&](Row h, Square m) { return repeat(step, 3, h, m) - 0.25f; });
    const auto y = repeat(steps, 4, x, w);
    const auto small = function([](Row v) { return v * 2.f; });
    const auto large = function([](Row v) { return op::softmax(v); });
    const auto is_large = op::sum(y, {.keepdims = false}) > 1.f;
    output(g, conditional(is_large, then(large, y), otherwise(small, y)), "chosen");
    output(
        g,
        conditional(op::sum(y, {.keepdims = false}) > -100.f, then(large, x), otherwise(small, y)),
        "other");
    output(g, y, "y");
  }
};

/// A loop whose number of passes follows from values, and what its passes give; in reverse, a Scan.
struct Counted {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<4>>(g, "x");
    const TensorInfo row{ElementType::float32, {4}};
    Graph body;
    body.add_input({ElementType::int64, {}}, "pass");
    const TensorId condition = body.add_input({ElementType::boolean, {}}, "condition");
    const AnyTensor state{&body, body.add_input(row, "state")};
    const AnyTensor next = op::sin(op::mul(state, number(body, 1.5f)));
    body.outputs = {condition, next.id};
    g.graphs.push_back(std::move(body));
    const AnyTensor positive = op::cast(x > 0.f, {.to = ElementType::int64});
    const AnyTensor count = op::sum(positive, {.keepdims = false});
    const std::size_t n = g.add_node(descriptor<op::Loop>, pack(op::Loop{.body = {0}}),
                                     {count.id, no_tensor, x.id}, {&row, 1});
    output(g, AnyTensor{&g, g.nodes[n].outputs[0]}, "last");

    Graph scanned;
    const AnyTensor sum{&scanned, scanned.add_input({ElementType::float32, {}}, "sum")};
    const AnyTensor slice{&scanned, scanned.add_input({ElementType::float32, {}}, "slice")};
    const AnyTensor more = op::add(sum, slice);
    scanned.outputs = {more.id, op::exp(more).id};
    g.graphs.push_back(std::move(scanned));
    const op::Scan scan{.body = {1}, .num_scan_inputs = 1, .scan_input_directions = {1}};
    const TensorInfo infos[]{{ElementType::float32, {}}, row};
    const std::size_t m =
        g.add_node(descriptor<op::Scan>, pack(scan), {number(g, 0.25f).id, x.id}, infos);
    output(g, AnyTensor{&g, g.nodes[m].outputs[1]}, "sums");
  }
};

/// Weights that a loop uses in each pass, trained through it.
struct TrainedLoop {
  static constexpr void build(Graph& g) {
    using Rows = Tensor<float, Shape<8, 5>>;
    using Square = Tensor<float, Shape<5, 5>>;
    const auto x = input<float, Shape<8, 5>>(g, "x");
    const auto label = input<std::int32_t, Shape<8>>(g, "label");
    const auto w = parameter<float, Shape<5, 5>>(g, "w", uniform{-0.5f, 0.5f});
    const auto step = function([](Rows h, Square m) { return op::tanh(op::matmul(h, m)); });
    const auto h = repeat(step, 4, x, w);
    const auto last = parameter<float, Shape<5, 10>>(g, "last");
    const auto loss = op::nll_loss(op::softmax(op::matmul(h, last)), label);
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 0.125f});
  }
};

/// Convolutions that take in normalizations, additions and limits; weights that are computed once.
struct Normalized {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 3, 6, 6>>(g, "x");
    const auto normalized = [&](const AnyTensor& y, std::int64_t channels) {
      const auto of = [&](const char* name, float low) {
        const Initial initial{Initial::Rule::uniform, low, low + 1};
        return AnyTensor{&g, g.add_variable({ElementType::float32, {channels}}, initial, name)};
      };
      return op::batch_normalization(y, of("gamma", 0.5f), of("beta", -0.5f), of("mean", -0.5f),
                                     of("variance", 0.5f));
    };
    const auto first = parameter<float, Shape<8, 3, 3, 3>>(g, "first");
    const auto b = parameter<float, Shape<8>>(g, "b", uniform{-1, 1});
    const auto c = op::relu(normalized(apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, first, b), 8));
    const auto second = parameter<float, Shape<8, 8, 3, 3>>(g, "second");
    const auto d = normalized(op::conv(c, second, {.pads = {1, 1, 1, 1}}), 8);
    const auto e = op::clip(op::add(d, c), number(g, -1.f), number(g, 2.f));
    const auto v = parameter<float, Shape<10, 288>>(g, "v");
    const AnyTensor columns = op::transpose(v);
    output(g, op::matmul(op::flatten(e), columns), "y");
    output(g, normalized(op::mul(e, parameter<float, Shape<8, 1, 1>>(g, "scale", ones)), 8), "z");
  }
};

/// Convolutions that Winograd's forms and groups within a block of channels have kernels for.
struct Convolved {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 16, 8, 8>>(g, "x");
    const op::Conv same{.pads = {1, 1, 1, 1}};
    const auto first = parameter<float, Shape<32, 16, 3, 3>>(g, "first");
    const auto second = parameter<float, Shape<16, 32, 3, 3>>(g, "second");
    const auto b = parameter<float, Shape<16>>(g, "b", uniform{-1, 1});
    const AnyTensor y = op::relu(op::conv(op::relu(op::conv(x, first, same)), second, b, same) + x);
    output(g, y, "y");
    const auto third = parameter<float, Shape<16, 2, 3, 3>>(g, "third");
    output(g, op::conv(y, third, {.pads = {1, 1, 1, 1}, .group = 8}), "z");
  }
};

/// Random numbers, which are others in each run and each pass of a loop.
struct Random {
  static constexpr void build(Graph& g) {
    using Row = Tensor<float, Shape<8>>;
    const auto x = input<float, Shape<8>>(g, "x");
    const auto noise = function([](Row v) { return v + op::random_uniform_like(v); });
    output(g, repeat(noise, 3, x), "sum");
    output(g, op::dropout(x, number(g, 0.5f), number(g, true))[0], "dropped");
    output(g, op::random_normal_like(x), "normal");
  }
};

/// Operators whose scratch memory follows from their extents and attributes.
struct Spatial {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 2, 6, 6>>(g, "x");
    const float scales[] = {1, 1, 1.5f, 2};
    const AnyTensor wanted = constant(g, std::span<const float>(scales), {4});
    output(g, op::resize(x, none, wanted, {.mode = kernel::ResizeMode::linear}), "linear");
    output(g, op::resize(x, none, wanted, {.mode = kernel::ResizeMode::cubic}), "cubic");
    output(g, op::resize(x, none, wanted, {.mode = kernel::ResizeMode::nearest}), "nearest");
    const auto w = parameter<float, Shape<2, 3, 3, 3>>(g, "w");
    output(g, op::conv_transpose(x, w, {.strides = {2, 2}}), "transposed");
    output(g, op::lp_pool(x, {.kernel_shape = {2, 2}}), "lp");
    const auto grid = parameter<float, Shape<1, 4, 4, 2>>(g, "grid", uniform{-1, 1});
    output(g, op::grid_sample(x, grid), "sampled");
    const auto scale = parameter<float, Shape<2>>(g, "scale", uniform{0.5f, 2});
    const auto bias = parameter<float, Shape<2>>(g, "bias", zeros);
    output(g, op::instance_normalization(x, scale, bias), "instances");
  }
};
struct Sequences {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<5, 2, 3>>(g, "x");
    const auto layer = [&](const char* name, std::int64_t gates) {
      const auto of = [&](std::int64_t inputs) {
        const Initial initial{Initial::Rule::uniform, -0.5f, 0.5f};
        return AnyTensor{
            &g, g.add_variable({ElementType::float32, {1, 4 * gates, inputs}}, initial, name)};
      };
      const AnyTensor w = of(3);
      return std::pair(w, of(4));
    };
    const auto [lw, lr] = layer("lstm", 4);
    output(g, op::lstm(x, lw, lr, {.hidden_size = 4})[0], "lstm");
    const auto [gw, gr] = layer("gru", 3);
    output(g, op::gru(x, gw, gr, {.hidden_size = 4})[0], "gru");
    const auto [rw, rr] = layer("rnn", 1);
    output(g, op::rnn(x, rw, rr, {.hidden_size = 4})[0], "rnn");
    const auto scale = parameter<float, Shape<3>>(g, "scale", uniform{0.5f, 2});
    output(g, op::layer_normalization(x, scale)[0], "layer");
    output(g, op::rms_normalization(x, scale), "rms");
  }
};
struct Lists {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<6, 6>>(g, "x");
    output(g, op::topk(x, constant(g, Dims{3}))[0], "largest");
    output(g, op::hardmax(x), "hard");
    output(g, op::det(x), "det");
    output(g, op::histogram(x, {.levels = {-1, 0, 1}}), "histogram");
    output(g, op::median(x, {.axes = {1}})[0], "median");
    const std::int64_t places[] = {0, 2, 1, 3};
    const AnyTensor indices = constant(g, std::span<const std::int64_t>(places), {2, 2});
    output(g, op::gather_elements(x, indices), "gathered");
    const auto updates = parameter<float, Shape<2, 2>>(g, "updates", ones);
    output(g, op::scatter_elements(x, indices, updates), "scattered");
    output(g, op::dft(op::reshape(x, constant(g, Dims{1, 36, 1}))), "spectrum");
    output(g, op::cumsum(x, constant(g, Dims{1})), "cumsum");
    const auto factor = function([&](Tensor<float, Shape<6, 6>> v) { return op::softmax(v); });
    output(g, op::log_softmax(call(factor, x)), "logs");
    const auto bytes =
        op::cast(op::clip(x, number(g, 0.f), number(g, 9.f)), {.to = ElementType::uint8});
    output(g, op::matmul_integer(bytes, bytes), "integers");
    output(g, op::max_pool(op::reshape(x, constant(g, Dims{1, 1, 6, 6})), {.kernel_shape = {2, 2}}),
           "pooled");
  }
};

/// Weights of types that have no literals in C++, and an array of integers that is not small. Nothing
/// is computed beforehand.
struct TypedWeights {
  template <class T>
  static constexpr AnyTensor weight(Graph& g, const char* name, std::array<T, 4> values) {
    return parameter<T, Shape<4>>(g, name, std::span<const T>(values));
  }
  static constexpr void build(Graph& g) {
    const AnyTensor x = input<float, Shape<4>>(g, "x");
    const AnyTensor places =
        op::cast(op::clip(x, number(g, 0.f), number(g, 3.f)), {.to = ElementType::int64});
    const auto gathered = [&](const AnyTensor& w, const char* name) {
      output(g, op::gather(w, places), name);
    };
    gathered(weight<half>(g, "half", {half(0.1f), half(-2), half(65504), half(0)}), "of_half");
    gathered(
        weight<bfloat16>(g, "brain", {bfloat16(0.1f), bfloat16(-2), bfloat16(1e30f), bfloat16(0)}),
        "of_bfloat16");
    gathered(weight<std::uint64_t>(g, "long", {1, 0, 1ull << 63, 5}), "of_uint64");
    gathered(weight<std::int64_t>(g, "signed", {INT64_MIN, -1, std::int64_t{1} << 40, 0}),
             "of_int64");
    gathered(weight<float8_e4m3fn>(
                 g, "short",
                 {float8_e4m3fn(0.1f), float8_e4m3fn(-2), float8_e4m3fn(240), float8_e4m3fn(0)}),
             "of_float8");
    output(g, op::where(weight<bool>(g, "bools", {true, false, false, true}), x, op::mul(x, x)),
           "of_bool");
    std::array<std::uint8_t, 512> many{};
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::uint8_t>(i * i);
    gathered(
        parameter<std::uint8_t, Shape<128, 4>>(g, "table", std::span<const std::uint8_t>(many)),
        "of_table");
  }
};
