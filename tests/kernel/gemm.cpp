#include <doctest/doctest.h>

#include <halftone/base/bfloat16.hpp>
#include <halftone/base/half.hpp>
#include <halftone/kernel/gemm.hpp>
#include <utility>
#include <vector>

// Expected values come from the definition, three loops in double (64-bit integers for integers)
// over small multiples of 1/8: all sums are exact in float, so equality is exact too.

namespace {

using namespace halftone::kernel;

template <class T>
std::vector<T> numbers(std::int64_t n, unsigned seed, int range = 4) {
  std::vector<T> v(n);
  for (T& x : v) {
    seed = seed * 1664525 + 1013904223;
    const int i = int(seed >> 16) % (2 * range + 1) - range;
    x = std::is_integral_v<T> ? T(i) : T(float(i) / 8);
  }
  return v;
}

struct Memory {
  explicit Memory(std::int64_t bytes) : bytes_(bytes), store_(bytes + 128, char(0x5a)) {}
  char* data() {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(store_.data()) + 63) / 64 *
                                   64);
  }
  /// Whether nothing wrote behind the end.
  bool whole() {
    for (int i = 0; i < 64; ++i) {
      if (data() + bytes_ + i < store_.data() + store_.size() && data()[bytes_ + i] != 0x5a) {
        return false;
      }
    }
    return true;
  }
  std::int64_t bytes_;
  std::vector<char> store_;
};

/// A matrix of any strides: rows, columns or (every other element) neither contiguous.
enum class Form { rows, columns, neither };

template <class T>
struct Operand {
  Operand(std::int64_t rows, std::int64_t columns, Form form, unsigned seed)
      : store(numbers<T>(2 * (rows + 1) * (columns + 1), seed)),
        view{store.data(), rows, columns, columns + 1, 1} {
    if (form == Form::columns) view = {store.data(), rows, columns, 1, rows + 1};
    if (form == Form::neither) view = {store.data(), rows, columns, 2 * columns, 2};
  }
  std::vector<T> store;
  Matrix<const T> view;
};

template <class T>
std::vector<T> reference(Matrix<const T> a, Matrix<const T> b, const Epilogue<T>& e) {
  using R = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  std::vector<T> y;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      R sum = 0;
      for (std::int64_t q = 0; q < a.columns; ++q) sum += R(a(i, q)) * R(b(q, j));
      sum *= R(e.alpha);
      if (e.addend) {
        sum += R(e.beta) * R(e.addend[i * e.addend_row_stride + j * e.addend_column_stride]);
      }
      if (e.residual) {
        sum += R(e.residual[i * e.residual_row_stride + j * e.residual_column_stride]);
      }
      if (e.clamp) sum = sum < R(e.lower) ? R(e.lower) : sum > R(e.upper) ? R(e.upper) : sum;
      y.push_back(T(sum));
    }
  }
  return y;
}

/// An executor of two threads that runs the tasks in reverse order.
void reversed(void*, std::int64_t count, Executor::Task task, void* context) {
  for (std::int64_t i = count; i-- > 0;) task(context, i);
}

/// The last three, for float alone, hold operands in 16 bits.
enum class Way { plain, packed_a, packed_b, pairs, packed_pairs, packed_halves };

template <class T>
std::vector<Way> ways() {
  std::vector<Way> all{Way::plain, Way::packed_a, Way::packed_b};
  if (std::is_same_v<T, float>) {
    if (detail::multiplies_pairs()) all.insert(all.end(), {Way::pairs, Way::packed_pairs});
    if (detail::has_tiles<float, halftone::half>) all.push_back(Way::packed_halves);
  }
  return all;
}

/// b packed as elements W, and the product with it.
template <class W>
void multiply_packed_as(Matrix<const float> a, Matrix<const float> b, Matrix<float> y,
                        const Epilogue<float>& e, const Executor& executor) {
  if constexpr (detail::has_tiles<float, W>) {
    Memory workspace(gemm_workspace_bytes<float, W>(a.rows, b.columns, a.columns, Packed::b));
    Memory right(packed_b_bytes<float, W>(b.rows, b.columns));
    gemm<float, W>(a, pack_b<W>(b, right.data()), y, e, workspace.data(), executor);
    CHECK(workspace.whole());
    CHECK(right.whole());
  }
}

