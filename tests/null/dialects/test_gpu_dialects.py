"""The triton and cuda dialects: what they recognise, and what they say is missing."""

from __future__ import annotations

import ast
import importlib.util

import pytest
from tests.emitters import source
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.core.device import Device
from kernelwright.core.errors import DialectError
from kernelwright.dialects.cpp import CppDialect
from kernelwright.dialects.cuda import CudaDialect
from kernelwright.dialects.triton import TritonDialect
from kernelwright.dialects.usable import run_as, usable_dialects

CPU = Device.parse("cpu")
INLINE = "from torch.utils.cpp_extension import load_inline\nload_inline('x', cuda_sources='')\n"
FILE = "from torch.utils.cpp_extension import load\nload('x', ['a.cpp', 'kernels.cu'])\n"


@pytest.mark.parametrize(
    ("text", "triton", "cuda"),
    [
        ("import triton\n", True, False),
        ("from triton import language as tl\n", True, False),
        (INLINE, False, True),
        (FILE, False, True),
        ("import torch\ntorch.cuda._compile_kernel('', 'f')\n", False, True),
        ("import cupy\ncupy.RawKernel('', 'f')\n", False, True),
        ("import ctypes\nctypes.CDLL('libcuda.so.1')\n_compile_kernel('', 'f')\n", False, True),
        ("import torch\ntorch.load('x')\n", False, False),
    ],
    ids=["triton", "triton_language", "inline", "file", "nvrtc", "cupy", "driver", "neither"],
)
def test_recognises(text, triton, cuda):
    tree = ast.parse(text)
    assert TritonDialect().recognises(tree) is triton
    assert CudaDialect().recognises(tree) is cuda
    assert not (CppDialect().recognises(tree) and cuda)


def test_an_emitted_cuda_file_is_recognised_as_cuda_alone():
    program, emitter, target = CASES["softmax_short"](), CudaEmitter(), Target("cuda:sm_90")
    schedule = next(iter(emitter.schedules(program, target)))
    tree = ast.parse(source(program, emitter.emit(program, schedule, target)))
    assert CudaDialect().recognises(tree)
    assert not CppDialect().recognises(tree)
    assert not TritonDialect().recognises(tree)


def test_triton_on_the_cpu_is_the_interpreter_and_is_not_timed():
    dialect = TritonDialect()
    assert not dialect.is_timed(CPU)
    assert dialect.environment(CPU)["TRITON_INTERPRET"] == "1"
    assert "TRITON_INTERPRET" not in dialect.environment(Device.parse("cuda:sm_90"))


def test_triton_without_its_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install" in TritonDialect().missing(CPU)


def test_cuda_needs_an_nvidia_gpu():
    assert "--device cuda" in CudaDialect().missing(CPU)
    assert "NVIDIA" in CudaDialect().missing(Device.parse("hip:gfx942"))


@pytest.mark.parametrize(
    ("dialect", "device", "tools"),
    [("cpp", "cuda", "cuda"), ("cpp", "cpu", "cpp"), ("triton", "cuda", "triton")],
)
def test_cpp_candidates_that_call_torch_may_run_on_a_gpu(dialect, device, tools):
    assert run_as(dialect, Device.parse(device)) == tools


def test_an_error_says_once_what_is_missing_and_then_how_to_get_it(monkeypatch):
    with pytest.raises(DialectError) as caught:
        usable_dialects(("cuda",), CPU)
    assert caught.value.seen == "CUDA candidates need an NVIDIA GPU, not cpu"
    assert caught.value.do == "use --device cuda"
    monkeypatch.setattr(CudaDialect, "missing", lambda *_: "no toolchain")  # somebody else's words
    with pytest.raises(DialectError) as caught:
        usable_dialects(("cuda",), CPU)
    assert (caught.value.seen, caught.value.do) == ("no toolchain", "see `kernelwright doctor`")
