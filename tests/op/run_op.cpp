#include "run_op.hpp"

#include <halftone/kernel/broadcast.hpp>

#include <cstring>

#include "exec/kernel_table.hpp"

namespace run_op_test {

Inferred infer(const Descriptor& op, std::span<const Word> attributes,
               const std::vector<AnyArray>& inputs, std::size_t outputs) {
  std::vector<InputInfo> infos;
  for (const AnyArray& x : inputs) {
    if (!x.info().is_known()) {
      infos.push_back({});
    } else {
      infos.push_back({x.info(), {x.data(), x.data() == nullptr ? 0 : x.bytes()}, true});
    }
  }
  if (outputs == 0) outputs = op.signature.required_outputs();
  return op.infer(attributes, Inputs(infos, outputs));
}

namespace {

std::vector<ElementType> type_variables(const Descriptor& op, const std::vector<AnyArray>& inputs,
                                        const std::vector<TensorInfo>& outputs) {
  std::vector<ElementType> types(op.signature.type_variables(), ElementType::undefined);
  const auto note = [&](const Slot& slot, ElementType type) {
    ElementType& t = types[static_cast<std::size_t>(slot.type_variable)];
    if (t == ElementType::undefined) t = type;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    note(op.signature.input_slot(i), inputs[i].info().type);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    note(op.signature.output_slot(i), outputs[i].type);
  }
  // A variable of absent tensors alone: any type that the operator takes will do.
  for (std::size_t v = 0; v < types.size(); ++v) {
    for (int t = 1; types[v] == ElementType::undefined && t < detail::element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (op.allows(static_cast<int>(v), type)) types[v] = type;
    }
  }
  return types;
}

/// Blocks of a size that leaves rests, so that broadcasting starts and ends anywhere in a row.
void run_blocks(const Descriptor& descriptor, const void* op, const Kernel& kernel,
                const std::vector<AnyArray>& inputs, AnyArray& output) {
  constexpr std::int64_t block = 37;
  constexpr std::size_t most = 4;
  const std::size_t count = descriptor.signature.inputs();
  REQUIRE(count <= most);
  const Dims& shape = output.info().shape;
  const std::int64_t n = output.info().elements();
  std::vector<halftone::kernel::BroadcastInput> broadcast;
  std::vector<AnyArray> own(count);
  for (std::size_t i = 0; i < count; ++i) {
    own[i] = i < inputs.size() ? inputs[i] : absent();
    if (!own[i].info().is_known()) {
      own[i] = AnyArray(TensorInfo{inputs[0].info().type, {}});
      kernel.absent(op, i, own[i].data());
    }
    const Dims& extents = own[i].info().shape;
    broadcast.emplace_back(shape.begin(), shape.size(), extents.begin(), extents.size(),
                           static_cast<std::size_t>(size_in_bytes(own[i].info().type)));
  }
  const auto y_size = static_cast<std::size_t>(size_in_bytes(output.info().type));
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t size = n - first < block ? n - first : block;
    alignas(64) std::byte temporary[most][block * 8];
    const void* in[most];
    std::uint32_t uniform = 0;
    for (std::size_t i = 0; i < count; ++i) {
      uniform |= broadcast[i].is_uniform() ? 1u << i : 0;
      in[i] = broadcast[i].is_uniform()
                  ? own[i].data()
                  : broadcast[i].fetch(own[i].data(), first, size, temporary[i]);
    }
    std::byte* y = output.data() + static_cast<std::size_t>(first) * y_size;
    kernel.block(op, in, uniform, y, size);
  }
}

}  // namespace

