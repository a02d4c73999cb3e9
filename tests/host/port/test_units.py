"""Device code of several units: compiled separately, linked, run, or of the same name in each."""

import pytest
from tests.host.port.conftest import needs_amd

from kernelwright.dialects import nvidia
from kernelwright.port import RungStatus, port

SEPARATE = {
    "a.cu": """#include <cstdio>
#include "shared.h"
extern __device__ float scaled(float x);
extern __constant__ float factor;
extern __device__ int calls;
void set(float f);
__device__ float own(float x) { return x + 1; }
__global__ void k(float* x) { x[threadIdx.x] = own(scaled(x[threadIdx.x])) * factor; }
int main() {
  float h[4] = {1, 2, 3, 4}, *d;
  int n = 0;
  set(2.0f);
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 4>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&n, calls, sizeof n);
  printf("%g %g %d\\n", h[0], h[3], n);
}
""",
    "b.cu": """#include <cuda_runtime.h>
#include "shared.h"
__constant__ float factor;
__device__ int calls;
__device__ float scaled(float x) {
  atomicAdd(&calls, 1);
  return x * 10 + table[0];
}
void set(float f) {
  cudaMemcpyToSymbol(factor, &f, sizeof f);
}
""",
    "shared.h": """#pragma once
static __device__ float table[2] = {0.5f, 1.0f};
""",
}
"""A kernel that calls a function and reads variables of another unit (``-rdc=true``)."""
OF_EACH = {
    "a.cu": """#include <cstdio>
#include "t.h"
static __device__ float f(float x) { return x + limits[0]; }
__constant__ int c = 3;
int other();
__global__ void k(float* x) { *x = f(c); }
int main() {
  float h, *d;
  cudaMalloc(&d, 4);
  k<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  printf("%g %d\\n", h, other());
}
""",
    "b.cu": """#include "t.h"
static __device__ float f(float x) { return x * limits[1]; }
__constant__ int c = 5;
__global__ void k2(float* x) { *x = f(c); }
int other() {
  float h, *d;
  cudaMalloc(&d, 4);
  k2<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  return h;
}
""",
    "t.h": """#include <cuda_runtime.h>
__device__ float limits[2] = {1, 2};
""",
}
"""Device variables that two units call alike, each meaning its own."""


def rungs(folder, files, *numbers):
    for name, text in files.items():
        (folder / name).write_text(text)
    report = port(folder, rungs=numbers, targets=("gfx942",))
    return {rung.name: rung for rung in report.files[0].rungs}


@pytest.mark.parametrize(("files", "n_values"), [(SEPARATE, 3), (OF_EACH, 2)])
def test_units_with_device_code_are_linked_and_run(files, n_values, tmp_path):
    rung = rungs(tmp_path, files, 2)["emulate"]
    assert rung.status is RungStatus.PASSED, rung.details
    assert rung.values == (("the output", n_values),)
    assert set(rung.units) == {"a.hip", "b.hip"}


@needs_amd
def test_a_unit_that_calls_device_code_of_another_is_compiled_with_it(tmp_path):
    rung = rungs(tmp_path, SEPARATE, 1)["compile"]
    assert rung.status is RungStatus.PASSED, rung.details
    assert any("k" in kernel.kernel for _, kernel in rung.resources)


@needs_amd
def test_device_code_that_no_unit_has_is_a_fault(tmp_path):
    rung = rungs(tmp_path, {"a.cu": SEPARATE["a.cu"], "shared.h": SEPARATE["shared.h"]}, 1)
    assert rung["compile"].status is RungStatus.FAILED


@pytest.mark.skipif(nvidia.nvcc_missing() is not None, reason="no nvcc")
@pytest.mark.parametrize("files", [SEPARATE, OF_EACH])
def test_several_units_are_built_by_nvcc_and_run_where_there_is_a_gpu(files, tmp_path):
    rung = rungs(tmp_path, files, 3)["nvidia"]
    if nvidia.gpu_missing() is None:
        assert rung.status is RungStatus.PASSED, rung.details
        assert set(rung.units) == {"a.hip", "b.hip"}
    else:
        assert "the port compiles through the header layer" in rung.details[0], rung.details