template <class T>
std::vector<T> run(Matrix<const T> a, Matrix<const T> b, const Epilogue<T>& e, Way way,
                   const Executor& executor = {}, std::int64_t gap = 3) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const Packed packed = way == Way::plain      ? Packed::none
                        : way == Way::packed_a ? Packed::a
                                               : Packed::b;
  Memory workspace(gemm_workspace_bytes<T>(m, n, k, packed));
  Memory left(packed_a_bytes<T>(m, k)), right(packed_b_bytes<T>(k, n));
  std::vector<T> y(m * (n + gap) + 1, T(99));
  const Matrix<T> out{y.data(), m, n, n + gap, 1};
  if (way == Way::plain) gemm(a, b, out, e, workspace.data(), executor);
  if (way == Way::packed_a) {
    gemm(pack_a(a, left.data()), b, out, e, workspace.data(), executor);
  }
  if (way == Way::packed_b) {
    gemm(a, pack_b(b, right.data()), out, e, workspace.data(), executor);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (way == Way::packed_pairs) multiply_packed_as<BfloatPair>(a, b, out, e, executor);
    if (way == Way::packed_halves) multiply_packed_as<halftone::half>(a, b, out, e, executor);
    if (way == Way::pairs) {
      Memory rounded(gemm_workspace_bytes<float, BfloatPair>(m, n, k));
      gemm_in_bfloat16(a, b, out, e, rounded.data(), executor);
      CHECK(rounded.whole());
    }
  }
  CHECK(workspace.whole());
  CHECK(left.whole());
  CHECK(right.whole());
  std::vector<T> dense;
  bool kept = true;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) dense.push_back(out(i, j));
    for (std::int64_t j = n; j < n + gap; ++j) kept = kept && out(i, j) == T(99);
  }
  CHECK(kept);
  return dense;
}

