#include "kernel_table.hpp"

#include <array>
#include <cstdlib>
#include <iterator>
#include <string>

#include <halftone/base/error.hpp>
#include <halftone/kernel/amx_tile.hpp>

#include "base/library_numbers.hpp"
#include "kernel_sets.hpp"

namespace halftone {
namespace {

using kernel::detail::has_amx;

using Finder = void (*)(int number, const void* types, std::size_t count, void* kernel);

#define HALFTONE_DECLARE_PART(isa, part)                                                           \
  extern "C" void halftone_kernel_##isa##_##part(int number, const void* types, std::size_t count, \
                                                 void* kernel);
#define HALFTONE_DECLARE_PARTS(isa) \
  HALFTONE_DECLARE_PART(isa, 0)     \
  HALFTONE_DECLARE_PART(isa, 1)     \
  HALFTONE_DECLARE_PART(isa, 2)     \
  HALFTONE_DECLARE_PART(isa, 3)     \
  HALFTONE_DECLARE_PART(isa, 4)     \
  HALFTONE_DECLARE_PART(isa, 5)     \
  HALFTONE_DECLARE_PART(isa, 6)     \
  HALFTONE_DECLARE_PART(isa, 7)
#define HALFTONE_PARTS(isa)                                                         \
  {halftone_kernel_##isa##_0, halftone_kernel_##isa##_1, halftone_kernel_##isa##_2, \
   halftone_kernel_##isa##_3, halftone_kernel_##isa##_4, halftone_kernel_##isa##_5, \
   halftone_kernel_##isa##_6, halftone_kernel_##isa##_7}

struct InstructionSet {
  std::string_view name;
  std::array<Finder, detail::kernel_part_count> parts;
};

HALFTONE_DECLARE_PART(once, 0)
HALFTONE_DECLARE_PART(once, 1)
HALFTONE_DECLARE_PART(once, 2)
HALFTONE_DECLARE_PART(once, 3)
/// The kernels that gain nothing from a newer instruction set (`Op::compiled_once`).
constexpr std::array<Finder, detail::once_part_count> once{
    halftone_kernel_once_0, halftone_kernel_once_1, halftone_kernel_once_2, halftone_kernel_once_3};

#ifdef HALFTONE_HAS_v2
HALFTONE_DECLARE_PARTS(v2)
#endif
#ifdef HALFTONE_HAS_v3
HALFTONE_DECLARE_PARTS(v3)
#endif
#ifdef HALFTONE_HAS_v4
HALFTONE_DECLARE_PARTS(v4)
#endif
#ifdef HALFTONE_HAS_native
HALFTONE_DECLARE_PARTS(native)
#endif

/// What was built, the newest first, with what it needs of the processor.
struct Level {
  InstructionSet set;
  bool (*runs_here)();
};
constexpr Level levels[] = {
#ifdef HALFTONE_HAS_v4
    {{"v4", HALFTONE_PARTS(v4)},
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
     }},
#endif
#ifdef HALFTONE_HAS_v3
    {{"v3", HALFTONE_PARTS(v3)},
     [] {
       return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
     }},
#endif
#ifdef HALFTONE_HAS_v2
    {{"v2", HALFTONE_PARTS(v2)},
     [] { return static_cast<bool>(__builtin_cpu_supports("sse4.2")); }},
#endif
#ifdef HALFTONE_HAS_native
    {{"native", HALFTONE_PARTS(native)}, [] { return true; }},
#endif
};

/// The newest that runs here, or the one that HALFTONE_ISA names if it runs here.
const Level* choose() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  const char* variable = std::getenv("HALFTONE_ISA");
  const std::string_view wanted = variable == nullptr ? "" : variable;
  const Level* best = nullptr;
  for (const Level& level : levels) {
    if (!level.runs_here()) continue;
    if (level.set.name == wanted) return &level;
    if (best == nullptr) best = &level;
  }
  if (best == nullptr) {
    const std::string oldest(std::rbegin(levels)->set.name);
    fail(ErrorKind::unsupported, {.what = "the library has no kernels for this processor",
                                  .expected = "x86-64-" + oldest + " or newer",
                                  .hint = "-Dinstruction_sets=v2,v3,v4 builds kernels for others"});
  }
  return best;
}

const InstructionSet& chosen() {
  static const Level* const level = choose();
  return level->set;
}

}  // namespace

Kernel find_kernel(const Descriptor& op, std::span<const ElementType> types) {
  return op.kernel != nullptr ? op.kernel(types) : Kernel{};
}

namespace detail {

template <class Op>
Kernel library_kernel(std::span<const ElementType> types) {
  Kernel kernel;
  constexpr int number = library_number<Op>;
  Finder find;
  if constexpr (compiled_once_op<Op>) {
    find = once[number % once_part_count];
  } else {
    find = chosen().parts[number % kernel_part_count];
  }
  find(number, types.data(), types.size(), &kernel);
  return kernel;
}

#define HALFTONE_INSTANTIATE(Struct, function) \
  template Kernel library_kernel<op::Struct>(std::span<const ElementType>);
#define HALFTONE_INSTANTIATE_OLD(Struct) HALFTONE_INSTANTIATE(Struct, )
HALFTONE_OPERATORS(HALFTONE_INSTANTIATE, HALFTONE_INSTANTIATE_OLD)
#undef HALFTONE_INSTANTIATE
#undef HALFTONE_INSTANTIATE_OLD

}  // namespace detail

std::string_view instruction_set() { return chosen().name; }

std::string packing_instructions() {
  std::string all(instruction_set());
  if (multiplies_bytes()) all += "+vnni";
  if (has_products_in(Precision::bfloat16)) all += "+bf16";
  if (multiplies_in_amx()) all += "+amx";
  return all;
}

std::int64_t float_lanes() {
  const std::string_view name = chosen().name;
  return name == "v4" ? 16 : name == "v3" ? 8 : 4;
}

bool multiplies_bytes() {
#if defined(__x86_64__)
  return chosen().name == std::string_view("v4") && __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

bool multiplies_in_amx() { return chosen().name == std::string_view("v4") && has_amx(); }

bool has_products_in([[maybe_unused]] Precision precision) {
#if defined(__x86_64__)
  const std::string_view name = chosen().name;
  if (precision == Precision::bfloat16) {
    if (name != "v4" || !__builtin_cpu_supports("avx512bf16")) return false;
    // Processors with AMX add pairs by vectors at half the rate of float32.
    return !__builtin_cpu_supports("amx-bf16") || has_amx();
  }
  if (precision == Precision::float16) return name == "v4" || name == "v3";
#endif
  return precision == Precision::float32;
}

}  // namespace halftone
