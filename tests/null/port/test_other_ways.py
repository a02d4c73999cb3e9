"""The way back to CUDA, device code inside Python, and the proposer."""

import ast
from dataclasses import replace

import pytest

from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.dialects.simt.lower import lower
from kernelwright.hipify import State, translate, translate_cmake, translate_python
from kernelwright.proposers.port import PortProposer


def test_back_to_cuda():
    text = (
        "#include <hip/hip_runtime.h>\n"
        "void f() { hipMalloc(&p, 4); hipMemcpyToSymbol(HIP_SYMBOL(c), h, 4);\n"
        "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<int>), dim3(1), dim3(2), 0, s, p, 3);\n"
        "hipFooBar(); }\n"
        "__global__ void k() { int v = __shfl_down(v, 1); unsigned long long m = __ballot(v); }\n"
    )
    done = translate(text, to="cuda")
    assert "#include <cuda_runtime.h>" in done.text
    assert "cudaMemcpyToSymbol(c, h, 4)" in done.text
    assert "k<int><<<dim3(1), dim3(2), 0, s>>>(p, 3)" in done.text
    assert "__shfl_down_sync(0xffffffffu, v, 1)" in done.text
    assert "__ballot_sync(__activemask(), v)" in done.text
    assert [f.construct for f in done.unported] == ["hipFooBar"]


def test_the_way_back_prefers_the_name_that_differs_only_in_its_prefix():
    done = translate(
        "hipblasStatus_t s; hipError_t e = hipMalloc(&p, 4); hipStream_t t;", to="cuda"
    )
    assert "cublasStatus_t s; cudaError_t e = cudaMalloc(&p, 4); cudaStream_t t;" in done.text


PYTHON = '''import torch
SOURCE = r"""
__global__ void k(float* p) {
  p[0] = __shfl_sync(0xffffffffu, p[0], 0);  // \\n
}
"""
NOTE = "cudaMalloc is not device text"
'''


def test_the_way_back_restores_the_original_textures():
    text = (
        "#include <cuda_runtime.h>\n__global__ void k(cudaTextureObject_t t, float* o) {\n"
        "  *o = tex1Dfetch<float>(t, 1); tex2D(o + 1, t, 1, 2);\n}\n"
        "void f() { cudaCreateTextureObject(&t, &r, &d, nullptr); cudaDestroyTextureObject(t); }\n"
    )
    back = translate(translate(text).text, to="cuda")
    assert back.text.split() == text.split()
    assert not back.unported


def test_device_text_in_python_strings():
    done = translate_python(PYTHON, file="a.py")
    assert "__shfl(p[0], 0, 32);  // \\n" in done.text
    assert done.text.replace("__shfl(p[0], 0, 32)", "__shfl_sync(0xffffffffu, p[0], 0)") == PYTHON
    assert {f.line for f in done.findings} == {4}
    with pytest.raises(UsageError, match="is not Python"):
        translate_python("def (")


LOADER = """import ctypes
import torch
rtc = ctypes.CDLL(f"libnvrtc.so.{torch.version.cuda.split('.')[0]}")
driver = ctypes.CDLL("libcuda.so.1")
major, minor = torch.cuda.get_device_capability()
options = [f"--gpu-architecture=sm_{major}{minor}".encode(), b"--std=c++17", "-gencode=x"]
rtc.nvrtcGetCUBIN(program, driver.cuLaunchKernel)
driver.cuCoredumpGetAttribute()
"""


def test_device_text_in_strings_of_several_quotes_is_translated():
    text = "x = '__global__ void k(int* p) { cudaFree(0); }' \"// end\"\n"
    done = translate_python(text)
    assert done.text == text.replace("cudaFree", "hipFree")
    assert not done.unported


def test_libraries_functions_and_options_named_in_python_are_translated():
    done = translate_python(LOADER, file="a.py")
    lines = done.text.splitlines()
    assert lines[2:4] == [
        'rtc = ctypes.CDLL("libhiprtc.so")',
        'driver = ctypes.CDLL("libamdhip64.so")',
    ]
    assert "--offload-arch=" in lines[5]
    assert '.encode(), b"--std=c++17", "-Wno-unused-command-line-argument"]' in lines[5]
    assert lines[6] == "rtc.hiprtcGetCode(program, driver.hipModuleLaunchKernel)"
    unported = {(finding.line, finding.construct) for finding in done.unported}
    assert unported == {(8, "cuCoredumpGetAttribute")}
    ast.parse(done.text)


def brief(source: str, dialects=("hip",), parent=None) -> Brief:
    task = Task("t", "builtin", "class Model: pass")
    evaluation = Evaluation(
        task.digest, "w", "c", Status.PASSED, (), Environment("cuda", {}), seed=0, judge_version=1
    )
    proposal = Proposal(Candidate(source, "cuda"), "rules", ("fuse",), {"tile": 8}, parent)
    return Brief(
        task, Device.parse("hip:gfx942"), dialects, (Exemplar(proposal, evaluation, "better"),)
    )


