// Two layers learn to read handwritten digits; their weights then answer for images that they have not seen.
#include <halftone/train.hpp>

#include "digits.hpp"
#include "programs.hpp"

using namespace popxl;

namespace {
template <int In, int Out>
struct Dense {
  struct Weights {
    F<In, Out> W;
    F<Out> b;
    constexpr void tensors(auto&& visit) { visit("W", W), visit("b", b); }
  };
  auto operator()(F<batch, In> x, Weights w) const { return ops::gelu(ops::matmul(x, w.W) + w.b); }
};

/// Streams and weights of a network that answers, and learns if it is told to.
auto network(const Ir& ir, bool learns) {
  const Main in(ir);
  auto first = ir.create_graph(Dense<64, 32>{});
  auto second = ir.create_graph(Dense<32, 10>{});
  auto images = h2d_stream<float, Shape<batch, 64>>("images");
  auto labels = h2d_stream<std::int32_t, Shape<batch>>("labels");
  auto losses = d2h_stream<float, Shape<>>("losses");
  auto answers = d2h_stream<std::int32_t, Shape<batch>>("answers");
  std::tuple w(halftone::parameters<Dense<64, 32>::Weights>(gmg().native(), "first"),
               halftone::parameters<Dense<32, 10>::Weights>(gmg().native(), "second"));
  const popxl::in_sequence seq;
  auto site0 = ops::call_with_info(first, host_load(images), std::get<0>(w));
  auto site1 = ops::call_with_info(second, site0.out, std::get<1>(w));
  host_store(answers, ops::argmax<1>(site1.out));
  if (learns) {
    auto p = ops::softmax(site1.out, -1);
    auto [loss, dy] = ops::nll_loss_with_softmax_grad(p, host_load(labels));
    host_store(losses, loss);
    auto [dh, dw1] = ops::call(transforms::autodiff(second), site1, dy);
    auto [dx, dw0] = ops::call(transforms::autodiff(first), site0, dh);
    const halftone::Adam adam{.learning_rate = 0.003f};
    halftone::for_pairs(w, std::tuple(dw0, dw1), [&](auto v, auto dv) { adam.update(v, dv); });
  }
  return std::tuple(images, labels, losses, answers, w);
}
}  // namespace

void programs::mnist(const std::string& csv) {
  const std::vector<Batch> data = read_digits(csv);
  const Ir ir, test_ir;
  const auto [images, labels, losses, answers, weights] = network(ir, true);
  const auto [test_images, none, nothing, test_answers, test_weights] = network(test_ir, false);
  Session training(ir, "ipu_model"), test(test_ir, "ipu_model");
  const auto learning = training.attach(), answering = test.attach();
  for (int epoch = 1; epoch <= 30; ++epoch) {
    float sum = 0;
    for (std::size_t i = 0; i < train_batches; ++i)
      sum += training.run({{images, data[i].images}, {labels, data[i].labels}})[losses][0];
    if (epoch % 10 == 0) std::printf("  epoch %d: loss %.3f\n", epoch, sum / train_batches);
  }
  halftone::for_pairs(test_weights, weights, [&](auto to, auto from) {
    test.write_variable_data(to, training.get_tensor_data(AnyTensor(from)));
  });
  int right = 0;
  for (std::size_t i = train_batches; i < data.size(); ++i) {
    const auto found = test.run({{test_images, data[i].images}})[test_answers];
    for (std::size_t k = 0; k < batch; ++k) right += found[k] == data[i].labels[k];
  }
  std::printf("  %d of %d new images are right\n", right, batch * test_batches);
}