std::vector<AnyArray> run_all(const Descriptor& descriptor, std::span<const Word> attributes,
                              const void* op, const std::vector<AnyArray>& inputs,
                              std::size_t outputs, std::uint64_t constants,
                              const halftone::kernel::Executor& executor) {
  const Inferred inferred = infer(descriptor, attributes, inputs, outputs);
  REQUIRE_MESSAGE(inferred.ok(), std::string(inferred.reason));
  std::vector<AnyArray> y;
  for (const TensorInfo& info : inferred.outputs) {
    REQUIRE(info.is_static());
    y.emplace_back(info);
    // What a kernel leaves out shows up as a strange number.
    if (y.back().bytes() != 0) std::memset(y.back().data(), 0x5b, y.back().bytes());
  }
  const std::vector<ElementType> types = type_variables(descriptor, inputs, inferred.outputs);
  const Kernel kernel = find_kernel(descriptor, types);
  if (descriptor.elementwise) {
    REQUIRE((kernel.block != nullptr));
    run_blocks(descriptor, op, kernel, inputs, y[0]);
  } else {
    REQUIRE((kernel.run != nullptr));
    std::vector<TensorArgument> arguments;
    const auto add = [&](const AnyArray& x) {
      if (!x.info().is_known()) {
        arguments.push_back({});
      } else {
        // Empty tensors have a place, too: null means absent.
        static std::byte nothing[64];
        void* data = x.bytes() == 0 ? nothing : const_cast<std::byte*>(x.data());
        arguments.push_back({data, x.info().shape.begin(), x.info().rank()});
      }
    };
    for (const AnyArray& x : inputs) add(x);
    for (const AnyArray& x : y) add(x);
    KernelCall call{.op = op,
                    .arguments = arguments.data(),
                    .inputs = static_cast<std::uint32_t>(inputs.size()),
                    .outputs = static_cast<std::uint32_t>(y.size()),
                    .constants = constants,
                    .executor = &executor};
    const std::size_t packed = kernel.packed_bytes != nullptr ? kernel.packed_bytes(call) : 0;
    const std::size_t space = kernel.workspace != nullptr ? kernel.workspace(call) : 0;
    const AnyArray packed_memory({ElementType::uint8, {static_cast<std::int64_t>(packed)}});
    AnyArray workspace({ElementType::uint8, {static_cast<std::int64_t>(space)}});
    if (packed != 0) {
      kernel.pack(call, const_cast<std::byte*>(packed_memory.data()));
      call.packed = packed_memory.data();
    }
    call.workspace = workspace.data();
    kernel.run(call);
  }
  return y;
}

std::vector<double> doubles(const AnyArray& x) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(x.info().elements()));
  visit_type<AllTypes>(x.info().type, [&]<class T>() {
    for (const T& v : x.values<T>()) values.push_back(static_cast<double>(v));
  });
  return values;
}

void fill(AnyArray& x, const std::vector<double>& values) {
  visit_type<AllTypes>(x.info().type, [&]<class T>() {
    const auto to = x.values<T>();
    REQUIRE(to.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (real<T>) {
        to[i] = static_cast<T>(static_cast<halftone::detail::Compute<T>>(values[i]));
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
}

std::vector<double> scattered_numbers(std::size_t count, double low, double high,
                                      std::uint64_t seed) {
  std::vector<double> values(count);
  for (double& v : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    v = low + (high - low) * static_cast<double>(seed >> 11) * 0x1p-53;
  }
  return values;
}

double rounding(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return 0x1p-53;
    case ElementType::float32:
      return 0x1p-24;
    case ElementType::float16:
      return 0x1p-11;
    case ElementType::bfloat16:
      return 0x1p-8;
    default:
      return 0;
  }
}

namespace {

bool is_close(double y, double expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(y);
  if (std::isinf(expected)) return y == expected;
  return std::fabs(y - expected) <= relative * std::fabs(expected) + absolute;
}

}  // namespace

void check_close(ElementType type, const AnyArray& y, const std::vector<double>& expected,
                 double units, double absolute) {
  REQUIRE(y.info().type == type);
  const std::vector<double> found = doubles(y);
  REQUIRE(found.size() == expected.size());
  const bool is_half = type == ElementType::float16;
  if (is_half) absolute += 0x1p-24;
  if (type == ElementType::float32) absolute += 0x1p-149;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double want = is_half && std::fabs(expected[i]) >= 65520 && !std::isnan(expected[i])
                            ? std::copysign(std::numeric_limits<double>::infinity(), expected[i])
                            : expected[i];
    if (!is_close(found[i], want, units * rounding(type), absolute)) {
      CAPTURE(i);
      CHECK(found[i] == want);
    }
  }
  CHECK(true);
}

void check_equal(ElementType type, const AnyArray& y, const Dims& shape,
                 const std::vector<double>& expected) {
  CHECK(y.info().type == type);
  CHECK(y.info().shape == shape);
  CHECK(doubles(y) == expected);
}

AnyArray points(ElementType type, double low, double high) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values{0.0, -0.0, 1, -1, infinity, -infinity, std::nan(""), low, high};
  for (const double v : scattered_numbers(200, low, high, 1)) values.push_back(v);
  AnyArray x(TensorInfo{type, {static_cast<std::int64_t>(values.size())}});
  fill(x, values);
  return x;
}

}  // namespace run_op_test