template <class T>
std::int64_t differences(const std::vector<T>& a, const std::vector<T>& b) {
  std::int64_t count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

struct Size {
  std::int64_t m, n, k;
};

template <class T>
void check(Size size, int form) {
  const auto [m, n, k] = size;
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(form);
  const auto bias = numbers<T>(n, 3, 30), column = numbers<T>(m, 4, 30);
  const auto full = numbers<T>(m * n, 5, 30);
  Epilogue<T> e;
  if (form == 1) {  // bias per column and Relu
    e.addend = bias.data();
    e.addend_row_stride = 0;
    e.clamp = true, e.lower = 0, e.upper = 1000;
  }
  if (form == 2) {  // Gemm
    e.alpha = 2, e.beta = 3;
    e.addend = full.data();
    e.addend_row_stride = n;
  }
  if (form == 3) {  // everything
    e.addend = column.data();
    e.addend_row_stride = 1, e.addend_column_stride = 0;
    e.residual = full.data();
    e.residual_row_stride = n;
    e.clamp = true, e.lower = 1, e.upper = 5;
  }
  const Form forms[] = {Form::rows, Form::columns, Form::neither};
  for (const Form left : forms) {
    for (const Form right : forms) {
      const Operand<T> a(m, k, left, 1), b(k, n, right, 2);
      const auto expected = reference(a.view, b.view, e);
      CAPTURE(int(left));
      CAPTURE(int(right));
      for (const Way way : ways<T>()) {
        CAPTURE(int(way));
        const auto y = run(a.view, b.view, e, way);
        CHECK(differences(y, expected) == 0);
        CHECK(differences(y, run(a.view, b.view, e, way, {2, reversed, nullptr})) == 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE("gemm equals its definition", T, float, double, halftone::half,
                   halftone::bfloat16, std::int32_t) {
  const Size sizes[] = {{1, 1, 1},    {1, 40, 33},   {40, 1, 33},  {3, 5, 7},
                        {7, 16, 1},   {16, 16, 16},  {13, 33, 29}, {14, 32, 64},
                        {15, 64, 3},  {29, 100, 17}, {6, 130, 50}, {31, 31, 31},
                        {64, 64, 64}, {5, 3, 0},     {65, 2, 40},  {1, 300, 97}};
  for (const Size& size : sizes) {
    for (int form = 0; form < 4; ++form) check<T>(size, form);
  }
}

TEST_CASE_TEMPLATE("gemm of several blocks equals its definition", T, float, double) {
  check<T>({300, 70, 1100}, 3);  // more rows than are packed at once, several pieces of k
  check<T>({130, 200, 410}, 1);
  check<T>({20, 70, 2100}, 2);
  check<T>({15, 1100, 77}, 3);
  check<T>({3, 300, 800}, 3);
}

TEST_CASE("nothing to do") {
  for (const Size& size : {Size{0, 5, 4}, Size{5, 0, 4}}) check<float>(size, 0);
}

TEST_CASE("integers of 8 bits wrap around") {
  const std::vector<std::uint8_t> a(10, 200), b(10, 3);
  std::uint8_t y = 0;
  gemm(row_major(a.data(), 1, 10), row_major(b.data(), 10, 1), row_major(&y, 1, 1), {}, nullptr);
  CHECK(y == std::uint8_t(6000 % 256));
}

TEST_CASE("a row of a batch equals the same row alone, bit for bit") {
  // The law behind the fixed order of summation: where b's rows are contiguous every element is
  // one chain over ascending k, whichever path computes it.
  const std::int64_t k = 777, n = 200;
  std::vector<float> a(200 * k), b(k * n);
  unsigned seed = 9;
  for (auto* v : {&a, &b}) {
    for (float& x : *v) {
      seed = seed * 1664525 + 1013904223;
      x = float(std::int32_t(seed)) * 0x1p-31f;
    }
  }
  const auto rows = [&](std::int64_t m, Way way) {
    return run<float>(row_major<const float>(a.data(), m, k),
                      row_major<const float>(b.data(), k, n), {}, way);
  };
  const auto all = rows(200, Way::plain);
  for (const std::int64_t m : {1, 4, 6, 20, 150}) {
    for (const Way way : {Way::plain, Way::packed_b}) {
      const auto some = rows(m, way);
      CHECK(differences(some, {all.begin(), all.begin() + m * n}) == 0);
    }
  }
}

std::vector<float> uniform(std::int64_t n, unsigned seed) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) {
    seed = seed * 1664525 + 1013904223;
    x = float(std::int32_t(seed)) * 0x1p-31f;
  }
  return v;
}

TEST_CASE("products in 16 bits are those of rounded operands, summed in float") {
  // The reference sums products of operands that base/ has rounded in double. A float sum of k terms is
  // off by at most k units in the last place of the sum of magnitudes.
  const auto check_rounded = [](std::int64_t m, std::int64_t n, std::int64_t k, Way way, auto left,
                                auto right) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(int(way));
    const auto a = uniform(m * k, 1), b = uniform(k * n, 2);
    const auto y = run<float>(row_major(a.data(), m, k), row_major(b.data(), k, n), {}, way);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitudes = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          const double product = double(left(a[i * k + q])) * double(right(b[q * n + j]));
          sum += product;
          magnitudes += product < 0 ? -product : product;
        }
        const double error = double(y[i * n + j]) - sum;
        wrong += !(error <= double(k) * 0x1p-24 * magnitudes) ||
                 !(error >= -double(k) * 0x1p-24 * magnitudes);
      }
    }
    CHECK(wrong == 0);
  };
  const auto as_bfloat16 = [](float x) { return float(halftone::bfloat16(x)); };
  const auto as_half = [](float x) { return float(halftone::half(x)); };
  const auto as_is = [](float x) { return x; };
  for (const auto& [m, n, k] : {Size{1, 40, 77}, Size{3, 33, 200}, Size{30, 70, 63}}) {
    for (const Way way : ways<float>()) {
      if (way == Way::packed_halves) check_rounded(m, n, k, way, as_is, as_half);
      if (way == Way::pairs || way == Way::packed_pairs) {
        check_rounded(m, n, k, way, as_bfloat16, as_bfloat16);
      }
    }
  }
}

