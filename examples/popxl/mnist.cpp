// Two layers learn to read handwritten digits: graphs, gradients of their calls, and Adam. The weights
// are then copied to a second Ir, which answers for images that the first one has not seen.
#include <fstream>
#include <vector>

#include "programs.hpp"

using namespace popxl;

namespace {
constexpr int batch = 30, train_batches = 47, test_batches = 12, epochs = 30;

template <int In, int Out>
struct Linear {
  struct Weights {
    F<In, Out> W;
    F<Out> b;
    constexpr void tensors(auto&& visit) { visit("W", W), visit("b", b); }
  };
  F<batch, Out> operator()(F<batch, In> x, Weights w) const {
    return ops::gelu(ops::matmul(x, w.W) + w.b);
  }
};
using First = Linear<64, 32>;
using Second = Linear<32, 10>;

/// An Ir that answers, and learns if it is told to.
struct Network {
  explicit Network(bool learns) {
    Main in(ir);
    auto first = ir.create_graph(First{});
    auto second = ir.create_graph(Second{});
    w0 = halftone::parameters<First::Weights>(gmg().native(), "first");
    w1 = halftone::parameters<Second::Weights>(gmg().native(), "second");
    popxl::in_sequence seq;
    auto site0 = ops::call_with_info(first, host_load(images), w0);
    auto site1 = ops::call_with_info(second, site0.out, w1);
    host_store(answers, ops::argmax<1>(site1.out));
    if (!learns) return;
    auto p = ops::softmax(site1.out, -1);
    auto [loss, dy] = ops::nll_loss_with_softmax_grad(p, host_load(labels));
    host_store(losses, loss);
    auto [dh, dw1] = ops::call(transforms::autodiff(second), site1, dy);
    auto [dx, dw0] = ops::call(transforms::autodiff(first), site0, dh);
    const auto update = [](auto w, auto dw) { adam(w, dw); };
    halftone::for_pairs(w0, dw0, update);
    halftone::for_pairs(w1, dw1, update);
  }
  /// A step of Adam.
  template <class S>
  static void adam(const Tensor<float, S>& w, const Tensor<float, S>& dw) {
    auto m = variable<float, S>("m", zeros), v = variable<float, S>("v", zeros);
    auto t = variable<float, Shape<>>("t", zeros);
    ops::var_updates::accumulate_moving_average_(m, dw, 0.9f);
    ops::var_updates::accumulate_moving_average_square_(v, dw, 0.999f);
    ops::scaled_add_(
        w, ops::var_updates::adam_updater(m, v, {.time_step = t, .beta1 = .9f, .beta2 = .999f}),
        1.f, -0.003f);
  }

  Ir ir;
  HostToDeviceStream<float, Shape<batch, 64>> images = stream<float, Shape<batch, 64>>("images");
  HostToDeviceStream<std::int32_t, Shape<batch>> labels =
      stream<std::int32_t, Shape<batch>>("labels");
  DeviceToHostStream<float, Shape<>> losses = back<float, Shape<>>("losses");
  DeviceToHostStream<std::int32_t, Shape<batch>> answers =
      back<std::int32_t, Shape<batch>>("answers");
  First::Weights w0;
  Second::Weights w1;

 private:
  template <class T, class S>
  HostToDeviceStream<T, S> stream(const char* name) {
    Main in(ir);
    return h2d_stream<T, S>(name);
  }
  template <class T, class S>
  DeviceToHostStream<T, S> back(const char* name) {
    Main in(ir);
    return d2h_stream<T, S>(name);
  }
};

struct Batch {
  Array<float> images{{batch, 64}};
  Array<std::int32_t> labels{{batch}};
};
/// Lines of 64 pixels from 0 to 16 and the label.
std::vector<Batch> read(const std::string& csv) {
  std::vector<Batch> all(train_batches + test_batches);
  std::ifstream file(csv);
  for (Batch& some : all) {
    for (std::size_t i = 0; i < batch; ++i) {
      char comma;
      for (std::size_t k = 0; k < 64; ++k) {
        file >> some.images[64 * i + k] >> comma;
        some.images[64 * i + k] /= 16;
      }
      file >> some.labels[i];
    }
  }
  if (!file) throw std::runtime_error(csv + " cannot be read");
  return all;
}
}  // namespace

void mnist(const std::string& csv) {
  const std::vector<Batch> data = read(csv);
  Network net(true), test(false);
  Session training(net.ir, "ipu_model"), answering(test.ir, "ipu_model");
  {
    const auto on = training.attach();
    for (int epoch = 0; epoch < epochs; ++epoch) {
      float sum = 0;
      for (std::size_t i = 0; i < train_batches; ++i) {
        const auto out = training.run({{net.images, data[i].images}, {net.labels, data[i].labels}});
        sum += out[net.losses][0];
      }
      if (epoch % 10 == 9) std::printf("  epoch %d: loss %.3f\n", epoch + 1, sum / train_batches);
    }
  }
  const auto copy = [&](const auto& to, const auto& from) {
    answering.write_variable_data(to, training.get_tensor_data(AnyTensor(from)));
  };
  copy(test.w0.W, net.w0.W), copy(test.w0.b, net.w0.b);
  copy(test.w1.W, net.w1.W), copy(test.w1.b, net.w1.b);
  const auto on = answering.attach();
  int right = 0;
  for (std::size_t i = train_batches; i < data.size(); ++i) {
    const auto out = answering.run({{test.images, data[i].images}});
    for (std::size_t k = 0; k < batch; ++k) right += out[test.answers][k] == data[i].labels[k];
  }
  std::printf("  %d of %d new images are right\n", right, batch * test_batches);
}
