// Graphs: created from functions and modules, called, repeated, differentiated.
#include "programs.hpp"

using namespace popxl;

namespace {

/// Runs an Ir without inputs and shows what it stores.
template <class T, class S>
void run(const Ir& ir, const DeviceToHostStream<T, S>& stream, const char* name) {
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  show(name, session.run()[stream]);
}

}  // namespace

void programs::basic_graph() {
  Ir ir;
  auto increment = ir.create_graph([](F<2> x) { return x + 1.f; });
  Main in(ir);
  auto x = variable<float, Shape<2>>("x", Array<float>({2}, {1, 2}));
  auto y = d2h_stream<float, Shape<2>>("y");
  host_store(y, ops::call(increment, x));
  run(ir, y, "x + 1");
}

void programs::create_multi_graphs_from_same_func() {
  Ir ir;
  // A generic function makes two graphs, for two shapes.
  auto twice_the_sum = [](auto x0, auto x1) { return ops::sum<1>((x0 + x1) * 2.f); };
  auto narrow = ir.create_graph(twice_the_sum, F<2, 2>{}, F<2, 2>{});
  auto wide = ir.create_graph(twice_the_sum, F<2, 3>{}, F<2, 3>{});
  Main in(ir);
  auto a = variable<float, Shape<2, 2>>("a", ones);
  auto b = variable<float, Shape<2, 3>>("b", ones);
  auto y = d2h_stream<float, Shape<2>>("y");
  auto z = d2h_stream<float, Shape<2>>("z");
  host_store(y, ops::call(narrow, a, a));
  host_store(z, ops::call(wide, b, b));
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  show("[2, 2]", out[y]);
  show("[2, 3]", out[z]);
}

void programs::multi_callsites_of_a_graph() {
  Ir ir;
  Number by;
  auto increment_by = ir.create_graph([&](Number x) {
    by = graph_input<float, Shape<>>("by");
    return x + by;
  });
  Main in(ir);
  auto x = variable<float, Shape<>>("x", ones);
  auto y = ops::call(increment_by, {{by, constant(1.f)}}, x);
  auto z = ops::call(increment_by, {{by, constant(2.f)}}, y);
  auto stream = d2h_stream<float, Shape<>>("z");
  host_store(stream, z);
  run(ir, stream, "x + 3");
}

void programs::call_with_info() {
  Ir ir;
  auto increment = ir.create_graph([](Number x) { ops::add_(x, 1.f); });
  Main in(ir);
  popxl::in_sequence seq;
  auto x = variable<float, Shape<>>("x", ones);
  auto site = ops::call_with_info(increment, x);
  site.set_parent_input_modified(x);  // else the graph would change a copy
  auto y = d2h_stream<float, Shape<>>("y");
  host_store(y, x);
  run(ir, y, "modified");
}

void programs::repeat_graph_0() {
  Ir ir;
  auto increment = ir.create_graph([](F<2, 2> x) { return x + 1.f; });
  Main in(ir);
  auto x = variable<float, Shape<2, 2>>("x", ones);
  auto y = d2h_stream<float, Shape<2, 2>>("y");
  host_store(y, ops::repeat(increment, 2, x));
  run(ir, y, "1 + 2 passes");
}

namespace {
/// y = x W + b
struct Linear : Module<Linear> {
  F<2, 2> W;
  F<2> b;
  F<2, 2> build(F<2, 2> x) {
    W = graph_input<float, Shape<2, 2>>("W");
    b = graph_input<float, Shape<2>>("b");
    return ops::matmul(x, W) + b;
  }
};
}  // namespace

void programs::repeat_graph_1() {
  Ir ir;
  Linear linear;
  auto graph = ir.create_graph(linear);
  Main in(ir);
  auto x = variable<float, Shape<2, 2>>("x", ones);
  auto W = variable<float, Shape<2, 2>>("W", ones);
  auto b = variable<float, Shape<2>>("b", ones);
  auto y = d2h_stream<float, Shape<2, 2>>("y");
  host_store(y, ops::repeat(graph, 2, {{linear.W, W}, {linear.b, b}}, x));
  run(ir, y, "2 (2 + 1) + 1");
}

void programs::repeat_graph_2() {
  Ir ir;
  ir.num_host_transfers = 8;
  Main in(ir);
  auto x = h2d_stream<float, Shape<2, 2>>("x");
  auto y = d2h_stream<float, Shape<2, 2>>("y");
  auto W = variable<float, Shape<2, 2>>("W", ones);
  auto b = variable<float, Shape<2>>("b", ones);
  Linear linear;
  auto forward = ir.create_graph(linear, F<2, 2>{});
  // A pass loads, computes and stores; W and b are the same in all of them.
  auto step = ir.create_graph([&](F<2, 2> w, F<2> v) {
    host_store(y, ops::call(forward, {{linear.W, w}, {linear.b, v}}, host_load(x)));
    return w;
  });
  ops::repeat(step, 8, W, b);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  Array<float> images({8, 2, 2});
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i / 4);
  show("2 i + 1", session.run({{x, images}})[y]);
}

void programs::in_sequence() {
  Ir ir;
  Main in(ir);
  auto x = variable<float, Shape<>>("x", halftone::filled{2});
  auto y = d2h_stream<float, Shape<>>("y");
  {
    popxl::in_sequence seq;
    ops::add_(x, 3.f);  // before the store
    host_store(y, x);
  }
  run(ir, y, "2 + 3");
}

void programs::autodiff() {
  Ir ir;
  Main in(ir);
  auto x = variable<float, Shape<2, 2>>("x", Array<float>({2, 2}, {1, 2, 3, 4}));
  auto W = variable<float, Shape<2, 2>>("W", ones);
  auto b = variable<float, Shape<2>>("b", ones);
  auto graph = ir.create_graph([](F<2, 2> v, F<2, 2> w, F<2> c) { return ops::matmul(v, w) + c; });
  auto grad = transforms::autodiff(graph);
  auto site = ops::call_with_info(graph, x, W, b);
  auto seed = constant<float, Shape<2, 2>>({1, 1, 1, 1});
  auto [dx, dW, db] = ops::call(grad, site, seed);
  auto dx_stream = d2h_stream<float, Shape<2, 2>>("dx"),
       dW_stream = d2h_stream<float, Shape<2, 2>>("dW");
  auto db_stream = d2h_stream<float, Shape<2>>("db");
  host_store(dx_stream, dx);
  host_store(dW_stream, dW);
  host_store(db_stream, db);
  Session session(ir, "ipu_model");
  const auto on = session.attach();
  const auto out = session.run();
  show("dx = 1 W^T", out[dx_stream]);
  show("dW = x^T 1", out[dW_stream]);
  show("db = 2", out[db_stream]);
}
