"""Speed of the emulation: threads, barrier crossings and warp collectives a second, one core.

    python benchmarks/port_simt.py

Each kernel is run without and with checks (bounds, races, uninitialised memory), beside the same
arithmetic as a plain C++ loop.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernelwright.dialects.simt import machine

PROGRAM = """#include <cstdio>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vector>
#include <hip/hip_runtime.h>
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void cross(float* c, int rounds) {
  for (int r = 0; r < rounds; ++r) __syncthreads();
  if (threadIdx.x == 0) c[0] = rounds;
}
__global__ void shuffle(float* c, int rounds) {
  float v = threadIdx.x;
  for (int r = 0; r < rounds; ++r) v += __shfl_xor(v, 1, 32);
  if (threadIdx.x == 0) c[0] = v;
}
// The process's own time, by the system call: the emulation's clocks advance by equal steps.
double now() {
  timespec at;
  syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &at);
  return at.tv_sec + at.tv_nsec * 1e-9;
}
template <typename F> double seconds(F f) {
  const double start = now();
  f();
  return now() - start;
}
int main() {
  const int n = 1 << 21;
  float *a, *b, *c;
  hipMalloc(&a, n * 4), hipMalloc(&b, n * 4), hipMalloc(&c, n * 4);
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 1;
  double add_s = seconds([&] { add<<<n / 256, 256>>>(a, b, c, n); });
  double cross_s = seconds([&] { cross<<<1, 256>>>(c, 2000); });
  double shuffle_s = seconds([&] { shuffle<<<1, 256>>>(c, 2000); });
  std::vector<float> x(n, 1), y(n, 2), z(n);
  double loop_s = seconds([&] { for (int i = 0; i < n; ++i) z[i] = x[i] + y[i]; });
  printf("%.1f M threads/s, %.1f M barrier crossings/s, %.1f M collectives/s, "
         "plain loop %.0f M/s (%g)\\n",
         n / add_s / 1e6, 256 * 2000 / cross_s / 1e6, 256 * 2000 / shuffle_s / 1e6,
         n / loop_s / 1e6, (double)z[7]);
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for is_checked in (False, True):
            program = machine.build(PROGRAM, folder=Path(folder), is_checked=is_checked)
            run = machine.run(program, how=machine.Running(limit_s=300))
            print("checked" if is_checked else "unchecked", run.output.strip())


if __name__ == "__main__":
    main()
