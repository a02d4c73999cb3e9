"""Ported projects are built by their own build systems, with a stand-in for hipcc, and run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.port import PortOptions, port_with

HIPCC = Path(__file__).with_name("hipcc.py")
FILES = {
    "src/main.cu": """#include <cstdio>
#include "scale.h"
extern "C" int twice(int x);
int main() { printf("%d\\n", twice(scaled(7))); }
""",
    "src/scale.cu": """#include "scale.h"
__global__ void scale(int* x) { *x = offset(*x * 3); }
int scaled(int x) {
  int* d;
  cudaMalloc(&d, sizeof x);
  cudaMemcpy(d, &x, sizeof x, cudaMemcpyHostToDevice);
  scale<<<1, 1>>>(d);
  cudaMemcpy(&x, d, sizeof x, cudaMemcpyDeviceToHost);
  return x;
}
""",
    "include/scale.h": """#pragma once
#include <cuda_runtime.h>
__host__ __device__ inline int offset(int x) { return x + STEP; }
int scaled(int x);
""",
    "src/twice.c": "int twice(int x) { return 2 * x; }\n",
}
MAKEFILE = """CUDA_PATH ?= /usr/local/cuda
NVCC := $(CUDA_PATH)/bin/nvcc
ARCH = -gencode arch=compute_80,code=sm_80
NVCCFLAGS = -O2 -std=c++17 $(ARCH) -Xcompiler -Wall --expt-relaxed-constexpr -lineinfo -Iinclude
OBJS = main.o scale.o twice.o

program: $(OBJS)
\t$(NVCC) $(ARCH) -o $@ $^ -L$(CUDA_PATH)/lib64 -lcudart
%.o: src/%.cu include/scale.h
\t$(NVCC) $(NVCCFLAGS) -DSTEP=1 -c $< -o $@
%.o: src/%.c
\t$(CC) -O2 -c $< -o $@
"""
CMAKE = """cmake_minimum_required(VERSION 3.21)
project(example LANGUAGES C CXX CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
add_executable(program src/main.cu src/scale.cu src/twice.c)
target_include_directories(program PRIVATE include)
target_compile_definitions(program PRIVATE STEP=1)
target_compile_options(program PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>)
set_target_properties(program PROPERTIES CUDA_ARCHITECTURES 80)
target_link_libraries(program PRIVATE CUDA::cudart)
"""


def ported(folder: Path, files: dict[str, str]) -> Path:
    """Write a project, port it, and return the folder of the port."""
    for name, text in files.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = folder / "port"
    port_with(folder / "project", PortOptions(rungs=(0,)), out=out)
    return out


@pytest.fixture
def rocm(tmp_path):
    """A folder like ROCm's, whose hipcc builds for the emulation, and what CMake looks for."""
    root = tmp_path / "rocm"
    (root / "bin").mkdir(parents=True)
    # CMake refuses a compiler that is called hipcc
    for name in ("hipcc", "clang++"):
        script = root / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {HIPCC} "$@"\n')
        script.chmod(0o755)
    for package in ("hip", "hip-lang"):
        config = root / "lib/cmake" / package / f"{package}-config.cmake"
        config.parent.mkdir(parents=True)
        targets = "add_library(hip::host INTERFACE IMPORTED)\n" if package == "hip" else ""
        config.write_text(targets)
    return root


def done(*command: str, cwd: Path) -> str:
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_a_ported_makefile_builds_and_its_program_runs(tmp_path, rocm):
    folder = ported(tmp_path, FILES | {"Makefile": MAKEFILE})
    planned = done("make", "-n", f"CUDA_PATH={rocm}", cwd=folder)
    assert "scale.hip" in planned and "nvcc" not in planned and "-gencode" not in planned
    done("make", f"CUDA_PATH={rocm}", cwd=folder)
    assert done("./program", cwd=folder) == "44\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_a_ported_cmake_project_builds_and_its_program_runs(tmp_path, rocm):
    folder = ported(tmp_path, FILES | {"CMakeLists.txt": CMAKE})
    # what CMake would find out with a ROCm that is installed
    told = {
        "CMAKE_HIP_COMPILER": f"{rocm}/bin/clang++", "CMAKE_HIP_COMPILER_ID": "Clang",
        "CMAKE_HIP_COMPILER_ID_RUN": "1", "CMAKE_HIP_COMPILER_FORCED": "1",
        "CMAKE_HIP_COMPILER_VERSION": "19.0", "CMAKE_HIP_COMPILER_ROCM_ROOT": str(rocm),
        "CMAKE_HIP_COMPILER_FRONTEND_VARIANT": "GNU", "CMAKE_HIP_ARCHITECTURES": "gfx942",
        "CMAKE_PREFIX_PATH": str(rocm),
    }  # fmt: skip
    given = (f"-D{name}={value}" for name, value in told.items())
    done("cmake", "-S", ".", "-B", "build", "-G", "Unix Makefiles", *given, cwd=folder)
    done("cmake", "--build", "build", cwd=folder)
    assert done("build/program", cwd=folder) == "44\n"


def test_a_ported_setup_and_load_inline_name_files_that_exist(tmp_path):
    setup = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(
    name="scale",
    ext_modules=[CUDAExtension("scale", ["src/main.cu", "src/scale.cu", "src/twice.c"],
        extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O2", "-lineinfo", "-gencode",
                                                     "arch=compute_80,code=sm_80"]})],
    cmdclass={"build_ext": BuildExtension},
)
"""
    inline = """from torch.utils.cpp_extension import load, load_inline
SOURCE = '''__global__ void k(float* x) { *x = __shfl_sync(~0u, *x, 0); }'''
one = load("one", ["src/scale.cu"], extra_cuda_cflags=["-lineinfo"])
two = load_inline("two", cpp_sources="", cuda_sources=SOURCE, functions=["k"])
"""
    folder = ported(tmp_path, FILES | {"setup.py": setup, "inline.py": inline})
    seen = {}

    class Recorder:
        def __getattr__(self, name):
            def called(*given, **named):
                seen.setdefault(name, []).append((given, named))
                return name

            return called

    for name in ("setup.py", "inline.py"):
        text = (folder / name).read_text()
        lines = [line for line in text.splitlines() if not line.startswith("from ")]
        recorder = Recorder()
        scope = {
            word: getattr(recorder, word)
            for word in ("setup", "BuildExtension", "CUDAExtension", "load", "load_inline")
        }
        exec("\n".join(lines), scope)
    (((_, sources), named),) = seen["CUDAExtension"]
    (((_, loaded), loader),) = seen["load"]
    for source in (*sources, *loaded):
        assert (folder / source).exists() and not source.endswith(".cu")
    options = [*named["extra_compile_args"]["nvcc"], *loader["extra_cuda_cflags"]]
    assert options == [
        "-O2", "-gline-tables-only", *["-Wno-unused-command-line-argument"] * 2,
        "-gline-tables-only",
    ]  # fmt: skip
    ((_, inlined),) = seen["load_inline"]
    assert "__shfl(" in inlined["cuda_sources"]
