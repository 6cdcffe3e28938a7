// Sessions: streams, attachment, reading and writing variables.
#include "programs.hpp"

using namespace popxl;

void programs::simple_addition() {
  Ir ir;
  Main in(ir);
  auto a = h2d_stream<float, Shape<>>("a"), b = h2d_stream<float, Shape<>>("b");
  auto sum = d2h_stream<float, Shape<>>("sum");
  auto x = host_load(a);
  host_store(sum, x + host_load(b));
  Session session(ir, "ipu_model");
  const Array<float> two({}, {2}), three({}, {3});
  const auto on = session.attach();
  show("run", session.run({{a, two}, {b, three}})[sum]);
  Array<float> result{Dims{}};
  session.run_with_outputs({{a, two}, {b, three}}, {{sum, result}});
  show("run_with_outputs", result);
}

void programs::tensor_addition() {
  Ir ir;
  Main in(ir);
  auto a = variable<std::int8_t, Shape<>>("a", Array<std::int8_t>({}, {3}));
  auto b = constant<std::int8_t>(1, "b");
  auto sum = d2h_stream<std::int8_t, Shape<>>("sum");
  host_store(sum, a + b);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show("3 + 1", session.run()[sum]);
}

void programs::nested_session_contexts() {
  Ir ir;
  {
    Main in(ir);
    auto w = variable<float, Shape<>>("w", ones);
    ops::add_(w, 1.f);
  }
  Session session(ir, "ipu_model");
  std::printf("  attached %d", session.is_attached());
  {
    const auto outer = session.attach();
    std::printf(" %d", session.is_attached());
    {
      const auto inner = session.attach();
      std::printf(" %d", session.is_attached());
    }
    std::printf(" %d", session.is_attached());  // the inner block does not detach
  }
  std::printf(" %d\n", session.is_attached());
}

void programs::tensor_get_write() {
  Ir ir;
  Main in(ir);
  auto w = variable<float, Shape<>>("w", ones);
  popxl::in_sequence seq;
  ops::add_(w, 2.f);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  session.run();
  show("after a run", session.get_tensor_data(w));
  session.write_variable_data(w, Array<float>({}, {1}));
  show("written", session.get_tensor_data(w));
}

void programs::tensor_get_write_adv() {
  Ir ir;
  Main in(ir);
  auto w = variable<float, Shape<>>("w", ones), v = variable<float, Shape<>>("v", ones);
  popxl::in_sequence seq;
  ops::add_(w, 2.f);
  ops::add_(v, w);
  Session session(ir, "ipu_model");
  {
    const auto on = session.attach();
    session.run();
    show("w", session.get_tensor_data(w));  // from the device
    show("v", session.get_tensor_data(v));  // without another transfer
    session.write_variable_data(w, Array<float>({}, {1}));
    session.run();
  }
  show("w, detached", session.get_tensor_data(w));        // what leaving the block brought
  session.write_variable_data(w, Array<float>({}, {3}));  // on the host alone
  const auto on = session.attach();                       // takes it to the device
  session.run();
  show("w, written while detached", session.get_tensor_data(w));
}