def test_the_proposer_ports_cuda_candidates():
    given = brief(PYTHON)
    (proposal,) = PortProposer().propose(given)
    assert proposal.candidate.dialect == "hip"
    assert proposal.parent == given.exemplars[0].proposal.candidate.digest
    assert proposal.schedule == {"tile": 8}


def test_the_best_candidate_of_another_gpu_is_ported_once():
    given = brief(PYTHON)
    (shown,) = given.exemplars
    elsewhere = replace(given, exemplars=(), elsewhere=((shown.proposal, shown.evaluation),))
    (proposal,) = PortProposer().propose(elsewhere)
    assert proposal.candidate.dialect == "hip"
    tried = replace(elsewhere, history=((proposal, shown.evaluation),))
    assert not list(PortProposer().propose(tried))


def test_the_proposer_proposes_nothing_half_ported_and_nothing_unasked():
    assert not list(PortProposer().propose(brief(PYTHON.replace("p[0] =", "cudaFoo(); p[0] ="))))
    assert not list(PortProposer().propose(brief(PYTHON, dialects=("cuda",))))


def test_launches_and_shared_memory_are_lowered_and_lines_kept():
    text = (
        "__global__ void k(int* p) {\n  __shared__ float s[4][8], t;\n"
        "  extern __shared__ int d[];\n}\n"
        "void f() {\n  k<<<1, dim3(2)>>>(p);\n  cudaLaunchKernel((void*)k, 1, 2, a, 0, 0);\n}\n"
    )
    done = lower(text)
    assert (
        "auto& s = simt::shared<float[4][8]>([] {}); auto& t = simt::shared<float>([] {});" in done
    )
    assert "auto& d = simt::dynamic_shared<int>();" in done
    assert "simt::DynamicShared<int> d;" in lower("extern __shared__ int d[];\n")
    assert "simt::launch(simt::config(1, dim3(2))" in done
    assert "cudaLaunchKernel(k, 1, 2" in done
    assert done.count("\n") == text.count("\n")


def test_cmake_files_build_hip():
    text = (
        "project(p LANGUAGES CXX CUDA)  # CUDA\nset(CMAKE_CUDA_ARCHITECTURES 90)\n"
        'add_executable(p "src/main.cu")\ntarget_link_libraries(p CUDA::cublas CUDA::nvml)\n'
    )
    done = translate_cmake(text)
    assert done.text == (
        "project(p LANGUAGES CXX HIP)  # CUDA\nset(CMAKE_HIP_ARCHITECTURES 90)\n"
        'add_executable(p "src/main.hip")\ntarget_link_libraries(p roc::hipblas CUDA::nvml)\n'
    )
    assert [(f.line, f.construct) for f in done.unported] == [(4, "CUDA::nvml")]
    assert done.count(State.CHANGED) == 1


BUILD = """find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_FLAGS "--use_fast_math --fmad=false --default-stream per-thread -Xptxas=-v")
target_link_libraries(p CUDA::cudart CUDA::cufft)
target_compile_options(p PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-arch=sm_90>)
"""


def test_packages_flags_and_languages_of_a_build_become_the_other_sides():
    done = translate_cmake(BUILD)
    assert done.text == (
        "find_package(hip REQUIRED)\nfind_package(hipfft REQUIRED)\n"
        'set(CMAKE_HIP_FLAGS "-ffast-math -ffp-contract=off '
        '-fgpu-default-stream=per-thread -Xptxas=-v")\n'
        "target_link_libraries(p hip::host hip::hipfft)\n"
        "target_compile_options(p PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-arch=sm_90>)\n"
    )
    assert [f.construct for f in done.unported] == ["-Xptxas=-v", "-arch=sm_90"]


@pytest.mark.parametrize(
    "flag",
    ["-maxrregcount=64", "--maxrregcount 64", "-Xcompiler=-fopenmp", "-rdc=true"],
)
def test_flags_that_only_nvcc_knows_are_reported(flag):
    done = translate_cmake(f"target_compile_options(p PRIVATE -O3 {flag})\n")
    assert [f.construct for f in done.unported] == [flag.split()[0]]


def test_a_build_goes_back_to_cuda():
    there = translate_cmake(BUILD).text.replace("-arch=sm_90", "-fgpu-rdc")
    back = translate_cmake(there, to="cuda")
    assert back.text == BUILD.replace("stream per", "stream=per").replace(
        "-arch=sm_90", "-fgpu-rdc"
    )
    assert [f.construct for f in back.unported] == ["-fgpu-rdc"]