#if HALFTONE_AVX512
// The law: pairs of what pack_strip packs, rounded one by one.
TEST_CASE("pairs are packed as their terms are") {
  if (!detail::multiplies_pairs()) return;
  std::vector<float> x(9000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i) * 0.37f - 900;
  for (const auto& [stride, step] : {std::pair{70, 1}, {1, 48}, {3, 160}, {1, 1}}) {
    for (const std::int64_t width : {7, 16, 32, 48}) {
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{5}, width - 1, width}) {
        for (const std::int64_t terms : {1, 2, 15, 32, 47}) {
          CAPTURE(stride);
          CAPTURE(width);
          CAPTURE(count);
          CAPTURE(terms);
          const std::int64_t pairs = (terms + 1) / 2;
          std::vector<float> strip(std::size_t(2 * pairs * width));
          detail::pack_strip(x.data(), stride, step, count, terms, strip.data(), width);
          std::vector<BfloatPair> packed(std::size_t(pairs * width + 1), BfloatPair{99});
          detail::pack_narrow(x.data(), stride, step, count, terms, packed.data(), width);
          bool same = packed.back().bits == 99;
          for (std::int64_t i = 0; i < pairs * width; ++i) {
            const float* const first = strip.data() + i / width * 2 * width + i % width;
            const std::uint32_t low = halftone::bfloat16(first[0]).bits;
            const std::uint32_t high = halftone::bfloat16(first[width]).bits;
            same = same && packed[std::size_t(i)].bits == (low | high << 16);
          }
          CHECK(same);
        }
      }
    }
  }
}
#endif

TEST_CASE("a product in bfloat16 of blocks equals its definition") {
  if (!detail::multiplies_pairs()) return;
  // Numbers that bfloat16 holds have exact sums, in whatever order. Sizes: pieces of k, their last steps,
  // groups of rows, panels of one vector.
  for (const Size& size : {Size{70, 70, 1100}, Size{300, 50, 70}, Size{33, 100, 2100}}) {
    const auto [m, n, k] = size;
    CAPTURE(m);
    for (const Form form : {Form::rows, Form::columns, Form::neither}) {
      CAPTURE(int(form));
      const Operand<float> a(m, k, form, 1), b(k, n, Form::rows, 2);
      const auto expected = reference(a.view, b.view, Epilogue<float>{});
      for (const Way way : {Way::pairs, Way::packed_pairs}) {
        CHECK(differences(run(a.view, b.view, Epilogue<float>{}, way), expected) == 0);
      }
    }
  }
}

TEST_CASE("a row's sums in AMX's registers are those of a product of fewer rows, bit for bit") {
  // From two rows on: vectors sum up one. (Tiles of vectors have two chains where they are small.)
  if (!detail::multiplies_in_amx()) return;
  for (const Size& size : {Size{70, 70, 1100}, Size{300, 50, 70}, Size{33, 100, 2100}}) {
    const auto [m, n, k] = size;
    CAPTURE(m);
    const auto left = uniform(m * k, 1), right = uniform(k * n, 2);
    const auto bias = uniform(n, 3);
    Epilogue<float> with_bias;
    with_bias.addend = bias.data();
    for (const Epilogue<float>& e : {Epilogue<float>{}, with_bias}) {
      const auto rows = [&](std::int64_t count, Way way) {
        return run<float>(row_major(left.data(), count, k), row_major(right.data(), k, n), e, way);
      };
      const auto all = rows(m, Way::pairs);
      for (const std::int64_t count : {2, 15, 31, 32, 47}) {
        if (count > m) continue;
        CAPTURE(count);
        for (const Way way : {Way::pairs, Way::packed_pairs}) {
          CHECK(differences(rows(count, way), {all.begin(), all.begin() + count * n}) == 0);
        }
      }
    }
  }
}

