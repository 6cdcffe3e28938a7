// Rates of the matrix products, one thread, as shares of the peak measured in the same run.
#include <halftone/base/bfloat16.hpp>
#include <halftone/base/half.hpp>
#include <halftone/kernel/gemm.hpp>

#include "measure.hpp"

namespace {

using namespace halftone::kernel;

template <class T>
void product(const char* type, const char* form, std::int64_t m, std::int64_t n, std::int64_t k,
             bool packed, bool bias = false) {
  bench::Buffer<T> a(m * k), b(k * n), y(m * n), c(n);
  a.randomize(1), b.randomize(2), c.randomize(3);
  const bool a_turned = form[0] == 't', b_turned = form[1] == 't';
  const Matrix<const T> left{a.data(), m, k, a_turned ? 1 : k, a_turned ? m : 1};
  const Matrix<const T> right{b.data(), k, n, b_turned ? 1 : n, b_turned ? k : 1};
  Epilogue<T> epilogue;
  if (bias) epilogue.addend = c.data(), epilogue.clamp = true, epilogue.upper = 1000;
  bench::Buffer<char> workspace(
      gemm_workspace_bytes<T>(m, n, k, packed ? Packed::b : Packed::none));
  bench::Buffer<char> storage(packed_b_bytes<T>(k, n));
  const PackedB<T> weights = pack_b(right, storage.data());
  const Matrix<T> out = row_major(y.data(), m, n);
  char name[100];
  std::snprintf(name, sizeof(name), "gemm %lldx%lldx%lld %s %s%s%s", (long long)m, (long long)n,
                (long long)k, type, form, packed ? " packed" : "", bias ? " bias relu" : "");
  const auto run = [&] {
    packed ? gemm(left, weights, out, epilogue, workspace.data())
           : gemm(left, right, out, epilogue, workspace.data());
  };
  if (m == 1) {
    static const bench::Buffer<float> large(std::int64_t{1} << 25, 1.0f);
    const double bytes = double(k) * double(n) * double(sizeof(T));
    if (bytes > 3e7) {
      bench::report(
          name, "GB/s   ", "memory", 1e-9 * bytes, run, [] { return bench::read_rate(large); },
          0.6);
    } else {
      const bench::Buffer<float> same(k * n, 1.0f);
      bench::report(name, "GB/s   ", "reading as much", 1e-9 * bytes, run,
                    [&] { return bench::read_rate(same); });
    }
  } else {
    bench::report(name, "GFLOP/s", "peak", 2e-9 * double(m) * double(n) * double(k), run,
                  bench::fma_rate<compute_t<T>>);
  }
}

}  // namespace

int main() {
  for (const std::int64_t n : {16, 32, 64, 96, 128, 256, 512, 1024}) {
    product<float>("float", "nn", n, n, n, false);
    product<float>("float", "nt", n, n, n, false);
    product<float>("float", "nn", n, n, n, true);
  }
  product<float>("float", "tn", 1024, 1024, 1024, false);
  product<float>("float", "nn", 100, 100, 100, false);
  product<float>("float", "nn", 64, 64, 64, false, true);
  product<float>("float", "nn", 4096, 768, 768, true);
  product<float>("float", "nn", 4096, 768, 768, false);
  product<float>("float", "nn", 128, 768, 768, true);
  product<float>("float", "nn", 128, 768, 768, true, true);
  product<float>("float", "nn", 128, 3072, 768, true);
  product<float>("float", "nn", 128, 768, 3072, true);
  product<float>("float", "nt", 128, 128, 64, false);
  product<float>("float", "nn", 128, 64, 128, false);
  product<float>("float", "nn", 4, 4096, 9216, true);
  product<float>("float", "nn", 4, 4096, 9216, false);
  product<float>("float", "nn", 16, 1024, 1024, true);
  product<float>("float", "nn", 1, 4096, 9216, false);
  product<float>("float", "nt", 1, 4096, 9216, false);
  product<float>("float", "nn", 1, 4096, 9216, true);
  product<float>("float", "nn", 1, 1024, 1024, false);
  product<float>("float", "nt", 1, 1024, 1024, false);
  product<float>("float", "nn", 1, 1024, 256, false);
  product<float>("float", "nt", 1, 1024, 256, false);
  product<float>("float", "nn", 1, 1024, 256, true);
  product<double>("double", "nn", 512, 512, 512, false);
  product<halftone::half>("half", "nn", 512, 512, 512, false);
  product<halftone::half>("half", "nn", 512, 512, 512, true);
  product<halftone::bfloat16>("bfloat16", "nn", 512, 512, 512, true);
}
