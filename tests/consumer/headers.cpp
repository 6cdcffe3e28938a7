// A program of somebody else's that links nothing and is built without exceptions: a product of two
// matrices by the kernels.
#include <halftone/base/bfloat16.hpp>
#include <halftone/base/half.hpp>
#include <halftone/kernel/gemm.hpp>

int main() {
  const halftone::half h{1.5F};
  const halftone::bfloat16 b{1.5F};
  if (static_cast<float>(h) != static_cast<float>(b)) return 1;

  namespace kernel = halftone::kernel;
  alignas(64) float a[6]{1, 2, 3, 4, 5, 6}, x[6]{1, 0, 0, 1, 1, 1}, y[4];
  alignas(64) static char workspace[1 << 20];
  if (kernel::gemm_workspace_bytes<float>(2, 2, 3) > 1 << 20) return 2;
  kernel::gemm<float>(kernel::row_major<const float>(a, 2, 3),
                      kernel::row_major<const float>(x, 3, 2), kernel::row_major(y, 2, 2), {},
                      workspace);
  return y[0] == 4 && y[1] == 5 && y[2] == 10 && y[3] == 11 ? 0 : 3;
}
