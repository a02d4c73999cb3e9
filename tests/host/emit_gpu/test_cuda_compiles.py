"""Emitted CUDA is CUDA: NVIDIA's own compiler takes it, without a GPU."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter

GPU = Target("cuda:sm_90")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["unary_float16", "unary_bfloat16", "reductions_long", "scan_max"])
def test_nvcc_compiles_it(name, tmp_path):
    program, emitter = CASES[name](), CudaEmitter()
    schedule = next(iter(emitter.schedules(program, GPU)))
    definitions = emitter.emit(program, schedule, GPU).definitions
    source = tmp_path / "kernels.cu"
    source.write_text(definitions.split('SOURCE = r"""')[1].split('"""')[0])
    command = ["nvcc", "-cubin", "-arch=sm_90", "-o", str(tmp_path / "kernels.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
