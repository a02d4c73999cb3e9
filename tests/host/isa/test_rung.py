"""Rung 5: programs whose kernels run as instructions of gfx1100."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.bench.port_bench import chosen
from kernelwright.dialects.amdgpu import compile_missing
from kernelwright.isa import isa_missing
from kernelwright.port import PortOptions, RungStatus, port_with

LACKS = isa_missing() or compile_missing()
pytestmark = pytest.mark.skipif(LACKS is not None, reason=str(LACKS))
PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
__device__ int total;
__constant__ int factor[2];
__global__ void add(const int* in, float4* out, int n, char step) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sum, in[i] * factor[i % 2] + step);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&total, sum), out[blockIdx.x] = make_float4(sum, 1, 2, 3);
}
int main() {
  const int n = 100;
  int host[n], got, factors[2] = {2, 3}, *in;
  float4 out[2], *place;
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMalloc(&in, sizeof host), cudaMalloc(&place, sizeof out);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(factor, factors, sizeof factors);
  add<<<2, 64>>>(in + OFFSET, place, n, 1);
  cudaMemcpyFromSymbol(&got, total, sizeof got);
  cudaMemcpy(out, place, sizeof out, cudaMemcpyDeviceToHost);
  printf("%d %g %g\\n", got, out[0].x, out[1].w);
}
"""


def test_a_port_runs_as_instructions_and_leaves_what_the_original_leaves(tmp_path: Path) -> None:
    source = tmp_path / "sum.cu"
    source.write_text(PROGRAM.replace("OFFSET", "0"))
    report = port_with(source, PortOptions(targets=("gfx1100",), rungs=(5,)))
    (rung,) = report.files[0].rungs
    assert rung.status is RungStatus.PASSED, rung.details
    assert "instructions of gfx1100 in 1 kernels" in rung.details[0]
    assert report.is_done


def test_an_access_outside_of_allocations_fails_the_rung(tmp_path: Path) -> None:
    source = tmp_path / "sum.cu"
    source.write_text(PROGRAM.replace("OFFSET", "4096"))
    (rung,) = port_with(source, PortOptions(targets=("gfx1100",), rungs=(5,))).files[0].rungs
    assert rung.status is RungStatus.FAILED
    assert "out-of-bounds: 4 bytes" in rung.details[0] and "global_load_b32" in rung.details[0]


@pytest.mark.slow
def test_reductions_of_tiles_return_values(tmp_path: Path) -> None:
    """A helper of the port returned a reference to its parameter; clang then drops the kernel."""
    (program,) = chosen(["groups_reduce_operations"])
    source = tmp_path / "reduce.cu"
    source.write_text(program.source)
    (rung,) = port_with(source, PortOptions(targets=("gfx1100",), rungs=(5,))).files[0].rungs
    assert rung.status is RungStatus.PASSED, rung.details
