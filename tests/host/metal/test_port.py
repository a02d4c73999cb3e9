"""CUDA candidates become files that compile MSL, and give the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.hipify.metal import metal_of_cuda, metal_of_python
from kernelwright.port import RungStatus
from kernelwright.port.metal import port_to_metal

pytest.importorskip("tree_sitter_cuda")
pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))

ROWS = """
#include <torch/extension.h>
#define THREADS 128
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}
__device__ float block_sum(float v, float* parts) {
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? parts[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32) v = warp_sum(v);
    if (threadIdx.x == 0) parts[0] = v;
    __syncthreads();
    float all = parts[0];
    __syncthreads();
    return all;
}
__global__ void __launch_bounds__(THREADS) norm(const float* __restrict__ x, float* __restrict__ y,
                                                int columns, float eps) {
    __shared__ float parts[32];
    const float* row = x + blockIdx.x * columns;
    float sum = 0.f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i] * row[i];
    float scale = rsqrtf(block_sum(sum, parts) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += THREADS)
        y[blockIdx.x * columns + i] = row[i] * scale;
}
torch::Tensor rms(torch::Tensor x, double eps) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
    auto y = torch::empty_like(x);
    const int rows = x.numel() / x.size(-1), columns = x.size(-1);
    norm<<<rows, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns, eps);
    return y;
}
"""
DYNAMIC = """
__global__ void softmax(const float* x, float* y, int n) {
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[blockIdx.x * n + i];
    __syncthreads();
    float most = -INFINITY;
    for (int i = 0; i < n; ++i) most = fmaxf(most, row[i]);
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += expf(row[i] - most);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty({x.size(0), x.size(1)}, x.options());
    softmax<<<x.size(0), 64, x.size(1) * sizeof(float)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
TEMPLATE = """
template <typename scalar_t, int UNROLL>
__global__ void scale(const scalar_t* x, scalar_t* y, const float factor, const int64_t n) {
    int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * UNROLL;
    #pragma unroll
    for (int k = 0; k < UNROLL; ++k)
        if (i + k < n) y[i + k] = static_cast<scalar_t>(static_cast<float>(x[i + k]) * factor);
}
torch::Tensor run(torch::Tensor x) {
    auto in = x.contiguous();
    auto y = torch::zeros_like(in);
    int64_t n = in.numel();
    const int threads = 64;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(in.scalar_type(), "scale", ([&] {
        scale<scalar_t, 4><<<(n + threads * 4 - 1) / (threads * 4), threads>>>(
            in.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 3, n);
    }));
    return y;
}
"""
VECTORS = """
__global__ void add(const float* x, const float* y, float* out, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 a = reinterpret_cast<const float4*>(x)[i];
    const float4 b = ((const float4*)y)[i];
    float4* to = reinterpret_cast<float4*>(out) + i;
    *to = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, fmaxf(a.w + b.w, 0));
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    int n4 = x.numel() / 4;
    dim3 block(64), grid((n4 + block.x - 1) / block.x);
    add<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n4);
    return out;
}
"""
ATOMICS = """
constexpr int BINS = 8;
__global__ void count(const int* x, int* bins, float* total, unsigned int n) {
    __shared__ int own[BINS];
    if (threadIdx.x < BINS) own[threadIdx.x] = 0;
    __syncthreads();
    unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        atomicAdd(&own[x[i] % BINS], 1);
        atomicAdd(total, sqrtf(x[i]));
    }
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}
std::vector<torch::Tensor> run(torch::Tensor x) {
    auto bins = torch::zeros({BINS}, x.options());
    auto total = torch::zeros({1}, x.options().dtype(torch::kFloat32));
    count<<<2, 64>>>(x.data_ptr<int>(), bins.data_ptr<int>(), total.data_ptr<float>(), x.numel());
    return {bins, total};
}
"""
LOOP = """
__global__ void half_sums(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += x[i + n];
    n = 0;
}
torch::Tensor run(torch::Tensor x) {
    auto y = x.clone();
    for (int n = y.numel() / 2; n > 0; n /= 2) {
        half_sums<<<(n + 31) / 32, 32>>>(y.data_ptr<float>(), n);
    }
    if (y.numel() > 4) { return y.sum() * 0 + y[0]; } else return y[0];
}
"""


def ported(cuda: str) -> Any:
    """The class of the functions of a CUDA text, on the emulation."""
    translation = metal_of_cuda(cuda)
    assert not translation.unported, [str(finding) for finding in translation.unported]
    names: dict[str, Any] = {}
    real, torch.mps.compile_shader = torch.mps.compile_shader, compile_shader
    try:
        exec(translation.text.replace("is_mps", "is_cpu"), names)
        made = names["Extension"]
        if hasattr(made, "library"):
            made.library(16)
    finally:
        torch.mps.compile_shader = real
    return made


def test_reductions_by_shuffles_and_shared_memory() -> None:
    x = torch.randn(5, 300)
    wanted = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
    torch.testing.assert_close(ported(ROWS).rms(x, 1e-5), wanted)


def test_dynamic_shared_memory_is_compiled_for_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.mps, "compile_shader", compile_shader)
    x = torch.randn(3, 130)
    torch.testing.assert_close(ported(DYNAMIC).run(x), torch.softmax(x, -1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_templates_get_the_instances_that_are_launched(dtype: torch.dtype) -> None:
    x = torch.randn(7, 41).to(dtype)
    torch.testing.assert_close(ported(TEMPLATE).run(x), x * 3)


def test_vectors_of_four() -> None:
    x, y = torch.randn(2, 40), torch.randn(2, 40)
    wanted = x + y
    wanted.view(-1, 4)[:, 3].clamp_(min=0)
    torch.testing.assert_close(ported(VECTORS).run(x, y), wanted)


def test_atomics_in_both_memories() -> None:
    x = torch.randint(0, 50, (333,), dtype=torch.int32)
    bins, total = ported(ATOMICS).run(x)
    assert bins.tolist() == torch.bincount(x % 8, minlength=8).tolist()
    torch.testing.assert_close(total, x.float().sqrt().sum()[None])


def test_host_loops_and_branches() -> None:
    x = torch.randn(64)
    torch.testing.assert_close(ported(LOOP).run(x), x.sum())


CANDIDATE = '''"""A candidate."""
import torch
from torch.utils.cpp_extension import load_inline

source = r"""%s"""
extension = load_inline(
    name="rms", cpp_sources="torch::Tensor rms(torch::Tensor x, double eps);",
    cuda_sources=source, functions=["rms"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.rms(x.contiguous(), 1e-5)
'''
TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)

def get_inputs():
    return [torch.randn(4, 70)]

def get_init_inputs():
    return []
"""


def test_the_command_judges_the_port_for_its_task(tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_text(CANDIDATE % ROWS)
    (tmp_path / "task.py").write_text(TASK)
    words = ("port", "candidate.py", "--to", "metal", "--task", "task.py", "--json")
    command = [sys.executable, "-m", "kernelwright", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    rungs = {rung["name"]: rung["status"] for rung in told["files"][0]["rungs"]}
    assert rungs == {"lint": "passed", "compile": "passed", "emulate": "passed"}, told
    written = (tmp_path / told["files"][0]["written"]).read_text()
    assert "torch.mps.compile_shader(SOURCE)" in written
    assert "cpp_extension" not in written and "__global__" not in written


def test_a_wrong_port_fails_for_its_task(tmp_path: Path) -> None:
    from kernelwright.loaders import load

    (tmp_path / "task.py").write_text(TASK.replace("torch.rsqrt", "torch.sqrt"))
    (tmp_path / "candidate.py").write_text(CANDIDATE % ROWS)
    task = load(str(tmp_path / "task.py"))
    report = port_to_metal(tmp_path / "candidate.py", rungs=(2,), task=task)
    (rung,) = report.files[0].rungs
    assert rung.status is RungStatus.FAILED and "wrong_values" in rung.details[0]


def test_a_port_that_does_not_compile_fails_the_second_rung(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float* y, int n) { y[0] = no_such_function(n); }\n"
    )
    (rung,) = port_to_metal(tmp_path / "k.cu", rungs=(1,)).files[0].rungs
    assert rung.status is RungStatus.FAILED and "no_such_function" in rung.details[0]


def test_python_ports_keep_the_rest_of_the_file() -> None:
    text = (
        CANDIDATE % ROWS
    ) + '\nx = torch.randn(3, device="cuda").cuda()\ntorch.cuda.synchronize()\n'
    done = metal_of_python(text)
    assert done.text.startswith('"""A candidate."""\nimport functools\n')
    assert 'x = torch.randn(3, device="mps").to("mps")\ntorch.mps.synchronize()' in done.text