TEST_CASE("registers of AMX take runs in equal parts where these are half full at least") {
  using detail::amx_steps_of;
  CHECK(amx_steps_of(16) == 16);
  CHECK(amx_steps_of(14) == 14);  // a row of seven taps of two pairs
  CHECK(amx_steps_of(22) == 11);
  CHECK(amx_steps_of(40) == 10);  // three parts would not be equal
  CHECK(amx_steps_of(17) == 16);  // one step is left over
  CHECK(amx_steps_of(0) == 16);
}

TEST_CASE("values that 16 bits do not hold: NaN, infinity, subnormal and large numbers") {
  const float infinity = __builtin_inff(), nan = __builtin_nanf("");
  for (const Way way : ways<float>()) {
    if (way < Way::pairs) continue;
    CAPTURE(int(way));
    for (const std::size_t rows : {1, 3}) {
      CAPTURE(rows);
      const auto product = [&](float a, float b) {
        std::vector<float> left(rows * 20, 0.f), right(20 * 8, 0.f);
        left[(rows - 1) * 20 + 7] = a;
        for (int j = 0; j < 8; ++j) right[7 * 8 + std::size_t(j)] = b;
        return run<float>(row_major<const float>(left.data(), std::int64_t(rows), 20),
                          row_major<const float>(right.data(), 20, 8), {}, way)[(rows - 1) * 8 + 5];
      };
      CHECK(product(2, infinity) == infinity);
      CHECK(product(-2, infinity) == -infinity);
      CHECK(product(nan, 1) != product(nan, 1));
      CHECK(product(1, nan) != product(1, nan));
      if (way == Way::packed_halves) {
        CHECK(product(1, 65504) == 65504);
        CHECK(product(1, 65520) == infinity);  // half way to the next power of two
      } else {
        CHECK(product(0x1p-130f, 1) == 0);
        CHECK(product(1, 0x1p-130f) == 0);
        CHECK(product(0x1p127f, 0x1p-126f) == 2);
      }
    }
  }
}

struct Sum {
  std::int64_t elements = 0;
};

TEST_CASE("the hook sees every element once, after everything else") {
  for (const Size& size : {Size{1, 100, 50}, Size{100, 1, 50}, Size{20, 50, 30}, Size{300, 77, 500},
                           Size{64, 64, 64}}) {
    const auto [m, n, k] = size;
    CAPTURE(m);
    CAPTURE(n);
    const Operand<float> a(m, k, Form::rows, 1), b(k, n, Form::rows, 2);
    Epilogue<float> e;
    e.clamp = true, e.lower = -1, e.upper = 1;
    const auto plain = run(a.view, b.view, e, Way::plain);
    Sum sum;
    e.context = &sum;
    e.post = [](void* context, float* block, std::int64_t row, std::int64_t column,
                std::int64_t rows, std::int64_t columns, std::int64_t ld) {
      static_cast<Sum*>(context)->elements += rows * columns;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          block[i * ld + j] += float((row + i) * 1000 + column + j);
        }
      }
    };
    const auto y = run(a.view, b.view, e, Way::plain);
    CHECK(sum.elements == m * n);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m * n; ++i) {
      wrong += y[i] == plain[i] + float(i / n * 1000 + i % n) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("NaN passes the clamp") {
  const float nan = __builtin_nanf("");
  const std::vector<float> a(16 * 20, nan), b(20 * 32, 1.0f);
  Epilogue<float> e;
  e.clamp = true, e.lower = 0, e.upper = 6;
  for (const std::int64_t m : {1, 16}) {
    for (const Way way : {Way::plain, Way::packed_b}) {
      const auto y = run<float>(row_major(a.data(), m, 20), row_major(b.data(), 20, 32), e, way);
      for (const float v : y) CHECK(v != v);
    }
  }
}

}  // namespace
