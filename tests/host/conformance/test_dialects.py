"""The built-in dialects keep the contract that plugins must keep."""

from __future__ import annotations

from kernelwright.dialects.cpp import CppDialect
from kernelwright.dialects.cuda import CudaDialect
from kernelwright.dialects.hip import HipDialect
from kernelwright.dialects.library import TorchDialect
from kernelwright.dialects.metal import MetalDialect
from kernelwright.dialects.triton import TritonDialect
from kernelwright.testing.dialects import DialectContract
from kernelwright.testing.zoo import cases

CASES = {case.name: case for case in cases()}
TORCH, CPP, TRITON, CUDA = (
    CASES[name]
    for name in (
        "softmax_by_log_softmax",
        "cpp_online_softmax",
        "triton_softmax",
        "cuda_vector_loads",
    )
)
TEXTS = {case: case.candidate.source for case in (TORCH, CPP, TRITON, CUDA)}
HIP = '''
import torch
SOURCE = r"""
#include <hip/hip_runtime.h>
extern "C" __global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
"""
class ModelNew(torch.nn.Module): ...
'''
METAL = '''
import torch

LIBRARY = torch.mps.compile_shader("""
kernel void copy_relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
""")

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        LIBRARY.copy_relu(x, y)
        return y
'''
RELU = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return []
"""


def texts_but(*left_out: object) -> tuple[str, ...]:
    return tuple(text for case, text in TEXTS.items() if case not in left_out)


class TestTorch(DialectContract):
    dialect = TorchDialect()
    examples = (TEXTS[TORCH],)
    others = texts_but(TORCH)
    task = TORCH.load_task().source


class TestCpp(DialectContract):
    dialect = CppDialect()
    examples = (TEXTS[CPP],)
    others = texts_but(CPP)
    task = CPP.load_task().source


class TestTriton(DialectContract):
    dialect = TritonDialect()
    examples = (TEXTS[TRITON],)
    others = texts_but(TRITON)
    task = TRITON.load_task().source


class TestCuda(DialectContract):
    dialect = CudaDialect()
    examples = (TEXTS[CUDA],)
    others = texts_but(CUDA)
    task = CUDA.load_task().source


class TestHip(DialectContract):
    dialect = HipDialect()
    examples = (HIP,)
    others = texts_but()


class TestMetal(DialectContract):
    dialect = MetalDialect()
    examples = (METAL,)
    others = (*TEXTS.values(), HIP)
    task = RELU
